#!/usr/bin/env python3
"""beyond.py - what 10,000 and 1,000,000 players would take, computed from the tables of docs/measured.md; DOCUMENT=1 writes it there.

No machine here holds so many. Each figure is one of the tables' times a number that stands in the output."""
import os
import re
import sys

import ahead_paper
import bench

FPS, ROOM = 60, 2
SHARE = 0.7                     # of a processor: the rest is for bursts, joins and the journal
PROCESSORS, GBIT = 8, 1.0       # of a rented machine
PLAYERS = (1000, 10000, 1000000)
RELAY_MOST = 15 * 4095          # processes of a relay, and the sessions of each


def tables(text, begin):
    """Rows of the first table behind these words."""
    rows = re.search(r"\n((?:\|.*\n)+)", text[text.index(begin):]).group(1).splitlines()
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def figures(text):
    timed = [row for row in tables(text, "<!-- bench-relay-sockets -->")[2:] if "void" not in row[8]]
    us = float(timed[-1][1])
    bytes_of = {row[0]: row[1] for row in tables(text, "## On the wire")}
    up, down = (float(v) for v in bytes_of["mashing"].split(" / "))
    room = int({row[0]: row[1] for row in tables(text, "Memory of a room")}["2"].replace(",", ""))
    session = int(re.search(r"session of the hub has ([\d,]+) bytes", text).group(1).replace(",", ""))
    hour = 1024 * int(re.search(r"The history of an hour, [^:]*: (\d+) KiB", text).group(1))
    return {"us": us, "at": int(timed[-1][0]), "up": up, "down": down, "room": room, "session": session, "hour": hour}


def take(f, players):
    processors = players * FPS * f["us"] / 1e6 / SHARE
    memory = players * f["session"] + players / ROOM * (f["room"] + f["hour"])
    up, down = players * f["up"] * 8e3 / 1e9, players * f["down"] * 8e3 / 1e9
    by = {"processors": processors / PROCESSORS, "wire": max(up, down) / GBIT / SHARE, "sessions": players / RELAY_MOST}
    relays = max(1, -(-max(by.values()) // 1))
    return {"players": players, "processors": processors, "gib": memory / 2**30, "up": up, "down": down, "relays": int(relays), "by": max(by, key=by.get)}


def main():
    path = os.path.join(bench.ROOT, "docs", "measured.md")
    with open(path) as f:
        figure = figures(f.read())
    a_core = SHARE * 1e6 / FPS / figure["us"]
    rows = [take(figure, n) for n in PLAYERS]
    text = (f"\nFrom {figure['us']:g} µs an UPDATE at {figure['at']} clients, {figure['up']:g} / {figure['down']:g} kB/s, {figure['room']:,} bytes a room, {figure['session']:,} a "
            f"session and {figure['hour']:,} of history an hour; rooms of two, mashing at RTT 100, an hour old. A processor is used to {100 * SHARE:.0f} %, so it has "
            f"{a_core:,.0f} players; a machine has {PROCESSORS} processors and {GBIT:g} Gbit/s, used as much.")
    text = "\n" + ahead_paper.wrapped(text.strip()) + "\n" + "\n".join(
        ["| players | processors | memory, GiB | Gbit/s up / down | machines, and what bounds them |", "| --- | --- | --- | --- | --- |"] +
        [f"| {r['players']:,} | {r['processors']:,.1f} | {r['gib']:,.2f} | {r['up']:,.2f} / {r['down']:,.2f} | {r['relays']:,}, {r['by']} |" for r in rows]) + "\n\n"
    print(text)
    if os.environ.get("DOCUMENT"):
        ahead_paper.replace("bench-beyond", text)


if __name__ == "__main__":
    sys.exit(main())
