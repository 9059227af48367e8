#!/usr/bin/env bash
# desync/heal.sh - a desync planted with two, three and four machines: found at the next hash, healed, equal from then on.
#
# Rooms play side by side: the named machine goes wrong before frame 200. With two machines nobody can say who is right, and both go
# back to their own last agreed state; with more the majority is right, and the wrong one gets its state.
# runs: working, test, 30 s
. "$(dirname "$0")/../lib.sh"

FRAMES=420
EVERY=30
PLANTED=200
needs "$keylock" "$relay_program" "$wrapper"

# Pads without X and Y: nestopia's turbo is not in its states.
pads() { # SEED
    awk -v seed="$1" 'BEGIN {
        srand(seed)
        for (f = 0; f < 480; f += 5 + int(rand() * 20))
            printf "%d 0 %x\n", f, (rand() < 0.5) + 256 * (rand() < 0.3) + 16 * 2 ^ int(rand() * 4) + 8 * (rand() < 0.05)
    }' >"$tmp/pads.$1"
    echo "$tmp/pads.$1"
}

# begin NAME CORE CONTENT MACHINES WRONG [OPTION…]: a room of so many, of which number WRONG goes wrong.
begin() {
    local name=$1 path rom=$3 machines=$4 wrong=$5 i planted
    path=$(core_path "$2") || { skip "heal/$name: the core is not installed"; return 1; }
    shift 5
    for i in $(seq "$machines"); do
        planted=()
        [ "$i" != "$wrong" ] || planted=(--corrupt "$PLANTED:${OFFSET:-0x300}")
        run_in_room "$name-$i" --core "$path" --content "$rom" --room "$name" --frames ${LAST:-$FRAMES} --speed real --players "$machines" \
            --input "$(pads "$i")" --hash-every $EVERY --wait 30 --states "$tmp/$name-$i.states" "${planted[@]}" "$@"
        [ "$i" != 1 ] || said relay "event=joined room=\"$name\"" 10 # the first is the host
    done
}

# The label of the last hash before which FILE and FILE differ; 0: nowhere.
parted() { join "$1" "$2" | awk '$2 != $4 { last = $1 } END { print last + 0 }'; }

# judge NAME MACHINES: all healed, equal after, and in time. ENDS: the compared part of the end.
judge() {
    local name=$1 machines=$2 what i status found last line ms at still by=$((${LAST:-$FRAMES} - 120))
    [ "${KL_JUDGE_TIME:-on}" = on ] || by=$((${LAST:-$FRAMES} - EVERY)) # healed at all
    [ -n "${pid[$name-1]:-}" ] || return
    for i in $(seq "$machines"); do
        ended "$name-$i" 40
        status=$?
        [ $status = 0 ] || { fail "heal/$name: machine $i: exit status $status"; show "$name-$i" relay; return; }
        [ "$(json "$name-$i" healed)" = 1 ] || { fail "heal/$name: machine $i says healed=$(json "$name-$i" healed)"; show "$name-$i"; return; }
    done
    found=$(json "$name-1" desync_frame)
    check "heal/$name-found" "planted before frame $PLANTED, found at $found" \
        test "$found" -ge $PLANTED -a "$found" -le $((PLANTED + EVERY + 8))
    check "heal/$name-states" "of machines 1 and 2: $(ls "$tmp/$name-1.states" "$tmp/$name-2.states" 2>&1 | tr '\n' ' ')" \
        test -s "$tmp/$name-1.states/$(printf %09d "$found").state" -a -s "$tmp/$name-2.states/$(printf %09d "$found").state"
    for i in $(seq 2 "$machines"); do
        last=$(parted "$tmp/$name-1.hash" "$tmp/$name-$i.hash")
        [ "$last" -lt "$by" ] || { fail "heal/$name: machines 1 and $i differ until $last"; return; }
        for what in ${ENDS:-ram state}; do
            [ "$(json "$name-1" $what)" = "$(json "$name-$i" $what)" ] ||
                { fail "heal/$name: machines 1 and $i end with different $what"; return; }
        done
    done
    line=$(grep -a "event=healed room=\"$name\"" "$tmp/relay.log" | tail -n 1)
    ms=$(grep -o 'ms=[0-9]*' <<<"$line" | cut -d= -f2)
    at=$(date -d "${line%% *}" +%s%6N) still=$(stood_ms watch $((at - ${ms:-0} * 1000)) "$at")
    in_time check "heal/$name-in-time" "it took ${ms:-no time known} ms, ${LIMIT_MS:-2000} are allowed; the machine stood still for $still" \
        test "${ms:-99999}" -le $((${LIMIT_MS:-2000} + still))
    ok "heal/$name: found at $found, healed after ${ms:-?} ms, equal after"
}

start_relay --per-address 64
watch watch relay
begin two nestopia "$content/shooter.nes" 2 2
begin host nestopia "$content/shooter.nes" 2 1
begin tie gambatte "$content/pads.gb" 2 1 # a core whose reader of states crashes on a forged one
begin three gambatte "$content/pads.gb" 3 1
begin four nestopia "$content/shooter.nes" 4 3
# Rooms that ignore a desync, or pause.
gambatte=$(core_path gambatte)
for i in ${gambatte:+1 2}; do
    run_in_room "twice-$i" --core "$gambatte" --content "$content/pads.gb" --room twice --frames 520 --speed real --players 2 \
        --input "$(pads "$i")" --hash-every $EVERY --wait 30 --corrupt $((80 + 160 * i)):0x300
    [ "$i" != 1 ] || said relay 'event=joined room="twice"' 10
