#!/usr/bin/env python3
"""relay.py - what a relay costs, by tests/bench/load.c: real clients, a real relay, all over loopback.

- Instructions an UPDATE, counted by callgrind: hardly minds what else the machine does. KEEP=FOLDER keeps its files, which
  tests/bench/callgrind.py reads.
- Processor time an UPDATE over sockets, beside the yardstick (sealed plain sockets, as many datagrams of the same sizes), by turns;
  medians. A run is void if the generator was idle for less than 20 %; latencies count only where the yardstick's p99 is at most
  0.2 ms.
- Only by its name: added latency of 50 recorded rooms, with and without a verifier of the relay's recordings at work, by turns,
  and the yardstick's beside both. The verifier has the classes of its unit.

DOCUMENT=1 writes what was measured into docs/measured.md.

  relay.py [instructions|sockets|verifier]        one of them"""
import csv
import glob
import os
import shutil
import statistics
import subprocess
import sys
import textwrap

import ahead_paper
import bench
import callgrind

PROGRAM = os.path.join(bench.BUILD, "bench", "load")
RTT = 50
COUNTED = [(16, 2, 8, 1), (16, 8, 8, 1), (16, 2, 4096, 1), (16, 2, 8, 2), (16, 2, 8, 4)] # clients, players of a room, --rooms, --shards
INTERVAL_S = 1024 / 60 # from one block of a room's recording to the next: a shorter run may have none
CLIENTS, RUNS, SECONDS, WARM = ((16, 64, 256), 1, 3, 2) if bench.QUICK else ((16, 64, 256, 1024), 3, 8, 3)
IDLE_LEAST, YARDSTICK_P99_US = 0.2, 200


def load(*args, relay=bench.RELAY, options=()):
    """A run's row, or nothing with a line that says why."""
    p = subprocess.run(bench.timed(PROGRAM, "--rtt", RTT, *args, "--", *options), capture_output=True, text=True,
                       env=bench.environment(KEYLOCK_RELAY_BIN=relay), process_group=bench.guard.pid, timeout=300)
    found = list(csv.DictReader(p.stdout.splitlines()))
    if p.returncode or not found:
        return bench.say(f"load {' '.join(str(a) for a in args)}: exit status {p.returncode}: {p.stderr[-300:]}")
    return {k: v if k == "what" else float(v) for k, v in found[0].items()}


# --- instructions ---

def counting_relay(out, at_start):
    """A program that runs the relay under callgrind."""
    path = os.path.join(bench.tmp, "counting-relay")
    with open(path, "w") as f:
        f.write(f'#!/bin/sh\nexec valgrind --tool=callgrind --callgrind-out-file="{out}.%p" --instr-atstart={at_start} "{bench.RELAY}" "$@"\n')
    os.chmod(path, 0o755)
    return path


def count(clients, room, rooms, shards, seconds, at_start):
    """A run's row, and what its processes did."""
    out = os.path.join(os.path.abspath(os.environ.get("KEEP") or bench.tmp), f"callgrind.{clients}-{room}-{rooms}-{shards}-{seconds:.0f}")
    for old in glob.glob(out + ".*"):
        os.remove(old)
    run = load("--clients", clients, "--room", room, "--warm", 6, "--seconds", seconds, *(["--callgrind"] if at_start == "no" else []),
               relay=counting_relay(out, at_start), options=("--rooms", rooms, "--shards", shards))
    return run, callgrind.Counts(*glob.glob(out + ".*"))


def instructions():
    """Callgrind cannot be told to begin in a process's copies: with several processes, a longer run less a shorter one."""
    if not shutil.which("valgrind"):
        return bench.say("skip: no valgrind, so no instructions (apt-get install valgrind)")
    rows = []
    for case in COUNTED:
        clients, room, rooms, shards = case
        run, c = count(*case, INTERVAL_S, "no") if shards == 1 else count(*case, 6 + INTERVAL_S, "yes")
        less, before = (None, None) if shards == 1 else count(*case, 6, "yes")
        if not run or (before and not less):
            continue
        updates = c.updates - (before.updates if before else 0)
        parts = {part: (cost - (before.part[part] if before else 0)) / updates for part, cost in c.part.most_common(6)}
        total = (c.total - (before.total if before else 0)) / updates
        rows.append({"clients": clients, "room": room, "rooms": rooms, "shards": shards, "instructions": total, "updates": updates, "fps": run["fps"], **parts})
        bench.say(f"{clients} clients in rooms of {room}, --rooms {rooms}, --shards {shards}: {total:.0f} instructions an UPDATE at {run['fps']:.1f} frames a second"
                  f" ({', '.join(f'{part} {cost:.0f}' for part, cost in parts.items())})")
    bench.write_csv("relay-instructions", rows)
    return rows


