# lib.sh - functions of the end-to-end scenarios; sourced first: . "$(dirname "$0")/../lib.sh"
#
# Each scenario has a folder, ports and a display of its own. Its processes end with it, however it ends. No file of the user is
# read or written.
#   KL_BUILD    the folder of the programs (build)
#   KL_CONTENT  the folder of the assembled content (content/ there, else build/content)
#   KL_RETROARCH  1.20: the scenario's RetroArch is Debian 13's, fetched if it is missing (else the one on PATH)
#   KEEP=1      keeps the folder and prints its path
#   KL_SAN      address or thread: the programs were built with these sanitizers (make e2e-san); a report of any
#               process fails the scenario
#   KL_JUDGE_TIME=off  frames a second, gaps and durations are noted, not judged: nothing is in time under sanitizers
# shellcheck shell=bash
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

KL_BUILD=${KL_BUILD:-build}
[ -n "${KL_CONTENT:-}" ] || { [ -d "$KL_BUILD/content" ] && KL_CONTENT=$KL_BUILD/content; } || KL_CONTENT=build/content
build=$(realpath -m "$KL_BUILD")
content=$(realpath -m "$KL_CONTENT")
keylock=$build/keylock
relay_program=$build/keylock-relay
wrapper=$build/keylock_libretro.so
proxy=$build/faultproxy
test_core=$build/cores/probe_core_libretro.so
tmp=$(mktemp -d "${TMPDIR:-/tmp}/keylock-e2e.XXXXXX")
declare -A pid=() ends_by=() # of each program: its number, and the signal that ends it, if TERM does not do
watches=() # names of those that note the machine's hitches
checks_failed=0
on_path=$PATH user_tmp=${TMPDIR:-/tmp} arguments=("$@")
slowness=3 # factor of all waiting times, for machines that others share
[ -z "${KL_SAN:-}" ] || slowness=6
unset "${!KEYLOCK_@}" # the player's own settings

# A home of our own, for session folders, caches and settings; the variables of the user's screen and sound stay.
user_home=${HOME:-/}
[ -n "${XAUTHORITY:-}" ] || [ ! -e "$user_home/.Xauthority" ] || export XAUTHORITY=$user_home/.Xauthority
[ ! -e "$user_home/.config/pulse/cookie" ] || export PULSE_COOKIE=$user_home/.config/pulse/cookie
mkdir -p "$tmp/home" "$tmp/tmp"
export HOME=$tmp/home TMPDIR=$tmp/tmp KEYLOCK_LEARN=off KEYLOCK_TRUST=on # the players of a scenario are friends
unset XDG_CONFIG_HOME XDG_CACHE_HOME XDG_DATA_HOME XDG_STATE_HOME

# --- results --------------------------------------------------------------------------------------------------

ok() { echo "ok $*"; }
note() { echo "     $*"; }
skip() { echo "skip $*"; }
fail() { # NAME: WHY
    echo "FAIL $*"
    checks_failed=$((checks_failed + 1))
}
# Ends the scenario if its later checks would make no sense.
die() {
    fail "$@"
    exit 1
}
finish() {
    [ ! -s "$tmp/not_in_time" ] || not_in_time
    exit $((checks_failed > 0))
}

# check NAME WHY COMMAND…: ok if the command succeeds.
check() {
    local name=$1 why=$2
    shift 2
    if "$@"; then ok "$name"; else fail "$name: $why"; fi
}

# in_time COMMAND…: a judgement that depends on how fast this machine is. If times are not judged, its FAIL lines are notes and
# it succeeds. Else they stand as notes first, and count when the scenario ends: a machine that stood still plays it again.
in_time() {
    local status failed=$checks_failed log=$tmp/in_time.$BASHPID
    "$@" >"$log"
    status=$?
    checks_failed=$failed
    sed 's/^FAIL /     not in time: /' "$log"
    [ "${KL_JUDGE_TIME:-on}" = on ] || return 0
    grep -a '^FAIL ' "$log" >>"$tmp/not_in_time" && return 1
    [ $status = 0 ] || fail "in_time: exit status $status of $1"
    return $status
}

