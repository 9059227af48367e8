#!/usr/bin/env python3
"""judge_wav.py - the sound of a session against that of one without link faults: clicks, gaps, pitch.

    judge_wav.py NAME WAV --clean WAV [--after S] [--until S] [--tone HZ] [--max-pitch SHARE] [--max-gap MS]
                 [--trace CSV] [--exact]

Both hold a pure tone on the left, a lower one on the right (tests/cores/tone_core.c). A click is a step from sample
to sample that is larger than any in the clean one (by more than 2 in 32768, which is rounding); a gap is a stretch
below a hundredth of its loudness; the pitch is taken from the zero crossings of 20 ms, where it is loud. --trace: gaps
and pitch do not count around calls in which link or machine forced something (two stalled calls in a row, 30 ms
without a call, three frames in one), clicks do. --exact: every sample of it, after the leading silence, is the clean
one's, as far as both go.
Prints one line "ok NAME …" or "FAIL NAME: …"."""
import argparse
import array
import csv
import sys
import wave

ROUNDING = 2
BEFORE, AFTER = 0.7, 3.0  # seconds around the forced event


def read(path):
    with wave.open(path) as w:
        a = array.array("h", w.readframes(w.getnframes()))
        return w.getframerate(), a[0::2], a[1::2]


def worst_step(x):
    worst, at = 0, 0
    for i in range(1, len(x)):
        d = x[i] - x[i - 1]
        if d > worst or -d > worst:
            worst, at = abs(d), i
    return worst, at


def gaps(x, floor):
    """Stretches below the floor: (first sample, length)."""
    out, begin = [], None
    for i, v in enumerate(x):
        low = -floor < v < floor
        if low and begin is None:
            begin = i
        elif not low and begin is not None:
            out.append((begin, i - begin))
            begin = None
    if begin is not None:
        out.append((begin, len(x) - begin))
    return out


def crossings(x):
    """Upward zero crossings, in samples, to a fraction."""
    return [i - x[i] / (x[i] - x[i - 1]) for i in range(1, len(x)) if x[i - 1] < 0 <= x[i]]


def pitches(x, rate, tone, loud):
    """(sample, deviation) over stretches of 20 ms that are loud throughout."""
    c, turns = crossings(x), max(1, round(tone / 50))
    for k in range(0, len(c) - turns, turns):
        a, b = int(c[k]), int(c[k + turns])
        period = rate / tone
        if b - a > 3 * turns * period:
            continue
        peaks = [max(abs(v) for v in x[int(c[j]):int(c[j + 1]) + 1]) for j in range(k, k + turns)]
        if min(peaks) < 0.7 * loud:
            continue
        yield a, turns * period / (c[k + turns] - c[k]) - 1


def leading(x):
    return next((i for i, v in enumerate(x) if v), len(x))


def forced(path, length):
    """Spans in seconds of a sound that is that long and ends with the trace."""
    rows = list(csv.DictReader(open(path)))
    at = [int(r["wall_us"]) / 1e6 for r in rows]
    spans, last = [], at[-1]
    for i in range(1, len(rows)):
        two = rows[i]["stall"] == "1" and rows[i - 1]["stall"] == "1"
        if two or at[i] - at[i - 1] > 0.03 or int(rows[i]["run"]) > 2:
            t = length - (last - at[i])
            spans.append((t - BEFORE, t + AFTER))
    return spans


def main():
    p = argparse.ArgumentParser()
    p.add_argument("name")
    p.add_argument("wav")
    p.add_argument("--clean", required=True)
    p.add_argument("--after", type=float, default=0)
    p.add_argument("--until", type=float, default=1e9)
    p.add_argument("--tone", type=float, default=500)
    p.add_argument("--max-pitch", type=float, default=0.005)
    p.add_argument("--max-gap", type=float, default=5)
    p.add_argument("--trace")
    p.add_argument("--exact", action="store_true")
    o = p.parse_args()
    clean_rate, clean, clean_right = read(o.clean)
    rate, left, right = read(o.wav)
    if o.exact:
        a, b = left[leading(left):], clean[leading(clean):]
        n = min(len(a), len(b))
        first = next((i for i in range(n) if a[i] != b[i]), None)
        if first is not None or n < rate:
            print(f"FAIL {o.name}: {n} samples, the first that differs is {first}")
            return 1
        print(f"ok {o.name}: {n} samples bit for bit")
        return 0
    spans = forced(o.trace, len(left) / rate) if o.trace else []

    def excused(sample):
        return any(a <= o.after + sample / rate <= b for a, b in spans)

    o.after = max(o.after, leading(left) / rate)
    part = slice(int(o.after * rate), int(min(o.until, len(left) / rate) * rate))
    left, right = left[part], right[part]
    bad, loud = [], max(map(abs, clean))
    for side, x, c in (("left", left, clean), ("right", right, clean_right)):
        step, at = worst_step(x)
        most = worst_step(c)[0]
        if step > most + ROUNDING:
            bad.append(f"a click on the {side} at {o.after + at / rate:.3f} s: a step of {step}, {most} without faults")
    found = [g for g in gaps(left, loud / 100) if g[1] * 1000 / rate > o.max_gap]
    longest, all_gaps = max((g[1] for g in found), default=0) * 1000 / rate, len(found)
    found = [g for g in found if not excused(g[0])]
    if found:
        bad.append(f"{len(found)} gaps, the first at {o.after + found[0][0] / rate:.3f} s of {found[0][1] * 1000 / rate:.1f} ms")
    steady = [p for p in pitches(left, rate, o.tone, loud) if not excused(p[0])]
    worst = max(steady, key=lambda p: abs(p[1]), default=(0, 0))
    if abs(worst[1]) > o.max_pitch:
        bad.append(f"pitch {worst[1] * 100:+.2f} % at {o.after + worst[0] / rate:.3f} s")
    figures = (f"{len(left) / rate:.1f} s, step {worst_step(left)[0]} of {worst_step(clean)[0]}, gaps {len(found)} "
               f"(forced {all_gaps - len(found)}, longest {longest:.0f} ms), pitch {worst[1] * 100:+.2f} % over "
               f"{len(steady) / 50:.0f} s")
    print(f"FAIL {o.name}: {'; '.join(bad)} ({figures})" if bad else f"ok {o.name}: {figures}")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
