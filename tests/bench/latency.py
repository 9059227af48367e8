#!/usr/bin/env python3
"""latency.py - how long from a press to the frame that plays it, and what fps and lateness that buys.

Real: a relay, tests/tools/faultproxy, and for each player a frontend (tests/bench/press.c) with the real wrapper around a
core that writes down which press it sees when (tests/cores/press_core.c). press-to-play is from the poll that first saw
the button to the beginning of the frame that plays it, on the same machine and on the others; press_own_ms counts
from the press itself, which waits for the next poll. Simulated: the same links in virtual time. Beside them the
issue's bound, the original algorithm (subframes=off), half steps, and real RetroArch pairs on Keylock.

  latency.py [simulated | two | eight | retroarch] …    only these parts, and no picture
  latency.py --plot                                     pictures of what the parts have written"""
import concurrent.futures
import os
import re
import statistics
import subprocess
import sys
import time

import bench
import retroarch

SETTLE = float(os.environ.get("BENCH_SETTLE", 6 if bench.QUICK else 35)) # an excess of one frame is given back after 20 to 30 s
MEASURE = float(os.environ.get("BENCH_SECONDS", 8 if bench.QUICK else 25))
SIM_SECONDS = int(os.environ.get("BENCH_SIM_SECONDS", 90 if bench.QUICK else 660))
AT_ONCE = int(os.environ.get("BENCH_AT_ONCE", 4)) # rooms of two side by side; such a client needs 2 % of a core


# --- one real room -------------------------------------------------------------------------------------------------

def read_logs(i, p, base):
    """begin and presses of one player's frontend, and its seat."""
    begin, presses = None, []
    with open(f"{base}.press") as f:
        for line in f:
            word = line.split()
            if word[0] == "begin":
                begin = int(word[1])
            elif len(word) == 4:
                presses.append((int(word[1]), int(word[2]), int(word[3], 16)))
    seat = re.search(r"playing seats=(\d+)", bench.said(p))
    return begin, presses, int(seat.group(1)) if seat else None


def read_plays(path):
    """What the core saw: for each port the (time, buttons) of what went down."""
    plays = {}
    try:
        with open(path) as f:
            for line in f:
                word = line.split()
                if len(word) == 5:
                    plays.setdefault(int(word[1]), []).append((int(word[0]), int(word[2], 16)))
    except OSError:
        pass
    return plays


def pair(presses, plays, limit_us=3000000):
    """Each press with the first time it was played: (press, poll, play); and how many never were."""
    out, lost, at = [], 0, 0
    for down, poll, mask in presses:
        i = at
        while i < len(plays) and (plays[i][0] < poll or not plays[i][1] & mask):
            i += 1
        if i < len(plays) and plays[i][0] - poll < limit_us:
            out.append((down, poll, plays[i][0]))
            at = i # not i + 1: two presses in one frame are one line
        else:
            lost += 1
    return out, lost


def read_trace(path, begin_us):
    rows = []
    with open(path) as f:
        next(f)
        for line in f:
            c = line.split(",", 8)
            if len(c) == 9 and c[3]:
                rows.append((int(c[0]), int(c[1]) if c[1] else None, int(c[3]), float(c[5]), int(c[6]), int(c[7])))
    offset = begin_us - rows[0][0] if rows else 0
    return [(r[0] + offset, *r[1:]) for r in rows]


def p99(values):
    return sorted(values)[min(len(values) - 1, int(len(values) * 0.99))] if values else None


