#!/usr/bin/env bash
# recording/replay.sh - `keylock replay` describes a recording and exports it: `keylock run` plays the inputs with the recording's
# hashes, and RetroArch's own run of the .replay comes to our state, but for the bytes that hold the clock. RetroArch opens on a
# recording: whatever way the player seeks, each hash there is the recording's, also of a core whose states are not all of it; and the
# player plays on from there, alone or in a room whose others agree to that.
# instead: `test_own_states`, the states of a seek; `recording/files`, recordings verified
# runs: working, all, 50 s: KL_RETROARCH=1.20
. "$(dirname "$0")/../lib.sh"

FRAMES=600
needs "$keylock" "$wrapper" "$content/shooter.nes" "$content/pads.gb"
nestopia=$(core_path nestopia) && gambatte=$(core_path gambatte) || die "replay: no nestopia or gambatte"

# record NAME CORE CONTENT
record() {
    "$keylock" run --quiet --core "$2" --content "$content/$3" --frames $FRAMES --input random:7 --hash-every 60 \
        --record "$tmp/$1.klr" --hash-out "$tmp/$1.hash" >"$tmp/$1.log" 2>&1 || fail "replay/$1-run: exit status $?"
}
record nestopia "$nestopia" shooter.nes
record gambatte "$gambatte" pads.gb

"$keylock" replay --info "$tmp/nestopia.klr" >"$tmp/info" || fail "replay/info: exit status $?"
check replay/info "$(cat "$tmp/info")" grep -qx "frames   0 to $((FRAMES - 1))" "$tmp/info"
"$keylock" replay --json "$tmp/nestopia.klr" | python3 -c '
import json, sys
j = json.load(sys.stdin)
assert j["frames"] == int(sys.argv[1]) and j["ended"] and j["hashes"] >= 10 and j["players"] == [] and j["end"] and not j["damage"], j' $FRAMES
check replay/json "exit status $?" test $? = 0

for core in nestopia gambatte; do
    game=$content/shooter.nes && [ $core = nestopia ] || game=$content/pads.gb
    "$keylock" replay "$tmp/$core.klr" --export-inputs "$tmp/$core.inputs" >"$tmp/$core.left" 2>&1 || fail "replay/$core-inputs: exit status $?"
    "$keylock" run --quiet --core $core --content "$game" --frames $FRAMES --input "$tmp/$core.inputs" --hash-every 1 --states "$tmp/$core.states" \
        --hash-out "$tmp/$core-again.hash" >"$tmp/again.log" 2>&1
    check replay/$core-same-hashes "exit status $?; $(tail -n 1 "$tmp/again.log")" \
        test "$(grep -cxFf "$tmp/$core.hash" "$tmp/$core-again.hash")" = $((FRAMES / 60))
done

"$keylock" replay "$tmp/nestopia.klr" --export-fm2 "$tmp/shooter.fm2" || fail "replay/fm2: exit status $?"
check replay/fm2 "$(tail -n 1 "$tmp/shooter.fm2")" eval '[ "$(grep -cE "^\|0\|[RLDUTSBA.]{8}\|[RLDUTSBA.]{8}\|\|$" "$tmp/shooter.fm2")" = $FRAMES ] && grep -q "A" "$tmp/shooter.fm2"'

# The wrapper in a headless frontend, with the keys of a script: right held, left, a step back and one on, go on.
printf '%s\n' '60 0 80' '80 0 0' '300 0 40' '305 0 0' '400 0 400' '401 0 0' '420 0 800' '421 0 0' '430 0 8' '431 0 0' >"$tmp/keys"
for core in nestopia gambatte; do
    game=$content/shooter.nes && [ $core = nestopia ] || game=$content/pads.gb
    "$keylock" run --quiet --core $core --content "$game" --frames 6000 --input random:7 --hash-every 60 --record "$tmp/$core-long.klr" \
        --hash-out "$tmp/$core-long.hash" >"$tmp/$core.log" 2>&1 || fail "replay/$core-long: exit status $?"
    KEYLOCK_REPLAY=$tmp/$core-long.klr KEYLOCK_HASH_EVERY=0 "$keylock" run --core $core --wrapper "$wrapper" --content "$game" --input "$tmp/keys" --seats 1 --speed max \
        --frames 5990 --hash-out "$tmp/$core-sought.hash" >"$tmp/$core-sought.log" 2>&1
    places=$(grep -ac 'core .*replay at frame=' "$tmp/$core-sought.log")
    check replay/$core-seeks "$places seeks; $(tail -n 2 "$tmp/$core-sought.log" | cut -c 1-300)" test "$places" -ge 3
    other=$(grep -vxFf "$tmp/$core-long.hash" "$tmp/$core-sought.hash" | wc -l)
    check replay/$core-sought "$other of $(wc -l <"$tmp/$core-sought.hash") hashes are not the recording's" \
        test "$other" = 0 -a "$(wc -l <"$tmp/$core-sought.hash")" -ge 90
