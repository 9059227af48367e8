#!/usr/bin/env bash
# retroarch/patch.sh - the patched RetroArch (frontend_patch/): the series applies as it says it does; a game that runs on its bare
# core goes by the menu into a room that a stock RetroArch is in, too. Rooms are browsed and joined, a match is looked for, a
# room is watched. A line of chat goes by the menu's text dialog. Links work with a game and without.
#   PICTURES=FOLDER  keeps pictures of the menu and of the rooms found
# runs: waiting, all, 110 s
# instead: `retroarch/commands`, the same commands in a stock RetroArch
. "$(dirname "$0")/../lib.sh"

archive=build/frontend/retroarch_1.20.0+dfsg.orig.tar.xz
patched=$PWD/build/frontend/retroarch
[ -x "$patched" ] || { skip "patch: no patched RetroArch (make frontend)"; finish; }

# --- the series: to the letter, and small --------------------------------------------------------------------------

mkdir "$tmp/tree"
root=$(tar -tf "$archive" | head -n 1)
tar -xf "$archive" -C "$tmp/tree" --strip-components 1 $(sed -n "s|^--- a/|$root|p" frontend_patch/0*.patch | sort -u)
for p in frontend_patch/0*.patch; do
    patch -d "$tmp/tree" -p1 -F0 --no-backup-if-mismatch <"$p" >>"$tmp/applied.log" 2>&1 || fail "patch/applies: $p does not apply"
    check "patch/explained" "$p does not begin with its purpose" test "$(sed -n '/^--- /q;p' "$p" | wc -w)" -gt 15
done
check patch/applies "the patch does not apply cleanly: $(grep -iE 'fuzz|offset|reject|FAILED' "$tmp/applied.log" | head -n 1)" \
    test "$(grep -ciE 'fuzz|offset|reject|FAILED' "$tmp/applied.log")" = 0
added=$(cat frontend_patch/0*.patch | grep -c '^+[^+]\|^+$')
check patch/small "$added lines are added; expected at most 800" test "$added" -le 800
check patch/no-protocol "a packet or a socket is in it" test -z "$(grep -hE '^\+.*(sendto|recv|socket\(|KL_)' frontend_patch/0*.patch)"

# --- three players: ann and cyd have the patched one, bob a stock one -----------------------------------------------

needs "$keylock" "$relay_program" "$wrapper" "$content/shooter.nes"
for program in Xvfb xdotool import; do
    command -v $program >/dev/null || { skip "patch: no $program"; finish; }
done
core_path nestopia >/dev/null || { skip "patch: no nestopia"; finish; }
start_relay
start_xvfb 1776x448

# menu_pause_libretro and pause_nonactive are as RetroArch has them: on. In a room they must not count.
declare -A command_port window
patched_home() { # NAME [LINE…]
    command_port[$1]=$(free_port)
    retroarch_home "$1" 'network_cmd_enable = "true"' "network_cmd_port = \"${command_port[$1]}\"" \
        "keylock_wrapper = \"$wrapper\"" "keylock_relay = \"$relay\"" "keylock_name = \"$1\"" "${@:2}" "${no_sound[@]}"
}
start_patched() { # NAME ARGUMENT…
    local name=$1
    home_of "$name"
    start "$name" env "${home[@]}" KEYLOCK_HASH_OUT="$tmp/$name.hash" "$patched" -v "${@:2}"
    eventually 20 window_of "$name" >/dev/null || { show "$name"; die "patch/$name: no window"; }
    window[$name]=$(window_of "$name")
}
keys() { menu_keys "${command_port[$1]}" "${@:2}"; }
# Netplay is the fourth of the main menu, Keylock the first of that.
to_keylock() { keys "$1" TOGGLE B DOWN DOWN DOWN A A; }
picture() { # NAME FILE
    [ -z "${PICTURES:-}" ] || import -window "$(window_of "$1")" "$PICTURES/$2.png"
}
status() {
    python3 -c '
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(1)
s.sendto(b"GET_STATUS", ("127.0.0.1", int(sys.argv[1])))
try: print(s.recv(4096).decode())
except OSError: print("no answer")' "${command_port[$1]}"
}

