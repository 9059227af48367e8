"""match_play.py - joining by a password, playing, commands, verdicts, returning. §5, §7 and §9 of net/PROTOCOL.md."""
import time

from judge import Match, equal_at, follows_the_lock, plays_past, same_frames
from room import text

CHAT = 19


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
        m.until(lambda: all(any(v[3] == 1 and v[2] == 0 for v in c.verdicts) for c in (ann, bob)))
        assert all(v[2] == 0 for c in (ann, bob) for v in c.verdicts)
        assert bob.proved and not ann.proved
        print("ok two clients play %d frames, and their hashes are equal" % ann.lock.ran)
        ann.say_command(CHAT, b"hello")
        m.until(lambda: any([ann.client, CHAT, text("hello")] in f[6] for f in bob.lock.frames))
        print("ok a command stands at a keyframe")
        judged = sum(follows_the_lock(c) for c in (ann, bob))
        assert same_frames(ann, bob) and judged > 100, judged
        print("ok the lock: %d frames are made of the samples that §5 says" % judged)
        bob.machine.differs_at = bob.lock.ran + 2
        m.until(lambda: any(v[2] == 1 for v in ann.verdicts))
        assert not ann.verdicts[-1][4], "one against one is no majority"
        print("ok a machine that differs is found by the verdict of frame %d" % ann.verdicts[-1][0])


def come_back(program, seed):
    with Match(program, seed) as m:
        ann, bob = m.client("ann"), m.client("bob")
        m.until(lambda: all(c.lock and c.lock.ran >= 30 for c in (ann, bob)))
        have, session, token = bob.lock.next, bob.link.session.number, bob.token
        bob.link.cut = True
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


def journal(program, seed):
    with Match(program, seed, journal=True) as m:
        ann, bob = m.client("ann"), m.client("bob")
        m.until(lambda: all(c.lock and c.lock.ran >= 60 for c in (ann, bob)))
        for c in (ann, bob):
            c.link.cut = True
        time.sleep(1)  # all are absent now and nothing closes: the journal has what they have
        m.relay.kill()
        m.relay.start(m.relay.port)
        for c in (ann, bob):
            c.link.cut = False
            c.log.clear()
        have = ann.lock.next
        m.until(lambda: all(plays_past(c, have) for c in (ann, bob)), 20)
        same_frames(ann, bob)
        for c in (ann, bob):
            assert not any(str(kind).startswith("PREPARE") for kind in c.log), "the relay did not take the digest for its own"
        m.until(lambda: equal_at(ann, bob, have))
        print("ok all return to the journal's room, and their digests are the relay's")
