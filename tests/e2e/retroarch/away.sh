#!/usr/bin/env bash
# retroarch/away.sh - two real RetroArch in a bounded room: a RetroArch that stops its core behind its menu, or pauses, is away; the
# other plays on and shows the name. A RetroArch of keylock play goes on behind its menu, with its pads neutral, and is not
# away. A dragged window holds up a bounded room for its budget at most. A reset by the frontend's key and a pause by the pad's
# hot key count for all. A hot key that is held for two seconds leaves the room.
# runs: waiting, all, 65 s
# instead: `retroarch/room`; `test_away`
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$content/shooter.nes"
for program in retroarch Xvfb xdotool; do
    command -v $program >/dev/null || { skip "away: no $program"; finish; }
done
core_path nestopia >/dev/null || { skip "away: no nestopia"; finish; }

# ann's RetroArch stops the core behind its menu, as it does without the launcher. bob's RetroArch goes on.
for who in ann bob; do
    retroarch_home $who "${no_sound[@]}" 'menu_pause_libretro = "true"' 'pause_nonactive = "false"'
done
start_xvfb 1180x448
start_relay
wrapped() { # NAME
    home_of "$1"
    start "$1" env "${home[@]}" KEYLOCK_HASH_OUT="$tmp/$1.hash" KEYLOCK_TRACE="$tmp/$1.csv" KEYLOCK_NAME="$1" \
        KEYLOCK_CORE="$(core_path nestopia)" KEYLOCK_RELAY="$relay" KEYLOCK_ROOM=pair \
        retroarch -v -L "$wrapper" "$content/shooter.nes"
}
wrapped ann
said relay 'event=joined .*name="ann"' 30 || { show ann relay; die "away: ann does not join"; }
start_retroarch bob --core nestopia --content "$content/shooter.nes" --relay "$relay" --room pair \
    --hotkeys "select+l:pause,select+x:say well, ann,select+b:leave" -- -v
for who in ann bob; do
    said $who 'playing ' 30 || { show $who relay; die "away/start: $who's game did not begin"; }
done
left=$(window_of ann) && right=$(window_of bob) || die "away/start: a window is missing"
xdotool windowmove "$right" 592 0
press "$left" Return
plays bob 120

times() { grep -acE "$2" "$tmp/$1.log"; }
away() { # WHAT KEY: ann's frontend stops for 3 s, and goes on
    local gone back
    gone=$(times bob 'goes on without ann .[12].') back=$(times bob 'ann .[12]. is back')
    press "$left" "$2"
    eventually 3 eval '[ "$(times bob "goes on without ann .[12].")" -gt '"$gone"' ]'
    check "away/$1-told" "bob's log has no line about ann's absence" test "$(times bob 'goes on without ann .[12].')" -gt "$gone"
    check "away/$1-others-play" "bob's game stands still at frame $(frame_of bob)" plays bob 150 5
    press "$left" "$2"
    eventually 5 eval '[ "$(times bob "ann .[12]. is back")" -gt '"$back"' ]'
    check "away/$1-back" "bob's log has no line about ann's return" test "$(times bob 'ann .[12]. is back')" -gt "$back"
    plays ann 60
}
away menu F1
away pause p

# bob's menu: bob's core goes on, and he is not away; presses in the menu do not reach the game.
hot() { chord "$1" Shift_R "${2:-q}"; } # WINDOW [KEY]
press "$right" F1
plays bob 60
before=$(frame_of bob)
hot "$right"
plays bob 120
after=$(frame_of bob)
# A short hitch of his machine is no menu: after it he would be back at once.
eventually 4 eval '[ "$(times ann "goes on without bob .[12].")" = "$(times ann "bob .[12]. is back")" ]'
check away/launcher-not-away "ann's log has a line about bob's absence" test "$(times ann 'goes on without bob .[12].')" = "$(times ann 'bob .[12]. is back')"
press "$right" F1
check away/launcher-goes-on "bob's own game made $((after - before)) frames behind his menu" test $((after - before)) -ge 120
check away/launcher-pads "a hot key pressed in bob's menu was his game's" test "$(times ann 'bob .[12].: pause')" = 0

