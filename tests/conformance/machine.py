"""machine.py - a machine that stands in for a core and its world: §12 of net/PROTOCOL.md, and the commands of §5.

Its RAM is a row of digests over all inputs and commands that it has run, so any difference lasts."""
import hashlib
import json

import tables
from primitives import Writer

TABLES = tables.read_tables()
RAM, NOISE = 300000, 40000  # bytes; the first NOISE of them do not pack
OPTION = b"shade"
POLICY, SWAP, RESET, SET_OPTION, SAVE, LOAD, SNAPSHOT = 1, 2, 16, 17, 20, 21, 22
START = b"KLS2" + bytes([0, 0, 0, 1, len(OPTION)]) + OPTION + b"\4dark" + bytes([0, 0, 0])


def digest(data, size=64):
    return hashlib.blake2b(data, digest_size=size).digest()


def walk(name, data):
    w = tables.Walk(TABLES, data)
    known = w.table(TABLES[name])
    w.r.end()
    return known


class Machine:
    def __init__(self, start, fps):
        known = walk("start data", start)
        self.options = {o["key"]: o["value"] for o in known["option_list"]}
        self.fps, self.plays, self.policy, self.budget, self.spacing = fps, list(range(8)), 1, 0, 0
        self.slot, self.saved_at, self.loaded = None, None, 0
        self.power_on()
        self.differs_at = None  # planted: this frame goes wrong

    def power_on(self):
        self.last = digest(b"on")
        self.ram = bytearray(b"".join(digest(bytes([n >> 8, n & 255])) for n in range(NOISE // 64)) + bytes(RAM - NOISE))

    def hash(self):
        return int.from_bytes(digest(bytes(self.ram), 8), "little")

    def run(self, frame):
        number, inputs = frame[0], frame[8]
        self.last = digest(self.last + json.dumps([inputs, self.plays, sorted(map(str, self.options.items())), number == self.differs_at]).encode())
        at = number * 64 % (RAM - 64)
        self.ram[at:at + 64] = self.last

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
                self.options[key] = value
        elif kind == SAVE:
            self.slot, self.saved_at = bytes(self.ram) + self.last, keyframe
            return "saved"
        elif kind == LOAD and self.slot and int.from_bytes(data, "little") == self.saved_at:
            self.ram, self.last = bytearray(self.slot[:RAM]), self.slot[RAM:]
            self.loaded += 1
        return None

    def serialize(self, keyframe):
        w = Writer()
        w.out += b"KLP1"
        w.u(4, keyframe), w.u(8, 0), w.u(8, 0), w.u(4, 0), w.u(4, self.fps)
        w.out += bytes(self.plays)
        w.u(1, self.policy), w.u(2, self.budget), w.u(1, self.spacing)
        w.u(1, 0), w.u(4, 0), w.u(2, 0), w.u(2, 0xffff), w.u(1, 0)
        w.var(len(self.options))
        for key, value in sorted(self.options.items()):
            w.str(key.hex()), w.str(value.hex())
        w.var(RAM + 64)
        w.out += self.ram + self.last
        return bytes(w.out)

    def load(self, snapshot):
        known = walk("snapshot", snapshot)
        self.options = {o["key"]: o["value"] for o in known["option_list"]}
        self.plays, self.fps = list(known["plays"]), known["fps"]
        self.policy, self.budget, self.spacing = known["policy"], known["budget"], known["spacing"]
        self.ram, self.last = bytearray(known["state"][:RAM]), known["state"][RAM:]
        return known["frame"]
