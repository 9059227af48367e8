#!/usr/bin/env bash
# 60-readme.sh - the commands of the README run as they stand there.
#
# Runs every block fenced as ```sh in README.md, one after the other, in a folder with game.nes, the bundled game, in it
# and the programs on PATH. What cannot run here (a relay far away, apt-get) stands there without that mark.
# limit: 120
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
        timeout -k 5 60 bash -e -c 'trap "kill \$(jobs -p) 2>/dev/null || :" EXIT; . "$1"' block "$tmp/block.$n"
    ) >"$tmp/block.log" 2>&1
    status=$?
    if [ $status = 0 ]; then ok "$name"; else fail "$name: exit status $status"; show block; fi
done
finish
