#!/usr/bin/env bash
# relay/restart.sh - a relay with --journal is killed with -9 while two pairs play, and started again on the same port
# with the same folders: all go on within 3 s, with no frame lost or changed. The same when SIGTERM
# ends it, as systemctl restart does. The recordings of the relay that was killed say what the players' own hashes say. With
# --record those of rooms that have ended are kept: they have all frames and an END, and verify with the relay's seals.
#   PAIRS=2
# runs: waiting, test, 50 s
. "$(dirname "$0")/../lib.sh"

PAIRS=${PAIRS:-2} FRAMES=2300
needs "$keylock" "$relay_program" "$wrapper" "$content/shooter.nes"
fixed=$(free_port)
options=(--bind 127.0.0.1 --port "$fixed" --state "$tmp/state" --journal "$tmp/journal" --record "$tmp/recordings")

begin_relay() { # NAME
    start "$1" "$relay_program" "${options[@]}"
    said "$1" 'event=listening' 5 || { show "$1"; die "restart: $1 does not start"; }
}

journals() { find "$tmp/journal" -name '*.tail' | wc -l; }
journalled() { [ "$(journals)" -ge "$PAIRS" ]; }

# all_back NAME: every player has taken its seat back.
all_back() { [ "$(grep -ac 'event=returned' "$tmp/$1.log")" -ge $((2 * PAIRS)) ]; }

# longest_gap: of all players, seconds between two frames; begin and end of it by the trace's clock.
longest_gap() {
    python3 - "$tmp"/pair*.csv <<'END'
import csv, sys
for name in sys.argv[1:]:
    ran = [int(r["wall_us"]) for r in csv.DictReader(open(name, newline="")) if int(r["run"]) > 0]
    gap, at = max((b - a, a) for a, b in zip(ran, ran[1:]))
    print(f"     {name.rsplit('/', 1)[1]}: {len(ran)} calls with frames, longest gap {gap / 1e6:.2f} s")
END
}

begin_relay relay1
relay=127.0.0.1:$fixed
for i in $(seq "$PAIRS"); do
    for who in a b; do
        run_in_room "pair$i-$who" --core nestopia --content "$content/shooter.nes" --room "pair$i" --frames $FRAMES \
            --speed real --input "random:$i$RANDOM" --hash-every 60 --wait 30 --record "$tmp/pair$i-$who.klr"
        [ $who = b ] || said relay1 "event=joined room=\"pair$i\"" 10
    done
done
eventually 20 journalled || { show relay1; die "restart: $(journals) journals for $PAIRS rooms"; }
check restart/private "mode of the journal: $(stat -c '%a %n' "$tmp"/journal "$tmp"/journal/*)" \
    test "$(stat -c %a "$tmp"/journal "$tmp"/journal/* | sort -u | tr '\n' ' ')" = "600 700 "
reaches pair1-a 1100 # whole intervals of 1,024 frames are in the recording
watch watch $(for i in $(seq "$PAIRS"); do echo "pair$i-a pair$i-b"; done)

# same_match RELAYS PLAYERS…: the recordings are of one room of one relay, with equal frames as far as each goes.
same_match() {
    PYTHONPATH=tests/conformance python3 -B - "$@" <<'END'
import sys, recording
relays, *players = (recording.Recording(open(name, "rb").read()) for name in sys.argv[1:])
for mine in players:
    count = min(len(relays.frames), len(mine.frames))
    if relays.head[2:4] != mine.head[2:4] or not any(mine.head[3]):
        sys.exit("room and relay: %s, the player has %s" % (relays.head[2:4], mine.head[2:4]))
    if count < 1000 or relays.frames[:count] != mine.frames[:count]:
        sys.exit("%d frames, and the player has other ones" % count)
    if not mine.seals or mine.seals[-1] not in relays.seals:
        sys.exit("the relay has sealed %s, the player has %s" % (relays.seals, mine.seals))
END
}

