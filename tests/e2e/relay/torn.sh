#!/usr/bin/env bash
# relay/torn.sh - a relay is killed with -9 and its journals lose their ends, as after a power cut: 30 to 600 frames that the
# players have run. It is started again. Both players go back to a state of their own and on from there, without
# beginning anew; those of a core without states begin anew. Both rooms end with equal hashes.
#   LOST=N  frames (random)
# runs: waiting, all, 30 s
# instead: `relay/restart`; `test_journal_torn`, every torn end
. "$(dirname "$0")/../lib.sh"

LOST=${LOST:-$((30 + RANDOM % 571))} FRAMES=1300 KILLED=800
needs "$keylock" "$relay_program" "$wrapper" "$test_core" "$content/shooter.nes"
fixed=$(free_port)
options=(--bind 127.0.0.1 --port "$fixed" --state "$tmp/state" --journal "$tmp/journal")
relay=127.0.0.1:$fixed

begin_relay() { # NAME
    start "$1" "$relay_program" "${options[@]}"
    said "$1" 'event=listening' 5 || { show "$1"; die "torn: $1 does not start"; }
}

# came NAME WHAT: the relay says so of that player after its restart.
came() { grep -aq "event=$2 room=\"${1%-*}\" .*name=\"$1\"" "$tmp/relay2.log"; }
went_back() { grep -aq "event=catch_up room=\"${1%-*}\" .*name=\"$1\" .*by=own_state" "$tmp/relay2.log"; }

begin_relay relay1
for room in states bare; do
    [ $room = states ] || export PROBE_CORE=no-state
    for who in a b; do
        run_in_room "$room-$who" --core "$test_core" --content "$content/shooter.nes" --room $room --frames $FRAMES \
            --speed real --input "random:$RANDOM" --hash-every 60 --wait 30
        [ $who = b ] || said relay1 "event=joined room=\"$room\"" 10
    done
done
unset PROBE_CORE
for room in states bare; do
    reaches $room-a $KILLED && reaches $room-b $KILLED || die "torn: $room does not come so far"
done
stop relay1 KILL 2>/dev/null
python3 tests/conformance/tear.py "$tmp/journal" "$LOST" || die "torn: there is no journal"
begin_relay relay2
for room in states bare; do
    both_equal torn $room-a $room-b
    check torn/$room-moves "the hashes do not change" hashes_move "$tmp/$room-a.hash"
done
note "$LOST frames were lost"
for who in a b; do
    check torn/back-$who "$(grep -a "name=\"states-$who\"" "$tmp/relay2.log")" went_back states-$who
    check torn/no-beginning-$who "it began anew" eval "! came states-$who ready"
    check torn/anew-$who "$(grep -a "name=\"bare-$who\"" "$tmp/relay2.log")" came bare-$who ready
done
[ $checks_failed = 0 ] || SHOW_LINES=40 show relay2
finish
