"""match_watch.py - seeing a room from outside the game, and stepping into it. §7 of net/ROOMS.md, Watching."""
from judge import Match, equal_at, plays_past, same_frames
from match_heal import in_sync
from room import HEAL

PLACES, CHAT, SEAT = 13, 19, 12
ANEW = "PREPARE in state playing"


def watch(program, seed):
    with Match(program, seed) as m:
        ann, bob = m.client("ann", desync=HEAL), m.client("bob")
        m.until(lambda: all(c.lock and c.lock.ran >= 60 for c in (ann, bob)))
        cid = m.client("cid")
        m.until(lambda: cid.lock and cid.lock.ran >= 90)
        assert cid.client == 255 and cid.watches and cid.lock.begin == 0
        same_frames(ann, cid)
        m.until(lambda: in_sync(cid, 60))
        assert equal_at(ann, cid, 60) and ann.roster[5] == 1 and len(ann.roster[4]) == 2
        print("ok a third watches: the same %d frames, hashes that its verdict calls equal" % cid.lock.ran)
        cid.say_command(CHAT, b"hello")
        m.until(lambda: all("cid (watches): hello" in c.notices for c in m.clients))
        assert cid.lock.by_update == 0, "frames come to a watcher by HISTORY alone"
        print("ok a watcher's chat is a notice to all")
        away(m, ann, cid)
        ghost(m)
        differ(m, ann, cid)
        step_in(m, ann, cid)


def away(m, ann, cid):
    cid.link.cut, session, room = True, cid.link.session.number, cid.room_id
    m.until(lambda: not cid.link.session)
    cid.link.cut, have = False, ann.lock.ran
    m.until(lambda: cid.lock.ran >= have)
    assert cid.link.session.number != session and cid.client == 255 and cid.room_id == room
    assert ann.roster[5] == 1, ann.roster
    same_frames(ann, cid)
    print("ok a watcher that lost its link watches again, by the same seat key")


def ghost(m):
    """It has watched a room that is gone."""
    dan = m.client("dan", room="gone")
    dan.watches = True
    m.until(lambda: dan.refused)
    assert dan.refused[0] == 8 and not dan.welcome
    print("ok a watcher that comes again makes no room")


def differ(m, ann, cid):
    """It was in sync since it came back: a watcher that never was runs the game from the beginning instead.

    So does one whose snapshot failed, because the players' machines stood still for 3 s. Then the next difference counts."""
    for failed in range(3):
        back, begun = cid.lock.ran, cid.log.count(ANEW)
        m.until(lambda: in_sync(cid, back))
        cid.machine.differs_at = cid.lock.ran + 2
        m.until(lambda: cid.healed or cid.log.count(ANEW) > begun)
        if cid.healed:
            break
        assert "event=snapshot_failed" in m.relay.last_words(), "it begins anew without a reason"
        m.until(lambda: cid.state == "playing")
    assert any(v[2] == 1 for v in cid.verdicts) and not any(v[2] for v in ann.verdicts)
    m.until(lambda: in_sync(cid, cid.healed[0][1]))
    assert cid.verdicts[-1][6] == failed + 1
    print("ok a watcher whose machine differs is told so alone, and healed from frame %d on" % cid.healed[0][1])


def step_in(m, ann, cid):
    ann.say_command(PLACES, bytes([3]))
    m.until(lambda: ann.roster[1] == 3)
    have = cid.lock.next
    cid.say_command(SEAT, bytes([1]))
    m.until(lambda: cid.client != 255 and plays_past(cid, have))
    assert same_frames(ann, cid) >= have
    m.until(lambda: equal_at(ann, cid, have))
    print("ok a watcher takes a free seat and plays on from the frames that it has")
