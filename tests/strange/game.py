"""game.py - one match of the strange core (tests/cores/strange_core.c): its folders, its machines, and what happens to them."""
import ctypes
import json
import os
import random
import re
import shutil
import signal
import subprocess
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("KL_BUILD", os.path.join(ROOT, "build")))
CORE = os.path.join(BUILD, "cores", "strange_core_libretro.so")
OTHER = os.path.join(ROOT, "build/arm64")  # the second machine's programs in the place "mixed", by qemu-user: make arm64
FRAMES = 760       # of a match; nobody touches a key in the last ones
FRAMES_REAL = 376  # of one in real time
SPELL = 128        # frames in whose first half keys go down and up (KLT_INPUT_SPELL)
FPS = 450          # frames a second, at most: so fast that it costs no time, so slow that a newcomer can catch up
FPS_MIXED = 120    # with a machine by qemu-user
LATEST = 520       # the last frame at which something begins
LIMIT_S = 25

# Some places are not for all kinds: nothing can be given that goes by what is missing in a state.
NO_STATE = {"state-none", "state-part", "state-session"}  # nobody else's state is loaded
ONLY_BY_CORE = {"keyboard-late", "frame-time-late", "map-late", "files-late"}  # a newcomer comes by history
BY_HISTORY = NO_STATE | {"files-late", "state-address"}  # the room has no state to give: the match is played again
NO_OWN_STATE = {"state-none", "state-part", "files-late"}  # in a tie nobody goes back

core = ctypes.PyDLL(CORE)  # one thread of ours at a time: strange_plan() gives its own memory
core.strange_plan.restype = ctypes.c_char_p
core.strange_plan.argtypes = core.strange_seen_at.argtypes = [ctypes.c_char_p]


def all_kinds():
    """The kinds, in the core's order."""
    with open(os.path.join(ROOT, "tests/cores/strange_plan.h"), encoding="utf-8") as f:
        return re.findall(r'X\(\w+, "([a-z0-9-]+)"\)', f.read())


def kinds_of(text):
    """The kinds of a content's text."""
    return core.strange_plan(text.encode()).decode().split()


class Stopped(Exception):
    """The match cannot go on; the text says why."""


