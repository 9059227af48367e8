#!/usr/bin/env bash
# watch/hundred.sh - a hundred people watch a room of two from outside the game: they come when it is on, see the same to the
# bit, and the two notice nothing. The host says how much later they see it; one of them takes a seat that is given up.
#   WATCHERS=100
# instead: `watch/catchup`, three spectators: a desync, a late spectator, a kick, a killed relay
# runs: alone, all, 120 s
. "$(dirname "$0")/../lib.sh"

WATCHERS=${WATCHERS:-100}
ALONE=15   # seconds of the two by themselves, that the rest is compared with
TOGETHER=15
ALL=$((100 * 60)) # frames of the match
game=$content/shooter.nes
needs "$keylock" "$relay_program" "$wrapper" "$proxy" "$test_core" "$game"

player() { # NAME [ARGUMENT…]
    local name=$1
    shift
    start "$name" "$keylock" run --relay "$relay" --name "$name" --hash-out "$tmp/$name.hash" --trace "$tmp/$name.csv" --core "$test_core" --content "$game" --room match --speed real --frames $ALL --wait 60 --hash-every 60 "$@"
}

# ask LINE PATTERN: of the relay's console, which has answered when the pattern matches a line that was not there before.
ask() {
    local before
    before=$(wc -l <"$tmp/relay.log")
    echo "$1" >&7
    eventually 5 eval "tail -n +$((before + 1)) '$tmp/relay.log' | grep -aqE '$2'"
    tail -n +$((before + 1)) "$tmp/relay.log"
}

caught_up() { grep -ac 'event=caught_up.*client=watcher' "$tmp/relay.log"; }
frame() { ask rooms '^ok rooms' | grep -ao 'frame=[0-9]*' | head -n 1 | cut -d = -f 2; }
until_frame() { eventually 120 eval '[ "$(frame)" -ge '"$1"' ]'; }

mkfifo "$tmp/console"
start relay sh -c 'exec "$@" <"$0"' "$tmp/console" "$relay_program" --bind 127.0.0.1 --port 0 --console --per-address 300 \
    --handshakes 600 --watchers $((WATCHERS + 2)) --log-lines 0
exec 7>"$tmp/console"
said relay 'listening.*port=[0-9]' 5 || { show relay; die "watch: the relay does not listen"; }
port=$(grep -a listening "$tmp/relay.log" | sed -n 's/.*port=\([0-9]*\).*/\1/p' | head -n 1)
relay=127.0.0.1:$port

# --- two play, and then a hundred watch ------------------------------------------------------------------------------

player ann --input random:1
said relay 'joined room="match"' 10
through link-early # a watcher from before the match, behind a link that counts bytes
relay_itself=$relay
relay=$link
player early --spectate
relay=$relay_itself
player dora --spectate # will play
said relay 'event=watches room="match".*name="dora"' 10
player bob --input random:2
said relay 'event=started room="match"' 20 || { show relay ann bob; die "watch: the room does not start"; }
watch delays ann bob dora relay
until_frame $((ALONE * 60 + 300))
crowd=()
for n in $(seq 1 $((WATCHERS - 2))); do
    crowd+=("w$n")
    start "w$n" chrt --idle 0 "$keylock" run --quiet --relay "$relay" --room match --name "w$n" --core "$test_core" --content "$game" \
        --speed real --frames $ALL --hash-every 60 --hash-out "$tmp/w$n.hash" --wait 120 --spectate
    [ $((n % 10)) != 0 ] || said relay "event=watches .*name=\"w$n\"" 20 # not all at the same moment
done
eventually 60 eval "[ \$(caught_up) -ge $WATCHERS ]" || die "watch/all-there: $(caught_up) of $WATCHERS have caught up"
check watch/listing "keylock rooms does not tell how many watch" \
    eval '"$keylock" rooms "$relay" | grep -q "match.*2/2.*'"$WATCHERS"' watch"'
from=$(frame)
note "all $WATCHERS there at frame $from"
until_frame $((from + TOGETHER * 60))

