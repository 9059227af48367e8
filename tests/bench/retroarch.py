"""retroarch.py - pairs of real RetroArch processes: on Keylock through the relay and the fault proxy, here with the press core;
and, for ahead.py, in RetroArch's own netplay over TCP through a delay of our own.

Presses come over RetroArch's network gamepad; when its poll sees them is not to be known from outside, so the half frame
that a press waits for a poll on average is taken off."""
import concurrent.futures
import contextlib
import os
import random
import re
import shutil
import socket
import statistics
import struct
import subprocess
import threading
import time

import bench

SECONDS = float(os.environ.get("BENCH_SECONDS", 6 if bench.QUICK else 25))
BUTTONS = (0, 1, 4, 5, 6, 7, 8, 9, 10, 11)
PACE = ((0.07, 0.11), (0.12, 0.3)) # as in press.c
HALF_FRAME_MS = 1000 / 60 / 2


# --- a slow TCP link -----------------------------------------------------------------------------------------------

class SlowLink:
    """A TCP link of so long a way, from `port` to another port, over two hops like a link through a relay. Jitter as the fault
    proxy's. A lost packet comes later by what TCP takes to notice and to send again (1.25 round trips and the frame after it), and
    those behind it wait: a model, for a proxy cannot make TCP lose packets."""

    def __init__(self, to_port, delay_s, jitter_ms=0, loss_percent=0, seed=1):
        self.to_port, self.delay_s, self.jitter_s = to_port, delay_s, jitter_ms / 2000
        self.loss, self.dice = 1 - (1 - loss_percent / 100) ** 2, random.Random(seed)
        self.held_until_s = 0.0
        listener = socket.create_server(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        threading.Thread(target=self.serve, args=(listener,), daemon=True).start()

    def stall(self, seconds):
        """Nothing comes out for so long."""
        self.held_until_s = time.monotonic() + seconds

    def serve(self, listener):
        while True:
            near, _ = listener.accept()
            far = socket.create_connection(("127.0.0.1", self.to_port))
            for s in (near, far):
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.pump, args=(near, far), daemon=True).start()
            threading.Thread(target=self.pump, args=(far, near), daemon=True).start()

    def way_s(self):
        way = self.delay_s + sum(abs(self.dice.gauss(0, self.jitter_s)) for _ in range(2 if self.jitter_s else 0))
        while self.loss and self.dice.random() < self.loss:
            way += 2.5 * self.delay_s + 1 / 60
        return way

    def pump(self, source, to):
        """Bytes come out as they went in, so much later."""
        waiting, ready = [], threading.Condition()

        def give():
            while True:
                with ready:
                    while not waiting:
                        ready.wait()
                    due, data = waiting.pop(0)
                while time.monotonic() < max(due, self.held_until_s):
                    time.sleep(max(0.0, max(due, self.held_until_s) - time.monotonic()))
                try:
                    to.sendall(data) if data else to.shutdown(socket.SHUT_WR)
                except OSError:
                    return
                if not data:
                    return

        threading.Thread(target=give, daemon=True).start()
        while True:
            try:
                data = source.recv(65536)
            except OSError:
                data = b""
            with ready:
                waiting.append((time.monotonic() + self.way_s(), data))
                ready.notify()
            if not data:
                return


def free_port(kind):
    with socket.socket(socket.AF_INET, kind) as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


# --- two RetroArchs ------------------------------------------------------------------------------------------------

PROGRAM = "retroarch" # or another one's path


def newest():
    """The program of the newest RetroArch: the build folder's 1.20, else the system's; and its version, or twice None."""
    for program in (os.path.join(bench.BUILD, "retroarch-1.20", "retroarch"), "retroarch"):
        try:
            said = subprocess.run([program, "--version"], capture_output=True, text=True)
            return program, re.search(r"\b[vV](?:ersion: )?([0-9][0-9.]+)", said.stdout + said.stderr).group(1)
        except (OSError, AttributeError):
            pass
    return None, None


