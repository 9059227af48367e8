#!/usr/bin/env bash
# lock/ahead.sh - one player shows frames ahead of the lock, the other does not, over 50 ms RTT: equal hashes, a press that shows
# at once, pictures that are the true core's where the guess was right, and commands that the shown core follows at once.
# runs: alone, all, 150 s
# instead: `test_ahead`; `rooms` and `sim`, players ahead over bad links; every match of `make test`, which runs ahead by itself
# limit: 400
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$proxy" "$test_core" "$build/cores/tone_core_libretro.so" "$content/shooter.nes"
start_relay
through link --delay 25 --jitter 3

# Ann runs ahead, Bob does not. ann_input: still players are guessed right.
pair() { # ROOM CORE CONTENT ANN_INPUT BOB_INPUT [ANN_ARGUMENT…]
    local more=("${@:6}") at
    run_in_room "$1-ann" --core "$2" --content "$3" --room "$1" --frames ${FRAMES:-1200} --speed real --input "$4" --hash-every ${HASH_EVERY:-60} \
        --wait 30 --ahead "${AHEAD:-30}" --wav "$tmp/$1-ann.wav" "${more[@]}"
    next_second
    run_in_room "$1-bob" --core "$2" --content "$3" --room "$1" --frames ${FRAMES:-1200} --speed real --input "$5" --hash-every ${HASH_EVERY:-60} --wait 30 --ahead off --wav "$tmp/$1-bob.wav" \
        ${agrees:+--command "${agrees% *}:again" --command "${agrees#* }:again"}
    for at in ${outages:-}; do
        reaches "$1-ann" "$at" 60
        kill -USR1 "${pid[link]}"
        lasts 1.5 "the outage"
        kill -USR1 "${pid[link]}"
    done
    both_equal "$1" "$1-ann" "$1-bob" 90
    check "$1/never-out-of-sync" "healed $(json "$1-ann" healed) times" test "$(json "$1-ann" healed)" = 0
    note "$1: ahead $(json "$1-ann" ahead_avg), felt $(json "$1-ann" felt_frames_avg) and $(json "$1-bob" felt_frames_avg) frames," \
        "wrong $(json "$1-ann" guessed_wrong), replayed $(json "$1-ann" replayed_frames_s)/s," \
        "p99 $(json "$1-ann" replay_ms_p99) ms"
}

below() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a < b) }'; }

relay=$link
pair far nestopia "$content/shooter.nes" random:1 random:2
felt=$(json far-ann felt_frames_avg) waited=$(json far-bob felt_frames_avg)
check far/press-is-felt-two-frames-earlier "$felt against $waited frames" below "$felt" "$(awk -v f="$waited" 'BEGIN { print f - 2 }')"

# Each wrong guess has its sound run again and faded in, without a larger step than the core's own; so has the true core's where it
# comes back onto the screen, as the link is gone. The converter for uneven calls rings at a bend of the tone, as a fade's beginning
# is one: a seventh more is for that.
outages='500 800' pair tone "$build/cores/tone_core_libretro.so" "$content/shooter.nes" random:1 random:2
steps=$(python3 - "$tmp/tone-ann.wav" "$tmp/tone-bob.wav" <<'END'
import array, sys, wave
for path in sys.argv[1:]:
    with wave.open(path) as w:
        rate, s = w.getframerate(), array.array("h", w.readframes(w.getnframes()))
    print(*(max(abs(s[i + 2] - s[i]) for i in range(4 * rate + side, len(s) - 2, 2)) for side in range(2)), end=" ")
END
)
check tone/no-step-beyond-the-core "left and right $steps, of ann and of bob" \
    eval 'set -- $steps; [ "$1" -gt 0 ] && [ "$2" -gt 0 ] && [ "$1" -le $(($3 * 8 / 7)) ] && [ "$2" -le $(($4 * 8 / 7)) ]'
check tone/the-true-core-came-back "$(json tone-ann ahead_breaks) breaks" test "$(json tone-ann ahead_breaks)" -ge 1
check tone/sound-was-run-again "$(json tone-ann replayed_frames_s) frames a second" below 1 "$(json tone-ann replayed_frames_s)"

pair still nestopia "$content/shooter.nes" none none
check still/right-guesses-show-the-true-pictures "$(json still-ann guessed_wrong)" below "$(json still-ann guessed_wrong)" 0.001
check still/it-ran-ahead "$(json still-ann ahead_avg)" below 1 "$(json still-ann ahead_avg)"
# The hot key's command.
FRAMES=780 pair turned nestopia "$content/shooter.nes" none none --command 300:ahead --command 660:ahead
check turned/off-and-on-in-play "$(json turned-ann ahead_breaks) breaks; $(grep -a ': ahead: ' "$tmp/turned-ann.log")" \
    eval 'grep -aq "frame 300: ahead: your presses show once the lock" "$tmp/turned-ann.log" &&
          grep -aq "frame 660: ahead: your presses show at once" "$tmp/turned-ann.log" && [ "$(json turned-ann ahead_breaks)" -ge 1 ]'
