#!/usr/bin/env python3
"""client.py RELAY [SEED [MATCH]] - whole clients, written from net/PROTOCOL.md and ENet's public description, at a real relay.

Each match has a relay of its own; some are played at the same time. A line "ok …" is one promise of the document that was
seen to hold. A match that fails while this machine stood still is played again, at most twice. The client: link.py (sessions, ENet, addresses), lock.py (samples, frames, time),
room.py (messages, states), machine.py (in place of a core), packing.py (snapshots). The judge: judge.py, match_*.py."""
import concurrent.futures
import os
import subprocess
import sys
import traceback

sys.dont_write_bytecode = True

import judge
import match_challenge
import match_code
import match_heal
import match_late
import match_optimistic
import match_play
import match_roam
import match_watch

MATCHES = {match.__name__: match for match in (
    match_play.play, match_play.come_back, match_play.versions, match_play.journal, match_play.seal, match_challenge.challenges, match_play.strict, match_play.plain, match_late.late, match_watch.watch, match_heal.heal, match_heal.tie,
    match_heal.liar, match_heal.stranger, match_optimistic.optimistic, match_roam.roam, match_code.code)}


AT_ONCE, TIMES = 6, 3


def play(program, seed, name):
    for time in range(1, TIMES + 1):
        judge.stood_s = 0
        try:
            MATCHES[name](program, seed)
            return 0
        except Exception as error:
            traceback.print_exc(file=sys.stdout)
            words = "%s: %s" % (name, str(error)[:1500] or traceback.extract_tb(error.__traceback__)[-1].line)
        if time < TIMES and judge.stood_s > 0.2:
            print("     %s\n     played again: the machine stood still for %.1f s" % (words, judge.stood_s))
        else:
            print("FAIL " + words)
            return 1


def in_a_process(program, seed, name):
    """(exit status, output)"""
    done = subprocess.run([sys.executable, os.path.abspath(__file__), program, str(seed), name], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def main():
    program, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    if len(sys.argv) > 3:
        return play(program, seed, sys.argv[3])
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as crew:
        for name, (status, output) in zip(MATCHES, crew.map(lambda name: in_a_process(program, seed, name), MATCHES)):
            print(output, end="")
            if status not in (0, 1):
                print("FAIL %s: exit status %d" % (name, status))
            bad |= status
    print("seed=%d" % seed)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
