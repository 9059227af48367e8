#!/usr/bin/env bash
# relay/return.sh - kept seats: a client whose link is lost comes back by itself, a client that is killed and started again takes
# its seat again, and the others play on. All hashes are equal afterwards, from frame 0 on.
# runs: waiting, all, 55 s: PARTS=outage
# runs: waiting, test, 70 s: PARTS='killed twins forgotten'
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$proxy" "$content/shooter.nes"
nestopia=$(core_path nestopia) || die "return: no nestopia"
CUTS=${CUTS:-3 10 30} # seconds
PARTS=${PARTS:-outage killed twins forgotten}
start_relay

# player NAME ROOM FRAMES SEED [ARGUMENT…]: in a bounded room in real time; the seat's name is NAME without "2".
player() {
    local name=$1 room=$2 frames=$3 seed=$4
    shift 4
    start "$name" "$keylock" run --relay "$relay" --room "$room" --name "${name%2}" --core "$nestopia" \
        --content "$content/shooter.nes" --speed real --policy bounded --frames "$frames" --input "random:$seed" \
        --hash-every 60 --hash-out "$tmp/$name.hash" --trace "$tmp/$name.csv" --wait 60 "$@"
}

begins() { said relay "event=started room=\"$1\"" 20 || { show relay; die "return/$1: the room does not start"; }; }

# --- the link is cut: for 3 s (too short to count as a loss), 10 s and 30 s ----------------------------

cut_for() { # SECONDS: the link of this cell's second player is dead so long
    reaches "near$1" 240
    kill -USR1 "${pid[wire$1]}"
    lasts "$1" "the outage"
    kill -USR1 "${pid[wire$1]}"
}

outage() {
    local s seed=10 straight=$relay cutters=()
    for s in $CUTS; do
        through "wire$s" --delay 10
        player "near$s" "cut$s" $(((s + 18) * 60)) $((seed++))
        relay=$link
        player "far$s" "cut$s" $(((s + 18) * 60)) $((seed++))
        relay=$straight
    done
    for s in $CUTS; do begins "cut$s"; done
    for s in $CUTS; do
        watch "watch$s" "near$s" "far$s" "wire$s" relay # far, too: the room waits for it
        cut_for "$s" &
        cutters+=($!)
    done
    for s in $CUTS; do
        ends_well "return/outage-$s" "near$s" $((s + 40))
        ends_well "return/outage-$s" "far$s" 20
        stop "watch$s"
        equal "return/outage-$s" "near$s" "far$s"
        check "return/outage-$s-moves" "the hashes do not change" hashes_move "$tmp/far$s.hash" 5
        in_time python3 tests/e2e/judge_trace.py "return/outage-$s/others" "$tmp/near$s.csv" --one-gap 0.15 0.45 \
            --watch "$tmp/watch$s.log"
        check "return/outage-$s-away" "near$s's log has no line about far$s's absence" grep -aq "goes on without far$s .[12]." "$tmp/near$s.log"
        check "return/outage-$s-back" "near$s's log has no line about far$s's return" grep -aq "far$s .[12]. is back" "$tmp/near$s.log"
    done
    for s in $CUTS; do
        [ "$s" -gt 4 ] || continue
        check "return/outage-$s-told" "its screen does not say so" grep -aq 'connection lost, returning' "$tmp/far$s.log"
        check "return/outage-$s-alone" "far$s does not come back by itself" grep -aq 'connected again after=' "$tmp/far$s.log"
        note "$(grep -ao 'connected again after=.*' "$tmp/far$s.log"), $(json "far$s" stalls) stalls, the longest $(json "far$s" longest_stall_ms) ms"
    done
    wait "${cutters[@]}"
    for s in $CUTS; do stop "wire$s"; done
}

# --- killed with -9, and started again --------------------------------------------------------------------------

seats() { find "$HOME/.local/state/keylock/seats" -name '*-[0-9]*' ! -name '*.lock' ! -name 'kept-*' 2>/dev/null | wc -l; }

again() { # WHAT NAME: is killed, and comes again as NAME2
    local what=$1 name=$2 room=$3 frames=$4 seed=$5
    stop "$name" KILL
    check "$what/$name-left" "no seat is left on disk" test "$(seats)" -ge 1
    lasts 2 "the time till the player starts it again"
    player "${name}2" "$room" "$frames" "$seed"
    said "${name}2" 'this machine has a seat of an earlier run' 10 || { show "${name}2"; fail "$what/${name}2: the seat is not found"; }
    eventually 20 test -s "$tmp/${name}2.hash" || { show "${name}2" relay; fail "$what/${name}2: does not play"; }
}

killed() {
    player ann kill 1200 1
    said relay 'joined room="kill"' 10
    player bob kill 1200 2
    begins kill
    reaches bob 240
    again return/killed bob kill 1200 3
    both_equal return/killed ann bob2
    check return/killed-all "bob2 has not played from frame 0" begins_with bob2 ann
    equal return/killed bob bob2
    check return/killed-seat "the relay tells of another than bob's seat" \
        test "$(grep -a 'event=joined room="kill"' "$tmp/relay.log" | wc -l)" = 2
    check return/killed-clean "a seat is still on disk" test "$(seats)" = 0
}

# --- two of one user on one machine -------------------------------------------------------------------------------

twins() {
    player twin pair 1800 4
    said relay 'joined room="pair"' 10
    mv "$tmp/twin.log" "$tmp/host.log" # it goes on writing there
    pid[host]=${pid[twin]}
    unset "pid[twin]"
    mv "$tmp/twin.hash" "$tmp/host.hash"
    mv "$tmp/twin.csv" "$tmp/host.csv"
    player twin pair 1800 5
    begins pair
    check return/twins-two "expected 2 seats on disk, got $(seats)" test "$(seats)" = 2
    reaches twin 180
    again return/twins twin pair 1800 6 # the guest, while the host plays on
    check return/twins-host-lives "the host was put out by its twin" stays 2 running host
    stop host KILL # and the host, whose seat is the only one free now
    lasts 2 "the time till the player starts it again"
    pid[guest]=${pid[twin2]}
    unset "pid[twin2]"
    mv "$tmp/twin2.log" "$tmp/guest.log"
    mv "$tmp/twin2.hash" "$tmp/guest.hash"
    mv "$tmp/twin2.csv" "$tmp/guest.csv"
    player twin2 pair 1800 7
    said twin2 'this machine has a seat of an earlier run' 10 || { show twin2; fail "return/twins: the host the seat is not found"; }
    both_equal return/twins guest twin2
    check return/twins-seats "somebody new has joined" \
        test "$(grep -a 'event=joined room="pair"' "$tmp/relay.log" | wc -l)" = 2
    check return/twins-clean "a seat is still on disk" test "$(seats)" = 0
}

# --- a seat that the relay no longer knows -----------------------------------------------------------------------

forgotten() {
    player carl gone 600 8
    said relay 'joined room="gone"' 10
    eventually 5 eval '[ "$(seats)" = 1 ]'
    stop carl KILL
    stop relay KILL
    : >"$tmp/relay.log"
    start relay "$relay_program" --bind 127.0.0.1 --port "$port" --log info --journal off
    said relay listening 5 || die "return/forgotten: the relay does not start again"
    player carl2 gone 600 8
    said carl2 'joining as a new player' 20 || { show carl2 relay; fail "return/forgotten: carl2 does not join as a new player"; }
    player dora gone 600 9
    both_equal return/forgotten carl2 dora
    check return/forgotten-clean "a seat is still on disk" test "$(seats)" = 0
}

for part in $PARTS; do $part; done
finish
