#!/usr/bin/env bash
# arcade/learn.sh - a machine that comes into a room measures the core's states in the background. Its findings are for all
# games of the core: in the next room that it makes, with another game, the bytes that a load changes are masked. A guest's
# findings, true or forged, change nobody's mask, and no machine keeps a mask of another one's. The room that is played while
# the host's machine measures gets the mask at a keyframe; then a byte that only the state shows is found, and healed.
# runs: waiting, all, 32 s
# instead: `test_room_mask`, a room's mask; `desync/probe`, the measuring
. "$(dirname "$0")/../lib.sh"

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
given() { grep -aoE '\[f [0-9]+\] mask state_bytes=.*' "$tmp/$1.log"; }
kept() { find "$tmp/$1/.local/state/keylock/profiles" -name '*any*' 2>/dev/null; }
mask_of() { grep -ao 'profile file=the-room.s .*' "$tmp/$1.log" | grep -ao ' mask_bytes=[0-9]*' | tail -n 1; }

# A core whose states hold addresses. The byte that goes wrong is neither in RAM nor in the picture, and the core writes it again
# 64 frames later.
video_core=$build/cores/video_core_libretro.so
IN_PLAY=1000
WRONG=900
needs "$video_core" "$content/shooter.nes"
in_play() { # NAME LEARN [ARGUMENT…]
    local name=$1
    local -x HOME=$tmp/$1 KEYLOCK_LEARN=$2 VIDEO_CORE=addresses
    shift 2
    start "$name" "$keylock" run --relay "$relay" --name "$name" --core "$video_core" --content "$content/shooter.nes" --room play \
        --frames $IN_PLAY --speed real --input random:1 --hash-every 15 --wait 30 "$@"
}
mkdir -p "$tmp/dan" "$tmp/eve"
in_play dan "$keylock"
said relay 'joined room="play"' 10
in_play eve off --corrupt $WRONG:state:$((4112 + (WRONG - 1) % 64))
watch watch dan eve relay

match first duel "$keylock"
# In time: a machine measures while the match lasts, with what other programs leave of a processor.
check learn/first-unmasked "$(mask_of ann-first)" test "$(mask_of ann-first)" = ' mask_bytes=0'
check learn/first-in-play "$(json ann-first state_only) noted; ann: $(given ann-first), ben: $(given ben-first)" \
    test "$(json ann-first state_only)" -gt 0 -o \( -n "$(given ann-first)" -a "$(given ann-first)" = "$(given ben-first)" \)
check learn/measures "ann's log does not say so" grep -aq "measures the core's states" "$tmp/ann-first.log"
in_time check learn/kept "$(ls -R "$tmp/ann/.local/state/keylock" 2>&1 | tail -n 3)" test -s "$(kept ann)"
check learn/guest-keeps-nothing "$(kept ben)" test -z "$(kept ben)"

ends_well learn dan 40
ends_well learn eve 40
in_time check learn/given "dan: $(given dan), eve: $(given eve)" test -n "$(given dan)" -a "$(given dan)" = "$(given eve)"
at=$(given dan | grep -oE '[0-9]+' | head -n 1)
if [ "${at:-9999}" -lt $((WRONG - 60)) ]; then
    note "given at frame $at"
    found=$(json dan desync_frame)
    check learn/only-the-state-found "found at ${found:-no frame}" test "${found:-0}" -ge $WRONG -a "${found:-9999}" -le $((WRONG + 120))
    check learn/only-the-state-named "$(grep -a 'event=desync room="play"' "$tmp/relay.log")" grep -aq 'event=desync room="play".* what=state ' "$tmp/relay.log"
    check learn/only-the-state-healed "healed $(json dan healed)" test "$(json dan healed)" = 1
else
    in_time check learn/only-the-state "the mask was given at frame ${at:-none}, too late for the byte before frame $WRONG" false
fi
check learn/no-false-alarm "$(grep -aE 'event=(desync|heal_failed) room="play"' "$tmp/relay.log")" \
    test "$(grep -acE 'event=(desync|heal_failed) room="play"' "$tmp/relay.log")" -le 1

# Another game of the core, whose states have the same size.
match second duelj "$keylock"
in_time check learn/second-masked "$(mask_of ann-second)" test "$(mask_of ann-second)" = ' mask_bytes=148'
in_time check learn/second-nothing-to-note "$(json ann-second state_only)" test "$(json ann-second state_only)" = 0
in_time check learn/second-once "ann measures again" eval '! grep -aq "measures the core" "$tmp/ann-second.log"'

# A guest with a larger mask: the host's counts. A host with a mask of more than 1 % has none.
mkdir -p "$tmp/ben/.local/state/keylock/profiles"
sed -E 's/"mask":\[\[[0-9]+,[0-9]+\]/"mask":[[0,600]/' "$(kept ann)" >"$tmp/ben/.local/state/keylock/profiles/$(basename "$(kept ann)")"
match forged duel off
in_time check learn/forged-guest "$(mask_of ben-forged)" test "$(mask_of ben-forged)" = ' mask_bytes=148'
sed -Ei 's/"mask":\[\[[0-9]+,[0-9]+\]/"mask":[[0,6000]/' "$(kept ann)"
match large duel off
check learn/large-host "$(mask_of ben-large)" test "$(mask_of ben-large)" = ' mask_bytes=0'
finish
