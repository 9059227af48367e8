# lib_mixed.sh - sourced after lib.sh: rooms of machines of two systems, this one and $other, whose hashes are compared. The script
# that sources it sets
#   other            the other system's name, for the checks
#   other_core NAME  a function: the path of that system's build of the core, or nothing
# and makes $tmp/bin/keylock and $tmp/bin/relay, commands of this machine that run the other system's programs.
# shellcheck shell=bash
EVERY=50

# machine SYSTEM NAME CORE CONTENT ARGUMENT…: one in a room, of that system (here, or $other).
machine() {
    local system=$1 name=$2 path program=$keylock rom=$4
    if [ "$system" = here ]; then path=$(core_path "$3"); else path=$(other_core "$3") program=$tmp/bin/keylock; fi
    [ -n "$path" ] || return
    shift 4
    start "$name" "$program" run --relay "$relay" --name "$name" --core "$path" --content "$rom" --hash-every $EVERY --wait 60 \
        --hash-out "$tmp/$name.hash" --trace "$tmp/$name.csv" "$@"
}
on_both() { [ -n "$(core_path "$1")" ] && [ -n "$(other_core "$1")" ]; }
last() { echo "$(json "$1" frames) $(json "$1" ram) $(json "$1" state)"; }
# The label of the last hash before which FILE and FILE differ; 0: nowhere.
parted() { join "$1" "$2" | awk '$2 != $4 { last = $1 } END { print last + 0 }'; }

# pair CORE CONTENT FRAMES [WHERE]: at full speed, equal from the first hash to the end.
pair() {
    local core=$1 rom=$content/$2 frames=${FRAMES:-$3} name=$other/$1${4:-} room=${1:0:12}${4:-} limit
    on_both "$core" || { skip "$name: the core is not installed"; return; }
    [ -s "$rom" ] || { skip "$name: $rom is missing"; return; }
    limit=$((60 + frames / 40))
    machine here "$room-a" "$core" "$rom" --room "$room" --frames "$frames" --input random:101
    machine "$other" "$room-b" "$core" "$rom" --room "$room" --frames "$frames" --input random:202
    ends_well "$name" "$room-a" "$limit"
    ends_well "$name" "$room-b" "$limit"
    equal "$name" "$room-a" "$room-b"
    check "$name/last" "frames, ram and state: $(last "$room-a"), $(last "$room-b")" test "$(last "$room-a")" = "$(last "$room-b")"
    check "$name/all" "only $(wc -l <"$tmp/$room-b.hash") hashes" test "$(wc -l <"$tmp/$room-b.hash")" -ge $((frames / EVERY / 2))
    check "$name/moves" "the hashes do not change" hashes_move "$tmp/$room-b.hash"
    check "$name/sealed" "its log names no cipher" grep -aqE 'cipher=(chacha20-poly1305|aes-256-gcm)' "$tmp/$room-b.log"
    note "$frames frames, $(json "$room-b" fps) a second, $(grep -m 1 -ao 'cipher=[^ ]*' "$tmp/$room-b.log")"
}

# by_other_relay COMMAND…: with $relay a relay of the other system. Its end is the caller's: stop other_relay.
by_other_relay() {
    local here=$relay
    start other_relay "$tmp/bin/relay" --bind 127.0.0.1 --port 0 --log info
    said other_relay 'listening.*port=[0-9]' 20 || { show other_relay; die "$other/relay: does not say where it listens"; }
    relay=127.0.0.1:$(sed -n 's/.*listening.*port=\([0-9]*\).*/\1/p' "$tmp/other_relay.log" | head -n 1)
    "$@"
    relay=$here
}

