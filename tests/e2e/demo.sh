#!/usr/bin/env bash
# demo.sh [headless] - `make demo`: a relay on loopback and two RetroArch of the bundled game in lock, side by side.
#
# With a display two people play, each in a window; it ends with the windows. RTT=100: over a link so long.
# Without one, or with the argument, it plays by script on a display of its own for some 20 s, prints both sides' figures, saves one
# picture of both windows in the same frame, with both ships, to build/demo.png, and fails if the two sides differ or one did not
# play. Then they play over RTT 100, and ann runs ahead of the lock: build/demo-ahead.png has her ship where she has just flown it,
# and in bob's window where it is in the lock.
. "$(dirname "$0")/lib.sh"

game=$content/shooter.nes
picture=build/demo.png
needs "$keylock" "$relay_program" "$wrapper" "$proxy" "$game"
core_path nestopia >/dev/null || die "demo: no nestopia core: apt-get install libretro-nestopia"
SHOW_LINES=12
NEAR=6 ONE_LIFE=48

player() { # NAME ARGUMENT…: joins the room
    local name=$1
    shift
    start_retroarch "$name" "$@" --core nestopia --content "$game" -- -v
}

# Ann makes the room; bob uses the invitation that her keylock prints.
both() { # ROOM RELAY AHEAD_OF_ANN AHEAD_OF_BOB
    player ann --relay "$2" --room "$1" --players 2 --ahead "$3"
    said ann 'keylock://' 20 || { show ann; die "demo: ann's keylock says no invitation"; }
    next_second # two machines do not start in the same one
    invitation=$(grep -ao 'keylock://.*' "$tmp/ann.log" | head -n 1)
    player bob "$invitation" --ahead "$4"
}

window() { # NAME: waits for its window and sets $id
    eventually 20 window_of "$1" >/dev/null && id=$(window_of "$1")
}

# Two windows in one row; sets $left and $right, and their size. Fails if they cannot be found (a desktop may hide them from
# us).
side_by_side() {
    local WIDTH HEIGHT
    window ann && left=$id && window bob && right=$id || return
    eval "$(xdotool getwindowgeometry --shell "$left" | grep -E '^(WIDTH|HEIGHT)=')"
    width=$WIDTH height=$HEIGHT
    xdotool windowmove "$left" 0 0 windowmove "$right" $((width + GAP)) 0
}

# --- with a display -------------------------------------------------------------------------------------------

by_hand() {
    GAP=16
    retroarch_home ann
    retroarch_home bob 'audio_mute_enable = "true"' # the same sound twice is an echo
    link=$relay
    [ -z "${RTT:-}" ] || through link --delay $((RTT / 2))
    both demo "$link" auto auto
    side_by_side || note "the windows could not be placed side by side"
    for who in ann bob; do running $who || { show $who; die "demo: $who's RetroArch did not start"; }; done
    cat <<END
Two RetroArch windows play one game, locked frame by frame through $relay; bob came by ann's invitation,
  keylock play $invitation
 The window with the focus gets your keys:
  arrows  fly        z  fire        Enter  start        (F1: RetroArch's menu; the game goes on behind it)
The left window is player 1, the right one player 2. Close both windows to end.
END
    while running ann || running bob; do glance; done
    stop ann
    stop bob
    report
    finish
}

# --- without one ----------------------------------------------------------------------------------------------

# Each window in turn has the focus for a third of a second, and holds fire and a direction. Start brings back a ship that lost all
# its lives; else it does nothing.
play() { # SECONDS
    local until=$((SECONDS + $1)) turn=0 directions=(Left Up Right Down Right Left Up Right) direction
    while [ "$SECONDS" -lt "$until" ]; do
        for id in "$left" "$right"; do
            direction=${directions[$((turn++ % 8))]}
            hold "$id" 0.2 z "$direction"
            hold "$id" 0.1 z "$direction" Return
        done
        running ann && running bob || return 1
    done
}

# The emulated picture of a half of the shot, as a sum.
half() { # FILE X
    convert "$1" -crop "${width}x$height+$2+0" +repage -depth 8 rgb:- | md5sum
}

# The columns of both ships in both windows of the shot; "-" for one that is not there: it burns, or blinks after that.
ships() { # SHOT: sets $ann_left, $bob_left, $ann_right, $bob_right
    read -r ann_left bob_left ann_right bob_right < <(tests/e2e/ships.py "$1" "$width" "$GAP")
}

# A shot of the whole screen catches two processes that draw 60 times a second each; if both windows hold the very same pixels,
# while the pictures before and after are others, they show the same frame. With both ships in it, it is the picture.
take_picture() {
    local n l r before=
    same=0 shots=0 moving=0 whole=0
    for n in $(seq 80); do
        import -window root -depth 8 "$tmp/shot.png" || return 1
        l=$(half "$tmp/shot.png" 0)
        r=$(half "$tmp/shot.png" $((width + GAP)))
        shots=$((shots + 1))
        [ -z "$before" ] || [ "$l" = "$before" ] || moving=$((moving + 1))
        before=$l
        if [ "$l" = "$r" ]; then
            same=$((same + 1))
            ships "$tmp/shot.png"
            case "$ann_left $bob_left $ann_right $bob_right" in
            *-*) ;;
            *)
                whole=$((whole + 1))
                cp "$tmp/shot.png" "$tmp/whole.png"
                ;;
            esac
        fi
        [ $same -ge 3 ] && [ $moving -ge 3 ] && [ $whole -gt 0 ] && return 0
        [ $((n % 4)) != 0 ] || play 1
    done
    return 1
}

