#!/usr/bin/env python3
"""recording.py GOLDEN KEYLOCK - recordings, read from net/RECORD.md alone, held against `keylock replay --text`.

1. Each golden file is whole. Its text is the one beside it, here and as `keylock replay --text` prints it; the digests are those
   of its frames.
2. Torn at any byte, with a bit changed, a block lost or two swapped it is good up to there: both name the same block and byte. The
   same counts for the frames of a packed one, which libzstd unpacks here."""
import ctypes
import hashlib
import os
import random
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True  # before the import below: leave no cache in the tree

import tables
from primitives import Malformed, Reader, Version, Writer, need, write_stream
from protocol import read_facts, read_frames, read_params, read_seal, read_sign
from lock import LONGEST
from room import coded

MAGIC = bytes.fromhex("894b4c520d0a1a0a")
TYPES = ["?", "HEAD", "ROOM", "START", "SNAPSHOT", "PIECES", "DIGEST", "HASH", "EVENT", "END", "SEAL", "SIGN"]
BODY_MAX, BYTES_MAX = 33554432, 268435456
PACKED = bytes.fromhex("5b2a4d1810000000")
MINUTE = 3600  # frames, where ROOM has no rate
TRIES, PACKED_TRIES = 60, 10  # processes for each golden file and kind of damage; a packed one has minutes
TABLES = tables.read_tables()


def text_of(hexed):
    return bytes.fromhex(hexed).decode()


def blake(data):
    return hashlib.blake2b(data, digest_size=16).digest()


def packed_frames(data):
    """(position, blocks without their checks) one after the other; at last (position, why) of damage, if there is some."""
    at, check = 0, MAGIC
    while at < len(data):
        packed, size = (int.from_bytes(data[at + i:at + i + 4], "little") for i in (16, 20))
        body = data[at + 16:at + 24 + packed]
        if at + 24 > len(data) or data[at:at + 8] == PACKED and len(body) < 8 + packed:
            yield at, "the file ends within it"
            return
        good = blake(at.to_bytes(8, "little") + b"\0" + body + check)[:8]
        check = data[at + 8:at + 16]
        if data[at:at + 8] != PACKED or good != check:
            yield at, "its check is wrong"
            return
        need(size <= BYTES_MAX)
        out = ctypes.create_string_buffer(size)
        zstd = ctypes.CDLL("libzstd.so.1")
        zstd.ZSTD_decompress.restype = ctypes.c_size_t
        whole = zstd.ZSTD_decompress(out, ctypes.c_size_t(size), body[8:], ctypes.c_size_t(packed)) == size
        block, bare = 0 if at else 8, out.raw
        while block < size:
            block += 5 + int.from_bytes(bare[block:block + 4], "little")
        if not whole or block != size:
            yield at, "it does not unpack to the blocks that it should have"
            return
        yield at, bare
        at += 24 + packed


def unpacked(data):
    """Its bytes, and (number, position, why) of the damaged packed frame or None."""
    if data[:8] != PACKED:
        return data, None
    frames = list(packed_frames(data))
    damage = (len(frames), *frames.pop()) if isinstance(frames[-1][1], str) else None
    bare, parts, at = b"".join(part for _, part in frames), [], 8
    while at < len(bare):
        length = int.from_bytes(bare[at:at + 4], "little")
        parts.append((bare[at + 4], bare[at + 5:at + 5 + length]))
        at += 5 + length
    return sealed(parts) if bare else b"", damage


def blocks(data):
    """(position, type, body) one after the other; at last (position, type, why) of damage, if there is some."""
    at, check, data = 8, MAGIC, unpacked(data)[0]
    while at < len(data):
        length, kind = int.from_bytes(data[at:at + 4], "little"), data[at + 4] if at + 4 < len(data) else 0
        if at + 5 <= len(data) and length > BODY_MAX:
            yield at, kind, "its check is wrong"
            return
        if at + 5 > len(data) or at + 13 + length > len(data):
            yield at, kind, "the file ends within it"
            return
        body = data[at + 5:at + 5 + length]
        good = blake(at.to_bytes(8, "little") + bytes([kind]) + body + check)[:8]
        check = data[at + 5 + length:at + 13 + length]
        if good != check:
            yield at, kind, "its check is wrong"
            return
        yield at, kind, body
        at += 13 + length


