#!/bin/sh
# deps.sh [play | demo | relay | deb | big-endian] - installs the Debian packages (12 or 13) that are missing: for building, tests and pictures.
# play: only those that its programs and the bundled game are built from; demo: these, and what make demo runs; relay: the relay; deb: the Debian packages;
# big-endian: the compiler and the emulator of make big-endian.
set -eu
relay='gcc libc6-dev make libenet-dev libsodium-dev libzstd-dev libutf8proc-dev libhiredis-dev'
play='build-essential pkg-config git libenet-dev libsodium-dev libzstd-dev libutf8proc-dev libsamplerate0-dev libxxhash-dev libjson-c-dev zlib1g-dev libopus-dev libspeexdsp-dev libpulse-dev libasound2-dev libarchive-dev libminiupnpc-dev libnatpmp-dev
retroarch-dev libretro-core-info cc65'
tests='libcmocka-dev retroarch libretro-nestopia libretro-gambatte libretro-mgba
libretro-beetle-pce-fast libretro-beetle-wswan libretro-bsnes-mercury-performance
sdcc gcc-arm-none-eabi python3 clang libclang-rt-dev
libmicrohttpd12 prometheus curl libhiredis-dev redis-server chromium minisign openssl
xvfb xdotool imagemagick x11-utils dbus-daemon dbus-session-bus-common iproute2 tcpdump gnuplot-nox fonts-dejavu-core unifont valgrind
cppcheck clang-format patch procps xz-utils debian-archive-keyring libx11-dev libx11-xcb-dev libxext-dev libgl1-mesa-dev libfreetype-dev libasound2-plugins'
demo="$play retroarch libretro-nestopia python3 iproute2 xvfb xdotool x11-utils imagemagick fonts-dejavu-core dbus-daemon dbus-session-bus-common"
case "${1:-}" in
play) packages=$play ;;
demo) packages=$demo ;;
relay) packages=$relay ;;
deb) packages="$play libhiredis-dev debhelper help2man" ;;
big-endian) packages='gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user' ;;
'')
    packages="$play $tests"
    command -v npm >/dev/null || packages="$packages npm" # Debian's would clash with another distribution's Node.js
    command -v pipewire-pulse >/dev/null || packages="$packages pulseaudio pulseaudio-utils" # would take its place
    ;;
*) echo "deps: expected play, demo, relay, deb, big-endian or nothing, got \"$1\"" >&2; exit 2 ;;
esac

missing=
for p in $packages; do
    dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q '^install ok installed' || missing="$missing $p"
done
[ -z "$missing" ] && exit 0

sudo=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "deps: need root or sudo for: apt-get install$missing" >&2; exit 1; }
    sudo=sudo
fi
$sudo apt-get update -qq
# Debian 13 has no libretro-beetle-pce-fast: checks of a missing core are skipped.
wanted=
for p in $missing; do
    if apt-cache show "$p" >/dev/null 2>&1; then wanted="$wanted $p"; else echo "not in this Debian: $p"; fi
done
[ -n "$wanted" ] || exit 0
echo "installing:$wanted"
# shellcheck disable=SC2086
$sudo apt-get install --assume-no --no-install-recommends $wanted 2>/dev/null | grep -E '^(Need to get|After this operation)|newly installed' || :
# shellcheck disable=SC2086
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $wanted >/dev/null
