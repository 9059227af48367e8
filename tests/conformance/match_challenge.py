"""match_challenge.py - a token is given, and its run is taken, once and in time; nothing else is. §9 of net/PROTOCOL.md, Challenges."""
import os
import struct
import time

import curves
from judge import Match
from session import blake
from primitives import NEUTRAL, Reader, Writer
from protocol import read_params, write_facts, write_params
from recording import blocks, sealed
from room import coded, text

HEAD, ROOM, START, PIECES, HASH, EVENT, END, SEAL, SIGN = 1, 2, 3, 5, 7, 8, 9, 10, 11
FPS, LONG = 60000000, 8 << 20
PARAMS = [0, 0, 1, 0, 0, 1, 0, 0, 0, 0, FPS, 0]


def room(name, facts, match=""):
    w = Writer()
    w.str(text(name)), w.u(1, 1), write_params(w, PARAMS), write_facts(w, [[text(a), text(b)] for a, b in facts]), w.u(1, 0), w.str(text(match))
    return bytes(w.out)


def challenge(start):
    """As `keylock run --record` writes it: it begins with this."""
    facts = [("core", "stand-in 1"), ("content", "none"), ("system", "linux")]
    return sealed([(HEAD, struct.pack("<BHB48xQ", 1, 1, 3, 946684800)), (ROOM, room("", facts)), (START, start)])


def frames(count, seat=0):
    """PIECES, of seats that press nothing."""
    out = b""
    for first in range(0, count, 30):
        run = [[n, first, 30, int(n == first), 0, 0, [], 1 << seat, [NEUTRAL] * 8] for n in range(first, min(first + 30, count))]
        piece = struct.pack("<IB", first, len(run)) + coded(run)
        out += struct.pack("<H", len(piece)) + piece
    return out


def run_of(token, count, seat=0, extra=(), words=lambda room: room):
    """The run's file; each hash is of RAM, 7."""
    parts = [(kind, words(body) if kind == ROOM else body) for _, kind, body in blocks(token)]
    return sealed([*parts, (PIECES, frames(count, seat)), (HASH, struct.pack("<IHBQ", count - 1, 1, 1, 7)), *extra,
                   (END, struct.pack("<I", count) + b"\0")])


class Player:
    """A client that says one thing, and hears the answer."""

    def __init__(self, m, say, data=b"", total=None):
        self.client = c = m.client("player")
        self.token, c.enter, c.on_2 = b"", self.enter, self.on_data
        self.say, self.data, self.total = say, data, len(data) if total is None else total
        m.until(lambda: c.refused or self.token and len(self.token) == self.whole)
        m.clients.remove(c)

    def enter(self):
        self.client.say(*self.say)
        for at in range(0, len(self.data), 1000):
            self.client.say(2, at, self.total, self.data[at:at + 1000].hex())

    def on_data(self, offset, total, data):
        assert offset == len(self.token)
        self.whole, self.token = total, self.token + bytes.fromhex(data)


def wants(m, name):
    return Player(m, (37, text(name), text("ann")))


def hands_in(m, run, count, room_id=None, forged=False, total=None):
    """The code of the answer, and its words."""
    room_id = room_id or [body for _, kind, body in blocks(run) if kind == HEAD][0][4:20]
    seed = m.rng.randbytes(32)
    newest = struct.pack("<IBQQQ", count - 1, 1, 7, 0, 0)
    chain = blake(128, bytes(16) + newest)
    signature = curves.ed25519_sign(seed, b"keylock hashes 1" + (bytes(16) if forged else room_id) + struct.pack("<I", 1) + chain + newest)
    said = (38, room_id.hex(), curves.ed25519_public(seed).hex(), 1, chain.hex(), count - 1, 1, 7, signature.hex())
    return Player(m, said, run, total).client.refused


