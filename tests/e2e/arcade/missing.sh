#!/usr/bin/env bash
# arcade/missing.sh - an arcade game that lacks a file: the core shows a picture instead. Such a game neither opens nor
# enters a room, a line names the file, and the other player, whose game is complete, is not told that the two differ.
# runs: waiting, all, 15 s
# instead: `arcade/refusal`, sets that differ
. "$(dirname "$0")/../lib.sh"

core=$build/cores/arcade_core_libretro.so
needs "$keylock" "$relay_program" "$wrapper" "$core" "$content/arcade/brawl.zip"
lacks='a required file is missing: arcbios.rom \(CRC 66e64412\)'
for who in whole bare; do mkdir -p "$tmp/games/$who"; done
cp "$content/arcade/brawl.zip" "$content/arcade/arcbios.zip" "$tmp/games/whole"
cp "$content/arcade/brawl.zip" "$tmp/games/bare"
retroarch_home amy 'video_font_enable = "true"' "${no_sound[@]}"
start_relay
rooms() { grep -ac 'event=joined ' "$tmp/relay.log"; }

# --- the tools --------------------------------------------------------------------------------------------------

# names_file NAME COMMAND ARGUMENT…: the command fails, and its message names the file.
names_file() {
    local name=$1 status
    shift
    timeout 60 "$keylock" "$@" --core "$core" --content "$tmp/games/bare/brawl.zip" >"$tmp/$name.log" 2>&1
    status=$?
    [ $status != 0 ] || show "$name"
    check "missing/$name" "exit status $status: $(tail -n 1 "$tmp/$name.log" | cut -c 1-200)" \
        eval "[ $status != 0 ] && grep -aqE '^keylock [a-z]+: .*$lacks' '$tmp/$name.log'"
}
names_file run run --frames 60
names_file probe probe --frames 60
names_file bisect bisect --frames 60 --input random:7 --a "" --b ""
names_file in-room run --frames 60 --relay "$relay" --room brawl --wait 5
check missing/no-room "$(grep -a 'event=joined' "$tmp/relay.log" | head -n 1)" test "$(rooms)" = 0

# --- RetroArch: the core's own picture, and a line --------------------------------------------------------------

if command -v retroarch >/dev/null; then
    start_xvfb 700x560
    start_retroarch amy --core "$core" --content "$tmp/games/bare/brawl.zip" --relay "$relay" --room brawl -- -v
    check missing/line "$(grep -a 'not loaded' "$tmp/amy.log" | head -n 1)" said amy "\\] not loaded: $lacks" 20
    # The picture is red with white bars: a dark red pixel that the line does not cover.
    sees_red() {
        local window
        window=$(window_of amy) && import -window "$window" -depth 8 txt:- | grep -qE '#A0000[0-9A-F]'
    }
    check missing/picture "no red in the window" eventually 20 sees_red
    [ -z "${PICTURE:-}" ] || import -window root "$PICTURE"
    check missing/retroarch-runs-on "RetroArch ends" running amy
    check missing/retroarch-no-room "$(grep -a 'event=joined' "$tmp/relay.log" | head -n 1)" test "$(rooms)" = 0
else
    skip "missing/retroarch: it is not installed"
fi

# --- two players with the file play --------------------------------------------------------

for who in bea cyn; do
    run_in_room $who --core "$core" --content "$tmp/games/whole/brawl.zip" --room brawl --frames 300 --input random:1 --wait 30
    said relay "event=joined .*name=\"$who\"" 10 || { show $who relay; die "missing: $who does not join"; }
done
both_equal missing bea cyn
finish
