#!/usr/bin/env python3
"""tear.py FOLDER BYTES - a power cut, for each room of a journal: so many bytes that its tail's newest slot was given last never
reached the disk. BYTES may be a share of them, as "0.25". The places are those of net/relay/durable/tail.h."""
import glob
import os
import struct
import sys

HEAD, SLOT = 64, 192 * 1024


def tear(folder, count):
    """The paths of the tails that lost something."""
    torn = glob.glob(os.path.join(glob.escape(folder), "*.tail"))
    for path in torn:
        with open(path, "r+b") as f:
            whole = f.read()
            _, at = max((struct.unpack_from("<Q", whole, at)[0], at) for at in (HEAD, HEAD + SLOT))
            used = len(whole[at:at + SLOT].rstrip(b"\0"))
            lost = min(int(count * used if isinstance(count, float) else count), used)
            f.seek(at + used - lost)
            f.write(bytes(lost))
    return torn


if __name__ == "__main__":
    count = sys.argv[2]
    sys.exit(0 if tear(sys.argv[1], float(count) if "." in count else int(count)) else 1)
