#!/usr/bin/env bash
# lock/soft-patch.sh - a player whose RetroArch has patched the game is refused, and both sides read the patch's name; with the same
# patch on both sides they play.
# runs: waiting, test, 6 s
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$content/shooter.nes"
for program in retroarch Xvfb; do
    command -v $program >/dev/null || { skip "soft-patch: no $program"; finish; }
done
core_path nestopia >/dev/null || { skip "soft-patch: no nestopia"; finish; }

# patched NAME: RetroArch of that name, with a copy of the game and a patch that changes its last byte, at the end of the tiles.
patched() {
    retroarch_home "$1" "${no_sound[@]}" 'video_driver = "null"' 'input_driver = "null"'
    cp "$content/shooter.nes" "$tmp/$1/shooter.nes"
    python3 -c 'import sys
at = int(sys.argv[1]) - 1
sys.stdout.buffer.write(b"PATCH" + at.to_bytes(3, "big") + b"\0\1\x55EOF")' "$(stat -c %s "$tmp/$1/shooter.nes")" >"$tmp/$1/shooter.ips"
    start_retroarch "$1" --core nestopia --content "$tmp/$1/shooter.nes" --relay "$relay" --room "$2"
}

start_xvfb 640x480
start_relay
start host "$keylock" run --core nestopia --content "$content/shooter.nes" --relay "$relay" --room plain --name host --frames 60 --wait 60
said relay 'event=(room_made|joined).*room="plain"' 20
patched bob plain
said bob 'You play the soft patch shooter.ips: remove it' 20 || show bob
check soft-patch/refused "$(tail -n 2 "$tmp/bob.log")" grep -aq 'You play the soft patch shooter.ips: remove it' "$tmp/bob.log"
said host 'bob has a soft patch: shooter.ips' 5
check soft-patch/told "$(tail -n 2 "$tmp/host.log")" grep -aq 'bob has a soft patch: shooter.ips' "$tmp/host.log"

patched ann both
said relay 'event=(room_made|joined).*room="both"' 20
patched amy both
said relay 'event=joined.*room="both".*name="amy"' 20
check soft-patch/same "$(grep -a both "$tmp/relay.log" | tail -n 1)" grep -aqE 'event=joined room="both".* name="amy"' "$tmp/relay.log"
finish
