#!/usr/bin/env bash
# arcade/match.sh - arcade sets, which the core opens itself: the tools load a game by its zip alone, a clone and a game with a
# BIOS too, and two players play each in a room.
# runs: working, test, 12 s
. "$(dirname "$0")/../lib.sh"

core=$build/cores/arcade_core_libretro.so
sets=$content/arcade
FRAMES=600
EVERY=50
needs "$keylock" "$relay_program" "$wrapper" "$core" "$sets/duel.zip"

# The parent lies beside its clone, the BIOS in the system folder.
mkdir -p "$tmp/games" "$tmp/system/arcade"
cp "$sets"/duel.zip "$sets"/duelj.zip "$sets"/brawl.zip "$tmp/games"
cp "$sets/arcbios.zip" "$tmp/system/arcade"

tool() { core_tool arcade "$@"; } # NAME STATUS COMMAND ARGUMENT…

# --- the tools, by the zip alone --------------------------------------------------------------------------------

for game in duel duelj brawl; do
    tool "run-$game" 0 run --content "$tmp/games/$game.zip" --frames $FRAMES --input random:7 --hash-every $EVERY \
        --hash-out "$tmp/$game.hash" --states "$tmp/$game-states" --record "$tmp/$game.rec"
    check "arcade/run-$game-plays" "$(head -n 2 "$tmp/$game.hash")" hashes_move "$tmp/$game.hash"
    check "arcade/run-$game-has-states" "no state in the hashes" awk '$2 == "-" || $3 == "-" { exit 1 }' "$tmp/$game.hash"
done
tool run-again 0 run --content "$tmp/games/duel.zip" --frames $FRAMES --input random:7 --hash-every $EVERY --hash-out "$tmp/again.hash"
check arcade/run-again-equal "two runs alone differ" cmp -s "$tmp/duel.hash" "$tmp/again.hash"
tool run-dip 0 run --content "$tmp/games/duel.zip" --frames $FRAMES --input random:7 --hash-every $EVERY \
    --hash-out "$tmp/dip.hash" --option arcade_dip_duel_lives=5
check arcade/dip-plays-another-game "a DIP switch changes nothing" test "$(head -n 1 "$tmp/dip.hash")" != "$(head -n 1 "$tmp/duel.hash")"

# A load parts states as FBNeo's do: CPS-1's on the newcomer's machine alone, Neo Geo's unless all machines load.
tool probe-duel 0 probe --content "$tmp/games/duel.zip" --frames 120
check arcade/probe-duel-states "$(grep -a ^snapshot "$tmp/probe-duel.log")" grep -qE '^snapshot +state only' "$tmp/probe-duel.log"
check arcade/probe-duel-mask "$(grep -a masked "$tmp/probe-duel.log")" grep -q '148 bytes of the state masked' "$tmp/probe-duel.log"
tool probe-brawl 0 probe --content "$tmp/games/brawl.zip" --frames 120
check arcade/probe-brawl-states "$(grep -a ^snapshot "$tmp/probe-brawl.log")" grep -qE '^snapshot +all' "$tmp/probe-brawl.log"
tool bisect 0 bisect --content "$tmp/games/duel.zip" --input random:7 --frames 120 --a "" --b ""
tool bisect-dip 1 bisect --content "$tmp/games/duel.zip" --input random:7 --frames 120 --a "" --b "--option arcade_dip_duel_lives=5"
check arcade/bisect-dip-frame "$(tail -n 3 "$tmp/bisect-dip.log")" grep -q 'frame 0' "$tmp/bisect-dip.log"
"$keylock" run --quiet --core "$core" --content "$tmp/games/duel.zip" --frames $FRAMES --input random:7 --hash-every $EVERY \
    --states "$tmp/planted" --corrupt 333:0x300 >"$tmp/planted.log" 2>&1
last=$(basename "$(find "$tmp/planted" -name '*.state' | sort | tail -n 1)")
tool blame 1 blame "$tmp/duel-states/$last" "$tmp/planted/$last" --content "$tmp/games/duel.zip"
check arcade/blame-byte "$(head -n 5 "$tmp/blame.log")" grep -qi 'system RAM' "$tmp/blame.log"

# The best score is a file of the player's.
mkdir "$tmp/saves"
tool saves 0 run --content "$tmp/games/duel.zip" --frames $FRAMES --input random:7 --save "$tmp/saves"
check arcade/nvram-is-kept "$(ls -R "$tmp/saves")" test -s "$tmp/saves/arcade/duel.nv"
ARCADE_CORE=large:16384 "$keylock" run --quiet --core "$core" --content "$tmp/games/duel.zip" --frames 60 --input random:7 \
    --hash-every 20 --states "$tmp/large" >"$tmp/large.log" 2>&1
check arcade/state-of-16-MiB "$(du -b "$tmp/large"/*.state 2>&1)" test "$(stat -c %s "$tmp/large"/*.state | sort -n | tail -n 1)" -gt $((16 << 20))

# --- two players ------------------------------------------------------------------------------------------------

start_relay --per-address 64
for game in duel duelj brawl; do
    for who in ada ben; do
        run_in_room "$game-$who" --core "$core" --content "$tmp/games/$game.zip" --system "$tmp/system" --room "$game" \
            --frames $FRAMES --input "random:$([ $who = ada ] && echo 101 || echo 202)" --hash-every $EVERY --wait 30
        [ $who = ben ] || next_second # the clocks of the two machines differ
    done
    both_equal arcade "$game-ada" "$game-ben"
    check "arcade/$game-plays-in-a-room" "the hashes stand still" hashes_move "$tmp/$game-ada.hash"
    check "arcade/$game-frames" "$(json "$game-ada" frames)" test "$(json "$game-ada" frames)" = $FRAMES
    check "arcade/$game-no-desync" "$(json "$game-ada" desync_frame)" test "$(json "$game-ada" desync_frame)" = None
done
finish
