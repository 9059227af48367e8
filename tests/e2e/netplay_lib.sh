# netplay_lib.sh - functions of the scenarios with RetroArch's own netplay; sourced behind lib.sh.
# shellcheck shell=bash

netplay_needs() { # PART
    local program
    needs "$keylock" "$relay_program" "$wrapper" "$content/shooter.nes"
    for program in Xvfb xdotool; do
        command -v $program >/dev/null || { skip "$1: no $program"; finish; }
    done
    core_path nestopia >/dev/null || { skip "$1: no nestopia"; finish; }
    with_retroarch 1.20 || { skip "$1: $(tail -n 1 "$tmp/fetch.log")"; finish; }
    game=$tmp/shooter.nes
    battery_game "$game" || die "$1: the game cannot be given a battery"
    head -c 8192 /dev/urandom >"$tmp/player.srm"
}

free_tcp_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
own=('netplay_public_announce = "false"' 'netplay_nat_traversal = "false"' 'netplay_use_mitm_server = "false"'
    'pause_nonactive = "false"' 'network_cmd_enable = "true"' 'autosave_interval = "1"')

# netplayer NAME COMMAND_PORT ARGUMENT…: RetroArch with the wrapper as its core. $knows has its other variables, $within the
# command that starts it, and $also lines of its configuration.
knows=() within=() also=()
netplayer() {
    local name=$1 at=$2
    shift 2
    retroarch_home "$name" "${also[@]}" "${own[@]}" "network_cmd_port = \"$at\"" "${no_sound[@]}"
    cp "$tmp/player.srm" "$tmp/$name/save/shooter.srm"
    home_of "$name"
    start "$name" "${within[@]}" env "${home[@]}" KEYLOCK_HASH_OUT="$tmp/$name.hash" KEYLOCK_TRACE="$tmp/$name.csv" KEYLOCK_NAME="$name" \
        KEYLOCK_CORE="$(core_path nestopia)" "${knows[@]}" retroarch -v -L "$wrapper" "$game" --nick "$name" "$@"
}
play() { # SECONDS WINDOW…: some fire and flight
    local until=$((SECONDS + $1)) direction id
    shift
    while [ $SECONDS -lt $until ]; do
        for direction in Left Right Up Down; do
            for id in "$@"; do
                hold "$id" 0.15 z $direction
            done
        done
    done
}

# own_save FILE [FRAMES]: the player's save file holds nothing of the match. Before it the guest's game was the guest's own for some
# frames, which count in the first byte.
own_save() {
    python3 -c 'import sys
was, now, frames = *(open(p, "rb").read() for p in sys.argv[1:3]), sys.argv[3]
sys.exit(was[1:] != now[1:] or (now[0] - was[0]) % 256 > int(frames))' "$tmp/player.srm" "$1" "${2:-100}"
}

same_hashes() { # PART
    equal "$1" ann bob
    check "$1/moves" "the hashes do not change" hashes_move "$tmp/ann.hash"
}
