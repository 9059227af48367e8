#!/usr/bin/env python3
"""database.py - how long a list of `keylock verify --database` takes with 100,000 matches in it. The yardstick is the start of the
program alone (`keylock --version`), which stands in each figure. Medians of 20 runs in turns, in milliseconds."""
import os
import sqlite3
import statistics
import subprocess
import tempfile
import time

KEYLOCK = os.path.join(os.environ.get("KL_BUILD", "build"), "keylock")
MATCHES, RUNS = 100_000, 20
LISTS = ("matches", "players", "reports", "verdicts")


def fill(path):
    """Two players a match, a verdict each, a report in one of ten"""
    rows = range(1, MATCHES + 1)
    seen = ["2026-01-01T%02d:%02d:%02d.%03dZ" % (i // 3_600_000, i // 60_000 % 60, i // 1000 % 60, i % 1000) for i in rows]
    db = sqlite3.connect(path)
    with db:
        db.executemany("INSERT INTO match(id, sum, seen, file, room, core, content, frames, ended, reported) VALUES(?, ?, ?, ?, ?, ?, ?, ?, 1, ?)",
                       ((i, "%032x" % i, seen[i - 1], "%d.klr" % i, "room %d" % (i % 500), "Nestopia 1.51.1", "xxh3 %016x" % i, 36000, i % 10 == 0)
                        for i in rows))
        db.executemany("INSERT INTO player(match, client, name, presses, fastest, away, desyncs) VALUES(?, ?, ?, 3000, 9, 0, 0)",
                       ((i, c, "player %d" % ((i + c) % 2000)) for i in rows for c in (0, 1)))
        db.executemany("INSERT INTO report(match, frame, client, name, text) VALUES(?, 600, 0, 'player', 'he paused')", ((i,) for i in rows if i % 10 == 0))
        db.executemany("INSERT INTO verdict(match, at, code, verdict, hashes) VALUES(?, ?, 0, 'verified', 600)", zip(rows, seen))
    db.close()


def took_ms(*arguments):
    begun = time.perf_counter()
    subprocess.run([KEYLOCK, *arguments], check=True, stdout=subprocess.DEVNULL)
    return 1000 * (time.perf_counter() - begun)


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "matches.db")
        took_ms("verify", "--watch", folder, "--database", path, "--once")
        fill(path)
        jobs = {what: ("verify", "--database", path, "--list", what) for what in LISTS}
        jobs["yardstick"] = ("--version",)
        times = {name: [] for name in jobs}
        for _ in range(RUNS):
            for name, arguments in jobs.items():
                times[name].append(took_ms(*arguments))
        print("%d matches, %.1f MiB" % (MATCHES, os.path.getsize(path) / 2**20))
        for name in jobs:
            print("%-10s %5.1f ms" % (name, statistics.median(times[name])))


main()
