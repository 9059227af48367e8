#!/usr/bin/env bash
# retroarch/commands.sh - the room's commands, each in its own way and on every machine at the same frame; and a player whose machine
# hangs for 5 s in a bounded room of four.
# runs: waiting, test, 75 s
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$test_core" "$content/shooter.nes"

# --- commands -------------------------------------------------------------------------------------------------

# The relay's console is a pipe that stays open.
mkfifo "$tmp/console"
exec 9<>"$tmp/console"
"$relay_program" --bind 127.0.0.1 --port 0 --log info --console <&9 >"$tmp/relay.log" 2>&1 &
pid[relay]=$!
said relay 'listening.*port=[0-9]' 5 || { show relay; die "relay: no line with its port"; }
port=$(grep -a listening "$tmp/relay.log" | sed -n 's/.*port=\([0-9]*\).*/\1/p' | head -n 1)
relay=127.0.0.1:$port
console() { printf '%s\n' "$*" >&9; }

# player NAME ARGUMENT…: the wrapper's messages are needed here, so not --quiet.
player() {
    local name=$1
    shift
    start "$name" "$keylock" run --relay "$relay" --name "$name" --hash-out "$tmp/$name.hash" --trace "$tmp/$name.csv" \
        --speed real --wait 20 "$@"
}

# The lines about commands, without their beginning: every machine must have the same ones.
told() { grep -aoE '\[f [0-9]+\] .*' "$tmp/$1.log" | awk '!seen[$0]++'; }

FRAMES=1500
room=(--core "$test_core" --content "$content/shooter.nes" --room talk --frames $FRAMES --hash-every 30)
player ann "${room[@]}" --input random:1 --command 100:reset --command "150:option probe_speed=fast" \
    --command 200:save --command 300:load --command "330:swap 1 2" --command 400:pause \
    --command "500:policy strict" --command "600:policy optimistic 300" --command "900:policy bounded 200" \
    --command "1000:host bob" --command "1050:policy strict" --command "1060:option probe_speed=warp" --command 1070:panel
said relay 'event=joined room="talk" client=0 name="ann"' 10 || { show ann relay; die "commands: ann does not join"; }
player bob "${room[@]}" --input random:2 --command 120:again --command 320:again --command "250:say hello there" --command 400+1500:resume \
    --command "1100:policy strict"
said ann 'frame 2[0-9][0-9]: save' 30 || { show ann bob relay; die "commands: the game does not get to frame 200"; }
"$keylock" command --pid "${pid[bob]}" say from outside >"$tmp/outside" 2>&1
check commands/tool "$(cat "$tmp/outside")" grep -q '^given to the room' "$tmp/outside"
"$keylock" command --pid "${pid[ann]}" option probe_speed=warp >"$tmp/outside" 2>&1
check commands/tool-refused "exit status $?: $(cat "$tmp/outside")" grep -q 'offers: slow, normal, fast' "$tmp/outside"
"$keylock" command --pid $$ pause >"$tmp/outside" 2>&1
check commands/tool-nobody "exit status $?: $(cat "$tmp/outside")" grep -q 'plays in no room' "$tmp/outside"
console rooms
console who talk
console say talk good evening
console pause talk
said relay '^room="talk" state=playing' 5 || { show relay; fail "commands/console: rooms does not list the room talk"; }
paused() { console rooms; grep -aq '^room="talk" state=paused' "$tmp/relay.log"; }
eventually 5 paused || { show relay; fail "commands/console: the room does not pause"; }
lasts 0.8 "the relay's pause"
console resume talk
console kick talk 8
console kick talk '"ann .8."'
console nonsense
said ann 'frame 10[67][0-9]: option' 60 || { show ann bob relay; die "commands: the game does not get to frame 1060"; }
all_equal commands/hashes ann bob || finish

told ann >"$tmp/ann.told"
told bob >"$tmp/bob.told"
check commands/same-frames "$(diff "$tmp/ann.told" "$tmp/bob.told" | head -n 4 | tr '\n' ' ')" \
    cmp -s "$tmp/ann.told" "$tmp/bob.told"
for line in 'ann .[12].: reset' 'ann .[12].: option probe_speed = fast' 'ann .[12].: state saved for all' \
    'ann .[12].: loaded the state of frame 2[0-9][0-9]' 'ann .[12].: players 1 and 2 swap seats' 'ann .[12].: pause' 'ann .[12].: policy strict' \
    'ann .[12].: policy optimistic, 300 ms' 'ann .[12].: policy bounded, 200 ms' 'bob .[12].: hello there' 'bob .[12].: policy strict' \
    'bob .[12].: from outside' 'relay: good evening' 'relay: pause'; do
    check "commands/$line" "not told" grep -qE "^\[f [0-9]+\] $line\$" "$tmp/bob.told"
