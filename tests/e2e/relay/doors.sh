#!/usr/bin/env bash
# relay/doors.sh - the doors of a room let the right players in and refuse the others: links, the relay's key, passwords, the lock,
# kicks and bans. The relay's log has hashes in place of the players' addresses all the while.
# runs: waiting, test, 40 s
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$content/shooter.nes"
nestopia=$(core_path nestopia) || die "doors: no nestopia"
PARTS=${PARTS:-link key password host names hashed console clear list}
game=(--core "$nestopia" --content "$content/shooter.nes" --hash-every 60 --wait 20)
start_relay

# player NAME FRAMES ARGUMENT…
player() {
    local name=$1 frames=$2
    shift 2
    start "$name" "$keylock" run "${game[@]}" --name "$name" --frames "$frames" --hash-out "$tmp/$name.hash" "$@"
}

# refused WHAT REGEX ARGUMENT…: a player is refused with this reason.
refused() {
    local what=$1 regex=$2 status line
    shift 2
    timeout -k 5 20 "$keylock" run "${game[@]}" --quiet --name mallory --frames 60 "$@" >"$tmp/refused.log" 2>&1 </dev/null
    status=$?
    line=$(grep -a '^keylock run: ' "$tmp/refused.log" | tail -n 1)
    if [ $status = 4 ] && grep -aqE -- "$regex" <<<"$line"; then
        ok "doors/$what: ${line:13:200}"
    else
        fail "doors/$what: exit status $status, expected 4 and /$regex/"
        show refused
    fi
}

fingerprint_of() { grep -ao 'fingerprint=[a-z0-9]*' "$tmp/$1.log" | head -n 1 | cut -d = -f 2; }
invitation() { said "$1" 'keylock://' 10; grep -ao 'keylock://.*' "$tmp/$1.log" | head -n 1; }

# --- the invitation that the host's keylock says is all that a friend needs -----------------------------------------

link() {
    player ann 240 --relay "$relay" --room "our game" --unlisted
    local url
    url=$(invitation ann)
    check doors/link-says "\"$url\" is not the room's" \
        eval '[[ $url == "keylock://$relay/our%20game?core=nestopia&game=shooter.nes&crc="*"#$(fingerprint_of relay)" ]]'
    player bob 240 --link "$url"
    "$keylock" rooms "$relay" >"$tmp/rooms.log" 2>&1
    check doors/rooms "$(head -n 1 "$tmp/rooms.log")" grep -q "^relay $relay  .* rooms " "$tmp/rooms.log"
    check doors/unlisted "the room is told to strangers" test "$(grep -c 'our game' "$tmp/rooms.log")" = 0
    both_equal doors/link ann bob
    pins=$HOME/.local/state/keylock/relays
    check doors/link-pins "only ann named the relay, by name: it is pinned once" test "$(wc -l <"$pins")" = 1
    refused link-other "fingerprint is $(fingerprint_of relay), expected was aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
        --link "keylock://$relay/x#aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    "$keylock" run "${game[@]}" --frames 9 --link "keylock://$relay/x?save=evil" >"$tmp/link.log" 2>&1
    check doors/link-nothing-else "exit status $?" test $? = 2
    note "$(head -n 1 "$tmp/link.log")"
}

# --- a community's list of relays, signed by minisign, as a file and by https ------------------------------------------

sign() { minisign -SWm "$tmp/relays.txt" -s "$tmp/$1.sec" >"$tmp/minisign.log" 2>&1 || show minisign; }

refused_list() { # WHAT REGEX LIST
    local status
    "$keylock" rooms --relays "$3" >"$tmp/list.log" 2>&1
    status=$?
    check "doors/list-$1" "exit status $status: $(tail -n 1 "$tmp/list.log")" \
        test "$status $(grep -c -- "$2" "$tmp/list.log")" = "2 1"
}

