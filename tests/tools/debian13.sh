#!/usr/bin/env bash
# debian13.sh [COMMAND] - runs COMMAND (make test) in a clean clone of this checkout's last commit, in a bare root of Debian 13
# of its own under build/debian13, made by debootstrap if it is missing. Needs root. Changes nothing on this machine.
#   FRESH=1  makes the root anew first
set -eu
cd "$(dirname "$0")/../.."
[ "$(id -u)" = 0 ] || { echo "debian13: needs root, for debootstrap and a root of its own" >&2; exit 2; }
command -v debootstrap >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends debootstrap >/dev/null; }
top=$PWD
root=$top/build/debian13/root
# shellcheck disable=SC2016
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -E '/debian/?$' | head -n 1)
[ -n "$mirror" ] || { echo "debian13: expected a mirror of Debian among this machine's apt sources, found none" >&2; exit 1; }

if [ -n "${FRESH:-}" ] || [ ! -e "$root/.made" ]; then
    rm -rf "$root"
    mkdir -p "$root"
    debootstrap --variant=minbase --include=ca-certificates,git,make trixie "$root" "$mirror" >"$root.log" 2>&1 ||
        { tail -n 5 "$root.log" >&2; exit 1; }
    touch "$root/.made"
fi
# The way to the network is this machine's: its apt settings, names, and certificates.
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
cp /etc/apt/apt.conf.d/* "$root/etc/apt/apt.conf.d/" 2>/dev/null || :
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/machine.crt"
rm -rf "$root/src" "$root/keylock"
git clone -q --bare . "$root/src"

# A process, mount and host name space of its own: every process left running ends with it. The root is mounted on itself, for
# `ip netns` needs a root that is a mount.
exec unshare --mount --pid --uts --fork --kill-child --mount-proc="$root/proc" sh -c '
    mount --rbind "$1" "$1" && mount --rbind /dev "$1/dev" && mount -t tmpfs tmpfs "$1/dev/shm" && mount -t tmpfs tmpfs "$1/tmp" && mount --rbind /sys "$1/sys" &&
    exec chroot "$1" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 CI="$3" \
        NODE_EXTRA_CA_CERTS=/etc/ssl/certs/machine.crt npm_config_cafile=/etc/ssl/certs/machine.crt sh -c "
            git clone -q /src /keylock && cd /keylock && $2"' sh "$root" "${*:-make test}" "${CI:-}"