done
LAST=260 KEYLOCK_DESYNC=ignore begin ignored nestopia "$content/shooter.nes" 2 2
LAST=260 KEYLOCK_DESYNC=pause begin paused nestopia "$content/shooter.nes" 2 2
for i in 1 2; do # from frame 150 on this core's memory is made of real chance
    PROBE_CORE=entropy:150 run_in_room "apart-$i" --core "$test_core" --content "$content/shooter.nes" --room apart --frames 400 --speed real \
        --players 2 --input "random:$i" --hash-every $EVERY --wait 30
    [ "$i" != 1 ] || said relay 'event=joined room="apart"' 10
done
# Machines that part again and again: each player is asked, and the game goes on once both agree.
said relay 'event=asks_to_play_on room="apart" .* differs="[^"]*: apart-1' 30
for i in 1 2; do
    said "apart-$i" 'machines differ in .*: apart-1 .*Go on[?]' 10
    ! grep -aq 'event=plays_on room="apart"' "$tmp/relay.log" || fail "heal/apart: the room did not wait for player $i"
    "$keylock" command --pid "${pid[apart-$i]}" resume >"$tmp/agree.log" 2>&1 || fail "heal/apart: $(cat "$tmp/agree.log")"
    said relay "event=agrees room=\"apart\" .*name=\"apart-$i\"" 10
done
said relay 'event=plays_on room="apart" .*reason="all agree"' 10
all_agree() { grep -aq 'event=plays_on room="apart" .*reason="all agree"' "$tmp/relay.log"; }
all_agree || show apart-1 apart-2
check heal/apart-asks "$(grep -a 'room="apart"' "$tmp/relay.log" | tail -n 14)" all_agree
nestopia_ends='ram state'
[ "$(core_says nestopia state_after_load)" = whole ] || nestopia_ends=ram
ENDS=$nestopia_ends judge two 2
ENDS=$nestopia_ends judge host 2
judge tie 2
judge three 3
ENDS=$nestopia_ends judge four 4
loaded=$(grep -a 'event=loaded' "$tmp/relay.log" | grep -av 'room="\(twice\|apart\)"' | grep -ao ' name="[^"]*"' | sort | tr -d '\n')
check heal/who "healed:$loaded" \
    test "$loaded" = ' name="four-3" name="host-1" name="host-2" name="three-1" name="tie-1" name="tie-2" name="two-1" name="two-2"'
given=$(grep -a 'event=snapshot_kept' "$tmp/relay.log" | grep -ao ' room="[^"]*"' | sort -u | tr -d '\n')
check heal/nobody-elses-state "rooms with a state from somebody else:$given" test "$given" = ' room="four" room="three"'
# The test core: a state of 16 MiB; one whose size changes; a core that serializing changes, so that frames that run again must
# be hashed again; one that shows no RAM; one that a load changes: so all machines load, by the room's profile
# at a snapshot, in a tie always.
begin() { # NAME MOOD [OPTION…]
    local name=$1 i planted machines=${MACHINES:-2}
    export PROBE_CORE=$2
    shift 2
    for i in $(seq "$machines"); do
        planted=()
        [ "$i" != 2 ] || planted=(--corrupt "$PLANTED:0x300")
        run_in_room "$name-$i" --core "$test_core" --content "$content/shooter.nes" --room "$name" --frames ${LAST:-$FRAMES} --speed real \
            --players "$machines" --input "random:$i" --hash-every $EVERY --wait 30 --states "$tmp/$name-$i.states" "${planted[@]}" "$@"
        [ "$i" != 1 ] || said relay "event=joined room=\"$name\"" 10
    done
    unset PROBE_CORE
}
begin large large:16384
begin growing grow-state
begin touchy serialize
begin blind no-ram
KEYLOCK_LOAD_OWN=on MACHINES=3 begin scarred scar
begin tied scar
for room in growing touchy blind tied; do judge $room 2; done
judge scarred 3
judge large 2

# Two faults, one on each machine, are two differences: both are healed by own states, and nobody begins the game again.
if [ -n "$gambatte" ]; then
    for i in 1 2; do
        ended "twice-$i" 30
        status=$?
        check "heal/twice-$i" "exit status $status, healed=$(json "twice-$i" healed), 2 expected" test $status = 0 -a "$(json "twice-$i" healed)" = 2
    done
    of_twice() { grep -a "event=$1 room=\"twice\"" "$tmp/relay.log"; }
    check heal/twice-own "$(of_twice rewind; of_twice heal_anew; of_twice asks_to_play_on)" \
        eval 'test "$(of_twice rewind | wc -l)" = 2 && ! of_twice heal_anew && ! of_twice asks_to_play_on'
    slowest=$(of_twice healed | grep -o ' ms=[0-9]*' | cut -d= -f2 | sort -n | tail -n 1)
    in_time check heal/twice-in-time "it took up to ${slowest:-no time known} ms, 2000 are allowed" test "${slowest:-99999}" -le 2000
fi

for i in 1 2; do
    ended "apart-$i" 30
    status=$?
    check "heal/apart-$i" "exit status $status, $(json "apart-$i" frames) frames" test $status = 3 -a "$(json "apart-$i" frames)" = 400
done

ended ignored-1 30
check heal/ignored "exit status $?, expected 3" test $? = 3
ended ignored-2 30
said relay 'event=pauses room="paused" reason="out of sync"' 15
check heal/paused "$(grep -a 'room="paused"' "$tmp/relay.log" | tail -n 2)" grep -aq 'event=pauses room="paused"' "$tmp/relay.log"
finish
