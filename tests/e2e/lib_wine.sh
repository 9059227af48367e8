# lib_wine.sh - sourced after lib.sh: the programs for Windows, built by `make windows`, run by Wine. Sets $windows, their folder.
# shellcheck shell=bash
windows=$PWD/build/windows

# windows_builds TARGET…: those of build/windows, all programs if none is named; and Wine's prefix, for programs without windows.
windows_builds() {
    windows_make "$@"
    wine_server
}
# wine_server: the server of $WINEPREFIX, until the scenario ends. (One that a program starts ends with the last program, and takes a
# next one with it that begins just then. The first program under it starts Wine's services, and those may write what they like.)
wine_server() {
    running wineserver && return
    ends_by[wineserver]=INT # with the programs of Windows that it runs for others; by TERM it leaves them behind
    start wineserver wineserver -f -p
    eventually 20 compgen -G "$TMPDIR/wine*/server-*/socket" >/dev/null || { show wineserver; die "windows: Wine's server does not start"; }
    wine_runs cmd.exe /c exit >"$tmp/wine_first.log" 2>&1 || { show wine_first; die "windows: Wine runs no program"; }
}
windows_make() {
    mkdir -p "$windows" # one scenario at a time builds there
    env -u MAKEFLAGS -u MAKELEVEL HOME="$user_home" TMPDIR=/tmp flock -o "$windows/.make" make --no-print-directory windows BUILD=build ${1:+WINDOWS="$*"} >"$tmp/windows.log" 2>&1 ||
        { show windows; die "windows: make windows fails"; }
    env HOME="$user_home" TMPDIR=/tmp tests/tools/wine_root.sh build/wine >"$tmp/windows.log" 2>&1 || { show windows; die "windows: no Wine"; }
    . tests/tools/wine_settings.sh
    wine_prefix
}
# wine_prefix: a prefix of this scenario's own, in $prefix, until it ends: the registry and the folders are its own, and other files are
# further names of those in the shared one. In one folder of all, programs of another scenario's server are taken for dead, and
# their files removed.
wine_prefix() {
    [ -z "$prefix" ] || return 0
    prefix=$(mktemp -d build/wine-own.XXXXXX)
    cp -al build/wine/. "$prefix"
    cp --remove-destination build/wine/*.reg "$prefix" # Wine writes into them
    export WINEPREFIX=$PWD/$prefix
}

# windows_fetches cores|retroarch FOLDER [CORE…]: programs of others for Windows, built into that folder of $windows.
windows_fetches() {
    env HOME="$user_home" TMPDIR=/tmp "tests/tools/windows_$1.sh" "$windows/$2" "${@:3}" >"$tmp/fetched.log" 2>&1 || { show fetched; die "windows: no $1"; }
}

# wine_runs PROGRAM ARGUMENT…: one of them, without a display. (Debian's script `wine' has a line of its own about 32 bits.)
wine_runs() { env -u DISPLAY -u WAYLAND_DISPLAY timeout -k 5 400 "${WINE64:-/usr/lib/wine/wine64}" "$@" </dev/null; }

# wine_command NAME PROGRAM: a command $tmp/bin/NAME that runs PROGRAM by Wine.
wine_command() {
    mkdir -p "$tmp/bin"
    printf '#!/bin/sh\nunset DISPLAY WAYLAND_DISPLAY\nexec "%s" "%s" "$@" </dev/null\n' "${WINE64:-/usr/lib/wine/wine64}" "$2" >"$tmp/bin/$1"
    chmod +x "$tmp/bin/$1"
}

# --- RetroArch for Windows ------------------------------------------------------------------------------------

# It draws on $DISPLAY, writes its log to its standard error, and gets paths as this.
wine_path() { echo "Z:$1"; }

# wine_retroarch_builds: what its scenarios need. (The desktop of a prefix is that of its first program: here on this display.)
wine_retroarch_builds() {
    windows_make keylock.exe keylock_libretro.dll
    windows_fetches cores cores-of-debian
    windows_fetches retroarch retroarch-1.20
    sed -i -E "s|^\"(TEMP\|TMP)\"=.*|\"\1\"=\"Z:$tmp/tmp\"|" "$prefix/user.reg"
}

# wine_home NAME [LINE…]: as retroarch_home, for RetroArch for Windows, in the folder $tmp/NAME, with nestopia. The zip's folder Keylock
# lies there, and `keylock install nestopia` has been run, with $options.
options=()
wine_home() {
    local name=$1 at=$tmp/$1
    shift
    retroarch_home "$name" "$@" "libretro_directory = \"$at/cores\"" "libretro_info_path = \"$at/info\"" 'video_driver = "gdi"' \
        'input_driver = "dinput"' 'quit_press_twice = "false"' 'ui_menubar_enable = "false"' \
        'menu_swap_ok_cancel_buttons = "false"'
    sed 's|= "/|= "Z:/|' "$at/config/retroarch/retroarch.cfg" >"$at/retroarch.cfg"
    rm -r "$at/config"
    mkdir -p "$at/cores" "$at/info" "$at/Keylock/games"
    cp "$windows/cores-of-debian/nestopia_libretro.dll" "$at/cores/"
    cp /usr/share/libretro/info/nestopia_libretro.info "$at/info/"
    cp "$windows/retroarch-1.20/retroarch.exe" "$at/" # it makes folders beside itself
    cp "$windows/keylock.exe" "$windows/keylock_libretro.dll" "$at/Keylock/"
    cp "$content/shooter.nes" "$at/Keylock/games/"
    start install "${WINE64:-/usr/lib/wine/wine64}" "$at/Keylock/keylock.exe" install nestopia --name "$name" "${options[@]}"
    ended install 60 || { show install; die "windows: keylock install fails"; }
}

# start_wine NAME PROGRAM ARGUMENT…: with $tmp/NAME.hash, .csv and .log. Its home is NAME without "2". $knows has its other variables.
knows=()
start_wine() {
    start "$1" env XDG_STATE_HOME="$(wine_path "$tmp/${1%2}/state-home")" KEYLOCK_HASH_OUT="$(wine_path "$tmp/$1.hash")" \
        KEYLOCK_TRACE="$(wine_path "$tmp/$1.csv")" "${knows[@]}" "${WINE64:-/usr/lib/wine/wine64}" "${@:2}"
}

# start_wine_retroarch NAME ARGUMENT…: RetroArch for Windows. $desktop is the program that starts it.
desktop=()
start_wine_retroarch() { start_wine "$1" "${desktop[@]}" "$(wine_path "$tmp/${1%2}/retroarch.exe")" -v "${@:2}"; }

# wine_plays NAME CONTENT ARGUMENT…: the same, with the wrapped nestopia of its cores.
wine_plays() { start_wine_retroarch "$1" -L "$(wine_path "$tmp/${1%2}/cores/nestopia_keylock_libretro.dll")" "$(wine_path "$2")" "${@:3}"; }

# taps WINDOW KEY…: together, into the window of RetroArch for Windows. Without a window manager Wine activates a window by a click, and
# some time later.
taps() {
    xdotool mousemove --window "$1" 20 20 click 1
    lasts 0.3 "the change of the active window"
    hold "$1" 0.15 "${@:2}"
    lasts 0.3 "the way of the keys' release"
}