done
heard() { # NAME WHAT REGEX
    check "commands/$2" "$1's log does not tell" grep -aqE "$3" "$tmp/$1.log"
}
heard bob resume-is-told 'bob .[12]. resumes the game'
heard ann host-is-told 'ann .[12]. makes bob .[12]. the host'
heard ann host-only 'frame 10[0-9]+: policy strict: not given: only the host of the room can do that'
heard ann bad-option 'probe_speed=warp: not given: .*slow, normal, fast'
heard relay console-who '^client=1 name="bob" seats=1'
heard relay console-number '^error: nobody plays as player 8'
heard relay console-number-and-name '^error: nobody in this room is called "ann .8."'
heard relay console-nonsense '^error: expected: rooms, who'
# A pause by the players and one by the relay: no frame ran for that time.
in_time python3 - "$tmp/bob.csv" "$tmp/bob.told" <<'END'
import csv, re, sys
ran = [r for r in csv.DictReader(open(sys.argv[1], newline="")) if int(r["run"])]
at = [int(m[1]) for m in re.finditer(r"^\[f (\d+)\] .+: pause$", open(sys.argv[2]).read(), re.M)]
gaps = [max((int(y["wall_us"]) - int(x["wall_us"])) / 1e6 for x, y in zip(ran, ran[1:]) if f <= int(y["first"]) <= f + 40)
        for f in at]
good = len(gaps) == 2 and min(gaps) > 0.55
print("ok" if good else "FAIL", "commands/pauses: at frames", at, "nothing ran for", [round(g, 2) for g in gaps], "s")
sys.exit(not good)
END

# bob's core stops to serialize once it has run 200 frames (some 260 with those that are played again): no machine goes back to
# a state that bob could not save.
room=(--core "$test_core" --content "$content/shooter.nes" --room slot --frames 540 --hash-every 30)
player ann "${room[@]}" --input random:1 --command 100:save --command 160:load --command 300:save --command 360:load
PROBE_CORE=state-breaks:200 player bob "${room[@]}" --input random:2 --command 180:again --command 380:load --command 420:save
said bob 'frame 3[0-9][0-9]: load' 30 || { show ann bob relay; die "commands: the game does not get to frame 380"; }
console load slot
for who in ann bob; do
    ended $who 30; status=$?
    # RAM is equal: that one machine has no state is no desync
    check "commands/slot-$who" "exit status $status: $(tail -n 1 "$tmp/$who.log")" test $status = 0
    cut -d ' ' -f 1,2 "$tmp/$who.hash" >"$tmp/$who.ram"
    heard $who slot-all-$who '\[f [0-9]+\] ann .[12].: loaded the state of frame 1[0-9][0-9]$'
    heard $who slot-none-$who 'did not load the save of frame 3[0-9][0-9]: bob .[12]. could not save it'
    check "commands/slot-once-$who" "loaded more than once" test "$(told $who | grep -c ' loaded the state of frame')" = 1
done
check commands/slot-equal "$(diff "$tmp/ann.ram" "$tmp/bob.ram" | head -n 2 | tr '\n' ' ')" cmp -s "$tmp/ann.ram" "$tmp/bob.ram"
heard bob slot-own 'frame 3[0-9]+: load: not given: this core could not save the state of frame 3'
heard bob no-savestates 'frame 4[0-9]+: save: not given: this core has no savestates'
heard relay console-load '^error: not possible'
console quit
ended relay 5
check commands/console-quit "the relay's exit status is not 0" test $? = 0
exec 9>&-

# A console at its end does not end the relay.
start_relay --console </dev/null
check commands/console-eof "the relay is gone" stays 0.3 running relay

# Nobody reads the console's answers or the log, as on a terminal stopped with ^S. The relay goes on serving.
mkfifo "$tmp/unread" "$tmp/typed"
exec 7<>"$tmp/unread" 8<>"$tmp/typed"
deaf_port=$(free_port)
"$relay_program" --bind 127.0.0.1 --port "$deaf_port" --log debug --console <&8 >&7 2>&7 &
pid[deaf]=$!
for i in $(seq 1000); do echo help; done >&8
deaf() { # NAME
    start "$1" timeout 20 "$keylock" run --core "$test_core" --content "$content/shooter.nes" --relay "127.0.0.1:$deaf_port" \
        --name "$1" --frames 300 --wait 10
}
deaf dora
deaf dan
for who in dora dan; do
    ended $who 25; status=$?
    check "commands/unread-$who" "exit status $status: $(tail -n 1 "$tmp/$who.log")" test $status = 0
