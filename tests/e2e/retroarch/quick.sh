#!/usr/bin/env bash
# retroarch/quick.sh - quick matches, practice while waiting, and changing one's mind: without a screen, and in real RetroArch by its
# core options.
# runs: waiting, test, 75 s
# runs: waiting, all, 75 s: KL_RETROARCH=1.20
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$test_core" "$content/shooter.nes" "$content/pads.gb"
core_path nestopia >/dev/null || { skip "quick: no nestopia"; finish; }
start_relay

# quick NAME CORE CONTENT [OPTION…]
quick() {
    local name=$1 core=$2 game=$3
    shift 3
    KEYLOCK_MODE=quick start "$name" "$keylock" run --quiet --core "$core" --content "$game" --relay "$relay" \
        --name "$name" --speed real --frames 240 --input "random:${#name}" --hash-out "$tmp/$name.hash" "$@"
}
rooms() { "$keylock" rooms "$relay" --json; }

# --- two players begin at the same moment, and one with another game -------------------------------------------------

if core_path gambatte >/dev/null; then quick other gambatte "$content/pads.gb"; fi
quick ann nestopia "$content/shooter.nes"
quick bob nestopia "$content/shooter.nes"
both_equal quick ann bob
if running other; then
    check quick/own-game "the player of another game has no room of their own" \
        grep -q '"content":{[^}]*"name":"pads.gb' <(rooms)
    stop other INT
fi

# --- arcade sets: the parent's and the BIOS's members count, not their packing nor their folder ------------

for who in ada ben una; do mkdir -p "$tmp/$who/sys/probe" && cp "$content/shooter.nes" "$tmp/$who/game.nes"; done
python3 - "$tmp" <<'END'
import sys, zipfile
def pack(path, members, how):
    with zipfile.ZipFile(f"{sys.argv[1]}/{path}", "w", how) as z:
        for name, data in members: z.writestr(name, data * 500)
parent, bios = [("p1.rom", b"one"), ("p2.rom", b"two")], [("sp-s2.sp1", b"bios")]
pack("ada/parent.zip", parent, zipfile.ZIP_STORED)
pack("ada/bios.zip", bios, zipfile.ZIP_STORED)
pack("ben/parent.zip", reversed(parent), zipfile.ZIP_DEFLATED)
pack("ben/sys/probe/bios.zip", bios, zipfile.ZIP_DEFLATED)
pack("una/parent.zip", [("p1.rom", b"one"), ("p2.rom", b"2nd")], zipfile.ZIP_STORED)
pack("una/bios.zip", bios, zipfile.ZIP_STORED)
END
for who in una ada ben; do
    PROBE_CORE=sets quick $who "$test_core" "$tmp/$who/game.nes" --system "$tmp/$who/sys"
    [ $who != una ] || said relay 'event=joined .*name="una"' 20 || { show una relay; fail "quick/sets-una: una opens no room"; }
done
for who in ada ben; do
    ended $who 40
    status=$?
    check "quick/sets-$who" "exit status $status: no match was found" test $status = 0
    [ $status = 0 ] || show $who relay
done
unas=$(grep -aoE 'room="[^"]*".*name="una"' "$tmp/relay.log" | head -n 1 | cut -d ' ' -f 1)
check quick/other-set "a game began with a player that has another parent set" \
    eval 'running una && ! grep -aqF "event=started $unas" "$tmp/relay.log"'
stop una INT

# --- a room that friends opened is none for a quick match, also if it is open ---------------------------------------

start host "$keylock" run --quiet --core nestopia --content "$content/shooter.nes" --relay "$relay" --room a-room --name host \
    --speed real --frames 240 --input random:1
