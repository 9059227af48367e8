"""curves.py - curves and ciphers that net/PROTOCOL.md §2 and §9 name and Python's library lacks, by libsodium. A constant of the
protocol that names another cipher or another order of its arguments shows; a fault of libsodium's own does not.
"""
import ctypes

sodium = ctypes.CDLL("libsodium.so.23")
ORDER = 2**252 + 27742317777372353535851937790883648493


class Rejected(Exception):
    """libsodium rejected what came: bytes that are no point, or the neutral one."""


def call(name, size, *arguments):
    """The bytes that a function of libsodium writes to its first argument."""
    out = ctypes.create_string_buffer(size)
    if getattr(sodium, "crypto_" + name)(out, *arguments) != 0:
        raise Rejected(name)
    return out.raw


def count(data):
    return ctypes.c_ulonglong(len(data))


def x25519(scalar, point=None):
    return call("scalarmult_base", 32, scalar) if point is None else call("scalarmult", 32, scalar, point)


def chacha_seal(key, nonce, body, extra):
    return call("aead_chacha20poly1305_ietf_encrypt", len(body) + 16, None, body, count(body), extra, count(extra), None, nonce, key)


def chacha_open(key, nonce, data, extra):
    """The body, or None."""
    try:
        return call("aead_chacha20poly1305_ietf_decrypt", max(len(data) - 16, 0), None, None, data, count(data), extra, count(extra), nonce, key)
    except Rejected:
        return None


def siphash128(key, data):
    return call("shorthash_siphashx24", 16, data, count(data), key)


def ed25519_keys(seed):
    secret = ctypes.create_string_buffer(64)
    return call("sign_seed_keypair", 32, secret, seed), secret.raw


def ed25519_public(seed):
    return ed25519_keys(seed)[0]


def ed25519_sign(seed, text):
    return call("sign_detached", 64, None, text, count(text), ed25519_keys(seed)[1])


def ed25519_verify(public, text, signature):
    return sodium.crypto_sign_verify_detached(signature, text, count(text), public) == 0


def ed25519_as_x25519(public):
    return call("sign_ed25519_pk_to_curve25519", 32, public)


def ristretto_from_hash(hash64):
    return call("core_ristretto255_from_hash", 32, hash64)


def ristretto_times(k, point):
    return call("scalarmult_ristretto255", 32, k.to_bytes(32, "little"), point)
