#!/bin/sh
# windows_cores.sh FOLDER [CORE…] - Debian's sources of cores as DLLs, for rooms of Linux and Windows: the versions of Debian 12,
# and mgba's of Debian 13. Without names it builds those that CI's rooms need, in five minutes; `all' stands for each of the list
# below, in fifteen. A core that is there is left. The mirrors no longer have the archive of Debian 12's mgba, and a room needs one
# version, so mgba is built for Linux as well, FOLDER/linux/mgba_libretro.so.
# Installs mingw-w64's C++ compiler and CMake where they are missing. The archives stay in FOLDER/.sources.
set -eu
. "$(dirname "$0")/own_apt.sh"
. "$(dirname "$0")/pinned.sh"

# suite     package                  version                          archive's file      its SHA-256
pins='
bookworm libretro-nestopia       1.52.0+20230102.gitcb1e24e-1     libretro-nestopia_1.52.0+20230102.gitcb1e24e.orig.tar.xz 2ca43347b3d772d18280196fa5f04a7b19737bde8b9f8da6a8698db3036c3340
trixie   libretro-gambatte       0.5.0+git20160522+dfsg1-3        libretro-gambatte_0.5.0+git20160522+dfsg1.orig.tar.gz d95a6a6aec15a0fc1a41a6225681d42b950a2af9f4cab5d02956d1570e9efa37
bookworm libretro-bsnes-mercury  094+git20220807-8                libretro-bsnes-mercury_094+git20220807.orig.tar.xz f74feb020dcda04799cfc08c0ae87ccac8a0b7584714be5615de951aafa8cce4
bookworm libretro-beetle-pce-fast 0.9.38.7+git20160609-2          libretro-beetle-pce-fast_0.9.38.7+git20160609.orig.tar.gz e0dd57296666a201f138d8ad87ec747fb5153b564346eb30365105f868ba94b6
bookworm libretro-beetle-wswan   0.9.35.1+git20160623-2           libretro-beetle-wswan_0.9.35.1+git20160623.orig.tar.gz 2cc5bd7bc2203fa542dae3992717c82b1a8ea1bbd5524a305776f0f4e47d27e4
trixie   mgba                    0.10.5+dfsg-1                    mgba_0.10.5+dfsg.orig.tar.xz 8aee6705d2dd0fa1cbfdba2c2c475f630001d855b384849a1a6288e9aa376680
'
# core                    package                  by     what by_make is told: the makefile's folder and its options
cores='
nestopia                  libretro-nestopia        make   libretro
gambatte                  libretro-gambatte        make   libgambatte -f Makefile.libretro
bsnes_mercury_performance libretro-bsnes-mercury   make   . PROFILE=performance
bsnes_mercury_balanced    libretro-bsnes-mercury   make   . PROFILE=balanced
bsnes_mercury_accuracy    libretro-bsnes-mercury   make   . PROFILE=accuracy
mednafen_pce_fast         libretro-beetle-pce-fast make   .
mednafen_wswan            libretro-beetle-wswan    make   .
mgba                      mgba                     cmake
'
host=x86_64-w64-mingw32

mkdir -p "$1"
root=$(realpath "$1")
this=$(realpath "$0")
shift
case ${1:-} in
'') wanted='nestopia gambatte bsnes_mercury_performance' ;;
all) wanted=$(echo "$cores" | awk '{ print $1 }') ;;
*) wanted=$* ;;
esac
for core in $wanted; do
    echo "$cores" | grep -q "^$core " || { echo "windows_cores: expected a core of the list in $0, got \"$core\"" >&2; exit 2; }
done
exec 9>"$root/.lock"
flock 9
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sources=$root/.sources
mkdir -p "$sources"

# by_make FOLDER OPTION…: the core's DLL, by its own makefile.
by_make() {
    folder=$1
    shift
    make -s -C "$folder" platform=win CC=$host-gcc CXX="$host-g++ -I." GIT_VERSION= "$@" && mv "$folder"/*_libretro.dll "$root/"
}

# by_cmake: for Windows and for this Linux. The archive lacks inih, which reads a file of settings; a core has none.
by_cmake() {
    mkdir -p src/third-party/inih "$root/linux"
    echo '#define ini_parse_stream(reader, stream, handler, user) ((void) reader, (void) stream, (void) handler, (void) user, -1)' \
        >src/third-party/inih/ini.h
    options='-DLIBMGBA_ONLY=ON -DBUILD_LIBRETRO=ON -DSKIP_LIBRARY=ON -DSKIP_GIT=ON -DCMAKE_BUILD_TYPE=Release'
    # shellcheck disable=SC2086
    cmake -S . -B windows $options -DCMAKE_SYSTEM_NAME=Windows -DCMAKE_C_COMPILER=$host-gcc -DCMAKE_CXX_COMPILER=$host-g++ \
        -DCMAKE_RC_COMPILER=$host-windres && make -s -C windows mgba_libretro && mv windows/mgba_libretro.dll "$root/" &&
        cmake -S . -B linux $options && make -s -C linux mgba_libretro && mv linux/mgba_libretro.so "$root/linux/"
}

# A core's stamp stands for all that it is made of: with another one it is made anew.
echo "$cores" | while read -r core package by options; do
    echo " $(echo $wanted) " | grep -q " $core " || continue
    pin=$(echo "$pins" | awk -v p="$package" '$2 == p')
    stamp=$(printf '%s\n' "$pin" "$by $options" "$(sed -n "/^by_$by() {/,/^}/p" "$this")" | sha256sum | cut -c 1-16)
    [ "$(cat "$root/.$core" 2>/dev/null)" = "$stamp" ] && continue
    echo "windows_cores: $core" >&2
    install_missing g++-mingw-w64-x86-64 cmake make
    fetched "${pin%% *}"
    unpacked "$package"
    # shellcheck disable=SC2086
    (cd "$work/$package" && by_$by $options) </dev/null >"$work/$core.log" 2>&1 ||
        { tail -n 20 "$work/$core.log" >&2; echo "windows_cores: $core does not build" >&2; exit 1; }
    rm -rf "${work:?}/$package"
    $host-strip "$root/${core}_libretro.dll"
    echo "$stamp" >"$root/.$core"
done
