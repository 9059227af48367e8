#!/usr/bin/env python3
"""wrapper.py - what the wrapper costs a frame, beside the bare core in the same run.

By instructions (callgrind): the bare core, the wrapper alone, the wrapper in a room of one at full speed; of each a short
and a long run, whose difference is that of the frames between them, so start-up does not count. In a room a press comes
a lead later, so the game itself goes a little differently: what is compared is what runs outside the core's own file
(wrapper, network thread, engine, libraries), against the bare core's whole. And by time: processor seconds of the same
three, by turns, the best of each."""
import os
import shutil
import statistics
import subprocess
import sys
import time

import bench

SHORT, LONG = (60, 160) if bench.QUICK else (100, 500)
TURNS, FRAMES = (2, 2000) if bench.QUICK else (6, 6000)
WAYS = ("bare", "alone", "room")
CORES = [("nestopia", "shooter.nes"), ("gambatte", "pads.gb"), ("mgba", "pads.gba"), ("mednafen_pce_fast", "pads.pce")]


def command(way, core, content, frames, relay):
    c = [bench.KEYLOCK, "run", "--quiet", "--core", core, "--content", content, "--frames", str(frames), "--input", "random:1", "--hash-every", "0"]
    if way == "alone":
        c += ["--wrapper", bench.WRAPPER]
    if way == "room":
        c += ["--relay", relay, "--room", f"r{time.monotonic_ns()}", "--players", "1", "--wait", "60"]
    return c


def by_object(path, core):
    """Of a callgrind file: instructions inside the core's own file, and all."""
    names, here, inside, total, inclusive = {}, "", 0, 0, False
    with open(path) as f:
        for line in f:
            if line.startswith(("ob=", "cob=")):
                key, _, name = line.split("=", 1)[1].strip().partition(" ")
                names[key] = name or names.get(key, "")
                here = names[key] if line[0] == "o" else here
            elif line.startswith("calls="):
                inclusive = True # the next line holds the called function's count
            elif line[:1].isdigit() or line[:1] in "+-*":
                if not inclusive:
                    cost = int(line.split()[1])
                    total += cost
                    inside += cost if os.path.basename(here) == os.path.basename(core) or "memfd" in here else 0
                inclusive = False
    return inside, total


def instructions(way, core, content, frames, relay):
    out = os.path.join(bench.tmp, "callgrind.out")
    p = subprocess.run(["valgrind", "--tool=callgrind", "--compress-pos=no", f"--callgrind-out-file={out}", *command(way, core, content, frames, relay)],
                       capture_output=True, text=True, env=bench.environment(KEYLOCK_HIDE="off"), process_group=bench.guard.pid)
    if p.returncode:
        bench.say(f"  callgrind, {way}: exit status {p.returncode}: {(p.stdout + p.stderr)[-300:]}")
        return None
    return by_object(out, core)


def per_frame(way, core, content, relay):
    """(in the core, in all) of a frame, or nothing."""
    short, long = (instructions(way, core, content, n, relay) for n in (SHORT, LONG))
    return [(b - a) / (LONG - SHORT) for a, b in zip(short, long)] if short and long else None


