#!/usr/bin/env bash
# recording/verifier.sh - `keylock verify --watch` beside a relay: it takes recordings from a folder, the reported one first, writes down what it
# found, and is killed again and again at chance moments. No verdict is lost, and none is written twice. It decides the ties of two
# rooms: in one the host's machine is wrong, in one the other's.
# runs: working, all, 40 s
# instead: `recording/verify`; `test_lobby_tie`, the ties
. "$(dirname "$0")/../lib.sh"

FILES=20 FRAMES=600
needs "$keylock" "$relay_program" "$wrapper" "$test_core" "$content/shooter.nes"
nestopia=$(core_path nestopia) || die "watch: no nestopia"
dir=$tmp/matches db=$tmp/matches.db
mkdir -p "$dir/new"
game=(--core "$nestopia" --content "$content/shooter.nes")

altered() { python3 -B tests/conformance/altered.py "$@"; }
# asked SQL: of the database, by another reader than the verifier.
asked() { python3 -c 'import sqlite3, sys; print(*[" ".join(map(str, row)) for row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2])], sep="\n")' "$db" "$1"; }
watching=(verify --watch "$dir" --database "$db" --once --core nestopia --core "$nestopia" --content "$content" --on-verdict "cat >>'$tmp/told'")

# Two rooms of two play beside all that follows. One machine of each goes wrong in a frame, however often it runs it.
tied=$tmp/tied
start_relay --journal "$tmp/tied-journal" --record "$tied"
PROBE_CORE=no-clock start verifier "$keylock" verify --watch "$tied" --database "$tied/matches.db" --core "$test_core" --content "$content"
eventually 10 test -e "$tied/lock" || show verifier
for room in first second; do
    for i in 1 2; do
        mood=no-clock
        [ $room$i != first1 ] && [ $room$i != second2 ] || mood=no-clock,fault:150
        PROBE_CORE=$mood start "$room-$i" "$keylock" run --relay "$relay" --name "$room-$i" --core "$test_core" \
            --content "$content/shooter.nes" --room $room --frames 1200 --speed real --players 2 --input "random:$i" --hash-every 30 \
            --wait 60 --trust on
        [ $i != 1 ] || said relay "event=joined room=\"$room\"" 10
    done
done

"$keylock" run --quiet "${game[@]}" --frames $FRAMES --input random:7 --hash-every 60 --record "$tmp/one.klr" >/dev/null 2>&1 ||
    die "watch/run: exit status $?"
for ((i = 1; i <= FILES; i++)); do
    altered "$tmp/one.klr" "$dir/new/$(printf %02d $i).klr" "parts.insert(-1, (EVENT, bytes([200, 0, 0, 0, 0, $i])))"
done
altered "$tmp/one.klr" "$dir/new/07.klr" 'parts.insert(-1, (EVENT, bytes([8, 90, 0, 0, 0, 0, 7]) + b"he left"))'
altered "$tmp/one.klr" "$dir/new/08.klr" 'forge(5)' >/dev/null
head -c 2000 "$tmp/one.klr" >"$dir/new/09.klr"
: >"$dir/new/10.klr"

# Killed at chance moments, later and later, until it has nothing left to do.
kills=0
RANDOM=7
for ((turn = 0; turn < 60; turn++)); do
    ms=$((200 + 200 * turn + RANDOM % 1000))
    timeout --foreground -s KILL $((ms / 1000)).$(printf %03d $((ms % 1000))) "$keylock" "${watching[@]}" >>"$tmp/verdicts.log" 2>&1
    status=$?
    [ $status != 0 ] || break
    [ $status = 137 ] || die "watch/status: $status: $(tail -n 2 "$tmp/verdicts.log")"
    kills=$((kills + 1))
done 2>/dev/null
note "killed $kills times"
check watch/killed "it was killed $kills times" test $kills -ge 3
check watch/all-moved "$(ls "$dir/new")" test -z "$(ls "$dir/new")"
check watch/none-lost "$(ls "$dir/kept" | wc -l) files are kept" test "$(ls "$dir/kept" | wc -l)" = $FILES
check watch/each-once "$(asked 'SELECT count(*), count(DISTINCT match), max(id) FROM verdict')" \
    test "$(asked 'SELECT count(*), count(DISTINCT match), max(id) FROM verdict')" = "$FILES $FILES $FILES"
check watch/verdicts "$(asked 'SELECT code, count(*) FROM verdict GROUP BY code')" \
    test "$(asked 'SELECT code, count(*) FROM verdict GROUP BY code' | tr '\n' ' ')" = "0 $((FILES - 3)) 1 1 3 2 "
