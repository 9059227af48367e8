"""ahead_paper.py - the table, the judgement and the picture of ahead.py, from its rows; the blocks of docs/measured-ahead.md between
<!-- NAME --> and <!-- end of NAME --> are replaced."""
import os
import re
import shutil
import subprocess

import bench

FRAME_MS = 1000 / 60
SYSTEMS = ("lock", "ahead", "netplay")
LOOK = {"lock": ('pt 7 ps 1.1 lc rgb "#1f77b4"', "Keylock, the lock alone"), "ahead": ('pt 5 ps 1.1 lc rgb "#2ca02c"', "Keylock, ahead = auto"),
        "netplay": ('pt 13 ps 1.4 lc rgb "#ff7f0e"', "RetroArch's netplay")}
SHIFT = {"lock": -3, "ahead": 0, "netplay": 3}


def by_case(rows):
    """{case: {system: row}} in the order of measuring; only whole ones."""
    cases = {}
    for r in rows:
        cases.setdefault((r["core"], r["rtt_ms"], r["jitter_ms"], r["loss_percent"], r["special"]), {})[r["system"]] = r
    return {case: of for case, of in cases.items() if all(s in of for s in SYSTEMS)}


def name(case):
    core, rtt, jitter, loss, special = case
    words = {"stall": ", stalls of 80 ms", "turbo": ", turbo fire", "slow": ", the core 4 times slower", "fight": ", a press every 4 to 10 frames", None: ""}
    return f"{core}, RTT {rtt}" + (f", jitter {jitter}, loss {loss} %" if jitter or loss else "") + words[special]


def cells(of, form):
    return " / ".join(form(of[s]) for s in SYSTEMS)


COLUMNS = {
    "own press": lambda r: f"{r['own_ms']:.0f} ({r['own_p95_ms']:.0f})",
    "the other's": lambda r: f"{r['others_ms']:.0f} ({r['others_p95_ms']:.0f})",
    "fps": lambda r: f"{r['fps']:.1f}",
    "gaps": lambda r: f"{r['gaps']} ({r['gaps_but_for_hitches']})",
    "wrong, %": lambda r: f"{r['wrong_percent'] or 0:.1f}",
    "wrong for, ms": lambda r: f"{r['wrong_run_p99_ms'] or 0:.0f}",
    "unequal, %": lambda r: f"{r['parted_percent'] or 0:.1f}",
    "processor, %": lambda r: f"{r['cpu_percent']:.0f}",
    "sound, %": lambda r: f"{100 * r['sound_given'] / r['sound_due']:.1f}"}


def table(cases):
    lines = ["| case | " + " | ".join(COLUMNS) + " | frames ahead |", "| --- |" + " --- |" * (len(COLUMNS) + 1)]
    lines += [f"| {name(case)} | " + " | ".join(cells(of, form) for form in COLUMNS.values()) + f" | {of['ahead']['ahead_frames']:.1f} |"
              for case, of in cases.items()]
    return "\n".join(lines) + "\n"


def aim(title, cases, holds, failure):
    """A row: in how many cases it holds, and what was measured in the others."""
    bad = [f"{name(case)}: {failure(of)}" for case, of in cases.items() if not holds(of)]
    return f"| {title} | {len(cases) - len(bad)} of {len(cases)} | {'; '.join(bad)} |\n"


def wrapped(text, width=116):
    """Lines of at most that width; a list's go on indented."""
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= width:
            lines.append("  " if text.startswith("- ") else "")
        lines[-1] += (" " if lines[-1].strip() else "") + word
    return "\n".join(line.rstrip() for line in lines) + "\n"


def most_wrong(netplay_percent):
    return 0.7 * netplay_percent if netplay_percent >= 10 else 15


