#!/usr/bin/env bash
# netplay/room.sh - two real RetroArch 1.20 by RetroArch's own Netplay menu (its Host and Connect are --host and --connect): the
# host's wrapper makes a room on its relay, the guest's, which knows no relay, gets a ticket through RetroArch's packet interface.
#   NO_RELAY=1  the host knows none either: its wrapper is one (netplay/host.sh)
# runs: waiting, test, 30 s
. "$(dirname "$0")/../lib.sh"
. tests/e2e/netplay_lib.sh

part=netplay
[ -z "${NO_RELAY:-}" ] || part=netplay-host
netplay_needs $part # with_retroarch 1.20
start_xvfb 1180x448
[ -n "${NO_RELAY:-}" ] || start_relay
ann_at=$(free_port) bob_at=$(free_port) tcp=$(free_tcp_port)
[ -n "${NO_RELAY:-}" ] || knows=(KEYLOCK_RELAY="$relay")
netplayer ann "$ann_at" --host --port "$tcp"
check $part/room "no room was made: $(show ann)" said ann 'waiting \(1/2\).*/np-' 20
if [ -n "${NO_RELAY:-}" ]; then
    relay=127.0.0.1:$(sed -n 's/.*this machine is the relay at UDP port \([0-9]*\).*/\1/p' "$tmp/ann.log" | head -n 1)
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

# --- a reader of the ticket comes too late ---
room=$(grep -aoE 'np-[0-9a-f]{20}' "$tmp/ann.log" | head -n 1)
timeout 20 "$keylock" run --quiet --core nestopia --content "$game" --relay "$relay" --room "$room" --frames 60 \
    >"$tmp/eve.log" 2>&1
check $part/single-use "a used ticket let a second guest in" grep -q 'locked' "$tmp/eve.log"

# --- RetroArch's own functions during netplay: states, reset ---
for at in "$ann_at" "$bob_at"; do
    to_retroarch "$at" SAVE_STATE LOAD_STATE 'LOAD_STATE_SLOT 0' RESET
done
play 3 "$left" "$right"
check $part/abuse "a RetroArch is gone" eval 'running ann && running bob'
check $part/no-state "a state was saved in a match" test -z "$(find "$tmp/ann/state" "$tmp/bob/state" -type f)"

# --- the match does not need RetroArch's connection ---
[ -z "${PICTURE:-}" ] || import -window root "$PICTURE"
if ss -K dst 127.0.0.1 dport = "$tcp" >/dev/null 2>&1 && said bob 'netplay ended' 15; then
    play 4 "$left" "$right"
    check $part/cut "a RetroArch is gone" eval 'running ann && running bob'
    check $part/cut-left "somebody left the room" test -z "$(grep -aE '(ann|bob) .[12]. left' "$tmp/ann.log" "$tmp/bob.log")"
else
    note "the kernel cuts no connection for us: not tried"
fi
for who in bob ann; do # without the host's relay the guest's game would be the guest's own again, and would count
    stop $who
    status=$?
    check "$part/end-$who" "exit status $status" test $status = 0
    note "$(grep -aoE 'session frames=.*' "$tmp/$who.log" | tail -n 1)"
    [ "$part-$who" != netplay-host-ann ] || continue # without a relay the host's game is the host's own until a guest comes, and counts
    check "$part/srm-$who" "the player's save file has changed" own_save "$tmp/$who/save/shooter.srm"
done
same_hashes $part
finish