check watch/reported-first "$(asked 'SELECT file FROM match ORDER BY id LIMIT 1')" test "$(asked 'SELECT file FROM match ORDER BY id LIMIT 1')" = 07-reported.klr
check watch/told "$(wc -l <"$tmp/told" 2>&1) verdicts were told to the command" test "$(grep -c '"verdict"' "$tmp/told")" -ge $((FILES - kills))
"$keylock" verify --database "$db" --list reports --json >"$tmp/reports" 2>&1
check watch/reports "$(cat "$tmp/reports")" grep -q '"frame":90,"text":"he left".*"verdict":"verified","file":"07-reported.klr"' "$tmp/reports"
for what in matches players verdicts; do
    "$keylock" verify --database "$db" --list $what >"$tmp/list" 2>&1
    check watch/list-$what "exit status $?: $(head -n 1 "$tmp/list")" test $? = 0
done
check watch/newest "$(wc -l <"$tmp/list") lines" test "$(wc -l <"$tmp/list")" = $FILES

# The database's version counts: a list says that an older one is to be brought up, the verifier (below) does it, and a newer one is refused.
altering() { python3 -c 'import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(sys.argv[2])' "$db" "$1"; }
refused() { ! "$keylock" verify --database "$db" --list players >"$tmp/list" 2>&1 && grep -q "$1" "$tmp/list"; }
altering 'PRAGMA user_version=3'
check watch/newer "$(cat "$tmp/list")" refused 'expected a database of version 2, got 3$'
altering 'ALTER TABLE player DROP COLUMN key; PRAGMA user_version=1'
check watch/older "$(cat "$tmp/list")" refused 'expected a database of version 2, got 1: keylock verify --watch brings it up'

# Known files are only moved; a share of none runs the reported ones alone; those that are verified are not kept; another holds the folder.
altered "$tmp/one.klr" "$dir/new/30.klr" 'parts.insert(-1, (EVENT, bytes([200, 0, 0, 0, 0, 99])))'
altered "$tmp/one.klr" "$dir/new/31.klr" 'parts.insert(-1, (EVENT, bytes([8, 1, 0, 0, 0, 0, 3]) + b"bad"))'
cp "$dir/kept/08.klr" "$dir/new/again.klr"
"$keylock" "${watching[@]}" --share 0 --keep parted >"$tmp/share.log" 2>&1
check watch/share "exit status $?: $(cat "$tmp/share.log")" cmp -s <(sort "$tmp/share.log") <(printf '30.klr: not in the share\n31.klr: verified\n')
"$keylock" verify --database "$db" --list players >"$tmp/list" 2>&1
check watch/brought-up "exit status $?: $(head -n 1 "$tmp/list")" test $? = 0 -a "$(asked 'SELECT count(*) FROM match')" -gt $FILES
check watch/keep-parted "$(ls "$dir/new" "$dir/kept" | tr '\n' ' ')" test ! -e "$dir/kept/30.klr" -a -e "$dir/kept/31-reported.klr" -a -e "$dir/kept/08.klr" -a -z "$(ls "$dir/new")"
room=0123456789abcdef0123456789abcdef # of a match that its players had the relay delete
altered "$tmp/one.klr" "$dir/new/20240506-070809-$room.klr" 'parts.insert(-1, (EVENT, bytes([200, 0, 0, 0, 0, 100])))'
"$keylock" "${watching[@]}" --share 0 >"$tmp/forget.log" 2>&1
check watch/known "$(cat "$tmp/forget.log")" test "$(asked "SELECT count(*) FROM match WHERE file = '20240506-070809-$room.klr'")" = 1
rm "$dir/kept/20240506-070809-$room.klr"
: >"$dir/forget/$room"
"$keylock" "${watching[@]}" >"$tmp/forget.log" 2>&1
check watch/forgotten "$(ls "$dir/forget")" test "$(asked "SELECT count(*) FROM match WHERE file LIKE '%$room%'")" = 0 -a -z "$(ls "$dir/forget")"
start first "$keylock" verify --watch "$dir" --database "$db"
eventually 10 test -e "$dir/lock"
second() { ! "$keylock" "${watching[@]}" >"$tmp/second.log" 2>&1 && grep -q "another keylock verify watches it" "$tmp/second.log"; }
eventually 10 second || fail "watch/second: $(cat "$tmp/second.log")"
stop first