done
check replay/nestopia-from-the-beginning "its turbo buttons are in no state" grep -aq 'replay without states' "$tmp/nestopia-sought.log"
check replay/gambatte-by-states "its states hold" test "$(grep -ac 'replay without states' "$tmp/gambatte-sought.log")" = 0

start_xvfb 640x480
retroarch_home ann "${no_sound[@]}" 'pause_nonactive = "false"'
home_of ann
start ann env "${home[@]}" KEYLOCK_HASH_OUT="$tmp/ann.hash" KEYLOCK_TRACE="$tmp/ann.csv" "$keylock" replay "$tmp/gambatte-long.klr" --content "$content" \
    --take-over 1 -- -v
said ann 'Start pause' 30 || { show ann; die "replay: RetroArch does not open on it"; }
eventually 10 window_of ann >/dev/null && window=$(window_of ann) || die "replay: no window"
plays ann 30 || fail "replay/begins: it does not play"
press "$window" x
press "$window" Right # once: at its end it would stand still
eventually 30 grep -aq 'replay at frame=' "$tmp/ann.log" || fail "replay/seek-on: no seek"
plays ann 90 || fail "replay/seek-on: it does not play on"
press "$window" Left
eventually 30 eval '[ "$(grep -ac "replay at frame=" "$tmp/ann.log")" -ge 2 ]' || fail "replay/seek-back: no seek"
plays ann 90 || fail "replay/seek-back: it does not play on"
import -window root "$tmp/replay.png" 2>/dev/null && colours=$(identify -format %k "$tmp/replay.png")
press "$window" a
said ann 'replay taken over frame=[0-9]+ seat=1$' 10 || fail "replay/retroarch-taken-over: $(tail -n 1 "$tmp/ann.log")"
plays ann 90 || fail "replay/retroarch-taken-over: it does not play on"
check replay/buttons-and-bar "a picture of ${colours:-no} colours" test "${colours:-0}" -ge 5
stop ann
check replay/retroarch-hashes "$(grep -vxFf "$tmp/gambatte-long.hash" "$tmp/ann.hash" | head -n 3)" \
    eval '[ "$(wc -l <"$tmp/ann.hash")" -ge 5 ] && ! grep -vxqFf "$tmp/gambatte-long.hash" "$tmp/ann.hash"'

# A challenge is played in RetroArch, alone, and handed in as it closes: by a service's end, too.
start_relay --journal "$tmp/journal" --record "$tmp/records" --state "$tmp/relay-state"
"$keylock" run --quiet --core gambatte --content "$content/pads.gb" --frames 1 --record "$tmp/records/challenges/pads.klr" >"$tmp/pads.log" 2>&1 ||
    die "replay/challenge: $(cat "$tmp/pads.log")"