list() {
    local key silent
    silent=$(free_port)
    for key in keeper thief; do minisign -GWf -p "$tmp/$key.pub" -s "$tmp/$key.sec" >"$tmp/minisign.log" 2>&1 || show minisign; done
    printf '# ours\nkey %s\n127.0.0.1:%s asleep\n%s Berlin, by Ada\n' "$(sed -n 2p "$tmp/keeper.pub")" "$silent" "$relay" >"$tmp/relays.txt"
    refused_list unsigned 'relays.txt.minisig: No such file' "$tmp/relays.txt"
    sign keeper
    "$keylock" rooms --relays "$tmp/relays.txt" --json >"$tmp/list.log" 2>&1
    check doors/list "$(cat "$tmp/list.log")" python3 -c 'import json, sys
near, far = json.load(open(sys.argv[1]))["relays"]
assert near["words"] == "Berlin, by Ada" and near["ping_ms"] > 0 and near["rooms"] == [], near
assert far["words"] == "asleep" and far["ping_ms"] is None, far' "$tmp/list.log"
    "$keylock" doctor --relays "$tmp/relays.txt" --json >"$tmp/list.log" 2>&1
    check doors/list-doctor "$(grep -o 'in the list.*' "$tmp/list.log")" grep -q "1 of 2 in the list answer: $relay (Berlin" "$tmp/list.log"
    sed -i s/Berlin/Munich/ "$tmp/relays.txt"
    refused_list changed 'expected a signature by its key' "$tmp/relays.txt"
    sign thief
    refused_list other-signer 'expected a signature by its key' "$tmp/relays.txt"
    sed -i "s|^key .*|key $(sed -n 2p "$tmp/thief.pub")|" "$tmp/relays.txt"
    sign thief
    refused_list other-key 'another key than before' "$tmp/relays.txt"
    printf 'one:two\n' >>"$tmp/relays.txt"
    refused_list line 'line 5: expected HOST\[:PORT\] \[WORDS\] of at most 64 relays, got "one:two"' "$tmp/relays.txt"
    list_by_https
}

list_by_https() {
    local at
    at=$(free_port)
    sed -i /one:two/d "$tmp/relays.txt"
    sign thief
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
        -keyout "$tmp/web.key" -out "$tmp/web.crt" >"$tmp/openssl.log" 2>&1 || show openssl
    start web python3 -c 'import http.server, os, ssl, sys
os.chdir(sys.argv[1])
server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[2])), http.server.SimpleHTTPRequestHandler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("web.crt", "web.key")
server.socket = context.wrap_socket(server.socket, server_side=True)
print("listening", flush=True)
server.serve_forever()' "$tmp" "$at"
    said web listening 5 || show web
    CURL_CA_BUNDLE=$tmp/web.crt "$keylock" rooms --relays "https://localhost:$at/relays.txt" >"$tmp/list.log" 2>&1
    check doors/list-https "$(tail -n 1 "$tmp/list.log")" grep -q "^relay $relay  .* rooms 0" "$tmp/list.log"
    refused_list https-unknown 'curl got none: curl: (60)' "https://localhost:$at/relays.txt"
    CURL_CA_BUNDLE=$tmp/web.crt refused_list https-absent 'curl got none: curl: (22)' "https://localhost:$at/none.txt"
    stop web
    refused_list http 'begins with https://, got http://localhost' "http://localhost:$at/relays.txt"
}

# --- another relay at the same place ---------------------------------------------------------------------------------

key() {
    local before after
    player carl 1 --relay "$relay" --room pin
    said carl 'keylock://' 10
    stop carl
    before=$(fingerprint_of relay)
    stop relay
    start other "$relay_program" --bind 127.0.0.1 --port "$port" --log info --state "$tmp/other-state"
    said other listening 5 || die "doors/key: the other relay does not start"
    after=$(fingerprint_of other)
    refused key-changed "another key than before: expected $before, found $after" --relay "$relay" --room pin
    refused key-changed-link "its fingerprint is $after, expected was $before" --link "keylock://$relay/pin#$before"
    stop other
    : >"$tmp/relay.log"
    start relay "$relay_program" --bind 127.0.0.1 --port "$port" --hash-addresses --log debug
    said relay listening 5 || die "doors/key: the relay does not start again"
    check doors/key-kept "the relay has a new key after a restart" test "$(fingerprint_of relay)" = "$before"
}

