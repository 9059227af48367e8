#!/bin/sh
# arm64_root.sh FOLDER - a root of Debian's arm64 packages for `make arm64`: the libraries that Keylock is built with, and the
# cores that the tests play. They are unpacked, not installed: arm64 as a second architecture of this machine would take its
# RetroArch away. Installs the cross compiler and qemu-user where they are missing. About 190 MB to fetch, half a minute; a
# folder that is complete is left as it is.
set -eu
. "$(dirname "$0")/own_apt.sh"
mkdir -p "$1"
root=$(realpath "$1")
exec 9>"$root/.lock"
flock 9
cores='nestopia gambatte mgba beetle-pce-fast beetle-wswan bsnes-mercury-accuracy bsnes-mercury-balanced bsnes-mercury-performance'
# The packages are named in this file: a root of another one is completed.
this=$(sha256sum <"$0" | cut -c 1-16)
[ "$(cat "$root/.complete" 2>/dev/null)" = "$this" ] && exit 0

install_missing gcc-aarch64-linux-gnu g++-aarch64-linux-gnu qemu-user

apt=$(mktemp -d)
trap 'rm -rf "$apt"' EXIT
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
own_apt "$apt" deb "$suite" arm64
wanted='libc6-dev libenet-dev libsodium-dev libzstd-dev libutf8proc-dev libsamplerate0-dev libxxhash-dev libjson-c-dev zlib1g-dev
libarchive-dev libminiupnpc-dev libnatpmp-dev libopus-dev libspeexdsp-dev libpulse-dev libasound2-dev libcmocka-dev'
for core in $cores; do
    ! apt-cache show "libretro-$core" >/dev/null 2>&1 || wanted="$wanted libretro-$core"
done
# shellcheck disable=SC2086
packages=$(apt-get install -s $wanted | sed -n 's/^Inst \([^ ]*\).*/\1/p' | grep -vE '^(fonts?-|retroarch|libretro-core-info|libllvm)')
# shellcheck disable=SC2086
(cd "$apt/archives" && apt-get download -qq $packages retroarch-dev >&2) # its headers, and no RetroArch
unpack_packages "$apt" "$root"
# The package, and its version, that each library stands for: `make deb ARCH=arm64` needs them.
for deb in "$apt"/archives/*.deb; do
    dpkg-deb --ctrl-tarfile "$deb" | tar -xO ./shlibs 2>/dev/null || true
done | grep -v '^[a-z-]*: ' >"$root/.shlibs.new"
mv "$root/.shlibs.new" "$root/.shlibs"
echo "$this" >"$root/.complete"
