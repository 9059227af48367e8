#!/usr/bin/env bash
# windows/world.sh - a core's world on Windows, under Wine: the unit programs of the world, of its archives, of cores and of two
# cores by turns, with the test core linked to msvcrt.dll and to ucrtbase.dll; and what it says of recordings of Linux and of Windows.
# Real cores verify a recording of the other system by its RAM.
#   PARTS='units recordings across'  only these
# instead: nothing
# runs: emulated, all, 80 s
# limit: 2400
. "$(dirname "$0")/../lib.sh"
. tests/e2e/lib_wine.sh

PARTS=${PARTS:-units recordings across}
needs "$keylock" "$test_core" "$content/shooter.nes"
windows_builds keylock.exe cores/probe_core_libretro.dll cores/probe_ucrt_libretro.dll tests/test_{world,emulator,core,world_archive}.exe

# unit CORE TEST…
unit() {
    local core=$1 name
    shift
    for name; do
        KL_BUILD=build/windows KL_PROBE_CORE=$core wine_runs "$windows/tests/test_$name.exe" >"$tmp/unit.log" 2>&1 || show unit
        check "windows-world/$core-$name" "$(grep -m 1 'FAILED' "$tmp/unit.log")" grep -q PASSED "$tmp/unit.log"
        check "windows-world/$core-$name-whole" "some fail" eval '! grep -q FAILED "$tmp/unit.log"'
    done
}
units() {
    unit probe_core world emulator core world_archive
    unit probe_ucrt world emulator
    # The second one has no other C runtime than ucrtbase.dll, by the names that Windows has for its parts.
    check windows-world/ucrt "$(imports probe_ucrt_libretro.dll)" eval 'imports probe_ucrt_libretro.dll | grep -q ^api-ms-win-crt-time-'
    check windows-world/ucrt-alone "$(imports probe_ucrt_libretro.dll)" eval '! imports probe_ucrt_libretro.dll | grep -qi msvcrt'
}
imports() { x86_64-w64-mingw32-objdump -p "$windows/cores/$1" | sed -n 's/.*DLL Name: //p'; }

# there COMMAND ARGUMENT…: the program for Windows.
there() { wine_runs "$windows/keylock.exe" "$@" | tr -d '\r'; return "${PIPESTATUS[0]}"; }

# verified NAME STATUS WORDS COMMAND…: that exit status, and words of its line.
verified() {
    local which=$1 wanted=$2 words=$3 status
    shift 3
    "$@" --content "$content" >"$tmp/$which.log" 2>&1
    status=$?
    check "windows-world/$which" "exit status $status, expected $wanted and \"$words\"; got $(cat "$tmp/$which.log")" \
        eval '[ $status = "$wanted" ] && grep -qF -- "$words" "$tmp/$which.log"'
}

# Windows runs its own recordings again, and describes those of both systems with Linux's words.
recordings() {
    local core=$windows/cores/probe_core_libretro.dll linux=tests/content/recordings/probe.klr file how status planted
    for planted in '' '--corrupt 333:1024'; do
        # shellcheck disable=SC2086
        there run --quiet --core "$core" --content "$content/shooter.nes" --frames 600 --input random:7 --hash-every 60 \
            --record "$tmp/windows${planted:+-planted}.klr" $planted >"$tmp/run.log" 2>&1 || show run
    done
    verified windows-there 0 '(RAM and state)' there verify --core "$core" "$tmp/windows.klr"
    verified planted-there 1 'a desync was planted before frame 333' there verify --core "$core" "$tmp/windows-planted.klr"
    for file in "$linux" "$tmp/windows.klr"; do
        for how in info json text; do
            "$keylock" replay --$how "$file" >"$tmp/here.log" 2>&1
            there replay --$how "$file" >"$tmp/there.log" 2>&1
            check "windows-world/$how-$(basename "$file")" "$(diff "$tmp/here.log" "$tmp/there.log" | head -n 3)" \
                eval 'test -s "$tmp/here.log" && cmp -s "$tmp/here.log" "$tmp/there.log"'
        done
    done
    there verify --watch "$tmp" --database "$tmp/matches.db" >"$tmp/watched.log" 2>&1
    status=$?
    check windows-world/watch "exit status $status: $(cat "$tmp/watched.log")" \
        eval '[ $status = 1 ] && grep -q "work on Linux alone" "$tmp/watched.log"'
}

across() {
    local core game here
    windows_fetches cores cores-of-debian nestopia gambatte
    for core in nestopia gambatte; do
        game=$content/shooter.nes && [ $core = nestopia ] || game=$content/pads.gb
        here=$(core_path $core) || { skip "windows-world/$core: not on this machine"; continue; }
        there run --quiet --core "$windows/cores-of-debian/${core}_libretro.dll" --content "$game" --frames 600 --input random:7 --hash-every 60 \
            --record "$tmp/$core.klr" >"$tmp/run.log" 2>&1 || show run
        verified "$core-of-windows" 0 '(RAM); states do not count: they are of Windows' "$keylock" verify --core "$here" "$tmp/$core.klr"
        verified "$core-of-linux" 0 '(RAM); states do not count: they are of Linux' there verify \
            --core "$windows/cores-of-debian/${core}_libretro.dll" "tests/content/recordings/$core.klr"
    done
}

for part in $PARTS; do $part; done
finish
