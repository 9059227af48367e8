"""ahead_equal.py - rooms of two headless players, one running ahead of the lock and one not: are their hashes equal?

Each player's machine goes wrong once (a planted byte), so each room heals twice. Between a planted byte and its healing the hashes
differ, and nowhere else. Rooms of several cores play at once, in real time: such a room needs few percent of a processor.

feel() plays such rooms without a planted byte, one for each value of `feel`: how many pictures are wrong?"""
import os
import random
import re

import bench

COMMIT = bench.commit()
EVERY = 60             # frames between two hashes
LINK = (50, 10, 1)     # RTT ms, jitter ms, loss %
FOUND_WITHIN = 10 * EVERY  # frames from a planted byte until the hashes are equal again
TURBO = 0x202          # Y and X, whose turbo is not in nestopia's states

TEST_CORE = os.path.join(bench.BUILD, "cores", "probe_core_libretro.so")
ROOMS = { # name: core, content, offset of the planted byte in the RAM or state, how many machines go wrong, PROBE_CORE
    "nestopia": ("nestopia", "shooter.nes", 0x7e0, 2, None),
    "nestopia-turbo": ("nestopia", "shooter.nes", 0, 0, None),
    "mgba": ("mgba", "pads.gba", 0x3fff0, 1, None), # no RAM is shown: once states have been loaded, unequal ones are no desync
    "pce_fast": ("mednafen_pce_fast", "pads.pce", 0x300, 2, None),
    "bsnes": ("bsnes_mercury_performance", "pads.sfc", 0x300, 2, None),
    "gambatte": ("gambatte", "pads.gb", 0x300, 2, None),
    "arcade": (os.path.join(bench.BUILD, "cores", "arcade_core_libretro.so"), "arcade/duel.zip", 0x300, 2, None),
    "files": (TEST_CORE, "shooter.nes", 0x300, 2, "files"),
    "thread": (TEST_CORE, "shooter.nes", 0x300, 2, "thread"),
}
FEEL_ROOMS, FEELS = ("nestopia", "pce_fast", "bsnes", "arcade"), range(5) # each reads two pads
FBNEO = os.environ.get("BENCH_FBNEO", "") # CORE:ZIP:SYSTEM
if FBNEO:
    ROOMS["FBNeo"] = (*FBNEO.split(":")[:2], 0, 0, None)


def pads(name, frames, seed, turbo):
    """A player's pads as a file for `keylock run --input`: something new every 5 to 25 frames."""
    dice, frame, path = random.Random(seed), 0, os.path.join(bench.tmp, name + ".pads")
    with open(path, "w") as f:
        while frame < frames:
            mask = dice.getrandbits(1) | dice.getrandbits(1) << 8 | 1 << dice.randrange(4, 8) | (dice.random() < 0.05) << 3
            mask |= dice.choice((0, TURBO)) if turbo else 0
            f.write(f"{frame} 0 {mask:x}\n")
            frame += dice.randrange(5, 26)
    return path


def player(room, i, relay, frames, feel_frames=None):
    core, content, offset, wrong, mood = ROOMS[room]
    at = room if feel_frames is None else f"{room}-feel{feel_frames}"
    name = f"{at}-{i}"
    more = ["--ahead", "auto"] if i == 0 else ["--ahead", "off"]
    if feel_frames is not None:
        more += ["--feel", feel_frames]
    elif i < wrong:
        more += ["--corrupt", f"{frames * (i + 1) // 3}:{offset}"]
    if FBNEO and room == "FBNeo":
        more += ["--system", FBNEO.split(":")[2]]
    env = bench.environment(KEYLOCK_LEARN="off", KEYLOCK_TRUST="on", **({"PROBE_CORE": mood} if mood else {}))
    return bench.start(name, bench.KEYLOCK, "run", "--quiet", "--relay", relay, "--name", name[:20], "--core", core, "--content",
                       os.path.join(bench.CONTENT, content), "--room", at, "--frames", frames, "--speed", "real",
                       "--hash-every", EVERY, "--wait", 60, "--hash-out", os.path.join(bench.tmp, name + ".hash"),
                       "--input", pads(name, frames, i + 1, not wrong), *more, env=env, priority=())


def hashes(p):
    """The last hash of each frame, for a healed machine hashes frames again."""
    with open(os.path.join(bench.tmp, p.name + ".hash")) as f:
        return {int(w[0]): w[1:] for w in map(str.split, f) if len(w) == 3}


def parted(one, two):
    """Frames that both have hashed, and of those the unequal ones; of states only if neither core shows its RAM."""
    both = sorted(one.keys() & two.keys())
    has_ram = all(h[f][0] != "-" for h in (one, two) for f in both)
    part = 0 if has_ram else 1
    return both, [f for f in both if one[f][part] != two[f][part]]


