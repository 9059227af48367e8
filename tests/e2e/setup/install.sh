#!/usr/bin/env bash
# setup/install.sh - `keylock install` as a user without the right to write into the system's folders: Debian's layout and
# upstream's, trees as Flatpak and Steam have them; and the installed core chosen from real RetroArch's list, by its menu.
# runs: waiting, test, 10 s
# runs: waiting, all, 10 s: KL_RETROARCH=1.20
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$wrapper" "$content/shooter.nes"
nestopia=$(core_path nestopia) && gambatte=$(core_path gambatte) || { skip "install: no nestopia and gambatte"; finish; }

for_another_user

# run NAME WANTED_STATUS ARGUMENT…: `keylock install` in that home.
run() {
    local name=$1 wanted=$2 status
    shift 2
    user "$tmp/$name" "$keylock" install --wrapper "$wrapper" "$@" >"$tmp/$name.log" 2>&1
    status=$?
    [ $status = "$wanted" ] && return
    fail "install/$name: keylock install $*: exit status $status, expected $wanted"
    show "$name"
}
says() { grep -qF "$2" "$tmp/$1.log"; }

# --- upstream's layout, its folders root's: links, options, saves -----------------------------------------------

sys=$tmp/sys
mkdir -p "$sys/cores" "$sys/info"
cp "$nestopia" "$gambatte" "$sys/cores"
cp /usr/share/libretro/info/{nestopia,gambatte}_libretro.info "$sys/info"
home_for ann
ra=$tmp/ann/.config/retroarch
command_port=$(free_port)
user "$tmp/ann" mkdir -p "$ra/config/Nestopia" "$ra/saves/Nestopia" "$ra/games"
user "$tmp/ann" cp "$content/shooter.nes" "$ra/games"
{
    cat <<END
# mine
libretro_directory = "$sys/cores"
libretro_info_path = "$sys/info"
sort_savefiles_enable = "true"
rgui_browser_directory = "$ra/games"
video_driver = "gl"
video_context_driver = "x"
video_fullscreen = "false"
video_scale = "2.0"
input_driver = "x"
menu_driver = "rgui"
rgui_show_start_screen = "false"
pause_nonactive = "true"
network_cmd_enable = "true"
network_cmd_port = "$command_port"
config_save_on_exit = "false"
END
    printf '%s\n' "${no_sound[@]}"
} | user "$tmp/ann" tee "$ra/retroarch.cfg" >"$tmp/before.cfg"
printf '%s\n' 'nestopia_palette = "raw"' 'keylock_mode = "room"' | user "$tmp/ann" tee "$ra/config/Nestopia/Nestopia.opt" >/dev/null
echo save | user "$tmp/ann" tee "$ra/saves/Nestopia/game.srm" >/dev/null

run ann 0 nestopia --room "my room" --relay relay.example.org
check install/links "no folder with links was made" \
    test -L "$ra/cores/gambatte_libretro.so" -a -L "$ra/info/gambatte_libretro.info"
check install/said "the output lacks the changed setting" says ann "libretro_directory = \"$ra/cores\""
check install/options "the option file is not there under the wrapped core's name" \
    cmp -s "$ra/config/Nestopia/Nestopia.opt" "$ra/config/Nestopia Keylock/Nestopia Keylock.opt"
check install/name "the wrapped core's name in the list does not begin with Keylock" \
    grep -qx 'display_name = "Keylock: NES (Nestopia)"' "$ra/info/nestopia_keylock_libretro.info"
check install/saves "the save is not there under the wrapped core's name" \
    cmp -s "$ra/saves/Nestopia/game.srm" "$ra/saves/Nestopia Keylock/game.srm"
check install/runs-on "there is no override that lets the game run on without focus" \
    grep -qx 'pause_nonactive = "false"' "$ra/config/Nestopia Keylock/Nestopia Keylock.cfg"
check install/relay "keylock.cfg does not name the relay" grep -qx 'relay = "relay.example.org"' "$ra/system/keylock.cfg"
check install/root-untouched "something was written to the system's folder" test "$(ls "$sys/cores" | wc -l)" = 2

echo other | user "$tmp/ann" tee "$ra/saves/Nestopia/game.srm" >/dev/null
cp "$wrapper" "$sys/cores/mgba_libretro.so" # a wrapper is no core, and a file that is none is no core either
echo nothing >"$sys/cores/snes9x_libretro.so"
run ann 1 --all
check install/all "gambatte was not installed" test -s "$ra/cores/gambatte_keylock_libretro.so"
check install/no-core "a file that is no core was installed" \
    test ! -e "$ra/cores/mgba_keylock_libretro.so" -a ! -e "$ra/cores/snes9x_keylock_libretro.so"
check install/once "the save was copied a second time" grep -qx save "$ra/saves/Nestopia Keylock/game.srm"
rm "$sys/cores/mgba_libretro.so" "$sys/cores/snes9x_libretro.so"
run ann 1 "$content/shooter.nes"
check install/a-game "a game was taken for a core, or copied: $(tail -n 2 "$tmp/ann.log")" \
    eval 'grep -q "expected a core, a file NAME_libretro" "$tmp/ann.log" && [ ! -e "$ra/cores/shooter.nes" ]'