# --- passwords ----------------------------------------------------------------------------------------------------------

password() {
    printf 'open sesame\n' >"$tmp/password"
    chmod 600 "$tmp/password"
    player dora 240 --relay "$relay" --room secret --password "open sesame"
    said relay 'joined room="secret"' 10 || show relay dora
    check doors/password-unseen "the process list shows the password" \
        test "$(tr '\0' ' ' <"/proc/${pid[dora]}/cmdline" | grep -c sesame)" = 0
    "$keylock" rooms "$relay" >"$tmp/rooms.log" 2>&1
    check doors/listed "$(cat "$tmp/rooms.log")" grep -qE '^secret +1/2 +open +password' "$tmp/rooms.log"
    note "$(tail -n 1 "$tmp/rooms.log")"
    refused password-none 'it has a password, and you gave none' --relay "$relay" --room secret
    refused password-wrong 'wrong password for room secret' --relay "$relay" --room secret --password sesame
    KEYLOCK_PASSWORD=sesam refused password-wrong-by-variable 'wrong password' --relay "$relay" --room secret
    sed s/open/close/ "$tmp/password" >"$tmp/wrong-password"
    refused password-wrong-by-file 'wrong password' --relay "$relay" --room secret --password-file "$tmp/wrong-password"
    start emil sh -c 'exec "$@" <"$0"' "$tmp/password" "$keylock" run "${game[@]}" --name emil --frames 240 \
        --hash-out "$tmp/emil.hash" --relay "$relay" --room secret --password -
    both_equal doors/password dora emil
    check doors/password-log "the relay's log has the password" test "$(grep -ac sesame "$tmp/relay.log")" = 0
    refused password-where-none 'nobody|wait|--wait' --relay "$relay" --room empty --password x --wait 2
}

# --- the host's ----------------------------------------------------------------------------------------------------------

host() {
    player fred 1100 --relay "$relay" --room ours --players 3 --speed real --command 60:lock --command 420:unlock \
        --command "480:kick gina" --command "540:ban hans"
    said relay 'joined room="ours"' 10
    player gina 600 --relay "$relay" --room ours --speed real --command "30:kick hans"
    said relay 'name="gina"' 10
    player hans 600 --relay "$relay" --room ours --speed real
    said relay 'event=locked room="ours"' 20 || show relay fred
    refused lock 'its host has locked it' --relay "$relay" --room ours
    check doors/not-the-host "a player who is not the host kicks" grep -aq 'only the host of the room can do that' "$tmp/gina.log"
    ended gina 20
    check doors/kick "exit status $?, $(tail -n 2 "$tmp/gina.log" | head -n 1)" grep -aqE 'put out by .*fred' "$tmp/gina.log"
    ended hans 20
    check doors/ban "$(tail -n 2 "$tmp/hans.log" | head -n 1)" grep -aq 'banned by .*fred' "$tmp/hans.log"
    refused banned 'you are banned' --relay "$relay" --room ours
    ended fred 40
    local status=$?
    check doors/host-plays-on "exit status $status" test $status = 0
    for who in gina hans; do equal doors fred $who; done
}

# --- two players of one name, and one whose name looks like it: the number tells them apart --------------------------------

