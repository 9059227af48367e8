#!/usr/bin/env python3
"""fleet.py - what a relay in a fleet adds to a frame's latency, and how much of a core Redis takes: by tests/bench/load.c with a Redis on
the same machine, beside the same relay without a fleet. A copy waits for Redis alone while Redis has a part of a core left: the rooms
that fill it follow from its share with the most rooms.

DOCUMENT=1 writes what was measured into docs/measured.md.

  fleet.py [ROOMS ...]        rooms of two (1 16 64 128)"""
import csv
import os
import shutil
import subprocess
import sys
import time

import ahead_paper
import bench
import relay

JOINS, SECONDS, HELD_US = 4, 10, 6500 # HELD_US: the longest that counts as latency, above the 5 ms that a frame waits


def on_processor_s(pid):
    with open(f"/proc/{pid}/schedstat") as f:
        return int(f.read().split()[0]) / 1e9


def redis():
    """Its process and port."""
    port = 20000 + os.getpid() % 10000
    p = bench.start("redis", "redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", bench.tmp)
    bench.wait_said(p, "Ready to accept", 5)
    return p, port


def run(rooms, options, of):
    """A run's row, with the part of a core that the process `of` took while it was measured."""
    journal = os.path.join(bench.tmp, "journal")
    shutil.rmtree(journal, ignore_errors=True)
    p = subprocess.Popen(bench.timed(relay.PROGRAM, "--clients", 2 * rooms, "--rtt", relay.RTT, "--held", HELD_US, "--warm", JOINS, "--seconds", SECONDS, "--",
                                     "--shards", 1, "--host", "127.0.0.1", "--journal", journal, *options),
                         stdout=subprocess.PIPE, text=True, env=bench.environment(KEYLOCK_RELAY_BIN=bench.RELAY), process_group=bench.guard.pid)
    time.sleep(JOINS + SECONDS / 2)
    before, at = on_processor_s(of.pid), time.monotonic()
    time.sleep(SECONDS / 2 - 1)
    share = (on_processor_s(of.pid) - before) / (time.monotonic() - at)
    row = next(csv.DictReader(p.communicate(timeout=60)[0].splitlines()))
    return {"rooms": rooms, "redis_share": share, **{k: float(row[k]) for k in ("p50_us", "p99_us", "core_share", "fps", "generator_idle")}}


def main():
    bench.needs(relay.PROGRAM, bench.RELAY)
    if not shutil.which("redis-server"):
        return bench.say("skip: no redis-server")
    bench.begin("fleet")
    rows = []
    for rooms in [int(a) for a in sys.argv[1:]] or [1, 16, 64, 128]:
        p, port = redis()
        alone = run(rooms, (), p)
        row = run(rooms, ("--fleet", f"redis://127.0.0.1:{port}/0"), p)
        bench.stop(p)
        row |= {"alone_" + k: alone[k] for k in ("p50_us", "p99_us", "core_share")}
        rows.append(row)
        bench.say(f"{rooms} rooms: p50 {alone['p50_us'] / 1e3:.2f} ms alone, {row['p50_us'] / 1e3:.2f} in a fleet; p99 {alone['p99_us'] / 1e3:.2f}, {row['p99_us'] / 1e3:.2f};"
                  f" Redis {100 * row['redis_share']:.1f} % of a core, the relay {100 * alone['core_share']:.0f} %, {100 * row['core_share']:.0f} %; {row['fps']:.1f} frames a second,"
                  f" generator idle {100 * row['generator_idle']:.0f} %")
    bench.write_csv("fleet", rows)
    fills = rows[-1]["rooms"] / rows[-1]["redis_share"]
    text = (f"By its share with {rows[-1]['rooms']} rooms, {fills:,.0f} rooms of 60 frames a second fill one Redis.")
    bench.say(text)
    if os.environ.get("DOCUMENT"):
        ahead_paper.replace("bench-fleet", f"\nCommit {bench.commit()}, {bench.machine()}. RTT {relay.RTT}, journal on, one process for the rooms.\n\n" + relay.table(
            ("rooms of two", "added latency alone, p50 and p99, ms", "in a fleet", "the relay, of a core, alone", "in a fleet, with its directory", "Redis, of a core"),
            [(f"{r['rooms']}", f"{r['alone_p50_us'] / 1e3:.2f}, {r['alone_p99_us'] / 1e3:.2f}", f"{r['p50_us'] / 1e3:.2f}, {r['p99_us'] / 1e3:.2f}",
              f"{100 * r['alone_core_share']:.0f} %", f"{100 * r['core_share']:.0f} %", f"{100 * r['redis_share']:.0f} %") for r in rows]) + f"\n{text}\n\n")
    return None


if __name__ == "__main__":
    sys.exit(main())
