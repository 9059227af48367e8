#!/usr/bin/env python3
"""borders.py [--purity] - fails on an include or a call that the layers forbid.

Reads the #include lines of net/ and core_wrapper/ and the symbols of the built objects ($KL_BUILD/obj, default build/obj).
An arrow leads from one module to another; a module is a path without its ending: net/engine/spacing. What stands behind an
interface of net/platform, in its posix/, is part of that module.

  LAYERS   whom each folder may use; a name with a folder is one module
  OUTSIDE  libraries' headers, and the only folders that may include them
  SYSTEM   the system's headers: only net/platform may include them
  CALLS    the system's functions that only net/platform may call: no header needs to be included for it
  PURE     what the objects of a folder may call outside of this project

Forbidden arrows of today, and the sizes of structs that are to become smaller, stand in tests/tools/borders.txt. That file
may only shrink: a line that is no longer true must go, and no commit may have had fewer lines, or a smaller struct.
--purity checks PURE alone."""
import collections
import os
import re
import subprocess
import sys

LAYERS = {
    "net/platform": [],
    "net/engine": [],
    "net/session": ["net/engine", "net/platform/dir", "net/platform/file"],
    "net/client": ["net/engine", "net/session"],
    "net/transport": ["net/platform", "net/engine", "net/session", "net/client"],
    "net/relay": ["net/platform", "net/engine", "net/session", "net/transport"],
    "core_wrapper": ["net/platform", "net/engine", "net/session", "net/transport", "net/relay/hosted"],
    "core_wrapper/tool": ["net/platform", "net/engine", "net/session", "net/transport", "net/relay/hosted",
                          "net/relay/invitation", "core_wrapper/wrapper_api", "core_wrapper/keylock_api"],
}
BEHIND = {"net/platform/posix": "net/platform"}
OUTSIDE = {
    "enet/": ["net/transport"],
    "libretro.h": ["core_wrapper", "core_wrapper/tool"],
    "sodium.h": ["net/session", "net/client", "net/transport", "net/relay", "core_wrapper", "core_wrapper/tool"],
    "zstd.h": ["net/relay", "core_wrapper"],
    "utf8proc.h": ["net/session"],
    "samplerate.h": ["core_wrapper"],
    "miniupnpc/": ["core_wrapper/tool"],
    "natpmp.h": ["core_wrapper/tool"],
    "json-c/": ["core_wrapper", "core_wrapper/tool"],
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
    "net/client": (f"{PLAIN}|{SODIUM}", []),
    "net/session": (f"{PLAIN}|{SODIUM}|utf8proc_decompose|strspn", ["net/session/keys", "net/session/known"]),
}
STRUCTS = {"kl_wrapper": "core_wrapper/wrapper.h", "kl_lobby_room": "net/relay/lobby_room.h"}
LIST = "tests/tools/borders.txt"
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
                for header, allowed in OUTSIDE.items():
                    if found[2].startswith(header) and folder(path) not in allowed:
                        wrong.append(f"{place}: <{found[2]}> is for {', '.join(allowed)}")
    return arrows, system, wrong


def symbols(build):
    """({arrow: a symbol}, {module: symbols from outside})."""
    objects = [f"{build}/obj/{os.path.splitext(s)[0]}.o" for s in sources() if s.endswith(".c")]
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
        bad = sorted(f"{m} calls {n}" for m, names in outside.items() if folder(m) == top and m not in others
                     for n in names if not re.fullmatch(pattern, n))
        say(not bad, f"purity of {top}", "; ".join(bad))


def members(struct, path):
    """How many members the struct has at its own level, a comma-separated list counted one by one."""
    with open(path, encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/|//[^\n]*", "", f.read(), flags=re.S)
    begin = re.search(rf"\bstruct {struct} \{{", text)
    if not begin:
        return 0
    depth, count = 1, 0
    for c in text[begin.end():]:
        depth += (c in "{([") - (c in "})]")
        if depth == 0:
            return count
        count += depth == 1 and c in ";,"
    return count


def parse(text):
    """({arrow}, {struct: members}, {(module, system header)}) of the list."""
    arrows, sizes, system = set(), {}, set()
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        found = re.fullmatch(r"(\S+) -> (\S+)|struct (\w+): at most (\d+) members|(\S+) includes <(\S+)>: \S.*", line)
        if not found:
            say(False, "list", f'{LIST}: expected "MODULE -> MODULE", "struct NAME: at most N members" or '
                f'"MODULE includes <HEADER>: REASON", got "{line}"')
        elif found[5]:
            system.add((found[5], found[6]))
        elif found[1]:
            arrows.add((found[1], found[2]))
        else:
            sizes[found[3]] = int(found[4])
    return arrows, sizes, system


def earlier():
    """The list as each commit had it, where git knows."""
    log = subprocess.run(["git", "log", "--format=%H", "--", LIST], capture_output=True, text=True, check=False)
    for commit in log.stdout.split():
        old = subprocess.run(["git", "show", f"{commit}:{LIST}"], capture_output=True, text=True, check=False)
        if old.returncode == 0:
            yield commit, parse(old.stdout)


def main():
    calls, outside = symbols(os.environ.get("KL_BUILD", "build"))
    purity(outside)
    if sys.argv[1:] == ["--purity"]:
        return
    if sys.argv[1:]:
        sys.exit(f'borders: expected --purity or nothing, got "{" ".join(sys.argv[1:])}"')
    with open(LIST, encoding="utf-8") as f:
        known, sizes, excepted = parse(f.read())
    found, system, wrong = includes()
    say(not wrong, "includes", "; ".join(wrong))
    new = sorted(f"{m} includes <{h}> ({system[m, h]}), which is for {PLATFORM}" for m, h in system.keys() - excepted)
    say(not new, "system", "; ".join(new) or f"{len(system)} exceptions are left, all of them known")
    gone = sorted(f"{m} includes <{h}>" for m, h in excepted - system.keys())
    say(not gone, "system-shrinks", f"no longer there, so take out of {LIST}: " + "; ".join(gone) if gone else "")
    system_calls(outside, excepted)
    for arrow, name in calls.items():
        found.setdefault(arrow, f"by {name}")
    forbidden = {arrow: place for arrow, place in found.items() if not allowed(*arrow)}
    new = sorted(f"{a} -> {b} ({forbidden[a, b]})" for a, b in forbidden if (a, b) not in known)
    say(not new, "arrows", "; ".join(new) or f"{len(forbidden)} forbidden ones are left, all of them known")
    gone = sorted(f"{a} -> {b}" for a, b in known if (a, b) not in forbidden)
    say(not gone, "list-shrinks", f"no longer there, so take out of {LIST}: " + "; ".join(gone) if gone else "")
    for struct, path in STRUCTS.items():
        has, limit = members(struct, path), sizes.get(struct, 0)
        say(has == limit, f"struct-{struct}", f"it has {has} members, {LIST} says {limit}" if has != limit else f"{has} members")
    for commit, (had, were, allowed_then) in earlier():
        for header in sorted({h for _, h in allowed_then}):
            now, then = (sum(h == header for _, h in these) for these in (excepted, allowed_then))
            if now > then:
                say(False, "system-grows", f"{now} exceptions for <{header}>, commit {commit[:10]} had {then}")
        if len(known) > len(had):
            say(False, "list-grows", f"{len(known)} arrows, commit {commit[:10]} had {len(had)}")
        for struct, size in sizes.items():
            if size > were.get(struct, size):
                say(False, "struct-grows", f"{struct}: {size} members, commit {commit[:10]} had {were[struct]}")


main()
sys.exit(failed)
