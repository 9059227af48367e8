"""match_play.py - joining by a password, playing, commands, verdicts, returning. §5, §7 and §9 of net/PROTOCOL.md."""
import struct

from primitives import VERSION
from judge import Match, equal_at, follows_the_lock, plays_past, restart, same_frames
from room import POLICY_STRICT, text

PAUSE, CHAT, SAVE, LOAD = 3, 19, 20, 21


def play(program, seed):
    with Match(program, seed) as m:
        password = m.rng.randbytes(32)
        ann = m.client("ann", password=password)
        m.until(lambda: ann.welcome)
        assert ann.host == 1 and ann.seats == 1
        eve = m.client("eve", password=m.rng.randbytes(32))
        m.until(lambda: eve.refused)
        assert eve.refused[0] == 10 and not eve.welcome
        print("ok a wrong password is refused")
        bob = m.client("bob", password=password)
        m.until(lambda: all(c.lock and c.lock.ran >= 60 for c in (ann, bob)))
        m.until(lambda: all(any(v[4] == 1 and v[2] == 0 for v in c.verdicts) for c in (ann, bob)))
        assert all(v[2] == 0 for c in (ann, bob) for v in c.verdicts)
        assert bob.proved and not ann.proved
        print("ok two clients play %d frames, and their hashes are equal" % ann.lock.ran)
        ann.say_command(CHAT, b"hello")
        m.until(lambda: any([ann.client, CHAT, text("hello")] in f[6] for f in bob.lock.frames))
        print("ok a command stands at a keyframe")
        commands(m, ann, bob)
        judged = sum(follows_the_lock(c) for c in (ann, bob))
        assert same_frames(ann, bob) and judged > 100, judged
        print("ok the lock: %d frames are made of the samples that §5 says" % judged)
        bob.machine.differs_at = bob.lock.ran + 2
        m.until(lambda: any(v[2] == 1 for v in ann.verdicts))
        assert not ann.verdicts[-1][5], "one against one is no majority"
        print("ok a machine that differs is found by the verdict of frame %d" % ann.verdicts[-1][0])


def versions(program, seed):
    with Match(program, seed) as m:
        ann, bob = m.client("ann"), m.client("bob", version=VERSION - 1)
        m.until(lambda: all(c.lock and c.lock.ran >= 60 for c in (ann, bob)))
        assert same_frames(ann, bob)
        print("ok clients of versions %d and %d play in one room" % (VERSION, VERSION - 1))
        for version in VERSION - 2, VERSION + 1:
            eve = m.client("eve", version=version)
            m.until(lambda: eve.link.handshake.refusal)
            assert eve.link.handshake.refusal == (1, VERSION) and not eve.welcome
        eve = m.client("eve", hello=VERSION + 1)
        m.until(lambda: eve.refused)
        assert eve.refused[0] == 1 and all(str(v) in eve.refused[1] for v in (VERSION, VERSION + 1)), eve.refused
        print("ok versions %d and %d are refused by the relay's number" % (VERSION - 2, VERSION + 1))


def commands(m, ann, bob):
    ann.say_command(SAVE)
    m.until(lambda: ann.machine.saved_at and bob.machine.saved_at)
    keyframe = ann.machine.saved_at
    m.until(lambda: ann.lock.ran > keyframe + 20)
    bob.say_command(LOAD, struct.pack("<I", keyframe))
    m.until(lambda: any("bob (2) wants the saved state" in n for n in ann.notices))
    ann.say_command(LOAD, struct.pack("<I", keyframe))  # it shares the wish
    m.until(lambda: ann.machine.loaded == bob.machine.loaded == 1 and bob.machine.saved_at == keyframe)
    m.until(lambda have=ann.lock.ran: equal_at(ann, bob, have))
    print("ok both load the state that both saved at keyframe %d, as both wish" % keyframe)
    bob.say_command(PAUSE)
    m.until(lambda: ann.lock.paused and bob.lock.paused)
    stood = ann.lock.next
    m.turn_for(0.3)
    assert ann.lock.next == stood
    ann.say_command(PAUSE)
    m.until(lambda: not ann.lock.paused and ann.lock.ran > stood + 5)
    print("ok the room pauses and goes on")


def come_back(program, seed):
    with Match(program, seed) as m:
        ann, bob = m.client("ann", budget=2000), m.client("bob")
        m.until(lambda: all(c.lock and c.lock.ran >= 30 for c in (ann, bob)))
        session, token = bob.link.session.number, bob.token
        bob.link.cut = True
        m.until(lambda: bob.link.handshake)
        bob.link.cut = False
        m.until(lambda: not bob.link.handshake)
        m.until(lambda have=ann.lock.ran: plays_past(bob, have))
        assert bob.link.session.number == session
        print("ok a session that was silent for a second and is heard again goes on")
        have, bob.link.cut = bob.lock.next, True
        m.until(lambda: ann.lock.ran >= have + 60 and not bob.link.session)
        bob.link.cut = False
        m.until(lambda: plays_past(bob, ann.lock.ran))
        same_frames(ann, bob)
        assert bob.link.session.number != session and bob.token != token
        m.until(lambda: equal_at(ann, bob, have + 60))
        print("ok a client that hears nothing begins a new session by itself, returns by its seat key, and its samples count again")
        thief = m.client("thief")
        thief.token = bob.token
        m.until(lambda: thief.refused)
        assert thief.refused[0] == 8 and not bob.refused
        print("ok a token without the seat's key is nothing")
        from_nothing(m, ann, bob, token)