# A window that is dragged: its process runs for 20 ms of every 120. The others play on.
fps_of_bob() { # DURING COMMAND…: frames a second while that runs, less the time that the machine stood still
    local from at now
    from=${EPOCHREALTIME/./} at=$(frame_of bob)
    "$@"
    now=${EPOCHREALTIME/./}
    echo $((($(frame_of bob) - at) * 1000000 / (now - from - 1000 * $(stood_ms watch "$from" "$now"))))
}
drag() {
    for _ in $(seq 40); do
        kill -STOP "${pid[ann]}"
        lasts 0.1 "a drag's standstill"
        kill -CONT "${pid[ann]}"
        lasts 0.02 "its turn"
    done
}
dragged() { # POLICY LEAST: in a room of that policy bob plays at so many fps
    local quiet busy
    "$keylock" command --pid "${pid[ann]}" policy "$1" >"$tmp/shell" 2>&1 || fail "away/drag-$1: $(cat "$tmp/shell")"
    eventually 5 eval '[ "$(times bob "ann .[12].: policy '"$1"'")" -gt 0 ]'
    plays bob 60
    quiet=$(fps_of_bob plays bob 180)
    busy=$(fps_of_bob drag)
    if [ "$quiet" -lt 58 ]; then
        note "away/drag-$1: this machine makes $quiet fps of a room where nothing is dragged: $busy with it says nothing"
    else
        in_time check "away/drag-$1" "bob plays at $busy fps while ann's window is dragged, at $quiet before" test "$busy" -ge "$2"
    fi
    plays ann 60
}
watch watch bob relay xvfb
dragged optimistic 55
dragged bounded 50 # the room waits for her until its budget is used up, once or twice in that time: half a second of five

press "$left" h
check away/rematch "bob is not asked" said bob 'ann .[12]. wants a rematch: agree within 10 s' 5
check away/rematch-asked "ann alone has reset the game" eval '! grep -aqE "\[f [0-9]+\] ann .[12].: reset" "$tmp/bob.log"'
press "$right" h
check away/reset "bob's log does not tell of the reset" said bob '\[f [0-9]+\] ann .[12].: reset' 5

# Right shift is Select, q is L and s is X: held, then pressed.
hot "$right" s
eventually 5 eval '[ "$(times ann "\[f [0-9]+\] bob .[12].: well, ann")" -gt 0 ]'
check away/hot-words "ann's log lacks the chat line of bob's hot key" grep -aqE '\[f [0-9]+\] bob .[12].: well, ann$' "$tmp/ann.log"
plays bob 30
hot "$right"
eventually 5 eval '[ "$(times ann "\[f [0-9]+\] bob .[12].: pause")" -gt 0 ]'
check away/hot-key "ann's log does not tell of bob's pause" grep -aqE '\[f [0-9]+\] bob .[12].: pause' "$tmp/ann.log"
stood_still() { local was; was=$(frame_of bob); stays 1 eval '[ "$(frame_of bob)" = '"$was"' ]'; }
check away/pause "the game goes on" eventually 5 stood_still
hot "$left"
eventually 5 eval '[ "$(times bob "ann .[12]. resumes the game")" -gt 0 ]'
check away/resume "bob's log has no line about ann's resume" grep -aq 'ann .[12]. resumes the game' "$tmp/bob.log"
"$keylock" command --pid "$(pgrep -P "${pid[ann]}" retroarch || echo "${pid[ann]}")" say from the shell >"$tmp/shell" 2>&1
check away/shell "$(cat "$tmp/shell")" grep -q '^given' "$tmp/shell"
eventually 5 eval '[ "$(times bob "ann .[12].: from the shell")" -gt 0 ]'
check away/chat "bob's log lacks ann's chat line" grep -aqE '\[f [0-9]+\] ann .[12].: from the shell' "$tmp/bob.log"
plays bob 120
[ -z "${PICTURE:-}" ] || import -window root "$PICTURE"
chord "$right" Shift_R z 1 # Select and B: he thinks better of it
plays bob 60
check away/stays "bob has left" eval '! grep -aq "left room=.pair.*name=.bob" "$tmp/relay.log"'
chord "$right" Shift_R z 2.6
check away/leaves "bob has not left" said relay 'left room="pair".*name="bob"' 5
check away/goes-on-alone "bob's log does not say so" said bob 'you left; the game goes on alone' 2
plays ann 60
for who in ann bob; do
    stop $who
    check "away/end-$who" "exit status $?, expected 0" test $? = 0
done
equal away ann bob
check away/moves "the hashes do not change" hashes_move "$tmp/bob.hash"
if grep -aqE 'desync=[0-9]' "$tmp/ann.log" "$tmp/bob.log"; then fail "away/desync: the relay found one"; fi
finish
