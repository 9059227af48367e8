#!/usr/bin/env bash
# relay/storm.sh - two play in real time while strangers flood their relay with handshakes, garbage and copies of the players'
# datagrams; a client gets garbage, too. Two accepted clients, one of them in their room, attack, and both players' addresses
# change. No player stalls for more than 50 ms, both games are equal, and the floods take no place and get no more bytes than they sent.
#   STORM_SECONDS=20
# runs: waiting, test, 40 s
. "$(dirname "$0")/../lib.sh"

LASTS=${STORM_SECONDS:-20}
needs "$keylock" "$relay_program" "$wrapper" "$proxy" "$build/storm" "$content/shooter.nes"
nestopia=$(core_path nestopia) || die "storm: no nestopia"

player() { # NAME SEED: behind a link of its own, so that its address can change; it adds bad datagrams both ways
    through "link-$1" --replay 5 --garbage 5 --dup 2
    local relay=$link
    run_in_room "$1" --core "$nestopia" --content "$content/shooter.nes" --room match --speed real --input "random:$2" \
        --hash-every 60 --wait 30 --frames $(((LASTS + 12) * 60))
}

# counted KEY: of the last lines of the relay's processes.
counted() { grep -a 'event=stopped' "$tmp/relay.log" | grep -o " $1=[0-9]*" | awk -F = '{ sum += $2 } END { printf "%d\n", sum }'; }

one_storm() {
    start_relay
    player ann 1
    said relay 'joined room="match"' 10 || { show ann relay; die "storm: no room"; }
    start storm "$build/storm" "$port" "$LASTS" match \
        $(ss -Hunap 2>/dev/null | grep -E "pid=${pid[ann]}," | awk '{ print $4 }' | sed 's/.*://' | sort -u)
    if ! said storm '^joined' 10; then
        ended storm 1
        [ $? = 77 ] && { skip "storm: needs the right to open raw sockets"; finish; }
        show storm relay
        die "storm: not in the room"
    fi
    player bob 2
    watch watch ann bob relay link-ann link-bob
    said storm '^begins' 60 || { show storm relay ann bob; die "storm: does not begin"; }
    plays ann $((LASTS * 20)) "$LASTS"
    kill -USR2 "${pid[link-ann]}" # another address, from here on
    plays bob $((LASTS * 20)) "$LASTS"
    kill -USR2 "${pid[link-bob]}"
    both_equal storm ann bob 90
    check storm/moves "the hashes do not change" hashes_move "$tmp/ann.hash"
    ended storm 20 || { fail "storm/ran: exit status $?"; show storm; }
    stop watch
    stop relay
    note "$(tail -n 1 "$tmp/storm.log")"
    note "$(grep -a event=stopped "$tmp/relay.log" | cut -d ' ' -f 3-)"
}

judge() {
    local who status=0
    for who in ann bob; do
        python3 tests/e2e/judge_trace.py "storm/$who" "$tmp/$who.csv" --after 5 --fps 60 --min-share 0.99 --max-gap 50 \
            --watch "$tmp/watch.log" || status=1
    done
    return $status
}

one_storm
in_time judge

sessions=$(grep -o 'sessions=[0-9]*' "$tmp/storm.log" | cut -d = -f 2)
check storm/no-place "$(counted handshakes) sessions were made, expected 2 and the $sessions of the storm's own" \
    test "$(counted handshakes)" = $((sessions + 2))
check storm/no-amplification "$(counted answered_bytes) bytes answered $(counted asked_bytes)" \
    test "$(counted answered_bytes)" -le "$(counted asked_bytes)"
check storm/arrived "only $(counted asked_bytes) bytes of handshakes arrived" \
    test "$(counted asked_bytes)" -gt $((LASTS * 3000 * 256 / 2))
check storm/copies "too few copies arrived: $(counted replayed) replayed, $(counted forged) forged" \
    test "$(counted replayed)" -gt 1000 -a "$(counted forged)" -gt 1000
check storm/moved "$(counted moves) changes of address, expected 2" test "$(counted moves)" = 2
for who in eve mallory; do
    check "storm/put-out-$who" "the log does not say that $who was put out" \
        grep -aqE "event=put_out .*name=\"$who\" .*reason=" "$tmp/relay.log"
    note "$(grep -aE "event=put_out .*name=\"$who\"" "$tmp/relay.log" | head -n 1 | cut -d ' ' -f 3-)"
done
finish
