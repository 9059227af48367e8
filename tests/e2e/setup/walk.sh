#!/usr/bin/env bash
# setup/walk.sh - a newcomer's walk as docs/players.md has it: an empty home, RetroArch's own menu and settings, and every key counted,
# to the first match, to the next one, and by an invitation.
#   PICTURES=FOLDER  keeps a picture after each step
# runs: waiting, test, 60 s
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$content/shooter.nes"
for program in retroarch Xvfb xdotool dbus-run-session; do
    command -v $program >/dev/null || { skip "walk: no $program"; finish; }
done
core_path nestopia >/dev/null || { skip "walk: no nestopia"; finish; }
home_for ada
for_another_user
start_xvfb 800x600
start_relay

# This machine's needs: no sound card and no graphics card, and keys by remote control.
command_port=$(free_port)
printf '%s\n' 'audio_driver = "null"' 'video_vsync = "false"' 'fastforward_ratio = "1.0"' 'vrr_runloop_enable = "true"' \
    'menu_shader_pipeline = "0"' 'input_driver = "x"' 'input_joypad_driver = "null"' 'network_cmd_enable = "true"' "network_cmd_port = \"$command_port\"" \
    >"$tmp/machine.cfg"

retroarch_starts() {
    start ada user "$tmp/ada" DISPLAY="$DISPLAY" KEYLOCK_HASH_OUT="$tmp/ada/hash" "${preload[@]}" \
        dbus-run-session retroarch -v --appendconfig="$tmp/machine.cfg"
    frontend_frames "$command_port" 10
    keys=0
}
window() { xdotool search --onlyvisible --class retroarch 2>/dev/null | head -n 1 | grep .; }

retroarch_ends() {
    kill "$(xdotool getwindowpid "$(window)")"
    ended ada 10
}

# walk STEP KEY…: these keys of the menu, one after the other. (By remote control: a slow machine reads the keyboard seldom.)
walk() {
    local step=$1 key
    shift
    for key; do
        menu_keys "$command_port" "$key"
        keys=$((keys + 1))
    done
    [ -z "${PICTURES:-}" ] || { frontend_frames "$command_port" 30 && import -window root "$PICTURES/$step.png"; }
}

# same WHAT NAME FRIEND: that RetroArch has played all that the friend has, and the same.
same() {
    local frame
    frame=$(tail -n 1 "$tmp/$3.hash" | cut -d ' ' -f 1)
    check "$1/goes-on" "$2 has not come to frame $frame: $(tail -n 1 "$tmp/$2/hash")" \
        eventually 20 awk -v last="$frame" '$1 >= last { found = 1 } END { exit !found }' "$tmp/$2/hash"
    cp "$tmp/$2/hash" "$tmp/$2.hash"
    equal "$1" "$2" "$3"
}

# match NAME KEYS: the room waits after so many keys, a friend comes by its link, and both play the same.
match() {
    check "$1/keys" "expected $2 at most, got $keys" test "$keys" -le "$2"
    note "$keys keys: $1"
    said ada 'waiting \(1/2\) ' 20 || { show ada; die "$1: no room waits"; }
    link=$(grep -aoE 'keylock://[^ ]+' "$tmp/ada.log" | tail -n 1)
    start ben "$keylock" run --quiet --core nestopia --content "$content/shooter.nes" --link "$link" --name ben --seats 1 \
        --speed real --frames 600 --input random:2 --hash-out "$tmp/ben.hash"
    ended ben 40
    status=$?
    check "$1/friend" "exit status $status: $(tail -n 1 "$tmp/ben.log")" test $status = 0
    same "$1" ada ben
    check "$1/moves" "the hashes do not change" hashes_move "$tmp/ben.hash"
    [ -z "${PICTURES:-}" ] || import -window root "$PICTURES/$1.png"
}

user "$tmp/ada" "$keylock" install nestopia --wrapper "$wrapper" --relay "$relay" --name ada >"$tmp/install.log" 2>&1 ||
    { show install; die "walk: keylock install"; }
user "$tmp/ada" mkdir "$tmp/ada/games"
user "$tmp/ada" cp "$content/shooter.nes" "$tmp/ada/games"

retroarch_starts
walk load-content DOWN A # Load Content
walk start-directory A   # Start Directory: the home
walk games DOWN A        # the folder games
walk cores DOWN A        # the game
walk waiting A           # Keylock: NES (Nestopia)
match first 8
retroarch_ends

retroarch_starts
walk history RIGHT RIGHT RIGHT
walk again A A # the game, Run
match second 5
retroarch_ends

# An invitation, for somebody who has never started RetroArch; the game lies anywhere in the home. (RetroArch then begins with the
# distribution's settings, and so do these.)
start host "$keylock" run --quiet --core nestopia --content "$content/shooter.nes" --relay "$relay" --room den --name host \
    --seats 1 --speed real --frames 600 --input random:3 --hash-out "$tmp/host.hash" --wait 60
said host 'keylock://' 20 || { show host; die "walk: the host has no link"; }
home_for cat
user "$tmp/cat" mkdir -p "$tmp/cat/Downloads/new games" "$tmp/cat/.config/retroarch"
user "$tmp/cat" cp "$content/shooter.nes" "$tmp/cat/Downloads/new games/a game.nes"
cat "$tmp/machine.cfg" /etc/retroarch.cfg | user "$tmp/cat" tee "$tmp/cat/.config/retroarch/retroarch.cfg" >"$tmp/cat.cfg"
start cat user "$tmp/cat" DISPLAY="$DISPLAY" KEYLOCK_HASH_OUT="$tmp/cat/hash" "${preload[@]}" python3 "$at_terminal" y \
    "$keylock" play --wrapper "$wrapper" --ask -- "$(grep -aoE 'keylock://[^ ]+' "$tmp/host.log" | tail -n 1)"
ended host 60
status=$?
check link/host "exit status $status: $(tail -n 1 "$tmp/cat.log")" test $status = 0
[ -z "${PICTURES:-}" ] || import -window root "$PICTURES/link.png"
same link cat host
check link/moves "the hashes do not change" hashes_move "$tmp/host.hash"
finish