patched_home ann "${short_menu[@]}" 'config_save_on_exit = "true"' 'keylock_room = "a name that is too long for a room"'
start_patched ann -L "$(core_path nestopia)" "$content/shooter.nes"
frontend_frames "${command_port[ann]}" 60
check patch/bare "before it is asked for a room it loads a wrapper" test "$(grep -acE 'libretro core from.*keylock' "$tmp/ann.log")" = 0
to_keylock ann
keys ann DOWN A # Host
check patch/bad-room "it does not say what is wrong with the room's name" \
    said ann 'Keylock: room: expected a name of 1 to 23 characters, got "a name that' 5
check patch/still-bare "it went on nonetheless" test "$(grep -ac 'name="ann"' "$tmp/relay.log")" = 0
keys ann DOWN DOWN DOWN DOWN DOWN DOWN A # Room: Return takes the typed text
type_in() { # NAME TEXT
    xdotool windowfocus --sync "$(window_of "$1")"
    frontend_frames "${command_port[$1]}" 20
    for ((i = 0; i < 40; i++)); do xdotool key --delay 30 BackSpace; done
    xdotool type --delay 60 "$2"
    press "$(window_of "$1")" Return
    frontend_frames "${command_port[$1]}" 30
}
type_in ann pair
keys ann DOWN DOWN A # Password, behind Link
type_in ann sesame
picture ann patched-menu
keys ann UP UP UP UP UP UP UP UP A # Host
check patch/hosts "no room was made by the menu" said relay 'joined room="pair".*name="ann".*host=1' 15
check patch/wrapper "the content does not run under the wrapper" grep -aqF "$wrapper" "$tmp/ann.log"
check patch/password "the password that was typed is not the room's" said relay 'room_made room="pair".*password=yes' 1

home_of bob
retroarch_home bob 'pause_nonactive = "false"' 'menu_pause_libretro = "false"' "${no_sound[@]}"
start_retroarch bob --core nestopia --content "$content/shooter.nes" --relay "$relay" --room pair --password sesame -- -v
for who in ann bob; do
    said $who 'playing seats=' 30 || { show $who relay; die "patch/plays: $who's game did not begin"; }
done
xdotool windowmove "$(window_of bob)" 592 0
ok "patch/plays: patched ($("$patched" --version 2>&1 | sed -n 's/.*[Vv]ersion:* *\([0-9.]*\).*/\1/p' | head -n 1)) and stock in one room"

# The menu is open, then the window has lost the focus: the game goes on, nobody is away.
frames() { tail -n 1 "$tmp/$1.hash" | grep . | cut -d ' ' -f 1 | grep . || echo 0; }
is_beyond() { [ "$(frames ann)" -gt "$1" ]; }
runs_on() { eventually 8 is_beyond $(($(frames ann) + 120)); }
to_keylock ann
check patch/menu-open "behind the menu the game stands still: $(status ann)" runs_on
# A short hitch of the machine is no menu: after it she would be back at once.
not_away() { ! grep -aE 'event=(absent|back).*name="ann"' "$tmp/relay.log" | tail -n 1 | grep -q absent; }
check patch/not-away "she is away" eventually 4 not_away
picture ann patched-room

# --- chat: Say is behind the line with the state -------------------------------------------------------------------

