#!/usr/bin/env bash
# 60-readme.sh - the commands of the README run as they stand there.
#
# Runs every block fenced as ```sh in README.md, one after the other, in a folder with game.nes, the bundled game, in it
# and the programs on PATH. Its two tables, of options and of commands, say what the code has. What cannot run here (a relay far away, apt-get) stands there without that mark.
# runs: working, test, 65 s
. "$(dirname "$0")/lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$content/shooter.nes"
mkdir "$tmp/desk"
cp "$content/shooter.nes" "$tmp/desk/game.nes"

# blocks: each ```sh block to $tmp/block.N
blocks=$(awk -v out="$tmp/block." '
    /^```sh$/ { inside = 1; file = out (++n); printf "" > file; next }
    /^```/    { inside = 0; next }
    inside    { print > file }
    END       { print n + 0 }' README.md)
[ "$blocks" -gt 0 ] || { fail "readme: README.md has no \`\`\`sh block"; finish; }

for n in $(seq "$blocks"); do
    name="readme/$n: $(grep -v '^#' "$tmp/block.$n" | head -n 1 | cut -c 1-70)"
    (
        cd "$tmp/desk" || exit 1
        export PATH="$(dirname "$keylock"):$PATH"
        # What a block leaves running ends with it, also where it fails half-way.
        timeout -k 5 $((60 * slowness)) bash -e -c 'trap "kill \$(jobs -p) 2>/dev/null || :" EXIT; . "$1"' block "$tmp/block.$n"
    ) >"$tmp/block.log" 2>&1
    status=$?
    if [ $status = 0 ]; then ok "$name"; else fail "$name: exit status $status"; show block; fi
done
# The tables, held against the sources and against what the programs say of themselves.
"$keylock" play --help >"$tmp/play.help"
"$keylock" command --help >"$tmp/command.help"
printf 'help\nquit\n' | timeout 10 "$relay_program" --bind 127.0.0.1 --port 0 --console >"$tmp/console.help" 2>/dev/null
python3 - "$tmp" <<'END' || checks_failed=1
import glob, re, sys
def read(path): return open(path, encoding="utf-8").read()
def table(first):
    """Rows, by column name, of the table whose heading begins with that cell."""
    lines = read("README.md").split("\n")
    at = next(i for i, l in enumerate(lines) if l.startswith(f"| {first} |"))
    heads = [c.strip().strip("`") for c in lines[at].strip("|").split("|")]
    rows = []
    for l in lines[at + 2:]:
        if not l.startswith("|"): break
        rows.append(dict(zip(heads, [c.strip() for c in l.strip("|").split("|")])))
    return rows
def ticked(rows, column): return [w for r in rows for w in re.findall(r"`([^`]*)`", r[column])]
def same(name, said, real):
    missing, more = sorted(set(real) - set(said)), sorted(set(said) - set(real))
    good = not missing and not more and len(said) == len(set(said))
    print("ok" if good else "FAIL", f"readme/{name}" + ("" if good else f": missing {missing}, not there {more}, twice "
          f"{sorted(w for w in set(said) if said.count(w) > 1)}"))
    return good
options, commands = table("what"), table("words")
config = re.findall(r'\{"(\w+)", "(KEYLOCK_\w+)", set_', read("core_wrapper/config.c"))
own = re.findall(r'#define KL_OWN_\w+ +"(keylock_\w+)"', read("core_wrapper/own_options.h"))
verbs = re.findall(r'\{"(\w+)", parse_', read("core_wrapper/command_words.c"))
keys = re.search(r'#define KL_HOTKEYS_DEFAULT\s*\\?\s*"(.*)"', read("core_wrapper/hotkeys.h")).group(1)
flags = re.findall(r"^  (--[\w-]+) ", read(sys.argv[1] + "/play.help"), re.M)
console = re.findall(r"^(\w+)", read(sys.argv[1] + "/console.help"), re.M)
sources = "".join(read(p) for p in glob.glob("core_wrapper/**/*.c", recursive=True))
asked = set(re.findall(r'(?:getenv|open_named)\("(KEYLOCK_\w+)"', sources))
said = [(k.strip("`"), v.strip("`")) for k, v in ((r["keylock.cfg"], r["variable"]) for r in options) if k or v]
fine = [
    same("variables-and-keys", said, config),
    same("variables-for-tests", [v for v in asked if v in read("README.md")], asked),
    same("flags", ticked(options, "keylock play"), flags),
    same("core-options", sorted(set(ticked(options, "core option") + ticked(commands, "core option"))), own),
    same("commands", sorted({w.split()[0] for w in ticked(commands, "words")}), verbs),
    same("commands-help", sorted({w for l in re.findall(r"^  ([a-z].*?)(?:  |$)", read(sys.argv[1] + "/command.help"), re.M)
                                  for w in re.findall(r"(?:^|\| )([a-z]+)", l)} - {"next", "previous"}), verbs),
    same("hot-keys", [f"{k.strip('`')}:{r['words'].strip('`').split()[0]}" for r in commands if (k := r["hot key"])],
         keys.split(",")),
    same("console", [w for w in ticked(commands, "console") if w not in console], []),
    same("defaults", [k for k, v, d in ((r["keylock.cfg"], r["variable"], r["default"]) for r in options) if v and not d], []),
]
sys.exit(not all(fine))
END
finish
