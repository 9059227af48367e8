#!/usr/bin/env python3
"""decode.py VECTORS - a decoder and an encoder written from net/PROTOCOL.md alone, held against the C code.

1. Every vector that the C code emits is decoded here; the fields must be the same.
2. Random messages are encoded here; the C code must give back the same fields.
3. Both kinds are then damaged: C and Python must agree on what is malformed, and on what the rest says.
The seed is printed; `decode.py VECTORS SEED` repeats it.
"""
import json
import random
import subprocess
import sys

ROUNDS = 300     # messages of each kind that are encoded here
DAMAGED = 12     # damaged forms of each message and vector


class Malformed(Exception):
    pass


class Version(Exception):
    pass


def need(condition):
    if not condition:
        raise Malformed


# --- section 1: integers and strings ---------------------------------------------------------------------------

class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def left(self):
        return len(self.data) - self.at

    def take(self, n):
        need(self.left() >= n)
        self.at += n
        return self.data[self.at - n:self.at]

    def u(self, size, most=None):
        value = int.from_bytes(self.take(size), "little")
        need(most is None or value <= most)
        return value

    def s16(self):
        return int.from_bytes(self.take(2), "little", signed=True)

    def var(self, most=2**64 - 1):
        value = shift = 0
        while True:
            byte = self.u(1)
            need(not (byte == 0 and shift > 0))  # the shortest form only
            value |= (byte & 0x7f) << shift
            need(value < 2**64)
            shift += 7
            if byte < 0x80:
                need(value <= most)
                return value

    def svar(self):
        value = self.var()
        return -(value + 1) // 2 if value & 1 else value // 2

    def str(self, longest, shortest=0):
        text = self.take(self.var(longest))
        need(len(text) >= shortest)
        try:
            decoded = text.decode("utf-8")
        except UnicodeDecodeError:
            raise Malformed from None
        need(not any(ord(c) < 0x20 or ord(c) == 0x7f for c in decoded))
        return text.hex()

    def end(self):
        need(self.left() == 0)


class Writer:
    def __init__(self):
        self.out = bytearray()

    def u(self, size, value):
        self.out += value.to_bytes(size, "little")

    def s16(self, value):
        self.out += value.to_bytes(2, "little", signed=True)

    def var(self, value):
        while value > 0x7f:
            self.out.append(value & 0x7f | 0x80)
            value >>= 7
        self.out.append(value)

    def svar(self, value):
        self.var(2 * value if value >= 0 else -2 * value - 1)

    def str(self, text_hex):
        text = bytes.fromhex(text_hex)
        self.var(len(text))
        self.out += text


# --- section 2: header -----------------------------------------------------------------------------------------

def read_header(r, _seats):
    need(r.u(1) == 0x4b)
    kind, session, counter = r.u(1), r.u(4), r.u(4)
    need(kind in (1, 2) and counter != 0)
    return [kind, session, counter]  # the body follows


# --- section 3: inputs: [joypad, sticks, triggers, [dx, dy, buttons], touches, [x, y, buttons], keys] ------------

NEUTRAL = [0, [0, 0, 0, 0], [0, 0], [0, 0, 0], [[0, 0, 0], [0, 0, 0]], [0, 0, 0], []]


def remainder(i):
    return [i[0], i[1], i[2], [0, 0, i[3][2]], i[4], i[5], []]


def read_mouse(r):
    dx, dy = r.svar(), r.svar()
    need(-32768 <= dx <= 32767 and -32768 <= dy <= 32767)
    return [dx, dy, r.var(65535)]