def start(name, core, content, pad_port, *options, system=None, **more):
    """system: the system folder, else the player's own empty one."""
    home = os.path.join(bench.tmp, name)
    shutil.rmtree(home, ignore_errors=True)
    os.makedirs(os.path.join(home, "retroarch"))
    settings = {"video_driver": "null", "audio_driver": "null", "input_driver": "null", "input_joypad_driver": "null",
                "fastforward_ratio": "1.0", "vrr_runloop_enable": "true", "video_vsync": "false", "menu_driver": "null", "config_save_on_exit": "false",
                "history_list_enable": "false", "netplay_nickname": name, "netplay_public_announce": "false", "netplay_nat_traversal": "false",
                "netplay_use_mitm_server": "false", "network_remote_enable": "true", "network_remote_enable_user_p1": "true",
                "network_remote_base_port": str(pad_port), "pause_nonactive": "false", "input_max_users": "2", "savefile_directory": home, "savestate_directory": home,
                "system_directory": system or home, "cache_directory": home, "libretro_directory": os.path.dirname(core), "libretro_info_path": home,
                "core_info_savestate_bypass": "true", "core_info_cache_enable": "false"}
    core_name = os.path.basename(core).removesuffix(".so")
    with open(os.path.join(home, core_name + ".info"), "w") as f: # without it RetroArch refuses netplay
        f.write(f'display_name = "{core_name}"\ncorename = "{core_name}"\nsupported_extensions = "{content.rpartition(".")[2]}"\n'
                'savestate = "true"\nsavestate_features = "deterministic"\n')
    path = os.path.join(home, "retroarch.cfg")
    with open(path, "w") as f:
        f.writelines(f'{k} = "{v}"\n' for k, v in settings.items())
    env = bench.environment(HOME=home, XDG_CONFIG_HOME=home, DBUS_FATAL_WARNINGS=0, PRESS_LOG=os.path.join(home, "plays"), **more)
    return bench.start(name, PROGRAM, "--verbose", "--config", path, "-L", core, *options, content, env=env)


