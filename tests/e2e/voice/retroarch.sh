#!/usr/bin/env bash
# voice/retroarch.sh - a real RetroArch with push to talk, at a PulseAudio server with null sinks: its player is heard while it
# holds Select and Start, and hears; and it ends well although the server has stopped, in the middle of voice and on the way to it.
# runs: waiting, test, 40 s
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$content/shooter.nes"
for program in retroarch Xvfb xdotool pulseaudio parec; do
    command -v $program >/dev/null || { skip "voice: no $program"; finish; }
done
core_path nestopia >/dev/null || { skip "voice: no nestopia"; finish; }
speech=tests/e2e/voice/speech.py
python3 $speech make "$tmp/ben-says.wav" 30 2
python3 $speech make "$tmp/ann-says.wav" 30 1

export PULSE_SERVER=unix:$tmp/pulse.socket XDG_RUNTIME_DIR=$tmp PULSE_COOKIE=$tmp/cookie
start server pulseaudio -n --daemonize=no --exit-idle-time=-1 -L "module-native-protocol-unix auth-anonymous=1 socket=$tmp/pulse.socket" \
    -L "module-null-sink sink_name=out rate=48000" -L "module-null-sink sink_name=mic rate=48000" \
    -L "module-remap-source source_name=mouth master=mic.monitor"
eventually 10 pactl info >/dev/null 2>&1 || { show server; die "voice: the server does not start"; }
pactl set-default-sink out
pactl set-default-source mouth
start mouth pacat -p -d mic --rate=48000 --channels=1 --format=s16le --raw "$tmp/ann-says.wav"

retroarch_home ann "${no_sound[@]}"
start_xvfb 640x480
start_relay
ann() { # NAME ROOM VOICE
    home_of ann
    start "$1" env "${home[@]}" PULSE_SERVER="$PULSE_SERVER" XDG_RUNTIME_DIR="$tmp" KEYLOCK_NAME=ann KEYLOCK_CORE="$(core_path nestopia)" \
        KEYLOCK_RELAY="$relay" KEYLOCK_ROOM="$2" KEYLOCK_VOICE="$3" retroarch -v -L "$wrapper" "$content/shooter.nes"
}
ann ann talk push
start ben "$keylock" run --relay "$relay" --core nestopia --content "$content/shooter.nes" --room talk --name ben --frames 1500 --wait 60 --trace "$tmp/ben.csv" \
    --speed real --voice on --voice-in "$tmp/ben-says.wav" --voice-out "$tmp/ben-hears.wav"
for line in 'voice plays since' 'voice listens since'; do
    check "retroarch/ann-$(cut -d ' ' -f 2 <<<"$line")" "ann's log does not say it" said ann "$line" 30
done
loud() { # seconds of what ben hears
    python3 - "$tmp/ben-hears.wav" <<'END'
import array, sys
data = open(sys.argv[1], "rb").read()[44:]
s = array.array("h", data[:len(data) // 2 * 2])
print(sum(max(map(abs, s[i:i + 480])) > 1500 for i in range(0, len(s) - 480, 480)) // 100)
END
}
reaches ben 500
check retroarch/silent-until-the-keys "$(loud) s came to ben, and no key was held" test "$(loud)" = 0
chord "$(window_of ann)" Shift_R Return 8
held=$(loud)
check retroarch/ann-is-heard "of ann's speech $held s came to ben, and at least 2 are expected" test "$held" -ge 2
ends_well retroarch ben 60
check retroarch/silent-without-the-keys "of ann's speech $(loud) s came to ben, and $held with the keys" test "$(loud)" -le $((held + 1))

# A server that has stopped.
kill -STOP "${pid[server]}"
ends_soon() { # WHAT NAME
    local from status
    from=$(now_ms)
    stop "$2"
    status=$?
    check "retroarch/$1" "it ended after $(($(now_ms) - from)) ms with $status" test $status = 0 -a $(($(now_ms) - from)) -lt 8000
}
ends_soon ends-with-a-stopped-server ann
ann again alone on
said relay 'event=joined room="alone"' 30 || { show again; die "voice: ann does not come again"; }
lasts 1 "the way to the stopped server"
ends_soon ends-on-the-way-to-a-server again
kill -CONT "${pid[server]}"
finish
