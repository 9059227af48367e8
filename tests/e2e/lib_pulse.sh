# lib_pulse.sh - sourced after lib.sh: a PulseAudio server of the scenario's own, with null sinks.
# shellcheck shell=bash
speech=tests/e2e/voice/speech.py
export PULSE_SERVER=unix:$tmp/pulse.socket XDG_RUNTIME_DIR=$tmp PULSE_COOKIE=$tmp/cookie

needs_pulse() { # SCENARIO
    type pulseaudio pactl pacat parec >/dev/null 2>&1 || { skip "$1: pulseaudio and pulseaudio-utils are not installed"; finish; }
}

# start_pulse NAME: the default loudspeaker is heard at out.monitor; the default microphone hears the sink mic.
start_pulse() {
    rm -f "$tmp/pulse.socket" "$tmp/pulse/pid"
    start "$1" pulseaudio -n --daemonize=no --exit-idle-time=-1 -L "module-native-protocol-unix auth-anonymous=1 socket=$tmp/pulse.socket" \
        -L "module-null-sink sink_name=out rate=48000" -L "module-null-sink sink_name=mic rate=48000" \
        -L "module-remap-source source_name=mouth master=mic.monitor"
    eventually 10 pactl info >/dev/null 2>&1 || { show "$1"; die "pulse: the server does not start"; }
    pactl set-default-sink out
    pactl set-default-source mouth
}

loud() { python3 "$speech" loud "$@"; } # FILE [LEVEL]: seconds that are loud
