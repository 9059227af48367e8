#!/usr/bin/env python3
"""forger.py BUILD CORE CONTENT STATES SEED ROOMS [trusts] - players who lie about their machines and give mutated savestates,
against a real `keylock run` with a real core.

The liars are clients from the document (tests/conformance). They know the true hashes, from the guest's own hash file and from
the core's pictures, so the guest's machine and theirs agree until the lie. STATES mutated states are offered in rooms of four
kinds (ROOMS of them at a time): two players; three, two of them liars; a guest who comes late; a guest who watches. Nobody
presses a button, so the guest's game must be, frame by frame, the one that the core plays alone.
With `trusts` the guest loads states of others, but in a tie: it loads these or dies, the limit that docs/security.md names."""
import ctypes
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../conformance"))

from judge import Match
from machine import Machine, xxh3, xxhash
from room import HEAL, Client

FRAMES = 1800  # a core whose pictures are known
PLACES, QUICK = 13, 64
KINDS = "two", "three", "late", "watch"
LOADED = re.compile(r"started from the room's state|back in sync: loaded|refused the room's state")
WENT_BACK = re.compile(r"back in sync: went back")
BEGAN_ANEW = re.compile(r"guest \(\d\) runs? the game from the beginning")
TOLD = re.compile(r"out of sync")


# --- the core, run here without input -----------------------------------------------------------------------------

class Info(ctypes.Structure):  # struct retro_system_info
    _fields_ = [(n, ctypes.c_char_p) for n in ("name", "version", "extensions")] + [("full_path", ctypes.c_bool), ("block", ctypes.c_bool)]


class Game(ctypes.Structure):  # struct retro_game_info
    _fields_ = [("path", ctypes.c_char_p), ("data", ctypes.c_char_p), ("size", ctypes.c_size_t), ("meta", ctypes.c_char_p)]


class Timing(ctypes.Structure):  # struct retro_system_av_info
    _fields_ = [("geometry", ctypes.c_uint * 4), ("aspect", ctypes.c_float), ("fps", ctypes.c_double), ("rate", ctypes.c_double)]


class Piece(ctypes.Structure):  # struct retro_memory_descriptor
    _fields_ = [("flags", ctypes.c_uint64), ("at", ctypes.c_void_p), ("offset", ctypes.c_size_t), ("start", ctypes.c_size_t),
                ("select", ctypes.c_size_t), ("disconnect", ctypes.c_size_t), ("size", ctypes.c_size_t), ("space", ctypes.c_char_p)]


class Map(ctypes.Structure):  # struct retro_memory_map
    _fields_ = [("pieces", ctypes.POINTER(Piece)), ("count", ctypes.c_uint)]


SYSTEM_RAM = 2  # RETRO_MEMORY_SYSTEM_RAM; as a flag of a piece 1 << 2


