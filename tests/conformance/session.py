#!/usr/bin/env python3
"""session.py SESSION_PEER [SEED] - both ends of a session, written from net/PROTOCOL.md §2, §8 and §9 and held against the C code.

Handshakes with a relay and with a client of the C code, in every cipher that Python has here; sealed datagrams both
ways; each damaged one is dropped; then digests, tokens, doors and returns. AES-256-GCM is left to
tests/unit/test_seal.c, which has vectors of another library.
"""
import base64
import hashlib
import hmac
import random
import struct
import subprocess
import sys

sys.dont_write_bytecode = True

import curves
import tables
from primitives import VERSION

TABLES = tables.read_tables()

CHACHA, CLEAR = 2, 4
FLIPS = 60  # damaged forms of each datagram


def by_table(name, data):
    """The fields of a whole datagram, by the document's table."""
    walk = tables.Walk(TABLES, data)
    known = walk.table(TABLES[name])
    walk.r.end()
    return known


def blake(bits, data, key=b""):
    return hashlib.blake2b(data, digest_size=bits // 8, key=key).digest()


def fingerprint(public):
    return base64.b32encode(blake(160, public)).decode().lower()


# --- the C code, line by line ----------------------------------------------------------------------------------

class Peer:
    def __init__(self, program, *words):
        self.process = subprocess.Popen([program, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def line(self):
        return self.process.stdout.readline().split()

    def ask(self, *words):
        """Lines until the full stop, as lists of words."""
        self.say(*words)
        out = []
        while (got := self.line()) != ["."]:
            assert got, "the C code ended: %s" % (words,)
            out.append(got)
        return out

    def say(self, *words):
        text = [(w.hex() or "-") if isinstance(w, bytes) else str(w) for w in words]
        self.process.stdin.write(" ".join(text) + "\n")
        self.process.stdin.flush()

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(10) == 0


# --- §2 --------------------------------------------------------------------------------------------------------

class Way:
    """One direction: seals with counters of its own."""
    def __init__(self, cipher, session, key):
        self.cipher, self.session, self.key, self.counter = cipher, session, key, 0

    def _nonce(self, counter):
        return bytes(4) + struct.pack("<Q", counter)

    def seal(self, kind, body):
        self.counter += 1
        head = struct.pack("<BBII", 0x4b, kind, self.session, self.counter)
        if self.cipher == CLEAR:
            return head + body + curves.siphash128(self.key[:16], head + body)
        return head + curves.chacha_seal(self.key, self._nonce(self.counter), body, head)

    def open(self, data):
        """(kind, body) or None; windows are test_seal.c's business"""
        if len(data) < 26:
            return None
        head = data[:10]
        magic, kind, session, counter = struct.unpack("<BBII", head)
        if magic != 0x4b or kind not in (1, 2, 3, 4) or session != self.session or counter == 0:
            return None
        if self.cipher == CLEAR:
            good = curves.siphash128(self.key[:16], data[:-16]) == data[-16:]
            return (kind, data[10:-16]) if good else None
        body = curves.chacha_open(self.key, self._nonce(counter), data[10:], head)
        return None if body is None else (kind, body)


# --- §9, the handshake -----------------------------------------------------------------------------------------

def bucket(key, room):
    return blake(128, room.encode(), key)[0] % 64 if room else 0


def make_init(public, offers, cookie=bytes(16), version=VERSION, bucket=0):
    return struct.pack("<BBH", 0x4b, 0x10, version) + public + bytes([offers]) + bytes(3) + cookie + bytes([bucket]) + bytes(199)


def schedule(ee, es, init, answer):
    said = blake(512, init + answer)
    root = blake(512, b"keylock session" + ee + es + said)
    return {word: blake(bits, word.encode(), root)
            for word, bits in (("up", 256), ("down", 256), ("binding", 256), ("proof", 128))}


def play_client(program, rng, offers, ciphers, expected):
    """Python is the client."""
    own_secret, secret = rng.randbytes(32), rng.randbytes(32)
    peer = Peer(program, "relay", own_secret.hex(), str(ciphers))
    own = curves.x25519(own_secret)
    assert peer.line() == ["fingerprint", fingerprint(own)]
    public = curves.x25519(secret)
    echo = public[:16]

    assert peer.ask("in", make_init(public, offers, version=VERSION + 1)) == [
        ["out", (b"\x4b\x13" + echo + struct.pack("<BH", 1, VERSION)).hex()]]
    assert peer.ask("in", make_init(public, 0x80)) == [["out", (b"\x4b\x13" + echo + struct.pack("<BH", 4, VERSION)).hex()]]
    for wrong in (make_init(public, offers)[:-1], make_init(public, offers) + b"\0",
                  make_init(public, offers)[:-1] + b"\1", make_init(public, offers)[:37] + b"\1" + make_init(public, offers)[38:]):
        assert peer.ask("in", wrong) == []
    by_table("INIT", make_init(public, offers))
    (word, reply), = peer.ask("in", make_init(public, offers))
    reply = bytes.fromhex(reply)
    assert by_table("COOKIE", reply)["echo"] == echo
    assert word == "out" and len(reply) == 66 and reply[:18] == b"\x4b\x11" + echo and any(reply[18:34]) and reply[34:] == own
    init = make_init(public, offers, reply[18:34], bucket=rng.randrange(64))
    for _ in range(FLIPS):  # a cookie is good for this INIT alone
        bit = rng.randrange(8 * 36)
        answers = peer.ask("in", flip(init, 32 + bit))
        assert answers == [] or answers[0][1][2:4] in ("11", "13"), answers
    answers = peer.ask("in", init)
    answer = bytes.fromhex(answers[0][1])
    assert by_table("ANSWER", answer)["s_r"] == own
    assert len(answer) == 103 and answer[:18] == b"\x4b\x12" + echo
    session, cipher = struct.unpack("<IB", answer[18:23])
    assert session != 0 and cipher == expected and answer[55:87] == own
    keys = schedule(curves.x25519(secret, answer[23:55]), curves.x25519(secret, own), init, answer[:87])
    assert keys["proof"] == answer[87:]
    assert answers[1] == ["established", own.hex(), str(cipher), str(session), keys["binding"].hex()]
    talk(peer, rng, Way(cipher, session, keys["up"]), Way(cipher, session, keys["down"]))
    peer.end()


def play_relay(program, rng, offers, cipher):
    """Python is the relay; a dumb one, with a cookie of its own making."""
    own_secret, secret, cookie, session = rng.randbytes(32), rng.randbytes(32), rng.randbytes(16), 0xfffff00f
    peer = Peer(program, "client", str(offers))
    init = bytes.fromhex(peer.line()[1])
    public = by_table("INIT", init)["e_c"]
    by_table("REFUSAL", b"\x4b\x13" + public[:16] + struct.pack("<BH", 2, 9))
    assert init == make_init(public, offers)
    assert peer.ask("in", b"\x4b\x13" + public[:16] + struct.pack("<BH", 2, 9)) == [["refused", "2", "9"]]
    own = curves.x25519(own_secret)
    assert peer.ask("in", b"\x4b\x11" + bytes(16) + cookie + own) == []  # a partner that has not seen INIT
    assert peer.ask("in", b"\x4b\x11" + public[:16] + cookie) == []
    again = peer.ask("in", b"\x4b\x11" + public[:16] + cookie + own)
    init = make_init(public, offers, cookie)
    assert again == [["out", init.hex()]]
    answer = b"\x4b\x12" + public[:16] + struct.pack("<IB", session, cipher) + curves.x25519(secret) + own
    keys = schedule(curves.x25519(secret, public), curves.x25519(own_secret, public), init, answer)
    for _ in range(FLIPS):
        assert peer.ask("in", flip(answer + keys["proof"], rng.randrange(8 * 103))) == []
    lie = schedule(curves.x25519(secret, public), curves.x25519(secret, public), init, answer)
    assert peer.ask("in", answer + lie["proof"]) == []  # a partner without the long-term key
    assert peer.ask("in", answer + keys["proof"]) == [
        ["established", own.hex(), str(cipher), str(session), keys["binding"].hex()]]
    talk(peer, rng, Way(cipher, session, keys["down"]), Way(cipher, session, keys["up"]))
    peer.end()


def flip(data, bit):
    out = bytearray(data)
    out[bit // 8] ^= 1 << bit % 8
    return bytes(out)


def talk(peer, rng, to_c, from_c):
    for _ in range(12):
        kind, body = rng.randint(1, 4), rng.randbytes(rng.choice([0, 1, 24, 64, 1200]))
        sealed = to_c.seal(kind, body)
        for _ in range(FLIPS // 12):
            assert peer.ask("in", flip(sealed, rng.randrange(8 * len(sealed)))) == []
        assert peer.ask("in", sealed) == [["opened", str(kind), body.hex() or "-"]]
        assert peer.ask("in", sealed) == []  # once
        (_, made), = peer.ask("seal", kind, body)
        assert from_c.open(bytes.fromhex(made)) == (kind, body)
    assert peer.ask("in", from_c.seal(1, b"reflected")) == []


# --- §9, the rest ----------------------------------------------------------------------------------------------

def lv(*fields):
    assert all(len(f) < 128 for f in fields)
    return b"".join(bytes([len(f)]) + f for f in fields)


def prove_door(rng, w, sid, theirs):
    """The client's part of a run: its share, its mac, and the relay's that it expects."""
    dsi = b"CPaceRistretto255"
    padding = bytes(128 - 1 - len(dsi) - 1 - len(w) - 1)
    g = curves.ristretto_from_hash(hashlib.sha512(lv(dsi, w, padding, b"keylock door", sid)).digest())
    y = rng.randrange(1, curves.ORDER)
    share, k = curves.ristretto_times(y, g), curves.ristretto_times(y, theirs)
    isk = hashlib.sha512(lv(dsi + b"_ISK", sid, k) + lv(theirs, b"relay") + lv(share, b"client")).digest()
    mac_key = hashlib.sha512(b"CPaceMac" + sid + isk).digest()
    mac = lambda message: hmac.new(mac_key, message, hashlib.sha512).digest()[:16]
    return share, mac(lv(share, b"client")), mac(lv(theirs, b"relay"))


def play_door(peer, rng, same):
    """Python is the client; the C code the relay."""
    w, sid = rng.randbytes(32), rng.randbytes(32)
    peer.say("door", w if same else rng.randbytes(32), sid)
    theirs = bytes.fromhex(peer.line()[1])
    share, own, relays = prove_door(rng, w, sid, theirs)
    agreed = peer.ask("share", share) == [["own", relays.hex()], ["expected", own.hex()]]
    assert agreed == same


def play_papers(program, rng):
    peer = Peer(program, "papers")
    room, digest = rng.randbytes(16), bytes(16)
    for i in range(8):
        frames = rng.randbytes(rng.randrange(900))
        before, digest = digest, blake(128, digest + room + struct.pack("<I", i) + frames)
        assert peer.ask("digest", room, before, i, frames) == [["digest", digest.hex()]]
    for _ in range(4):
        seed, binding, token = rng.randbytes(32), rng.randbytes(32), rng.randbytes(16)
        public = curves.ed25519_public(seed)
        signature = curves.ed25519_sign(seed, b"keylock return" + binding + token)
        assert peer.ask("return", public, binding, token, signature) == [["yes"]]
        assert peer.ask("return", public, flip(binding, rng.randrange(256)), token, signature) == [["no"]]
        assert peer.ask("token", token) == [["hash", blake(256, token).hex()]]
    for same in (True, True, False):
        play_door(peer, rng, same)
    peer.end()


def play_enet(program, rng):
    """§8: CONNECT as the table has it, and the commands that a relay lets through."""
    peer = Peer(program, "papers")
    for session in (1, 0x01020304, rng.randrange(1, 2**32)):
        (_, made), = peer.ask("connect", session)
        connect = bytes.fromhex(made)
        assert len(connect) == 56
        assert by_table("CONNECT", connect)["connect_id"] == session, "the connect id is little-endian"
        assert peer.ask("filter", connect) == [["pass"]]
    field = {leaf.field.name: (leaf.start, leaf.end) for leaf in walked(connect).leaves}
    for name in ("outgoing_peer", "channels", "incoming_bandwidth", "outgoing_bandwidth"):
        start, end = field[name]
        assert peer.ask("filter", connect[:start] + b"\1" * (end - start) + connect[end:]) == [["drop"]], name
    head = struct.pack(">HH", 0x8000, 0) + struct.pack("<I", session)
    ping, reliable = b"\x85\xff\0\1", lambda n, channel=0: struct.pack(">BBHH", 0x86, channel, 1, n) + bytes(n)
    piece = lambda count=2, total=2000, n=9, channel=1: struct.pack(">BBHHHIIII", 0x88, channel, 1, 1, n, count, 0, total, 0) + bytes(n)
    limits = lambda n: struct.pack(">BBHII", 0x8a, 0xff, 1, n, 0)
    for good in (ping, ping * 32, reliable(1), reliable(1000, 1), piece(), piece(12, 6000), limits(0), b"\x84\xff\0\1" + bytes(4),
                 b"\x01\xff\0\1" + bytes(4)):
        assert peer.ask("filter", head + good) == [["pass"]], good.hex()
    for bad in (b"", ping * 33, ping + b"\0", reliable(0), reliable(1, 2), reliable(5)[:-1], piece(13, 6000), piece(2, 6001), piece(n=0),
                piece(channel=2), limits(1), connect[8:], b"\x87\0\0\1" + bytes(5), b"\x89\0\0\1" + bytes(5), b"\x8b\xff\0\1" + bytes(12),
                b"\x83\xff\0\1" + bytes(40), reliable(1174 - 14 + 1)):
        assert peer.ask("filter", head + bad) == [["drop"]], bad.hex()
    assert peer.ask("filter", b"\xc0" + head[1:] + ping) == [["drop"]], "compressed"
    assert peer.ask("filter", connect + ping) == [["drop"]], "CONNECT is alone"
    peer.end()


def walked(connect):
    walk = tables.Walk(TABLES, connect)
    walk.table(TABLES["CONNECT"])
    return walk


def main():
    program, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    rng = random.Random(seed)
    both = CHACHA | CLEAR
    for offers, ciphers, expected in ((CHACHA, CHACHA, CHACHA), (both, CHACHA, CHACHA), (both, both, CLEAR),
                                      (0xf8 | CHACHA, both, CHACHA)):
        play_client(program, rng, offers, ciphers, expected)
    print("ok handshake and datagrams, Python as the client: 4 sessions seed=%d" % seed)
    for offers, cipher in ((CHACHA, CHACHA), (both, CLEAR)):
        play_relay(program, rng, offers, cipher)
    print("ok handshake and datagrams, Python as the relay: 2 sessions seed=%d" % seed)
    play_papers(program, rng)
    print("ok digests, tokens, returns, doors seed=%d" % seed)
    play_enet(program, rng)
    print("ok ENet's CONNECT is the table's, and the filter drops what §8 says seed=%d" % seed)


if __name__ == "__main__":
    main()