names() {
    local name status number=0
    for name in ada ada $'\xd0\xb0da'; do
        number=$((number + 1))
        player "name$number" 100000 --relay "$relay" --room names --players 3 --speed real --name "$name"
        said relay "event=joined room=\"names\" client=$((number - 1)) " 10 || show relay "name$number"
    done
    said name1 'playing ' 20 || { show name1 relay; fail "doors/names: no game"; return; }
    for number in 2 3; do "$keylock" command --pid "${pid[name$number]}" say "I am $number" >"$tmp/say.log" 2>&1; done
    check doors/names-chat "the line is missing" said name1 'ada \(2\): I am 2$' 10
    check doors/names-look-alike "the line is missing" said name1 $'\xd0\xb0da \\(3\\): I am 3$' 10
    "$keylock" command --pid "${pid[name1]}" kick ada >"$tmp/kick.log" 2>&1
    status=$?
    check doors/names-kick-which "exit status $status, $(cat "$tmp/kick.log")" \
        eval '[ $status != 0 ] && grep -q "ada (1) and ada (2)" "$tmp/kick.log"'
    note "$(tail -n 1 "$tmp/kick.log")"
    "$keylock" command --pid "${pid[name1]}" kick 2 >"$tmp/kick.log" 2>&1
    ended name2 20
    check doors/names-kick-number "$(cat "$tmp/kick.log"): $(tail -n 2 "$tmp/name2.log" | head -n 1)" \
        grep -aqE 'put out by .*ada' "$tmp/name2.log"
    plays_on() { running name1 && running name3; }
    check doors/names-others-play "somebody else is out" plays_on
    stop name1
    stop name3
}

# --- the operator's ---------------------------------------------------------------------------------------------------------

console() {
    stop relay
    mkfifo "$tmp/orders"
    exec 8<>"$tmp/orders"
    : >"$tmp/relay.log"
    start relay sh -c 'exec "$@" <"$0"' "$tmp/orders" "$relay_program" --bind 127.0.0.1 --port "$port" --log info --console
    said relay listening 5 || { show relay; fail "doors/console: the relay does not start"; }
    player ida 60 --relay "$relay" --room late
    said relay 'joined room="late"' 10
    echo "lock late" >"$tmp/orders"
    said relay 'event=locked room="late"' 5
    refused console-lock 'locked it' --relay "$relay" --room late
    echo "kick late ida" >"$tmp/orders"
    ended ida 10
    check doors/console-kick "$(tail -n 2 "$tmp/ida.log" | head -n 1)" grep -aq 'put out by' "$tmp/ida.log"
    exec 8>&-
}

# --- the log so far: no address of a player, one hash for all of them, for they are at one address ------------------

hashed() {
    grep -avE 'event=(listening|invitation|open_port|local_address) ' "$tmp/relay.log" >"$tmp/players.log"
    check doors/hashed "an address: $(grep -aoE '.*127\.0\.0\.1.*' "$tmp/players.log" | head -n 1)" \
        not grep -aq '127\.0\.0\.1' "$tmp/players.log"
    check doors/hashed-alike "$(grep -aoE ' address=[^ ]*' "$tmp/players.log" | sort | uniq -c | head -n 4 | tr '\n' ' ')" \
        test "$(grep -aoE ' address=[^ ]*' "$tmp/players.log" | sort -u | grep -cE '=[0-9a-f]{16}$')" = 1
    local bare
    bare=$(grep -n 'address=%s' -A 4 net/relay/*/*.c | awk '/address=%s/ { place = $1; open = 1 } open && /kl_log_address|kl_hub_address/ { open = 0 }
        open && /;$/ { print place; open = 0 }')
    check doors/hashed-all "a line of the log has an address that no kl_log_address() has seen: $bare" test -z "$bare"
}
not() { ! "$@"; }

# --- a relay without encryption: only for clients that want the same -------------------------------------------------------

clear() {
    stop relay
    : >"$tmp/relay.log"
    start relay "$relay_program" --bind 127.0.0.1 --port "$port" --log info --insecure-lan
    said relay listening 5 || { show relay; fail "doors/clear: the relay does not start"; }
    player kurt 120 --relay "$relay" --room lan --insecure-lan
    said relay 'joined room="lan"' 10
    player lena 120 --relay "$relay" --room lan
    both_equal doors/clear kurt lena
    check doors/clear-both "$(grep -ao 'cipher=.*' "$tmp/kurt.log")" grep -aq 'playing .*cipher=clear' "$tmp/kurt.log"
    check doors/clear-one "$(grep -ao 'cipher=.*' "$tmp/lena.log")" grep -aqE 'playing .*cipher=(aes|chacha)' "$tmp/lena.log"
}

for part in $PARTS; do $part; done
finish
