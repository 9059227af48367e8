#!/usr/bin/env bash
# windows/voice.sh - a player of Windows, under Wine, and one of Linux hear each other: with files in place of devices, and with WASAPI,
# which leads to null sinks of PulseAudio here.
# instead: nothing
# runs: emulated, all, 50 s
# limit: 2400
. "$(dirname "$0")/../lib.sh"
. tests/e2e/lib_wine.sh

needs "$keylock" "$relay_program" "$wrapper" "$test_core" "$content/shooter.nes"
needs_library libopus.so.0
command -v pulseaudio parec >/dev/null || { skip "windows-voice: pulseaudio and pulseaudio-utils are not installed"; finish; }
. tests/e2e/lib_pulse.sh
windows_builds keylock.exe keylock_libretro.dll cores/probe_core_libretro.dll
wine_command keylock-windows "$windows/keylock.exe"
export PROBE_CORE=no-clock,rand-low # a core whose use of rand() is known plays on both systems
start_relay
for seed in 1 2; do python3 $speech make "$tmp/says-$seed.wav" 40 $seed; done
start_pulse server
start ear parec -d out.monitor --rate=48000 --channels=1 --format=s16le --file-format=wav --latency-msec=20 "$tmp/ear.wav"
start mouth pacat -p -d mic --rate=48000 --channels=1 --format=s16le --latency-msec=20 --raw "$tmp/says-2.wav"

plays_in() { # SYSTEM NAME ROOM ARGUMENT…
    local program=$keylock core=$test_core name=$2 room=$3
    [ "$1" = here ] || program=$tmp/bin/keylock-windows core=$windows/cores/probe_core_libretro.dll
    shift 3
    start "$name" "$program" run --relay "$relay" --core "$core" --content "$content/shooter.nes" --room "$room" --name "$name" \
        --frames 900 --wait 60 --speed real --voice on --hash-out "$tmp/$name.hash" --trace "$tmp/$name.csv" "$@"
}
heard() { # NAME BY FILE
    check "windows-voice/$1" "$(loud "$3") s of speech came to $2, and at least 3 are expected" test "$(loud "$3")" -ge 3
}
plays_in here ann files --voice-in "$tmp/says-1.wav" --voice-out "$tmp/ann-hears.wav"
plays_in windows ben files --voice-in "$tmp/says-2.wav" --voice-out "$tmp/ben-hears.wav"
ends_well windows-voice ann 90
ends_well windows-voice ben 30
equal windows-voice ann ben
heard windows-to-linux ann "$tmp/ann-hears.wav"
heard linux-to-windows ben "$tmp/ben-hears.wav"
check windows-voice/cleaned "$(grep -a 'echo and noise stay' "$tmp/ben.log")" eval "! grep -aq 'echo and noise stay' '$tmp/ben.log'"

stop ear INT
start ear parec -d out.monitor --rate=48000 --channels=1 --format=s16le --file-format=wav --latency-msec=20 "$tmp/ear.wav"
plays_in here cem devices --voice-in "$tmp/says-1.wav" --voice-out "$tmp/cem-hears.wav"
plays_in windows dan devices
ends_well windows-voice cem 90
ends_well windows-voice dan 30
stop ear INT
check windows-voice/listens "dan has no microphone" grep -aq 'voice listens since' "$tmp/dan.log"
heard wasapi-to-linux cem "$tmp/cem-hears.wav"
heard linux-to-wasapi dan "$tmp/ear.wav"
finish