# Nothing but judgements in time has failed, and the machine stood still meanwhile: the scenario is played again, from its
# beginning, at most twice. The last time counts.
not_in_time() {
    local still
    still=$(most_still_ms)
    if [ $checks_failed = 0 ] && [ "${KL_PLAYED:-1}" -lt 3 ] && [ "$still" -gt 200 ]; then
        note "played again: nothing but the above has failed, and the machine stood still for $still ms"
        trap - EXIT
        clear_away || exit 1
        exec env HOME="$user_home" TMPDIR="$user_tmp" PATH="$on_path" KL_PLAYED=$((${KL_PLAYED:-1} + 1)) "tests/e2e/$(basename "$(dirname "$0")")/$(basename "$0")" "${arguments[@]}"
    fi
    cat "$tmp/not_in_time"
    checks_failed=$((checks_failed + $(wc -l <"$tmp/not_in_time")))
    rm "$tmp/not_in_time"
}

# watch NAME PROCESS…: notes from here on in $tmp/NAME.log when the machine holds these processes up (hitches.py).
watch() {
    local name=$1 process watched=()
    shift
    for process; do watched+=("${pid[$process]}"); done
    watches+=("$name")
    start "$name" python3 tests/e2e/hitches.py "${watched[@]}"
}

# stood_ms NAME FROM_US TO_US: so long the machine stood still, by that watch, between two times of $EPOCHREALTIME without its dot.
stood_ms() { awk -v a="$2" -v b="$3" '$1 >= a && $1 <= b + 100000 && $2 > 8 { ms += $2 } END { printf "%d", ms }' "$tmp/$1.log"; }

# By the watch that saw most of it.
most_still_ms() {
    local name
    for name in "${watches[@]}"; do echo $(($(stood_ms "$name" 0 "${EPOCHREALTIME/./}"))); done | sort -n | tail -n 1 | grep . || echo 0
}

# The last lines of the named processes' output, for a failure.
show() {
    local n
    for n in "$@"; do
        [ -s "$tmp/$n.log" ] || continue
        echo "     -- $n:"
        tail -n "${SHOW_LINES:-6}" "$tmp/$n.log" | cut -c 1-300 | sed 's/^/     /'
    done
}

# --- waiting --------------------------------------------------------------------------------------------------

# A scenario waits for an event, with a deadline: said, ended, eventually, plays, reaches, frontend_frames. A claim that must
# hold for a while is looked at all the while: stays. A time that is the scenario's own content, as an outage, is named: lasts.
# Nothing else of tests/e2e sleeps (tests/tools/scripts.py).
glance() { sleep 0.05; } # between two looks at something

# eventually SECONDS COMMAND…: repeats until it succeeds.
eventually() {
    local until=$((SECONDS + $1 * slowness))
    shift
    until "$@"; do
        [ "$SECONDS" -gt "$until" ] && return 1
        glance
    done
}

# stays SECONDS COMMAND…: the command succeeds at every look, for so long.
stays() {
    local until=$(($(now_ms) + $(awk "BEGIN { print $1 * 1000 }")))
    shift
    while "$@"; do
        [ "$(now_ms)" -lt "$until" ] || return 0
        glance
    done
    return 1
}

# lasts SECONDS WHAT: that thing lasts so long, because the scenario is about it.
lasts() { sleep "$1"; }

now_ms() { echo $((${EPOCHREALTIME/./} / 1000)); }

# idle WHAT NAME…: for ten seconds none of these processes takes 30 % of a processor. A thread that spins does, also beside work.
used_ticks() { awk '{ print $14 + $15 }' "/proc/${pid[$1]}/stat"; }
idle() {
    local what=$1 name from percent
    local -A before
    shift
    from=$(now_ms)
    for name; do before[$name]=$(used_ticks "$name"); done
    lasts 10 "the wait"
    for name; do
        percent=$(awk -v ticks=$(($(used_ticks "$name") - before[$name])) -v ms=$(($(now_ms) - from)) -v hz="$(getconf CLK_TCK)" \
            'BEGIN { printf "%.1f", 100 * ticks / hz / (ms / 1000) }')
        check "$what/$name-idle" "takes $percent % of a processor, and less than 30 % is expected" test "${percent%.*}" -lt 30
        note "$name takes $percent % of a processor"
    done
}

