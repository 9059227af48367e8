#!/usr/bin/env bash
# recording/files.sh - recordings that earlier versions of Keylock have made (tests/content/recordings) are verified by this one: what
# a room makes the same on every machine has not changed, or RECORD.md's number of the rules has.
#   MAKE=1  records them anew, with the cores that are installed here
# runs: working, test, 10 s
. "$(dirname "$0")/../lib.sh"

folder=tests/content/recordings FRAMES=900
needs "$keylock" "$relay_program" "$wrapper" "$test_core" "$content/shooter.nes" "$content/pads.gb"
cores=(probe nestopia gambatte)

core_of() { if [ "$1" = probe ]; then echo "$test_core"; else core_path "$1"; fi; }
game_of() { if [ "$1" = gambatte ]; then echo "$content/pads.gb"; else echo "$content/shooter.nes"; fi; }

# make_one CORE: two players, and a state that the room saves.
make_one() {
    local game=(--core "$(core_of "$1")" --content "$(game_of "$1")" --room "$1" --frames $FRAMES --wait 30 --speed real)
    run_in_room "$1-ann" "${game[@]}" --input random:11 --hash-every 60 --record "$folder/$1.klr" --command 300:save
    said relay "joined room=\"$1\"" 10
    run_in_room "$1-bob" "${game[@]}" --input random:12
    ends_well recordings "$1-ann" 60
    ends_well recordings "$1-bob" 30
    grep -a "keylock run: frame" "$tmp/$1-ann.log" | sed "s/^/     /"
}

if [ "${MAKE:-0}" = 1 ]; then
    start_relay
    for name in "${cores[@]}"; do make_one "$name"; done
fi
for name in "${cores[@]}"; do
    path=$(core_of "$name") || { note "$name is not installed"; continue; }
    "$keylock" verify --core "$path" --content "$content" "$folder/$name.klr" >"$tmp/$name.log" 2>&1
    status=$?
    # Of another version nothing is promised. The core of the tests is always the recording's.
    if [ "$name" != probe ] && [ $status = 2 ] && grep -q 'core differs' "$tmp/$name.log"; then
        note "$(cat "$tmp/$name.log")"
        continue
    fi
    check "recordings/$name" "exit status $status: $(cat "$tmp/$name.log")" test $status = 0
done
finish