start eve env "${home[@]}" KEYLOCK_TRACE="$tmp/eve.csv" "$keylock" play --challenge $relay/pads --content "$content" --name eve -- -v
said eve 'recording file=' 30 || { show eve; die "replay: RetroArch does not open on the challenge"; }
plays eve 60 || fail "replay/challenge-begins: it does not play"
window=$(xdotool search --onlyvisible --pid "$(pgrep -P "${pid[eve]}")" | head -n 1)
press "$window" z 0.5
press "$window" F2 # no states
plays eve 60 || fail "replay/challenge-plays: it does not play on"
kill -TERM "${pid[eve]}"
ended eve 30
check replay/challenge-handed-in "exit status $?: $(tail -n 3 "$tmp/eve.log")" grep -aq '^handed in: [0-9]* frames of the challenge pads' "$tmp/eve.log"
"$keylock" verify --core gambatte --content "$content" "$tmp"/records/new/*.klr >"$tmp/pads.log" 2>&1
check replay/challenge-verified "exit status $?: $(cat "$tmp/pads.log")" test $? = 0
check replay/challenge-pressed "$("$keylock" replay --info "$tmp"/records/new/*.klr)" eval '"$keylock" replay --info "$tmp"/records/new/*.klr | grep -qE "^inputs   [1-9]"'

# A room begins with frame 300 of a match of two. Its guests are asked; the match is verified from that state on.
# comes NAME OPTION…
comes() {
    start "$1" "$keylock" run --core gambatte --wrapper "$wrapper" --content "$content/pads.gb" --relay "$relay" --name "$1" --players 2 --seats 1 \
        --frames $FRAMES --wait 60 --hash-every 60 "${@:2}"
}
printf '%s\n' '300 0 2' '301 0 0' >"$tmp/keys"
export KEYLOCK_TAKE_OVER=2 KEYLOCK_TAKE_OVER_ROOM=anew
KEYLOCK_REPLAY=tests/content/recordings/gambatte.klr comes fay --input "$tmp/keys"
unset KEYLOCK_TAKE_OVER KEYLOCK_TAKE_OVER_ROOM
said fay 'replay opens room=anew frame=300 seat=2$' 20 || { show fay; die "replay: no room"; }
said relay 'joined room="anew"' 10
KEYLOCK_TRUST=off comes gus --room anew --input random:4
ended gus 20
status=$?
check replay/room-trusts-nobody "exit status $status" eval '[ $status = 4 ] && grep -q "have not agreed to another" "$tmp/gus.log"'
comes gil --room anew --input random:5
said gil 'asked: begin with frame 300 of room [0-9a-f]{12}: [^ ]+ \(1\), ' 20
check replay/room-asks "$(tail -n 2 "$tmp/gil.log")" test $? = 0
"$keylock" command --pid "${pid[gil]}" again >"$tmp/agreed" 2>&1
check replay/room-agreed "$(cat "$tmp/agreed")" grep -qx agreed "$tmp/agreed"
ends_well replay gil 60
ends_well replay fay 30
check replay/room-seat "fay plays as another" grep -aq 'players 1 and 2 swap seats' "$tmp/gil.log"
eventually 20 eval 'ls "$tmp"/records/new/*.klr | grep -q . && [ "$(ls "$tmp"/records/new/*.klr | wc -l)" = 2 ]'
"$keylock" verify --core gambatte --content "$content" "$(ls -t "$tmp"/records/new/*.klr | head -n 1)" >"$tmp/room.log" 2>&1
status=$?
check replay/room-verified "exit status $status: $(cat "$tmp/room.log")" eval '[ $status = 0 ] && grep -q "begun with a state, not at power-on: frame 300 of room" "$tmp/room.log"'
stop relay
"$keylock" verify --watch "$tmp/records" --database "$tmp/database" --once --json --core gambatte --content "$content" >"$tmp/beside.log" 2>&1
check replay/room-beside-the-relay "$(tail -n 2 "$tmp/beside.log")" grep -q 'state that a player.s machine made, which is run by hand alone' "$tmp/beside.log"

# RetroArch 1.14 has another form.
with_retroarch 1.20 || { skip "replay/retroarch: $(tail -n 1 "$tmp/fetch.log")"; finish; }
for core in nestopia gambatte; do
    game=$content/shooter.nes && [ $core = nestopia ] || game=$content/pads.gb
    "$keylock" replay "$tmp/$core.klr" --export-replay "$tmp/$core.replay" --content "$content" >"$tmp/$core.left" 2>&1 ||
        fail "replay/$core-replay: exit status $?: $(cat "$tmp/$core.left")"
    retroarch_home $core 'savestate_auto_save = "true"' 'video_driver = "null"' 'input_driver = "null"' 'savestate_file_compression = "false"'\
        "${no_sound[@]}"
    home_of $core
    start $core-retroarch env "${home[@]}" retroarch -v -L "$(core_path $core)" -P "$tmp/$core.replay" --max-frames=$((FRAMES - 60)) "$game"
done
# A busy machine's RetroArch counts frames that the core has not run: the state is of one of the last of these.
for core in nestopia gambatte; do
    ended $core-retroarch 30
    python3 - "$tmp/$core/state" "$tmp/$core.states" $FRAMES >"$tmp/$core.compared" <<'END_OF_PYTHON'
import glob, struct, sys
def state(path):
    data = open(path, "rb").read()
    assert data[:7] == b"RASTATE", data[:8]
    at = 8
    while at < len(data):
        name, size = struct.unpack_from("<4sI", data, at)
        if name == b"MEM ":
            return data[at + 8:at + 8 + size]
        at += 8 + (size + 7 & ~7)
theirs = state(glob.glob(sys.argv[1] + "/**/*.state.auto", recursive=True)[0])
def differ(path):
    ours = state(path)
    return sum(a != b for a, b in zip(ours, theirs)) + abs(len(ours) - len(theirs))
end = int(sys.argv[3]) - 60
for frame in sorted(range(end // 2, end), key=lambda f: differ("%s/%09d.state" % (sys.argv[2], f)))[:3]:
    print(frame, differ("%s/%09d.state" % (sys.argv[2], frame)))
END_OF_PYTHON
    note "$core: the frames whose states are nearest to RetroArch's, and the bytes that differ: $(paste -sd , "$tmp/$core.compared")"
    check replay/$core-retroarch "$(cat "$tmp/$core.compared"); $(tail -n 3 "$tmp/$core-retroarch.log")" \
        awk 'NR == 1 && $2 <= 16 { found = 1 } END { exit !found }' "$tmp/$core.compared"
done
finish