class Core:
    """Name, rate, the layout of its RAM, pictures by frame, and some states."""

    def __init__(self, path, content):
        self.path, self.game, self.options = path, content, {}
        self.lib, self.pixel, self.pictures, self.states, self.picture = ctypes.CDLL(path), 2, {}, [], 0
        self.map = []
        void, unsigned, size = ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t
        self.calls = [ctypes.CFUNCTYPE(ctypes.c_bool, unsigned, void)(self.environment),
                      ctypes.CFUNCTYPE(None, void, unsigned, unsigned, size)(self.draw),
                      ctypes.CFUNCTYPE(None, ctypes.c_int16, ctypes.c_int16)(lambda left, right: None),
                      ctypes.CFUNCTYPE(size, void, size)(lambda data, frames: frames),
                      ctypes.CFUNCTYPE(None)(lambda: None),
                      ctypes.CFUNCTYPE(ctypes.c_int16, unsigned, unsigned, unsigned, unsigned)(lambda *where: 0)]
        for name, call in zip(("environment", "video_refresh", "audio_sample", "audio_sample_batch", "input_poll", "input_state"), self.calls):
            getattr(self.lib, "retro_set_" + name)(call)
        info, timing, data = Info(), Timing(), open(content, "rb").read()
        self.lib.retro_get_system_info(ctypes.byref(info))
        self.name = "%s %s" % (info.name.decode().strip(), info.version.decode().strip())
        self.content = "xxh3 %016x (%d bytes, %s)" % (xxh3(data), len(data), os.path.basename(content))
        self.lib.retro_init()
        assert self.lib.retro_load_game(ctypes.byref(Game(content.encode(), data, len(data), None))), "the core takes the content"
        self.lib.retro_get_system_av_info(ctypes.byref(timing))
        self.fps = timing.fps
        imports = subprocess.run(["nm", "-D", "--undefined-only", path], capture_output=True, text=True, check=True).stdout
        self.rand = [["rand()", "lower 15 bits (on every system)"]] if re.search(r" rand@", imports) else []  # Nestopia's, docs/cores.md
        self.lib.retro_serialize_size.restype = size
        self.lib.retro_serialize.argtypes = [void, size]
        for frame in range(FRAMES):
            self.lib.retro_run()
            self.pictures[frame] = self.picture
            if frame % 40 == 39 and frame < 240:
                self.states.append(self.state())
        self.layout = self.laid_out()

    def laid_out(self):
        """net/PROTOCOL.md §12"""
        self.lib.retro_get_memory_data.restype, self.lib.retro_get_memory_size.restype = ctypes.c_void_p, ctypes.c_size_t
        whole = 0, self.lib.retro_get_memory_data(SYSTEM_RAM), self.lib.retro_get_memory_size(SYSTEM_RAM)
        layout, known = 0, []
        for start, at, size in sorted(self.map, key=lambda piece: piece[0]) or [whole]:
            for begin, end in known:
                if at and begin <= at < end:
                    at, size = end, max(0, at + size - end)
            if size:
                layout = xxh3_seeded(struct.pack("<QQB", start, size, at is not None), layout) % 2**32
                known += [(at, at + size)] if at else []
        return layout

    def shown(self, begin, label):
        """The pictures' chain over these frames; None: not known."""
        chain = 0
        for frame in range(begin, label + 1):
            if not self.pictures.get(frame):
                return None
            chain = xxh3_seeded(struct.pack("<Q", self.pictures[frame]), chain)
        return chain

    def state(self):
        out = ctypes.create_string_buffer(self.lib.retro_serialize_size())
        assert self.lib.retro_serialize(out, len(out))
        return out.raw

    def environment(self, what, data):
        if what == 3:  # frames without a picture are understood
            ctypes.cast(data, ctypes.POINTER(ctypes.c_bool))[0] = True
        elif what in (9, 31):  # the system and the save folder
            ctypes.cast(data, ctypes.POINTER(ctypes.c_char_p))[0] = b"/nowhere"
        elif what == 10:  # the pixel format: 1 has 4 bytes
            self.pixel = 4 if ctypes.cast(data, ctypes.POINTER(ctypes.c_uint))[0] == 1 else 2
        elif what == 15:  # an option's value
            pair = ctypes.cast(data, ctypes.POINTER(ctypes.c_char_p))
            pair[1] = self.options.get(pair[0])
            return pair[1] is not None
        elif what == 16:  # the options, as "words; default|another"
            pair = ctypes.cast(data, ctypes.POINTER(ctypes.c_char_p))
            for at in range(0, 2000, 2):
                if pair[at] is None:
                    break
                self.options[pair[at]] = pair[at + 1].split(b"; ", 1)[1].split(b"|")[0]
        elif what == 0x10024:  # the memory map
            listed = ctypes.cast(data, ctypes.POINTER(Map))[0]
            self.map = [(p.start, p.at and p.at + p.offset, p.size) for p in listed.pieces[:listed.count] if p.flags >> SYSTEM_RAM & 1]
        else:
            return False
        return True

    def draw(self, data, width, height, pitch):
        """net/PROTOCOL.md §12"""
        if data:
            self.picture = 0
            for line in range(height):
                self.picture = xxh3_seeded(ctypes.string_at(data + line * pitch, width * self.pixel), self.picture)


