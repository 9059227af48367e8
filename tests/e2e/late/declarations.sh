#!/usr/bin/env bash
# late/declarations.sh - a core tells its frontend in play what others tell while they load, and a late player comes by a snapshot: what
# follows from locked frames comes with it; a declaration that only the core can make sends the newcomer to history; so do
# states for one run of the core only, which no machine loads. All hashes are equal, whatever way was taken.
# runs: waiting, all, 30 s
# instead: `late/history`; `strange`, what any core declares in any match
. "$(dirname "$0")/../lib.sh"

late=$build/cores/late_core_libretro.so
needs "$keylock" "$relay_program" "$wrapper" "$late" "$content/shooter.nes"
ALL=$((24 * 60)) # frames of a match; the newcomers come at 480, also on a slow machine
start_relay --console --catch-up 1

# player NAME ROOM WORDS SEED [ARGUMENT…]
player() {
    local name=$1 room=$2 words=$3 seed=$4
    shift 4
    LATE_CORE=$words start "$name" "$keylock" run --relay "$relay" --room "$room" --name "$name" --core "$late" \
        --content "$content/shooter.nes" --speed real --frames $ALL --input "random:$seed" --hash-every 30 \
        --hash-out "$tmp/$name.hash" --trace "$tmp/$name.csv" --wait 60 --trust on "$@"
}

# by ROOM: the newcomer's last way.
by() { grep -a "event=catch_up room=\"$1\"" "$tmp/relay.log" | tail -n 1 | grep -ao 'by=[^ ]*'; }

# judged ROOM WAY
judged() {
    ends_well late "ann-$1" 40
    ends_well late "carl-$1" 40
    check "late/$1-in-sync" "a desync: $(grep -a "event=desync room=\"$1\"" "$tmp/relay.log" | head -n 1)" \
        eval "! grep -aqE 'event=(desync|heal_failed) room=\"$1\"' '$tmp/relay.log'"
    check "late/$1-way" "$(by "$1")" test "$(by "$1")" = "by=$2"
}

declare -A words=([locked]=mode:150,options:200 [core]=time:150,keys:160,map:170,disks:180 [single]=single)

# One plays alone in each room, and makes a place once the match is too long for its history.
for room in "${!words[@]}"; do player "ann-$room" "$room" "${words[$room]}" 1 --players 1; done
for room in "${!words[@]}"; do
    reaches "ann-$room" 480 40 || die "late: ann-$room does not play"
    "$keylock" command --pid "${pid[ann-$room]}" places 2 >"$tmp/$room.log" 2>&1 || fail "late/$room-place: $(cat "$tmp/$room.log")"
    player "carl-$room" "$room" "${words[$room]}" 2
done
for room in "${!words[@]}"; do
    said relay "event=caught_up room=\"$room\".*name=\"carl-$room\"" 30 || {
        show "carl-$room" relay
        die "late: carl-$room does not catch up"
    }
done
judged locked snapshot
equal late ann-locked carl-locked
judged core history
equal late ann-core carl-core
judged single history
check late/locked-outside "carl's log does not say what was outside of the state" \
    grep -aqE 'outside of the state: .*width 128, there 256.*options' "$tmp/carl-locked.log"
check late/locked-frontend "carl's frontend was not told, or not once" \
    test "$(grep -acE 'frontend told .*256x96 50.006979 Hz' "$tmp/carl-locked.log")" = 1
check late/core-named "carl's screen does not name the declaration" \
    grep -aqE 'no state gives SET_[A-Z_]+' "$tmp/carl-core.log"
check late/single-none "a state for one run of the core was given" \
    eval "! grep -aq 'event=catch_up room=\"single\".*by=snapshot' '$tmp/relay.log'"
finish
