#!/usr/bin/env bash
# windows/player.sh - a player on Windows, under Wine, from the zip to a match: the zip's bytes, `keylock install`, `doctor` and
# `play`, keylock:// links, letters of Japanese and Turkish in all names; and the testers' commands, which start processes.
#   PARTS='zip install testers'  only these; of the others, links to portable need zip and install, the rest zip
# instead: nothing
# runs: emulated, all, 120 s
# limit: 2400
. "$(dirname "$0")/../lib.sh"
. tests/e2e/lib_wine.sh

PARTS=${PARTS:-zip install links loaded portable real names testers service}
needs "$keylock" "$relay_program" "$content/shooter.nes" "$content/pads.gb"
windows_make keylock.exe keylock-relay.exe keylock_libretro.dll tells.exe
windows_fetches cores cores-of-debian
nestopia=$windows/cores-of-debian/nestopia_libretro.dll

wine_server
c=$prefix/drive_c
ra=$c/RetroArch-Win64
home='ゲーム İğne ş'
unpacked="$c/$home/Keylock"
export LC_ALL=C.UTF-8 # Wine takes arguments by it

# player NAME STATUS ARGUMENT…: the zip's `keylock`, as the player starts it.
player() {
    local name=$1 wanted=$2 status
    shift 2
    wine_runs "C:\\$home\\Keylock\\keylock.exe" "$@" >"$tmp/$name.log" 2>&1
    status=$?
    [ $status = "$wanted" ] && return
    fail "windows-player/$name: keylock $*: exit status $status, expected $wanted"
    show "$name"
}
says() { check "windows-player/$1-says" "expected \"$2\", got $(tail -n 3 "$tmp/$1.log" | tr '\n' ' ')" grep -qF -- "$2" "$tmp/$1.log"; }
reg() { wine_runs 'C:\windows\system32\reg.exe' "$@" >/dev/null 2>&1; }
# links: the key of the links, in the registry's own form: backslashes and quotes have a backslash before them.
links_key() {
    rm -f "$c/links.reg"
    reg export 'HKCU\Software\Classes\keylock' 'C:\links.reg' /y
    [ ! -e "$c/links.reg" ] || iconv -f UTF-16 -t UTF-8 "$c/links.reg" | tr -d '\r'
}

# hold: the stand-in loads the library that TELLS_LOADS names, and stays. release: it ends.
hold() {
    start game wine_runs "$ra/retroarch.exe"
    eventually 10 grep -qs loaded "$ra/retroarch.exe.said" || { show game; die "windows-player: the stand-in loads nothing"; }
}
release() {
    : >"$ra/retroarch.exe.end"
    ended game 10
    rm -f "$ra/retroarch.exe.end" "$ra/retroarch.exe.said"
}

# --- the zip: the same bytes at any time, in any zone ----------------------------------------------------------------

zip() {
    local first second
    first=$(tests/tools/windows_zip.py build) || die "windows-player/zip: it is not made"
    cp "$first" "$tmp/first.zip"
    touch "$windows"/keylock*.exe "$content/shooter.nes"
    second=$(TZ=Asia/Tokyo LC_ALL=C tests/tools/windows_zip.py build)
    check windows-player/zip-equal "two zips of the same programs differ" cmp -s "$tmp/first.zip" "$second"
    SOURCE_DATE_EPOCH=1000000000 tests/tools/windows_zip.py build >/dev/null
    check windows-player/zip-time "another time gives the same bytes" eval '! cmp -s "$tmp/first.zip" "$second"'
    cp "$tmp/first.zip" "$second"
    mkdir -p "$c/$home"
    python3 -m zipfile -e "$second" "$c/$home"
    check windows-player/zip-programs "not the programs of build/windows" \
        cmp -s "$unpacked/keylock_libretro.dll" "$windows/keylock_libretro.dll"
    check windows-player/zip-readme "$(wc -l <"$unpacked/README.txt") lines" test "$(wc -l <"$unpacked/README.txt")" -le 20
    check windows-player/zip-licences "$(ls "$unpacked/licences")" test "$(find "$unpacked/licences" -type f -size +100c | wc -l)" = 17
    check windows-player/zip-exception "GCC's exception is missing" grep -q 'GCC RUNTIME LIBRARY EXCEPTION' "$unpacked/licences/gcc.txt"
}