# A line of the wrapper's log at the end of a session, else of its trace.
report() {
    local who
    for who in ann bob; do
        grep -aoE 'session frames=.*' "$tmp/$who.log" | tail -n 1 | sed "s/^/     $who: /"
        [ ! -s "$tmp/$who.hash" ] || echo "     $who: last hash: $(tail -n 1 "$tmp/$who.hash") (frame, RAM, state; $(wc -l <"$tmp/$who.hash") hashes)"
    done
}

# Ann flies to and fro, and the shot of the greatest distance is kept. Her key is down some time after xdotool began, so there are
# several shots of each flight. In a frame a ship flies two
# pixels: at less than NEAR the windows may only be some frames apart, and ONE_LIFE or more lies between two of her lives.
take_ahead() {
    local n shot there=0 shots=0 far=0 sign=1
    for n in $(seq 40); do
        hold "$left" 0.4 z $([ $sign = 1 ] && echo Right || echo Left) &
        for shot in 1 2 3; do
            glance
            import -window root -depth 8 "$tmp/shot$shot.png"
        done
        wait $!
        for shot in 1 2 3; do
            shots=$((shots + 1))
            ships "$tmp/shot$shot.png"
            case "$ann_left $bob_left $ann_right $bob_right" in *-*) continue ;; esac
            there=$((there + 1))
            [ $((sign * (ann_left - ann_right))) -gt $far ] && [ $((sign * (ann_left - ann_right))) -lt $ONE_LIFE ] || continue
            far=$((sign * (ann_left - ann_right)))
            cp "$tmp/shot$shot.png" "$tmp/far.png"
        done
        [ "$n" -lt 12 ] || [ $far -lt $NEAR ] || break
        [ $((n % 4)) != 0 ] || play 1
        sign=$((-sign))
    done
    check demo/ahead "ann's ship is $far of the game's pixels further in her own window than in bob's, expected $NEAR; $there of $shots shots have both ships in both windows" \
        test $far -ge $NEAR
    grep -aE 'no running ahead|presses wait' "$tmp/ann.log"
    [ $far -ge $NEAR ] || return
    cp "$tmp/far.png" build/demo-ahead.png
    note "build/demo-ahead.png: ann's ship is $far of the game's pixels further in her own window than in bob's; $there of $shots shots have both ships in both windows"
}

begins() { # after both
    side_by_side || { show ann bob; die "demo: a RetroArch shows no window"; }
    for who in ann bob; do
        said $who 'playing ' 30 || { show $who relay; die "demo: $who's game did not begin"; }
    done
    plays ann 60
    press "$left" Return 0.2
    press "$right" Return 0.2
}

ends() {
    local status
    for who in ann bob; do
        stop $who
        status=$?
        [ $status = 0 ] || { fail "demo/end: $who's RetroArch ended with exit status $status"; show $who; }
    done
    report
}

by_script() {
    GAP=8
    start_xvfb 1180x448
    retroarch_home ann "${no_sound[@]}"
    retroarch_home bob "${no_sound[@]}"
    echo "two RetroArch of $(basename "$game") on nestopia, in lock through $relay, played by script for 20 s"
    both demo "$relay" off off
    watch watch ann bob relay xvfb
    begins
    play 12 || { show ann bob; die "demo: a RetroArch ended while it played"; }
    if take_picture; then
        cp "$tmp/whole.png" "$picture"
        ok "demo/picture: $picture, both ships in both windows in the same frame: $same of $shots shots have equal halves, $whole of these both ships, and the picture moved between them"
    else
        cp "$tmp/shot.png" build/demo-unequal.png
        fail "demo/picture: $same of $shots shots have equal halves, $whole of these both ships; $moving times the picture moved; see build/demo-unequal.png"
    fi
    play 4
    stop watch
    ends
    judge
    echo "the same over RTT 100, and ann runs ahead of the lock"
    through link --delay 50
    # `auto` finds no time to run ahead where two RetroArch share two processors with the program that draws for them.
    both ahead "$link" 8 off
    begins
    play 12 # one frame more ahead in each second
    take_ahead
    ends
    equal demo ann bob
    finish
}

# Did both play, for long enough, and the same game?
judge() {
    local who
    for who in ann bob; do
        python3 tests/e2e/judge_trace.py "demo/$who" "$tmp/$who.csv" --after 5 --fps 60 --min-share 0.98 \
            --watch "$tmp/watch.log" || checks_failed=1
    done
    equal demo ann bob
    check demo/moves "the hashes do not change: nobody played" hashes_move "$tmp/ann.hash" 10
    if grep -aqE 'desync=[0-9]' "$tmp/ann.log" "$tmp/bob.log"; then fail "demo/desync: the relay found a desync"; fi
}

start_relay
case "${1:-}" in
headless) by_script ;;
'') if [ -n "${DISPLAY:-}" ]; then by_hand; else by_script; fi ;;
*) die "demo: expected headless or nothing, got \"$1\"" ;;
esac
