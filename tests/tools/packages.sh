#!/usr/bin/env bash
# packages.sh [bookworm | trixie | container | walk]... - the packages of build/deb in bare roots of Debian; all parts by default, as root.
# bookworm, trixie
#   They install, upgrade (an edited relay.conf stays) and are purged without a trace, and systemd-analyze verifies the
#   units.
# container
#   buildah makes the image of net/relay/Containerfile, on a bare root in place of the base image, and the relay runs in it.
# walk
#   In a bookworm that is booted in a container with its own systemd: the blocks of docs/hosting.md, "From the package" and
#   "A verifier beside the relay", as they stand, and with the link that the first shows two players to their first match, against
#   the clock. A restart of the unit and an upgrade of the package end no frame of that match. Its recording gets its verdict.
set -u
cd "$(dirname "$0")/../.." || exit
. tests/tools/root.sh
deb=$PWD/build/deb
failed=0
FIVE_MINUTES=300

ok() { echo "ok packages/$*"; }
fail() {
    echo "FAIL packages/$*"
    failed=1
}
check() { # NAME WHY COMMAND…
    local name=$1 why=$2
    shift 2
    if "$@"; then ok "$name"; else fail "$name: $why"; fi
}
# eventually SECONDS COMMAND…
eventually() {
    local until=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $until ] || return 1
        sleep 0.2
    done
}

# copy_root SUITE NAME: a fresh copy of the bare root, with the packages in its /root; sets $root.
copy_root() {
    make_root "$1" "$PWD/build/roots/$1" ca-certificates
    root=$PWD/build/roots/$2
    rm -rf "$root"
    cp -a "build/roots/$1" "$root"
    cp "$deb"/*.deb "$root/root"
}

# newer: the same packages under a higher version, in $deb/newer.
newer() {
    local p dir
    rm -rf "$deb/newer"
    for p in "$deb"/*.deb; do
        dir=$deb/newer/tree
        mkdir -p "$dir"
        dpkg-deb -R "$p" "$dir"
        sed -i 's/^Version: .*/&.newer/' "$dir/DEBIAN/control"
        dpkg-deb --root-owner-group -b "$dir" "$deb/newer" >/dev/null
        rm -rf "$dir"
    done
}

files_of() { (cd "$1" && find etc usr lib var/lib -xdev ! -path 'var/lib/dpkg/*' ! -path 'var/lib/apt/*' ! -path 'var/lib/systemd/*' \
    ! -name '*.dpkg-*' ! -name '__pycache__' 2>/dev/null | grep -i keylock | sort); }

plain() { # SUITE
    local status unit
    copy_root "$1" "$1-plain"
    cp -r "$deb/newer" "$root/root"
    in_root "$root" 'apt-get update -qq && apt-get install -y -qq --no-install-recommends /root/*.deb' >"$root.log" 2>&1
    status=$?
    check "$1/installs" "exit status $status: $(tail -n 3 "$root.log")" test $status = 0
    du -sm --exclude=proc "build/roots/$1" "$root" | awk '{ print "     " $1 " MB " $2 }'
    check "$1/runs" "neither program says its version" in_root "$root" 'keylock-relay --version && keylock --version'
    check "$1/wrapper" "the wrapper does not load" in_root "$root" 'ldd /usr/lib/*/libretro/keylock_libretro.so | grep -c "not found" | grep -qx 0'
    echo "port = 6000 # ours" >>"$root/etc/keylock/relay.conf"
    mkdir -p "$root/var/lib/private/keylock-relay"
    in_root "$root" 'apt-get install -y -qq --no-install-recommends /root/newer/*.deb' >"$root.log" 2>&1
    status=$?
    check "$1/upgrades" "exit status $status: $(tail -n 3 "$root.log")" test $status = 0
    check "$1/upgraded" "dpkg knows no newer version" in_root "$root" 'dpkg-query -W keylock keylock-relay | grep -c newer | grep -qx 2'
    check "$1/keeps-settings" "relay.conf has lost its line" grep -q '^port = 6000 # ours' "$root/etc/keylock/relay.conf"
    in_root "$root" 'apt-get install -y -qq --no-install-recommends systemd' >"$root.log" 2>&1
    for unit in keylock-relay keylock-verify; do
        in_root "$root" "systemd-analyze --man=no verify /lib/systemd/system/$unit.service" >"$root.log" 2>&1
        status=$?
        check "$1/unit-$unit" "exit status $status: $(head -n 3 "$root.log")" test $status = 0 -a ! -s "$root.log"
        in_root "$root" "systemd-analyze security --offline=true --threshold=15 --no-pager $unit.service" >"$root.log" 2>&1
        status=$?
        check "$1/exposure-$unit" "exit status $status: $(tail -n 1 "$root.log")" test $status = 0
        tail -n 1 "$root.log" | sed 's/^/     /'
    done
    check "$1/verifier-waits" "a unit that nobody has asked for is enabled" \
        in_root "$root" 'test ! -e /etc/systemd/system/multi-user.target.wants/keylock-verify.service'
    in_root "$root" 'apt-get purge -y -qq keylock keylock-relay' >"$root.log" 2>&1
    status=$?
    check "$1/purges" "exit status $status: $(tail -n 3 "$root.log")" test $status = 0
    check "$1/leaves-nothing" "left: $(files_of "$root" | head -n 5 | tr '\n' ' ')" test -z "$(files_of "$root")"
    rm -rf "$root"
}

