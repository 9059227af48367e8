# lib_arm64.sh - sourced after lib.sh: the programs for arm64, built by `make arm64`, as commands of this machine.
# Sets $arm64, $arm64_keylock and $arm64_relay; dies if they cannot be built.
# shellcheck shell=bash

# qemu-user knows the libraries of the other processor by QEMU_LD_PREFIX.
arm64=$PWD/build/arm64

# arm64_builds TARGET…: those of build/arm64, all programs if none is named. (MAKEFLAGS: of the make that runs this scenario.)
arm64_builds() {
    mkdir -p "$arm64" # one scenario at a time builds there
    env -u MAKEFLAGS -u MAKELEVEL HOME="$user_home" TMPDIR=/tmp flock -o "$arm64/.make" make --no-print-directory arm64 BUILD=build ARM64="$*" >"$tmp/arm64.log" 2>&1 ||
        { show arm64; die "arm64: make arm64 fails"; }
    export QEMU_LD_PREFIX=$arm64/root
}

# emulated NAME PROGRAM: a command $tmp/bin/NAME that runs PROGRAM by qemu-user.
emulated() {
    mkdir -p "$tmp/bin"
    printf '#!/bin/sh\nexec qemu-aarch64 "%s" "$@"\n' "$2" >"$tmp/bin/$1"
    chmod +x "$tmp/bin/$1"
}

# arm64_core NAME: Debian's arm64 build of the core.
arm64_core() {
    local path=$arm64/root/usr/lib/aarch64-linux-gnu/libretro/$1_libretro.so
    [ -e "$path" ] && echo "$path"
}
