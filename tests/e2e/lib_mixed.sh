# lib_mixed.sh - sourced after lib.sh: rooms of machines of two systems, this one and $other, whose hashes are compared. The script
# that sources it sets
#   other             the other system's name
#   AUTO              ahead: that system has time to run ahead by itself; may: it may have none
#   SYSTEM_core NAME  a function for each system, and here_core for this one: the path of its build of the core, or nothing
# and makes $tmp/bin/keylock-SYSTEM and $tmp/bin/relay-$other, commands of this machine that run that system's programs.
# shellcheck shell=bash
EVERY=50

# machine SYSTEM NAME CORE CONTENT ARGUMENT…: one in a room, of that system (here: this one).
machine() {
    local system=$1 name=$2 path program=$tmp/bin/keylock-$1 rom=$4
    [ "$system" != here ] || program=$keylock
    path=$("${system}_core" "$3")
    [ -n "$path" ] || return
    shift 4
    start "$name" "$program" run --relay "$relay" --name "$name" --core "$path" --content "$rom" --hash-every $EVERY --wait 60 \
        --hash-out "$tmp/$name.hash" --trace "$tmp/$name.csv" "$@"
}
on_both() { [ -n "$(here_core "$1")" ] && [ -n "$("${other}_core" "$1")" ]; }
last() { echo "$(json "$1" frames) $(json "$1" ram) $(json "$1" state)"; }
# The label of the last hash before which FILE and FILE differ; 0: nowhere.
parted() { join "$1" "$2" | awk '$2 != $4 || ($2 == "-" && $3 != $5) { last = $1 } END { print last + 0 }'; }

# rom_of CORE: the name of our program for it.
rom_of() {
    case $1 in
    nestopia) echo shooter.nes ;;
    gambatte) echo pads.gb ;;
    mgba) echo pads.gba ;;
    mednafen_pce_fast) echo pads.pce ;;
    mednafen_wswan) echo pads.ws ;;
    bsnes_mercury_*) echo pads.sfc ;;
    esac
}

# pair CORE FRAMES [WHERE]: at full speed, equal from the first hash to the end.
pair() {
    local core=$1 rom frames=${FRAMES:-$2} name=$other/$1${3:-} room=${1:0:12}${3:-} limit
    rom=$content/$(rom_of "$core")
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
    start other_relay "$tmp/bin/relay-$other" --bind 127.0.0.1 --port 0 --log info
    said other_relay 'listening.*port=[0-9]' 20 || { show other_relay; die "$other/relay: does not say where it listens"; }
    relay=127.0.0.1:$(sed -n 's/.*listening.*port=\([0-9]*\).*/\1/p' "$tmp/other_relay.log" | head -n 1)
    "$@"
    relay=$here
}

# ahead: a machine of the other system shows frames ahead of the lock, by a second copy of the core, and gets the other player's
# samples straight; and one there watches. The player leaves it to auto, and on a machine that may have no time for it also asks for
# it (--ahead 30).
ahead() {
    local straight=$relay core=gambatte rom=$content/pads.gb
    on_both $core || { skip "$other/ahead: the core is not installed"; return; }
    "$keylock" probe --core "$(here_core $core)" --content "$rom" --frames 120 --json "$tmp/ahead.json" >"$tmp/ahead-probe.log" 2>&1
    through far --delay 25 --jitter 3 --straight 5
    relay=$link
    [ "$AUTO" = ahead ] || ahead_room asked 1200 --ahead 30
    KEYLOCK_PROFILE=$tmp/ahead.json ahead_room auto 700
    relay=$straight
    stop far
}
# A slow machine may be late all the time instead, or say once that it has no time.
is_ahead() { # ROOM
    awk -v a="$(json "$1-hal" ahead_avg)" 'BEGIN { exit !(a > 1) }' ||
        test "$AUTO-$1" = may-auto -a "$(grep -ac 'presses wait for the link' "$tmp/$1-hal.log")" -le 1
}
ahead_room() { # ROOM FRAMES [OPTION…]: of hal, who is ahead
    local it=$1 frames=$2 who name=$other/ahead-$1
    machine here $it-gil $core "$rom" --room "$it" --frames "$frames" --speed real --input random:1
    said relay "event=(room_made|joined) room=\"$it\"" 20
    machine "$other" $it-hal $core "$rom" --room "$it" --frames "$frames" --speed real --input random:2 "${@:3}"
    machine "$other" $it-ivy $core "$rom" --room "$it" --frames "$frames" --speed real --spectate
    for who in gil hal ivy; do ends_well "$name" $it-$who 90; done
    for who in hal ivy; do equal "$name" $it-gil $it-$who; done
    check "$name/ran" "$(json $it-hal ahead_avg) frames ahead: $(grep -ao 'presses wait for the link.*' "$tmp/$it-hal.log")" is_ahead "$it"
    [ "$AUTO" = may ] || check "$name/straight" "$(json $it-hal direct_datagrams) datagrams came straight from gil" \
        test "$(json $it-hal direct_datagrams)" -ge 300
    # lock/ahead judges what a player feels of running ahead, on this machine: an emulated one has no time for it.
    note "ahead $(json $it-hal ahead_avg), felt $(json $it-hal felt_frames_avg) and $(json $it-gil felt_frames_avg) frames"
}

