#!/usr/bin/env bash
# retroarch/disk.sh - a disk is swapped on every machine at the same frame: by the room's command, by real RetroArch's disk
# control, and by the pad, as nestopia has it for the sides of a Famicom disk. A disk that differs or is missing somewhere is
# named and stays out; so are files that differ at the start, and those that the core opens late.
# runs: waiting, all, 30 s
# instead: `test_lobby_command`, disks in virtual time
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$test_core" "$content/sides.fds" "$content/system/disksys.rom"
start_relay

# --- nestopia: our own disk of two sides. Without a press its RAM is a function of the side that has been read -------------

side() { # CONTENT: prints the RAM at the end, with that side in from the start
    "$keylock" run --quiet --core nestopia --content "$1" --system "$content/system" --frames 600 2>/dev/null |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["ram"])'
}
nestopia_swaps() {
    local sides=(--core nestopia --content "$content/sides.fds" --system "$content/system" --room sides --frames 900 --hash-every 30)
    local first second
    { # the disk turned over
        head -c 16 "$content/sides.fds"
        tail -c 65500 "$content/sides.fds"
        tail -c +17 "$content/sides.fds" | head -c 65500
    } >"$tmp/turned.fds"
    first=$(side "$content/sides.fds") second=$(side "$tmp/turned.fds")
    check disk/sides-differ "RAM is $first with either side in" test "$first" != "$second" -a -n "$second"
    printf '300 0 400\n301 0 0\n' >"$tmp/turn" # L turns the disk over
    run_in_room ann "${sides[@]}" --input "$tmp/turn"
    said relay 'event=joined room="sides" client=0 name="ann"' 10 # the core looks at the first seat's pad alone
    run_in_room bob "${sides[@]}"
    for who in ann bob; do
        ended $who 60
        check "disk/side-$who" "exit status $?" test $? = 0
        check "disk/side-two-$who" "RAM is $(json $who ram) in the end, with side one $first, with side two $second" \
            test "$(json $who ram)" = "$second"
        check "disk/side-one-$who" "side one was never read" grep -q " $first " "$tmp/$who.hash"
    done
    equal disk/sides ann bob
}
if core_path nestopia >/dev/null; then nestopia_swaps; else skip "disk/sides: no nestopia"; fi

# --- disks that are files, and other files -----------------------------------------------------------------------------------

for who in ann bob; do
    mkdir -p "$tmp/$who"
    cp "$content/shooter.nes" "$tmp/$who/"
    for i in 1 2 3; do echo "disk $i" >"$tmp/$who/disk$i.img"; done
    printf 'disk1.img\ndisk2.img\n' >"$tmp/$who/game.m3u"
    echo "late file of $who" >"$tmp/$who/late.dat"
