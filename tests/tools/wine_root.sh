#!/bin/sh
# wine_root.sh FOLDER - a Wine prefix for tests of the programs for Windows (64 bits only). Installs Wine where it is missing. A
# minute and 700 MB, once; a folder that is complete is left as it is.
set -eu
. "$(dirname "$0")/own_apt.sh"
mkdir -p "$1"
root=$(realpath "$1")
exec 9>"$root/.lock"
flock 9
[ -e "$root/.complete" ] && exit 0

install_missing wine wine64

# wineserver inherits no lock.
. "$(dirname "$0")/wine_settings.sh"
export WINEPREFIX="$root" WINEARCH=win64
unset DISPLAY WAYLAND_DISPLAY
log=$(mktemp)
trap 'rm -f "$log"' EXIT
timeout 300 wineboot --init >"$log" 2>&1 9>&- || { tail -n 5 "$log" >&2; echo "wine_root: wineboot fails" >&2; exit 1; }
timeout 60 wineserver -w 9>&- || timeout 20 wineserver -k 9>&-
[ -e "$root/system.reg" ] || { echo "wine_root: expected $root/system.reg, found none" >&2; exit 1; }
: >"$root/.complete"
