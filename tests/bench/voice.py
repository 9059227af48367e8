#!/usr/bin/env python3
"""voice.py - voice between two players of a room, from a WAV file in place of a microphone to one in place of a loudspeaker, through a
relay and links (tests/tools/faultproxy): its delay, what losses do to it, what it costs.

- Delay: of each word, from its begin in the one file to its begin in the other; medians and 95th percentiles beside the aim, one way
  and 60 ms, with jitter 80 ms. The links' mean delay is that of the RTT, with jitter, too.
- Pulse: the same through a real PulseAudio server. What goes into the microphone and what comes out of the loudspeaker are the left and
  the right of one null sink, recorded together; the aim is one way and 95 ms.
- Losses: one player hears the speaker behind a link with losses, another behind one without: the log-spectral distance of 20 ms of sound
  in the one file to the same in the other, over 24 bands, where somebody speaks, after the first 10 s. Beside it that of a room without losses, and the
  floor: what the same share of losses does to the same speech if each copy comes in time (voice_floor.c).
- Cost: processor time of the voice thread beside that of its process, bytes on the wire while somebody speaks, and the lead and
  the stalls of a room with three talkers beside the same room without voice.

- Uplink: two players who talk behind links of 16 kB/s each way: their lead beside that of a room without voice.
- Crowd (not by itself): 8 players who all talk for MINUTES=10, and the same without voice: how late frames are, what comes down, and
  whether the memory of relay and players grows.

  voice.py [delay|pulse|losses|cost|uplink|crowd]        one of them"""
import array
import cmath
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import wave

import bench
import bytes as wire

sys.path.insert(0, os.path.join(bench.ROOT, "tests", "e2e", "voice"))
SPEECH = os.path.join(bench.ROOT, "tests", "e2e", "voice", "speech.py")
CORE = os.path.join(bench.BUILD, "cores", "probe_core_libretro.so")
FLOOR = os.path.join(bench.BUILD, "bench", "voice_floor")
GAME = os.path.join(bench.CONTENT, "shooter.nes")
SECONDS = 15 if bench.QUICK else 60
DELAYS = [(0, 0)] if os.environ.get("FEW") else [(0, 0), (50, 0), (50, 10), (100, 0), (100, 10)] # RTT to the relay and jitter, ms; one way between players is the RTT
LOSSES = (5, 20)  # % on the hop to the hearer, and from it
UPLINK_KBIT = 128 # 16 kB/s
NOTICED = 10      # s: losses are known by then
AIM_MS, AIM_JITTER_MS, AIM_PULSE_MS = 60, 80, 95
HALF_NORMAL = math.sqrt(2 / math.pi) # the mean of the links' jitter, of its size
RATE, UNIT, BANDS = 48000, 960, 24


def speech(name, seconds, seed):
    path = os.path.join(bench.tmp, name + ".wav")
    subprocess.run([sys.executable, SPEECH, "make", path, str(seconds), str(seed)], check=True)
    return path


def player(name, at, room, players, seconds, says=None, *more):
    """One of a room of so many; hears if it says something."""
    voice = ["--voice", "on", "--voice-in", says, "--voice-out", os.path.join(bench.tmp, name + "-hears.wav")] if says else []
    return bench.start(name, bench.KEYLOCK, "run", "--relay", at, "--core", CORE, "--content", GAME, "--room", room, "--name", name, "--players", players,
                       "--frames", seconds * 60, "--wait", 60, "--speed", "real", *voice, *more, env=bench.environment(PROBE_CORE="no-clock"))


def since(p, what):
    found = re.search(rf"voice {what} since_us=(\d+)", bench.said(p))
    return found and found.group(1)


def ended(players, seconds):
    until = time.monotonic() + seconds
    for p in players:
        p.wait(max(1, until - time.monotonic()))
        bench.stop(p)


