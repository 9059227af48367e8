"""match_heal.py - a machine that differs from most gets their state; of two that differ each goes back to its own. §7 of
net/ROOMS.md, Healing."""
from judge import Match, equal_at
from match_late import FPS, REPLAYED
from room import HEAL


def in_sync(client, after):
    """A complete and equal VERDICT of a label past that one."""
    return any(v[0] >= after and v[2] == 0 and v[4] == 1 for v in client.verdicts)


def heal(program, seed):
    with Match(program, seed) as m:
        three = [m.client(name, players=3, desync=HEAL) for name in ("ann", "bob", "cid")]
        ann, bob, cid = three
        m.until(lambda: all(c.lock and in_sync(c, 10) for c in three))
        wrong = cid.machine.differs_at = cid.lock.ran + 2
        m.until(lambda: cid.healed)
        keyframe, ran = cid.healed[0]
        first = next(v for v in ann.verdicts if v[2] == 1)
        assert first[5] in (0, 1 << cid.client) and any(v[5] == 1 << cid.client for v in ann.verdicts), ann.verdicts
        assert [g[0] for c in (ann, bob) for g in c.gave] == [keyframe] and not cid.gave
        assert wrong < keyframe < ran, (wrong, keyframe, ran)
        m.until(lambda: all(in_sync(c, ran) for c in three))
        assert all(c.verdicts[-1][6] == 1 and c.verdicts[-1][1] == 0 for c in three), ann.verdicts[-1]
        assert equal_at(ann, cid, ran) and equal_at(bob, cid, ran)
        print("ok two offer their state of keyframe %d, the third loads it and is in sync from frame %d on" % (keyframe, ran))


def tie(program, seed):
    """One against one: nobody gets the other's state. Both go back to their own, of the keyframe before which both were equal."""
    with Match(program, seed) as m:
        ann, bob = m.client("ann", desync=HEAL), m.client("bob")
        for wrong, times in ((bob, 1), (ann, 2)):
            m.until(lambda: all(c.lock and c.verdicts and in_sync(c, c.verdicts[-1][0]) and c.verdicts[-1][7] > 10 for c in (ann, bob)))
            m.until(lambda after=ann.lock.ran: all(in_sync(c, after) for c in (ann, bob)))
            at = wrong.machine.differs_at = wrong.lock.ran + 2
            m.until(lambda: all(len(c.rewound) == times for c in (ann, bob)))
            (keyframe, ran), (same, ran_too) = ann.rewound[-1], bob.rewound[-1]
            parted = next(v for v in ann.verdicts if v[2] == 1 and v[0] >= keyframe)
            assert keyframe == same == parted[7] and keyframe <= at, (keyframe, parted)
            m.until(lambda: all(in_sync(c, max(ran, ran_too)) for c in (ann, bob)))
            assert not ann.gave and not bob.gave and not ann.healed and not bob.healed
            assert all(c.verdicts[-1][6] == times and c.verdicts[-1][1] == 0 for c in (ann, bob)), ann.verdicts[-1]
            assert equal_at(ann, bob, max(ran, ran_too))
        print("ok one against one: both go back to their own state and run the frames again, whichever was wrong")


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


def stranger(program, seed):
    """A client that loads nothing of others: the game begins without saves, and it goes its own ways."""
    with Match(program, seed, "--catch-up", "1") as m:
        ann, bob = m.client("ann", players=3, desync=HEAL), m.client("bob")
        cid = m.client("cid", consent=0)
        three = [ann, bob, cid]
        m.until(lambda: all(c.lock and in_sync(c, 10) for c in three))
        assert ann.bare == 1 and bob.bare is cid.bare is None, (ann.bare, bob.bare, cid.bare)
        cid.machine.differs_at = cid.lock.ran + 2
        m.until(lambda: cid.rewound)
        keyframe, ran = cid.rewound[0]
        m.until(lambda: all(in_sync(c, ran) for c in three))
        assert not any(c.offer for c in three) and not ann.rewound and not bob.rewound
        assert equal_at(ann, cid, ran)
        print("ok one of three that loads no state of others goes back to its own of keyframe %d" % keyframe)
        m.until(lambda: ann.lock.ran > FPS * REPLAYED)
        dan = m.client("dan", seats=0, consent=0)
        m.until(lambda: dan.lock and dan.lock.ran > ran)
        assert dan.lock.begin == 0 and not dan.offer
        m.until(lambda: equal_at(ann, dan, ran))
        print("ok one that comes late runs the game from the beginning")
