#!/usr/bin/env python3
"""catchup.py - how fast a backlog is run off, as a share of the bare core's unthrottled speed.

Two players in a bounded room in real time. One hangs: its frontend makes no calls, as with a menu open, while its network
thread goes on (`away`); or its process stands still and the frames must be fetched first (`frozen`). Then the trace says
how many frames a second were run from the first call after that until fewer than 20 were left (those run off gently, by
design), when none were left, and how long the other one waited. A backlog is run off in a quarter of a second, in which a
shared machine may be slower than in the next. So the yardstick is taken in the same process, by the same frames, right before
that and two seconds after (yardstick.c), each hang is measured some times, the middle one counts, and beside the time stands the
processor time of a frame, which what else the machine does changes less; and a test core takes the same time for each frame
whatever the machine does. Nobody presses, so all of them play the same frames: a game's scenes differ in what they cost.

  catchup.py [CORE]…    only those of nestopia, mgba, tone; what was measured of the others before is kept
  catchup.py --join MINUTES [CORE]…    a newcomer so late in a match runs all of it, instead"""
import os
import re
import shutil
import signal
import statistics
import sys
import time

import bench

LEAD_IN = 3
RTT = 50
REPEATS = int(os.environ.get("BENCH_REPEATS", 1 if bench.QUICK else 5))
TONE_US = 400 # of the test core whose frames take a time by the clock, however quick the machine is just now
TONE = os.path.join(bench.BUILD, "cores", "tone_core_libretro.so")


def environment(**more):
    return bench.environment(TONE_COST_US=TONE_US, **more)


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
    tenth of a second; seconds until none were left; how many calls that took. Nothing where it did not come back."""
    gap = next((i for i in range(1, len(rows)) if rows[i][0] - rows[i - 1][0] > seconds * 5e5), None)
    if gap is None or len(rows) < gap + 60:
        return None
    most = max(r[1] + r[2] for r in rows[gap:gap + 100])
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
    return {"backlog_frames": most, "frames": done, "seconds": took_s, "frames_per_s": done / took_s,
            "fastest_per_s": max(fastest, done / took_s), "seconds_to_none": back_s, "calls": large + 1 - gap}


def yardsticks(path):
    """Of a log of press: the bare core before and after, as (wall, processor) microseconds a frame; and the processor time used
    at the beginning of each call from the hang on."""
    bare, used = [], []
    with open(path) as f:
        for word in (line.split() for line in f):
            if word[0] == "bare":
                bare.append((int(word[1]) / int(word[3]), int(word[2]) / int(word[3])))
            elif word[0] == "call":
                used.append(int(word[2]))
    return bare, used


def compare(figures, bare, used):
    """The figures, beside the bare core's."""
    wall_us, cpu_us = (statistics.mean(of) for of in zip(*bare))
    spent_us = (used[figures["calls"]] - used[0]) / figures["frames"]
    return figures | {"bare_frames_per_s": 1e6 / wall_us, "share_of_bare": figures["frames_per_s"] * wall_us / 1e6,
                      "fastest_share_of_bare": figures["fastest_per_s"] * wall_us / 1e6, "bare_before_us": bare[0][0],
                      "bare_after_us": bare[-1][0], "bare_cpu_us": cpu_us, "cpu_us_per_frame": spent_us, "cpu_share": cpu_us / spent_us}


def longest_wait_ms(rows):
    worst = max((b[0] - a[0] for a, b in zip([r for r in rows if r[1]], [r for r in rows if r[1]][1:])), default=0)
    return worst / 1000