def talk(tag, rtt, jitter, loss, seconds=SECONDS):
    """ann speaks to ben: (ann, ben), who have ended."""
    relay, at = bench.relay(tag)
    link, to = bench.through(at, max(0, rtt - HALF_NORMAL * jitter), jitter, loss, tag=tag)
    pair = [player(tag + name, to, tag, 2, seconds, speech(tag + name + "-says", seconds, seed)) for name, seed in (("ann", 1), ("ben", 2))]
    ended(pair, seconds + 90)
    for p in (link, relay):
        bench.stop(p)
    return pair


def judged(says, says_us, hears, hears_us):
    """Of the words of two files, whose first samples are of these times, what speech.py says."""
    told = subprocess.run([sys.executable, SPEECH, "judge", says, says_us, hears, hears_us], capture_output=True, text=True).stdout
    return {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", told)}


# --- delay ---

def delay():
    rows = []
    for rtt, jitter in DELAYS:
        ann, ben = talk(f"delay-{rtt}-{jitter}", rtt, jitter, 0)
        for speaker, hearer in ((ann, ben), (ben, ann)):
            says, hears = (os.path.join(bench.tmp, p.name + suffix) for p, suffix in ((speaker, "-says.wav"), (hearer, "-hears.wav")))
            found = judged(says, since(speaker, "listens") or "0", hears, since(hearer, "plays") or "0")
            if not found.get("heard"):
                bench.say(f"RTT {rtt}, jitter {jitter}: nothing was heard: {bench.said(hearer)[-300:]}")
                continue
            rows.append({"rtt_ms": rtt, "jitter_ms": jitter, "words": found["words"], "heard": found["heard"], "median_ms": found["median_ms"],
                         "p95_ms": found["p95_ms"], "aim_ms": rtt + AIM_MS, "aim_p95_ms": rtt + AIM_JITTER_MS})
            bench.say(f"RTT {rtt} ms, jitter {jitter} ms: {found['heard']} of {found['words']} words, median {found['median_ms']} ms (aim {rtt + AIM_MS}), "
                      f"p95 {found['p95_ms']} ms (aim {rtt + AIM_JITTER_MS})")
    bench.write_csv("voice-delay", rows)
    if not rows:
        return
    by = [{"name": f"{r['rtt_ms']}±{r['jitter_ms']}", **r} for r in rows[::2]]
    bench.plot("voice-delay", bench.head("voice-delay", 900, 420) + bench.block("d", by, ("name", "median_ms", "p95_ms", "aim_ms", "aim_p95_ms")) +
               'set title "Mouth to ear between two players, file devices"\nset ylabel "ms"\nset xlabel "RTT to the relay ± jitter, ms"\n'
               'set style data histograms\nset style fill solid 0.8 border -1\nset yrange [0:*]\nset key top left\n'
               'plot $d using 2:xtic(1) title "median" lc rgb "#3b6ea5", "" using 3 title "95th percentile" lc rgb "#c58b3b", '
               '"" using 0:4 with points pt 2 lc rgb "#222222" title "aim of the median", "" using 0:5 with points pt 1 lc rgb "#777777" title "aim of the percentile"\n')


# --- pulse ---

def pulse_server():
    """One with the null sink `field`: what is played into `mouth` is its left, what is played into `ear` its right; the source `air` is
    the left. `away` is silent."""
    socket = os.path.join(bench.tmp, "pulse.socket")
    env = bench.environment(PULSE_SERVER=f"unix:{socket}", XDG_RUNTIME_DIR=bench.tmp, PULSE_COOKIE=os.path.join(bench.tmp, "cookie"))
    side = "master={}{} channels=1 channel_map=mono master_channel_map=front-{} remix=no"
    modules = [f"module-native-protocol-unix auth-anonymous=1 socket={socket}",
               "module-null-sink sink_name=field rate=48000 channels=2 channel_map=front-left,front-right", "module-null-sink sink_name=away rate=48000",
               "module-remap-sink sink_name=mouth " + side.format("field", "", "left"), "module-remap-sink sink_name=ear " + side.format("field", "", "right"),
               "module-remap-source source_name=air " + side.format("field", ".monitor", "left")]
    server = bench.start("pulseaudio", "pulseaudio", "-n", "--daemonize=no", "--exit-idle-time=-1", *(word for m in modules for word in ("-L", m)), env=env)
    for _ in range(100):
        if subprocess.run(["pactl", "info"], env=env, capture_output=True).returncode == 0:
            return server, env
        time.sleep(0.1)
    sys.exit(f"pulse: the server does not start: {bench.said(server)}")


def heard_through_pulse(rtt, env):
    """The words that ann says, and ben hears, by one clock."""
    tag, seconds = f"pulse-{rtt}", SECONDS
    relay, at = bench.relay(tag)
    link, to = bench.through(at, rtt, tag=tag)
    ann, ben = (bench.start(tag + name, bench.KEYLOCK, "run", "--relay", to, "--core", CORE, "--content", GAME, "--room", tag, "--name", tag + name, "--players", 2,
                            "--frames", (seconds + 10) * 60, "--wait", 60, "--speed", "real", "--voice", "on",
                            env={**env, "PROBE_CORE": "no-clock", "PULSE_SOURCE": source, "PULSE_SINK": sink})
                for name, source, sink in (("ann", "air", "away"), ("ben", "away.monitor", "ear")))
    for p, what in ((ann, "voice listens since"), (ben, "voice plays since")):
        bench.wait_said(p, what, 60)
    path = os.path.join(bench.tmp, tag + ".wav")
    records = bench.start(tag + "records", "parec", "-d", "field.monitor", "--rate=48000", "--channels=2", "--format=s16le", "--file-format=wav", "--latency-msec=20",
                          path, env=env)
    time.sleep(1)
    says = bench.start(tag + "says", "paplay", "-d", "mouth", "--latency-msec=20", speech(tag + "-says", seconds, 1), env=env)
    says.wait(seconds + 30)
    time.sleep(1)
    records.send_signal(signal.SIGINT)
    records.wait(5)
    ended([says, records, ann, ben], 60)
    for p in (link, relay):
        bench.stop(p)
    both, sides = samples(path), []
    for side in (0, 1):
        sides.append(os.path.join(bench.tmp, f"{tag}-{side}.wav"))
        with wave.open(sides[-1], "wb") as w:
            w.setparams((1, 2, RATE, 0, "NONE", ""))
            w.writeframes(both[side::2].tobytes())
    return judged(sides[0], "0", sides[1], "0")


def pulse():
    if not all(map(shutil.which, ("pulseaudio", "pactl", "parec", "paplay"))):
        bench.say("PulseAudio: left out, pulseaudio and pulseaudio-utils are not installed")
        return
    rows = []
    server, env = pulse_server()
    for rtt in (0, 50):
        found = heard_through_pulse(rtt, env)
        if not found.get("heard"):
            bench.say(f"PulseAudio, RTT {rtt}: nothing was heard")
            continue
        rows.append({"rtt_ms": rtt, **found, "aim_ms": rtt + AIM_PULSE_MS})
        bench.say(f"PulseAudio, RTT {rtt} ms: {found['heard']} of {found['words']} words, median {found['median_ms']} ms (aim {rtt + AIM_PULSE_MS}), p95 {found['p95_ms']} ms")
    bench.stop(server)
    bench.write_csv("voice-pulse", rows)


# --- losses ---

def samples(path):
    with wave.open(path, "rb") as w:
        return array.array("h", w.readframes(w.getnframes()))


def spectrum(x):
    """A fast Fourier transform; len(x) is a power of two."""
    n = len(x)
    if n == 1:
        return x
    even, odd = spectrum(x[::2]), spectrum(x[1::2])
    turned = [cmath.exp(-2j * math.pi * k / n) * odd[k] for k in range(n // 2)]
    return [e + t for e, t in zip(even, turned)] + [e - t for e, t in zip(even, turned)]


WINDOW = [0.5 - 0.5 * math.cos(2 * math.pi * i / UNIT) for i in range(UNIT)]


def bands(s, at):
    """dB of the bands up to 8 kHz."""
    power = [abs(c) ** 2 for c in spectrum([v * w for v, w in zip(s[at:at + UNIT], WINDOW)] + [0] * (1024 - UNIT))[:171]]
    width = len(power) // BANDS
    return [10 * math.log10(sum(power[b * width:(b + 1) * width]) / width + 1e4) for b in range(BANDS)]


def is_loud(s, at):
    return sum(map(abs, s[at:at + UNIT])) > 500 * UNIT


def lag_of(a, at, b, guess):
    """Samples by which b is later than a at this place, near the guess."""
    piece, best = a[at:at + 4 * UNIT:8], (None, None)
    for lag in range(guess - 2880, guess + 2881, 8):
        if at + lag < 0 or at + lag + 4 * UNIT > len(b):
            continue
        match = sum(x * y for x, y in zip(piece, b[at + lag:at + lag + 4 * UNIT:8]))
        if best[0] is None or match > best[0]:
            best = (match, lag)
    return best[1]


def distances(clean, other, guess=0, after=0):
    """Of each loud unit from this second on. guess: the samples by which other is later."""
    found, lag, quiet = [], None, 99
    for at in range(after * RATE, len(clean) - 4 * UNIT, UNIT):
        loud = is_loud(clean, at)
        if loud and (quiet > 10 or lag is None):
            lag = lag_of(clean, at, other, guess if lag is None else lag)
        quiet = 0 if loud else quiet + 1
        if not loud or lag is None or at + lag < 0 or at + lag + UNIT > len(other):
            continue
        a, b = bands(clean, at), bands(other, at + lag)
        found.append(math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b)) / BANDS))
    return sorted(found)