def sealed(parts):
    """The file of these (type, body)."""
    data, check = MAGIC, MAGIC
    for kind, body in parts:
        at, head = len(data), len(body).to_bytes(4, "little") + bytes([kind])
        check = blake(at.to_bytes(8, "little") + bytes([kind]) + body + check)[:8]
        data += head + body + check
    return data


class Recording:
    def __init__(self, data):
        data, packed = unpacked(data)
        need(data[:8] == MAGIC or packed)
        self.core = self.content = self.name = ""
        self.head, self.members, self.options, self.devices, self.memory, self.files = (0, 0, bytes(16), bytes(32), 0), [], {}, [], [], []
        self.said = 0, 0  # the label of the block before, and its clients
        self.frames, self.hashes, self.flips, self.aliens, self.serialized = [], {}, [], [], {}
        self.first = self.next = 0
        self.reports = []
        self.digest, self.damage, self.count, self.seals, self.minute = None, None, 0, [], MINUTE
        for at, kind, body in blocks(data):
            why = body if isinstance(body, str) else None
            if not why:
                try:
                    need((self.count == 0) == (kind == 1))
                    self.read(kind, Reader(body))
                except (Malformed, Version, tables.Refused):
                    why = "its body is malformed"
            if why:
                self.damage = "block %d at byte %d (%s): %s" % (self.count, at, TYPES[kind] if kind < len(TYPES) else "?", why)
                return
            self.count += 1
        if packed:
            minute = (self.frames[-1][0] + 1) // self.minute + 1 if self.frames else 1
            self.damage = "in the packed frame %d, minute %d of the match, at byte %d: %s" % (packed[0], minute, *packed[1:])

    def read(self, kind, r):
        if 1 <= kind < len(TYPES):
            getattr(self, "read_" + TYPES[kind].lower())(r)
            r.end()

    def read_head(self, r):
        version, rules, flags = r.u(1), r.u(2), r.u(1)
        need(version == 1)
        self.head = rules, flags, r.take(16), r.take(32), r.u(8)

    def read_room(self, r):
        self.name = text_of(r.name(23))
        if r.u(1, 1):
            self.minute = read_params(r)[10] * 60 // 1000000
        facts = {text_of(key): text_of(value) for key, value in read_facts(r)}
        self.core, self.content = facts.get("core", ""), facts.get("content", "")
        self.members = [(r.u(1, 15), r.u(1), text_of(r.name(23))) for _ in range(r.u(1, 16))]
        r.str(399)

    def read_start(self, r):
        known, _ = tables.walk(TABLES, "start", 0, r.take(r.left()))
        for o in known["option_list"]:
            if o["key"] != b"keylock_system":
                self.options[o["key"].decode()] = o["value"].decode()
        self.devices = sorted((d["port"], d["device"]) for d in known["device_list"])
        self.memory = [(m["id"], m["content"]) for m in known["memory_list"]]
        self.files = [(len(f["content"]), f["path"].decode()) for f in known["file_list"]]

    def read_snapshot(self, r):
        frame, _bytes, _hash = r.u(4), r.u(4), r.take(32)
        self.read_digest(r)
        need(self.first == self.next or frame >= self.next)
        self.first, self.next = frame if self.first == self.next else self.first, frame
        self.aliens.append((frame, "this run starts from the room's state of frame %d" % frame))

    def read_pieces(self, r):
        while r.left():
            piece = Reader(r.take(r.u(2)))
            first, count = piece.u(4), piece.u(1, 64)
            need(count > 0 and first == self.next)
            self.frames += read_frames(piece, first, count)
            self.next += count
            piece.end()

    def read_digest(self, r):
        self.digest = r.u(4), r.u(4), r.take(16)

    def read_hash(self, r):
        label, clients, has = r.u(4), r.u(2), r.u(1, 7)
        values = [r.u(8) if has >> bit & 1 else None for bit in range(3)]
        if self.head[1] & 1:
            self.hashes = {at: said for at, said in self.hashes.items() if at < label}
        elif label == self.said[0] and not clients & self.said[1]:
            self.said = label, clients | self.said[1]
            return
        self.said = label, clients
        self.hashes[label] = values[:2]

    def read_seal(self, r):
        self.seals.append(read_seal(r))

    def read_sign(self, r):
        r.u(1, 15), r.take(32)
        read_sign(r)

    def read_event(self, r):
        kind, frame = r.u(1), r.u(4)
        if kind == 1:
            offset = r.u(8)
            self.flips.append((frame, "%d%s" % (offset, " state" if r.u(1, 1) else "")))
        elif kind == 2:
            self.aliens.append((frame, text_of(r.str(399))))
        elif kind == 3:
            key, equals, value = text_of(r.str(399)).partition("=")
            need(key and equals)
            self.options[key] = value
        elif kind == 4:
            self.serialized[frame] = r.u(1, 1)
        elif kind == 5:
            need(self.first <= frame < self.next)
            self.next = frame
            self.frames = [f for f in self.frames if f[0] < frame]
            self.hashes = {at: said for at, said in self.hashes.items() if at < frame}
            self.digest = self.digest if self.digest and self.digest[1] <= frame else None
        elif kind == 6:
            r.u(1, 15), r.u(1), r.name(23)
        elif kind == 7:
            r.u(1, 15), r.u(4)
        elif kind == 8:
            self.reports.append((frame, r.u(1, 15), text_of(r.str(399))))
        else:
            r.take(r.left())

    def read_end(self, r):
        r.u(4)
        r.str(399)

    def digests(self):
        """The frames' own, over all whole intervals from frame 0"""
        digest, left, count = bytes(16), list(self.frames), 0
        while left and len(left) >= left[0][2]:
            digest = blake(digest + self.head[2] + count.to_bytes(4, "little") + coded(left[:left[0][2]]))
            left, count = left[left[0][2]:], count + 1
        return count, len(self.frames) - len(left), digest

    def commands(self, frame, commands):
        for _client, kind, data in commands:
            data = bytes.fromhex(data)
            word = {16: "reset", 20: "save"}.get(kind)
            if kind == 17:
                word = "option " + data.decode()
            if kind == 18:
                word = "disk %d" % (int.from_bytes(data, "little") + 1)
            if kind == 21:
                word = "load %d" % int.from_bytes(data, "little")
            if kind == 22 and frame in self.serialized:
                word = "snapshot load" if self.serialized[frame] else "snapshot"
            if word:
                yield "do %d %s" % (frame, word)

    def text(self):
        rules, flags, room, key, epoch = self.head
        out = ["core " + self.core, "content " + self.content] + (["epoch %d" % epoch] if flags & 2 else [])
        out += ["room " + self.name] if self.name else []
        out += ["player %d %02x %s" % member for member in self.members]
        out += ["option %s=%s" % pair for pair in self.options.items()] + ["device %d %d" % pair for pair in self.devices]
        for which, content in self.memory:
            out += ["memory %d %d %s" % (which, at, content[at:at + 256].hex()) for at in range(0, len(content), 256)]
        out += ["file %d %s" % f for f in self.files]
        lines, last = [], [None] * 8
        for number, _keyframe, _length, _key, _marked, _clock, commands, active, inputs in self.frames:
            lines += [(number, 0, line) for line in self.commands(number, commands)]
            for seat in range(8):
                mine = inputs[seat] if active >> seat & 1 else inputs[seat][:0] or [0, [0] * 4, [0] * 2, [0] * 3, [[0] * 3] * 2, [0] * 3, [0, []]]
                if mine != (last[seat] or [0, [0] * 4, [0] * 2, [0] * 3, [[0] * 3] * 2, [0] * 3, [0, []]]):
                    lines.append((number, 3, "input %d %d %04x%s" % (number, seat, mine[0], self.rest(mine))))
                last[seat] = mine
        lines += [(frame, 1, "flip %d %s" % (frame, what)) for frame, what in self.flips]
        lines += [(frame, 2, "alien %d %s" % (frame, what)) for frame, what in self.aliens]
        lines += [(label, 4, "hash %d %s %s" % (label, *("-" if v is None else "%016x" % v for v in values)))
                  for label, values in sorted(self.hashes.items())]
        out += [line for _, _, line in sorted(lines, key=lambda l: l[:2])]
        return "\n".join(out + ["frames %d %d" % (self.first, self.next)] + (["damage " + self.damage] if self.damage else [])) + "\n"

    @staticmethod
    def rest(mine):
        if not any(map(bool, (any(mine[1]), any(mine[2]), any(mine[3]), any(map(any, mine[4])), any(mine[5]), mine[6][0] or mine[6][1]))):
            return ""
        w = Writer()
        write_stream(w, [mine], LONGEST)
        return " " + bytes(w.out).hex()


