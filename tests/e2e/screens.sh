#!/usr/bin/env bash
# screens.sh [NAME…] - `make screens`: a picture of each thing that the wrapper shows, taken from real RetroArch in a
# real room, into tests/e2e/pictures/. With names, only those.
#   OUT=DIR       another folder
#   ASPECT=N      RetroArch's aspect_ratio_index: 22 gives 586x448 at scale 2; default 21, square pixels
#   SCALE=N       the window's scale for all scenes
. "$(dirname "$0")/lib.sh"

out=${OUT:-tests/e2e/pictures}
shooter=$content/shooter.nes
pads=$content/pads.gb
snes=$content/pads.sfc
needs "$keylock" "$relay_program" "$wrapper" "$proxy" "$test_core" "$shooter" "$pads" "$snes"
mkdir -p "$out"
wanted=("$@")
rooms=0

# Pixels as they are, and the frontend's own messages.
looks=('video_font_enable = "true"' 'video_smooth = "false"' 'video_scale_integer = "false"' 'aspect_ratio_index = "'"${ASPECT:-21}"'"'
    'menu_enable_widgets = "true"' 'notification_show_fast_forward = "false"' 'pause_nonactive = "false"'
    'menu_pause_libretro = "false"' 'notification_show_autoconfig = "false"' 'notification_show_config_override_load = "false"'
    'notification_show_remap_load = "false"' 'notification_show_cheats_applied = "false"' 'input_exit_emulator_press_twice = "false"')

# --- the room -------------------------------------------------------------------------------------------------

# wrapped NAME CORE CONTENT SCALE ARGUMENT…: RetroArch, in the room.
wrapped() {
    local name=$1 core=$2 game=$3 scale=$4
    shift 4
    retroarch_home "$name" "video_scale = \"${SCALE:-$scale}\"" "${looks[@]}" "${no_sound[@]}"
    start_retroarch "$name" --core "$core" --content "$game" --relay "${link:-$relay}" --room "$room" "$@" -- -v
    eventually 20 window_of "$name" >/dev/null || { show "$name"; die "screens/$scene: RetroArch shows no window"; }
}

# ann CORE CONTENT SCALE ARGUMENT…: first in the room and so its host; sets $window.
ann() {
    wrapped ann "$@"
    window=$(window_of ann)
    xdotool windowmove "$window" 0 0
}

# other NAME CORE CONTENT ARGUMENT…: joins by `keylock run`, and plays.
other() {
    local name=$1 core=$2 game=$3
    shift 3
    start "$name" "$keylock" run --quiet --core "$core" --content "$game" --relay "${link:-$relay}" --room "$room" \
        --name "$name" --speed real --frames 100000 --input "random:7" "$@"
}

begun() {
    said ann 'playing ' 30 || { show ann relay; die "screens/$scene: the game did not begin"; }
}

# play SECONDS: ann fires and flies.
play() {
    local until=$((SECONDS + $1)) direction
    press "$window" Return 0.2
    while [ $SECONDS -lt $until ] && running ann; do
        for direction in Left Up Right Down; do
            xdotool windowfocus "$window" keydown z keydown $direction sleep 0.25 keyup z keyup $direction
        done
    done
}

# keep FILE NAME [COLOURS]: small, among the pictures.
keep() {
    local bytes
    convert "$1" +dither -colors "${3:-64}" -strip -define png:compression-level=9 "PNG8:$out/$2.png"
    bytes=$(stat -c %s "$out/$2.png")
    check "screens/$2" "$out/$2.png takes $bytes bytes; expected less than 81920" test "$bytes" -lt 81920
}

# bar FILE COLOUR PLACE: pixels of that colour in the place of a message's bar, as convert crops it from the bottom.
bar() { convert "$1" -gravity south -crop "$3" +repage txt:- | grep -c "#$2 "; }

# catching_up PIXELS PLACE: $tmp/catching-up.png has a bar on its way, with so many pixels done and to do.
catching_up() {
    local file=$tmp/catching-up.png until=$((SECONDS + 10))
    while [ $SECONDS -lt $until ]; do
        import -window "$window" -depth 8 "$file"
        [ "$(bar "$file" F0F0F0 "$2")" -gt "$1" ] && [ "$(bar "$file" 404448 "$2")" -gt "$1" ] && return
    done
    return 1
}

