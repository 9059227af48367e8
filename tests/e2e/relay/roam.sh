#!/usr/bin/env bash
# relay/roam.sh - players whose address changes while they play: from Wi-Fi to mobile and back (network namespaces, two
# links, the address of the one goes), without and with a second in which there is none. Nobody loses his session, nobody waits
# longer than there was no link, and all hashes are equal. Needs root, for namespaces.
# runs: waiting, all, 45 s
# instead: `test_roam`: the changes over loopback, a NAT that forgets, somebody on the path that copies
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$content/shooter.nes"
nestopia=$(core_path nestopia) || die "roam: no nestopia"

# --- a relay, a desk, and a phone with two networks ---------------------------------------------------------------

nets=()
drop_nets() { for n in "${nets[@]}"; do ip netns del "$n" 2>/dev/null; done; }
trap 'left=$?; drop_nets; (exit $left); cleanup' EXIT

net() { ip netns add "$1" && nets+=("$1") && ip -n "$1" link set lo up; } # NAME
cable() { # NET DEVICE NUMBER: from there to the relay's, by 10.77.NUMBER.0/24
    ip link add "$2" netns "$1" type veth peer name "to-$2" netns "$at_relay" &&
        ip -n "$1" addr add "10.77.$3.2/24" dev "$2" && ip -n "$1" link set "$2" up &&
        ip -n "$at_relay" addr add "10.77.$3.1/24" dev "to-$2" && ip -n "$at_relay" link set "to-$2" up
}
at_relay=kl$$-relay at_desk=kl$$-desk phone=kl$$-phone
build_nets() {
    net $at_relay && net $at_desk && net $phone && ip -n $at_relay addr add 10.77.0.1/32 dev lo &&
        cable $at_desk desk 1 && cable $phone wifi 2 && cable $phone mobile 3 &&
        ip -n $at_desk route add 10.77.0.1 via 10.77.1.1 && ip -n $phone route add 10.77.0.1 via 10.77.2.1
}

# The one network is there, then the route leads there, then the address of the other is gone.
walk_to() { # DEVICE NUMBER OTHER NUMBER
    ip -n $phone addr replace "10.77.$2.2/24" dev "$1"
    ip -n $phone route replace 10.77.0.1 via "10.77.$2.1" dev "$1"
    ip -n $phone addr del "10.77.$4.2/24" dev "$3"
}
# Between the two there is none for a second.
walk_through_a_hole() { # DEVICE NUMBER OTHER NUMBER
    ip -n $phone addr del "10.77.$4.2/24" dev "$3" # and with it the route
    lasts 1 "the time without a network"
    ip -n $phone addr replace "10.77.$2.2/24" dev "$1"
    ip -n $phone route replace 10.77.0.1 via "10.77.$2.1" dev "$1"
}

# change NAME HOLE COMMAND…: noted with the time at which it begins, and with HOLE 1 how long it took: so long there was no
# link. That player then plays on.
change() {
    local from=${EPOCHREALTIME/./} without=0
    "${@:3}"
    [ "$2" = 0 ] || without=$(((${EPOCHREALTIME/./} - from) / 1000))
    echo "$from $without" >>"$tmp/changes"
    plays "$1" 200
}

# --- judging ---------------------------------------------------------------------------------------------------

