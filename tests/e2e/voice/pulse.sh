#!/usr/bin/env bash
# voice/pulse.sh - the devices of a PulseAudio server, with null sinks: two players hear each other; a server that stops, or is killed,
# costs the game nothing, and voice is back with the server. A game that is left meanwhile ends at once.
# runs: waiting, test, 60 s
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$test_core" "$content/shooter.nes"
needs_library libopus.so.0 libpulse.so.0
. tests/e2e/lib_pulse.sh
needs_pulse pulse
start_relay
python3 $speech make "$tmp/ann-says.wav" 40 1

plays_in() { # NAME ARGUMENT…
    local name=$1
    shift
    start "$name" "$keylock" run --relay "$relay" --core "$test_core" --content "$content/shooter.nes" --room pulse --name "$name" \
        --frames 3300 --wait 60 --speed real --voice on --hash-out "$tmp/$name.hash" --trace "$tmp/$name.csv" "$@"
}
start_pulse server
plays_in ann --voice-in "$tmp/ann-says.wav" --voice-out "$tmp/ann-hears.wav"
plays_in ben
reaches ann 60
start ear parec -d out.monitor --rate=48000 --channels=1 --format=s16le --file-format=wav --latency-msec=20 "$tmp/ear.wav"
start mouth pacat -p -d mic --rate=48000 --channels=1 --format=s16le --raw "$tmp/ann-says.wav"
check pulse/ben-plays "ben has no loudspeaker" said ben 'voice plays since' 15
check pulse/ben-listens "ben has no microphone" said ben 'voice listens since' 15
reaches ann 700
stop ear INT
check pulse/heard "of ann's speech $(loud "$tmp/ear.wav") s came out of ben's loudspeaker, and at least 2 are expected" test "$(loud "$tmp/ear.wav")" -ge 2

# fps NAME FRAMES: the rate in which so many frames pass now, by its trace, times ten.
fps() {
    local from
    from=$(frame_of "$1")
    plays "$1" "$2" || return 1
    awk -F , -v a="$from" -v b=$((from + $2)) '$3 !~ /^[0-9]+$/ || $3 < a { next } !t { t = $1; n = $3 }
        $3 >= b { printf "%d", 10e6 * ($3 - n) / ($1 - t); exit }' "$tmp/$1.csv"
}
at_full_rate() { # WHAT
    local rate
    rate=$(fps ben 240)
    rate=${rate:-0}
    note "$1: $((rate / 10)).$((rate % 10)) frames a second"
    in_time check "pulse/$1" "$((rate / 10)).$((rate % 10)) frames a second, and at least 58 are expected" test "$rate" -ge 580
}
"$keylock" doctor --voice >"$tmp/doctor.log" 2>&1
check pulse/doctor "$(grep -aE 'microphone|loudspeaker|voice' "$tmp/doctor.log")" \
    test "$(grep -acE '^ok +(microphone|loudspeaker)' "$tmp/doctor.log")" = 2
at_full_rate before
pactl suspend-source mouth 1
check pulse/microphone-is-silent "ben is not told of a suspended microphone" said ben 'nobody hears you: the microphone gives no sound' 10
pactl suspend-source mouth 0
check pulse/microphone-is-back "ben is not told of the microphone that is back" eventually 10 eval "[ \$(grep -ac 'your microphone is on' '$tmp/ben.log') -ge 2 ]"
kill -STOP "${pid[server]}"
at_full_rate while-stopped
kill -CONT "${pid[server]}"
stop mouth KILL
stop server KILL
check pulse/gone-told "ben is not told that the devices are gone" said ben 'no sound device: PulseAudio' 5
at_full_rate without-server
start_pulse again
check pulse/back "voice is not back" eventually 10 eval "[ \$(grep -ac 'voice plays since' '$tmp/ben.log') -ge 2 ]"
kill -STOP "${pid[again]}"
ends_well pulse ann 60
ends_well pulse ben 20
kill -CONT "${pid[again]}"
equal pulse ann ben
check pulse/ann-heard-ben "of the microphone $(loud "$tmp/ann-hears.wav") s came to ann, and at least 2 are expected" test "$(loud "$tmp/ann-hears.wav")" -ge 2
finish