# --- the delay --------------------------------------------------------------------------------------------------------

now=$(frame)
ask "delay match 5" '^ok$' >"$tmp/delay.log"
until_frame $((now + 8 * 60))
ask "who match" '^ok members' >"$tmp/who.log"
behind=$(grep -ao 'client=watcher.*behind=[0-9]*' "$tmp/who.log" | sed 's/.*=//' | sort -n)
least=$(head -n 1 <<<"$behind")
check watch/delay "the one nearest to the game is $least frames behind, not 300" test "${least:-0}" -ge 300
note "delay of 5 s: $least to $(tail -n 1 <<<"$behind") frames behind, $(sed -n $((WATCHERS / 2))p <<<"$behind") in the middle"
check watch/delay-shown "the watchers' screens do not say so" eventually 5 grep -aq 'you watch, 5 s behind the players' "$tmp/early.log"
ask "delay match 0" '^ok$' >"$tmp/delay.log"

# --- seats ------------------------------------------------------------------------------------------------------------

"$keylock" command --pid "${pid[bob]}" watch >"$tmp/command.log" 2>&1 || fail "watch/step-back: $(cat "$tmp/command.log")"
said relay 'event=reseated room="match".*name="bob" seats=none' 10 || { fail "watch/steps-back: bob still plays"; show relay; }
"$keylock" command --pid "${pid[dora]}" play >"$tmp/command.log" 2>&1 || fail "watch/play: $(cat "$tmp/command.log")"
check watch/plays "ann's log has no line about dora playing" said ann 'dora .[12]. plays' 20
check watch/one-less "dora still counts as a watcher" eval 'ask rooms "^ok rooms" | grep -aq "watchers=$((WATCHERS - 1)) "'

# --- the end ----------------------------------------------------------------------------------------------------------

for who in ann bob dora early "${crowd[@]}"; do
    ended "$who" 60
    status=$?
    [ $status = 0 ] || { fail "watch/$who-ends: exit status $status"; show "$who"; }
done
stop delays
stop link-early
exec 7>&-
same=0
for who in bob dora early "${crowd[@]}"; do
    "$keylock" diff "$tmp/ann.hash" "$tmp/$who.hash" >"$tmp/diff.log" 2>&1 && same=$((same + 1)) || show diff
done
check watch/equal "$same of $((WATCHERS + 1)) have ann's hashes" test $same = $((WATCHERS + 1))
check watch/all-frames "early has not run from the beginning to the end" \
    cmp -s "$tmp/ann.hash" "$tmp/early.hash"
check watch/moves "the hashes do not change" hashes_move "$tmp/ann.hash" 5
note "a watcher, $(tail -n 1 "$tmp/link-early.log" | grep -o "up_bytes.*passed=[0-9]*"), of $((ALL / 60)) s"
python3 - "$tmp/ann.csv" $((5 * 60)) $((ALONE * 60 + 300)) "$from" $((from + TOGETHER * 60)) <<'END'
import csv, sys
rows = [r for r in csv.DictReader(open(sys.argv[1])) if int(r["run"]) > 0]
for what, begin, end in (("alone", *sys.argv[2:4]), ("watched", *sys.argv[4:6])):
    part = [r for r in rows if int(begin) <= int(r["first"]) < int(end)]
    walls = [int(r["wall_us"]) for r in part]
    leads = [float(r["lead"]) for r in part if float(r["lead"]) > 0]
    gaps = sorted(b - a for a, b in zip(walls, walls[1:]))
    print(f"     {what}: lead {sum(leads) / len(leads):.2f} frames, longest gap {gaps[-1] / 1e3:.1f} ms, 99 % below {gaps[len(gaps) * 99 // 100] / 1e3:.1f} ms")
END
in_time python3 tests/e2e/judge_trace.py watch/ann "$tmp/ann.csv" --after 5 --fps 60 --min-share 0.99 --max-gap 34 \
    --watch "$tmp/delays.log"
finish
