#!/usr/bin/env bash
# netplay/tcp.sh - RetroArch's own Netplay menu without a known relay, and without UDP to the host's machine: the match runs
# over RetroArch's connection, its packet channel. Two network namespaces, a cable, and a firewall. Needs root.
#   RTT=MS  that connection is so long (tests/tools/tcp_delay.py); it is then not cut
# runs: waiting, test, 30 s
. "$(dirname "$0")/../lib.sh"
. tests/e2e/netplay_lib.sh

part=netplay-tcp
[ "$(id -u)" = 0 ] || { skip "$part: namespaces need root"; finish; }
netplay_needs $part # with_retroarch 1.20
[ -z "${RTT:-}" ] || also=('video_scale = "1.0"') # drawing must not be measured

at_ann=kl$$-ann at_bob=kl$$-bob
drop_nets() { for n in $at_ann $at_bob; do ip netns del "$n" 2>/dev/null; done; }
trap 'left=$?; for n in ann bob line; do stop $n; done; drop_nets; (exit $left); cleanup' EXIT
cable() {
    ip netns add $at_ann && ip netns add $at_bob && ip -n $at_ann link set lo up && ip -n $at_bob link set lo up &&
        ip link add to-bob netns $at_ann type veth peer name to-ann netns $at_bob &&
        ip -n $at_ann addr add 10.79.0.1/24 dev to-bob && ip -n $at_ann link set to-bob up &&
        ip -n $at_bob addr add 10.79.0.2/24 dev to-ann && ip -n $at_bob link set to-ann up
}
# Without a word, as most do. The table of a machine's own addresses comes first else.
firewall() {
    ip -n $at_ann rule add pref 20 lookup local && ip -n $at_ann rule del pref 0 &&
        ip -n $at_ann rule add pref 10 iif to-bob ipproto udp blackhole
}
cable || { skip "$part: no network namespaces with a cable between them"; finish; }
firewall || { skip "$part: no rules by protocol"; finish; }

# Xvfb's socket is a file, and everybody's.
start_xvfb 1180x448
within=(ip netns exec $at_ann)
netplayer ann 55355 --host --port 55435
check $part/room "no room was made: $(show ann)" said ann 'waiting \(1/2\).*/np-' 20
within=(ip netns exec $at_bob)
host=10.79.0.1
if [ -n "${RTT:-}" ]; then
    start line "${within[@]}" tests/tools/tcp_delay.py 55435 $host 55435 "$(awk "BEGIN {print $RTT / 2}")"
    said line listening 5 || { show line; die "$part: no delay"; }
    host=127.0.0.1
fi
netplayer bob 55355 --connect $host --port 55435
check $part/tried "UDP was not tried first: $(show bob)" said bob 'UDP port 55436 does not answer' 30
for who in ann bob; do
    said $who 'playing seats=' 30 || { show $who; die "$part/start: $who's game did not begin"; }
done
ok "$part/start: a match over RetroArch's own connection"
check $part/carried "the host does not say how" grep -aq 'no UDP from guest 1' "$tmp/ann.log"
left=$(window_of ann) && right=$(window_of bob) || die "$part/start: a window is missing"
xdotool windowmove "$right" 592 0
play "${SECONDS_OF_PLAY:-8}" "$left" "$right"
[ -z "${PICTURE:-}" ] || import -window root "$PICTURE"

# --- nobody stands still ---
frames_of() { awk -F , 'NR > 1 && $3 != "" {n = $3 + 1} END {print n + 0}' "$tmp/$1.csv"; }
for who in ann bob; do
    was=$(frames_of $who)
    check $part/flows-$who "stands still at frame $was" eventually 20 eval "[ \"\$(frames_of $who)\" -ge $((was + 120)) ]"
done
# ms, from one call that ran a frame to the next
longest_wait() { awk -F , 'NR > 1 && $4 > 0 {if (was && $1 - was > most) most = $1 - was; was = $1} END {print int(most / 1000)}' "$tmp/$1.csv"; }
for who in ann bob; do
    wait_ms=$(longest_wait $who)
    check $part/no-freeze-$who "the longest wait was $wait_ms ms" test "$wait_ms" -lt 3000
done

# --- RetroArch's connection is cut, and made again by its menu within the minute that the seat is kept ---
in_bobs() { ip netns exec $at_bob "$@"; }
bobs_keys() { in_bobs bash -c "$(declare -p remote_control; declare -f menu_keys); menu_keys 55355 $*"; }
if [ -n "${RTT:-}" ]; then
    note "RTT $RTT ms by hand: $(for who in ann bob; do awk -F , -v who=$who 'NR > 1 && $4 > 0 && (from || $1 > 15e6) { at = $1; n += $4; k++; lead += $6; if (!from) from = at; sp[$7]++ }
        END { for (s in sp) if (sp[s] > sp[most]) most = s; printf "%s: %.2f fps, lead %.2f, spacing mostly %d; ", who, n * 1e6 / (at - from), lead / k, most }' "$tmp/$who.csv"; done)"
elif in_bobs ss -K dst 10.79.0.1 dport = 55435 >/dev/null 2>&1 && said bob 'and the match with it: connect again' 15; then
    # Sooner, the session goes on and was never lost.
    check $part/lost "bob's session is not lost: $(show bob)" said bob 'connection lost, returning' 20
    bobs_keys TOGGLE B DOWN DOWN DOWN A DOWN A
    [ -z "${PICTURE:-}" ] || import -window root "$PICTURE.menu.png"
    at_port=$(declare -p remote_control; declare -f frontend_frames)
    frontend_frames() { in_bobs bash -c "$at_port; frontend_frames $*"; }
    type_at "$right" 55355 10.79.0.1
    press "$right" Return 0.15
    check $part/again "bob did not come back: $(show bob)" said bob 'connected again after=' 40
    was=$(frames_of bob)
    check $part/flows-again "stands still at frame $was" eventually 20 eval "[ \"\$(frames_of bob)\" -ge $((was + 120)) ]"
else
    note "the kernel cuts no connection for us: not tried"
fi
check $part/alive "a RetroArch is gone" eval 'running ann && running bob'
for who in bob ann; do
    stop $who
    status=$?
    check "$part/end-$who" "exit status $status" test $status = 0
    note "$who: $(grep -aoE 'session frames=.*' "$tmp/$who.log" | tail -n 1)"
    note "$who: $(grep -aoE 'carried over the channel.*' "$tmp/$who.log" | tail -n 1)"
done
check $part/own-save "the player's save file is another now" own_save "$tmp/bob/save/shooter.srm" 255 # some seconds
same_hashes $part
finish