# The one whose machine is right gives its state, and the other one is healed by it.
told() { grep -a "event=$1 room=\"$2\"" "$tmp/relay.log"; }
for room in first second; do
    [ $room = first ] && right=$room-2 wrong=$room-1 || right=$room-1 wrong=$room-2
    for i in 1 2; do ended "$room-$i" 60 || true; done
    check watch/tie-$room "$(told 'tie_[a-z]*' $room; tail -n 3 "$tmp/verifier.log")" \
        eval 'told tie_decided $room | grep -q "right=\"$right ([12])\" wrong=\"$wrong ([12])\" apart=1" &&
            ! told tie_decided $room | grep -q "right=\"$wrong"'
    check watch/tie-$room-healed "$(told healed $room; told loaded $room)" eval 'told healed $room | grep -q "own=0"'
    check watch/tie-$room-giver "$(told snapshot_kept $room)" eval '! told snapshot_kept $room | grep -q "name=\"$wrong\""'
    for what in ram state; do
        check watch/tie-$room-$what "$(json $room-1 $what) and $(json $room-2 $what)" test "$(json $room-1 $what)" = "$(json $room-2 $what)"
    done
done
for name in first-1 first-2 second-1 second-2; do
    [ ${name%-*} = first ] && right=first-2 || right=second-1
    check watch/tie-$name-asked "$(grep -a message: "$tmp/$name.log")" grep -aq "message: .*who is right? The relay runs the match again" "$tmp/$name.log"
    check watch/tie-$name-told "$(grep -a message: "$tmp/$name.log")" grep -aq "message: .*the relay's own run agrees with $right ([12]), not with" "$tmp/$name.log"
