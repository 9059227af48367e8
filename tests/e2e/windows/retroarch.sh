#!/usr/bin/env bash
# windows/retroarch.sh - real RetroArch 1.20 for Windows, under Wine, with the nestopia that `keylock install` has wrapped. Two of
# them and one of Linux play in one room: one by its list of cores, one by a keylock:// link, which is killed with -9 and takes its seat
# again. Then by RetroArch's own Netplay menu (--host and --connect): Windows hosts and is the relay, and Windows is the guest of a
# host on Linux.
#   PARTS='room netplay'  only these
#   PICTURE=FILE          keeps a picture of the three windows in the room
# instead: nothing
# runs: emulated, all, 120 s
# limit: 2400
. "$(dirname "$0")/../lib.sh"
. tests/e2e/lib_wine.sh
. tests/e2e/netplay_lib.sh

PARTS=${PARTS:-room netplay}
game=$content/shooter.nes
needs "$keylock" "$relay_program" "$wrapper" "$game"
for program in retroarch Xvfb xdotool; do
    command -v $program >/dev/null || { skip "windows-retroarch: no $program"; finish; }
done
core_path nestopia >/dev/null || { skip "windows-retroarch: no nestopia"; finish; }
wine_retroarch_builds

# The same picture on both systems: pixels as they are, and no text of the frontend's.
looks=('video_smooth = "false"' 'aspect_ratio_index = "21"' 'menu_enable_widgets = "false"' 'pause_nonactive = "false"')

# begin PART NAME…: their games begin.
begin() {
    local part=$1 who
    shift
    for who; do said "$who" 'playing ' 60 || { show "$who" relay; die "$part/start: $who's game did not begin"; }; done
}

# window NAME: its id, once it shows; it is made anew for a game.
window() {
    local of=$1
    [ -z "${pid[$1-game]:-}" ] || of=$1-game
    eventually 20 window_of "$of"
}
# place NAME X
place() { xdotool windowmove "$(window "$1")" "$2" 0 || die "windows-retroarch/start: $1 has no window"; }

# RetroArch may miss one word to its remote control: that is said at every look. (A signal would end it as kill -9 does.)
gone() { # NAME PORT
    printf QUIT >"/dev/udp/127.0.0.1/$2"
    ! running "$1"
}
# quits PART NAME PORT: RetroArch for Windows ends in peace.
quits() {
    eventually 20 gone "$2" "$3"
    ends_well "$1" "$2" 5
}

# pads NAME SEAT: so many states of that seat's pad in the player's recording, without the idle one.
pads() { "$keylock" replay --text "$tmp/$1.rec" | awk -v s="$2" '$1 == "input" && $3 == s && $4 != "0000" { print $4 }' | sort -u | wc -l; }

# gets_keys NAME: a busy machine's RetroArch may miss some. (The recording of $native, a player on Linux, grows each second.)
has_keys() { [ "$(pads "$native" "${seat[$1]}")" -ge 2 ]; }
gets_keys() {
    local key
    for key in Left Right Up; do taps "$(window "$1")" z $key; done
    has_keys "$1"
}

# --- two of Windows and one of Linux in one room --------------------------------------------------------------

# show_the_same: no pixel of the three games differs, in one picture of the screen. They are $tmp/NAME.png.
game_at() { convert "$tmp/screen.png" -crop "512x448+$2+0" +repage "$tmp/$1.png"; }
same_picture() { [ "$(compare -metric AE "$tmp/$1.png" "$tmp/$2.png" null: 2>&1)" = 0 ]; }
show_the_same() {
    import -window root -depth 8 "$tmp/screen.png"
    game_at ann 0 && game_at win 520 && game_at wes 1040 && same_picture ann win && same_picture ann wes
}
colours() { convert "$tmp/$1.png" -unique-colors -format '%w' info:; }

