#!/usr/bin/env bash
# relay/fleet.sh - three relays and a Redis: two pairs come to different relays, and play. One relay loses its power, and a player
# his process: the match goes on at another relay, with equal hashes. --check looks at Redis; without --fleet nothing of it is loaded.
# runs: waiting, test, 45 s
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$build/tests/rooms" "$content/shooter.nes"
command -v redis-server >/dev/null || { skip "fleet: no redis-server"; finish; }

for file in "$relay_program" "$wrapper" "$keylock"; do
    ldd "$file" >"$tmp/ldd.log"
    check "fleet/plain: $(basename "$file") needs no hiredis" "$(cat "$tmp/ldd.log")" eval '! grep -q hiredis "$tmp/ldd.log"'
done

port=$(free_port)
echo "one secret" >"$tmp/login" && chmod 600 "$tmp/login"
# Redis gets a certificate for its address, of a CA that this machine does not know.
certify() { # NAME EXTENSION ARGUMENT...
    local name=$1 extension=$2 && shift 2
    openssl req -x509 -newkey ed25519 -nodes -days 2 -subj "/CN=$name" -addext "$extension" "$@" -keyout "$tmp/$name.key" -out "$tmp/$name.pem" \
        >"$tmp/openssl.log" 2>&1 || die "fleet: $(cat "$tmp/openssl.log")"
}
certify ca basicConstraints=critical,CA:TRUE
certify redis subjectAltName=IP:127.0.0.1 -CA "$tmp/ca.pem" -CAkey "$tmp/ca.key"
tls_port=$(free_port)
tls=(--tls-port "$tls_port" --tls-cert-file "$tmp/redis.pem" --tls-key-file "$tmp/redis.key" --tls-ca-cert-file "$tmp/ca.pem" --tls-auth-clients no)
fleet=(--fleet "redis://127.0.0.1:$port/3" --fleet-login "$tmp/login")
"$relay_program" --check "${fleet[@]}" >"$tmp/check" 2>&1
status=$?
check fleet/check-none "exit status $status: $(cat "$tmp/check")" \
    eval "[ $status = 1 ] && grep -q 'no Redis at 127.0.0.1:$port: Connection refused' '$tmp/check'"
# The line that docs/hosting.md tells a host to write.
read -ra user <<<"$(sed -n '/^ACL SETUSER/,/^```/p' docs/hosting.md | tr -d '`\n' | sed 's/.*~keylock/~keylock/')"
user=(--user one on '>secret' "${user[@]}")
start redis redis-server --port "$port" --bind 127.0.0.1 --save '' --dir "$tmp" "${tls[@]}" "${user[@]}"
said redis 'Ready to accept' 5 || { show redis; die "fleet: redis does not start"; }
"$relay_program" --check "${fleet[@]}" >"$tmp/check" 2>&1
check fleet/check "$(cat "$tmp/check")" grep -q '^in order' "$tmp/check"

# Relays speak TLS if hiredis can, from its version 1.0 on: Debian 13's does (make test-debian13), Debian 12's does not.
check_tls() { # HOST CA; the exit status is the relay's
    SSL_CERT_FILE=$2 "$relay_program" --check --host 127.0.0.1 --fleet "rediss://$1:$tls_port/3" --fleet-login "$tmp/login" >"$tmp/check" 2>&1
}
sealed=("${fleet[@]}")
# shellcheck disable=SC2086
if [ "$(echo HIREDIS_MAJOR | gcc ${CPPFLAGS:-} -include hiredis/hiredis.h -E -P - | tail -n 1)" -ge 1 ]; then
    sealed=(--fleet "rediss://127.0.0.1:$tls_port/3" --fleet-login "$tmp/login")
    export SSL_CERT_FILE=$tmp/ca.pem
    check fleet/tls "$(cat "$tmp/check")" check_tls 127.0.0.1 "$tmp/ca.pem"
    check fleet/tls-stranger "$(cat "$tmp/check")" eval '! check_tls 127.0.0.1 /etc/ssl/certs/ca-certificates.crt && grep -q verify "$tmp/check"'
    check fleet/tls-other-name "$(cat "$tmp/check")" eval '! check_tls localhost "$tmp/ca.pem" && grep -q verify "$tmp/check"'
else
    check fleet/no-tls "$(cat "$tmp/check")" eval '! check_tls 127.0.0.1 "$tmp/ca.pem" && grep -q stunnel "$tmp/check"'
fi

# The Redis of `rooms --fleet` is a model: it answers as this one does, and without the fence rooms come apart.
"$build/tests/rooms" --redis "$port" >"$tmp/model" 2>&1
check fleet/model "exit status $?: $(tail -n 3 "$tmp/model")" grep -q 'the same answers' "$tmp/model"
check fleet/unfenced "no room failed" eval '! "$build/tests/rooms" --fleet --unfenced --seeds 30 >"$tmp/unfenced" 2>&1'