def until_stopped(p, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end and p.poll() is None:
        with open(f"/proc/{p.pid}/stat") as f:
            if f.read().rsplit(")", 1)[1].split()[0] == "T":
                return
        time.sleep(0.005)
    sys.exit(f"bench: {p.name} did not stop within {seconds} s")


def room(how, core, content, seconds):
    """One hang: its figures, or None where it did not come back; how long the other waited; hashes compared; were they equal."""
    relay, at = bench.relay()
    proxy, to = bench.through(at, RTT)
    clients, traces = [], []
    total = LEAD_IN + seconds + 4
    bare = os.path.join(bench.tmp, "bare_libretro.so")
    shutil.copy(core, bare)
    try:
        for i in (0, 1):
            traces.append(os.path.join(bench.tmp, f"c{i}.csv"))
            env = environment(KEYLOCK_CORE=core, KEYLOCK_RELAY=to, KEYLOCK_ROOM="catchup", KEYLOCK_NAME=f"c{i}", KEYLOCK_PLAYERS=2,
                              KEYLOCK_SEATS=1, KEYLOCK_TRACE=traces[i], KEYLOCK_POLICY="bounded", KEYLOCK_HASH_OUT=traces[i] + ".hash",
                              KEYLOCK_HASH_EVERY=60)
            hang = ["--hang" if how == "away" else "--stop", f"{LEAD_IN}:{seconds}", "--yardstick", bare] if i == 1 else []
            clients.append(bench.start(f"c{i}", bench.PRESS, "--core", bench.WRAPPER, "--content", content, "--log", traces[i] + ".press",
                                       "--seconds", total, "--still", *hang, env=env))
        for c in clients:
            bench.wait_said(c, "playing seats=|error|expected", 20)
        if how == "frozen":
            until_stopped(clients[1], LEAD_IN + 20)
            time.sleep(seconds)
            clients[1].send_signal(signal.SIGCONT)
        for c in clients:
            c.wait(total + 30)
    finally:
        for p in clients + [proxy, relay]:
            bench.stop(p)
    with open(traces[0] + ".hash") as a, open(traces[1] + ".hash") as b:
        one, other = (dict(line.split(" ", 1) for line in f) for f in (a, b))
    shared = one.keys() & other.keys()
    equal = all(one[k] == other[k] for k in shared)
    figures, (bare, used) = after_gap(read(traces[1]), seconds), yardsticks(traces[1] + ".press")
    back = figures and len(bare) == 2 and not re.search("room is gone", bench.said(clients[1]))
    return compare(figures, bare, used) if back else None, longest_wait_ms(read(traces[0])), len(shared), equal


def cells():
    shooter, gba = os.path.join(bench.CONTENT, "shooter.nes"), os.path.join(bench.CONTENT, "pads.gba")
    if bench.QUICK:
        return [("away", "nestopia", shooter, 5), ("frozen", "nestopia", shooter, 5)]
    return [(how, core, content, s) for core, content, hangs in (("nestopia", shooter, (3, 5, 8)), ("mgba", gba, (3, 5, 8)), ("tone", shooter, (8,)))
            for how in ("away", "frozen") for s in hangs]


def measure(how, name, core, content, seconds):
    """One hang; a row."""
    figures, waited_ms, shared, equal = room(how, core, content, seconds)
    row = {"core": name, "how": how, "hang_s": seconds, "other_waited_ms": waited_ms}
    if figures is None:
        bench.say(f"  {name}, {how} for {seconds} s: it did not come back; the other waited {waited_ms:.0f} ms at most")
        return row | {"backlog_frames": "lost"}
    f = figures
    left = f"none left after {f['seconds_to_none']:.2f} s" if f["seconds_to_none"] else "some left to the end"
    bench.say(f"  {name}, {how} for {seconds} s: {f['frames']} frames in {f['seconds']:.2f} s, {f['frames_per_s']:.0f} of the bare core's {f['bare_frames_per_s']:.0f} frames a second"
              f" ({100 * f['share_of_bare']:.0f} %, fastest tenth {100 * f['fastest_share_of_bare']:.0f} %; of processor {f['cpu_us_per_frame']:.0f} us a frame, bare {f['bare_cpu_us']:.0f}:"
              f" {100 * f['cpu_share']:.0f} %; bare before {f['bare_before_us']:.0f}, after {f['bare_after_us']:.0f} us), {left}; the other waited {waited_ms:.0f} ms at most;"
              f" {shared} hashes {'equal' if equal else 'DIFFER'}")
    return row | figures | {"hashes_compared": shared, "hashes_equal": "yes" if equal else "no"}


def middle(some):
    """The one with the middle share of several rows of one kind; the range, and the worst of what must never be."""
    back = sorted((r for r in some if r["backlog_frames"] != "lost"), key=lambda r: r["share_of_bare"])
    if not back:
        return some[0] | {"measured": len(some), "came_back": 0}
    row = back[len(back) // 2]
    bench.say(f"{row['core']}, {row['how']} for {row['hang_s']} s: middle of {len(back)}: {100 * row['share_of_bare']:.0f} % ({100 * back[0]['share_of_bare']:.0f} to"
              f" {100 * back[-1]['share_of_bare']:.0f}), of processor {100 * statistics.median(r['cpu_share'] for r in back):.0f} %")
    return row | {"measured": len(some), "came_back": len(back), "least_share": back[0]["share_of_bare"], "most_share": back[-1]["share_of_bare"],
                                   "cpu_share": statistics.median(r["cpu_share"] for r in back),
                                   "other_waited_ms": statistics.median(r["other_waited_ms"] for r in back),
                                   "hashes_equal": "yes" if all(r["hashes_equal"] == "yes" for r in back) else "no"}


def picture(rows):
    data = [{"x": i, "share": 100 * (r.get("share_of_bare") or 0), "least": 100 * (r.get("least_share") or 0), "most": 100 * (r.get("most_share") or 0), "fast": 100 * (r.get("fastest_share_of_bare") or 0)} for i, r in enumerate(rows)]
    script = bench.head("catchup", 1000, 560)
    script += 'set title "Running off a backlog, against the bare core\'s unthrottled speed in the same run" font "Sans,14"\n'
    script += 'set ylabel "%% of the bare core\'s frames a second"\nset yrange [0:%g]\nset xrange [-0.7:%g]\nset boxwidth 0.5\nset style fill solid\nset bmargin 5\nset key outside top center horizontal maxcols 2\n' % (max([d["most"] for d in data] + [140]) * 1.05, len(rows) - 0.3)
    script += "set xtics (" + ", ".join(f'"{r["core"]}\\n{r["how"]} {r["hang_s"]} s\\n{r["backlog_frames"] if r["backlog_frames"] != "lost" else "put out:"} frames" {i}' for i, r in enumerate(rows)) + ") font 'Sans,9'\n"
    script += bench.block("d", data, ("x", "share", "fast", "least", "most"))
    script += 'plot $d using 1:2 with boxes lc rgb "#1f77b4" title "from the first call until fewer than 20 frames are left (the middle one; the line: all)", \\\n'
    script += '  $d using 1:2:4:5 with yerrorbars pt 7 ps 0 lw 1.5 lc rgb "#333333" notitle, \\\n'
    script += '  $d using 1:3 with points pt 7 ps 1.4 lc rgb "#ff7f0e" title "fastest tenth of a second", \\\n'
    script += '  90 with lines lw 2 dt 2 lc rgb "#222222" title "90 %: what is asked of large backlogs", 100 with lines lw 1 lc rgb "#888888" title "the bare core"\n'
    bench.plot("catchup", script)


def one_core(name):
    rows = []
    for how, _, content, seconds in (c for c in cells() if c[1] == name):
        core = TONE if name == "tone" else bench.core_path(name)
        if core:
            rows.append(middle([measure(how, name, core, content, seconds) for _ in range(REPEATS)]))
        else:
            bench.say(f"  skip {name}: not installed")
    bench.write_csv("catchup-" + name, rows)


def alone(run, frames):
    """The bare core's frames a second, unthrottled."""
    p = bench.start("bare", *run, "--frames", frames, "--input", "random:1", "--hash-every", 60, "--hash-out", os.path.join(bench.tmp, "bare.hash"))
    p.wait()
    return bench.last_json(p)["fps"]


def newcomers(name, content, minutes):
    """Frames a second from the relay's choice of the way until he is there, the bare core's over the first `minutes` right before and after."""
    relay, at = bench.relay("", "--catch-up", 3600)
    run = [bench.KEYLOCK, "run", "--quiet", "--core", bench.core_path(name), "--content", content]
    room = [*run, "--relay", at, "--speed", "real", "--frames", 10**7, "--wait", 60]
    player = bench.start("ann", *room, "--players", 1, "--name", "ann", "--input", "random:1")
    time.sleep(60 * minutes)
    shares = []
    for i in range(REPEATS):
        frames = int(60 * 60 * minutes)
        before = alone(run, frames)
        newcomer = bench.start(f"n{i}", *room, "--spectate", "--name", f"n{i}")
        there = bench.wait_said(relay, rf'event=caught_up.*name="n{i}".* frame=(\d+) took_ms=(\d+) from=0', 600)
        bench.stop(newcomer)
        ran, bare = 1000 * int(there.group(1)) / int(there.group(2)), statistics.mean((before, alone(run, frames)))
        shares.append(ran / bare)
        bench.say(f"  {name}: {there.group(1)} frames in {int(there.group(2)) / 1000:.2f} s, {ran:.0f} of the bare core's {bare:.0f} a second: {100 * ran / bare:.0f} %")
    bench.say(f"{name}, joining after {minutes:g} minutes: middle of {REPEATS}: {100 * statistics.median(shares):.0f} % ({100 * min(shares):.0f} to {100 * max(shares):.0f})")
    for p in (player, relay):
        bench.stop(p)


def main():
    cores = list(dict.fromkeys(c[1] for c in cells()))
    if "--join" in sys.argv:
        bench.begin("catchup")
        at = sys.argv.index("--join") + 1
        bench.needs(bench.KEYLOCK, bench.RELAY)
        for name, content in dict.fromkeys(c[1:3] for c in cells() if c[1] in (sys.argv[at + 1:] or cores) and bench.core_path(c[1])):
            newcomers(name, content, float(sys.argv[at]))
        return
    if "--plot" not in sys.argv:
        bench.needs(bench.KEYLOCK, bench.RELAY, bench.WRAPPER, bench.PROXY, bench.PRESS, TONE)
        bench.begin("catchup")
        for name in [a for a in sys.argv[1:] if a in cores] or cores:
            one_core(name)
    rows = [row for name in cores if bench.has_csv("catchup-" + name) for row in bench.read_csv("catchup-" + name) if row.get("core")]
    bench.write_csv("catchup", rows)
    picture(rows)


if __name__ == "__main__":
    sys.exit(main())