check turned/it-ran-ahead "$(json turned-ann ahead_avg)" below 0.5 "$(json turned-ann ahead_avg)"

# Here frames close by the clock, and a sample that comes too late is taken for another frame: how far ahead is an estimate.
pair optimistic nestopia "$content/shooter.nes" random:1 random:2 --policy optimistic
felt=$(json optimistic-ann felt_frames_avg) waited=$(json optimistic-bob felt_frames_avg)
check optimistic/its-room-is-it "$(grep -a 'event=room_made' "$tmp/relay.log" | tail -n 1)" grep -aq 'event=room_made room="optimistic".*policy=optimistic' "$tmp/relay.log"
check optimistic/press-is-felt-earlier "$felt against $waited frames" below "$felt" "$waited"
check optimistic/it-ran-ahead "$(json optimistic-ann ahead_avg)" below 1 "$(json optimistic-ann ahead_avg)"

# The disk of this core is in its RAM, and the second disk of one frame earlier would be another game. A command that the shown
# core cannot follow shows as a break, or as wrong pictures up to the next marked keyframe, four seconds later.
export PROBE_CORE=no-clock,disks
agrees='415 575' HASH_EVERY=240 pair orders "$test_core" "$content/shooter.nes" none none --command 400:reset --command "420:disk 2" \
    --command 520:save --command 560:load --command "600:option probe_speed=fast" --command "640:swap 1 2" --command 700:pause \
    --command 700+1500:resume --command "860:disk 0"
check orders/it-stayed-on-the-screen "$(json orders-ann ahead_breaks) breaks" test "$(json orders-ann ahead_breaks)" = 0
check orders/wrong-no-longer-than-the-news-takes "$(json orders-ann guessed_wrong)" below "$(json orders-ann guessed_wrong)" 0.06
given=$(grep -ac 'given to the room' "$tmp/orders-ann.log")
check orders/all-were-given "$given of 9" test "$given" = 9

# Some cores serialize to know the size of a state, and that leaves a trace: the true core is not asked once more.
export PROBE_CORE=no-clock,sizes
FRAMES=180 pair sizes "$test_core" "$content/shooter.nes" none none

# nestopia's states lack its turbo buttons, which these players press. The pages of its memory have them, as a probe finds.
AHEAD=auto pair states nestopia "$content/shooter.nes" random:1 random:2
"$keylock" probe --core nestopia --content "$content/shooter.nes" --frames 120 --keep >"$tmp/pages.log" 2>&1
AHEAD=auto pair pages nestopia "$content/shooter.nes" random:1 random:2
check pages/it-goes-back-by-its-pages "$(json pages-ann ahead_by_pages) times, $(json states-ann ahead_by_pages) without a probe" \
    test "$(json pages-ann ahead_by_pages)" -gt 100 -a "$(json states-ann ahead_by_pages)" = 0
check pages/it-stays-ahead "$(grep -a presses "$tmp/pages-ann.log")" eval '! grep -aq "states do not hold" "$tmp/pages-ann.log"'
check pages/fewer-pictures-are-wrong "$(json pages-ann guessed_wrong) against $(json states-ann guessed_wrong)" \
    below "$(json pages-ann guessed_wrong)" "$(json states-ann guessed_wrong)"

# The states of this core lack a counter that the game goes by. By pages it has it from the first frame on, and from no state.
export PROBE_CORE=no-clock,forget
"$keylock" probe --core "$test_core" --content "$content/shooter.nes" --frames 120 --keep >"$tmp/forget.log" 2>&1
FRAMES=400 AHEAD=auto pair forget "$test_core" "$content/shooter.nes" none none
check forget/true-from-the-first-frame-on "$(json forget-ann guessed_wrong)" below "$(json forget-ann guessed_wrong)" 0.02
check forget/it-ran-ahead "$(json forget-ann ahead_avg)" below 0.5 "$(json forget-ann ahead_avg)"

[ -z "${KL_SAN:-}" ] || finish # it handles the signal of a crash itself

# This core crashes as a second copy. The findings of a probe keep it from being tried.
export PROBE_CORE=no-clock,once
"$keylock" probe --core "$test_core" --content "$content/shooter.nes" --frames 120 --keep >"$tmp/once.log" 2>&1
FRAMES=300 AHEAD=auto pair once "$test_core" "$content/shooter.nes" none none
check once/says-the-reason "$(grep -a presses "$tmp/once-ann.log")" \
    grep -aq 'presses wait for the link: a second copy in the process crashes' "$tmp/once-ann.log"
finish
