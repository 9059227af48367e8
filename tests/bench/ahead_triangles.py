"""ahead_triangles.py - rooms of two headless players on unequal links, the first one ahead of the lock: what does the relay's word of
samples that no frame has yet (hints) bring, and what the direct path?

The rooms of a triangle play at once, each behind a link emulator of its own, so all have the same machine. eye.c writes down what
the players' cores run and what is shown. The second player's press counts from his call that takes its sample, which is the one
that plays the frame of the same number, to the first picture of the first player that has it. There is no switch for the relay's
hints, so they are beside the lock alone, which shows no guess, and beside the direct path."""
import os
import random
import statistics

import ahead_equal
import ahead_eye
import ahead_paper
import bench

WAYS = ((120, 20, 130), (60, 60, 10), (100, 30, 40)) # ms one way: the first player's to the relay, the second's, and between the two
JITTER = 10 # ms, as of all benches: each hop half that
SYSTEMS = {"lock": ("--ahead", "off"), "hints": ("--ahead", 30, "--direct", "off"), "direct": ("--ahead", 30)}
LEAD_MAX = 24 # frames: 120 ms to the relay need 15, and a room allows 12 unless its host says so
BUTTONS = (0, 4, 5, 6, 7, 8, 10, 11) # without Y and X, whose turbo is not in nestopia's states, and Start
SETTLE_S = 22 # a frame ahead comes each second
EYE = os.path.join(bench.BUILD, "bench", "eye.so")


def press(name, frames, seed):
    """A file for `--input`, and its presses as (sample, mask): a button is down for 4 to 7 frames, and none for 8 to 20."""
    dice, frame, path, presses = random.Random(seed), 40, os.path.join(bench.tmp, name + ".pads"), []
    with open(path, "w") as f:
        f.write("20 0 8\n26 0 0\n") # Start
        while frame < frames:
            mask = 1 << BUTTONS[len(presses) % len(BUTTONS)]
            presses.append((frame, mask))
            f.write(f"{frame} 0 {mask:x}\n")
            frame += dice.randrange(4, 8)
            f.write(f"{frame} 0 0\n")
            frame += dice.randrange(8, 21)
    return path, presses


class Room:
    def __init__(self, core, ways, system, relay, at, frames):
        first, second, between = ways
        self.system, self.frames, self.players, self.name = system, frames, [], f"{first}-{second}-{between}-{system}"
        link = bench.start(self.name + "-link", bench.PROXY, "--listen", 0, "--to", at, "--seed", 1, "--delay", first, "--others", second,
                           "--straight", between, "--jitter", JITTER / 2)
        to = bench.wait_said(link, r"listening (\S+:\d+)", 5).group(1)
        for i in (0, 1):
            self.players.append(self.player(core, i, to))
            bench.wait_said(relay, f'event=(room_made|joined) room="{self.name}".*name="{self.name[:18]}-{i}"', 20)

    def player(self, core, i, to):
        path, content, name = *ahead_equal.ROOMS[core][:2], f"{self.name}-{i}"
        pads, self.presses = press(name, self.frames, i + 1)
        env = bench.environment(KEYLOCK_TRUST="on", LD_PRELOAD=EYE, EYE_LOG=self.eye_log(i))
        return bench.start(name, bench.KEYLOCK, "run", "--quiet", "--relay", to, "--name", f"{self.name[:18]}-{i}", "--core", path if "/" in path else bench.core_path(path),
                           "--content", os.path.join(bench.CONTENT, content), "--room", self.name, "--frames", self.frames, "--speed", "real", "--hash-every", 60,
                           "--wait", 60, "--lead-max", LEAD_MAX, "--hash-out", os.path.join(bench.tmp, name + ".hash"), "--input", pads, *(SYSTEMS[self.system] if i == 0 else SYSTEMS["lock"]), env=env)

    def eye_log(self, i):
        return os.path.join(bench.tmp, f"{self.name}-{i}.eye")

    def figures(self):
        """Of a room that has ended: a row, or None."""
        said = [bench.last_json(p) for p in self.players]
        if any(p.poll() != 0 for p in self.players) or not all(said):
            return bench.say(f"  {self.name}: exit status {[p.poll() for p in self.players]}: {bench.said(self.players[0])[-300:]}")
        first, second = (ahead_eye.Machine(self.eye_log(i), True) for i in (0, 1))
        plays = {}
        for slot, frame, begin_us, *_ in second.runs:
            if slot == second.true_slot:
                plays.setdefault(frame, begin_us)
        from_us, to_us = plays[min(plays)] + SETTLE_S * 1000000, plays[max(plays)] - 1000000
        at = [(plays[sample], mask) for sample, mask in self.presses if from_us <= plays.get(sample, 0) <= to_us]
        delays = [d for d in (first.delay_ms(at_us, 1, mask) for at_us, mask in at) if d is not None]
        shown, wrong = ahead_eye.wrong([first, second], 0, from_us, to_us)
        both, unequal = ahead_equal.parted(*(ahead_equal.hashes(p) for p in self.players))
        return {"system": self.system, "press_ms": statistics.median(delays), "press_p95_ms": ahead_eye.p95(delays), "presses": len(at), "lost": len(at) - len(delays),
                "wrong_percent": 100 * wrong / shown, "run_wrong_percent": 100 * said[0]["guessed_wrong"], "ahead_frames": said[0]["ahead_avg"],
                "felt_frames": said[0]["felt_frames_avg"], "straight": said[0]["direct_datagrams"], "received": said[0]["received_bytes"] / said[0]["wall_s"],
                "hashes": len(both), "unequal": len(unequal)}


def triangles(minutes, cores):
    """Each triangle in turn, its rooms at once, for so long. Writes ahead-triangles.csv, in the place of older rows of these triangles. Returns the number of rooms without figures or with unequal hashes."""
    bench.needs(EYE)
    bench.begin(f"triangles: {minutes:g} minutes each")
    frames, failed, core = int(minutes * 3600), 0, (cores or ["nestopia"])[0]
    rows = [r for r in (bench.read_csv("ahead-triangles") if bench.has_csv("ahead-triangles") else []) if (r["first_ms"], r["second_ms"], r["between_ms"]) not in WAYS]
    relay, at = bench.relay()
    for ways in WAYS:
        rooms = [Room(core, ways, system, relay, at, frames) for system in SYSTEMS]
        for p in (p for room in rooms for p in room.players):
            p.wait(minutes * 60 * 2 + 60)
        for room in rooms:
            row = room.figures()
            failed += not row or row["unequal"] > 0
            if row:
                rows.append({"core": core, "first_ms": ways[0], "second_ms": ways[1], "between_ms": ways[2], "minutes": minutes, **row, "commit": bench.commit(), "machine": bench.machine()})
                bench.say(f"  {room.name}: " + " ".join(f"{k}={v:.3g}" if isinstance(v, float) else f"{k}={v}" for k, v in row.items()))
    bench.write_csv("ahead-triangles", rows)
    if rows and os.environ.get("DOCUMENT", "") not in ("", "0"):
        ahead_paper.document_triangles(rows)
    return failed
