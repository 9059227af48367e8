#!/usr/bin/env python3
"""judge_trace.py NAME TRACE [--watch FILE] ... - judges the CSV of `keylock run --trace` or KEYLOCK_TRACE.

Prints `ok NAME/...` or `FAIL NAME/...: why` lines and exits with 1 when something failed. The machine's own hitches (hitches.py)
are named and taken off. Where it stood still for more than a third of the time, lead, late frames and the settling are only noted:
they follow from its hitches for longer than these last. tests/sim judges them in virtual time.
  --after S        leaves out the first S seconds after frame 0 (0)
  --fps F          the core's own rate, and of it
  --min-share X    at least this share must have been run
  --max-lead N     average lead in frames, at most
  --max-lead-held-back N  the same where the machine stood still for over 100 ms in all
  --max-late X     share of frames that were due and not there, at most
  --late-bucket N FRAMES  if that is more: so many late frames, and one in each FRAMES
  --watch FILE     the lines of hitches.py
  --max-gap MS     nobody who asks waits longer for a frame, less what the machine stood still meanwhile
  --one-gap A B    exactly one gap without frames is longer than A seconds, and it is shorter than B
  --settled S      S seconds after that gap the lead is back within two frames of what it was, and 60 fps held"""
import argparse
import csv
import math
import os
import sys

parser = argparse.ArgumentParser()
parser.add_argument("name")
parser.add_argument("trace")
parser.add_argument("--watch")
parser.add_argument("--after", type=float, default=0)
parser.add_argument("--fps", type=float)
parser.add_argument("--min-share", type=float)
parser.add_argument("--max-lead", type=float)
parser.add_argument("--max-lead-held-back", type=float)
parser.add_argument("--max-late", type=float)
parser.add_argument("--late-bucket", type=int, nargs=2, default=(0, math.inf))
parser.add_argument("--max-gap", type=float)
parser.add_argument("--one-gap", type=float, nargs=2)
parser.add_argument("--settled", type=float)
a = parser.parse_args()
failed = False


def say(good, what, text, follows=False):
    """follows: it follows from earlier hitches, too."""
    global failed
    noted = follows and not good and stood_ms > seconds * 1000 / 3
    failed |= not good and not noted
    print(f"{'     noted' if noted else 'ok' if good else 'FAIL'} {a.name}/{what}: {text}", flush=True)


with open(a.trace, newline="") as f:
    rows = list(csv.DictReader(f))
ran = [r for r in rows if int(r["run"]) > 0]
if not ran:
    print(f"FAIL {a.name}: the trace holds no frame")
    sys.exit(1)
# Its lines are written as they happen, so the file's time is that of its last.
zero_us = os.stat(a.trace).st_mtime_ns / 1e3 - int(rows[-1]["wall_us"])
start = int(ran[0]["wall_us"]) + a.after * 1e6
rows = [r for r in rows if int(r["wall_us"]) >= start]
ran = [r for r in ran if int(r["wall_us"]) >= start]
if len(ran) < 60:
    print(f"FAIL {a.name}: only {len(ran)} calls ran frames after the first {a.after:g} s")
    sys.exit(1)
begin, end = int(ran[0]["wall_us"]), int(ran[-1]["wall_us"])
frames = int(ran[-1]["first"]) - int(ran[0]["first"])  # run between the two calls' beginnings
seconds = (end - begin) / 1e6
leads = [float(r["lead"]) for r in ran if float(r["lead"]) > 0]
gap = max((int(y["wall_us"]) - int(x["wall_us"]) for x, y in zip(ran, ran[1:])), default=0) / 1000
lead = sum(leads) / len(leads) if leads else 0

held = []  # (end of a tenth of a second by the trace's clock, ms)
if a.watch:
    with open(a.watch) as f:
        held = [(us - zero_us, ms) for us, ms in (map(float, line.split()[:2]) for line in f if line.strip())]
    held = [(us, ms) for us, ms in held if begin <= us <= end + 100000]
hitches = [ms for _, ms in held if ms > 8]
stood_ms = sum(hitches)
if a.watch:
    print(f"     {a.name}: the machine stood still for {stood_ms:.0f} ms of {seconds * 1e3:.0f}, in a tenth of a second for {max(hitches, default=0):.0f} at most")
