#!/usr/bin/env bash
# recording/verify.sh - recordings of one match, of its players and of its relay, are run again by `keylock verify`. A hash that is forged,
# an input that is changed, a planted desync, another core, content, option or rules, a torn file, and one that the relay has not
# sealed are told, each by its name and exit status.
# runs: waiting, test, 45 s
. "$(dirname "$0")/../lib.sh"

FRAMES=1560 LATE=500 PLANTED=277 OFFSET=0x6f0
needs "$keylock" "$relay_program" "$wrapper" "$test_core" "$content/shooter.nes" "$content/pads.gb"
gambatte=$(core_path gambatte) && nestopia=$(core_path nestopia) || die "verify: no gambatte or nestopia"

altered() { python3 -B tests/conformance/altered.py "$@"; }

# verified NAME STATUS "KEY=VALUE;…" ARGUMENT…: exit status, and values of the object of the file named last. A value is a text, or a part of one.
verified() {
    local name=$1 wanted=$2 values=$3 status why
    shift 3
    "$keylock" verify --json "$@" >"$tmp/$name.json" 2>"$tmp/$name.log"
    status=$?
    why=$(python3 - "$tmp/$name.json" "$values" "${*: -1}" <<'END_OF_PYTHON'
import json, sys
found = {o["file"]: o for o in map(json.loads, open(sys.argv[1]))}[sys.argv[3]]
for pair in filter(None, sys.argv[2].split(";")):
    key, value = pair.split("=", 1)
    mine = found[key] if not isinstance(found[key], list) else ",".join(found[key])
    if value not in str(mine) or (not isinstance(found[key], str) and value != str(mine)):
        print("%s is %s, expected %s" % (key, mine, value))
END_OF_PYTHON
    )
    check "verify/$name" "exit status $status, expected $wanted; $why; $(tail -n 1 "$tmp/$name.log") $(cut -c 1-400 "$tmp/$name.json")" \
        test $status = "$wanted" -a -z "$why"
}

# hashed RECORDING FRAME: the first frame from there on that it has a hash of.
hashed() { "$keylock" replay --text "$1" | awk -v from="$2" '$1 == "hash" && $2 >= from { print $2; exit }'; }

# said_by NAME KEY: of the last file's object.
said_by() { tail -n 1 "$tmp/$1.json" | python3 -c 'import json, sys; print(json.loads(sys.stdin.readline())[sys.argv[1]])' "$2"; }

start_relay --journal "$tmp/journal" --record "$tmp/records" --console --catch-up 1
game=(--core "$gambatte" --content "$content/pads.gb" --room match --speed real --frames $FRAMES --wait 60 --trust on)
run_in_room ann "${game[@]}" --input random:1 --hash-every 60 --record "$tmp/ann.klr" --match cup/r1.m2
said relay 'joined room="match"' 10
mkdir "$tmp/recordings"
KEYLOCK_RECORD=$tmp/recordings KEYLOCK_RECORD_CHAT=on run_in_room bob "${game[@]}" --input random:2

# Beside it, one with a planted desync, at full speed.
export KEYLOCK_DESYNC=ignore KEYLOCK_PROFILE=off
other=(--core "$nestopia" --content "$content/shooter.nes" --room planted --frames 600 --wait 30)
run_in_room dora "${other[@]}" --input random:3 --hash-every 60 --record "$tmp/dora.klr"
said relay 'joined room="planted"' 10
run_in_room erik "${other[@]}" --input random:4 --record "$tmp/erik.klr" --states "$tmp/erik.states" --corrupt $PLANTED:$OFFSET
unset KEYLOCK_DESYNC KEYLOCK_PROFILE
ended dora 60
ended erik 30
"$keylock" run --quiet --core "$nestopia" --content "$content/shooter.nes" --frames 600 --input random:7 --hash-every 60 --record "$tmp/alone.klr" \
    >/dev/null 2>&1 || fail "verify/alone-run: exit status $?"