run ann 0 --all
check install/dead-links "links to removed cores stay" test ! -L "$ra/cores/snes9x_libretro.so"
run ann 0 --list
check install/list "the list lacks nestopia as installed" grep -qE '^  nestopia +installed$' "$tmp/ann.log"

# A core of another version, as a friend has it: by its path, in the place of the link that is there.
mkdir -p "$tmp/other"
cp "$nestopia" "$tmp/other"
run ann 0 "$tmp/other/nestopia_libretro.so"
check install/by-path "the link leads to $(readlink "$ra/cores/nestopia_libretro.so")" \
    test "$(readlink "$ra/cores/nestopia_libretro.so")" = "$tmp/other/nestopia_libretro.so"
run ann 0 "$sys/cores/nestopia_libretro.so"
check install/by-path-back "the link leads to $(readlink "$ra/cores/nestopia_libretro.so")" \
    test "$(readlink "$ra/cores/nestopia_libretro.so")" = "$sys/cores/nestopia_libretro.so"

# --- settings alone: nothing else changes ---------------------------------------------------------------------------

home_for set
run set 0 --relay "relay.example.org:4000" --for native
check install/relay-alone "keylock.cfg is not all that is there: $(cd "$tmp/set" && find . -type f)" \
    test "$(cd "$tmp/set" && find . -type f)" = ./.config/retroarch/system/keylock.cfg
check install/relay-kept "keylock.cfg has another relay" \
    grep -qx 'relay = "relay.example.org:4000"' "$tmp/set/.config/retroarch/system/keylock.cfg"
run set 0 --name "Zoë"
check install/letters-known "a name that the screens can draw is warned of" eval '! grep -q "the screens show" "$tmp/set.log"'
run set 0 --name "Ада, of 23 characters.."
check install/letters "no line says how the screens draw the name" grep -q 'show this name as "□□□, of 23 characters.."' "$tmp/set.log"
run set 2 --name "Ада, of 24 characters..."
check install/letters-counted "$(tail -n 1 "$tmp/set.log")" grep -q 'expected a name of 1 to 23 characters' "$tmp/set.log"

# --- from RetroArch's own menu ------------------------------------------------------------------------------------

status() { # of ann's RetroArch, by its network command interface
    python3 - "$command_port" <<'END'
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(1)
s.sendto(b"GET_STATUS", ("127.0.0.1", int(sys.argv[1])))
try: print(s.recv(4096).decode())
except OSError: print("no answer")
END
}
plays() { [[ $(status) == *PLAYING\ *shooter* ]]; }
shows_something() { [ "$(import -window "$(window_of ann)" -depth 8 -format %k info:)" -gt 3 ]; }

if command -v retroarch >/dev/null && command -v Xvfb >/dev/null && command -v xdotool >/dev/null; then
    run ann 0 --remove gambatte
    # A core that keylock.cfg names is not the one that was chosen; and no relay: this one does not exist.
    echo 'core = gambatte' >"$ra/system/keylock.cfg"
    start_xvfb 700x600
    start ann env -u XDG_CONFIG_HOME HOME="$tmp/ann" DBUS_FATAL_WARNINGS=0 "${preload[@]}" retroarch -v --menu
    eventually 20 window_of ann >/dev/null || { show ann; die "install/menu: RetroArch shows no window"; }
    # Load Core: "Keylock: NES (Nestopia)" before both of "Nintendo"; Load Content, Start Directory: behind Parent Directory;
    # the core again.
    menu_keys "$command_port" A A DOWN A A DOWN A A
    check install/plays "the core does not play: $(status)" eventually 10 plays
    check install/wrapped "RetroArch did not load the wrapper" \
        grep -aqF "$ra/cores/nestopia_keylock_libretro.so" "$tmp/ann.log"
    check install/no-relay "no line says that no relay is set" said ann 'no relay is set' 5
    check install/option-kept "the copied option is not in force" \
        grep -q 'nestopia_palette = "raw"' "$ra/config/Nestopia Keylock/Nestopia Keylock.opt"
    frontend_frames "$command_port" 30
    check install/picture "the screen is empty" eventually 10 shows_something # the window is made anew for the game
    [ -z "${PICTURE:-}" ] || import -window "$(window_of ann)" "$PICTURE"
    stop ann
    check install/end "exit status $?" test $? = 0
else
    skip "install/menu: no retroarch, Xvfb or xdotool"
fi

# --- and back -----------------------------------------------------------------------------------------------------

run ann 0 --remove --all
check install/back "RetroArch's settings are not as before" diff <(sed '/^libretro_/d' "$tmp/before.cfg") \
    <(sed '/^libretro_/d' "$ra/retroarch.cfg")
check install/back-folders "its folders are not as before" \
    grep -qx "libretro_directory = \"$sys/cores\"" "$ra/retroarch.cfg"
check install/nothing-left "links or wrappers are left" test ! -e "$ra/cores" -a ! -e "$ra/info"
check install/saves-stay "the wrapped core's saves are gone" test -s "$ra/saves/Nestopia Keylock/game.srm"

