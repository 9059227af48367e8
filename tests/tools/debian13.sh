#!/usr/bin/env bash
# debian13.sh [COMMAND] - runs COMMAND (make test) in a clean clone of this checkout's last commit, in a bare root of Debian 13
# of its own under build/debian13, made by debootstrap if it is missing. Needs root. Changes nothing on this machine.
#   FRESH=1  makes the root anew first
set -eu
cd "$(dirname "$0")/../.."
. tests/tools/root.sh
root=$PWD/build/debian13/root
make_root trixie "$root" ca-certificates,git,make
rm -rf "$root/src" "$root/keylock"
git clone -q --bare . "$root/src"
in_root "$root" "git clone -q /src /keylock && cd /keylock && ${*:-make test}"
