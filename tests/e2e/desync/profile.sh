#!/usr/bin/env bash
# desync/profile.sh - the profile of a core that keylock probe keeps, and its effect on a room as the host's profile: the mask of
# the state, loading at snapshots, hidden frames, frames between hashes; also a profile that does not fit, and a bad one.
# runs: waiting, all, 35 s
# instead: `desync/probe`, the measuring; `test_profile` and `test_room_mask`
. "$(dirname "$0")/../lib.sh"

game=$content/shooter.nes
needs "$keylock" "$relay_program" "$wrapper" "$test_core" "$game"
start_relay --per-address 64
export KEYLOCK_DESYNC=ignore

# profile NAME MOOD: of the test core in that mood, as probe writes it, in $tmp/NAME.json.
profile() {
    PROBE_CORE=no-clock,$2 "$keylock" probe --core "$test_core" --content "$game" --frames 240 --json "$tmp/$1.json" >"$tmp/$1.probe" 2>&1
    [ -s "$tmp/$1.json" ] || { show "$1"; die "profile/$1: no profile: $(tail -n 1 "$tmp/$1.probe")"; }
}

corrupt=() # on the second side
# room NAME MOOD PROFILE_A PROFILE_B [OPTION…]: two of the test core in that mood, each with its own KEYLOCK_PROFILE; their exit
# statuses in $status.
room() {
    local name=$1 mood=$2 a=$3 b=$4 status_a
    shift 4
    export PROBE_CORE=no-clock,$mood
    KEYLOCK_PROFILE=$a start "$name-a" "$keylock" run --relay "$relay" --name "$name-a" --core "$test_core" --content "$game" \
        --room "$name" --input random:1 --frames 600 --wait 20 --hash-out "$tmp/$name-a.hash" --record "$tmp/$name-a.rec" "$@"
    said relay "event=(room_made|made|opens|room).*room=\"$name\"|room=\"$name\"" 20
    KEYLOCK_PROFILE=$b start "$name-b" "$keylock" run --relay "$relay" --name "$name-b" --core "$test_core" --content "$game" \
        --room "$name" --input random:2 --frames 600 --wait 20 --hash-out "$tmp/$name-b.hash" --record "$tmp/$name-b.rec" "${corrupt[@]}" "$@"
    [ ! "${third:-}" ] || start "$name-c" "$keylock" run --relay "$relay" --name "$name-c" --core "$test_core" --content "$game" \
        --room "$name" --input random:3 --frames 600 --wait 20 --record "$tmp/$name-c.rec" "$@"
    unset PROBE_CORE
    ended "$name-a" 60
    status_a=$?
    ended "$name-b" 60
    status="$status_a $?"
    if [ "${third:-}" ]; then ended "$name-c" 60 && status="$status $?"; fi
}
deeds() { "$keylock" replay --text "$tmp/$1.rec" | grep '^do '; } # NAME
logged() { grep -aqE -- "$2" "$tmp/$1.log"; } # NAME REGEX

# A state with noise in 4 bytes, without RAM: the picture judges, and the states are noted; with probe's mask they are equal.
noise=no-ram,state-entropy
profile noise $noise
room raw $noise off off
check profile/without "exit status $status without a profile, $(json raw-b state_only) states noted" \
    eval '[ "$status" = "0 0" ] && [ "$(json raw-b state_only)" -gt 0 ]'
room masked $noise "$tmp/noise.json" off
check profile/mask "exit status $status, $(json masked-b state_only) states noted" test "$status $(json masked-b state_only)" = "0 0 0"
check profile/mask-of-the-host "the guest does not go by the host's mask: $(grep -a 'profile file' "$tmp/masked-b.log")" \
    logged masked-b 'profile file=the-room.s state_bytes=[0-9]+ mask_bytes=4 '
check profile/raw-files "the files hold no raw hashes" \
    test "$(cut -d ' ' -f 3 "$tmp/masked-a.hash" | sort -u | wc -l)" = "$(wc -l <"$tmp/masked-a.hash")" -a \
    "$(comm -12 <(cut -d ' ' -f 3 "$tmp/masked-a.hash" | sort) <(cut -d ' ' -f 3 "$tmp/masked-b.hash" | sort) | wc -l)" = 0
room guest $noise off "$tmp/noise.json"
check profile/guest-does-not-count "exit status $status, $(json guest-b state_only) states noted" \
    eval '[ "$status" = "0 0" ] && [ "$(json guest-b state_only)" -gt 0 ]'
# A mask hides only its own bytes: the room finds a planted desync.
corrupt=(--corrupt 217:100)
room planted $noise "$tmp/noise.json" off
check profile/planted "exit status $status, expected 3 3" test "$status" = "3 3"
check profile/planted-frame "$(json planted-a desync_frame)" test "$(json planted-a desync_frame)" = 239
corrupt=()

# Beside equal RAM: with a mask, differences outside it are noted; if nothing of the state is unstable, they count in full.
profile some state-entropy
room noted state-entropy-much "$tmp/some.json" off
check profile/states-noted "exit status $status, expected 0 0" test "$status" = "0 0"
check profile/states-counted "$(json noted-b state_only) verdicts, expected some" test "$(json noted-b state_only)" -gt 0
room within state-entropy "$tmp/some.json" off
check profile/nothing-to-note "$(json within-b state_only) verdicts, expected 0" test "$status $(json within-b state_only)" = "0 0 0"
profile equal plain
room full state-entropy "$tmp/equal.json" off
check profile/states-in-full "exit status $status, expected 3 3" test "$status" = "3 3"
check profile/states-in-full-what "$(grep -a 'room="full"' "$tmp/relay.log" | grep -a desync | head -n 1)" \
    grep -aq 'event=desync room="full".* what=state' "$tmp/relay.log"

