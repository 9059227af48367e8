#!/usr/bin/env bash
# netplay/menu.sh - RetroArch 1.20's own Netplay menu, turned as a player turns it: Netplay, Host, Start Netplay Host; and
# Netplay, Connect to Netplay Host, with an address typed. Nobody knows a relay. Until somebody hosts or connects the game
# stands still behind the menu, as RetroArch has it; then it goes on. (Its lobby, a server of theirs, is not asked.)
#   HAND=1           turns the menu by the keyboard alone; else by RetroArch's remote control, which says when a key has arrived
#   PICTURES=FOLDER  keeps a picture of each step
# runs: waiting, all, 30 s
# instead: `netplay/host` and `netplay/room`, without the menu
. "$(dirname "$0")/../lib.sh"
. tests/e2e/netplay_lib.sh

part=netplay-menu
netplay_needs $part # with_retroarch 1.20
start_xvfb 1180x448
declare -A command_port=([ann]=$(free_port) [bob]=$(free_port))
tcp=$(free_tcp_port)
also=("netplay_ip_port = \"$tcp\"" 'menu_pause_libretro = "true"')

# A key of the menu's, by its name there; on the keyboard as RetroArch has them.
declare -A key_of=([TOGGLE]=F1 [A]=Return [B]=BackSpace [DOWN]=Down [UP]=Up)
keys() { # NAME KEY…
    local name=$1 k
    shift
    if [ -z "${HAND:-}" ]; then menu_keys "${command_port[$name]}" "$@"; return; fi
    for k in "$@"; do
        press "$(window_of "$name")" "${key_of[$k]}"
        frontend_frames "${command_port[$name]}" 20
    done
}
picture() { # NAME FILE
    [ -z "${PICTURES:-}" ] || import -window "$(window_of "$1")" "$PICTURES/netplay-$2.png"
}
# The game counts its frames in its save RAM, which RetroArch writes once a second.
count() { od -An -tu1 -N1 "$tmp/$1/save/shooter.srm"; }
counts_on() { local was; was=$(count "$1"); eventually 8 eval "[ \"\$(count $1)\" != \"$was\" ]"; }
is_count() { [ "$(count "$1")" = "$2" ]; }
still_for_3_s() { stays 3 is_count "$1" "$(count "$1")"; }
stands_still() { eventually 8 still_for_3_s "$1"; } # earlier counts are written within a second

for who in ann bob; do
    netplayer $who "${command_port[$who]}"
    eventually 20 window_of $who >/dev/null || { show $who; die "$part/$who: no window"; }
done
xdotool windowmove "$(window_of bob)" 592 0
check $part/alone "the game does not run" counts_on ann

# --- Netplay is the fourth of the main menu, Host the first of that, Start Netplay Host the first of that ---
keys ann TOGGLE
check $part/pauses "the game runs on behind the menu, and no netplay is on" stands_still ann
keys ann B DOWN DOWN DOWN
picture ann main
keys ann A
picture ann netplay
keys ann A
picture ann host
keys ann A
check $part/hosts "no room was made: $(show ann)" said ann 'this machine is the relay at UDP port' 20
check $part/room "ann does not wait in the room: $(show ann)" said ann 'waiting \(1/2\).*/np-' 20

# --- Connect to Netplay Host the second ---
keys bob TOGGLE B DOWN DOWN DOWN A DOWN A
picture bob connect
type_at "$(window_of bob)" "${command_port[bob]}" 127.0.0.1
picture bob address
press "$(window_of bob)" Return 0.15
check $part/ticket "the guest got none: $(show bob)" said bob 'a ticket for a room on' 20
for who in ann bob; do
    said $who 'playing seats=' 30 || { show $who; die "$part/start: $who's game did not begin"; }
done
ok "$part/start: a match by the menu alone"
left=$(window_of ann) && right=$(window_of bob) || die "$part/start: a window is missing"
play 4 "$left" "$right"
[ -z "${PICTURES:-}" ] || import -window root "$PICTURES/netplay-match.png"

# --- in it, the game goes on behind the menu ---
frames_of() { awk -F , 'NR > 1 && $3 != "" {n = $3 + 1} END {print n + 0}' "$tmp/$1.csv"; }
keys ann TOGGLE
was=$(frames_of ann)
check $part/runs-on "stands still at frame $was behind the menu" eventually 20 eval "[ \"\$(frames_of ann)\" -ge $((was + 120)) ]"
picture ann in-match
for who in ann bob; do
    stop $who
    status=$?
    check "$part/end-$who" "exit status $status" test $status = 0
    note "$(grep -aoE 'session frames=.*' "$tmp/$who.log" | tail -n 1)"
done
same_hashes $part
finish
