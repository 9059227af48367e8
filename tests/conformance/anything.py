"""anything.py - random messages of each kind of net/PROTOCOL.md, and damaged ones. Part of decode.py."""
from primitives import NEUTRAL, VERSION, Writer, remainder
from channel import write_channel
from protocol import NUMBER_MAX, SNAPSHOT_MAX, write_ctrl, write_message, write_update


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
        lambda: rng.choice([[1, []], [rng.randrange(2), [
            [rng.randrange(344), rng.choice([0, 97, 0x10ffff]), rng.randrange(2), rng.randrange(65536)]
            for _ in range(rng.randint(1, 4))]]]),
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


def any_match(rng):
    return "".join(rng.choice("azAZ09") + rng.choice(["", "-", "._", ":#/"]) for _ in range(rng.choice([0, 1, 11]))).encode().hex()


def any_echo(rng):
    return [u32(rng), u32(rng)] if rng.random() < 0.7 else None


def any_ctrl(rng):
    seats, acked = rng.randint(0, 8), u32(rng)
    count = rng.choice([0, 1, 2, 9]) if seats else 0
    backlog = rng.randint(0, acked)
    needs = [rng.randrange(256) for _ in range(min(rng.choice([0, 1, 32]), acked - backlog))]
    streams = [any_stream(rng, count) for _ in range(seats)]
    f = {"stamp": u32(rng), "away": rng.randrange(2), "resume": rng.randrange(2), "sparing": rng.randrange(2), "guesses": rng.randrange(2), "echo": any_echo(rng), "acked": acked, "backlog": backlog,
         "needs": needs, "first": u32(rng, NUMBER_MAX),
         "late": rng.randrange(2**16) if count else 0, "turn_late": rng.choice([0, 1, 2**16 - 1]) if count else 0, "batch": rng.choice([1, rng.randrange(256)]) if count else 0,
         "samples": [[streams[s][n] for s in range(seats)] for n in range(count)]}
    return "ctrl", seats, f, write_ctrl(f, seats, rng)


def any_commands(rng):
    lengths = [rng.choice([0, 1, 4, 96]) for _ in range(rng.choice([0, 0, 0, 1, 2, 8]))]
    while sum(lengths) > 400:
        lengths.pop()
    return [[rng.choice([0, 15, 255]), rng.choice([1, 2, 3, 16, 255]), rng.randbytes(n).hex()] for n in lengths]


def any_frames(rng, first, count):
    length = rng.randint(1, 30)
    keyframe = first - rng.randint(0, min(length - 1, first))
    marked, by_clock, active = rng.randrange(2), rng.randrange(2), rng.randrange(256)
    streams = [any_stream(rng, count) if rng.random() < 0.4 else [NEUTRAL] * count for _ in range(8)]
    frames = []
    for n in range(count):
        if first + n == keyframe + length:
            keyframe, length, marked = first + n, rng.randint(1, 30), rng.randrange(2)
            by_clock, active = rng.randrange(2), rng.randrange(256)
        key = int(first + n == keyframe)
        frames.append([first + n, keyframe, length, key, marked * key, by_clock, any_commands(rng) if key else [], active,
                       [s[n] for s in streams]])
    return frames


def any_hints(rng, following):
    hints = []
    for port in sorted(rng.sample(range(8), rng.randint(1, 8))):
        count = rng.randint(1, 32)
        pads = rng.choice([[], [0], [1, 0xffff]])
        hints.append([port, count, [rng.choice(pads) for _ in range(count)] if pads else None])
    return [rng.randint(1, min(255, following)), hints]


def any_update(rng):
    first, count = u32(rng, NUMBER_MAX), rng.choice([0, 1, 2, 7, 40])
    presence = rng.randrange(3)
    f = {"stamp": u32(rng), "absent": int(presence == 1), "returning": int(presence == 2), "paused": rng.randrange(2),
         "echo": any_echo(rng), "next_sample": u32(rng), "waiting": rng.randrange(256), "away": rng.choice([0, rng.randrange(256)]),
         "first": first, "due": rng.choice([None, 0, -1, 2**63 - 1, -2**63, rng.randint(-10**9, 10**9)]), "frames": []}
    f["frames"] = any_frames(rng, first, count)
    f["hints"] = any_hints(rng, first + count) if first + count and rng.random() < 0.4 else None
    return "update", 0, f, write_update(f, rng)


