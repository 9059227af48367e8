"""protocol.py - net/PROTOCOL.md as a decoder and an encoder, written from that page alone.

The layout of the fields is that of vectors.c: lists and dictionaries of numbers, strings as hex."""

from channel import read_channel
from primitives import Malformed, NEUTRAL, Reader, VERSION, Version, Writer, need, read_stream, write_stream


NUMBER_MAX = 2**32 - 287  # of the first of several frames or samples


# --- sections 4 and 5: CTRL and UPDATE -------------------------------------------------------------------------

def read_echo(r, flags):
    return [r.u(4), r.var(2**32 - 1)] if flags & 1 else None


def read_near(r, to, most):
    number = to + r.svar()
    need(0 <= number <= most)
    return number


def read_ctrl(r, seats):
    f = {"stamp": r.u(4)}
    flags = r.u(1)
    need(flags & ~127 == 0)
    f["away"], f["resume"], f["sparing"], f["guesses"] = flags >> 1 & 1, flags >> 2 & 1, flags >> 3 & 1, flags >> 5 & 1
    f["echo"] = read_echo(r, flags)
    f["acked"] = r.var(2**32 - 1)
    f["backlog"] = r.var(f["acked"])
    needs = r.u(1, 32)
    need(needs <= f["acked"] - f["backlog"])
    f["needs"] = list(r.take(needs))
    f["first"] = read_near(r, f["acked"], NUMBER_MAX)
    count = r.var(256)
    need(count == 0 or seats > 0)
    f["late"] = r.var(2**16 - 1) if count else 0
    f["turn_late"] = r.var(2**16 - 1) if count and flags & 16 else 0
    f["batch"] = (r.u(1) if flags & 64 else 1) if count else 0
    streams = [read_stream(r, count) for _ in range(seats)]
    f["samples"] = [[streams[s][n] for s in range(seats)] for n in range(count)]
    r.end()
    return f


