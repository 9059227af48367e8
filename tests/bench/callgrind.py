"""callgrind.py FILE… - what files of callgrind, one for each process, say, for a relay: instructions an UPDATE, by folder or library, and by function.

Read here and not by callgrind_annotate, for that does not count calls."""
import collections
import os
import re
import sys

UPDATE = "kl_hub_send_update"


class Counts:
    """self: instructions of a function itself; all: with what it calls; calls; part: instructions by folder or library."""

    def __init__(self, *paths):
        self.self, self.all, self.calls, self.part = (collections.Counter() for _ in range(4))
        for path in paths:
            self.read(path)
        self.updates = self.calls[UPDATE] or 1
        self.total = sum(self.self.values())

    def read(self, path):
        names, function, called, calls, ob, fl = {}, None, None, None, "", ""

        def name(kind, text):
            number, _, rest = text.partition(" ")
            if rest:
                names[kind, number] = rest
            return names.get((kind, number), text)
        with open(path, errors="replace") as f:
            for line in f:
                key, equals, text = line.rstrip("\n").partition("=")
                if equals and key in ("ob", "cob"):
                    text = name("ob", text)
                    ob = text if key == "ob" else ob
                elif equals and key in ("fl", "fi", "fe", "cfi", "cfl"):
                    text = name("fl", text)
                    fl = text if key == "fl" else fl
                elif equals and key == "fn":
                    function = name("fn", text).split("'")[0]
                elif equals and key == "cfn":
                    called = name("fn", text).split("'")[0]
                elif equals and key == "calls":
                    calls = int(text.split()[0])
                elif re.match(r"[-+*\d]", line) and len(line.split()) >= 2:
                    cost = int(line.split()[1])
                    if calls is None:
                        self.self[function] += cost
                        self.part[self.folder(ob, fl)] += cost
                    else:
                        self.calls[called] += calls
                        self.all[called] += cost if called != function else 0
                        calls = None

    @staticmethod
    def folder(ob, fl):
        found = re.search(r"(net/[a-z]+)/", fl)
        return found.group(1) if found else os.path.basename(ob).split(".so")[0].split("-")[0]


def main():
    c = Counts(*sys.argv[1:])
    print(f"{c.total / c.updates:.0f} instructions an UPDATE, {c.updates} of them")
    for part, cost in c.part.most_common(8):
        print(f"  {cost / c.updates:8.0f}  {part}")
    print(f"  {'with all':>8}  {'itself':>8}  {'calls':>8}")
    for function in sorted(c.self, key=lambda f: -max(c.all[f], c.self[f]))[:int(sys.argv[2]) if len(sys.argv) > 2 else 60]:
        print(f"  {max(c.all[function], c.self[function]) / c.updates:8.0f}  {c.self[function] / c.updates:8.0f}  {c.calls[function] / c.updates:8.3f}  {function}")


if __name__ == "__main__":
    main()
