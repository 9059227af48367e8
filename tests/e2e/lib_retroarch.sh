# lib_retroarch.sh - functions of the scenarios with RetroArch: displays, configurations, its menu, its remote control. lib.sh
# sources it.
# shellcheck shell=bash

# start_xvfb WIDTHxHEIGHT: a display of our own in $DISPLAY.
start_xvfb() {
    start xvfb Xvfb -displayfd 1 -screen 0 "${1}x24" -nolisten tcp -noreset
    said xvfb '^[0-9]+$' 10 || { show xvfb; die "xvfb: does not start"; }
    DISPLAY=:$(grep -axE '[0-9]+' "$tmp/xvfb.log" | head -n 1)
    export DISPLAY
    unset WAYLAND_DISPLAY XAUTHORITY
}

# Settings for a machine without screen and sound card: RetroArch 1.14 then paces itself by fastforward_ratio, and 1.20 by
# vrr_runloop_enable (without it 1.20 calls the core 570 times a second). llvmpipe draws.
# The player's folders stay as they are.
no_sound=('audio_driver = "null"' 'video_vsync = "false"' 'fastforward_ratio = "1.0"' 'vrr_runloop_enable = "true"'
    'video_font_enable = "false"' 'input_joypad_driver = "null"')

# retroarch_home NAME [LINE…]: a configuration in $tmp/NAME; of a key that comes twice the first counts, so lines given
# here win.
retroarch_home() {
    local home=$tmp/$1
    shift
    mkdir -p "$home/config/retroarch" "$home/save" "$home/state" "$home/system" "$home/cheats"
    {
        [ $# = 0 ] || printf '%s\n' "$@"
        cat <<END
libretro_directory = "$(dirname "$(core_path nestopia)")"
libretro_info_path = "/usr/share/libretro/info"
assets_directory = "/usr/share/libretro/assets"
savefile_directory = "$home/save"
savestate_directory = "$home/state"
system_directory = "$home/system"
cheat_database_path = "$home/cheats"
screenshot_directory = "$home"
cache_directory = "$home"
video_driver = "gl"
video_context_driver = "x"
video_fullscreen = "false"
video_scale = "2.0"
input_driver = "x"
menu_driver = "rgui"
menu_show_core_updater = "false"
config_save_on_exit = "false"
sort_savefiles_enable = "false"
sort_savestates_enable = "false"
history_list_enable = "false"
suspend_screensaver_enable = "false"
END
    } >"$home/config/retroarch/retroarch.cfg"
}

# user HOME COMMAND…: as somebody to whom the system's folders are root's, and with nothing else in the environment.
user() {
    local home=$1 as=()
    shift
    [ "$(id -u)" != 0 ] || as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    "${as[@]}" env -i PATH="$PATH" HOME="$home" "$@"
}
# for_another_user: that user finds keylock, the wrapper, the games and $at_terminal, also where the clone lies in a folder of
# this user alone.
at_terminal=$PWD/tests/e2e/at_terminal.py
for_another_user() {
    user / test -x "$keylock" -a -r "$wrapper" -a -r "$content/shooter.nes" -a -r "$at_terminal" && return
    chmod 711 "$tmp"
    mkdir -p "$tmp/readable"
    cp -r "$keylock" "$wrapper" "$content" "$at_terminal" "$tmp/readable"
    chmod -R a+rX "$tmp/readable"
    keylock=$tmp/readable/keylock wrapper=$tmp/readable/$(basename "$wrapper") content=$tmp/readable/$(basename "$content")
    at_terminal=$tmp/readable/at_terminal.py
}
# home_for NAME: an empty home for that in $tmp/NAME.
home_for() {
    chmod 711 "$tmp"
    mkdir -p "$tmp/$1"
    [ "$(id -u)" != 0 ] || chown 65534:65534 "$tmp/$1"
}

# Settings for a quick menu that begins with the core's options.
short_menu=()
for entry in resume_content restart_content close_content take_screenshot save_load_state undo_save_load_state \
    add_to_favorites start_recording start_streaming set_core_association reset_core_association controls cheats shaders \
    savestate_submenu save_core_overrides save_game_overrides information; do
    short_menu+=("quick_menu_show_$entry = \"false\"")
done
short_menu+=('quick_menu_show_options = "true"' 'core_option_category_enable = "true"')

# home_of NAME: sets $home to the variables that put a program into that home. Without a session bus Debian's RetroArch dies of
# libgamemode's D-Bus call unless D-Bus lets its warnings pass.
home_of() {
    local at=$tmp/$1
    home=(HOME="$at" XDG_CONFIG_HOME="$at/config" XDG_CACHE_HOME="$at/cache" XDG_DATA_HOME="$at/data"
        XDG_STATE_HOME="$at/state-home" DBUS_FATAL_WARNINGS=0 "${preload[@]}")
}

# cheat_past_core NAME [OF]: in that home a cheat for the wrapped shooter.nes, the first of OF (1), that writes to RAM past the
# core, every frame.
cheat_past_core() {
    mkdir -p "$tmp/$1/cheats/Nestopia Keylock"
    cat >"$tmp/$1/cheats/Nestopia Keylock/shooter.cht" <<END
cheats = ${2:-1}
cheat0_desc = "write"
cheat0_enable = "true"
cheat0_handler = "1"
cheat0_cheat_type = "1"
cheat0_address = "32"
cheat0_value = "170"
cheat0_memory_search_size = "3"
cheat0_big_endian = "false"
cheat0_address_bit_position = "255"
END
}

# start_retroarch NAME ARGUMENT…: `keylock play` from that home, with $tmp/NAME.hash, .csv and .log.
start_retroarch() {
    local name=$1
    shift
    home_of "$name"
    start "$name" env "${home[@]}" KEYLOCK_HASH_OUT="$tmp/$name.hash" KEYLOCK_TRACE="$tmp/$name.csv" \
        "$keylock" play --name "$name" "$@"
}

# with_retroarch VERSION: from here on `retroarch` is that one: 1.20, or whichever the machine has (any other word). Fails if
# neither its folder nor the distribution has it.
with_retroarch() {
    local program
    PATH=$on_path
    [ "$1" = 1.20 ] || return 0
    program=$(HOME=$user_home tests/tools/retroarch_120.sh 2>"$tmp/fetch.log") || return 1
    PATH=$(dirname "$program"):$PATH
}
if [ -n "${KL_RETROARCH:-}" ] && ! with_retroarch "$KL_RETROARCH"; then
    skip "retroarch $KL_RETROARCH: $(tail -n 1 "$tmp/fetch.log")"
    exit 0
fi

# window_of NAME: the id of its window. Fails if there is none. (`keylock play` becomes RetroArch: one process.)
window_of() { xdotool search --onlyvisible --pid "${pid[$1]}" 2>/dev/null | head -n 1 | grep .; }

# RetroArch's remote control. The question is VERSION: RetroArch 1.20 dies of GET_STATUS while a core without an info file plays.
remote_control='
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(2)
s.connect(("127.0.0.1", int(sys.argv[1])))
def answers(count, seconds): # at most one a frame
    until = time.monotonic() + seconds
    while count and time.monotonic() < until:
        try:
            s.send(b"VERSION")
            s.recv(4096)
            count -= 1
        except OSError: time.sleep(0.05) # a game that begins makes the socket anew
'
# menu_keys PORT KEY…: keys of RetroArch's menu (A, UP, TOGGLE …), each some frames behind the one before, the first once RetroArch answers.
menu_keys() {
    python3 -c "$remote_control"'
answers(6, 30)
for key in sys.argv[2:]:
    s.send(b"MENU_" + key.encode())
    answers(6, 10)
    time.sleep(0.15)
' "$@"
}
# frontend_frames PORT FRAMES: RetroArch has answered its remote control so often, once a frame at most.
frontend_frames() {
    python3 -c "$remote_control"'
answers(int(sys.argv[2]), 60)
' "$@"
}

# type_at WINDOW PORT TEXT: into the menu's input line of that RetroArch.
type_at() {
    xdotool windowfocus --sync "$1"
    frontend_frames "$2" 30
    xdotool type --delay 80 "$3"
    frontend_frames "$2" 30
}

# to_retroarch PORT WORDS…: each by its remote control, some frames behind the one before.
to_retroarch() {
    local at=$1 words
    shift
    for words in "$@"; do
        printf '%s' "$words" >"/dev/udp/127.0.0.1/$at"
        frontend_frames "$at" 20
    done
}

# hold WINDOW SECONDS KEY…: that window gets the focus and the keys, together and for so long. RetroArch's x driver reads the
# keyboard only with the focus, once a frame.
hold() {
    local window=$1 seconds=$2 key keys=() up=()
    shift 2
    for key; do keys+=(keydown "$key") up+=(keyup "$key"); done
    xdotool windowfocus --sync "$window" "${keys[@]}" sleep "$seconds" "${up[@]}"
}
# chord WINDOW HELD KEY [SECONDS]: the one is held, and then the other pressed, as a pad's hot keys want it.
chord() { xdotool windowfocus --sync "$1" keydown "$2" sleep 0.7 keydown "$3" sleep "${4:-0.1}" keyup "$3" keyup "$2"; }
press() { hold "$1" "${3:-0.1}" "$2"; } # WINDOW KEY [SECONDS]
