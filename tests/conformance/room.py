"""room.py - a client in a room: §7 of net/ROOMS.md, its table "States of a client". One turn of it is one call of turn()."""
import struct

import curves
import packing
from link import CTRL, Link
from lock import LONGEST, Lock
from machine import SNAPSHOT, Digests
from primitives import VERSION, Writer
from protocol import write_frames
from session import blake, fingerprint, prove_door

POLICY_STRICT, POLICY_BOUNDED, POLICY_OPTIMISTIC = 0, 1, 2
HEAL, PAUSE, IGNORE = 0, 1, 2
DOOR_PASSWORD, DOOR_AGAIN = 2, 32
CHAT = 19
CONTENT = "xxh3 0123456789abcdef (4 bytes, game)"
FILES = [["file bios", "xxh3 fedcba9876543210 (9 bytes, bios)"]]


def text(words):
    return words.encode().hex()


def facts(pairs):
    return [[text(key), text(value)] for key, value in pairs]


def coded(frames):
    """As UPDATE codes them, from `offset` on, but without chat: for digests."""
    w = Writer()
    frames = [(*f[:6], [c for c in f[6] if c[1] != CHAT] if f[6] else f[6], *f[7:]) for f in frames]
    if frames:
        write_frames(w, frames, LONGEST)
    return bytes(w.out)


