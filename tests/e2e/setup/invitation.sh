#!/usr/bin/env bash
# setup/invitation.sh - an invitation is all that a friend needs: its core and game are found among the friend's own, in
# playlists, folders and zips, or one line says what is missing. A link from a browser asks first.
# runs: waiting, test, 20 s
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$content/shooter.nes"
nestopia=$(core_path nestopia) || { skip "invitation: no nestopia"; finish; }
start_relay

# --- the host's link ------------------------------------------------------------------------------------------------

mkdir -p "$tmp/host"
cp "$content/shooter.nes" "$tmp/host/my \"game\" (v1).nes"
start host "$keylock" run --quiet --core nestopia --content "$tmp/host/my \"game\" (v1).nes" --relay "$relay" --room "our room" \
    --name host --speed real --frames 600 --input random:1
said host 'keylock://' 20 || { show host; die "invitation: the host has no link"; }
link=$(grep -aoE 'keylock://[^ ]+' "$tmp/host.log" | head -n 1)
sum=$(python3 -c 'import sys, zlib; b = open(sys.argv[1], "rb").read(); print(f"crc={zlib.crc32(b):08x}&size={len(b)}")' "$content/shooter.nes")
print_of="#[a-z2-7]{32}"
check invitation/link "the link is $link" grep -qE \
    "^keylock://$relay/our%20room\?core=nestopia&game=my%20%22game%22%20%28v1%29.nes&$sum$print_of\$" <<<"$link"

# --- a friend's RetroArch --------------------------------------------------------------------------------------------

ra=$tmp/ben/.config/retroarch
mkdir -p "$ra/cores" "$ra/system" "$ra/playlists" "$tmp/ben/games/a \"b\" folder" "$tmp/ben/lists"
ln -s "$nestopia" "$ra/cores"
cat >"$ra/retroarch.cfg" <<END
libretro_directory = "$ra/cores"
rgui_browser_directory = "$tmp/ben/games"
END
cat >"$tmp/retroarch" <<'END'
#!/bin/sh
printf 'started\nlink %s\ncore %s\n' "$KEYLOCK_LINK" "$KEYLOCK_CORE"
for a in "$@"; do printf 'argument %s\n' "$a"; done
END
chmod +x "$tmp/retroarch"

# invited NAME STATUS ARGUMENT…: `keylock play` as ben.
invited() {
    local name=$1 wanted=$2 status
    shift 2
    env -u XDG_CONFIG_HOME -u XDG_STATE_HOME -u KEYLOCK_RELAY HOME="$tmp/ben" "$keylock" play --wrapper "$wrapper" \
        --retroarch "$tmp/retroarch" "$@" >"$tmp/$name.log" 2>&1
    status=$?
    [ $status = "$wanted" ] || { fail "invitation/$name: exit status $status, expected $wanted"; show "$name"; }
}
content_is() { # NAME PATH
    check "invitation/$1" "RetroArch was not started with $2: $(cat "$tmp/$1.log")" grep -qxF "argument $2" "$tmp/$1.log"
}
asks() { grep -q 'Play there?' "$tmp/$1.log"; }
not_started() { check "invitation/$1" "RetroArch was started: $(cat "$tmp/$1.log")" eval '! grep -q ^started "$tmp/'"$1"'.log"'; }

invited no-game 5 "$link"
check invitation/one-line "not one line that names the game: $(cat "$tmp/no-game.log")" \
    test "$(grep -c 'the game my "game" (v1).nes (CRC .*in none of RetroArch' "$tmp/no-game.log") $(wc -l <"$tmp/no-game.log")" = "1 1"
invited no-core 5 "${link/nestopia/no_such_core}"
check invitation/both "not one line that names core and game: $(cat "$tmp/no-core.log")" \
    test "$(grep -c 'the core no_such_core is not installed: .*; the game ' "$tmp/no-core.log") $(wc -l <"$tmp/no-core.log")" = "1 1"

# Another game of the same size and name is not it; the right one is found in a zip, under another name.
head -c "$(stat -c %s "$content/shooter.nes")" /dev/zero >"$tmp/ben/games/my \"game\" (v1).nes"
echo "not a zip" >"$tmp/ben/games/broken.zip"
python3 - "$tmp/ben/games/a \"b\" folder/set one.zip" "$content/shooter.nes" <<'END'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("read me.txt", "x")
    z.write(sys.argv[2], "other name.nes")
