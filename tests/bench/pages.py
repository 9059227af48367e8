#!/usr/bin/env python3
"""pages.py [CORE]... - cores that go back by the pages of their memory, beside savestates (pages.c): two tables.

  pages.py                  every core that is here
  pages.py nestopia         only these

Environment: BENCH_FBNEO=CORE:ZIP:SYSTEM adds FBNeo; DOCUMENT=1 writes the tables into docs/measured-ahead.md."""
import json
import os
import statistics
import subprocess
import sys

import ahead_paper
import bench

CORES = {"gambatte": "pads.gb", "nestopia": "shooter.nes", "mednafen_wswan": "pads.ws", "mednafen_pce_fast": "pads.pce", "mgba": "pads.gba",
         "bsnes_mercury_performance": "pads.sfc"}
WAYS = ("pages", "states")


def pages(*arguments):
    """What pages.c prints, as a dict. A core that fails in a part has 0 there."""
    done = subprocess.run([os.path.join(bench.OUT, "pages"), *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    return json.loads(done.stdout)


def measured(names):
    ours = os.path.join(bench.BUILD, "cores", "probe_core_libretro.so")
    runs = [(n, bench.core_path(n), os.path.join(bench.CONTENT, c)) for n, c in CORES.items() if bench.core_path(n)]
    if os.environ.get("BENCH_FBNEO"):
        runs.append(("fbneo", *os.environ["BENCH_FBNEO"].split(":")))
    runs.append(("probe", ours, os.path.join(bench.CONTENT, "pads.gb")))
    rows = []
    for name, *arguments in runs:
        if names and name not in names:
            continue
        rows.append(pages(*arguments))
        bench.say(f"{name}: kept by pages, by states: {[rows[-1][part] for part in ('paged', 'stated')]}")
    return rows


def median(times):
    return statistics.median(times)


def p99(times):
    return sorted(times)[len(times) * 99 // 100]


def ratio(way, turn=5):
    """The way's frames in ones that are not kept, round by round, because the machine is faster and slower by turns."""
    sums = [[sum(way[name][at:at + turn]) for at in range(0, len(way[name]), turn)] for name in ("frame", "bare")]
    return median([kept / bare if bare else 0 for kept, bare in zip(*sums)])


def table(head, lines):
    return "\n".join([f"| {' | '.join(head)} |", "| --- |" + " --- |" * (len(head) - 1), *(f"| {' | '.join(line)} |" for line in lines)]) + "\n"


def both(r, cell):
    return " / ".join(cell(r[way]) for way in WAYS)


def cost(rows):
    head = ["core", "a frame, µs", "kept: times its frame", "going back, µs", "back and seven frames, ms", "p99, ms", "the same, of a frame's time", "bytes kept, KiB"]
    return table(head, [[r["name"], f"{median(r['pages']['bare']):.0f}", both(r, lambda w: f"{ratio(w):.2f}"),
                         both(r, lambda w: f"{median(w['back']):.0f}"), both(r, lambda w: f"{median(w['replay']) / 1e3:.1f}"),
                         both(r, lambda w: f"{p99(w['replay']) / 1e3:.1f}"), both(r, lambda w: f"{median(w['replay']) / 166.67:.0f} %"), both(r, lambda w: f"{w['kept'] >> 10:,}")] for r in rows])


def truth(rows):
    def cell(t):
        return f"{t['pictures']}, {t['sounds']}, {'equal' if t['ram'] else 'differs'}" if t["done"] else "it ended"
    head = ["core", "by pages", "by states", "X and Y too: by pages", "by states"]
    return table(head, [[r["name"], *(cell(r[f"{presses}_{way}"]) for presses in ("plain", "turbo") for way in WAYS)] for r in rows])


def main():
    bench.begin("pages")
    rows = measured(sys.argv[1:])
    tables = "\n".join((cost(rows), truth(rows)))
    bench.say(tables)
    if os.environ.get("DOCUMENT", "") not in ("", "0"):
        ahead_paper.replace("bench-pages", f"\nCommit {bench.commit()}, {bench.machine()}.\n\n{tables}\n")


if __name__ == "__main__":
    main()