done
play_files() { # WHO ROOM GAME FRAMES ARGUMENT…
    start "$1" "$keylock" run --relay "$relay" --room "$2" --name "$1" --core "$test_core" --content "$tmp/$1/$3" --speed real \
        --frames "$4" --hash-every 30 --hash-out "$tmp/$1.hash" "${@:5}"
    said relay "event=joined room=\"$2\" .*name=\"$1\"" 10
}
tells() { # WHAT LINE: both machines say it
    for who in ann bob; do
        check "disk/$1-$who" "no line \"$2\"" grep -aqF "$2" "$tmp/$who.log"
    done
}
disks_differ() {
    export PROBE_CORE=no-clock,disks,images
    echo another >"$tmp/bob/disk2.img"
    mv "$tmp/bob/disk3.img" "$tmp/bob/gone.img"
    play_files ann files shooter.nes 270 --command "60:disk 2" --command "110:disk 3" --command "160:disk 1"
    play_files bob files shooter.nes 270
    for who in ann bob; do
        ended $who 30
        check "disk/differs-$who" "exit status $?" test $? = 0
        check "disk/differs-in-$who" "another disk than the first went in" \
            test "$(grep -aoE 'tray closed, disk [0-9]+' "$tmp/$who.log" | sort -u)" = "tray closed, disk 1"
    done
    tells differs-told "bob: disk 2 differs (disk2.img)"
    tells missing-told "bob: disk 3 is missing (disk3.img)"
    tells same-told "disk 1"
    equal disk/differs ann bob
}
late_file_differs() {
    export PROBE_CORE=no-clock,late:60
    play_files ann late shooter.nes 240 --command "10:desync ignore"
    play_files bob late shooter.nes 240
    for who in ann bob; do ended $who 30; done
    tells late-told "bob's file late.dat differs"
    check disk/late-log "no hashes in the relay's log" grep -aqE 'event=file_differs room="late" .*file="late.dat" .*xxh3=' "$tmp/relay.log"
}
set_is_compared() { # its second disk is opened by nobody at the start
    export PROBE_CORE=no-clock
    rm "$tmp/bob/disk2.img"
    play_files ann set game.m3u 60
    play_files bob set game.m3u 60
    ended bob 30
    check disk/set-refused "exit status $?" test $? != 0
    check disk/set-told "$(tail -n 2 "$tmp/bob.log" | head -c 300)" grep -aqF "You lack disk2.img: put the host's beside your game" "$tmp/bob.log"
    stop ann
}
disks_differ
late_file_differs
set_is_compared

# --- a core with disk control, in RetroArch and without -------------------------------------------------------------------

for program in retroarch Xvfb; do
    command -v $program >/dev/null || { skip "disk: no $program"; finish; }
done
export PROBE_CORE=disks
retroarch_home dora "${no_sound[@]}" 'network_cmd_enable = "true"' "network_cmd_port = \"${remote:=$(free_port)}\""
start_xvfb 600x460
start_retroarch dora --core "$test_core" --content "$content/shooter.nes" --relay "$relay" --room disks -- -v
said relay 'event=joined .*name="dora"' 30 || { show dora relay; die "disk: dora does not join"; }
start eve "$keylock" run --relay "$relay" --room disks --name eve --core "$test_core" --content "$content/shooter.nes" \
    --speed real --frames 100000 --input random:3 --hash-out "$tmp/eve.hash" --trace "$tmp/eve.csv"
for who in dora eve; do
    said $who 'playing ' 30 || { show $who relay; die "disk: $who's game did not begin"; }
done
plays eve 60
swapped() { # WHAT WHO DISK: both machines' cores have had it in at the same frame
    local who line
    for who in dora eve; do
        said $who "\[f [0-9]+\] $2 .[12].: disk $3" 10
        check "disk/$1-told-$who" "no line about the disk in $who's log" grep -aqE "\[f [0-9]+\] $2 .[12].: disk $3" "$tmp/$who.log"
        said $who "probe: frame [0-9]+: tray closed, disk $3" 10
    done
    line=$(grep -aoE "probe: frame [0-9]+: tray closed, disk $3" "$tmp/eve.log" | tail -n 1)
    check "disk/$1-in" "eve's core says \"$line\", dora's not" eval 'test -n "$line" && grep -aqF "$line" "$tmp/dora.log"'
}
to_retroarch "$remote" DISK_EJECT_TOGGLE DISK_NEXT DISK_EJECT_TOGGLE
swapped by-retroarch dora 2
"$keylock" command --pid "${pid[eve]}" disk 3 >"$tmp/tell" 2>&1
check disk/given "$(cat "$tmp/tell")" grep -q '^given' "$tmp/tell"
swapped by-command eve 3
to_retroarch "$remote" DISK_EJECT_TOGGLE DISK_PREV DISK_PREV DISK_EJECT_TOGGLE
swapped back dora 1
plays eve 60
for who in dora eve; do stop $who; done
equal disk/control dora eve
check disk/moves "the hashes do not change" hashes_move "$tmp/eve.hash"
if grep -aqE 'desync=[0-9]' "$tmp/dora.log" "$tmp/eve.log"; then fail "disk/desync: the relay found one"; fi
finish
