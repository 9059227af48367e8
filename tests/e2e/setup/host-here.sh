#!/usr/bin/env bash
# setup/host-here.sh - keylock play --host-here: the player's machine is the relay of the match, and a router forwards its port. A
# fake router (fake_router.py) stands between the home's network and the outside. First the asking alone: mappings are made,
# renewed, removed, and refusals and wrong answers named. Then a match in lock through the forwarded port. Needs root, for
# namespaces.
# runs: waiting, all, 170 s
# instead: nothing
. "$(dirname "$0")/../lib.sh"

PARTS=${PARTS:-ask wrong none play question near slow}
needs "$keylock" "$wrapper" "$content/shooter.nes"
[ "$(id -u)" = 0 ] || { skip "host-here: needs root, for network namespaces"; finish; }

# home (192.168.77.2) -- router (192.168.77.1, 203.0.113.1) -- outside (203.0.113.2); $lan: another machine at home
home_net=kl$$-home at_router=kl$$-router at_far=kl$$-far
drop_nets() { for n in $home_net $at_router $at_far; do ip netns del "$n" 2>/dev/null; done; }
trap 'left=$?; for name in "${!pid[@]}"; do stop "$name"; done; drop_nets; (exit $left); cleanup' EXIT
build_nets() {
    local n
    for n in $home_net $at_router $at_far; do ip netns add "$n" && ip -n "$n" link set lo up || return; done
    ip link add lan netns $home_net type veth peer name lan netns $at_router &&
        ip link add wan netns $at_far type veth peer name wan netns $at_router &&
        ip -n $home_net addr add 192.168.77.2/24 dev lan && ip -n $home_net link set lan up &&
        ip -n $at_router addr add 192.168.77.1/24 dev lan && ip -n $at_router link set lan up &&
        ip -n $at_router addr add 203.0.113.1/24 dev wan && ip -n $at_router addr add 203.0.113.99/32 dev lo &&
        ip -n $at_router link set wan up &&
        ip -n $at_far addr add 203.0.113.2/24 dev wan && ip -n $at_far link set wan up &&
        ip -n $home_net route add default via 192.168.77.1
}
build_nets 2>"$tmp/nets.log" || { skip "host-here: no network namespaces: $(head -n 1 "$tmp/nets.log")"; finish; }

router() { # OPTION…: that router, instead of the one before
    stop router
    start router ip netns exec $at_router python3 tests/e2e/fake_router.py "$@" 192.168.77.1 203.0.113.1
    said router ready 10 || { show router; die "host-here: the fake router does not start"; }
}
lines() { grep -acE -- "$2" "$tmp/$1.log"; } # NAME REGEX
at_least() { [ "$(lines "$1" "$2")" -ge "$3" ]; }

# ask LEASE [HOW]: the asking alone.
ask() { start ask ip netns exec $home_net python3 tests/e2e/router_news.py "$keylock" 55436 "$@"; }

# asked NAME REGEX LEASE: the first news, of an asking that then ends by itself.
asked() {
    ask "$3"
    said ask 'ended' 15 || stop ask
    check "$1" "expected $2, got: $(head -n 1 "$tmp/ask.log")" grep -qE "$2" "$tmp/ask.log"
    check "$1/ends" "$(tail -n 1 "$tmp/ask.log")" grep -q '^ended status=0' "$tmp/ask.log"
}

# mapped NAME NEWS MAP REMOVE [HOW]: mapped, renewed more than twice, and removed at the end.
mapped() {
    ask 2 "${5:-leave}"
    said ask '^news' 10
    check "$1/maps" "expected $2, got: $(head -n 1 "$tmp/ask.log")" grep -qE "$2" "$tmp/ask.log"
    check "$1/renews" "the router was asked $(lines router "$3") times" eventually 8 at_least router "$3" 4
    check "$1/quiet" "renewals are no news: $(lines ask '^news') lines" test "$(lines ask '^news')" = 1
    check "$1/stays" "it was removed while in use" test "$(lines router "$4")" = 0
    kill "${pid[ask]}"
    said ask '^ended' 10
    check "$1/removes" "$(tail -n 2 "$tmp/router.log")" eventually 5 at_least router "$4" 1
    ended ask 5
}

