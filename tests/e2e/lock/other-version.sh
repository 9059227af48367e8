#!/usr/bin/env bash
# lock/other-version.sh - two versions of a core: refused, unless both players have agreed to try. The room's list then says so,
# and the hashes judge. A quick match never takes another version.
# runs: waiting, all, 15 s
# instead: `test_lobby_door`; `arcade/refusal`, sets that differ
. "$(dirname "$0")/../lib.sh"

core=$build/cores/arcade_core_libretro.so
sets=$content/arcade
FRAMES=600
needs "$keylock" "$relay_program" "$wrapper" "$core" "$sets/duel.zip"
mkdir -p "$tmp/games" "$tmp/system"
cp "$sets/duel.zip" "$tmp/games"
start_relay

player() { # NAME ROOM VERSION AGREES [ARGUMENT…]
    local name=$1 room=$2
    local -x ARCADE_CORE=version:$3 KEYLOCK_OTHER_VERSION=$4
    shift 4
    run_in_room "$name" --core "$core" --content "$tmp/games/duel.zip" --system "$tmp/system" --room "$room" --frames $FRAMES \
        --input random:1 --hash-every 50 --wait 20 "$@"
}
refused() { # NAME WORDS
    ended "$1" 30
    local status=$?
    check "other-version/$1-refused" "exit status $status: $(tail -n 2 "$tmp/$1.log")" eval "[ $status = 4 ] && grep -aqE '$2' '$tmp/$1.log'"
}

# One alone agrees: the two do not meet, whichever is the host.
player ann strict 1 off
said relay 'joined room="strict"' 10
player bob strict 2 off
refused bob 'core differs: room has Arcade core 1, you have Arcade core 2'
player cem strict 2 on
refused cem 'core differs: room has Arcade core 1, you have Arcade core, any version'
stop ann
player dan tries 1 on
said relay 'joined room="tries"' 10
player eve tries 1 off
refused eve 'core differs: room has Arcade core, any version .*, you have Arcade core 1'

# Both agree.
"$keylock" rooms "$relay" >"$tmp/rooms.log" 2>&1
check other-version/listed "$(cat "$tmp/rooms.log")" grep -q 'tries.*any version' "$tmp/rooms.log"
player fay tries 2 on
both_equal other-version dan fay
check other-version/no-desync "$(json dan desync_frame)" test "$(json dan desync_frame)" = None

# Hashes judge.
player gus parts 1 on --speed real
said relay 'joined room="parts"' 10
player hal parts 2 on --speed real --corrupt 200:0x300
said relay 'event=desync room="parts".*what=ram' 30
check other-version/judged "$(grep -a 'room="parts"' "$tmp/relay.log" | tail -n 3)" grep -aq 'event=desync room="parts".*what=ram' "$tmp/relay.log"
for who in gus hal; do ends_well other-version $who 40; done
finish
