#!/usr/bin/env python3
"""client.py RELAY [SEED] - whole clients, written from net/PROTOCOL.md and ENet's public description, at a real relay.

Two of them play: handshake, ENet, HELLO, password, start data, READY, samples, frames, commands, hashes. A third
watches from outside. One loses its link and returns by its seat key. Then the relay is killed, and both return to the room of its
journal. Judged is: all get the same frames. Each frame is made of the samples that the lock (§5) says. Equal machines get equal
verdicts, and a machine that differs is found. The relay takes the digest of a returned client's frames for its own."""
import hashlib
import json
import os
import random
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

import curves
import enet
from primitives import NEUTRAL, Writer
from protocol import decode, write_ctrl, write_frames, write_message
from session import CHACHA, CLEAR, VERSION, Way, blake, fingerprint, make_init, prove_door, schedule

CTRL, UPDATE, ENET, PATH = 1, 2, 3, 4
FPS, HASH_EVERY = 30, 15
DOOR_PASSWORD = 2
START = b"KLS2" + bytes([0, 0, 0, 1, 1]) + b"k" + b"\1v" + bytes([0, 0, 0])  # §12: one core option, k = v
LONGEST = random.Random(0)
LONGEST.random = lambda: 1.0  # runs as long as they can be


def text(words):
    return words.encode().hex()


def alone(frame):
    """A frame as UPDATE with count 1 codes it, from `offset` on."""
    w = Writer()
    write_frames(w, [frame], LONGEST)
    return bytes(w.out)


