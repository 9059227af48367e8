#!/usr/bin/env bash
# relay/retry.sh - a refused player tries again without leaving RetroArch: after a wrong password by the key that the screen
# names, with the password of keylock.cfg as it is then; after a relay that did not answer by itself. `keylock run` says the
# same sentence at the terminal.
#   PICTURE=FILE  keeps a picture of the refusal
# runs: waiting, test, 30 s
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$content/shooter.nes"
for program in retroarch Xvfb xdotool; do
    command -v $program >/dev/null || { skip "retry: no $program"; finish; }
done
core_path nestopia >/dev/null || { skip "retry: no nestopia"; finish; }

game=$content/shooter.nes
start_xvfb 600x460
start_relay
start bob "$keylock" run --core nestopia --content "$game" --relay "$relay" --room friends --password "open sesame" --name bob \
    --speed real --frames 100000 --wait 120 --input random:2
said relay 'event=joined room="friends"' 20 || { show bob relay; die "retry: bob does not join"; }

# settings RELAY PASSWORD: ann's keylock.cfg.
settings() {
    {
        printf 'relay = "%s"\nroom = "friends"\nname = "ann"\nmode = "room"\n' "$1"
        [ -z "$2" ] || printf 'password = "%s"\n' "$2"
    } >"$tmp/ann/system/keylock.cfg"
    chmod 600 "$tmp/ann/system/keylock.cfg"
}
# begins LOG: RetroArch with the wrapper and no setting but those of keylock.cfg.
begins() {
    home_of ann
    start "$1" env "${home[@]}" KEYLOCK_CORE="$(core_path nestopia)" KEYLOCK_TRACE="$tmp/$1.csv" retroarch -v -L "$wrapper" "$game"
    eventually 20 window_of "$1" >/dev/null || { show "$1"; die "retry: RetroArch shows no window"; }
    window=$(window_of "$1")
}

# --- a wrong password -------------------------------------------------------------------------------------------

retroarch_home ann "${no_sound[@]}"
settings "$relay" sesame
begins wrong
next='Wrong password: set the right one, then try again'
check retry/refused "the screen does not say the next step" said wrong "$next" 20
"$keylock" run --core nestopia --content "$game" --relay "$relay" --room friends --password sesame --frames 10 >"$tmp/terminal.log" 2>&1
status=$?
check retry/terminal "exit status $status: $(tail -n 2 "$tmp/terminal.log")" eval '[ $status = 4 ] && grep -aqF "$next" "$tmp/terminal.log"'

[ -z "${PICTURE:-}" ] || import -window "$window" "$PICTURE"

chord "$window" Shift_R s # nothing has changed: the same answer
check retry/same-again "it was not tried again" eventually 10 eval '[ "$(grep -acF "$next" "$tmp/wrong.log")" -ge 2 ]'
settings "$relay" "open sesame"
chord "$window" Shift_R s
check retry/plays "the match does not begin" said wrong 'you are player 2, bob is player 1' 20
check retry/runs "no frame runs" reaches wrong 120 20
stop wrong
check retry/wrong-ends "RetroArch does not end in peace" test $? = 0

# --- a relay that comes up ---------------------------------------------------------------------------------------

port=$(free_port)
settings "127.0.0.1:$port" ""
next='The relay does not answer: check its name, then try again'
"$keylock" run --core nestopia --content "$game" --relay "127.0.0.1:$port" --room friends --frames 10 >"$tmp/terminal.log" 2>&1
status=$?
check retry/terminal-silent "exit status $status: $(tail -n 2 "$tmp/terminal.log")" \
    eval '[ $status = 4 ] && grep -aqF "$next" "$tmp/terminal.log"'
home_of ann
start late env "${home[@]}" KEYLOCK_TRACE="$tmp/late.csv" "$keylock" play --core nestopia --content "$game"
check retry/no-relay "the terminal does not say that the relay does not answer: $(cat "$tmp/late.log")" said late "$next" 30
start later "$relay_program" --port "$port"
check retry/by-itself "it is not asked again" said later 'event=joined room="friends".*name="ann"' 40
stop late
check retry/late-ends "RetroArch does not end in peace" test $? = 0
stop later

# --- the nearest relay of a signed list --------------------------------------------------------------------------------

minisign -GWf -p "$tmp/list.pub" -s "$tmp/list.sec" >"$tmp/minisign.log" 2>&1
printf 'key %s\n%s ours\n' "$(sed -n 2p "$tmp/list.pub")" "$relay" >"$tmp/relays.txt"
minisign -SWm "$tmp/relays.txt" -s "$tmp/list.sec" >>"$tmp/minisign.log" 2>&1
start near env "${home[@]}" "$keylock" play --relays "$tmp/relays.txt" --mode quick --core nestopia --content "$game"
check retry/nearest "$(cat "$tmp/near.log" "$tmp/minisign.log")" said near "The nearest relay of $tmp/relays.txt is $relay: " 10
check retry/nearest-plays "no quick match is opened there" said relay 'event=joined room="quick-.*name="ann"' 40
stop near

# --- a game that is none: RetroArch ends, and says nothing without --verbose ---------------------------------------

head -c 100 /dev/zero >"$tmp/broken.nes"
mkdir "$tmp/folder.nes"
env "${home[@]}" timeout 30 "$keylock" play --core nestopia --content "$tmp/broken.nes" >"$tmp/broken.log" 2>&1
check retry/broken-game "$(tail -n 3 "$tmp/broken.log")" grep -aq '^\[Keylock\] the core .* could not load .*broken.nes' "$tmp/broken.log"
env "${home[@]}" "$keylock" play --core nestopia --content "$tmp/folder.nes" >"$tmp/folder.log" 2>&1
check retry/folder "$(tail -n 3 "$tmp/folder.log")" grep -aq 'folder.nes: expected a file, got a folder' "$tmp/folder.log"
finish
