#!/usr/bin/env bash
# fbneo.sh CORE ZIP SYSTEM - the tests of arcade/match.sh and arcade/missing.sh with a real arcade core and a set of the
# caller's: `make test-fbneo`. The tools load the zip alone; a set that lacks a member opens no room; sets that differ in nothing that
# the core reads play together (arcade/members.sh); two players play for an hour in a room at full speed, and a third comes
# at minute ten. SYSTEM is a system folder as the core wants it; it is copied.
#   MINUTES=60  of the match, by the core's own clock
#   JOIN=10     the minute at which the third comes
#   LOADS=20    joins, returns and heals by snapshot in a second match, which lasts some 8 s for each
. "$(dirname "$0")/lib.sh"

core=$(realpath "${1:?expected a core}") zip=$(realpath "${2:?expected a zip}") system=$(realpath "${3:?expected a system folder}")
MINUTES=${MINUTES:-60}
JOIN=${JOIN:-10}
LOADS=${LOADS:-20}
FRAMES=$((MINUTES * 3600))
needs "$keylock" "$relay_program" "$wrapper" "$core" "$zip" "$system"
cp -r "$system" "$tmp/system"

tool() { core_tool fbneo "$@"; } # NAME STATUS COMMAND ARGUMENT…

# ram_equal NAME NAME: RAM is equal at every frame that both hashed, and there are such.
ram_equal() {
    awk 'NR == FNR { ram[$1] = $2; next } $1 in ram { n++; if (ram[$1] != $2) bad = bad ? bad : $1 }
        END { print n + 0, "shared frames" (bad ? ", RAM parts by " bad : ""); exit bad || !n }' "$tmp/$1.hash" "$tmp/$2.hash"
}
same_ram() { # NAME NAME
    local status
    ram_equal "$1" "$2" >"$tmp/ram.log"
    status=$?
    check "fbneo/ram-$1-$2" "$(cat "$tmp/ram.log")" test $status = 0
    note "$1 and $2: $(cat "$tmp/ram.log")"
}
start_relay --per-address 64 --catch-up 1 # whoever comes late comes by a snapshot

# --- the tools --------------------------------------------------------------------------------------------------

for try in first second; do
    tool "run-$try" 0 run --content "$zip" --frames 3600 --input random:7 --hash-every 60 --hash-out "$tmp/$try.hash" --states "$tmp/$try"
done
check fbneo/run-equal "$("$keylock" diff "$tmp/first.hash" "$tmp/second.hash" 2>&1 | head -n 1)" cmp -s "$tmp/first.hash" "$tmp/second.hash"
check fbneo/run-moves "the hashes stand still" hashes_move "$tmp/first.hash"
tool probe 0 probe --content "$zip" --frames 600
note "$(grep -aE '^snapshot' "$tmp/probe.log"); $(grep -a '^in rooms' "$tmp/probe.log")"
tool bisect 0 bisect --content "$zip" --input random:7 --frames 600 --a "" --b ""
"$keylock" run --quiet --core "$core" --system "$tmp/system" --content "$zip" --frames 600 --input random:7 --hash-every 60 \
    --states "$tmp/planted" --corrupt 599:0x300 >"$tmp/planted.log" 2>&1
tool blame 1 blame "$tmp/first/000000599.state" "$tmp/planted/000000599.state" --content "$zip"

# --- a set that lacks its largest member, as a clone whose parent is missing --------------------------------------

mkdir -p "$tmp/lacking"
cp -r "$system" "$tmp/lacking-system"
find "$tmp/lacking-system" -name "$(basename "$zip")" -delete
member=$(python3 - "$zip" "$tmp/lacking/$(basename "$zip")" <<'END'
import sys, zipfile
whole = zipfile.ZipFile(sys.argv[1])
largest = max(whole.infolist(), key=lambda i: i.file_size)
with zipfile.ZipFile(sys.argv[2], "w") as out:
    for i in whole.infolist():
        if i is not largest: out.writestr(i, whole.read(i))
print(largest.filename)
END
)
for what in alone room; do
    in_room=()
    [ $what = alone ] || in_room=(--relay "$relay" --room lacking --wait 5)
    timeout 60 "$keylock" run --core "$core" --system "$tmp/lacking-system" --content "$tmp/lacking/$(basename "$zip")" --frames 60 \
        "${in_room[@]}" >"$tmp/lacking-$what.log" 2>&1
    status=$?
    line=$(grep -a '^keylock run:' "$tmp/lacking-$what.log" | tail -n 1)
    check "fbneo/lacking-$what" "exit status $status: $line" eval '[ $status = 5 ] && [[ $line == *"did not load"*:* ]]'
    note "without $member: ${line:0:200}"
