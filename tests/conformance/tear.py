#!/usr/bin/env python3
"""tear.py FOLDER FRAMES - a power cut, for each room of a journal: the records of so many newest frames never reached the disk,
and half of the one before. The places are those of net/relay/durable/tail.h."""
import glob
import os
import struct
import sys

HEAD, SLOT, BASE, MAC, FRAMES = 64, 192 * 1024, 64, 16, 2


def newest_slot(whole):
    return max((struct.unpack_from("<Q", whole, at)[0], at) for at in (HEAD, HEAD + SLOT))[1]


def records(whole, at):
    """(place, the frame after its last) of the slot's pieces."""
    place = at + BASE
    while whole[place]:
        kind, length = struct.unpack_from("<BH", whole, place)
        first, count = struct.unpack_from("<IB", whole, place + 3)
        if kind == FRAMES:
            yield place, first + count
        place += 3 + length + MAC


def tear(folder, frames, before=None):
    """The paths of the tails. before: frames are counted from this one back, not from the newest."""
    torn = glob.glob(os.path.join(glob.escape(folder), "*.tail"))
    for path in torn:
        with open(path, "r+b") as f:
            whole = f.read()
            at = newest_slot(whole)
            pieces = list(records(whole, at))
            end = before or max(end for _, end in pieces)
            cut = min(place for place, to in pieces if to > end - frames) + 5
            f.seek(cut)
            f.write(bytes(at + SLOT - cut))
    return torn


if __name__ == "__main__":
    sys.exit(0 if tear(sys.argv[1], int(sys.argv[2])) else 1)
