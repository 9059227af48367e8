#!/usr/bin/env python3
"""strange.py - matches of a core whose behaviour is drawn from a seed, judged: equal machines, frontends and files, no false alarm.

    strange.py --seeds N [--first S] [--jobs J]   plays N matches, of the seeds from S (1) on, J (6) at a time;
                                                  without --first, those of kept.txt first
    strange.py --kept FILE [--jobs J]             plays the seeds that the file lists
    strange.py --table [--first S] [--jobs J]     plays each kind alone in each place, and prints a table: kind, place, first fault
    strange.py --seed N                           plays one, with its story; its folder stays
      --words "-KIND +KIND ="   takes kinds out of the plan, puts some in; = takes all out first
      --places "PLACE ..."      these places, not the drawn ones: join-history join-state watch-history watch-state return heal2 heal3
                                heal-host ahead slot seats hitch cut lose, and mixed: the second machine is an
                                arm64 one by qemu-user (make arm64 ARM64="keylock keylock_libretro.so cores/strange_core_libretro.so")
      --reduce                  finds the fewest kinds and places with which a failing seed fails
late=N: in N matches a newcomer was not judged, because the match was over when its process had begun.
Exit status: 0 all held, 1 a match failed, 2 usage."""
import argparse
import concurrent.futures
import os
import re
import shutil
import sys
import tempfile

import game as play
from judge import judge


def run(seed, words, places, relays, folder, keep=False):
    """(its story, [fault])."""
    g = play.Game(seed, words, places, relays, os.path.join(folder, f"{seed}-{os.urandom(3).hex()}"))
    try:
        g.play()
        faults = judge(g)
    except play.Stopped as stopped:
        faults = [str(stopped)] if str(stopped) else judge(g)
    finally:
        g.close(keep)
    return g, faults


def fewest(seed, words, places, relays, folder):
    """The kinds and places without which the seed holds."""
    g = play.Game(seed, words, places, relays, os.path.join(folder, "x" + os.urandom(3).hex()))
    kinds, places = list(g.kinds), list(g.places)

    def fails(some_kinds, some_places):
        text = " =" + "".join(f" +{k}" for k in some_kinds)
        return any(run(seed, text, some_places, relays, folder)[1] for _ in range(2))

    for k in list(kinds):
        if fails([x for x in kinds if x != k], places):
            kinds.remove(k)
    for p in list(places):
        if fails(kinds, [x for x in places if x != p]):
            places.remove(p)
    return kinds, places


def table(a, relays, folder):
    """Each kind alone in each place where it may be."""
    kinds = a.kinds.split() if a.kinds else play.all_kinds()
    places = a.places or play.ALL_PLACES
    rows = {}
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as crew:
        for k in kinds:
            for p in places:
                if play.allowed(p, {k}):
                    rows[crew.submit(run, a.first or 1, f" = +{k}", [p], relays, folder)] = k, p
        for done in concurrent.futures.as_completed(rows):
            _, faults = done.result()
            print(f"{'FAIL' if faults else 'ok  '} {rows[done][0]:16} {rows[done][1]:14} {faults[0] if faults else ''}", flush=True)
    return any(done.result()[1] for done in rows)


def show(g, seed, faults):
    print(f"seed={seed} failed=1 {g.story()}", flush=True)
    for fault in faults[:4]:
        print(f"    {fault}", flush=True)


def drawn(a):
    """The seeds of --seeds, each once."""
    kept = read_kept(os.path.join(os.path.dirname(os.path.abspath(__file__)), "kept.txt")) if a.first is None else []
    first = a.first or 1
    return list(dict.fromkeys([*kept, *range(first, first + a.seeds)]))


def read_kept(path):
    with open(path, encoding="utf-8") as f:
        return [int(found[1]) for found in (re.match(r"(\d+):", line) for line in f) if found]


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--first", type=int)
    parser.add_argument("--jobs", type=int, default=6)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--kept")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--kinds", help="of the table")
    parser.add_argument("--words", default="")
    parser.add_argument("--places")
    parser.add_argument("--reduce", action="store_true")
    a = parser.parse_args()
    if (a.seeds is not None) + (a.seed is not None) + (a.kept is not None) + a.table != 1:
        parser.error("expected one of --seeds, --seed, --kept and --table")
    a.words = f" {a.words}" if a.words else ""
    a.places = a.places.split() if a.places is not None else None
    return a


def main():
    a = arguments()
    seeds = [] if a.table else [a.seed] if a.seed is not None else read_kept(a.kept) if a.kept else drawn(a)
    folder = tempfile.mkdtemp(prefix="keylock-strange.", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    relays, failed, late = {}, [], 0
    try:
        relays |= {"history": play.Relay(folder, "history", 3600), "state": play.Relay(folder, "state", 1)}
        if a.table:
            return int(table(a, relays, folder))
        with concurrent.futures.ThreadPoolExecutor(a.jobs) as crew:
            games = {crew.submit(run, seed, a.words, a.places, relays, folder, a.seed is not None): seed for seed in seeds}
            for done in concurrent.futures.as_completed(games):
                g, faults = done.result()
                late += bool(g.late)
                if faults:
                    failed.append(games[done])
                    show(g, games[done], faults)
                elif a.seed is not None:
                    print(f"seed={a.seed} {g.story()}")
        for seed in failed if a.reduce else ():
            kinds, places = fewest(seed, a.words, a.places, relays, folder)
            print(f'seed={seed} fewest: --words "= {" ".join("+" + k for k in kinds)}" --places "{" ".join(places)}"', flush=True)
    finally:
        for relay in relays.values():
            relay.process.terminate()
        for relay in relays.values():
            relay.process.wait()
        if a.seed is None:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            print(f"its files: {folder}")
    print(f"strange matches={len(seeds)} failed={len(failed)} late={late}{' seeds=' + ','.join(map(str, sorted(failed))) if failed else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
