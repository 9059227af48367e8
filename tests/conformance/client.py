#!/usr/bin/env python3
"""client.py RELAY [SEED [MATCH]] - whole clients, written from net/PROTOCOL.md and ENet's public description, at a real relay.

Each match has a relay of its own, and all matches are played at the same time. A line "ok …" is one promise of the
document that was seen to hold. The client: link.py (sessions, ENet, addresses), lock.py (samples, frames, time),
room.py (messages, states), machine.py (in place of a core), packing.py (snapshots). The judge: judge.py, match_*.py."""
import os
import subprocess
import sys
import traceback

sys.dont_write_bytecode = True

import match_bring
import match_code
import match_heal
import match_late
import match_optimistic
import match_play
import match_roam
import match_watch

MATCHES = {match.__name__: match for match in (
    match_play.play, match_play.come_back, match_play.journal, match_play.strict, match_play.plain, match_late.late, match_watch.watch, match_heal.heal, match_heal.tie,
    match_heal.liar, match_heal.stranger, match_bring.bring, match_bring.base, match_bring.forger, match_optimistic.optimistic, match_roam.roam, match_code.code)}


def play(program, seed, name):
    try:
        MATCHES[name](program, seed)
    except AssertionError as error:
        traceback.print_exc(file=sys.stdout)
        print("FAIL %s: %s" % (name, str(error)[:1500] or traceback.extract_tb(error.__traceback__)[-1].line))
        return 1
    return 0


def main():
    program, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    if len(sys.argv) > 3:
        return play(program, seed, sys.argv[3])
    children = [subprocess.Popen([sys.executable, os.path.abspath(__file__), program, str(seed), name], stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True) for name in MATCHES]
    bad = 0
    for name, child in zip(MATCHES, children):
        print(child.communicate()[0], end="")
        if child.returncode not in (0, 1):
            print("FAIL %s: exit status %d" % (name, child.returncode))
        bad |= child.returncode
    print("seed=%d" % seed)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
