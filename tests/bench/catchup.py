#!/usr/bin/env python3
"""catchup.py - how fast a backlog is run off, as a share of the bare core's unthrottled speed in the same run.

Two players in a bounded room in real time. One hangs: its frontend makes no calls, as with a menu open, while its network
thread goes on (`away`); or its process stands still and the frames must be fetched first (`frozen`). Then the trace says
how many frames a second were run from the first call after that until fewer than 20 were left (those run off gently, by
design), when none were left, and how long the other one waited. A backlog is run off in a quarter of a second, in which a
shared machine may be slower than in the next: each is measured some times, the bare core before and after it, and the
middle one counts; and a test core takes the same time for each frame whatever the machine does. Nobody presses, so all of them play the same frames: a game's scenes differ in what they cost."""
import os
import re
import signal
import statistics
import sys
import time

import bench

LEAD_IN = 3
RTT = 50
REPEATS = 1 if bench.QUICK else 3
TONE_US = 400 # of the test core whose frames take a time by the clock, however quick the machine is just now
TONE = os.path.join(bench.BUILD, "cores", "tone_core_libretro.so")


def environment(**more):
    return bench.environment(TONE_COST_US=TONE_US, **more)


def bare_fps(core, content, frames):
    """Unthrottled, without wrapper."""
    p = bench.start("bare", bench.KEYLOCK, "run", "--quiet", "--core", core, "--content", content, "--frames", frames, "--hash-every", 0,
                    "--input", "none", env=environment())
    p.wait(120)
    bench.stop(p)
    return bench.last_json(p)["fps"]


def read(path):
    """(wall_us, run, backlog, stall) of each call from the first frame on."""
    with open(path) as f:
        rows = [line.split(",", 8) for line in list(f)[1:]]
    rows = [(int(r[0]), int(r[3]), int(r[4]), int(r[7])) for r in rows if len(r) == 9]
    first = next((i for i, r in enumerate(rows) if r[1]), len(rows))
    return rows[first:]


LARGE = 20 # frames: a backlog below runs off gently, by design


def after_gap(rows, seconds):
    """What came after the hang: most frames that waited; frames and seconds until fewer than LARGE were left; the fastest
    tenth of a second; seconds until none were left. Nothing where it did not come back."""
    gap = next((i for i in range(1, len(rows)) if rows[i][0] - rows[i - 1][0] > seconds * 5e5), None)
    if gap is None or len(rows) < gap + 60:
        return None
    most = max(r[1] + r[2] for r in rows[gap:gap + 300])
    peak = next(i for i in range(gap, len(rows)) if rows[i][1] + rows[i][2] == most)
    def first_below(frames):
        return next((i for i in range(peak, len(rows) - 1) if rows[i][2] < frames), len(rows) - 2)
    large, none = first_below(LARGE), first_below(4)
    done = sum(r[1] for r in rows[gap:large + 1])
    took_s = (rows[large + 1][0] - rows[gap][0]) / 1e6
    fastest = 0.0
    for i in range(gap, large + 1):
        ran = 0
        for k in range(i, large + 1):
            ran += rows[k][1]
            if rows[k + 1][0] - rows[i][0] >= 100000:
                fastest = max(fastest, ran / ((rows[k + 1][0] - rows[i][0]) / 1e6))
                break
    back_s = (rows[none + 1][0] - rows[gap][0]) / 1e6 if rows[none][2] < 4 else None
    return most, done, took_s, max(fastest, done / took_s), back_s


def longest_wait_ms(rows):
    worst = max((b[0] - a[0] for a, b in zip([r for r in rows if r[1]], [r for r in rows if r[1]][1:])), default=0)
    return worst / 1000


def room(how, core, content, seconds):
    relay, at = bench.relay()
    proxy, to = bench.through(at, RTT)
    clients, traces = [], []
    total = LEAD_IN + 1.5 * seconds + 4
    try:
        for i in (0, 1):
            traces.append(os.path.join(bench.tmp, f"c{i}.csv"))
            env = environment(KEYLOCK_CORE=core, KEYLOCK_RELAY=to, KEYLOCK_ROOM="catchup", KEYLOCK_NAME=f"c{i}", KEYLOCK_PLAYERS=2,
                                    KEYLOCK_SEATS=1, KEYLOCK_TRACE=traces[i], KEYLOCK_POLICY="bounded", KEYLOCK_HASH_OUT=traces[i] + ".hash",
                                    KEYLOCK_HASH_EVERY=60)
            hang = ["--hang", f"{LEAD_IN}:{seconds}"] if how == "away" and i == 1 else []
            clients.append(bench.start(f"c{i}", bench.PRESS, "--core", bench.WRAPPER, "--content", content, "--log", traces[i] + ".press",
                                       "--seconds", total, "--still", *hang, env=env))
        for c in clients:
            bench.wait_said(c, "playing seats=|error|expected", 20)
        if how == "frozen":
            time.sleep(LEAD_IN)
            clients[1].send_signal(signal.SIGSTOP)
            time.sleep(seconds)
            clients[1].send_signal(signal.SIGCONT)
        for c in clients:
            c.wait(total + 20)
    finally:
        for p in clients + [proxy, relay]:
            bench.stop(p)
    with open(traces[0] + ".hash") as a, open(traces[1] + ".hash") as b:
        one, other = (dict(line.split(" ", 1) for line in f) for f in (a, b))
    shared = one.keys() & other.keys()
    equal = all(one[k] == other[k] for k in shared)
    lost = re.search("room is gone|does not answer any more|closed the connection", bench.said(clients[1]))
    return None if lost else after_gap(read(traces[1]), seconds), longest_wait_ms(read(traces[0])), len(shared), equal


