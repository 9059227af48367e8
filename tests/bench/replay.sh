#!/usr/bin/env bash
# replay.sh - an hour's recording of gambatte is sought in RetroArch, by the bar: from its beginning to its end, with no state laid
# yet, and then to and fro, TIMES=20 times. Prints the time of each seek, and RetroArch's processor time. MINUTES=60
. "$(dirname "$0")/../e2e/lib.sh"

frames=$((${MINUTES:-60} * 3600))
needs "$keylock" "$wrapper" "$content/pads.gb"
gambatte=$(core_path gambatte) || die "replay: no gambatte"
"$keylock" run --quiet --core "$gambatte" --content "$content/pads.gb" --frames "$frames" --speed max --input random:7 --hash-every 60 \
    --record "$tmp/hour.klr" >"$tmp/run.log" 2>&1 || { show run; die "replay: exit status $?"; }
start_xvfb 640x480
retroarch_home ann "${no_sound[@]}" 'pause_nonactive = "false"'
home_of ann
start ann env "${home[@]}" KEYLOCK_TRACE="$tmp/ann.csv" "$keylock" replay "$tmp/hour.klr" --content "$content" -- -v
said ann 'Start pause' 30 || { show ann; die "replay: RetroArch does not open on it"; }
eventually 10 window_of ann >/dev/null && window=$(window_of ann) || die "replay: no window"
plays ann 30

sought() { [ "$(grep -ac 'replay at frame=' "$tmp/ann.log")" -ge "$1" ]; }
seek() { # NUMBER KEY SECONDS
    local before
    hold "$window" "$3" "$2"
    before=$(used_ticks ann)
    eventually 300 sought "$1" || { show ann; die "replay: seek $1 does not end"; }
    grep -a 'replay at frame=' "$tmp/ann.log" | tail -n 1 | sed 's/.*replay at/at/' | tr '\n' ,
    awk -v ticks=$(($(used_ticks ann) - before)) -v hz="$(getconf CLK_TCK)" 'BEGIN { printf " %.2f s of processor", ticks / hz }'
}
note "cold, to the end: $(seek 1 Right 16)"
RANDOM=7
for i in $(seq 2 $((${TIMES:-20} + 1))); do
    note "then $(seek "$i" $([ $((i % 2)) = 0 ] && echo Left || echo Right) $((RANDOM % 8)).$((RANDOM % 10)))"
done
note "the longest of these: $(grep -a 'replay at frame=' "$tmp/ann.log" | tail -n +2 | sed 's/.*after=//' | sort -n | tail -n 1)"
finish
