#!/usr/bin/env bash
# 21-direct.sh - two players 60 ms from the relay and 10 ms from each other, one of them ahead: straight samples come before the
# relay's news, fewer pictures are wrong, and all else is equal; without a way through, or without trust, it is as it was.
# runs: alone, test, 110 s
. "$(dirname "$0")/lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$proxy" "$content/shooter.nes"
start_relay
server=$relay

# Ann runs ahead, Bob does not. ARGUMENT: of both.
pair() { # ROOM [ARGUMENT…]
    local room=$1 who input
    shift
    for who in ann bob; do
        [ $who = ann ] && input=random:1 || input=random:2
        run_in_room "$room-$who" --core nestopia --content "$content/shooter.nes" --room "$room" --frames 1200 --speed real \
            --input $input --hash-every 60 --wait 30 --ahead "$([ $who = ann ] && echo 30 || echo off)" "$@"
        next_second
    done
    ann_and_bob "$room" hashes-equal
    note "$room: wrong $(json "$room-ann" guessed_wrong), felt $(json "$room-ann" felt_frames_avg)," \
        "straight datagrams to ann $(json "$room-ann" direct_datagrams), to bob $(json "$room-bob" direct_datagrams)"
}

# share A B S: A is at most the share S of B.
share() { awk -v a="$1" -v b="$2" -v s="$3" 'BEGIN { exit !(a <= b * s) }'; }
seen() { grep -a "these players see your address" "$tmp/$1.log"; }

through nat --delay 60 --jitter 2 --straight 10
relay=$link
pair off --trust on --direct off
pair straight --trust on
# How many fewer depends on where in her frame his begins.
without=$(json off-ann guessed_wrong) with=$(json straight-ann guessed_wrong)
check straight/fewer-pictures-are-wrong "$with, by the relay alone $without" share "$with" "$without" 0.75
came=$(json straight-ann direct_datagrams)
check straight/samples-come "$came of 1200" test "$came" -ge 900
check straight/only-to-one-that-guesses "$(json straight-bob direct_datagrams)" test "$(json straight-bob direct_datagrams)" = 0
check straight/the-player-is-told "$(seen straight-ann)" test -n "$(seen straight-ann)"
check off/nothing-comes "$(json off-ann direct_datagrams)" test "$(json off-ann direct_datagrams)" = 0
check off/nobody-is-told "$(seen off-ann)" test -z "$(seen off-ann)"

pair strangers --trust off
check strangers/nothing-comes "$(json strangers-ann direct_datagrams)" test "$(json strangers-ann direct_datagrams)" = 0
check strangers/nobody-is-told "$(seen strangers-ann)" test -z "$(seen strangers-ann)"

# A router that lets nothing in from elsewhere.
relay=$server
through wall --delay 60 --jitter 2
relay=$link
pair wall --trust on
check wall/nothing-comes "$(json wall-ann direct_datagrams)" test "$(json wall-ann direct_datagrams)" = 0
check wall/as-by-the-relay-alone "$(json wall-ann guessed_wrong), else $without" share "$(json wall-ann guessed_wrong)" "$without" 1.2
finish