class Pad:
    """One player's network gamepad. pace: how long a button is down, and then none is, in seconds, at least and at most."""

    def __init__(self, port, seed, buttons, pace):
        self.to, self.dice, self.presses, self.buttons, self.pace = ("127.0.0.1", port), random.Random(seed), [], buttons, pace
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.number, self.down = 0, False
        self.next_s = time.monotonic() + self.dice.uniform(0.1, 0.5)

    def button(self, id_, down):
        self.socket.sendto(struct.pack("iiiiH2x", 0, 1, 0, id_, down), self.to)

    def turn(self):
        if time.monotonic() < self.next_s:
            return
        id_ = self.buttons[self.number % len(self.buttons)]
        self.down = not self.down
        self.button(id_, self.down)
        if self.down:
            self.presses.append((time.monotonic_ns() // 1000, 1 << id_))
            self.next_s += self.dice.uniform(*self.pace[0])
        else:
            self.number += 1
            self.next_s += self.dice.uniform(*self.pace[1])


def lines(home):
    try:
        with open(os.path.join(bench.tmp, home, "plays")) as f:
            return [(int(w[0]), int(w[1]), int(w[2], 16), int(w[3]), int(w[4])) for w in (x.split() for x in f) if len(w) == 5]
    except OSError:
        return []


def delays(presses, seen, port, from_us, to_us):
    found, lost = [], 0
    for at, mask in presses:
        if from_us <= at <= to_us:
            plays = [l[0] for l in seen if l[1] == port and l[2] & mask and at <= l[0] < at + 1000000]
            if plays:
                found.append((min(plays) - at) / 1000)
            else:
                lost += 1
    return found, lost


def press_for(pad_ports, seconds, processes, watch=None, beside=lambda: None, buttons=BUTTONS, pace=PACE):
    """Everybody presses these buttons in turn, and beside() is called every millisecond; the pads, and from when to when presses count."""
    pads = [Pad(p, i + 1, buttons, pace) for i, p in enumerate(pad_ports)]
    from_us = time.monotonic_ns() // 1000
    end, look = time.monotonic() + seconds, 0
    while time.monotonic() < end and all(p.poll() is None for p in processes):
        for pad in pads:
            pad.turn()
        beside()
        time.sleep(0.001)
        if watch and time.monotonic() >= look:
            watch.sample()
            look = time.monotonic() + 0.1
    to_us = time.monotonic_ns() // 1000 - 1000000
    time.sleep(0.5)
    return pads, from_us, to_us


def own_frames(log, player, from_us, to_us):
    """Of the player's own presses: when, and the frame. Those are never late, so the frame is the newest."""
    first = {}
    for at, port, _, frame, _ in log:
        if port == player and from_us <= at <= to_us:
            first.setdefault(frame, (at, frame))
    return list(first.values())


def judge(seen, pads, from_us, to_us):
    own, others, lost, fps = [], [], 0, []
    for player in (0, 1):
        for machine in (0, 1):
            found, missing = delays(pads[player].presses, seen[machine], player, from_us, to_us)
            lost += missing
            (own if player == machine else others).extend(found)
        part = own_frames(seen[player], player, from_us, to_us)
        if len(part) > 1:
            seconds, frames = (part[-1][0] - part[0][0]) / 1e6, part[-1][1] - part[0][1]
            fps.append(frames / seconds)
    if not own or not others or not fps:
        return None
    return {"phases": "random", "players": 2, "own_ms": statistics.mean(own) - HALF_FRAME_MS,
            "others_ms": statistics.mean(others) - HALF_FRAME_MS, "press_own_ms": statistics.mean(own), "presses": len(own),
            "lost_presses": lost, "fps": min(fps)}


def no_settings(_):
    return {}


@contextlib.contextmanager
def netplay_pair(tag, core, content, make_link, settings=no_settings):
    """Two RetroArchs in netplay, the second over make_link(port) to the first: (names, processes, ports of the pads). settings(i):
    those of start() for each."""
    names, pads, both = [f"{tag}ra-{i}" for i in (0, 1)], [free_port(socket.SOCK_DGRAM), free_port(socket.SOCK_DGRAM)], []
    port = free_port(socket.SOCK_STREAM)
    try:
        for i in (0, 1):
            how = ("--host", "--port", str(port)) if i == 0 else ("--connect", "127.0.0.1", "--port", str(make_link(port).port))
            both.append(start(names[i], core, content, pads[i], *how, **settings(i)))
            bench.wait_said(both[i], f"You have joined as player {i + 1}", 20)
        yield names, both, pads
    finally:
        for p in both[::-1]:
            bench.stop(p, 2)


@contextlib.contextmanager
def keylock_pair(tag, core, content, rtt_ms, link, settings=no_settings):
    """Two RetroArchs on the wrapper, each over a link of its own to the relay, of rtt_ms or of one of two: (names, processes, ports of the pads, the relay's
    and the links' processes)."""
    names, pads, both = [f"{tag}ra-{i}" for i in (0, 1)], [free_port(socket.SOCK_DGRAM), free_port(socket.SOCK_DGRAM)], []
    relay, at = bench.relay(tag)
    between = [relay]
    try:
        for i in (0, 1):
            proxy, to = bench.through(at, rtt_ms if isinstance(rtt_ms, int) else rtt_ms[i], *link, seed=i + 1, tag=names[i])
            between.append(proxy)
            both.append(start(names[i], bench.WRAPPER, content, pads[i],
                              **{"KEYLOCK_CORE": core, "KEYLOCK_RELAY": to, "KEYLOCK_ROOM": "ra", "KEYLOCK_PLAYERS": 2, "KEYLOCK_SEATS": 1,
                                 "KEYLOCK_NAME": names[i], **settings(i)}))
            if i == 0: # the seat that comes first is the first
                bench.wait_said(relay, names[0], 20)
        for p in both:
            bench.wait_said(p, "playing seats=", 30)
        yield names, both, pads, between
    finally:
        for p in both + between[::-1]:
            bench.stop(p, 2)


def trace_figures(path, from_us, to_us, seen, watch):
    """Of what a trace tells between two moments: fps, mean lead, late frames in percent, and how many of those stand beside a
    hitch of the machine. What the core saw sets the trace's clock."""
    with open(path) as f:
        rows = [line.split(",", 8) for line in list(f)[1:]]
    rows = [(int(r[0]), int(r[1]) if r[1] else None, int(r[3]), float(r[5]), int(r[7])) for r in rows if len(r) == 9]
    first = {r[1]: r[0] for r in rows if r[2]}
    to_monotonic = next(l[0] - first[l[3]] for l in seen if l[3] in first)
    rows = [(r[0] + to_monotonic, *r[1:]) for r in rows]
    rows = [r for r in rows if from_us <= r[0] <= to_us]
    ran = [r for r in rows if r[2]]
    frames, leads, late = ran[-1][1] - ran[0][1], [r[3] for r in ran if r[3] > 0], [r[0] for r in rows if r[4]]
    return (frames / ((ran[-1][0] - ran[0][0]) / 1e6), statistics.mean(leads), 100 * len(late) / frames,
            100 * sum(watch.excuses(at) for at in late) / frames)


def keylock(tag, rtt_ms, link, content, settle_s):
    """The same two RetroArchs on the wrapper; a row, or None."""
    def traced(i):
        return {"KEYLOCK_TRACE": os.path.join(bench.tmp, f"{tag}{i}.csv")}
    with keylock_pair(tag, bench.PRESS_CORE, content, rtt_ms, link, traced) as (names, both, pads, between):
        time.sleep(settle_s)
        watch = bench.RunDelay([p.pid for p in both + between])
        figures_of = press_for(pads, SECONDS, both, watch)
        watch.end()
    row = judge([lines(name) for name in names], *figures_of)
    if row:
        of = [trace_figures(traced(i)["KEYLOCK_TRACE"], *figures_of[1:], lines(names[i]), watch) for i in (0, 1)]
        row.update(fps=min(f[0] for f in of), lead_frames=statistics.mean(f[1] for f in of), late_percent=statistics.mean(f[2] for f in of),
                   late_excused_percent=statistics.mean(f[3] for f in of))
        row["hitches"], row["worst_hitch_ms"] = watch.between(*figures_of[1:])
    return row and {"how": "real RetroArch", "algorithm": "keylock", "rtt_ms": rtt_ms, "jitter_ms": link[0], "loss_percent": link[1],
                    "bound_frames": bench.bound(2, rtt_ms, link), **row}


def attempt(what, function, *arguments):
    try:
        row = function(*arguments)
    except (SystemExit, OSError, StopIteration, IndexError, statistics.StatisticsError) as e:
        return bench.say(f"  {what}: {e}")
    if row is None:
        return bench.say(f"  {what}: no figures")
    more = (f", lead {row['lead_frames']:.2f} (bound {row['bound_frames']}), late {row['late_percent']:.2f} % ({row['late_excused_percent']:.2f} %"
            f" beside hitches of the machine, {row['hitches']}, worst {row['worst_hitch_ms']:.0f} ms)")
    bench.say(f"  {what}: own {row['own_ms']:.1f} ms, the other's {row['others_ms']:.1f} ms, {row['fps']:.2f} fps, {row['lost_presses']} presses lost{more}")
    return row


def figures(content, settle_s, at_once):
    if not shutil.which("retroarch"):
        bench.say("  no retroarch here")
        return []
    links = [(100, (5, 1))] if bench.QUICK else [(rtt, link) for rtt in bench.RTTS for link in bench.LINKS]
    todo = [(f"RetroArch on Keylock, RTT {rtt} jitter {link[0]} loss {link[1]}", keylock, f"k{i}-", rtt, link, content, settle_s)
            for i, (rtt, link) in enumerate(links)]
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        return [r for r in pool.map(lambda arguments: attempt(*arguments), todo) if r]
