#!/usr/bin/env python3
"""pace.py - cores of odd rates under displays of odd rates: is there a hitch that comes back?

Pairs of `keylock run --speed real --hz H` in bounded rooms, PAIRS at once (4), MINUTES each (10). A display calls H times a second, a
room plays F frames a second (measured; the room may follow its players' displays); so from frame to frame there are H / F
calls, of which only the whole number below and the one above may occur. Near a whole number (60 frames at 59.94, 60, 120 Hz)
that is: a usual number of calls, and now and then one less or one more, as often as the drift amounts to a call, evenly
spread. What goes beyond that is counted as `excess`, and how much of it stands beside a hitch of the machine. Hashes of both
players are compared."""
import csv
import math
import os
import sys
import time

import bench

PAIRS = int(os.environ.get("PAIRS", 4))
MINUTES = float(os.environ.get("MINUTES", 0.5 if bench.QUICK else 10))
SETTLE_S = 15
RTT = 40
TONE = os.path.join(bench.BUILD, "cores", "tone_core_libretro.so")
HZ = (59.94, 60, 120, 144)


def cores():
    """(rate, name, path, content, options)"""
    shooter, gb = os.path.join(bench.CONTENT, "shooter.nes"), os.path.join(bench.CONTENT, "pads.gb")
    known = [(60, "nestopia", bench.core_path("nestopia"), shooter, ()), (59.7275, "gambatte", bench.core_path("gambatte"), gb, ())]
    known += [(rate, "tone core", TONE, shooter, ("--option", f"tone_fps={rate}")) for rate in (60.0988, 59.1856, 50.007)]
    for core in known:
        if not core[2]:
            bench.say(f"  skip {core[1]}: not installed")
    return [core for core in known if core[2]]


def begin(number, core, hz, at):
    """A pair; its two processes, which know when their traces began (to some hundredths of a second)."""
    rate, _, path, content, options = core
    frames = int((60 * MINUTES + SETTLE_S) * min(rate, hz))
    players = []
    for who in "ab":
        name = f"{number}{who}"
        base = os.path.join(bench.tmp, name)
        if os.path.exists(base + ".csv"):
            os.remove(base + ".csv")
        players.append(bench.start(name, bench.KEYLOCK, "run", "--quiet", "--core", path, "--content", content, *options, "--frames", frames, "--relay", at,
                                   "--room", f"pace{number}", "--name", name, "--speed", "real", "--hz", hz, "--input", f"random:{len(bench.started)}",
                                   "--wait", 60, "--hash-every", 60, "--hash-out", base + ".hash", "--trace", base + ".csv"))
        while not os.path.exists(base + ".csv") and players[-1].poll() is None:
            time.sleep(0.002)
        players[-1].trace_us = time.monotonic_ns() // 1000
    return players


# --- reading a trace -----------------------------------------------------------------------------------------------

def frames_of(path):
    """(wall_us, call) of each frame, once settled; and (wall_us, frames) of all calls."""
    with open(path, newline="") as f:
        rows = [(int(r["wall_us"]), int(r["run"])) for r in csv.DictReader(f)]
    first = next(i for i, r in enumerate(rows) if r[1])
    from_us = rows[first][0] + SETTLE_S * 1e6
    frames = [(us, i) for i, (us, ran) in enumerate(rows) if us >= from_us for _ in range(ran)]
    return frames, rows


def gaps_between(events, from_s, to_s):
    """The least and the most seconds between two events; the ends count as events for the most."""
    inner = [b - a for a, b in zip(events, events[1:])]
    outer = [b - a for a, b in zip([from_s, *events], [*events, to_s])]
    return min(inner, default=None), max(outer)


def figures(path, hz, watch, clock_us):
    frames, rows = frames_of(path)
    begin_us, end_us = frames[0][0], frames[-1][0]
    seconds, calls, count = (end_us - begin_us) / 1e6, frames[-1][1] - frames[0][1], len(frames) - 1
    ratio = calls / count
    usual = round(ratio)
    near = abs(ratio - usual) < 0.1
    steps = [(b[0], b[1] - a[1]) for a, b in zip(frames, frames[1:])]
    allowed = (usual,) if near else (math.floor(ratio), math.ceil(ratio))
    odd = [(us, min(abs(step - a) for a in allowed)) for us, step in steps if step not in allowed]
    drift = abs(calls - usual * count) if near else 0
    excess = max(0, sum(n for _, n in odd) - drift)
    beside = sum(watch.excuses(us + clock_us) for us, _ in odd)
    least, most = gaps_between([(us - begin_us) / 1e6 for us, _ in odd], 0, seconds)
    late = sum(1 for a, b in zip(rows, rows[1:]) if begin_us <= b[0] <= end_us and b[0] - a[0] > 1.5e6 / hz)
    twos = sum(1 for _, step in steps if step == 0)
    return {"calls_per_s": calls / seconds, "frames_per_s": count / seconds, "seconds": seconds, "odd": sum(n for _, n in odd), "drift": drift,
            "excess": excess, "odd_beside_hitches": beside, "even_s": seconds / drift if drift else None, "least_apart_s": least,
            "most_apart_s": most, "twos": twos, "late_calls": late}, [((us - begin_us) / 1e6, n) for us, n in odd]


