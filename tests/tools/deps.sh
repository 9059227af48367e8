#!/bin/sh
# Installs the Debian packages that Keylock builds, tests and shows itself with, where they are missing.
set -eu
packages='build-essential pkg-config git libenet-dev libsodium-dev libzstd-dev libsamplerate0-dev libxxhash-dev libjson-c-dev libcmocka-dev
retroarch retroarch-dev libretro-core-info libretro-nestopia libretro-gambatte libretro-mgba
libretro-beetle-pce-fast libretro-beetle-wswan libretro-bsnes-mercury-performance
cc65 sdcc gcc-arm-none-eabi python3 clang libclang-rt-14-dev
xvfb xdotool imagemagick x11-utils iproute2 tcpdump gnuplot-nox fonts-dejavu-core valgrind
patch xz-utils debian-archive-keyring libx11-dev libx11-xcb-dev libxext-dev libgl1-mesa-dev libfreetype-dev zlib1g-dev libasound2-dev'
command -v npm >/dev/null || packages="$packages npm" # Debian's would clash with another distribution's Node.js

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
echo "installing:$missing"
$sudo apt-get update -qq
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
