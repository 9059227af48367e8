#!/usr/bin/env bash
# lock/direct.sh - two players 60 ms from the relay and 10 ms from each other, one of them ahead: straight samples come before the
# relay's news, fewer pictures are wrong, and all else is equal; without a way through, or without trust, it is as it was. False
# samples of a player are put aside, and junk on the way changes nothing.
# runs: alone, all, 75 s
# instead: `test_direct`, the straight samples; `sim`
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$proxy" "$content/shooter.nes"
gcc -shared -fPIC -O1 -Wall -Wextra -D_GNU_SOURCE -o "$tmp/liar.so" tests/tools/direct_liar.c -ldl || die "direct: no library"
start_relay --per-address 64
server=$relay

# A button at a time, for a fifth to half a second, in no rhythm: Start, then up, down, left, right, B, A.
presses() { # SEED
    awk -v seed="$1" 'BEGIN {
        srand(seed)
        split("10 20 40 80 1 100", button, " ")
        print "30 0 8\n40 0 0"
        for (f = 70; f < 1200; f += 12 + int(20 * rand())) {
            print f, 0, button[1 + int(6 * rand())]
            print f += 12 + int(20 * rand()), 0, 0
        }
    }' >"$tmp/$1.pads"
}
presses 1
presses 2

# Ann runs ahead, Bob does not. ARGUMENT: of both. $lies: he is a liar.
begin() { # ROOM [ARGUMENT…]
    local room=$1 common
    shift
    common=(--core nestopia --content "$content/shooter.nes" --room "$room" --frames 1200 --speed real --hash-every 60 --wait 30 "$@")
    start "$room-ann" "$keylock" run --relay "$relay" --name "$room-ann" --hash-out "$tmp/$room-ann.hash" "${common[@]}" \
        --input "$tmp/1.pads" --ahead 30
    said relay "event=(room_made|joined).*room=\"$room\"" 20
    LD_PRELOAD="${lies:+$tmp/liar.so}" ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0" \
        run_in_room "$room-bob" "${common[@]}" --input "$tmp/2.pads" --ahead off
}
wrong() { json "$1-ann" guessed_wrong; }
came() { json "$1-ann" direct_datagrams; }
judge() { # ROOM…
    local room
    for room; do
        both_equal "$room" "$room-ann" "$room-bob" 90
        check "$room/never-out-of-sync" "healed $(json "$room-ann" healed) times" test "$(json "$room-ann" healed)" = 0
        note "$room: wrong $(wrong "$room"), felt $(json "$room-ann" felt_frames_avg)," \
            "straight datagrams to ann $(came "$room"), to bob $(json "$room-bob" direct_datagrams)"
    done
}

# share A B S: A is at most the share S of B. Above 1: of rooms that play one after the other, a twentieth of all pictures more is no difference.
share() { awk -v a="$1" -v b="$2" -v s="$3" 'BEGIN { exit !(a <= b * s + (s > 1 ? 0.05 : 0)) }'; }
seen() { grep -a "these players see your address" "$tmp/$1.log"; }
aside() { grep -ao "samples that came straight .*" "$tmp/$1-ann.log"; }

through nat --delay 60 --jitter 2 --straight 10
relay=$link
begin off --direct off
begin straight
lies=yes begin liar
judge off straight liar
# How many fewer depends on where in her frame his begins.
without=$(wrong off)
check straight/fewer-pictures-are-wrong "$(wrong straight), by the relay alone $without" share "$(wrong straight)" "$without" 0.75
check straight/samples-come "$(came straight) of 1200" test "$(came straight)" -ge 900
check straight/only-to-one-that-guesses "$(json straight-bob direct_datagrams)" test "$(json straight-bob direct_datagrams)" = 0
check straight/the-player-is-told "$(seen straight-ann)" test -n "$(seen straight-ann)"
check straight/none-is-put-aside "$(aside straight)" test -z "$(aside straight)"
check off/nothing-comes "$(came off)" test "$(came off)" = 0
check off/nobody-is-told "$(seen off-ann)" test -z "$(seen off-ann)"
check liar/samples-come "$(came liar) of 1200" test "$(came liar)" -ge 900
check liar/they-are-put-aside "$(aside liar)" test "$(aside liar)" = "samples that came straight for port 2 are not the room's: put aside"
check liar/as-by-the-relay-alone "$(wrong liar), else $without" share "$(wrong liar)" "$without" 1.2

begin strangers --trust off
# As many bytes of junk and of copies as true ones; also from the other player's own address.
relay=$server
through junk --delay 60 --jitter 2 --straight 10 --garbage 90 --replay 30
relay=$link
begin junk
# A router that lets nothing in from elsewhere.
relay=$server
through wall --delay 60 --jitter 2
relay=$link
begin wall
judge strangers junk wall
check strangers/nothing-comes "$(came strangers)" test "$(came strangers)" = 0
check strangers/nobody-is-told "$(seen strangers-ann)" test -z "$(seen strangers-ann)"
check wall/nothing-comes "$(came wall)" test "$(came wall)" = 0
check wall/as-by-the-relay-alone "$(wrong wall), else $without" share "$(wrong wall)" "$without" 1.2
check junk/as-many-true-samples "$(came junk), without junk $(came straight)" test "$(came junk)" -ge 900 -a "$(came junk)" -le 1200
check junk/fewer-pictures-are-wrong "$(wrong junk), by the relay alone $without" share "$(wrong junk)" "$without" 0.75
check junk/none-is-put-aside "$(aside junk)" test -z "$(aside junk)"
stop junk
check junk/it-came "$(grep -ao 'hostile=.*' "$tmp/junk.log")" grep -aqE 'hostile=[0-9]{4}' "$tmp/junk.log"
finish