if a.min_share:
    fps = frames / seconds
    owed = math.ceil(a.min_share * a.fps * seconds) - frames  # frames short of the expected number
    excused = min(max(0, owed), math.ceil(stood_ms / 1000 * a.fps))
    say(owed <= excused, "fps",
        f"{fps:.3f} of the core's {a.fps:g} over {seconds:.1f} s, longest gap {gap:.0f} ms"
        f" (expected {a.min_share * a.fps:.2f} at least{f'; {excused} frames short by the machine' if excused else ''})")
if a.max_lead:
    limit, why = a.max_lead, ""
    if a.max_lead_held_back and stood_ms > 100:
        limit, why = a.max_lead_held_back, f", not {a.max_lead:g}, as the machine stood still for {stood_ms:.0f} ms"
    say(0 < round(lead, 2) <= limit, "lead",
        f"{lead:.2f} frames on average, largest {max(leads, default=0):.2f} (expected at most {limit:g}{why})", follows=True)
if a.max_late is not None:
    late = sum(int(r["stall"]) for r in rows)
    excused = min(late, sum(math.ceil(ms / 16.7) for ms in hitches))
    most = max(math.floor(a.max_late * frames), a.late_bucket[0] + math.floor(frames / a.late_bucket[1]))
    say(late - excused <= most, "late",
        f"{late} of {frames} frames late, {excused} of them at most by the machine: {late - excused} (expected at most {most})", follows=True)
if a.max_gap:
    # Judged is the time in which a calling player gets no frame. A late call is the fault of the player's own machine.
    def wait(x, y):
        """From the first call between these two, both of which ran frames, to the second; and the same less what the
        machine stood still in the tenths of a second that overlap with it."""
        at = [int(r["wall_us"]) for r in rows[x + 1:y + 1]]
        begin, end = at[0], at[-1]
        return (end - begin) / 1000, sum(ms for t, ms in held if begin - 50000 <= t and t - 150000 <= end), at[0] / 1e6
    places = [i for i, r in enumerate(rows) if int(r["run"]) > 0]
    waits = [(ms, max(0, ms - took), at) for ms, took, at in (wait(x, y) for x, y in zip(places, places[1:]))]
    worst = max(ms for _, ms, _ in waits)
    say(worst <= a.max_gap, "gap", f"longest waits for a frame, in ms at s (less what the machine stood still): "
        + ", ".join(f"{ms:.0f} at {at:.1f} ({less:.0f})" for ms, less, at in sorted(waits, reverse=True)[:4])
        + f" (expected at most {a.max_gap:g})")
if a.one_gap:
    low, high = a.one_gap
    stood = lambda at, till: sum(ms for t, ms in held if at - 50000 <= t and t - 150000 <= till) / 1000
    walls = [int(r["wall_us"]) for r in ran]
    gaps = [((y - x) / 1e6, stood(x, y), i) for i, (x, y) in enumerate(zip(walls, walls[1:])) if y - x > low * 1e6]
    longest = max(gaps, key=lambda g: g[0] - g[1], default=(0, 0, 0))
    others = [g for g in gaps if g != longest and g[0] - g[1] > low]
    say(bool(gaps) and not others and longest[0] - longest[1] < high, "gap",
        f"gaps over {low:g} s: {', '.join(f'{g:.2f} s, for {still:.2f} of it the machine stood still' for g, still, _ in gaps) or 'none'}"
        f" (expected one below {high:g} s)")
    if a.settled and gaps:
        i = longest[2]
        back = int(ran[i + 1]["wall_us"]) + a.settled * 1e6
        after = [r for r in ran if int(r["wall_us"]) >= back]
        earlier = [float(r["lead"]) for r in ran[max(0, i - 120):i]]
        if len(after) < 120:
            say(False, "settled", f"only {len(after)} calls ran frames later than {a.settled:g} s after the gap")
        else:
            fps = (int(after[-1]["first"]) - int(after[0]["first"])) / ((int(after[-1]["wall_us"]) - int(after[0]["wall_us"])) / 1e6)
            then = sum(earlier) / len(earlier)
            now = sum(float(r["lead"]) for r in after[-120:]) / 120
            say(fps > 59 and now <= then + 2, "settled", f"{fps:.2f} fps from {a.settled:g} s after the gap; lead {then:.2f} before, {now:.2f} after", follows=True)
sys.exit(failed)