reaches ann $LATE
"$keylock" command --pid "${pid[ann]}" places 3 >"$tmp/places.log" 2>&1 || fail "verify/places: $(cat "$tmp/places.log")"
"$keylock" command --pid "${pid[ann]}" say well met, bob >"$tmp/say.log" 2>&1 || fail "verify/say: $(cat "$tmp/say.log")"
"$keylock" command --pid "${pid[ann]}" report bob is two people >"$tmp/report.log" 2>&1 || fail "verify/report: $(cat "$tmp/report.log")"
run_in_room carl "${game[@]}" --input random:5 --record "$tmp/carl.klr"
said relay 'event=catch_up room="match".*name="carl".* by=snapshot' 30 || { show carl relay; die "verify: carl does not come by a snapshot"; }
# The relay's recording goes with its room: a copy of it, once it has frames and hashes.
recorded() {
    cp "$tmp"/journal/*.klr "$tmp/relay.klr" 2>/dev/null && "$keylock" replay --text "$tmp/relay.klr" 2>/dev/null | grep -q '^hash '
}
eventually 30 recorded || { show relay; die "verify: the relay writes no recording"; }
for who in ann bob carl; do ends_well verify $who 60; done

bobs=("$tmp"/recordings/*)
check verify/a-file-of-its-own "${bobs[*]##*/}" eval '[ ${#bobs[@]} = 1 ] && [[ ${bobs[0]##*/} =~ ^[0-9-]{10}T[0-9.]{10}Z\ match\ 1\.klr$ ]]'
cp "${bobs[0]}" "$tmp/bob.klr"
fingerprint=$(sed -n 's/.*event=listening.* fingerprint=\([a-z2-7]*\).*/\1/p' "$tmp/relay.log" | head -n 1)
gb=(--content "$content/pads.gb") nes=(--content "$content/shooter.nes")
verified ann 0 "frames=$FRAMES;from=0;ended=True;parts=ram,state" "${gb[@]}" "$tmp/ann.klr"
verified bob 0 "frames=$FRAMES;from=0" "${gb[@]}" "$tmp/bob.klr"
check verify/same-hashes "$(said_by ann hashes) and $(said_by bob hashes)" test "$(said_by ann hashes)" = "$(said_by bob hashes)" -a "$(said_by ann hashes)" -ge 20
verified relay 0 "from=0" --core nestopia --core gambatte --content "$content" "$tmp/relay.klr"
check verify/reports "$(cat "$tmp/relay.json")" grep -qE '"reports":\[\{"frame":[0-9]+,"client":0,"name":"ann","text":"bob is two people"\}\]' "$tmp/relay.json"
check verify/relay-frames "$(said_by relay frames) of $FRAMES" test "$(said_by relay frames)" -ge 1000
verified carl-alone 2 "why=begins with the room's state" "${gb[@]}" "$tmp/carl.klr"
verified carl 0 "base=bob.klr;frames=$FRAMES" -j 2 "${gb[@]}" "$tmp/bob.klr" "$tmp/carl.klr"
verified alone 0 "frames=600;from=0;parts=ram,state" "${nes[@]}" "$tmp/alone.klr"
"$keylock" verify --core gambatte "${gb[@]}" "$tmp/ann.klr" >"$tmp/text" 2>&1
check verify/text "$(cat "$tmp/text")" grep -qE "ann.klr: verified: frames 0 to $((FRAMES - 1)), [0-9]+ hashes \(RAM and state\); sealed by $fingerprint up to frame [0-9]+$" "$tmp/text"

# In pieces from the states of an earlier run, unless one of these is another.
verified whole 0 "frames=$FRAMES" "${gb[@]}" --pieces "$tmp/pieces" "$tmp/ann.klr"
verified pieces 0 "frames=$FRAMES;hashes=$(said_by whole hashes);parts=ram,state;note=in 3 pieces" "${gb[@]}" --pieces "$tmp/pieces" -j 2 "$tmp/ann.klr"
state=$(find "$tmp/pieces" -name '*.state' | sort | tail -n 1)
printf x | dd of="$state" bs=1 seek=9000 conv=notrunc 2>"$tmp/dd.log"
verified pieces-other 0 "hashes=$(said_by whole hashes);note=do not fit: run whole" "${gb[@]}" --pieces "$tmp/pieces" -j 2 "$tmp/ann.klr"

