#!/usr/bin/env bash
# desync/probe.sh - keylock probe's verdicts on known cores: Debian's, and the test core in its moods.
# runs: working, test, 52 s
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$test_core" "$content/shooter.nes"

# of FILE PATH…: of the profile; a list as its length.
of() {
    python3 - "$@" <<'END'
import json, sys
v = json.load(open(sys.argv[1]))
for key in sys.argv[2:]: v = v.get(key) if isinstance(v, dict) else None
print(len(v) if isinstance(v, list) else v)
END
}

# probed NAME STATUS CORE CONTENT [OPTION…]: a profile in $tmp/NAME.json.
probed() {
    local name=$1 expected=$2 core=$3 rom=$4 status
    shift 4
    "$keylock" probe --core "$core" --content "$rom" --frames "${FRAMES:-240}" --json "$tmp/$name.json" "$@" >"$tmp/$name.log" 2>&1
    status=$?
    [ $status = "$expected" ] && return
    fail "probe/$name: exit status $status, expected $expected"
    show "$name"
    return 1
}

# tells NAME VALUE PATH…
tells() {
    local name=$1 value=$2 found
    shift 2
    found=$(of "$tmp/$name.json" "$@" 2>&1 | tail -n 1)
    check "probe/$name-${*: -1}" "$* is $found, expected $value" test "$found" = "$value"
}

# mood WORDS STATUS: the test core, which then is fit (0) or not (1).
mood() {
    PROBE_CORE=no-clock,$1 probed "$1" "$2" "$test_core" "$content/shooter.nes"
}

# Pads without X and Y, nestopia's turbo buttons, and with them.
python3 - "$tmp" <<'END'
import random, sys
for name, buttons in (("plain", 0x1f1), ("turbo", 0x3f3)):
    dice = random.Random(1)
    with open(f"{sys.argv[1]}/{name}.pads", "w") as f:
        for frame in range(0, 600, 5):
            for port in 0, 1: f.write(f"{frame} {port} {dice.getrandbits(16) & dice.getrandbits(16) & buttons:x}\n")
END
if core=$(core_path nestopia); then
    probed nestopia 0 "$core" "$content/shooter.nes" --input "$tmp/plain.pads" &&
        tells nestopia none snapshot load && tells nestopia "$(core_says nestopia state_bytes)" key state_bytes &&
        tells nestopia "$(core_says nestopia name)" key core
    probed turbo 0 "$core" "$content/shooter.nes" --input "$tmp/turbo.pads" && tells turbo "$(core_says nestopia turbo_load)" snapshot load
    probed refuses 5 "$core" "$content/pads.gb" &&
        check probe/refuses "$(cat "$tmp/refuses.log")" grep -q 'did not load .*pads.gb (retro_load_game returned false)' "$tmp/refuses.log"
else
    skip "probe/nestopia: the core is not installed"
fi
if core=$(core_path gambatte); then
    probed gambatte 0 "$core" "$content/pads.gb" && tells gambatte none snapshot load && tells gambatte True clock counts
else
    skip "probe/gambatte: the core is not installed"
fi
if core=$(core_path mgba); then # a game with sound: its channels are not wholly in the state
    probed mgba 0 "$core" "$content/pads.gba" && tells mgba "$(core_says mgba load)" snapshot load &&
        tells mgba "$(core_says mgba mask)" snapshot mask
else
    skip "probe/mgba: the core is not installed"
fi

mood plain 0 && tells plain none snapshot load && tells plain 0 unstable bytes
mood scar 0 && tells scar all snapshot load
mood forget 0 && tells forget history snapshot load
tells forget True pages && tells plain True pages
mood hidden 1 && tells hidden False hide
mood serialize 0 && tells serialize True serialize_changes_the_game
mood state-entropy 0 && tells state-entropy 4 unstable bytes && tells state-entropy True unstable mask && tells state-entropy 1 unstable ranges
mood state-entropy-much 0 && tells state-entropy-much False unstable mask && tells state-entropy-much 0 unstable ranges
check probe/refused-mask "$(tail -n 2 "$tmp/state-entropy-much.log")" \
    grep -q 'over 1 % of the state is unstable' "$tmp/state-entropy-much.log"
mood no-state 0 && tells no-state None snapshot load && tells no-state "the core gives no savestates" no_ahead
tells plain True ahead
if [ -z "${KL_SAN:-}" ]; then # it handles that signal itself
    mood once 0 && tells once "a second copy in the process crashes: Segmentation fault" no_ahead
    mood handler 0 && tells handler "it handles signals, which a process does once: SIGSEGV" no_ahead
fi
mood shares 0 && tells shares "a second copy in the process changes the first, in 4 of 4 checks" no_ahead
mood map 0 && tells map "save/probe.map is mapped, or this machine's alone" history_only && tells plain None history_only
mood entropy:10 1 && tells entropy:10 False fit
PROBE_CORE=no-clock probed options 0 "$test_core" "$content/shooter.nes" --options && tells options 3 options
check probe/option-of-the-game "$(grep probe_ "$tmp/options.log")" grep -q 'probe_speed=slow: changes the game, first in frame 0' "$tmp/options.log"
check probe/option-of-nothing "$(grep change "$tmp/options.log")" grep -q '1 change nothing' "$tmp/options.log"
"$keylock" probe --core "$test_core" --content "$content/shooter.nes" --frames 60 --json - >"$tmp/only.json" 2>/dev/null
status=$?
check probe/json-alone "exit status $status: $(head -c 200 "$tmp/only.json")" test "$status $(of "$tmp/only.json" keylock_profile)" = "0 2"
finish
