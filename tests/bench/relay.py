#!/usr/bin/env python3
"""relay.py - what the relay costs an update (an input in, an update out), beside raw UDP in the same run: runs
tests/net/bench_relay.c for some numbers of rooms of two, some times each by turns, and keeps its CSV. Three relays at the same
time: without encryption (--insecure-lan), AES-256-GCM, ChaCha20-Poly1305. What encryption costs more is the median of the
runs' own ratios, with their range."""
import csv
import os
import statistics
import subprocess
import sys

import bench

PROGRAM = os.path.join(bench.BUILD, "bench", "bench_relay")
ROOMS, SECONDS, RUNS = ((8, 32), 4, 1) if bench.QUICK else ((8, 32, 64), 10, 7)


def picture(rows):
    script = bench.head("relay", 900, 520)
    script += 'set title "The relay\'s processor time for an update, rooms of two at 60 Hz, all over loopback" font "Sans,14"\n'
    script += 'set xlabel "clients"\nset ylabel "us of one core an update"\nset yrange [0:%g]\nset xrange [0:*]\nset y2range [0:100]\nset y2tics\nset border 11\nset y2label "share of one core, %%"\nset key top left\n' % (1.4 * max(r["us_per_update"] for r in rows))
    lines = []
    for i, cipher in enumerate(dict.fromkeys(r["cipher"] for r in rows)):
        mine = [{**r, "percent": 100 * r["core_share"]} for r in rows if r["cipher"] == cipher]
        script += bench.block(f"d{i}", mine, ("clients", "us_per_update", "raw_us", "percent"))
        lines.append(f'$d{i} using 1:2 with linespoints lw 2 pt 7 ps 1.3 title "{cipher}"')
    lines.append('$d0 using 1:3 with linespoints lw 2 dt 2 pt 6 lc rgb "#222222" title "raw UDP: a datagram out and one in, same runs"')
    lines.append('$d0 using 1:4 axes x1y2 with linespoints lw 1 pt 5 lc rgb "#ff7f0e" title "share of one core, without encryption (right)"')
    script += "plot " + ", ".join(lines) + "\n"
    bench.plot("relay", script)


def once(rooms, run):
    p = subprocess.run(bench.timed(PROGRAM, rooms, SECONDS), capture_output=True, text=True, env=bench.environment(KEYLOCK_RELAY_BIN=bench.RELAY),
                       process_group=bench.guard.pid)
    found = list(csv.DictReader(p.stdout.splitlines()))
    if p.returncode or not found:
        sys.exit(f"bench: bench_relay {rooms}: exit status {p.returncode}: {p.stderr[-300:]}")
    rows = [{"run": run, **{k: v if k == "cipher" else float(v) for k, v in line.items()}} for line in found]
    for row in rows:
        bench.say(f"  {row['clients']:.0f} clients, {row['cipher']}: {row['us_per_update']:.2f} us an update, {row['ratio_to_clear']:.3f} of the one in clear, {row['ratio']:.2f} of raw UDP's {row['raw_us']:.2f} us; {100 * row['core_share']:.1f} % of a core; {row['body_bytes']:.0f} + {row['protection_bytes']:.0f} bytes")
    return rows


def middle(some):
    """Medians of several runs of one kind, and the range of what encryption costs."""
    row = {k: statistics.median(r[k] for r in some) if isinstance(v, float) else v for k, v in some[0].items() if k != "run"}
    row.update(runs=len(some), least_ratio_to_clear=min(r["ratio_to_clear"] for r in some), most_ratio_to_clear=max(r["ratio_to_clear"] for r in some))
    bench.say(f"{row['clients']:.0f} clients, {row['cipher']}: median of {len(some)}: {row['us_per_update']:.2f} us an update, {row['ratio']:.2f} of raw UDP's; of the one in clear"
              f" {row['ratio_to_clear']:.3f} ({row['least_ratio_to_clear']:.3f} to {row['most_ratio_to_clear']:.3f})")
    return row


def main():
    if "--plot" in sys.argv:
        return picture(bench.read_csv("relay"))
    bench.needs(PROGRAM, bench.RELAY)
    bench.begin("relay")
    found = [row for run in range(RUNS) for rooms in ROOMS for row in once(rooms, run)]
    kinds = dict.fromkeys((r["rooms"], r["cipher"]) for r in found)
    rows = [middle([r for r in found if (r["rooms"], r["cipher"]) == kind]) for kind in kinds]
    bench.write_csv("relay", rows)
    picture(rows)


if __name__ == "__main__":
    sys.exit(main())
