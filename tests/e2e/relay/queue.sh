#!/usr/bin/env bash
# relay/queue.sh - two play, two wait: the seats go round by the queue, a rematch is agreed, one does not take the seat in
# time. All four have the same hashes.
# instead: `test_lobby_late`, the queue in virtual time
# runs: waiting, all, 90 s
. "$(dirname "$0")/../lib.sh"

ALL=$((75 * 60)) # frames of the match
game=$content/shooter.nes
needs "$keylock" "$relay_program" "$wrapper" "$test_core" "$game"

player() { # NAME SEED
    start "$1" "$keylock" run --relay "$relay" --name "$1" --hash-out "$tmp/$1.hash" --core "$test_core" --content "$game" \
        --room match --speed real --frames $ALL --wait 60 --hash-every 60 --input "random:$2"
}

# gives NAME WORDS: a command on this player's machine.
gives() {
    "$keylock" command --pid "${pid[$1]}" "$2" >"$tmp/command.log" 2>&1 || fail "queue/$1-$2: $(cat "$tmp/command.log")"
}

# queued WORDS: ann's machine lists these players, and those that wait.
queued() {
    lists() { "$keylock" command --pid "${pid[ann]}" queue >"$tmp/queue.log" 2>&1 && grep -qxF "$1" "$tmp/queue.log"; }
    check "queue/$1" "listed: $(cat "$tmp/queue.log" 2>/dev/null)" eventually 10 lists "$1"
}

# changes FROM TO: FROM hands the seat on, and TO takes it.
changes() {
    local turns
    turns=$(grep -ac 'your turn: take the seat' "$tmp/$2.log")
    gives "$1" next
    eventually 10 eval '[ "$(grep -ac "your turn: take the seat" "$tmp/'"$2"'.log")" -gt '"$turns"' ]' ||
        { fail "queue/$2-turn: $2 is not told"; show "$2" relay; }
    gives "$2" next
    check "queue/$1-to-$2" "$2 does not play" said relay "event=reseated .*name=\"$2\" seats=[0-9]" 10
}

start_relay
player ann 1
said relay 'joined room="match"' 10
player bob 2
said relay 'event=started room="match"' 20 || { show relay ann bob; die "queue: the room does not start"; }
for who in cat dan; do
    player $who 3
    said relay "event=caught_up .*name=\"$who\"" 30 || { show relay $who; die "queue: $who does not catch up"; }
done
check queue/told "cat is not told to wait" said cat '2 of 2 seats taken: you watch, number 1 in the queue' 5
queued 'ann (1), bob (2) play; waiting for a seat: 1 cat, 2 dan'
"$keylock" rooms "$relay" >"$tmp/rooms.log" 2>&1
check queue/rooms "no line of two that wait: $(cat "$tmp/rooms.log")" grep -q '^match .* 2/2 .*, 2 wait' "$tmp/rooms.log"
"$keylock" rooms --json "$relay" >"$tmp/rooms.log" 2>&1
check queue/rooms-json "not 2 in: $(cat "$tmp/rooms.log")" grep -q '"waiting": *2' "$tmp/rooms.log"
changes bob cat
queued 'ann (1), cat (2) play; waiting for a seat: 1 dan, 2 bob'
changes cat dan
queued 'ann (1), dan (2) play; waiting for a seat: 1 bob, 2 cat'

gives ann again
check queue/asked "dan is not asked" said dan 'ann .[12]. wants a rematch: agree within 10 s' 5
alone=$(grep -ac 'ann .[12].: reset' "$tmp/bob.log")
gives dan again
check queue/rematch "the game does not begin again" said bob 'ann .[12].: reset' 10
check queue/alone "ann reset the game alone" test "$alone" = 0

gives dan next # bob does not take it, and nobody of that address has a turn for a minute: cat neither
check queue/late "bob keeps the turn" said bob 'you did not take the seat in time' 30
said relay 'event=seat_not_taken .*name="bob"' 10
check queue/stays "dan is not told" said dan 'nobody takes your seat: you play on' 5
queued 'ann (1), dan (2) play; waiting for a seat: 1 cat'
gives bob play
check queue/barred "bob is not told" said bob 'a seat went to waste: ask again in [0-9]* s' 5

for who in ann bob cat dan; do ends_well queue $who 90; done
for who in bob cat dan; do
    equal queue ann $who
    check "queue/all-$who" "$who has not run all frames" cmp -s "$tmp/ann.hash" "$tmp/$who.hash"
done
check queue/moves "the hashes do not change" hashes_move "$tmp/ann.hash" 5
finish