# The byte that goes wrong, of RAM or else of the state.
wrong_byte() {
    case $1 in
    mgba) ;;               # the middle of its state
    nestopia) echo :0x13 ;; # of the random numbers: the game does not write it anew
    *) echo :0x300 ;;
    esac
}

# in_way SYSTEM WHO ARGUMENT…: a machine in the room $it of ways, below.
in_way() {
    machine "$1" "$it-$2" "${core_of[$it]}" "$content/$(rom_of "${core_of[$it]}")" --room "$it-way" --frames "$all" --speed real "${@:3}"
}

# profile_of_way: of the room's core, the event by which the room is healed, and whether bytes of the healed state stay unlike the
# others'.
profile_of_way() {
    "$keylock" probe --core "$(here_core "${core_of[$it]}")" --content "$content/$(rom_of "${core_of[$it]}")" --frames 120 \
        --json "$tmp/$it.json" >"$tmp/$it-probe.log" 2>&1 || { show "$it-probe"; die "$other/way-$it: no profile"; }
    heals[$it]=healed
    ! grep -q '"load":"history"' "$tmp/$it.json" || heals[$it]=heal_anew
    ! grep -q '"load":"state only"' "$tmp/$it.json" || unlike[$it]=yes
}

# ways CORE…: rooms side by side, in each a late machine of the other system, one that is healed, and its link that is cut; as many
# frames as $FRAMES, or 1,700. The rooms have profiles: a machine whose core's states lack something (Nestopia's turbo buttons) is
# healed by running the game from its beginning. Long matches wait a second for a machine that is slow. The names of a room and of
# its machines begin with the core's, which is shortened for them.
ways() {
    local all=${FRAMES:-1700} late planted cut straight=$relay core it who rooms=()
    local -A core_of=() heals=() unlike=()
    late=$((all * 2 / 17)) planted=$((all * 7 / 17)) cut=$((all * 10 / 17))
    for core; do
        it=${core#bsnes_mercury_}
        core_of[$it]=$core
        if on_both "$core"; then rooms+=("$it"); else skip "$other/way-$it: the core is not installed"; fi
    done
    for it in "${rooms[@]}"; do
        profile_of_way
    done
    for it in "${rooms[@]}"; do
        through "$it-wire" --delay 10
        KEYLOCK_PROFILE=$tmp/$it.json in_way here ann --policy bounded ${FRAMES:+--budget 1000} --players 3 --input random:1 --seat-time 60
        said relay "event=joined room=\"$it-way\"" 20
        in_way here ben --players 3 --input random:2
        relay=$link
        in_way "$other" cleo --players 3 --input random:3 --corrupt "$planted$(wrong_byte "${core_of[$it]}")"
        relay=$straight
    done
    for it in "${rooms[@]}"; do
        said relay "event=started room=\"$it-way\"" 40 || { show "$it-cleo" relay; die "$other/way-$it: the room does not start"; }
        reaches "$it-ann" "$late" 60
        in_way "$other" dora --seats 0
    done
    for it in "${rooms[@]}"; do
        reaches "$it-ann" "$planted" 120
        said relay "event=${heals[$it]} room=\"$it-way\"" 60 || { show "$it-cleo" relay; fail "$other/way-$it: nothing is healed"; }
        note "$it: $(grep -am 1 "event=${heals[$it]} room=\"$it-way\"" "$tmp/relay.log" | grep -o 'event=.*')"
    done
    for it in "${rooms[@]}"; do
        reaches "$it-ann" "$cut" 120
        kill -USR1 "${pid[$it-wire]}"
    done
    lasts 6 "the outage"
    for it in "${rooms[@]}"; do kill -USR1 "${pid[$it-wire]}"; done
    for it in "${rooms[@]}"; do
        said relay "event=returned room=\"$it-way\".*name=\"$it-cleo\"" 30
        said relay "event=caught_up room=\"$it-way\".*name=\"$it-dora\"" 60 ||
            { show "$it-dora" relay; fail "$other/way-$it: the late machine does not catch up"; }
        note "$it's late machine: $(grep -a "event=caught_up.*$it-dora" "$tmp/relay.log" | grep -o 'frame=.*')"
        for who in ann ben cleo dora; do ends_well "$other/way-$it" "$it-$who" 120; done
        judge_way "$other/way-$it" "$it" "$all" "$planted" "$cut"
        stop "$it-wire"
    done
}

