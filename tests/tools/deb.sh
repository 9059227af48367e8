#!/bin/sh
# deb.sh FOLDER [ROOT ARCHITECTURE] - builds the packages keylock-relay and keylock from this tree's files into FOLDER, with debhelper. The parts of
# debian/ stand with what they describe, in net/relay/debian and core_wrapper/debian; debian/ itself is made here.
# For another architecture ROOT has its libraries (arm64_root.sh); no package of it is installed here.
#   DEB_VERSION  the version (KL_VERSION, and the number of the commit)
set -eu
cd "$(dirname "$0")/../.."
out=$1
program=$(sed -n 's/^#define KL_VERSION "\(.*\)".*/\1/p' net/engine/engine.h)
version=${DEB_VERSION:-$program+r$(git rev-list --count HEAD)}
tests/tools/deps.sh deb
rm -rf "$out"
tree=$out/keylock-$version
mkdir -p "$tree/debian"
git ls-files -co --exclude-standard -z -- Makefile LICENSE net core_wrapper frontend_patch tests | xargs -0 cp --parents -t "$tree"
cp -r net/relay/debian/. core_wrapper/debian/. "$tree/debian"
cat net/relay/debian/control core_wrapper/debian/control >"$tree/debian/control"
printf 'keylock (%s) unstable; urgency=medium\n\n  * As of %s.\n\n -- The Keylock developers <keylock@keylock.example.org>  %s\n' \
    "$version" "$(git log -1 --format='commit %h')" "$(git log -1 --format=%cD)" >"$tree/debian/changelog"
cd "$tree"
foreign=
if [ -n "${2:-}" ]; then
    export KL_ROOT="$2" QEMU_LD_PREFIX="$2"
    cp "$2/.shlibs" debian/shlibs.local
    foreign="-a$3 -d"
fi
# shellcheck disable=SC2086
DEB_BUILD_OPTIONS="parallel=2 noautodbgsym" dpkg-buildpackage -b -uc -us $foreign >"$out/build.log" 2>&1 || { tail -n 30 "$out/build.log" >&2; exit 1; }
cd "$out"
rm -rf "$tree"
ls -- *.deb
