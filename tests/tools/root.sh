# root.sh - bare roots of Debian, made by debootstrap, for tests of programs and packages that must not touch this machine.
# Sourced by debian13.sh and packages.sh; needs root.
# shellcheck shell=bash

# make_root SUITE FOLDER PACKAGES: a root with only the essential packages and these (joined by commas). A folder with a root is left.
# FRESH=1 makes it anew.
make_root() {
    local suite=$1 root=$2 mirror
    [ "$(id -u)" = 0 ] || { echo "${0##*/}: needs root, for debootstrap and a root of its own" >&2; exit 2; }
    command -v debootstrap >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends debootstrap >/dev/null; }
    # shellcheck disable=SC2016
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -E '/debian/?$' | head -n 1)
    [ -n "$mirror" ] || { echo "${0##*/}: expected a mirror of Debian among this machine's apt sources, found none" >&2; exit 1; }
    if [ -n "${FRESH:-}" ] || [ ! -e "$root/.made" ]; then
        rm -rf "$root"
        mkdir -p "$root"
        debootstrap --variant=minbase --include="$3" "$suite" "$root" "$mirror" >"$root.log" 2>&1 ||
            { tail -n 5 "$root.log" >&2; exit 1; }
        touch "$root/.made"
    fi
    # The way to the network is this machine's: its apt settings, names, and certificates.
    cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
    cp /etc/apt/apt.conf.d/* "$root/etc/apt/apt.conf.d/" 2>/dev/null || :
    cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/machine.crt" 2>/dev/null || :
}

# in_root FOLDER COMMAND: runs a shell's COMMAND there, in a process, mount and host name space of its own: every process left
# running ends with it. The root is mounted on itself, for `ip netns` needs a root that is a mount.
in_root() {
    unshare --mount --pid --uts --fork --kill-child --mount-proc="$1/proc" sh -c '
        mount --rbind "$1" "$1" && mount --rbind /dev "$1/dev" && mount -t tmpfs tmpfs "$1/dev/shm" && mount -t tmpfs tmpfs "$1/tmp" && mount --rbind /sys "$1/sys" &&
        exec chroot "$1" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive CI="$3" \
            NODE_EXTRA_CA_CERTS=/etc/ssl/certs/machine.crt npm_config_cafile=/etc/ssl/certs/machine.crt sh -c "$2"' \
        sh "$1" "$2" "${CI:-}"
}
