#!/usr/bin/env python3
"""scripts.py - holds the end-to-end scenarios to their rule: they wait for events; and every script to bash's grammar. It prints
"ok", or "FAIL" with each place.

sleeps    no scenario sleeps by itself, nor in a program inside of it. lib.sh and lib_retroarch.sh have the waits: said, ended, eventually, plays,
          reaches, stays, frontend_frames; and `lasts SECONDS WHAT` for a time that is the scenario's own content
lasts     each `lasts` says with words what lasts so long
syntax    of all scripts of the tree

Not looked at for sleeps: screens.sh, which makes the documents' pictures and judges nothing."""
import glob
import re
import subprocess
import sys

SLEEP = re.compile(r"\bu?sleep\b")
LASTS = re.compile(r"^\s*lasts\b(?! (?:\S+|\"\S+\") \"[^\"]+ [^\"]+\"( #.*)?$)")


def code(line):
    """The line without its comment: from a # at its beginning or behind a blank, outside quotes as scripts here have them."""
    return re.sub(r"(^|\s)#\s.*$", "", line)


def grammar():
    """What bash says of the scripts that it cannot read"""
    listed = subprocess.run(["git", "ls-files", "*.sh", ".ci/run"], capture_output=True, text=True, check=True).stdout.split()
    read = [subprocess.run(["bash", "-n", script], capture_output=True, text=True) for script in listed]
    return len(listed), [line for r in read if r.returncode for line in r.stderr.splitlines()]


def main():
    scripts, syntax = grammar()
    sleeps, lasts, times, files = [], [], 0, sorted(glob.glob("tests/e2e/**/*.sh", recursive=True))
    files = [f for f in files if not f.endswith(("/lib.sh", "/lib_retroarch.sh", "/screens.sh"))]
    for path in files:
        with open(path, encoding="utf-8") as f:
            for number, line in enumerate(f, 1):
                place, text = f"{path}:{number}", code(line.rstrip())
                if SLEEP.search(text):
                    sleeps.append(f"{place}: {text.strip()}")
                times += bool(re.match(r"\s*lasts\b", text))
                if LASTS.search(text):
                    lasts.append(f"{place}: expected lasts SECONDS \"WHAT LASTS\", got {text.strip()}")
    for what, wrong, good in (("sleeps", sleeps, f"none in {len(files)} scenarios"),
                              ("lasts", lasts, f"{times} times are a scenario's content, and say which"),
                              ("syntax", syntax, f"bash reads all {scripts} scripts")):
        print(f"FAIL scripts/{what}: {len(wrong)}" if wrong else f"ok scripts/{what}: {good}")
        for text in wrong:
            print(f"     {text}")
    sys.exit(bool(sleeps or lasts or syntax))


if __name__ == "__main__":
    main()