def equal(a, b):
    """(hashes compared, equal)"""
    one, other = (dict(line.split(" ", 1) for line in open(os.path.join(bench.tmp, name + ".hash"))) for name in (a, b))
    shared = one.keys() & other.keys()
    return len(shared), all(one[k] == other[k] for k in shared) and len(set(one.values())) > 1


# --- all of it -----------------------------------------------------------------------------------------------------

def picture(rows, dots):
    script = bench.head("pace", 1200, 620)
    script += 'set title "Calls that ran a frame more or less than usual: evenly spread where rates drift, none where they do not" font "Sans,14"\n'
    script += f'set xlabel "minutes"\nset xrange [0:{MINUTES:g}]\nset yrange [{len(rows)}:-1]\nunset grid\nset lmargin 34\nunset key\n'
    script += "set ytics (" + ", ".join(f'"{r["core"]} {r["core_fps"]:g} fps at {r["hz"]:g} Hz: {r["odd"]} ({r["drift"]})" {i}' for i, r in enumerate(rows)) + ") font 'Sans,9'\n"
    script += bench.block("d", dots, ("minute", "row"))
    bench.plot("pace", script + 'plot $d using 1:2 with points pt 7 ps 0.5 lc rgb "#1f77b4"\n')


def report(core, hz, number, watch, pair):
    """A row, and where its odd calls were; the worse of the two players."""
    found = [figures(os.path.join(bench.tmp, p.name + ".csv"), hz, watch, p.trace_us) for p in pair]
    row, odd = max(found, key=lambda f: f[0]["excess"])
    compared, same = equal(f"{number}a", f"{number}b")
    apart = f", {row['least_apart_s']:.2f} to {row['most_apart_s']:.2f} s apart (even: {row['even_s']:.2f})" if row["drift"] > 1 and row["least_apart_s"] else ""
    bench.say(f"  {core[1]}, {core[0]:g} fps at {hz:g} Hz: {row['frames_per_s']:.3f} frames and {row['calls_per_s']:.3f} calls a second; {row['odd']} odd calls for a drift of"
              f" {row['drift']}{apart}; excess {row['excess']}, {row['odd_beside_hitches']} odd ones beside hitches of the machine;"
              f" {compared} hashes {'equal' if same else 'DIFFER'}")
    return {"core": core[1], "core_fps": core[0], "hz": hz, **row, "hashes_compared": compared, "hashes_equal": "yes" if same else "no"}, odd


def main():
    if "--plot" in sys.argv:
        return picture(bench.read_csv("pace"), bench.read_csv("pace-odd"))
    bench.needs(bench.KEYLOCK, bench.RELAY, bench.WRAPPER, bench.PROXY, TONE)
    bench.begin(f"pace: {MINUTES:g} minutes")
    relay, at = bench.relay()
    proxy, to = bench.through(at, RTT)
    todo = [(core, hz) for core in cores() for hz in HZ]
    rows, dots, hitches = [], [], []
    for first in range(0, len(todo), PAIRS):
        some = list(enumerate(todo))[first:first + PAIRS]
        pairs = [begin(i, core, hz, to) for i, (core, hz) in some]
        everyone = [p for pair in pairs for p in pair]
        watch = bench.RunDelay([p.pid for p in everyone] + [relay.pid, proxy.pid])
        watch.watch(60 * MINUTES * 1.1 + SETTLE_S + 30, lambda: all(p.poll() is not None for p in everyone))
        codes = {p.name: bench.stop(p) for p in everyone}
        hitches += watch.hitches
        for (i, (core, hz)), pair in zip(some, pairs):
            if codes[f"{i}a"] or codes[f"{i}b"]:
                bench.say(f"  {core[1]}, {core[0]:g} fps at {hz:g} Hz: exit status {codes[f'{i}a']} and {codes[f'{i}b']}")
                continue
            row, odd = report(core, hz, i, watch, pair)
            rows.append(row)
            dots += [{"minute": s / 60, "row": len(rows) - 1} for s, _ in odd]
    for p in (proxy, relay):
        bench.stop(p)
    bench.say(f"  the machine: {len(hitches)} hitches, worst {max((ms for _, ms in hitches), default=0):.0f} ms")
    bench.write_csv("pace", rows)
    bench.write_csv("pace-odd", dots or [{"minute": "", "row": ""}])
    picture(rows, dots)


if __name__ == "__main__":
    sys.exit(main())
