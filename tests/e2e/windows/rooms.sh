#!/usr/bin/env bash
# windows/rooms.sh - machines of Linux and of Windows, under Wine, in one room, with Debian's cores for both. All hashes are
# equal, also with one of arm64 as the third, with a late machine, a healed desync and a link that was cut, and through a relay of
# Windows. A core whose states differ by system plays on. A core that asks for rand() is refused in such a room, unless
# its use of it is known.
# The first time it builds Debian's sources of the libraries and of three cores, for ten minutes.
#   FRAMES=N  frames of each pair, and of a match with a late machine, in place of its own number
#   WAYS='nestopia gambatte mgba bsnes_mercury_performance'  the cores of such matches (gambatte), side by side; it builds
#             those that are missing
#   PARTS='pairs three way ahead states chance waits'  only these
# instead: nothing
# runs: emulated, all, 170 s: PARTS='pairs three waits'
# runs: emulated, all, 150 s: PARTS='way ahead states chance'
# limit: 2400
. "$(dirname "$0")/../lib.sh"
. tests/e2e/lib_wine.sh

WAYS=${WAYS:-gambatte}
PARTS=${PARTS:-pairs three way ahead states chance waits}
system_core=$build/cores/system_core_libretro.so
needs "$keylock" "$relay_program" "$wrapper" "$proxy" "$content/shooter.nes" "$test_core" "$system_core"
windows_builds keylock.exe keylock-relay.exe keylock_libretro.dll cores/{probe,system}_core_libretro.dll
windows_fetches cores cores-of-debian nestopia gambatte bsnes_mercury_performance $WAYS
wine_command keylock-windows "$windows/keylock.exe"
wine_command relay-windows "$windows/keylock-relay.exe"
start_relay --per-address 64