def read_key(r):
    code, v = r.u(2), r.var()
    need(v // 2 <= 0x10ffff)
    return [code, v // 2, v & 1, r.var(65535)]


def read_keys(r):
    count = r.u(1)
    need(1 <= count <= 4)
    return [read_key(r) for _ in range(count)]


GROUPS = [
    lambda r: r.u(2),
    lambda r: [r.s16() for _ in range(4)],
    lambda r: [r.s16() for _ in range(2)],
    read_mouse,
    lambda r: [[r.s16(), r.s16(), r.u(1, 1)] for _ in range(2)],
    lambda r: [r.s16(), r.s16(), r.var(2**20 - 1)],
    read_keys,
]


def read_stream(r, count):
    inputs, last = [], remainder(NEUTRAL)
    while len(inputs) < count:
        token = r.u(1)
        if token & 0x80:
            run = (token & 0x7f) + 1
            need(len(inputs) + run <= count)
            inputs += [last] * run
            continue
        need(token != 0)
        now = list(last)
        for bit, read in enumerate(GROUPS):
            if token >> bit & 1:
                now[bit] = read(r)
                need(now[bit] != last[bit])
        inputs.append(now)
        last = remainder(now)
    return inputs


def write_group(w, bit, v):
    if bit == 0:
        w.u(2, v)
    elif bit in (1, 2):
        for x in v:
            w.s16(x)
    elif bit == 3:
        w.svar(v[0]), w.svar(v[1]), w.var(v[2])
    elif bit == 4:
        for x, y, pressed in v:
            w.s16(x), w.s16(y), w.u(1, pressed)
    elif bit == 5:
        w.s16(v[0]), w.s16(v[1]), w.var(v[2])
    else:
        w.u(1, len(v))
        for code, character, down, modifiers in v:
            w.u(2, code), w.var(2 * character + down), w.var(modifiers)


def write_stream(w, inputs, rng):
    last, at = remainder(NEUTRAL), 0
    while at < len(inputs):
        run = 0
        while at + run < len(inputs) and inputs[at + run] == last and run < 128:
            run += 1
        if run:
            if rng.random() < 0.2:
                run = rng.randint(1, run)  # a reader accepts shorter ones
            w.u(1, 0x7f + run)
            at += run
            continue
        mask = sum(1 << bit for bit in range(7) if inputs[at][bit] != last[bit])
        w.u(1, mask)
        for bit in range(7):
            if mask >> bit & 1:
                write_group(w, bit, inputs[at][bit])
        last = remainder(inputs[at])
        at += 1


# --- sections 4 and 5: CTRL and UPDATE -------------------------------------------------------------------------

def read_echo(r, flags):
    return [r.u(4), r.var(2**32 - 1)] if flags & 1 else None


def read_ctrl(r, seats):
    f = {"stamp": r.u(4)}
    flags = r.u(1)
    need(flags & ~1 == 0)
    f["echo"] = read_echo(r, flags)
    f["acked"] = r.var(2**32 - 1)
    f["backlog"] = r.var(f["acked"])
    needs = r.u(1, 32)
    f["need_first"] = r.var(2**32 - 1 - 32) if needs else 0
    f["needs"] = list(r.take(needs))
    f["first"] = r.var(2**32 - 1 - 256)
    count = r.var(256)
    need(count == 0 or seats > 0)
    f["late"] = r.u(1) if count else 0
    streams = [read_stream(r, count) for _ in range(seats)]
    f["samples"] = [[streams[s][n] for s in range(seats)] for n in range(count)]
    r.end()
    return f


def read_intervals(r, first, count):
    """Of each frame: keyframe, length, marked, active."""
    offset = r.u(1)
    need(offset <= first)
    keyframe, out = first - offset, []
    while len(out) < count:
        head, active = r.u(1), r.u(1)
        length = head & 0x7f
        need(1 <= length <= 30)
        need(out or offset < length)
        begin = max(keyframe, first)
        for n in range(begin, min(keyframe + length, first + count)):
            out.append([keyframe, length, int(n == keyframe and head >= 0x80), active])
        keyframe += length
    return out


def read_update(r, _seats):
    f = {"stamp": r.u(4)}
    flags = r.u(1)
    need(flags & ~3 == 0)
    f["echo"] = read_echo(r, flags)
    f["next_sample"] = r.var(2**32 - 1)
    f["waiting"] = r.u(1)
    f["first"] = first = r.var(2**32 - 1 - 286)
    count = r.var(256)
    f["due"] = r.svar() if flags & 2 else None
    f["frames"] = []
    if count:
        shape = read_intervals(r, first, count)
        seats = r.u(1)
        streams = [read_stream(r, count) if seats >> s & 1 else [NEUTRAL] * count for s in range(8)]
        for n in range(count):
            keyframe, length, marked, active = shape[n]
            f["frames"].append([first + n, keyframe, length, int(first + n == keyframe), marked, active,
                                [streams[s][n] for s in range(8)]])
    r.end()
    return f


def write_ctrl(f, seats, rng):
    w = Writer()
    w.u(4, f["stamp"]), w.u(1, 1 if f["echo"] else 0)
    if f["echo"]:
        w.u(4, f["echo"][0]), w.var(f["echo"][1])
    w.var(f["acked"]), w.var(f["backlog"])
    w.u(1, len(f["needs"]))
    if f["needs"]:
        w.var(f["need_first"])
        w.out += bytes(f["needs"])
    w.var(f["first"]), w.var(len(f["samples"]))
    if f["samples"]:
        w.u(1, f["late"])
    for s in range(seats):
        write_stream(w, [sample[s] for sample in f["samples"]], rng)
    return bytes(w.out)


def write_update(f, rng):
    w = Writer()
    w.u(4, f["stamp"]), w.u(1, (1 if f["echo"] else 0) + (0 if f["due"] is None else 2))
    if f["echo"]:
        w.u(4, f["echo"][0]), w.var(f["echo"][1])
    w.var(f["next_sample"]), w.u(1, f["waiting"]), w.var(f["first"]), w.var(len(f["frames"]))
    if f["due"] is not None:
        w.svar(f["due"])
    if f["frames"]:
        w.u(1, f["first"] - f["frames"][0][1])
        for n, (number, keyframe, length, _key, marked, active, _in) in enumerate(f["frames"]):
            if n == 0 or number == keyframe:
                w.u(1, length + 0x80 * marked), w.u(1, active)
        seats = [s for s in range(8) if any(frame[6][s] != NEUTRAL for frame in f["frames"])]
        w.u(1, sum(1 << s for s in seats))
        for s in seats:
            write_stream(w, [frame[6][s] for frame in f["frames"]], rng)
    return bytes(w.out)


# --- section 7: reliable messages ------------------------------------------------------------------------------

def read_params(r):
    policy, flags = r.u(1, 2), r.u(1, 3)
    p = [policy, flags & 1, flags >> 1, r.u(1, 8), r.u(1, 30), r.u(2), r.u(2), r.u(4)]
    need(p[3] >= 1 and 1000000 <= p[7] <= 1000000000)
    return p


def write_params(w, p):
    w.u(1, p[0]), w.u(1, p[1] + 2 * p[2]), w.u(1, p[3]), w.u(1, p[4]), w.u(2, p[5]), w.u(2, p[6]), w.u(4, p[7])


def read_facts(r):
    return [[r.str(47), r.str(159)] for _ in range(r.u(1, 24))]


def write_facts(w, facts):
    w.u(1, len(facts))
    for key, value in facts:
        w.str(key), w.str(value)


def read_message(r, _seats):
    kind = r.u(1)
    m = [kind]
    if kind == 1:
        m.append(r.u(2))
        if m[1] != 1:
            raise Version
        m += [r.str(23, 1), r.str(23, 1), r.u(1, 8), read_params(r), read_facts(r)]
    elif kind == 2:
        m += [r.u(4), r.u(4)]
        rest = r.take(r.left())
        need(len(rest) <= 1000 and m[1] + len(rest) <= m[2])
        m.append(rest.hex())
    elif kind == 3:
        m.append(read_facts(r))
    elif kind == 4:
        m.append(r.u(4))
        has = r.u(1, 7)
        m += [r.u(8) if has >> bit & 1 else None for bit in range(3)]
    elif kind in (5, 17, 22):
        m += [r.u(1), r.str(479)]
    elif kind == 16:
        m += [r.u(4), r.u(1, 15), r.u(1), r.u(1, 1), read_params(r)]
    elif kind == 18:
        m += [r.u(1, 8), r.u(1, 8)]
        m.append([[r.u(1, 15), r.u(1), r.u(1, 4), r.u(1, 1), r.str(23)] for _ in range(r.u(1, 16))])
    elif kind == 19:
        m += [r.u(8), r.u(4)]
    elif kind == 21:
        m += [r.u(4), r.u(4), r.u(1, 2), r.u(1, 1), r.u(2)]
    else:
        need(kind == 20)
    r.end()
    return m


def write_message(m):
    w = Writer()
    kind = m[0]
    w.u(1, kind)
    if kind == 1:
        w.u(2, m[1]), w.str(m[2]), w.str(m[3]), w.u(1, m[4])
        write_params(w, m[5]), write_facts(w, m[6])
    elif kind == 2:
        w.u(4, m[1]), w.u(4, m[2])
        w.out += bytes.fromhex(m[3])
    elif kind == 3:
        write_facts(w, m[1])
    elif kind == 4:
        w.u(4, m[1]), w.u(1, sum(1 << bit for bit in range(3) if m[2 + bit] is not None))
        for value in m[2:]:
            if value is not None:
                w.u(8, value)
    elif kind in (5, 17, 22):
        w.u(1, m[1]), w.str(m[2])
    elif kind == 16:
        w.u(4, m[1]), w.u(1, m[2]), w.u(1, m[3]), w.u(1, m[4])
        write_params(w, m[5])
    elif kind == 18:
        w.u(1, m[1]), w.u(1, m[2]), w.u(1, len(m[3]))
        for client, seats, state, host, name in m[3]:
            w.u(1, client), w.u(1, seats), w.u(1, state), w.u(1, host), w.str(name)
    elif kind == 19:
        w.u(8, m[1]), w.u(4, m[2])
    elif kind == 21:
        w.u(4, m[1]), w.u(4, m[2]), w.u(1, m[3]), w.u(1, m[4]), w.u(2, m[5])
    return bytes(w.out)


READ = {"header": read_header, "ctrl": read_ctrl, "update": read_update, "message": read_message}


def decode(what, seats, data):
    """The fields, "malformed" or "version"."""
    try:
        return READ[what](Reader(data), seats)
    except Malformed:
        return "malformed"
    except Version:
        return "version"


# --- random messages -------------------------------------------------------------------------------------------

def any_input(rng, last):
    now = remainder(last)
    s16 = lambda: rng.choice([0, 1, -1, 32767, -32768, rng.randint(-32768, 32767)])
    make = [
        lambda: rng.randrange(65536),
        lambda: [s16() for _ in range(4)],
        lambda: [s16() for _ in range(2)],
        lambda: [s16(), s16(), rng.randrange(65536)],
        lambda: [[s16(), s16(), rng.randrange(2)] for _ in range(2)],
        lambda: [s16(), s16(), rng.randrange(2**20)],
        lambda: [[rng.randrange(65536), rng.choice([0, 97, 0x10ffff]), rng.randrange(2), rng.randrange(65536)]
                 for _ in range(rng.randint(1, 4))],
    ]
    for bit in range(7):
        if rng.random() < 0.15:
            now[bit] = make[bit]()
    return now


def any_stream(rng, count):
    out, last = [], NEUTRAL
    for _ in range(count):
        last = any_input(rng, last) if rng.random() < 0.5 else remainder(last)
        out.append(last)
    return out


def u32(rng, most=2**32 - 1):
    return rng.choice([0, 1, 127, 128, most, rng.randint(0, most)])


def any_echo(rng):
    return [u32(rng), u32(rng)] if rng.random() < 0.7 else None


def any_ctrl(rng):
    seats, acked = rng.randint(0, 8), u32(rng)
    count = rng.choice([0, 1, 2, 9]) if seats else 0
    needs = [rng.randrange(256) for _ in range(rng.choice([0, 1, 32]))]
    streams = [any_stream(rng, count) for _ in range(seats)]
    f = {"stamp": u32(rng), "echo": any_echo(rng), "acked": acked, "backlog": rng.randint(0, acked),
         "need_first": u32(rng, 2**32 - 33) if needs else 0, "needs": needs, "first": u32(rng, 2**32 - 257),
         "late": rng.randrange(256) if count else 0,
         "samples": [[streams[s][n] for s in range(seats)] for n in range(count)]}
    return "ctrl", seats, f, write_ctrl(f, seats, rng)


def any_update(rng):
    first, count = u32(rng, 2**32 - 287), rng.choice([0, 1, 2, 7, 40])
    f = {"stamp": u32(rng), "echo": any_echo(rng), "next_sample": u32(rng), "waiting": rng.randrange(256),
         "first": first, "due": rng.choice([None, 0, -1, 2**63 - 1, -2**63, rng.randint(-10**9, 10**9)]), "frames": []}
    length = rng.randint(1, 30)
    keyframe = first - rng.randint(0, min(length - 1, first))
    marked, active = (rng.randrange(2) if keyframe == first else 0), rng.randrange(256)
    streams = [any_stream(rng, count) if rng.random() < 0.4 else [NEUTRAL] * count for _ in range(8)]
    for n in range(count):
        if first + n == keyframe + length:
            keyframe, length, marked, active = first + n, rng.randint(1, 30), rng.randrange(2), rng.randrange(256)
        key = int(first + n == keyframe)
        f["frames"].append([first + n, keyframe, length, key, marked * key, active, [s[n] for s in streams]])
    return "update", 0, f, write_update(f, rng)


def any_text(rng, longest, shortest=0):
    text = "".join(rng.choice("abc ~\u00e9\u20ac\U0001f3ae") for _ in range(rng.randint(shortest, longest // 4)))
    return text.encode().hex()


def any_params(rng):
    return [rng.randrange(3), rng.randrange(2), rng.randrange(2), rng.randint(1, 8), rng.randint(0, 30),
            rng.randrange(65536), rng.randrange(65536), rng.choice([1000000, 1000000000, 60098800])]


def any_facts(rng):
    return [[any_text(rng, 47), any_text(rng, 159)] for _ in range(rng.choice([0, 1, 24]))]


def any_message(rng):
    make = {
        1: lambda: [1, any_text(rng, 23, 1), any_text(rng, 23, 1), rng.randint(0, 8), any_params(rng), any_facts(rng)],
        2: lambda: [1000, 5000, rng.randbytes(rng.choice([0, 1, 1000])).hex()],
        3: lambda: [any_facts(rng)],
        4: lambda: [u32(rng)] + [rng.choice([None, 0, 2**64 - 1]) for _ in range(3)],
        5: lambda: [rng.randrange(256), any_text(rng, 479)],
        16: lambda: [u32(rng), rng.randrange(16), rng.randrange(256), rng.randrange(2), any_params(rng)],
        18: lambda: [rng.randint(0, 8), rng.randint(0, 8),
                     [[rng.randrange(16), rng.randrange(256), rng.randint(0, 4), rng.randrange(2), any_text(rng, 23)]
                      for _ in range(rng.choice([0, 2, 16]))]],
        19: lambda: [rng.choice([0, 2**64 - 1]), u32(rng)],
        20: lambda: [],
        21: lambda: [u32(rng), u32(rng), rng.randint(0, 2), rng.randrange(2), rng.randrange(65536)],
    }
    make[17] = make[22] = make[5]
    kind = rng.choice(sorted(make))
    m = [kind] + make[kind]()
    return "message", 0, m, write_message(m)


def any_header(rng):
    f = [rng.randint(1, 2), u32(rng), rng.randint(1, 2**32 - 1)]
    return "header", 0, f, bytes([0x4b, f[0]]) + f[1].to_bytes(4, "little") + f[2].to_bytes(4, "little")


def damage(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        at = rng.randrange(len(data)) if data else 0
        kind = rng.randrange(6)
        if kind == 0:
            data = data[:at]
        elif kind == 1:
            data.insert(at, rng.choice([0, 1, 0x7f, 0x80, 0xff]))
        elif data and kind == 2:
            del data[at]
        elif data and kind == 3:
            data[at] = rng.choice([0, 1, 2, 0x7f, 0x80, 0xff, 31, 30, 9])
        elif data:
            data[at] ^= 1 << rng.randrange(8)
    return bytes(data)


# --- what nobody may send --------------------------------------------------------------------------------------

def lay(*parts):
    """Integers stand for one byte, ("var", n) for a varint, bytes for themselves."""
    w = Writer()
    for part in parts:
        if isinstance(part, tuple):
            w.var(part[1])
        else:
            w.out += bytes([part]) if isinstance(part, int) else part
    return bytes(w.out)


def wrong_streams():
    """For one input."""
    zero = [bytes(2), bytes(8), bytes(4), bytes(3), bytes(10), bytes(5), bytes(1)]
    yield from (bytes([1 << bit]) + body for bit, body in enumerate(zero))      # groups that say nothing new
    yield b"\x03\x01\x00" + bytes(8)                                            # one of two
    yield from (b"\x00", b"\x81", b"\xff", b"\x80\x80")
    yield b"\x08\x80\x80\x04\x00\x00"                                           # motion of 32768
    yield b"\x08\x00\x00\x80\x80\x04"                                           # buttons of 65536
    yield b"\x10" + bytes(4) + b"\x02" + bytes(5)
    yield b"\x20" + bytes(4) + b"\x80\x80\x40"                                  # buttons of 2^20
    yield b"\x40\x05" + b"\x01\x00\x00\x00" * 5
    yield b"\x40\x01\x01\x00\x80\x80\x88\x01\x00"                             # character 0x110000
    yield b"\x40\x01\x01\x00\x00\x80\x80\x04"


def wrong_ctrls():
    def ctrl(flags=0, acked=9, backlog=0, needs=b"\x00", first=0, count=1, rest=b"\x00\x80"):
        return lay(bytes(4), flags, ("var", acked), ("var", backlog), needs, ("var", first), ("var", count), rest)
    yield ctrl(flags=2)
    yield ctrl(flags=1)
    yield ctrl(acked=2**32)
    yield ctrl(backlog=10)
    yield ctrl(needs=lay(33, 0, bytes(33)))
    yield ctrl(needs=lay(1, ("var", 2**32 - 32), 0))
    yield ctrl(first=2**32 - 256)
    yield ctrl(count=257, rest=b"\x00\xff\xff\x80")
    yield ctrl(rest=b"\x00\x80\x00")
    yield ctrl(count=0)
    yield from (ctrl(rest=b"\x00" + s) for s in wrong_streams())


def wrong_updates():
    def update(flags=0, next_sample=0, first=9, count=1, due=b"", offset=1, intervals=b"\x04\xff", rest=b"\x00"):
        return lay(bytes(4), flags, ("var", next_sample), 0, ("var", first), ("var", count), due, offset, intervals, rest)
    yield update(flags=4)
    yield update(next_sample=2**32)
    yield update(first=2**32 - 286)
    yield update(count=257)
    yield update(offset=4)
    yield update(offset=255)
    yield update(first=0)
    yield update(intervals=b"\x00\xff", offset=0)
    yield update(intervals=b"\x1f\xff")
    yield update(intervals=b"\x80\xff")
    yield update(intervals=b"\x04\xff\x04\xff")
    yield update(count=4)                            # a second interval is due
    yield update(flags=2, due=b"\xff" * 9 + b"\x02")  # 2^64 and more
    yield from (update(rest=b"\x01" + s) for s in wrong_streams())


def wrong():
    cases = [("ctrl", 1, data) for data in wrong_ctrls()] + [("update", 0, data) for data in wrong_updates()]
    for what, seats, data in cases:
        assert decode(what, seats, data) == "malformed", (what, data.hex())
    return cases


# --- comparing -------------------------------------------------------------------------------------------------

def main():
    program, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    rng, cases, failed = random.Random(seed), wrong(), 0
    listing = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    vectors = [json.loads(line) for line in listing.splitlines()]
    for v in vectors:
        data = bytes.fromhex(v["hex"])
        got = decode(v["what"], v["seats"], data)
        if got != v["fields"]:
            failed += 1
            print("vector", v["what"], v["hex"], "\n  C:     ", v["fields"], "\n  Python:", got)
        cases += [(v["what"], v["seats"], damage(rng, data)) for _ in range(DAMAGED)]
    print("%s vectors of the C code: %d" % ("FAIL" if failed else "ok", len(vectors)))

    made = [make(rng) for make in (any_ctrl, any_update, any_message, any_header) for _ in range(ROUNDS)]
    for what, seats, fields, data in made:
        assert decode(what, seats, data) == fields, (what, data.hex())
        cases.append((what, seats, data))
        cases += [(what, seats, damage(rng, data)) for _ in range(DAMAGED)]
    asked = "".join("%s %d %s\n" % (what, seats, data.hex()) for what, seats, data in cases)
    answers = subprocess.run([program, "--judge"], input=asked, capture_output=True, text=True, check=True).stdout
    answers, rejected, wrong = answers.splitlines(), 0, 0
    assert len(answers) == len(cases)
    for (what, seats, data), answer in zip(cases, answers):
        here = decode(what, seats, data)
        there = answer if answer in ("malformed", "version") else json.loads(answer)
        rejected += here == "malformed"
        if here != there:
            wrong += 1
            if wrong <= 10:
                print("differs: %s seats=%d %s\n  C:      %s\n  Python: %s" %
                      (what, seats, data.hex(), answer[:300], json.dumps(here)[:300]))
    print("%s encoded here or damaged, judged by C: %d (rejected by both: %d, differing: %d) seed=%d" %
          ("FAIL" if wrong else "ok", len(cases), rejected, wrong, seed))
    return 1 if failed or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
