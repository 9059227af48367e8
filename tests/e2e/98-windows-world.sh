#!/usr/bin/env bash
# 98-windows-world.sh - a core's world on Windows, under Wine: the unit programs of the world, of its archives, of cores and of two
# cores by turns, with the test core linked to msvcrt.dll and to ucrtbase.dll.
# runs: working, all, 60 s
# limit: 2400
. "$(dirname "$0")/lib.sh"
. tests/e2e/lib_wine.sh

windows_builds cores/probe_core_libretro.dll cores/probe_ucrt_libretro.dll tests/test_{world,emulator,core,world_archive}.exe

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
unit probe_core world emulator core world_archive
unit probe_ucrt world emulator

# The second one has no other C runtime than ucrtbase.dll, by the names that Windows has for its parts.
imports() { x86_64-w64-mingw32-objdump -p "$windows/cores/$1" | sed -n 's/.*DLL Name: //p'; }
check windows-world/ucrt "$(imports probe_ucrt_libretro.dll)" eval 'imports probe_ucrt_libretro.dll | grep -q ^api-ms-win-crt-time-'
check windows-world/ucrt-alone "$(imports probe_ucrt_libretro.dll)" eval '! imports probe_ucrt_libretro.dll | grep -qi msvcrt'
finish
