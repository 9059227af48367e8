"""match_optimistic.py - frames that close by the clock. §5 of net/PROTOCOL.md, Closing by the clock."""
import struct

from judge import Match, equal_at, follows_the_lock, plays_past, port, same_frames
from room import POLICY_BOUNDED, POLICY_OPTIMISTIC

POLICY = 1


def run_of(unused, frame, last):
    """How many of these samples the relay folds into the next frame. frame: the last frame; last: the last used sample."""
    if unused and unused[0] & frame & ~last:
        return 0
    folded, before = 0, last
    for n, sample in enumerate(unused):
        pressed = sample & ~before
        if n and pressed & frame & ~folded:
            return n
        if n and pressed & folded:
            return n - 1
        folded, before = folded | sample, sample
    return len(unused)


def fold(samples, last):
    folded = 0 if samples else last
    for sample in samples:
        folded |= sample
    return folded


def shows_every_edge(client, begin, first):
    """Each frame by the clock from `begin` on folds a run as the document says; `first` is the first sample for them.

    The judge does not quite know how many samples the relay had at the moment: it keeps all numbers that fit."""
    said, there, positions, judged, shown = client.lock.said, client.lock.there, {first}, 0, client.lock.frame(begin - 1)[8][port(client)][0]
    for number in range(begin, client.lock.next):
        f = client.lock.frame(number)
        if not f[5]:
            break
        after = set()
        for p in positions:
            last = said.get(p - 1, 0)
            least, most = there[number]
            for end in range(max(p, least), max(p, most) + 1):
                unused = [said[n] for n in range(p, end)]
                run = unused[:run_of(unused, shown, last)]
                if fold(run, last) == f[8][port(client)][0]:
                    after.add(p + len(run))
        assert after, "frame %d of %s follows from no samples" % (number, client.name)
        positions, judged, shown = after, judged + 1, f[8][port(client)][0]
    return judged


def optimistic(program, seed):
    with Match(program, seed) as m:
        ann, bob = m.client("ann", policy=POLICY_OPTIMISTIC), m.client("bob")
        both = (ann, bob)
        m.until(lambda: all(c.lock and c.lock.ran >= 90 for c in both))
        length = ann.lock.frame(0)[2]
        assert all(f[5] for f in ann.lock.frames[length:]) and same_frames(ann, bob)
        judged = sum(shows_every_edge(c, length, 0) for c in both)
        assert judged > 120
        print("ok an optimistic room: %d frames fold the samples that §5 says, and hide no edge" % judged)
        silent(m, ann, bob)
        changes(m, ann, bob)


def silent(m, ann, bob):
    for _ in range(8):
        bob.link.mute, have = True, ann.lock.ran
        m.until(lambda: ann.lock.ran >= have + 6)
        bob.link.mute = False
        m.until(lambda: plays_past(bob, have + 8) and ann.lock.ran >= have + 20)
    assert not bob.lock.out, bob.lock.out
    shows_every_edge(bob, bob.lock.frame(0)[2], 0)
    print("ok its frames go on while a client is silent, whose samples then show, and no edge is hidden")
    ann.say_command(POLICY, struct.pack("<BHBB", POLICY_OPTIMISTIC, 400, 0, 0))
    m.until(lambda: ann.machine.budget == 400)
    bob.link.mute = True
    m.until(lambda: ann.lock.away & bob.seats)
    bob.link.mute, have = False, ann.lock.ran
    m.until(lambda: bob.lock.out and plays_past(bob, have))
    print("ok a client that is silent for longer than the wait budget is absent, and comes back")


def changes(m, ann, bob):
    ann.say_command(POLICY, struct.pack("<BHBB", POLICY_BOUNDED, 10000, 0, 0))
    m.until(lambda: not ann.lock.frames[-1][5])
    begin = ann.lock.next
    m.until(lambda: ann.lock.ran >= begin + 60)
    judged = sum(follows_the_lock(c, begin - 30) for c in (ann, bob))
    assert judged > 80 and not any(f[5] for f in ann.lock.frames[begin:])
    print("ok it becomes bounded: %d frames follow the lock" % judged)
    ann.say_command(POLICY, struct.pack("<BHBB", POLICY_OPTIMISTIC, 10000, 0, 0))
    m.until(lambda: ann.lock.frames[-1][5])
    begin = next(f[0] for f in reversed(ann.lock.frames) if not f[5]) + 1
    m.until(lambda: all(c.lock.ran >= begin + 60 for c in (ann, bob)))
    judged = sum(shows_every_edge(c, begin, ann.lock.frame(begin - 1)[1]) for c in (ann, bob))
    m.until(lambda: equal_at(ann, bob, begin + 30))
    print("ok and optimistic again: %d frames fold the samples that §5 says" % judged)
