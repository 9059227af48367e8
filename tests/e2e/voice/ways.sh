#!/usr/bin/env bash
# voice/ways.sh - voice in the rooms of a relay of two processes, one of them an economy room with a password; and in a fleet: the
# players come to different relays, the one that has their room dies, and they go on talking at the other.
# runs: waiting, all, 60 s
# instead: `voice/talk`, a room of one relay; `test_lobby_voice`
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$test_core" "$content/shooter.nes"
needs_library libopus.so.0
speech=tests/e2e/voice/speech.py
python3 $speech make "$tmp/ann-says.wav" 60 1
python3 $speech make "$tmp/ben-says.wav" 60 2

plays() { # NAME ROOM WHO RELAY FRAMES ARGUMENT…
    start "$1" "$keylock" run --relay "$4" --core "$test_core" --content "$content/shooter.nes" --room "$2" --name "$3" --frames "$5" --wait 60 \
        --speed real --voice on --voice-in "$tmp/$3-says.wav" --voice-out "$tmp/$1-hears.wav" --hash-out "$tmp/$1.hash" --trace "$tmp/$1.csv" "${@:6}"
}
since() { sed -n "s/.*voice $2 since_us=\([0-9]*\).*/\1/p" "$tmp/$1.log" | head -n 1; } # NAME plays|listens
hears() { # NAME SPEAKER WHO MOST_MS
    local said words heard median_ms
    said=$(python3 $speech judge "$tmp/$3-says.wav" "$(since "$2" listens)" "$tmp/$1-hears.wav" "$(since "$1" plays)" 2>&1)
    note "$1 hears $2: $said"
    eval "$(grep -oE '(words|heard|median_ms)=[0-9]+' <<<"$said")"
    check "ways/$1-hears-$2" "of ${words:-no} words ${heard:-none} came" test "${words:-0}" -ge 5 -a "${heard:-0}" = "${words:-1}"
    in_time check "ways/$1-hears-$2-soon" "median ${median_ms:-?} ms, and at most $4 are expected" test "${median_ms:-999}" -le "$4"
}

start_relay --shards 2
echo "a password" >"$tmp/password"
for who in ann ben; do
    plays "plain-$who" plain $who "$relay" 900
    plays "thrift-$who" thrift $who "$relay" 900 --economy on --password-file "$tmp/password"
    said relay 'event=joined room="thrift"' 10 # two cannot make one room at the same moment, if it has a password
done
for room in plain thrift; do
    both_equal $room "$room-ann" "$room-ben"
done
hears plain-ben plain-ann ann 110
hears plain-ann plain-ben ben 110
hears thrift-ben thrift-ann ann 150
hears thrift-ann thrift-ben ben 150
stop relay

command -v redis-server >/dev/null || { skip "fleet: no redis-server"; finish; }
port=$(free_port)
start redis redis-server --port "$port" --bind 127.0.0.1 --save '' --dir "$tmp"
said redis 'Ready to accept' 5 || { show redis; die "fleet: redis does not start"; }
for i in 1 2; do
    start "relay$i" setsid "$relay_program" --bind "127.0.0.$i" --host "127.0.0.$i" --port $((port + 1)) --state "$tmp/state" \
        --journal "$tmp/journal$i" --control off --fleet "redis://127.0.0.1:$port/3"
    said "relay$i" 'event=fleet_found' 5 || { show "relay$i"; die "fleet: relay$i does not find Redis"; }
done
check ways/known "the relays do not find each other" eventually 5 eval '[ "$(cat "$tmp"/relay[12].log | grep -ac "event=fleet_relay ")" -ge 2 ]'
plays fleet-ann fleet ann "127.0.0.1:$((port + 1))" 1800
said relay1 'event=joined room="fleet"' 10
plays fleet-ben fleet ben "127.0.0.2:$((port + 1))" 1800
reaches fleet-ben 500
before=$(python3 $speech loud "$tmp/fleet-ben-hears.wav")
check ways/fleet-hears "of ann's speech $before s came to ben" test "$before" -ge 1
group=${pid[relay1]}
kill -STOP -- -"$group"
kill -KILL -- -"$group"
stop relay1 KILL 2>/dev/null
check ways/fleet-taken "relay2 has not taken the room" said relay2 'event=fleet_room_taken room="fleet"' 15
after=$(python3 $speech loud "$tmp/fleet-ben-hears.wav")
for who in ann ben; do ends_well fleet "fleet-$who" 90; done
for who in ann ben; do
    now=$(python3 $speech loud "$tmp/fleet-$who-hears.wav")
    check "ways/fleet-$who-goes-on" "at the other relay $((now - after)) s came to $who" test $((now - after)) -ge 2
done
finish