begin_relay() { # NUMBER FLEET...
    local i=$1 control=off && shift
    [ "$i" != 2 ] || control=$tmp
    start "relay$i" setsid "$relay_program" --bind "127.0.0.$i" --host "127.0.0.$i" --port $((port + 1)) --state "$tmp/state" \
        --journal "$tmp/journal$i" --control "$control" "$@"
    said "relay$i" 'event=fleet_found' 5 || { show "relay$i"; die "fleet: relay$i does not find Redis"; }
}
begin_relay 1 "${sealed[@]}"
begin_relay 2 "${sealed[@]}"
begin_relay 3 "${fleet[@]}"
relays_known() { [ "$(cat "$tmp"/relay[123].log | grep -ac 'event=fleet_relay ')" = 6 ]; }
check fleet/known "$(grep -ah fleet_relay "$tmp"/relay[123].log)" eventually 5 relays_known

play() { # NAME ROOM WHO RELAY FRAMES ARGUMENT...
    relay=127.0.0.$4:$((port + 1))
    run_in_room "$1" --name "$3" --core nestopia --content "$content/shooter.nes" --room "$2" --frames "$5" \
        --speed real --input "random:$RANDOM" --hash-every 60 --wait 30 "${@:6}"
}
for i in 1 2; do
    for who in a b; do
        at=$i
        [ $who = a ] || at=$((i + 1))
        play "pair$i-$who" "pair$i" $who $at 1500
        [ $who = b ] || said "relay$i" "event=joined room=\"pair$i\"" 10
    done
done
reaches pair1-a 200
check fleet/sent-on "$(grep -ah 'code=15' "$tmp"/relay[123].log)" \
    test "$(cat "$tmp"/relay[23].log | grep -ac 'event=refused.*code=15')" -ge 2 # more, if the machine stood still
both_listed() { [ "$("$keylock" rooms "127.0.0.3:$((port + 1))" | grep -cE '^ *pair[12] ')" = 2 ]; }
check fleet/list "$("$keylock" rooms "127.0.0.3:$((port + 1))" 2>&1)" eventually 5 both_listed

# All its processes at once; and so goes a player, who starts anew at the relay that is gone.
stop pair1-a KILL
group=${pid[relay1]}
kill -STOP -- -"$group"
kill -KILL -- -"$group"
gone=$(now_ms)
stop relay1 KILL 2>/dev/null
play pair1-again pair1 a 1 1500
# The last frames that the relay sent may have no copy, and are played once more, otherwise. A hash is told once.
lasts 1 "the time till its player has run all frames that came"
unmade=$(tail -n 1 "$tmp/pair1-b.hash" | cut -d ' ' -f 1)
taken() { cat "$tmp"/relay[23].log | grep -aq 'event=fleet_room_taken room="pair1"'; }
eventually 10 taken
check fleet/taken "no relay has taken the room" taken
note "the room is another relay's after $(($(now_ms) - gone)) ms"

back() { [ "$(cat "$tmp"/relay[23].log | grep -ac 'event=returned room="pair1"')" = 2 ]; }
check fleet/seats "$(grep -ah 'room="pair1"' "$tmp"/relay[23].log)" eventually 10 back
made() { awk -v at="$unmade" '$1 <= at - 120 || $1 > at' "$tmp/pair1-b.hash"; }
first=(none pair1-again pair2-a)
for i in 1 2; do
    one=${first[i]}
    ends_well fleet "$one" 60
    ends_well fleet "pair$i-b" 20
    [ "$i" != 1 ] || { made >"$tmp/made" && mv "$tmp/made" "$tmp/pair1-b.hash"; }
    equal fleet "$one" "pair$i-b"
    check "fleet/$one-moves" "the hashes do not change" hashes_move "$tmp/$one.hash"
done
# A room that waits for its third player moves as its relay is drained: its host makes it again, which is unlisted.
play trio-a trio a 2 120 --players 3 --unlisted
said relay2 'event=joined room="trio"' 10
play trio-b trio b 2 120 --players 3
eventually 10 eval '[ "$(grep -ac "event=joined room=\"trio\"" "$tmp/relay2.log")" = 2 ]'
"$relay_program" ctl --control "$tmp" --port $((port + 1)) drain >"$tmp/drain" 2>&1
check fleet/drain "exit status $?: $(cat "$tmp/drain")" grep -q '^ok' "$tmp/drain"
moved() { [ "$(grep -ac 'event=joined room="trio"' "$tmp/relay3.log")" = 2 ]; }
check fleet/moved "$(grep -ah 'room="trio"' "$tmp"/relay[23].log)" eventually 10 moved
play trio-c trio c 3 120 --players 3
for who in a b c; do
    ended "trio-$who" 30 || { show "trio-$who"; fail "fleet/trio-$who: does not play"; }
done
check fleet/trio "$(grep -ah 'room="trio"' "$tmp/relay3.log")" "$keylock" diff "$tmp/trio-a.hash" "$tmp/trio-c.hash"
check fleet/trio-door "$(grep -ah 'room="trio"' "$tmp/relay3.log")" eval 'grep -a "event=room_made room=\"trio\"" "$tmp/relay3.log" | grep -q listed=no'

left() { redis-cli -p "$port" -n 3 keys 'keylock:[krt]*' | grep -vE 'relays?|rooms'; }
none_left() { [ -z "$(left)" ]; }
check fleet/removed "$(left | tr '\n' ' ')" eventually 10 none_left
finish