part_ask() {
    router --natpmp yes --life 2
    mapped natpmp 'news mapped by=natpmp port=55436 host=203.0.113.1 lease=2 ' 'natpmp map port=55436 outside=55436 life=2$' \
        'natpmp map port=55436 outside=0 life=0'
    router --upnp yes
    mapped upnp 'news mapped by=upnp port=55436 host=203.0.113.1 lease=2 ' 'upnp add port=55436 client=192.168.77.2:55436 UDP lease=2' \
        'upnp delete port=55436 UDP'
    router --upnp yes
    mapped upnp-term 'news mapped by=upnp' 'upnp add' 'upnp delete port=55436 UDP' TERM
    router --upnp conflict
    mapped conflict 'news mapped by=upnp port=55438 ' 'upnp add port=55438' 'upnp delete port=55438 UDP'
    router --upnp permanent
    ask 2
    said ask '^news' 10
    check permanent/maps "$(cat "$tmp/ask.log")" grep -q 'news mapped by=upnp port=55436 host=203.0.113.1 lease=0 ' "$tmp/ask.log"
    stop ask
    check permanent/removes "$(tail -n 2 "$tmp/router.log")" eventually 5 at_least router 'upnp delete port=55436' 1
    router --natpmp refuse --upnp refuse
    asked refuse/natpmp 'news refused by=natpmp .*code=-51 ' 60
    router --upnp refuse
    asked refuse/upnp 'news refused by=upnp .*code=606 ' 60
    router --natpmp refuse --upnp yes
    mapped refuse/other 'news mapped by=upnp' 'upnp add' 'upnp delete'
    # A mapping that the router has lost, as after its restart, is news; so is its return.
    router --upnp yes
    ask 4
    said ask '^news mapped' 10
    stop router
    said ask '^news none' 30
    check lost/said "$(cat "$tmp/ask.log")" grep -q '^news none' "$tmp/ask.log"
    router --natpmp yes
    said ask '^news mapped by=natpmp' 30
    check lost/again "$(cat "$tmp/ask.log")" grep -q '^news mapped by=natpmp' "$tmp/ask.log"
    stop ask
}

part_wrong() {
    local way address
    for way in garbage short silent; do
        router --natpmp $way
        asked wrong/natpmp-$way 'news (none|refused|odd) ' 60
    done
    router --natpmp zero
    asked wrong/natpmp-zero 'news odd by=natpmp' 60
    router --natpmp garbage --upnp yes
    mapped wrong/natpmp-beside 'news mapped by=upnp' 'upnp add' 'upnp delete'
    router --upnp garbage
    asked wrong/upnp-garbage 'news none ' 60
    for way in nothing page; do
        router --upnp $way
        asked wrong/upnp-$way 'news odd by=upnp' 60
    done
    for way in elsewhere outward; do # another machine's pages are never asked for
        router --upnp $way
        asked wrong/upnp-$way 'news none ' 60
        check wrong/upnp-$way-quiet "$(grep -a 'at=203' "$tmp/router.log" | head -n 1)" test "$(lines router 'at=203')" = 0
    done
    for address in '300.1.1.1' $'1.2.3.4\e[31m' '127.0.0.1' '0.0.0.0' '239.1.1.1' 'example.org' "$(printf '1%.0s' {1..5000})"; do
        router --upnp yes --address "$address"
        ask 60
        said ask '^news' 10
        check "wrong/address-${address:0:9}" "$(cat "$tmp/ask.log")" grep -q 'news mapped .*host=0.0.0.0 ' "$tmp/ask.log"
        stop ask
    done
    router --upnp endless
    ask 60 TERM
    said router 'describe' 10
    said ask 'ended' 20 || kill -KILL "${pid[ask]}"
    check wrong/endless "$(cat "$tmp/ask.log")" \
        awk -F 'mib=' '/^ended/ { exit !($2 < 300) }' "$tmp/ask.log"
}

