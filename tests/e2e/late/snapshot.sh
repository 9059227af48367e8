#!/usr/bin/env bash
# late/snapshot.sh - a late player begins with a snapshot if the whole match would take too long to replay: a console game, and a core
# with a state of 16 MiB, over links of 10 Mbit/s. The match is replayed if a core gives no state, or if its states prove
# incomplete. The others notice nothing, and all hashes are equal in the frames that both have run.
# LONG=MINUTES: the newcomer to the first comes so many minutes into the match.
# instead: `late/history`, late players by history; `watch/catchup`, late watchers by a snapshot; `make check`'s rooms
# runs: waiting, all, 45 s
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$proxy" "$content/shooter.nes"
nestopia=$(core_path nestopia) || die "way: no nestopia"
LONG=${LONG:-0}
AT=$((LONG > 0 ? LONG * 60 : 12)) # seconds into the game, when the newcomer comes
RATE=10000                        # kbit/s of the slow link
start_relay --catch-up 1 --per-address 64

# Pads without X and Y: nestopia's turbo is not in its states.
pads() { # SEED
    awk -v seed="$1" -v frames=$FRAMES 'BEGIN {
        srand(seed)
        for (f = 0; f < frames; f += 5 + int(rand() * 20))
            printf "%d 0 %x\n", f, (rand() < 0.5) + 256 * (rand() < 0.3) + 16 * 2 ^ int(rand() * 4) + 8 * (rand() < 0.05)
    }' >"$tmp/pads.$1"
    echo "$tmp/pads.$1"
}

# player NAME ROOM CORE FRAMES INPUT [ARGUMENT…]: in real time.
player() {
    local name=$1 room=$2 core=$3 frames=$4 input=$5
    shift 5
    start "$name" "$keylock" run --relay "$relay" --room "$room" --name "$name" --core "$core" --content "$content/shooter.nes" \
        --speed real --frames "$frames" --input "$input" --hash-every 60 --hash-out "$tmp/$name.hash" \
        --trace "$tmp/$name.csv" --wait 60 "$@"
}

of_event() { # EVENT NAME KEY: the value in the relay's line about this client
    grep -a "event=$1 .*name=\"$2\"" "$tmp/relay.log" | tail -n 1 | grep -ao " $3=[^ ]*" | cut -d= -f2
}

# began NAME: it begins with a snapshot, and has run nothing before it.
began() {
    local from first
    from=$(of_event catch_up "$1" snapshot)
    first=$(head -n 1 "$tmp/$1.hash" | cut -d ' ' -f 1)
    check "way/$1-by" "by $(of_event catch_up "$1" by)" test "$(of_event catch_up "$1" by)" = snapshot
    check "way/$1-from" "the first hash is of frame ${first:-none}, the snapshot of ${from:-none}" \
        test "${first:-0}" -ge "${from:-1}" -a "${from:-0}" -gt 300
}

# --- the rooms --------------------------------------------------------------------------------------------------------

FRAMES=$(((AT + 22) * 60))
straight=$relay
through up --rate $RATE --delay 10
slow_giver=$link
through down --rate $RATE --delay 10
slow_joiner=$link
player ann match "$nestopia" $FRAMES "$(pads 1)" --seat-time 2 --command "300:places 3"
said relay 'joined room="match"' 10
player bob match "$nestopia" $FRAMES "$(pads 2)"
relay=$slow_giver
PROBE_CORE=large:16384 player lena large "$test_core" $FRAMES random:3
relay=$straight
said relay 'joined room="large"' 10
PROBE_CORE=large:16384 player lars large "$test_core" $FRAMES random:4
PROBE_CORE=no-state player nina none "$test_core" $FRAMES random:5
said relay 'joined room="none"' 10
PROBE_CORE=no-state player nils none "$test_core" $FRAMES random:6
PROBE_CORE=forget player tess forgets "$test_core" $FRAMES random:7
said relay 'joined room="forgets"' 10
PROBE_CORE=forget player theo forgets "$test_core" $FRAMES random:8
for room in match large none forgets; do
    said relay "event=started room=\"$room\"" 20 || { show relay; die "way: room $room does not start"; }
