#!/usr/bin/env python3
"""borders.py [--purity | --draw FILE.svg] - fails on an include or a call that the layers forbid.

Reads the #include lines of net/ and core_wrapper/ and the symbols of the built objects ($KL_BUILD/obj, default build/obj).
A module is a path without its ending: net/engine/spacing. An arrow leads from one module to another, by an include or a call;
a call through a pointer is not seen.
What stands behind an interface of net/platform, in its posix/, is part of that module.

  LAYERS   whom each folder may use; a name of a file is one module. A folder may use only folders that stand before it, so the
           folders have no circle
  OUTSIDE  libraries' headers, and the only folders that may include them
  SYSTEM   the system's headers: only net/platform may include them
  CALLS    the system's functions that only net/platform may call: no header needs to be included for it
  PURE     what the objects of a folder, or of one module, may call outside of this project
  REACH    the most members of a struct of STRUCTS that a file may touch: one that needs more is handed what it needs
  CIRCLE   the most modules of one folder that may reach each other in a circle, by calls
  STRAIGHT modules that are in no circle: each calls those before it in the list, and none of the others
  OWNED    what only one file may assign
  HELD     what the wrapper may call between kl_link_hold() and kl_link_release(): nothing that waits

Today's exceptions stand in tests/tools/exceptions.txt: forbidden arrows counted by their folders, the system's headers, circles,
the sizes of structs that are to become smaller, and files that touch more of their members than REACH, with the sum of what is too
much. That file may only shrink: a line that is no longer true must go, and no
commit may have had fewer arrows, or a smaller number. --purity checks PURE alone; --draw checks nothing, and draws what was
read: folders, arrows and circles (draw.py)."""
import collections
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True  # before the import below: leave no cache in the tree

import draw

NET = ["net/platform", "net/engine", "net/session", "net/record", "net/transport"]
PURE_WRAPPER = ["core_wrapper/draw", "core_wrapper/words", "core_wrapper/world", "core_wrapper/core", "core_wrapper/frame",
                "core_wrapper/profile", "core_wrapper/start"]
