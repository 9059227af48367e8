"""judge.py - a real relay, the turns of clients, and what must be true of them."""
import json
import os
import random
import re
import subprocess
import tempfile
import time

from primitives import NEUTRAL
from room import Client


class Relay:
    def __init__(self, program, *options, journal=False):
        self.program, self.folder = program, tempfile.TemporaryDirectory()
        self.options = [*options] + (["--journal", self.folder.name + "/journal"] if journal else [])
        self.log = open(os.path.join(self.folder.name, "log"), "w+")
        self.start(0)

    def start(self, port):
        self.process = subprocess.Popen([self.program, "--port", str(port), "--bind", "127.0.0.1", "--insecure-lan", "--state",
                                         self.folder.name, *self.options], stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            self.log.write(line)
            if found := re.search(r"listening .*port=(\d+)", line):
                self.port = int(found[1])
                break
        self.log.flush()
        self.pump = subprocess.Popen(["cat"], stdin=self.process.stderr, stdout=self.log)  # it would wait for a reader

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.pump.wait()

    def last_words(self):
        self.log.seek(0)
        return self.log.read()[-4000:]


class Match:
    """A relay, and the clients that play at it."""

    def __init__(self, program, seed, *options, journal=False):
        self.relay, self.rng, self.clients = Relay(program, *options, journal=journal), random.Random(seed), []

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _trace):
        self.relay.kill()
        if isinstance(error, AssertionError):
            print(self.relay.last_words())
        self.relay.log.close()

    def client(self, name, **wishes):
        self.clients.append(Client(name, self.relay.port, self.rng, time.monotonic(), **wishes))
        return self.clients[-1]

    def until(self, condition, seconds=10):
        end = time.monotonic() + seconds
        while not condition():
            now = time.monotonic()
            assert now < end, "not within %d s: %s" % (seconds, [self.describe(c) for c in self.clients])
            for c in self.clients:
                c.turn(now)
            time.sleep(0.002)

    def turn_for(self, seconds):
        end = time.monotonic() + seconds
        self.until(lambda: time.monotonic() > end, seconds + 5)

    def describe(self, c):
        lock = c.lock and (c.lock.state, c.lock.begin, c.lock.ran, c.lock.next, c.lock.taken, c.lock.next_sample)
        return c.name, c.state, lock, c.refused, c.log[-8:], c.notices[-2:]


def port(client):
    """The libretro port that the pads of the client's one seat play now."""
    return client.machine.plays[client.seats.bit_length() - 1]


def plays_past(client, after):
    """It is present, and a frame past that one holds a press of its seat."""
    return client.lock and client.lock.state == "present" and any(
        f[8][port(client)] != NEUTRAL for f in client.lock.frames[max(after - client.lock.begin, 0):])


def same_frames(a, b):
    """Both hold the same frames, as far as they hold the same numbers. How many those are."""
    begin, end = max(a.lock.begin, b.lock.begin), min(a.lock.next, b.lock.next)
    assert begin < end, "no frame is held by both"
    assert [a.lock.frame(n) for n in range(begin, end)] == [b.lock.frame(n) for n in range(begin, end)]
    return end - begin


def equal_at(a, b, after=0):
    """Both have hashed a label past that frame, and equally."""
    labels = [n for n in a.hashes.keys() & b.hashes.keys() if n >= after]
    assert all(a.hashes[n] == b.hashes[n] for n in labels), "hashes differ"
    return len(labels) > 0


def follows_the_lock(client, begin=0):
    """Every frame from `begin` on holds the samples of the interval before, as §5 has it, of this client's one seat.

    Frames by the clock are left out, and intervals in which the seat does not count, or before which it did not. How many
    frames were judged."""
    frames = [f for f in client.lock.frames if f[0] >= begin]
    before, judged = None, 0
    for at, f in enumerate(frames):
        number, keyframe, length = f[0], f[1], f[2]
        if number == keyframe:
            before = frames[at - 1] if at else None
        if f[5] or before is None or not before[7] >> port(client) & 1 or not f[7] >> port(client) & 1:
            continue
        s, o, first = before[2], number - keyframe, before[1]
        low, high = o * s // length, max(o * s // length + 1, (o + 1) * s // length)
        folded = 0
        for n in range(low, high):
            folded |= client.lock.said[first + n]
        assert f[8][port(client)][0] == folded, "frame %d is made of other samples: %s" % (number, json.dumps(f))
        judged += 1
    return judged
