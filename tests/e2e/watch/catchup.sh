#!/usr/bin/env bash
# watch/catchup.sh - a watcher from outside comes to the game by a snapshot if the whole match would take too long, is healed by
# one when out of sync, comes back after the relay was killed with -9 and started anew, and is put out by the host's word.
# runs: waiting, test, 65 s
# limit: 200
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$test_core" "$content/shooter.nes"
FRAMES=$((50 * 60))
PLANTED=500
fixed=$(free_port)
relay=127.0.0.1:$fixed

begin_relay() { # NAME [CATCH_UP]
    start "$1" "$relay_program" --bind 127.0.0.1 --port "$fixed" --state "$tmp/state" --journal "$tmp/journal" --catch-up "${2:-1}" \
        --per-address 64
    said "$1" 'event=listening' 5 || { show "$1"; die "watch-way: $1 does not start"; }
}

client() { # NAME [ARGUMENT…]
    local name=$1
    shift
    start "$name" "$keylock" run --relay "$relay" --room match --name "$name" --core "$test_core" --content "$content/shooter.nes" \
        --speed real --frames $FRAMES --hash-every 60 --hash-out "$tmp/$name.hash" --wait 60 "$@"
}

wants() { # RELAY PATTERN SECONDS NAME
    said "$1" "$2" "$3" || { show "$1" "$4"; die "watch-way: no line '$2' of $1"; }
}

# of_way NAME KEY: of its first way, as the relay's line says it.
of_way() { grep -a "event=catch_up .*name=\"$1\"" "$tmp/relay1.log" | head -n 1 | grep -ao " $2=[^ ]*" | cut -d= -f2; }

begin_relay relay1
client ann --input random:1
wants relay1 'joined room="match"' 10 ann
client early --spectate --corrupt $PLANTED:0x300
wants relay1 'event=watches room="match".*name="early"' 10 early
client bob --input random:2
wants relay1 'event=started room="match"' 20 bob

# --- healed, as a player is --------------------------------------------------------------------------------------------

wants relay1 'event=watcher_desync room="match".*name="early"' 40 early
wants relay1 'event=catch_up room="match".*name="early".*by=snapshot heals=1' 20 early
wants relay1 'event=loaded room="match".*name="early".*how=same' 20 early
check watch-way/told "early's log has no line about its healing" said early 'back in sync: loaded frame' 10

# --- late ---------------------------------------------------------------------------------------------------------------

client lou --spectate
wants relay1 'event=caught_up room="match".*name="lou"' 40 lou
check watch-way/late "by $(of_way lou by), from frame $(of_way lou snapshot)" \
    test "$(of_way lou by)" = snapshot -a "$(of_way lou snapshot)" -ge $PLANTED

# --- put out ------------------------------------------------------------------------------------------------------------

client pest --spectate
wants relay1 'event=watches room="match".*name="pest"' 20 pest
"$keylock" command --pid "${pid[ann]}" watchers >"$tmp/command.log" 2>&1 || fail "watch-way/watchers: $(cat "$tmp/command.log")"
check watch-way/names "ann's log lacks the list of watchers" said ann '3 watchers: early, lou, pest' 10
"$keylock" command --pid "${pid[ann]}" kick pest >"$tmp/command.log" 2>&1 || fail "watch-way/kick: $(cat "$tmp/command.log")"
check watch-way/kicked "the host's kick does nothing" said relay1 'event=put_out room="match".*name="pest"' 10
ended pest 20
check watch-way/kicked-ends "exit status $?" test $? != 0

# --- the relay is killed, and started anew ------------------------------------------------------------------------------

stop relay1 KILL 2>/dev/null
lasts 2 "a supervisor's pause"
begin_relay relay2
for who in early lou; do wants relay2 "event=watches room=\"match\".*name=\"$who\".*again=1" 30 $who; done
for who in early lou; do wants relay2 "event=caught_up room=\"match\".*name=\"$who\"" 40 $who; done
ok "watch-way/again: both watch again"

# --- once more, and they replay the whole game: a fault that was planted is not planted again ------------------------------

stop relay2 KILL 2>/dev/null
begin_relay relay3 120
for who in early lou; do wants relay3 "event=caught_up room=\"match\".*name=\"$who\"" 40 $who; done
check watch-way/replayed "$(grep -a 'event=catch_up' "$tmp/relay3.log")" said relay3 'event=catch_up room="match".*name="early".*by=history' 1

# --- the end --------------------------------------------------------------------------------------------------------------

for who in ann bob early lou; do
    ended $who 100
    status=$?
    [ $status = 0 ] || show $who relay3
    check "watch-way/$who-ends" "exit status $status" test $status = 0
done
# The label of the last hash before which FILE and FILE differ; 0: nowhere.
parted() { join <(sort -k 1,1 "$1") <(sort -k 1,1 "$2") | sort -n | awk '$2 != $4 { last = $1 } END { print last + 0 }'; }
planted=$(grep -ac '^message: planted before frame' "$tmp/early.log")
check watch-way/planted-once "planted $planted times" test "$planted" = 1
for who in bob early lou; do
    last=$(parted "$tmp/ann.hash" "$tmp/$who.hash")
    check "watch-way/$who-equal" "differs until $last" test "$last" -lt $([ $who = early ] && echo $((PLANTED + 600)) || echo 1)
    check "watch-way/$who-last" "$who has not run to the end" grep -q "^$((FRAMES - 1)) " "$tmp/$who.hash"
    [ "$(json ann ram)" = "$(json $who ram)" ] || fail "watch-way/$who: ann and $who end in different states"
done
finish
