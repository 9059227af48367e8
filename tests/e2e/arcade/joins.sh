#!/usr/bin/env bash
# arcade/joins.sh - cores whose states part after a load, as FBNeo's do, in rooms without a profile: a newcomer comes by a
# snapshot, a killed player comes back by one, and a planted byte of RAM is healed by one. The planted byte is the only desync.
# runs: waiting, all, 40 s
# instead: `late/history`, late players; `test_lobby_snapshot`
. "$(dirname "$0")/../lib.sh"

core=$build/cores/arcade_core_libretro.so
sets=$content/arcade
FRAMES=2100
PLANTED=1300
needs "$keylock" "$relay_program" "$wrapper" "$core" "$sets/duel.zip"
mkdir -p "$tmp/games" "$tmp/system/arcade"
cp "$sets"/duel.zip "$sets"/brawl.zip "$tmp/games"
cp "$sets/arcbios.zip" "$tmp/system/arcade"
export KEYLOCK_PROFILE=off

start_relay --catch-up 1 --per-address 64

player() { # NAME GAME SEED [ARGUMENT…]
    local name=$1 game=$2 seed=$3
    shift 3
    run_in_room "$name" --core "$core" --content "$tmp/games/$game.zip" --system "$tmp/system" --room "$game" --frames $FRAMES \
        --speed real --policy bounded --input "random:$seed" --hash-every 30 --wait 30 "$@"
}
by_snapshot() { # EVENT NAME
    said relay "event=$1 .*name=\"$2\"" 20
    check "arcade-joins/$2-by" "$(grep -a "event=catch_up .*name=\"$2\"" "$tmp/relay.log" | tail -n 1)" \
        said relay "event=catch_up .*name=\"$2\".* by=snapshot" 20
}

for game in duel brawl; do
    player "ada-$game" $game 101 --command "300:places 3"
    said relay "joined room=\"$game\"" 10
    player "ben-$game" $game 202 --seat-time 60
done
for game in duel brawl; do
    reaches "ada-$game" 420
    player "cem-$game" $game 303 --corrupt $PLANTED:0x300
done
for game in duel brawl; do
    by_snapshot caught_up "cem-$game"
    stop "ben-$game" KILL
done
for game in duel brawl; do
    cp "$tmp/ben-$game.hash" "$tmp/first-$game.hash"
    player "ben-$game" $game 404
done
for game in duel brawl; do by_snapshot returned "ben-$game"; done
for game in duel brawl; do
    for who in ada ben cem; do ends_well arcade-joins "$who-$game" 60; done
    desyncs=$(grep -a "event=desync room=\"$game\"" "$tmp/relay.log")
    check "arcade-joins/$game-found" "$desyncs" eval "grep -aq 'what=ram' <<<'$desyncs'"
    check "arcade-joins/$game-found-at" "$(json "ada-$game" desync_frame)" test "$(json "ada-$game" desync_frame)" -ge $PLANTED
    check "arcade-joins/$game-only-that" "$desyncs" test "$(grep -c . <<<"$desyncs")" = 1
    check "arcade-joins/$game-healed" "healed $(json "ada-$game" healed)" test "$(json "ada-$game" healed)" = 1
    check "arcade-joins/$game-states-part" "no unequal state was noted: the scenario says nothing" test "$(json "ada-$game" state_only)" -gt 0
    for who in ben cem; do
        check "arcade-joins/$game-$who-ram" "RAM at the end differs" test "$(json "ada-$game" ram)" = "$(json "$who-$game" ram)"
    done
done
finish