# --- over sockets ---

def middle(some):
    row = {k: statistics.median(r[k] for r in some) if isinstance(v, float) else v for k, v in some[0].items()}
    return {**row, "runs": len(some)}


def sockets():
    rows = []
    for clients in CLIENTS:
        size = ("--clients", clients, "--seconds", SECONDS, "--warm", WARM)
        pairs = [(load("--raw", *size), load(*size, options=("--rooms", max(8, clients // 2)))) for _ in range(RUNS)]
        good = [(raw, relay) for raw, relay in pairs if raw and relay]
        if not good:
            continue
        raw, relay = (middle([pair[n] for pair in good]) for n in (0, 1))
        row = {"clients": clients, "us": relay["us_per_update"], "yardstick_us": raw["us_per_update"], "ratio": relay["us_per_update"] / raw["us_per_update"],
               "core_share": relay["core_share"], "p50_us": relay["p50_us"], "p99_us": relay["p99_us"], "yardstick_p50_us": raw["p50_us"], "yardstick_p99_us": raw["p99_us"],
               "fps": relay["fps"], "sleeps_s": relay["sleeps_s"], "generator_idle": min(r["generator_idle"] for pair in good for r in pair), "room_kib": relay["room_kib"],
               "join_s": relay["join_s"], "desyncs": relay["desyncs"], "ended": relay["ended"], "runs": len(good)}
        row["void"] = int(row["generator_idle"] < IDLE_LEAST)
        row["latency_counts"] = int(row["yardstick_p99_us"] <= YARDSTICK_P99_US)
        rows.append(row)
        bench.say(f"{clients} clients: {row['us']:.2f} us an UPDATE, yardstick {row['yardstick_us']:.2f}, {row['ratio']:.2f} times; {100 * row['core_share']:.0f} % of a core;"
                  f" added latency {row['p50_us']:.0f} us, p99 {row['p99_us']:.0f} (yardstick {row['yardstick_p50_us']:.0f}, {row['yardstick_p99_us']:.0f});"
                  f" {row['room_kib']:.0f} KiB a room; generator idle {100 * row['generator_idle']:.0f} %{': void' if row['void'] else ''}")
    bench.write_csv("relay", rows)
    return rows


# --- beside a verifier ---

ROOMS, LONG = 50, 40000 # frames of the recording: they take a verifier longer than a run


def verifier(turn):
    """At work on a recording of its own in a folder; and that folder."""
    folder = os.path.join(bench.tmp, f"records-{turn}")
    os.makedirs(os.path.join(folder, "new"))
    shutil.copy(os.path.join(bench.tmp, "long.klr"), os.path.join(folder, "new"))
    p = bench.start("verifier", "ionice", "-c", "3", bench.KEYLOCK, "verify", "--watch", folder, "--database", os.path.join(folder, "matches.db"), "--core", "nestopia",
                    "--content", bench.CONTENT, priority=("chrt", "--idle", "0"))
    return p, folder


def one_of(turn, what, beside):
    p, folder = verifier(turn) if beside else (None, os.path.join(bench.tmp, f"records-{turn}"))
    args = ("--clients", 2 * ROOMS, "--seconds", SECONDS, "--warm", WARM)
    run = load("--raw", *args) if what == "raw" else load(*args, options=("--rooms", ROOMS, "--record", folder))
    works = p and p.poll() is None and os.path.exists(os.path.join(folder, "new", "long.klr"))
    if p:
        bench.stop(p)
    if beside and not works:
        return bench.say("void: the verifier was at its end before the run was")
    return run and {**run, "verifier": int(beside)}


def beside_verifier():
    bench.needs(bench.KEYLOCK, os.path.join(bench.CONTENT, "shooter.nes"))
    subprocess.run([bench.KEYLOCK, "run", "--quiet", "--core", "nestopia", "--content", os.path.join(bench.CONTENT, "shooter.nes"), "--frames", str(LONG), "--input", "random:7",
                    "--hash-every", "60", "--record", os.path.join(bench.tmp, "long.klr")], check=True, stdout=subprocess.DEVNULL, env=bench.environment())
    rows = []
    for turn in range(RUNS):
        for beside in (False, True):
            rows += [row for what in ("raw", "relay") if (row := one_of(f"{turn}-{what}-{int(beside)}", what, beside))]
    bench.write_csv("relay-verifier", rows)
    p99 = {(what, beside): [r["p99_us"] / 1e3 for r in rows if r["what"] == what and r["verifier"] == beside] for what in ("relay", "raw") for beside in (0, 1)}
    if not all(p99.values()):
        return bench.say("no whole turn")
    words = [", ".join(f"{ms:.2f}" for ms in p99[key]) for key in (("relay", 0), ("relay", 1), ("raw", 0), ("raw", 1))]
    more = statistics.median(p99["relay", 1]) - statistics.median(p99["relay", 0])
    text = (f"{ROOMS} recorded rooms of two, commit {bench.commit()}, {bench.machine()}: p99 of the added latency {words[0]} ms without a verifier, {words[1]} ms beside one at work:"
            f" {more:+.2f} ms by the medians (goal +1). The yardstick's p99: {words[2]} ms, {words[3]} ms.")
    bench.say(text)
    if os.environ.get("DOCUMENT"):
        ahead_paper.replace("bench-relay-verifier", "\n" + textwrap.fill(text, 118) + "\n\n")
    return None


def picture(rows):
    rows = [r for r in rows if not r["void"]]
    if not rows:
        return
    script = bench.head("relay", 900, 760) + "set logscale x 2\nset xtics (" + ", ".join(str(r["clients"]) for r in rows) + ")\nset xlabel \"clients\"\nset xrange [*:" + str(1.05 * rows[-1]["clients"]) + "]\nset multiplot layout 2,1\n"
    script += bench.block("d", rows, ("clients", "us", "yardstick_us", "p50_us", "yardstick_p50_us", "room_kib"))
    script += f'set title "A relay\'s processor time for an UPDATE: rooms of two at 60 Hz, RTT {RTT}" font "Sans,13"\nset ylabel "us of one core"\nset yrange [0:*]\n'
    script += 'plot $d using 1:2 with linespoints lw 2 title "relay", $d using 1:3 with linespoints lw 2 dt 2 lc rgb "#222222" title "sealed plain sockets, same runs"\n'
    script += 'set title "Added latency" font "Sans,13"\nset ylabel "us, median"\nset logscale y\nset yrange [*:*]\n'
    script += 'plot $d using 1:4 with linespoints lw 2 title "relay", $d using 1:5 with linespoints lw 2 dt 2 lc rgb "#222222" title "sealed plain sockets"\nunset multiplot\n'
    bench.plot("relay", script)


# --- the document ---

def table(head, rows):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)] + ["| " + " | ".join(r) + " |" for r in rows]) + "\n"


def document(counted, timed):
    at = f"\nCommit {bench.commit()}, {bench.machine()}. RTT {RTT}, AES-256-GCM, journal on.\n\n"
    if counted:
        ahead_paper.replace("bench-relay-instructions", at + table(
            ("clients", "players of a room", "`--rooms`", "`--shards`", "instructions an UPDATE", "frames a second under callgrind"),
            [(f"{r['clients']}", f"{r['room']}", f"{r['rooms']}", f"{r['shards']}", f"{r['instructions']:,.0f}", f"{r['fps']:.1f}") for r in counted]) + "\n")
    if timed:
        text = at + table(("clients", "µs an UPDATE", "sealed plain sockets", "times", "of a core", "added latency, p50 and p99, ms", "of the yardstick", "KiB a room", "generator idle"),
                      [(f"{r['clients']}", f"{r['us']:.1f}", f"{r['yardstick_us']:.1f}", f"{r['ratio']:.2f}", f"{100 * r['core_share']:.0f} %",
                        f"{r['p50_us'] / 1e3:.2f}, {r['p99_us'] / 1e3:.2f}", f"{r['yardstick_p50_us'] / 1e3:.2f}, {r['yardstick_p99_us'] / 1e3:.2f}{'' if r['latency_counts'] else ' (not quiet)'}",
                        f"{r['room_kib']:.0f}", f"{100 * r['generator_idle']:.0f} %{' (void)' if r['void'] else ''}") for r in timed])
        text += "\n![A relay's cost](../tests/bench/pictures/relay.png)\n"
        shutil.copy(os.path.join(bench.OUT, "relay.png"), os.path.join(bench.ROOT, "tests", "bench", "pictures"))
        ahead_paper.replace("bench-relay-sockets", text + "\n")


def main():
    only = sys.argv[1] if len(sys.argv) > 1 else None
    bench.needs(PROGRAM, bench.RELAY)
    bench.begin("relay")
    if only == "verifier":
        return beside_verifier()
    counted = instructions() if only != "sockets" else []
    timed = sockets() if only != "instructions" else []
    if timed:
        picture(timed)
    if os.environ.get("DOCUMENT"):
        document(counted, timed)
    return None


if __name__ == "__main__":
    sys.exit(main())
