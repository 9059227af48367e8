#!/usr/bin/env bash
# voice/alsa.sh - a machine without a sound server: ALSA's default device is microphone and loudspeaker. It leads to null sinks here,
# by ALSA's plugin.
# runs: waiting, all, 20 s
# instead: `voice/pulse`, the same by a sound server
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$test_core" "$content/shooter.nes"
needs_library libopus.so.0 libasound.so.2
compgen -G '/usr/lib/*/alsa-lib/libasound_module_pcm_pulse.so' >/dev/null || { skip "alsa: libasound2-plugins is not installed"; finish; }
. tests/e2e/lib_pulse.sh
needs_pulse alsa
start_relay
python3 $speech make "$tmp/says.wav" 40 1
start_pulse server

# The players find no sound server.
cat >"$tmp/alsa.conf" <<END
pcm.!default { type plug slave.pcm { type pulse server "$PULSE_SERVER" } }
END
plays_in() { # NAME ARGUMENT…
    local name=$1
    shift
    start "$name" env PULSE_SERVER="unix:$tmp/none" ALSA_CONFIG_PATH="$tmp/alsa.conf" "$keylock" run --relay "$relay" --core "$test_core" \
        --content "$content/shooter.nes" --room alsa --name "$name" --frames 900 --wait 60 --speed real --voice on --hash-out "$tmp/$name.hash" \
        --trace "$tmp/$name.csv" "$@"
}
# A null sink is as quick as the quickest of its clients asks for, and ALSA's plugin asks for nothing.
start ear parec -d out.monitor --rate=48000 --channels=1 --format=s16le --file-format=wav --latency-msec=20 "$tmp/ear.wav"
start mouth pacat -p -d mic --rate=48000 --channels=1 --format=s16le --latency-msec=20 --raw "$tmp/says.wav"
plays_in ann --voice-in "$tmp/says.wav" --voice-out "$tmp/ann-hears.wav"
plays_in ben
check alsa/ben-plays "ben has no loudspeaker" said ben 'voice plays since' 15
check alsa/ben-listens "ben has no microphone" said ben 'voice listens since' 15
reaches ann 700
stop ear INT
both_equal alsa ann ben
check alsa/heard "of ann's speech $(loud "$tmp/ear.wav") s came out of ben's loudspeaker, and at least 2 are expected" test "$(loud "$tmp/ear.wav")" -ge 2
check alsa/ann-heard-ben "of the microphone $(loud "$tmp/ann-hears.wav") s came to ann, and at least 2 are expected" test "$(loud "$tmp/ann-hears.wav")" -ge 2
finish