def cells():
    shooter, gba = os.path.join(bench.CONTENT, "shooter.nes"), os.path.join(bench.CONTENT, "pads.gba")
    if bench.QUICK:
        return [("away", "nestopia", shooter, 5), ("frozen", "nestopia", shooter, 5)]
    return [(how, core, content, s) for core, content in (("nestopia", shooter), ("mgba", gba), ("tone", shooter)) for how in ("away", "frozen") for s in (3, 5, 8)]


def measure(how, name, core, content, seconds):
    """One hang; a row."""
    before = bare_fps(core, content, 3000)
    figures, waited_ms, shared, equal = room(how, core, content, seconds)
    bare = (before + bare_fps(core, content, 3000)) / 2
    row = {"core": name, "how": how, "hang_s": seconds, "bare_frames_per_s": bare, "other_waited_ms": waited_ms}
    if figures is None:
        bench.say(f"  {name}, {how} for {seconds} s: it did not come back (its connection was given up); the other waited {waited_ms:.0f} ms at most")
        return row | {"backlog_frames": "lost"}
    backlog, frames, wall, fastest, settled = figures
    left = f"none left after {settled:.2f} s" if settled else "some left to the end"
    bench.say(f"  {name}, {how} for {seconds} s: {frames} frames in {wall:.2f} s, {frames / wall:.0f} of the bare core's {bare:.0f} frames a second"
              f" ({100 * frames / wall / bare:.0f} %, fastest tenth {100 * fastest / bare:.0f} %), {left}; the other waited {waited_ms:.0f} ms at most;"
              f" {shared} hashes {'equal' if equal else 'DIFFER'}")
    return row | {"backlog_frames": backlog, "frames": frames, "seconds": wall, "frames_per_s": frames / wall, "seconds_to_none": settled,
                  "share_of_bare": frames / wall / bare, "fastest_share_of_bare": fastest / bare, "hashes_compared": shared,
                  "hashes_equal": "yes" if equal else "no"}


def middle(some):
    """The one with the middle share of several rows of one kind; the range, and the worst of what must never be."""
    back = sorted((r for r in some if r["backlog_frames"] != "lost"), key=lambda r: r["share_of_bare"])
    if not back:
        return some[0] | {"measured": len(some), "came_back": 0}
    return back[len(back) // 2] | {"measured": len(some), "came_back": len(back), "least_share": back[0]["share_of_bare"], "most_share": back[-1]["share_of_bare"],
                                   "other_waited_ms": statistics.median(r["other_waited_ms"] for r in back),
                                   "hashes_equal": "yes" if all(r["hashes_equal"] == "yes" for r in back) else "no"}


def picture(rows):
    data = [{"x": i, "share": 100 * (r.get("share_of_bare") or 0), "least": 100 * (r.get("least_share") or 0), "most": 100 * (r.get("most_share") or 0), "fast": 100 * (r.get("fastest_share_of_bare") or 0)} for i, r in enumerate(rows)]
    script = bench.head("catchup", 1000, 560)
    script += 'set title "Running off a backlog, against the bare core\'s unthrottled speed in the same run" font "Sans,14"\n'
    script += 'set ylabel "%% of the bare core\'s frames a second"\nset yrange [0:140]\nset xrange [-0.7:%g]\nset boxwidth 0.5\nset style fill solid\nset bmargin 5\nset key outside top center horizontal maxcols 2\n' % (len(rows) - 0.3)
    script += "set xtics (" + ", ".join(f'"{r["core"]}\\n{r["how"]} {r["hang_s"]} s\\n{r["backlog_frames"] if r["backlog_frames"] != "lost" else "put out:"} frames" {i}' for i, r in enumerate(rows)) + ") font 'Sans,9'\n"
    script += bench.block("d", data, ("x", "share", "fast", "least", "most"))
    script += 'plot $d using 1:2 with boxes lc rgb "#1f77b4" title "from the first call until fewer than 20 frames are left (the middle one; the line: all)", \\\n'
    script += '  $d using 1:2:4:5 with yerrorbars pt 7 ps 0 lw 1.5 lc rgb "#333333" notitle, \\\n'
    script += '  $d using 1:3 with points pt 7 ps 1.4 lc rgb "#ff7f0e" title "fastest tenth of a second", \\\n'
    script += '  90 with lines lw 2 dt 2 lc rgb "#222222" title "90 %: what is asked of large backlogs", 100 with lines lw 1 lc rgb "#888888" title "the bare core"\n'
    bench.plot("catchup", script)


def main():
    if "--plot" in sys.argv:
        return picture(bench.read_csv("catchup"))
    bench.needs(bench.KEYLOCK, bench.RELAY, bench.WRAPPER, bench.PROXY, bench.PRESS, TONE)
    bench.say(f"catchup: {bench.machine()}")
    rows = []
    for how, name, content, seconds in cells():
        core = TONE if name == "tone" else bench.core_path(name)
        if core:
            rows.append(middle([measure(how, name, core, content, seconds) for _ in range(REPEATS)]))
        else:
            bench.say(f"  skip {name}: not installed")
    bench.write_csv("catchup", rows)
    picture(rows)


if __name__ == "__main__":
    sys.exit(main())
