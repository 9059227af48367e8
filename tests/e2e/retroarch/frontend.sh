#!/usr/bin/env bash
# retroarch/frontend.sh - actions of a frontend and of its user in the middle of a match: auto-state at the start and at the end,
# autosave, cheats, states by slot, memory written from outside, a reset; content closed, loaded again, another core in its
# place, the end. The other player notices only that players come and go, and the player's files are as before.
# runs: waiting, all, 55 s
# runs: waiting, all, 55 s: KL_RETROARCH=1.20
# instead: `retroarch/room`; `lock/saves`, the player's saves
# limit: 300
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$content/shooter.nes"
for program in retroarch Xvfb xdotool; do
    command -v $program >/dev/null || { skip "frontend: no $program"; finish; }
done
core_path nestopia >/dev/null && core_path gambatte >/dev/null || { skip "frontend: no nestopia and gambatte"; finish; }
mkdir -p "$tmp/ann/games" "$tmp/ann/cores" "$tmp/ann/info"
game=$tmp/ann/games/shooter.nes
cp "$content/pads.gb" "$tmp/ann/games" || die "frontend: no pads.gb"
battery_game "$game" || die "frontend: the game cannot be given a battery"

command_port=$(free_port)
retroarch_home ann "libretro_directory = \"$tmp/ann/cores\"" "libretro_info_path = \"$tmp/ann/info\"" \
    "rgui_browser_directory = \"$tmp/ann/games\"" 'rgui_show_start_screen = "false"' 'content_runtime_log = "false"' \
    'network_cmd_enable = "true"' "network_cmd_port = \"$command_port\"" 'quit_press_twice = "false"' \
    'savestate_auto_save = "true"' 'savestate_auto_load = "true"' 'autosave_interval = "1"' \
    'apply_cheats_after_load = "true"' 'apply_cheats_after_toggle = "true"' \
    'pause_nonactive = "false"' 'menu_pause_libretro = "false"' "${no_sound[@]}"
for core in nestopia gambatte; do
    ln -s "$(core_path $core)" "$tmp/ann/cores"
    ln -s "/usr/share/libretro/info/${core}_libretro.info" "$tmp/ann/info"
done
cheat_past_core ann
start_relay --catch-up 3600 # by history, however long: nestopia's turbo, which bob presses, is not in its states
home_of ann
env "${home[@]}" "$keylock" install nestopia --wrapper "$wrapper" --relay "$relay" --name ann >"$tmp/install.log" 2>&1 ||
    { show install; die "frontend/install: exit status $?"; }
start_xvfb 700x600

retroarch_ann() { # VARIABLE…
    start ann env "${home[@]}" KEYLOCK_HASH_OUT="$tmp/ann.hash" "$@" \
        retroarch -v -L "$tmp/ann/cores/nestopia_keylock_libretro.so" "$game"
    eventually 20 window_of ann >/dev/null || { show ann; die "frontend/start: RetroArch shows no window"; }
    eventually 20 plays || die "frontend/start: it does not play: $(status)"
}
tell() { to_retroarch "$command_port" "$@"; }
quit() { printf QUIT >"/dev/udp/127.0.0.1/$command_port"; }
status() {
    python3 - "$command_port" <<'END'
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(1)
try:
    s.sendto(b"GET_STATUS", ("127.0.0.1", int(sys.argv[1])))
    print(s.recv(4096).decode())
except OSError: print("no answer")
END
}
plays() { [[ $(status) == *PLAYING*shooter* ]]; }
files() { (cd "$tmp/ann" && find save state -name 'shooter*' -type f -exec md5sum {} + | sort -k 2); }
# Part of the game is behind her: so many hashes more than there were.
hashes() { wc -l <"$tmp/ann.hash" 2>/dev/null || echo 0; }
goes_on() { # WHAT
    local at
    at=$(hashes)
    eventually 30 eval '[ "$(hashes)" -ge '$((at + 2))' ]' || { show ann relay; fail "frontend/$1: the game does not go on: $(status)"; }
}
times() { grep -aEc "$1" "$tmp/relay.log"; }
kept() { # WHAT: the player's files are as they were
    files >"$tmp/files.now"
    check "frontend/files-$1" "$(diff "$tmp/files" "$tmp/files.now" | grep '^[<>]' | head -n 3 | tr '\n' ' ')" cmp -s "$tmp/files" "$tmp/files.now"
}

# --- alone: her saves and states, those that RetroArch makes by itself among them ---------------------------------------

