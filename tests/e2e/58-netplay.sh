#!/usr/bin/env bash
# 58-netplay.sh - two real RetroArch 1.20 by RetroArch's own Netplay menu (its Host and Connect are --host and --connect): the
# host's wrapper makes a room on its relay, the guest's, which knows no relay, gets a ticket through RetroArch's packet interface.
#   NO_RELAY=1  the host knows none either: its wrapper is one (59-netplay-host.sh)
. "$(dirname "$0")/lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$content/shooter.nes"
for program in Xvfb xdotool; do
    command -v $program >/dev/null || { skip "netplay: no $program"; finish; }
done
core_path nestopia >/dev/null || { skip "netplay: no nestopia"; finish; }
with_retroarch 1.20 || { skip "netplay: $(tail -n 1 "$tmp/fetch.log")"; finish; }
game=$tmp/shooter.nes
battery_game "$game" || die "netplay: the game cannot be given a battery"

free_tcp_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
own=('netplay_public_announce = "false"' 'netplay_nat_traversal = "false"' 'netplay_use_mitm_server = "false"'
    'pause_nonactive = "false"' 'network_cmd_enable = "true"' 'autosave_interval = "1"')

# netplayer NAME COMMAND_PORT ARGUMENT…: RetroArch with the wrapper as its core. What else it knows stands in $knows.
knows=()
netplayer() {
    local name=$1 at=$2
    shift 2
    retroarch_home "$name" "${own[@]}" "network_cmd_port = \"$at\"" "${no_sound[@]}"
    cp "$tmp/player.srm" "$tmp/$name/save/shooter.srm"
    home_of "$name"
    start "$name" env "${home[@]}" KEYLOCK_HASH_OUT="$tmp/$name.hash" KEYLOCK_TRACE="$tmp/$name.csv" KEYLOCK_NAME="$name" \
        KEYLOCK_CORE="$(core_path nestopia)" "${knows[@]}" retroarch -v -L "$wrapper" "$game" --nick "$name" "$@"
}
to_retroarch() { # PORT WORDS: by its remote control
    python3 -c 'import socket, sys
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(sys.argv[2].encode(), ("127.0.0.1", int(sys.argv[1])))' "$@"
}
play() { # SECONDS WINDOW…: some fire and flight
    local until=$((SECONDS + $1)) direction id
    shift
    while [ $SECONDS -lt $until ]; do
        for direction in Left Right Up Down; do
            for id in "$@"; do
                xdotool windowfocus --sync "$id" keydown z keydown $direction sleep 0.15 keyup z keyup $direction
            done
        done
    done
}

# Of the match nothing. Until it began the guest's game was his own, some frames long: they count in the first byte.
own_save() {
    python3 -c 'import sys
was, now = (open(p, "rb").read() for p in sys.argv[1:])
sys.exit(was[1:] != now[1:] or (now[0] - was[0]) % 256 > 100)' "$tmp/player.srm" "$1"
}

head -c 8192 /dev/urandom >"$tmp/player.srm"
start_xvfb 1180x448
part=netplay
[ -z "${NO_RELAY:-}" ] || part=netplay-host
[ -n "${NO_RELAY:-}" ] || start_relay
ann_at=$(free_port) bob_at=$(free_port) tcp=$(free_tcp_port)
[ -n "${NO_RELAY:-}" ] || knows=(KEYLOCK_RELAY="$relay")
netplayer ann "$ann_at" --host --port "$tcp"
check $part/room "no room was made: $(show ann)" said ann 'waiting \(1/2\).*/np-' 20
if [ -n "${NO_RELAY:-}" ]; then
    relay=127.0.0.1:$(sed -n 's/.*this machine is one, at UDP port \([0-9]*\).*/\1/p' "$tmp/ann.log" | head -n 1)
else
    check $part/unlisted "the room is listed" said relay 'room_made room="np-.*listed=no' 1
fi
knows=()
netplayer bob "$bob_at" --connect 127.0.0.1 --port "$tcp"
for who in ann bob; do
    said $who 'playing seats=' 30 || { show $who relay; die "$part/start: $who's game did not begin"; }
done
ok "$part/start: the guest, who knows no relay, plays in the host's room"
check $part/ticket "the guest did not come by a ticket" grep -aqF 'a ticket for a room on' "$tmp/bob.log"
left=$(window_of ann) && right=$(window_of bob) || die "$part/start: a window is missing"
xdotool windowmove "$right" 592 0
play 4 "$left" "$right"

# --- whoever reads the ticket comes too late ---
room=$(grep -aoE 'np-[0-9a-f]{20}' "$tmp/ann.log" | head -n 1)
timeout 20 "$keylock" run --quiet --core nestopia --content "$game" --relay "$relay" --room "$room" --frames 60 \
    >"$tmp/eve.log" 2>&1
check $part/single-use "somebody came in by a ticket that was used" grep -q 'locked' "$tmp/eve.log"

# --- what RetroArch lets through in its netplay: states, reset ---
for at in "$ann_at" "$bob_at"; do
    for words in SAVE_STATE LOAD_STATE 'LOAD_STATE_SLOT 0' RESET; do
        to_retroarch "$at" "$words"
        sleep 0.5
    done
done
play 3 "$left" "$right"
check $part/abuse "a RetroArch is gone" eval 'running ann && running bob'
check $part/no-state "a state was saved in a match" test -z "$(find "$tmp/ann/state" "$tmp/bob/state" -type f)"

# --- the match does not need RetroArch's connection ---
[ -z "${PICTURE:-}" ] || import -window root "$PICTURE"
if ss -K dst 127.0.0.1 dport = "$tcp" >/dev/null 2>&1 && said bob 'netplay has ended' 15; then
    play 4 "$left" "$right"
    check $part/cut "a RetroArch is gone" eval 'running ann && running bob'
    check $part/cut-left "somebody left the room" test -z "$(grep -aE '(ann|bob) left' "$tmp/ann.log" "$tmp/bob.log")"
else
    note "the kernel cuts no connection for us: not tried"
fi
for who in ann bob; do
    stop $who
    status=$?
    check "$part/end-$who" "exit status $status" test $status = 0
    note "$(grep -aoE 'session frames=.*' "$tmp/$who.log" | tail -n 1)"
    [ "$part-$who" != netplay-host-ann ] || continue # without a relay his game is his own until a guest comes, and counts on
    check "$part/srm-$who" "the player's save file is another now" own_save "$tmp/$who/save/shooter.srm"
done
"$keylock" diff "$tmp/ann.hash" "$tmp/bob.hash" >"$tmp/diff.log" 2>&1
status=$?
check $part/hashes "$(head -n 1 "$tmp/diff.log")" test $status = 0
check $part/moves "the hashes do not change" hashes_move "$tmp/ann.hash"
finish