other=windows AUTO=ahead
# Debian's, or the build of a test core for Windows.
windows_core() {
    case $1 in */*) echo "$windows/cores/$(basename "$1" .so).dll" && return ;; esac
    [ ! -e "$windows/cores-of-debian/$1_libretro.dll" ] || echo "$windows/cores-of-debian/$1_libretro.dll"
}
# Debian's, or that of the version that is there for Windows.
here_core() {
    if [ -e "$windows/cores-of-debian/linux/$1_libretro.so" ]; then echo "$windows/cores-of-debian/linux/$1_libretro.so"; else core_path "$1"; fi
}
. tests/e2e/lib_mixed.sh

pairs() {
    pair gambatte 5000
    pair nestopia 5000
    pair bsnes_mercury_performance 4000
    by_other_relay pair gambatte 2000 -by-windows
    stop other_relay
}

# of_three ROOM: one machine of each system in it.
of_three() {
    local room=$1 frames=${FRAMES:-2000} seed=1 who all=(here windows arm64)
    for who in "${all[@]}"; do
        machine "$who" "$room-$who" gambatte "$content/pads.gb" --room "$room" --players 3 --frames "$frames" --input random:$((seed++))
    done
    for who in "${all[@]}"; do ends_well "windows/$room" "$room-$who" $((60 + frames / 40)); done
    for who in windows arm64; do
        equal "windows/$room" "$room-here" "$room-$who"
        check "windows/$room/last-$who" "$(last "$room-here"), $(last "$room-$who")" test "$(last "$room-here")" = "$(last "$room-$who")"
    done
    check "windows/$room/moves" "the hashes do not change" hashes_move "$tmp/$room-arm64.hash"
}
three() {
    [ -n "$(here_core gambatte)" ] || { skip "windows/three: gambatte is not installed"; return; }
    . tests/e2e/lib_arm64.sh
    arm64_builds
    emulated keylock-arm64 "$arm64/keylock"
    of_three tri
    by_other_relay of_three tri-by-windows
    stop other_relay
}

# A relay of Windows with a room in which one of Windows waits.
waits() {
    by_other_relay machine windows alone "$system_core" "$content/shooter.nes" --room idle --frames 60
    said other_relay 'event=(room_made|joined) room="idle"' 60 || { show alone other_relay; die "windows/idle: nobody comes"; }
    idle windows/idle other_relay alone
    stop alone
    stop other_relay
}

# Equal RAM and unequal states, also in a room whose profile, made on one system, says that all of the state counts.
columns() { cut -d ' ' -f "$1" "$tmp/$2.hash"; }
unlike_states() { # ROOM HOST GUEST PROFILE
    local room=$1 a=$1-a b=$1-b
    KEYLOCK_PROFILE=$4 machine "$2" "$a" "$system_core" "$content/shooter.nes" --room "$room" --frames 1000 --input random:1
    said relay "event=(room_made|joined).*room=\"$room\"" 60
    KEYLOCK_PROFILE=off machine "$3" "$b" "$system_core" "$content/shooter.nes" --room "$room" --frames 1000 --input random:2 "${@:5}"
    ends_well "windows/$room" "$a" 60
    ends_well "windows/$room" "$b" 60
    check "windows/$room/states" "some states are equal" test -s "$tmp/$a.hash" -a -z "$(comm -12 <(columns 3 "$a" | sort) <(columns 3 "$b" | sort))"
}
stays_in_sync() { # ROOM
    check "windows/$1/ram" "RAM differs" test "$(columns 1,2 "$1-a")" = "$(columns 1,2 "$1-b")"
    check "windows/$1/no-desync" "$(grep -am 1 "event=desync room=\"$1\"" "$tmp/relay.log")" \
        eval "! grep -aqE 'event=(desync|heal|rewind)[a-z_]* room=\"$1\"' '$tmp/relay.log'"
    check "windows/$1/noted" "$(json "$1-a" state_only) and $(json "$1-b" state_only) verdicts with unequal states" \
        test "$(json "$1-a" state_only)" -gt 0 -a "$(json "$1-b" state_only)" -gt 0
}
states() {
    "$keylock" probe --core "$system_core" --content "$content/shooter.nes" --frames 240 --json "$tmp/equal.json" >"$tmp/probe.log" 2>&1
    check windows/states/profile "$(tail -n 1 "$tmp/probe.log")" grep -q '"states_equal":true' "$tmp/equal.json"
    unlike_states plain here windows off
    stays_in_sync plain
    unlike_states in-full here windows "$tmp/equal.json"
    stays_in_sync in-full
    unlike_states host-of-windows windows here "$tmp/equal.json"
    stays_in_sync host-of-windows
    unlike_states planted here windows "$tmp/equal.json" --corrupt 500:4
    check windows/planted/found "no desync of RAM" grep -aq 'event=desync room="planted".* what=ram' "$tmp/relay.log"
    check windows/planted/healed "$(json planted-b healed)" test "$(json planted-b healed)" = 1
}

# The test core imports rand(). It plays under its own name, whose use of rand() nobody knows, and as two cores of a known use.
chance() {
    local use reason='rand\(\) differs: room has 31 bits \(on Linux; the core asks for it\), you have 15 bits \(on Windows;'
    export PROBE_CORE=no-clock
    machine here rand-a "$test_core" "$content/shooter.nes" --room rand --frames 600 --input random:1
    said relay 'event=(room_made|joined).*room="rand"' 20
    machine windows rand-b "$test_core" "$content/shooter.nes" --room rand --frames 600 --input random:2
    ended rand-b 60
    check windows/rand/refused "exit status $?, expected 4" test $? = 4
    check windows/rand/reason "$(tail -n 3 "$tmp/rand-b.log" | tr '\n' ' ')" grep -aqE "$reason" "$tmp/rand-b.log"
    check windows/rand/advice "$(tail -n 3 "$tmp/rand-b.log" | tr '\n' ' ')" \
        grep -aq 'This core asks rand(): 31 bits on Linux, 15 on Windows. Play on one' "$tmp/rand-b.log"
    machine here rand-c "$test_core" "$content/shooter.nes" --room rand --frames 600 --input random:2
    ends_well windows/rand rand-a 60
    ends_well windows/rand rand-c 60
    for who in rand-d rand-e; do
        machine windows $who "$test_core" "$content/shooter.nes" --room rand-alike --frames 600 --input random:3
    done
    ends_well windows/rand rand-d 90
    ends_well windows/rand rand-e 90
    equal windows/rand rand-d rand-e
    for use in low upper; do
        export PROBE_CORE=no-clock,rand-$use
        machine here rand-$use-a "$test_core" "$content/shooter.nes" --room rand-$use --frames 600 --input random:4
        machine windows rand-$use-b "$test_core" "$content/shooter.nes" --room rand-$use --frames 600 --input random:5
        ends_well windows/rand-$use rand-$use-a 60
        ends_well windows/rand-$use rand-$use-b 60
        equal windows/rand-$use rand-$use-a rand-$use-b
        check windows/rand-$use/moves "the hashes do not change" hashes_move "$tmp/rand-$use-b.hash"
    done
    unset PROBE_CORE
}

way() { ways $WAYS; }

for part in $PARTS; do $part; done
finish
