"""packing.py - snapshots as they go over the wire: zstd (RFC 8878) whole or against a base. §7 of net/ROOMS.md, Snapshots.

The library is the system's zstd, over its documented functions."""
import ctypes
import ctypes.util
import hashlib

SLICE = 128 * 1024
WINDOW_LOG, WINDOW_LOG_MAX, LEVEL = 101, 20, 100

zstd = ctypes.CDLL(ctypes.util.find_library("zstd"))
for name in ("ZSTD_createCCtx", "ZSTD_createDCtx"):
    getattr(zstd, name).restype = ctypes.c_void_p
for name in ("ZSTD_compress2", "ZSTD_decompressDCtx", "ZSTD_compressBound"):
    getattr(zstd, name).restype = ctypes.c_size_t
P, N = ctypes.c_void_p, ctypes.c_size_t
zstd.ZSTD_compressBound.argtypes = [N]
zstd.ZSTD_CCtx_setParameter.argtypes = [P, ctypes.c_int, ctypes.c_int]
zstd.ZSTD_CCtx_refPrefix.argtypes = zstd.ZSTD_DCtx_refPrefix.argtypes = [P, ctypes.c_char_p, N]
zstd.ZSTD_compress2.argtypes = zstd.ZSTD_decompressDCtx.argtypes = [P, ctypes.c_char_p, N, ctypes.c_char_p, N]
zstd.ZSTD_freeCCtx.argtypes = zstd.ZSTD_freeDCtx.argtypes = [P]


def digest(data):
    return hashlib.blake2b(data, digest_size=32).digest()


def frame(data, prefix=b""):
    context = zstd.ZSTD_createCCtx()
    zstd.ZSTD_CCtx_setParameter(context, WINDOW_LOG, WINDOW_LOG_MAX)
    zstd.ZSTD_CCtx_refPrefix(context, prefix, len(prefix))
    out = ctypes.create_string_buffer(zstd.ZSTD_compressBound(len(data)))
    size = zstd.ZSTD_compress2(context, out, len(out), data, len(data))
    zstd.ZSTD_freeCCtx(context)
    return out.raw[:size]


def pack(data, base=None):
    if base is None:
        return frame(data)
    return b"".join(frame(data[at:at + SLICE], base[at:at + SLICE]) for at in range(0, len(data), SLICE))


def unpack(packed, length):
    """One whole frame; None if it is none of that length."""
    context, out = zstd.ZSTD_createDCtx(), ctypes.create_string_buffer(length)
    size = zstd.ZSTD_decompressDCtx(context, out, length, packed, len(packed))
    zstd.ZSTD_freeDCtx(context)
    return out.raw if size == length else None