# --- the installer's RetroArch, with its own settings ------------------------------------------------------------------

install() {
    mkdir -p "$ra/cores" "$ra/info"
    cp "$windows/tells.exe" "$ra/retroarch.exe"
    cp "$nestopia" "$ra/cores"
    printf 'display_name = "Nintendo - NES / Famicom (Nestopia UE)"\ncorename = "Nestopia"\n' >"$ra/info/nestopia_libretro.info"
    printf '%s = "%s"\n' libretro_directory ':\cores' libretro_info_path ':\info' system_directory ':\system' \
        savefile_directory ':\saves' rgui_config_directory ':\config' playlist_directory ':\playlists' \
        sort_savefiles_enable true >"$ra/retroarch.cfg"
    mkdir -p "$ra/config/Nestopia" "$ra/saves/Nestopia"
    echo 'nestopia_palette = "raw"' >"$ra/config/Nestopia/Nestopia.opt"
    echo save >"$ra/saves/Nestopia/oyun ığüş.srm"
    start_relay

    player list 0 install --list
    says list 'RetroArch, by C:/RetroArch-Win64/retroarch.cfg'
    check windows-player/list "nestopia is not listed" grep -qE '^  nestopia +-' "$tmp/list.log"
    player install 0 install nestopia --relay "$relay" --name ada
    check windows-player/copy "the wrapped core is no copy of the zip's wrapper" \
        cmp -s "$ra/cores/nestopia_keylock_libretro.dll" "$windows/keylock_libretro.dll"
    check windows-player/info "$(cat "$ra/info/nestopia_keylock_libretro.info" 2>&1)" \
        grep -qx 'display_name = "Keylock: NES (Nestopia)"' "$ra/info/nestopia_keylock_libretro.info"
    check windows-player/override "the game does not run on without focus" \
        grep -qx 'pause_nonactive = "false"' "$ra/config/Nestopia Keylock/Nestopia Keylock.cfg"
    check windows-player/options "the option file was not copied" \
        cmp -s "$ra/config/Nestopia/Nestopia.opt" "$ra/config/Nestopia Keylock/Nestopia Keylock.opt"
    check windows-player/saves "the save was not copied" \
        cmp -s "$ra/saves/Nestopia/oyun ığüş.srm" "$ra/saves/Nestopia Keylock/oyun ığüş.srm"
    check windows-player/relay "$(cat "$ra/system/keylock.cfg" 2>&1)" grep -qxF "relay = \"$relay\"" "$ra/system/keylock.cfg"
    player listed 0 install --list
    check windows-player/listed "$(cat "$tmp/listed.log")" grep -qE '^  nestopia +installed$' "$tmp/listed.log"

    # By a path as Windows writes it, from elsewhere; and a core that is nowhere.
    mkdir -p "$c/indirilen dosyalar"
    cp "$windows/cores-of-debian/gambatte_libretro.dll" "$c/indirilen dosyalar"
    player by-path 0 install 'C:\indirilen dosyalar\gambatte_libretro.dll'
    check windows-player/by-path "no copy of the core" cmp -s "$ra/cores/gambatte_libretro.dll" "$windows/cores-of-debian/gambatte_libretro.dll"
    check windows-player/by-path-locked "gambatte is not installed" test -s "$ra/cores/gambatte_keylock_libretro.dll"
    player no-core 1 install snes9x
    says no-core 'Download a Core'
    player no-folder 5 install --for 'C:\indirilen dosyalar' --list

    player doctor 0 doctor
    says doctor 'ok     RetroArch: 1.20.0 (C:/RetroArch-Win64/retroarch.exe)'
    says doctor "ok     nestopia: in RetroArch's list of cores"
    says doctor "ok     relay: $relay answers"
    player doctor-json 0 doctor --json
    check windows-player/doctor-json "$(head -c 300 "$tmp/doctor-json.log")" \
        python3 -c 'import json, sys; sys.exit(not json.load(open(sys.argv[1]))["well"])' "$tmp/doctor-json.log"
    player rooms 0 rooms
    says rooms "relay $relay"

    mkdir -p "$c/oyunlar"
    cp "$content/shooter.nes" "$c/oyunlar/oyun ığüş ゲ.nes"
    player play 0 play --core nestopia --content 'C:\oyunlar\oyun ığüş ゲ.nes' --room 'bizim oda' --relay "$relay" -- --verbose
    { tr '\n' '|' <"$ra/retroarch.exe.said"; echo; } >"$tmp/said.log" 2>&1
    check windows-player/play "$(cat "$tmp/said.log")" grep -qE "^argument -L\|argument C:/[!-~]+/Keylock/keylock_libretro.dll\|argument --appendconfig\|argument [^|]*keylock-handed-down-[0-9]*.cfg\|argument --verbose\|argument C:/oyunlar/[!-~]+\.NES\|KEYLOCK_CORE C:/RetroArch-Win64/cores/nestopia_libretro.dll\|KEYLOCK_RELAY $relay\|KEYLOCK_ROOM bizim oda\|" "$tmp/said.log"
    stop relay
}

