#!/usr/bin/env bash
# tool/usage.sh - help, version and wrong usage of keylock, of all its commands and of keylock-relay: alike everywhere.
#
# The commands are those of keylock's own list, the options those of each command's own help.
# runs: working, test, 5 s
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program"
faults=0

wrong() { # TEXT
    fail "usage/$name: $1"
    faults=$((faults + 1))
}

# call ARGUMENT…: its output in $tmp/out and $tmp/err, its status in $status.
call() {
    timeout 10 "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    status=$?
}

# shows FILE ARGUMENT…: prints that on standard output, nothing else, with status 0.
shows() {
    local file=$1
    shift
    call "$@"
    [ "$status" = 0 ] && [ ! -s "$tmp/err" ] && cmp -s "$tmp/out" "$file" ||
        wrong "${*:2}: status $status, $(wc -l <"$tmp/out") lines, $(head -n 1 "$tmp/err")"
}

# refuses HINT ARGUMENT…: status 2, one line with the expected and the actual value and a hint at the help.
refuses() {
    local hint=$1
    shift
    call "$@"
    if [ "$status" != 2 ] || [ -s "$tmp/out" ] || [ "$(wc -l <"$tmp/err")" != 1 ] ||
        ! grep -q "^${hint%% --help}: .*expected .*got .*; see $hint\$" "$tmp/err"; then
        wrong "${*:2}: status $status: $(head -n 2 "$tmp/err" "$tmp/out" | tr '\n' ' ')"
    fi
}

# each COMMAND…: the checks that all commands share; their help is in $tmp/help.
each() {
    local hint="keylock $name --help" option value
    [ "$1" != "$relay_program" ] || hint="${name/-ctl/ ctl} --help"
    faults=0
    check "usage/$name-help" "status $status: $(head -n 1 "$tmp/err")" \
        test "$status" = 0 -a ! -s "$tmp/err" -a "$(head -c 6 "$tmp/help")" = Usage:
    shows "$tmp/help" "$@" -h
    shows "$tmp/version" "$@" --version
    shows "$tmp/version" "$@" -V
    refuses "$hint" "$@" --no-such-option
    refuses "$hint" "$@" -x
    # "--frames N", "--core NAME_OR_PATH", "--speed max|real": without their value; numbers also with another
    while read -r option value; do
        refuses "$hint" "$@" "$option"
        case $value in N | K | H | P | S | MS | SECONDS | PID) refuses "$hint" "$@" "$option" 12x ;; esac
    done < <(grep -oE -- '(^ +|, )--[a-z-]+ +([A-Z]+|max|on|virtual|watch)\b' "$tmp/help" | sed 's/^[ ,]*//' | sort -u)
    refuses "$hint" "$@" --help=yes
    [ $faults != 0 ] || ok "usage/$name: $(grep -c -- '--' "$tmp/help") lines with options"
}

# --- keylock -----------------------------------------------------------------------------------------------------

name=keylock
call "$keylock" --help
cp "$tmp/out" "$tmp/help"
check usage/keylock-help "status $status" test "$status" = 0 -a ! -s "$tmp/err"
for word in -h help; do shows "$tmp/help" "$keylock" $word; done
call "$keylock" --version
cp "$tmp/out" "$tmp/version"
check usage/keylock-version "$(cat "$tmp/out")" grep -qE '^keylock [0-9.]+, protocol [0-9]+$' "$tmp/out"
shows "$tmp/version" "$keylock" -V
for words in "" nonsense --nonsense "help nonsense" "help run diff" "--version more"; do
    # shellcheck disable=SC2086
    refuses "keylock --help" "$keylock" $words
