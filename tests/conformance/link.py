"""link.py - a client's way to its relay: handshakes, sessions, ENet, silence and addresses. §2, §8 and §9 of net/PROTOCOL.md."""
import collections
import socket
import struct

import curves
import enet
from primitives import VERSION
from protocol import decode, write_message
from session import CHACHA, CLEAR, Way, bucket, fingerprint, make_init, schedule

CTRL, UPDATE, ENET, PATH = 1, 2, 3, 4
BULK = {2, 12}  # DATA, GIVE
OFFERS = CHACHA | CLEAR
WINDOW = 2048


class Handshake:
    """§9, until ANSWER"""

    def __init__(self, rng, waits=(0.25,), room="", version=VERSION):
        self.secret, self.waits = rng.randbytes(32), list(waits)  # waits: seconds between two INIT; the last one for ever
        self.public, self.cookie = curves.x25519(self.secret), bytes(16)
        self.room, self.bucket, self.version, self.refusal = room, 0, version, None
        self.init_at, self.session, self.answered_at = 0, None, None

    def init(self):
        return make_init(self.public, OFFERS, self.cookie, self.version, self.bucket)

    def turn(self, now):
        if self.session or now < self.init_at:
            return []
        self.init_at = now + (self.waits.pop(0) if len(self.waits) > 1 else self.waits[0])
        return [self.init()]

    def take(self, data, now):
        """The relay's datagram; gives the answers."""
        if data[2:18] != self.public[:16]:
            return []
        if data[1] == 0x11 and data[18:34] != self.cookie:
            self.cookie, self.bucket = data[18:34], bucket(data[34:66], self.room)
            return [self.init()]
        if data[1] == 0x13:
            self.refusal = struct.unpack("<BH", data[18:21])
        if data[1] == 0x12 and not self.session:
            number, cipher = struct.unpack("<IB", data[18:23])
            ee, es = curves.x25519(self.secret, data[23:55]), curves.x25519(self.secret, data[55:87])
            keys = schedule(ee, es, self.init(), data[:87])
            if keys["proof"] == data[87:]:
                self.session, self.answered_at = Session(number, cipher, keys, data[55:87], now), now
        return []


class Session:
    def __init__(self, number, cipher, keys, relay, now):
        self.number, self.binding, self.relay_key, self.relay = number, keys["binding"], relay, fingerprint(relay)
        self.up, self.down = Way(cipher, number, keys["up"]), Way(cipher, number, keys["down"])
        self.enet, self.bulk, self.entered = enet.Enet(number, now), collections.deque(), False
        self.seen, self.highest = set(), 0

    def open(self, data):
        """(kind, body) of an authentic datagram that is new"""
        counter = struct.unpack("<I", data[6:10])[0] if len(data) >= 26 else 0
        if counter in self.seen or counter + WINDOW <= self.highest or not (opened := self.down.open(data)):
            return None
        self.highest = max(self.highest, counter)
        self.seen.add(counter)
        return opened

    def send(self, message, now):
        if message[0] in BULK:
            self.bulk.append(message)
        else:
            self.enet.send(0, message, now)

    def turn(self, now):
        """Datagrams that ENet has to send. Control goes before bulk."""
        waiting = self.enet.unacknowledged
        while self.bulk and self.enet.connected and not any(channel == 0 for channel, _ in waiting):
            if sum(len(body) for (channel, _), (_, body) in waiting.items() if channel == 1) >= 32 * 1024:
                break
            self.enet.send(1, self.bulk.popleft(), now)
        self.enet.turn_over(now)
        out, self.enet.out = self.enet.out, []
        return [self.up.seal(ENET, body) for body in out]


class Link:
    """Events of turn(): ("connected", None), ("message", fields), ("update", body)."""

    def __init__(self, port, rng, now, room="", version=VERSION):
        self.port, self.rng, self.room, self.version = port, rng, room, version
        self.sockets = [self.open_socket()]  # the present address is the last
        self.session, self.handshake, self.heard_at, self.watched_at = None, Handshake(rng, room=room, version=version), now, now
        self.cut, self.mute, self.answers_path = False, False, True  # by the judge
        self.given_up = 0  # for the judge: sessions after 4 s of silence
        self.came, self.last = collections.Counter(), b""  # bytes that came, by (to the present address, kind); the last sent
        self.sent_bytes = 0

    def open_socket(self):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setblocking(False)
        s.connect(("127.0.0.1", self.port))
        return s

    def roam(self):
        """The client has another address from now on. The relay may send to the old ones for a while."""
        self.sockets.append(self.open_socket())

    def forget(self):
        """A new process: nothing of the session is left."""
        self.session, self.handshake = None, Handshake(self.rng, room=self.room, version=self.version)

    def put(self, datagrams):
        for data in datagrams if not self.cut and not self.mute else []:
            self.last = data
            self.sent_bytes += len(data)
            try:
                self.sockets[-1].send(data)
            except ConnectionRefusedError:
                pass

    def send(self, kind, body):
        self.put([self.session.up.seal(kind, body)])

    def say(self, fields, now, longest):
        self.session.send(write_message(list(fields), longest), now)

    def receive(self):
        for s in self.sockets:
            while True:
                try:
                    data = s.recv(2000)
                except ConnectionRefusedError:
                    continue
                except BlockingIOError:
                    break
                if not self.cut:
                    self.came[s is self.sockets[-1], data[1]] += len(data)
                    yield data

    def turn(self, now):
        events = []
        for data in self.receive():
            if data[1] >= 0x10 and self.handshake:
                self.put(self.handshake.take(data, now))
            elif self.session and (opened := self.session.open(data)):
                self.heard_at = now
                self.handshake = None
                self.take(*opened, now, events)
        self.watch(now)
        if self.session:
            events += self.delivered()
            self.put(self.session.turn(now))
        return events

    def take(self, kind, body, now, events):
        if kind == ENET:
            self.session.enet.take(body, now)
        elif kind == UPDATE:
            events.append(("update", body))
        elif kind == PATH and body[0] == 0:
            if self.answers_path:
                self.send(PATH, b"\1" + body[1:])

    def delivered(self):
        if self.session.enet.connected and not self.session.entered:
            self.session.entered = True
            yield "connected", None
        received, self.session.enet.received = self.session.enet.received, []
        for _, data in received:
            fields = decode("message", 0, data)
            assert isinstance(fields, list), "malformed: " + data.hex()
            yield "message", fields

    def watch(self, now):
        """§8, When the relay is silent; and the first handshake."""
        if now - self.watched_at > 0.5:
            self.heard_at += now - self.watched_at  # this process stood still: the relay may have spoken meanwhile
        self.watched_at = now
        silent = now - self.heard_at
        if self.session and silent >= 4:
            self.session, self.handshake = None, Handshake(self.rng, (0.25, 0.5, 1.0), self.room, self.version)
            self.given_up += 1
        elif self.session and silent >= 1 and not self.handshake:
            self.handshake = Handshake(self.rng, room=self.room, version=self.version)
        if self.handshake:
            self.put(self.handshake.turn(now))
            if self.handshake.session and (not self.session or now >= self.handshake.answered_at + 0.25):
                self.session, self.handshake, self.heard_at = self.handshake.session, None, now