def aims(cases):
    plain = {c: of for c, of in cases.items() if not c[4]}
    stalls = {c: of for c, of in cases.items() if c[4] == "stall"}
    text = "| aim | holds in | not so |\n| --- | --- | --- |\n"
    text += aim("The own press's 95th percentile is at most half a frame above RetroArch's", plain,
                lambda of: of["ahead"]["own_p95_ms"] <= of["netplay"]["own_p95_ms"] + FRAME_MS / 2,
                lambda of: f"{of['ahead']['own_p95_ms']:.0f} against {of['netplay']['own_p95_ms']:.0f} ms at {of['ahead']['ahead_frames']:.1f} frames ahead")
    text += aim("At most 0.7 of RetroArch's wrong pictures where it has 10 % or more, else at most 15 %", plain,
                lambda of: of["ahead"]["wrong_percent"] <= most_wrong(of["netplay"]["wrong_percent"] or 0),
                lambda of: f"{of['ahead']['wrong_percent']:.0f} against {of['netplay']['wrong_percent'] or 0:.0f} %")
    text += aim("Pictures stay wrong (99th percentile) for no longer than the other's press takes with the lock alone, and a frame", plain,
                lambda of: of["ahead"]["wrong_run_p99_ms"] <= of["lock"]["others_ms"] + FRAME_MS,
                lambda of: f"{of['ahead']['wrong_run_p99_ms']:.0f} against {of['lock']['others_ms']:.0f} ms")
    text += aim("The other's press comes no more than half a frame later than with the lock alone (two runs' displays are not in phase)", plain,
                lambda of: of["ahead"]["others_ms"] <= of["lock"]["others_ms"] + FRAME_MS / 2,
                lambda of: f"{of['ahead']['others_ms']:.0f} against {of['lock']['others_ms']:.0f} ms")
    text += aim("The core's own frames a second, within 0.1", plain, lambda of: of["ahead"]["fps"] > of["ahead"]["core_fps"] - 0.1,
                lambda of: f"{of['ahead']['fps']:.2f} of {of['ahead']['core_fps']:.2f}, RetroArch {of['netplay']['fps']:.2f}")
    text += aim("No gap over 34 ms where RetroArch has none, but for hitches of the machine", plain,
                lambda of: not of["ahead"]["gaps_but_for_hitches"] or of["netplay"]["gaps_but_for_hitches"],
                lambda of: f"{of['ahead']['gaps_but_for_hitches']}, the longest {of['ahead']['longest_gap_ms']:.0f} ms")
    if stalls:
        text += aim("A stall of 80 ms on the other's link is not seen, but for hitches of the machine", stalls, lambda of: not of["ahead"]["gaps_first_but_for_hitches"],
                    lambda of: " / ".join(str(of[s]["gaps_first_but_for_hitches"]) for s in SYSTEMS) + " gaps")
    return text


def replace(block, text):
    for name in ("measured.md", "measured-ahead.md"):
        path = os.path.join(bench.ROOT, "docs", name)
        with open(path) as f:
            old = f.read()
        new, n = re.subn(f"(<!-- {block} -->\n).*?(<!-- end of {block} -->)", lambda m: m.group(1) + text + m.group(2), old, flags=re.S)
        if n == 1:
            with open(path, "w") as f:
                f.write(new)
            return bench.say(f"wrote the block {block} of docs/{name}")
    return bench.say(f"no document of figures has a block {block}")


def document(rows):
    cases, r = by_case(rows), rows[0]
    picture(rows)
    shutil.copy(os.path.join(bench.OUT, "ahead.png"), os.path.join(bench.ROOT, "tests", "bench", "pictures"))
    measured = (f"Commit {r['commit']}, RetroArch {r['retroarch']}, {r['machine']}. {r['seconds']:g} s of presses a run, {min(r['presses'] for r in rows)} to {max(r['presses'] for r in rows)} own presses in a run, "
                f"{sum(r['lost_presses'] for r in rows)} presses in no picture within a second. The machine stood still for "
                f"{max(r['worst_hitch_ms'] for r in rows):.0f} ms at worst.")
    replace("bench-ahead", "\n" + wrapped(measured) + "\n" + table(cases) + "\n" + aims(cases)
            + "\n![From a press to the picture](../tests/bench/pictures/ahead.png)\n\n")


def document_equal(rows):
    lines = ["| room | minutes | hashes | unequal between a planted byte and its healing | elsewhere | healed | frames ahead | a press felt after, frames, "
             "ahead / not | pictures wrong | fps | commit |", "| --- |" + " --- |" * 10]
    lines += [f"| {r['room']} | {r['minutes']:g} | {r['hashes']} | {r['unequal']} | {r['stray']} | {r['healed']} of {r['planted']} | {r['ahead_frames']:.1f} | "
              f"{r['felt_ahead']:.1f} / {r['felt_other']:.1f} | {100 * r['guessed_wrong']:.1f} % | {r['fps']:.2f} | {r['commit']} |" for r in rows]
    replace("ahead-equal", "\n" + "\n".join(lines) + "\n\n")


TRIANGLE = {"lock": "the lock alone", "hints": "ahead, hints of the relay", "direct": "ahead, direct path"}


def document_triangles(rows):
    lines = ["| to the relay, the first / the second; between the two, ms | the first player | the other's press, ms | pictures wrong | frames ahead | straight datagrams | unequal hashes |",
             "| --- |" + " --- |" * 6]
    aims, of = [], {}
    for r in rows:
        ways = (r["first_ms"], r["second_ms"], r["between_ms"])
        of.setdefault(ways, {})[r["system"]] = r
        lines.append(f"| {ways[0]} / {ways[1]}; {ways[2]} | {TRIANGLE[r['system']]} | {r['press_ms']:.0f} ({r['press_p95_ms']:.0f}) | {r['wrong_percent']:.1f} % | {r['ahead_frames']:.1f} | "
                     f"{r['straight']} | {r['unequal']} of {r['hashes']} |")
    for ways, by in of.items():
        if len(by) == len(TRIANGLE):
            lock, hints, direct = (by[s] for s in TRIANGLE)
            aims.append(f"{ways[0]} / {ways[1]}; {ways[2]}: one way and a frame is {ways[2] + FRAME_MS:.0f} ms, direct took {direct['press_ms']:.0f}, and had "
                        f"{100 * (1 - direct['wrong_percent'] / hints['wrong_percent']):.0f} % fewer wrong pictures than hints; these showed the press {lock['press_ms'] - hints['press_ms']:.0f} ms before the lock")
    measured = f"Commit {rows[0]['commit']}, {rows[0]['core']}, {rows[0]['minutes']:g} minutes a room, {min(r['presses'] for r in rows)} presses or more in each, {rows[0]['machine']}."
    replace("ahead-triangles", "\n" + wrapped(measured) + "\n" + "\n".join(lines) + "\n\n" + wrapped(". ".join(aims) + ".") + "\n")


