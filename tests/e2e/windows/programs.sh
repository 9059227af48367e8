#!/usr/bin/env bash
# windows/programs.sh - the same sources on Windows, under Wine: simulated rooms of the engine and of a whole relay, the protocol's
# vectors, unit programs. Logs and vectors are the same bytes as this machine's. The programs need the system's own DLLs alone.
#   PARTS='rooms unit'  only these; builds: what they run, and the zip's programs
#   SEEDS='1 2'  of the engine's rooms; ROOMS='200 201' of the relay's
# instead: nothing
# runs: emulated, all, 95 s
# limit: 2400
. "$(dirname "$0")/../lib.sh"
. tests/e2e/lib_wine.sh

PARTS=${PARTS:-rooms unit}
parts_of_rooms=(tests/sim.exe tests/rooms.exe vectors.exe keylock-relay.exe)
parts_of_unit=(cores/{probe,tone,video}_core_libretro.dll keylock_libretro.dll)
SEEDS=${SEEDS:-1 2 3 5 7 9 13}
ROOMS=${ROOMS:-200 201 202 203 204 210 215}
needs "$build/tests/sim" "$build/tests/rooms" "$build/vectors"

# same NAME PROGRAM ARGUMENT…: all that it writes, here and under Wine. (Each stream to a file of its own: Wine has a place in the
# file for each.)
same() {
    local name=$1 program=$2 stream
    shift 2
    "$build/$program" "$@" >"$tmp/native.out" 2>"$tmp/native.err"
    wine_runs "$windows/$program.exe" "$@" >"$tmp/wine.out" 2>"$tmp/wine.err"
    for stream in out err; do
        check "windows/$name-$stream" "$(diff "$tmp/native.$stream" "$tmp/wine.$stream" | head -n 5)" cmp -s "$tmp/native.$stream" "$tmp/wine.$stream"
    done
}

# system_dlls PROGRAM…: each imports nothing else.
system_dlls() {
    local program others
    for program; do
        others=$(x86_64-w64-mingw32-objdump -p "$windows/$program" | sed -n 's/.*DLL Name: //p' |
            grep -vixE '(advapi32|iphlpapi|kernel32|msvcrt|shell32|user32|winmm|ws2_32)\.dll' | tr '\n' ' ')
        check "windows/$program-imports" "$others" test -z "$others"
    done
}

rooms() {
    local seed
    windows_builds "${parts_of_rooms[@]}"
    for seed in $SEEDS; do
        same "sim-$seed" tests/sim --seed "$seed"
        check "windows/sim-$seed-whole" "no line event=end" grep -q 'event=end .*failed=0' "$tmp/wine.out"
    done
    for seed in $ROOMS; do
        same "rooms-$seed" tests/rooms --seed "$seed"
        check "windows/rooms-$seed-held" "$(tail -n 1 "$tmp/wine.out")" grep -qx held "$tmp/wine.out"
    done
    same vectors vectors
    check windows/vectors-all "only $(wc -l <"$tmp/wine.out")" test "$(wc -l <"$tmp/wine.out")" -gt 100
    printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "${WINE64:-/usr/lib/wine/wine64}" "$windows/vectors.exe" >"$tmp/vectors"
    chmod +x "$tmp/vectors"
    python3 tests/conformance/decode.py "$tmp/vectors" >"$tmp/decode.log" 2>&1 || show decode
    check windows/conformance "decode.py refuses it" eval '! grep -q ^FAIL "$tmp/decode.log" && grep -q ^ok "$tmp/decode.log"'
    system_dlls keylock-relay.exe vectors.exe tests/sim.exe tests/rooms.exe
}

# Left out: modules without a system's calls that the rooms above run, byte for byte; and those that use what only the other
# systems have.
left_out() {
    case $1 in
    test_lobby_* | test_lock_* | test_participant_* | test_verdict*) ;;
    test_config | test_relay_options | test_settings) ;;                        # setenv() of their own
    test_console | test_relay_log) ;;                                           # pipes of a known size
    test_invitation) ;;                                                        # streams into memory
    test_journal | test_journal_* | test_durability) ;;                        # their folder's links, permissions, full disks
    test_keys | test_known | test_savedir | test_seat_file) ;;                 # the same, and fork()
    test_hashfile) ;;                                                          # /dev/full
    test_world_host) ;;                                                        # Linux's calls, in a core of Linux alone
    test_headless) ;;                                                          # a folder opens for reading
    test_link_hold) ;;                                                         # a child that aborts, by fork()
    *) false ;;
    esac
}

programs=()
for t in tests/unit/test_*.c; do
    t=$(basename "$t" .c)
    left_out "$t" || programs+=("$t")
done
parts_of_unit+=("${programs[@]/%/.exe}")
parts_of_unit=("${parts_of_unit[@]/#test_/tests/test_}")

unit() {
    local name status run=0
    windows_builds "${parts_of_unit[@]}"
    for name in "${programs[@]}"; do
        KL_BUILD=build/windows wine_runs "$windows/tests/$name.exe" >"$tmp/$name.log" 2>&1
        status=$?
        run=$((run + 1))
        [ $status = 0 ] && continue
        fail "windows/$name: exit status $status"
        SHOW_LINES=15 show "$name"
    done
    check windows/unit "$run unit programs" test $run -gt 85
    note "$run unit programs"
}

builds() {
    windows_make keylock.exe tells.exe cores/system_core_libretro.dll "${parts_of_rooms[@]}" "${parts_of_unit[@]}"
    ok windows/built
}

for part in $PARTS; do $part; done
finish