# --- Debian's layout: no settings yet, they begin as /etc/retroarch.cfg -------------------------------------------

if [ -e /etc/retroarch.cfg ] && command -v retroarch >/dev/null; then
    home_for deb
    run deb 0 gambatte
    check install/debian "no settings with Debian's own lines were made" \
        grep -q '^assets_directory' "$tmp/deb/.config/retroarch/retroarch.cfg"
    check install/debian-core "the core is not in the folder" test -s "$tmp/deb/.config/retroarch/cores/gambatte_keylock_libretro.so"
    # RetroArch finds it there by its short name, with no word of ours on the command line.
    printf '%s_driver = "null"\n' video audio input menu >"$tmp/null.cfg"
    echo 'fastforward_ratio = "1.0"' >>"$tmp/null.cfg"
    env -u XDG_CONFIG_HOME HOME="$tmp/deb" DBUS_FATAL_WARNINGS=0 "${preload[@]}" timeout 30 retroarch -v --appendconfig "$tmp/null.cfg" \
        -L gambatte_keylock --max-frames=60 "$content/pads.gb" >"$tmp/deb-run.log" 2>&1
    check install/debian-runs "RetroArch does not run the core: $(tail -n 2 "$tmp/deb-run.log")" \
        grep -aqF 'Loading dynamic libretro core from: "'"$tmp/deb/.config/retroarch/cores/gambatte_keylock_libretro.so" "$tmp/deb-run.log"
    check install/debian-frames "the game did not run" test -s "$tmp/deb/.config/retroarch/config/Gambatte Keylock/Gambatte Keylock.opt"
fi

# --- boxes: Flatpak's and Steam's trees ---------------------------------------------------------------------------

home_for box
flatpak=$tmp/box/.var/app/org.libretro.RetroArch/config/retroarch
steam=$tmp/box/.local/share/Steam/steamapps/common/RetroArch
for at in "$flatpak" "$steam"; do
    user "$tmp/box" mkdir -p "$at/cores"
    user "$tmp/box" cp "$nestopia" "$at/cores"
done
echo 'libretro_directory = "~/.var/app/org.libretro.RetroArch/config/retroarch/cores"' |
    user "$tmp/box" tee "$flatpak/retroarch.cfg" >/dev/null
echo 'libretro_directory = ":/cores"' | user "$tmp/box" tee "$steam/retroarch.cfg" >/dev/null
user "$tmp/box" "$keylock" install --wrapper "$wrapper" --for flatpak nestopia >"$tmp/box.log" 2>&1 ||
    { fail "install/flatpak: exit status $?"; show box; }
check install/for "--for flatpak installs for Steam as well" test ! -e "$steam/cores/nestopia_keylock_libretro.so"
run box 0 nestopia --for steam
run box 2 nestopia --for windows
for at in "$flatpak" "$steam"; do
    name=$(basename "$(dirname "$(dirname "$at")")")
    needed=$(ldd "$at/cores/nestopia_keylock_libretro.so" | grep -cF "$at/cores/keylock-libs/")
    check "install/libraries-$name" "$needed of the libraries are found beside the wrapper; expected 4 at least" test "$needed" -ge 4
    "$keylock" run --quiet --core "$at/cores/nestopia_libretro.so" --wrapper "$at/cores/nestopia_keylock_libretro.so" \
        --content "$content/shooter.nes" --frames 60 >"$tmp/run.log" 2>&1
    status=$?
    check "install/runs-$name" "exit status $status" test $status = 0
done

# A root with only the libraries that every box has: the copied libraries must do for the rest.
loads=$build/loads
root=$tmp/root
needs "$loads"
mkdir -p "$root/tmp"
cp "$loads" "$root"
copied=0
for library in $(ldd "$loads" "$nestopia" "$wrapper" | grep -oE '/[^ ]*/(libc|libm|libdl|libpthread|librt|libgcc_s|libstdc\+\+|ld-linux[^/]*)\.so[^ ]*' | sort -u); do
    mkdir -p "$root$(dirname "$library")" && cp -L "$library" "$root$library" && copied=$((copied + 1))
done
cp -r "$flatpak/cores" "$root/cores"
into=(chroot)
[ "$(id -u)" = 0 ] || into=(unshare --user --map-root-user chroot)
if [ -n "${KL_SAN:-}" ] || ! "${into[@]}" "$root" /loads >/dev/null 2>&1; then
    skip "install/box: this user may make no root of his own here, or a sanitizer needs more libraries"
else
    env -i PATH="$PATH" "${into[@]}" "$root" /loads /cores/nestopia_libretro.so /cores/nestopia_keylock_libretro.so >"$tmp/box.log" 2>&1
    status=$?
    check install/box "with $copied libraries of the box's own: $(tail -n 1 "$tmp/box.log")" test $status = 0
    rm -r "$root/cores/keylock-libs"
    env -i PATH="$PATH" "${into[@]}" "$root" /loads /cores/nestopia_keylock_libretro.so >"$tmp/box.log" 2>&1
    check install/box-alone "the wrapper loads without the copied libraries, so this test proves nothing" test $? = 1
fi
finish