done
mapfile -t commands < <(sed -nE 's/^  ([a-z]+)  .*/\1/p' "$tmp/help")
check usage/keylock-commands "only ${commands[*]}" test ${#commands[@]} -ge 10

for name in "${commands[@]}"; do
    call "$keylock" "$name" --help
    cp "$tmp/out" "$tmp/help"
    each "$keylock" "$name"
    shows "$tmp/help" "$keylock" help "$name"
    # A command that needs more than itself; and one that takes no such word, or not so many.
    head -n 1 "$tmp/help" | grep -qE '^Usage: keylock [a-z]+ \[OPTIONS\]$' || refuses "keylock $name --help" "$keylock" "$name"
    head -n 1 "$tmp/help" | grep -q '\.\.\.' || refuses "keylock $name --help" "$keylock" "$name" one two three
done

# --- keylock-relay ------------------------------------------------------------------------------------------------

name=keylock-relay
sed 's/^keylock/keylock-relay/' "$tmp/version" >"$tmp/relay-version" && mv "$tmp/relay-version" "$tmp/version"
call "$relay_program" --help
cp "$tmp/out" "$tmp/help"
each "$relay_program"
shows "$tmp/help" "$relay_program" help
name=keylock-relay-ctl
call "$relay_program" ctl --help
cp "$tmp/out" "$tmp/help"
each "$relay_program" ctl
for words in "" dance "who" "kick ${tmp//\//x} $(printf %500s | tr ' ' x)"; do
    # shellcheck disable=SC2086
    refuses "keylock-relay ctl --help" "$relay_program" ctl $words
done
call "$relay_program" --check --rooms 50
check usage/relay-check "$(cat "$tmp/out" "$tmp/err")" grep -q '^in order: 50 rooms, 400 players, ' "$tmp/out"
# A system as Debian is without the package's sysctl.d file.
cat >"$tmp/small.c" <<'END'
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
int getsockopt(int s, int level, int name, void *value, socklen_t *len) {
    int result = (int)syscall(SYS_getsockopt, s, level, name, value, len);
    if (level == SOL_SOCKET && (name == SO_RCVBUF || name == SO_SNDBUF)) *(int *)value = 2 * 212992;
    return result;
}
END
gcc -shared -fPIC -o "$tmp/small.so" "$tmp/small.c"
call env LD_PRELOAD="$tmp/small.so" "$relay_program" --check
check usage/relay-small-buffer "exit status $status: $(cat "$tmp/out" "$tmp/err")" \
    grep -q '2048 players need 510848 bytes .* allows 212992; as root: sysctl -w net.core.rmem_max=4194304 net.core.wmem_max=4194304$' "$tmp/err"
check usage/relay-small-buffer-status "$status" test "$status" = 1
call setpriv --bounding-set=-sys_resource --inh-caps=-sys_resource sh -c 'ulimit -n 64 && exec "$0" --check --rooms 500' "$relay_program"
check usage/relay-few-files "exit status $status: $(cat "$tmp/out" "$tmp/err")" grep -q '500 rooms need [0-9]* open files, the system allows 64' "$tmp/err"
refuses "keylock-relay --help" "$relay_program" nonsense
refuses "keylock-relay --help" "$relay_program" --shards 2 --console
refuses "keylock-relay --help" "$relay_program" --fleet http://127.0.0.1
refuses "keylock-relay --help" "$relay_program" --fleet rediss://127.0.0.1
refuses "keylock-relay --help" "$relay_program" --fleet redis://127.0.0.1
touch "$tmp/login" && chmod 644 "$tmp/login"
call "$relay_program" --fleet redis://127.0.0.1 --host 127.0.0.1 --fleet-login "$tmp/login"
check usage/relay-open-login "exit status $status: $(cat "$tmp/err")" test "$status" = 1 -a "$(grep -c 'login' "$tmp/err")" = 1

# The operator's words for a relay that runs: of two processes, then of one.
ctl() { call "$relay_program" ctl --control "$tmp/control" "$@"; }
for processes in 2 1; do
    name=ctl-$processes
    start_relay --shards $processes --control "$tmp/control"
    [ $processes = 1 ] || check "usage/$name-shards" "not two processes: $(cat "$tmp/relay.log")" \
        eval "said relay 'shard=0/2' 5 && said relay 'shard=1/2' 5"
    ctl rooms
    check "usage/$name-rooms" "status $status: $(cat "$tmp/out" "$tmp/err")" test "$status $(cat "$tmp/out")" = "0 ok rooms=0 members=0"
    ctl status
    check "usage/$name-status" "status $status: $(cat "$tmp/out" "$tmp/err")" \
        test "$status $(cut -d ' ' -f 1 "$tmp/out" | tr '\n' ' ')" = "0 sessions taken dropped strangers turned_away held ok "
    ctl say nobody "good evening"
    check "usage/$name-no-room" "status $status: $(cat "$tmp/out" "$tmp/err")" test "$status $(cat "$tmp/err")" = '1 error: there is no room "nobody"'
    call setpriv --reuid=65534 --clear-groups "$relay_program" ctl --control "$tmp/control" --port "$port" rooms
    check "usage/$name-other-user" "status $status: $(cat "$tmp/out" "$tmp/err")" grep -q 'no relay of port .*: Permission denied$' "$tmp/err"
    ctl help
    check "usage/$name-help" "status $status: $(cat "$tmp/err")" grep -q '^kick ROOM NAME  ' "$tmp/out"
    ctl quit
    check "usage/$name-quit" "status $status: $(cat "$tmp/out" "$tmp/err")" test "$status $(cat "$tmp/out")" = "0 ok"
    ended relay 10
    check "usage/$name-ends" "exit status $?" test $? = 0 -a -z "$(ls "$tmp/control")"
    ctl rooms
    check "usage/$name-none" "status $status: $(cat "$tmp/out" "$tmp/err")" test "$status" = 3
done

# A kernel without IPv6: one line, and IPv4 as ever.
cat >"$tmp/no6.c" <<'END'
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>
int socket(int domain, int type, int protocol) {
    if (domain != 10) return (int)syscall(SYS_socket, domain, type, protocol);
    errno = EAFNOSUPPORT;
    return -1;
}
END
gcc -shared -fPIC -o "$tmp/no6.so" "$tmp/no6.c"
start_relay --bind ::
stop relay
check usage/relay-both-kinds "$(cat "$tmp/relay.log")" test "$(grep -ac 'event=no_ipv6\|listening address=0' "$tmp/relay.log")" = 0
LD_PRELOAD=$tmp/no6.so start_relay --bind ::
LD_PRELOAD=$tmp/no6.so timeout 20 "$keylock" rooms "localhost:$port" >"$tmp/out" 2>"$tmp/err"
check usage/rooms-without-ipv6 "exit status $?: $(cat "$tmp/out" "$tmp/err")" grep -q "^relay localhost:$port " "$tmp/out"
stop relay
check usage/relay-without-ipv6 "$(cat "$tmp/relay.log")" test "$(grep -ac 'event=no_ipv6' "$tmp/relay.log")" = 1
finish