# next_second: the clock shows another second, for machines that shall not start in the same one.
next_second() {
    local was
    printf -v was '%(%s)T' -1
    eventually 2 eval "[ \$(printf '%(%s)T' -1) != $was ]"
}

# frame_of NAME: the last frame that it has run, by its trace; 0 before the first.
frame_of() { tac "$tmp/$1.csv" 2>/dev/null | awk -F , '$3 ~ /^[0-9]+$/ { print $3; found = 1; exit } END { if (!found) print 0 }'; }
is_at() { [ "$(frame_of "$1")" -ge "$2" ]; }

# reaches NAME FRAME [SECONDS]: that frame has been run. Fails at once if the process has ended before.
reaches() {
    local until=$((SECONDS + ${3:-30} * slowness))
    until is_at "$1" "$2"; do
        if { [ -n "${pid[$1]:-}" ] && ! running "$1"; } || [ "$SECONDS" -gt "$until" ]; then
            is_at "$1" "$2" && return
            [ -e "$tmp/$1.csv" ] || fail "waits/$1: it writes no trace"
            return 1
        fi
        glance
    done
}

# plays NAME FRAMES [SECONDS]: it runs so many frames more.
plays() { reaches "$1" $(($(frame_of "$1") + $2)) "${3:-}"; }

# --- processes ------------------------------------------------------------------------------------------------

# start NAME COMMAND…: runs it in the background. Its output goes to $tmp/NAME.log, its process to ${pid[NAME]}.
start() {
    local name=$1
    shift
    : >"$tmp/$name.log" # the child opens it later; until then an earlier output of this name would be read
    "$@" >"$tmp/$name.log" 2>&1 </dev/null &
    pid[$name]=$!
}

running() { [ -n "${pid[$1]:-}" ] && kill -0 "${pid[$1]}" 2>/dev/null; }

# stop NAME [SIGNAL]: by TERM as a rule, and KILL if that does not help within 15 s. Sets and returns its exit status.
stop() {
    local name=$1 tries=0 status=0
    [ -n "${pid[$name]:-}" ] || return 0
    kill "-${2:-${ends_by[$name]:-TERM}}" "${pid[$name]}" 2>/dev/null
    while running "$name" && [ $((tries++)) -lt 300 ]; do glance; done
    running "$name" && kill -KILL "${pid[$name]}" 2>/dev/null
    wait "${pid[$name]}" 2>/dev/null
    status=$?
    unset "pid[$name]"
    return $status
}

# ended NAME SECONDS: waits for its end; its exit status, or 124 if it had to be stopped.
ended() {
    local name=$1 until=$((SECONDS + $2 * slowness)) status
    [ -n "${pid[$name]:-}" ] || return 125
    while running "$name"; do
        if [ "$SECONDS" -gt "$until" ]; then
            stop "$name"
            return 124
        fi
        glance
    done
    wait "${pid[$name]}" 2>/dev/null
    status=$?
    unset "pid[$name]"
    return $status
}

# ends_well WHAT NAME SECONDS: it ends with 0 by then; else it is shown, and the relay too.
ends_well() {
    local status
    ended "$2" "$3"
    status=$?
    [ $status = 0 ] || show "$2" relay
    check "$1/$2-ends" "exit status $status" test $status = 0
    return $status
}

# equal WHAT NAME NAME: their hash files agree wherever both have run.
equal() {
    "$keylock" diff "$tmp/$2.hash" "$tmp/$3.hash" >"$tmp/diff.log" 2>&1
    local status=$?
    check "$1/hashes-$2-$3" "$(head -n 1 "$tmp/diff.log")" test $status = 0
    note "$(tail -n 1 "$tmp/diff.log")"
    return $status
}

