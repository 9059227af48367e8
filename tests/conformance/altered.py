"""altered.py FROM TO WHAT - a copy of a recording with all checks made anew. WHAT: a statement on the list `parts` of (type, body)."""
import sys

import recording
from primitives import Reader
from protocol import read_frames
from room import coded

HEAD, ROOM, START, SNAPSHOT, PIECES, DIGEST, HASH, EVENT, END = range(1, 10)
with open(sys.argv[1], "rb") as f:
    parts = [(kind, body) for _, kind, body in recording.blocks(f.read()) if isinstance(body, bytes)]


def at(kind, nth=0):
    return [i for i, (k, _) in enumerate(parts) if k == kind][nth]


def forge(nth):
    """Another RAM in the nth hash"""
    i = at(HASH, nth)
    body = bytearray(parts[i][1])
    body[7] ^= 1
    parts[i] = HASH, bytes(body)
    print(int.from_bytes(body[:4], "little"))


def press(frame):
    """The buttons of a seat are others in one frame, and the digests are those of the frames"""
    for i, (kind, body) in enumerate(parts):
        if kind != PIECES:
            continue
        pieces, r = [], Reader(body)
        while r.left():
            piece = Reader(r.take(r.u(2)))
            first, count = piece.u(4), piece.u(1, 64)
            frames = read_frames(piece, first, count)
            for f in frames:
                if f[0] == frame:
                    f[8][0] = [f[8][0][0] ^ 0x10] + list(f[8][0][1:])
            again = first.to_bytes(4, "little") + bytes([count]) + coded(frames)
            pieces.append(len(again).to_bytes(2, "little") + again)
        parts[i] = PIECES, b"".join(pieces)
    chain = recording.Recording(recording.sealed(parts))
    for i, (kind, body) in enumerate(parts):
        end = int.from_bytes(body[4:8], "little")
        if kind == DIGEST:
            part = recording.Recording(recording.sealed(parts))
            part.frames = [f for f in chain.frames if f[0] < end]
            parts[i] = DIGEST, body[:8] + part.digests()[2]


def option(pair):
    text = pair.encode()
    parts.insert(at(PIECES), (EVENT, bytes([3, 0, 0, 0, 0, len(text)]) + text))


def without(kind):
    parts[:] = [p for p in parts if p[0] != kind]


def rules(number):
    parts[0] = HEAD, parts[0][1][:1] + number.to_bytes(2, "little") + parts[0][1][3:]


exec(sys.argv[3])
with open(sys.argv[2], "wb") as f:
    f.write(recording.sealed(parts))
