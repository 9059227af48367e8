#!/usr/bin/env python3
"""Packs the arcade sets of tests/cores/arcade_core.c, whose table of drivers knows their members by checksum.

    sets.py FOLDER
    sets.py OUT.zip|OUT.7z SET… [-METHOD] [+NAME=TEXT] [~NAME] [!NAME]

duel.zip is a game, duelj.zip its clone, which takes duel.gfx from its parent. brawl.zip needs the BIOS in
arcbios.zip. Members are noise from a seed, so every build packs the same bytes.

The second form packs the members of the sets in another way. A SET may be the path of a zip.
    -METHOD     deflate, store; of a 7z also lzma1, lzma2
    +NAME=TEXT  one more member, the first of the archive; NAME=TEXT alone: the last
    ~NAME       one byte of this member differs
    !NAME       the same, and the zip states the checksum of the right bytes
    ^NAME       this member differs and has the same checksum
"""
import ctypes
import random
import sys
import zipfile
import zlib

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


def pack_zip(path, members, method="deflate"):
    how = zipfile.ZIP_STORED if method == "store" else zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(path, "w", how) as out:
        for name, data in members:
            out.writestr(zipfile.ZipInfo(name), data, how)


def pack_7z(path, members, method="lzma1"):
    la = ctypes.CDLL("libarchive.so.13")
    for name in ("archive_write_new", "archive_entry_new"):
        getattr(la, name).restype = ctypes.c_void_p
    la.archive_write_data.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
    la.archive_write_data.restype = ctypes.c_ssize_t
    out = ctypes.c_void_p(la.archive_write_new())
    la.archive_write_set_format_7zip(out)
    assert la.archive_write_set_options(out, f"compression={method}".encode()) == 0, method
    assert la.archive_write_open_filename(out, path.encode()) == 0, path
    for name, data in members:
        entry = ctypes.c_void_p(la.archive_entry_new())
        la.archive_entry_set_pathname(entry, name.encode())
        la.archive_entry_set_size(entry, ctypes.c_int64(len(data)))
        la.archive_entry_set_filetype(entry, 0o100000)
        la.archive_entry_set_perm(entry, 0o644)
        assert la.archive_write_header(out, entry) == 0
        assert la.archive_write_data(out, data, len(data)) == len(data)
        la.archive_entry_free(entry)
    assert la.archive_write_close(out) == 0
    la.archive_write_free(out)


def flip(data):
    return data[:100] + bytes([data[100] ^ 1]) + data[101:]


def differ_with_same_checksum(data):
    """One byte differs, and the four behind it are such that the CRC-32 is the old one: which of their bits change follows
    from what each bit changes, by elimination."""
    base = flip(data)
    zero = zlib.crc32(base)
    rows = []
    for bit in range(32):
        other = bytearray(base)
        other[101 + bit // 8] ^= 1 << bit % 8
        rows.append((zlib.crc32(other) ^ zero, 1 << bit))
    wanted, bits = zero ^ zlib.crc32(data), 0
    for column in range(32):
        at = next(i for i, (effect, _) in enumerate(rows) if effect >> column & 1)
        pivot = rows.pop(at)
        rows = [(e ^ pivot[0], b ^ pivot[1]) if e >> column & 1 else (e, b) for e, b in rows]
        if wanted >> column & 1:
            wanted, bits = wanted ^ pivot[0], bits ^ pivot[1]
    patch = bytes(b ^ (bits >> 8 * i & 0xFF) for i, b in enumerate(base[101:105]))
    return base[:101] + patch + base[105:]


def state_checksum(path, wrong, right):
    """In local headers and directory alike."""
    with open(path, "rb") as f:
        data = f.read()
    with open(path, "wb") as f:
        f.write(data.replace(zlib.crc32(wrong).to_bytes(4, "little"), zlib.crc32(right).to_bytes(4, "little")))


def repack(path, words):
    first, last, how, flipped, forged, same = [], [], [], [], [], []
    members = []
    for word in words:
        if word[0] == "-":
            how = [word[1:]]
        elif "=" in word:
            name, text = word.lstrip("+").split("=", 1)
            (first if word[0] == "+" else last).append((name, text.encode()))
        elif word[0] in "~!^":
            {"~": flipped, "!": forged, "^": same}[word[0]].append(word[1:])
        elif word.endswith(".zip"):
            with zipfile.ZipFile(word) as source:
                members += [(i.filename, source.read(i)) for i in source.infolist()]
        else:
            members += [(name, member(*SETS[word][name])) for name in SETS[word]]
    whole = dict(members)
    members = [(n, flip(d) if n in flipped + forged else d) for n, d in members]
    members = [(n, differ_with_same_checksum(d) if n in same else d) for n, d in members]
    (pack_7z if path.endswith(".7z") else pack_zip)(path, first + members + last, *how)
    for name in forged:
        state_checksum(path, flip(whole[name]), whole[name])


def main():
    if len(sys.argv) > 2:
        repack(sys.argv[1], sys.argv[2:])
        return
    for name, members in SETS.items():
        pack_zip(f"{sys.argv[1]}/{name}.zip", [(file, member(*seed)) for file, seed in members.items()])


main()
