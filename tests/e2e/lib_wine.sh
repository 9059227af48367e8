# lib_wine.sh - sourced after lib.sh: the programs for Windows, built by `make windows`, run by Wine. Sets $windows, their folder.
# shellcheck shell=bash
windows=$PWD/build/windows

# windows_builds TARGET…: those of build/windows, all programs if none is named; and Wine's prefix.
windows_builds() {
    mkdir -p "$windows" # one scenario at a time builds there
    env -u MAKEFLAGS -u MAKELEVEL HOME="$user_home" TMPDIR=/tmp flock -o "$windows/.make" make --no-print-directory windows BUILD=build ${1:+WINDOWS="$*"} >"$tmp/windows.log" 2>&1 ||
        { show windows; die "windows: make windows fails"; }
    env HOME="$user_home" TMPDIR=/tmp tests/tools/wine_root.sh build/wine >"$tmp/windows.log" 2>&1 || { show windows; die "windows: no Wine"; }
    export WINEPREFIX=$PWD/build/wine WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml=;winedbg.exe=d;winemenubuilder.exe=d'
    # The server outlasts the time between two programs: one that ends just then would take the next program with it.
    wineserver -p30 >/dev/null 2>&1
}

# wine_runs PROGRAM ARGUMENT…: one of them, without a display. Wine's server ends by itself 30 s after the last program.
# (Debian's script `wine' has a line of its own about 32 bits.)
wine_runs() { env -u DISPLAY -u WAYLAND_DISPLAY timeout -k 5 400 "${WINE64:-/usr/lib/wine/wine64}" "$@" </dev/null; }

# wine_command NAME PROGRAM: a command $tmp/bin/NAME that runs PROGRAM by Wine.
wine_command() {
    mkdir -p "$tmp/bin"
    printf '#!/bin/sh\nunset DISPLAY WAYLAND_DISPLAY\nexec "%s" "%s" "$@" </dev/null\n' "${WINE64:-/usr/lib/wine/wine64}" "$2" >"$tmp/bin/$1"
    chmod +x "$tmp/bin/$1"
}