END
invited zip 0 "$link"
content_is zip "$tmp/ben/games/a \"b\" folder/set one.zip#other name.nes"
check invitation/core "the core is not ben's" grep -qxF "core $(realpath "$nestopia")" "$tmp/zip.log"

# A playlist leads to a folder that RetroArch's settings do not name.
rm -r "$tmp/ben/games/a \"b\" folder"
cp "$content/shooter.nes" "$tmp/ben/lists/listed.nes"
printf '{"version":"1.5","items":[{"path":"/no/such/%s.nes"},{"path":"%s","label":"x"}]}' x "$tmp/ben/lists/other.nes" >"$ra/playlists/NES.lpl"
echo '{"items": [' >"$ra/playlists/Broken.lpl"
touch "$tmp/ben/lists/other.nes"
invited list 0 "$link"
content_is list "$tmp/ben/lists/listed.nes"
invited own 0 "$link" --content "$content/shooter.nes"
content_is own "$(realpath "$content/shooter.nes")"

# --- a link from a browser ---------------------------------------------------------------------------------------------

invited silent 1 --ask -- "$link" </dev/null
not_started silent
check invitation/asks "the question does not name relay, room and game: $(cat "$tmp/silent.log")" \
    eval 'asks silent && grep -q "relay  $relay" "$tmp/silent.log" && grep -q "room   our room" "$tmp/silent.log" && grep -qF "game   my \"game\" (v1).nes, core nestopia" "$tmp/silent.log"'
for answer in "" n no maybe yn; do
    invited "answer-$answer" 1 --ask -- "$link" <<<"$answer"
    not_started "answer-$answer"
done
invited yes 0 --ask -- "$link" <<<"y"
content_is yes "$tmp/ben/lists/listed.nes"
echo "relay = \"$relay\"" >"$ra/system/keylock.cfg"
invited set 0 --ask -- "$link" </dev/null
check invitation/set "it asks about the relay that is set" eval '! asks set'
rm "$ra/system/keylock.cfg"
mkdir -p -m 700 "$tmp/ben/.local/state/keylock"
(umask 077 && echo "$relay ${link##*#}" >"$tmp/ben/.local/state/keylock/relays")
invited used 0 --ask -- "$link" </dev/null
check invitation/used "it asks about a relay that was used before" eval '! asks used'
rm "$tmp/ben/.local/state/keylock/relays"

# --- the limits of a link -------------------------------------------------------------------------------------------

evil() { # NAME ARGUMENT…: wrong usage, and nothing is started, though the player would agree
    local name=$1
    shift
    invited "$name" 2 --ask -- "$@" <<<"y"
    not_started "$name"
}
bare=${link%%#*}
evil option "--core=/tmp/evil.so"
evil more "$link" --verbose
evil more-links "$link" "$link"
evil content "$bare&content=/etc/passwd"
evil path "${bare/my%20%22game%22%20%28v1%29.nes/..%2f..%2fetc%2fpasswd}"
evil core-path "${bare/core=nestopia/core=..%2fevil}"
evil core-dots "${bare/core=nestopia/core=..}"
evil blank "${bare/our%20room/our room}"
evil quote "${bare/our%20room/our\"room}"
evil long "keylock://h/r?core=$(head -c 65536 /dev/zero | tr '\0' a)"
evil none

# --- and in earnest -------------------------------------------------------------------------------------------------------

if command -v retroarch >/dev/null && command -v Xvfb >/dev/null; then
    rm "$ra/playlists/NES.lpl" "$tmp/ben/lists/listed.nes"
    python3 -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1], "w").write(sys.argv[2], "b c.nes")' "$tmp/ben/games/a b.zip" "$content/shooter.nes"
    start_xvfb 700x600
    start ben env -u XDG_CONFIG_HOME -u XDG_STATE_HOME HOME="$tmp/ben" DBUS_FATAL_WARNINGS=0 KEYLOCK_NAME=ben "${preload[@]}" "$keylock" play \
        --wrapper "$wrapper" "$link" -- -v --appendconfig <(printf '%s\n' "${no_sound[@]}" 'video_driver = "gl"' 'video_fullscreen = "false"')
    check invitation/plays "ben does not play: $(tail -n 3 "$tmp/ben.log")" said relay 'joined room="our room".*name="ben"' 20
    ended host 40
    status=$? # 4: nobody else stopped at its last frame, so the relay had no verdict on that
    check invitation/match "the host's exit status is $status" test $status = 0 -o $status = 4
    stop ben
else
    skip "invitation/match: no retroarch or Xvfb"
fi
finish
