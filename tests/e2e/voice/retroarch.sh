#!/usr/bin/env bash
# voice/retroarch.sh - a real RetroArch with push to talk, at a PulseAudio server with null sinks: its player is heard while it
# holds the right Ctrl, or Select and Start, and hears; and it ends well although the server has stopped, in the middle of voice and on
# the way to it.
# runs: waiting, test, 50 s
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$content/shooter.nes"
for program in retroarch Xvfb xdotool pulseaudio parec; do
    command -v $program >/dev/null || { skip "voice: no $program"; finish; }
done
core_path nestopia >/dev/null || { skip "voice: no nestopia"; finish; }
. tests/e2e/lib_pulse.sh
python3 "$speech" make "$tmp/ben-says.wav" 30 2
python3 "$speech" make "$tmp/ann-says.wav" 30 1
start_pulse server
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
start ben "$keylock" run --relay "$relay" --core nestopia --content "$content/shooter.nes" --room talk --name ben --frames 1900 --wait 60 --trace "$tmp/ben.csv" \
    --speed real --voice on --voice-in "$tmp/ben-says.wav" --voice-out "$tmp/ben-hears.wav"
for line in 'voice plays since' 'voice listens since'; do
    check "retroarch/ann-$(cut -d ' ' -f 2 <<<"$line")" "ann's log does not say it" said ann "$line" 30
done
heard() { loud "$tmp/ben-hears.wav"; } # seconds of ann's speech
reaches ben 500
check retroarch/silent-until-the-keys "$(heard) s came to ben, and no key was held" test "$(heard)" = 0
check retroarch/keys-told "ann is not told" said ann 'you are heard while you hold Select.Start or rctrl' 5
hold "$(window_of ann)" 6 Control_R
by_key=$(heard)
check retroarch/heard-by-key "of ann's speech $by_key s came to ben by the key, and at least 1 is expected" test "$by_key" -ge 1
chord "$(window_of ann)" Shift_R Return 8
held=$(heard)
check retroarch/heard-by-pad "of ann's speech $by_key s came to ben by the key, $held by that and the pad, and 2 more are expected" test "$held" -ge $((by_key + 2))
ends_well retroarch ben 60
check retroarch/silent-without-the-keys "of ann's speech $(heard) s came to ben, and $held with the keys" test "$(heard)" -le $((held + 1))

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
