#!/usr/bin/env bash
# setup/doctor.sh - `keylock doctor` on a machine without problems, and on machines with one problem each. Each problem has its own code,
# a text and a remedy, and the exit status counts it.
# runs: waiting, test, 25 s
# runs: waiting, all, 25 s: KL_RETROARCH=1.20
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$content/shooter.nes"
nestopia=$(core_path nestopia) || { skip "doctor: no nestopia"; finish; }
ra=$HOME/.config/retroarch
mkdir -p "$ra/cores" "$ra/system"
cat >"$ra/retroarch.cfg" <<END
libretro_directory = "$ra/cores"
libretro_info_path = "$ra/cores"
pause_nonactive = "false"
menu_pause_libretro = "false"
END
ln -s "$nestopia" "$ra/cores"
start_relay
export DISPLAY=localhost:10 DBUS_SESSION_BUS_ADDRESS=unix:path=$tmp/bus # a desktop session

# doctor NAME STATUS ARGUMENT…: writes the findings into $tmp/NAME.json and expects STATUS.
doctor() {
    local name=$1 wanted=$2 status
    shift 2
    "$keylock" doctor --wrapper "$wrapper" --json "$@" >"$tmp/$name.json" 2>"$tmp/$name.log"
    status=$?
    [ $status = "$wanted" ] && return
    fail "doctor/$name: exit status $status, expected $wanted: $(cat "$tmp/$name.json")"
    show "$name"
}
# finds NAME HEALTH CODE ABOUT [TEXT]: $tmp/NAME.json has such a finding, and a remedy in it unless its health is ok. HEALTH and CODE are
# patterns.
finds() {
    check "doctor/$1-$4-$3" "expected $2 $3 about $4 with \"${5-}\", got $(cat "$tmp/$1.json")" \
        python3 - "$tmp/$1.json" "$2" "$3" "$4" "${5-}" <<'END'
import json, re, sys
path, health, code, about, text = sys.argv[1:]
found = [f for f in json.load(open(path))["findings"] if f["about"] == about and re.fullmatch(health, f["health"])
         and re.fullmatch(code, f["code"]) and text in f["found"]]
sys.exit(not found or (found[0]["health"] != "ok" and not found[0].get("do")))
END
}

"$keylock" install nestopia --wrapper "$wrapper" --for native --relay "$relay" >"$tmp/install.log" 2>&1 || { show install; fail "doctor/install"; }
doctor well 0
finds well ok core nestopia
finds well ok relay relay "answers after"
finds well ok wrapper wrapper keylock_libretro.so
finds well "ok|note" "wakes|wakes_late" clock # a machine that others share wakes late
command -v retroarch >/dev/null && finds well ok retroarch RetroArch "1."
"$keylock" doctor --wrapper "$wrapper" >"$tmp/text.log" 2>&1
check doctor/text "expected a last line without problems, got $(tail -1 "$tmp/text.log")" grep -q '^Keylock can play on this machine' "$tmp/text.log"

# --- no desktop session: RetroArch opens no window, and with GameMode it aborts ---------------------------------------

unset DISPLAY DBUS_SESSION_BUS_ADDRESS
unset WAYLAND_DISPLAY XDG_RUNTIME_DIR DBUS_FATAL_WARNINGS
mkdir "$tmp/gamemode"
gcc -shared -o "$tmp/gamemode/libgamemode.so.0" -x c /dev/null
LD_LIBRARY_PATH=$tmp/gamemode doctor bare 1
finds bare "wrong|note" display_missing display "opens no window"
finds bare wrong session_bus_missing "session bus" "aborts here"
DISPLAY=localhost:10 DBUS_FATAL_WARNINGS=0 LD_LIBRARY_PATH=$tmp/gamemode doctor quiet 0
finds quiet note session_bus_missing "session bus"
DISPLAY=:977 doctor dead 1
finds dead wrong display_dead display "no X server is there"
export DISPLAY=localhost:10 DBUS_SESSION_BUS_ADDRESS=unix:path=$tmp/bus
doctor again 0
check doctor/session "a session is found to be missing: $(cat "$tmp/again.json")" eval '! grep -q missing "$tmp/again.json"'

XDG_STATE_HOME=/proc/none doctor homeless 1
finds homeless wrong own_folder_unusable "own folder" "cannot make"

through far --delay 130 --jitter 60
doctor far 0 --relay "$link"
finds far note relay_far relay "answers after"
doctor nobody 1 --relay "127.0.0.1:$(free_port)"
finds nobody wrong relay_silent relay
doctor no-name 1 --relay relay.invalid
finds no-name wrong relay_unknown relay

rm "$ra/cores/nestopia_libretro.so" "$ra/system/keylock.cfg"
echo x >>"$ra/cores/nestopia_keylock_libretro.so"
doctor no-core 1
finds no-core wrong core_missing nestopia nestopia_libretro.so
finds no-core note relay_unset relay
ln -s "$nestopia" "$ra/cores"
echo 'pause_nonactive = "true"' >"$ra/retroarch.cfg"
rm "$ra/config/Nestopia Keylock/Nestopia Keylock.cfg"
doctor stale 0
finds stale note core_stale nestopia
finds stale note core_pauses nestopia
echo 'relay = a b:c' >"$ra/system/keylock.cfg"
doctor settings 1
finds settings wrong settings_wrong settings "keylock.cfg line 1"
cp "$content/shooter.nes" "$tmp/no-wrapper.so"
"$keylock" doctor --wrapper "$tmp/no-wrapper.so" --json >"$tmp/wrapper.json" 2>/dev/null
check doctor/wrapper "exit status $?" test $? = 1
finds wrapper wrong wrapper_broken wrapper
"$keylock" doctor --relay "" >/dev/null 2>&1
check doctor/usage "exit status $?" test $? = 2
finish