done
check fbneo/lacking-no-room "somebody is in a room" eval '! grep -aq "event=joined room=\"lacking\"" "$tmp/relay.log"'

# --- sets that differ --------------------------------------------------------------------------------------------

pack=$(dirname "$0")/../content/arcade/sets.py
stem=$(basename "$zip" .zip)
# differ CASE: the folders of two players, with the caller's set where other() has made none. If the system folder has the set
# too, it has the player's, as the core may read that one.
differ() {
    local case=$1 who at
    for who in ada ben; do
        mkdir -p "$tmp/$case-$who/games" "$tmp/$case-$who/system/fbneo/cheats" "$tmp/$case-$who/system/fbneo/blend"
        cp -r "$system/." "$tmp/$case-$who/system"
        rm -f "$tmp/$case-$who/system/fbneo/hiscore.dat"
        [ "$(ls -A "$tmp/$case-$who/games")" ] || cp "$zip" "$tmp/$case-$who/games"
        find "$tmp/$case-$who/system" -name "$stem.zip" | while read -r at; do
            rm "$at"
            cp "$tmp/$case-$who/games/$stem".* "$(dirname "$at")"
        done
    done
}
meet() { # CASE ARGUMENT…
    local case=$1 who
    shift
    for who in ada ben; do
        run_in_room "$case-$who" --core "$core" --content "$(find "$tmp/$case-$who/games" -name "$stem.*" | head -n 1)" --system "$tmp/$case-$who/system" \
            --room "$case" --frames 600 --input "random:$([ $who = ada ] && echo 101 || echo 202)" --hash-every 60 --wait 30 "$@"
        [ $who = ben ] || said relay "event=joined room=\"$case\"" 20 || { show "$case-ada" relay; die "fbneo: ada does not join $case"; }
    done
}
other() { # CASE WHO FILE WORD…: that player's set, packed from the caller's
    local folder=$tmp/$1-$2/games file=$3
    shift 3
    mkdir -p "$folder"
    python3 "$pack" "$folder/$file" "$zip" "$@" || die "fbneo: sets.py $file $*"
}
other readme ben "$stem.zip" readme.txt=hello
other stored ben "$stem.zip" -store
other 7z ben "$stem.7z" -lzma1
other two-7z ada "$stem.7z" -store
other two-7z ben "$stem.7z" -lzma2
for case in readme stored 7z two-7z small small-closed; do differ $case; done
# The host's small files, of the form that FBNeo takes (it crashes of a cheat file that is none), and another's high scores.
for case in small small-closed; do
    for who in ada ben; do
        printf '%s:\n0:ff8000:%d:00:00\n' "$stem" $([ $who = ada ] && echo 10 || echo 20) >"$tmp/$case-$who/system/fbneo/hiscore.dat"
    done
    printf 'cheat "Lives"\ndefault 0\n0 "Off"\n1 "On", 0, 0xFF0500, 0x03\n' >"$tmp/$case-ada/system/fbneo/cheats/$stem.ini"
    echo '0010-0020 1' >"$tmp/$case-ada/system/fbneo/blend/$stem.bld"
done
for case in readme stored 7z two-7z small; do meet $case; done
meet small-closed --unlisted
for case in readme stored 7z two-7z small small-closed; do
    for who in ada ben; do ends_well fbneo "$case-$who" 60; done
    same_ram "$case-ada" "$case-ben"
done
# Other bytes with the checksum that the core looks for.
other byte ben "$stem.zip" "^$member"
differ byte
meet byte
ended byte-ben 60
status=$?
line=$(grep -a 'differs' "$tmp/byte-ben.log" | head -n 1)
check fbneo/byte-refused "exit status $status: $line" eval '[ $status = 4 ] && [[ $line == *differs:\ room\ has\ crc* ]]'
note "${line:0:200}"
stop byte-ada

# --- a match, and a join ----------------------------------------------------------------------------------------

player() { # NAME SEED ARGUMENT…
    local name=$1 seed=$2
    shift 2
    run_in_room "$name" --core "$core" --content "$zip" --system "$tmp/system" --room hour --frames $FRAMES --input "random:$seed" \
        --wait 60 "$@"
}
player ada 101 --hash-every 60
next_second
player ben 202
reaches ada $((JOIN * 3600)) $((JOIN * 60)) || { show ada ben relay; die "fbneo: ada does not come to minute $JOIN"; }
player cem 303 --seats 0
ends_well fbneo ada $((MINUTES * 60))
ends_well fbneo ben 60
ends_well fbneo cem 60
check fbneo/minutes "$(json ada frames) of $FRAMES" test "$(json ada frames)" = $FRAMES
same_ram ada ben
same_ram ada cem
check fbneo/join-late "cem has no frame of the hour" test "$(wc -l <"$tmp/cem.hash")" -gt $((MINUTES - JOIN))
note "$(json ada fps) frames a second; $(json ada state_only) unequal states noted"
desyncs=$(grep -a 'event=desync' "$tmp/relay.log")
check fbneo/hour-no-desync "$desyncs" test -z "$desyncs"

