#!/usr/bin/env bash
# 98-windows-rooms.sh - machines of Linux and of Windows, under Wine, in one room, with Debian's cores for both. All hashes are
# equal, also with a late machine, a healed desync and a link that was cut, and through a relay of Windows.
# The first time it builds Debian's sources of the libraries and of three cores, for ten minutes.
#   FRAMES=N  frames of each pair, in place of its own number
#   PARTS='pairs way'  only these
# runs: working, all, 240 s
# limit: 1800
. "$(dirname "$0")/lib.sh"
. tests/e2e/lib_wine.sh

PARTS=${PARTS:-pairs way}
needs "$keylock" "$relay_program" "$wrapper" "$proxy" "$content/shooter.nes"
windows_builds
env HOME="$user_home" TMPDIR=/tmp tests/tools/windows_cores.sh "$windows/cores-of-debian" >"$tmp/cores.log" 2>&1 || { show cores; die "windows: no cores"; }
wine_command keylock "$windows/keylock.exe"
wine_command relay "$windows/keylock-relay.exe"
start_relay --per-address 64

other=windows
other_core() { [ ! -e "$windows/cores-of-debian/$1_libretro.dll" ] || echo "$windows/cores-of-debian/$1_libretro.dll"; }
. tests/e2e/lib_mixed.sh

pairs() {
    pair gambatte pads.gb 10000
    pair nestopia shooter.nes 10000
    pair bsnes_mercury_performance pads.sfc 2500
    by_other_relay pair gambatte pads.gb 2000 -by-windows
    stop other_relay
}

for part in $PARTS; do $part; done
finish
