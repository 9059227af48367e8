#!/usr/bin/env python3
"""speech.py make FILE SECONDS SEED - writes a WAV file (48 kHz, 16 bits, one channel) that sounds like speech to a gate and a codec:
words of voiced syllables with three formants, pauses between them, a still room behind.

speech.py judge IN IN_US OUT OUT_US - compares the words of two such files, whose first samples are of these times: prints
`words=N heard=N median_ms=M p95_ms=M`. The delay of a word is that of its begin.

speech.py loud FILE [LEVEL] - prints the seconds of such a file that are loud (1500); it may have two channels, and still be written."""
import array
import math
import random
import sys
import wave

RATE = 48000
STEP = RATE // 200  # 5 ms
LOUD = 600          # the mean of a step's absolute values: above it a word begins
PAUSE = 40          # steps below LOUD before that


def syllable(rng, seconds):
    """A pulse train through three resonances."""
    pitch, n = rng.uniform(100, 220), int(seconds * RATE)
    out, phase = [0.0] * n, 0.0
    filters = [(rng.uniform(low, high), rng.uniform(60, 120)) for low, high in ((300, 800), (900, 2200), (2300, 3200))]
    source = [0.0] * n
    for i in range(n):
        phase += pitch * (1 - 0.1 * i / n) / RATE
        if phase >= 1:
            phase -= 1
            source[i] = 1.0
    for hertz, width in filters:
        r = math.exp(-math.pi * width / RATE)
        a, b, y1, y2 = 2 * r * math.cos(2 * math.pi * hertz / RATE), r * r, 0.0, 0.0
        for i in range(n):
            y = source[i] + a * y1 - b * y2
            y2, y1 = y1, y
            out[i] += y
    most = max(map(abs, out)) or 1
    edge = int(0.008 * RATE)
    return [9000 * v / most * min(1, (i + 1) / edge, (n - i) / edge) for i, v in enumerate(out)]


def make(path, seconds, seed):
    rng = random.Random(seed)
    total, sound = int(seconds * RATE), []
    while len(sound) < total:
        sound += [0.0] * int(rng.uniform(0.7, 1.1) * RATE)  # longer than the gate's tail
        for _ in range(rng.randint(1, 3)):
            sound += syllable(rng, rng.uniform(0.12, 0.25))
    with wave.open(path, "wb") as w:
        w.setparams((1, 2, RATE, 0, "NONE", ""))
        w.writeframes(array.array("h", (int(v + rng.uniform(-8, 8)) for v in sound[:total])).tobytes())


def words(path):
    """The seconds at which words begin."""
    with wave.open(path, "rb") as w:
        sample = array.array("h", w.readframes(w.getnframes()))
    begins, quiet = [], PAUSE
    for at in range(0, len(sample) - STEP, STEP):
        loud = sum(map(abs, sample[at:at + STEP])) > LOUD * STEP
        if loud and quiet >= PAUSE:
            begins.append(at / RATE)
        quiet = 0 if loud else quiet + 1
    return begins


def judge(said_path, said_us, heard_path, heard_us):
    said = [said_us + 1e6 * t for t in words(said_path)]
    heard = [heard_us + 1e6 * t for t in words(heard_path)]
    said = [t for t in said if heard and t < heard_us + 1e6 * duration(heard_path) - 500000]
    delays = sorted(h - t for t in said for h in heard if 0 <= h - t < 400000)
    if not delays:
        print(f"words={len(said)} heard=0 median_ms=0 p95_ms=0")
        return
    median, p95 = delays[len(delays) // 2], delays[min(len(delays) - 1, int(0.95 * len(delays)))]
    print(f"words={len(said)} heard={len(delays)} median_ms={median / 1000:.0f} p95_ms={p95 / 1000:.0f}")


def duration(path):
    with wave.open(path, "rb") as w:
        return w.getnframes() / RATE


def loud(path, level=1500):
    with open(path, "rb") as f:
        data = f.read()
    s, step = array.array("h", data[44:len(data) // 2 * 2]), 480 * data[22]
    print(sum(max(map(abs, s[i:i + step])) > level for i in range(0, len(s) - step, step)) // 100)


if len(sys.argv) == 5 and sys.argv[1] == "make":
    make(sys.argv[2], float(sys.argv[3]), int(sys.argv[4]))
elif len(sys.argv) == 6 and sys.argv[1] == "judge":
    judge(sys.argv[2], int(sys.argv[3]), sys.argv[4], int(sys.argv[5]))
elif len(sys.argv) in (3, 4) and sys.argv[1] == "loud":
    loud(sys.argv[2], *map(int, sys.argv[3:]))
else:
    sys.exit(__doc__)
