"""machine.py - machines that stand in for a core and its world: §12 of net/PROTOCOL.md, and the commands of §5.

Digests has as its RAM a row of digests over all inputs and commands that it has run, so any difference lasts.
Press is the game of tests/cores/press_core.c, so that a client of C code can play with it."""
import ctypes
import ctypes.util
import hashlib
import json
import struct

import tables
from primitives import Writer

TABLES = tables.read_tables()
RAM, NOISE = 300000, 40000  # bytes of Digests; the first NOISE of them do not pack
OPTION = b"shade"
POLICY, SWAP, RESET, SET_OPTION, SAVE, LOAD, SNAPSHOT, MASK = 1, 2, 16, 17, 20, 21, 22, 23

xxhash = ctypes.CDLL(ctypes.util.find_library("xxhash"))
xxhash.XXH3_64bits.restype, xxhash.XXH3_64bits.argtypes = ctypes.c_uint64, [ctypes.c_char_p, ctypes.c_size_t]


def xxh3(data):
    return xxhash.XXH3_64bits(data, len(data))


def digest(data):
    return hashlib.blake2b(data).digest()


def walk(name, data):
    w = tables.Walk(TABLES, data)
    known = w.table(TABLES[name])
    w.r.end()
    return known


class Machine:
    START = b"KLS2" + bytes(7)
    GEOMETRY, ASPECT, RATE, FORMAT, SUPPORTS = (64, 64, 64, 64), 1000000, 44100000, 0, 0  # §12: integers of a snapshot

    def __init__(self, start, fps):
        known = walk("start data", start)
        self.options = {o["key"]: o["value"] for o in known["option_list"]}
        self.fps, self.plays, self.policy, self.budget, self.spacing = fps, list(range(8)), 1, 0, 0
        self.slot, self.saved_at, self.loaded = None, None, 0
        self.waiting, self.updated = dict(self.options), 0
        self.mask, self.pieces = self.mask_bytes(known), []
        self.power_on()

    def mask_bytes(self, known):
        """§12: state size, ranges, mask."""
        w = Writer()
        w.var(known["state_size"]), w.var(known["ranges"])
        for r in known["mask"]:
            w.var(r["counted"]), w.var(r["masked"])
        return bytes(w.out)

    def command(self, keyframe, kind, data):
        """§5, Commands: those that change the machine. Gives what the client has to tell the relay, or None."""
        if kind == SWAP and len(data) == 2:
            a, b = (self.plays.index(seat) for seat in data)
            self.plays[a], self.plays[b] = self.plays[b], self.plays[a]
        elif kind == POLICY:
            self.policy, self.budget, self.spacing = data[0], int.from_bytes(data[1:3], "little"), data[3]
        elif kind == RESET:
            self.power_on()
        elif kind == SET_OPTION:
            key, _, value = data.partition(b"=")
            if key in self.options:
                self.options[key] = self.waiting[key] = value
        elif kind == SAVE:
            self.slot, self.saved_at = self.state(), keyframe
            return "saved"
        elif kind == LOAD and self.slot and int.from_bytes(data, "little") == self.saved_at:
            self.set_state(self.slot)
            self.loaded += 1
        elif kind == MASK and len(data) > 2 and data[0] in (0, len(self.pieces)) and self.mask[1:] == b"\0":
            self.pieces = self.pieces[:data[0]] + [data[2:]]
            if len(self.pieces) == data[1]:
                self.mask = b"".join(self.pieces)
        return None

    def serialize(self, keyframe):
        w = Writer()
        w.out += b"KLP2"
        w.u(4, keyframe), w.u(8, 0), w.u(8, 0), w.u(4, 0)
        w.out += bytes(self.plays)
        w.u(1, self.policy), w.u(2, self.budget), w.u(1, self.spacing)
        w.out += self.mask
        self.write_outside(w)
        state = self.state()
        w.var(len(state))
        w.out += state
        return bytes(w.out)

    def write_outside(self, w):
        """§12, A snapshot's bytes: from the base width to the waiting list."""
        for pixels in self.GEOMETRY:
            w.u(2, pixels)
        w.u(4, self.ASPECT), w.u(4, self.fps), w.u(4, self.RATE), w.u(1, self.FORMAT), w.u(1, 0), w.u(1, self.SUPPORTS), w.u(1, 0)
        w.str(""), w.hex(bytes(32).hex()), w.u(4, 0)
        w.u(2, 0xffff), w.u(2, 0xffff), w.u(1, 0), w.u(1, 0), w.u(4, 0), w.u(2, 0)
        w.var(0), w.hex(bytes(64).hex()), w.u(1, 0), w.u(1, self.updated)
        w.var(len(self.options))
        for key, value in sorted(self.options.items()):
            w.str(key.hex()), w.str(value.hex()), w.var(0)
        w.var(len(self.waiting))
        for key, value in self.waiting.items():
            w.str(key.hex()), w.str(value.hex())
        w.var(0), w.var(0)  # no files

    def load(self, snapshot):
        known = walk("snapshot", snapshot)
        self.mask = self.mask_bytes(known)
        self.waiting = {o["key"]: o["value"] for o in known["waiting_list"]}
        self.updated = known["updated"]
        self.options = {o["key"]: o["value"] for o in known["option_list"]}
        self.plays, self.fps = list(known["plays"]), known["fps"]
        self.policy, self.budget, self.spacing = known["policy"], known["budget"], known["spacing"]
        self.set_state(known["state"])
        return known["frame"]


class Digests(Machine):
    NAME = "Python 1"
    START = b"KLS2" + bytes([0, 0, 0, 1, len(OPTION)]) + OPTION + b"\4dark" + bytes([0, 0, 0])

    differs_at = None  # planted: this frame goes wrong

    def power_on(self):
        self.last = digest(b"on")
        self.ram = bytearray(b"".join(digest(bytes([n >> 8, n & 255])) for n in range(NOISE // 64)) + bytes(RAM - NOISE))

    def run(self, frame):
        number, inputs = frame[0], frame[8]
        words = [inputs, self.plays, sorted(map(str, self.options.items())), number == self.differs_at]
        self.last = digest(self.last + json.dumps(words).encode())
        at = number * 64 % (RAM - 64)
        self.ram[at:at + 64] = self.last

    def state(self):
        return bytes(self.ram) + self.last

    def set_state(self, state):
        self.ram, self.last = bytearray(state[:RAM]), state[RAM:]

    def layout(self):
        """One piece of RAM, at address 0"""
        return xxh3(struct.pack("<QQB", 0, RAM, 1)) % 2**32

    def hashes(self):
        """Of RAM and state"""
        return xxh3(bytes(self.ram)), None


class Press(Machine):
    NAME = "Press core 1"
    GEOMETRY, ASPECT, RATE, FORMAT, SUPPORTS = (160, 144, 160, 144), 0, 48000000, 2, 1

    def power_on(self):
        self.frame, self.sum, self.pads = 0, 0, [0] * 8

    def run(self, frame):
        for seat in range(8):
            self.pads[seat] = frame[8][seat][0]
            self.sum = ((self.sum ^ self.pads[seat]) * 16777619 + seat) % 2**32
        self.frame += 1

    def state(self):
        return struct.pack("<2I8H", self.frame, self.sum, *self.pads)

    def set_state(self, state):
        self.frame, self.sum, *self.pads = struct.unpack("<2I8H", state)

    def layout(self):
        return xxh3(struct.pack("<QQB", 0, len(self.state()), 1)) % 2**32

    def hashes(self):
        return xxh3(self.state()), xxh3(self.state())
