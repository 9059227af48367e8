#!/usr/bin/env bash
# desync/parted.sh - two real RetroArch, one of which parts. The testers' tools find the frame and the byte in the files that both
# have kept (recording, hashes, states).
# runs: waiting, test, 15 s
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$content/shooter.nes"
for program in retroarch Xvfb xdotool; do
    command -v $program >/dev/null || { skip "parted: no $program"; finish; }
done
core=$(core_path nestopia) || { skip "parted: no nestopia"; finish; }
game=$content/shooter.nes
planted=277 # the byte is RAM that the game does not use
offset=0x6f0

start_xvfb 1180x448
start_relay
for who in ann bob; do retroarch_home $who "${no_sound[@]}" 'pause_nonactive = "false"'; done
# kept NAME: the settings with which a player keeps the files for a later search.
kept() { echo "KEYLOCK_RECORD=$tmp/$1.rec" "KEYLOCK_STATES=$tmp/$1.states"; }
export KEYLOCK_DESYNC=ignore KEYLOCK_PROFILE=off
export $(kept ann)
start_retroarch ann --core nestopia --content "$game" --relay "$relay" --room parted -- -v
next_second
export $(kept bob) KEYLOCK_CORRUPT=$planted:$offset
start_retroarch bob --core nestopia --content "$game" --relay "$relay" --room parted -- -v
unset KEYLOCK_RECORD KEYLOCK_STATES KEYLOCK_CORRUPT
for who in ann bob; do
    said $who 'playing ' 30 || { show $who relay; die "parted/start: $who's game did not begin"; }
done
left=$(window_of ann) && right=$(window_of bob) || die "parted/start: a window is missing"
for direction in Return z Left Right x Up; do
    for id in "$left" "$right"; do
        hold "$id" 0.2 $direction
    done
done
said relay 'event=desync' 20 || { show relay; die "parted/found: the relay found no desync"; }
found=$(grep -ao 'event=desync .*' "$tmp/relay.log" | grep -o ' frame=[0-9]*' | head -n 1)
found=${found#*=}
state_of() { echo "$tmp/$1.states/$(printf %09d "$found").state"; }
hashed() { grep -q "^$found " "$tmp/ann.hash" && grep -q "^$found " "$tmp/bob.hash"; }
eventually 10 eval 'test -s "$(state_of ann)" -a -s "$(state_of bob)" && hashed'
for who in ann bob; do
    stop $who
    status=$?
    check "parted/end-$who" "exit status $status" test $status = 0
done

check parted/next-hash "found at ${found:-no frame}; planted before $planted" test "${found:-0}" -ge $planted -a "${found:-0}" -le $((planted + 75))
"$keylock" diff "$tmp/ann.hash" "$tmp/bob.hash" >"$tmp/diff.log" 2>&1
check parted/diff "$(head -n 1 "$tmp/diff.log")" grep -q "^ram differs first at frame $found\b" "$tmp/diff.log"
for who in ann bob; do
    presses=$("$keylock" replay --text "$tmp/$who.rec" | grep -c '^input ')
    check "parted/recorded-$who" "$presses inputs" test "$presses" -gt 6
    check "parted/states-$who" "no state of frame $found: $(ls "$tmp/$who.states" 2>&1 | tr '\n' ' ')" \
        test -s "$(state_of $who)"
done

what=(--core "$core" --content "$game")
names() { # NAME FILE FRAME: that frame, if FILE names one, and the byte
    python3 - "$2" "$3" "$offset" <<'END' >"$tmp/names.log" 2>&1
import json, sys
report, frame, offset = json.load(open(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3], 0)
ram = next(m for m in report["memories"] if m["memory"] == "system RAM")
assert report.get("frame", frame) == frame, report["frame"]
assert any(r["offset"] <= offset < r["offset"] + r["bytes"] for r in ram["ranges"]), ram["ranges"]
END
    check "parted/$1" "$(tail -n 1 "$tmp/names.log"): $(cut -c 1-300 "$2")" test ! -s "$tmp/names.log"
}
"$keylock" bisect --json "$tmp/ann.rec" "$tmp/bob.rec" "${what[@]}" >"$tmp/recordings.json" 2>"$tmp/bisect.log"
names bisect-recordings "$tmp/recordings.json" $planted
# The other machine has only its hashes and its kept states.
"$keylock" bisect --json --a "--recording $tmp/ann.rec" --b "--hashes $tmp/bob.hash --states $tmp/bob.states" "${what[@]}" >"$tmp/hashes.json" \
    2>>"$tmp/bisect.log"
names bisect-hashes "$tmp/hashes.json" "$found"
"$keylock" blame --json "$tmp/ann.states" "$tmp/bob.states" "${what[@]}" >"$tmp/states.json" 2>"$tmp/blame.log"
names blame-states "$tmp/states.json" "$found"
note "planted before frame $planted, found at $found: $(grep -o '"frame":[0-9]*' "$tmp/recordings.json" | head -n 1)"
finish
