#!/usr/bin/env bash
# desync/unequal.sh - rooms without a profile, of a core whose states or whose RAM cannot be compared: addresses in the state, no RAM and
# states of changing size, RAM at address 0 on one machine, pictures of the graphics card. Equal games are no desync; a byte of
# video RAM, a picture of one frame and a sound of one frame are found.
# runs: waiting, test, 15 s
. "$(dirname "$0")/../lib.sh"

FRAMES=300
video_core=$build/cores/video_core_libretro.so
needs "$keylock" "$relay_program" "$wrapper" "$video_core" "$content/shooter.nes"
export KEYLOCK_PROFILE=off KEYLOCK_AHEAD=off # a fault comes once in a process, and is the true core's
start_relay --per-address 64
watch watch relay

# begin NAME WORDS_OF_1 [WORDS_OF_2 [OPTION…]]: a room of two in real time
begin() {
    local name=$1 words=("$2" "${3:-$2}") i
    shift $(($# < 3 ? $# : 3))
    for i in 1 2; do
        VIDEO_CORE=${words[i - 1]} start "$name-$i" "$keylock" run --relay "$relay" --name "$name-$i" --core "$video_core" --content "$content/shooter.nes" --room "$name" \
            --frames $FRAMES --speed real --input "random:$i" --hash-every 60 --wait 30 "$@"
        [ $i != 1 ] || said relay "event=joined room=\"$name\"" 10
    done
}
lines() { grep -acE "$2.* room=\"$1\"" "$tmp/relay.log"; } # NAME REGEX

# equal NAME: no desync, nothing is healed, both end well
equal() {
    local i
    for i in 1 2; do ends_well unequal "$1-$i" 60; done
    check "unequal/$1-no-alarm" "$(grep -aE "event=(desync|rewind|heal_|pauses).* room=\"$1\"" "$tmp/relay.log" | head -n 3)" \
        test "$(lines "$1" 'event=(desync|rewind|heal_anew|heal_failed|pauses)')" = 0
}
# found NAME WHAT: in two seconds, called by its name, and healed
found() {
    local i at
    for i in 1 2; do ends_well unequal "$1-$i" 60; done
    at=$(json "$1-1" desync_frame)
    check "unequal/$1-found" "planted before frame $PLANTED, found at ${at:-no frame}" test "${at:-0}" -ge $PLANTED -a "${at:-9999}" -le $((PLANTED + 120))
    check "unequal/$1-named" "$(grep -a "event=desync room=\"$1\"" "$tmp/relay.log" | head -n 2)" \
        test "$(lines "$1" 'event=desync')" = "$(grep -a "event=desync room=\"$1\"" "$tmp/relay.log" | grep -c " what=$2 ")"
    check "unequal/$1-on-screen" "$(grep -a 'out of sync' "$tmp/$1-1.log")" grep -aq "out of sync since frame $at: $2" "$tmp/$1-1.log"
    check "unequal/$1-healed" "healed $(json "$1-1" healed)" test "$(json "$1-1" healed)" = 1
}

PLANTED=130
begin addresses addresses
begin shrunk no-ram,addresses,grows
begin dupes no-ram,addresses,grows,dupes
begin null map null
begin null-addresses map,addresses null,addresses
begin hardware no-ram,addresses,hardware
begin nothing no-ram,no-state,hardware
begin vram addresses "addresses,vram:$PLANTED"
begin vram-whole map "map,vram:$PLANTED"
begin vram-null map,addresses "null,addresses,vram:$PLANTED"
begin flash no-ram,addresses,grows,dupes "no-ram,addresses,grows,dupes,flash:$PLANTED"
begin click no-ram,addresses "no-ram,addresses,click:$PLANTED"
for room in addresses shrunk dupes null null-addresses hardware nothing; do equal $room; done
for room in vram vram-whole vram-null flash; do found $room picture; done
found click sound

# The shown core of a core that draws with the graphics card is given up.
KEYLOCK_AHEAD=auto begin card no-ram,addresses,hardware
for i in 1 2; do
    ends_well unequal card-$i 60
    check unequal/card-$i-is-not-ahead "$(grep -a presses "$tmp/card-$i.log")" grep -aq 'presses wait for the link: the core draws with the graphics card' "$tmp/card-$i.log"
done

for room in null null-addresses vram-null; do
    for i in 1 2; do
        check "unequal/$room-told-$i" "$(grep -a 'laid out' "$tmp/$room-$i.log")" test "$(grep -ac '^message: RAM is laid out differently' "$tmp/$room-$i.log")" = 1
    done
done
for room in hardware nothing; do
    check "unequal/$room-told" "$(grep -a 'judged' "$tmp/$room-1.log")" test "$(grep -ac '^message: this core cannot be judged' "$tmp/$room-1.log")" = 1
    check "unequal/$room-logged" "$(lines $room 'event=not_judged') lines" test "$(lines $room 'event=not_judged')" = 1
done
finish
