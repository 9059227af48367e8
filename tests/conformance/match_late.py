"""match_late.py - joining a game under way by a snapshot, as its giver and as its receiver. §7 of net/PROTOCOL.md."""
from judge import Match, equal_at, follows_the_lock, plays_past, restart, same_frames
from machine import SET_OPTION, SWAP

PLACES = 13
FPS, REPLAYED = 30, 5  # a relay with --catch-up 1 lets a newcomer replay so many seconds of the game


def seated(client):
    """It has loaded what it begins with, and plays."""
    return client.lock and client.seats and client.lock.state == "present" and client.lock.frames and not client.waits


def swaps(client):
    """Two pads change places at each keyframe, so that a command that is left out shows."""
    if client.lock.ran >= client.swapped + 2:
        client.say_command(SWAP, bytes([0, 1] if client.lock.ran % 4 < 2 else [1, 2]))
        client.swapped = client.lock.ran
    return True


def comes_by_swaps(m, ann):
    """Bob begins at a keyframe with such a command. Which keyframe it is depends on the moment, so he may come again."""
    for _ in range(6):
        bob = m.client("bob")
        m.until(lambda: swaps(ann) and seated(bob))
        if any(kind == SWAP for _, kind, _ in bob.lock.frames[0][6]):
            return bob
        m.until(lambda: swaps(ann) and ann.lock.ran > bob.lock.begin + FPS * REPLAYED)  # that snapshot is too old then
        m.leaves(bob)
    raise AssertionError("no keyframe of a snapshot has a command of ann's")


def late(program, seed):
    with Match(program, seed, "--catch-up", "1", journal=True) as m:
        ann = m.client("ann", players=1)
        ann.swapped = 0
        m.until(lambda: ann.lock and ann.lock.ran > FPS * REPLAYED)
        ann.say_command(PLACES, bytes([3]))
        ann.say_command(SET_OPTION, b"shade=light")
        m.until(lambda: ann.machine.options[b"shade"] == b"light")
        bob = comes_by_swaps(m, ann)
        m.until(lambda: plays_past(bob, bob.lock.begin))
        assert ann.gave[0][1] == 0 and ann.gave[-1][0] == bob.lock.begin and bob.healed == [(bob.lock.begin, bob.lock.begin)]
        assert bob.lock.begin > 30 and bob.machine.options == ann.machine.options
        m.until(lambda: bob.machine.plays == ann.machine.plays)
        m.until(lambda: equal_at(ann, bob, bob.lock.begin + 30))
        assert same_frames(ann, bob)
        print("ok a late client begins with the snapshot of keyframe %d that another gave, and plays" % bob.lock.begin)
        m.until(lambda: ann.lock.ran > bob.lock.begin + FPS * REPLAYED)
        m.until(lambda: follows_the_lock(bob, bob.lock.begin + 60) > 20)
        cid = m.client("cid")
        m.until(lambda: seated(cid) and plays_past(cid, cid.lock.begin))
        given = [g for c in (ann, bob) for g in c.gave if g[0] == cid.lock.begin]
        assert given and given[0][1] == 1 and given[0][2] < ann.gave[0][2] / 2, given
        m.until(lambda: equal_at(ann, cid, cid.lock.begin) and equal_at(bob, cid, cid.lock.begin))
        print("ok the next one begins with a snapshot that was given against the one before: %d bytes in place of %d" %
              (given[0][2], ann.gave[0][2]))
        restart(m)
        print("ok clients that began with a snapshot show a relay that was restarted their frames from there on")
