#!/usr/bin/env bash
# 92-doctor.sh - `keylock doctor` on a machine where all is well, and on ones where each thing is wrong: it says which, what to do, and
# its exit status tells.
# runs: waiting, test, 25 s
# runs: waiting, all, 25 s: KL_RETROARCH=1.20
. "$(dirname "$0")/lib.sh"

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

# doctor NAME WANTED_STATUS ARGUMENT…: its findings in $tmp/NAME.json.
doctor() {
    local name=$1 wanted=$2 status
    shift 2
    "$keylock" doctor --wrapper "$wrapper" --json "$@" >"$tmp/$name.json" 2>"$tmp/$name.log"
    status=$?
    [ $status = "$wanted" ] && return
    fail "doctor/$name: exit status $status, expected $wanted: $(cat "$tmp/$name.json")"
    show "$name"
}
# finds NAME HEALTH ABOUT TEXT: such a finding is among them (HEALTH may be a pattern), and what is not well says what to do.
finds() {
    check "doctor/$1-$3" "no $2 about $3 with \"$4\": $(cat "$tmp/$1.json")" python3 - "$tmp/$1.json" "$2" "$3" "$4" <<'END'
import json, re, sys
path, health, about, text = sys.argv[1:]
found = [f for f in json.load(open(path))["findings"] if f["about"] == about and re.fullmatch(health, f["health"]) and text in f["found"]]
sys.exit(not found or (found[0]["health"] != "ok" and not found[0].get("do")))
END
}

"$keylock" install nestopia --wrapper "$wrapper" --for native --relay "$relay" >"$tmp/install.log" 2>&1 || { show install; fail "doctor/install"; }
doctor well 0
finds well ok nestopia "list of cores"
finds well ok relay "answers after"
finds well ok wrapper keylock_libretro.so
finds well "ok|note" clock "programs wake" # a machine that others share wakes late
command -v retroarch >/dev/null && finds well ok RetroArch "1."
"$keylock" doctor --wrapper "$wrapper" >"$tmp/text.log" 2>&1
check doctor/text "the text does not say that all is well" grep -q '^All that is needed is installed' "$tmp/text.log"

through far --delay 130 --jitter 60
doctor far 0 --relay "$link"
finds far note relay "answers after"
doctor nobody 1 --relay "127.0.0.1:$(free_port)"
finds nobody wrong relay "no answer"
doctor no-name 1 --relay relay.invalid
finds no-name wrong relay "cannot find"

rm "$ra/cores/nestopia_libretro.so" "$ra/system/keylock.cfg"
echo x >>"$ra/cores/nestopia_keylock_libretro.so"
doctor no-core 1
finds no-core wrong nestopia "no nestopia_libretro.so"
finds no-core note relay "no relay is set"
ln -s "$nestopia" "$ra/cores"
echo 'pause_nonactive = "true"' >"$ra/retroarch.cfg"
rm "$ra/config/Nestopia Keylock/Nestopia Keylock.cfg"
doctor stale 0
finds stale note nestopia "another build"
finds stale note nestopia "stops the game"
echo 'relay = a b:c' >"$ra/system/keylock.cfg"
doctor settings 1
finds settings wrong settings "keylock.cfg line 1"
cp "$content/shooter.nes" "$tmp/no-wrapper.so"
"$keylock" doctor --wrapper "$tmp/no-wrapper.so" --json >"$tmp/wrapper.json" 2>/dev/null
check doctor/wrapper "exit status $?" test $? = 1
finds wrapper wrong wrapper "does not load"
"$keylock" doctor --relay "" >/dev/null 2>&1
check doctor/usage "exit status $?" test $? = 2
finish