def percentile(found, share):
    return found[min(len(found) - 1, len(found) * share // 100)]


def floor(loss):
    """The 95th percentile of the distance, if each copy comes in time."""
    says = speech("floor-says", SECONDS, 1)
    clean, lossy = (os.path.join(bench.tmp, f"floor-{name}.wav") for name in ("clean", "lossy"))
    subprocess.run([FLOOR, says, str(loss), "1", clean, lossy], check=True)
    return percentile(distances(samples(clean), samples(lossy)), 95)


def heard_twice(tag, loss):
    """ann speaks to ben behind a link with losses, and to cem behind one without: the distances between what both hear. ben speaks too,
    and cem does not hear him; ann learns from him that packets get lost."""
    seconds, silence = min(SECONDS, 40), os.path.join(bench.tmp, "silence.wav")
    with wave.open(silence, "wb") as w:
        w.setparams((1, 2, RATE, 0, "NONE", ""))
    relay, at = bench.relay(tag)
    links = [bench.through(at, 50, 0, share, tag=f"{tag}-{share}") for share in (0, loss)]
    to, lossy = links[0][1], links[-1][1]
    room = [player(tag + "ann", to, tag, 3, seconds, speech(tag + "ann-says", seconds, 1)),
            player(tag + "ben", lossy, tag, 3, seconds, speech(tag + "ben-says", seconds, 2)),
            player(tag + "cem", to, tag, 3, seconds, silence, "--command", f"30:mute {tag}ben")]
    ended(room, seconds + 90)
    for p in (*(link for link, _ in links), relay):
        bench.stop(p)
    clean, other = (samples(os.path.join(bench.tmp, p.name + "-hears.wav")) for p in (room[2], room[1]))
    return distances(clean, other, (int(since(room[2], "plays")) - int(since(room[1], "plays"))) * RATE // 1000000, NOTICED)


def losses():
    rows, still = [], None
    for loss in (0, *LOSSES):
        d = heard_twice(f"loss{loss}", loss)
        if not d:
            bench.say(f"loss {loss} %: nothing was heard")
            continue
        p95, least = percentile(d, 95), floor(loss)
        still = p95 if still is None else still
        rows.append({"loss": loss, "units": len(d), "median_db": percentile(d, 50), "p95_db": p95, "above_still_db": p95 - still, "floor_p95_db": least})
        bench.say(f"loss {loss} %: {len(d)} units with speech, distance median {percentile(d, 50):.2f} dB, p95 {p95:.2f} dB: {p95 - still:+.2f} to the run without losses, "
                  f"{p95 - least:+.2f} to the floor of {least:.2f} dB")
    bench.write_csv("voice-losses", rows)


# --- cost ---

def thread_s(pid, name=None):
    """Processor seconds of the process's threads of this name."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/comm") as f:
            if name and f.read().strip() != name[:15]:
                continue
        with open(f"/proc/{pid}/task/{task}/schedstat") as f:
            total += int(f.read().split()[0]) / 1e9
    return total


def room(tag, talkers, seconds):
    """A room of four of whom so many speak: what each says at its end, and the figures of the first one's voice thread and wire."""
    relay, at = bench.relay(tag)
    link, to = bench.through(at, 50, 5, 1, tag=tag)
    tap = wire.Tap(to)
    names = [f"{tag}-{i}" for i in range(4)]
    all_ = [player(n, tap.address if i == 0 else to, tag, 4, seconds, speech(n + "-says", seconds, i) if i < talkers else None) for i, n in enumerate(names)]
    bench.wait_said(all_[0], "playing seats=", 60)
    time.sleep(3)
    voice, process, before, begun = thread_s(all_[0].pid, "keylock-voice"), thread_s(all_[0].pid), tap.snapshot(), time.monotonic()
    time.sleep(seconds - 10)
    wall, after = time.monotonic() - begun, tap.snapshot()
    voice, process = thread_s(all_[0].pid, "keylock-voice") - voice, thread_s(all_[0].pid) - process
    ended(all_, 60)
    tap.close()
    for p in (link, relay):
        bench.stop(p)
    told = [bench.last_json(p) for p in all_]
    count = {way: [sum(after[c][way][k] - before.get(c, {}).get(way, (0, 0))[k] for c in after) / wall for k in (0, 1)] for way in ("up", "down")}
    return {"voice": voice / wall, "process": process / wall, "count": count, "told": [t for t in told if t]}


def cost():
    seconds = max(20, SECONDS)
    without, with_ = room("still", 0, seconds), room("talk", 3, seconds)
    rows = []
    for name, r in (("without voice", without), ("three talkers", with_)):
        rows.append({"room": name, **figures(r["told"]), "voice_share": r["voice"], "process_share": r["process"],
                     **{f"{way}_{unit}_s": r["count"][way][k] for way in ("up", "down") for k, unit in enumerate(("datagrams", "bytes"))}})
        bench.say(f"{name}: lead {rows[-1]['lead_frames']:.2f} frames, {rows[-1]['late_frames']} late frames, {rows[-1]['stalls']} stalls; the voice thread took {100 * r['voice']:.2f} % of a processor "
                  f"(the process {100 * r['process']:.1f} %)")
    for way, heard in (("up", "its own voice"), ("down", "two voices")):
        datagrams, octets = ((with_["count"][way][k] - without["count"][way][k]) for k in (0, 1))
        if datagrams > 1:
            talking = datagrams * 0.02
            bench.say(f"{way}, {heard}: {datagrams:.1f} datagrams a second more; while one speaks {(octets + datagrams * wire.HEADERS) / talking / 1000:.2f} kB/s with IP and UDP")
    bench.write_csv("voice-cost", rows)


def figures(told):
    """Of the players of a room, from what each says at its end."""
    return {"players": len(told), "lead_frames": sum(t["lead_frames_avg"] for t in told) / max(1, len(told)), "late_frames": sum(t["late_frames"] for t in told),
            "stalls": sum(t["stalls"] for t in told)}


# --- uplink ---

def uplink():
    rows, seconds = [], min(SECONDS, 30)
    for name in ("without voice", "two talkers"):
        tag = name.split()[0]
        relay, at = bench.relay(tag)
        link = bench.start(tag + "link", bench.PROXY, "--listen", "0", "--to", at, "--seed", 1, "--delay", 25, "--jitter", 2, "--rate", UPLINK_KBIT)
        to = bench.wait_said(link, r"listening (\S+:\d+)", 5).group(1)
        pair = [player(f"{tag}{i}", to, tag, 2, seconds, speech(f"{tag}{i}-says", seconds, i) if name != "without voice" else None) for i in range(2)]
        ended(pair, seconds + 90)
        for p in (link, relay):
            bench.stop(p)
        rows.append({"room": name, **figures([bench.last_json(p) for p in pair])})
        bench.say(f"links of {UPLINK_KBIT // 8} kB/s, {name}: lead {rows[-1]['lead_frames']:.2f} frames, {rows[-1]['late_frames']} late frames, {rows[-1]['stalls']} stalls")
    bench.write_csv("voice-uplink", rows)


# --- crowd ---

def long_speech(seed, seconds):
    """A minute of it, again and again."""
    once, path = samples(speech(f"once{seed}", 60, seed)), os.path.join(bench.tmp, f"long{seed}.wav")
    with wave.open(path, "wb") as w:
        w.setparams((1, 2, RATE, 0, "NONE", ""))
        for _ in range(seconds // 60 + 1):
            w.writeframes(once.tobytes())
    return path


def resident_kb(p):
    with open(f"/proc/{p.pid}/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE") // 1024


def late_ms(path):
    """How much longer than usual a frame takes, by the trace: the 99th and 99.9th percentile of the times between two."""
    with open(path) as f:
        at = [int(line.split(",")[0]) for line in f if line[:1].isdigit()]
    gaps = sorted(b - a for a, b in zip(at[600:], at[601:]))
    return [(gaps[int(share * len(gaps))] - gaps[len(gaps) // 2]) / 1000 for share in (0.99, 0.999)]


def crowd():
    rows, seconds = [], int(os.environ.get("MINUTES", 1 if bench.QUICK else 10)) * 60
    says = [long_speech(i, seconds) for i in range(4)]
    for name in ("without voice", "8 talkers"):
        tag, speaks = "crowd" + name[:2].strip(), name != "without voice"
        relay, at = bench.relay(tag)
        tap = wire.Tap(at)
        trace = os.path.join(bench.tmp, tag + ".csv")
        all_ = [player(f"{tag}{i}", tap.address if i == 0 else at, tag, 8, seconds, says[i % 4] if speaks else None, *(("--trace", trace) if i == 1 else ()))
                for i in range(8)]
        bench.wait_said(all_[0], "playing seats=", 120)
        time.sleep(min(60, seconds / 3))
        first, before, begun = [resident_kb(p) for p in (relay, *all_)], tap.snapshot(), time.monotonic()
        time.sleep(max(10, seconds - (time.monotonic() - begun) - min(60, seconds / 3) - 15))
        last, after, wall = [resident_kb(p) for p in (relay, *all_)], tap.snapshot(), time.monotonic() - begun
        down = sum(after[c]["down"][0] - before.get(c, {"down": (0, 0)})["down"][0] for c in after) / wall
        ended(all_, 120)
        tap.close()
        bench.stop(relay)
        p99, p999 = late_ms(trace)
        grown = [b - a for a, b in zip(first, last)]
        rows.append({"room": name, **figures([t for t in map(bench.last_json, all_) if t]), "late_p99_ms": p99, "late_p999_ms": p999, "down_datagrams_s": down,
                     "relay_kb": last[0], "relay_grown_kb": grown[0], "player_kb": max(last[1:]), "player_grown_kb": max(grown[1:])})
        r = rows[-1]
        bench.say(f"{name}, {wall:.0f} s: {r['players']} players, lead {r['lead_frames']:.2f} frames, {r['late_frames']} late frames, {r['stalls']} stalls; frames late by {p99:.2f} ms "
                  f"at p99, {p999:.2f} at p99.9; {down:.0f} datagrams a second to one; memory: relay {last[0]} kB, {grown[0]:+d}; a player {r['player_kb']} kB, {max(grown[1:]):+d} at most")
    bench.write_csv("voice-crowd", rows)


if __name__ == "__main__":
    bench.needs(bench.KEYLOCK, bench.RELAY, bench.WRAPPER, bench.PROXY, CORE, GAME, FLOOR)
    bench.begin(f"voice, commit {bench.commit()}")
    parts = {"delay": delay, "pulse": pulse, "losses": losses, "cost": cost, "uplink": uplink, "crowd": crowd}
    for name in sys.argv[1:] or [part for part in parts if part != "crowd"]:
        parts[name]()