# --- links ---------------------------------------------------------------------------------------------------------------

# opened LINK: Windows opens the link; the program in the place of keylock.exe has said its arguments.
opened() {
    rm -f "$unpacked/keylock.exe.said"
    wine_runs 'C:\windows\system32\start.exe' /wait "$1" >"$tmp/start.log" 2>&1
    eventually 10 test -s "$unpacked/keylock.exe.said"
    cat "$unpacked/keylock.exe.said" 2>/dev/null
}
arrives() { # NAME LINK
    local got
    got=$(opened "$2" | head -n 4)
    check "windows-player/link-$1" "expected $2, got $got" test "$got" = "argument play
argument --ask
argument --
argument $2"
}

links() {
    links_key >"$tmp/key.log"
    check windows-player/links-ours "$(cat "$tmp/key.log")" \
        grep -qxF "@=\"\\\"C:\\\\$home\\\\Keylock\\\\keylock.exe\\\" play --ask -- \\\"%1\\\"\"" "$tmp/key.log"
    check windows-player/links-protocol "$(cat "$tmp/key.log")" grep -qxF '"URL Protocol"=""' "$tmp/key.log"
    # Wine 8 looks for the program of a link among the machine's alone.
    reg copy 'HKCU\Software\Classes\keylock' 'HKLM\Software\Classes\keylock' /s /f
    mv "$unpacked/keylock.exe" "$unpacked/keylock.real"
    cp "$windows/tells.exe" "$unpacked/keylock.exe"
    arrives plain 'keylock://relay.example.org:4000/room?core=nestopia&game=a.nes&crc=8a7d1f33&size=24592#klctam52jbefllrbwzcec4kpzufo5yyd'
    arrives percent 'keylock://h.org/our%20room?core=nestopia&game=my%20%22game%22%20%28v1%29%20%E3%82%B2%25PATH%25.nes'
    arrives odd "keylock://h.org/our room?game=100% & x | y ^ z > 'q' oyun ığüş ゲーム.nes"
    # A quote within ends the argument: behind -- nothing is an option, and the real program takes one argument alone.
    opened 'keylock://h.org/r" --core=C:\evil.dll "x' >"$tmp/quote.log"
    check windows-player/link-quote "$(cat "$tmp/quote.log")" test "$(sed -n '3p' "$tmp/quote.log")" = 'argument --'
    mv "$unpacked/keylock.real" "$unpacked/keylock.exe"
    player quote 2 play --ask -- 'keylock://h.org/r' --core=C:/evil.dll x
    player ask 1 play --ask -- 'keylock://h.org/our%20room?core=nestopia&game=my%20%22game%22%20%E3%82%B2.nes'
    says ask 'room   our room'
    says ask 'game   my "game" ゲ.nes, core nestopia'

    # An invitation is all that a friend needs: the bundled game is found beside the program.
    local sum link
    sum=$(python3 -c 'import sys, zlib; b = open(sys.argv[1], "rb").read(); print(f"crc={zlib.crc32(b):08x}&size={len(b)}")' "$content/shooter.nes")
    link="keylock://127.0.0.1:4000/r?core=nestopia&game=x.nes&$sum"
    rm -f "$ra/retroarch.exe.said"
    player invited 0 play "$link"
    check windows-player/invited "$(cat "$ra/retroarch.exe.said" 2>&1)" grep -qE '^argument C:/[!-~]+/Keylock/games/shooter.nes$' "$ra/retroarch.exe.said"

    # Another program's links stay its own.
    reg add 'HKCU\Software\Classes\keylock\shell\open\command' /ve /d 'C:\other.exe %1' /f
    player others 0 install nestopia
    says others 'keylock:// links stay with the other program'
    links_key >"$tmp/key.log"
    check windows-player/links-others "$(cat "$tmp/key.log")" grep -qF '@="C:\\other.exe %1"' "$tmp/key.log"
    reg delete 'HKCU\Software\Classes\keylock' /f
    player again 0 install nestopia
    says again 'keylock:// links open with keylock play'
}

