#!/usr/bin/env bash
# voice/no_device.sh - a machine without any sound device: its player hears the others through the game's own sound, and is told so. The
# game and its recording are those of a player without voice. A sound server that starts meanwhile gets the voices within seconds.
# runs: waiting, all, 30 s
# instead: `test_sound_game`
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$test_core" "$content/shooter.nes"
needs_library libopus.so.0 libpulse.so.0
. tests/e2e/lib_pulse.sh
needs_pulse no_device
start_relay
python3 $speech make "$tmp/ann-says.wav" 40 1
echo 'pcm.!default { type hw card 99 }' >"$tmp/alsa.conf"

plays_in() { # NAME ARGUMENT…
    local name=$1
    shift
    start "$name" env ALSA_CONFIG_PATH="$tmp/alsa.conf" "$keylock" run --relay "$relay" --core "$test_core" --content "$content/shooter.nes" \
        --room no-device --name "$name" --players 3 --frames 1200 --wait 60 --speed real --hash-out "$tmp/$name.hash" --record "$tmp/$name.rec" \
        --trace "$tmp/$name.csv" --wav "$tmp/$name.wav" "$@"
}
plays_in ann --voice on --voice-in "$tmp/ann-says.wav" --voice-out "$tmp/ann-hears.wav"
plays_in ben --voice on
plays_in cem
reaches ben 30
check no-device/told "ben's log does not say it" said ben 'no sound device: PulseAudio: .*; ALSA: ' 15
check no-device/plays "voices do not come with the game's sound" said ben 'voice plays since' 15
for words in "no sound device: voices come with the game's sound" 'nobody hears you: no microphone'; do
    check "no-device/${words%%:*}" "ben is not told" said ben "$words" 15
done
reaches ben 500
check no-device/no-microphone "$(grep -a 'voice listens' "$tmp/ben.log")" eval "! grep -aq 'voice listens' '$tmp/ben.log'"
before=$(now_ms)
start_pulse server
start ear parec -d out.monitor --rate=48000 --channels=1 --format=s16le --file-format=wav --latency-msec=20 "$tmp/ear.wav"
check no-device/listens "ben has no microphone" said ben 'voice listens since' 15
moved=$(($(now_ms) - before))
note "voice moved to the device after $moved ms"
in_time check no-device/moves "after $moved ms, and 7500 at most are expected" test "$moved" -le 7500
ends_well no-device ann 60
stop ear INT
ends_well no-device ben 20
ends_well no-device cem 20
equal no-device ann ben
equal no-device ben cem
# Of a recording all is compared but the one whose hashes they are.
whole() { PYTHONPATH=tests/conformance python3 -B -c 'import sys, recording
for _, kind, body in recording.blocks(open(sys.argv[1], "rb").read()):
    print(kind, (body[:4] + body[6:] if kind == recording.TYPES.index("HASH") else body).hex())' "$1"; }
for name in ann ben cem; do whole "$tmp/$name.rec" >"$tmp/$name.blocks"; done
check no-device/recording-whole "it has $(wc -l <"$tmp/cem.blocks") blocks" test "$(wc -l <"$tmp/cem.blocks")" -ge 20
for name in ann ben; do
    check no-device/recording-$name "$(diff "$tmp/$name.blocks" "$tmp/cem.blocks" | head -n 2)" cmp -s "$tmp/$name.blocks" "$tmp/cem.blocks"
done
# The game itself is never as loud.
from_game=$(loud "$tmp/ben.wav" 4000) from_device=$(loud "$tmp/ear.wav" 4000)
note "of ann's speech $from_game s came with the game's sound, and $from_device s from the device"
check no-device/heard-with-the-game "$from_game s of speech are in the game's sound, and at least 1 is expected" test "$from_game" -ge 1
check no-device/heard-from-the-device "$from_device s of speech came from the device, and at least 1 is expected" test "$from_device" -ge 1
check no-device/cem-has-none "$(loud "$tmp/cem.wav" 4000) s of speech are in the sound of a player without voice" test "$(loud "$tmp/cem.wav" 4000)" = 0
finish
