#!/usr/bin/env python3
"""core_table.py [--write docs/cores.md] - the table of Debian's libretro cores: `keylock probe` on random play with three seeds, the
worst of them, and the hashes of a game that is played on another processor and under Windows (Wine). Cores that are not installed
are unpacked below build/core-table, not installed.

Environment: KL_BUILD, where the programs are (build); Wine's settings; QUICK=1: one seed and fewer frames; ONLY="mgba gambatte":
only these, and the document keeps its lines of the others; EXTRA=FOLDER: cores outside Debian, for the second table of the document.
FOLDER has NAME_libretro.so and NAME/ for each; NAME/ has the game, one file, and perhaps system/ for the system folder."""
import argparse
import concurrent.futures
import glob
import json
import os
import random
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("KL_BUILD", os.path.join(ROOT, "build")))
HERE = os.path.join(BUILD, "core-table")
ARM64 = os.path.join(BUILD, "arm64")
WINDOWS = os.path.join(BUILD, "windows")
QUICK = os.environ.get("QUICK", "") not in ("", "0")
EXTRA = os.environ.get("EXTRA", "")
FRAMES = 600 if QUICK else 1200
FRAMES_ELSEWHERE = 600 if QUICK else 3600
SEEDS = (1,) if QUICK else (1, 2, 3)
CONTENT = {"nestopia": "shooter.nes", "gambatte": "pads.gb", "mgba": "pads.gba", "mednafen_pce_fast": "pads.pce", "mednafen_wswan": "pads.ws",
           "bsnes_mercury_accuracy": "pads.sfc", "bsnes_mercury_balanced": "pads.sfc", "bsnes_mercury_performance": "pads.sfc"}
TWICE = {"nestopia": ("no X, Y", 0x202)}  # once more without its turbo buttons, whose counters its state lacks
CLOCKS = ("time", "clock", "rand", "random", "gettimeofday", "localtime", "gmtime", "mktime")
LOADS = ["none", "all", "state only", "history"]
JOINS = {"none": "by a state", "all": "by a state that all load", "state only": "by a state, sound's phase aside", "history": "by playing the history"}
HEADS = ["core", "lock", "late join", "virtual clock needed", "calls turned", "state, bytes", "unstable bytes", "hidden frames", "loaded, 8 frames again",
         "running ahead", "arm64", "Windows"]
BEGIN, END = f"<!-- make core-table{' EXTRA=FOLDER' if EXTRA else ''} -->\n", "<!-- end -->\n"


def say(text):
    print(text, file=sys.stderr, flush=True)


# --- the cores --------------------------------------------------------------------------------------------------------

def packages():
    """Debian's packages of cores: they hold NAME_libretro.so."""
    text = subprocess.run(["apt-cache", "search", "--names-only", "^libretro-"], capture_output=True, text=True, check=True).stdout
    return sorted(p for p in (line.split()[0] for line in text.splitlines()) if not re.match("libretro-(core-info|gtk)", p))


def unpack(package):
    """The core in this package, and the package's version."""
    folder = os.path.join(HERE, package)
    if not os.path.isdir(os.path.join(folder, "usr")):
        os.makedirs(folder, exist_ok=True)
        subprocess.run(["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", package], cwd=folder, check=True)
        subprocess.run(["dpkg-deb", "-x", glob.glob(os.path.join(folder, "*.deb"))[0], folder], check=True)
    found = glob.glob(os.path.join(folder, "usr/lib/**/*_libretro.so"), recursive=True)
    return found[0] if found else None


def name_of(path):
    return os.path.basename(path).removesuffix("_libretro.so")


def game_of(path):
    """The content of ours for this core, and the folder for its system files; None: there is none."""
    name = name_of(path)
    if not EXTRA:
        return (os.path.join(BUILD, "content", CONTENT[name]), None) if name in CONTENT else (None, None)
    folder = os.path.join(EXTRA, name)
    games = sorted(e.path for e in os.scandir(folder) if e.is_file()) if os.path.isdir(folder) else []
    system = os.path.join(folder, "system")
    return games[0] if games else None, system if os.path.isdir(system) else None


def options_of(path):
    """EXTRA/NAME.options has core options, KEY=VALUE, a line each."""
    named = path.removesuffix("_libretro.so") + ".options"
    if not os.path.exists(named):
        return []
    with open(named) as f:
        return [word for pair in f.read().split() for word in ("--option", pair)]


# --- measuring --------------------------------------------------------------------------------------------------------

def play_without(buttons, seed):
    """A file of random play on two pads without these buttons."""
    dice, path = random.Random(seed), os.path.join(HERE, f"play-{seed}")
    with open(path, "w") as f:
        for frame in range(0, FRAMES + 700, 5):
            for port in 0, 1:
                f.write(f"{frame} {port} {dice.getrandbits(16) & dice.getrandbits(16) & 0x3f3 & ~buttons:x}\n")
    return path


def probe(core, content, system, without, seed):
    source = play_without(without, seed) if without else f"random:{seed}"
    p = subprocess.run([os.path.join(BUILD, "keylock"), "probe", "--core", core, "--content", content, "--frames", str(FRAMES), "--input", source,
                        "--json", "-"] + (["--system", system] if system else []) + options_of(core), capture_output=True, text=True)
    try:
        return json.loads(p.stdout)
    except json.JSONDecodeError:
        say(f"  {name_of(core)}: {(p.stderr.strip() or 'no answer').splitlines()[-1]}")
        return None


def play(keylock, core, content, out):
    """The hashes of a game, in a file. None: it did not run to its end."""
    p = subprocess.run(keylock + ["run", "--core", core, "--content", content, "--frames", str(FRAMES_ELSEWHERE), "--input", "random:1", "--seats", "2",
                                  "--clock", "virtual", "--epoch", "1000000000", "--hash-every", "60", "--hash-out", out, "--quiet"],
                       capture_output=True, text=True)
    if p.returncode == 0:
        return out
    say(f"  {name_of(core)}: {(p.stderr.strip() or 'no answer').splitlines()[-1]}")
    return None


