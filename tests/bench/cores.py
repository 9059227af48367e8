#!/usr/bin/env python3
"""cores.py - what `keylock probe` says of each installed core on the test content, as the table in docs/measured.md and as
build/bench/cores.csv. Random play on both pads; nestopia a second time without X and Y, its turbo buttons."""
import json
import os
import random
import subprocess

import bench

FRAMES = 600 if bench.QUICK else 1200
SEEDS = (1,) if bench.QUICK else (1, 2, 3)
CORES = [("nestopia", "shooter.nes", ""), ("nestopia", "shooter.nes", "no X, Y"), ("gambatte", "pads.gb", ""), ("mgba", "pads.gba", ""),
         ("bsnes_mercury_performance", "pads.sfc", ""), ("mednafen_pce_fast", "pads.pce", ""), ("mednafen_wswan", "pads.ws", "")]
CLOCKS = ("time", "clock", "rand", "random", "gettimeofday", "localtime", "gmtime", "mktime")
ORDER = ["none", "all", "state only", "history"]


def play_without(buttons, seed):
    """A file of random play on two pads without these buttons."""
    dice, path = random.Random(seed), os.path.join(bench.tmp, f"play-{seed}")
    with open(path, "w") as f:
        for frame in range(0, FRAMES + 700, 5):
            for port in 0, 1:
                f.write(f"{frame} {port} {dice.getrandbits(16) & dice.getrandbits(16) & 0x3f3 & ~buttons:x}\n")
    return path


def probe(core, content, how, seed):
    source = play_without(0x202, seed) if how else f"random:{seed}"
    p = subprocess.run([bench.KEYLOCK, "probe", "--core", core, "--content", os.path.join(bench.CONTENT, content), "--frames", str(FRAMES),
                        "--input", source, "--json", "-"], capture_output=True, text=True)
    try:
        return json.loads(p.stdout)
    except json.JSONDecodeError:
        bench.say(f"  {core}: {(p.stderr.strip() or 'not there').splitlines()[-1]}")
        return None


def differs(runs, name):
    """In the worst of the seeds: RAM and state, of the checks of each."""
    worst = max(runs, key=lambda r: (r["runs"][name]["ram"] or 0, r["runs"][name]["state"] or 0))["runs"][name]
    parts = [f"{what} {worst[key]}/{worst['compared']}" for key, what in (("ram", "RAM"), ("state", "state")) if worst[key]]
    return ", ".join(parts) or "equal"


def masked(room):
    return sum(last - first + 1 for first, last in room["mask"])


def row(core, how, runs):
    newest = runs[-1]
    turned = [w for w in (t["name"] for t in newest["clock"]["turned"]) if w in CLOCKS or w.startswith("clock_")]
    load = max((r["snapshot"]["load"] for r in runs), key=ORDER.index)
    room = max((r["room"] for r in runs), key=masked)
    back = differs(runs, "load_back")
    if back != "equal":
        back += f", {max(r['load_back_bytes'] for r in runs)} bytes"
    return [core + (f" ({how})" if how else ""), newest["key"]["core"], newest["key"]["state_bytes"], differs(runs, "again"),
            " ".join(sorted(turned)) + (", left: " + " ".join(f"{w['name']} ({w['reason']})" for w in newest["clock"]["left"]) if newest["clock"]["left"] else ""),
            "yes" if any(r["clock"]["counts"] for r in runs) else "no", differs(runs, "hidden"), differs(runs, "hashed_once"), back, load,
            f"{masked(room)} bytes" if room["mask"] else "none, states count" if all(r["room"]["states_equal"] for r in runs) else "none"]


def main():
    bench.needs(bench.KEYLOCK)
    heads = ["core", "version", "state bytes", "run twice", "imports of clock and chance turned", "the host's clock counts", "hidden frames",
             "hashed only once", "loaded, 8 frames again", "snapshot", "mask"]
    rows = []
    for core, content, how in CORES:
        runs = [r for r in (probe(core, content, how, seed) for seed in SEEDS) if r]
        if runs:
            rows.append(row(core, how, runs))
            bench.say(f"  {core} {how}: {rows[-1][-2]}")
    bench.write_csv("cores", [dict(zip(heads, r)) for r in rows])
    print("| " + " | ".join(heads) + " |\n| " + " | ".join("---" for _ in heads) + " |")
    for r in rows:
        print("| " + " | ".join(str(c) for c in r) + " |")


if __name__ == "__main__":
    main()
