#!/usr/bin/env bash
# relay/window.sh - --http of a relay of two processes: figures for Prometheus, health, readers that are slow, many or hostile; and word to
# systemd. The page of rooms in Chromium.
#   PICTURES=DIR  the page's pictures go there
# runs: waiting, all, 75 s
# instead: `test_figures`, the figures alone
. "$(dirname "$0")/../lib.sh"

needs "$relay_program" "$keylock" "$content/shooter.nes"
python3 -c 'import ctypes; ctypes.CDLL("libmicrohttpd.so.12")' 2>/dev/null || { skip "window: no libmicrohttpd"; finish; }

# The datagrams that systemd would get.
cat >"$tmp/systemd.py" <<'END'
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print("listening", flush=True)
while True:
    print(s.recv(100).decode(), flush=True)
END
start systemd python3 "$tmp/systemd.py" "$tmp/notify"
said systemd listening 5
export NOTIFY_SOCKET=$tmp/notify WATCHDOG_USEC=2000000
matches=$tmp/matches/matches.db
start_relay --shards 2 --record "$tmp/matches" --http-matches "$matches" --http "$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')"
unset NOTIFY_SOCKET WATCHDOG_USEC
http=$(sed -n 's/.*event=window http=\([0-9.:]*\).*/\1/p' "$tmp/relay.log")
check window/address "no line with its address" test -n "$http"