FACE = ["core_wrapper/abi/wrapper_api", "core_wrapper/abi/keylock_api"]
RELAY = ["net/relay/loop/hosted"]
LAYERS = {
    "net/platform": [],
    "net/engine": [],
    "net/session": ["net/engine", "net/platform/address", "net/platform/dir", "net/platform/file", "net/platform/file_shared"],
    "net/record": ["net/engine", "net/session", "net/platform/file", "net/platform/file_shared"],
    "net/client": ["net/engine", "net/session"],
    "net/transport": ["net/platform", "net/engine", "net/session", "net/client"],
    "net/relay/log": ["net/platform", "net/engine"],
    "net/relay/room": NET + ["net/relay/log"],
    "net/relay/heal": NET + ["net/relay/log", "net/relay/room"],
    "net/relay/watch": NET + ["net/relay/log", "net/relay/room", "net/relay/heal"],
    "net/relay/durable": NET + ["net/relay/log", "net/relay/room"],
    "net/relay/fleet": NET + ["net/relay/log", "net/relay/room", "net/relay/durable"],
    "net/relay/lobby": NET + ["net/relay/" + name for name in ("log", "room", "heal", "watch", "durable")],
    "net/relay/loop": NET + ["net/relay/" + name for name in ("log", "room", "durable", "lobby")],
    "net/relay/program": NET + ["net/relay/" + name for name in ("log", "room", "heal", "durable", "fleet", "lobby", "loop")],
    "core_wrapper/draw": ["net/platform", "net/engine"],
    "core_wrapper/words": NET,
    "core_wrapper/world": ["net/platform"],
    "core_wrapper/core": ["net/platform", "net/engine"],
    "core_wrapper/frame": ["net/engine", "core_wrapper/draw"],
    "core_wrapper/profile": ["net/platform", "net/engine"],
    "core_wrapper/start": NET + ["core_wrapper/world", "core_wrapper/core", "core_wrapper/profile"],
    "core_wrapper/screen": NET + ["core_wrapper/draw"],
    "core_wrapper/voice": ["net/platform", "net/engine", "net/client/voice", "net/transport/voice_box"],
    "core_wrapper/env": PURE_WRAPPER + ["net/engine"],
    "core_wrapper/ahead": PURE_WRAPPER + ["net/engine", "core_wrapper/env"],
    "core_wrapper/frontend": PURE_WRAPPER + FACE + ["core_wrapper/screen", "core_wrapper/env"],
    "core_wrapper/record": NET + PURE_WRAPPER + FACE + ["core_wrapper/screen", "core_wrapper/env", "core_wrapper/frontend"],
    "core_wrapper/netplay": NET + RELAY + ["net/client", "core_wrapper/words", "core_wrapper/start", "core_wrapper/screen",
                                           "core_wrapper/env", "core_wrapper/frontend"],
    "core_wrapper/match": NET + PURE_WRAPPER + FACE + ["net/client", "core_wrapper/screen", "core_wrapper/frontend",
                                                       "core_wrapper/record", "core_wrapper/voice", "core_wrapper/netplay", "core_wrapper/env", "core_wrapper/ahead"],
    "core_wrapper/abi": NET + PURE_WRAPPER + ["core_wrapper/screen", "core_wrapper/ahead", "core_wrapper/frontend", "core_wrapper/netplay", "core_wrapper/env",
                                              "core_wrapper/match"],
    "core_wrapper/tool/common": NET + PURE_WRAPPER + FACE,
    "core_wrapper/tool/headless": NET + PURE_WRAPPER + FACE + ["core_wrapper/env", "core_wrapper/voice/wav", "core_wrapper/tool/common"],
    "core_wrapper/tool/run": NET + PURE_WRAPPER + FACE + ["core_wrapper/env", "core_wrapper/record", "core_wrapper/voice/wav", "core_wrapper/tool/common", "core_wrapper/tool/headless"],
    "core_wrapper/tool/desync": NET + PURE_WRAPPER + ["core_wrapper/env", "core_wrapper/record", "core_wrapper/tool/common", "core_wrapper/tool/headless"],
    "core_wrapper/tool/probe": NET + PURE_WRAPPER + ["core_wrapper/tool/common", "core_wrapper/tool/headless", "core_wrapper/tool/desync"],
    "core_wrapper/tool/own": [*("net/platform/" + name for name in ("process", "file", "library", "thread")), "core_wrapper/tool/common", "core_wrapper/tool/probe", "core_wrapper/tool/desync"],
    "core_wrapper/tool/setup": NET + PURE_WRAPPER + FACE + ["core_wrapper/voice", "core_wrapper/tool/common"],
    "core_wrapper/tool/play": NET + PURE_WRAPPER + RELAY + ["core_wrapper/tool/common", "core_wrapper/tool/setup"],
    "core_wrapper/tool/replay": NET + PURE_WRAPPER + ["core_wrapper/record"] + ["core_wrapper/tool/" + name for name in ("common", "headless", "desync", "play")],
    "core_wrapper/tool": FACE + ["net/platform/process"] + ["core_wrapper/tool/" + name for name in ("common", "headless", "run", "desync", "replay", "probe", "setup", "play")],
}
BEHIND = {"net/platform/posix": "net/platform", "core_wrapper/tool/setup/posix": "core_wrapper/tool/setup"}
BEHIND |= {f"{top}/{part}": top for top in ("core_wrapper/world", "core_wrapper/core") for part in ("elf", "pe")}
# Of another system than this one: its includes count, its objects are not there.
FOREIGN = ("net/platform/windows", "core_wrapper/world/pe", "core_wrapper/core/pe", "core_wrapper/tool/setup/windows")
BEHIND |= {top: os.path.dirname(top) for top in FOREIGN}
OUTSIDE = {
    "enet/": ["net/transport"],
    "libretro.h": ["core_wrapper"],
    "sodium.h": ["net/session", "net/record", "net/client", "net/transport", "net/relay", "core_wrapper"],
    "zstd.h": ["net/record", "net/relay", "core_wrapper"],
    "utf8proc.h": ["net/session"],
    "samplerate.h": ["core_wrapper"],
    "miniupnpc/": ["core_wrapper/tool"],
    "natpmp.h": ["core_wrapper/tool"],
    "json-c/": ["core_wrapper"],
    "hiredis/": ["net/relay/fleet"],
    "opus/": ["core_wrapper/voice"],
    "speex/": ["core_wrapper/voice"],
    "pulse/": ["core_wrapper/voice"],
    "alsa/": ["core_wrapper/voice"],
}
# The system's headers for files, folders, processes and libraries, then for clocks, threads, sockets and waiting. Only net/platform
# may include them, and the modules that LIST names with their reason.
PLATFORM = "net/platform"
SYSTEM = (
    "dirent.h", "dlfcn.h", "elf.h", "fcntl.h", "ftw.h", "glob.h", "link.h", "pwd.h", "spawn.h", "sys/file.h",
    "sys/mman.h", "sys/sendfile.h", "sys/stat.h", "sys/uio.h", "sys/wait.h",
    "time.h", "sys/time.h", "sys/timeb.h", "sys/timex.h", "sys/timerfd.h", "pthread.h", "threads.h", "semaphore.h", "sched.h",
    "sys/socket.h", "sys/un.h", "netinet/", "arpa/", "netdb.h", "net/if.h", "ifaddrs.h", "poll.h", "sys/poll.h", "sys/select.h",
    "sys/epoll.h", "sys/eventfd.h", "sys/signalfd.h", "sys/random.h")