def from_nothing(m, ann, bob, token_before):
    have, newest = ann.lock.ran, bob.token
    bob.new_process()
    bob.link.forget()
    bob.token = token_before
    m.until(lambda: bob.lock and plays_past(bob, have))
    assert bob.token not in (newest, token_before) and bob.lock.begin == 0 and same_frames(ann, bob) > have
    m.until(lambda: equal_at(ann, bob, have))
    print("ok a new process returns with the seat key and the token before the newest, and gets all from the start data on")


def seal(program, seed):
    with Match(program, seed, journal=True) as m:
        ann, bob = m.client("ann", fps=180, match="cup/r2.m1"), m.client("bob", fps=180, match="none")
        m.until(lambda: all(c.seals and c.lock.ran >= c.seals[0][1] for c in (ann, bob)), 60)
        assert ann.match == bob.match == "cup/r2.m1"
        assert ann.seals == bob.seals and ann.seals[0][1] >= 1024
        for c in (ann, bob):
            c.check_seals()
        cid = m.client("cid")
        m.until(lambda: cid.seals)
        cid.check_seals()
        assert cid.watches and cid.seals[0] in ann.seals
        print("ok the relay signs the first %d frames, with the key that its fingerprint names" % ann.seals[0][1])
        delete(m, ann, bob, cid)


def asked(m, room_id, seat_seed):
    """The code of the answer to DELETE, and its words."""
    c = m.client("deleter", deletes=room_id)
    c.seat_seed = seat_seed
    m.until(lambda: c.refused)
    m.clients.remove(c)
    return c.refused


def delete(m, ann, bob, cid):
    """§9, Deleted recordings: a player's own, once the room has ended, and nobody else's."""
    room_id = ann.room_id
    assert asked(m, room_id, ann.seat_seed)[0] == 10, "the room is there"
    for c in (cid, bob, ann):
        m.leaves(c)
    while "has ended" in (refused := asked(m, room_id, cid.seat_seed))[1]:
        m.turn_for(0.2)
    assert refused[0] == 10, "a watcher has signed nothing: %s" % (refused,)
    assert asked(m, bytes(16).hex(), bob.seat_seed)[0] == 8, "there is no such match"
    assert asked(m, room_id, bob.seat_seed)[0] == 12, "a player has the recording deleted"
    assert asked(m, room_id, ann.seat_seed)[0] == 8, "it is gone"
    print("ok a player has the relay delete a match's recording, and nobody else does")


def journal(program, seed):
    with Match(program, seed, journal=True) as m:
        ann, bob = m.client("ann"), m.client("bob")
        m.until(lambda: all(c.lock and c.lock.ran >= 60 for c in (ann, bob)))
        restart(m)
        print("ok all return to the journal's room, and their digests are the relay's")
        m.until(lambda: all(c.own for c in (ann, bob)))
        before = ann.lock.next
        restart(m, torn=12)
        assert all(c.lost and c.lost[0] < before for c in (ann, bob)), (ann.lost, bob.lost)
        assert equal_at(ann, bob, before)
        print("ok the journal has lost its end: all go back to an own state of keyframe %d and on from there" % ann.lost[0])


def strict(program, seed):
    """Closes no frame without a player whose session has ended."""
    with Match(program, seed) as m:
        ann, bob = m.client("ann", policy=POLICY_STRICT), m.client("bob")
        m.until(lambda: all(c.lock and c.lock.ran >= 30 for c in (ann, bob)))
        bob.link.cut = True
        m.until(lambda: not bob.link.session)
        stood = ann.lock.next
        m.turn_for(1)
        assert ann.lock.next == stood and ann.lock.waiting == bob.seats and not ann.lock.out
        bob.link.cut = False
        m.until(lambda: plays_past(bob, stood + 10))
        assert same_frames(ann, bob) and follows_the_lock(ann) > stood
        print("ok a strict room stands still while a player is cut off, and goes on when it is back")


def plain(program, seed):
    """The original algorithm: a sample each interval, and no clock."""
    with Match(program, seed) as m:
        ann, bob = m.client("ann", subframes=0, clock=0, spacing=5, budget=2000), m.client("bob")
        m.until(lambda: all(c.lock and c.lock.ran >= 200 for c in (ann, bob)))
        have = ann.lock.next
        bob.link.cut = True
        m.until(lambda: not bob.link.session)
        bob.link.cut = False
        m.until(lambda: plays_past(bob, have + 50) and equal_at(ann, bob, have + 50))
        judged = follows_the_lock(ann) + follows_the_lock(bob)
        assert same_frames(ann, bob) > have and judged > 400
        print("ok a room without clock and sub-frames: %d frames follow the lock, through a return" % judged)