# gets STATUS PATH [OPTION…]: the body in $tmp/body.
gets() {
    local wanted=$1 path=$2
    shift 2
    [ "$(curl -sS -m 5 -o "$tmp/body" -w '%{http_code}' "$@" "http://$http$path" 2>"$tmp/curl.log")" = "$wanted" ]
}
figure() { # NAME{LABELS}: all processes together
    gets 200 /metrics && awk -v name="$1" '$1 ~ "^" name "[{]" && (label == "" || index($1, label)) { sum += $NF } END { print sum + 0 }' label="${2:-}" "$tmp/body"
}

check window/ready "$(cat "$tmp/body" "$tmp/curl.log" 2>&1)" eventually 10 gets 200 /readyz
check window/healthy "$(cat "$tmp/body")" gets 200 /healthz
check window/notified "$(cat "$tmp/systemd.log")" eventually 5 grep -qx READY=1 "$tmp/systemd.log"
check window/watchdog "$(cat "$tmp/systemd.log")" eventually 5 grep -qx WATCHDOG=1 "$tmp/systemd.log"
check window/head "$(cat "$tmp/curl.log")" gets 200 /metrics -I
check window/not-there "$(cat "$tmp/body")" gets 404 /etc/passwd
check window/no-post "$(cat "$tmp/body")" gets 405 /metrics -d kick=all

# --- a match: its figures --------------------------------------------------------------------------------------------

for name in ann bob; do
    PROBE_CORE=no-clock start $name "$keylock" run --quiet --relay "$relay" --room "the \"room\"" --name $name --core "$test_core" --content "$content/shooter.nes" \
        --input random:1 --speed real --frames 1200 --hash-every 60 --hash-out "$tmp/$name.hash" --wait 20
done
playing() { [ "$(figure keylock_rooms 'state="playing"')" = 1 ]; }
check window/room "$(grep '^keylock_rooms' "$tmp/body")" eventually 20 playing
rtt_counted() { [ "$(figure keylock_rtt_seconds_count)" -ge 2 ] && [ "$(figure keylock_lead_frames_count)" -ge 1 ]; }
check window/rtt "$(grep -E '^keylock_(rtt|lead)' "$tmp/body")" eventually 10 rtt_counted
check window/members "$(grep ^keylock_members "$tmp/body")" test "$(figure keylock_members)" = 2
shown() {
    gets 200 /api/rooms && python3 - "$tmp/body" 2>"$tmp/shown.log" <<'END'
import json, sys
text = open(sys.argv[1], encoding="utf-8").read()
rooms = json.loads(text)
room, = rooms["rooms"]
assert rooms["next"] is None and room["name"] == 'the "room"' and room["state"] == "playing", room
assert sorted(m["name"] for m in room["members"]) == ["ann", "bob"] and room["filled"] == 2, room
assert all(100 < m["bytes_up_s"] < 100000 and 100 < m["bytes_down_s"] < 100000 and m["bytes_up"] > 1000 for m in room["members"]), room
assert all(0 <= m["rtt_ms"] < 1000 for m in room["members"]) and room["content"] and room["frame"] > 0, room
assert "127.0.0.1" not in text
END
}
check window/rooms "$(cat "$tmp/shown.log" 2>&1)" eventually 10 shown
# The story of a room: with addresses for the host alone.
told_story() { # PYTHON [OPTION…]
    gets 200 '/api/rooms?room=the%20%22room%22' "${@:2}" && python3 -c 'import json, sys
told = json.load(open(sys.argv[1], encoding="utf-8"))
story = [line["event"] + " " + line["text"] for line in told["story"]]
joined = [line for line in story if line.startswith("joined client=")]
assert story[0].startswith("room_made ") and len(joined) == 2 and any("started " in line for line in story), story
assert told["room"]["members"] and told["room"]["lines"] >= 4 and "matches" not in told, told
assert '"$1" "$tmp/body" 2>"$tmp/shown.log"
}
check window/story "$(cat "$tmp/body" "$tmp/shown.log")" told_story 'not any("127.0.0.1" in line or "address=" in line for line in story)'
check window/story-none "$(cat "$tmp/body")" gets 404 '/api/rooms?room=the'
check window/page "$(cat "$tmp/body")" gets 200 / -D "$tmp/head"
check window/page-policy "$(cat "$tmp/head")" \
    grep -qE "^Content-Security-Policy: default-src 'none'; style-src 'sha256-.{43}='; script-src 'sha256-.{43}='; connect-src 'self';" "$tmp/head"
check window/page-host "$(cat "$tmp/body")" gets 421 / -H 'Host: elsewhere.example'
check window/page-named "$(cat "$tmp/curl.log")" gets 200 /api/rooms -H "Host: localhost:${http##*:}"

check window/rooms-bad "$(cat "$tmp/body")" gets 400 '/api/rooms?from=-1'
check window/rooms-end "$(cat "$tmp/body")" gets 200 '/api/rooms?from=8192'
check window/rooms-none "$(cat "$tmp/body")" grep -qxF '{"rooms":[],"next":null}' "$tmp/body"
# --- the host's words -------------------------------------------------------------------------------------------------

state=$tmp/home/.local/state/keylock-relay
bearer="Authorization: Bearer $(cat "$state/http.token")"
line='Content-Type: application/x-keylock-line'
check window/token-private "$(ls -l "$state")" test "$(stat -c %a "$state/http.token")" = 600
check window/token-addresses "$(cat "$tmp/body")" eval 'gets 200 /api/rooms -H "$bearer" && grep -q "\"address\":\"127.0.0.1:" "$tmp/body"'
check window/story-addresses "$(cat "$tmp/body" "$tmp/shown.log")" told_story 'all("address=127.0.0.1:" in line for line in joined)' -H "$bearer"
check window/token-wrong "$(cat "$tmp/body")" gets 401 /api/rooms -H "${bearer%????}AAAA"
check window/token-missing "$(cat "$tmp/body")" gets 401 /api/control -H "$line" -d rooms
check window/token-not-in-url "$(cat "$tmp/body")" gets 401 "/api/control?token=${bearer##* }" -H "$line" -d rooms
check window/words "$(cat "$tmp/body")" eval 'gets 200 /api/control -H "$bearer" -H "$line" -d "who \"the \\\"room\\\"\"" && grep -q "name=\"bob\"" "$tmp/body"'
check window/words-refused "$(cat "$tmp/body")" eval 'gets 409 /api/control -H "$bearer" -H "$line" -d "kick nowhere bob" && grep -q "there is no room" "$tmp/body"'
check window/words-form "$(cat "$tmp/body")" gets 415 /api/control -H "$bearer" -d rooms
check window/words-host "$(cat "$tmp/body")" gets 421 /api/control -H "$bearer" -H "$line" -H 'Host: elsewhere.example' -d rooms
check window/words-long "$(cat "$tmp/body")" gets 413 /api/control -H "$bearer" -H "$line" -d "say $(printf %0600d 0)"
check window/words-quit "$(cat "$tmp/body")" gets 403 /api/control -H "$bearer" -H "$line" -d quit
check window/words-get "$(cat "$tmp/body")" gets 405 /api/control -H "$bearer"
check window/words-no-cors "$(cat "$tmp/head")" \
    eval 'gets 405 /api/control -X OPTIONS -H "Origin: http://elsewhere.example" -D "$tmp/head" && ! grep -qi access-control "$tmp/head"'
curl -sN -m 2.5 "http://$http/api/stream" >"$tmp/stream" 2>/dev/null
check window/stream "$(cat "$tmp/stream")" \
    eval '[ "$(grep -c "\"name\":\"bob\"" "$tmp/stream")" -ge 2 ] && tail -n 1 "$tmp/stream" | python3 -m json.tool >/dev/null'

check window/inputs "$(grep ^keylock_input "$tmp/body")" test "$(figure keylock_input_datagrams_total)" -gt 10
counted() { # KIND DIRECTION: datagrams, and some bytes of each
    [ "$(figure keylock_datagrams_total "kind=\"$1\",direction=\"$2\"")" -ge "$3" ] &&
        [ "$(figure keylock_datagram_bytes_total "kind=\"$1\",direction=\"$2\"")" -ge $((20 * $3)) ]
}
check window/kinds "$(grep ^keylock_datagram "$tmp/body")" \
    eval 'counted inputs in 100 && counted frames out 100 && counted messages in 5 && counted messages out 5 && counted handshakes in 2'
check window/events "$(grep ^keylock_events "$tmp/body")" test "$(figure keylock_events_total 'event="joined"')" = 2
gets 200 /metrics
check window/no-words "a label has a client's words" eval '! grep -qE "bob|the " <(grep -v "^#" "$tmp/body")'
# Each metric of the dashboard is one that the relay tells.
check window/dashboard "$(cat "$tmp/board.log" 2>&1)" python3 - docs/grafana.json "$tmp/body" 2>"$tmp/board.log" <<'END'
import json, re, sys
board = json.load(open(sys.argv[1], encoding="utf-8"))
told = {re.split("[ {]", line)[0] for line in open(sys.argv[2], encoding="utf-8")}
asked = [m for p in board["panels"] for t in p["targets"] for m in re.findall("keylock_[a-z_]+", t["expr"])]
assert len(asked) > 20 and not set(asked) - told, set(asked) - told
END
if command -v promtool >/dev/null; then
    promtool check metrics <"$tmp/body" >"$tmp/promtool.log" 2>&1
    status=$?
    check window/promtool "exit status $status: $(cat "$tmp/promtool.log")" test $status = 0 -a ! -s "$tmp/promtool.log"
else
    skip "window/promtool: no promtool"
fi

# --- readers that cost the rooms nothing ------------------------------------------------------------------------------

# A thousand connections: half of them send a byte a second, some send garbage; and then one more reader gets its answer.
start hostile python3 tests/e2e/hostile_readers.py "$http" 4
said hostile open 10
ended hostile 30
check window/hostile "exit status $?: $(cat "$tmp/hostile.log")" test $? = 0
check window/after-hostile "$(cat "$tmp/body" "$tmp/curl.log")" eventually 15 gets 200 /metrics
for name in ann bob; do
    ended $name 40
    check window/match-$name "exit status $?: $(tail -n 3 "$tmp/$name.log")" test $? = 0
done
check window/match-equal "other hashes" cmp -s "$tmp/ann.hash" "$tmp/bob.hash"
# The verifier finds the recording once the room has ended.
verified() {
    PROBE_CORE=no-clock "$keylock" verify --watch "$tmp/matches" --database "$matches" --once --core "$test_core" --content "$content" \
        >"$tmp/verify.log" 2>&1
    gets 200 /api/matches -H "$bearer" && python3 - "$tmp/body" <<'END'
import json, sys
match, = json.load(open(sys.argv[1], encoding="utf-8"))["matches"]
assert match["verdict"] == "verified" and sorted(match["players"].split(", ")) == ["ann", "bob"], match
assert match["frames"] >= 1200 and match["reported"] == 0 and match["file"].endswith(".klr"), match
END
}
check window/matches-none "$(cat "$tmp/body")" gets 503 /api/matches -H "$bearer"
check window/matches "$(cat "$tmp/body" "$tmp/verify.log" 2>&1)" eventually 20 verified
check window/matches-token "$(cat "$tmp/body")" gets 401 /api/matches
check window/no-stall "$(grep -a event=stall "$tmp/relay.log")" test "$(grep -ac event=stall "$tmp/relay.log")" = 0

# --- the page ---------------------------------------------------------------------------------------------------------

# looks NAME SIZE [OPTION…]: the page as a browser shows it, with the room open; its text in $tmp/NAME.txt.
looks() {
    local name=$1 size=$2
    shift 2
    timeout 120 python3 -B tests/e2e/page.py "http://$http/#the%20%22room%22" --size "$size" --png "$tmp/$name.png" ${PICTURES:+--seconds 30} "$@" >"$tmp/$name.txt" 2>&1
    [ -z "${PICTURES:-}" ] || [ "$name" = host ] || cp "$tmp/$name.png" "$PICTURES/window-$name.png"
}
# The brightness of a picture's corner, 0 to 100.
brightness() { convert "$1" -crop 8x8+0+0 -colorspace Gray -format '%[fx:int(100*mean)]' info:; }
if command -v chromium >/dev/null; then
    declare -A called=([ann]='<b>"ann"</b> address=7' [bob]=bob)
    [ -z "${PICTURES:-}" ] || called[ann]=ann
    for name in ann bob; do
        start page-$name "$keylock" run --quiet --relay "$relay" --room "the \"room\"" --name "${called[$name]}" --core "$test_core" \
            --content "$content/shooter.nes" --input random:1 --speed real --frames 100000 --wait 20
    done
    eventually 20 playing
    looks desk 1440x900 --token "${bearer##* }" --type 'good "evening"' --press 'say the line to room the "room"' --press 'lock room the "room"' --until 'locked by='
    looks phone 390x844 --dark
    for shape in desk phone; do
        check window/page-$shape "$(cat "$tmp/$shape.txt")" eval 'grep -q "1 room, 2 seats taken" "$tmp/$shape.txt" && grep -q "RTT of bob" "$tmp/$shape.txt" && grep -qE "B/s up, .*B/s down" "$tmp/$shape.txt"'
        check window/page-$shape-whole "$(cat "$tmp/$shape.txt")" eval '! grep -qE "^(scrolls|exception|never)" "$tmp/$shape.txt"'
    done
    check window/page-says "$(head -n 3 "$tmp/desk.txt")" grep -qxF 'said: done: say "the \"room\"" good "evening"' "$tmp/desk.txt"
    check window/page-locks "$(cat "$tmp/desk.txt")" grep -qxF 'said: done: lock "the \"room\""' "$tmp/desk.txt"
    check window/page-locked "$(tail -n 5 "$tmp/relay.log")" said relay "event=locked.*relay's operator" 5
    # The names are text, and the matches of the room's name stand in it.
    for shape in desk phone; do
        check window/page-$shape-story "$(cat "$tmp/$shape.txt")" grep -qF "name=\"${called[ann]//\"/\\\"}\" seats=" "$tmp/$shape.txt"
        check window/page-$shape-matches "$(cat "$tmp/$shape.txt")" grep -qE 'shooter.nes.*verified' "$tmp/$shape.txt"
    done
    check window/page-story-new "$(cat "$tmp/desk.txt")" grep -qF "locked by=\"the relay's operator\"" "$tmp/desk.txt"
    check window/page-story-address "$(cat "$tmp/desk.txt")" grep -qE 'joined .* address=127.0.0.1:' "$tmp/desk.txt"
    check window/page-addresses "$(cat "$tmp/desk.txt")" grep -q 'bob, 127.0.0.1:' "$tmp/desk.txt"
    check window/page-matches "$(cat "$tmp/desk.txt")" grep -qE 'bob.*shooter.nes.*verified.*\.klr' "$tmp/desk.txt"
    check window/page-public "$(cat "$tmp/phone.txt")" eval '! grep -qE "127.0.0.1|\.klr|^(kick|ban|close)$" "$tmp/phone.txt"'
    check window/page-keeps-nothing "$(tail -n 1 "$tmp/desk.txt")" grep -qx 'kept: {}' "$tmp/desk.txt"
    looks host 1440x900 --token "${bearer##* }" --press 'kick bob' --press 'close room the "room"'
    for name in ann bob; do
        ended page-$name 10
        check window/page-puts-out-$name "exit status $?" test $? != 0
    done
    check window/page-kicked "$(cat "$tmp/page-bob.log")" grep -q "put out by the relay's operator" "$tmp/page-bob.log"
    check window/page-closed "$(cat "$tmp/page-ann.log")" grep -q "the relay's operator has closed the room" "$tmp/page-ann.log"
    check window/page-light "$(brightness "$tmp/desk.png")" test "$(brightness "$tmp/desk.png")" -gt 80
    check window/page-dark "$(brightness "$tmp/phone.png")" test "$(brightness "$tmp/phone.png")" -lt 20
else
    skip "window/page: no chromium"
fi

# --- processes that stand still, or die -------------------------------------------------------------------------------

mapfile -t children < <(pgrep -P "${pid[relay]}")
shard=$(pgrep -P "${pid[relay]}" | tail -n 1)
check window/processes "${#children[@]} children" test ${#children[@]} = 3
kill -STOP "$shard"
check window/unhealthy "$(cat "$tmp/body")" eventually 5 gets 503 /healthz
check window/says-who "$(cat "$tmp/body")" grep -qE '^process [01] has had no turn for [0-9.]+ s$' "$tmp/body"
words=$(wc -l <"$tmp/systemd.log")
check window/no-word "the watchdog is fed while a process hangs" stays 1.5 eval 'test "$(wc -l <"$tmp/systemd.log")" = '"$words"
kill -CONT "$shard"
check window/healthy-again "$(cat "$tmp/body")" eventually 5 gets 200 /healthz
keeper=${children[0]}
kill -KILL "$(pgrep -P "$keeper")"
check window/dies "no line" said relay event=window_ended 5
check window/lives-again "$(cat "$tmp/curl.log")" eventually 10 gets 200 /readyz
stop relay
check window/leaves-nothing "processes are left" test -z "$(ps -o pid= -p "${children[@]}" | tr -d '\n')"

# Without --http there is no such process; an address that is taken is said.
start_relay --shards 1
check window/off "$(pgrep -P "${pid[relay]}")" test -z "$(pgrep -P "${pid[relay]}")"
stop relay
# Beyond this machine the token counts only behind TLS.
for behind in "" --http-behind-tls; do
    start_relay --shards 1 --http "0.0.0.0:${http##*:}" $behind
    check "window/beyond$behind" "$(cat "$tmp/body" "$tmp/curl.log")" eventually 5 gets $([ -z "$behind" ] && echo 403 || echo 200) /api/rooms -H "$bearer"
    stop relay
done
chmod 644 "$state/http.token"
"$relay_program" --bind 127.0.0.1 --port 0 --http 127.0.0.1:1 >"$tmp/open.log" 2>&1
check window/token-open "$(cat "$tmp/open.log")" grep -q "http.token: it may be read by others: expected mode 600, found 644" "$tmp/open.log"
"$relay_program" --bind 127.0.0.1 --port 0 --http 192.0.2.1:80 >"$tmp/taken.log" 2>&1
status=$?
check window/cannot-listen "exit status $status: $(cat "$tmp/taken.log")" \
    test "$status $(tail -n 1 "$tmp/taken.log")" = "1 keylock-relay: cannot listen for --http at 192.0.2.1:80: Cannot assign requested address"
ldd "$relay_program" >"$tmp/ldd.log"
check window/plain "$(cat "$tmp/ldd.log")" eval '! grep -q microhttpd "$tmp/ldd.log"'
finish
