#!/usr/bin/env python3
"""Packs the arcade sets of tests/cores/arcade_core.c, whose table of drivers knows their members by checksum.

    sets.py FOLDER

duel.zip is a game, duelj.zip its clone, which takes duel.gfx from its parent. brawl.zip needs the BIOS in
arcbios.zip. Members are noise from a seed, so every build packs the same bytes.
"""
import random
import sys
import zipfile

SETS = {
    "duel": {"duel.prg": (1, 4096), "duel.gfx": (2, 8192)},
    "duelj": {"duelj.prg": (3, 4096)},
    "brawl": {"brawl.prg": (4, 4096), "brawl.gfx": (5, 8192)},
    "arcbios": {"arcbios.rom": (6, 4096)},
}


def member(seed, size):
    """Half noise, half zeros: it shrinks when it is packed."""
    dice = random.Random(seed)
    return bytes(dice.getrandbits(8) for _ in range(size // 2)) + bytes(size // 2)


def main():
    for name, members in SETS.items():
        with zipfile.ZipFile(f"{sys.argv[1]}/{name}.zip", "w", zipfile.ZIP_DEFLATED) as out:
            for file, (seed, size) in members.items():
                out.writestr(zipfile.ZipInfo(file), member(seed, size), zipfile.ZIP_DEFLATED)


main()
