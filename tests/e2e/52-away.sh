#!/usr/bin/env bash
# 52-away.sh - two real RetroArch in a bounded room: one opens its menu or pauses and the other plays on, seeing who is
# away; a reset by the frontend's key and a pause by the pad's hot key are everybody's.
# limit: 240
. "$(dirname "$0")/lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$content/shooter.nes"
for program in retroarch Xvfb xdotool; do
    command -v $program >/dev/null || { skip "away: no $program"; finish; }
done
core_path nestopia >/dev/null || { skip "away: no nestopia"; finish; }

# ann's RetroArch stops the core behind its menu, as it does for those who start it without the launcher.
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
wrapped bob
for who in ann bob; do
    said $who 'playing ' 30 || { show $who relay; die "away/start: $who's game did not begin"; }
done
left=$(window_of ann) && right=$(window_of bob) || die "away/start: a window is missing"
xdotool windowmove "$right" 592 0
press "$left" Return
sleep 3

times() { grep -acE "$2" "$tmp/$1.log"; }
away() { # WHAT KEY: ann's frontend stops for 3 s, and goes on
    local gone back
    gone=$(times bob 'ann is away') back=$(times bob 'ann is back')
    press "$left" "$2"
    eventually 3 eval '[ "$(times bob "ann is away")" -gt '"$gone"' ]'
    check "away/$1-told" "bob's log does not tell that ann is away" test "$(times bob 'ann is away')" -gt "$gone"
    local before after
    before=$(wc -l <"$tmp/bob.hash")
    sleep 3
    after=$(wc -l <"$tmp/bob.hash")
    check "away/$1-others-play" "bob's game made $((after - before)) hashes in 3 s" test $((after - before)) -ge 2
    press "$left" "$2"
    eventually 5 eval '[ "$(times bob "ann is back")" -gt '"$back"' ]'
    check "away/$1-back" "bob's log does not tell that ann is back" test "$(times bob 'ann is back')" -gt "$back"
    sleep 2
}
away menu F1
away pause p

press "$left" h
eventually 5 eval '[ "$(times bob "\[f [0-9]+\] ann: reset")" -gt 0 ]'
check away/reset "bob's log does not tell of ann's reset" grep -aqE '\[f [0-9]+\] ann: reset' "$tmp/bob.log"

# Right shift is Select, q is L: held, then pressed.
hot() { xdotool windowfocus --sync "$1" keydown Shift_R sleep 0.7 keydown q sleep 0.1 keyup q keyup Shift_R; }
hot "$right"
eventually 5 eval '[ "$(times ann "\[f [0-9]+\] bob: pause")" -gt 0 ]'
check away/hot-key "ann's log does not tell of bob's pause" grep -aqE '\[f [0-9]+\] bob: pause' "$tmp/ann.log"
sleep 1
before=$(wc -l <"$tmp/bob.hash")
sleep 2
check away/pause "the game goes on" test "$(wc -l <"$tmp/bob.hash")" = "$before"
hot "$left"
eventually 5 eval '[ "$(times bob "ann goes on with the game")" -gt 0 ]'
check away/resume "bob's log does not tell that ann goes on" grep -aq 'ann goes on with the game' "$tmp/bob.log"
"$keylock" command --pid "$(pgrep -P "${pid[ann]}" retroarch || echo "${pid[ann]}")" say from the shell >"$tmp/shell" 2>&1
check away/shell "$(cat "$tmp/shell")" grep -q '^given' "$tmp/shell"
eventually 5 eval '[ "$(times bob "ann: from the shell")" -gt 0 ]'
check away/chat "bob does not see it" grep -aqE '\[f [0-9]+\] ann: from the shell' "$tmp/bob.log"
sleep 3
[ -z "${PICTURE:-}" ] || import -window root "$PICTURE"
for who in ann bob; do
    stop $who
    check "away/end-$who" "it does not end in peace" test $? = 0
done
"$keylock" diff "$tmp/ann.hash" "$tmp/bob.hash" >"$tmp/diff.log" 2>&1
status=$? # a $? behind a "$(…)" would be that one's
check away/hashes "$(tail -n 1 "$tmp/diff.log")" test $status = 0
check away/moves "the hashes do not change" hashes_move "$tmp/bob.hash"
if grep -aqE 'desync=[0-9]' "$tmp/ann.log" "$tmp/bob.log"; then fail "away/desync: the relay found one"; fi
finish
