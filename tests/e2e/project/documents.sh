#!/usr/bin/env bash
# project/documents.sh - the documents are true: tests/tools/documents.py checks them against the tree and the programs, and every
# block fenced as ```sh runs here as it stands.
#
# The blocks of one document run one after the other, in a folder of their own with game.nes (the bundled game) in it and the
# programs on PATH. A block that cannot run here says so in its first line: ```sh not-run: WHY.
# runs: working, all, 65 s
# instead: `tests/tools/documents.py`, all but the blocks
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$content/shooter.nes"
mkdir "$tmp/blocks"
tests/tools/documents.py --blocks "$tmp/blocks" || checks_failed=$((checks_failed + 1))

for block in "$tmp"/blocks/*.sh; do
    [ -e "$block" ] || { fail "documents/blocks: no document has a block to run"; break; }
    name=$(basename "$block" .sh)
    desk=$tmp/desk-${name%.*}
    [ -d "$desk" ] || { mkdir "$desk" && cp "$content/shooter.nes" "$desk/game.nes"; }
    (
        cd "$desk" || exit 1
        PATH="$(dirname "$keylock"):$PATH"
        # A program that a block leaves in the background ends with the block, even if the block fails half-way.
        timeout -k 5 $((60 * slowness)) bash -e -c 'trap "kill \$(jobs -p) 2>/dev/null || :" EXIT; . "$1"' block "$block"
    ) >"$tmp/block.log" 2>&1
    status=$?
    name="documents/$name: $(grep -v '^#' "$block" | head -n 1 | cut -c 1-70)"
    if [ $status = 0 ]; then ok "$name"; else fail "$name: exit status $status"; show block; fi
done
finish
