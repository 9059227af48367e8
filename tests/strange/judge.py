"""judge.py - judges a match of the strange core: equal machines, equal frontends, equal files, no false alarm, no death."""
import ctypes
import os
import re

import game as play


def judge(g):
    """[fault]: nothing for a match that held."""
    faults = []
    for check in (alarms, ends, machines, frontends, folders, ways, reasons):
        faults += check(g)
        if faults and check is alarms:
            return faults
    return faults


def ends(g):
    return [f"machine {m.number} ended with {m.process.returncode}: {play.last_line(m)}" for m in g.machines if m.process.returncode != 0]


def is_healed(g):
    return any(p.startswith("heal") for p in g.places)


def replays(g):
    return bool(set(g.kinds) & play.BY_HISTORY)


def alarms(g):
    """Nothing differs but what was planted, and that once."""
    found, healed = [], is_healed(g)
    for event in ("desync", "watcher_desync", "heal_failed", "differs"):
        lines = g.relay.lines(g.room, event)
        if lines and not (healed and event == "desync" and len(lines) == 1):
            found.append(f"the relay says {cut(lines[-1 if healed else 0])}{named(g)}")
    for m in g.machines:
        s = m.summary()
        if s.get("desync_frame") is not None and not healed:
            found.append(f"machine {m.number} says desync at frame {s['desync_frame']}{named(g)}")
        if s.get("state_only") and not set(g.kinds) & {"state-address"}:
            found.append(f"machine {m.number} counts {s['state_only']} unequal states")
    ways = ["healed", "heal_anew"] if replays(g) else ["healed"]
    if healed and not any(g.relay.lines(g.room, way) for way in ways):
        found.append("nothing was healed")
    return found


def cut(line):
    return line.split(" ", 2)[-1][:200]


def machines(g):
    first, found = g.machines[0].hashes(), []
    part = 0 if set(g.kinds) & {"state-address", "state-session"} else None  # these states hold a machine's own addresses
    last = healed_at(g)
    for m in g.machines[1:]:
        other = m.hashes()
        both = [f for f in sorted(first) if f in other and f >= last]
        differ = [f for f in both if not alike(first[f], other[f], part)]
        if differ:
            found.append(f"machines 1 and {m.number} differ from frame {differ[0]} on{named(g)}")
        if g.frames - 1 not in other:
            found.append(f"machine {m.number} has not run to the end")
    return found


def alike(a, b, part):
    return a == b if part is None else a.split()[part] == b.split()[part]


def healed_at(g):
    """The frame from which on hashes must be equal: a match that was healed has run some frames wrong."""
    planted = [int(m.options[i + 1].split(":")[0]) for m in g.machines for i, o in enumerate(m.options) if o == "--corrupt"]
    loaded = [int(f) for line in g.relay.lines(g.room, "loaded") for f in re.findall(r" frame=(\d+)", line)]
    return max(loaded + [planted[0] + 100]) + 24 if planted and is_healed(g) else 0


def named(g):
    """The kinds whose last values differ, by the states that the machines wrote when they parted."""
    kept = [os.path.join(m.home, "states") for m in g.machines if os.path.isdir(os.path.join(m.home, "states"))]
    names = sorted(set.intersection(*(set(os.listdir(k)) for k in kept))) if len(kept) > 1 else []
    for name in names:
        states = []
        for k in kept:
            with open(os.path.join(k, name), "rb") as f:
                data = f.read()
            states.append(data[max(0, data.find(b"strange\0")):])
        differ = [kind for kind in play.all_kinds() for at in [play.core.strange_seen_at(kind.encode())]
                  if len({s[at:at + ctypes.sizeof(ctypes.c_uint64)] for s in states}) > 1]
        if differ:
            return f" ({name.split('.')[0].lstrip('0')}: {' '.join(differ)})"
    return ""


def frontends(g):
    """What the frontends were told last. A watcher has no pad that shakes."""
    def told(m, pads):
        return [line for line in m.read("told").splitlines() if pads or not line.startswith("rumble")]
    found = [f"machine {m.number}: keys stay down: {line}" for m in g.machines for line in told(m, True) if line.startswith("led 15=")]
    for m in g.machines[1:]:
        pads = "--spectate" not in m.options and m.number <= g.players and "seats" not in g.places
        one, other = told(g.machines[0], pads), told(m, pads)
        for line in sorted(set(one) ^ set(other))[:2]:
            found.append(f"only the frontend of machine {1 if line in one else m.number} was told \"{line}\", not that of "
                         f"{m.number if line in one else 1}")
    return found


def folders(g):
    """The players' own files stay as they were."""
    found = []
    for m in g.machines:
        after = play.tree(m.home)
        after.pop("save/game.srm", None)
        for name in sorted(set(m.before) | set(after)):
            if m.before.get(name) != after.get(name):
                found.append(f"machine {m.number}: {name} is {'changed' if name in m.before and name in after else 'new' if name in after else 'gone'}")
    return found[:3]


def ways(g):
    """A newcomer came by a snapshot where the core allows it. A room that stands still, or is over, serializes nothing: its way is
    history."""
    if not any("state" in p for p in g.places) or set(g.kinds) & (play.BY_HISTORY | play.ONLY_BY_CORE):
        return []
    newcomers, stands, found = {f'name="{m.name}"': m for m in g.machines if m.number > g.players}, False, []
    for line in g.relay.lines(g.room):
        stands = "event=stall " in line or stands and "event=stall_over " not in line
        to_run = re.search(r"frames_to_run=(\d+)", line)
        over = to_run and int(to_run[1]) >= g.frames
        if "event=catch_up " in line and "by=snapshot" not in line and not stands and not over:
            found += [f"machine {m.number} came by {cut(line)}" for name, m in newcomers.items() if name in line]
    return found


def reasons(g):
    """If no state gives a declaration, as only the core can make it, the newcomer is told its name."""
    kinds = set(g.kinds)
    if not kinds & play.ONLY_BY_CORE or kinds & play.BY_HISTORY or is_healed(g):
        return []
    refused = [line for line in g.relay.lines(g.room, "loaded") if "how=not" in line]
    return [f"machine {m.number} is not told which declaration no state gives" for m in g.machines if m.number > g.players
            and any(f'name="{m.name}"' in line for line in refused) and "message: no state gives SET_" not in m.read("log")]
