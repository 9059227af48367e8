#!/usr/bin/env bash
# late/history.sh - a late player runs the whole game from the beginning, without picture and sound, and then plays in a free seat,
# or watches if there is none. The others notice nothing. All hashes are equal, from frame 0 on.
# LONG=MINUTES: the newcomer comes so many minutes into the match.
# runs: waiting, test, 30 s
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$content/shooter.nes"
nestopia=$(core_path nestopia) || die "join: no nestopia"
LONG=${LONG:-0}
AT=$((LONG > 0 ? LONG * 60 : 7)) # seconds into the game, when the newcomer comes
CATCH_UP=$((LONG * 8))            # more seconds for each of three late players to catch up
SEAT=2                            # seconds that bob's seat is kept
[ -z "${KL_SAN:-}" ] || { AT=$((AT + 20)) CATCH_UP=$((CATCH_UP + 20)) SEAT=15; }
PLAY=$(((AT + 7 + 3 * CATCH_UP) * 60)) # a frame at which they are there
ALL=$((PLAY + 9 * 60))           # frames of the match
start_relay --console --catch-up 3600 # all of it by history, however long

# player NAME FRAMES SEED [ARGUMENT…]: in a room in real time.
player() {
    local name=$1 frames=$2 seed=$3
    shift 3
    start "$name" "$keylock" run --relay "$relay" --name "$name" --core "$nestopia" --content "$content/shooter.nes" \
        --speed real --frames "$frames" --input "random:$seed" --hash-every 60 --hash-out "$tmp/$name.hash" \
        --trace "$tmp/$name.csv" --wait 60 "$@"
}

refused() { # NAME CODE WORDS [ARGUMENT…]: a newcomer is refused with these words
    local name=$1 code=$2 words=$3 status
    shift 3
    player "$name" 60 9 "$@"
    ended "$name" 20
    status=$?
    check "join/$name-refused" "exit status $status, $(tail -n 1 "$tmp/$name.log")" \
        eval "[ $status = $code ] && grep -aqE '$words' '$tmp/$name.log'"
}

# --- ann plays on; bob leaves early; carl comes later, to his seat; dora watches ------------------------------------

player ann $ALL 1 --room match --seat-time $SEAT
said relay 'joined room="match"' 10
player bob $ALL 2 --room match
said relay 'event=started room="match"' 20 || { show relay; die "join: the room does not start"; }
watch watch ann relay
reaches ann 180
stop bob
reaches ann $((AT * 60)) $((AT + 30))
check join/full-listing "keylock rooms does not offer the seat" \
    eval '"$keylock" rooms "$relay" >"$tmp/rooms.log" 2>&1; grep -q "match.*1/2" "$tmp/rooms.log"'
player carl $ALL 3 --room match --command $((PLAY + 150)):watch --command $((PLAY + 390)):play
said relay 'event=caught_up room="match".*name="carl"' $((60 + CATCH_UP)) || { show carl relay; die "join: carl does not catch up"; }
note "$(grep -a 'event=caught_up.*carl' "$tmp/relay.log" | grep -o 'frame=.*')"
player dora $ALL 4 --room match --seats 0
said relay 'event=caught_up room="match".*name="dora"' $((60 + CATCH_UP)) || { show dora relay; die "join: dora does not catch up"; }
player erik $ALL 5 --room match --command $((PLAY + 240)):play --command $((PLAY + 330)):watch # there is no seat at first
said relay 'event=caught_up room="match".*name="erik"' $((60 + CATCH_UP)) || { show erik relay; die "join: erik does not catch up"; }
watch watch2 carl dora erik # ann waits for him as well
check join/erik-told "erik's log has no line about watching" grep -aq '2 of 2 seats taken: you watch, number 1 in the queue' "$tmp/erik.log"
{ head -c -1 "$content/shooter.nes" && printf x; } >"$tmp/other.nes"
start fay "$keylock" run --relay "$relay" --room match --name fay --core "$nestopia" --content "$tmp/other.nes" --frames 60 --wait 20
ended fay 20
check join/identity "$(tail -n 1 "$tmp/fay.log")" grep -aq 'content differs: room has .*shooter.nes.*you have .*other.nes' "$tmp/fay.log"
"$keylock" command --pid "${pid[ann]}" lock >"$tmp/command.log" 2>&1 || fail "join/lock: $(cat "$tmp/command.log")"
said relay 'event=locked room="match"' 20
refused gus 4 'its host has locked it' --room match
ends_well join ann $((ALL / 60 + 60))
for who in carl dora erik; do ends_well join $who 20; done
stop watch
stop watch2
sort -n "$tmp/watch.log" "$tmp/watch2.log" >"$tmp/held.log"
for who in bob carl dora erik; do equal join ann $who; done
check join/carl-all "carl has not run from frame 0" begins_with carl ann
check join/carl-last "carl has not run to the end" grep -q "^$((ALL - 1)) " "$tmp/carl.hash"
check join/carl-catches-up "his screen does not say so" grep -aqE 'catching up: [0-9]+ frames left' "$tmp/carl.log"
check join/carl-plays "ann's log has no line about the new player" grep -aq 'carl .2. plays' "$tmp/ann.log"
for who in carl erik; do
    check "join/$who-seat" "$who has not changed his seat twice" \
        test "$(grep -a "event=reseated .*name=\"$who\"" "$tmp/relay.log" | wc -l)" = 2
done
check join/erik-plays "ann's log has no line about the new player" grep -aq 'erik .[1-4]. plays' "$tmp/ann.log"
check join/moves "the hashes do not change" hashes_move "$tmp/carl.hash" 5
check join/carl-is-no-absentee "ann's log calls carl away after his start" eval '! sed "/carl .2. plays/q" "$tmp/ann.log" | grep -aq "goes on without carl .2."'
in_time python3 tests/e2e/judge_trace.py join/ann "$tmp/ann.csv" --after $((LONG > 0 ? AT - 5 : 5)) --fps 60 --min-share 0.99 --max-gap 34 \
    --watch "$tmp/held.log"
finish