retroarch_ann KEYLOCK_MODE=alone
frontend_frames "$command_port" 60
for slot in state state1; do
    tell SAVE_STATE
    eventually 5 test -s "$tmp/ann/state/shooter.$slot"
    tell STATE_SLOT_PLUS
done
quit
ended ann 10
check frontend/alone-end "exit status $?" test $? = 0
files >"$tmp/files"
for file in save/shooter.srm state/shooter.state state/shooter.state1 state/shooter.state.auto; do
    check "frontend/alone-$file" "alone RetroArch has not written it: $(ls "$tmp/ann/save" "$tmp/ann/state" | tr '\n' ' ')" test -s "$tmp/ann/$file"
done

# --- a match ----------------------------------------------------------------------------------------------------------

start bob "$keylock" run --core nestopia --content "$game" --relay "$relay" --name bob --speed real --frames 100000 \
    --input random:2 --hash-out "$tmp/bob.hash"
retroarch_ann
said ann 'playing seats=' 30 || { show ann bob relay; die "frontend/match: the game did not begin"; }
goes_on begins
tell SAVE_STATE LOAD_STATE 'LOAD_STATE_SLOT 1' STATE_SLOT_PLUS LOAD_STATE 'WRITE_CORE_MEMORY 10 ff ff ff ff' \
    'WRITE_CORE_RAM 10 ff ff ff ff' CHEAT_TOGGLE CHEAT_TOGGLE REWIND SLOWMOTION RESET
check frontend/rematch "ann's reset asked nobody" said bob 'ann .[12]. wants a rematch' 5
"$keylock" command --pid "${pid[bob]}" again >"$tmp/again.log" 2>&1
check frontend/reset "the reset was not everybody's" said ann '\[f [0-9]+\] ann .[12].: reset' 5
goes_on abuse
check frontend/declined "it is not said that a state is declined" grep -aqE 'savestates, rewind and run-ahead are off in a room|your own states cannot be loaded in a room' "$tmp/ann.log"
kept abuse

# Content is closed; loaded again, she is in the match again.
tell CLOSE_CONTENT
check frontend/close "she has not left the room" eventually 10 eval '[ "$(times "event=left .*name=\"ann\"")" = 1 ]'
check frontend/closed "RetroArch is gone, or plays on: $(status)" eventually 5 eval '[[ $(status) == *CONTENTLESS* ]]'
cp "$tmp/ann.hash" "$tmp/ann-1.hash"
kept closed
: >"$tmp/ann.hash"
begun=$(grep -ac 'playing seats=' "$tmp/ann.log")
# Load Core: Keylock stands before gambatte and nestopia; Load Content, Start Directory: behind Parent Directory; the core again.
menu_keys "$command_port" A A DOWN A A DOWN DOWN A A
check frontend/again "loaded again, she is not in the match: $(status) $(show ann relay)" eventually 20 eval '[ "$(grep -ac "playing seats=" "$tmp/ann.log")" -gt '"$begun"' ]'
goes_on again
kept again

# A game for another core in its place: Load Content stands behind the quick menu; Parent Directory, pads.gb.
cp "$tmp/ann.hash" "$tmp/ann-2.hash"
menu_keys "$command_port" TOGGLE B DOWN A A DOWN A
[ -z "${PICTURE:-}" ] || import -window root "$PICTURE"
check frontend/other-core "she has not left the room: $(status)" eventually 10 eval '[ "$(times "event=left .*name=\"ann\"")" = 2 ]'
check frontend/other-core-runs "it does not run: $(status) $(show ann)" eventually 10 eval '[[ $(status) == *PLAYING*pads* ]]'
kept other-core
quit
ended ann 10
check frontend/other-core-end "exit status $?" test $? = 0
kept other-core-end

# --- the end in the middle of a match -----------------------------------------------------------------------------------

retroarch_ann
check frontend/third "started again, she is not in the match: $(show ann relay)" said ann 'playing seats=' 30
goes_on third
quit
ended ann 10
check frontend/end "exit status $?" test $? = 0
check frontend/end-left "she has not left the room" eventually 10 eval '[ "$(times "event=left .*name=\"ann\"")" = 3 ]'
mv "$tmp/ann.hash" "$tmp/ann-3.hash"
kept end
check frontend/bob "bob is gone: $(show bob)" running bob
stop bob INT
for n in 1 2 3; do
    equal frontend ann-$n bob
    check frontend/moves-$n "the hashes do not change" hashes_move "$tmp/ann-$n.hash" 2
done
if grep -aqE 'desync=[0-9]|event=desync' "$tmp/ann.log" "$tmp/relay.log"; then fail "frontend/desync: the relay found one"; fi
finish