part_none() {
    watch watch
    stop router
    asked none 'news none ' 60
    local after
    after=$(sed -n 's/^news none.*after=\([0-9]*\)$/\1/p' "$tmp/ask.log")
    in_time check none/in-time "it was said after ${after:-?} ms" test "${after:-9999}" -lt 3000
}

# --- matches --------------------------------------------------------------------------------------------------

# host NAME [OPTION…]: RetroArch at home as the relay of the match. $terminal: what it is started by.
terminal=()
host() {
    local name=$1
    shift
    retroarch_home "$name" 'video_driver = "null"' 'input_driver = "null"' "${no_sound[@]}"
    home_of "$name"
    start "$name" ip netns exec $home_net env "${home[@]}" KEYLOCK_HASH_OUT="$tmp/$name.hash" KEYLOCK_TRACE="$tmp/$name.csv" \
        "${terminal[@]}" "$keylock" play --name "$name" --core nestopia --content "$content/shooter.nes" --host-here "$@"
}
link_of() { grep -aoE 'keylock://[^ ]+' "$tmp/$1.log" | tail -n 1; }
guest() { # NAME NET LINK FRAMES
    start "$1" ip netns exec "$2" env HOME="$tmp/$1" "$keylock" run --quiet --core nestopia --content "$content/shooter.nes" --name "$1" --link "$3" \
        --speed real --seats 1 --input random:4 --frames "$4" --hash-out "$tmp/$1.hash" --trace "$tmp/$1.csv"
}
playable() {
    core_path nestopia >/dev/null || { skip "$1: no nestopia"; return 1; }
    command -v retroarch >/dev/null || { skip "$1: no retroarch"; return 1; }
}
nobody() { # WHAT: no process of these networks is left
    check "$1/nothing-runs" "$(ip netns pids $home_net | xargs -r ps -o args= -p)" eventually 5 test -z "$(ip netns pids $home_net)"
}

part_play() {
    playable play || return
    router --natpmp yes
    host ann --map-port on
    said ann 'keylock://' 20 || show ann router
    check play/says "$(grep -a 'keylock play' "$tmp/ann.log")" grep -aq 'forwards UDP port 55436 at 203.0.113.1\. Nothing here can prove' "$tmp/ann.log"
    check play/link "$(link_of ann)" grep -aqE '^ *keylock://203\.0\.113\.1:55436/[a-z0-9]{8}[?#]' "$tmp/ann.log"
    guest bob $at_far "$(link_of ann)" 600
    reaches ann 300 && ended bob 30
    check play/guest "the guest's exit status: $?" test $? = 0
    check play/forwarded "the guest did not come through the router" grep -aq '^forwards port=55436' "$tmp/router.log"
    stop ann
    check play/status "exit status $? after SIGTERM" test $? = 0
    equal play ann bob
    check play/moves "the hashes do not change" hashes_move "$tmp/bob.hash"
    check play/removes "$(tail -n 1 "$tmp/router.log")" eventually 5 at_least router 'natpmp map port=55436 outside=0 life=0' 1
    nobody play
}

# At a terminal the player is asked. Enter alone is a no.
part_question() {
    playable question || return
    local answer
    for answer in '' n yes; do
        router --natpmp yes
        terminal=(python3 tests/e2e/at_terminal.py "$answer")
        host ann
        terminal=()
        check "question/asked-${answer:-enter}" "$(head -n 3 "$tmp/ann.log")" said ann 'May Keylock ask your router .* \[y/N\]' 20
        said ann 'keylock://' 20 || show ann
        if [ "$answer" = yes ]; then
            check question/yes "$(grep -a 'keylock play' "$tmp/ann.log")" grep -aq 'forwards UDP port 55436 at 203.0.113.1' "$tmp/ann.log"
            check question/yes-asks "$(cat "$tmp/router.log")" at_least router '^natpmp map port=55436' 1
        else
            check "question/no-${answer:-enter}" "$(grep -a 'keylock play' "$tmp/ann.log")" grep -aq 'the router was not asked' "$tmp/ann.log"
            check "question/no-${answer:-enter}-asks-nobody" "$(cat "$tmp/router.log")" test "$(lines router '^(natpmp|upnp)')" = 0
        fi
        stop ann
        check "question/status-${answer:-enter}" "exit status $? after SIGTERM" test $? = 0
    done
    nobody question
}