say() { # TEXT KEY: typed in the dialog, with nothing rubbed out before; the key ends it
    keys ann DOWN A
    xdotool windowfocus --sync "$(window_of ann)"
    frontend_frames "${command_port[ann]}" 20
    xdotool type --delay 30 "$1"
    frontend_frames "${command_port[ann]}" 10
    picture ann patched-say
    [ "$2" = Return ] || check patch/chat-open "behind the dialog the game stands still: $(status ann)" runs_on
    press "$(window_of ann)" "$2"
    frontend_frames "${command_port[ann]}" 30
    keys ann UP
}
heard() { grep -aoE '\[f [0-9]+\] ann .[12].: .*' "$tmp/bob.log" | sed 's/.*] ann .[12].: //' | tr '\n' ';'; }
say 'hello, bob: phf' Return
check patch/chat "bob heard: $(heard)" eventually 5 eval '[ "$(heard)" = "hello, bob: phf;" ]'
say '' Return
say 'not that' Escape
say "$(printf '%097d' 0)" Return
check patch/chat-long "a line that is too long is not refused" \
    said ann 'Keylock: the line is too long: expected at most 96 bytes, got 97' 5
say "well played" Return
check patch/chat-again "bob heard: $(heard)" eventually 5 eval '[ "$(heard)" = "hello, bob: phf;well played;" ]'
keys ann TOGGLE
press "$(window_of ann)" p # pauses a game that is nobody else's
check patch/no-pause "she paused the room's game for herself: $(status ann)" runs_on

# --- by a link, and then to another room that was browsed ------------------------------------------------------------

# cyd's game is zipped: only the bytes that the core gets count.
python3 -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1], "w").write(sys.argv[2], "shooter.nes")' "$tmp/shooter.zip" "$content/shooter.nes"
start open "$keylock" run --quiet --core nestopia --content "$content/shooter.nes" --relay "$relay" --room a-room --name open --speed real --frames 20000
patched_home cyd
start_patched cyd "--keylock=keylock://$relay/linked" -L "$(core_path nestopia)" "$tmp/shooter.zip"
check patch/link "the link leads to no room" said relay 'joined room="linked".*name="cyd"' 15
xdotool windowmove "${window[cyd]}" 1184 0 windowfocus --sync "${window[cyd]}"
check patch/no-focus "without the focus the game stands still" runs_on
to_keylock cyd
keys cyd DOWN DOWN DOWN DOWN DOWN A # behind Say, Leave, Host and Quick Match: Browse Rooms
frontend_frames "${command_port[cyd]}" 120 # the relay has been asked
picture cyd patched-browse
keys cyd A # a-room, linked, pair
check patch/browse "the first of the rooms found was not joined" said relay 'joined room="a-room".*name="cyd"' 15
check patch/zip "the match of a zipped game with one that is not did not begin" said cyd 'playing seats=' 10
check patch/left "the room of before was not left" said relay 'left room="linked".*name="cyd"' 5

# --- leaving --------------------------------------------------------------------------------------------------------

keys ann TOGGLE DOWN DOWN A # the menu is at its old place; Leave is behind the line with the state and Say
check patch/leaves "ann has not left" said relay 'left room="pair".*name="ann"' 10
check patch/plays-on "her game did not go on" grep -aq 'you left; the game goes on alone' "$tmp/ann.log"
same_as() { # NAME FILE: ann's hashes of a match with that one, kept before she begins another
    "$keylock" diff "$2" "$tmp/$1.hash" >"$tmp/diff.log" 2>&1
    status=$? # 4: only the states differ, as this core's may after a load
    [ $status != 4 ] || [ "$(core_says nestopia state_after_load)" = whole ] || status=0
    check patch/hashes-with-$1 "$(head -n 1 "$tmp/diff.log")" test $status = 0
    check patch/enough-with-$1 "only $(wc -l <"$2") hashes" hashes_move "$2" 5
}
begun() { [ "$(grep -ac 'playing seats=' "$tmp/ann.log")" = "$1" ]; }
cp "$tmp/ann.hash" "$tmp/left.hash"
same_as bob "$tmp/left.hash"

# --- again, in the same process, by the core options -----------------------------------------------------------------

