"""enet.py - as much of ENet 1.3 as net/PROTOCOL.md §8 asks of a client, from ENet's public description of its commands.

Bytes of datagrams in and out; sealing them is the caller's business. Reliable packets only."""
import struct

SENT_TIME = 0x8000
ACKNOWLEDGE, CONNECT, VERIFY_CONNECT, DISCONNECT, PING, SEND_RELIABLE = 1, 2, 3, 4, 5, 6
SEND_FRAGMENT, BANDWIDTH_LIMIT = 8, 10
SIZES = {ACKNOWLEDGE: 8, VERIFY_CONNECT: 44, DISCONNECT: 8, PING: 4, SEND_RELIABLE: 6, SEND_FRAGMENT: 24, BANDWIDTH_LIMIT: 12}
AGAIN_S, FRAGMENT = 0.25, 1138


class Enet:
    def __init__(self, session, now):
        self.session, self.peer, self.turn, self.connected, self.over = session, 0xfff, 0, False, False
        self.next, self.heard = {0xff: 1, 0: 1, 1: 1}, {0: 1, 1: 1}  # sequence numbers: ours to say, theirs to hear
        self.waiting, self.pieces = {0: {}, 1: {}}, {}
        self.unacknowledged = {}
        self.out, self.received = [], []
        connect = struct.pack(">HBBIIIIIIII", 0, 0xff, 0xff, 1170, 65536, 2, 0, 0, 5000, 32, 0)
        self._reliable(0xff, CONNECT, connect + struct.pack("<I", session) + struct.pack(">I", 0), now)

    def _datagram(self, commands, now):
        peer = self.peer | self.turn << 12 | SENT_TIME
        checksum = self.session if self.peer != 0xfff else 0
        return struct.pack(">HH", peer, int(now * 1000) & 0xffff) + struct.pack("<I", checksum) + commands

    def _reliable(self, channel, command, body, now):
        sequence = self.next[channel]
        self.next[channel] = sequence % 65535 + 1
        self.unacknowledged[channel, sequence] = [now, struct.pack(">BBH", command | 0x80, channel, sequence) + body]
        self.out.append(self._datagram(self.unacknowledged[channel, sequence][1], now))

    def send(self, channel, data, now):
        if len(data) <= FRAGMENT:
            self._reliable(channel, SEND_RELIABLE, struct.pack(">H", len(data)) + data, now)
            return
        first, count = self.next[channel], -(-len(data) // FRAGMENT)
        for n in range(count):
            piece = data[n * FRAGMENT:(n + 1) * FRAGMENT]
            head = struct.pack(">HHIIII", first, len(piece), count, n, len(data), n * FRAGMENT)
            self._reliable(channel, SEND_FRAGMENT, head + piece, now)

    def disconnect(self, now):
        self._reliable(0xff, DISCONNECT, struct.pack(">I", 1), now)

    def turn_over(self, now):
        for entry in self.unacknowledged.values():
            if now - entry[0] > AGAIN_S:
                entry[0] = now
                self.out.append(self._datagram(entry[1], now))

    def _deliver(self, channel, sequence, data):
        waiting = self.waiting[channel]
        if (sequence - self.heard[channel]) & 0xffff < 0x8000:
            waiting.setdefault(sequence, data)
        while self.heard[channel] in waiting:
            whole = waiting.pop(self.heard[channel])
            self.heard[channel] = (self.heard[channel] + 1) & 0xffff
            if whole is not None:
                self.received.append((channel, whole))

    def _fragment(self, channel, body, data):
        first, _, count, n, total, offset = struct.unpack(">HHIIII", body)
        pieces = self.pieces.setdefault((channel, first), {})
        pieces[n] = data
        if len(pieces) < count:
            return
        whole = b"".join(pieces[i] for i in range(count))
        assert len(whole) == total
        for i in range(count - 1):
            self.waiting[channel].setdefault((first + i) & 0xffff, None)
        del self.pieces[channel, first]
        self._deliver(channel, (first + count - 1) & 0xffff, whole)

    def take(self, data, now):
        peer, sent = struct.unpack(">HH", data[:4])
        at, answers = 4 if peer & SENT_TIME else 2, b""  # a datagram of acknowledgements alone has no sent time
        assert peer & 0xfff == 0, "the relay's datagrams name peer 0"
        assert struct.unpack("<I", data[at:at + 4])[0] == self.session, "the checksum field is the session's number"
        at += 4
        while at < len(data):
            command, channel, sequence = struct.unpack(">BBH", data[at:at + 4])
            kind, size = command & 0x0f, SIZES[command & 0x0f]
            body, tail = data[at + 4:at + size], b""
            at += size
            if kind in (SEND_RELIABLE, SEND_FRAGMENT):
                length = struct.unpack(">H", body[0:2] if kind == SEND_RELIABLE else body[2:4])[0]
                tail, at = data[at:at + length], at + length
            if command & 0x80:
                answers += struct.pack(">BBHHH", ACKNOWLEDGE, channel, sequence, sequence, sent)
            self._command(kind, channel, sequence, body, tail)
        assert at == len(data)
        if answers:
            self.out.append(self._datagram(answers, now))

    def _command(self, kind, channel, sequence, body, tail):
        if kind == ACKNOWLEDGE:
            self.unacknowledged.pop((channel, struct.unpack(">H", body[:2])[0]), None)
        elif kind == VERIFY_CONNECT:
            peer, _, turn = struct.unpack(">HBB", body[:4])
            assert struct.unpack("<I", body[-4:])[0] == self.session, "the connect id is the session's number"
            self.peer, self.turn, self.connected = peer, turn, True
            self.unacknowledged.pop((0xff, 1), None)
        elif kind == SEND_RELIABLE:
            self._deliver(channel, sequence, tail)
        elif kind == SEND_FRAGMENT:
            self._fragment(channel, body, tail)
        elif kind == DISCONNECT:
            self.over = True