def judge(room, players, frames):
    """One room that has ended: (its figures or None, what is wrong with it or None)."""
    said = [bench.last_json(p) for p in players]
    if any(p.poll() != 0 for p in players) or not all(said):
        return None, f"exit status {[p.poll() for p in players]}: {bench.said(players[0])[-300:]} {bench.said(players[1])[-300:]}"
    planted = [frames // 3, 2 * frames // 3][:ROOMS[room][3]]
    both, unequal = parted(hashes(players[0]), hashes(players[1]))
    stray = [f for f in unequal if not any(at <= f <= at + FOUND_WITHIN for at in planted)]
    ann, bob = said
    found = sorted({int(f) for p in players for f in re.findall(r"out of sync since frame (\d+)", bench.said(p))})
    row = {"room": room, "minutes": frames / 3600, "hashes": len(both), "unequal": len(unequal) - len(stray), "stray": len(stray),
           "planted": len(planted), "healed": min(ann["healed"], bob["healed"]), "ahead_frames": ann["ahead_avg"],
           "felt_ahead": ann["felt_frames_avg"], "felt_other": bob["felt_frames_avg"], "guessed_wrong": ann["guessed_wrong"],
           "replayed_s": ann["replayed_frames_s"], "replay_ms_p99": ann["replay_ms_p99"], "fps": min(ann["fps"], bob["fps"]),
           "commit": COMMIT}
    if stray:
        return row, f"unequal hashes at frames {stray[:8]}"
    if len(both) < frames / EVERY / 2:
        return row, f"only {len(both)} hashes"
    if len(planted) != ann["healed"] or len(planted) != bob["healed"]:
        return row, f"bytes planted at {planted}, out of sync at {found}, healed {ann['healed']} and {bob['healed']} times"
    return row, None if ann["ahead_avg"] > 0 else "nobody ran ahead"


def tell(room, row, wrong):
    bench.say(f"{'FAIL' if wrong else 'ok'} {room}: {wrong or 'equal'}; "
              + " ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in (row or {}).items()))


def begin(names, relay, at, frames):
    """Rooms with their players, each behind a link of its own."""
    rooms = {}
    for room in names or ROOMS:
        core = ROOMS[room][0] if "/" in ROOMS[room][0] else bench.core_path(ROOMS[room][0])
        if not core or not os.path.exists(core):
            bench.say(f"skip {room}: the core is not here")
            continue
        _, to = bench.through(at, *LINK, seed=len(rooms) + 1, tag=room)
        rooms[room] = [player(room, 0, to, frames)]
        bench.wait_said(relay, f'event=joined room="{room}"', 20) # the first player has the first seat
        rooms[room].append(player(room, 1, to, frames))
    return rooms


def equal(minutes, names):
    """Plays rooms of these names, or of all, for so long; a line for each, and a row for each in ahead-equal.csv, in the place of an
    older one of that room and time. Returns the number of those that failed."""
    frames, failed = int(minutes * 3600), 0
    relay, at = bench.relay()
    rooms = begin(names, relay, at, frames)
    bench.say(f"{len(rooms)} rooms for {minutes:g} minutes, RTT {LINK[0]}, jitter {LINK[1]}, loss {LINK[2]} %; the first player runs ahead")
    rows = {(r["room"], r["minutes"]): r for r in (bench.read_csv("ahead-equal") if bench.has_csv("ahead-equal") else [])}
    for room, players in rooms.items():
        for p in players:
            p.wait(minutes * 60 * 3 + 120)
        row, wrong = judge(room, players, frames)
        failed += wrong is not None
        tell(room, row, wrong)
        if row:
            rows[room, row["minutes"]] = row
    bench.write_csv("ahead-equal", list(rows.values()))
    return failed


def feel(minutes, names):
    """A room of a core for each value of `feel`, one after the other: beside others `auto` guesses fewer frames. Writes ahead-feel.csv
    and its plot. Returns the number of rooms without figures."""
    frames, failed, rows = int(minutes * 3600), 0, []
    relay, at = bench.relay()
    for room in names or FEEL_ROOMS:
        _, to = bench.through(at, *LINK, seed=1, tag=room)
        for n in FEELS:
            players = [player(room, 0, to, frames, n)]
            bench.wait_said(relay, f'event=joined room="{room}-feel{n}"', 20)
            players.append(player(room, 1, to, frames, n))
            for p in players:
                p.wait(minutes * 60 * 3 + 120)
            said = [bench.last_json(p) for p in players]
            if not all(said):
                failed += 1
                bench.say(f"FAIL {room}, feel {n}: {bench.said(players[0])[-300:]}")
                continue
            row = {"core": room, "feel": n, "minutes": minutes, "felt_frames": said[0]["felt_frames_avg"], "lock_frames": said[1]["felt_frames_avg"],
                   "ahead_frames": said[0]["ahead_avg"], "wrong_percent": 100 * said[0]["guessed_wrong"], "commit": COMMIT}
            rows.append(row)
            bench.say(f"ok {room}, feel {n}: " + " ".join(f"{k}={v:.3g}" for k, v in row.items() if isinstance(v, float)))
    bench.write_csv("ahead-feel", rows)
    if rows:
        plot_feel(rows)
    return failed


def plot_feel(rows):
    """Wrong pictures by `feel`, a line for each core."""
    script, plots = bench.head("ahead-feel", 900, 600), []
    script += 'set xlabel "feel, frames"\nset ylabel "pictures wrong, %"\nset xrange [-0.2:4.2]\nset xtics 1\nset yrange [0:*]\n'
    for n, core in enumerate(dict.fromkeys(r["core"] for r in rows)):
        points = "".join(f"{r['feel']} {r['wrong_percent']:.2f}\n" for r in rows if r["core"] == core)
        script += f"$core{n} << END\n{points}END\n"
        plots.append(f'$core{n} using 1:2 with linespoints lw 2 title "{core}"')
    bench.plot("ahead-feel", script + "plot " + ", ".join(plots) + "\n")
