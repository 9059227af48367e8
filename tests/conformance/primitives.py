"""primitives.py - sections 1 and 3 of net/PROTOCOL.md: integers, strings and inputs, for protocol.py."""
import os

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../net/PROTOCOL.md"), encoding="utf-8") as document:
    VERSION = int(document.readline().rsplit(None, 1)[1])  # "# Keylock's protocol, version N"


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
        start, self.at = self.at, self.at + n
        if self.at > len(self.data):
            raise Malformed
        return self.data[start:self.at]

    def u(self, size, most=None):
        value = int.from_bytes(self.take(size), "little")
        need(most is None or value <= most)
        return value

    def s16(self):
        return int.from_bytes(self.take(2), "little", signed=True)

    def var(self, most=2**64 - 1):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            if byte == 0 and shift > 0:  # the shortest form only
                raise Malformed
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

    def name(self, longest, shortest=0):
        text = self.str(4 * longest, shortest)
        need(len(bytes.fromhex(text).decode("utf-8")) <= longest)
        return text

    def hex(self, n):
        return self.take(n).hex()

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

    def hex(self, text):
        self.out += bytes.fromhex(text)

    def str(self, text_hex):
        text = bytes.fromhex(text_hex)
        self.var(len(text))
        self.out += text


# --- section 3: inputs: [joypad, sticks, triggers, [dx, dy, buttons], touches, [x, y, buttons], [all up, events]] -

NEUTRAL = [0, [0, 0, 0, 0], [0, 0], [0, 0, 0], [[0, 0, 0], [0, 0, 0]], [0, 0, 0], [0, []]]


def remainder(i):
    return [i[0], i[1], i[2], [0, 0, i[3][2]], i[4], i[5], [0, []]]


def read_mouse(r):
    dx, dy = r.svar(), r.svar()
    need(-32768 <= dx <= 32767 and -32768 <= dy <= 32767)
    return [dx, dy, r.var(65535)]


def read_key(r):
    code, v = r.u(2), r.var()
    need(v // 2 <= 0x10ffff and code <= 343)
    return [code, v // 2, v & 1, r.var(65535)]


def read_keys(r):
    head = r.u(1)
    need(head != 0 and head & 0x7f <= 4)
    return [head >> 7, [read_key(r) for _ in range(head & 0x7f)]]


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
        w.u(1, len(v[1]) + 0x80 * v[0])
        for code, character, down, modifiers in v[1]:
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
