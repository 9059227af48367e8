# lib_pulse.sh - sourced after lib.sh: a PulseAudio server of the scenario's own, with null sinks.
# shellcheck shell=bash
speech=tests/e2e/voice/speech.py
export PULSE_SERVER=unix:$tmp/pulse.socket XDG_RUNTIME_DIR=$tmp PULSE_COOKIE=$tmp/cookie

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

# loud FILE: seconds that are loud.
loud() {
    python3 - "$1" <<'END'
import array, sys
data = open(sys.argv[1], "rb").read()[44:]
s = array.array("h", data[:len(data) // 2 * 2])
print(sum(max(map(abs, s[i:i + 480])) > 1500 for i in range(0, len(s) - 480, 480)) // 100)
END
}
