#!/usr/bin/env bash
# fbneo.sh CORE ZIP SYSTEM - the tests of arcade/match.sh and arcade/missing.sh with a real arcade core and a set of the
# caller's: `make test-fbneo`. The tools load the zip alone; a set that lacks a member opens no room; sets that differ in nothing that
# the core reads play together (arcade/members.sh); two players play for an hour in a room at full speed, and a third comes
# at minute ten. SYSTEM is a system folder as the core wants it; it is copied.
#   MINUTES=60  of the match, by the core's own clock
#   JOIN=10     the minute at which the third comes
#   LOADS=7     matches with a join, a return and a heal by snapshot, each of 40 s
. "$(dirname "$0")/lib.sh"

core=$(realpath "${1:?expected a core}") zip=$(realpath "${2:?expected a zip}") system=$(realpath "${3:?expected a system folder}")
MINUTES=${MINUTES:-60}
JOIN=${JOIN:-10}
LOADS=${LOADS:-7}
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

# --- joins, returns and heals by snapshot: late/joins.sh -----------------------------------------------------------

for n in $(seq "$LOADS"); do
    GAMES=own CORE=$core CONTENT=$zip SYSTEM=$tmp/system tests/e2e/late/joins.sh || fail "fbneo/loads-$n: exit status $?"
done
finish