class Client:
    def __init__(self, name, room, port, rng, secret, seats=1):
        self.name, self.room, self.port, self.rng, self.seats_wanted = name, room, port, rng, seats
        self.seat_seed, self.password, self.proved = rng.randbytes(32), secret, None  # password: stretched, w of §9
        self.welcome, self.state, self.log, self.refused = None, "connecting", [], None
        self.frames, self.taken, self.samples, self.acked_samples = [], 0, {}, 0
        self.machine, self.hashes = b"start", {}
        self.verdicts, self.tags, self.interval = [], [], -1
        self.differs_from = None  # planted: from this frame on the machine is another
        self.absent, self.resume, self.resume_at, self.returned = False, False, 0, False
        self.echo, self.ctrl_at, self.closed_at = None, 0, None
        self.connect(time.monotonic())

    # --- §9 and §8 ---

    def connect(self, now):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setblocking(False)
        self.socket.connect(("127.0.0.1", self.port))
        self.secret = self.rng.randbytes(32)
        self.public, self.cookie = curves.x25519(self.secret), bytes(16)
        self.up = self.enet = None
        self.uploaded = False
        self.socket.send(make_init(self.public, CHACHA | CLEAR))
        self.init_at = now

    def lose_link(self):
        self.socket.close()
        self.frames = self.frames[:self.taken]
        self.returned = False
        self.log.clear()

    def handshake(self, data, now):
        if data[2:18] != self.public[:16]:
            return
        if data[1] == 0x11:
            self.cookie = data[18:]
            self.socket.send(make_init(self.public, CHACHA | CLEAR, self.cookie))
        elif data[1] == 0x12 and not self.up:
            session, cipher = struct.unpack("<IB", data[18:23])
            init = make_init(self.public, CHACHA | CLEAR, self.cookie)
            keys = schedule(curves.x25519(self.secret, data[23:55]), curves.x25519(self.secret, data[55:87]), init, data[:87])
            assert keys["proof"] == data[87:]
            self.fingerprint, self.binding = fingerprint(data[55:87]), keys["binding"]
            self.up, self.down = Way(cipher, session, keys["up"]), Way(cipher, session, keys["down"])
            self.enet = enet.Enet(session, now)
            self.entered = False

    def say(self, *message):
        data = write_message(list(message), LONGEST)
        self.enet.send(1 if message[0] in (2, 8 + 2, 12) else 0, data, time.monotonic())
        return data

    def enter(self):
        self.entered = True
        facts = [[text("core"), text("Python 1")], [text("content"), text("xxh3 0123456789abcdef (4 bytes, game)")]]
        if not self.welcome:
            params = [1, 1, 1, 0, 2, 0, 2000, HASH_EVERY, FPS * 1000000, 2]
            key = curves.ed25519_public(self.seat_seed).hex()
            self.say(1, VERSION, text(self.name), text(self.room), self.seats_wanted, params, facts, DOOR_PASSWORD, 0, key)
            return
        token = bytes.fromhex(self.welcome[7])
        signature = curves.ed25519_sign(self.seat_seed, b"keylock return" + self.binding + token)
        tags, end, digest = (self.tags[-1] if self.tags else (0, 0, bytes(16)))
        whole = digest + b"".join(alone(f) for f in self.frames[end:])
        self.say(8, text(self.room), token.hex(), curves.ed25519_public(self.seat_seed).hex(), signature.hex(), 0, 0,
                 len(self.frames), tags, blake(128, whole).hex(), facts)

    # --- §7 ---

    def message(self, m):
        kind = m[0]
        self.log.append(kind)
        if kind == 23 and m[1] == 1:
            self.say(7, 1, self.password.hex(), bytes(16).hex())
        elif kind == 23:
            share, mac, self.proved = prove_door(self.rng, self.password, self.binding, bytes.fromhex(m[3]))
            self.say(7, 0, share.hex(), mac.hex())
        elif kind == 24:
            assert bytes.fromhex(m[1]) == self.proved, "the relay knows the password"
        elif kind == 16:
            back = self.welcome is not None
            self.welcome, self.client = m, m[2]
            if back:  # §5, a session that ends
                self.samples, self.absent, self.resume, self.returned = {}, True, False, True
                self.echo, self.heard_update = None, False
            else:
                self.state = "waiting"
        elif kind == 17:
            self.refused, self.state = (m[1], bytes.fromhex(m[2]).decode()), "over"
        elif kind == 20:
            self.say(2, 0, len(START), START.hex())
            self.uploaded = True
        elif kind == 19:
            self.log.append("PREPARE in state " + self.state)
            self.state, self.start, self.total = "fetching", b"", m[2]
            if self.uploaded:
                self.loaded()
        elif kind == 2 and self.state == "fetching":
            assert m[1] == len(self.start) and m[2] == self.total
            self.start += bytes.fromhex(m[3])
            if len(self.start) == self.total:
                assert self.start == START
                self.loaded()
        elif kind == 25:
            self.take_frames(m[2])
        elif kind == 26:
            self.tags.append((m[1] + len(m[3]), m[2], bytes.fromhex(m[3][-1])))
        elif kind == 21:
            self.verdicts.append(m)

    def loaded(self):
        self.state = "ready"
        self.say(3, [[text("file bios"), text("xxh3 fedcba9876543210 (9 bytes, bios)")]])

    # --- §4 and §5 ---

    def sample(self, number):
        if self.client == 255 or self.absent and not self.resume:
            return
        self.samples[number] = self.rng.choice([0, 0, 1, 2, 3])

    def update(self, body, now):
        u = decode("update", 0, body)
        assert u != "malformed", body.hex()
        if self.client == 255:
            assert not u["frames"] and u["next_sample"] == 0
        self.echo, self.heard_update = (u["stamp"], now), True
        before = self.absent
        self.absent = bool(u["absent"])
        if self.absent and not before:
            self.samples, self.resume = {}, False
        if before and not self.absent and not u["returning"] and self.resume and u["next_sample"] >= self.resume_at:
            self.resume = False
        self.absent |= self.resume
        if not self.absent or self.resume:
            self.acked_samples = max(self.acked_samples, u["next_sample"])
        if u["frames"]:
            self.take_frames(u["frames"])
        self.closed_at = u["first"] + len(u["frames"])

    def take_frames(self, frames):
        for f in frames:
            if f[0] == len(self.frames):
                self.frames.append(f)

    def run(self):
        while self.taken < len(self.frames):
            f = self.frames[self.taken]
            number, keyframe, marked = f[0], f[1], f[4]
            if self.state == "ready":
                self.state = "playing"
            if marked:
                self.hashes[number - 1] = int.from_bytes(hashlib.blake2b(self.machine, digest_size=8).digest(), "little")
                self.say(4, number - 1, self.hashes[number - 1], None, None, 0)
            other = self.differs_from is not None and number >= self.differs_from
            self.machine = hashlib.blake2b(self.machine + json.dumps([f[6], f[8], other]).encode()).digest()
            self.sample(number)
            self.taken += 1
        behind = self.closed_at is not None and self.closed_at - self.taken > 8
        if self.absent and not self.resume and self.heard_update and not behind and self.client != 255 and self.frames:
            self.resume, self.resume_at = True, self.taken
            self.samples = {}
            self.sample(self.taken)

    def ctrl(self, now):
        first = min((n for n in self.samples if n >= self.acked_samples), default=None)
        row = []
        while first is not None and first + len(row) in self.samples and len(row) < 200:
            row.append(self.samples[first + len(row)])
        seats = bin(self.welcome[3]).count("1")
        f = {"stamp": int(now * 1e6) & 0xffffffff, "away": 0, "resume": int(self.resume), "sparing": 0,
             "echo": [self.echo[0], int((now - self.echo[1]) * 1e6)] if self.echo else None,
             "acked": len(self.frames), "backlog": len(self.frames) - self.taken, "need_first": 0, "needs": [],
             "first": first if first is not None else self.resume_at if self.resume else self.acked_samples,
             "late": 0, "turn_late": 0, "batch": 1 if row else 0,
             "samples": [[[joypad] + NEUTRAL[1:]] * seats for joypad in row] if seats else []}
        self.socket.send(self.up.seal(CTRL, write_ctrl(f, seats, LONGEST)))
        self.ctrl_at = now + (0.1 if self.client == 255 or not self.frames else 1.25 / FPS)

    # --- one turn ---

    def turn(self, now):
        try:
            while True:
                data = self.socket.recv(2000)
                if data[1] >= 0x10:
                    self.handshake(data, now)
                elif self.up and (opened := self.down.open(data)):
                    if opened[0] == ENET:
                        self.enet.take(opened[1], now)
                    elif opened[0] == UPDATE and self.welcome:
                        self.update(opened[1], now)
                    elif opened[0] == PATH and opened[1][0] == 0:
                        self.socket.send(self.up.seal(PATH, b"\1" + opened[1][1:]))
        except (BlockingIOError, ConnectionRefusedError):
            pass
        if not self.up:
            if now - self.init_at > 0.25:
                self.init_at = now
                self.socket.send(make_init(self.public, CHACHA | CLEAR, self.cookie))
            return
        if self.enet.connected and not self.entered:
            self.enter()
        for _, data in self.enet.received:
            m = decode("message", 0, data)
            assert isinstance(m, list), data.hex()
            self.message(m)
        self.enet.received = []
        if self.welcome and self.state != "over" and self.entered:
            taken = self.taken
            self.run()
            if now >= self.ctrl_at or self.taken > taken and self.client != 255:
                self.ctrl(now)
        self.enet.turn_over(now)
        for body in self.enet.out:
            self.socket.send(self.up.seal(ENET, body))
        self.enet.out = []