# The quick menu, the options, the last category, whose first option is Play: Named room. Alone the game stands still behind the
# menu, and without the focus.
xdotool windowfocus --sync "$(window_of ann)"
keys ann B B UP UP UP A A UP A RIGHT RIGHT RIGHT TOGGLE
check patch/again "she is not in the room again" \
    eventually 20 eval '[ "$(grep -ac "event=joined room=\"pair\".*name=\"ann\"" "$tmp/relay.log")" = 2 ]'
check patch/plays-again "her game did not begin there" eventually 30 begun 2
was=$(frames bob)
check patch/runs-again "stands still at frame $(frames ann)" eventually 30 is_beyond $((was + 400))
cp "$tmp/ann.hash" "$tmp/again.hash"
same_as bob "$tmp/again.hash"
keys ann TOGGLE B B B DOWN DOWN DOWN A A DOWN DOWN A # Leave, from the main menu on
check patch/leaves-again "ann has not left" \
    eventually 10 eval '[ "$(grep -ac "left room=\"pair\".*name=\"ann\"" "$tmp/relay.log")" = 2 ]'
for who in ann bob cyd; do
    stop $who
    status=$?
    check patch/end-$who "exit status $status" test $status = 0
done
for key in 'keylock_room = "pair"' "keylock_relay = \"$relay\"" 'keylock_policy = "0"'; do
    check patch/kept "retroarch.cfg has no $key" grep -qxF "$key" "$tmp/ann/config/retroarch/retroarch.cfg"
done
check patch/password-not-kept "the password is in a file" test -z "$(grep -rl sesame "$tmp/ann")"
check patch/history "the history has the wrapper, not the core" \
    test "$(cat "$tmp"/ann/config/retroarch/*history* 2>/dev/null | grep -c keylock_libretro)" = 0

# --- a link without a game; a quick match; watching ---------------------------------------------------------------------

mkdir -p "$tmp/cores" "$tmp/info" "$tmp/games"
ln -s "$(core_path nestopia)" "$tmp/cores"
ln -s /usr/share/libretro/info/nestopia_libretro.info "$tmp/info"
cp "$content/shooter.nes" "$tmp/games"
patched_home eve "libretro_directory = \"$tmp/cores\"" "libretro_info_path = \"$tmp/info\"" "rgui_browser_directory = \"$tmp/games\""
start_patched eve "--keylock=keylock://$relay/later" --menu
keys eve A A DOWN A A DOWN A # Load Core, the only one; Load Content, Start Directory: behind Parent Directory
check patch/link-later "the game that was loaded later did not go there" said relay 'joined room="later".*name="eve"' 10
to_keylock eve
keys eve DOWN DOWN DOWN DOWN A # behind Say, Leave and Host: Quick Match
check patch/quick "no match was looked for" said relay 'joined room="(quick-.{8}|a-room)".*name="eve"' 15
to_keylock eve
keys eve DOWN DOWN DOWN DOWN DOWN DOWN DOWN A # Spectate: the link still counts
check patch/spectate "she does not watch" said relay 'joined room="later".*name="eve" seats=none' 15
to_keylock eve
keys eve DOWN DOWN A # Leave
check patch/leaves-watching "she watches on" said relay 'left room="later".*name="eve"' 10
keys eve DOWN DOWN A # now on Quick Match, then Browse Rooms, Join, with a seat this time
check patch/joins "she has no seat there" \
    eventually 15 eval '[ "$(grep -ac "event=joined room=\"later\".*name=\"eve\" seats=0" "$tmp/relay.log")" = 2 ]'
stop eve
status=$?
check patch/end-eve "exit status $status" test $status = 0

# --- a link that is none ---------------------------------------------------------------------------------------------

patched_home dan
start_patched dan --keylock=http://example.org/room -L "$(core_path nestopia)" "$content/shooter.nes"
check patch/bad-link "a link that is none is not told" said dan 'Keylock: link: .*expected keylock://HOST.*http://example.org/room' 5
check patch/bad-link-plays "the game does not run alone: $(status dan)" grep -q 'PLAYING' <<<"$(status dan)"
stop dan
finish
