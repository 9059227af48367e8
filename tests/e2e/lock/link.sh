#!/usr/bin/env bash
# lock/link.sh - a pair in real time over 50 ms RTT, 5 ms jitter and 1 % loss, then over a link that is gone for 1 s,
# then in an economy room.
#   SECONDS_OF_PLAY=600  instead of 25
# runs: waiting, test, 60 s
# limit: 900
. "$(dirname "$0")/../lib.sh"

PLAY=${SECONDS_OF_PLAY:-25}
needs "$keylock" "$relay_program" "$wrapper" "$proxy" "$content/shooter.nes"
start_relay

# real_pair ROOM SECONDS [OPTION…]: two players behind $link, in the background; and a watch over the machine's hitches.
real_pair() {
    local relay=$link room=$1 frames=$(($2 * 60)) who seed=0
    shift 2
    for who in a b; do
        seed=$((seed + 1))
        run_in_room "$room-$who" --core nestopia --content "$content/shooter.nes" --room "$room" --frames $frames \
            --speed real --input random:$seed --hash-every 60 --wait 30 "$@"
        [ $who = b ] || next_second
    done
    watch "$room-watch" "$room-a" "$room-b" relay "$room"
}

# Both ended in sync. No slowness of this machine excuses a desync.
in_sync() { # ROOM SECONDS
    local status=0
    both_equal link "$1-a" "$1-b" $(($2 + 60)) || status=1
    stop "$1-watch"
    check "link/$1-moves" "the hashes do not change" hashes_move "$tmp/$1-a.hash"
    return $status
}

# Half a percent of the frames may be late. A short play may end before the spacing is raised: its bucket
# (net/engine/spacing.h) holds seven late frames, and drains by one in 550.
judge_fair() { # ROOM
    local who
    for who in a b; do
        note "client $who: rtt $(json $1-$who rtt_ms) ms, lead $(json $1-$who lead_frames_avg), stalls" \
            "$(json $1-$who stalls), longest $(json $1-$who longest_stall_ms) ms"
        in_time python3 tests/e2e/judge_trace.py "link/client-$who" "$tmp/$1-$who.csv" --watch "$tmp/$1-watch.log" --after 5 \
            --fps 60 --min-share 0.99833 --max-lead 6 --max-lead-held-back 8 --max-late 0.005 \
            --late-bucket 7 550
    done
}

judge_gone() { # ROOM
    in_time python3 tests/e2e/judge_trace.py link/outage-recovers "$tmp/$1-a.csv" --watch "$tmp/$1-watch.log" \
        --one-gap 0.5 2.0 --settled 2
}

through fair --delay 25 --jitter 5 --loss 1
real_pair fair "$PLAY"
in_sync fair "$PLAY" && judge_fair fair
stop fair

through gone --delay 25 --jitter 5 --loss 1
real_pair gone 10
reaches gone-a 240
kill -USR1 "${pid[gone]}" # everything is dropped from here
lasts 1 "the outage"
kill -USR1 "${pid[gone]}" # and passed again
in_sync gone 10 && judge_gone gone

# Two frames in a datagram: half the bytes.
per_second() { python3 -c 'import sys; print(round(int(sys.argv[1]) / float(sys.argv[2])))' "$(json thrift-a "$1")" "$(json thrift-a wall_s)"; }
stop gone
through thrift --delay 25 --jitter 5 --loss 1
real_pair thrift 6 --economy on
reaches thrift-a 60
check link/economy-listed "$("$keylock" rooms "$relay" 2>&1)" eval '"$keylock" rooms "$relay" | grep -q "^thrift .*, economy"'
check link/economy-log "the relay's log does not say it" grep -aq 'event=room_made.* room="thrift".* economy=on' "$tmp/relay.log"
in_sync thrift 6
check link/economy-bytes "$(per_second sent_bytes) sent, $(per_second received_bytes) received a second, without headers" \
    test "$(per_second sent_bytes)" -le 1200 -a "$(per_second received_bytes)" -le 1500
finish