CALLS = (r"clock_\w+|gettimeofday|u?sleep|nanosleep|time|(gm|local)time(_r)?|mktime|pthread_\w+|sem_\w+|sched_\w+|timerfd_\w+|getrandom|"
         r"socket(pair)?|bind|connect|listen|accept4?|send(to|m?msg)?|recv(from|m?msg)?|get(peer|sock)name|[gs]etsockopt|"
         r"getaddrinfo\w*|gai_\w+|inet_\w+|getifaddrs|p?poll|p?select|epoll_\w+|eventfd\w*|signalfd")
PLAIN = (r"mem(cpy|set|cmp|move|chr)|str(len|cmp|str)|__assert_fail|_GLOBAL_OFFSET_TABLE_|__(asan|ubsan|stack_chk|gcov|sanitizer|tsan).*"
         r"|str(len|cmp|str)_chk|__mem\w+_chk")
SODIUM = r"crypto_.*|sodium_.*|randombytes_.*|abort|strchr|strcspn|strcasecmp|snprintf|__v?snprintf_chk"
PURE = {  # folder: (functions that it may call, modules that are not pure)
    "net/engine": (PLAIN, []),
    "net/client": (f"{PLAIN}|{SODIUM}|malloc|free", []),
    "net/record": (f"{PLAIN}|{SODIUM}", ["net/record/klr_pack"]),
    "net/session": (f"{PLAIN}|{SODIUM}|utf8proc_decompose|strspn", ["net/session/keys"]),
    # The relay's port without its sockets and ENet. The tables of two are of the heap, for the relay's life.
    "net/transport/gate": (f"{PLAIN}|{SODIUM}|calloc|free", []),
    "net/transport/path": (f"{PLAIN}|{SODIUM}", []),
    "net/transport/strangers": (PLAIN, []),
}
STRUCTS = {"kl_match": "core_wrapper/match/match.h", "kl_lobby_room": "net/relay/room/lobby_room.h"}
REACH = 8
CIRCLE = 6
STRAIGHT = ["core_wrapper/match/" + name for name in ("snapshot", "command", "run_ahead", "heal", "play")]
OWNED = {"core_wrapper/match/state.c": r"\b(?:m->state|emu(?:\.|->)phase) = [^=]",
         "core_wrapper/words/config.c": r"\bm->config\.\w+ = [^=]"}
HELD = r"kl_(participant|client|ahead|pace|history|link)_\w+|kl_shown_depth|clocked|most_runs|goal|of|if|for|memcpy|sizeof"
LIST = "tests/tools/exceptions.txt"
failed = False


def say(good, what, text=""):
    global failed
    failed |= not good
    print(f"{'ok' if good else 'FAIL'} borders/{what}" + (f": {text}" if text else ""))


