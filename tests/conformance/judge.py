"""judge.py - a real relay, the turns of clients, and what must be true of them."""
import functools
import json
import operator
import os
import random
import re
import socket
import struct
import subprocess
import tempfile
import time

import tables
from machine import TABLES
from primitives import NEUTRAL, VERSION
from room import Client, text
from tear import tear


NAP_S = 0.002
stood_s = 0  # so long this process was ready and had no processor, since the match began: its naps' ends, and between


class Relay:
    def __init__(self, program, *options, journal=False):
        self.program, self.folder = program, tempfile.TemporaryDirectory()
        journal = ["--journal", self.folder.name + "/journal", "--record", self.folder.name + "/record"] if journal else ["--journal", "off"]
        self.options = [*options, *journal]
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

    def tear(self, frames, before):
        """Of its one room: so many frames before this one are gone, and all after."""
        assert len(tear(self.folder.name + "/journal", frames, before)) == 1

    def words(self):
        self.log.seek(0)
        return self.log.read()

    def last_words(self):
        return self.words()[-4000:]


class Match:
    """A relay, and the clients that play at it."""

    def __init__(self, program, seed, *options, journal=False):
        self.relay, self.rng, self.clients = Relay(program, *options, journal=journal), random.Random(seed), []

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _trace):
        self.relay.kill()
        if isinstance(error, Exception):
            print(self.relay.last_words())
        self.relay.log.close()

    def client(self, name, **wishes):
        self.clients.append(Client(name, self.relay.port, self.rng, time.monotonic(), **wishes))
        return self.clients[-1]

    def until(self, condition, seconds=30):
        global stood_s
        end, before, worked = time.monotonic() + seconds, time.monotonic(), time.process_time()
        while not condition():
            now = time.monotonic()
            lost = now - before - (time.process_time() - worked) - NAP_S
            stood_s += lost if lost > 0.02 else 0
            before, worked = now, time.process_time()
            assert now < end, "not within %d s: %s" % (seconds, [self.describe(c) for c in self.clients])
            for c in self.clients:
                c.turn(now)
            time.sleep(NAP_S)

    def turn_for(self, seconds):
        end = time.monotonic() + seconds
        self.until(lambda: time.monotonic() > end, seconds + 5)

    def leaves(self, client):
        client.say(5, 0, text("left"))
        self.until(lambda: not client.link.session.enet.unacknowledged)
        client.link.session.enet.disconnect(time.monotonic())
        client.turn(time.monotonic())
        self.clients.remove(client)

    def listed(self):
        """The relay's one room, as LIST tells a stranger (§10)."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.settimeout(5)
            s.sendto(b"\x4b\x16stranger" + struct.pack("<HH", VERSION, 0) + bytes(1186), ("127.0.0.1", self.relay.port))
            known, _ = tables.walk(TABLES, "rooms", 0, s.recv(2000))
        assert known["echo"] == b"stranger" and known["next"] == 0xffff and known["count"] == 1, known
        return known["lines"][0]

    def describe(self, c):
        lock = c.lock and (c.lock.state, c.lock.begin, c.lock.ran, c.lock.next, c.lock.taken, c.lock.next_sample)
        return c.name, c.state, lock, c.refused, c.log[-8:], c.notices[-2:]


def restart(match, torn=0):
    """The relay is killed and begins again, with the same key; all come back with the frames that they have. torn: so many
    of their newest frames are missing in its journal."""
    for c in match.clients:
        c.link.cut = True
    cut_at = time.monotonic()
    match.turn_for(1)  # all are absent now and nothing closes: the journal has what they have
    match.relay.kill()
    if torn:
        match.relay.tear(torn, match.clients[0].lock.next)
    match.relay.start(match.relay.port)
    for c in match.clients:
        c.link.cut = False
        c.log.clear()
    slow = time.monotonic() - cut_at > 3  # the relay's start on a busy machine
    have = match.clients[0].lock.next
    match.until(lambda: all(plays_past(c, have) for c in match.clients))
    for c in match.clients:
        same_frames(match.clients[0], c)
        assert slow or not c.link.given_up, "it asks for a new session after one second of silence"
        assert not any(str(kind).startswith("PREPARE") for kind in c.log), "the relay did not take the digest for its own"
    match.until(lambda: all(equal_at(match.clients[0], c, have) for c in match.clients))


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

    Left out are frames by the clock, and intervals before which the seat was not active. Frames near an absence may be
    neutral, and must be if the samples were not taken. How many frames hold samples."""
    lock, judged, before = client.lock, 0, None
    number_of = {keyframe: number for number, keyframe in lock.keyframes.items()}
    for at, f in enumerate(lock.frames):
        number, keyframe, length = f[0], f[1], f[2]
        if number == keyframe:
            before = lock.frames[at - 1] if at else None
        if number < begin or f[5] or before is None or not (before[7] & f[7]) >> port(client) & 1:
            continue
        s, first = (before[2], before[1]) if lock.subframes else (1, number_of[before[1]])
        low, high = (number - keyframe) * s // length, (number - keyframe + 1) * s // length
        samples = [lock.said.get(first + n) for n in range(low, max(low + 1, high))]
        good = [0] if any(number >= out[0] and (out[1] is None or number < out[1]) for out in lock.out) else []
        if None not in samples:
            good.append(functools.reduce(operator.or_, samples))
            judged += 1
        assert f[8][port(client)][0] in good, "frame %d is not made of samples %s: %s" % (number, samples, json.dumps(f))
    return judged