# A profile in the folder in which rooms look: loading at snapshots, hidden frames, frames between hashes.
PROBE_CORE=no-clock,scar,hidden "$keylock" probe --core "$test_core" --content "$game" --frames 240 --keep >"$tmp/keep.log" 2>&1
kept=$(sed -n 's/^kept as //p' "$tmp/keep.log")
check profile/kept "$(tail -n 2 "$tmp/keep.log" | tr '\n' ' ')" test -s "$kept" -a "${kept#"$HOME"/.local/state/keylock/profiles/}" != "$kept"
sed -i 's/"hash_every":60/"hash_every":200/' "$kept"
KEYLOCK_DESYNC=heal
corrupt=(--corrupt 120:0x300)
third=yes
room usual scar,hidden "" off --speed real --frames 420 --players 3
third=
corrupt=()
check profile/all-load "exit status $status, healed $(json usual-b healed): $(deeds usual-b | tr '\n' ' ')" \
    test "$status $(json usual-b healed)" = "0 0 0 1" -a "$(for who in a b c; do deeds usual-$who | grep -cE '^do [0-9]+ snapshot load$'; done | grep -vcx 0)" = 3
check profile/usual-folder "$(grep -a 'profile file' "$tmp/usual-b.log")" logged usual-b 'profile file=the-room.s .* load_own=1 hide=0 '
check profile/hash-every "$(cut -d ' ' -f 1 "$tmp/usual-b.hash" | tr '\n' ' ')" \
    test "$(head -n 1 "$tmp/usual-b.hash" | cut -d ' ' -f 1)" -ge 199 -a "$(wc -l <"$tmp/usual-b.hash")" -le 3
room said scar,hidden "" off --hash-every 100
check profile/said-counts "$(cut -d ' ' -f 1 "$tmp/said-b.hash" | tr '\n' ' ')" \
    test "$(head -n 1 "$tmp/said-b.hash" | cut -d ' ' -f 1)" -lt 199

# A core whose state does not hold all of it: no snapshot is taken and no own state kept, so no machine loads a state that plays
# another game. Both run the game from the beginning.
profile lacking forget
corrupt=(--corrupt 120:0x300)
room lacking forget "$tmp/lacking.json" off --speed real --frames 300
corrupt=()
check profile/no-snapshots "exit status $status, healed $(json lacking-a healed): $(grep -a 'room="lacking"' "$tmp/relay.log" | tail -n 3)" \
    eval '[ "$status" = "0 0" ] && [ "$(grep -ac "event=loaded room=\"lacking\".*how=not" "$tmp/relay.log")" = 2 ] &&
        [ "$(grep -acE "runs? the game from the beginning" "$tmp/lacking-a.log")" -ge 1 ]'
check profile/no-snapshots-recorded "$(deeds lacking-a)" eval '! deeds lacking-a | grep -q snapshot'

# A profile for another content or size is named and ignored, on all machines alike.
sed 's/"xxh3":"[0-9a-f]*"/"xxh3":"00000000deadbeef"/g' "$tmp/noise.json" >"$tmp/content.json"
room content plain "$tmp/content.json" off
check profile/other-content "exit status $status: $(grep -a ignored "$tmp/content-a.log")" \
    logged content-a 'the profile .* is ignored: expected a profile of the content xxh3 [0-9a-f]{16}, found one of xxh3 00000000deadbeef$'
check profile/other-content-plays "exit status $status" test "$status" = "0 0"
room size large:4 "$tmp/noise.json" off
for who in a b; do
    check profile/other-size-$who "exit status $status: $(grep -a ignored "$tmp/size-$who.log")" \
        logged size-$who 'profile of this core is ignored for its hashes: it is of states of [0-9]+ bytes, this one has [0-9]+'
done
check profile/other-size-plays "exit status $status" test "$status" = "0 0"

# A bad file that was named is an error; in the usual folder it is said, and ignored.
bad() { # NAME SED_SCRIPT WORDS
    sed -E "$2" "$tmp/noise.json" >"$tmp/bad-$1.json"
    KEYLOCK_PROFILE=$tmp/bad-$1.json "$keylock" run --quiet --relay "$relay" --core "$test_core" --content "$game" --room "bad-$1" \
        --frames 60 --wait 10 >"$tmp/bad-$1.log" 2>&1
    local is=$?
    check "profile/bad-$1" "exit status $is: $(tail -n 2 "$tmp/bad-$1.log" | tr '\n' ' ')" \
        eval "[ $is != 0 ] && grep -aqF -- '$3' '$tmp/bad-$1.log'"
}
export PROBE_CORE=no-clock
bad json 's/.$//' 'expected a profile in JSON'
bad large 's/"mask":\[\[[0-9]+,/"mask":[[0,/' 'covers more than 1 % of the state'
bad past 's/"mask":\[\[[0-9]+,[0-9]+/"mask":[[4000000,4000001/' 'a range reaches past the state'
bad room 's/"room"/"rooms"/' '"room": expected object, got none'
unset PROBE_CORE
KEYLOCK_PROFILE=$tmp/nothing.json "$keylock" run --quiet --relay "$relay" --core "$test_core" --content "$game" --room none --frames 60 \
    --wait 10 >"$tmp/none.log" 2>&1
check profile/not-there "$(tail -n 1 "$tmp/none.log")" grep -aq 'KEYLOCK_PROFILE: .*nothing.json: there is no such file' "$tmp/none.log"
echo '{' >"$kept"
room spoilt plain "" off
check profile/spoilt "exit status $status: $(grep -a ignored "$tmp/spoilt-a.log")" \
    eval '[ "$status" = "0 0" ] && logged spoilt-a "a profile is ignored: .*expected a profile in JSON"'
finish