listed() { rooms >"$tmp/rooms.log" 2>&1 && grep -q '"a-room"' "$tmp/rooms.log"; }
check quick/listed "the list does not show the open room a-room" eventually 10 listed
quick carl nestopia "$content/shooter.nes"
check quick/own-room "carl opened no room of his own" said relay 'joined room="quick-.*name="carl"' 12
rooms >"$tmp/rooms.log"
check quick/marked "the list does not tell the two rooms apart: $(cat "$tmp/rooms.log")" python3 - "$tmp/rooms.log" <<'END'
import json, sys
rooms = {r["name"][:6]: r for r in json.load(open(sys.argv[1]))["rooms"]}
assert rooms["quick-"]["quick"] and not rooms["a-room"]["quick"]
assert all(r["core"].startswith("Nestopia ") and 17 <= r["delay_ms"] < 100 for r in rooms.values())
END
quick dora nestopia "$content/shooter.nes"
for who in carl dora; do
    ended $who 30
    status=$?
    check quick/meets-$who "exit status $status" test $status = 0
done
check quick/friends-alone "somebody came into the friends' room" test "$(grep -ac 'joined room="a-room"' "$tmp/relay.log")" = 1
stop host INT

# --- RetroArch: alone first, then a quick match by the menu, practising; at last alone again ----------------------

for program in retroarch Xvfb xdotool; do
    command -v $program >/dev/null || { skip "quick/retroarch: no $program"; finish; }
done
game=$tmp/shooter.nes
battery_game "$game" || die "quick: the game cannot be given a battery"
command_port=$(free_port)
mkdir -p "$tmp/dan/cores" "$tmp/dan/info" "$tmp/dan/config/retroarch/config/Nestopia Keylock"
retroarch_home dan "libretro_directory = \"$tmp/dan/cores\"" "libretro_info_path = \"$tmp/dan/info\"" 'autosave_interval = "1"' \
    'network_cmd_enable = "true"' "network_cmd_port = \"$command_port\"" "${short_menu[@]}" \
    'pause_nonactive = "false"' 'menu_pause_libretro = "false"' 'video_font_enable = "true"' 'menu_enable_widgets = "true"' "${no_sound[@]}"
ln -s "$(core_path nestopia)" "$tmp/dan/cores"
ln -s /usr/share/libretro/info/nestopia_libretro.info "$tmp/dan/info"
home_of dan
env "${home[@]}" "$keylock" install nestopia --wrapper "$wrapper" --relay "$relay" >"$tmp/install.log" 2>&1 ||
    { show install; die "quick/install: exit status $?"; }
echo 'keylock_mode = "alone"' >"$tmp/dan/config/retroarch/config/Nestopia Keylock/Nestopia Keylock.opt"
start_xvfb 700x600
start dan env "${home[@]}" KEYLOCK_HASH_OUT="$tmp/dan.hash" KEYLOCK_NAME=dan retroarch -v \
    -L "$tmp/dan/cores/nestopia_keylock_libretro.so" "$game"
eventually 20 window_of dan >/dev/null || { show dan; die "quick/retroarch: no window"; }
frontend_frames "$command_port" 60
window=$(window_of dan)
srm() { od -An -tu1 -N1 "$tmp/dan/save/shooter.srm" 2>/dev/null | tr -d ' '; }
has_srm() { [ -n "$(srm)" ]; }
srm_is_not() { [ "$(srm)" != "$1" ]; }
srm_moves() { eventually 6 has_srm && eventually 6 srm_is_not "$(srm)"; }
check quick/alone "dan joined a room with Play on Alone" test "$(grep -ac 'name="dan"' "$tmp/relay.log")" = 0
check quick/alone-saves "alone the game's save RAM does not reach the player's file" srm_moves
shows_other() { [ "$(shows)" != "$1" ]; }
shows() { import -window "$window" -depth 8 rgb:- | md5sum; }

# The quick menu, the core's options, the last category, whose first option is Play: from Alone to Quick match.
menu_keys "$command_port" TOGGLE A UP A RIGHT TOGGLE
check quick/looks "dan made no room for a quick match" said relay 'joined room="quick-.*name="dan"' 12
check quick/practice "the game stands still in practice" eventually 3 shows_other "$(shows)"
[ -z "${PICTURE:-}" ] || import -window "$window" "$PICTURE"
# A room that somebody named is not entered, but the waiting screen says that it is open.
start open "$keylock" run --quiet --core nestopia --content "$game" --relay "$relay" --room "open house" --name open --speed real \
    --frames 240
