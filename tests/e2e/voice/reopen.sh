#!/usr/bin/env bash
# voice/reopen.sh - a frontend closes and opens content 50 times with voice on, at a sound server that takes connections and never
# answers, as one that has stopped: each closing takes half a second more than without voice at most, no thread stays in the end, and
# memory does not grow, with voice nor without.
# runs: waiting, all, 120 s
# instead: voice/retroarch, which closes it twice
. "$(dirname "$0")/../lib.sh"

needs "$relay_program" "$wrapper" "$test_core" "$build/reopens" "$content/shooter.nes"
needs_library libopus.so.0 libpulse.so.0
. tests/e2e/lib_pulse.sh
start_relay
reopen() { # NAME ROUNDS VOICE
    start "$1" env KEYLOCK_CORE="$test_core" KEYLOCK_RELAY="$relay" KEYLOCK_ROOM="$1" KEYLOCK_NAME=ann KEYLOCK_PLAYERS=1 KEYLOCK_VOICE="$3" \
        "$build/reopens" "$wrapper" "$content/shooter.nes" "$tmp" "$2" 60
}
most() { sed -n "s/^round=.*$2=\([0-9]*\).*/\1/p" "$tmp/$1.log" | sort -n | tail -n 1; } # NAME FIELD
at() { sed -n "s/^$2 .*$3=\([0-9]*\).*/\1/p" "$tmp/$1.log"; }                            # NAME BEGIN FIELD
# A stopped PulseAudio has room for six connections that nobody takes; then it refuses.
start server python3 -c 'import signal, socket, sys
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(200); signal.pause()' "$tmp/pulse.socket"
eventually 5 test -e "$tmp/pulse.socket"
reopen plain 20 off
ends_well reopen plain 60
usual=$(most plain close_ms)
reopen voice 50 on
ends_well reopen voice 240
slowest=$(most voice close_ms)
note "closing takes $usual ms at most without voice, $slowest ms with it; at most $(most voice threads) threads, $(at voice end threads) at the end"
note "memory after 10 rounds $(at voice round=10 rss_kb) kB, after 50 $(at voice round=50 rss_kb) kB, at the end $(at voice end rss_kb) kB"
within=$(sed -n 's/^round=.*close_ms=\([0-9]*\).*/\1/p' "$tmp/voice.log" | awk -v most=$((usual + 600)) '$1 <= most' | wc -l)
in_time check reopen/soon "$within of 50 closings within $((usual + 600)) ms, the slowest $slowest ms" test "$within" -ge 47 -a "$slowest" -le $((usual + 2000))
check reopen/all "of 50 rounds $(grep -c ^round= "$tmp/voice.log") came" test "$(grep -c ^round= "$tmp/voice.log")" = 50
check reopen/threads "$(at voice end threads) threads are left, and $(at plain end threads) without voice" \
    test "$(at voice end threads)" = "$(at plain end threads)"
grown=$(($(at plain round=20 rss_kb) - $(at plain round=5 rss_kb)))
check reopen/plain-memory "$grown kB in 15 rounds" test "$grown" -lt 4000
grown=$(($(at voice round=50 rss_kb) - $(at voice round=10 rss_kb)))
check reopen/memory "$grown kB in 40 rounds" test "$grown" -lt 4000
finish
