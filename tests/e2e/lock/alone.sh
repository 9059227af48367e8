#!/usr/bin/env bash
# lock/alone.sh - the wrapper without a room against the bare core: the same hashes on every core, equal to the recorded ones.
# `make bench-wrapper` counts the cost.
# runs: working, test, 40 s
. "$(dirname "$0")/../lib.sh"

FRAMES=3000 # the table's hashes are of so many
needs "$keylock" "$wrapper"

# alone NAME CORE CONTENT [OPTION…]: no room; the summary in its log.
alone() {
    local name=$1 core=$2 rom=$3
    shift 3
    "$keylock" run --quiet --core "$core" --content "$rom" --hash-out "$tmp/$name.hash" "$@" >"$tmp/$name.log" 2>&1
}

core() { # CORE CONTENT
    local path
    path=$(core_path "$1") || { skip "alone/$1: the core is not installed"; return; }
    [ -s "$2" ] || { fail "alone/$1: $2 is missing"; return; }
    alone "$1-bare" "$path" "$2" --frames "$FRAMES" --hash-every 25 --input random:5 --epoch 1000000000 ||
        { fail "alone/$1: bare: exit status $?"; show "$1-bare"; return; }
    alone "$1-wrapped" "$path" "$2" --frames "$FRAMES" --hash-every 25 --input random:5 --epoch 1000000000 \
        --wrapper "$wrapper" || { fail "alone/$1: wrapped: exit status $?"; show "$1-wrapped"; return; }
    if ! cmp -s "$tmp/$1-bare.hash" "$tmp/$1-wrapped.hash"; then
        fail "alone/$1: $("$keylock" diff "$tmp/$1-bare.hash" "$tmp/$1-wrapped.hash" 2>&1 | tail -n 1)"
    elif ! hashes_move "$tmp/$1-bare.hash"; then
        fail "alone/$1: the hashes do not change over time"
    else
        ok "alone/$1: $FRAMES frames, $(wc -l <"$tmp/$1-bare.hash") equal hashes"
    fi
    as_ever "$1" "$2"
}

# as_ever CORE CONTENT: the hashes that this version of the core gave in all earlier builds of Keylock. A change of our clock, heap,
# random numbers or input would change them on all machines alike, and no comparison of two machines would show it.
as_ever() {
    local was is of
    of=$(sha256sum "$2" | cut -c 1-8)
    is=$(grep -v '^#' "$tmp/$1-wrapped.hash" | sha256sum | cut -c 1-16)
    if was=$(core_says "$1" "hashes of $of" 2>/dev/null); then
        check "alone/$1: as ever" "sha256 of the hashes: expected $was (tests/e2e/cores.txt), got $is" test "$is" = "$was"
    else
        note "alone/$1: the table has no hashes of this version on content $of; they are $is"
    fi
}

# Another clock is another world for the cores that read one: the comparison above does look at the state.
clock_counts() {
    local path
    path=$(core_path gambatte) && [ -s "$content/pads.gb" ] || { skip "alone/clock-counts: no gambatte"; return; }
    alone later "$path" "$content/pads.gb" --frames "$FRAMES" --hash-every 25 --input random:5 --epoch 1234567890
    if cmp -s "$tmp/gambatte-bare.hash" "$tmp/later.hash"; then
        fail "alone/clock-counts: gambatte gives the same hashes under another clock"
    else
        ok "alone/clock-counts"
    fi
}

core nestopia "$content/shooter.nes"
core gambatte "$content/pads.gb"
core mgba "$content/pads.gba"
core mednafen_pce_fast "$content/pads.pce"
core mednafen_wswan "$content/pads.ws"
core bsnes_mercury_performance "$content/pads.sfc"
clock_counts
finish
