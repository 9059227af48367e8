#!/usr/bin/env bash
# tool/json.sh - the tools' output with --json: values are bare, without labels or units, and C++ names can be read.
# runs: working, test, 12 s
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$test_core" "$content/shooter.nes"
core=$(core_path nestopia) || core=$test_core # C++, so that its imports have names to read
game=(--core "$core" --content "$content/shooter.nes")

# bare NAME FILE: the last line is a JSON object without a text like "12 ms", "hash: abc", "xxh3 12ab" or "_ZN…".
bare() {
    local why
    why=$(grep -a '^{' "$2" | tail -n 1 | python3 -c '
import json, re, sys
BAD = re.compile(r"^-?[\d.]+ ?(ms|us|s|fps|Hz|%|frames?|bytes|[KM]i?B)$|^\w+: |^(xxh3|ram|state|hash|frame)[ =]|\b_Z")
def texts(value, path):
    for key, part in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from texts(part, f"{path}.{key}")
    if isinstance(value, str):
        yield path, value
found = json.loads(sys.stdin.read())
print("; ".join(f"{path}: {text}" for path, text in texts(found, "") if BAD.search(text)), end="")' 2>&1)
    check "json/$1" "${why:-no object: $(tail -n 1 "$2")}" test -z "$why" -a -n "$(grep -a '^{' "$2")"
}

start_relay --bind ::
relay6="[::1]:$port"
"$keylock" probe "${game[@]}" --frames 60 --json - >"$tmp/probe" 2>/dev/null
bare probe "$tmp/probe"
check json/probe-content "$(head -c 300 "$tmp/probe")" grep -q '"content":{"xxh3":"[0-9a-f]\{16\}","bytes":[0-9]*,"name":"shooter.nes"}' "$tmp/probe"
[ "$core" = "$test_core" ] ||
    check json/probe-names "$(grep -o '"turned":[^]]*' "$tmp/probe")" grep -q '{"name":"std::basic_filebuf::open"}' "$tmp/probe"
for side in a b; do
    corrupt=()
    [ $side = a ] || corrupt=(--corrupt 60)
    "$keylock" run --quiet "${game[@]}" --frames 120 --input random:1 --hash-every 30 --record "$tmp/$side.rec" --states "$tmp/$side.states" \
        "${corrupt[@]}" >"$tmp/$side" 2>/dev/null
done
bare run "$tmp/a"
"$keylock" blame "$tmp/a.states" "$tmp/b.states" "${game[@]}" --json >"$tmp/blame" 2>/dev/null
bare blame "$tmp/blame"
"$keylock" bisect "$tmp/a.rec" "$tmp/b.rec" "${game[@]}" --json >"$tmp/bisect" 2>/dev/null
bare bisect "$tmp/bisect"
run_in_room ann "${game[@]}" --room json --frames 100000 --input random:1 --hash-every 30
said relay 'joined room="json"' 10
"$keylock" rooms --json "$relay6" >"$tmp/rooms" 2>/dev/null
bare rooms "$tmp/rooms"
env -u XDG_CONFIG_HOME HOME="$tmp/none" KEYLOCK_RELAY="$relay" "$keylock" rooms --json >"$tmp/rooms-set" 2>/dev/null
check json/rooms-set-relay "rooms without a relay does not ask the one that is set" grep -q '"name":"json"' "$tmp/rooms-set"
env -u XDG_CONFIG_HOME -u KEYLOCK_RELAY HOME="$tmp/none" "$keylock" rooms >"$tmp/unset.log" 2>&1
status=$?
check json/rooms-no-relay "exit status $status, expected 2" test $status = 2
check json/rooms-content "$(cat "$tmp/rooms")" grep -q '"content":{"xxh3":"[0-9a-f]\{16\}","bytes":[0-9]*,"name":"shooter.nes"}' "$tmp/rooms"
run_in_room bob --relay "$relay6" "${game[@]}" --room json --frames 120 --input random:2 --hash-every 30 --wait 20
ended bob 40
bare run-in-a-room "$tmp/bob.log"
# ann is there by IPv4, bob by IPv6
check json/both-kinds "$(grep -a 'event=joined' "$tmp/relay.log" | grep -o 'address=[^ ]*' | tr '\n' ' ')" \
    test "$(grep -acE 'event=joined .*address=127\.0\.0\.1:[0-9]+ ' "$tmp/relay.log")$(grep -acE 'event=joined .*address=\[::1\]:[0-9]+ ' \
    "$tmp/relay.log")" = 11
stop ann
head -n "$(wc -l <"$tmp/bob.hash")" "$tmp/ann.hash" >"$tmp/ann-then.hash"
check json/both-kinds-equal "$(diff "$tmp/ann-then.hash" "$tmp/bob.hash" | head -n 3)" \
    test "$(wc -l <"$tmp/bob.hash")" -ge 4 -a "$(cmp "$tmp/ann-then.hash" "$tmp/bob.hash" 2>&1)" = ""
"$keylock" doctor --json --relay "$relay6" >"$tmp/doctor" 2>/dev/null
bare doctor "$tmp/doctor"
check json/doctor-ipv6 "$(grep -o 'answers after' "$tmp/doctor")" grep -qF "$relay6 answers after" "$tmp/doctor"
finish
