#!/usr/bin/env bash
# lock/four.sh - rooms of four: four clients; two clients with two seats each; a host that only watches.
# runs: working, all, 70 s
# instead: `lock/cores`, rooms of two; `rooms`, of up to eight
. "$(dirname "$0")/../lib.sh"

FRAMES=${FRAMES:-600}
WAIT=$((40 + FRAMES / 50))
needs "$keylock" "$relay_program" "$wrapper"
start_relay
SPEED=max
LAST=0     # seed of the fourth client; 0: none
IDLE=0     # client that presses nothing
DEVICES=() # of the first client, the host

# room NAME CORE CONTENT SEATS…: a client for each number of seats; one after the other, as they have joined, and the second across a second's end.
room() {
    local name=$1 core=$2 rom=$3 client=0 players=0 seats input devices=("${DEVICES[@]}")
    shift 3
    core_path "$core" >/dev/null || { skip "four/$name: $core is not installed"; return; }
    for seats in "$@"; do players=$((players + seats)); done
    for seats in "$@"; do
        client=$((client + 1))
        input=random:$((client == 4 && LAST ? LAST : client * 7 + 1))
        [ $client != $IDLE ] || input=none
        run_in_room "$name-$client" --core "$core" --content "$rom" --room "$name" --frames "$FRAMES" --speed "$SPEED" \
            --players $players --seats "$seats" --input "$input" --hash-every 50 --wait 30 "${devices[@]}"
        devices=()
        said relay "joined room=\"$name\" client=$((client - 1)) " 10
        [ $client != 1 ] || next_second
    done
    LAST_S=$WAIT all_equal "four/$name" $(seq -f "$name-%g" $client)
}

room four-clients nestopia "$content/shooter.nes" 1 1 1 1
room two-seats-each nestopia "$content/shooter.nes" 2 2
# In real time: a room without a clock does not wait for a client without a seat.
FRAMES=400 SPEED=real room host-watches nestopia "$content/shooter.nes" 0 2 1 1
room four-gambatte gambatte "$content/pads.gb" 1 1 1 1
room eight-clients mednafen_pce_fast "$content/pads.pce" 1 1 1 1 1 1 1 1 # Debian 13 has no package of it
room two-clients nestopia "$content/shooter.nes" 1 1

# Does everybody's pad count? The test core looks at four pads and nothing else, so another seed at the fourth client
# alone must give another game.
if [ -e "$test_core" ]; then
    export PROBE_CORE=no-clock
    room all-count "$test_core" "$content/shooter.nes" 1 1 1 1
    LAST=99
    room all-count-other "$test_core" "$content/shooter.nes" 1 1 1 1
    if [ ! -s "$tmp/all-count-1.hash" ] || cmp -s "$tmp/all-count-1.hash" "$tmp/all-count-other-1.hash"; then
        fail "four/all-count: the fourth player's pad makes no difference"
    else
        ok "four/all-count: the fourth player's pad makes the difference"
    fi
else
    skip "four/all-count: $test_core is not built"
fi

# nestopia reads pads three and four of a Four Score if its ports hold gamepads (257, its "Gamepad"). The host sets them, and
# all four ships fly. Without that the game has two ships.
differ() { # WHAT NAME NAME: not the same game
    if [ ! -s "$tmp/$2-1.hash" ] || cmp -s "$tmp/$2-1.hash" "$tmp/$3-1.hash"; then
        fail "four/$1: the same hashes in $2 and $3"
    else
        ok "four/$1"
    fi
}
DEVICES=(--device 2:257 --device 3:257)
room ships nestopia "$content/shooter.nes" 1 1 1 1
for IDLE in 2 3 4; do
    room "ships-$IDLE-idle" nestopia "$content/shooter.nes" 1 1 1 1
    differ "pad-$IDLE-counts" ships "ships-$IDLE-idle"
done
IDLE=0 DEVICES=()
room no-adapter nestopia "$content/shooter.nes" 1 1 1 1
IDLE=4
room no-adapter-4-idle nestopia "$content/shooter.nes" 1 1 1 1
if [ "$(core_says nestopia four_score)" = always ]; then # no device is needed, so none shows whose it is
    differ pad-4-counts-always no-adapter no-adapter-4-idle
else
    differ devices-are-the-host-s ships no-adapter
    check four/no-adapter "pad four counts without an adapter: the test above says nothing" \
        cmp -s "$tmp/no-adapter-1.hash" "$tmp/no-adapter-4-idle-1.hash"
fi
finish