# --- judging -----------------------------------------------------------------------------------------------------

def play(clients, until, seconds):
    end = time.monotonic() + seconds
    while not until():
        now = time.monotonic()
        assert now < end, "not within %d s: %s" % (seconds, [(c.name, c.state, len(c.frames), c.refused, c.log[-8:]) for c in clients])
        for c in clients:
            c.turn(now)
        time.sleep(0.002)


def check_the_lock(client, frames, first, samples):
    """Every frame from `first` on holds the samples of the interval before, as §5 has it, of this client's one seat."""
    seat = client.welcome[3].bit_length() - 1
    by_interval, keyframes = {}, []
    for f in frames:
        if f[3]:
            keyframes.append(f[0])
        by_interval[f[0]] = len(keyframes) - 1
    checked = 0
    for f in frames:
        number, keyframe, length = f[0], f[1], f[2]
        i = by_interval[number]
        if i == 0:
            assert all(one == NEUTRAL for one in f[8])
            continue
        if keyframes[i - 1] < first or not frames[keyframes[i - 1]][7] >> seat & 1 and i > 1:
            continue
        s, m, o = keyframe - keyframes[i - 1], length, number - keyframe
        low, high = o * s // m, max(o * s // m + 1, (o + 1) * s // m)
        folded = 0
        for n in range(low, high):
            folded |= samples[keyframes[i - 1] + n]
        assert f[8][seat][0] == folded, (number, f[8][seat][0], folded)
        checked += 1
    return checked