# --- a booted machine, and the players' -----------------------------------------------------------------------------

# on_server COMMAND: in the container.
on_server() { nsenter -t "$leader" -m -u -i -n -p -r -w env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 sh -ec "cd /root; $1"; }
up() { leader=$(pgrep -P "$container" | head -n 1) && [ -n "$leader" ] && on_server 'systemctl is-active -q basic.target' 2>/dev/null; }

boot() {
    local keep=
    command -v systemd-nspawn >/dev/null || apt-get install -y -qq --no-install-recommends systemd-container >/dev/null
    [ -S /run/dbus/system_bus_socket ] || keep=--keep-unit
    # shellcheck disable=SC2086
    systemd-nspawn --quiet --boot --register=no $keep --console=pipe -D "$root" >"$root.boot" 2>&1 </dev/null &
    container=$!
    trap 'kill -KILL $(pgrep -P $container) 2>/dev/null; wait $container' EXIT # the machine is thrown away
    eventually 60 up
}

block() { awk -v title="$1" '/^#+ / { there = substr($0, length($0) - length(title) + 1) == title } there && /^```sh/ { on = 1; next } /^```/ { on = 0 } on' docs/hosting.md; }

# judge_verifier: its process has what the processors leave over, no network, and of all folders only the recordings to write in.
judge_verifier() {
    check walk/verifier "$(on_server 'systemctl status --no-pager -l keylock-verify; journalctl --no-pager -u keylock-verify' 2>&1 | tail -n 5)" \
        eventually 20 on_server 'systemctl is-active -q keylock-verify; test "$(stat -c %U /proc/$(systemctl show -p MainPID --value keylock-verify))" != root'
    check walk/verifier-idle "it competes with the relay" \
        on_server 'p=$(systemctl show -p MainPID --value keylock-verify); test "$(cut -d " " -f 41 /proc/$p/stat)" = 5; ionice -p $p | grep -q idle'
    check walk/verifier-memory "$(on_server 'systemctl show -p MemoryMax keylock-verify')" \
        on_server 'test "$(systemctl show -p MemoryMax --value keylock-verify)" = 2147483648'
    check walk/verifier-alone "it has a network, rights, a folder to write in, or sees the relay's key" on_server '
        p=$(systemctl show -p MainPID --value keylock-verify)
        test "$(grep -c : /proc/$p/net/dev)" = 1
        grep -q "NoNewPrivs:.1" /proc/$p/status; grep -q "Seccomp:.2" /proc/$p/status; grep -q "CapBnd:.0*$" /proc/$p/status
        ! nsenter -t $p -m touch /etc/keylock-verify /usr/keylock-verify /var/lib/keylock-verify 2>/dev/null
        test "$(nsenter -t $p -m ls /var/lib/private/keylock-relay)" = recordings
        test -e /var/lib/private/keylock-relay/relay.key'
}
is_verified() { on_server 'keylock verify --database /var/lib/keylock-relay/recordings/matches.db --list verdicts' 2>/dev/null | grep -q verified; }

seconds() { echo $((SECONDS - begun)); }
frames() { # NAME: that this player has run
    tail -n 1 "$players/root/$1.csv" 2>/dev/null | cut -d , -f 3
}
is_at() { local n; n=$(frames "$1"); [[ $n =~ ^[0-9]+$ ]] && [ "$n" -ge "$2" ]; }
both_at() { is_at ada "$1" && is_at ben "$1"; }

