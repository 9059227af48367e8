#!/bin/sh
# windows_cores.sh FOLDER - Debian's sources of three cores as DLLs, for rooms of Linux and Windows: the versions of Debian 12.
# Installs mingw-w64's C++ compiler where it is missing. Five minutes, once; the archives stay in FOLDER/.sources.
set -eu
. "$(dirname "$0")/own_apt.sh"
. "$(dirname "$0")/pinned.sh"

# suite     package                version                                  archive's file      its SHA-256
pins='
bookworm libretro-nestopia      1.52.0+20230102.gitcb1e24e-1   libretro-nestopia_1.52.0+20230102.gitcb1e24e.orig.tar.xz 2ca43347b3d772d18280196fa5f04a7b19737bde8b9f8da6a8698db3036c3340
trixie   libretro-gambatte      0.5.0+git20160522+dfsg1-3      libretro-gambatte_0.5.0+git20160522+dfsg1.orig.tar.gz d95a6a6aec15a0fc1a41a6225681d42b950a2af9f4cab5d02956d1570e9efa37
bookworm libretro-bsnes-mercury 094+git20220807-8              libretro-bsnes-mercury_094+git20220807.orig.tar.xz f74feb020dcda04799cfc08c0ae87ccac8a0b7584714be5615de951aafa8cce4
'

mkdir -p "$1"
root=$(realpath "$1")
exec 9>"$root/.lock"
flock 9
this=$(cat "$0" "$(dirname "$0")/pinned.sh" | sha256sum | cut -c 1-16)
[ "$(cat "$root/.complete" 2>/dev/null)" = "$this" ] && exit 0
install_missing g++-mingw-w64-x86-64
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sources=$root/.sources
mkdir -p "$sources"
host=x86_64-w64-mingw32

# built PACKAGE FOLDER OPTION…: its DLL, by its own makefile.
built() {
    package=$1 folder=$2
    shift 2
    echo "windows_cores: $package" >&2
    unpacked "$package"
    make -s -C "$work/$package/$folder" platform=win CC=$host-gcc CXX="$host-g++ -I." GIT_VERSION= "$@" >"$work/$package.log" 2>&1 ||
        { tail -n 20 "$work/$package.log" >&2; echo "windows_cores: $package does not build" >&2; exit 1; }
    $host-strip "$work/$package/$folder"/*_libretro.dll
    cp "$work/$package/$folder"/*_libretro.dll "$root/"
}

fetched bookworm
fetched trixie
built libretro-nestopia libretro
built libretro-gambatte . -f Makefile.libretro
built libretro-bsnes-mercury . PROFILE=performance
echo "$this" >"$root/.complete"
