#!/usr/bin/env bash
# desync/blame.sh - a planted desync on every core: found at the next hash, the frame named by bisect, the byte by blame.
#   CORES='nestopia gambatte'  only these
# runs: working, all, 45 s
# instead: `desync/heal`: found, named, healed
. "$(dirname "$0")/../lib.sh"

CORES=${CORES:-}
FRAMES=600
EVERY=60
needs "$keylock" "$relay_program" "$wrapper"

# said_by FILE KEY…: of the JSON object in a file; a number is an index.
said_by() {
    python3 - "$@" <<'END'
import json, sys
v = json.load(open(sys.argv[1]))
for key in sys.argv[2:]:
    v = v[int(key)] if isinstance(v, list) else v.get(key)
    if v is None: break
print(v)
END
}

# byte_in FILE MEMORY OFFSET: prints yes if a range of that memory holds that offset, and the number of different bytes.
byte_in() {
    python3 - "$@" <<'END'
import json, sys
report, name, offset = json.load(open(sys.argv[1])), sys.argv[2], int(sys.argv[3])
for m in report["memories"]:
    at = offset - m.get("state_offset", 0) if name == "state" and m["memory"] != "savestate" else offset
    if name == "state" or m["memory"] == name:
        if name == "state" and m["memory"] != "savestate" and "state_offset" not in m: continue
        if any(r["offset"] <= at < r["offset"] + r["bytes"] for r in m["ranges"]):
            print("yes", m["differ"])
            sys.exit()
print("no", [(m["memory"], m["differ"]) for m in report["memories"]])
END
}

# in_room NAME CORE CONTENT CORRUPT STATUS: two in a room, the second with a planted desync; both leave recording and states.
in_room() {
    local name=$1 core=$2 rom=$3
    export KEYLOCK_DESYNC=ignore
    run_in_room "$name-a" --core "$core" --content "$rom" --room "${name:0:23}" --frames $FRAMES --input random:1 --hash-every $EVERY \
        --wait 30 --record "$tmp/$name-a.rec" --states "$tmp/$name-a"
    run_in_room "$name-b" --core "$core" --content "$rom" --room "${name:0:23}" --frames $FRAMES --input random:2 --wait 30 \
        --record "$tmp/$name-b.rec" --states "$tmp/$name-b" --corrupt "$4"
    ended "$name-a" 60
    local a=$?
    ended "$name-b" 60
    local b=$?
    [ $a = "$5" ] && [ $b = "$5" ] && return
    why="exit status $a and $b, expected $5 and $5 (3: a desync)"
    show "$name-a" "$name-b"
    return 1
}

core() { # CORE CONTENT FRAME MEMORY OFFSET: MEMORY "system RAM", or "state" if the core exposes none
    local path name=$1 frame=$3 memory=$4 offset=$5 found next report
    case " $CORES " in "  " | *" $name "*) ;; *) return ;; esac
    path=$(core_path "$name") || { skip "blame/$name: the core is not installed"; return; }
    [ -s "$2" ] || { fail "blame/$name: $2 is missing"; return; }
    in_room "$name" "$path" "$2" "$frame:$offset" $([ "$memory" = state ] && echo 0 || echo 3) || { fail "blame/$name: $why"; return; }

    # Without RAM a state that differs beside equal pictures is noted, and is no desync: nobody keeps a state for it.
    next=$(((frame / EVERY + 1) * EVERY - 1))
    if [ "$memory" = state ]; then
        check "blame/$name-noted" "$(json "$name-a" state_only) unequal states noted" test "$(json "$name-a" state_only)" -gt 0
    else
        found=$(json "$name-a" desync_frame)
        check "blame/$name-next-hash" "planted before frame $frame, found at $found, expected $next" test "$found" = $next
        check "blame/$name-states" "no state of frame $next on both sides: $(ls "$tmp/$name-a" "$tmp/$name-b" 2>&1 | tr '\n' ' ')" \
            test -s "$tmp/$name-a/$(printf %09d $next).state" -a -s "$tmp/$name-b/$(printf %09d $next).state"
    fi

    report=$tmp/$name.bisect
    "$keylock" bisect --json "$tmp/$name-a.rec" "$tmp/$name-b.rec" --core "$path" --content "$2" >"$report" 2>"$tmp/$name-bisect.log"
    found="$? $(said_by "$report" frame) $(said_by "$report" exact)"
    check "blame/$name-bisect" "exit status, frame, exact: $found, expected 1 $frame True" test "$found" = "1 $frame True"
    found=$(byte_in "$report" "$memory" "$offset")
    check "blame/$name-byte" "byte $offset of $memory after frame $frame: $found" test "${found%% *}" = yes
    note "$name: frame $(said_by "$report" frame), byte $offset of $memory: $found"

    # The states that both have kept say the same, without the recordings.
    [ "$memory" != state ] || return 0
    "$keylock" blame --json "$tmp/$name-a" "$tmp/$name-b" --core "$path" --content "$2" >"$tmp/$name.blame" 2>"$tmp/$name-blame.log"
    found="$? $(said_by "$tmp/$name.blame" first_frame)"
    check "blame/$name-kept-states" "exit status, first frame: $found, expected 1 $next" test "$found" = "1 $next"
    found=$(byte_in "$tmp/$name.blame" "$memory" "$offset")
    check "blame/$name-kept-byte" "$found" test "${found%% *}" = yes
}