# Nobody is asked for a port; the port is taken; and the guest is at home, too. Then a router behind a provider's NAT. Then a
# public IPv6 address.
part_near() {
    playable near || return
    router --upnp yes --address 100.64.3.4
    start other ip netns exec $home_net python3 -c 'import socket, threading
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("", 55436)); print("ready", flush=True); threading.Event().wait()'
    said other ready 10
    host ann --room den
    said ann 'keylock://' 20 || show ann
    check near/says "$(grep -a 'keylock play' "$tmp/ann.log")" grep -aq 'was not asked .*192.168.77.2, an address of your own network.*UDP port 55437' "$tmp/ann.log"
    check near/not-asked "$(cat "$tmp/router.log")" test "$(lines router upnp)" = 0
    check near/link "$(link_of ann)" grep -aqE '^ *keylock://192\.168\.77\.2:55437/den[?#]' "$tmp/ann.log"
    guest bob $at_router "$(link_of ann)" 300
    ended bob 30
    check near/guest "the guest's exit status: $?" test $? = 0
    kill -KILL "$(pgrep -P "${pid[ann]}" -x retroarch)"
    ended ann 10
    check near/crash "exit status $?" test $? = 1
    check near/crash-said "$(tail -n 1 "$tmp/ann.log")" grep -aq 'RetroArch ended by a signal: Killed' "$tmp/ann.log"
    equal near ann bob
    stop other
    host cgn --map-port on
    said cgn 'keylock://' 20 || show cgn
    check near/provider "$(grep -a 'keylock play' "$tmp/cgn.log")" grep -aq 'not reachable from outside: .*its own address 100.64.3.4 is not public' "$tmp/cgn.log"
    check near/provider-link "$(link_of cgn)" grep -aqE '^ *keylock://192\.168\.77\.2:55436/' "$tmp/cgn.log"
    kill -KILL "${pid[cgn]}" # the router's program sees it, and removes the mapping
    check near/killed "$(tail -n 1 "$tmp/router.log")" eventually 5 at_least router 'upnp delete port=55436' 1
    ip netns pids $home_net | xargs -r kill
    ended cgn 5
    ip -n $home_net addr add 2001:db8:77::2/64 dev lan nodad && ip -n $home_net -6 route add default dev lan &&
        ip -n $at_router addr add 2001:db8:77::1/64 dev lan nodad 2>"$tmp/nets.log" || { skip "near/ipv6: $(cat "$tmp/nets.log")"; return; }
    host eve --room six
    said eve 'keylock://' 20 || show eve
    check near/ipv6-says "$(grep -a 'keylock play' "$tmp/eve.log")" grep -aq "address 2001:db8:77::2 is public, so no router needs to be asked" "$tmp/eve.log"
    check near/ipv6-link "$(link_of eve)" grep -aqE '^ *keylock://\[2001:db8:77::2\]:55436/six[?#]' "$tmp/eve.log"
    guest dan $at_router "$(link_of eve)" 120
    ended dan 30
    check near/ipv6-guest "the guest's exit status: $?" test $? = 0
    stop eve
}

# A router that never ends its answer holds up neither the game nor its end.
part_slow() {
    playable slow || return
    router --upnp endless
    host ann --map-port on
    said ann 'keylock://' 30
    check slow/begins "$(tail -n 3 "$tmp/ann.log")" grep -aq 'keylock://192.168.77.2:' "$tmp/ann.log"
    stop ann
    check slow/ends "exit status $?" test $? = 0
    nobody slow
}

for part in $PARTS; do "part_$part"; done
finish