# --- pictures that were wrong --------------------------------------------------------------------------------------

SHEET = 60 # of the longest times


def wrong_times(system, lengths):
    """How often so many pictures in a row were wrong."""
    most = max(lengths, default=0)
    script = bench.head(f"{system}-fight", 900, 420) + f'set xlabel "pictures in a row that were wrong"\nset ylabel "times"\nset xrange [0:{most + 1}]\n'
    script += "set style fill solid\nset boxwidth 0.8\n$times << END\n" + "".join(f"{n} {lengths.count(n)}\n" for n in range(1, most + 1)) + "END\n"
    if lengths:
        bench.plot(f"{system}-fight", script + f'plot $times with boxes lc rgb "#2ca02c" title "{system}"\n')


def sheet(pictures):
    """(path, label) of the longest times first: as many as have a picture, on one sheet."""
    to, found = os.path.join(bench.OUT, "ahead-fight-sheet.png"), []
    for path, label in sorted(pictures, key=lambda p: -int(p[1].split()[0])):
        if os.path.exists(path) and len(found) < SHEET:
            found.append((path, label))
    if found:
        words = [w for path, label in found for w in ("-label", label, path)]
        subprocess.run(["montage", "-font", "DejaVu-Sans", "-pointsize", "11", *words, "-tile", "6x", "-geometry", "320x150+3+3", to], check=True)
        bench.say(f"wrote {to}: {len(found)} of {len(pictures)} times")


# --- the picture ---------------------------------------------------------------------------------------------------

def panel(n, cases, link, key, to, title, label):
    """One figure of nestopia over the RTT, on links of one kind; a line up to the 95th percentile."""
    script, plots = f'set title "{title}, jitter {link[0]} ms, loss {link[1]} %"\nset ylabel "{label}" offset 1,0\n', []
    for system in SYSTEMS:
        some = [of[system] for case, of in cases.items() if (case[0], case[2:4], case[4]) == ("nestopia", link, None)]
        script += bench.block(f"{system}{n}", some, ("rtt_ms", key, to or key))
        at = f"${system}{n} using ($1+{SHIFT[system]})"
        if to:
            plots.append(f"{at}:2:(0):($3-$2) with vectors nohead lw 1.5 {LOOK[system][0][LOOK[system][0].index('lc'):]} notitle")
        plots.append(f"{at}:2 with points {LOOK[system][0]} notitle")
    return script + "plot " + ", \\\n  ".join(plots) + "\n"


def picture(rows):
    cases = by_case(rows)
    if not any(case[0] == "nestopia" and not case[4] for case in cases):
        return bench.say("no picture: it shows nestopia's links")
    script = bench.head("ahead", 1400, 900)
    script += 'set multiplot title "Two RetroArch, nestopia: from a press to the picture, median and 95th percentile" font "Sans,15"\n'
    script += 'set xrange [0:170]\nset xtics (20,50,100,150)\nset size 0.333,0.42\nset xlabel "RTT to the relay = way from player to player, ms" offset 0,0.4\n'
    wanted = (("own_ms", "own_p95_ms", "own press", "ms"), ("others_ms", "others_p95_ms", "the other's press", "ms"),
              ("wrong_percent", None, "pictures wrong", "%"))
    for n, (link, (key, to, title, label)) in enumerate((link, w) for link in ((0, 0), (10, 3)) for w in wanted):
        highest = max([of[s][to or key] or 0 for of in cases.values() for s in SYSTEMS] + [10]) * 1.05
        script += f"set yrange [0:{highest:.0f}]\nset origin {0.333 * (n % 3):.3f},{0.51 - 0.43 * (n // 3):.3f}\n"
        script += panel(n, cases, link, key, to, title, label)
    script += "unset title\nunset border\nunset tics\nunset grid\nunset xlabel\nunset ylabel\nset origin 0,0\nset size 1,0.1\nset yrange [0:1]\n"
    script += "set key at graph 0.5,0.9 center top Left reverse maxrows 1\nplot "
    script += ", \\\n  ".join(f'NaN with points {LOOK[s][0]} title "{LOOK[s][1]}"' for s in SYSTEMS) + "\nunset multiplot\n"
    return bench.plot("ahead", script)
