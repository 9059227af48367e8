"""channel.py - RetroArch's packet channel, section 11 of net/PROTOCOL.md, and the link in it, from that page alone."""

import ipaddress

from primitives import Malformed, Version, Writer, need

LETTERS = b"abcdefghijklmnopqrstuvwxyz"
DIGITS = b"0123456789"
PLAIN = LETTERS + LETTERS.upper() + DIGITS + b"-._~"


def read_room(text):
    out = bytearray()
    while text:
        byte, text = text[0], text[1:]
        if byte == ord("%"):
            need(len(text) >= 2 and all(c in b"0123456789abcdefABCDEF" for c in text[:2]))
            byte, text = int(text[:2], 16), text[2:]
        else:
            need(byte in PLAIN)
        out.append(byte)
    try:
        decoded = out.decode("utf-8")
    except UnicodeDecodeError:
        raise Malformed from None
    need(1 <= len(decoded) <= 23)
    need(not any(ord(c) < 0x20 or ord(c) == 0x7f for c in decoded))
    return out.hex()


def need_name(host):
    need(1 <= len(host) <= 253 and all(c in LETTERS + DIGITS + b"-." for c in host))
    need(all(label[:1] not in (b"-", b"") for label in host.rstrip(b".").split(b".")))
    need(not host.endswith(b".."))


def read_ipv6(host):
    """"[2001:db8::1]", written as RFC 5952 has it; IPv4 in it as four numbers alone."""
    need(host[-1:] == b"]" and b"%" not in host)
    try:
        address = ipaddress.IPv6Address(host[1:-1].decode("ascii"))
    except ValueError:
        raise Malformed from None
    return str(address.ipv4_mapped or address.compressed).encode()


def read_link(text):
    """All parts are there: host, port, room, fingerprint."""
    need(text[:10].lower() == b"keylock://")
    address, slash, rest = text[10:].partition(b"/")
    host, colon, port = address.lower().rpartition(b":")
    room, hash_sign, fingerprint = rest.partition(b"#")
    need(slash and colon and hash_sign)
    if host[:1] == b"[":
        host = read_ipv6(host)
    else:
        need_name(host)
    need(1 <= len(port) <= 5 and all(c in DIGITS for c in port) and port[:1] != b"0" and int(port) <= 65535)
    fingerprint = fingerprint.lower()
    need(len(fingerprint) == 32 and all(c in LETTERS + b"234567" for c in fingerprint))
    return [host.hex(), int(port), read_room(room), fingerprint.hex()]


def read_channel(r, _seats):
    need(r.left() <= 1500)
    kind = r.u(1)
    p = [kind]
    if kind == 1:
        need(r.take(4) == b"KLNP")
        p.append(r.u(2))
        if p[1] != 2:
            raise Version
        p.append(r.u(2))
    elif kind == 2:
        p.append(r.u(1, 1))
        p += read_link(r.take(r.left()))
    elif kind == 3:
        p.append(r.u(1, 1))
    elif kind == 4:
        p.append(r.str(479))
    elif kind == 6:
        p.append(r.u(4))
        need(r.left() <= 1400)
        p.append(r.hex(r.left()))
    else:
        need(kind == 5)
    r.end()
    return p


def write_link(host, port, room, fingerprint, rng):
    room = "".join(chr(b) if b in PLAIN and rng.random() < 0.9 else "%%%02X" % b for b in bytes.fromhex(room))
    return b"keylock://%s:%d/%s#%s" % (bytes.fromhex(host), port, room.encode(), bytes.fromhex(fingerprint))


def write_channel(p, rng):
    w = Writer()
    w.u(1, p[0])
    if p[0] == 1:
        w.out += b"KLNP"
        w.u(2, p[1]), w.u(2, p[2])
    elif p[0] == 2:
        w.u(1, p[1])
        w.out += write_link(*p[2:], rng)
    elif p[0] == 3:
        w.u(1, p[1])
    elif p[0] == 4:
        w.str(p[1])
    elif p[0] == 6:
        w.u(4, p[1]), w.hex(p[2])
    return bytes(w.out)
