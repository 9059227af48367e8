"""bench.py - what the benches share: programs started and always ended, a relay, links, CSV files and plots.

Environment: KL_BUILD, where the programs are (build); KL_CONTENT (build/content); BENCH_OUT, where CSV and PNG go
($KL_BUILD/bench); QUICK=1, a version that takes a minute and says less; BENCH_RT=1 gives what is measured
real-time priority (needs the right to), so that what else a shared machine does counts less, and keeps the processors awake."""
import atexit
import csv
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("KL_BUILD", os.path.join(ROOT, "build")))
CONTENT = os.path.abspath(os.environ.get("KL_CONTENT", os.path.join(BUILD, "content")))
OUT = os.path.abspath(os.environ.get("BENCH_OUT", os.path.join(BUILD, "bench")))
REAL_TIME = os.environ.get("BENCH_RT", "") not in ("", "0")
QUICK = os.environ.get("QUICK", "") not in ("", "0")
KEYLOCK = os.path.join(BUILD, "keylock")
RELAY = os.path.join(BUILD, "keylock-relay")
WRAPPER = os.path.join(BUILD, "keylock_libretro.so")
PROXY = os.path.join(BUILD, "faultproxy")
PRESS = os.path.join(BUILD, "bench", "press")
PRESS_CORE = os.path.join(BUILD, "cores", "press_core_libretro.so")
SIM = os.path.join(BUILD, "tests", "sim")

LINKS = [(0, 0), (5, 0), (5, 1), (10, 3)]  # jitter ms (per hop half that, half-normal, added), loss % per hop
RTTS = [20, 50, 100, 150]
BOUND = {2: {20: (2, 2, 3, 4), 50: (4, 4, 5, 6), 100: (7, 7, 8, 9), 150: (10, 10, 11, 12)},
         8: {20: (2, 3, 4, 5), 50: (4, 4, 6, 7), 100: (7, 7, 9, 10), 150: (10, 12, 12, 13)}}


def bound(players, rtt, link):
    """The issue's bound in frames, or nothing for another link."""
    row = BOUND.get(players, {}).get(rtt)
    return row[LINKS.index(link)] if row and link in LINKS else None


# --- processes -----------------------------------------------------------------------------------------------------

tmp = tempfile.mkdtemp(prefix="keylock-bench.")
started = []
ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

# Everything is started in the process group of a guard, which ends all of it once this process is gone, however that came about.
guard = subprocess.Popen(["sh", "-c", 'trap "" TERM INT HUP; read _; kill -TERM 0; kill -CONT 0; sleep 1; rm -rf "$1" || { sleep 1; rm -rf "$1"; }; kill -KILL 0', "guard", tmp],
                         stdin=subprocess.PIPE, process_group=0)


def end_all():
    for p in list(started):
        stop(p)
    shutil.rmtree(tmp, ignore_errors=True)
    guard.kill()
    guard.wait()


def end_at_once(*_):
    """From a signal: other threads may be waiting for what they started, so no orderly end."""
    for n in ENDING:
        signal.signal(n, signal.SIG_IGN)
    try:
        guard.stdin.close()
        os.waitid(os.P_PID, guard.pid, os.WEXITED)
    finally:
        os._exit(130)


atexit.register(end_all)
for number in ENDING:
    signal.signal(number, end_at_once)


def environment(**more):
    """Ours, without the player's own settings and state."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("KEYLOCK_", "PRESS_"))}
    env["KEYLOCK_LEARN"] = env["KEYLOCK_AHEAD"] = "off" # the lock alone, unless a bench asks for more
    env["XDG_STATE_HOME"] = os.path.join(tmp, "state")  # keys, pinned relays, seats
    env.update({k: str(v) for k, v in more.items()})
    return env


MEASURED = ("chrt", "--rr", "5") if REAL_TIME else () # the priority of the measured programs


def timed(*command):
    return [str(c) for c in (*MEASURED, *command)]


def start(name, *command, env=None, priority=MEASURED):
    """In the background; what it says goes to tmp/NAME.log."""
    with open(os.path.join(tmp, name + ".log"), "wb") as log:
        p = subprocess.Popen([str(c) for c in (*priority, *command)], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env or environment(),
                             process_group=guard.pid)
    p.name = name
    started.append(p)
    return p


def stop(p, patience=5):
    if p in started:
        started.remove(p)
    if p.poll() is None:
        p.send_signal(signal.SIGCONT)
        p.terminate()
        try:
            p.wait(patience)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()
    return p.returncode


def said(p):
    with open(os.path.join(tmp, p.name + ".log"), errors="replace") as f:
        return f.read()


def wait_said(p, pattern, seconds):
    until = time.monotonic() + seconds
    while True:
        match = re.search(pattern, said(p))
        if match:
            return match
        if p.poll() is not None or time.monotonic() > until:
            tail = said(p)[-400:]
            sys.exit(f"bench: {p.name} did not say {pattern!r} within {seconds:g} s: {tail}")
        time.sleep(0.02)


def last_json(p):
    lines = [line for line in said(p).splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else {}


def needs(*files):
    for f in files:
        if not os.path.exists(f):
            sys.exit(f"bench: {f} is missing (make all test-build builds it)")


def core_path(name):
    for path in glob.glob(f"/usr/lib/*/libretro/{name}_libretro.so") + glob.glob(f"/usr/lib/libretro/{name}_libretro.so"):
        return path
    return None


def relay(tag="", *more):
    """A relay on a free port: (process, "127.0.0.1:PORT")."""
    p = start(tag + "relay", RELAY, "--bind", "127.0.0.1", "--port", "0", "--log", "info", "--per-address", "64", *more)
    return p, "127.0.0.1:" + wait_said(p, r"listening.*port=(\d+)", 5).group(1)


def through(to, rtt_ms, jitter_ms=0, loss=0, seed=1, tag=""):
    """A link in front of it; jitter is the issue's: per hop half that."""
    p = start(tag + "link", PROXY, "--listen", "0", "--to", to, "--seed", seed, "--delay", rtt_ms / 2, "--jitter", jitter_ms / 2,
              "--loss", loss)
    return p, wait_said(p, r"listening (\S+:\d+)", 5).group(1)