# judge_way WHAT IT ALL PLANTED CUT: of the room of the core IT, all equal but for the machine that was wrong, until it was healed.
judge_way() {
    local what=$1 it=$2 all=$3 planted=$4 cut=$5 who at by found
    for who in ben cleo dora; do
        at=$(parted "$tmp/$it-ann.hash" "$tmp/$it-$who.hash")
        if [ $who = cleo ] && [ -n "${unlike[$it]:-}" ]; then
            found=$(grep -ac "event=desync room=\"$it-way\"" "$tmp/relay.log")
            check "$what/one-desync" "the relay found $found, by the bytes that are compared" test "$found" = 1
            continue
        fi
        case $who in cleo) check "$what/parted-$who" "ann and cleo part until $at" test "$at" -ge $((planted - EVERY)) -a "$at" -lt "$cut" ;;
        *) check "$what/never-parted-$who" "ann and $who part until $at" test "$at" = 0 ;; esac
        check "$what/ends-$who" "ann $(last "$it-ann"), $who $(last "$it-$who")" test "$(last "$it-ann")" = "$(last "$it-$who")"
        note "$it: $(join "$tmp/$it-ann.hash" "$tmp/$it-$who.hash" | awk '$2 == $4 && $3 == $5 { n++ } END { print n "/" NR }') hashes of ann and $who are equal"
    done
    check "$what/healed" "cleo says healed=$(json "$it-cleo" healed)" test "$(json "$it-cleo" healed)" = 1
    if [ "${heals[$it]}" = heal_anew ]; then
        check "$what/given" "the wrong machine did not run the game from the beginning" \
            eval 'grep -aq "event=catch_up room=\"$it-way\".*name=\"$it-cleo\".* by=history from=0 " "$tmp/relay.log"'
    else
        check "$what/given" "the wrong machine did not load another's state" \
            eval 'grep -aq "event=loaded room=\"$it-way\".*name=\"$it-cleo\"" "$tmp/relay.log"'
    fi
    by=$(grep -a "event=catch_up .*name=\"$it-dora\"" "$tmp/relay.log" | tail -n 1 | grep -ao ' by=[a-z]*' | cut -d= -f2)
    check "$what/late-all" "dora came by ${by:-no way}, and her hashes begin with $(head -n 1 "$tmp/$it-dora.hash")" \
        eval '[ "$by" = snapshot ] || begins_with "$it-dora" "$it-ann"'
    check "$what/returned" "the relay says nothing of cleo's return" grep -aq "event=returned room=\"$it-way\".*name=\"$it-cleo\"" "$tmp/relay.log"
    check "$what/back" "cleo does not come back by itself" grep -aq 'connected again after=' "$tmp/$it-cleo.log"
    check "$what/moves" "the hashes do not change" hashes_move "$tmp/$it-cleo.hash" 5
}