def there(keylock, data):
    """What `keylock replay --text` prints, and its exit status."""
    with tempfile.NamedTemporaryFile(suffix=".klr") as f:
        f.write(data)
        f.flush()
        done = subprocess.run([keylock, "replay", "--text", f.name], capture_output=True, check=False)
    return done.stdout.decode(), done.returncode


def places_in(data):
    """Its blocks or packed frames, and its end"""
    return [part[0] for part in (packed_frames if data[:8] == PACKED else blocks)(data)] + [len(data)]


def damaged(data, rng):
    """(what was done, the file)."""
    places, tries = places_in(data), PACKED_TRIES if data[:8] == PACKED else TRIES
    for at in rng.sample(range(8, len(data)), tries):
        yield "torn at %d" % at, data[:at]
    for at in rng.sample(range(8, len(data)), tries):
        yield "bit changed at %d" % at, data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1:]
    for i in range(len(places) - 2):
        yield "part %d lost" % i, data[:places[i]] + data[places[i + 1]:]
        yield "parts %d and %d swapped" % (i, i + 1), data[:places[i]] + data[places[i + 1]:places[i + 2]] + data[places[i]:places[i + 1]] + data[places[i + 2]:]


def main():
    golden, keylock = sys.argv[1:3]
    failed = tried = 0
    for name in sorted(n for n in os.listdir(golden) if n.endswith(".klr")):
        with open(os.path.join(golden, name), "rb") as f:
            data = f.read()
        with open(os.path.join(golden, name[:-4] + ".txt"), encoding="utf-8") as f:
            text = f.read()
        here = Recording(data)
        wrong = []
        if here.damage or here.text() != text:
            wrong.append("read from the page it is\n%s" % here.text())
        if there(keylock, data) != (text, 0):
            wrong.append("keylock replay --text prints\n%s" % there(keylock, data)[0])
        if here.digest and here.digest != here.digests():
            wrong.append("digest %s, of its frames %s" % (here.digest, here.digests()))
        cases = list(damaged(data, random.Random(1)))
        with ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(lambda case: there(keylock, case[1]), cases))
        for (what, bytes_there), (said, status) in zip(cases, answers):
            tried += 1
            mine = Recording(bytes_there)
            expect = mine.text(), 1 if mine.damage else 0
            if (said, status) != expect:
                wrong.append("%s: expected\n%s\ngot exit status %d and\n%s" % (what, expect[0][-200:], status, said[-200:]))
            if not mine.damage and bytes_there[-1:] != data[-1:] and len(bytes_there) not in places_in(data):
                wrong.append("%s: not found" % what)
        print("%s recording/%s: %d bytes, %d blocks" % ("FAIL" if wrong else "ok", name, len(data), here.count))
        for w in wrong[:5]:
            print("     " + w.replace("\n", "\n     "))
        failed += bool(wrong)
    print("%s recording/damage: %d files, each good up to its damage" % ("FAIL" if failed or not tried else "ok", tried))
    return failed > 0 or not tried


if __name__ == "__main__":
    sys.exit(main())