def cpu_us(way, core, content, relay):
    """Processor microseconds a frame, less those of a run of one frame."""
    def one(frames):
        p = subprocess.Popen(bench.timed(*command(way, core, content, frames, relay)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=bench.environment(KEYLOCK_HIDE="off"),
                             process_group=bench.guard.pid)
        used = os.wait4(p.pid, 0)
        p.returncode = 0
        return (used[2].ru_utime + used[2].ru_stime) * 1e6
    return (one(FRAMES) - one(1)) / (FRAMES - 1)


def picture(rows):
    cores = list(dict.fromkeys(r["core"] for r in rows))
    script = bench.head("wrapper", 1100, 520)
    measures = [m for m in (("i", "instructions_ratio", "instructions (callgrind)"), ("t", "time_ratio", "processor time, best of several"))
                if any(r.get(m[1]) for r in rows)] # without valgrind only time
    script += f'set multiplot layout 1,{len(measures)} title "A frame in the wrapper, against the bare core in the same run" font "Sans,14"\n'
    script += "set style fill solid\nset boxwidth 0.26\nset key top right\n"
    script += f"set xrange [-0.6:{len(cores) - 0.4}]\nset xtics (" + ", ".join(f'"{c}" {i}' for i, c in enumerate(cores)) + ")\n"
    for what, key, title in measures:
        data = []
        for i, core in enumerate(cores):
            of = {r["way"]: r.get(key) for r in rows if r["core"] == core}
            data.append({"x": i, **of})
        top = max([d.get(w) or 0 for d in data for w in WAYS] + [1.2]) * 1.4
        script += f'set title "{title}"\nset ylabel "ratio to the bare core"\nset yrange [0:{top:.2f}]\n'
        script += bench.block(what, data, ("x", "bare", "alone", "room"))
        script += (f'plot ${what} using ($1-0.14):3 with boxes lc rgb "#1f77b4" title "wrapper, alone", ${what} using ($1+0.14):4 with boxes lc rgb "#2ca02c" title "wrapper, in a room", '
                   f'${what} using ($1-0.14):3:(sprintf("%.3f", $3)) with labels offset 0,0.7 font "Sans,9" notitle, ${what} using ($1+0.14):4:(sprintf("%.3f", $4)) with labels offset 0,0.7 font "Sans,9" notitle, '
                   '1 with lines lw 2 dt 2 lc rgb "#222222" title "the bare core"\n')
    bench.plot("wrapper", script + "unset multiplot\n")


def installed():
    for name, file in CORES[1:2] if bench.QUICK else CORES:
        if bench.core_path(name):
            yield name, bench.core_path(name), os.path.join(bench.CONTENT, file)
        else:
            bench.say(f"  skip {name}: not installed")


def counted(at):
    """Instructions of each core and way; they do not mind what else the machine does."""
    rows = []
    for name, core, content in installed() if shutil.which("valgrind") else ():
        count = {way: per_frame(way, core, content, at) for way in WAYS}
        for way in WAYS:
            if not count[way] or not count["bare"]:
                continue
            (inside, total), bare = count[way], count["bare"]
            more = (total - inside) - (bare[1] - bare[0])
            rows.append({"core": name, "way": way, "instructions_per_frame": total, "in_core": inside, "more_outside_core": more, "instructions_ratio": 1 + more / bare[1]})
            bench.say(f"  {name}, {way}: {total:.0f} instructions a frame, outside the core {more:+.0f} ({rows[-1]['instructions_ratio']:.4f})")
    return rows


def timed(at):
    """Processor time of each core and way, by turns."""
    rows = []
    for name, core, content in installed():
        times = {way: [] for way in WAYS}
        for _ in range(TURNS):
            for way in WAYS:
                times[way].append(cpu_us(way, core, content, at))
        best = {way: min(times[way]) for way in WAYS}
        for way in WAYS:
            ratios = [mine / bare for mine, bare in zip(times[way], times["bare"])]
            rows.append({"core": name, "way": way, "cpu_us_per_frame": best[way], "time_ratio": best[way] / best["bare"],
                         "time_ratio_median": statistics.median(ratios), "time_ratio_least": min(ratios), "time_ratio_most": max(ratios)})
            bench.say(f"  {name}, {way}: {best[way]:.1f} us of processor ({rows[-1]['time_ratio']:.3f}; by turns {statistics.median(ratios):.3f}, {min(ratios):.3f} to {max(ratios):.3f})")
    return rows


def main():
    if "--plot" in sys.argv:
        return picture(bench.read_csv("wrapper"))
    bench.needs(bench.KEYLOCK, bench.RELAY, bench.WRAPPER)
    bench.begin("wrapper")
    relay, at = bench.relay()
    if "--time" not in sys.argv:
        bench.write_csv("wrapper-count", counted(at))
    if "--count" in sys.argv:
        return None
    counts = {(r["core"], r["way"]): r for r in bench.read_csv("wrapper-count")}
    rows = [{**counts.get((r["core"], r["way"]), {}), **r} for r in timed(at)]
    bench.write_csv("wrapper", rows)
    picture(rows)


if __name__ == "__main__":
    sys.exit(main())