def module(path):
    top, name = os.path.split(os.path.splitext(path)[0])
    return f"{BEHIND.get(top, top)}/{name}"


def folder(mod):
    return os.path.dirname(mod)


def sources():
    for top in [*LAYERS, *BEHIND]:
        for name in sorted(os.listdir(top)):
            if name.endswith((".c", ".h")):
                yield f"{top}/{name}"


def includes():
    """({arrow: a place}, {(module, system header): a place}, [what is wrong with an include])."""
    arrows, system, wrong = {}, {}, []
    for path in sources():
        with open(path, encoding="utf-8") as f:
            for number, line in enumerate(f, 1):
                found = re.match(r'#\s*include\s+(["<])([^">]+)', line)
                if not found:
                    continue
                place = f"{path}:{number}"
                if found[1] == '"':
                    if not os.path.exists(found[2]):
                        wrong.append(f'{place}: expected a path from the top, got "{found[2]}"')
                    arrows.setdefault((module(path), module(found[2])), place)
                    continue
                if found[2].startswith(SYSTEM) and folder(module(path)) != PLATFORM:
                    system[module(path), found[2]] = place
                for header, tops in OUTSIDE.items():
                    if found[2].startswith(header) and not path.startswith(tuple(top + "/" for top in tops)):
                        wrong.append(f"{place}: <{found[2]}> is for {', '.join(tops)}")
    return arrows, system, wrong


