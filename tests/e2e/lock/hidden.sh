#!/usr/bin/env bash
# lock/hidden.sh - unseen frames: probe finds a core that plays them differently, and the core plays in lock if the host has
# KEYLOCK_HIDE=off; a message tells a player that the machine is too slow.
# runs: waiting, all, 40 s
# instead: `desync/probe`, a core that plays unseen frames differently
. "$(dirname "$0")/../lib.sh"

press=$build/cores/press_core_libretro.so
game=$content/shooter.nes
needs "$keylock" "$relay_program" "$wrapper" "$test_core" "$press" "$game"
start_relay

probe() { "$keylock" probe --core "$test_core" --content "$game" --frames 300 >"$tmp/$1.log" 2>&1; }
probe same
check hidden/probe-fit "$(tail -n 1 "$tmp/same.log")" grep -q '^verdict: fit' "$tmp/same.log"
PROBE_CORE=hidden probe other
check hidden/probe-says "$(tail -n 1 "$tmp/other.log")" grep -q '^verdict: not fit.*hidden.*KEYLOCK_HIDE=off' "$tmp/other.log"
check hidden/probe-note "no note on its state" grep -q '^note: hidden output changes its state' "$tmp/other.log"

# pair ROOM HIDE_A HIDE_B: two in a room; the second stands still for a while and then runs the missed frames, unseen.
pair() {
    local who at
    for who in a b; do
        at=$2
        [ $who = a ] || at=$3
        KEYLOCK_DESYNC=ignore PROBE_CORE=hidden KEYLOCK_HIDE=$at run_in_room "$1-$who" --core "$test_core" --content "$game" --room "$1" \
            --frames 420 --speed real --hash-every 30 --input random:1 --wait 20
        said relay "event=joined room=\"$1\".*name=\"$1-$who\"" 10
    done
    reaches "$1-b" 90
    kill -STOP "${pid[$1-b]}"
    lasts 1.5 "the time that b stands still"
    kill -CONT "${pid[$1-b]}"
    ended "$1-a" 60; status_a=$?
    ended "$1-b" 60; status_b=$?
}
pair hides on on
# Without a profile pictures are compared, so every machine draws all frames, and such a core plays.
check hidden/drawn-without-profile "exit status $status_a and $status_b" test "$status_a$status_b" = 00
pair shows off on
check hidden/host-shows-all "exit status $status_a and $status_b" test "$status_a$status_b" = 00
check hidden/host-shows-all-hashes "the hashes of a and b differ" cmp "$tmp/shows-a.hash" "$tmp/shows-b.hash"

# A watcher's machine for which every frame takes 22 ms: the players do not wait, the watcher is told.
for who in ann bob; do
    run_in_room $who --core "$press" --content "$game" --room slow --frames 900 --speed real --wait 20 --input random:1
done
watch watch ann bob
PRESS_COST_US=22000 start eve "$keylock" run --core "$press" --content "$game" --relay "$relay" --room slow --name eve \
    --seats 0 --frames 900 --speed real --wait 20
said eve 'too slow to catch up: [1-4][0-9] frames a second, expected over 60' 30
in_time check hidden/too-slow-is-said "the log does not tell" grep -aq 'too slow to catch up: [1-4][0-9] ' "$tmp/eve.log"
for who in ann bob; do
    ended $who 60; status=$?
    check "hidden/too-slow-for-himself-$who" "exit status $status" test $status = 0
    still=$(stood_ms watch 0 "${EPOCHREALTIME/./}")
    in_time check "hidden/not-too-slow-$who" "told without cause; the machine stood still for $still ms" \
        eval '! grep -aq "too slow to catch up" "$tmp/$who.log"'
done
finish
