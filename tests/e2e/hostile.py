#!/usr/bin/env python3
"""hostile.py [--seed N] [--seconds S] [--rate N] HOST PORT... - bad datagrams at a running room.

The first port is the relay's, the rest are clients'. Sends random bytes of all lengths, datagrams that begin as the
protocol's do (handshakes, sealed ones, plain ENet) and end too early or go on wrongly, handshakes that never finish,
questions by the dozen, and everything that came back, replayed as it was and with a bit turned. Prints what it sent, and
fails where more bytes came back than went out. Deterministic from its seed but for what comes back."""
import argparse
import random
import select
import socket
import struct
import time

p = argparse.ArgumentParser()
p.add_argument("--seed", type=int, default=1)
p.add_argument("--seconds", type=float, default=10)
p.add_argument("--rate", type=int, default=400, help="datagrams a second")
p.add_argument("host")
p.add_argument("ports", type=int, nargs="+")
a = p.parse_args()
rng = random.Random(a.seed)
relay = (a.host, a.ports[0])
targets = [(a.host, port) for port in a.ports]
sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(16)]
for s in sockets:
    s.bind(("0.0.0.0", 0))
    s.setblocking(False)
heard = []
counts = {}


def connect():
    """ENet's CONNECT, as enet_host_connect sends it, with whatever connect id."""
    header = struct.pack(">HH", 0x8FFF, rng.randrange(65536))
    command = struct.pack(">BBHHBBIIIIIIIIII", 0x82, 0xFF, 1, 0, 0xFF, 0xFF, 1392, 65536, 2, 0, 0,
                          5000, 2, 2, rng.getrandbits(32), rng.getrandbits(32))
    return header + command


def junk():
    return rng.randbytes(rng.choice([0, 1, 2, 3, 4, 7, 8, 10, 12, 24, 64, 200, 1200, 1400, 4096, 9000]))


def enet_like():
    """A header that addresses some peer, then commands of each kind with fields at their edges."""
    peer = rng.choice([0, 1, 2, 3, rng.randrange(4096)])
    out = struct.pack(">H", peer | rng.choice([0, 0x1000, 0x2000, 0x4000]) | rng.choice([0, 0x8000]))
    out += struct.pack(">H", rng.randrange(65536)) if out[0] & 0x80 else b""
    for _ in range(rng.randrange(1, 6)):
        kind = rng.randrange(0, 16) | rng.choice([0, 0x40, 0x80])
        out += struct.pack(">BBH", kind, rng.choice([0, 1, 2, 0xFF]), rng.choice([0, 1, 0xFFFF, rng.randrange(65536)]))
        out += rng.choice([b"", struct.pack(">HH", 1, 0xFFFF), struct.pack(">IIII", 0, 2**31, 2**31, 2**32 - 1), rng.randbytes(20)])
    return out


def truncated():
    if not heard:
        return connect()[:rng.randrange(1, 48)]
    data = rng.choice(heard)
    return data[:rng.randrange(0, max(1, len(data)))]


def replayed():
    return rng.choice(heard) if heard else connect()


def bent():
    data = bytearray(rng.choice(heard) if heard else connect())
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def init():
    """A handshake's first word; now and then with a cookie that is none, or of another version."""
    version = rng.choice([2, 2, 2, 1, 3, 65535])
    cookie = rng.choice([bytes(16), rng.randbytes(16)])
    return b"K\x10" + struct.pack("<H", version) + rng.randbytes(32) + bytes([rng.randrange(8), 0, 0, 0]) + cookie + bytes(200)


def sealed():
    """Looks like a datagram of some session."""
    session = rng.choice([rng.getrandbits(32), rng.randrange(1 << 20) << 12 | rng.randrange(4)])
    return b"K" + bytes([rng.choice([1, 2, 3, 4])]) + struct.pack("<II", session, rng.choice([1, 2, 2**32 - 1])) + rng.randbytes(rng.randrange(0, 1300))


def question():
    return rng.choice([b"K\x14" + rng.randbytes(8) + b"\2" + bytes(21), b"K\x16" + rng.randbytes(8) + b"\2" + bytes(1189)])


def ours():
    """Begins as our own datagrams might: small numbers, then nonsense."""
    return bytes(rng.choice([[rng.randrange(256), rng.randrange(8)], [0x4B, 0x4C], [0xFF, 0xFF, 0, 1]])) + rng.randbytes(rng.randrange(0, 80))


kinds = [junk, enet_like, connect, init, sealed, question, truncated, replayed, bent, ours]
asked = answered = 0
end = time.monotonic() + a.seconds
due = time.monotonic()
while time.monotonic() < end:
    for s in select.select(sockets, [], [], max(0, due - time.monotonic()))[0]:
        try:
            data, _ = s.recvfrom(65536)
            answered += len(data)
            if len(heard) < 5000:
                heard.append(data)
        except OSError:
            pass
    if time.monotonic() < due:
        continue
    due += 1 / a.rate
    kind = rng.choice(kinds)
    target = relay if rng.random() < 0.6 else rng.choice(targets)
    try:
        asked += rng.choice(sockets).sendto(kind(), target)
        counts[kind.__name__] = counts.get(kind.__name__, 0) + 1
    except OSError:
        pass
print("sent", " ".join(f"{k}={v}" for k, v in sorted(counts.items())),
      f"heard={len(heard)} ports={len(targets)} bytes_out={asked} bytes_back={answered}")
raise SystemExit(answered > asked)