walk() {
    local link at players leader playing status
    copy_root bookworm players
    players=$root
    copy_root bookworm server
    cp -r "$deb/newer" "$root/root"
    in_root "$root" 'apt-get update -qq && apt-get install -y -qq --no-install-recommends systemd systemd-sysv dbus' >"$root.log" 2>&1
    rm -rf "$root"/var/lib/apt/lists/*
    boot || { tail -n 5 "$root.boot"; fail "walk: the container does not boot"; return; }
    begun=$SECONDS
    on_server "$(block "From the package")" >"$root.log" 2>&1
    status=$?
    check walk/host "exit status $status: $(tail -n 3 "$root.log")" test $status = 0
    echo "     the relay runs after $(seconds) s"
    sed 's/^/     /' "$root.log" | grep 'event=' | cut -c 1-200
    link=$(grep -o 'keylock://[^ ]*' "$root.log" | tail -n 1)
    check walk/link "no link" test -n "$link"
    on_server "$(block "A verifier beside the relay")" >"$root.verifier" 2>&1
    status=$?
    check walk/records "exit status $status: $(tail -n 3 "$root.verifier")" test $status = 0
    judge_verifier
    # Two players of one machine, by Debian's nestopia and the packaged game.
    in_root "$players" 'apt-get update -qq && apt-get install -y -qq --no-install-recommends /root/keylock_*.deb libretro-nestopia' >"$players.log" 2>&1
    status=$?
    check walk/players "exit status $status: $(tail -n 3 "$players.log")" test $status = 0
    echo "     the players have it after $(seconds) s"
    in_root "$players" "cd /root; for player in ada ben; do
            keylock run --quiet --link '$link' --core nestopia --content /usr/share/keylock/shooter.nes --name \$player --frames 1800 --speed real \
                --input random:\$\$ --wait 60 --trace \$player.csv --hash-out \$player.hash >\$player.log 2>&1 & all=\"\$all \$!\"
        done; for p in \$all; do wait \$p || exit; done" &
    playing=$!
    eventually 60 both_at 60 || { tail -n 3 "$players"/root/*.log; fail "walk/plays: no match"; return; }
    at=$(seconds)
    check walk/five-minutes "$at s" test "$at" -lt $FIVE_MINUTES
    echo "     two players have played a second of their first match after $at s"
    check walk/sandbox "the relay's process may do more" on_server 'p=$(systemctl show -p MainPID --value keylock-relay)
        grep -qx "NoNewPrivs:.1" /proc/$p/status; grep -qx "Seccomp:.2" /proc/$p/status; grep -q "CapBnd:.0*$" /proc/$p/status; [ "$(stat -c %u /proc/$p)" -gt 1000 ]'
    on_server 'systemd-analyze security --no-pager keylock-relay 2>/dev/null | tail -n 1' | sed 's/^/     /'
    check walk/restart "systemctl restart fails" on_server 'systemctl restart keylock-relay'
    at=$(frames ada)
    check walk/after-restart "the match stands still after a restart" eventually 20 both_at $((at + 300))
    check walk/upgrade "$(tail -n 3 "$root.log")" on_server 'apt-get install -y -qq /root/newer/keylock-relay_*.deb >/dev/null 2>&1'
    wait $playing
    status=$?
    check walk/ends "exit status $status: $(tail -n 1 "$players"/root/*.log)" test $status = 0
    check walk/equal "the players' hashes differ" in_root "$players" 'keylock diff /root/ada.hash /root/ben.hash'
    check walk/verdict "$(on_server 'ls -lR /var/lib/keylock-relay/recordings; journalctl --no-pager -u keylock-verify' 2>&1 | tail -n 12)" eventually 90 is_verified
    on_server 'keylock verify --database /var/lib/keylock-relay/recordings/matches.db --list verdicts' | sed 's/^/     /'
    on_server 'journalctl --no-pager -u keylock-relay' >"$root.log" 2>/dev/null
    check walk/lives "$(grep -c event=invitation "$root.log") lives" test "$(grep -c event=invitation "$root.log")" = 4
    check walk/kept "a restart kept no room" test "$(grep -c 'event=stopping .*rooms=1 .*kept=1' "$root.log")" = 2
    check walk/purges "apt-get purge fails" on_server 'apt-get purge -y -qq keylock-relay >/dev/null 2>&1; ! systemctl is-active -q keylock-relay; test ! -e /var/lib/private/keylock-relay'
}

# --- the image ------------------------------------------------------------------------------------------------------

# The base image is not pulled: the bare root stands in for debian:12-slim, under its name.
container() {
    local store=$PWD/build/roots/images base image status
    command -v buildah >/dev/null || apt-get install -y -qq --no-install-recommends buildah >/dev/null
    make_root bookworm "$PWD/build/roots/bookworm" ca-certificates
    rm -rf "$store"
    b() { buildah --root "$store/root" --runroot "$store/run" --storage-driver vfs "$@"; }
    base=$(b from scratch) && cp -a build/roots/bookworm/. "$(b mount "$base")" && b umount "$base" >/dev/null &&
        b commit -q --rm "$base" docker.io/library/debian:12-slim >/dev/null
    b build --isolation chroot --pull=never -q -f net/relay/Containerfile -t keylock-relay . >"$store/log" 2>&1
    status=$?
    check container/builds "exit status $status: $(tail -n 3 "$store/log")" test $status = 0
    check container/user "$(b inspect --type image --format '{{.OCIv1.Config.User}}' keylock-relay)" \
        test "$(b inspect --type image --format '{{.OCIv1.Config.User}}' keylock-relay)" = 65532:65532
    image=$(b from --pull=never keylock-relay)
    # shellcheck disable=SC2046
    timeout 5 buildah --root "$store/root" --runroot "$store/run" --storage-driver vfs run --isolation chroot "$image" -- \
        $(b inspect --type image --format '{{.OCIv1.Config.Entrypoint}}' keylock-relay | tr -d '[]') --port 0 >"$store/log" 2>&1
    check container/runs "$(tail -n 3 "$store/log")" grep -q event=listening "$store/log"
    du -sm "$(b mount "$image")" | awk '{ print "     " $1 " MB" }'
    rm -rf "$store"
}

ls "$deb"/*.deb >/dev/null || exit 1
newer
for part in ${*:-bookworm trixie container walk}; do
    case $part in container | walk) $part ;; *) plain "$part" ;; esac
done
exit $failed