# both_equal WHAT NAME NAME [SECONDS]: both end well, with equal hashes; its status says whether.
both_equal() {
    local status=0
    ends_well "$1" "$2" "${4:-60}" || status=1
    ends_well "$1" "$3" "${4:-60}" || status=1
    equal "$1" "$2" "$3" || status=1
    return $status
}

# all_equal WHAT NAME…: all end well, each within LAST_S seconds (60), with the same hashes to the last frame, which change.
all_equal() {
    local what=$1 first=$2 name status
    shift
    for name in "$@"; do
        ended "$name" "${LAST_S:-60}"; status=$?
        [ $status = 0 ] || { fail "$what: $name: exit status $status"; show "$name" relay; return 1; }
    done
    for name in "$@"; do
        "$keylock" diff "$tmp/$first.hash" "$tmp/$name.hash" >"$tmp/diff" 2>&1 ||
            { fail "$what: $first and $name: $(tail -n 1 "$tmp/diff")"; return 1; }
        [ "$(json "$first" ram) $(json "$first" state)" = "$(json "$name" ram) $(json "$name" state)" ] ||
            { fail "$what: $first and $name end in different states"; return 1; }
    done
    hashes_move "$tmp/$first.hash" || { fail "$what: the hashes do not change"; return 1; }
    ok "$what: $# machines, $(wc -l <"$tmp/$first.hash") equal hashes"
}

# begins_with NAME NAME: the first's hashes begin with the same frame as the second's, which was there from the beginning. (The
# frame of the first hash is a keyframe's: which one depends on how slow the machine is.)
begins_with() {
    local first
    first=$(grep -m 1 -aoE '^[0-9]+ ' "$tmp/$2.hash") && grep -q "^$first" "$tmp/$1.hash"
}

# said NAME REGEX SECONDS: waits until its output matches. Fails if it does not, or if the process has ended.
said() {
    local until=$((SECONDS + $3 * slowness))
    until grep -aqE -- "$2" "$tmp/$1.log" 2>/dev/null; do
        if ! running "$1" || [ "$SECONDS" -gt "$until" ]; then
            grep -aqE -- "$2" "$tmp/$1.log" 2>/dev/null
            return
        fi
        glance
    done
}

prefix= # of Wine: lib_wine.sh
clear_away() {
    local name
    for name in "${!pid[@]}"; do [ "$name" = xvfb ] || stop "$name"; done
    stop xvfb
    local status=0
    [ -z "${KL_SAN:-}" ] || clean_run || status=1
    if [ "${KEEP:-0}" = 1 ]; then echo "     kept: $tmp $prefix"; else rm -rf "$tmp" ${prefix:+"$prefix"}; fi
    return $status
}
cleanup() {
    local status=$?
    trap - EXIT
    [ ! -s "$tmp/not_in_time" ] || cat "$tmp/not_in_time" # it ended before finish
    clear_away || status=1
    exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

# --- sanitizers -----------------------------------------------------------------------------------------------

# Every process writes its reports to a file of its own and ends at the first one, so an expected exit status cannot hide a
# report. Reports of others' code are passed over, cores above all: tests/e2e/*.supp, and leaks.
preload=() # for programs that were not built with it, and load the wrapper
watch_memory() {
    local options="log_path=$tmp/sanitizer/report:halt_on_error=1:print_suppressions=0" supp=$PWD/tests/e2e
    mkdir -p "$tmp/sanitizer"
    export ASAN_OPTIONS=$options:detect_leaks=1:detect_stack_use_after_return=1:alloc_dealloc_mismatch=0:suppressions=$supp/asan.supp
    export LSAN_OPTIONS=exitcode=0 UBSAN_OPTIONS=$options:print_stacktrace=1:exitcode=99
    # Cores and RetroArch are not built for TSan: their own calls of the C library are not judged.
    export TSAN_OPTIONS=$options:second_deadlock_stack=1:ignore_noninstrumented_modules=1:suppressions=$supp/tsan.supp
    case $KL_SAN in
    address)
        preload=(LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)"
            ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0") # RetroArch and its drivers leave much behind
        ;;
    thread) preload=(LD_PRELOAD="$(gcc -print-file-name=libtsan.so)") ;;
    esac
}