done
# By hand, of the recording that the relay keeps.
stop verifier
kept=$(ls "$tied"/new/*.klr "$tied"/kept/*.klr 2>/dev/null | head -n 1)
if [ -z "$kept" ]; then
    fail "watch/tie-by-hand: no recording is kept: $(ls -R "$tied" | tr '\n' ' ')"
else
    PROBE_CORE=no-clock "$keylock" verify --tie --core "$test_core" --content "$content" "$kept" >"$tmp/hand" 2>&1
    check watch/tie-by-hand "exit status $?: $(cat "$tmp/hand")" grep -qE ': decided: after frame [0-9]+ the run here has the hash of (first-2|second-1)' "$tmp/hand"
fi
stop relay

# A challenge: the relay gives a token, its link is cut while the game is played alone, and the run is handed in later. In RetroArch's
# place stands the headless frontend. tests/conformance has what a relay does not take.
start_relay --journal "$tmp/journal" --record "$dir" --state "$tmp/relay-state"
"$keylock" run --quiet "${game[@]}" --frames 1 --record "$dir/challenges/attack.klr" >"$tmp/challenge.log" 2>&1 || die "challenge/made: $(cat "$tmp/challenge.log")"
cat >"$tmp/retroarch" <<END
#!/bin/sh
for content; do :; done
: >"$tmp/plays"
read _ <"$tmp/gate"
"$keylock" run --quiet --core "\$KEYLOCK_CORE" --wrapper "\$2" --content "\$content" --frames 150 --input random:9 --seats 1 --speed max --told-out /dev/null
true
END
chmod +x "$tmp/retroarch"
mkfifo "$tmp/gate"
challenged() { XDG_STATE_HOME=$tmp/ann-state "$keylock" play --challenge "$@" --name ann --retroarch "$tmp/retroarch" --wrapper "$wrapper"; }
challenged $relay/nothing --content "$content" >"$tmp/none.log" 2>&1
check challenge/none "exit status $?: $(cat "$tmp/none.log")" grep -q 'no challenge nothing: this relay has no such challenge' "$tmp/none.log"
challenged $relay/attack --content "$tmp/retroarch" >"$tmp/none.log" 2>&1
check challenge/no-content "exit status $?: $(cat "$tmp/none.log")" eval \
    'grep -q "content missing" "$tmp/none.log" && grep -q "the challenge.s token waits" "$tmp/none.log"'
start play challenged $relay/attack --content "$content"
eventually 20 test -e "$tmp/plays" || die "challenge/plays: $(cat "$tmp/play.log")"
check challenge/token-kept "$(grep -a challenge_ "$tmp/relay.log")" test "$(grep -ac challenge_given "$tmp/relay.log")" = 1
challenged - >"$tmp/none.log" 2>&1
check challenge/played-now "exit status $?: $(cat "$tmp/none.log")" test ! -s "$tmp/none.log"
stop relay
echo >"$tmp/gate"
ended play 60
check challenge/waits "$(cat "$tmp/play.log")" grep -q 'not handed in: .*It waits: keylock play --challenge -' "$tmp/play.log"
start_relay --port "$port" --journal "$tmp/journal" --record "$dir" --state "$tmp/relay-state"
challenged - >"$tmp/handed.log" 2>&1
check challenge/handed-in "exit status $?: $(cat "$tmp/handed.log")" grep -q '^handed in: 150 frames of the challenge attack' "$tmp/handed.log"
check challenge/once "$(ls "$tmp/ann-state/keylock")" test -z "$(ls "$tmp/ann-state/keylock/challenges")" -a -n "$(ls "$tmp/ann-state/keylock/recordings")"
"$keylock" "${watching[@]}" >"$tmp/challenge.log" 2>&1
"$keylock" verify --database "$db" --list players >"$tmp/list" 2>&1
check challenge/verified "$(cat "$tmp/challenge.log"; head -n 1 "$tmp/list")" \
    eval 'head -n 1 "$tmp/list" | grep -qE "name=ann  key=[0-9a-f]{64}  room=attack  match=challenge attack  .*verdict=verified"'
check challenge/sealed "$(asked 'SELECT sealed_by, sealed FROM verdict ORDER BY id DESC LIMIT 1')" test "$(asked 'SELECT sealed > 0 FROM verdict ORDER BY id DESC LIMIT 1')" = 1
# RetroArch crashes: what the recording holds is handed in.
cat >"$tmp/crashing" <<END
#!/bin/sh
for content; do :; done
"$keylock" run --quiet --core "\$KEYLOCK_CORE" --wrapper "\$2" --content "\$content" --frames 6000 --input random:9 --seats 1 --speed real --told-out /dev/null &
echo \$! >"$tmp/crashing.pid"
wait \$!
END
chmod +x "$tmp/crashing"
start crash env XDG_STATE_HOME=$tmp/ann-state "$keylock" play --challenge $relay/attack --content "$content" --name ann --retroarch "$tmp/crashing" --wrapper "$wrapper"
hashed() { "$keylock" replay --info "$tmp"/ann-state/keylock/challenges/*.klr 2>/dev/null | grep -q '^hashes   [2-9]'; }
eventually 30 hashed || fail "challenge/crashing: $(cat "$tmp/crash.log")"
kill -KILL "$(cat "$tmp/crashing.pid")"
ended crash 30
check challenge/crashed "exit status $?: $(cat "$tmp/crash.log")" grep -qE '^handed in: [0-9]+ frames of the challenge attack' "$tmp/crash.log"
"$keylock" "${watching[@]}" >"$tmp/challenge.log" 2>&1
check challenge/crashed-verified "$(cat "$tmp/challenge.log")" grep -q ': verified$' "$tmp/challenge.log"
# RetroArch dies before its first frame: the token is played by the next call. There keylock play is killed, and RetroArch goes on.
printf '#!/bin/sh\ncp "$KEYLOCK_REPLAY" "$KEYLOCK_RECORD"\nexit 3\n' >"$tmp/dying"
chmod +x "$tmp/dying"
again() { env XDG_STATE_HOME="$tmp/ann-state" "$keylock" play --challenge $relay/attack --content "$content" --name ann --wrapper "$wrapper" --retroarch "$@"; }
again "$tmp/dying" >"$tmp/dying.log" 2>&1
check challenge/died "exit status $?: $(cat "$tmp/dying.log")" grep -q "token waits" "$tmp/dying.log"
given=$(grep -ac challenge_given "$tmp/relay.log")
start alone env XDG_STATE_HOME=$tmp/ann-state "$keylock" play --challenge $relay/attack --content "$content" --name ann --retroarch "$tmp/crashing" --wrapper "$wrapper"
eventually 30 hashed || fail "challenge/again: $(cat "$tmp/alone.log")"
check challenge/same-token "$(grep -a challenge_ "$tmp/relay.log")" test "$(grep -ac challenge_given "$tmp/relay.log")" = "$given"
stop alone KILL
challenged - >"$tmp/none.log" 2>&1
check challenge/still-played "exit status $?: $(cat "$tmp/none.log")" grep -q 'it is played now' "$tmp/none.log"
kill -KILL "$(cat "$tmp/crashing.pid")"
eventually 10 eval '! kill -0 "$(cat "$tmp/crashing.pid")" 2>/dev/null'
challenged - >"$tmp/none.log" 2>&1
check challenge/then-handed-in "exit status $?: $(cat "$tmp/none.log")" grep -qE '^handed in: [0-9]+ frames of the challenge attack' "$tmp/none.log"
check challenge/nothing-left "$(ls "$tmp/ann-state/keylock/challenges")" test -z "$(ls "$tmp/ann-state/keylock/challenges")"
stop relay

# None but an opened database needs SQLite.
linked=$(for f in "$keylock" "$relay_program" "$wrapper"; do ldd "$f" | grep -c sqlite; done | tr '\n' ' ')
check watch/not-linked "$linked" test "$linked" = "0 0 0 "
finish