# --- a core that RetroArch has loaded cannot be replaced -------------------------------------------------------------------

loaded() {
    local core=$ra/cores/nestopia_keylock_libretro.dll
    { cat "$windows/keylock_libretro.dll"; echo newer; } >"$c/newer.dll"
    cp "$core" "$tmp/before.dll"
    rm -f "$ra/retroarch.exe.said"
    TELLS_LOADS='C:\RetroArch-Win64\cores\nestopia_keylock_libretro.dll' hold
    ls -a "$ra/cores" >"$tmp/files.log"
    player busy 1 install nestopia --wrapper 'C:\newer.dll'
    says busy 'end RetroArch, then run this again'
    check windows-player/busy-kept "the loaded core has changed" cmp -s "$core" "$tmp/before.dll"
    check windows-player/busy-clean "$(ls -a "$ra/cores" | tr '\n' ' ')" test "$(ls -a "$ra/cores")" = "$(cat "$tmp/files.log")"
    player busy-remove 1 install --remove nestopia
    says busy-remove 'end RetroArch, then run this again'
    check windows-player/busy-whole "a part of it is gone" test -s "$core" -a -s "$ra/info/nestopia_keylock_libretro.info"
    release
    player renewed 0 install nestopia --wrapper 'C:\newer.dll'
    check windows-player/renewed "it is still the old one" cmp -s "$core" "$c/newer.dll"
    player stale 0 install --list
    says stale 'installed, of another build'
}

# --- a RetroArch that was unpacked anywhere; Steam's; and away with it all -----------------------------------------------------

portable() {
    local steam="$c/steam oyunlari/steamapps/common/RetroArch"
    player away 0 install --remove --all
    check windows-player/away "$(ls "$ra/cores" "$ra/info")" test -z "$(find "$ra" -name '*keylock_libretro*')"
    check windows-player/away-links "$(links_key)" test -z "$(links_key)"
    check windows-player/away-kept "the core, its options or saves are gone" \
        test -s "$ra/cores/nestopia_libretro.dll" -a -s "$ra/saves/Nestopia Keylock/oyun ığüş.srm"

    cp "$windows/tells.exe" "$c/$home/retroarch.exe"
    mkdir -p "$c/$home/cores" "$steam/cores"
    cp "$nestopia" "$c/$home/cores"
    cp "$nestopia" "$steam/cores"
    reg add 'HKCU\Software\Valve\Steam' /v SteamPath /d 'c:/steam oyunlari' /f
    player both 0 install nestopia
    check windows-player/portable "not in the folder above the program's" test -s "$c/$home/cores/nestopia_keylock_libretro.dll"
    check windows-player/portable-info "no info file" test -s "$c/$home/info/nestopia_keylock_libretro.info"
    check windows-player/steam "not in Steam's" test -s "$steam/cores/nestopia_keylock_libretro.dll"
    check windows-player/steam-box "libraries came along" test ! -e "$steam/cores/keylock-libs"
    check windows-player/portable-first "also in another RetroArch" test ! -e "$ra/cores/nestopia_keylock_libretro.dll"
    player named 0 install --for 'C:\RetroArch-Win64' nestopia
    check windows-player/named "--for FOLDER does not install there" test -s "$ra/cores/nestopia_keylock_libretro.dll"
    player steam-away 0 install --for steam --remove --all
    check windows-player/steam-away "still there" test ! -e "$steam/cores/nestopia_keylock_libretro.dll"
    check windows-player/links-stay "$(links_key)" grep -qF 'keylock.exe' <<<"$(links_key)"
    player all-away 0 install --remove --all
    check windows-player/last-links "$(links_key)" test -z "$(links_key)"
}

# --- the real RetroArch: no settings yet, all folders by its defaults --------------------------------------------------------