xxhash.XXH3_64bits_withSeed.restype = ctypes.c_uint64
xxhash.XXH3_64bits_withSeed.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]


def xxh3_seeded(data, seed):
    return xxhash.XXH3_64bits_withSeed(data, len(data), seed)


def mutated(states, rng):
    """Bits turned over, bytes and words of any value, another length, parts of another state or of another place."""
    state, other, kinds = bytearray(rng.choice(states)), rng.choice(states), rng.sample(range(5), rng.choice((1, 1, 2)))
    for kind in kinds:
        at = rng.randrange(len(state))
        count = min(rng.choice((4, 64, 1024, 16384)), len(state) - at)
        if kind == 0:
            for _ in range(rng.choice((1, 16, 256, 4096))):
                state[rng.randrange(len(state))] ^= 1 << rng.randrange(8)
        elif kind == 1:
            state[at:at + count] = rng.choice((rng.randbytes(count), b"\xff" * count, bytes(count)))
        elif kind == 2:
            state[at:at + count] = other[-count:] if rng.random() < 0.5 else other[:count]
        elif kind == 3:
            for _ in range(rng.choice((1, 8, 64))):
                place = rng.randrange(0, len(state) - 3)
                state[place:place + 4] = rng.choice((b"\xff\xff\xff\x7f", b"\0\0\0\x80", rng.randbytes(4)))
        else:
            state = state[:max(1, at)] if rng.random() < 0.5 else state + rng.randbytes(rng.choice((1, 4096)))
    return bytes(state)


# --- the liars and the guest --------------------------------------------------------------------------------------

class Worn(Machine):
    """In place of the machine of a liar: it has the state that is offered."""

    def power_on(self):
        pass

    run = set_state = lambda self, what: None

    def state(self):
        return self.forged


class Liar(Client):
    lies_from = None  # a label; None: tells the truth

    def of(self, room, address):
        self.room, self.labels, self.marked = room, [], 0
        self.link.sockets[0].close()
        self.link.sockets[0] = s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setblocking(False)
        s.bind((address, 0))
        s.connect(("127.0.0.1", self.link.port))
        return self

    def on_16(self, *welcome):
        super().on_16(*welcome)
        self.lock.pad = lambda number: 0

    def run(self, f):
        self.state = "playing"
        if f[4]:
            self.labels.append((self.marked, f[0] - 1))
            self.marked = f[0]
        self.run_commands(f[0], f[6], False)
        self.lock.ran += 1

    def turn(self, now):
        super().turn(now)
        while self.labels and (self.lies(self.labels[0][1]) or self.labels[0][1] in self.room.hashes):
            self.hash(*self.labels.pop(0))

    def lies(self, label):
        return self.lies_from is not None and label >= self.lies_from

    def hash(self, begin, label):
        """Of the frames from `begin` on. The lie is the same of all liars."""
        ram, state = self.room.hashes.get(label, (None, None))
        picture = self.room.core.shown(begin, label)
        if self.lies(label):
            ram, state, picture = (None, 0, label ^ 0xbad) if self.room.has_no_ram else (label ^ 0xbad, 0, None)
        self.say(4, label, self.room.core.layout, ram, state, picture, None, 0)

    def go_back(self):
        if self.rewind is not None:
            self.say(13, self.rewind[0], self.lock.ran, 0)
            self.rewind, self.labels = None, []

    def load_offered(self):
        self.unloaded = None