done
stop deaf
check commands/unread-ends "the relay without a reader did not end by itself: exit status $?" test $? = 0
exec 7>&- 8>&-

# --- a hanging player -----------------------------------------------------------------------------------------

FRAMES=1200
room=(--core "$test_core" --content "$content/shooter.nes" --room four --frames $FRAMES --hash-every 30 --players 4)
for i in 1 2 3 4; do
    player "p$i" "${room[@]}" --input "random:$i"
done
said relay 'event=started room="four"' 30 || { show relay p1; die "hang: the room does not start"; }
watch watch p1 p2 p3 p4 relay
reaches p1 240
kill -STOP "${pid[p4]}"
"$keylock" command --pid "${pid[p4]}" say behind the menu >"$tmp/outside" 2>&1; status=$?
check commands/tool-standing-still "exit status $status: $(cat "$tmp/outside")" \
    eval '[ $status = 0 ] && grep -q "^taken; the game stands still" "$tmp/outside"'
lasts 3.1 "the time that p4 hangs, with what the command above took: in all less than the 4 s after which its session is lost"
kill -CONT "${pid[p4]}"
all_equal hang/hashes p1 p2 p3 p4 || finish
# The effect on the others: their calls in a row in which no frame ran. (Missing calls are the fault of this machine's
# scheduler.)
in_time python3 - "$tmp/p4.csv" "$tmp"/p[123].csv <<'END'
import csv, os, sys
def rows(path):
    return [(int(r["wall_us"]) / 1e6, int(r["run"]), int(r["last"] or 0)) for r in csv.DictReader(open(path, newline=""))]
p4 = rows(sys.argv[1])
stop = max(range(1, len(p4)), key=lambda i: p4[i][0] - p4[i - 1][0])
frame = max(r[2] for r in p4[:stop])
for path in sys.argv[2:]:
    name, calls, stalls, since, before = os.path.basename(path)[:-4], rows(path), [], None, None
    first = next(i for i, c in enumerate(calls) if c[2] >= frame - 30)
    for wall, run, last in calls[first:]:
        if before is not None and wall - before > 0.1:
            since = None
        if run:
            if since is not None and wall - since > 0.1:
                stalls.append(wall - since)
            since = None
        elif since is None:
            since = wall
        before = wall
        if last > frame + 500:
            break
    good = len(stalls) == 1 and stalls[0] < 0.4
    print("ok" if good else "FAIL", f"hang/{name}: stalled", [f"{s:.2f}" for s in stalls], "s, expected once, about 0.25")
    sys.exitcode = getattr(sys, "exitcode", 0) or not good
sys.exit(sys.exitcode)
END
check hang/told "p1's log has no lines about p4's absence and return" \
    eval 'grep -aq "goes on without p4 .[1-4]." "$tmp/p1.log" && grep -aq "p4 .[1-4]. is back after" "$tmp/p1.log"'
in_time check hang/told-once "p1's log has p4's absence more than once" \
    test "$(grep -ac "warn.*goes on without p4 .[1-4].\|info.*goes on without p4" "$tmp/p1.log")" = 1
check commands/tool-when-it-goes-on "p1's log lacks p4's chat line" \
    eventually 10 grep -aqE '^.*\[f [0-9]+\] p4 .[1-4].: behind the menu' "$tmp/p1.log"
# The time that p4 took, once woken, to run the frames that the others had played meanwhile.
in_time python3 - "$tmp/p4.csv" <<'END'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
wall = [int(r["wall_us"]) / 1e6 for r in rows]
woken = max(range(1, len(rows)), key=lambda i: wall[i] - wall[i - 1])
frames = 0
for i in range(woken, len(rows)):
    frames += int(rows[i]["run"])
    if frames > 100 and int(rows[i]["backlog"]) <= 6:
        break
took = wall[i] - wall[woken]
good = frames > 100 and took < 2
print("ok" if good else "FAIL", f"hang/fast-forward: {frames} frames in {took:.2f} s after {wall[woken] - wall[woken - 1]:.2f} s")
sys.exit(not good)
END
finish