def judge(players, logs, plays, traces, watch, from_us, to_us):
    own, own_press, others, lost, leads, fps, late, excused, frames = [], [], [], 0, [], [], 0, 0, 0
    for i, (_, presses, seat) in enumerate(logs):
        mine = [p for p in presses if from_us <= p[0] and p[1] <= to_us]
        for j in range(players):
            found, missing = pair(mine, plays[j].get(seat, []))
            lost += missing
            delays = [(play - poll) / 1000 for _, poll, play in found]
            if i == j:
                own += delays
                own_press += [(play - down) / 1000 for down, _, play in found]
            else:
                others += delays
    for trace in traces:
        rows = [r for r in trace if from_us <= r[0] <= to_us]
        ran = [r for r in rows if r[2]]
        if len(ran) < 2:
            continue
        n = ran[-1][1] - ran[0][1]
        frames += n
        fps.append(n / ((ran[-1][0] - ran[0][0]) / 1e6))
        leads += [r[3] for r in ran if r[3] > 0]
        stalled = [r[0] for r in rows if r[5]]
        late += len(stalled)
        excused += sum(watch.excuses(at) for at in stalled)
    if not own or not fps or not leads:
        return None
    return {"lead_frames": statistics.mean(leads), "own_ms": statistics.mean(own), "own_p99_ms": p99(own),
            "others_ms": statistics.mean(others) if others else None, "others_p99_ms": p99(others),
            "press_own_ms": statistics.mean(own_press), "presses": len(own), "lost_presses": lost,
            "fps": min(fps), "late_percent": 100 * late / frames, "late_excused_percent": 100 * excused / frames,
            **dict(zip(("hitches", "worst_hitch_ms"), watch.between(from_us, to_us)))}