# ahead: a machine of the other system shows frames ahead of the lock, by a second copy of the core; and one there watches.
ahead() {
    local straight=$relay core=gambatte rom=$content/pads.gb name=$other/ahead who
    on_both $core || { skip "$name: the core is not installed"; return; }
    through far --delay 25 --jitter 3
    relay=$link
    machine here gil $core "$rom" --room ahead --frames 1200 --speed real --input random:1
    said relay 'event=(room_made|joined) room="ahead"' 20
    machine "$other" hal $core "$rom" --room ahead --frames 1200 --speed real --input random:2 --ahead 30
    machine "$other" ivy $core "$rom" --room ahead --frames 1200 --speed real --spectate
    for who in gil hal ivy; do ends_well "$name" $who 90; done
    for who in hal ivy; do equal "$name" gil $who; done
    check "$name/ran" "$(json hal ahead_avg) frames ahead" awk -v a="$(json hal ahead_avg)" 'BEGIN { exit !(a > 1) }'
    check "$name/felt" "$(json hal felt_frames_avg) against $(json gil felt_frames_avg) frames" \
        awk -v a="$(json hal felt_frames_avg)" -v b="$(json gil felt_frames_avg)" 'BEGIN { exit !(a < b) }'
    note "ahead $(json hal ahead_avg), felt $(json hal felt_frames_avg) and $(json gil felt_frames_avg) frames"
    relay=$straight
    stop far
}

ALL=1700     # frames of the match
PLANTED=700  # frame of the desync
CUT=1000     # frame at which the link is cut

# way: a late machine of the other system, one that is healed, and its link that is cut.
way() {
    local straight=$relay core=gambatte rom=$content/pads.gb who at
    on_both $core || { skip "$other/way: the core is not installed"; return; }
    through wire --delay 10
    machine here ann $core "$rom" --room way --frames $ALL --speed real --policy bounded --players 3 --input random:1 --seat-time 60
    said relay 'event=joined room="way"' 20
    machine here ben $core "$rom" --room way --frames $ALL --speed real --players 3 --input random:2
    relay=$link
    machine "$other" cleo $core "$rom" --room way --frames $ALL --speed real --players 3 --input random:3 --corrupt $PLANTED:0x300
    relay=$straight
    said relay 'event=started room="way"' 40 || { show cleo relay; die "$other/way: the room does not start"; }
    reaches ann 200
    machine "$other" dora $core "$rom" --room way --frames $ALL --speed real --seats 0
    said relay 'event=caught_up room="way".*name="dora"' 60 || { show dora relay; fail "$other/way: the late machine does not catch up"; }
    note "the late machine: $(grep -a 'event=caught_up.*dora' "$tmp/relay.log" | grep -o 'frame=.*')"
    said relay 'event=healed room="way"' 60 || { show cleo relay; fail "$other/way: nothing is healed"; }
    reaches ann $CUT
    kill -USR1 "${pid[wire]}"
    lasts 6 "the outage"
    kill -USR1 "${pid[wire]}"
    said relay 'event=returned room="way".*name="cleo"' 30
    for who in ann ben cleo dora; do ends_well "$other/way" $who 60; done
    for who in ben cleo dora; do
        at=$(parted "$tmp/ann.hash" "$tmp/$who.hash")
        case $who in cleo) check "$other/way/parted-$who" "ann and cleo part until $at" test "$at" -ge $((PLANTED - EVERY)) -a "$at" -lt $CUT ;;
        *) check "$other/way/never-parted-$who" "ann and $who part until $at" test "$at" = 0 ;; esac
        check "$other/way/ends-$who" "ann $(last ann), $who $(last $who)" test "$(last ann)" = "$(last $who)"
    done
    check "$other/way/healed" "cleo says healed=$(json cleo healed)" test "$(json cleo healed)" = 1
    check "$other/way/given" "the wrong machine did not load another's state" grep -aq 'event=loaded room="way".*name="cleo"' "$tmp/relay.log"
    check "$other/way/late-all" "dora has not run from frame 0" begins_with dora ann
    check "$other/way/returned" "the relay says nothing of cleo's return" grep -aq 'event=returned room="way".*name="cleo"' "$tmp/relay.log"
    check "$other/way/back" "cleo does not come back by itself" grep -aq 'connected again after=' "$tmp/cleo.log"
    check "$other/way/moves" "the hashes do not change" hashes_move "$tmp/cleo.hash" 5
    stop wire
}