# chooses NAME TIMES: the game in RetroArch's menu, by its list of cores, until the player has joined so often: Load Core, "Keylock: NES
# (Nestopia)", which comes before "Nintendo"; Load Content, Start Directory, and behind Parent Directory the game; that core. (B goes
# back to the main menu's first line, if RetroArch has missed a key.)
has_joined() { [ "$(grep -ac "event=joined room=\"trio\".*name=\"$1\"" "$tmp/relay.log")" = "$2" ]; }
chooses() {
    local tries
    for tries in 1 2 3; do
        menu_keys "${remote[$1]}" B B B B A A DOWN A A DOWN A A
        eventually 3 has_joined "$1" "$2" && return
        note "$1's menu: the keys of attempt $tries led nowhere"
    done
    false
}

left_the_room() {
    printf CLOSE_CONTENT >"/dev/udp/127.0.0.1/${remote[win]}"
    grep -aq 'win .2. left' "$tmp/ann.log"
}

# opens NAME LINK: Windows opens the link by its registry, in a terminal. NAME is the opener, which ends with the game, and NAME-game
# RetroArch, whose log file is $tmp/NAME.log. The game is the zip's.
opens() {
    mkdir -p "$tmp/${1%2}/logs"
    ln -sf "$tmp/$1.log" "$tmp/${1%2}/logs/retroarch.log"
    start_wine "$1" 'C:\windows\system32\start.exe' /wait "$2"
}
has_started() { pid[$1-game]=$(pgrep -f "^Z:$tmp/${1%2}/retroarch.exe"); }
terminal() { xdotool search --onlyvisible --class '^conhost.exe$' 2>/dev/null | head -n 1 | grep .; }
# agrees NAME: the answer to the question in the terminal, which then leaves the screen to the games.
agrees() {
    local tries id
    for tries in 1 2 3; do
        eventually 20 terminal >/dev/null || return
        id=$(terminal)
        xdotool mousemove --window "$id" 60 60 click 1
        lasts 0.3 "the change of the active window"
        xdotool windowfocus --sync "$id" key --delay 50 BackSpace y Return
        eventually 3 has_started "$1" && xdotool windowmove "$id" 0 470 && return
        note "$1's terminal: the keys of attempt $tries led nowhere"
    done
    false
}
# Wine 8 looks for the program of a link among the machine's alone.
links_of_all() {
    start reg "${WINE64:-/usr/lib/wine/wine64}" 'C:\windows\system32\reg.exe' copy 'HKCU\Software\Classes\keylock' \
        'HKLM\Software\Classes\keylock' /s /f
    ended reg 20 || { show reg; die "windows-retroarch: no links"; }
}

# commands WORDS…: by `keylock command` of Windows; its words in $tmp/tell.log.
commands() { wine_runs "$tmp/win/Keylock/keylock.exe" command "$@" >"$tmp/tell.log" 2>&1; }
# by COMMAND: the player who has given it, in ann's log.
by() { grep -aoE "(win|wes) .[23].$1" "$tmp/ann.log" | cut -c 1-3; }

room() {
    local part=windows-retroarch who at key link players gave native=ann both=("${looks[@]}" "${no_sound[@]}" 'network_cmd_enable = "true"')
    declare -A remote=([win]=$(free_port) [wes]=$(free_port)) seat=([win]=1 [wes]=2)
    mkdir "$tmp/games"
    cp "$game" "$tmp/games/"
    start_relay
    retroarch_home ann "${looks[@]}" "${no_sound[@]}"
    export KEYLOCK_AHEAD=off # in a pause a player who runs ahead stands ahead, and shows another picture
    KEYLOCK_RECORD=$tmp/ann.rec start_retroarch ann --core nestopia --content "$game" --relay "$relay" --room trio --players 3 -- -v
    options=(--relay "$relay" --room trio)
    wine_home win "${both[@]}" "network_cmd_port = \"${remote[win]}\"" "rgui_browser_directory = \"$tmp/games\""
    options=()
    wine_home wes "${both[@]}" "network_cmd_port = \"${remote[wes]}\"" "log_dir = \"$tmp/wes/logs\"" 'log_to_file = "true"' \
        'log_to_file_timestamp = "false"' 'log_verbosity = "true"'
    links_of_all
    said ann 'keylock://.*#' 20 || { show ann relay; die "$part/start: ann has no link"; }
    link=$(grep -aoE 'keylock://[^ ]+#[^ ]+' "$tmp/ann.log" | head -n 1)
    start_wine_retroarch win --menu
    chooses win 1 || { show win relay; die "$part/start: win does not join"; }
    opens wes "$link"
    agrees wes || { show wes relay; die "$part/link: no game has started"; }
    begin $part ann win wes
    place win 520
    place wes 1040
    press "$(window ann)" Return
    for key in Left Right Up z; do
        play 1 "$(window ann)"
        taps "$(window win)" z $key
        taps "$(window wes)" z $key
    done
    for who in win wes; do has_keys $who || eventually 20 gets_keys $who; done

    # All show one frame, pixel by pixel, once the room stands still. One of Windows is told to pause, the other to go on.
    commands pause
    check $part/which "$(cat "$tmp/tell.log")" grep -qE 'expected --pid with one of [0-9]+ [0-9]+, got none' "$tmp/tell.log"
    read -r -a players < <(grep -oE '[0-9]+ [0-9]+' "$tmp/tell.log")
    commands --pid "${players[0]:-1}" pause || show tell
    check $part/pictures "the windows do not show the same" eventually 10 show_the_same
    check $part/game "the picture has $(colours win) colours" test "$(colours win)" -ge 5
    [ -z "${PICTURE:-}" ] || cp "$tmp/screen.png" "$PICTURE"
    commands --pid "${players[1]:-1}" say ready || show tell
    commands --pid "${players[1]:-1}" resume || show tell
    plays ann 60
    gave="$(by ': pause') $(by ': ready') $(by ' resumes')"
    check $part/commands "paused, spoken and resumed by: $gave" test "$gave" = "win wes wes" -o "$gave" = "wes win win"

    # One is killed: the room goes on, and it has its seat again, by the same link.
    stop wes-game KILL
    ended wes 10
    check $part/goes-on "ann's log has no line about wes's absence" said ann 'goes on without wes' 20
    plays ann 120 || fail "$part/goes-on: ann stands still"
    opens wes2 "$link"
    agrees wes2 || { show wes2; die "$part/return: no game has started"; }
    said wes2 'this machine has a seat of an earlier run' 30 || { show wes2; fail "$part/return: the seat is not found"; }
    check $part/back "ann's log has no line about wes's return" said ann 'wes .[1-3]. is back' 60

    # All that a frontend can do to a core; and the game is closed, and chosen again.
    to_retroarch "${remote[win]}" SAVE_STATE LOAD_STATE RESET REWIND FAST_FORWARD FAST_FORWARD SLOWMOTION SLOWMOTION MENU_TOGGLE MENU_TOGGLE
    plays win 60 || fail "$part/abuse: win stands still"
    head -n -1 "$tmp/win.hash" >"$tmp/before.hash" # the last line may be half written
    check $part/closed "win does not leave the room" eventually 20 left_the_room
    chooses win 2 || { show win relay; die "$part/again: win does not join"; }
    said relay 'event=caught_up room="trio".*name="win"' 40 || { show win relay; fail "$part/again: win does not come back"; }
    plays win 60 || fail "$part/again: win stands still"

    quits $part wes2 "${remote[wes]}"
    stop wes2-game
    check $part/wes2-in-peace "wes's game did not end by itself" grep -aq 'keylock: session frames=' "$tmp/wes2.log"
    quits $part win "${remote[win]}"
    stop ann
    status=$?
    check $part/end-ann "exit status $status" test $status = 0
    for who in win before wes wes2; do equal $part ann $who; done
    for who in win wes2; do check $part/from-the-start-$who "$who has not played from frame 0 again" begins_with $who ann; done
    check $part/moves "the hashes do not change" hashes_move "$tmp/win.hash"
    check $part/desync "the relay found one" eval '! grep -aqE "desync=[0-9]" "$tmp"/{ann,win,wes2}.log'
    for at in 0 1 2; do check $part/keys-$at "that seat's pad had $(pads ann $at) states" test "$(pads ann $at)" -ge 2; done
    stop relay
}

# --- RetroArch's own Netplay menu -------------------------------------------------------------------------------

# linux NAME ARGUMENT…, windows NAME ARGUMENT…: a player by the Netplay menu.
linux() { netplayer "$1" "$(free_port)" "${@:2}"; }
windows() {
    local name=$1
    options=()
    wine_home "$name" "${own[@]}" 'menu_enable_widgets = "false"' "network_cmd_port = \"$command_port\"" "${no_sound[@]}"
    cp "$tmp/player.srm" "$tmp/$name/save/shooter.srm"
    wine_plays "$name" "$game" --nick "$name" "${@:2}"
}

# match PART HOST GUEST: ann is the host on the system HOST, bob the guest on the system GUEST.
match() {
    local part=$1 tcp command_port who native=ann
    declare -A system=([ann]=$2 [bob]=$3) seat=([ann]=0 [bob]=1)
    tcp=$(free_tcp_port) command_port=$(free_port)
    [ "$2" = linux ] || native=bob
    knows+=(KEYLOCK_RECORD="$tmp/ann.rec")
    "$2" ann --host --port "$tcp"
    said ann 'waiting \(1/2\).*/np-' 40 || { show ann; die "$part/room: no room was made"; }
    knows=(KEYLOCK_RECORD="$tmp/bob.rec")
    "$3" bob --connect 127.0.0.1 --port "$tcp"
    knows=()
    begin "$part" ann bob
    check "$part/ticket" "the guest did not come by a ticket" grep -aqF 'a ticket for a room on' "$tmp/bob.log"
    for who in ann bob; do check "$part/keys-$who" "the recording of $native lacks its keys" eventually 20 gets_keys $who; done
    for who in bob ann; do
        if [ "${system[$who]}" = windows ]; then
            quits "$part" $who "$command_port"
        else
            stop $who
            status=$?
            check "$part/end-$who" "exit status $status" test $status = 0
        fi
    done
    check "$part/srm" "the guest's save file has changed" own_save "$tmp/bob/save/shooter.srm" 255
    same_hashes "$part"
}

netplay() {
    netplay_needs windows-netplay
    match windows-netplay-host windows linux
    check windows-netplay-host/relay "the host is not the relay" grep -aq 'this machine is the relay at UDP port' "$tmp/ann.log"
    start_relay
    knows=(KEYLOCK_RELAY="$relay")
    match windows-netplay-guest linux windows
}

start_xvfb 1560x470
for part in $PARTS; do $part; done
finish