class Client:
    def __init__(self, name, port, rng, now, **wishes):
        self.name, self.rng = name, rng
        self.wish = dict(room="python", seats=1, players=2, policy=POLICY_BOUNDED, spacing=0, lead_max=0, budget=10000, hash_every=15,
                         subframes=1, clock=1, fps=30, desync=IGNORE, password=None, machine=Digests, content=CONTENT, files=FILES, version=VERSION, hello=None) | wishes
        self.facts = [["core", self.wish["machine"].NAME], ["content", self.wish["content"]]]
        self.link, self.seat_seed = Link(port, rng, now, self.wish["room"], self.wish["version"]), rng.randbytes(32)
        self.new_process()
        self.token, self.seat_time, self.watches = None, 0, False
        self.forge = self.forge_frame = lambda what: what  # by the judge

    def new_process(self):
        """Nothing is left but the seat's key and the token."""
        self.state, self.proved, self.refused, self.welcome = "connecting", None, None, None
        self.lock, self.machine, self.start, self.uploaded = None, None, b"", False
        self.verdicts, self.notices, self.roster, self.hashes = [], [], None, {}
        self.behind = 0, bytes(16)  # the intervals before the first frame, and their digest
        self.bare, self.kept, self.offer, self.packed, self.unloaded, self.waits = None, {}, None, b"", None, False  # waits: for a snapshot to begin with
        self.own, self.rewind, self.rewound, self.lost = {}, None, [], []  # own: states before marked keyframes
        self.log, self.gave, self.healed, self.seals, self.said, self.signed = [], [], [], [], [], 0

    # --- one turn ---

    def turn(self, now):
        self.now = now
        for kind, what in self.link.turn(now):
            if self.state == "over":
                return
            if kind == "connected":
                self.enter()
            elif kind == "message":
                self.log.append(what[0])
                getattr(self, "on_%d" % what[0])(*what[1:])
            elif self.lock:
                self.lock.update(what, now)
        if self.lock and self.welcome and self.link.session and self.state != "over":
            self.play(now)

    def play(self, now):
        self.load_offered()
        self.go_back()
        ran = 0
        while self.state in ("ready", "playing") and not self.waits and (f := self.lock.runs(now)):
            self.run(f)
            ran += 1
        urgent = self.state == "playing" and self.lock.sample(now)
        if now >= self.lock.ctrl_at or urgent or ran and not self.watches:
            self.link.send(CTRL, self.lock.ctrl(now))

    def say(self, *message):
        if self.link.session:
            self.link.say(message, self.now, LONGEST)

    def say_command(self, kind, data=b""):
        self.say(6, kind, data.hex())

    # --- coming in ---

    def enter(self):
        if "deletes" in self.wish:  # §9, Deleted recordings
            room_id = self.wish["deletes"]
            signed = b"keylock delete 1" + self.link.session.relay_key + bytes.fromhex(room_id)
            key = curves.ed25519_public(self.seat_seed)
            self.say(10, room_id, key.hex(), curves.ed25519_sign(self.seat_seed, signed).hex())
            return
        if self.token and not self.watches:
            self.come_back()
            return
        w = self.wish
        params = [w["policy"], w["subframes"], w["clock"], 0, 0, w["players"], w["spacing"], w["lead_max"], w["budget"], w["hash_every"], round(w["fps"] * 1000000), w["desync"]]
        door = w.get("door", 0) | (DOOR_PASSWORD if w["password"] else 0) | (DOOR_AGAIN if self.watches else 0)
        key = curves.ed25519_public(self.seat_seed).hex()
        seats = 0 if self.watches else w["seats"]
        self.say(1, w["hello"] or w["version"], text(self.name), text(w["room"]), seats, params, facts(self.facts), door, w.get("consent", 2), 0, key, text(w.get("match", "")))
        self.state = "entering"

    def come_back(self):
        """§7, Kept seats"""
        signature = curves.ed25519_sign(self.seat_seed, b"keylock return" + self.link.session.binding + self.token)
        fresh = int(self.lock is None or self.waits)
        have = first = intervals = 0
        digest = part = bytes(16)
        states = []
        if not fresh:
            self.lock.lose_session()
            have, first = self.lock.next, self.lock.begin
            intervals, digest, part = self.described(have)
            states = [self.described(keyframe)[:2] for keyframe in sorted(self.own)]
        self.before, self.state = self.state if not fresh and self.state != "returning" else "waiting", "returning"
        self.say(8, text(self.wish["room"]), self.token.hex(), curves.ed25519_public(self.seat_seed).hex(), signature.hex(),
                 fresh, have, first, intervals, digest.hex(), part.hex(), [[i, d.hex()] for i, d in states], facts(self.facts), self.wish.get("consent", 2))

    def described(self, end):
        """§9, Digests: of the frames below `end`"""
        intervals, digest = self.behind
        link = lambda frames: blake(128, digest + bytes.fromhex(self.room_id) + struct.pack("<I", intervals) + coded(frames))
        left = self.lock.frames[:end - self.lock.begin]
        while left and len(left) >= left[0][2]:
            digest, left, intervals = link(left[:left[0][2]]), left[left[0][2]:], intervals + 1
        return intervals, digest, link(left)

    def on_23(self, task, _salt, share):  # DOOR
        if task == 1:
            self.say(7, 1, self.wish["password"].hex(), bytes(16).hex())
        else:
            share, mac, self.proved = prove_door(self.rng, self.wish["password"], self.link.session.binding, bytes.fromhex(share))
            self.say(7, 0, share.hex(), mac.hex())

    def on_24(self, mac):  # PROVED
        assert bytes.fromhex(mac) == self.proved, "the relay knows the password"

    def on_16(self, session, client, seats, host, params, room_id, token, seat_time, match):  # WELCOME
        self.match = bytes.fromhex(match).decode()
        assert session == self.link.session.number
        self.welcome, self.client, self.seats, self.host, self.room_id = True, client, seats, host, room_id
        seated, self.watches = self.watches and client != 255, client == 255  # seated: a watcher has got a seat
        self.token, self.seat_time = bytes.fromhex(token), seat_time
        if seated:
            self.lock.seat(bin(seats).count("1"))
        elif self.state == "returning" and self.lock and not self.waits:
            self.state = self.before
        else:
            self.lock = Lock(self.rng, params, bin(seats).count("1"), self.watches)
            if self.state == "returning":
                self.lock.absent()
            self.state, self.waits = "waiting", False

    def on_17(self, code, words):  # REFUSE
        self.refused, self.state = (code, bytes.fromhex(words).decode()), "over"

    def on_18(self, *roster):  # ROSTER
        self.roster = roster

    def on_32(self, client, seats):  # SEAT
        if seats != self.seats:
            self.lock.seat(bin(seats).count("1"))
        self.client, self.seats = client, seats

    def on_20(self, bare):  # SEND; the start data of this client's machine has no saves
        self.bare = bare
        self.start, self.uploaded = self.wish["machine"].START, True
        for at in range(0, len(self.start), 1000):
            self.say(2, at, len(self.start), self.start[at:at + 1000].hex())

    def on_19(self, epoch, length):  # PREPARE
        self.epoch = epoch
        self.log.append("PREPARE in state " + self.state)
        if self.state == "ready":
            self.say(3, facts(self.wish["files"]))
            return
        if self.state == "playing":
            self.lock.forget(0)
            self.behind, self.offer, self.unloaded, self.waits = (0, bytes(16)), None, None, False
        self.length, self.state = length, "fetching"
        if not self.uploaded:
            self.start = b""
        self.fetched()

    def on_2(self, offset, total, data):  # DATA
        if self.state == "fetching":
            assert offset == len(self.start) and total == self.length, "DATA follows"
            self.start += bytes.fromhex(data)
            self.fetched()

    def fetched(self):
        if len(self.start) == self.length:
            self.machine, self.state = self.wish["machine"](self.start, int(self.lock.fps * 1e6)), "ready"
            self.say(3, facts(self.wish["files"]))

    # --- frames ---

    def on_25(self, first, frames):  # HISTORY
        if self.lock.frames or first <= self.lock.begin:
            assert first <= self.lock.next, "HISTORY has no gap"
            self.lock.take_frames(frames)

    def run(self, f):
        number, marked, commands = f[0], f[4], f[6]
        self.state = "playing"
        begins = self.offer and self.offer[0] == number and self.offer[2]
        if marked and not begins:
            self.hashes[number - 1] = self.machine.hashes()
            self.say(4, number - 1, self.machine.layout(), *self.hashes[number - 1], None, None, 0)
            self.said.append((number - 1, (*self.hashes[number - 1], None)))
            self.keep_own(number)
        self.run_commands(number, commands, begins)
        self.machine.run(f)
        self.lock.ran += 1

    def run_commands(self, keyframe, commands, behind_snapshot):
        kinds = [kind for _, kind, _ in commands]
        at = kinds.index(SNAPSHOT) + 1 if behind_snapshot and SNAPSHOT in kinds else 0
        for _, kind, data in commands[at:]:
            if kind == SNAPSHOT:
                self.give_state(keyframe)
            elif self.machine.command(keyframe, kind, bytes.fromhex(data)) == "saved":
                self.say_command(9, struct.pack("<IBQ", keyframe, 1, self.machine.hashes()[0]))

    # --- hashes, snapshots, healing ---

    def on_21(self, *verdict):  # VERDICT
        self.verdicts.append(verdict)
        agreed = sorted(k for k in self.own if k <= verdict[7])
        for keyframe in agreed[:-4]:  # the newest is needed; three older ones, should the relay lose frames
            del self.own[keyframe]

    def on_36(self, intervals, end, digest, label, has, *rest):  # SEAL
        *values, public, signature = rest
        each = iter(values)
        hashes = [next(each) if has >> bit & 1 else 0 for bit in range(3)]
        identity = blake(128, b"".join(part.split(" (")[0].encode() + b"\0" for pair in sorted(self.facts) for part in pair))
        signed = (b"keylock seal 1" + bytes.fromhex(self.room_id) + identity + blake(128, self.start) + struct.pack("<QII", self.epoch, intervals, end) +
                  bytes.fromhex(digest) + struct.pack("<IBQQQ", label, has, *hashes))
        assert curves.ed25519_verify(bytes.fromhex(public), signed, bytes.fromhex(signature)), "the seal is signed"
        assert fingerprint(curves.ed25519_as_x25519(bytes.fromhex(public))) == self.link.session.relay, "by this relay"
        assert end <= self.lock.next, "it has the frames"
        self.seals.append((intervals, end, digest))
        self.say_signed()

    def say_signed(self):
        """SIGN: all hashes so far."""
        if len(self.said) == self.signed:
            return
        chain = bytes(16)
        for frame, values in self.said:
            has = sum(1 << i for i, v in enumerate(values) if v is not None)
            newest = struct.pack("<IBQQQ", frame, has, *(v or 0 for v in values))
            chain = blake(128, chain + newest)
        self.signed = len(self.said)
        text = b"keylock hashes 1" + bytes.fromhex(self.room_id) + struct.pack("<I", self.signed) + chain + newest
        self.say(9, self.signed, chain.hex(), frame, has, *(v for v in values if v is not None), curves.ed25519_sign(self.seat_seed, text).hex())

    def check_seals(self):
        """Those of frames that have come."""
        for intervals, end, digest in self.seals:
            if end <= self.lock.ran and end >= self.behind[0]:
                assert self.described(end)[:2] == (intervals, bytes.fromhex(digest)), "the sealed frames are those that came"

    def keep_own(self, keyframe):
        """Before its commands. The newest makes place."""
        if len(self.own) > 7:
            del self.own[max(self.own)]
        self.own[keyframe] = self.machine.serialize(keyframe)

    def on_34(self, disk):  # CHECK; the machine has no disks
        self.say(14, 0, disk, 3, 0, 0, "")

    def on_33(self, keyframe, lost):  # REWIND
        self.rewind = (keyframe, lost)
        if lost:
            self.lost.append(keyframe)
            self.lock.cut(keyframe)

    def go_back(self):
        """REWIND: to the newest own state up to that keyframe."""
        if self.rewind is None:
            return
        (keyframe, lost), self.rewind = self.rewind, None
        at = max((k for k in self.own if k <= keyframe), default=None)
        if at is not None:
            self.own = {k: v for k, v in self.own.items() if k <= at}
            self.machine.load(self.own[at])
            self.machine.differs_at = None  # planted once
            for number in range(at, self.lock.ran):
                f = self.lock.frame(number)
                if f[4] and number > at:
                    self.keep_own(number)
                self.run_commands(number, f[6], False)
                self.machine.run(f)
        self.say(13, keyframe, self.lock.ran, 2 if at is None else 0)
        if not lost:
            self.rewound.append((keyframe, self.lock.ran))

    def on_22(self, _code, words):  # NOTICE
        self.notices.append(bytes.fromhex(words).decode())

    def give_state(self, keyframe):
        snapshot = self.machine.serialize(keyframe)
        self.keep(keyframe, snapshot)
        self.say(11, keyframe, 1, len(snapshot), packing.digest(snapshot).hex())

    def keep(self, keyframe, snapshot):
        """To be given, or as the base of the next one."""
        self.kept = dict(sorted(self.kept.items())[-1:]) | {keyframe: snapshot}

    def on_29(self, keyframe, based, base=None, base_hash=None):  # ASK
        snapshot, before = self.kept[keyframe], self.kept.get(base)
        against = int(based and before is not None and packing.digest(before).hex() == base_hash)
        packed = packing.pack(self.forge(snapshot), before if against else None)
        for at in range(0, len(packed), 4000):
            self.say(12, keyframe, against, at, len(packed), packed[at:at + 4000].hex())
        self.gave.append((keyframe, against, len(packed)))

    def on_30(self, keyframe, interval, begin, length, packed, digest, before):  # OFFER
        self.offer, self.packed, self.unloaded = (keyframe, packed, begin, length, digest), b"", None
        if begin:
            self.lock.forget(keyframe, interval)
            self.behind, self.waits, self.state = (interval, bytes.fromhex(before)), True, "playing"

    def on_31(self, keyframe, offset, total, piece):  # SNAPSHOT
        if not self.offer or keyframe != self.offer[0]:
            return
        assert offset == len(self.packed) and total == self.offer[1], "SNAPSHOT follows"
        self.packed += bytes.fromhex(piece)
        if len(self.packed) == total:
            self.unloaded = packing.unpack(self.packed, self.offer[3])
            assert packing.digest(self.unloaded).hex() == self.offer[4], "the snapshot has its hash"

    def load_offered(self):
        """Before any frame, or once the client has run the keyframe."""
        if not self.unloaded or not self.offer[2] and self.lock.ran <= self.offer[0]:
            return
        self.own = {}
        keyframe = self.machine.load(self.unloaded)
        assert keyframe == self.offer[0]
        self.keep(keyframe, self.unloaded)
        self.unloaded, self.waits = None, False
        if not self.offer[2]:
            for number in range(keyframe, self.lock.ran):
                f = self.lock.frame(number)
                self.run_commands(number, f[6], number == keyframe)
                self.machine.run(f)
        self.say(13, keyframe, self.lock.ran, 0)
        self.healed.append((keyframe, self.lock.ran))