class Relay:
    def __init__(self, program, folder):
        self.program, self.folder, self.log = program, folder, open(os.path.join(folder, "log"), "w+")
        self.start(0)

    def start(self, port):
        self.process = subprocess.Popen([self.program, "--port", str(port), "--bind", "127.0.0.1", "--insecure-lan", "--state",
                                         self.folder, "--journal", self.folder + "/journal"], stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if found := re.search(r"listening .*port=(\d+)", line):
                self.port = int(found[1])
                break
        self.pump = subprocess.Popen(["cat"], stdin=self.process.stderr, stdout=self.log)  # it would wait for a reader

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.pump.wait()

    def last_words(self):
        self.log.seek(0)
        return self.log.read()[-4000:]


def main():
    program, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with tempfile.TemporaryDirectory() as folder:
        relay = Relay(program, folder)
        try:
            match(random.Random(seed), relay)
        except AssertionError:
            print(relay.last_words())
            raise
        finally:
            relay.kill()
            relay.log.close()
    print("seed=%d" % seed)


def match(rng, relay):
    w = rng.randbytes(32)
    ann = Client("ann", "python", relay.port, rng, w)
    play([ann], lambda: ann.welcome, 5)
    assert ann.welcome[4] == 1 and ann.welcome[3] == 1
    eve = Client("eve", "python", relay.port, rng, rng.randbytes(32))
    play([ann, eve], lambda: eve.refused, 5)
    assert eve.refused[0] == 10 and not eve.welcome
    print("ok a wrong password is refused")
    bob = Client("bob", "python", relay.port, rng, w)
    both = [ann, bob]
    taken = {ann: {}, bob: {}}
    for c in both:  # what each has said, for ever
        def note(number, c=c, plain=c.sample):
            plain(number)
            if number in c.samples:
                taken[c][number] = c.samples[number]
        c.sample = note
    play(both, lambda: all(len(c.frames) >= 60 for c in both), 10)
    play(both, lambda: all(any(v[4] == 1 and v[3] == 0 for v in c.verdicts) for c in both), 5)
    assert all(v[3] == 0 for c in both for v in c.verdicts)
    assert bob.proved and not ann.proved
    print("ok two clients from the document play %d frames, and their hashes are equal" % len(ann.frames))

    watcher = Client("cid", "python", relay.port, rng, w)
    play(both + [watcher], lambda: len(watcher.frames) >= 90, 15)
    assert watcher.welcome[2] == 255
    same_frames(ann, watcher)
    print("ok a third comes late, watches, and has the same %d frames" % len(watcher.frames))
    checked = sum(check_the_lock(c, c.frames[:c.taken - 1], 0, taken[c]) for c in both)
    assert checked > 100
    print("ok the lock: %d frames are made of the samples that §5 says" % checked)

    ann.say(6, 19, text("hello"))
    play(both + [watcher], lambda: any([ann.client, 19, text("hello")] in f[6] for f in bob.frames), 5)
    print("ok a command stands at a keyframe")

    have = len(bob.frames)
    bob.lose_link()
    play([ann, watcher], lambda: len(ann.frames) >= have + 60, 10)
    bob.connect(time.monotonic())
    play(both + [watcher], lambda: plays_again(bob, have + 60), 15)
    same_frames(ann, bob)
    print("ok a client returns by its seat key, and its samples count again")

    time.sleep(1)  # all are absent now and nothing closes: the journal has what they have
    relay.kill()
    for c in both:
        c.lose_link()
    relay.start(relay.port)
    for c in both:
        c.connect(time.monotonic())
    have = len(ann.frames)
    play(both, lambda: all(plays_again(c, have) for c in both), 20)
    same_frames(ann, bob)
    for c in both:
        assert not any(str(kind).startswith("PREPARE") for kind in c.log), "the relay did not take the digest for its own"
    print("ok all return to the journal's room, and their digests are the relay's")

    bad = [v for v in ann.verdicts if v[3]]
    assert not bad, bad
    bob.differs_from = len(bob.frames) + 2
    play(both, lambda: any(v[3] == 1 for v in ann.verdicts), 10)
    assert not ann.verdicts[-1][5], "one against one is no majority"
    print("ok a machine that differs is found by the verdict of frame %d" % ann.verdicts[-1][1])
    for c in both:
        c.say(5, 0, text("left"))
    end = time.monotonic() + 0.5
    play(both, lambda: time.monotonic() > end, 2)


def same_frames(a, b):
    both_have = min(len(a.frames), len(b.frames))
    assert both_have and a.frames[:both_have] == b.frames[:both_have]


def plays_again(c, after):
    """It is present, and a frame past that one holds a press of its seat."""
    seat = c.welcome[3].bit_length() - 1
    return c.returned and not c.absent and any(f[8][seat] != NEUTRAL for f in c.frames[after:])


if __name__ == "__main__":
    main()
