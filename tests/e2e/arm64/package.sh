#!/usr/bin/env bash
# arm64/package.sh - `make deb ARCH=arm64`: packages for arm64 from this machine, whose programs run under qemu-user. Installing
# them is not tried: bare roots of arm64 are not at hand.
# instead: nothing
# runs: spare, all, 100 s
. "$(dirname "$0")/../lib.sh"
. tests/e2e/lib_arm64.sh

needs "$content/shooter.nes"
env -u MAKEFLAGS -u MAKELEVEL -u CI HOME="$user_home" TMPDIR=/tmp make --no-print-directory deb ARCH=arm64 BUILD=build >"$tmp/deb.log" 2>&1 ||
    { SHOW_LINES=20 show deb; die "arm64-package: make deb ARCH=arm64 fails"; }
export QEMU_LD_PREFIX=$arm64/root

# package NAME LIBRARY FILE…: for arm64, depends on the library, and has the files.
package() {
    local name=$1 library=$2 file deb
    shift 2
    deb=$(ls "$arm64/deb/${name}"_*_arm64.deb) || { fail "arm64-package/$name: no package"; return; }
    check "arm64-package/$name" "$(dpkg-deb -f "$deb" Architecture)" test "$(dpkg-deb -f "$deb" Architecture)" = arm64
    check "arm64-package/$name-depends" "Depends: $(dpkg-deb -f "$deb" Depends)" grep -q "$library" <(dpkg-deb -f "$deb" Depends)
    note "Depends: $(dpkg-deb -f "$deb" Depends)"
    dpkg-deb -c "$deb" >"$tmp/$name.files"
    for file; do check "arm64-package/$name-has-$(basename "$file")" "no $file" grep -q " \./$file\$" "$tmp/$name.files"; done
    dpkg-deb -x "$deb" "$tmp/unpacked"
}

library=usr/lib/aarch64-linux-gnu/libretro/keylock_libretro.so
package keylock-relay libsodium23 usr/bin/keylock-relay etc/keylock/relay.conf usr/share/man/man8/keylock-relay.8.gz
package keylock libjson-c usr/bin/keylock $library usr/share/keylock/shooter.nes usr/share/man/man1/keylock.1.gz

native_game=$content/shooter.nes
check arm64-package/game "the packaged game is another" cmp -s "$native_game" "$tmp/unpacked/usr/share/keylock/shooter.nes"
check arm64-package/relay-runs "it does not say its version" eval 'qemu-aarch64 "$tmp/unpacked/usr/bin/keylock-relay" --version | grep -q "[0-9]"'
if core=$(arm64_core nestopia); then
    qemu-aarch64 "$tmp/unpacked/usr/bin/keylock" run --core "$core" --content "$native_game" --frames 60 --wrapper "$tmp/unpacked/$library" >"$tmp/run.log" 2>&1
    check arm64-package/runs "exit status $?: $(tail -n 1 "$tmp/run.log")" test "$(json run frames)" = 60
else
    skip "arm64-package/runs: no nestopia for arm64"
fi
finish