def symbols(build):
    """({arrow: a symbol}, {module: symbols from outside})."""
    objects = [f"{build}/obj/{os.path.splitext(s)[0]}.o" for s in sources() if s.endswith(".c") and not s.startswith(FOREIGN)]
    missing = [o for o in objects if not os.path.exists(o)]
    if missing:
        say(False, "objects", f"expected {missing[0]}, it is not built: make all")
        sys.exit(1)
    defined, wanted = {}, collections.defaultdict(set)
    out = subprocess.run(["nm", "-A", "-P", *objects], check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
        where, name, kind = line.split()[:3]
        mod = module(where.rstrip(":")[len(build) + len("/obj/"):])
        if kind in "Uwv":
            wanted[mod].add(name)
        elif kind.isupper():
            defined[name] = mod
    arrows, outside = {}, collections.defaultdict(set)
    for mod, names in wanted.items():
        for name in names:
            if name not in defined:
                outside[mod].add(name)
            elif defined[name] != mod:
                arrows.setdefault((mod, defined[name]), name)
    return arrows, outside


def system_calls(outside, excepted):
    """Calls around net/platform, but of modules that may include one of its headers."""
    named = {m for m, _ in excepted}
    bad = sorted(f"{m} calls {n}()" for m, names in outside.items() if folder(m) != PLATFORM and m not in named
                 for n in names if re.fullmatch(CALLS, n))
    say(not bad, "system-calls", "; ".join(bad))


def allowed(a, b):
    return folder(a) == folder(b) or folder(b) in LAYERS[folder(a)] or b in LAYERS[folder(a)]


def purity(outside):
    for top, (pattern, others) in PURE.items():
        bad = sorted(f"{m} calls {n}" for m, names in outside.items() if top in (m, folder(m)) and m not in others
                     for n in names if not re.fullmatch(pattern, n))
        say(not bad, f"purity of {top}", "; ".join(bad))


def without_comments(path):
    with open(path, encoding="utf-8") as f:
        return re.sub(r"/\*.*?\*/|//[^\n]*", "", f.read(), flags=re.S)


def members(struct, path):
    """Names of the members that the struct has at its own level."""
    text = without_comments(path)
    begin = re.search(rf"\bstruct {struct} \{{", text)
    depth, flat = 1, ""
    for c in text[begin.end():] if begin else "":
        depth += (c in "{([") - (c in "})]")
        if depth == 0:
            break
        flat += c if depth == 1 and c not in "})]" else ""
    return re.findall(r"(\w+)\s*[;,]", flat)


def touched(text, struct, names):
    """The members that a file touches, by pointers to the struct that it declares, or that are members `room` of others."""
    pointers = set(re.findall(rf"\bstruct {struct} \*(?:const )?(\w+)", text)) | ({"room"} if struct == "kl_lobby_room" else set())
    found = re.findall(rf"\b(?:{'|'.join(pointers)})(?:\[[^]]*\])?->(\w+)", text) if pointers else []
    return sorted(set(found) & set(names))


def reach(struct, names):
    """({what: number}, {what: [members]}) of the files that touch more than REACH members; their sum is of what is too much."""
    numbers, places, everywhere = {}, {}, f"reach into {struct} of all"
    for path in sources():
        found = touched(without_comments(path), struct, names)
        if len(found) > REACH:
            numbers[f"reach into {struct} of {path}"] = len(found)
            places[f"reach into {struct} of {path}"] = [", ".join(found)]
    numbers[everywhere] = sum(n - REACH for n in numbers.values())
    return numbers, places


def owned():
    bad = [f"{path}: {assigned}: only {owner} may" for owner, pattern in OWNED.items() for path in sources() if path != owner
           for assigned in re.findall(pattern, without_comments(path))]
    say(not bad, "owned", "; ".join(bad))


def held():
    """Forbidden calls while the wrapper holds the session, and ways out that do not release it."""
    bad = []
    for path in sources():
        if not path.startswith("core_wrapper/"):
            continue
        with open(path, encoding="utf-8") as f:
            text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
        for m in re.finditer(r"^ [^\n]*kl_link_hold\(.*?(kl_link_release\(|\n\})", text, re.S | re.M):
            calls = [name for name in re.findall(r"\b(\w+)\(", m[0]) if not re.fullmatch(HELD, name)]
            calls += re.findall(r"\b(?:return|break|goto)\b", m[0])
            bad += [f"{path}: {name}" for name in calls] + [f"{path}: no release"] * m[1].startswith("\n")
    say(not bad, "held", "; ".join(bad))


def circles(calls):
    """{folder: modules of its largest circle}, of circles above CIRCLE."""
    goes = collections.defaultdict(set)
    for a, b in calls:
        if folder(a) == folder(b):
            goes[a].add(b)
    largest = collections.Counter()
    for start in list(goes):
        reached = draw.reach(goes, start)
        largest[folder(start)] = max(largest[folder(start)], sum(start in draw.reach(goes, other) for other in reached))
    return {top: size for top, size in largest.items() if size > CIRCLE}


def straight(calls):
    bad = [f"{a} calls {name}() of {b}" for (a, b), name in sorted(calls.items())
           if a in STRAIGHT and b in STRAIGHT and STRAIGHT.index(a) < STRAIGHT.index(b)]
    for ring in draw.rings(calls, folder)["core_wrapper/match"]:
        bad += ["a circle of " + ", ".join(ring)] * any(m in STRAIGHT for m in ring)
    say(not bad, "straight", "; ".join(bad))


def parse(text):
    """({what: number}, {(module, system header)}) of the list."""
    numbers, system = {}, set()
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        found = re.fullmatch(r"(\S+ -> \S+|arrows from \w+|struct \w+|reach into \w+ of \S+|circle in \S+): (\d+)|(\S+) includes <(\S+)>: \S.*", line)
        if not found:
            say(False, "list", f'{LIST}: expected "FOLDER -> FOLDER: N", "arrows from TOP: N", "struct NAME: N", '
                f'"reach into STRUCT of FILE: N", "circle in FOLDER: N" or "MODULE includes <HEADER>: REASON", got "{line}"')
        elif found[3]:
            system.add((found[3], found[4]))
        else:
            numbers[found[1]] = int(found[2])
    return numbers, system


def earlier():
    """The list as each commit had it, where git knows."""
    log = subprocess.run(["git", "log", "--format=%H", "--", LIST], capture_output=True, text=True, check=False)
    for commit in log.stdout.split():
        old = subprocess.run(["git", "show", f"{commit}:{LIST}"], capture_output=True, text=True, check=False)
        if old.returncode == 0:
            yield commit, parse(old.stdout)


def grows(numbers, excepted):
    """What some commit had less of. A pair of folders may be new after a move of files, so arrows count by their top."""
    for commit, (were, allowed_then) in earlier():
        for header in sorted({h for _, h in allowed_then}):
            now, then = (sum(h == header for _, h in these) for these in (excepted, allowed_then))
            if now > then:
                say(False, "system-grows", f"{now} exceptions for <{header}>, commit {commit[:10]} had {then}")
        for name, number in numbers.items():
            if "->" not in name and number > were.get(name, number):
                say(False, "numbers-grow", f"{name}: {number}, commit {commit[:10]} had {were[name]}")


def compare(numbers, today, places):
    """today: {what: number}; places: {what: [places]}, for what is new."""
    for name in sorted(today.keys() | numbers.keys()):
        has, listed = today.get(name, 0), numbers.get(name, 0)
        if has != listed:
            say(False, name, f"there are {has}, {LIST} says {listed}. " + "; ".join(places.get(name, [])))
    say(True, "exceptions", ", ".join(f"{today[name]} {name}" for name in sorted(today) if name.startswith("arrows")))


def picture(path, calls):
    """Draws the folders. The wrapper's interfaces, which folders below it use, are a box of their own beside those who implement
    them."""
    face = "core_wrapper/abi (interfaces)"

    def used(mod):
        return face if mod in FACE else folder(mod)
    found = set(includes()[0]) | set(calls)
    arrows = collections.Counter((folder(a), used(b)) for a, b in found if folder(a) != folder(b) or b in FACE and a != b)
    modules = collections.Counter(used(m) for m in {module(s) for s in sources()})
    draw.draw(path, [face, *LAYERS], arrows, modules, draw.rings(calls, folder), CIRCLE,
              "Interfaces: " + ", ".join(f"{os.path.basename(m)}.h" for m in FACE) + " are implemented in core_wrapper/abi, for folders below it.")


def main():
    calls, outside = symbols(os.environ.get("KL_BUILD", "build"))
    if sys.argv[1:2] == ["--draw"] and len(sys.argv) == 3:
        picture(sys.argv[2], calls)
        return
    purity(outside)
    if sys.argv[1:] == ["--purity"]:
        return
    if sys.argv[1:]:
        sys.exit(f'borders: expected --purity, --draw FILE.svg or nothing, got "{" ".join(sys.argv[1:])}"')
    order = list(LAYERS)
    back = [f"{top} may use {low}" for top in order for low in LAYERS[top] if low in order and order.index(low) > order.index(top)]
    say(not back, "layers", "; ".join(back))
    with open(LIST, encoding="utf-8") as f:
        numbers, excepted = parse(f.read())
    found, system, wrong = includes()
    say(not wrong, "includes", "; ".join(wrong))
    new = sorted(f"{m} includes <{h}> ({system[m, h]}), which is for {PLATFORM}" for m, h in system.keys() - excepted)
    say(not new, "system", "; ".join(new) or f"{len(system)} exceptions are left, all of them known")
    gone = sorted(f"{m} includes <{h}>" for m, h in excepted - system.keys())
    say(not gone, "system-shrinks", f"no longer there, so take out of {LIST}: " + "; ".join(gone) if gone else "")
    system_calls(outside, excepted)
    straight(calls)
    owned()
    held()
    for arrow, name in calls.items():
        found.setdefault(arrow, f"by {name}")
    places = collections.defaultdict(list)
    for (a, b), place in sorted(found.items()):
        if not allowed(a, b):
            places[f"{folder(a)} -> {folder(b)}"].append(f"{a} -> {b} ({place})")
    today = {name: len(arrows) for name, arrows in places.items()}
    today |= {f"arrows from {top}": sum(n for name, n in today.items() if name.startswith(top)) for top in ("core_wrapper", "net")}
    today |= {f"circle in {top}": size for top, size in circles(calls).items()}
    for name, path in STRUCTS.items():
        names = members(name, path)
        today[f"struct {name}"] = len(names)
        numbers_of, places_of = reach(name, names)
        today |= numbers_of
        places |= places_of
    compare(numbers, today, places)
    grows(numbers, excepted)


main()
sys.exit(failed)
