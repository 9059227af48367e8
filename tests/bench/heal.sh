#!/usr/bin/env bash
# heal.sh - the time from a known difference to the healed room, by core: in a room of two, by the machines' own states, and in a
# room of three, by the state of the majority. Prints a line for each core.
. "$(dirname "$0")/../e2e/lib.sh"

needs "$keylock" "$relay_program" "$wrapper"
start_relay --per-address 64

# room NAME CORE CONTENT MACHINES [OFFSET]: machine 2 goes wrong once, in this byte or in the middle of its state.
room() {
    local i planted
    for i in $(seq "$4"); do
        planted=()
        [ "$i" != 2 ] || planted=(--corrupt "400${5:+:$5}")
        run_in_room "$1-$i" --core "$2" --content "$3" --room "$1" --frames 600 --speed real --players "$4" --input "random:$i" \
            --hash-every 60 --wait 30 "${planted[@]}"
        [ "$i" != 1 ] || said relay "event=joined room=\"$1\"" 10
    done
    for i in $(seq "$4"); do ended "$1-$i" 60; done
}
figures() { # ROOM
    grep -a "event=healed room=\"$1\"" "$tmp/relay.log" | head -n 1 | grep -o ' ms=[0-9]*' | cut -d= -f2
}
while read -r core rom offset; do
    path=$(core_path "$core") || { skip "heal/$core: the core is not installed"; continue; }
    room "$core-own" "$path" "$content/$rom" 2 "$offset"
    room "$core-other" "$path" "$content/$rom" 3 "$offset"
    echo "$core: own state $(figures "$core-own") ms, another's $(figures "$core-other") ms"
done <<'END'
gambatte pads.gb 0x300
nestopia shooter.nes 0x300
mednafen_wswan pads.ws 0x300
mednafen_pce_fast pads.pce 0x300
mgba pads.gba
END
finish