# --- joins, returns and heals by snapshot --------------------------------------------------------------------------

# Every third newcomer has a byte of RAM planted; these are the only desyncs.
planted=0 early=0
in_room() { # NAME SEED ARGUMENT…
    local name=$1 seed=$2
    shift 2
    run_in_room "$name" --core "$core" --content "$zip" --system "$tmp/system" --room loads --frames $(((90 + LOADS * 60) * 60)) \
        --speed real --policy bounded --input "random:$seed" --hash-every 60 --wait 60 "$@"
}
# events EVENT [NAME]: how many of that name the relay has logged
events() { grep -ac "event=$1 room=\"loads\"${2:+.*name=\"$2\"}" "$tmp/relay.log"; }
more() { [ "$(events "$1" "${3:-}")" -gt "$2" ]; } # EVENT COUNT [NAME]
# The frame of the last one, 0 for none.
frame_at() { # EVENT NAME
    grep -a "event=$1 room=\"loads\".*name=\"$2\"" "$tmp/relay.log" | grep -aoE ' frame=[0-9]+' | tail -n 1 | grep -oE '[0-9]+' || echo 0
}
there() { # EVENT NAME WAYS: it comes, by a way that is none of so many before
    local by
    eventually 30 more catch_up "$3" "$2" && eventually 30 more "$1" 0 "$2" || { show "$2" relay; die "fbneo: $2 does not come"; }
    by=$(grep -a "event=catch_up room=\"loads\".*name=\"$2\"" "$tmp/relay.log" | tail -n 1)
    check "fbneo/$2-by" "$by" eval "[[ \$by == *by=snapshot* ]]"
}
# heals NAME PLANTED HEALED: the byte that it plants before that frame is healed. It counts only if the newcomer has been equal
# before: one that never was has a state that is incomplete, for the relay, and replays the game. A machine that others use
# may come that late. Healings may cost a sixteenth of all time; the next one waits until this one's time is paid.
heals() {
    local ms
    if eventually 30 is_at "$1" "$2" && [ "$(frame_at checked "$1")" -gt 0 ] && [ "$(frame_at checked "$1")" -lt "$2" ]; then
        planted=$((planted + 1))
        eventually 30 more healed "$3"
        check "fbneo/$1-healed" "$(grep -a 'room="loads"' "$tmp/relay.log" | tail -n 3)" more healed "$3"
    else
        early=$((early + 1))
        note "$1 came to the room too late for its planted byte: not judged"
    fi
    ms=$(grep -a 'event=healed room="loads"' "$tmp/relay.log" | grep -oE ' ms=[0-9]+' | tail -n 1 | grep -oE '[0-9]+')
    plays eve $((${ms:-0} * 16 * 60 / 1000 + 120)) 120
}
in_room eve 501
said relay 'joined room="loads"' 10
last=fay
in_room fay 502 --seat-time 60
reaches eve 600 30 || { show eve relay; die "fbneo: eve does not come to second 10"; }
for n in $(seq "$LOADS"); do
    seed=$((502 + n))
    ways=0
    case $((n % 3)) in
    0) # comes back
        returns=$(events returned)
        ways=$(events catch_up $last)
        stop $last KILL
        in_room $last $seed
        eventually 30 more returned "$returns"
        there returned $last "$ways"
        plays eve 180 ;;
    1) # joins
        stop $last
        last=gus$n
        in_room $last $seed
        there caught_up $last 0
        plays eve 180 ;;
    2) # joins, and is healed
        stop $last
        last=hal$n
        at=$(($(frame_of eve) + 600))
        before=$(events healed)
        in_room $last $seed --corrupt "$at:${OFFSET:-0x300}"
        there caught_up $last 0
        heals $last $at "$before" ;;
    esac
done
stop $last
stop eve
desyncs=$(grep -a 'event=desync room="loads"' "$tmp/relay.log")
found=$(grep -c 'what=ram' <<<"$desyncs")
check fbneo/loads-true "$found of $planted found" test "$found" -ge $planted -a "$found" -le $((planted + early))
check fbneo/loads-false "$desyncs" test "$(grep -c . <<<"$desyncs")" = "$found"
asked=$(grep -aE 'event=(pauses|asks_to_play_on) room="loads"' "$tmp/relay.log")
check fbneo/loads-goes-on "$asked" test -z "$asked"
note "$LOADS joins, returns and heals: $planted planted desyncs, $found found; $(json eve state_only) unequal states noted"
finish