# The relay's own file has each player's signature under all hashes that his machine said.
"$keylock" verify --core gambatte --core nestopia --content "$content" "$tmp"/records/new/*.klr >"$tmp/signed" 2>&1
for who in ann bob; do
    check verify/$who-signed "$(cat "$tmp/signed")" grep -qE "; $who signed all hashes up to that of frame $((FRAMES - 1))(;|\$)" "$tmp/signed"
done

# Chat is in the one recording whose player wants that, and under no seal; the maker's id of the match is in all.
has_chat() {
    PYTHONPATH=tests/conformance python3 -B -c '
import sys, recording
sys.exit(not any(b"well met" in body for _, _, body in recording.blocks(open(sys.argv[1], "rb").read()) if isinstance(body, bytes)))' "$1"
}
check verify/chat "bob's recording has none" has_chat "$tmp/bob.klr"
cp "$tmp"/records/new/*-reported.klr "$tmp/reported.klr"
for who in ann reported; do
    check "verify/no-chat-$who" "it has what was said" eval '! has_chat "$tmp/$who.klr"'
    "$keylock" replay --info "$tmp/$who.klr" >"$tmp/info"
    check "verify/match-$who" "$(cat "$tmp/info")" grep -qx "match    cup/r1.m2" "$tmp/info"
done
check verify/match "$(said_by bob match)" test "$(said_by bob match)" = cup/r1.m2

# The relay deletes a match for its players: by the keys of their seats, and not one that was reported.
# deleted NAME STATUS WORDS ARGUMENTS
deleted() {
    local name=$1 want=$2 words=$3 status=0
    shift 3
    "$keylock" delete "$@" >"$tmp/delete" 2>&1 || status=$?
    check "verify/delete-$name" "exit status $status: $(cat "$tmp/delete")" eval 'test $status = $want && grep -q -- "$words" "$tmp/delete"'
}
kept() { find "$tmp/records" -name "*-$1*" | wc -l; }
planted=$("$keylock" replay --json "$tmp/dora.klr" | python3 -c 'import json, sys; print(json.load(sys.stdin)["room_id"])')
check verify/keys "$("$keylock" delete --list)" test "$("$keylock" delete --list | grep -c "^$planted  .* planted$")" = 2
XDG_STATE_HOME=$tmp/nobody deleted nobody 1 "no key of a seat of that match" "$tmp/dora.klr"
deleted reported 1 "has reported that match" "$tmp/ann.klr"
deleted no-room 2 "played in no room" "$tmp/alone.klr"
check verify/kept "$(ls "$tmp/records/new")" test "$(kept "$planted")" = 1
deleted one 0 "^deleted by 127.0.0.1:" "$tmp/dora.klr"
check verify/deleted "$(ls "$tmp/records/new")" test "$(kept "$planted")" = 0
deleted again 1 "has no recording of that match" "$planted"

# Hashes and inputs that are not those of the match, with good checks.
label=$(altered "$tmp/ann.klr" "$tmp/forged.klr" 'forge(-1)')
verified forged 1 "planted=None;label=$label;clients=ann;differs=ram" "${gb[@]}" "$tmp/forged.klr"
label=$(altered "$tmp/relay.klr" "$tmp/forged-relay.klr" 'forge(2)')
verified forged-relay 1 "label=$label;clients=ann,bob;differs=ram" "${gb[@]}" "$tmp/forged-relay.klr"
altered "$tmp/ann.klr" "$tmp/pressed.klr" 'press(700)'
"$keylock" replay --info "$tmp/pressed.klr" >/dev/null || fail "verify/pressed-whole: it is damaged"
verified pressed 1 "label=$(hashed "$tmp/ann.klr" 700)" "${gb[@]}" "$tmp/pressed.klr"

# The relay's seal stands in all files of the match, and in no other.
for who in ann bob carl relay; do
    verified sealed-$who 0 "sealed_by=$fingerprint;unsealed=None" --relay "$fingerprint" "${gb[@]}" "$tmp/bob.klr" "$tmp/$who.klr"
    check verify/sealed-$who-up-to "frame $(said_by sealed-$who sealed)" test "$(said_by sealed-$who sealed)" -ge 1024
done
verified sealed-pressed 4 "why=its frames are not the sealed ones;hashes=0" --relay "$fingerprint" "${gb[@]}" "$tmp/pressed.klr"
verified sealed-forged 1 "label=$(said_by forged label);clients=ann" --relay "$fingerprint" "${gb[@]}" "$tmp/forged.klr"
altered "$tmp/ann.klr" "$tmp/epoch.klr" 'parts[0] = HEAD, parts[0][1][:-1] + b"\1"'
verified sealed-epoch 4 "why=signature is not of this match" --relay "$fingerprint" "${gb[@]}" "$tmp/epoch.klr"
altered "$tmp/ann.klr" "$tmp/key.klr" 'parts[0] = HEAD, parts[0][1][:20] + bytes(32) + parts[0][1][52:]'
verified sealed-key 4 "why=another key than its relay" --relay "$fingerprint" "${gb[@]}" "$tmp/key.klr"
verified sealed-nowhere 4 "why=it has no seal" --relay "$fingerprint" "${nes[@]}" "$tmp/alone.klr"
verified sealed-elsewhere 4 "why=another relay sealed it" --relay "${fingerprint//[a-m]/n}" "${gb[@]}" "$tmp/ann.klr"
altered "$tmp/ann.klr" "$tmp/mute.klr" 'without(HASH)'
verified mute 2 "why=no agreed hash" "${gb[@]}" "$tmp/mute.klr"

# A planted desync: the player's own file names its frame, and the state here differs from theirs in that byte.
label=$(hashed "$tmp/dora.klr" $PLANTED)
verified dora 0 "frames=600" "${nes[@]}" "$tmp/dora.klr"
verified erik 1 "planted=$PLANTED;label=$label;clients=erik;differs=ram,state" "${nes[@]}" --states "$tmp/kept" "$tmp/erik.klr"
state=$(printf %09d $label).state
"$keylock" blame "$tmp/kept/erik/$state" "$tmp/erik.states/$state" --core "$nestopia" "${nes[@]}" >"$tmp/blame" 2>&1
check verify/blame "$(cat "$tmp/blame")" grep -q "^  0x0*${OFFSET#0x} " "$tmp/blame"

# A missing thing is told by its name.
verified other-core 2 "why=core differs" --core nestopia "${gb[@]}" "$tmp/ann.klr"
verified no-content 2 "why=content missing" "${nes[@]}" "$tmp/ann.klr"
altered "$tmp/alone.klr" "$tmp/option.klr" 'option("nestopia_overclock=9x")'
verified option-value 2 "why=option nestopia_overclock differs" "${nes[@]}" "$tmp/option.klr"
altered "$tmp/alone.klr" "$tmp/option.klr" 'option("nestopia_paint=red")'
verified option-missing 2 "why=option missing: nestopia_paint" "${nes[@]}" "$tmp/option.klr"
altered "$tmp/alone.klr" "$tmp/rules.klr" 'rules(2)'
verified rules 2 "why=rules differ: the recording has those of number 2" "${nes[@]}" "$tmp/rules.klr"

# A core that parts from itself: it takes chance past the world from a frame on.
PROBE_CORE=no-clock "$keylock" run --quiet --core "$test_core" "${nes[@]}" --frames 120 --hash-every 30 --record "$tmp/probe.klr" >/dev/null 2>&1
PROBE_CORE=no-clock verified probe 0 "frames=120" --core "$test_core" "${nes[@]}" "$tmp/probe.klr"
PROBE_CORE=no-clock,entropy:50 verified itself 2 "why=the core parts from itself" --core "$test_core" "${nes[@]}" "$tmp/probe.klr"

# Keys, sticks and mice alone.
echo "strange 4" >"$tmp/strange.txt"
strange=(--core "$build/cores/strange_core_libretro.so" --content "$tmp/strange.txt")
"$keylock" run --quiet "${strange[@]}" --frames 600 --input any:3 --hash-every 30 --record "$tmp/any.klr" >/dev/null 2>&1
verified any 0 "frames=600;hashes=20" "${strange[@]}" "$tmp/any.klr"

# Torn, and a bit changed: unpacked, and packed.
altered "$tmp/ann.klr" "$tmp/flat.klr" ''
verified flat 0 "frames=$FRAMES;sealed_by=$fingerprint" "${gb[@]}" "$tmp/flat.klr"
check verify/packed "$(stat -c '%s %n' "$tmp/ann.klr" "$tmp/flat.klr")" test $(($(stat -c %s "$tmp/ann.klr") * 3)) -lt $(($(stat -c %s "$tmp/flat.klr") * 2))
head -c $(($(stat -c %s "$tmp/flat.klr") / 2)) "$tmp/flat.klr" >"$tmp/torn.klr"
verified torn 3 "why=the file ends within it" "${gb[@]}" "$tmp/torn.klr"
check verify/torn-frames "$(said_by torn frames) frames, $(said_by torn hashes) hashes" test "$(said_by torn frames)" -ge 500 -a "$(said_by torn hashes)" -ge 8
for form in flat ann; do
    python3 - "$tmp/$form.klr" "$tmp/$form-bit.klr" <<'END_OF_PYTHON'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[len(data) * 3 // 4] ^= 4
open(sys.argv[2], "wb").write(data)
END_OF_PYTHON
done
verified flat-bit 3 "why=its check is wrong" "${gb[@]}" "$tmp/flat-bit.klr"
verified ann-bit 3 "why=in the packed frame 1, minute 1 of the match, at byte 0: its check is wrong" "${gb[@]}" "$tmp/ann-bit.klr"
verified none 3 "why=does not begin as a recording" "${gb[@]}" "$content/pads.gb"
# The highest of all files.
verified all 3 "" -j 2 "${gb[@]}" "${nes[@]}" "$tmp/ann.klr" "$tmp/erik.klr" "$tmp/mute.klr" "$tmp/torn.klr"
finish
