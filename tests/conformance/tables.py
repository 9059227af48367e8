"""tables.py - the field tables of net/PROTOCOL.md, read by a program.

A table stands under its heading and begins with | field | type | values | meaning |. This file knows the grammar of the
second and third column, and of the line "Malformed also: `condition`; `condition`." behind a table. Inputs and frames
(sections 3 and 5) are not tables: primitives.py and protocol.py read them."""
import functools
import os
import re

from primitives import Malformed, Reader, Version, read_stream
from protocol import read_frames, read_hints

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../net/PROTOCOL.md")
ROOMS = os.path.join(os.path.dirname(PATH), "ROOMS.md") # its second part: state tables, and no field tables


SAFE = {"__builtins__": {}, "len": len, "max": max, "sum": sum, "any": any, "zip": zip}  # that conditions use


class Refused(Malformed):
    """rule: (table, field, kind of violation)"""

    def __init__(self, *rule):
        super().__init__(rule)
        self.rule = rule


@functools.cache
def compiled(text):
    return compile(text, text, "eval")


def test(condition, known):
    return eval(compiled(condition), SAFE, known)  # our own document


@functools.cache
def number(text):
    return eval(text.replace("^", "**"), SAFE)


class Field:
    def __init__(self, name, kind, values):
        self.name = name.replace(" ", "_")
        kind, _, condition = kind.partition(" if ")
        self.condition = condition
        self.repeat, _, self.kind = kind.rpartition(" × ")
        self.span = re.fullmatch(r"(rest|str|name) (\d+)\.\.(\d+)", self.kind)
        width = re.fullmatch(r"u(\d+)", self.kind)
        self.width = width and int(width[1]) // 8
        self.low = self.high = self.bits = self.exact = None
        if values.startswith('"'):
            self.exact = values.strip('"').encode()
        elif values.startswith("bits "):
            self.bits = sum(number(bit) for bit in values[5:].split(","))
        elif values:
            low, dots, high = values.partition("..")
            self.low, self.high = low, high if dots else low

        plain = all(re.fullmatch(r"[\d^-]+", text) for text in (self.low, self.high) if text)
        self.numbers = [number(text) if text else None for text in (self.low, self.high)] if plain else None

    def limits(self, known):
        return self.numbers or [None if not text else known[text] if text in known else number(text) for text in (self.low, self.high)]


class Table:
    def __init__(self, name):
        self.name, self.fields, self.also = name, [], []


def read_tables(path=PATH):
    """{heading: Table}; a message stands under its name and its number as well."""
    tables, heading, rows = {}, "", None
    with open(path, encoding="utf-8") as f:
        lines = f.read().split("\n")
    for at, line in enumerate(lines):
        if not line:
            rows = None
        elif line.startswith("#"):
            heading, rows = line.lstrip("# "), None
        elif line.startswith("| field | type | values | meaning |"):
            rows = tables[heading] = Table(heading)
        elif line.startswith("| ") and rows and not line.startswith("| ---"):
            cells = [c.strip() for c in line[1:-1].split("|")]
            rows.fields.append(Field(*cells[:3]))
        elif line == "No fields.":
            tables[heading] = Table(heading)
        elif line.startswith("Malformed also:"):
            end = next(n for n in range(at, len(lines)) if not lines[n])
            tables[heading].also = re.findall(r"`([^`]*)`", " ".join(lines[at:end]).split(". ")[0])
    named = dict(tables)
    for heading, table in tables.items():
        if message := re.match(r"(packet )?(\d+) (\w+),", heading):
            named[message[1], int(message[2])] = table
            named.setdefault(message[3], table)
        elif simple := re.match(r"(?:\d+\. )?(\w+)", heading):
            named.setdefault(simple[1], table)
    return named


class Leaf:
    """Where a value stood, for violations of it."""

    def __init__(self, table, field, start, end, low, high):
        self.table, self.field, self.start, self.end, self.low, self.high = table, field, start, end, low, high