check quick/beside "dan is not told of the open room" said dan 'also open: room open house' 30
stop open INT
quick eve nestopia "$game" --frames 600
check quick/meets "the match did not begin" said dan 'playing seats=' 20
frontend_frames "$command_port" 60
press "$window" F2
check quick/declined "saving a state in a match is not declined" stays 1 test -z "$(ls "$tmp/dan/state")"
before=$(srm)
ended eve 30
status=$? # 4: nobody else stopped at its last frame, so the relay had no verdict on that
check quick/eve "exit status $status" test $status = 0 -o $status = 4
check quick/saves-kept "the match wrote to the player's save file" test "$(srm)" = "$before"
menu_keys "$command_port" TOGGLE LEFT TOGGLE # Alone; the menu is at its old place
check quick/leaves "dan did not leave the room" said relay 'left room="quick-.*name="dan"' 12
frontend_frames "$command_port" 60 # the message that he has left is on the screen
check quick/plays-on "the game stands still after dan has left" eventually 3 shows_other "$(shows)"
same_as() { # NAME: dan's hashes of the match with that one, kept before he begins another
    equal quick "$1" dan
    check quick/moves-with-$1 "$(wc -l <"$tmp/dan.hash") hashes, all the same" hashes_move "$tmp/dan.hash" 3
}
begun() { [ "$(grep -ac 'playing seats=' "$tmp/dan.log")" = "$1" ]; }
same_as eve

# --- in the same process once more, and then in another room -------------------------------------------------------

menu_keys "$command_port" TOGGLE RIGHT TOGGLE # Quick match
check quick/looks-again "dan made no room for a quick match" \
    eventually 12 eval '[ "$(grep -acE "joined room=\"quick-.*name=\"dan\"" "$tmp/relay.log")" = 2 ]'
quick una nestopia "$game" --frames 400
check quick/meets-again "the match did not begin" eventually 20 begun 2
ended una 30
status=$?
check quick/una "exit status $status" test $status = 0 -o $status = 4
menu_keys "$command_port" TOGGLE LEFT TOGGLE # Alone
check quick/leaves-again "dan did not leave the room" \
    eventually 12 eval '[ "$(grep -acE "left room=\"quick-.*name=\"dan\"" "$tmp/relay.log")" = 2 ]'
same_as una
menu_keys "$command_port" TOGGLE RIGHT RIGHT TOGGLE # Named room
check quick/another-room "dan did not come into the game's room" said relay 'joined room="nestopia-.*name="dan"' 12
run_in_room fay --core nestopia --content "$game" --speed real --frames 400 --input random:3
check quick/meets-there "the match did not begin" eventually 20 begun 3
ended fay 30
status=$?
check quick/fay "exit status $status" test $status = 0 -o $status = 4
stop dan
status=$?
check quick/end "exit status $status" test $status = 0
same_as fay
check quick/saves-kept-to-the-end "the match reached the player's save file" test "$(srm)" = "$before"

# --- the next start begins alone, though the core options still say Quick match ----------------------------------

echo 'keylock_mode = "quick"' >"$tmp/dan/config/retroarch/config/Nestopia Keylock/Nestopia Keylock.opt"
joins=$(grep -ac 'joined .*name="dan"' "$tmp/relay.log")
start next env "${home[@]}" KEYLOCK_NAME=dan retroarch -v -L "$tmp/dan/cores/nestopia_keylock_libretro.so" "$game"
check quick/says-alone "no line says that the player is alone" said next 'choose Quick match again' 20
frontend_frames "$command_port" 60
check quick/starts-alone "a quick match began by itself" test "$(grep -ac 'joined .*name="dan"' "$tmp/relay.log")" = "$joins"
window=$(window_of next)
menu_keys "$command_port" TOGGLE A UP A RIGHT TOGGLE # from Alone, as it stands now, to Quick match
check quick/asked-again "no quick match began when it was chosen" \
    eventually 12 eval '[ "$(grep -ac "joined .*name=\"dan\"" "$tmp/relay.log")" -gt '"$joins"' ]'
stop next
finish