# The part of a report that counts. Cores leave memory behind, and an unloaded core has no name that a suppression could give.
# So a leak counts only if our own code asked for the memory, world_heap.c excepted, which asks for a core.
what_counts() { # FILE
    awk -v RS= '
        /(Direct|Indirect) leak of/ {
            n = split($0, line, "\n")
            for (i = 2; i < n && line[i] ~ /interceptor_|operator new|world_heap\.c/; i++) ;
            if (line[i] ~ / (core_wrapper|net)\//) print
            next
        }
        /ERROR: LeakSanitizer: detected|^SUMMARY: .* leaked in / { next }
        { print }' "$1"
}

# False, with a line for each report, if a process has reported something. (GCC's UBSan beside ASan knows no log_path: it writes
# to standard error, and ends the process with an unexpected status.)
clean_run() {
    local report clean=0
    for report in "$tmp"/sanitizer/report* $(grep -D skip -alE '^[^ ]+:[0-9]+:[0-9]+: runtime error: ' "$tmp"/* 2>/dev/null); do
        case $report in
        */report*) what_counts "$report" ;;
        *) grep -aE -A 20 ' runtime error: ' "$report" ;;
        esac >"$tmp/sanitizer/counts" 2>/dev/null
        [ -s "$tmp/sanitizer/counts" ] || continue
        fail "sanitizer: $(grep -m 1 -aE 'ERROR:|WARNING:|runtime error:|leak of' "$tmp/sanitizer/counts")"
        head -n "${REPORT_LINES:-60}" "$tmp/sanitizer/counts" | cut -c 1-200 | sed 's/^/     | /'
        clean=1
    done
    return $clean
}
[ -z "${KL_SAN:-}" ] || watch_memory

# --- relay, content, runs -------------------------------------------------------------------------------------

needs() { # FILE…
    local f
    for f in "$@"; do [ -e "$f" ] || die "$(basename "$0" .sh): $f is missing; run make all test-build"; done
}

# needs_library NAME…: without one of them the scenario ends as skipped.
needs_library() {
    local name
    for name in "$@"; do
        ldconfig -p | grep -q "$name" || { skip "$(basename "$0" .sh): $name is not installed"; finish; }
    done
}

# start_relay [OPTION…]: sets $port and $relay.
start_relay() {
    start relay "$relay_program" --bind 127.0.0.1 --port 0 --log info "$@"
    said relay 'listening.*port=[0-9]' 5 || { show relay; die "relay: does not say where it listens"; }
    port=$(grep -a listening "$tmp/relay.log" | sed -n 's/.*port=\([0-9]*\).*/\1/p' | head -n 1)
    relay=127.0.0.1:$port
}

# through NAME FAULT…: a link emulator in front of the relay; sets $link.
through() {
    local name=$1
    shift
    start "$name" "$proxy" --listen 0 --to "$relay" --seed "${SEED:-1}" "$@"
    said "$name" listening 5 || { show "$name"; die "$name: the fault proxy does not start"; }
    link=$(sed -n 's/^listening \([0-9.:]*\).*/\1/p' "$tmp/$name.log" | head -n 1)
}

