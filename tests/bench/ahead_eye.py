"""ahead_eye.py - what eye.c has written down of two RetroArchs, as figures: from a press to the first picture with it, gaps between
pictures, wrong pictures, sound.

The true picture of a frame: on Keylock the true core's, in RetroArch's netplay that of the frame's last run."""
import bisect
import statistics

GAP_MS = 34
LIMIT_US = 1000000 # a press that is not in a picture by then is lost


class Machine:
    """One RetroArch. runs: (slot, frame, begin_us, pads, hash, shown_us or 0), where shown_us says when RetroArch got the picture
    of a frame that it showed; calls: (begin_us, samples that were heard)."""

    def __init__(self, path, wrapped):
        self.runs, self.calls, self.cores = [], [], {}
        newest, fresh = {}, False
        with open(path) as f:
            for line in f:
                word = line.split()
                if word[0] == "core":
                    self.cores.pop(int(word[1]), None) # the newest stands last
                    self.cores[int(word[1])] = (float(word[2]), float(word[3]))
                    self.runs = [r for r in self.runs if r[0] != int(word[1])] # another core's, or a game before this one
                    newest.pop(int(word[1]), None)
                elif word[0] == "run" and len(word) == 8:
                    slot, frame, shown_us = int(word[1]), int(word[2]), int(word[7])
                    fresh = frame > newest.get(slot, -1)
                    newest[slot] = max(frame, newest.get(slot, -1))
                    if not wrapped and not fresh: # RetroArch shows no frame that it runs again
                        shown_us = 0
                    self.runs.append((slot, frame, int(word[3]), (int(word[4], 16), int(word[5], 16)), word[6], shown_us))
                elif word[0] == "call" and len(word) == 4:
                    self.calls.append((int(word[1]), int(word[3]) if wrapped or fresh else 0))
        self.begins = [r[2] for r in self.runs]
        self.shown = [r for r in self.runs if r[5]]
        self.fps, self.rate_hz = max(self.cores.values(), default=(0, 0))
        self.true_slot = self.find_true_slot()
        self.true = {r[1]: r[4] for r in self.runs if r[0] == self.true_slot}

    def find_true_slot(self):
        """Of the cores that run at the end, the one that was loaded first."""
        last_us = {slot: begin_us for slot, _, begin_us, *_ in self.runs}
        last = max(last_us.values(), default=0)
        return next((s for s in self.cores if last_us.get(s, 0) > last - LIMIT_US), None)

    def shown_between(self, from_us, to_us):
        return [r for r in self.shown if from_us <= r[5] <= to_us]

    def delay_ms(self, at_us, port, mask):
        """From a press to RetroArch's first picture of a frame that has it, or comes after one that has it; None: never."""
        first = {}
        for i in range(bisect.bisect_left(self.begins, at_us), len(self.runs)):
            slot, frame, begin_us, pads, _, shown_us = self.runs[i]
            if begin_us > at_us + LIMIT_US:
                break
            if pads[port] & mask:
                first.setdefault(slot, frame)
            if shown_us and slot in first and frame >= first[slot]:
                return (shown_us - at_us) / 1000
        return None

    def ahead_frames(self, from_us, to_us):
        """Of each shown frame, how far it was beyond the true core's newest."""
        newest, ahead = 0, []
        for slot, frame, begin_us, _, _, shown_us in self.runs:
            if slot == self.true_slot:
                newest = frame
            elif shown_us and from_us <= begin_us <= to_us:
                ahead.append(frame - newest)
        return ahead

    def replayed_per_s(self, from_us, to_us):
        newest, again = {}, 0
        for slot, frame, begin_us, *_ in self.runs:
            again += from_us <= begin_us <= to_us and frame <= newest.get(slot, -1)
            newest[slot] = max(frame, newest.get(slot, -1))
        return again / ((to_us - from_us) / 1e6)

    def sound(self, from_us, to_us):
        """Samples heard, and samples due."""
        calls = [c for c in self.calls if from_us <= c[0] <= to_us]
        return sum(c[1] for c in calls[:-1]), (calls[-1][0] - calls[0][0]) / 1e6 * self.rate_hz


def quantile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def p95(values):
    return quantile(values, 0.95)


def of_presses(machines, pads, from_us, to_us):
    own, others, lost = [], [], 0
    for player in (0, 1):
        for m, machine in enumerate(machines):
            for at_us, mask in pads[player].presses:
                if from_us <= at_us <= to_us:
                    delay = machine.delay_ms(at_us, player, mask)
                    lost += delay is None
                    if delay is not None:
                        (own if m == player else others).append(delay)
    return own, others, lost