class Walk:
    """One message, by its table. known: what the tables do not say (seats of the client)."""

    def __init__(self, tables, data):
        self.tables, self.r, self.leaves = tables, Reader(data), []

    def table(self, table, known=None):
        known, begin = dict(known or {}), self.r.at
        for field in table.fields:
            if field.condition and not test(field.condition, known):
                continue
            if field.repeat:
                times = known[field.repeat]
                known[field.name] = [self.value(table, field, known) for _ in range(times)]
            else:
                known[field.name] = self.value(table, field, known)
        known["size"] = self.r.at - begin
        for condition in table.also:
            if test(condition, known):
                raise Refused(table.name, condition)
        return known

    def value(self, table, field, known):
        start = self.r.at
        low, high = field.limits(known)
        value = self.read(table, field, known)
        measure = len(value) if field.span else value
        self.leaves.append(Leaf(table, field, start, self.r.at, low, high))
        if isinstance(measure, bytes):
            if low == 0 and any(measure) or field.exact not in (None, measure):
                raise Refused(table.name, field.name, "high")
        elif isinstance(measure, int):
            if field.name == "version" and high is not None and not low <= measure <= high:
                raise Version
            if low is not None and measure < low:
                raise Refused(table.name, field.name, "low")
            if high is not None and measure > high:
                raise Refused(table.name, field.name, "high")
            if field.bits is not None and measure & ~field.bits:
                raise Refused(table.name, field.name, "high")
        return value

    def text(self, low, high):
        start = self.r.at
        length = self.r.var()
        if not low <= length <= high:
            raise Refused("str", length < low, "")
        self.r.at = start
        return bytes.fromhex(self.r.str(high, low))

    def name(self, low, high):
        text = self.text(low, 4 * high)
        if len(text.decode("utf-8")) > high:
            raise Refused("name", False, "")
        return text

    def read(self, table, field, known):
        kind, span, r = field.kind, field.span, self.r
        if field.width:
            return r.u(field.width)
        if kind in ("U16", "U32"):
            return int.from_bytes(r.take(int(kind[1:]) // 8), "big")
        if kind == "var":
            return r.var()
        if kind == "svar":
            return r.svar()
        if kind.startswith("bytes "):
            return r.take(known[kind[6:]] if kind[6:] in known else int(kind[6:]))
        if kind == "frames":
            return read_frames(r, known["first"], known["count"])
        if kind == "hints":
            return read_hints(r, known["first"] + known["count"])
        if kind.startswith("stream of "):
            return read_stream(r, known[kind[10:]])
        if span and span[1] != "rest":
            try:
                return (self.text if span[1] == "str" else self.name)(int(span[2]), int(span[3]))
            except Refused as short_or_long:
                raise Refused(table.name, field.name, "low" if short_or_long.rule[1] else "high") from None
        if span:
            rest = r.take(r.left())
            if not int(span[2]) <= len(rest) <= int(span[3]):
                raise Refused(table.name, field.name, "low" if len(rest) < int(span[2]) else "high")
            return rest
        return self.table(self.tables[kind])


def find(tables, what, data):
    if what in ("message", "channel"):
        return tables.get(("packet " if what == "channel" else None, data[0])) if data else None
    if what == "ask":
        return tables["PING" if data[1:2] == b"\x14" else "LIST"]
    return tables[{"ctrl": "CTRL", "update": "UPDATE", "pong": "PONG", "rooms": "ROOMS", "start": "start data", "snapshot": "snapshot"}[what]]


def walk(tables, what, seats, data):
    """(known values, Walk); Malformed, Version."""
    table = find(tables, what, data)
    if table is None:
        raise Malformed
    w = Walk(tables, data)
    if what in ("message", "channel"):
        w.r.u(1)
    known = w.table(table, {"seats": seats} if what == "ctrl" else None)
    if what == "rooms":
        known["lines"] = [w.table(tables["room"]) for _ in range(known["count"])]
    w.r.end()
    return known, w


def verdict(tables, what, seats, data):
    """(None, "malformed" or "version"; the rule that refused it, or None)"""
    try:
        walk(tables, what, seats, data)
    except Refused as refused:
        return "malformed", refused.rule
    except Malformed:
        return "malformed", None
    except Version:
        return "version", None
    return None, None


# --- violations ------------------------------------------------------------------------------------------------

def rules(tables):
    """Every rule that a vector must break: (table, field, "low" or "high"), (table, condition)."""
    out = set()
    for table in set(tables.values()):
        out |= {(table.name, condition) for condition in table.also}
        for field in table.fields:
            low, high = (field.span[2], field.span[3]) if field.span else (field.low, field.high)
            if low and low != "0" and field.name != "version" and not (field.kind.startswith("bytes")):
                out.add((table.name, field.name, "low"))
            top = high and field.width and re.fullmatch(r"[\d^-]+", high) and number(high) == 256**field.width - 1
            if (high or field.bits is not None or field.exact) and not top and field.name != "version":
                out.add((table.name, field.name, "high"))
    return out


def varint(value):
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def violations(w, data):
    """Forms of a good message with one value out of its range, as (the value, bytes)."""
    for leaf in w.leaves:
        yield from ((leaf.table.name + leaf.field.name, bad) for bad in wrong_forms(leaf, data))


def wrong_forms(leaf, data):
    head, tail, kind, span = data[:leaf.start], data[leaf.end:], leaf.field.kind, leaf.field.span
    if span:
        lengths = ([int(span[2]) - 1] if span[2] != "0" else []) + [int(span[3]) + 1]
        for length in lengths:
            yield head + (b"" if span[1] == "rest" else varint(length)) + b"a" * length + tail
    elif leaf.field.bits is not None:
        yield from (head + bytes([1 << bit]) + tail for bit in range(8) if not leaf.field.bits >> bit & 1)
    elif leaf.field.exact:
        yield head + b"?" + data[leaf.start + 1:]
    elif kind.startswith("bytes") and leaf.low == 0:
        yield head + b"\1" + data[leaf.start + 1:]
    elif leaf.field.width or kind == "var":
        width = leaf.field.width or 8
        for value in [] if leaf.low is None else [leaf.low - 1] + ([] if leaf.high is None else [leaf.high + 1]):
            if 0 <= value < 256**width:
                yield head + (varint(value) if kind == "var" else value.to_bytes(width, "little")) + tail


# --- state tables ----------------------------------------------------------------------------------------------

ENDS = {"over", "failed", "the same", "the state before"}


def look_at_states():
    """Every next state of a state table is a state of some table, and every state of a table can be reached in it."""
    lines = []
    for path in (PATH, ROOMS):
        with open(path, encoding="utf-8") as f:
            lines += [(f"{os.path.basename(path)}:{number}", line) for number, line in enumerate(f.read().split("\n"), 1)]
    found, rows = [], None
    for number, line in lines:
        cells = [c.strip() for c in line[1:-1].split("|")] if line.startswith("|") else None
        if not cells:
            rows = None
        elif cells[-1] == "next state":
            found.append((number, rows := []))
        elif rows is not None and not cells[0].startswith("---"):
            rows.append(([s for s in cells[0].split(", ")], re.sub(r" \([^)]*\)", "", cells[-1]).split(", ")))
    known = {s for _, rows in found for states, _ in rows for s in states} | ENDS
    bad = []
    for number, rows in found:
        reached = {s for _, following in rows for s in following} | set(rows[0][0])
        bad += ["%s: no state is called %s" % (number, s) for _, following in rows for s in following if s not in known | {""}]
        bad += ["%s: nothing leads to %s" % (number, s) for states, _ in rows for s in states
                if s not in reached and not s.startswith("any")]
    print("%s state tables of the document: %d %s" % ("FAIL" if bad or len(found) < 10 else "ok", len(found), "; ".join(bad)))
    return not bad


def look_at_messages():
    """A message to the relay, or to the client, stands in the table of what that one does with it (net/ROOMS.md)."""
    with open(PATH, encoding="utf-8") as f:
        messages = re.findall(r"^#### \d+ (\w+), (to the relay|to the client|both ways)", f.read(), re.M)
    with open(ROOMS, encoding="utf-8") as f:
        relay, client = re.findall(r"^### States of a (?:connection|client).*?(?=^###)", f.read(), re.M | re.S)
    bad = [f"{name} {to}" for name, to in messages for end, part in (("to the client", relay), ("to the relay", client))
           if to != end and not re.search(rf"^\|[^|]*\|[^|]*\b{name}\b", part, re.M)]
    print("%s messages that a state table has: %d of %d %s" % ("FAIL" if bad or len(messages) < 30 else "ok", len(messages) - len(bad), len(messages), "; ".join(bad)))
    return not bad