# --- the machine ---------------------------------------------------------------------------------------------------

def kernel_threads(name):
    """Those that hand on the loopback's packets wait for a processor like anybody else, at no real-time priority."""
    found = []
    for path in glob.glob("/proc/[0-9]*/comm"):
        try:
            with open(path) as f:
                found += [int(path.split("/")[2])] if f.read().startswith(name) else []
        except OSError:
            pass
    return found


class RunDelay:
    """How long threads of these processes (and the kernel's that hand on packets) stood ready and got no processor, and how long
    the machine itself stood still (stillness.py): on a shared machine that makes late frames which are not the program's."""

    probe, only_one = None, threading.Lock() # for all

    def __init__(self, pids):
        self.pids, self.before, self.hitches, self.since_us = pids + kernel_threads("ksoftirqd/"), {}, [], time.monotonic_ns() // 1000
        with self.only_one:
            if not RunDelay.probe:
                RunDelay.probe = start("stillness", sys.executable, os.path.join(ROOT, "tests", "bench", "stillness.py"))
        self.sample()
        self.hitches = []

    def sample(self):
        now = {}
        for pid in self.pids:
            for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
                try:
                    with open(path) as f:
                        now[path] = int(f.read().split()[1])
                except (OSError, IndexError):
                    pass
        worst = max((now[p] - self.before.get(p, now[p]) for p in now), default=0) / 1e6
        if worst > 4:
            self.hitches.append((time.monotonic_ns() // 1000, worst))
        self.before = now

    def watch(self, seconds, until=lambda: False):
        end = time.monotonic() + seconds
        while time.monotonic() < end and not until():
            time.sleep(0.1)
            self.sample()
        self.end()

    def end(self):
        """What the machine did joins the list."""
        for word in (line.split() for line in said(self.probe).splitlines()):
            if len(word) == 2 and int(word[0]) >= self.since_us:
                self.hitches.append((int(word[0]), float(word[1])))

    def between(self, from_us, to_us):
        """Milliseconds of the hitches in that time: (how many, longest)."""
        some = [ms for at, ms in self.hitches if from_us <= at <= to_us]
        return len(some), max(some, default=0.0)

    def excuses(self, at_us):
        """A hitch in the tenth of a second before, or in the one after it began to show."""
        return any(seen_us - 300000 <= at_us <= seen_us + 100000 for seen_us, _ in self.hitches)


def machine():
    with open("/proc/loadavg") as f:
        load = f.read().split()[0]
    return f"{os.cpu_count()} cores, load {load}" + (", measured at real-time priority" if REAL_TIME else "")


def commit():
    """Of the tree, with "-dirty" if it has changes."""
    return subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, cwd=ROOT).stdout.strip()


def begin(what):
    """Says what is measured on what; from here on, where measurements have real-time priority, the processors stay awake."""
    say(f"{what}; {machine()}")
    if REAL_TIME:
        start("awake", sys.executable, os.path.join(ROOT, "tests", "bench", "awake.py"), priority=())


# --- results -------------------------------------------------------------------------------------------------------

def say(text):
    print(text, flush=True)


def write_csv(name, rows):
    os.makedirs(OUT, exist_ok=True)
    path = os.path.join(OUT, name + ".csv")
    keys = list(dict.fromkeys(k for row in rows for k in row)) or ["nothing"]
    with open(path, "w", newline="") as f:
        w = csv.DictWriter(f, keys, restval="", lineterminator="\n")
        w.writeheader()
        w.writerows({k: f"{v:.4g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)
    say(f"wrote {path}")
    return path


def has_csv(name):
    return os.path.exists(os.path.join(OUT, name + ".csv"))


def read_csv(name):
    """Rows as they were written; numbers are numbers again, what is empty is None."""
    def value(v):
        try:
            return None if v == "" else int(v) if re.fullmatch(r"-?\d+", v) else float(v)
        except ValueError:
            return v
    with open(os.path.join(OUT, name + ".csv"), newline="") as f:
        return [{k: value(v) for k, v in row.items()} for row in csv.DictReader(f)]


def plot(name, script):
    """gnuplot makes OUT/NAME.png of the script; the script stays beside it."""
    path = os.path.join(OUT, name + ".gp")
    os.makedirs(OUT, exist_ok=True)
    with open(path, "w") as f:
        f.write(script)
    if not shutil.which("gnuplot"):
        return say("skip: no gnuplot, so no picture (apt-get install gnuplot-nox)")
    subprocess.run(["gnuplot", path], check=True, cwd=OUT)
    say(f"wrote {os.path.join(OUT, name + '.png')}")


def block(name, rows, keys):
    """Rows as a gnuplot data block."""
    def cell(v):
        if v is None or v == "":
            return "NaN"
        return f'"{v}"' if isinstance(v, str) else f"{v:.6g}"
    return f"${name} << EOD\n" + "".join(" ".join(cell(r.get(k)) for k in keys) + "\n" for r in rows) + "EOD\n"


HEAD = """set terminal pngcairo noenhanced size {w},{h} font "Sans,11" background "#ffffff"
set output "{name}.png"
set border 3 lc rgb "#555555"
set tics nomirror out
set grid ytics lc rgb "#dddddd" lw 1
set key Left reverse samplen 2
"""


def head(name, w=1000, h=560):
    return HEAD.format(name=name, w=w, h=h)
