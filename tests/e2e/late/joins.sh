#!/usr/bin/env bash
# late/joins.sh - cores whose states part after a load (as FBNeo's do, and mgba's), or that show no RAM (mgba, wswan), in rooms
# without a profile: a newcomer comes by a snapshot, a killed player comes back by one, and a planted byte is found and healed. The
# planted byte is the only desync.
#   GAMES='duel brawl'  only these; own: CONTENT of CORE with the folder SYSTEM, and the planted byte at OFFSET
# runs: waiting, all, 40 s: GAMES='duel brawl'
# runs: waiting, all, 40 s: GAMES='mgba mednafen_wswan'
# instead: `late/history`, late players; `desync/heal`, healing; `test_lobby_snapshot`
. "$(dirname "$0")/../lib.sh"

FRAMES=2100 PLANTED=1300
GAMES=${GAMES:-duel brawl mgba mednafen_wswan}
arcade=$build/cores/arcade_core_libretro.so
declare -A core_of=([duel]=$arcade [brawl]=$arcade [own]=${CORE:-}) byte_of=([own]=${OFFSET:-0x300} [mgba]=0x19000 [mednafen_wswan]=0x1ec)
declare -A file_of=([duel]=$tmp/games/duel.zip [brawl]=$tmp/games/brawl.zip [mgba]=$content/pads.gba [mednafen_wswan]=$content/pads.ws [own]=${CONTENT:-})
needs "$keylock" "$relay_program" "$wrapper" "$arcade" "$content/arcade/duel.zip" "$content/pads.gba" "$content/pads.ws"
mkdir -p "$tmp/games" "$tmp/system/arcade"
[ -z "${SYSTEM:-}" ] || cp -r "$SYSTEM/." "$tmp/system"
cp "$content"/arcade/{duel,brawl}.zip "$tmp/games"
cp "$content/arcade/arcbios.zip" "$tmp/system/arcade"
export KEYLOCK_PROFILE=off
start_relay --catch-up 1 --per-address 64

rooms=()
for game in $GAMES; do
    core_of[$game]=${core_of[$game]:-$(core_path "$game")} && rooms+=("$game") || skip "joins/$game: the core is not installed"
done
player() { # NAME GAME SEED [ARGUMENT…]
    local name=$1 game=$2 seed=$3
    shift 3
    run_in_room "$name-$game" --core "${core_of[$game]}" --content "${file_of[$game]}" --system "$tmp/system" --room "$game" --frames $FRAMES \
        --speed real --policy bounded --input "random:$seed" --hash-every 30 --wait 30 "$@"
}
by_snapshot() { # EVENT NAME
    said relay "event=$1 .*name=\"${2:0:20}\"" 20
    check "joins/$2-by" "$(grep -a "event=catch_up .*name=\"${2:0:20}\"" "$tmp/relay.log" | tail -n 1)" \
        said relay "event=catch_up .*name=\"${2:0:20}\".* by=snapshot" 20
}

for game in "${rooms[@]}"; do
    player ada $game 101 --command "300:places 3"
    said relay "joined room=\"$game\"" 10
    player ben $game 202 --seat-time 60
done
for game in "${rooms[@]}"; do
    reaches "ada-$game" 420
    player cem $game 303 --corrupt "$PLANTED:${byte_of[$game]:-0x300}"
done
for game in "${rooms[@]}"; do
    by_snapshot caught_up "cem-$game"
    stop "ben-$game" KILL
    player ben $game 404
done
for game in "${rooms[@]}"; do by_snapshot returned "ben-$game"; done
for game in "${rooms[@]}"; do
    for who in ada ben cem; do ends_well joins "$who-$game" 60; done
    desyncs=$(grep -a "event=desync room=\"$game\"" "$tmp/relay.log")
    check "joins/$game-found-at" "$(json "ada-$game" desync_frame)" test "$(json "ada-$game" desync_frame)" -ge $PLANTED
    check "joins/$game-only-that" "$desyncs" test "$(grep -c . <<<"$desyncs")" = 1
    check "joins/$game-healed" "healed $(json "ada-$game" healed)" test "$(json "ada-$game" healed)" = 1
    note "$game: $(json "ada-$game" state_only) unequal states noted"
    case $game in mgba | mednafen_wswan) continue ;; esac
    check "joins/$game-found-by" "$desyncs" grep -q 'what=ram' <<<"$desyncs"
    check "joins/$game-states-part" "no unequal state was noted: the scenario says nothing" test "$(json "ada-$game" state_only)" -gt 0
    for who in ben cem; do
        check "joins/$game-$who-ram" "RAM at the end differs" test "$(json "ada-$game" ram)" = "$(json "$who-$game" ram)"
    done
done
finish
