#!/usr/bin/env bash
# retroarch/chat.sh - chat in real RetroArch: with Game Focus on, letters that are RetroArch's hot keys (p, h, f) and the pad's buttons
# (z, x) only write; the line comes to all. Without a line open they are the game's. Letters of other scripts are typed, said and
# drawn. A phrase goes by the pad. Then a rematch is asked for by one key.
#   PICTURE=FILE  keeps a picture of the open line
# runs: waiting, test, 20 s
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$content/shooter.nes"
for program in retroarch Xvfb xdotool setxkbmap; do
    command -v $program >/dev/null || { skip "chat: no $program"; finish; }
done
core_path nestopia >/dev/null || { skip "chat: no nestopia"; finish; }

retroarch_home ann "${no_sound[@]}" 'network_cmd_enable = "true"' "network_cmd_port = \"${remote:=$(free_port)}\""
# A font of our own: of these letters each is a block.
block=FFFFFFFFFFFFFFFF
printf '%s\n' "0020:0000000000000000$block" "5BFE:$block$block$block$block" "6226:$block$block$block$block" >"$tmp/font.hex"
export KEYLOCK_FONT=$tmp/font.hex
start_xvfb 600x460
start_relay
start_retroarch ann --core nestopia --content "$content/shooter.nes" --relay "$relay" --room chat -- -v
eventually 20 window_of ann >/dev/null || { show ann; die "chat: RetroArch shows no window"; }
window=$(window_of ann)
start bob "$keylock" run --core nestopia --content "$content/shooter.nes" --relay "$relay" --room chat --name bob --speed real \
    --frames 100000 --input random:2
said ann 'you are player 1, bob is player 2' 30 || { show ann relay; die "chat: the match did not begin"; }
plays ann 60
said_by() { grep -aoE '\[f [0-9]+\] ann .1.: .*' "$tmp/$1.log" | sed 's/.*ann .1.: //' | tr '\n' ';'; }

keys() {
    local key
    for key in "$@"; do press "$window" "$key" 0.05; done
}
to_retroarch "$remote" GAME_FOCUS_TOGGLE
xdotool windowfocus --sync "$window"
keys grave p h f z x
[ -z "${PICTURE:-}" ] || import -window "$window" "$PICTURE"
at=$(frame_of ann)
check chat/not-yet "something was said before Enter: $(said_by ann)" test -z "$(said_by ann)"
keys Return
check chat/written "ann's log: $(said_by ann)" eventually 5 eval '[ "$(said_by ann)" = "phfzx;" ]'
check chat/heard "bob's log: $(said_by bob)" said bob 'ann .1.: phfzx' 5
check chat/goes-on "the game stands still after frame $at" reaches ann $((at + 120)) 20
# A machine that stands still for a moment comes back at once; a RetroArch that is paused does not.
is_there() { [ "$(grep -ac 'goes on without ann .[12].' "$tmp/bob.log")" = "$(grep -ac 'ann .[12]. is back' "$tmp/bob.log")" ]; }
check chat/no-pause "RetroArch or the room was paused" eval '! grep -aq "ann .1.: pause" "$tmp/bob.log" && eventually 4 is_there'
keys grave n o Escape
check chat/escaped "ann said: $(said_by ann)" stays 1 eval '[ "$(said_by ann)" = "phfzx;" ]'

# --- in any script: typed on ann's keyboard, and said by bob -------------------------------------------------------

# blocks: dots of ann's window in the midst of white blocks of 15 by 15
blocks() {
    import -window "$window" -depth 8 "$tmp/block.png"
    convert "$tmp/block.png" -fuzz 10% -fill black +opaque '#f0f0f0' -threshold 50% -morphology Erode Square:7 -format '%[fx:mean*w*h]' info:
}
keys grave
for layout in de:odiaeresis ru:Cyrillic_te us:exclam; do
    setxkbmap "${layout%:*}"
    keys "${layout#*:}"
done
keys Return
check chat/script-typed "bob's log: $(said_by bob)" said bob 'ann .1.: öт!$' 5
check chat/script-no-block "a white block is there before its letter" eventually 6 eval '[ "$(blocks)" = 0 ]'
"$keylock" command --pid "${pid[bob]}" say 'höher, ты где? 対戦'
check chat/script-said "ann's log does not have it" said ann 'bob .2.: höher, ты где[?] 対戦$' 5
check chat/script-drawn "the letters are not in ann's picture" eventually 3 eval '[ "$(blocks)" != 0 ]'

# --- by the pad: Select held, then Left; then X ------------------------------------------------------------------

to_retroarch "$remote" GAME_FOCUS_TOGGLE
pad() { # KEY: with Select held, by the match's own frames
    xdotool windowfocus --sync "$window" keydown Shift_R
    plays ann 40
    xdotool keydown "$1"
    plays ann 8
    xdotool keyup "$1" keyup Shift_R
}
pad Left
check chat/phrase "ann said: $(said_by ann)" eventually 5 eval '[ "$(said_by ann)" = "phfzx;öт!;Well played!;" ]'
pad s
check chat/rematch "bob is not asked for a rematch: $(said_by bob)" said bob 'ann .*rematch' 5
plays ann 60
stop ann
check chat/end "RetroArch does not end in peace" test $? = 0
finish