real() {
    local exe=$windows/retroarch-1.20/retroarch.exe folder="$c/gerçek RetroArch"
    windows_fetches retroarch retroarch-1.20
    mkdir -p "$folder/cores"
    cp "$exe" "$nestopia" "$folder"
    mv "$folder/nestopia_libretro.dll" "$folder/cores"
    printf '%s_driver = "null"\n' video audio input menu >"$c/null.cfg"
    player real 0 install --for 'C:\gerçek RetroArch' nestopia
    check windows-player/real-info "no info file where RetroArch looks for it" test -s "$folder/info/nestopia_keylock_libretro.info"
    player real-play 0 play --retroarch 'C:\gerçek RetroArch\retroarch.exe' --core nestopia --content 'C:\oyunlar\oyun ığüş ゲ.nes' -- \
        --appendconfig 'C:\null.cfg' --verbose --max-frames=120
    check windows-player/real-frames "$(tail -n 3 "$tmp/real-play.log")" test -s "$folder/config/Nestopia Keylock/Nestopia Keylock.opt"
    check windows-player/real-override "RetroArch does not read the override that install has written" \
        grep -aq 'Appending override config: .*Nestopia Keylock.cfg' "$tmp/real-play.log"
}

# --- any letters in names ------------------------------------------------------------------------------------------------------

names() {
    local odd="$c/oyunlar/ığüşİ ゲーム"
    mkdir -p "$odd/kayıt" "$c/plain/saves"
    cp "$content/shooter.nes" "$c/plain/game.nes"
    battery_game "$c/plain/battery.nes" && cp "$c/plain/battery.nes" "$odd/sürüm ゲ.nes"
    player names-plain 0 run --quiet --core "$nestopia" --content 'C:\plain\battery.nes' --save 'C:\plain\saves' --frames 300 \
        --input random:7 --hash-every 50 --hash-out 'C:\plain\hashes'
    player names-odd 0 run --quiet --core "$nestopia" --content 'C:\oyunlar\ığüşİ ゲーム\sürüm ゲ.nes' --save 'C:\oyunlar\ığüşİ ゲーム\kayıt' --frames 300 \
        --input random:7 --hash-every 50 --hash-out 'C:\oyunlar\ığüşİ ゲーム\özet ゲ'
    check windows-player/names "the hashes differ: $(diff "$c/plain/hashes" "$odd/özet ゲ" 2>&1 | head -n 3)" cmp -s "$c/plain/hashes" "$odd/özet ゲ"
    check windows-player/names-move "the hashes do not change" hashes_move "$c/plain/hashes" 3
    check windows-player/names-saves "$(ls "$c/plain/saves" "$odd/kayıt" 2>&1 | tr '\n' ' ')" \
        cmp -s "$c/plain/saves/battery.srm" "$odd/kayıt/sürüm ゲ.srm"
}

# --- the testers' commands, whose cores run in processes of their own -----------------------------------------------------------

said_by() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1])).get(sys.argv[2]))' "$@"; }

# parted NAME ARGUMENT…: one of two in a room, by Wine.
parted() {
    local name=$1
    shift
    KEYLOCK_DESYNC=ignore start "$name" wine_runs "$windows/keylock.exe" run --quiet --relay "$relay" --room testers --name "$name" \
        --core "$nestopia" --content "$content/shooter.nes" --frames 420 --wait 60 --record "$tmp/$name.rec" --states "$tmp/$name" \
        --hash-out "$tmp/$name.hash" "$@"
}