# free_port: a UDP port that nobody has just now.
free_port() {
    python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# core_path NAME: Debian's core, or a path as it is.
core_path() {
    local dir
    case $1 in */*) echo "$1" && return ;; esac
    for dir in /usr/lib/*/libretro /usr/lib/libretro; do
        [ -e "$dir/$1_libretro.so" ] && echo "$dir/$1_libretro.so" && return
    done
    return 1
}

# core_tool PART NAME STATUS COMMAND ARGUMENT…: `keylock COMMAND` on $core with the system folder $tmp/system; its words in $tmp/NAME.log.
core_tool() {
    local part=$1 name=$2 wanted=$3 command=$4 status
    shift 4
    "$keylock" "$command" --core "$core" --system "$tmp/system" "$@" >"$tmp/$name.log" 2>&1
    status=$?
    [ $status = "$wanted" ] || show "$name"
    check "$part/$name" "exit status $status, expected $wanted" test $status = "$wanted"
}

# core_says NAME KEY: the value for that core's installed version, from the table tests/e2e/cores.txt. Fails if the table does
# not have it.
core_says() {
    local path version
    path=$(core_path "$1") || return
    version=$(python3 - "$path" <<'END'
import ctypes, sys
class Info(ctypes.Structure): # struct retro_system_info
    _fields_ = [(n, ctypes.c_char_p) for n in ("name", "version", "extensions")] + [("fullpath", ctypes.c_bool), ("block", ctypes.c_bool)]
info = Info()
ctypes.CDLL(sys.argv[1]).retro_get_system_info(ctypes.byref(info))
print(info.version.decode().split()[0])
END
    ) || return
    awk -F '\t' -v core="$1" -v version="$version" -v key="$2" '
        $1 == core && $2 == version && $3 == key { print $4; found = 1 }
        END { if (!found) { print core " " version " has no " key " in tests/e2e/cores.txt" > "/dev/stderr"; exit 1 } }' tests/e2e/cores.txt
}

# battery_game FILE: the bundled game with save RAM that it counts in, every frame, so that there is an .srm to spoil.
battery_game() {
    python3 - "$content/shooter.nes" "$1" <<'END'
import sys
rom = bytearray(open(sys.argv[1], "rb").read())
rom[6] |= 2                        # a battery,
rom[10] = 0x70                     # and 8 KB behind it (NES 2.0)
vector = 16 + 0x8000 - 6           # of the interrupt at each frame's end
free = rom.index(bytes(16), 16, vector)
rom[free + 8:free + 14] = b"\xEE\x00\x60\x4C" + rom[vector:vector + 2]  # inc $6000, jmp to the old target
rom[vector:vector + 2] = (0x8000 + free + 8 - 16).to_bytes(2, "little")
open(sys.argv[2], "wb").write(rom)
END
}

# jsnes_rom NAME: a homebrew of the npm package jsnes (croom, lj65), fetched once.
jsnes_rom() {
    local dir=build/npm
    if [ ! -s "$dir/$1.nes" ]; then
        mkdir -p "$dir"
        (cd "$dir" && HOME=$user_home timeout 60 npm pack --silent --fetch-retries=1 --fetch-retry-mintimeout=1000 --fetch-timeout=15000 jsnes@1.2.1 >/dev/null 2>npm.log) || return 1
        tar -xzf "$dir/jsnes-1.2.1.tgz" -C "$dir" --strip-components 3 \
            package/roms/croom/croom.nes package/roms/lj65/lj65.nes || return 1
        rm -f "$dir/jsnes-1.2.1.tgz" "$dir/npm.log"
    fi
    realpath "$dir/$1.nes"
}

# run_in_room NAME ARGUMENT…: `keylock run` in the room, hashes and trace beside its log.
run_in_room() {
    local name=$1
    shift
    start "$name" "$keylock" run --quiet --relay "$relay" --name "${name:0:20}" --hash-out "$tmp/$name.hash" \
        --trace "$tmp/$name.csv" "$@"
}

# json NAME KEY: of the JSON object that a run says last.
json() {
    grep -a '^{' "$tmp/$1.log" | tail -n 1 | python3 -c '
import json, sys
line = sys.stdin.readline()
print(json.loads(line).get(sys.argv[1]) if line.strip() else "nothing")' "$2"
}

# hashes_move FILE [AT_LEAST]: more than so many different ones (half of the lines), so that equality says something.
hashes_move() {
    local lines kinds
    lines=$(wc -l <"$1")
    kinds=$(cut -d ' ' -f 2- "$1" | sort -u | wc -l)
    [ "$kinds" -ge "${2:-$((lines / 2))}" ] && [ "$kinds" -gt 1 ]
}

. tests/e2e/lib_retroarch.sh
