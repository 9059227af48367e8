#!/usr/bin/env bash
# relay/idle.sh - a relay with one room, and two players who wait in it, one at full speed: ten seconds in which nobody plays take
# next to no processor time. The bound is one that only a thread that spins breaks.
# runs: waiting, all, 15 s
# instead: nothing
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$test_core" "$content/shooter.nes"
start_relay
waits() { # NAME ARGUMENT…
    local name=$1
    shift
    run_in_room "$name" --core "$test_core" --content "$content/shooter.nes" --room idle --players 3 --frames 60 --wait 60 "$@"
    said relay "event=joined room=\"idle\".*name=\"$name\"" 20 || { show "$name" relay; die "idle: $name does not come"; }
}
waits ann
waits ben --speed real
idle idle relay ann ben
finish
