"""Curves and ciphers that net/PROTOCOL.md §2 and §9 name and Python's library lacks, from their own documents:
X25519 (RFC 7748), ChaCha20-Poly1305 (RFC 8439), HChaCha20 (draft-irtf-cfrg-xchacha), Ed25519 (RFC 8032),
ristretto255 (RFC 9496), SipHash-2-4-128. Slow, and no secret is safe with it: for tests alone.
"""
import hashlib
import struct

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
SQRT_M1 = pow(2, (P - 1) // 4, P)


# --- X25519 ----------------------------------------------------------------------------------------------------

def x25519(scalar, point=(9).to_bytes(32, "little")):
    k = int.from_bytes(scalar, "little") & ~7 & (2**254 - 1) | 2**254
    u = int.from_bytes(point, "little") % 2**255 % P
    x2, z2, x3, z3 = 1, 0, u, 1
    for t in reversed(range(255)):
        bit = k >> t & 1
        if bit:
            x2, x3, z2, z3 = x3, x2, z3, z2
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        aa, bb, da, cb = a * a, b * b, d * a, c * b
        e = aa - bb
        x3, z3 = (da + cb)**2 % P, u * (da - cb)**2 % P
        x2, z2 = aa * bb % P, e * (aa + 121665 * e) % P
        if bit:
            x2, x3, z2, z3 = x3, x2, z3, z2
    return (x2 * pow(z2, P - 2, P) % P).to_bytes(32, "little")


# --- ChaCha20-Poly1305 -----------------------------------------------------------------------------------------

def _rotate(v, n):
    return (v << n | v >> (32 - n)) & 0xffffffff


def _rounds(s):
    for i in range(10):
        for a, b, c, d in ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
                           (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)):
            s[a] = (s[a] + s[b]) & 0xffffffff; s[d] = _rotate(s[d] ^ s[a], 16)
            s[c] = (s[c] + s[d]) & 0xffffffff; s[b] = _rotate(s[b] ^ s[c], 12)
            s[a] = (s[a] + s[b]) & 0xffffffff; s[d] = _rotate(s[d] ^ s[a], 8)
            s[c] = (s[c] + s[d]) & 0xffffffff; s[b] = _rotate(s[b] ^ s[c], 7)


def _start(key, rest):
    return list(struct.unpack("<16I", b"expand 32-byte k" + key + rest))


def _block(key, counter, nonce):
    start = _start(key, struct.pack("<I", counter) + nonce)
    s = start[:]
    _rounds(s)
    return struct.pack("<16I", *((a + b) & 0xffffffff for a, b in zip(s, start)))


def hchacha20(key, nonce16):
    s = _start(key, nonce16)
    _rounds(s)
    return struct.pack("<8I", *(s[:4] + s[12:]))


def _stream(key, nonce, data):
    pad = b"".join(_block(key, 1 + i, nonce) for i in range((len(data) + 63) // 64))
    return bytes(a ^ b for a, b in zip(data, pad))


def _poly1305(key, data):
    r = int.from_bytes(key[:16], "little") & 0x0ffffffc0ffffffc0ffffffc0fffffff
    h = 0
    for i in range(0, len(data), 16):
        h = (h + int.from_bytes(data[i:i + 16] + b"\x01", "little")) * r % (2**130 - 5)
    return ((h + int.from_bytes(key[16:], "little")) % 2**128).to_bytes(16, "little")


def _aead_tag(key, nonce, sealed, extra):
    pad = lambda b: b + bytes(-len(b) % 16)
    text = pad(extra) + pad(sealed) + struct.pack("<QQ", len(extra), len(sealed))
    return _poly1305(_block(key, 0, nonce)[:32], text)


def chacha_seal(key, nonce, body, extra):
    sealed = _stream(key, nonce, body)
    return sealed + _aead_tag(key, nonce, sealed, extra)


def chacha_open(key, nonce, data, extra):
    """The body, or None."""
    if len(data) < 16 or _aead_tag(key, nonce, data[:-16], extra) != data[-16:]:
        return None
    return _stream(key, nonce, data[:-16])


# --- SipHash-2-4-128 -------------------------------------------------------------------------------------------

def siphash128(key, data):
    mask = 2**64 - 1
    rotate = lambda x, b: (x << b | x >> (64 - b)) & mask
    k0, k1 = struct.unpack("<QQ", key)
    v = [k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d ^ 0xee, k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573]

    def rounds(n):
        for _ in range(n):
            v[0] = (v[0] + v[1]) & mask; v[1] = rotate(v[1], 13) ^ v[0]; v[0] = rotate(v[0], 32)
            v[2] = (v[2] + v[3]) & mask; v[3] = rotate(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) & mask; v[3] = rotate(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) & mask; v[1] = rotate(v[1], 17) ^ v[2]; v[2] = rotate(v[2], 32)

    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) & 255])
    for (word,) in struct.iter_unpack("<Q", padded):
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xee
    rounds(4)
    first = v[0] ^ v[1] ^ v[2] ^ v[3]
    v[1] ^= 0xdd
    rounds(4)
    return struct.pack("<QQ", first, v[0] ^ v[1] ^ v[2] ^ v[3])


# --- the twisted Edwards curve, in extended coordinates ----------------------------------------------------------

NEUTRAL = (0, 1, 1, 0)


