#!/usr/bin/env bash
# fbneo.sh CORE ZIP SYSTEM - what 12-arcade.sh asks of our arcade core, asked of a real one, with a set of the caller's: `make
# test-fbneo`. The tools load the zip alone; two players play for an hour in a room at full speed, a third comes at minute ten.
# SYSTEM is a system folder as the core wants it; it is copied.
#   MINUTES=60  of the match, by the core's own clock
#   JOIN=10     the minute at which the third comes
. "$(dirname "$0")/lib.sh"

core=$(realpath "${1:?expected a core}") zip=$(realpath "${2:?expected a zip}") system=$(realpath "${3:?expected a system folder}")
MINUTES=${MINUTES:-60}
JOIN=${JOIN:-10}
FRAMES=$((MINUTES * 3600))
needs "$keylock" "$relay_program" "$wrapper" "$core" "$zip" "$system"
cp -r "$system" "$tmp/system"

# tool NAME STATUS COMMAND ARGUMENT…: `keylock COMMAND` on the core, its words in $tmp/NAME.log.
tool() {
    local name=$1 wanted=$2 command=$3 status
    shift 3
    "$keylock" "$command" --core "$core" --system "$tmp/system" "$@" >"$tmp/$name.log" 2>&1
    status=$?
    [ $status = "$wanted" ] || show "$name"
    check "fbneo/$name" "exit status $status, expected $wanted" test $status = "$wanted"
}

# --- the tools --------------------------------------------------------------------------------------------------

for try in first second; do
    tool "run-$try" 0 run --content "$zip" --frames 3600 --input random:7 --hash-every 60 --hash-out "$tmp/$try.hash" --states "$tmp/$try"
done
check fbneo/run-equal "$("$keylock" diff "$tmp/first.hash" "$tmp/second.hash" 2>&1 | head -n 1)" cmp -s "$tmp/first.hash" "$tmp/second.hash"
check fbneo/run-moves "the hashes stand still" hashes_move "$tmp/first.hash"
tool probe 0 probe --content "$zip" --frames 600
note "$(grep -aE '^snapshot' "$tmp/probe.log"); $(grep -a '^in rooms' "$tmp/probe.log")"
tool bisect 0 bisect --content "$zip" --input random:7 --frames 600 --a "" --b ""
"$keylock" run --quiet --core "$core" --system "$tmp/system" --content "$zip" --frames 600 --input random:7 --hash-every 60 \
    --states "$tmp/planted" --corrupt 599:0x300 >"$tmp/planted.log" 2>&1
tool blame 1 blame "$tmp/first/000000599.state" "$tmp/planted/000000599.state" --content "$zip"

# --- a match, and a join ----------------------------------------------------------------------------------------

# ram_equal NAME NAME: RAM is equal at every frame that both hashed, and there are such.
ram_equal() {
    awk 'NR == FNR { ram[$1] = $2; next } $1 in ram { n++; if (ram[$1] != $2) bad = bad ? bad : $1 }
        END { print n + 0, "shared frames" (bad ? ", RAM parts by " bad : ""); exit bad || !n }' "$tmp/$1.hash" "$tmp/$2.hash"
}
player() { # NAME SEED ARGUMENT…
    local name=$1 seed=$2
    shift 2
    run_in_room "$name" --core "$core" --content "$zip" --system "$tmp/system" --room hour --frames $FRAMES --input "random:$seed" \
        --wait 60 "$@"
}
start_relay --per-address 64
player ada 101 --hash-every 60
next_second
player ben 202
reaches ada $((JOIN * 3600)) $((JOIN * 60)) || { show ada ben relay; die "fbneo: ada does not come to minute $JOIN"; }
player cem 303 --seats 0
ends_well fbneo ada $((MINUTES * 60))
ends_well fbneo ben 60
ends_well fbneo cem 60
check fbneo/minutes "$(json ada frames) of $FRAMES" test "$(json ada frames)" = $FRAMES
for who in ben cem; do
    ram_equal ada $who >"$tmp/ram.log"
    status=$?
    check "fbneo/ram-ada-$who" "$(cat "$tmp/ram.log")" test $status = 0
    note "$(cat "$tmp/ram.log")"
done
check fbneo/join-late "cem has no frame of the hour" test "$(wc -l <"$tmp/cem.hash")" -gt $((MINUTES - JOIN))
note "$(json ada fps) frames a second; desyncs in the relay's log: $(grep -ac 'event=desync' "$tmp/relay.log"), healed $(json ada healed)"
finish