def check_token(m, token, start, relay_key, now):
    """Its blocks, and the relay's signature: over no frames."""
    kinds = [(kind, body) for _, kind, body in blocks(token)]
    assert [kind for kind, _ in kinds] == [HEAD, ROOM, START, SEAL]
    head, said, data, seal = (body for _, body in kinds)
    epoch, = struct.unpack("<Q", head[-8:])
    assert head[20:52] == relay_key and head[4:20] != bytes(16) and abs(epoch - now) < 60 and data == start
    r = Reader(said)
    assert bytes.fromhex(r.name(23)) == b"python" and r.u(1) == 1 and read_params(r)[10] == FPS
    facts = {bytes.fromhex(r.str(47)): bytes.fromhex(r.str(159)) for _ in range(r.u(1))}
    assert facts == {b"core": b"stand-in 1", b"content": b"none", b"challenge": b"python %d 86400" % FPS}
    identity = blake(128, b"".join(key + b"\0" + facts[key] + b"\0" for key in sorted(facts)))
    fields = seal[:-96]
    assert fields[:24] == bytes(24)
    signed = b"keylock seal 1" + head[4:20] + identity + blake(128, start) + struct.pack("<Q", epoch)
    return kinds, signed, fields, seal


def refused(what, answer, code, words):
    assert answer[0] == code and words in answer[1], "%s: %s" % (what, answer)


def challenges(program, seed):
    with Match(program, seed, journal=True) as m:
        start = m.client("start").wish["machine"].START
        m.clients.clear()
        folder = os.path.join(m.relay.folder.name, "record")
        with open(os.path.join(folder, "challenges", "python.klr"), "wb") as f:
            f.write(challenge(start))
        with open(os.path.join(folder, "challenges", "large.klr"), "wb") as f:
            f.write(challenge(bytes(40000)))
        refused("none of that name", wants(m, "nothing").client.refused, 8, "no such challenge")
        refused("a path", wants(m, "../python").client.refused, 8, "letters, digits")
        large = [body for _, kind, body in blocks(wants(m, "large").token) if kind == START]
        assert large == [bytes(40000)], "more than the relay has under way to one client at a time"
        ann = wants(m, "python")
        check_token(m, ann.token, start, ann.client.link.session.relay_key, time.time())
        run = run_of(ann.token, 60)
        parts = [(kind, body) for _, kind, body in blocks(run)]
        altered = sealed([(kind, body[:-8] + bytes([body[-8] ^ 1]) + body[-7:] if kind == HEAD else body) for kind, body in parts])
        foreign = sealed([(kind, body[:20] + bytes(32) + body[52:] if kind == HEAD else body) for kind, body in parts])
        planted = run_of(ann.token, 60, extra=[(EVENT, struct.pack("<BIQB", 1, 30, 9, 0))])
        refused("another epoch", hands_in(m, altered, 60), 10, "not signed for this core, content, start data and epoch")
        refused("another relay's", hands_in(m, foreign, 60), 10, "expected a token of this relay")
        refused("a planted byte", hands_in(m, planted, 60), 10, "expected frames and hashes behind its token, got EVENT")
        refused("a second pad", hands_in(m, run_of(ann.token, 60, seat=1), 60), 10, "not one player's")
        refused("no token", hands_in(m, challenge(start), 60), 10, "does not begin with a token")
        refused("too early", hands_in(m, run_of(ann.token, 60 * 3600), 60 * 3600), 5, "too early")
        refused("torn", hands_in(m, run[:-5], 60), 10, "damaged or has no end")
        refused("another challenge's words", hands_in(m, run_of(ann.token, 60, words=lambda room: room[:-1] + b"m"), 60), 10, "not the token's")
        refused("another room's", hands_in(m, run, 60, room_id=bytes(16)), 10, "not the token's")
        refused("other hashes", hands_in(m, run, 61), 10, "not those that its player has signed")
        refused("not signed", hands_in(m, run, 60, forged=True), 10, "not signed by the key")
        refused("too large", hands_in(m, run, 60, total=LONG + 1), 10, "at most %d bytes, got %d" % (LONG, LONG + 1))
        assert not os.listdir(os.path.join(folder, "new")), "none of these is kept"
        while (answer := hands_in(m, run, 60))[0] == 5:  # a second of frames takes a second
            m.turn_for(0.2)
        refused("a run", answer, 13, "60 frames of the challenge python")
        refused("twice", hands_in(m, run, 60), 8, "handed in before")
        name, = os.listdir(os.path.join(folder, "new"))
        with open(os.path.join(folder, "new", name), "rb") as f:
            kept = [kind for _, kind, _ in blocks(f.read())]
        assert kept == [HEAD, ROOM, START, SEAL, PIECES, HASH, SIGN, SEAL, END], kept
        given = 1
        while not (c := wants(m, "python").client).refused:
            given += 1
        refused("a share", c.refused, 10, "at most 12 tokens")
        assert given == 12
        print("ok a relay gives a challenge's token, and takes its run once, in time and whole")
