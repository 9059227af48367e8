"""match_code.py - a client from the document and one of the C code in one room. §12 of net/PROTOCOL.md."""
import os
import subprocess

from judge import Match
from machine import Press, xxh3
from match_heal import in_sync
from match_late import REPLAYED
from primitives import NEUTRAL
from room import HEAL
from session import blake

GAME, PLACES, FPS = b"a game of buttons", 13, 60


def start_code(match, program, name):
    """keylock run, at that relay"""
    folder, content = os.path.dirname(program), os.path.join(match.relay.folder.name, "game.bin")
    with open(content, "wb") as f:
        f.write(GAME)
    return subprocess.Popen(
        [os.path.join(folder, "keylock"), "run", "--core", os.path.join(folder, "cores/press_core_libretro.so"), "--content", content,
         "--relay", "127.0.0.1:%d" % match.relay.port, "--insecure-lan", "--room", "python", "--name", name, "--speed", "real",
         "--frames", "100000", "--input", "random:1", "--trust", "on", "--quiet"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def code(program, seed):
    content = "xxh3 %016x (%d bytes, game.bin)" % (xxh3(GAME), len(GAME))
    wishes = dict(machine=Press, content=content, files=[], fps=FPS, desync=HEAL)
    with Match(program, seed, "--catch-up", "1") as m:
        ann = m.client("ann", players=1, **wishes)
        m.until(lambda: ann.lock and ann.lock.ran > FPS * REPLAYED)
        ann.say_command(PLACES, bytes([2]))
        m.until(lambda: ann.roster[1] == 2)
        carl = start_code(m, program, "carl")
        try:
            both_ways(m, ann, wishes)
        finally:
            carl.kill()
            carl.wait()


def seen_by_strangers(m, wishes):
    """§10, before and after the seat of a client that left is free"""
    m.until(lambda: m.listed()["filled"] == 1)
    room = m.listed()
    pairs = sorted(dict(core=Press.NAME, content=wishes["content"].split(" (")[0]).items())
    assert room["identity"] == blake(128, b"".join(part.encode() + b"\0" for pair in pairs for part in pair))
    assert (room["name"], room["content"].decode(), room["flags"]) == (b"python", wishes["content"], 1)
    assert room["players"] == 2 and room["open"] == 1, room
    print("ok a stranger's LIST names the room, its game, and the one seat that is open")


def both_ways(m, ann, wishes):
    m.until(lambda: len(ann.roster[4]) == 2 and ann.gave)
    keyframe = ann.gave[-1][0]
    pressed = lambda client, seat: any(f[8][seat] != NEUTRAL for f in client.lock.frames[-60:])
    m.until(lambda: in_sync(ann, keyframe + FPS) and pressed(ann, 1))
    print("ok a client of the C code loads the snapshot that the document describes, and both machines are equal")
    m.until(lambda: ann.lock.ran > keyframe + FPS * REPLAYED)
    m.leaves(ann)
    seen_by_strangers(m, wishes)
    bob = m.client("bob", **wishes)
    m.until(lambda: bob.healed)
    m.until(lambda: in_sync(bob, bob.lock.begin + FPS) and pressed(bob, 1) and pressed(bob, 0))
    assert bob.lock.begin > keyframe + FPS * REPLAYED
    print("ok a snapshot of the C code is what the document says, and loaded the two machines are equal")