def real(tag, players, rtt, link, settings, hz=60):
    """One room, its processes and files named by the tag; a row of figures, or None with a line about why."""
    relay, at = bench.relay(tag)
    proxy, to = bench.through(at, rtt, *link, tag=tag)
    clients, bases = [], []
    for i in range(players):
        base = os.path.join(bench.tmp, f"{tag}p{i}")
        for ending in (".press", ".plays", ".csv"):
            if os.path.exists(base + ending):
                os.remove(base + ending)
        env = bench.environment(KEYLOCK_CORE=bench.PRESS_CORE, KEYLOCK_RELAY=to, KEYLOCK_ROOM="bench", KEYLOCK_NAME=f"p{i}",
                                KEYLOCK_PLAYERS=players, KEYLOCK_SEATS=1, KEYLOCK_TRACE=base + ".csv", PRESS_LOG=base + ".plays",
                                **settings)
        clients.append(bench.start(f"{tag}p{i}", bench.PRESS, "--core", bench.WRAPPER, "--content", content(), "--log", base + ".press",
                                   "--seconds", SETTLE + MEASURE + 1, "--hz", hz, "--seed", i + 1, env=env))
        bases.append(base)
    try:
        for c in clients:
            bench.wait_said(c, r"playing seats=", 20)
        from_us = time.monotonic_ns() // 1000 + int(SETTLE * 1e6)
        watch = bench.RunDelay([c.pid for c in clients] + [relay.pid, proxy.pid])
        watch.watch(SETTLE + MEASURE, lambda: any(c.poll() is not None for c in clients))
        to_us = min(time.monotonic_ns() // 1000 - 500000, from_us + int(MEASURE * 1e6))
    finally:
        codes = [bench.stop(c) for c in clients]
        bench.stop(proxy)
        bench.stop(relay)
    logs = [read_logs(i, c, bases[i]) for i, c in enumerate(clients)]
    row = judge(players, logs, [read_plays(b + ".plays") for b in bases], [read_trace(b + ".csv", l[0]) for b, l in zip(bases, logs)],
                watch, from_us, to_us)
    if row is None:
        bench.say(f"  no figures: exit {codes}, {bench.said(clients[0])[-300:]}")
    return row


def content():
    return os.path.join(bench.CONTENT, "shooter.nes")


# --- the simulation ------------------------------------------------------------------------------------------------

def sim(*arguments):
    """Rows of a table that the simulation prints: its own column names, `|` left out; those that MISS their bound as well."""
    text = subprocess.run(["chrt", "-i", "0", bench.SIM, *map(str, arguments)], capture_output=True, text=True, process_group=bench.guard.pid).stdout.splitlines()
    names, rows = [], []
    for line in text:
        words = line.replace("|", " ").removesuffix("MISS").split()
        if words[:2] == ["rtt", "jitter"]:
            names = words
        elif names and len(words) == len(names):
            rows.append(dict(zip(names, words)))
        elif line:
            bench.say(f"  not a row of the simulation: {line}")
    return rows


def from_sim(r, algorithm):
    link = (int(float(r["jitter"])), int(float(r["loss"])))
    players, rtt = int(r["players"]), int(float(r["rtt"]))
    return {"how": "simulated", "algorithm": algorithm, "phases": r["phases"], "players": players, "rtt_ms": rtt, "jitter_ms": link[0],
            "loss_percent": link[1], "bound_frames": bench.bound(players, rtt, link), "lead_frames": float(r["lead"]),
            "own_ms": float(r["own_ms"]), "others_ms": float(r["others_ms"]), "fps": float(r["fps"]), "late_percent": float(r["late%"])}


def simulated():
    seconds = ["--seconds", SIM_SECONDS]
    rows = [from_sim(r, "keylock") for r in sim("--table", *seconds)]
    for players in (2, 8):
        for rtt in bench.RTTS:
            for link in bench.LINKS:
                cell = f"{rtt},{link[0]},{link[1]},{players}"
                for flag, name in (("--off", "original"), ("--half-steps", "half steps")):
                    rows += [from_sim(r, name) for r in sim("--cell", cell, *seconds, flag)[:1]]
    return rows


# --- all of it -----------------------------------------------------------------------------------------------------

def cells():
    """(algorithm, players, rtt, link, settings)"""
    off = {"KEYLOCK_SUBFRAMES": "off"}
    half = {"KEYLOCK_HALF_STEPS": "on"}
    if bench.QUICK:
        return [("keylock", 2, 20, (0, 0), {}), ("keylock", 2, 100, (5, 1), {}), ("original", 2, 100, (5, 1), off)]
    rows = [("keylock", players, rtt, link, {}) for players in (2, 8) for rtt in bench.RTTS for link in bench.LINKS]
    rows += [("original", 2, rtt, link, off) for rtt in bench.RTTS for link in ((0, 0), (5, 1))]
    return rows + [("half steps", 2, rtt, link, half) for rtt in bench.RTTS for link in ((5, 1), (10, 3))]


def one_cell(numbered):
    number, (algorithm, players, rtt, link, settings) = numbered
    row = None
    for attempt in "ab": # a room that did not come about is said, and tried once more
        try:
            row = row or real(f"c{number}{attempt}-", players, rtt, link, settings)
        except SystemExit as e: # in a thread of its own
            bench.say(f"  {e}")
    if row is None:
        return None
    limit = bench.bound(players, rtt, link)
    others = f"{row['others_ms']:.0f}" if row["others_ms"] else "-"
    bench.say(f"  {algorithm}, {players} players, RTT {rtt} jitter {link[0]} loss {link[1]}: lead {row['lead_frames']:.2f} (bound {limit}),"
              f" own {row['own_ms']:.1f} ms, others {others} ms, {row['fps']:.2f} fps, late {row['late_percent']:.2f} %"
              f" ({row['late_excused_percent']:.2f} % beside hitches of the machine), {row['lost_presses']} presses lost")
    return {"how": "real", "algorithm": algorithm, "phases": "random", "players": players, "rtt_ms": rtt, "jitter_ms": link[0],
            "loss_percent": link[1], "bound_frames": limit, **row}


def measured(players, at_once):
    """Real rooms of so many, some at a time."""
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        rows = list(pool.map(one_cell, [c for c in enumerate(cells()) if c[1][1] == players]))
    return [r for r in rows if r]


PARTS = {"simulated": simulated, "two": lambda: measured(2, AT_ONCE), "eight": lambda: measured(8, (AT_ONCE + 1) // 2),
         "retroarch": lambda: retroarch.figures(content(), SETTLE, AT_ONCE)}


SHOWN = [ # how, algorithm, key, shift along x (so that equal ones stay apart), style, title
    ("simulated", "original", "own_ms", -6, 'pt 4 ps 1.3 lc rgb "#d62728"', "original algorithm, simulated"),
    ("real", "original", "own_ms", -6, 'pt 5 ps 1.0 lc rgb "#d62728"', "original algorithm, real"),
    ("simulated", "keylock", "own_ms", -3, 'pt 2 ps 1.2 lw 2 lc rgb "#2ca02c"', "Keylock, simulated"),
    ("real", "keylock", "others_ms", 0, 'pt 6 ps 1.9 lc rgb "#1f77b4"', "Keylock, real wrapper and relay, the others"),
    ("real", "keylock", "own_ms", 0, 'pt 7 ps 1.0 lc rgb "#1f77b4"', "Keylock, real wrapper and relay, own"),
    ("real RetroArch", "keylock", "own_ms", 3, 'pt 11 ps 1.3 lc rgb "#17becf"', "Keylock in real RetroArch, own"),
    ("simulated", "half steps", "own_ms", 6, 'pt 8 ps 1.4 lc rgb "#9467bd"', "Keylock with half steps, simulated"),
    ("real", "half steps", "own_ms", 6, 'pt 9 ps 1.0 lc rgb "#9467bd"', "Keylock with half steps, real")]


def panel(n, rows, players, link):
    """One link: the bound as a line, what was measured as points over the RTT."""
    script = f'set title "{players} players, jitter {link[0]} ms, loss {link[1]} %"\n'
    script += bench.block(f"bound{n}", [{"rtt": r, "ms": bench.bound(players, r, link) * 1000 / 60} for r in bench.RTTS], ("rtt", "ms"))
    plots = [f'$bound{n} using 1:2 with lines lw 2 dt 2 lc rgb "#222222" notitle',
             f'$bound{n} using 1:($2+1000./60) with lines lw 1 dt 3 lc rgb "#666666" notitle']
    for k, (how, algorithm, key, shift, style, _) in enumerate(SHOWN):
        some = [r for r in rows if (r["how"], r["algorithm"], r["players"], (r["jitter_ms"], r["loss_percent"]), r["phases"])
                == (how, algorithm, players, link, "random") and r.get(key)]
        if some:
            script += bench.block(f"d{n}_{k}", some, ("rtt_ms", key))
            plots.append(f"$d{n}_{k} using ($1+{shift}):2 with points {style} notitle")
    return script + "plot " + ", \\\n  ".join(plots) + "\n"


def picture(rows):
    """Press-to-play over the RTT, on six of the links; a key of its own below them."""
    highest = max([r["own_ms"] for r in rows] + [240]) * 1.05
    script = bench.head("latency", 1400, 1060)
    script += 'set multiplot title "Press to play at 60 fps: from the poll that sees the button to the frame that plays it" font "Sans,15"\n'
    script += f'set xrange [0:170]\nset yrange [0:{highest:.0f}]\nset xtics (20,50,100,150)\nset ytics 50\nset size 0.333,0.4\n'
    script += 'set xlabel "RTT to the relay, ms" offset 0,0.4\nset ylabel "poll to play, ms"\n'
    for n, (players, link) in enumerate((p, link) for p in (2, 8) for link in ((0, 0), (5, 1), (10, 3))):
        script += f"set origin {0.333 * (n % 3):.3f},{0.56 - 0.39 * (n // 3):.3f}\n" + panel(n, rows, players, link)
    keys = ['NaN with lines lw 2 dt 2 lc rgb "#222222" title "bound for lockstep through a relay (phases aligned)"',
            'NaN with lines lw 1 dt 3 lc rgb "#666666" title "bound + 1 frame (phases not aligned)"']
    keys += [f'NaN with points {style} title "{title}"' for how, algorithm, key, _, style, title in SHOWN
             if any((r["how"], r["algorithm"]) == (how, algorithm) for r in rows)]
    script += "unset title\nunset border\nunset tics\nunset grid\nunset xlabel\nunset ylabel\nset origin 0,0\nset size 1,0.16\n"
    script += "set key at graph 0.5,0.95 center top Left reverse font 'Sans,10' spacing 1.4 maxcols 3 maxrows 5\nplot " + ", \\\n  ".join(keys) + "\nunset multiplot\n"
    bench.plot("latency", script)


def picture_lead(rows):
    """Each cell of the table: lead beside the bound, with its late frames."""
    order = [(players, rtt, link) for players in (2, 8) for rtt in bench.RTTS for link in bench.LINKS]
    data = []
    for x, (players, rtt, link) in enumerate(order):
        cell = {"x": x + (players == 8), "label": f"{link[0]}/{link[1]}", "bound": bench.bound(players, rtt, link)}
        for r in rows:
            if r["algorithm"] == "keylock" and (r["players"], r["rtt_ms"], (r["jitter_ms"], r["loss_percent"])) == (players, rtt, link):
                cell[f"{r['how']} {r['phases']}"] = r["lead_frames"]
        data.append(cell)
    script = bench.head("lead", 1280, 640)
    script += bench.block("d", data, ("x", "bound", "real random", "simulated random", "simulated aligned", "real RetroArch random", "label"))
    script += 'set title "Lead on the table\'s links (settled); jitter in ms / loss in %" font "Sans,14"\n'
    script += 'set ylabel "lead, frames of 1/60 s"\nset yrange [0:17]\nset xrange [-0.8:32.8]\nset key top left\n'
    script += "set xtics (" + ", ".join(f'"{d["label"]}" {d["x"]}' for d in data) + ') font "Sans,9"\nset bmargin 5\n'
    for k, (players, rtt) in enumerate((p, r) for p in (2, 8) for r in bench.RTTS):
        x = 4 * k + 1.5 + (players == 8)
        script += f'set label "{players} players\\nRTT {rtt} ms" at first {x},graph -0.1 center font "Sans,9"\n'
        script += f'set arrow from first {x + 2},graph 0 to first {x + 2},graph 1 nohead lc rgb "#e8e8e8"\n'
    script += 'plot $d using ($1-0.42):2:(0.84):(0) with vectors nohead lw 3 lc rgb "#222222" title "bound (phases aligned)", \\\n'
    script += '  $d using ($1-0.42):($2+1):(0.84):(0) with vectors nohead lw 1 dt 2 lc rgb "#888888" title "bound + 1 (otherwise)", \\\n'
    script += '  $d using ($1-0.2):5 with points pt 8 ps 1.3 lw 1.5 lc rgb "#2ca02c" title "simulated, phases aligned", \\\n'
    script += '  $d using ($1):4 with points pt 2 ps 1.2 lw 2 lc rgb "#2ca02c" title "simulated, random phases", \\\n'
    script += '  $d using ($1+0.2):3 with points pt 7 ps 1.3 lc rgb "#1f77b4" title "real wrapper and relay through the fault proxy", \\\n'
    script += '  $d using ($1+0.2):6 with points pt 11 ps 1.3 lc rgb "#17becf" title "the same in real RetroArch"\n'
    bench.plot("lead", script)


def part(name):
    return bench.write_csv("latency-" + name, PARTS[name]())


def draw():
    rows = [row for name in PARTS if bench.has_csv("latency-" + name) for row in bench.read_csv("latency-" + name)]
    bench.write_csv("latency", rows)
    picture(rows)
    picture_lead(rows)


def main():
    bench.needs(bench.RELAY, bench.WRAPPER, bench.PROXY, bench.PRESS, bench.PRESS_CORE, bench.SIM, content())
    wanted = [a for a in sys.argv[1:] if a in PARTS]
    if "--plot" in sys.argv:
        return draw()
    bench.begin(f"latency: {SETTLE:g} s to settle, {MEASURE:g} s measured a cell")
    for name in wanted:
        part(name)
    if wanted:
        return None
    with concurrent.futures.ThreadPoolExecutor(1) as beside: # in virtual time, with the rest of the processor
        simulation = beside.submit(part, "simulated")
        for name in list(PARTS)[1:]:
            part(name)
        simulation.result()
    return draw()


if __name__ == "__main__":
    sys.exit(main())