def _add(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def _times(k, p):
    out = NEUTRAL
    while k:
        if k & 1:
            out = _add(out, p)
        p, k = _add(p, p), k >> 1
    return out


def _base():
    y = 4 * pow(5, P - 2, P) % P
    xx = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(xx, (P + 3) // 8, P)
    if (x * x - xx) % P:
        x = x * SQRT_M1 % P
    if x & 1:
        x = P - x
    return x, y, 1, x * y % P


BASE = _base()


# --- Ed25519: making keys and signatures -------------------------------------------------------------------------

def _compress(p):
    inverse = pow(p[2], P - 2, P)
    x, y = p[0] * inverse % P, p[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def _expand(seed):
    h = hashlib.sha512(seed).digest()
    return int.from_bytes(h[:32], "little") & ~7 & (2**254 - 1) | 2**254, h[32:]


def ed25519_public(seed):
    return _compress(_times(_expand(seed)[0], BASE))


def ed25519_sign(seed, text):
    a, prefix = _expand(seed)
    number = lambda data: int.from_bytes(hashlib.sha512(data).digest(), "little") % ORDER
    r = number(prefix + text)
    point = _compress(_times(r, BASE))
    s = (r + number(point + ed25519_public(seed) + text) * a) % ORDER
    return point + s.to_bytes(32, "little")


def _decompress(data):
    y, odd = int.from_bytes(data, "little") & (2**255 - 1), data[31] >> 7
    xx = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(xx, (P + 3) // 8, P)
    x = x if (x * x - xx) % P == 0 else x * SQRT_M1 % P
    assert (x * x - xx) % P == 0 and y < P, "a point of the curve"
    x = P - x if x & 1 != odd else x
    return x, y, 1, x * y % P


def ed25519_verify(public, text, signature):
    k = int.from_bytes(hashlib.sha512(signature[:32] + public + text).digest(), "little") % ORDER
    s = int.from_bytes(signature[32:], "little")
    return s < ORDER and _compress(_times(s, BASE)) == _compress(_add(_decompress(signature[:32]), _times(k, _decompress(public))))


def ed25519_as_x25519(public):
    y = int.from_bytes(public, "little") & (2**255 - 1)
    return ((1 + y) * pow(1 - y, P - 2, P) % P).to_bytes(32, "little")


# --- ristretto255 ------------------------------------------------------------------------------------------------

def _is_negative(x):
    return x % P & 1


def _absolute(x):
    return -x % P if _is_negative(x) else x % P


def _sqrt_ratio(u, v):
    """(was a square, root of u/v or of i*u/v)"""
    r = u * v**3 * pow(u * v**7, (P - 5) // 8, P) % P
    check = v * r * r % P
    u %= P
    if check in (-u % P, -u * SQRT_M1 % P):
        r = r * SQRT_M1 % P
    return check in (u, -u % P), _absolute(r)


SQRT_AD_MINUS_ONE = _sqrt_ratio(-D - 1, 1)[1]
if _is_negative(SQRT_AD_MINUS_ONE) != 1:
    SQRT_AD_MINUS_ONE = P - SQRT_AD_MINUS_ONE
INVSQRT_A_MINUS_D = _sqrt_ratio(1, -1 - D)[1]


def ristretto_decode(data):
    """A point, or None where the bytes are none."""
    s = int.from_bytes(data, "little")
    if s >= P or s & 1:
        return None
    u1, u2 = (1 - s * s) % P, (1 + s * s) % P
    v = (-(D * u1 * u1) - u2 * u2) % P
    square, inverse = _sqrt_ratio(1, v * u2 * u2)
    dx = inverse * u2 % P
    dy = inverse * dx * v % P
    x, y = _absolute(2 * s * dx), u1 * dy % P
    t = x * y % P
    if not square or t & 1 or y == 0:
        return None
    return x, y, 1, t


def ristretto_encode(p):
    x0, y0, z0, t0 = p
    u1, u2 = (z0 + y0) * (z0 - y0) % P, x0 * y0 % P
    inverse = _sqrt_ratio(1, u1 * u2 * u2)[1]
    d1, d2 = inverse * u1 % P, inverse * u2 % P
    z_inverse = d1 * d2 * t0 % P
    if _is_negative(t0 * z_inverse):
        x, y, d = y0 * SQRT_M1 % P, x0 * SQRT_M1 % P, d1 * INVSQRT_A_MINUS_D % P
    else:
        x, y, d = x0, y0, d2
    if _is_negative(x * z_inverse):
        y = -y % P
    return _absolute(d * (z0 - y)).to_bytes(32, "little")


def _elligator(t):
    r = SQRT_M1 * t * t % P
    u, v = (r + 1) * (1 - D * D) % P, (-1 - r * D) * (r + D) % P
    square, s = _sqrt_ratio(u, v)
    c = -1
    if not square:
        s, c = -_absolute(s * t) % P, r
    n = (c * (r - 1) * (D - 1)**2 - v) % P
    w0, w1 = 2 * s * v % P, n * SQRT_AD_MINUS_ONE % P
    w2, w3 = (1 - s * s) % P, (1 + s * s) % P
    return w0 * w3 % P, w2 * w1 % P, w1 * w3 % P, w0 * w2 % P


def ristretto_from_hash(hash64):
    half = lambda b: int.from_bytes(b, "little") % 2**255
    return _add(_elligator(half(hash64[:32])), _elligator(half(hash64[32:])))


def ristretto_times(k, p):
    return _times(k % ORDER, p)
