#!/usr/bin/env python3
"""window.py - what readers of --http cost the rooms, and how quick the page is with many rooms.

- Rooms of two that play (tests/bench/load.c), without and with hostile readers, by turns: a thousand connections that send a byte
  now and then, garbage, or never read their stream. p50 and p99 of an UPDATE, medians.
- A thousand rooms, each with a player who waits: the page in Chromium, its time until all rooms stand there, its longest task.

ROOMS: rooms of the second part."""
import os
import re
import socket
import statistics
import subprocess
import sys
import time

import bench
import relay

ROOMS = int(os.environ.get("ROOMS", 1000))
CLIENTS, RUNS, SECONDS = (64, 1, 4) if bench.QUICK else (256, 3, 10)
HOSTILE = os.path.join(bench.ROOT, "tests", "e2e", "hostile_readers.py")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def played(hostile):
    """p50 and p99 in µs of rooms that play beside such readers, or nothing."""
    http = f"127.0.0.1:{free_port()}"
    readers = bench.start("readers", "python3", HOSTILE, http, str(SECONDS + 10), priority=()) if hostile else None
    run = relay.load("--clients", CLIENTS, "--room", 2, "--warm", 4, "--seconds", SECONDS, options=("--http", http))
    if readers:
        bench.stop(readers)
    return run


def rooms_beside_readers():
    runs = {False: [], True: []}
    for _ in range(RUNS):
        for hostile in runs:
            runs[hostile].append(played(hostile))
    for hostile, found in runs.items():
        found = [r for r in found if r]
        if found:
            p50, p99 = (statistics.median(r[k] for r in found) for k in ("p50_us", "p99_us"))
            bench.say(f"{CLIENTS // 2} rooms, {'a thousand hostile readers' if hostile else 'no reader'}: p50 {p50:.0f} µs, p99 {p99:.0f} µs "
                      f"(p99 of each run: {', '.join(format(r['p99_us'], '.0f') for r in found)}); generator idle {min(r['generator_idle'] for r in found):.2f}")


def page_of_many_rooms():
    http = f"127.0.0.1:{free_port()}"
    load = bench.start("load", relay.PROGRAM, "--clients", ROOMS, "--room", 1, "--wait", "--warm", 1, "--seconds", 60, "--", "--rooms", ROOMS, "--http", http,
                       env=bench.environment(KEYLOCK_RELAY_BIN=bench.RELAY))
    time.sleep(8)
    try:
        for size in "1440x900", "390x844":
            page = subprocess.run(["timeout", "100", "python3", "-B", os.path.join(bench.ROOT, "tests", "e2e", "page.py"), f"http://{http}/", "--size", size,
                                   "--rooms", str(ROOMS), "--seconds", "10", *(["--png", os.path.join(bench.OUT, f"window-{size}.png")])],
                                  capture_output=True, text=True)
            lines = re.findall(r"^(?:\d+ rooms: shown.*|exception.*|never.*|scrolls)$", page.stdout, re.M)
            bench.say(f"{size}: " + "; ".join(lines or [page.stdout[:200] + page.stderr[-200:]]))
    finally:
        bench.stop(load)


if __name__ == "__main__":
    parts = {"readers": rooms_beside_readers, "page": page_of_many_rooms}
    for name in sys.argv[1:] or parts:
        parts[name]()