class Machine:
    """A machine of the match: its folders, its process, and what that wrote."""

    def __init__(self, game, number, *options):
        self.game, self.number, self.options = game, number, list(options)
        self.name, self.home = f"m{number}", os.path.join(game.folder, f"m{number}")
        self.process, self.runs, self.present = None, 0, True
        for folder in ("home", "tmp", "save", "system/shared", "content"):
            os.makedirs(os.path.join(self.home, folder))
        self.fill()
        self.before = tree(self.home)

    def fill(self):
        """The player's own files: alike where the room compares them, in another order and of another time; else different."""
        dice = random.Random(self.game.seed)
        files = {f"{dice.randrange(1 << 40):x}": dice.randrange(200) for _ in range(6)} | {"dated": 5}
        names = list(files)
        random.Random(self.game.seed * 64 + self.number).shuffle(names)
        for name in names:
            self.put(f"system/shared/{name}", "s" * files[name])
            os.utime(self.path(f"system/shared/{name}"), (1e9 + self.number * 5000,) * 2)
        self.put("content/game.strange", self.game.text)
        if "files-saves" in self.game.kinds:
            self.put("save/game.card", f"card of {self.number}")
        if "files-hidden" in self.game.kinds and self.number % 2 == 0:
            self.put("system/hiscore.dat", f"hiscore of {self.number}")

    def path(self, name):
        return os.path.join(self.home, name)

    def put(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)

    def start(self):
        """Starts it, or starts it again."""
        self.runs += 1
        g = self.game
        mixed = self.number == 2 and "mixed" in g.places
        here = ["qemu-aarch64", "-L", f"{OTHER}/root", f"{OTHER}/keylock"] if mixed else [os.path.join(BUILD, "keylock")]
        its_core = f"{OTHER}/cores/strange_core_libretro.so" if mixed else CORE
        command = [*here, "run", "--core", its_core, "--content", self.path("content/game.strange"), "--frames",
                   str(g.frames), "--input", f"any:{g.seed * 8 + self.number}", *g.pace(), "--hash-every", "10", "--relay", g.far_address if self.number == 2 and g.wire else
                   g.relay.address,
                   "--room", g.room, "--name", self.name, "--players", str(g.players), "--wait", "20", "--seat-time", "60", "--system",
                   self.path("system"), "--save", self.path("save"), "--hash-out", self.file("hash"), "--told-out", self.file("told"), "--trace",
                   self.file("csv"), "--states", self.path("states"), *self.options]
        env = {k: v for k, v in os.environ.items() if not k.startswith(("KEYLOCK_", "XDG_"))}
        env |= {"LANG": ("C.UTF-8", "C")[self.number % 2], "LC_ALL": "", "TZ": f"UTC{self.number}", "USER": self.name}
        if self.number == 2 and "chance-cpus" in g.kinds:
            command = ["taskset", "-c", "0", *command]
        env |= {"HOME": self.path("home"), "TMPDIR": self.path("tmp"), "KEYLOCK_LEARN": "off", "KEYLOCK_TRUST": "on"}
        with open(self.file("out"), "wb") as out, open(self.file("log"), "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=log, env=env, cwd=self.home)

    def file(self, ending, run=None):
        return self.path(f"run{run or self.runs}.{ending}")

    def read(self, ending, run=None):
        try:
            with open(self.file(ending, run), encoding="utf-8", errors="replace") as f:
                return f.read()
        except OSError:
            return ""

    def frame(self):
        """The last frame that it has run, by its trace."""
        try:
            with open(self.file("csv"), "rb") as f:
                f.seek(max(0, os.fstat(f.fileno()).st_size - 4000))
                lines = f.read().split(b"\n")
        except OSError:
            return 0
        for line in reversed(lines[1:-1]):
            parts = line.split(b",")
            if len(parts) > 3 and parts[2].isdigit():
                return int(parts[2])
        return 0

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(2)
            except subprocess.TimeoutExpired:
                self.kill()

    def summary(self):
        """The JSON object that it says last."""
        lines = [line for line in self.read("out").splitlines() if line.startswith("{")]
        return json.loads(lines[-1]) if lines else {}

    def hashes(self):
        """{frame: "RAM STATE"} of all its runs; a later run counts."""
        found = {}
        for run in range(1, self.runs + 1):
            for line in self.read("hash", run).splitlines():
                parts = line.split()
                if len(parts) == 3:
                    found[int(parts[0])] = " ".join(parts[1:])
        return found


def tree(folder):
    """Contents of the player's own folders."""
    found = {}
    for part in ("save", "system", "content"):
        for where, _, names in os.walk(os.path.join(folder, part)):
            for name in names:
                path = os.path.join(where, name)
                with open(path, "rb") as f:
                    found[os.path.relpath(path, folder)] = f.read()
    return found


class Relay:
    """One relay for many rooms."""

    def __init__(self, folder, name, catch_up):
        self.log = os.path.join(folder, f"{name}.log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [os.path.join(BUILD, "keylock-relay"), "--bind", "127.0.0.1", "--port", "0", "--state", os.path.join(folder, name), "--catch-up",
                 str(catch_up), "--per-address", "4000", "--handshakes", "1000000", "--rooms", "256", "--rooms-per-address", "256",
                 "--mib-per-address", "4096", "--log-lines", "0"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)
        self.address, self.read_bytes, self.rooms, self.lock = None, 0, {}, threading.Lock()
        until = time.monotonic() + 10
        while not self.address and time.monotonic() < until:
            found = re.search(r"listening.*port=(\d+)", self.text())
            self.address = f"127.0.0.1:{found[1]}" if found else None
            time.sleep(0.02)
        if not self.address:
            raise Stopped(f"the relay does not start: {self.text()}")

    def text(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()

    def lines(self, room, event=""):
        """The log's lines of that room with that event, or all."""
        with self.lock, open(self.log, "rb") as f:
            f.seek(self.read_bytes)
            new = f.read()
            new = new[:new.rfind(b"\n") + 1]
            self.read_bytes += len(new)
            for line in new.decode(errors="replace").splitlines():
                found = re.search(r'room="([^"]*)"', line)
                if found:
                    self.rooms.setdefault(found[1], []).append(line)
            return [line for line in self.rooms.get(room, []) if not event or f"event={event} " in line]


class Game:
    """A seed's match. places: what happens besides two players from the start."""

    def __init__(self, seed, words, places, relays, folder):
        self.seed, self.text, self.kinds = seed, f"strange {seed}{words}\n", None
        self.kinds = kinds_of(self.text)
        self.places = places if places is not None else draw_places(seed, set(self.kinds))
        self.room, self.folder = f"s{seed}-{os.getpid()}-{time.monotonic_ns() % 1000000}", folder
        self.relay = relays["state" if any("state" in p for p in self.places) else "history"]
        self.dice = random.Random(seed * 7 + 1)
        self.spacing = self.dice.choice([1, 2, 3, 4])
        self.players = 3 if "heal3" in self.places else 2
        self.frames = FRAMES_REAL if IN_REAL_TIME & set(self.places) else FRAMES
        self.machines, self.late, self.wrong, self.wire = [], [], 0, None
        os.makedirs(folder)

    def story(self):
        return f'kinds="{" ".join(self.kinds)}" places="{" ".join(self.places)}"'

    def pace(self):
        if IN_REAL_TIME & set(self.places):
            return "--speed", "real", "--policy", "bounded"
        if "mixed" in self.places:
            return "--spacing", str(self.spacing), "--hz", str(FPS_MIXED // self.spacing)
        return "--spacing", str(self.spacing), "--hz", str(FPS // self.spacing)

    def commands(self):
        """The commands of the host and of the second player."""
        one, two = [], []
        if any(p.startswith("join") for p in self.places):
            one.append(f"30:places {self.players + 1}")
        if "slot" in self.places:
            one += [f"{self.dice.randrange(60, 200)}:save", f"{self.dice.randrange(240, 400)}:load"]
        if "seats" in self.places:
            one.append(f"{self.while_held()}:swap")
            two.append(f"{self.while_held()}:watch")
        if "disk" in self.kinds:
            one.append(f"{self.dice.randrange(60, LATEST // 2)}:disk {self.dice.randrange(1, 4)}")
        if "options" in self.kinds:
            one.append(f"{self.dice.randrange(60, LATEST // 2)}:option strange_a=two")
        return [], *([option for line in lines for option in ("--command", line)] for lines in (one, two))

    def while_held(self):
        """A frame in which keys are held for the last time."""
        return self.frames // SPELL * SPELL + self.dice.randrange(10, 50)

    def lay_wire(self):
        """A link emulator in front of the relay, for the second machine."""
        self.wire = subprocess.Popen([os.path.join(BUILD, "faultproxy"), "--listen", "0", "--to", self.relay.address, "--seed", str(self.seed),
                                      "--delay", "5"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        found = re.match(r"listening ([0-9.:]+)", self.wire.stdout.readline())
        if not found:
            raise Stopped("the fault proxy does not start")
        self.far_address = found[1]

    def add(self, *options):
        m = Machine(self, len(self.machines) + 1, *options)
        self.machines.append(m)
        m.start()
        return m

    def reach(self, frame):
        """Waits until the first machine has run that frame."""
        until = time.monotonic() + LIMIT_S
        while self.machines[0].frame() < frame:
            self.alive()
            if time.monotonic() > until:
                raise Stopped(f"machine 1 stands at frame {self.machines[0].frame()}, {frame} was expected")
            time.sleep(0.01)

    def alive(self):
        """Ends a match that cannot hold any more; what the machines wrote is judged."""
        if not self.wrong and self.relay.lines(self.room, "desync"):
            time.sleep(0.3)
            raise Stopped("")
        for m in list(self.machines):
            if m.process.poll() not in (None, 0) and not self.drop_late(m):
                raise Stopped(f"machine {m.number} ended with {m.process.returncode}: {last_line(m)}")

    def drop_late(self, m):
        """A newcomer whose process began so slowly that the match was over is not judged."""
        lines = self.relay.lines(self.room)
        over = next((i for i, line in enumerate(lines) if "event=bye " in line), None)
        if m.number <= self.players or over is None or any(f'name="{m.name}"' in line for line in lines[:over]):
            return False
        m.stop()
        self.machines.remove(m)
        self.late.append(m)
        return True

    def joined(self):
        until = time.monotonic() + LIMIT_S
        while not self.relay.lines(self.room, "joined"):
            self.alive()
            if time.monotonic() > until:
                raise Stopped("machine 1 does not join")
            time.sleep(0.01)

    def corrupt(self):
        """The option that plants a byte in a machine; in RAM that the game does not go by, or in what it goes by."""
        at = 8 if "ram-none" in self.kinds or self.dice.random() < 0.5 else core.strange_ram_at()
        return "--corrupt", f"{self.dice.randrange(100, LATEST)}:{at}"

    def play(self):
        healed = {"heal2": 2, "heal3": self.dice.choice([2, 3]), "heal-host": 1}
        self.wrong = next((healed[p] for p in self.places if p in healed), 0)
        commands = self.commands()
        if "cut" in self.places:
            self.lay_wire()
        for number in range(1, self.players + 1):
            options = self.corrupt() if number == self.wrong else ()
            options = (*options, *(commands[number] if number < 3 else ()))
            if number == 2 and "ahead" in self.places:
                options = (*options, "--ahead", str(self.dice.randrange(1, 6)))
            self.add(*options)
            if number == 1:
                self.joined()
        events = sorted((self.when(place), place) for place in self.places if place in PLACES)
        for frame, place in events:
            self.reach(frame)
            PLACES[place](self)
        self.wait()

    def when(self, place):
        # By a snapshot once replaying would take long: five times the game's pace is expected of a new machine.
        if place in IN_REAL_TIME:
            return self.while_held()
        least = 390 if "state" in place else 60
        return self.dice.randrange(least, LATEST)

    def wait(self):
        until = time.monotonic() + LIMIT_S
        for m in list(self.machines):
            while m.process.poll() is None and not self.drop_late(m):
                self.alive()
                if time.monotonic() > until:
                    raise Stopped(f"machine {m.number} stands at frame {m.frame()}")
                time.sleep(0.01)

    def close(self, keep):
        for m in self.machines + self.late:
            m.stop()
        if self.wire:
            self.wire.kill()
            self.wire.wait()
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)


def last_line(machine):
    lines = machine.read("log").strip().splitlines()
    return lines[-1] if lines else "nothing said"


def join(game):
    game.add()


def watch(game):
    game.add("--spectate")


def come_back(game):
    m = game.machines[1]
    m.kill()
    m.options = [o for i, o in enumerate(m.options) if "--corrupt" not in m.options[max(0, i - 1):i + 1]]
    m.start()


def cut(game):
    """The second player's link is dead for a while."""
    game.wire.send_signal(signal.SIGUSR1)
    time.sleep(0.6)
    game.wire.send_signal(signal.SIGUSR1)


def lose(game):
    """The second player is killed, and does not come again."""
    game.lost = game.machines.pop(1)
    game.lost.kill()


def hitch(game):
    m = game.machines[1]
    m.process.send_signal(signal.SIGSTOP)
    time.sleep(0.6)
    m.process.send_signal(signal.SIGCONT)


# Events while the match runs. The names say the relay's way, where there is one.
PLACES = {"join-history": join, "join-state": join, "watch-history": watch, "watch-state": watch, "return": come_back,
          "hitch": hitch, "cut": cut, "lose": lose}
IN_REAL_TIME = {"hitch", "cut", "lose"}


ALL_PLACES = ["start", *PLACES, "slot", "seats", "heal2", "heal3", "heal-host", "ahead"]


def allowed(place, kinds):
    """Whether a match with these kinds can be in that place: what a state lacks cannot be given by one."""
    if place.startswith("heal") and {"ram-none", "state-none"} <= kinds:
        return False  # nothing can be planted
    if place.startswith("heal"):
        return place == "heal3" or not kinds & NO_OWN_STATE
    if place == "slot":
        return "state-none" not in kinds
    return place != "ahead" or not kinds & NO_STATE


def draw_places(seed, kinds):
    """Up to three of them, as the plan's kinds allow."""
    dice = random.Random(seed * 5 + 2)
    way = dice.choice(["history", "state"])
    shares = {f"join-{way}": 0.5, f"watch-{way}": 0.3, "return": 0.25, "slot": 0.1, "seats": 0.15, dice.choice(["heal2", "heal3", "heal-host"]): 0.35, "ahead": 0.2}
    drawn = [p for p, share in shares.items() if dice.random() < share]
    if any(p.startswith("heal") for p in drawn):  # both would take the planted fault away
        drawn = [p for p in drawn if p not in ("return", "slot")]
    if not drawn and dice.random() < 0.4:
        drawn = [dice.choice(["hitch", "cut", "lose"])]
    return [p for p in drawn if allowed(p, kinds)] or ["start"]