# Of each room, 1,000 frames at least, and ten hashes that both players said.
recordings() {
    local file room sealed fingerprint
    fingerprint=$(sed -n 's/.*event=listening.* fingerprint=\([a-z2-7]*\).*/\1/p' "$tmp/relay1.log" | head -n 1)
    for file in "$tmp"/journal/*.klr; do
        "$keylock" replay --text "$file" >"$tmp/record.txt" 2>"$tmp/record.err" || { cat "$tmp/record.err"; return 1; }
        room=$(sed -n 's/^room //p' "$tmp/record.txt")
        awk -v least=1000 'NR == FNR { ram[$1] = $2; next }
            $1 == "hash" { if (ram[$2] != $3) { print "hash of frame " $2 ": " $3 ", the player has " ram[$2]; exit 1 } hashes++ }
            $1 == "frames" { frames = $3 }
            END { if (hashes < 10 || frames < least) { print hashes + 0 " hashes, " frames + 0 " frames"; exit 1 } }' \
            "$tmp/$room-a.hash" "$tmp/record.txt" || return 1
        same_match "$file" "$tmp/$room-a.klr" "$tmp/$room-b.klr" || return 1
        for sealed in "$file" "$tmp/$room-a.klr" "$tmp/$room-b.klr"; do
            "$keylock" replay --info "$sealed" | grep -q "^sealed   up to frame .*, by the relay $fingerprint$" && continue
            echo "$sealed: $("$keylock" replay --info "$sealed" | grep '^sealed'), expected by $fingerprint"
            return 1
        done
    done
}

check restart/told "$("$keylock" rooms "$relay" | tail -n 1)" \
    test "$("$keylock" rooms "$relay" | grep -c ', recorded$')" = "$PAIRS"

declare -A signal=([2]=KILL [3]=TERM)
for life in 2 3; do
    stop relay$((life - 1)) "${signal[$life]}" 2>/dev/null
    status=$?
    [ "${signal[$life]}" = KILL ] || check restart/ends "exit status $status after SIGTERM" test $status = 0
    lasts 2 "a supervisor's pause"
    [ $life = 3 ] || check restart/recorded "$(recordings 2>&1 | head -n 1)" recordings
    begun=$(now_ms) from=${EPOCHREALTIME/./}
    begin_relay relay$life
    eventually 4 all_back relay$life
    ms=$(($(now_ms) - begun))
    still=$(stood_ms watch "$from" "${EPOCHREALTIME/./}")
    in_time check "restart/resumed-$life: all $((2 * PAIRS)) players back $ms ms after the restart" \
        "after $ms ms; the machine stood still for $still" test $((ms - still)) -lt 3000
    [ $ms -lt 3000 ] || SHOW_LINES=30 show relay$life
    check restart/loaded-$life "not every room was loaded" \
        test "$(grep -ac 'event=journal_loaded' "$tmp/relay$life.log")" = "$PAIRS"
    plays pair1-a 180
done

for i in $(seq "$PAIRS"); do
    both_equal restart "pair$i-a" "pair$i-b"
    check "restart/pair$i-moves" "the hashes do not change" hashes_move "$tmp/pair$i-a.hash"
done
longest_gap
gone() { [ "$(journals)" = 0 ]; }
check restart/removed "$(journals) journals are left of rooms that have ended" eventually 20 gone

check restart/names "$(ls "$tmp/recordings/new" | tr '\n' ' ')" \
    test "$(ls "$tmp/recordings/new" | grep -cxE '[0-9]{8}-[0-9]{6}-[0-9a-f]{32}\.klr')" = "$PAIRS"

# Each recording has all frames of the match and its end, no address, and its relay's seals.
whole() {
    local file room fingerprint
    fingerprint=$(sed -n 's/.*event=listening.* fingerprint=\([a-z2-7]*\).*/\1/p' "$tmp/relay1.log" | head -n 1)
    "$keylock" verify --core "$(core_path nestopia)" --content "$content" --relay "$fingerprint" \
        "$tmp"/recordings/new/*.klr >"$tmp/verify.txt" 2>&1 || { cat "$tmp/verify.txt"; return 1; }
    for file in "$tmp"/recordings/new/*.klr; do
        ! grep -aq '127\.0\.0\.1' "$file" || { echo "$file has an address"; return 1; }
        "$keylock" replay --info "$file" >"$tmp/record.txt" 2>&1 || { cat "$tmp/record.txt"; return 1; }
        room=$(sed -n 's/^room *//p' "$tmp/record.txt")
        awk -v least=$FRAMES '$1 == "frames" { frames = $4 + 1 } $1 == "blocks" { whole = NF == 2 }
            END { if (frames < least || !whole) { print frames + 0 " frames", whole ? "" : "without an end"; exit 1 } }' \
            "$tmp/record.txt" || return 1
        same_match "$file" "$tmp/$room-a.klr" "$tmp/$room-b.klr" || return 1
    done
}
check restart/whole "$(whole 2>&1 | head -n 1)" whole
finish