# If a run does not repeat a recording's hashes, bisect says so and uses the kept states.
unexplained() {
    local path name=nestopia
    [ -s "$tmp/$name-b.rec" ] || return
    path=$(core_path $name)
    PYTHONPATH=tests/conformance python3 -B -c 'import sys, recording
parts = recording.blocks(open(sys.argv[1], "rb").read())
open(sys.argv[2], "wb").write(recording.sealed((kind, body) for _, kind, body in parts if (kind, body[0]) != (8, 1)))' "$tmp/$name-b.rec" "$tmp/mute.rec"
    "$keylock" bisect --json "$tmp/$name-a.rec" "$tmp/mute.rec" --core "$path" --content "$content/shooter.nes" \
        --b "--states $tmp/$name-b" >"$tmp/mute.json" 2>/dev/null
    check blame/unexplained "$(cat "$tmp/mute.json")" \
        test "$(said_by "$tmp/mute.json" looked_at)" = "$(said_by "$tmp/$name.blame" first_frame)"
    case $(said_by "$tmp/mute.json" notes) in
    *"does not give its own hashes"*) ok blame/unexplained-note ;;
    *) fail "blame/unexplained-note: $(said_by "$tmp/mute.json" notes)" ;;
    esac
}

# other_build CORE FILE: nestopia with another value in a table that its sound chip goes by (the 2A03's lengths of notes).
other_build() {
    python3 - "$1" "$2" <<'END'
import sys
code = bytearray(open(sys.argv[1], "rb").read())
table = bytes([0x0a, 0xfe, 0x14, 0x02, 0x28, 0x04, 0x50, 0x06, 0xa0, 0x08, 0x3c, 0x0a, 0x0e, 0x0c, 0x1a, 0x0e])
at = code.find(table)
if at < 0: sys.exit(1)
for i in range(0, 16): code[at + i] ^= 1
open(sys.argv[2], "wb").write(code)
END
}

# byte_any FILE: prints yes if FILE names a byte of any memory.
byte_any() {
    python3 -c 'import json, sys; print("yes" if any(m["ranges"] for m in json.load(open(sys.argv[1]))["memories"]) else "no")' "$1"
}

