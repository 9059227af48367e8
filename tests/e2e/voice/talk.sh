#!/usr/bin/env bash
# voice/talk.sh - two players with voice on hear each other through the relay, soon and whole; one who has it off neither hears nor
# is heard. The game is the same as without voice, frame by frame.
# runs: waiting, test, 30 s
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$test_core" "$content/shooter.nes"
needs_library libopus.so.0
start_relay
speech=tests/e2e/voice/speech.py
python3 $speech make "$tmp/ann-says.wav" 25 1
python3 $speech make "$tmp/ben-says.wav" 25 2

plays_in() { # NAME ROOM ARGUMENT…
    local name=$1 room=$2
    shift 2
    start "$name" "$keylock" run --relay "$relay" --core "$test_core" --content "$content/shooter.nes" --room "$room" --name "$name" \
        --players 3 --frames 900 --wait 60 --speed real --hash-out "$tmp/$name.hash" --trace "$tmp/$name.csv" "$@"
}
for name in ann ben; do
    plays_in $name talk --voice on --voice-in "$tmp/$name-says.wav" --voice-out "$tmp/$name-hears.wav"
done
plays_in cem talk
ends_well talk ann 60
ends_well talk ben 20
ends_well talk cem 20
equal talk ann ben
equal talk ann cem

since() { sed -n "s/.*voice $2 since_us=\([0-9]*\).*/\1/p" "$tmp/$1.log" | head -n 1; } # NAME plays|listens
hears() { # NAME SPEAKER
    local said words heard median_ms p95_ms
    said=$(python3 $speech judge "$tmp/$2-says.wav" "$(since "$2" listens)" "$tmp/$1-hears.wav" "$(since "$1" plays)" 2>&1)
    note "$1 hears $2: $said"
    eval "$(grep -oE '(words|heard|median_ms|p95_ms)=[0-9]+' <<<"$said")"
    check "talk/$1-hears-$2" "of ${words:-no} words ${heard:-none} came" test "${words:-0}" -ge 6 -a "${heard:-0}" = "${words:-1}"
    in_time check "talk/$1-hears-$2-soon" "median ${median_ms:-?} ms, p95 ${p95_ms:-?} ms, and at most 110 and 180 are expected" \
        test "${median_ms:-999}" -le 110 -a "${p95_ms:-999}" -le 180
}
hears ann ben
hears ben ann
check talk/off-is-off "cem's log speaks of voice" eval "! grep -aqi voice '$tmp/cem.log'"

# Somebody alone with voice on is told that nobody hears.
plays_in dan alone --players 1 --frames 240 --command "60:voice on" --command "90:mute dan" --voice-in "$tmp/ann-says.wav"
ends_well alone dan 30
check alone/told "dan is not told that nobody hears" grep -aq 'nobody hears you: nobody else has voice on' "$tmp/dan.log"
check alone/muted "the command mute is not taken" grep -aq 'mute dan: dan .* is muted' "$tmp/dan.log"
check alone/closed "the microphone was open" eval "! grep -aq 'voice listens since' '$tmp/dan.log'"
finish
