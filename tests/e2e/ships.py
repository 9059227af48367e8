#!/usr/bin/env python3
"""ships.py SHOT WIDTH GAP - where the ships of the bundled game are, in a shot of two windows WIDTH wide and GAP apart.

Prints four columns in the machine's pixels: the blue and the red ship of the left window, then of the right one. "-": it is not
there. A ship is there if four in five pixels of its drawing (art/sprites.txt) have its colours, so a shot may cover some. The title's
ships, which lean on their sticks, do not count: that picture has no bar of scores."""
import subprocess
import sys

ART = "tests/content/shooter/art/sprites.txt"
SIZE = WIDE, HIGH = 256, 224
COLOURS = {"blue": ("00238c", "1fa5fe", "ffffff"), "red": ("7a0017", "d22c00", "ffffff")}


def drawing():
    """[row of a digit or a dot a pixel], the mirrored half beside the drawn one."""
    with open(ART, encoding="utf-8") as f:
        half = f.read().split("tall SHIP\n")[1].split("\n\n")[0].split()
    return [row + row[::-1] for row in half]


def windows(shot, width, gap):
    """The machine's own pixels in each window."""
    ppm = subprocess.run(["convert", shot, "-depth", "8", "ppm:-"], check=True, capture_output=True).stdout
    _, size, _, pixels = ppm.split(b"\n", 3)
    line, height = map(int, size.split())
    for left in (0, width + gap):
        at = [3 * (left + (2 * x + 1) * width // (2 * WIDE)) for x in range(WIDE)]
        rows = (3 * line * ((2 * y + 1) * height // (2 * HIGH)) for y in range(HIGH))
        yield [pixels[row + x:row + x + 3] for row in rows for x in at]


def column(pixels, colours):
    """Of the ship with these colours; "-": there is none."""
    if pixels[0] == bytes(3):
        return "-"
    colour = dict(zip("123", map(bytes.fromhex, colours)))
    parts = [(y * WIDE + x, colour[c]) for y, row in enumerate(drawing()) for x, c in enumerate(row) if c != "."]
    most, where = 0, "-"
    for top in range(len(pixels) - 16 * WIDE):
        # one of the four pixels in its middle is not covered
        if all(pixels[top + 4 * WIDE + x] != colour[c] for x, c in ((7, "3"), (8, "3"), (6, "2"), (9, "2"))):
            continue
        same = sum(pixels[top + at] == c for at, c in parts)
        if 5 * same >= 4 * len(parts) and same > most:
            most, where = same, top % WIDE
    return where


print(*(column(pixels, colours) for pixels in windows(sys.argv[1], *map(int, sys.argv[2:])) for colours in COLOURS.values()))