# Two configurations: another option parts from its first difference on; the same twice does not.
configurations() {
    local path status
    path=$(core_path nestopia) || return
    common=(--core "$path" --content "$content/shooter.nes" --input random:3 --frames 300)
    "$keylock" bisect "${common[@]}" --a "" --b "" >/dev/null 2>&1
    check blame/same-configuration "exit status $?, expected 0" test $? = 0
    "$keylock" bisect "${common[@]}" --a "" --b "--option nestopia_overclock=2x" --json >"$tmp/option.json" 2>/dev/null
    status=$?
    check blame/option "exit status $status, expected 1: $(cut -c 1-200 "$tmp/option.json")" test $status = 1
    "$keylock" bisect "${common[@]}" --a "" --b "--corrupt 217:1024" --json >"$tmp/corrupt.json" 2>/dev/null
    check blame/configuration-frame "$(cut -c 1-200 "$tmp/corrupt.json")" \
        test "$(said_by "$tmp/corrupt.json" frame)" = 217
    # Another build of the core: a copy of it is equal, one with other code is not.
    cp "$path" "$tmp/same_libretro.so"
    "$keylock" bisect "${common[@]}" --a "" --b "--core $tmp/same_libretro.so" >/dev/null 2>&1
    check blame/same-build "exit status $?, expected 0" test $? = 0
    if other_build "$path" "$tmp/other_libretro.so"; then
        "$keylock" bisect "${common[@]}" --a "" --b "--core $tmp/other_libretro.so" --json >"$tmp/build.json" 2>"$tmp/build.log"
        status=$?
        check blame/other-build "exit status $status, expected 1: $(cut -c 1-300 "$tmp/build.json" | tail -n 1) $(tail -n 1 "$tmp/build.log")" test $status = 1
        check blame/other-build-names "$(cut -c 1-300 "$tmp/build.json")" test "$(said_by "$tmp/build.json" exact) $(byte_any "$tmp/build.json")" = "True yes"
    else
        skip "blame/other-build: this core's table of the noise channel's periods was not found"
    fi
    # The other machine is only there by its hashes.
    "$keylock" run --quiet --core "$path" --content "$content/shooter.nes" --input random:3 --frames 300 --hash-every 1 \
        --hash-out "$tmp/other.hash" --corrupt 217:1024 >/dev/null 2>&1
    "$keylock" bisect "${common[@]}" --a "" --b "--hashes $tmp/other.hash" --json >"$tmp/hashes.json" 2>/dev/null
    check blame/hash-file "$(cut -c 1-200 "$tmp/hashes.json")" \
        test "$(said_by "$tmp/hashes.json" frame) $(said_by "$tmp/hashes.json" exact)" = "217 True"
}

# refused NAME EXPECTED ARGUMENT…: blame ends with 2 and a line that has the words.
refused() {
    local name=$1 words=$2 status
    shift 2
    "$keylock" blame "$@" >"$tmp/refused.log" 2>&1
    status=$?
    if [ $status = 2 ] && grep -q -- "$words" "$tmp/refused.log"; then
        ok "blame/$name"
    else
        fail "blame/$name: exit status $status (expected 2, \"$words\"): $(tail -n 1 "$tmp/refused.log")"
    fi
}

bad_states() {
    local nestopia gambatte good=$tmp/nestopia-a
    [ -d "$good" ] && gambatte=$(core_path gambatte) || return
    nestopia=(--core "$(core_path nestopia)" --content "$content/shooter.nes")
    good=$(ls "$good"/*.state | head -n 1)
    head -c 2000 "$good" >"$tmp/cut.state"
    head -c 3000 /dev/zero >"$tmp/short.state"
    refused cut-short 'is cut short: .* should have [0-9]* bytes, [0-9]* are there' "$tmp/cut.state" "$good" "${nestopia[@]}"
    refused wrong-size 'it has 3000 bytes, one that it makes now has [0-9]*' "$tmp/short.state" "$good" "${nestopia[@]}"
    refused other-core 'expected Gambatte .*, got Nestopia' "$good" "$good" --core "$gambatte" --content "$content/pads.gb"
    refused not-there 'cannot read' "$tmp/nothing.state" "$good" "${nestopia[@]}"
    PROBE_CORE=no-clock "$keylock" run --quiet --core "$test_core" --content "$content/shooter.nes" --frames 60 --states "$tmp/probe" \
        >/dev/null 2>&1
    # it is to crash
    PROBE_CORE=no-clock,crash-state ASAN_OPTIONS=${ASAN_OPTIONS:-}:handle_segv=0 TSAN_OPTIONS=${TSAN_OPTIONS:-}:handle_segv=0 refused crash 'crashed while it loaded the state' \
        "$tmp/probe"/000000059.state "$tmp/probe"/000000059.state --core "$test_core" --content "$content/shooter.nes"
}

start_relay --per-address 64
core nestopia "$content/shooter.nes" 333 "system RAM" 1024
core gambatte "$content/pads.gb" 100 "system RAM" 2048
core mgba "$content/pads.gba" 411 state 264224
core bsnes_mercury_performance "$content/pads.sfc" 250 "system RAM" 6144
core mednafen_pce_fast "$content/pads.pce" 250 "system RAM" 4096
[ ! -e "$content/pads.ws" ] || core mednafen_wswan "$content/pads.ws" 217 state 12000
unexplained
configurations
bad_states
finish
