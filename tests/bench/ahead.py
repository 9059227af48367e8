#!/usr/bin/env python3
"""ahead.py - running ahead of the lock beside the lock alone and beside RetroArch's own netplay, in pairs of real RetroArch.

The same script of presses, one run after the other. eye.c stands around all cores and sees which frame's picture RetroArch gets
when. A player is `rtt` from the relay, so the way from player to player takes `rtt` milliseconds; RetroArch's netplay gets the same
way between the two. A case is core:rtt:jitter:loss, and at its end perhaps
- :stall  the second player's link stands still for 80 ms every 3 s, whole packets late; the first player's gaps count
- :turbo  the script has X and Y, whose turbo nestopia's states leave out; the other cases leave X and Y out
- :near=N the second player is N milliseconds from the relay, the first `rtt`
- :fight  a press every 4 to 10 frames, as in a fighting game; ahead-fight.png has how long pictures stayed wrong, and
          ahead-fight-sheet.png the 60 longest such times: the last picture that the player saw, and on its right the true one
- :slow   the core takes four times its time (eye.c burns what is missing; a quota of a cgroup pauses for up to 13 ms)

  ahead.py [CASE …]      these cases, or those of the table
  ahead.py --document    picture and table from what has been measured, the table into docs/measured-ahead.md
  ahead.py --equal MINUTES [ROOM …]   rooms of one player ahead and one not: equal hashes (ahead_equal.py)
  ahead.py --feel MINUTES [ROOM …]    wrong pictures by `feel`, with a plot
  ahead.py --triangles MINUTES [CORE] unequal links: the relay's hints and the direct path (ahead_triangles.py)
Environment: BENCH_SETTLE, by itself as long as `auto` takes; BENCH_SECONDS; BENCH_FBNEO=CORE:ZIP:SYSTEM adds FBNeo; DOCUMENT=1 does --document at the end"""
import os
import signal
import sys
import time

import ahead_equal
import ahead_eye
import ahead_paper
import ahead_triangles
import bench
import retroarch

MEASURE = float(os.environ.get("BENCH_SECONDS", 8 if bench.QUICK else 14))
EYE = os.path.join(bench.BUILD, "bench", "eye.so")
STALL_S, STALL_EVERY_S = 0.08, 3
SLOWER = 4
TURBO = (1, 9) # Y and X
FIGHT = ((0.033, 0.067), (0.033, 0.1)) # a press lasts two to four frames, and the next comes two to six later

CORES = {name: ahead_equal.ROOMS[name][:2] for name in ("nestopia", "mgba", "pce_fast", "bsnes", "arcade", "FBNeo") if name in ahead_equal.ROOMS}
HEADLESS = {"--equal": ahead_equal.equal, "--feel": ahead_equal.feel, "--triangles": ahead_triangles.triangles}
SYSTEMS = {"lock": {"KEYLOCK_AHEAD": "off"}, "ahead": {"KEYLOCK_AHEAD": "auto"}, "netplay": None}


def table():
    if bench.QUICK:
        return ["nestopia:50:0:0"]
    far = [f"nestopia:{rtt}:{jitter}:{loss}" for rtt in bench.RTTS for jitter, loss in ((0, 0), (10, 3))]
    others = [f"{core}:{link}" for core in CORES if core != "nestopia" for link in ("50:0:0", "100:10:3")]
    return far + others + [f"nestopia:50:0:0:{special}" for special in ("stall", "turbo", "slow")]


def settle_s(case, system):
    """A frame ahead comes each second, after the first marked keyframe."""
    rtt, jitter = map(int, case.split(":")[1:3])
    return 4 if system == "netplay" else float(os.environ.get("BENCH_SETTLE", 5 + (rtt + 2 * jitter) / 12))


def run_s(case, system):
    """About, with start and end."""
    return settle_s(case, system) + MEASURE + 6