def read_commands(r):
    out = []
    count = r.u(1, 8)
    need(count >= 1)
    for _ in range(count):
        client, kind = r.u(1), r.u(1)
        out.append([client, kind, r.take(r.u(1, 96)).hex()])
    need(sum(len(c[2]) // 2 for c in out) <= 400)
    return out


def read_intervals(r, first, count):
    """Of each frame: keyframe, length, marked, by the clock, commands, active."""
    offset = r.u(1)
    need(offset <= first)
    keyframe, out = first - offset, []
    while len(out) < count:
        head, active = r.u(1), r.u(1)
        length = head & 0x1f
        need(1 <= length <= 30)
        need(out or offset < length)
        need(keyframe >= first or not head & 0x20)
        commands = read_commands(r) if head & 0x20 else []
        begin = max(keyframe, first)
        for n in range(begin, min(keyframe + length, first + count)):
            key = n == keyframe
            out.append([keyframe, length, int(key and head >= 0x80), head >> 6 & 1, commands if key else [], active])
        keyframe += length
    return out


def read_frames(r, first, count):
    """From `offset` to the end."""
    shape = read_intervals(r, first, count)
    seats = r.u(1)
    streams = [read_stream(r, count) if seats >> s & 1 else [NEUTRAL] * count for s in range(8)]
    frames = []
    for n in range(count):
        keyframe, length, marked, by_clock, commands, active = shape[n]
        frames.append([first + n, keyframe, length, int(first + n == keyframe), marked, by_clock, commands, active,
                       [streams[s][n] for s in range(8)]])
    return frames


def read_hints(r, following):
    """[below, [[port, count, pads]]]; pads: None for HELD."""
    ports, below, hints = r.u(1), r.u(1), []
    need(ports and 1 <= below <= following)
    for port in (port for port in range(8) if ports >> port & 1):
        held, count = divmod(r.u(1), 128)
        need(1 <= count <= 32)
        pads = None if held else []
        while not held and len(pads) < count:
            length = r.u(1)
            need(1 <= length <= count - len(pads))
            pads += [r.u(2)] * length
        hints.append([port, count, pads])
    return [below, hints]


def write_hints(w, hints, rng):
    below, ports = hints
    w.u(1, sum(1 << port for port, _, _ in ports)), w.u(1, below)
    for _, count, pads in ports:
        w.u(1, count + 128 * (pads is None))
        while pads:
            length = 1
            while length < len(pads) and pads[length] == pads[0] and rng.random() < 0.9:
                length += 1
            w.u(1, length), w.u(2, pads[0])
            pads = pads[length:]


def read_update(r, _seats):
    f = {"stamp": r.u(4)}
    flags = r.u(1)
    need(flags & ~0x7f == 0 and flags & 0x0c != 0x0c)
    f["absent"], f["returning"], f["paused"] = flags >> 2 & 1, flags >> 3 & 1, flags >> 4 & 1
    f["echo"] = read_echo(r, flags)
    f["waiting"] = r.u(1)
    f["away"] = r.u(1) if flags & 64 else 0
    f["first"] = first = r.var(NUMBER_MAX)
    count = r.var(256)
    f["next_sample"] = read_near(r, first + count, 2**32 - 1)
    f["due"] = r.svar() if flags & 2 else None
    f["hints"] = read_hints(r, first + count) if flags & 32 else None
    f["frames"] = read_frames(r, first, count) if count else []
    r.end()
    return f


def write_ctrl(f, seats, rng):
    w = Writer()
    w.u(4, f["stamp"]), w.u(1, (1 if f["echo"] else 0) + 2 * f["away"] + 4 * f["resume"] + 8 * f["sparing"] + (16 if f["turn_late"] else 0) + 32 * f["guesses"] + (64 if f["samples"] and f["batch"] != 1 else 0))
    if f["echo"]:
        w.u(4, f["echo"][0]), w.var(f["echo"][1])
    w.var(f["acked"]), w.var(f["backlog"])
    w.u(1, len(f["needs"]))
    w.out += bytes(f["needs"])
    w.svar(f["first"] - f["acked"]), w.var(len(f["samples"]))
    if f["samples"]:
        w.var(f["late"])
        if f["turn_late"]:
            w.var(f["turn_late"])
        if f["batch"] != 1:
            w.u(1, f["batch"])
    for s in range(seats):
        write_stream(w, [sample[s] for sample in f["samples"]], rng)
    return bytes(w.out)


def write_commands(w, commands):
    w.u(1, len(commands))
    for client, kind, data in commands:
        w.u(1, client), w.u(1, kind), w.u(1, len(data) // 2)
        w.out += bytes.fromhex(data)


def write_frames(w, frames, rng):
    w.u(1, frames[0][0] - frames[0][1])
    for n, (number, keyframe, length, _key, marked, by_clock, commands, active, _in) in enumerate(frames):
        if n == 0 or number == keyframe:
            w.u(1, length + 0x80 * marked + 0x40 * by_clock + (0x20 if commands else 0)), w.u(1, active)
            if commands:
                write_commands(w, commands)
    seats = [s for s in range(8) if any(frame[8][s] != NEUTRAL for frame in frames)]
    w.u(1, sum(1 << s for s in seats))
    for s in seats:
        write_stream(w, [frame[8][s] for frame in frames], rng)


def write_update(f, rng):
    w = Writer()
    w.u(4, f["stamp"])
    w.u(1, (1 if f["echo"] else 0) + (0 if f["due"] is None else 2) + 4 * f["absent"] + 8 * f["returning"] +
        16 * f["paused"] + (32 if f["hints"] else 0) + (64 if f["away"] else 0))
    if f["echo"]:
        w.u(4, f["echo"][0]), w.var(f["echo"][1])
    w.u(1, f["waiting"])
    if f["away"]:
        w.u(1, f["away"])
    w.var(f["first"]), w.var(len(f["frames"])), w.svar(f["next_sample"] - f["first"] - len(f["frames"]))
    if f["due"] is not None:
        w.svar(f["due"])
    if f["hints"]:
        write_hints(w, f["hints"], rng)
    if f["frames"]:
        write_frames(w, f["frames"], rng)
    return bytes(w.out)


# --- section 7: reliable messages ------------------------------------------------------------------------------

def read_params(r):
    policy, flags = r.u(1, 2), r.u(1, 15)
    p = [policy, flags & 1, flags >> 1 & 1, flags >> 2 & 1, flags >> 3, r.u(1, 8), r.u(1, 30), r.u(1, 30), r.u(2), r.u(2),
         r.u(4), r.u(1, 2)]
    need(p[5] >= 1 and 1000000 <= p[10] <= 1000000000)
    return p


def read_match(r):
    match = r.str(47)
    need(not match or bytes.fromhex(match).translate(None, b"-._:#/").isalnum())
    return match


def write_params(w, p):
    w.u(1, p[0]), w.u(1, p[1] + 2 * p[2] + 4 * p[3] + 8 * p[4]), w.u(1, p[5]), w.u(1, p[6]), w.u(1, p[7])
    w.u(2, p[8]), w.u(2, p[9]), w.u(4, p[10]), w.u(1, p[11])


def read_facts(r):
    return [[r.str(47), r.str(159)] for _ in range(r.u(1, 24))]


def write_facts(w, facts):
    w.u(1, len(facts))
    for key, value in facts:
        w.str(key), w.str(value)


def read_rest(r, least):
    need(least <= r.left() <= 4000)
    return r.hex(r.left())


def read_piece(r):
    offset, total = r.u(4), r.u(4)
    rest = read_rest(r, 1 if total else 0)
    need(offset + len(rest) // 2 <= total)
    return [offset, total, rest]


SNAPSHOT_MAX = 64 * 2**20


def read_state(r):
    keyframe, has, size, digest = r.u(4), r.u(1, 1), r.u(4, SNAPSHOT_MAX), r.hex(32)
    need(bool(has) == (size > 0))
    return [keyframe, has, size, digest]


def read_shot(r):
    keyframe, piece = r.u(4), read_piece(r)
    need(1 <= piece[1] <= SNAPSHOT_MAX)
    return [keyframe] + piece


def read_give(r):
    keyframe, based, piece = r.u(4), r.u(1, 1), read_piece(r)
    need(1 <= piece[1] <= SNAPSHOT_MAX)
    return [keyframe, based] + piece


def read_ask(r):
    keyframe, based = r.u(4), r.u(1, 1)
    return [keyframe, based] + ([r.u(4), r.hex(32)] if based else [])


def read_seal(r):
    seal = [r.u(4), r.u(4), r.hex(16), r.u(4), r.u(1, 7)]
    need(seal[3] < seal[1] if seal[4] else seal[3] == 0)
    return seal + [r.u(8) for bit in range(3) if seal[4] >> bit & 1] + [r.hex(32), r.hex(64)]


def read_sign(r):
    sign = [r.u(4), r.hex(16), r.u(4), r.u(1, 7)]
    need(sign[0] and sign[3])
    return sign + [r.u(8) for bit in range(3) if sign[3] >> bit & 1] + [r.hex(64)]


def read_offer(r):
    offer = [r.u(4), r.u(4), r.u(1, 1), r.u(4, SNAPSHOT_MAX), r.u(4, SNAPSHOT_MAX), r.hex(32), r.hex(16)]
    need(offer[3] and offer[4] and offer[1] <= offer[0] and (offer[1] or not offer[0]))
    return offer


def read_history(r):
    need(r.left() <= 4000)
    first, count = r.u(4, NUMBER_MAX), r.u(1, 64)
    need(count >= 1)
    return [first, read_frames(r, first, count)]


def write_piece(w, p):
    w.u(4, p[0]), w.u(4, p[1]), w.hex(p[2])


def write_history(w, h, rng):
    w.u(4, h[0]), w.u(1, len(h[1]))
    write_frames(w, h[1], rng)


def read_message(r, _seats):
    kind = r.u(1)
    m = [kind]
    if kind == 1:
        m.append(r.u(2))
        if m[1] not in (VERSION - 1, VERSION):
            raise Version
        m += [r.name(23, 1), r.name(23, 1), r.u(1, 8), read_params(r), read_facts(r), r.u(1, 251), r.u(1, 2), r.u(2), r.hex(32), read_match(r)]
        need(not m[7] & 4)
    elif kind == 2:
        m += [r.u(4), r.u(4)]
        rest = r.take(r.left())
        need(len(rest) <= 1000 and m[1] + len(rest) <= m[2])
        m.append(rest.hex())
    elif kind == 3:
        m.append(read_facts(r))
    elif kind == 4:
        m.append(r.u(4))
        has = r.u(1, 127)
        need(not has & 112 or has & 2 and has & 112 in (16, 32, 64))
        m += [r.u(4)] + [r.u(2 if bit == 3 else 8) if has >> bit & 1 else None for bit in range(4)] + [has >> 4]
    elif kind in (5, 17, 22):
        m += [r.u(1), r.str(479)]
    elif kind == 6:
        m.append(r.u(1))
        rest = r.take(r.left())
        need(len(rest) <= 96)
        m.append(rest.hex())
    elif kind == 7:
        m += [r.u(1, 1), r.hex(32), r.hex(16)]
    elif kind == 8:
        m += [r.name(23, 1), r.hex(16), r.hex(32), r.hex(64)]
        m += [r.u(1, 1), r.u(4), r.u(4), r.u(4), r.hex(16), r.hex(16)]
        m += [[[r.u(4), r.hex(16)] for _ in range(r.u(1, 8))], read_facts(r), r.u(1, 2)]
        need(m[7] <= m[6] and (not m[5] or m[6] == m[8] == len(m[11]) == 0))
    elif kind == 11:
        m += read_state(r)
    elif kind == 12:
        m += read_give(r)
    elif kind == 31:
        m += read_shot(r)
    elif kind == 13:
        m += [r.u(4), r.u(4), r.u(1, 2)]
    elif kind == 16:
        m += [r.u(4), r.u(1), r.u(1), r.u(1, 1), read_params(r), r.hex(16), r.hex(16), r.u(2), read_match(r)]
        need(m[2] <= 15 or (m[2] == 255 and m[3] == m[4] == 0))
    elif kind == 18:
        m += [r.u(1, 8), r.u(1, 8), r.u(1, 7), r.u(1)]
        m.append([[r.u(1, 15), r.u(1), r.u(1, 6), r.u(1, 1), r.name(23)] for _ in range(r.u(1, 16))])
        m += [r.u(2), r.u(2, 300), r.u(2)]
        m.append([[r.u(1), r.u(1, 1), r.name(23)] for _ in range(r.u(1, 16))])
        need(all(client <= 15 or client == 255 for client in [m[4]] + [q[0] for q in m[9]]))
    elif kind == 19:
        m += [r.u(8), r.u(4)]
    elif kind == 21:
        m += [r.u(4), r.u(4), r.u(1, 2), r.u(1, 127), r.u(1, 1), r.u(2), r.u(2), r.u(4)]
    elif kind == 23:
        m += [r.u(1, 1), r.hex(16), r.hex(32)]
    elif kind == 24:
        m.append(r.hex(16))
    elif kind == 25:
        m += read_history(r)
    elif kind == 29:
        m += read_ask(r)
    elif kind == 30:
        m += read_offer(r)
    elif kind == 33:
        m += [r.u(4), r.u(1, 1)]
    elif kind == 34:
        m.append(r.u(2))
    elif kind == 35:
        m.append([[r.u(1), r.u(4), r.hex(16), r.u(2), r.hex(32), r.hex(32)] for _ in range(r.u(1, 15))])
        need(all(p[1] and p[3] for p in m[1]))
    elif kind == 36:
        m += read_seal(r)
    elif kind == 39:
        m += [r.u(1, 1), r.u(2), r.hex(16)]
        need(m[1] or not m[2])
    elif kind == 40:
        m += [r.u(1, 2), r.u(2), r.u(2), r.hex(16), [[r.u(1, 15), r.hex(16)] for _ in range(r.u(1, 16))]]
    elif kind == 9:
        m += read_sign(r)
    elif kind == 10:
        m += [r.hex(16), r.hex(32), r.hex(64)]
    elif kind == 37:
        m += [r.name(23, 1), r.name(23, 1)]
    elif kind == 38:
        m += [r.hex(16), r.hex(32)]
        m += read_sign(r)
    elif kind == 14:
        m += [r.u(1, 1), r.u(2), r.u(1, 4), r.u(8), r.u(8), r.str(47)]
        need(not m[1] or (m[2] == 0 and m[6] and m[3] in (1, 2)))
    elif kind == 32:
        m += [r.u(1, 15), r.u(1)]
    elif kind == 15:
        pass  # no fields
    else:
        need(kind == 20)
        m.append(r.u(1, 1))
    r.end()
    return m


def write_message(m, rng):
    w = Writer()
    kind = m[0]
    w.u(1, kind)
    if kind == 1:
        w.u(2, m[1]), w.str(m[2]), w.str(m[3]), w.u(1, m[4])
        write_params(w, m[5]), write_facts(w, m[6]), w.u(1, m[7]), w.u(1, m[8]), w.u(2, m[9]), w.hex(m[10]), w.str(m[11])
    elif kind == 2:
        w.u(4, m[1]), w.u(4, m[2])
        w.out += bytes.fromhex(m[3])
    elif kind == 3:
        write_facts(w, m[1])
    elif kind == 4:
        w.u(4, m[1]), w.u(1, sum(1 << bit for bit in range(4) if m[3 + bit] is not None) | m[7] << 4), w.u(4, m[2])
        for at, value in enumerate(m[3:7]):
            if value is not None:
                w.u(2 if at == 3 else 8, value)
    elif kind in (5, 17, 22):
        w.u(1, m[1]), w.str(m[2])
    elif kind == 6:
        w.u(1, m[1])
        w.out += bytes.fromhex(m[2])
    elif kind == 16:
        w.u(4, m[1]), w.u(1, m[2]), w.u(1, m[3]), w.u(1, m[4])
        write_params(w, m[5]), w.hex(m[6]), w.hex(m[7]), w.u(2, m[8]), w.str(m[9])
    elif kind == 18:
        w.u(1, m[1]), w.u(1, m[2]), w.u(1, m[3]), w.u(1, m[4]), w.u(1, len(m[5]))
        for client, seats, state, host, name in m[5]:
            w.u(1, client), w.u(1, seats), w.u(1, state), w.u(1, host), w.str(name)
        w.u(2, m[6]), w.u(2, m[7]), w.u(2, m[8]), w.u(1, len(m[9]))
        for client, turn, name in m[9]:
            w.u(1, client), w.u(1, turn), w.str(name)
    elif kind == 19:
        w.u(8, m[1]), w.u(4, m[2])
    elif kind == 20:
        w.u(1, m[1])
    elif kind == 21:
        w.u(4, m[1]), w.u(4, m[2]), w.u(1, m[3]), w.u(1, m[4]), w.u(1, m[5]), w.u(2, m[6]), w.u(2, m[7]), w.u(4, m[8])
    elif kind in (7, 23):
        w.u(1, m[1]), w.hex(m[2]), w.hex(m[3])
    elif kind == 8:
        w.str(m[1]), w.hex(m[2]), w.hex(m[3]), w.hex(m[4]), w.u(1, m[5]), w.u(4, m[6]), w.u(4, m[7]), w.u(4, m[8])
        w.hex(m[9]), w.hex(m[10]), w.u(1, len(m[11]))
        for intervals, digest in m[11]:
            w.u(4, intervals), w.hex(digest)
        write_facts(w, m[12]), w.u(1, m[13])
    elif kind == 24:
        w.hex(m[1])
    elif kind == 25:
        write_history(w, m[1:], rng)
    elif kind == 11:
        w.u(4, m[1]), w.u(1, m[2]), w.u(4, m[3]), w.hex(m[4])
    elif kind == 12:
        w.u(4, m[1]), w.u(1, m[2]), write_piece(w, m[3:])
    elif kind == 31:
        w.u(4, m[1]), write_piece(w, m[2:])
    elif kind == 13:
        w.u(4, m[1]), w.u(4, m[2]), w.u(1, m[3])
    elif kind == 29:
        w.u(4, m[1]), w.u(1, m[2])
        if m[2]:
            w.u(4, m[3]), w.hex(m[4])
    elif kind == 30:
        w.u(4, m[1]), w.u(4, m[2]), w.u(1, m[3]), w.u(4, m[4]), w.u(4, m[5]), w.hex(m[6]), w.hex(m[7])
    elif kind == 33:
        w.u(4, m[1]), w.u(1, m[2])
    elif kind == 34:
        w.u(2, m[1])
    elif kind == 35:
        w.u(1, len(m[1]))
        for seats, session, host, port, key_out, key_in in m[1]:
            w.u(1, seats), w.u(4, session), w.hex(host), w.u(2, port), w.hex(key_out), w.hex(key_in)
    elif kind == 39:
        w.u(1, m[1]), w.u(2, m[2]), w.hex(m[3])
    elif kind == 40:
        w.u(1, m[1]), w.u(2, m[2]), w.u(2, m[3]), w.hex(m[4]), w.u(1, len(m[5]))
        for client, speaker in m[5]:
            w.u(1, client), w.hex(speaker)
    elif kind == 36:
        w.u(4, m[1]), w.u(4, m[2]), w.hex(m[3]), w.u(4, m[4]), w.u(1, m[5])
        for value in m[6:-2]:
            w.u(8, value)
        w.hex(m[-2]), w.hex(m[-1])
    elif kind in (9, 38):
        if kind == 38:
            w.hex(m[1]), w.hex(m[2])
        sign = m[3:] if kind == 38 else m[1:]
        w.u(4, sign[0]), w.hex(sign[1]), w.u(4, sign[2]), w.u(1, sign[3])
        for value in sign[4:-1]:
            w.u(8, value)
        w.hex(sign[-1])
    elif kind == 37:
        w.str(m[1]), w.str(m[2])
    elif kind == 10:
        w.hex(m[1]), w.hex(m[2]), w.hex(m[3])
    elif kind == 14:
        w.u(1, m[1]), w.u(2, m[2]), w.u(1, m[3]), w.u(8, m[4]), w.u(8, m[5]), w.str(m[6])
    elif kind == 32:
        w.u(1, m[1]), w.u(1, m[2])
    return bytes(w.out)


READ = {"ctrl": read_ctrl, "update": read_update, "message": read_message, "channel": read_channel}


def decode(what, seats, data):
    """The fields, "malformed" or "version"."""
    try:
        return READ[what](Reader(data), seats)
    except Malformed:
        return "malformed"
    except Version:
        return "version"
