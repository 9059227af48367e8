# shellcheck shell=sh
# own_apt.sh - to be sourced: an apt of its own for another release or another architecture of Debian, with its own lists and
# an empty list of installed packages. Its mirror is the one that this machine's apt has for Debian, and so are proxies and the
# like; nothing of the machine's is changed.

# own_apt FOLDER deb|deb-src SUITE [ARCHITECTURE]: from here on apt is that one.
own_apt() {
    # shellcheck disable=SC2016
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -E '/debian/?$' | head -n 1)
    [ -n "$mirror" ] || { echo "own_apt: expected a mirror of Debian among this machine's apt sources, found none" >&2; return 1; }
    architecture=${4:-$(dpkg --print-architecture)}
    mkdir -p "$1/lists/partial" "$1/archives/partial"
    : >"$1/status"
    echo "$2 [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $3 main" >"$1/sources.list"
    cat >"$1/conf" <<END
Dir::State "$1";
Dir::State::status "$1/status";
Dir::Cache "$1";
Dir::Etc::sourcelist "$1/sources.list";
Dir::Etc::sourceparts "-";
APT::Sandbox::User "root";
APT::Architecture "$architecture";
APT::Architectures { "$architecture"; };
APT::Install-Recommends "false";
Acquire::Languages "none";
END
    export APT_CONFIG="$1/conf"
    apt-get update -qq >&2
}

# unpack_packages FOLDER ROOT: the archives that were downloaded there, without documents.
unpack_packages() {
    for deb in "$1"/archives/*.deb; do dpkg-deb -x "$deb" "$2"; done
    rm -rf "$2"/usr/share/doc "$2"/usr/share/man "$2"/usr/share/locale
}

# install_missing PACKAGE…: those of this machine's own release that are not installed. One caller at a time: apt waits for no other
# that reads the lists.
install_missing() {
    missing=
    for p; do
        dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q '^install ok installed' || missing="$missing $p"
    done
    [ -n "$missing" ] || return 0
    sudo=
    [ "$(id -u)" = 0 ] || sudo=sudo
    $sudo flock -o /run/keylock-apt sh -c "apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=600 $missing >/dev/null"
}