# judge WHAT NAME [BUDGET_MS]: around every change, the longest time without a frame is that without a link (not more than the
# budget), a frame and 50 ms at most, less the machine's own hitches. A trace's last line is as old as its file.
judge() {
    in_time python3 - "$1" "$tmp/$2.csv" "${3:-10000}" "$tmp/changes" "$tmp/watch.log" <<'END'
import csv, os, sys
what, trace, budget, changes, watch = sys.argv[1:]
rows = list(csv.DictReader(open(trace, newline="")))
zero = os.stat(trace).st_mtime_ns / 1e3 - int(rows[-1]["wall_us"])
ran = [zero + int(r["wall_us"]) for r in rows if int(r["run"]) > 0]
hitches = [(float(l.split()[0]), float(l.split()[1])) for l in open(watch) if l.strip()]
bad = False
for number, line in enumerate(open(changes), 1):
    at, without = map(int, line.split())
    begin, end = at - 500000, at + without * 1000 + 2500000
    still = lambda a, b: sum(ms for us, ms in hitches if a - 200000 <= us and us - 100000 <= b)  # it has consequences for a while
    gaps = [((b - a) / 1000, still(a, b)) for a, b in zip(ran, ran[1:]) if b > begin and a < end]
    gap, held = max(gaps, key=lambda g: g[0] - g[1], default=(1e9, 0))
    most = min(without, int(budget)) + 17 + 50
    good = gap <= most + held
    bad |= not good
    print(f"{'ok' if good else 'FAIL'} {what}-{number}: longest gap {gap:.0f} ms, without a link {without} ms,"
          f" the machine stood still for {held:.0f} ms of it (expected {most:.0f} at most, and that)")
sys.exit(bad)
END
}

# Equal, and the session is the one they began with.
same_session() { # WHAT MOVES NAME NAME
    stop watch
    equal "$1" "$3" "$4"
    check "$1/moves" "the hashes do not change" hashes_move "$tmp/$3.hash" 5
    check "$1/moved: $(grep -ac 'event=moved' "$tmp/relay.log") times" "expected $2 at least" \
        test "$(grep -ac 'event=moved' "$tmp/relay.log")" -ge "$2"
    check "$1/session" "$(grep -aE "event=(cut|returned|displaced|put_out)" "$tmp/relay.log" | head -n 1)" \
        test "$(grep -acE 'event=(cut|returned|displaced|put_out)' "$tmp/relay.log")" = 0
    check "$1/joined" "joined more than twice" test "$(grep -ac 'event=joined' "$tmp/relay.log")" = 2
}

common=(--core "$nestopia" --content "$content/shooter.nes")
run_options=("${common[@]}" --quiet --speed real --hash-every 60 --wait 40)

# --- from network to network: real RetroArch on the phone ---------------------------------------------------------

retroarch_on_the_phone() {
    local program
    for program in retroarch Xvfb; do
        command -v $program >/dev/null || die "roam/walk: no $program"
    done
    start_xvfb 600x500
    retroarch_home bob "${no_sound[@]}" 'pause_nonactive = "false"'
    home_of bob
    start bob ip netns exec $phone env "${home[@]}" KEYLOCK_HASH_OUT="$tmp/bob.hash" KEYLOCK_TRACE="$tmp/bob.csv" \
        "$keylock" play --name bob "${common[@]}" --relay 10.77.0.1:55435 --room walk
    said relay 'event=started' 40
}

walk() {
    build_nets >"$tmp/nets.log" 2>&1 || { skip "roam/walk: no network namespaces: $(head -n 1 "$tmp/nets.log")"; return; }
    start relay ip netns exec $at_relay "$relay_program" --bind 10.77.0.1 --port 55435 --state "$tmp/relay-state"
    said relay 'event=listening' 5 || { show relay; die "roam: the relay does not start"; }
    start ann ip netns exec $at_desk "$keylock" run "${run_options[@]}" --relay 10.77.0.1:55435 --room walk --name ann \
        --frames 2077 --input random:1 --hash-out "$tmp/ann.hash" --trace "$tmp/ann.csv"
    said relay 'event=joined' 10
    retroarch_on_the_phone || {
        show bob ann relay
        die "roam/walk: RetroArch does not play"
    }
    watch watch ann bob relay xvfb
    : >"$tmp/changes"
    reaches ann 180
    change ann 0 walk_to mobile 3 wifi 2
    change ann 0 walk_to wifi 2 mobile 3
    change ann 1 walk_through_a_hole mobile 3 wifi 2
    change ann 1 walk_through_a_hole wifi 2 mobile 3
    ends_well roam/walk ann 60
    stop bob
    same_session roam/walk 4 ann bob
    judge roam/walk/phone bob
    judge roam/walk/desk ann 250 # the wait budget: nobody waits for a second
    stop relay
}

walk
finish
