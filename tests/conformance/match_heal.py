"""match_heal.py - a machine that differs gets the state of one that does not. §7 of net/PROTOCOL.md, Healing."""
from judge import Match, equal_at
from room import HEAL


def in_sync(client, after):
    """A complete and equal VERDICT of a label past that one."""
    return any(v[0] >= after and v[2] == 0 and v[3] == 1 for v in client.verdicts)


def heal(program, seed):
    with Match(program, seed) as m:
        three = [m.client(name, players=3, desync=HEAL) for name in ("ann", "bob", "cid")]
        ann, bob, cid = three
        m.until(lambda: all(c.lock and in_sync(c, 10) for c in three))
        wrong = cid.machine.differs_at = cid.lock.ran + 2
        m.until(lambda: cid.healed)
        keyframe, ran = cid.healed[0]
        first = next(v for v in ann.verdicts if v[2] == 1)
        assert first[4] in (0, 1 << cid.client) and any(v[4] == 1 << cid.client for v in ann.verdicts), ann.verdicts
        assert [g[0] for c in (ann, bob) for g in c.gave] == [keyframe] and not cid.gave
        assert wrong < keyframe < ran, (wrong, keyframe, ran)
        m.until(lambda: all(in_sync(c, ran) for c in three))
        assert all(c.verdicts[-1][5] == 1 and c.verdicts[-1][1] == 0 for c in three), ann.verdicts[-1]
        assert equal_at(ann, cid, ran) and equal_at(bob, cid, ran)
        print("ok two offer their state of keyframe %d, the third loads it and is in sync from frame %d on" % (keyframe, ran))


def judge(program, seed):
    """One against one: the host's machine is right, or that of the judge whom it names."""
    with Match(program, seed) as m:
        ann, bob = m.client("ann", desync=HEAL), m.client("bob")
        m.until(lambda: all(c.lock and in_sync(c, 10) for c in (ann, bob)))
        bob.machine.differs_at = bob.lock.ran + 2
        m.until(lambda: bob.healed)
        m.until(lambda: all(in_sync(c, bob.healed[0][1]) for c in (ann, bob)))
        assert ann.gave and not bob.gave and not ann.healed
        print("ok one against one: the host's state counts")
        ann.say_command(11, bytes([bob.client]))
        bob.machine.differs_at = bob.lock.ran + 15
        m.until(lambda: ann.healed)
        m.until(lambda: all(in_sync(c, ann.healed[0][1]) for c in (ann, bob)))
        assert bob.gave and len(bob.healed) == 1 and bob.verdicts[-1][5] == 2
        print("ok one against one: the state of the named judge counts before the host's, right or wrong")


def liar(program, seed):
    """The giver's bytes are not those of which it told the hash."""
    with Match(program, seed) as m:
        three = [m.client(name, players=3, desync=HEAL) for name in ("ann", "bob", "cid")]
        m.until(lambda: all(c.lock and in_sync(c, 10) for c in three))
        asked = []
        for c in three[:2]:
            c.forge = lambda snapshot, c=c: asked.append(c) or (snapshot if len(asked) > 1 else bytes(len(snapshot)))
        cid = three[2]
        cid.machine.differs_at = cid.lock.ran + 2
        m.until(lambda: cid.healed)
        first, second = asked
        assert first.refused and first.refused[0] == 6 and not second.refused
        m.until(lambda: all(in_sync(c, cid.healed[0][1]) for c in (second, cid)))
        print("ok a giver of other bytes than those that it named is put out, the next one is asked, and the room is healed")