def on_arm64(name, here, content):
    """As compared with the hashes in the file `here`."""
    there = os.path.join(ARM64, "root/usr/lib/aarch64-linux-gnu/libretro", name + "_libretro.so")
    if not os.path.exists(there) or not os.path.exists(os.path.join(ARM64, "keylock")):
        return "not tried"
    out = play(["qemu-aarch64", "-L", os.path.join(ARM64, "root"), os.path.join(ARM64, "keylock")], there, content, os.path.join(HERE, name + ".arm64"))
    return compare(here, out) if out else "does not run"


def on_windows(name, here, content):
    there = os.path.join(WINDOWS, "cores-of-debian", name + "_libretro.dll")
    if not os.path.exists(there) or not os.path.exists(os.path.join(WINDOWS, "keylock.exe")):
        return "not tried"
    same = os.path.join(WINDOWS, "cores-of-debian/linux", name + "_libretro.so")  # the version that is there, where Debian's is another
    if os.path.exists(same):
        here = play([os.path.join(BUILD, "keylock")], same, content, os.path.join(HERE, name + ".same"))
        if not here:
            return "not compared"
    out = play([os.environ.get("WINE64", "/usr/lib/wine/wine64"), os.path.join(WINDOWS, "keylock.exe")], there, content,
               os.path.join(HERE, name + ".windows"))
    return compare(here, out) if out else "does not run"


def compare(a, b):
    status = subprocess.run([os.path.join(BUILD, "keylock"), "diff", a, b], capture_output=True).returncode
    return {0: "equal", 1: "differs", 4: "RAM equal, states differ"}.get(status, "not compared")


# --- the table --------------------------------------------------------------------------------------------------------

def differs(runs, name):
    """In the worst of the seeds: RAM and state, of the checks of each."""
    worst = max(runs, key=lambda r: (r["runs"][name]["ram"] or 0, r["runs"][name]["state"] or 0))["runs"][name]
    parts = [f"{what} {worst[key]}/{worst['compared']}" for key, what in (("ram", "RAM"), ("state", "state")) if worst[key]]
    return ", ".join(parts) or "equal"


def turned(r):
    names = [w for w in (t["name"] for t in r["clock"]["turned"]) if w in CLOCKS or w.startswith("clock_")]
    left = " ".join(f"{w['name']} ({w['reason']})" for w in r["clock"]["left"])
    return " ".join(sorted(names)) + (f", left: {left}" if left else "")


def unstable(runs):
    most = max(sum(last - first + 1 for first, last in r["room"]["mask"]) for r in runs)
    return str(most) if most else "none"


def row(title, runs, elsewhere):
    newest = runs[-1]
    load = max((r["snapshot"]["load"] for r in runs), key=LOADS.index)
    back = differs(runs, "load_back")
    if back != "equal":
        back += f", {max(r['load_back_bytes'] for r in runs)} bytes"
    return [title, "yes" if all(r["fit"] for r in runs) else "no", JOINS[load], "yes" if any(r["clock"]["counts"] for r in runs) else "no", turned(newest),
            f"{newest['key']['state_bytes']:,}", unstable(runs), differs(runs, "hidden"), back, "yes" if all(r["ahead"] for r in runs) else "no"] + elsewhere


def rows_of(path):
    name, rows = name_of(path), []
    content, system = game_of(path)
    if not content:
        return [[name, "no content of ours"] + [""] * (len(HEADS) - 2)]
    if EXTRA:
        elsewhere = ["not tried"] * 2
    else:
        here = play([os.path.join(BUILD, "keylock")], path, content, os.path.join(HERE, name + ".amd64"))
        elsewhere = [on(name, here, content) if here else "not compared" for on in (on_arm64, on_windows)]
    for how, without in [("", 0)] + ([TWICE[name]] if name in TWICE else []):
        # random play may choose to quit in a game's menu (PrBoom): another seed then
        runs = [r for r in (probe(path, content, system, without, s) or probe(path, content, system, without, s + 4) for s in SEEDS) if r]
        if runs:
            rows.append(row(f"{runs[-1]['key']['core']}" + (f" ({how})" if how else ""), runs, elsewhere))
            say("  " + ", ".join(rows[-1]))
    return rows


def line(row):
    return "| " + " | ".join(str(c) for c in row) + " |\n"


def write(path, rows, only):
    with open(path) as f:
        text = f.read()
    before, rest = text.split(BEGIN)
    new = {row[0]: line(row) for row in rows}
    if only:
        names = {old.split("|")[1].strip(): old for old in rest.split(END)[0].splitlines(keepends=True)}
        table = "".join((names | new).values())
    else:
        table = line(HEADS) + line(["---"] * len(HEADS)) + "".join(map(line, rows))
    with open(path, "w") as f:
        f.write(before + BEGIN + table + END + rest.split(END, 1)[1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", help="the document whose table this is")
    args = parser.parse_args()
    os.makedirs(HERE, exist_ok=True)
    only = os.environ.get("ONLY", "").split()
    with concurrent.futures.ThreadPoolExecutor(2) as two:
        found = sorted(glob.glob(os.path.join(EXTRA, "*_libretro.so"))) if EXTRA else map(unpack, packages())
        cores = [c for c in found if c and (not only or name_of(c) in only)]
        rows = sum(two.map(rows_of, cores), [])
    if args.write:
        write(args.write, rows, only)
    else:
        print("".join(map(line, [HEADS] + rows)), end="")


if __name__ == "__main__":
    main()
