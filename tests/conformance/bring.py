"""bring.py - what a client gives to a relay that has lost its room. §7 of net/PROTOCOL.md, Bringing a room back."""

TICKET, START_DATA, HISTORY, TAGS, THE_END, MARK = range(6)
WANT_TICKET, WANT_START = 1, 2
PIECE, FRAMES = 4000, 32


def pieces(part, data):
    return [[part, at, len(data), data[at:at + PIECE].hex()] for at in range(0, max(1, len(data)), PIECE)]


def brought(client, parts, first):
    """The BRINGs that answer a WANT, without their kind."""
    lock, out = client.lock, []
    if parts & WANT_TICKET:
        out += pieces(TICKET, client.ticket)
    if parts & WANT_START:
        out += pieces(START_DATA, client.start)
    if client.tags:
        count, end, tag = client.tags[-1]
        out.append([TAGS, count - 1, end, [tag.hex()]])
    if marks := [m for m in lock.marks if m[0] <= lock.ran]:
        out.append([MARK, *marks[-1]])
    for at in range(first, lock.next, FRAMES):
        out.append([HISTORY, at, [client.forge_frame(lock.frame(n)) for n in range(at, min(at + FRAMES, lock.next))]])
    return out + [[THE_END]]