class Room:
    """A relay, liars, and the guest: a real `keylock run`. One room for each forged state."""

    def __init__(self, build, core, seed, kind, stranger):
        self.build, self.core, self.seed, self.kind, self.stranger = build, core, seed, kind, stranger
        self.loads = stranger == "trusts" and kind != "two"
        self.match = Match(os.path.join(build, "keylock-relay"), seed, "--catch-up", "1", "--log", "info")
        self.folder = self.match.relay.folder.name
        options = b"".join(bytes([len(word)]) + word for pair in sorted(core.options.items()) for word in pair)
        pads = bytes([2, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0])  # a joypad in both ports
        start = b"KLS2" + bytes([0, 0, 0, len(core.options)]) + options + pads + bytes(2)
        self.worn = type("Worn", (Worn,), dict(NAME=core.name, START=start, forged=mutated(core.states, random.Random(seed))))
        self.guest, self.hashes, self.has_no_ram, self.looked_at, self.log = None, {}, False, 0, ""
        self.story, self.until, self.by = getattr(self, kind)(), lambda: True, time.monotonic() + 90

    def liar(self, **wishes):
        address = "127.0.0.%d" % (len(self.match.clients) + 2)
        wishes |= dict(machine=self.worn, content=self.core.content, files=[], fps=self.core.fps, desync=HEAL, door=QUICK * (self.stranger == "quick"))
        liar = Liar("liar%d" % len(self.match.clients), self.match.relay.port, self.match.rng, time.monotonic(), **wishes).of(self, address)
        liar.facts += self.core.rand
        self.match.clients.append(liar)
        return liar

    def comes(self, *options):
        named = [] if self.stranger == "quick" else ["--room", "python"]
        trust = {"trusts": "on", "off": "off", "listed": "auto", "quick": "on"}[self.stranger]
        mode = {"KEYLOCK_MODE": "quick"} if self.stranger == "quick" else {}
        with open(os.path.join(self.folder, "guest.log"), "w") as log:
            self.guest = subprocess.Popen(
                [os.path.join(self.build, "keylock"), "run", "--core", self.core.path, "--content", self.core.game, "--relay",
                 "127.0.0.1:%d" % self.match.relay.port, "--insecure-lan", "--name", "guest", "--speed", "real", "--frames", "100000",
                 "--hash-out", os.path.join(self.folder, "guest.hash"), "--trust", trust, *named, *options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=os.environ | mode | {"HOME": self.folder})  # a client that knows no relay

    def look(self):
        """What the guest has said and hashed"""
        with open(os.path.join(self.folder, "guest.log"), errors="replace") as f:
            self.log = f.read()
        if os.path.exists(hashed := os.path.join(self.folder, "guest.hash")):
            with open(hashed) as f:
                for line in f.read().split("\n")[:-1]:
                    label, ram, state = line.split()
                    self.has_no_ram = ram == "-"
                    self.hashes[int(label)] = None if ram == "-" else int(ram, 16), int(state, 16)

    def lie(self, *liars):
        """All of them from the same label on, that none of them has told"""
        for liar in liars:
            liar.lies_from = max(liar.lock.ran for liar in liars)

    # --- the stories ---

    def two(self):
        """Ties: the guest goes back, then begins anew, then the players are asked."""
        liar = self.liar(players=2)
        yield lambda: liar.welcome
        self.comes()
        yield lambda: liar.verdicts and liar.verdicts[-1][7] > 30
        self.lie(liar)
        yield lambda: WENT_BACK.search(self.log)
        yield lambda: any("Go on?" in n for n in liar.notices)

    def three(self):
        """A majority against the guest: it goes back, begins anew, and in the end is put out, or plays on and is told."""
        liars = [self.liar(players=3)]
        yield lambda: liars[0].welcome  # the first to come makes the room
        liars.append(self.liar())
        yield lambda: liars[1].welcome
        self.comes()
        yield lambda: liars[0].verdicts and liars[0].verdicts[-1][7] > 30
        self.lie(*liars)
        yield lambda: LOADED.search(self.log) if self.loads else (
            self.guest.poll() is not None or any("not brought back" in n or "Go on?" in n for liar in liars for n in liar.notices))

    def late(self, *options):
        """The game is older than a newcomer would have to replay; all that the liars say is true but the state."""
        liar = self.liar(players=1)
        yield lambda: liar.lock and liar.lock.ran > 320
        liar.say_command(PLACES, bytes([2]))
        yield lambda: liar.roster[1] == 2
        self.comes(*options)
        yield lambda: LOADED.search(self.log) if self.loads else (
            any(label > liar.lock.ran - 60 for label in self.hashes) and (options or liar.verdicts and liar.verdicts[-1][0] > 320 and not liar.verdicts[-1][2]))

    def watch(self):
        return self.late("--seats", "0")

    # --- and their end ---

    def turn(self, now):
        """True: over."""
        for client in self.match.clients:
            client.turn(now)
        if self.guest and now > self.looked_at + 0.02:
            self.looked_at = now
            self.look()
        if self.until():
            self.until = next(self.story, None)
        if self.guest and self.guest.poll() is not None and self.until and not self.until():
            self.until = None if self.guest.returncode < 0 else self.until
            return True
        return self.until is None or now > self.by

    def end(self):
        """The guest's exit status, or None"""
        status = self.guest.poll() if self.guest else None
        if self.guest:
            self.guest.kill()
            self.guest.wait()
            self.look()
        self.match.relay.kill()
        return status

    def judge(self, status):
        """What is wrong, or None; and the signal of which the guest died, or None."""
        died = -status if status is not None and status < 0 else None
        failed = self.wrong(status, died)
        if failed:
            print("FAIL forged/%s: seed %d, %s, %s: %s" % (self.core.name, self.seed, self.kind, self.stranger, failed))
            print("     " + (self.match.relay.last_words()[-1500:] + self.log[-1500:]).replace("\n", "\n     "))
        self.match.relay.log.close()
        self.match.relay.folder.cleanup()
        return failed, died

    def alone(self):
        """RAM's hash by frame, None without RAM, of the same game without the others and with the room's clock"""
        epoch = re.search(r"epoch_s=(\d+)", self.match.relay.words())[1]
        hashed = os.path.join(self.folder, "alone.hash")
        subprocess.run([os.path.join(self.build, "keylock"), "run", "--quiet", "--core", self.core.path, "--content", self.core.game, "--epoch", epoch,
                        "--frames", str(max(self.hashes) + 1), "--hash-every", "1", "--hash-out", hashed],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        with open(hashed) as f:
            return {int(label): None if ram == "-" else int(ram, 16) for label, ram, _ in map(str.split, f)}

    def wrong(self, status, died):
        if self.until:
            return "not to its end: %s" % [self.match.describe(c) for c in self.match.clients]
        if self.loads:
            return None if died or LOADED.search(self.log) else "the state was not loaded, exit status %s" % status
        if died:
            return "the guest died of signal %d" % died
        if len(self.hashes) < 3:
            return "the guest told hashes of frames %s" % list(self.hashes)
        alone = self.alone()
        wrong = [label for label, (ram, _) in self.hashes.items() if alone[label] != ram]
        if LOADED.search(self.log) or wrong:
            return "the guest loaded a state of others; its game differs after frames %s" % wrong[:8]
        if status is not None and self.kind != "three":
            return "the guest ended with %s" % status
        if self.kind in ("two", "three") and not ((WENT_BACK.search(self.log) or BEGAN_ANEW.search(self.log)) and TOLD.search(self.log)):
            return "the guest neither went back nor began anew, or was not told"
        return None


def main():
    build, path, game, states, seed, at_once = *sys.argv[1:4], *map(int, sys.argv[4:7])
    strangers = ("trusts",) if "trusts" in sys.argv[7:] else ("off", "listed", "quick")
    core = Core(path, game)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    rooms, ends, begun = [], [], 0
    with ThreadPoolExecutor(1) as beside:  # a room is judged while others play: their liars have 5 s for a HELLO
        try:
            while len(ends) < states:
                while len(rooms) < at_once and begun < states:
                    at = seed + begun
                    rooms.append(Room(build, core, at, KINDS[at % 4], strangers[at // 4 % len(strangers)]))
                    begun += 1
                now = time.monotonic()
                for room in [room for room in rooms if room.turn(now)]:
                    rooms.remove(room)
                    ends.append(beside.submit(room.judge, room.end()))
                time.sleep(0.002)
        finally:
            for room in rooms:
                room.judge(room.end())
    bad, deaths = (sum(bool(end.result()[which]) for end in ends) for which in (0, 1))
    print("%s forged/%s: seeds %d to %d, deaths: %d" % ("FAIL" if bad else "ok", core.name, seed, seed + states - 1, deaths))
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
