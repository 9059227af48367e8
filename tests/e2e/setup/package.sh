#!/usr/bin/env bash
# setup/package.sh - the parts of the packages, without building them: a relay starts with each line of relay.conf, the unit and
# the desktop entry are well formed, and the Containerfile ends without root. `make test-deb` tries the packages and the
# image themselves.
# runs: working, test, 5 s
. "$(dirname "$0")/../lib.sh"

needs "$relay_program" "$keylock"
parts=net/relay/debian

# --- relay.conf ---------------------------------------------------------------------------------------------------

sed -n 's/^#\{0,1\}\([a-z-]* = .*\)/\1/p' $parts/relay.conf >"$tmp/all.conf"
start_relay --config "$tmp/all.conf" --control "$tmp/control" --state "$tmp/state" --journal "$tmp/journal" --record "$tmp/record"
stop relay

# --- the unit -------------------------------------------------------------------------------------------------------

unit=$parts/keylock-relay.service
check package/unit-settings "the unit does not read the file that the package installs" \
    grep -q "^ExecStart=/usr/bin/keylock-relay --config /$(awk '/\/relay.conf/ { print $2 }' $parts/keylock-relay.install)/relay.conf$" $unit
verifier=core_wrapper/debian/keylock.keylock-verify.service
read -ra words < <(sed -n 's|^ExecStart=/usr/bin/keylock ||p' $verifier)
"$keylock" "${words[@]}" --list matches >"$tmp/verifier.log" 2>&1
check package/verifier-words "$(cat "$tmp/verifier.log")" grep -qE 'matches.db: unable to open|needs SQLite' "$tmp/verifier.log"
if command -v systemd-analyze >/dev/null; then
    sed "s|^ExecStart=/usr/bin/keylock-relay|ExecStart=$relay_program|" $unit >"$tmp/keylock-relay.service"
    sed "s|^ExecStart=/usr/bin/keylock|ExecStart=$keylock|" $verifier >"$tmp/keylock-verify.service"
    for name in relay verify; do
        systemd-analyze --man=no verify "$tmp/keylock-$name.service" >"$tmp/unit.log" 2>&1
        status=$?
        check package/unit-$name "exit status $status: $(head -n 2 "$tmp/unit.log")" test $status = 0 -a ! -s "$tmp/unit.log"
    done
else
    skip "package/unit: no systemd-analyze"
fi

# --- the kernel's limits --------------------------------------------------------------------------------------------

limits=$parts/10-keylock-relay.conf
mkdir -p "$tmp/proc/sys/net/core"
sed "s|/proc/sys|$tmp/proc/sys|; s|/usr/lib/sysctl.d/10-keylock-relay.conf|$limits|; s|^#DEBHELPER#$||" $parts/keylock-relay.postinst >"$tmp/postinst"
installed() { # NAME RMEM WMEM EXPECTED: after the installation on a machine with these limits
    echo "$2" >"$tmp/proc/sys/net/core/rmem_max"
    echo "$3" >"$tmp/proc/sys/net/core/wmem_max"
    sh "$tmp/postinst" configure >"$tmp/postinst.log" 2>&1
    status=$?
    check "package/$1" "exit status $status: $(cat "$tmp/postinst.log" "$tmp"/proc/sys/net/core/*)" \
        test $status = 0 -a "$(cat "$tmp"/proc/sys/net/core/* | tr '\n' ' ')" = "$4 "
}
installed limits-raised 212992 212992 "4194304 4194304"
installed limits-larger 8388608 212992 "8388608 4194304"
rm -r "$tmp/proc/sys/net/core" # as in a container
sh "$tmp/postinst" configure >"$tmp/postinst.log" 2>&1
status=$?
check package/limits-none "exit status $status: $(cat "$tmp/postinst.log")" test $status = 0 -a ! -s "$tmp/postinst.log"
check package/limits-file "$(grep -v '^#' $limits)" \
    test "$(sed -n 's/^-\(.*\) = /\1=/p' $limits | tr '\n' ' ')" = "net.core.rmem_max=4194304 net.core.wmem_max=4194304 "
# The relay on the package's defaults, with what the system gives.
"$relay_program" --check >"$tmp/check" 2>&1
check package/burst "$(cat "$tmp/check")" grep -qE '^in order: 256 rooms, 2048 players|2048 players need 510848 bytes' "$tmp/check"
sed 's/^/     /' "$tmp/check"

# --- the desktop entry, the image -----------------------------------------------------------------------------------

entry=core_wrapper/debian/keylock.desktop
check package/desktop-entry "it does not hand links to keylock play, which asks" \
    grep -qx 'Exec=keylock play --ask -- %u' $entry
check package/desktop-scheme "it is not for keylock://" grep -qx 'MimeType=x-scheme-handler/keylock;' $entry
! command -v desktop-file-validate >/dev/null || check package/desktop "$(desktop-file-validate $entry)" desktop-file-validate $entry

file=net/relay/Containerfile
check package/container-words "$(grep -vE '^(#|$|FROM|RUN|COPY|WORKDIR|USER|ENV|VOLUME|EXPOSE|HEALTHCHECK|ENTRYPOINT) ?' $file | head -n 1)" \
    test -z "$(grep -vE '^(#|$|FROM|RUN|COPY|WORKDIR|USER|ENV|VOLUME|EXPOSE|HEALTHCHECK|ENTRYPOINT) ?' $file)"
check package/container-user "$(grep '^USER' $file)" test "$(grep '^USER' $file)" = "USER 65532:65532"
# As in the container: no folder of the session's, so both take the user's in /tmp.
read -ra words < <(python3 -c 'import json, sys; print(*json.loads(open(sys.argv[1]).read().split(" CMD ", 1)[1].splitlines()[0])[1:])' $file)
unset XDG_RUNTIME_DIR RUNTIME_DIRECTORY
start_relay
check package/container-healthy "$("$relay_program" "${words[0]}" --port "$port" "${words[@]:1}" 2>&1)" \
    eval '"$relay_program" "${words[0]}" --port "$port" "${words[@]:1}" >/dev/null 2>&1'
stop relay
check package/container-unhealthy "it finds a relay that has ended" eval '! "$relay_program" "${words[0]}" --port "$port" "${words[@]:1}" 2>/dev/null'
check package/container-no-shell "$(grep '^ENTRYPOINT' $file)" python3 -c '
import json, re, sys
words = json.loads(re.search(r"^ENTRYPOINT (.*)$", open(sys.argv[1]).read(), re.M)[1])
sys.exit(words[0] != "/usr/bin/keylock-relay")' $file
finish
