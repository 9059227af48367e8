"""match_bring.py - clients bring their room to a relay that has lost it. §7 of net/PROTOCOL.md, Bringing a room back."""
from judge import Match, equal_at, plays_past, restart, same_frames
from match_late import FPS, PLACES, REPLAYED, seated

SHOW, EVERYTHING = (1, 2**32 - 1), (2, 0)


def bring(program, seed):
    with Match(program, seed, "--catch-up", "1") as m:
        ann, bob = m.client("ann"), m.client("bob")
        m.until(lambda: all(c.lock and c.lock.ran > FPS * REPLAYED for c in (ann, bob)))
        ann.say_command(PLACES, bytes([3]))
        m.until(lambda: ann.roster[1] == 3)
        cid = m.client("cid")
        m.until(lambda: all(c.lock and c.lock.state == "present" and c.ticket and c.tags for c in m.clients))
        assert cid.lock.begin > 0
        room, before = ann.room_id, ann.lock.frames[:FPS]
        restart(m)
        wants = ann.wants + bob.wants
        assert wants.count(SHOW) == 2 and wants.count(EVERYTHING) == 1 and EVERYTHING not in cid.wants, (wants, cid.wants)
        assert all(c.room_id == room for c in m.clients) and ann.lock.frames[:FPS] == before
        print("ok two clients bring their room to a relay that has lost it, a third returns to it, and they play on")


def base(program, seed):
    with Match(program, seed, "--catch-up", "1") as m:
        ann, bob = m.client("ann", budget=200), m.client("bob", budget=200)
        m.until(lambda: all(c.lock and c.lock.ran > FPS * REPLAYED for c in (ann, bob)))
        ann.say_command(PLACES, bytes([4]))
        m.until(lambda: ann.roster[1] == 4)
        cid = m.client("cid")
        m.until(lambda: seated(cid))
        m.until(lambda: cid.lock.ran > cid.lock.begin + FPS * REPLAYED)
        m.leaves(ann)
        m.leaves(bob)
        dee = m.client("dee")
        m.until(lambda: seated(dee))
        m.until(lambda: all(c.ticket and c.tags and c.lock.ran > dee.lock.begin + 90 for c in (cid, dee)))
        dee.link.cut = True
        m.until(lambda: cid.lock.ran > dee.lock.next + FPS and cid.lock.marks[-1][0] > dee.lock.next)
        cid.link.cut = True
        m.turn_for(1)
        m.relay.kill()
        m.turn_for(0.1)  # datagrams under way are lost
        m.relay.start(m.relay.port)
        dee.link.cut = False
        m.until(lambda: len(dee.wants) == 2)
        parts, first = dee.wants[1]
        assert dee.wants[0] == SHOW and parts == 2 and first >= dee.lock.begin > 0, dee.wants
        cid.link.cut, have, more = False, dee.lock.next, cid.lock.next
        m.until(lambda: len(cid.wants) == 2)
        assert cid.wants[0] == SHOW and cid.wants[1][0] == 0 and first < cid.wants[1][1] <= have < more, (cid.wants, have, more)
        m.until(lambda: plays_past(cid, more) and plays_past(dee, more))
        same_frames(cid, dee)
        m.until(lambda: equal_at(cid, dee, more))
        print("ok clients without frame 0 bring their room from keyframe %d of the ticket on, and a later one the %d frames that it has "
              "more" % (first, more - cid.wants[1][1]))


def forge(frame):
    """Frame 40 has another input of port 0."""
    if frame[0] != 40:
        return frame
    inputs = [[frame[8][0][0] ^ 1] + frame[8][0][1:]] + frame[8][1:]
    return frame[:8] + [inputs]


def lies_if_first(client, asked):
    def bring_frame(frame):
        if not asked:
            asked.append(client)
        return forge(frame) if asked[0] is client else frame
    return bring_frame


def forger(program, seed):
    with Match(program, seed) as m:
        both = ann, bob = m.client("ann"), m.client("bob")
        m.until(lambda: all(c.lock and c.lock.ran >= 90 and c.ticket and c.tags for c in both))
        for c in both:
            c.link.cut = True
        m.turn_for(1)
        m.relay.kill()
        m.relay.start(m.relay.port)
        asked, have = [], ann.lock.next
        for c in both:
            c.link.cut = False
            c.forge_frame = lies_if_first(c, asked)
        m.until(lambda: asked and asked[0].refused)
        liar = asked[0]
        honest = bob if liar is ann else ann
        m.until(lambda: plays_past(honest, have))
        assert liar.refused[0] == 8 and honest.wants[-1] == EVERYTHING, (liar.refused, honest.wants)
        print("ok a client that brings other frames than were played is turned away, and the next one brings the room")