def any_text(rng, longest, shortest=0):
    text = "".join(rng.choice("abc ~\u00e9\u20ac\U0001f3ae") for _ in range(rng.randint(shortest, longest // 4)))
    return text.encode().hex()


def any_name(rng, shortest=0):
    return "".join(rng.choice("abc ~\u00e9\u20ac\U0001f3ae") for _ in range(rng.randint(shortest, 23))).encode().hex()


def any_params(rng):
    return [rng.randrange(3), rng.randrange(2), rng.randrange(2), rng.randrange(2), rng.randrange(2), rng.randint(1, 8), rng.randint(0, 30), rng.randint(0, 30),
            rng.randrange(65536), rng.randrange(65536), rng.choice([1000000, 1000000000, 60098800]),
            rng.randrange(3)]


def any_facts(rng):
    return [[any_text(rng, 47), any_text(rng, 159)] for _ in range(rng.choice([0, 1, 24]))]


def any_message(rng):
    some = lambda n: rng.randbytes(n).hex()

    def any_history():
        while True:
            first = u32(rng, NUMBER_MAX)
            m = [first, any_frames(rng, first, rng.choice([1, 2, 7, 64]))]
            if len(write_message([25] + m, rng)) <= 3900:
                return m

    def any_piece(most):
        total = rng.choice([1, 4000, most, rng.randint(1, most)])
        count = min(total, rng.choice([1, 7, 4000]))
        return [rng.randint(0, total - count), total, some(count)]
    def any_seal():
        has, end = rng.randrange(8), rng.randint(1, 2**32 - 1)
        return [u32(rng), end, some(16), rng.randrange(end) if has else 0, has] + [
            rng.choice([0, 2**64 - 1]) for _ in range(bin(has).count("1"))] + [some(32), some(64)]
    def any_sign():
        has = rng.randint(1, 7)
        return [rng.randint(1, 2**32 - 1), some(16), u32(rng), has] + [
            rng.choice([0, 2**64 - 1]) for _ in range(bin(has).count("1"))] + [some(64)]
    make = {
        1: lambda: [VERSION, any_name(rng, 1), any_name(rng, 1), rng.randint(0, 8), any_params(rng), any_facts(rng),
                    rng.choice([0, 1, 2, 3, 8, 9, 11]), rng.randrange(3), rng.randrange(65536), some(32), any_match(rng)],
        2: lambda: [1000, 5000, rng.randbytes(rng.choice([0, 1, 1000])).hex()],
        3: lambda: [any_facts(rng)],
        4: lambda: (lambda values: [u32(rng), u32(rng)] + values + [0 if values[1] is None else rng.randrange(3)])(
            [rng.choice([None, 0, 2**64 - 1]) for _ in range(3)] + [rng.choice([None, 0, 2**16 - 1])]),
        5: lambda: [rng.randrange(256), any_text(rng, 479)],
        6: lambda: [rng.randrange(256), rng.randbytes(rng.choice([0, 1, 96])).hex()],
        7: lambda: [rng.randrange(2), some(32), some(16)],
        8: lambda: [any_name(rng, 1), some(16), some(32), some(64)] +
                   rng.choice([[1, 0, 0, 0, some(16), some(16), []],
                               [0, 2**31, rng.choice([0, 7, 2**31]), u32(rng), some(16), some(16),
                                [[u32(rng), some(16)] for _ in range(rng.choice([0, 1, 8]))]]]) +
                   [any_facts(rng), rng.randrange(3)],
        16: lambda: [u32(rng)] + rng.choice([[255, 0, 0], [rng.randrange(16), rng.randrange(256), rng.randrange(2)]]) +
                    [any_params(rng), some(16), some(16), rng.randrange(65536), any_match(rng)],
        18: lambda: [rng.randint(0, 8), rng.randint(0, 8), rng.randrange(8), rng.choice([255, rng.randrange(16)]),
                     [[rng.randrange(16), rng.randrange(256), rng.randint(0, 6), rng.randrange(2), any_name(rng)]
                      for _ in range(rng.choice([0, 2, 16]))], rng.randrange(65536), rng.randint(0, 300),
                     rng.randrange(65536),
                     [[rng.choice([255, rng.randrange(16)]), rng.randrange(2), any_name(rng)] for _ in range(rng.choice([0, 2, 16]))]],
        19: lambda: [rng.choice([0, 2**64 - 1]), u32(rng)],
        20: lambda: [rng.randrange(2)],
        21: lambda: [u32(rng), u32(rng), rng.randint(0, 2), rng.randrange(64), rng.randrange(2), rng.randrange(65536), rng.randrange(65536), u32(rng)],
        23: lambda: [rng.randrange(2), some(16), some(32)],
        24: lambda: [some(16)],
        25: lambda: any_history(),
        11: lambda: [u32(rng)] + rng.choice([[0, 0], [1, rng.randint(1, SNAPSHOT_MAX)]]) + [some(32)],
        12: lambda: [u32(rng), rng.randrange(2)] + any_piece(SNAPSHOT_MAX),
        13: lambda: [u32(rng), u32(rng), rng.randrange(3)],
        29: lambda: [u32(rng)] + rng.choice([[0], [1, u32(rng), some(32)]]),
        30: lambda: [u32(rng) | 1 << 31, rng.randint(1, 2**31), rng.randrange(2), rng.randint(1, SNAPSHOT_MAX), rng.randint(1, SNAPSHOT_MAX), some(32), some(16)],
        31: lambda: [u32(rng)] + any_piece(SNAPSHOT_MAX),
        32: lambda: [rng.randrange(16), rng.randrange(256)],
        33: lambda: [u32(rng), rng.randrange(2)],
        34: lambda: [rng.randrange(65536)],
        15: lambda: [],
        35: lambda: [[[rng.randrange(256), rng.randint(1, 2**32 - 1), some(16), rng.randint(1, 65535), some(32), some(32)]
                      for _ in range(rng.choice([0, 1, 2, 15]))]],
        36: lambda: any_seal(),
        39: lambda: rng.choice([[0, 0], [1, rng.randrange(65536)]]) + [some(16)],
        40: lambda: [rng.randrange(3), rng.randrange(65536), rng.randrange(65536), some(16),
                     [[rng.randrange(16), some(16)] for _ in range(rng.choice([0, 1, 16]))]],
        9: lambda: any_sign(),
        10: lambda: [some(16), some(32), some(64)],
        37: lambda: [any_name(rng, 1), any_name(rng, 1)],
        38: lambda: [some(16), some(32)] + any_sign(),
        14: lambda: rng.choice([[0, rng.randrange(65536), rng.randrange(5)], [1, 0, rng.randint(1, 2)]]) +
                    [rng.choice([0, 2**64 - 1]), rng.choice([0, 2**64 - 1]), any_text(rng, 47, 1) or "61"],
    }
    make[17] = make[22] = make[5]
    kind = rng.choice(sorted(make))
    m = [kind] + make[kind]()
    return "message", 0, m, write_message(m, rng)


def any_channel(rng):
    some = lambda n: rng.randbytes(n).hex()
    host = ".".join("".join(rng.choice("az09") for _ in range(rng.randint(1, 9))) for _ in range(rng.randint(1, 4)))
    fingerprint = "".join(rng.choice("abyz2367") for _ in range(32))
    p = rng.choice([
        lambda: [1, 2, rng.randrange(65536)],
        lambda: [2, rng.randrange(2), host.encode().hex(), rng.randint(1, 65535), any_name(rng, 1), fingerprint.encode().hex()],
        lambda: [3, rng.randrange(2)],
        lambda: [4, any_text(rng, 479)],
        lambda: [5],
        lambda: [6, u32(rng), some(rng.choice([0, 1, 26, 103, 1226, 1400]))],
    ])()
    return "channel", 0, p, write_channel(p, rng)


def lay(*parts):
    """Integers stand for one byte, ("var", n) for a varint, bytes for themselves."""
    w = Writer()
    for part in parts:
        if isinstance(part, tuple):
            w.var(part[1])
        else:
            w.out += bytes([part]) if isinstance(part, int) else part
    return bytes(w.out)


def lay_str(text):
    return bytes([len(text) & 0x7f]) + text if len(text) < 128 else bytes([len(text) & 0x7f | 0x80, len(text) >> 7]) + text


def any_mask(rng):
    size, at, ranges = rng.choice([0, 1000, 10**6]), 0, []
    for _ in range(rng.randrange(3) if size else 0):
        if at + 40 < size:
            ranges.append(lay(("var", rng.randint(1 if ranges else 0, 30)), ("var", rng.randint(1, 3))))
            at += 33
    return size, ranges


def any_start(rng):
    text = lambda most, least=0: bytes.fromhex(any_text(rng, most, max(least, 1 if least else 0))) or b"a" * least
    size, ranges = any_mask(rng)
    options = [lay_str(text(127, 1)) + lay_str(text(255)) for _ in range(rng.randrange(3))]
    devices = [bytes([port]) + u32(rng).to_bytes(4, "little") for port in rng.sample(range(8), rng.randrange(4))]
    memories = [n.to_bytes(4, "little") + lay(("var", 3), b"abc") for n in rng.sample(range(9), rng.randrange(3))]
    files = [lay_str(b"%d/%s" % (n, name)) + lay(("var", 0)) for n, name in enumerate(rng.choice([[], [b"a.srm"], [b"x/y", b"b..c"]]))]
    begun = 16 * rng.randrange(2)
    data = b"KLS2" + lay(rng.choice([0, 11] if ranges else [0, 15, 4]) + begun, ("var", size))
    for part in (ranges, options, devices, memories, files):
        data += lay(("var", len(part)), b"".join(part))
    if begun:
        packed = rng.randbytes(rng.choice([1, 200]))
        data += lay(u32(rng).to_bytes(4, "little"), rng.randbytes(16), lay_str(text(47)), lay_str(text(159)), rng.randbytes(8),
                    rng.choice([1, 67108864]).to_bytes(4, "little"), rng.randbytes(32), ("var", len(packed)), packed)
    return "start", 0, None, data


def any_snapshot(rng):
    w = Writer()
    frame = u32(rng)
    w.out += b"KLP2"
    w.u(4, frame), w.u(8, rng.randrange(2**64)), w.u(8, rng.choice([0, 2**63 - 1])), w.u(4, rng.choice([0, frame]))
    w.hex(bytes(rng.sample(range(8), 8)).hex()), w.u(1, rng.randrange(3)), w.u(2, 90), w.u(1, rng.randrange(31))
    size, ranges = any_mask(rng)
    w.var(size), w.var(len(ranges)), w.hex(b"".join(ranges).hex())
    for _ in range(4):
        w.u(2, rng.randint(1, 8192))
    w.u(4, rng.choice([0, 1333333])), w.u(4, 60098800), w.u(4, 44100000), w.u(1, rng.randrange(3)), w.u(1, rng.randrange(4))
    w.u(1, rng.randrange(4)), w.u(1, rng.randrange(128)), w.str(any_text(rng, 31)), w.hex(rng.randbytes(32).hex()), w.u(4, u32(rng))
    w.u(2, 0xffff), w.u(2, 2), w.u(1, rng.randrange(2)), w.u(1, rng.randrange(2)), w.u(4, u32(rng)), w.u(2, 1)
    keys = sorted(512 * rng.randrange(8) + code for code in rng.sample(range(1, 344), rng.randrange(4)))
    w.var(len(keys))
    for code in keys:
        w.u(2, code)
    w.hex(rng.randbytes(32).hex()), w.hex(rng.randbytes(32).hex())
    declared = rng.randrange(3)
    w.u(1, declared)
    for _ in range(declared):
        w.str(any_text(rng, 39)), w.u(8, rng.randrange(2**64))
    w.u(1, rng.randrange(2))
    options = rng.randrange(3)
    w.var(options)
    for _ in range(options):
        w.str(any_text(rng, 127, 1)), w.str(any_text(rng, 255))
        choices = rng.randrange(3)
        w.var(choices)
        for _ in range(choices):
            w.str(any_text(rng, 255))
    waiting = rng.randrange(3)
    w.var(waiting)
    for _ in range(waiting):
        w.str(any_text(rng, 127, 1)), w.str(any_text(rng, 255))
    files = rng.randrange(3)
    w.var(files)
    for name in ("save/a", "system/b/c")[:files]:
        content = rng.randbytes(rng.choice([0, 9]))
        w.str(name.encode().hex()), w.u(1, 1), w.u(8, rng.randrange(2**63)), w.var(len(content)), w.hex(content.hex())
    places = rng.randrange(3) if files else 0
    w.var(places)
    for _ in range(places):
        w.u(2, rng.randrange(files)), w.u(8, rng.randrange(2**63))
    state = rng.randbytes(rng.choice([1, 200]))
    w.var(len(state)), w.hex(state.hex())
    return "snapshot", 0, None, bytes(w.out)


def any_stranger(rng):
    echo, what = rng.randbytes(8), rng.choice(["ask", "pong", "rooms"])
    if what == "ask":
        ping = rng.randrange(2)
        data = bytes([0x4b, 0x14 if ping else 0x16]) + echo + rng.randbytes(2 if ping else 4)
        return what, 0, None, data + bytes((32 if ping else 1200) - len(data))
    if what == "pong":
        return what, 0, None, b"\x4b\x15" + echo + rng.randbytes(2) + bytes([rng.randrange(2)]) + rng.randbytes(4)
    lines = [lay_str(bytes.fromhex(any_name(rng, 1))) + lay_str(bytes.fromhex(any_text(rng, 63))) +
             lay_str(bytes.fromhex(any_text(rng, 63))) + rng.randbytes(2) + bytes([8, 0, 8]) +
             rng.randbytes(2) + bytes([rng.randrange(17), rng.randint(1, 30), rng.randrange(16)]) + rng.randbytes(16) for _ in range(rng.randrange(4))]
    return what, 0, None, b"\x4b\x17" + echo + rng.randbytes(2) + bytes([len(lines)]) + b"".join(lines)


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
