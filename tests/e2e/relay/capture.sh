#!/usr/bin/env bash
# relay/capture.sh - a session as seen on the wire. tcpdump records all of it, and no name, room, password, chat line, content or
# press is in it in clear. With --insecure-lan on both ends all but the password are in clear.
# runs: waiting, test, 20 s
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$proxy" "$content/shooter.nes"
nestopia=$(core_path nestopia) || die "capture: no nestopia"
tcpdump=$(command -v tcpdump) || { skip "capture: tcpdump is missing (make deps installs it)"; finish; }

NAMES=(Ludmilla Bartholomew) ROOM="clandestine place" PASSWORD="open sesame now" CHAT="meet me at noon"

# From frame 60 on another combination of buttons in each sample: samples that wait for their acknowledgement stand behind
# each other, as 01 55 01 01 aa 02 …, in CTRL as in UPDATE.
for ((f = 60; f < 420; f++)); do
    [ $((f % 2)) = 0 ] && echo "$f 0 155" || echo "$f 0 2aa"
done >"$tmp/presses"

# session NAME OPTION…: one match in $tmp/NAME.pcap; the options are for all participants.
session() {
    local name=$1 i status=0
    shift
    start_relay "$@"
    through "$name-link" --delay 25
    start "$name-dump" "$tcpdump" -i lo -U -n -s 0 -w "$tmp/$name.pcap" udp port "$port"
    if ! said "$name-dump" 'listening on' 10; then
        grep -qi permission "$tmp/$name-dump.log" && { skip "capture: no right to see what passes the loopback"; finish; }
        show "$name-dump"
        die "capture: tcpdump does not start"
    fi
    for i in 0 1; do
        start "$name-$i" "$keylock" run --quiet --link "keylock://$link/${ROOM// /%20}" --core "$nestopia" --content "$content/shooter.nes" \
            --name "${NAMES[i]}" --password "$PASSWORD" --unlisted --frames 420 --speed real --input "$tmp/presses" --wait 20 \
            --command "120:say $CHAT" --hash-every 60 --hash-out "$tmp/$name-$i.hash" "$@"
        [ $i = 1 ] || said relay 'joined ' 10
    done
    for i in 0 1; do ended "$name-$i" 60 || status=$?; done
    stop "$name-dump" INT
    stop "$name-link"
    stop relay
    "$keylock" diff "$tmp/$name-0.hash" "$tmp/$name-1.hash" >"$tmp/diff" 2>&1 || status=1
    check "capture/$name-played" "exit status $status, $(tail -n 1 "$tmp/diff")" test $status = 0
    [ $status = 0 ] || show "$name-0" "$name-1" relay
}

# in_clear NAME: which of all this stands in the capture, a line each.
in_clear() {
    python3 - "$tmp/$1.pcap" "${NAMES[@]}" "$ROOM" "$PASSWORD" "$CHAT" shooter.nes Nestopia <<'END'
import sys
seen = open(sys.argv[1], "rb").read()
print(f"{len(seen)} bytes")
for text in sys.argv[2:]:
    if text.lower().encode() in seen.lower():
        print("has", text)
if any(p in seen for p in (bytes.fromhex("0155010 1aa02".replace(" ", "")), bytes.fromhex("01aa02015501"))):
    print("has presses")
END
}

session sealed
in_clear sealed >"$tmp/sealed.found"
session clear --insecure-lan
in_clear clear >"$tmp/clear.found"
note "sealed: $(head -n 1 "$tmp/sealed.found"), clear: $(head -n 1 "$tmp/clear.found")"
check capture/took-it-all "$(head -n 1 "$tmp/sealed.found") of a match" test "$(stat -c %s "$tmp/sealed.pcap")" -gt 100000
check capture/nothing-in-clear "$(grep has "$tmp/sealed.found" | tr '\n' ' ')" test "$(grep -c has "$tmp/sealed.found")" = 0
for what in "${NAMES[@]}" "$ROOM" "$CHAT" shooter.nes Nestopia presses; do
    check "capture/seen-where-it-is-clear: $what" "this test would not find $what in clear" grep -qx "has $what" "$tmp/clear.found"
done
check capture/password-never "the password is sent in clear" test "$(grep -c "has $PASSWORD" "$tmp/clear.found")" = 0
finish
