"""lock.py - a client's half of the lock: closed frames, samples, time, absence. §4 to §6 of net/PROTOCOL.md.

Only rooms with a clock and with sub-frames: sample n is taken for frame n."""
import math
import random

from primitives import NEUTRAL, remainder
from protocol import decode, write_ctrl

LONGEST = random.Random(0)
LONGEST.random = lambda: 1.0  # runs as long as they can be
U32 = 2**32
AHEAD = 8  # frames: a sample is taken at most one interval and so many frames further than the client has run


class Clock:
    """§6: the relay's stamps, and the shortest way here in the last eight windows of 500 ms."""

    def __init__(self):
        self.first, self.windows, self.delay, self.moved_at = None, {}, None, 0

    def local(self, stamp, now):
        """The moment here at which a datagram with that stamp would have come by the shortest way."""
        if self.first is None:
            self.first = (now, stamp)
        since = ((stamp - self.first[1] + U32 // 2) % U32 - U32 // 2) / 1e6
        took = now - self.first[0] - since
        window = stamp // 500000
        self.windows[window] = min(took, self.windows.get(window, took))
        for old in sorted(self.windows)[:-8]:
            del self.windows[old]
        shortest = min(self.windows.values())
        if self.delay is None:
            self.delay, self.moved_at = shortest, now
        step = 0.02 * (now - self.moved_at)
        self.delay += max(-step, min(step, shortest - self.delay))
        self.moved_at = now
        return self.first[0] + since + self.delay


class Lock:
    def __init__(self, rng, fps, seats, watches):
        self.rng, self.fps, self.seats, self.watches = rng, fps, seats, watches
        self.pad = lambda number: rng.choice([0, 0, 1, 2, 3])
        self.said = {}  # for the judge: every sample that was taken
        self.taken, self.state, self.resume_first, self.resumed_at = 0, "present", 0, 0
        self.samples, self.batch, self.late = {}, 0, 0
        self.mark = None
        self.by_update, self.absences = 0, 0  # for the judge: frames that came in UPDATE; how often it became absent
        self.forget(0)
        self.stand_out()

    # --- what the client has ---

    def forget(self, begin):
        """No frame is here; `begin` will be the first."""
        self.begin, self.frames, self.ran = begin, [], begin

    @property
    def next(self):
        return self.begin + len(self.frames)

    def frame(self, number):
        return self.frames[number - self.begin]

    def interval(self):
        return self.frames[-1][2] if self.frames else 1

    def lose_session(self):
        """§5, A session that ends"""
        self.frames = self.frames[:self.ran - self.begin]
        self.stand_out()
        self.state = "absent"

    def seat(self, seats):
        """Other seats than before"""
        self.seats, self.watches, self.state = seats, False, "absent"
        self.stand_out()

    def stand_out(self):
        self.samples, self.next_sample = {}, 0
        self.clock, self.line, self.echo, self.closed = Clock(), None, None, None
        self.rtt, self.rtts, self.ctrl_at = 0.1, 0, 0

    # --- UPDATE ---

    def update(self, body, now):
        u = decode("update", 0, body)
        assert u != "malformed", "malformed: " + body.hex()
        if u["next_sample"] > self.taken:
            return
        if self.echo is None or 0 < (u["stamp"] - self.echo[0]) % U32 < U32 // 2:
            self.newest(u, now)
        self.next_sample = max(self.next_sample, u["next_sample"])
        self.samples = {n: v for n, v in self.samples.items() if n >= self.next_sample}
        self.by_update += len(u["frames"])
        self.take_frames(u["frames"])
        if u["mark"] and u["first"] <= self.next <= u["first"] + len(u["frames"]):
            self.mark = (u["first"] + len(u["frames"]), u["mark"])

    def newest(self, u, now):
        self.echo = (u["stamp"], now)
        if u["echo"]:
            rtt = (int(now * 1e6) - u["echo"][0]) % U32 / 1e6 - u["echo"][1] / 1e6
            self.rtt += (rtt - self.rtt) / 8 if self.rtts else rtt - self.rtt
            self.rtts += 1
        local = self.clock.local(u["stamp"], now)
        if u["due"] is not None:
            self.line = (u["first"], local + u["due"] / 1e6)
        self.closed = u["first"] + len(u["frames"])
        if u["absent"] and self.state == "present":
            self.samples, self.state = {}, "absent"
            self.absences += 1
        elif self.state == "resuming" and not u["absent"] and u["next_sample"] >= self.resume_first:
            self.state = "present"

    def take_frames(self, frames):
        for f in frames:
            if f[0] == self.next:
                self.frames.append(f)

    # --- time and samples ---

    def due(self, now):
        """The newest frame whose time has come; without a line all frames that are here."""
        if self.line is None:
            return self.next - 1
        return self.line[0] + math.floor((now - self.line[1]) * self.fps)

    def runs(self, now):
        """The next frame to run, if it is here and due."""
        return self.frame(self.ran) if self.ran < self.next and self.ran <= self.due(now) else None

    def sample(self, now):
        """Takes the samples that are due. True: one of them has to be sent at once."""
        self.consider_resuming(now)
        newest = min(self.due(now), self.ran + self.interval() + AHEAD)
        if self.state == "absent" or self.watches or self.line is None or self.taken > newest:
            return False
        self.batch = newest - self.taken + 1
        self.late = 0 if newest < self.due(now) else (now - self.line[1]) * self.fps - (newest - self.line[0])
        urgent, by_clock = False, self.frames and self.frames[-1][5]
        while self.taken <= newest:
            before = self.said.get(self.taken - 1, 0)
            self.samples[self.taken] = self.said[self.taken] = self.pad(self.taken)
            urgent |= not by_clock or self.samples[self.taken] != before
            self.taken += 1
        return urgent

    def consider_resuming(self, now):
        """§5, Absence, the client's table"""
        anew = self.state == "resuming" and now > self.resumed_at + 2 * self.rtt + 0.5
        if self.watches or not self.frames or self.line is None or not (self.state == "absent" or anew):
            return
        left = min(self.due(now) + 1, self.next) - self.ran
        if left > self.interval() or self.closed - self.next > self.interval():
            return
        self.resume_first = self.taken = max(self.taken, min(self.due(now), self.ran + self.interval() + AHEAD))
        self.samples, self.state, self.resumed_at = {}, "resuming", now

    # --- CTRL ---

    def wait(self):
        """T of §4"""
        if self.watches:
            return 0.1
        if not self.frames:
            return 0.015 if self.rtts < 8 else 0.1
        new = [n for n in self.samples if self.samples[n] != self.said.get(n - 1, 0)]
        return 0.05 if self.frames[-1][5] and not new else 1.25 / self.fps

    def ctrl(self, now):
        numbers = sorted(self.samples)[:200]
        first = numbers[0] if numbers else self.taken
        f = {"stamp": int(now * 1e6) % U32, "away": 0, "resume": int(self.state == "resuming"), "sparing": 0,
             "echo": [self.echo[0], int((now - self.echo[1]) * 1e6)] if self.echo else None,
             "acked": self.next, "backlog": self.next - self.ran, "need_first": 0, "needs": [], "first": first,
             "late": min(65535, round(self.late * 16)) if numbers else 0, "turn_late": 0, "batch": min(255, self.batch) if numbers else 0,
             "samples": [[[self.samples[n]] + remainder(NEUTRAL)[1:]] * self.seats for n in numbers] if self.seats else []}
        self.ctrl_at = now + self.wait()
        return write_ctrl(f, self.seats, LONGEST)
