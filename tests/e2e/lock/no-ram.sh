#!/usr/bin/env bash
# lock/no-ram.sh - cores that show no RAM: mgba, whose states part after a load, and wswan, in rooms without a profile. A newcomer
# comes by a snapshot, a killed player comes back by one, and a planted byte is found by the picture. It is the only desync.
# runs: waiting, all, 40 s
# instead: `lock/cores` and `desync/heal`, with RAM
. "$(dirname "$0")/../lib.sh"

FRAMES=2100
PLANTED=1300
needs "$keylock" "$relay_program" "$wrapper" "$content/pads.gba" "$content/pads.ws"
export KEYLOCK_PROFILE=off
start_relay --catch-up 1 --per-address 64

declare -A rom=([mgba]=pads.gba [mednafen_wswan]=pads.ws)
declare -A byte=([mgba]=0x19000 [mednafen_wswan]=0x1ec) # the game's random number, in the state
rooms=()
for core in mgba mednafen_wswan; do
    if core_path $core >/dev/null; then rooms+=($core); else skip "no-ram/$core: the core is not installed"; fi
done

player() { # NAME CORE SEED [ARGUMENT…]
    local name=$1 core=$2 seed=$3
    shift 3
    run_in_room "$name-$core" --core "$(core_path $core)" --content "$content/${rom[$core]}" --room "$core" --frames $FRAMES \
        --speed real --policy bounded --input "random:$seed" --hash-every 30 --wait 30 "$@"
}
by_snapshot() { # EVENT NAME
    said relay "event=$1 .*name=\"${2:0:20}\"" 20
    check "no-ram/$2-by" "$(grep -a "event=catch_up .*name=\"${2:0:20}\"" "$tmp/relay.log" | tail -n 1)" \
        said relay "event=catch_up .*name=\"${2:0:20}\".* by=snapshot" 20
}

for core in "${rooms[@]}"; do
    player ada $core 101 --command "300:places 3"
    said relay "joined room=\"$core\"" 10
    player ben $core 202 --seat-time 60
done
for core in "${rooms[@]}"; do
    reaches "ada-$core" 420
    player cem $core 303 --corrupt "$PLANTED:${byte[$core]}"
done
for core in "${rooms[@]}"; do
    by_snapshot caught_up "cem-$core"
    stop "ben-$core" KILL
    player ben $core 404
done
for core in "${rooms[@]}"; do by_snapshot returned "ben-$core"; done
for core in "${rooms[@]}"; do
    for who in ada ben cem; do ends_well no-ram "$who-$core" 60; done
    desyncs=$(grep -a "event=desync room=\"$core\"" "$tmp/relay.log")
    check "no-ram/$core-found-at" "$(json "ada-$core" desync_frame)" test "$(json "ada-$core" desync_frame)" -ge $PLANTED
    check "no-ram/$core-only-that" "$desyncs" test "$(grep -c . <<<"$desyncs")" = 1
    check "no-ram/$core-healed" "healed $(json "ada-$core" healed)" test "$(json "ada-$core" healed)" = 1
    note "$core: $(json "ada-$core" state_only) unequal states noted"
done
finish