done
watch watch ann relay
reaches ann 240
for who in bob lars nils theo; do stop $who; done
reaches ann $((AT * 60)) $((AT + 30))

# --- the newcomers: to a seat that was given up, or to a new one ------------------------------------------------------------

there() { # NAME SECONDS
    said relay "event=caught_up .*name=\"$1\"" "$2" || { show "$1" relay; die "way: $1 does not catch up"; }
    note "$1: $(grep -a "event=caught_up.*\"$1\"" "$tmp/relay.log" | grep -ao 'frame=.*')"
}

player carl match "$nestopia" $FRAMES "$(pads 9)"
there carl 30
watch watch2 carl # ann waits for him as well
player dora match "$nestopia" $FRAMES "$(pads 10)"
PROBE_CORE=no-state player nora none "$test_core" $FRAMES random:11
PROBE_CORE=forget player tina forgets "$test_core" $FRAMES random:12
there dora 30
there nora 30
relay=$slow_joiner
PROBE_CORE=large:16384 player lynn large "$test_core" $FRAMES random:13
relay=$straight
there lynn 60
said relay 'event=catch_up_apart room="forgets".*name="tina"' 30 || { show tina relay; fail "way/tina: the relay does not find tina's state incomplete"; }
for who in ann lena nina tess carl dora nora tina lynn; do ends_well way $who $((FRAMES / 60)); done
stop watch
stop watch2
sort -n "$tmp/watch.log" "$tmp/watch2.log" >"$tmp/held.log"
for pair in "ann bob" "ann carl" "ann dora" "lena lynn" "nina nora"; do equal way $pair; done
for who in carl dora lynn; do
    began $who
    check "way/$who-last" "$who has not run to the end" grep -q "^$((FRAMES / 60 * 60 - 1)) " "$tmp/$who.hash"
    check "way/$who-checked" "no hash of $who was compared" grep -aq "event=checked .*name=\"$who\"" "$tmp/relay.log"
done
check way/lynn-told "lynn's log lacks the line about her waiting" \
    grep -aqE "fetching the room's state: [0-9]+ of [0-9]+ KB" "$tmp/lynn.log"
check way/nora-by "by $(of_event catch_up nora by)" test "$(of_event catch_up nora by)" = history
check way/nora-all "nora has not run from frame 0" test "$(head -n 1 "$tmp/nora.hash" | cut -d ' ' -f 1)" -lt 90
check way/tina-by "in the end by $(of_event catch_up tina by)" test "$(of_event catch_up tina by)" = history
check way/tina-same "tess and tina end in different states" test "$(json tess ram)" = "$(json tina ram)"

# --- in time ----------------------------------------------------------------------------------------------------------

# The same bytes go up from a player and down to a newcomer at the same time.
took=$(of_event caught_up lynn took_ms)
wire_ms=$(($(of_event catch_up lynn packed) * 8 / RATE))
note "lynn: $(of_event catch_up lynn bytes) bytes, packed $(of_event catch_up lynn packed): $wire_ms ms of each link's time, plays after $took ms"
held_ms=$(awk '{ms += $2} END {printf "%d", ms}' "$tmp/held.log")
in_time check way/lynn-in-time "$took ms, of which the links need $wire_ms, and the machine stood still for $held_ms" test "${took:-99999}" -le $((2000 + wire_ms + held_ms))
in_time check way/carl-in-time "$(of_event caught_up carl took_ms) ms; the machine stood still for $held_ms" test "$(of_event caught_up carl took_ms)" -le $((2000 + held_ms))
in_time python3 tests/e2e/judge_trace.py way/ann "$tmp/ann.csv" --after $((LONG > 0 ? AT - 5 : 8)) --fps 60 --min-share 0.99 --max-gap 34 \
    --watch "$tmp/held.log"
finish