def gaps_ms(machine, from_us, to_us):
    """(when it ended, length) of each time without a new picture."""
    times = [r[5] for r in machine.shown_between(from_us, to_us)]
    return [(b, (b - a) / 1000) for a, b in zip(times, times[1:]) if b - a > GAP_MS * 1000]


def first_sees(machines, pads, from_us, to_us):
    """The second player's presses on the first one's screen, milliseconds."""
    delays = [machines[0].delay_ms(at_us, 1, mask) for at_us, mask in pads[1].presses if from_us <= at_us <= to_us]
    return [delay for delay in delays if delay is not None]


def judged(machines, which, from_us, to_us):
    """(when it was shown, frame, whether it is not the frame's true one) of each picture that this machine has shown. A frame that this machine's true
    core did not draw is judged by the other's."""
    machine, other, pictures = machines[which], machines[1 - which], []
    for r in machine.shown_between(from_us, to_us):
        truth = machine.true.get(r[1], "0")
        truth = truth if truth != "0" else other.true.get(r[1], "0")
        if r[4] != "0" and truth != "0":
            pictures.append((r[5], r[1], r[4] != truth))
    return pictures


def wrong(machines, which, from_us, to_us):
    """Pictures that this machine has shown, and those of them that are not the frame's true one."""
    pictures = judged(machines, which, from_us, to_us)
    return len(pictures), sum(bad for _, _, bad in pictures)


def wrong_runs(machines, which, from_us, to_us):
    """(pictures, milliseconds, frame of the last one) of each time in which this machine showed nothing but wrong pictures."""
    runs, frames, since_us = [], [], 0
    for shown_us, frame, bad in judged(machines, which, from_us, to_us):
        if bad:
            since_us = since_us if frames else shown_us
            frames.append(frame)
        elif frames:
            runs.append((len(frames), (shown_us - since_us) / 1000, frames[-1]))
            frames = []
    return runs


def unequal(machines):
    """Frames that both true cores have drawn, and those of them with different pictures."""
    one, two = (m.true for m in machines)
    both = [f for f in one.keys() & two.keys() if "0" not in (one[f], two[f])]
    newest = max(both, default=0)
    both = [f for f in both if f < newest - 60] # the newest may still be guesses
    return len(both), sum(one[f] != two[f] for f in both)


def figures(machines, pads, from_us, to_us, watch):
    """A row, or None if there was nothing to see."""
    own, others, lost = of_presses(machines, pads, from_us, to_us)
    if not own or not others or any(len(m.shown_between(from_us, to_us)) < 60 for m in machines):
        return None
    gaps = [gaps_ms(m, from_us, to_us) for m in machines]
    known, bad = (sum(counts) for counts in zip(*(wrong(machines, m, from_us, to_us) for m in (0, 1))))
    first_known, first_bad = wrong(machines, 0, from_us, to_us)
    runs = [ms for m in (0, 1) for _, ms, _ in wrong_runs(machines, m, from_us, to_us)]
    first = first_sees(machines, pads, from_us, to_us)
    both, parted = unequal(machines)
    sound = [m.sound(from_us, to_us) for m in machines]
    shown = [m.shown_between(from_us, to_us) for m in machines]
    ahead = [a for m in machines for a in m.ahead_frames(from_us, to_us)]
    all_gaps = [g for some in gaps for g in some]
    return {"core_fps": machines[0].fps, "own_ms": statistics.median(own), "own_p95_ms": p95(own), "others_ms": statistics.median(others), "others_p95_ms": p95(others),
            "presses": len(own), "lost_presses": lost, "fps": min((len(s) - 1) / ((s[-1][5] - s[0][5]) / 1e6) for s in shown),
            "gaps": len(all_gaps), "gaps_but_for_hitches": sum(not watch.excuses(at) for at, _ in all_gaps),
            "gaps_first_player": len(gaps[0]), "gaps_first_but_for_hitches": sum(not watch.excuses(at) for at, _ in gaps[0]), "longest_gap_ms": max((ms for _, ms in all_gaps), default=0),
            "first_sees_ms": statistics.median(first) if first else None, "first_wrong_percent": 100 * first_bad / first_known if first_known else None,
            "wrong_percent": 100 * bad / known if known else None, "wrong_run_p99_ms": quantile(runs, 0.99) if runs else 0, "replayed_per_s": statistics.mean(m.replayed_per_s(from_us, to_us) for m in machines),
            "ahead_frames": statistics.mean(ahead) if ahead else 0,
            "parted_percent": 100 * parted / both if both else None,
            "sound_given": sum(s[0] for s in sound), "sound_due": sum(s[1] for s in sound)}
