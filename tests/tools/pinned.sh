# shellcheck shell=sh
# pinned.sh - to be sourced, after own_apt.sh: source archives of Debian whose versions and sums a script names. It sets
#   pins     lines "SUITE PACKAGE VERSION FILE SHA-256"
#   sources  the folder in which the archives stay
#   work     a folder for this run alone

# fetched SUITE: all archives of that suite that are not there yet, by an apt of its own.
fetched() {
    echo "$pins" | while read -r suite package version file sum; do
        [ "$suite" = "$1" ] || continue
        if ! echo "$sum  $sources/$file" | sha256sum -c --status 2>/dev/null; then
            [ -d "$work/$suite" ] || own_apt "$work/$suite" deb-src "$suite" || exit 1
            export APT_CONFIG="$work/$suite/conf"
            only=--tar-only
            case $file in *.debian.tar.*) only=--diff-only ;; esac
            (cd "$sources" && apt-get source -qq --download-only $only "$package=$version" >&2) || exit 1
            echo "$sum  $sources/$file" | sha256sum -c --quiet >&2 || exit 1
        fi
    done
}

# unpacked PACKAGE: into $work/PACKAGE, with Debian's changes where they are pinned.
unpacked() {
    mkdir -p "$work/.$1"
    tar -xf "$sources/$(echo "$pins" | awk -v p="$1" '$2 == p && $4 ~ /orig/ { print $4 }')" -C "$work/.$1"
    # Most archives have one folder around all.
    if [ "$(ls "$work/.$1" | wc -l)" = 1 ]; then mv "$work/.$1"/* "$work/$1"; else mv "$work/.$1" "$work/$1"; fi
    changes=$(echo "$pins" | awk -v p="$1" '$2 == p && $4 ~ /debian/ { print $4 }')
    [ -n "$changes" ] || return 0
    tar -xf "$sources/$changes" -C "$work/$1"
    grep -v '^#' "$work/$1/debian/patches/series" | while read -r change; do
        patch -s -p1 -d "$work/$1" <"$work/$1/debian/patches/$change" || exit 1
    done
}
