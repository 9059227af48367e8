#!/usr/bin/env bash
# retroarch/sound.sh - the sound of sessions over bad links against that of one without faults: two pure tones, as WAV files.
#   SECONDS_OF_PLAY=120  instead of 20
# instead: `test_audio`, in virtual time; `lock/link`, the pace over the same link
# runs: waiting, all, 95 s
. "$(dirname "$0")/../lib.sh"

PLAY=${SECONDS_OF_PLAY:-20}
tone=$build/cores/tone_core_libretro.so
needs "$keylock" "$relay_program" "$wrapper" "$proxy" "$tone"
start_relay

# tone_pair ROOM FRAMES SPEED OPTION…: two players behind $link, with $tmp/ROOM-{a,b}.wav.
tone_pair() {
    local room=$1 frames=$2 speed=$3 who relay=$link
    shift 3
    for who in a b; do
        run_in_room "$room-$who" --core "$tone" --room "$room" --frames "$frames" --speed "$speed" \
            --input "random:$(printf %d "'$who")" --hash-every 60 --wait 30 --wav "$tmp/$room-$who.wav" --ahead off "$@"
        [ $who = b ] || said relay "event=joined room=\"$room\"" 10
    done
}

judge() { # NAME WAV OPTION…
    local name=$1 wav=$2
    shift 2
    case " $* " in
    *" --exact "*) ;;
    *) local timed=in_time ;;
    esac
    ${timed:-} python3 tests/e2e/judge_wav.py "$name" "$wav" --clean "$tmp/clean.wav" "$@" || [ -n "${timed:-}" ] || checks_failed=1
}

"$keylock" run --quiet --core "$tone" --frames 900 --wav "$tmp/clean.wav" >"$tmp/clean.log" 2>&1 ||
    die "sound/clean: the test core does not run"
link=$relay

# As fast as it goes: all of it, untouched.
tone_pair max 900 max
both_equal sound "max-a" "max-b" 60 && judge sound/exact-at-nominal-pace "$tmp/max-a.wav" --exact

# An ordinary link, then one that is gone for 0.5 s.
through fair --delay 25 --jitter 5 --loss 1
tone_pair fair $((PLAY * 60)) real
watch watch fair-a fair-b relay fair
reaches fair-a $((PLAY * 30)) $PLAY
kill -USR1 "${pid[fair]}"
lasts 0.5 "the outage"
kill -USR1 "${pid[fair]}"
if both_equal sound "fair-a" "fair-b" $((PLAY + 60)); then
    for who in a b; do
        judge "sound/bad-link-$who" "$tmp/fair-$who.wav" --after 1 --trace "$tmp/fair-$who.csv"
    done
fi
stop fair

# At once: a display of another rate (120 Hz, 59.94 Hz) under a core of 60.0988; and a core that changes its rate in play.
link=$relay
for hz in 59.94 120; do tone_pair "hz$hz" 600 real --option tone_fps=60.0988 --hz $hz; done
tone_pair switch 900 real --option tone_switch=300
for hz in 59.94 120; do
    both_equal sound "hz$hz-a" "hz$hz-b" 60 &&
        judge "sound/$hz-hz" "$tmp/hz$hz-a.wav" --after 1 --trace "$tmp/hz$hz-a.csv"
done
if both_equal sound "switch-a" "switch-b" 60; then
    rate=$(awk -F, 'NR > 1 && $3 == 400 { a = $1 } NR > 1 && $3 >= 800 && !b { b = $1; f = $3 } END { printf "%.1f", (f - 400) / (b - a) * 1e6 }' "$tmp/switch-a.csv")
    in_time check sound/runs-at-its-new-rate "runs at $rate frames a second" awk -v r="$rate" 'BEGIN { exit !(r > 48 && r < 52) }'
fi

# One player stands still for 2 s and comes back, one of them without hiding.
run_in_room hide-a --core "$tone" --room hide --frames 720 --speed real --hash-every 30 --wait 30 --wav "$tmp/hide-a.wav" --option tone_dupe=on --ahead off
said relay 'event=joined room="hide"' 10
KEYLOCK_HIDE=off run_in_room hide-b --core "$tone" --room hide --frames 720 --speed real --hash-every 30 --wait 30
reaches hide-a 200
kill -STOP "${pid[hide-a]}"
lasts 2 "the time that a stands still"
kill -CONT "${pid[hide-a]}"
plays hide-a 240
kill -STOP "${pid[hide-b]}"
lasts 2 "the time that b stands still"
kill -CONT "${pid[hide-b]}"
if both_equal sound "hide-a" "hide-b" 60; then
    judge sound/fast-forward "$tmp/hide-a.wav" --after 1 --trace "$tmp/hide-a.csv"
    most=$(awk -F, 'NR > 1 && $4 > m { m = $4 } END { print m + 0 }' "$tmp/hide-a.csv")
    check sound/caught-up "at most $most frames a call" [ "$most" -ge 20 ]
fi
finish