# A picture of the window as it is now.
shot() { # NAME
    import -window "$window" -depth 8 "$tmp/$1.png" || die "screens/$1: no picture"
    keep "$tmp/$1.png" "$1"
}

# scene NAME: true if it is wanted; leaves the room of the previous scene.
scene() {
    local n
    for n in bob carl ann link; do
        running $n && kill -CONT "${pid[$n]}"
        stop $n
    done
    unset "${!KEYLOCK_@}" PROBE_CORE link
    scene=$1 room=duo-$((++rooms))
    [ ${#wanted[@]} = 0 ] && return
    for n in "${wanted[@]}"; do [ "$n" = "$1" ] && return; done
    return 1
}

# --- the scenes -----------------------------------------------------------------------------------------------

start_xvfb 1100x800
start_relay

# snap NAME: the window as it is now, a tile of the sheet to be.
tiles=()
snap() {
    import -window "$window" -depth 8 "$tmp/$1.png" || die "screens/$scene: no picture of $1"
    tiles+=("$tmp/$1.png")
}

tell() { "$keylock" command --pid "${pid[ann]}" "$@" >"$tmp/tell.log" 2>&1 || fail "screens/$scene: $*: $(cat "$tmp/tell.log")"; }

# states SIZE COST_US: every line that the wrapper draws, one after the other in one room of three, on one sheet. bob and carl
# play without a screen; bob parts from the others at last.
states() {
    export KEYLOCK_POLICY=bounded KEYLOCK_DRAW=on PROBE_CORE=size:$1,cost:$2
    local n at=2700
    tiles=()
    ann "$test_core" "$shooter" 1 --players 3
    sleep 4
    snap waiting
    PROBE_CORE=size:$1,entropy:$at other bob "$test_core" "$shooter" --players 3
    PROBE_CORE=size:$1 other carl "$test_core" "$shooter" --players 3
    begun
    sleep 2
    kill -STOP "${pid[bob]}"
    sleep 1.5
    snap away
    kill -CONT "${pid[bob]}"
    sleep 3
    tell pause
    sleep 2.5
    snap paused
    tell resume
    sleep 0.5
    tell policy strict
    sleep 1
    kill -STOP "${pid[bob]}"
    sleep 2.6
    snap stalled
    kill -CONT "${pid[bob]}"
    sleep 1
    tell policy bounded
    sleep 4.5
    kill -STOP $(pgrep -P "${pid[ann]}") "${pid[ann]}"
    sleep 4
    kill -CONT $(pgrep -P "${pid[ann]}") "${pid[ann]}"
    check "screens/$scene-progress" "no picture of ten seconds has a bar that is on its way" catching_up 40 x6+0+0
    tiles+=("$tmp/catching-up.png")
    said ann 'out of sync' 40 || { show ann; fail "screens/$scene: the desync was not found"; }
    sleep 1.5
    snap desync
    montage "${tiles[@]}" -tile 3x2 -geometry +4+4 -background gray50 "$tmp/sheet.png"
    keep "$tmp/sheet.png" "$scene" 32
}

if scene states-160x144; then states 160x144 6000; fi
if scene states-640x480; then states 640x480 500; fi

declare -A game_of=([nestopia]=$shooter [gambatte]=$pads) scale_of=([nestopia]=2 [gambatte]=3)
# two NAME LINK CORE SECONDS STILL [SETTING…]: a scene of ann and bob, who play for so long; then bob stands still for so long (0: he
# does not), and the picture is taken. LINK: none, near (RTT 20), far (RTT 50, with some jitter).
two() {
    local name=$1 link_is=$2 core=$3 seconds=$4 still=$5
    shift 5
    scene "$name" || return
    case $link_is in
    near) through link --delay 10 --jitter 1 ;;
    far) through link --delay 25 --jitter 5 --loss 1 ;;
    esac
    [ $# = 0 ] || export "$@"
    ann "$core" "${game_of[$core]}" "${scale_of[$core]}"
    other bob "$core" "${game_of[$core]}"
    begun
    play "$seconds"
    [ "$still" = 0 ] || kill -STOP "${pid[bob]}"
    sleep "$still"
    shot "$name"
}
two panel far nestopia 14 0 KEYLOCK_PANEL=on
two panel-gb far gambatte 12 0 KEYLOCK_PANEL=on
two panel-optimistic far nestopia 14 0 KEYLOCK_PANEL=on KEYLOCK_POLICY=optimistic # the lead is that of the newest press
two line near nestopia 8 0 KEYLOCK_LINE=on
two line-gb near gambatte 8 0 KEYLOCK_LINE=on
two stalled none nestopia 4 4 KEYLOCK_POLICY=strict # such a room waits for ever
two stalled-drawn none gambatte 3 4 KEYLOCK_POLICY=strict KEYLOCK_DRAW=on KEYLOCK_PANEL=off
two stalled-panel none nestopia 8 3 KEYLOCK_POLICY=strict KEYLOCK_PANEL=on
two away none nestopia 4 1.5 KEYLOCK_POLICY=bounded # such a room goes on

# listed ARGUMENT…: RetroArch as its users have it, nestopia and gambatte installed; sets $window.
listed() {
    local n
    rm -rf "$tmp/ann"
    retroarch_home ann "${looks[@]}" "${no_sound[@]}" 'menu_driver = "xmb"' \
        'video_scale = "2.5"' "libretro_directory = \"$tmp/ann/cores\"" "libretro_info_path = \"$tmp/ann/info\"" \
        "rgui_browser_directory = \"$tmp/ann/games\""
    mkdir -p "$tmp/ann/cores" "$tmp/ann/info" "$tmp/ann/games"
    cp "$shooter" "$tmp/ann/games"
    for n in nestopia gambatte mgba; do
        ln -s "$(core_path $n)" "$tmp/ann/cores"
        ln -s "/usr/share/libretro/info/${n}_libretro.info" "$tmp/ann/info"
    done
    home_of ann
    env "${home[@]}" "$keylock" install nestopia gambatte --wrapper "$wrapper" >"$tmp/install.log" 2>&1 ||
        { show install; die "screens/$scene: keylock install"; }
    echo "relay = $relay" >"$tmp/ann/system/keylock.cfg"
    start ann env "${home[@]}" retroarch -v "$@"
    eventually 20 window_of ann >/dev/null || { show ann; die "screens/$scene: RetroArch shows no window"; }
    sleep 2
    window=$(window_of ann)
}
keys() {
    local key
    for key in "$@"; do
        press "$window" "$key"
        sleep 0.3
    done
}

if scene core-list; then
    listed --menu
    keys Down x x Down x # Load Content, Start Directory, the game
    sleep 2
    shot core-list
fi

if scene core-options; then
    listed -L "$tmp/ann/cores/nestopia_keylock_libretro.so" "$shooter"
    keys F1 Down Down Down Down Down Down Down Down x Up x
    sleep 1
    shot core-options
fi

if scene practice; then
    export KEYLOCK_MODE=quick
    listed -L "$tmp/ann/cores/nestopia_keylock_libretro.so" "$shooter"
    said ann 'waiting' 20
    play 3
    shot practice
fi

if scene begin; then # the players and their numbers, for three seconds, once RetroArch's own lines are gone
    ann nestopia "$shooter" 2
    other bob nestopia "$shooter"
    begun
    sleep 4.5
    shot begin
fi

if scene leaving; then # Select and B, held
    ann nestopia "$shooter" 2
    other bob nestopia "$shooter"
    begun
    play 9
    xdotool windowfocus --sync "$window" keydown Shift_R sleep 0.8 keydown z sleep 0.7
    shot leaving
    xdotool keyup z keyup Shift_R
fi

if scene panel-voice; then # both speak: ann at a sound server of the scenario's own
    . tests/e2e/lib_pulse.sh
    start_pulse server
    python3 "$speech" make "$tmp/says.wav" 60 1
    start mouth pacat -p -d mic --rate=48000 --channels=1 --format=s16le --raw "$tmp/says.wav"
    export KEYLOCK_PANEL=on KEYLOCK_VOICE=on
    ann nestopia "$shooter" 2
    other bob nestopia "$shooter" --voice on --voice-in "$tmp/says.wav" --voice-out "$tmp/bob-hears.wav"
    begun
    play 8
    shot panel-voice
    unset KEYLOCK_VOICE
fi

if scene waiting; then
    ann nestopia "$shooter" 2
    sleep 6
    shot waiting
fi

if scene beside; then # another room of the game is open
    start bob "$keylock" run --quiet --core nestopia --content "$shooter" --relay "$relay" --room friends --name bob \
        --speed real --frames 100000
    said relay 'joined room="friends"' 10
    ann nestopia "$shooter" 2
    said ann 'also open' 20
    sleep 0.5
    shot beside
fi

if scene waiting-drawn; then
    export KEYLOCK_DRAW=on
    ann gambatte "$pads" 3
    sleep 6
    shot waiting-drawn
fi

if scene chat; then # in the letters of the package unifont
    ann nestopia "$shooter" 2
    other bob nestopia "$shooter"
    begun
    play 2
    for n in 'hallo ann!' 'höher, ты где? 対戦'; do
        "$keylock" command --pid "${pid[bob]}" say "$n" >"$tmp/tell.log" 2>&1 || fail "screens/chat: $(cat "$tmp/tell.log")"
    done
    said ann 'bob .2.: .*対戦' 5
    plays ann 10
    shot chat
fi

if scene away-panel; then
    export KEYLOCK_POLICY=bounded KEYLOCK_PANEL=on
    ann nestopia "$shooter" 2
    other bob nestopia "$shooter"
    begun
    play 6
    kill -STOP "${pid[bob]}"
    play 4
    shot away-panel
fi

if scene catching-up; then # a machine that stood still for some seconds, with a core that takes its time
    export KEYLOCK_POLICY=bounded KEYLOCK_DRAW=on
    ann bsnes_mercury_performance "$snes" 2
    other bob bsnes_mercury_performance "$snes"
    begun
    play 3
    kill -STOP $(pgrep -P "${pid[ann]}") "${pid[ann]}"
    sleep 13
    kill -CONT $(pgrep -P "${pid[ann]}") "${pid[ann]}"
    check screens/progress "no picture of ten seconds has a bar that is on its way" catching_up 60 x3+0+5
    keep "$tmp/catching-up.png" catching-up
fi

if scene returning; then # bob's link is dead for some seconds: his screen, ann's, and hers when he is back
    export KEYLOCK_POLICY=bounded
    tiles=()
    ann nestopia "$shooter" 2
    through link --delay 10
    wrapped bob nestopia "$shooter" 2
    begun
    anns=$window bobs=$(window_of bob)
    play 3
    xdotool windowmove "$bobs" 540 0
    kill -USR1 "${pid[link]}"
    sleep 1.5
    window=$anns
    snap ann-away
    said bob 'connection lost' 15 || show bob
    sleep 2.5
    window=$bobs
    snap bob-lost
    kill -USR1 "${pid[link]}"
    said ann 'bob .[12]. is back' 15 || { show ann bob; fail "screens/returning: bob does not come back"; }
    window=$anns
    best=0
    for n in 0 1 2 3 4 5 6 7; do # it slides in, and fades again: the one in which it is brightest
        sleep 0.25
        import -window "$window" -depth 8 "$tmp/back-$n.png"
        bright=$(convert "$tmp/back-$n.png" -gravity SouthWest -crop 180x30+4+4 -threshold 70% -format '%[fx:int(10000*mean)]' info:)
        [ "$bright" -gt "$best" ] && { best=$bright; cp "$tmp/back-$n.png" "$tmp/ann-back.png"; }
    done
    check screens/returning "no picture of eight shows that bob is back" test "$best" -gt 100
    montage "$tmp/bob-lost.png" "$tmp/ann-away.png" "$tmp/ann-back.png" -tile 3x1 -geometry +4+4 -background gray50 "$tmp/sheet.png"
    keep "$tmp/sheet.png" returning 48
fi

if scene paused; then # by the hot key: Select held, then L
    export KEYLOCK_POLICY=bounded
    ann nestopia "$shooter" 2
    other bob nestopia "$shooter"
    begun
    play 4
    xdotool windowfocus --sync "$window" keydown Shift_R sleep 0.8 keydown q sleep 0.3 keyup q keyup Shift_R
    sleep 3
    shot paused
fi

if scene panel-640x480; then # no free core draws so large a picture: a test core does
    through link --delay 25 --jitter 5 --loss 1
    export KEYLOCK_PANEL=on PROBE_CORE=size:640x480
    ann "$test_core" "$shooter" 1 --players 3
    other bob "$test_core" "$shooter" --players 3
    other carl "$test_core" "$shooter" --players 3
    begun
    play 14
    shot panel-640x480
fi

if scene panel-turned; then # as arcade games for upright screens do
    export KEYLOCK_PANEL=on PROBE_CORE=size:384x224,turn:1
    ann "$test_core" "$shooter" 3
    other bob "$test_core" "$shooter"
    begun
    play 6
    shot panel-turned
fi

if scene windows; then # RetroArch for Windows, framed as Wine frames windows on a desktop of its own; and RetroArch for Linux
    . tests/e2e/lib_wine.sh
    wine_retroarch_builds
    (. tests/tools/own_apt.sh && install_missing fonts-wine)
    cp /usr/share/wine/fonts/marlett.ttf "$WINEPREFIX/drive_c/windows/Fonts/" # the signs on the frame's buttons
    ann nestopia "$shooter" 2
    xdotool windowmove "$window" 536 23
    wine_home bob "${looks[@]}" "${no_sound[@]}"
    knows=(KEYLOCK_RELAY="$relay" KEYLOCK_ROOM="$room")
    desktop=(explorer "/desktop=keylock,520x475")
    wine_plays bob "$shooter"
    begun
    play 6
    halves_equal() { # both in the same frame
        import -window root -crop 1048x475+0+0 +repage -depth 8 "$tmp/windows.png"
        convert "$tmp/windows.png" -crop 512x448+4+23 +repage "$tmp/left.png"
        convert "$tmp/windows.png" -crop 512x448+536+23 +repage "$tmp/right.png"
        [ "$(compare -metric AE "$tmp/left.png" "$tmp/right.png" null: 2>&1)" = 0 ]
    }
    check screens/windows-frame "no picture has both windows in one frame" eventually 20 halves_equal
    keep "$tmp/windows.png" windows
    knows=() desktop=()
fi

# parted NAME SECONDS [SETTING]: bob's core reads chance that the world cannot replace; the picture so long after that was found.
parted() {
    scene "$1" || return
    [ $# = 2 ] || export "$3"
    PROBE_CORE=size:256x224 ann "$test_core" "$shooter" 2 --players 3
    PROBE_CORE=size:256x224,entropy:300 other bob "$test_core" "$shooter" --players 3
    PROBE_CORE=size:256x224 other carl "$test_core" "$shooter" --players 3
    begun
    said ann 'out of sync' 20 || { show ann; fail "screens/$1: it was not found"; }
    sleep "$2"
    shot "$1"
}
parted desync 1
parted desync-panel 2 KEYLOCK_PANEL=on

if scene differ; then # the machines part again and again, and the players are asked
    PROBE_CORE=size:256x224,entropy:300 ann "$test_core" "$shooter" 2
    PROBE_CORE=size:256x224,entropy:300 other bob "$test_core" "$shooter"
    begun
    said relay 'event=asks_to_play_on' 30 || { show relay; fail "screens/differ: nobody was asked"; }
    said ann 'machines differ' 10
    sleep 1
    shot differ
fi

if scene refused; then # the room plays something else
    other bob gambatte "$pads"
    said relay 'refused' 1
    sleep 1
    ann nestopia "$shooter" 2
    sleep 4
    shot refused
fi

if scene gone; then # the relay ends: the last scene
    ann nestopia "$shooter" 2
    other bob nestopia "$shooter"
    begun
    play 4
    stop relay
    sleep 2
    shot gone
fi
finish