class Stalls:
    """Calls `stall` every so often."""

    def __init__(self, stall):
        self.stall, self.next_s = stall, time.monotonic() + 1

    def turn(self):
        if time.monotonic() >= self.next_s:
            self.next_s += STALL_EVERY_S
            self.stall()


def cpu_s(processes):
    """Processor time used so far by all of them."""
    ticks = 0
    for p in processes:
        with open(f"/proc/{p.pid}/stat") as f:
            ticks += sum(map(int, f.read().rpartition(")")[2].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def stop_for(process, seconds):
    """Packets wait in the sockets meanwhile."""
    process.send_signal(signal.SIGSTOP)
    time.sleep(seconds)
    process.send_signal(signal.SIGCONT)


def press(names, both, pads, between, special, stall, wrapped):
    """Presses and what came of them: a row, or None."""
    watch = bench.RunDelay([p.pid for p in both + between])
    beside = Stalls(stall).turn if "stall" in special else lambda: None
    buttons = [b for b in retroarch.BUTTONS if b not in TURBO or "turbo" in special]
    used, at = cpu_s(both), time.monotonic()
    pace = FIGHT if "fight" in special else retroarch.PACE
    pressed, from_us, to_us = retroarch.press_for(pads, MEASURE, both, watch, beside, buttons, pace)
    used, took = cpu_s(both) - used, time.monotonic() - at
    watch.end()
    for p in both:
        bench.stop(p, 5) # the eye's last lines
    machines = [ahead_eye.Machine(eye_log(name), wrapped) for name in names]
    row = ahead_eye.figures(machines, pressed, from_us, to_us, watch)
    if "fight" in special:
        runs = [(*run, name) for m, name in enumerate(names) for run in ahead_eye.wrong_runs(machines, m, from_us, to_us)]
        ahead_paper.wrong_times("ahead" if wrapped else "netplay", [r[0] for r in runs])
        if wrapped:
            ahead_paper.sheet([(os.path.join(pictures(name), f"{frame}.ppm"), f"{count} in a row, {ms:.0f} ms") for count, ms, frame, name in runs])
    if row:
        row["cpu_percent"] = 100 * used / took / len(both)
        row["hitches"], row["worst_hitch_ms"] = watch.between(from_us, to_us)
    return row


def pictures(name):
    return os.path.join(bench.tmp, name + ".pictures")


def eye_log(name):
    return os.path.join(bench.tmp, name + ".eye")


def play(tag, case, system):
    core, rtt, jitter, loss, *special = case.split(":")
    path, content = CORES[core]
    path, content = path if "/" in path else bench.core_path(path), os.path.join(bench.CONTENT, content)
    link, rtt = (int(jitter), int(loss)), int(rtt)
    rtts = [rtt, *(int(s[5:]) for s in special if s.startswith("near=")), rtt][:2]
    names = [f"{tag}ra-{i}" for i in (0, 1)]
    keylock = SYSTEMS[system]

    def settings(i):
        more = {"LD_PRELOAD": EYE, "EYE_LOG": eye_log(names[i]), "KEYLOCK_LEARN": "off", **(keylock or {"EYE_DRAW": 1})}
        if "slow" in special:
            more["EYE_SLOW"] = SLOWER
        if "fight" in special and system == "ahead":
            os.makedirs(pictures(names[i]), exist_ok=True)
            more["EYE_PICTURES"] = pictures(names[i])
        if core == "FBNeo":
            more["system"] = ahead_equal.FBNEO.split(":")[2]
        return more

    if keylock:
        with retroarch.keylock_pair(tag, path, content, rtts, link, settings) as (_, both, pads, between):
            time.sleep(settle_s(case, system))
            return press(names, both, pads, between, special, lambda: stop_for(between[2], STALL_S), True)
    links = []

    def make(port):
        links.append(retroarch.SlowLink(port, sum(rtts) / 2000, *link))
        return links[0]
    with retroarch.netplay_pair(tag, path, content, make, settings) as (_, both, pads):
        time.sleep(settle_s(case, system))
        return press(names, both, pads, [], special, lambda: links[0].stall(STALL_S), False)


def tell(what, row):
    bench.say(f"  {what}: own {row['own_ms']:.0f} ms (p95 {row['own_p95_ms']:.0f}), the other's {row['others_ms']:.0f} ms (p95 {row['others_p95_ms']:.0f}), "
              f"{row['fps']:.2f} fps, {row['gaps']} gaps ({row['gaps_but_for_hitches']} but for hitches, longest {row['longest_gap_ms']:.0f} ms), "
              f"wrong {row['wrong_percent'] or 0:.1f} %, the first player sees the second's press after {row['first_sees_ms'] or 0:.0f} ms, wrong {row['first_wrong_percent'] or 0:.1f} %, {row['ahead_frames']:.1f} frames ahead, {row['replayed_per_s']:.0f} a second again, "
              f"processor {row['cpu_percent']:.0f} %, sound {100 * row['sound_given'] / row['sound_due']:.2f} %, {row['lost_presses']} of {row['presses']} presses lost, "
              f"machines unequal in {row['parted_percent'] or 0:.2f} % of frames")


def one(tag, case, system):
    for attempt in "ab": # a pair that did not come about is tried once more
        try:
            row = play(f"{tag}{attempt}", case, system)
            if row:
                tell(f"{case} {system}", row)
                core, rtt, jitter, loss, *special = case.split(":")
                return {"core": core, "rtt_ms": int(rtt), "jitter_ms": int(jitter), "loss_percent": int(loss),
                        "special": special[0] if special else None, "system": system, **row}
        except (SystemExit, OSError, IndexError) as e:
            bench.say(f"  {case} {system}: {e}")
            continue
        bench.say(f"  {case} {system}: no figures")
    return None


def measure(cases):
    rows = []
    todo = [(case, system) for case in cases for system in SYSTEMS]
    for n, (case, system) in enumerate(todo):
        left_s = sum(run_s(*t) for t in todo[n:])
        bench.say(f"{n + 1} of {len(todo)}, some {left_s / 60:.0f} minutes left: {case} {system}")
        row = one(f"a{n}", case, system)
        rows += [row] if row else []
        bench.write_csv("ahead", rows)
    return rows


def here(case):
    core, *numbers = case.split(":")
    if core not in CORES or len(numbers) < 3:
        sys.exit(f"bench-ahead: expected CORE:RTT:JITTER:LOSS with CORE one of {', '.join(CORES)}, got {case!r}")
    path = CORES[core][0]
    found = path if "/" in path else bench.core_path(path)
    if not found or not os.path.exists(found):
        bench.say(f"skip {case}: the core is not here")
    return found and os.path.exists(found)


def document():
    if bench.has_csv("ahead"):
        ahead_paper.document(bench.read_csv("ahead"))
    if bench.has_csv("ahead-equal"):
        ahead_paper.document_equal(bench.read_csv("ahead-equal"))


def main():
    arguments = sys.argv[1:]
    for flag, headless in HEADLESS.items():
        if flag in arguments:
            bench.needs(bench.RELAY, bench.WRAPPER, bench.PROXY, bench.KEYLOCK)
            at = arguments.index(flag)
            return headless(float(arguments[at + 1]), arguments[at + 2:])
    if "--document" in arguments:
        return document()
    bench.needs(bench.RELAY, bench.WRAPPER, bench.PROXY, EYE)
    retroarch.PROGRAM, version = retroarch.newest()
    if not version:
        return bench.say("skip: no retroarch here")
    machine = bench.machine()
    bench.begin(f"ahead: RetroArch {version}, {MEASURE:g} s measured a run")
    rows = measure([c for c in arguments or table() if here(c)])
    rows = [{**row, "retroarch": version, "commit": bench.commit(), "machine": machine, "seconds": MEASURE} for row in rows]
    bench.write_csv("ahead", rows)
    ahead_paper.picture(rows)
    if os.environ.get("DOCUMENT", "") not in ("", "0"):
        document()
    return None


if __name__ == "__main__":
    sys.exit(main())
