#!/usr/bin/env python3
"""plan.py SUITE… - what those suites run, for tests/run.sh: a line "HOW<TAB>COMMAND" each, the longest first.
plan.py --instead - the tests of which only `make test-all` has any run, each with the cheaper tests of `make test`.

A test file says in its first 20 lines how it runs, once for each run of it:

    runs: HOW, SUITE, SECONDS s[: VARIABLE=VALUE…]

HOW      working   the processors' work: three at a time
         waiting   plays in real time, mostly waits: several at a time. What it judges in time, it judges less the machine's hitches
         emulated  another processor under qemu, or Windows under Wine, which takes one of ours for minutes: two at a time, when
                   most of "tools" is built
         alone     needs a whole machine: nothing beside it but what is spare
         spare     virtual time, builds: takes what the processors have left over, beside all others, from the beginning to the end
SUITE    check     under a minute in all: no sockets, no processes beside
         test      the README's test command
         all       only `make test-all`
         trials    the engine's long trials in virtual time: `make trials`, and `make test-all`
         tools     builds what commands of "all" run: they would build it themselves, one waiting for the other. `.ci/run` has it
                   built beside the rest
SECONDS  about how long it takes; orders the runs, and judges nothing

A file whose runs are all of "all" says in the same lines, in one of them, what `make test` has in its place: "instead: WORDS".

A file of tests/unit or tests/fuzz that says nothing is "working" in "check" or "test". Every other test file must say it.
Commands that have no file of their own stand in tests/suites.txt."""
import glob
import os
import re
import sys

HOWS = ("spare", "working", "waiting", "emulated", "alone")
SUITES = ("check", "test", "all", "trials", "tools")
INSTEAD = re.compile(r"\binstead: (.+?)\s*(?:\*/)?$")
LINE = re.compile(r"\bruns: (\w+), (\w+), (\d+) s(?:: (.*?))?\s*(?:\*/)?$")


def refuse(text):
    print(f"plan: {text}", file=sys.stderr)
    sys.exit(2)


def said(path, default):
    """[(how, suite, seconds, variables)] of a test file, and its words on what `make test` has in its place."""
    runs, instead = [], ""
    with open(path, encoding="utf-8") as f:
        for number, line in zip(range(20), f):
            if found := INSTEAD.search(line.rstrip()):
                instead = found[1]
            if "runs: " not in line:
                continue
            found = LINE.search(line.rstrip())
            if not found or found[1] not in HOWS or found[2] not in SUITES:
                refuse(f"{path}:{number + 1}: expected \"runs: HOW, SUITE, SECONDS s\", got \"{line.strip()}\"")
            runs.append((found[1], found[2], int(found[3]), found[4] or ""))
    if not runs and not default:
        refuse(f"{path}: expected a line \"runs: HOW, SUITE, SECONDS s\" among its first 20, found none")
    if runs and all(suite == "all" for _, suite, _, _ in runs) and not instead:
        refuse(f"{path}: only `make test-all` runs it; expected a line \"instead: WORDS\" among its first 20, found none")
    return runs or [default], instead


def files():
    """(path, command, its run where the file says nothing)."""
    out = os.environ.get("KL_BUILD", "build")
    for folder, built, default in (("unit", "tests", ("working", "check", 0, "")), ("net", "tests", None),
                                   ("fuzz", "fuzz", ("spare", "test", 1, ""))):
        for path in sorted(glob.glob(f"tests/{folder}/{'fuzz' if folder == 'fuzz' else 'test'}_*.c")):
            smoke = " --smoke" if folder == "fuzz" else ""
            yield path, f"{out}/{built}/{os.path.basename(path)[:-2]}{smoke}", default
    for path in sorted(glob.glob("tests/e2e/*/*.sh")):
        yield path, path, None


def refuse_twins():
    """One program of two files would be the first one's alone."""
    paths = {}
    for path, command, _ in files():
        if command in paths:
            refuse(f"{path} and {paths[command]}: expected another name for one of them")
        paths[command] = path


def listed():
    """(how, suite, seconds, command) of tests/suites.txt."""
    with open("tests/suites.txt", encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            if line.startswith("#") or not line.strip():
                continue
            found = re.match(r"(\w+), (\w+), (\d+) s: (.+)", line)
            if not found or found[1] not in HOWS or found[2] not in SUITES:
                refuse(f"tests/suites.txt:{number}: expected \"HOW, SUITE, SECONDS s: COMMAND\", got \"{line.strip()}\"")
            yield found[1], found[2], int(found[3]), found[4].strip()


def print_instead():
    for path, _, default in files():
        runs, instead = said(path, default)
        if all(suite == "all" for _, suite, _, _ in runs):
            print(f"{path}: {instead}")


def main():
    wanted = sys.argv[1:]
    if wanted == ["--instead"]:
        return print_instead()
    if not wanted or set(wanted) - set(SUITES):
        refuse(f"expected suites of {', '.join(SUITES)}, got \"{' '.join(wanted)}\"")
    refuse_twins()
    runs = list(listed())
    for path, command, default in files():
        for how, suite, seconds, variables in said(path, default)[0]:
            runs.append((how, suite, seconds, f"{variables} {command}".strip()))
    for how in HOWS:
        of_how = sorted((r for r in runs if r[0] == how and r[1] in wanted), key=lambda r: -r[2])
        for _, _, _, command in of_how:
            print(f"{how}\t{command}")
    return None


if __name__ == "__main__":
    sys.exit(main())
