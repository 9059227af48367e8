#!/usr/bin/env bash
# retroarch/slow-disk.sh - on a disk that takes 80 ms for each access no call of RetroArch waits for it in play: two play, one with all
# files that the wrapper writes (hashes, trace, recording, the states at a planted desync, the seat's after a lost link).
# runs: waiting, test, 15 s
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$content/shooter.nes"
for program in retroarch Xvfb gcc; do
    command -v $program >/dev/null || { skip "slow-disk: no $program"; finish; }
done
core_path nestopia >/dev/null || { skip "slow-disk: no nestopia"; finish; }
[ -z "${KL_SAN:-}" ] || { skip "slow-disk: another library is preloaded"; finish; }
gcc -shared -fPIC -O1 -Wall -Wextra -D_GNU_SOURCE -o "$tmp/slow_disk.so" tests/tools/slow_disk.c -ldl || die "slow-disk: no library"

retroarch_home ann "${no_sound[@]}" 'video_driver = "null"' 'input_driver = "null"'
start_xvfb 640x480
start_relay --shards 1 # one that can be stopped
start bob "$keylock" run --core nestopia --content "$content/shooter.nes" --relay "$relay" --room slow --name bob --speed real \
    --policy strict --frames 100000 --wait 60 --hash-every 10
said relay 'event=(room_made|joined).*room="slow"' 20
home_of ann
start ann env "${home[@]}" LD_PRELOAD="$tmp/slow_disk.so" SLOW_DISK="$tmp/ann" SLOW_DISK_MS=80 \
    KEYLOCK_HASH_OUT="$tmp/ann/hashes" KEYLOCK_TRACE="$tmp/ann/trace" KEYLOCK_RECORD="$tmp/ann/recording" KEYLOCK_CORRUPT=60:0x300 \
    KEYLOCK_STATES="$tmp/ann/states" KEYLOCK_CORE="$(core_path nestopia)" KEYLOCK_RELAY="$relay" KEYLOCK_ROOM=slow KEYLOCK_NAME=ann \
    retroarch -v -L "$wrapper" "$content/shooter.nes"
said ann 'keylock: playing' 30 || { show ann; die "slow-disk: nobody plays"; }
said ann 'states written to' 30 || { show ann relay; die "slow-disk: no states are written"; }
# The link is lost, and ann comes back: the seat's file gets another token.
tokens() { test "$(grep -ac '/seats/\..*(fsync' "$tmp/ann.log")" -ge "$1"; }
lines() { test "$(wc -l <"$tmp/ann/trace")" -ge "$1"; }
kill -STOP "${pid[relay]}"
said ann 'connection lost, returning' 20
kill -CONT "${pid[relay]}"
eventually 40 tokens 2 || { show ann; die "slow-disk: the seat's file is not written again"; }
eventually 20 lines $(($(wc -l <"$tmp/ann/trace") + 60)) || show ann

for file in hashes trace recording states/ state-home/keylock/seats/; do
    check "slow-disk/writes-$(basename $file)" "nothing wrote $file" grep -aq "^slow_disk: $tmp/ann/$file.*(write, thread keylock-" "$tmp/ann.log"
done
sed -n '/keylock: playing/,$p' "$tmp/ann.log" >"$tmp/play.log"
check slow-disk/no-call-waits "$(grep -a -m 3 'slow_disk: retro_run' "$tmp/play.log")" eval '! grep -aq "slow_disk: retro_run" "$tmp/play.log"'
check slow-disk/no-access "$(grep -a -m 3 'thread retroarch' "$tmp/play.log")" eval '! grep -aq "thread retroarch" "$tmp/play.log"'
finish
