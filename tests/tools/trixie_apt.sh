# shellcheck shell=sh
# trixie_apt.sh - to be sourced: an apt of its own for Debian 13, with its own lists and an empty list of installed packages.
# Its mirror is the one that this machine's apt has for Debian, and so are proxies and the like; nothing of the machine's is
# changed.

# trixie_apt FOLDER deb|deb-src: from here on apt is that one.
trixie_apt() {
    # shellcheck disable=SC2016
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -E '/debian/?$' | head -n 1)
    [ -n "$mirror" ] || { echo "trixie_apt: expected a mirror of Debian among this machine's apt sources, found none" >&2; return 1; }
    mkdir -p "$1/lists/partial" "$1/archives/partial"
    : >"$1/status"
    echo "$2 [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" >"$1/sources.list"
    cat >"$1/conf" <<END
Dir::State "$1";
Dir::State::status "$1/status";
Dir::Cache "$1";
Dir::Etc::sourcelist "$1/sources.list";
Dir::Etc::sourceparts "-";
APT::Sandbox::User "root";
APT::Architecture "$(dpkg --print-architecture)";
APT::Install-Recommends "false";
Acquire::Languages "none";
END
    export APT_CONFIG="$1/conf"
    apt-get update -qq >&2
}
