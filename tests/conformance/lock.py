"""lock.py - a client's half of the lock: closed frames, samples, time, absence. §4 to §6 of net/PROTOCOL.md."""
import math
import random

from primitives import NEUTRAL, remainder
from protocol import decode, write_ctrl

LONGEST = random.Random(0)
LONGEST.random = lambda: 1.0  # runs as long as they can be
U32 = 2**32
AHEAD, LONGEST_INTERVAL = 8, 30  # frames


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
    def __init__(self, rng, params, seats, watches):
        self.subframes, self.clocked, self.fps = params[1], params[2], params[10] / 1e6
        self.seats, self.watches = seats, watches
        self.pad = lambda number: rng.choice([0, 0, 1, 2, 3])
        # For the judge: every sample that was taken; the frames [from, to) of each absence; how many frames came in UPDATE;
        # for each frame, below which number the relay had all samples before it closed, and after.
        self.said, self.out, self.by_update, self.there = {}, [], 0, {}
        self.taken, self.resume_first, self.resumed_at, self.batch, self.late = 0, 0, 0, 0, 0
        self.state = "present"
        self.forget(0)
        self.begin_anew()

    # --- the client's frames ---

    def forget(self, begin, interval=0):
        """No frame is here; `begin`, the keyframe of that interval, will be the first."""
        self.begin, self.frames, self.ran = begin, [], begin
        self.keyframes = {interval: begin}  # by the interval's number; each is known one interval ahead

    def cut(self, keyframe):
        """The frames from it on are none of the room's."""
        self.frames, self.ran = self.frames[:keyframe - self.begin], keyframe
        self.keyframes = {i: k for i, k in self.keyframes.items() if k <= keyframe}

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

    def seat(self, seats):
        """Other seats than before"""
        self.seats, self.watches = seats, False
        self.stand_out()

    def absent(self):
        self.samples, self.state = {}, "absent"
        if not self.out or self.out[-1][1]:
            self.out.append([self.ran, None])

    def stand_out(self):
        self.absent()
        self.begin_anew()

    def begin_anew(self):
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
        self.there |= {f[0]: (self.next_sample, u["next_sample"]) for f in u["frames"] if f[0] >= self.next}
        self.next_sample = max(self.next_sample, u["next_sample"])
        self.samples = {n: v for n, v in self.samples.items() if n >= self.next_sample}
        self.by_update += len(u["frames"])
        self.take_frames(u["frames"])

    def newest(self, u, now):
        self.echo = (u["stamp"], now)
        if u["echo"]:
            rtt = (int(now * 1e6) - u["echo"][0]) % U32 / 1e6 - u["echo"][1] / 1e6
            self.rtt += (rtt - self.rtt) / 8 if self.rtts else rtt - self.rtt
            self.rtts += 1
        local = self.clock.local(u["stamp"], now)
        if u["due"] is not None:
            self.line = (u["first"], local + u["due"] / 1e6)
        self.waiting, self.away, self.paused, self.closed = u["waiting"], u["away"], u["paused"], u["first"] + len(u["frames"])
        if u["absent"] and self.state == "present":
            self.absent()
        elif self.state == "resuming" and not u["absent"] and u["next_sample"] >= self.resume_first:
            self.state, self.out[-1][1] = "present", max(self.next, self.resume_first) + 2 * LONGEST_INTERVAL

    def take_frames(self, frames):
        for f in frames:
            if f[0] == self.next:
                self.frames.append(f)
                if f[0] == f[1]:
                    self.keyframes[max(self.keyframes) + 1] = f[1] + f[2]

    # --- time and samples ---

    def due(self, now):
        """The newest frame whose time has come; without a clock, or before the line is known, the newest that is here."""
        if self.line is None or not self.clocked:
            return self.next - 1
        return self.line[0] + math.floor((now - self.line[1]) * self.fps)

    def runs(self, now):
        """The next frame to run, if it is here and due."""
        return self.frame(self.ran) if self.ran < self.next and self.ran <= self.due(now) else None

    def newest_sample(self, now):
        """The number of the newest sample that is due, and its frame."""
        ahead = self.interval() + AHEAD if self.clocked else 0
        frame = min(self.due(now), self.ran - 1 + ahead)
        if self.subframes:
            return frame, frame
        return max(((i, k) for i, k in self.keyframes.items() if k <= frame), default=(-1, 0))

    def sample(self, now):
        """Takes the samples that are due. True: one of them has to be sent at once."""
        self.consider_resuming(now)
        newest, frame = self.newest_sample(now)
        if self.state == "absent" or self.watches or self.line is None and self.clocked or self.taken > newest:
            return False
        self.batch, held = newest - self.taken + 1, frame < self.due(now)
        self.late = (now - self.line[1]) * self.fps - (frame - self.line[0]) if self.clocked and not held else 0
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
        if self.watches or not self.frames or self.echo is None or not (self.state == "absent" or anew):
            return
        left = min(self.due(now) + 1, self.next) - self.ran
        if left > self.interval() or self.closed - self.next > self.interval():
            return
        number = self.newest_sample(now)[0] if self.subframes else max(self.keyframes)
        self.resume_first = self.taken = max(self.taken, number)
        self.samples, self.state, self.resumed_at = {}, "resuming", now

    # --- CTRL ---

    def wait(self):
        """T of §4"""
        if self.watches:
            return 0.1
        if self.frames and not self.clocked:
            return 0.005
        if not self.frames:
            return 0.015 if self.rtts < 8 else 0.1 if self.rtts < 128 else 0.5
        new = [n for n in self.samples if self.samples[n] != self.said.get(n - 1, 0)]
        whole = (self.closed or 0) <= self.next
        return 0.05 if self.frames[-1][5] and not new and whole else 1.25 / self.fps

    def ctrl(self, now):
        numbers = sorted(self.samples)[:200]
        first = numbers[0] if numbers else self.taken
        f = {"stamp": int(now * 1e6) % U32, "away": 0, "resume": int(self.state == "resuming"), "sparing": 0, "guesses": 0,
             "echo": [self.echo[0], int((now - self.echo[1]) * 1e6)] if self.echo else None,
             "acked": self.next, "backlog": self.next - self.ran, "needs": [], "first": first,
             "late": min(65535, round(self.late * 16)) if numbers else 0, "turn_late": 0, "batch": min(255, self.batch) if numbers else 0,
             "samples": [[[self.samples[n]] + remainder(NEUTRAL)[1:]] * self.seats for n in numbers] if self.seats else []}
        self.ctrl_at = now + self.wait()
        return write_ctrl(f, self.seats, LONGEST)
