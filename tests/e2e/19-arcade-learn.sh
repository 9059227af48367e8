#!/usr/bin/env bash
# 19-arcade-learn.sh - a machine that comes into a room measures the core's states in the background. Its findings are for all
# games of the core: in the next room that it makes, with another game, the bytes that a load changes are masked. A guest's
# findings, true or forged, change nobody's mask, and no machine keeps a mask of another one's.
# runs: waiting, test, 30 s
. "$(dirname "$0")/lib.sh"

core=$build/cores/arcade_core_libretro.so
sets=$content/arcade
FRAMES=600
PLANTED=240
needs "$keylock" "$relay_program" "$wrapper" "$core" "$sets/duel.zip"
mkdir -p "$tmp/games" "$tmp/system/arcade" "$tmp/ann" "$tmp/ben" "$tmp/cem"
cp "$sets"/duel.zip "$sets"/duelj.zip "$tmp/games"
start_relay

player() { # NAME ROOM GAME LEARN [ARGUMENT…]: each with a home of its own
    local name=$1 room=$2 game=$3
    local -x HOME=$tmp/${1%-*} KEYLOCK_LEARN=$4
    shift 4
    start "$name" "$keylock" run --relay "$relay" --name "$name" --core "$core" --content "$tmp/games/$game.zip" \
        --system "$tmp/system" --room "$room" --frames $FRAMES --speed real --input random:1 --hash-every 30 --wait 30 --players 3 "$@"
}
# match ROOM GAME LEARN: ann is the host; ben's RAM goes wrong once, and is healed by a load of what ann and cem have.
match() {
    player "ann-$1" "$1" "$2" "$3"
    said relay "joined room=\"$1\"" 10
    player "ben-$1" "$1" "$2" off --corrupt $PLANTED:0x300
    player "cem-$1" "$1" "$2" off
    ends_well learn "ann-$1" 40
    ends_well learn "cem-$1" 40
    ends_well learn "ben-$1" 40
    check "learn/$1-healed" "healed $(json "ann-$1" healed)" test "$(json "ann-$1" healed)" = 1
}
kept() { find "$tmp/$1/.local/state/keylock/profiles" -name '*any*' 2>/dev/null; }
mask_of() { grep -ao 'profile file=the-room.s .*' "$tmp/$1.log" | grep -ao ' mask_bytes=[0-9]*' | tail -n 1; }

match first duel "$keylock"
check learn/first-unmasked "$(mask_of ann-first)" test "$(mask_of ann-first)" = ' mask_bytes=0'
check learn/first-noted "$(json ann-first state_only)" test "$(json ann-first state_only)" -gt 0
check learn/measures "ann's log does not say so" grep -aq "measures the core's states" "$tmp/ann-first.log"
check learn/kept "$(ls -R "$tmp/ann/.local/state/keylock" 2>&1 | tail -n 3)" test -s "$(kept ann)"
check learn/guest-keeps-nothing "$(kept ben)" test -z "$(kept ben)"

# Another game of the core, whose states have the same size.
match second duelj "$keylock"
check learn/second-masked "$(mask_of ann-second)" test "$(mask_of ann-second)" = ' mask_bytes=148'
check learn/second-nothing-to-note "$(json ann-second state_only)" test "$(json ann-second state_only)" = 0
check learn/second-once "ann measures again" eval '! grep -aq "measures the core" "$tmp/ann-second.log"'

# A guest with a larger mask: the host's counts. A host with a mask of more than 1 % has none.
mkdir -p "$tmp/ben/.local/state/keylock/profiles"
sed -E 's/"mask":\[\[[0-9]+,[0-9]+\]/"mask":[[0,600]/' "$(kept ann)" >"$tmp/ben/.local/state/keylock/profiles/$(basename "$(kept ann)")"
match forged duel off
check learn/forged-guest "$(mask_of ben-forged)" test "$(mask_of ben-forged)" = ' mask_bytes=148'
sed -Ei 's/"mask":\[\[[0-9]+,[0-9]+\]/"mask":[[0,6000]/' "$(kept ann)"
match large duel off
check learn/large-host "$(mask_of ben-large)" test "$(mask_of ben-large)" = ' mask_bytes=0'
finish
