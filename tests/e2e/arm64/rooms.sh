#!/usr/bin/env bash
# arm64/rooms.sh - machines of two processors in one room: x86-64, and arm64 under qemu-user with Debian's arm64 cores. All hashes are
# equal, also with a late machine, a healed desync and a link that was cut; and `keylock probe` says the same on both.
# qemu-user runs the instructions of arm64 in this machine's order of memory: a weaker order is not tested.
# It builds what it runs, and fetches Debian's arm64 packages once (190 MB).
#   FRAMES=N  frames of each pair, and of a match with a late machine, in place of its own number
#   WAYS='nestopia gambatte'  the cores of such matches (gambatte), side by side: two emulated machines play in each
#   PARTS='pairs way ahead probe voice'  only these
# instead: nothing
# runs: emulated, all, 130 s: PARTS='pairs probe'
# runs: emulated, all, 130 s: PARTS='way ahead voice'
# limit: 1200
. "$(dirname "$0")/../lib.sh"
. tests/e2e/lib_arm64.sh

WAYS=${WAYS:-gambatte}
PARTS=${PARTS:-pairs way ahead probe voice}
needs "$keylock" "$relay_program" "$wrapper" "$proxy" "$content/shooter.nes"
arm64_builds
emulated keylock-arm64 "$arm64/keylock"
emulated relay-arm64 "$arm64/keylock-relay"
start_relay --per-address 64

other=arm64 AUTO=may
here_core() { core_path "$1"; }
. tests/e2e/lib_mixed.sh

pairs() {
    pair gambatte 5000
    pair nestopia 3000
    pair mednafen_pce_fast 2500
    pair mgba 1500
    pair bsnes_mercury_performance 1500
    by_other_relay by_its_relay
    stop other_relay
    check arm64/relay "exit status $? of the relay for arm64 after SIGTERM" test $? = 0
}
by_its_relay() {
    pair mednafen_wswan 2500
    pair gambatte 2000 -by-arm64
}

# --- probe --------------------------------------------------------------------------------------------------------

# The profile without times, without the frames between hashes, which follow from them, and with sorted imports.
findings() { # FILE
    python3 - "$1" <<'END'
import json, sys
profile = json.load(open(sys.argv[1]))
del profile["serialize_us"], profile["room"]["hash_every"]
profile["clock"]["turned"].sort(key=lambda i: i["name"])
print(json.dumps(profile, sort_keys=True))
END
}

probed() { # CORE CONTENT
    local core=$1 rom=$content/$2
    on_both "$core" || { skip "arm64/probe-$core: the core is not installed"; return; }
    "$keylock" probe --core "$(core_path "$core")" --content "$rom" --frames 120 --json "$tmp/amd64.json" >"$tmp/probe-amd64.log" 2>&1
    local expected=$? status
    "$tmp/bin/keylock-arm64" probe --core "$(arm64_core "$core")" --content "$rom" --frames 120 --json "$tmp/arm64.json" >"$tmp/probe-arm64.log" 2>&1
    status=$?
    [ $status = $expected ] || show probe-amd64 probe-arm64
    check "arm64/probe-$core" "exit status $status, expected $expected" test $status = $expected
    check "arm64/probe-$core-findings" "$(diff <(findings "$tmp/amd64.json" | tr , '\n') <(findings "$tmp/arm64.json" | tr , '\n') | head -n 6 | tr '\n' ' ')" \
        test "$(findings "$tmp/amd64.json")" = "$(findings "$tmp/arm64.json")"
    note "$(tail -n 1 "$tmp/probe-arm64.log")"
}

probe() {
    probed nestopia shooter.nes
    probed gambatte pads.gb
    probed mgba pads.gba
    probed mednafen_wswan pads.ws
}

# --- voice --------------------------------------------------------------------------------------------------------

# Files in place of devices; the emulated machine needs some time for Opus and for the echo's filter.
voice() {
    on_both gambatte || { skip "arm64/voice: gambatte is not installed"; return; }
    ldconfig -p | grep -q libopus.so.0 || { skip "arm64/voice: libopus0 is not installed"; return; }
    . tests/e2e/lib_pulse.sh
    local seed=1 who
    for who in here arm64; do
        python3 $speech make "$tmp/$who-says.wav" 20 $seed
        machine $who voice-$who gambatte "$content/pads.gb" --room voice --frames 900 --input random:$((seed++)) --speed real --voice on \
            --voice-in "$tmp/$who-says.wav" --voice-out "$tmp/$who-hears.wav"
    done
    for who in here arm64; do
        ends_well arm64/voice voice-$who 90
        check "arm64/voice/$who-hears" "$(loud "$tmp/$who-hears.wav") s of speech came, and at least 2 are expected" \
            test "$(loud "$tmp/$who-hears.wav")" -ge 2
    done
    equal arm64/voice voice-here voice-arm64
}

way() { ways $WAYS; }

for part in $PARTS; do $part; done
finish