testers() {
    local core=(--core "$nestopia" --content "$content/shooter.nes") status found
    start_relay
    parted ann --input random:1 --hash-every 60
    parted ben --input random:2 --corrupt 333:1024
    ended ann 120
    found=$?
    ended ben 60
    found="$found $?"
    [ "$found" = "3 3" ] || show ann ben
    check windows-player/desync "exit status $found, expected 3 3" test "$found" = "3 3"
    stop relay

    wine_runs "$windows/keylock.exe" diff "$tmp/ann.hash" "$tmp/ben.hash" >"$tmp/diff.log" 2>&1
    status=$?
    check windows-player/diff "exit status $status: $(tail -n 1 "$tmp/diff.log")" test $status = 1
    check windows-player/diff-linux "Linux's keylock diff says something else" \
        cmp -s <("$keylock" diff "$tmp/ann.hash" "$tmp/ben.hash") <(tr -d '\r' <"$tmp/diff.log")
    wine_runs "$windows/keylock.exe" bisect --json "$tmp/ann.rec" "$tmp/ben.rec" "${core[@]}" >"$tmp/bisect.json" 2>"$tmp/bisect.log"
    found="$? $(said_by "$tmp/bisect.json" frame) $(said_by "$tmp/bisect.json" exact)"
    check windows-player/bisect "exit status, frame, exact: $found, expected 1 333 True" test "$found" = "1 333 True"
    wine_runs "$windows/keylock.exe" blame --json "$tmp/ann" "$tmp/ben" "${core[@]}" >"$tmp/blame.json" 2>"$tmp/blame.log"
    found="$? $(said_by "$tmp/blame.json" first_frame)"
    check windows-player/blame "exit status, first frame: $found, expected 1 359; $(tail -n 1 "$tmp/blame.log")" test "$found" = "1 359"
    check windows-player/blame-byte "$(head -c 300 "$tmp/blame.json")" python3 -c '
import json, sys
for m in json.load(open(sys.argv[1]))["memories"]:
    if m["memory"] == "system RAM" and any(r["offset"] <= 1024 < r["offset"] + r["bytes"] for r in m["ranges"]): sys.exit()
sys.exit(1)' "$tmp/blame.json"
    wine_runs "$windows/keylock.exe" bisect "${core[@]}" --input random:3 --frames 120 --a "" --b "--corrupt 57:1024" --json >"$tmp/two.json" 2>"$tmp/two.log"
    check windows-player/configurations "$(head -c 200 "$tmp/two.json")" test "$(said_by "$tmp/two.json" frame)" = 57
    wine_runs "$windows/keylock.exe" probe "${core[@]}" --frames 120 --json "$tmp/probe.json" >"$tmp/probe.log" 2>&1
    status=$?
    [ $status = 0 ] || show probe
    check windows-player/probe "exit status $status" test $status = 0
}

# --- the relay as a service ---------------------------------------------------------------------------------------------------

answers() { "$keylock" rooms "127.0.0.1:$1" >"$tmp/answers.log" 2>&1; }
service_is() { [[ $(wine_runs 'C:\windows\system32\sc.exe' query keylock-relay 2>/dev/null) == *" $1"* ]]; }

service() {
    local port
    port=$(free_port)
    mkdir -p "$ra"
    cp "$windows/tells.exe" "$ra/retroarch.exe"
    printf 'port = %s\nbind = 127.0.0.1\nstate = C:/ProgramData/keylock-relay/key\njournal = C:/ProgramData/keylock-relay/journal\n' "$port" >"$c/relay.conf"
    TELLS_LOADS=version.dll hold # Wine stops all services with its last program
    wine_runs 'C:\windows\system32\sc.exe' create keylock-relay binPath= "\"C:\\$home\\Keylock\\keylock-relay.exe\" --config C:\\relay.conf" >/dev/null 2>&1
    wine_runs 'C:\windows\system32\sc.exe' start keylock-relay >"$tmp/sc.log" 2>&1
    check windows-player/service "$(tail -n 8 "$tmp/sc.log")" eventually 10 answers "$port"
    check windows-player/service-runs "the system does not know that it runs" eventually 10 service_is RUNNING
    wine_runs "$windows/keylock-relay.exe" ctl --port "$port" rooms >"$tmp/ctl.log" 2>&1
    check windows-player/service-ctl "$(cat "$tmp/ctl.log")" test "$(tr -d '\r' <"$tmp/ctl.log")" = "ok rooms=0 members=0"
    wine_runs "$windows/keylock-relay.exe" ctl --port 1 rooms >"$tmp/ctl.log" 2>&1
    status=$?
    check windows-player/service-ctl-none "exit status $status: $(cat "$tmp/ctl.log")" test $status = 3
    wine_runs 'C:\windows\system32\sc.exe' stop keylock-relay >/dev/null 2>&1
    check windows-player/service-stops "it does not stop" eventually 10 service_is STOPPED
    check windows-player/service-silent "it still answers" eval '! answers "$port"'
    check windows-player/service-journal "no key, or no journal" test -d "$c/ProgramData/keylock-relay/key" -a -d "$c/ProgramData/keylock-relay/journal"
    release
}

for part in $PARTS; do $part; done
finish
