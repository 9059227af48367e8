#!/usr/bin/env bash
# retroarch/room.sh - two real RetroArch in a room, and in the middle of it all that a frontend can do to a core: save
# and load of states, reset, rewind, fast-forward, cheats, autosave of save RAM, the menu, another window's focus.
#   SECONDS_OF_PLAY=600  instead of 30
#   OTHER_RETROARCH=1.20 the second of them is of that version (retroarch/versions.sh)
#   PICTURE=FILE         keeps a picture of the two windows
# runs: waiting, test, 50 s
# limit: 1000
. "$(dirname "$0")/../lib.sh"

PLAY=${SECONDS_OF_PLAY:-30}
needs "$keylock" "$relay_program" "$wrapper" "$content/shooter.nes"
for program in retroarch Xvfb xdotool; do
    command -v $program >/dev/null || { skip "retroarch: no $program"; finish; }
done
core_path nestopia >/dev/null || { skip "retroarch: no nestopia"; finish; }

game=$tmp/shooter.nes
battery_game "$game" || die "retroarch: the game cannot be given a battery"
mkdir "$tmp/control"
"$keylock" run --quiet --core nestopia --content "$game" --frames 100 --save "$tmp/control" >"$tmp/control.log" 2>&1
check retroarch/battery "alone the game does not count in its save RAM, so .srm files say nothing" \
    test "$(od -An -tu1 -N1 "$tmp/control/shooter.srm" | tr -d ' ')" -gt 50

# Cheats for one side only, or both would change alike: one that writes to RAM past the core, every frame, and one that
# goes through the core.
cheats() { # NAME
    cheat_past_core "$1" 2
    cat >>"$tmp/$1/cheats/Nestopia Keylock/shooter.cht" <<'END'
cheat1_desc = "code"
cheat1_enable = "true"
cheat1_handler = "0"
cheat1_code = "SXIOPO"
END
}

abusive=('autosave_interval = "1"' 'apply_cheats_after_load = "true"' 'apply_cheats_after_toggle = "true"'
    'sort_savefiles_enable = "false"' 'sort_savefiles_by_content_enable = "false"' 'pause_nonactive = "false"'
    'menu_pause_libretro = "false"' 'quick_menu_show_cheats = "true"' 'fastforward_ratio = "1.0"')
retroarch_home ann "${abusive[@]}" "${no_sound[@]}"
retroarch_home bob "${abusive[@]}" "${no_sound[@]}" 'rewind_enable = "true"' 'run_ahead_enabled = "true"' \
    'run_ahead_frames = "1"' 'run_ahead_secondary_instance = "true"'
cheats bob
for who in ann bob; do
    python3 -c 'import random, sys; random.seed(sys.argv[1]); sys.stdout.buffer.write(random.randbytes(8192))' $who \
        >"$tmp/$who/save/shooter.srm"
    cp "$tmp/$who/save/shooter.srm" "$tmp/$who.srm"
done

start_xvfb 1180x448
start_relay
# ann plays by the launcher. bob plays without it: the wrapper as a core, all settings in the environment.
start_retroarch ann --core nestopia --content "$game" --relay "$relay" --room pair -- -v
next_second
home_of bob
with_retroarch "${OTHER_RETROARCH:-${KL_RETROARCH:-}}" || { skip "retroarch: $(tail -n 1 "$tmp/fetch.log")"; finish; }
start bob env "${home[@]}" KEYLOCK_HASH_OUT="$tmp/bob.hash" KEYLOCK_TRACE="$tmp/bob.csv" \
    KEYLOCK_CORE="$(core_path nestopia)" KEYLOCK_RELAY="$relay" KEYLOCK_ROOM=pair KEYLOCK_NAME=bob \
    retroarch -v -L "$wrapper" "$game"
for who in ann bob; do
    said $who 'playing ' 30 || { show $who relay; die "retroarch/start: $who's game did not begin"; }
done
left=$(window_of ann) && right=$(window_of bob) || die "retroarch/start: a window is missing"
xdotool windowmove "$right" 592 0
began=$SECONDS
watch watch ann bob relay xvfb

play() { # SECONDS: both in turn, some fire and flight
    local until=$((SECONDS + $1)) direction
    while [ $SECONDS -lt $until ] && running ann && running bob; do
        for direction in Left Right Up Down; do
            for id in "$left" "$right"; do
                hold "$id" 0.15 z $direction
            done
        done
    done
}

rss() { awk '/^VmRSS/ { print $2 }' "/proc/${pid[$1]}/status" 2>/dev/null; }
alive() { # WHAT
    running ann && running bob && return
    running ann || show ann
    running bob || show bob
    die "retroarch/$1: a RetroArch is gone"
}

press "$left" Return
press "$right" Return
play 6
alive play

# --- the abuse: each on one side, then on the other ---
for id in "$left" "$right"; do
    press "$id" F2       # save a state
    plays ann 20
    press "$id" F4       # load it
    plays ann 20
    press "$id" h        # reset
    plays ann 20
    press "$id" r 1      # rewind
    press "$id" l 1      # fast-forward while held
    press "$id" space    # fast-forward on
    plays ann 60
    press "$id" space    # fast-forward off
    press "$id" e 0.5    # slow motion
    press "$id" u        # cheats off and on
    press "$id" u
    press "$id" F1       # the menu opens
    plays ann 90
    [ "$id" != "$left" ] || import -window root "$tmp/menu.png"
    press "$id" Down
    press "$id" F1       # the menu closes
    alive abuse
done
xdotool windowfocus --sync "$left"
play 3
alive abuse
ok "retroarch/abuse: states, reset, rewind, fast-forward, slow motion, cheats, menu on both sides: both still run"

# Did it reach them at all? RetroArch and the wrapper say so in the log.
heard() { # NAME WHAT REGEX
    grep -aqE "$3" "$tmp/$1.log" || fail "retroarch/abuse: $1's log does not tell of $2"
}
heard ann "a state saved or loaded" 'does not support save states|State\]:|state'
heard ann "a reset" '\[Core\]: Reset'
heard bob "a reset" '\[Core\]: Reset'
heard bob "cheats" '[Cc]heat'

ann_kb=$(rss ann) bob_kb=$(rss bob)
while [ $((SECONDS - began)) -lt "$PLAY" ]; do
    play 5
    alive play
done
[ -z "${PICTURE:-}" ] || import -window root "$PICTURE"
ann_grown=$(($(rss ann) - ann_kb)) bob_grown=$(($(rss bob) - bob_kb))
# A sanitizer keeps freed memory for a while, so its growth is not judged.
[ -n "${KL_SAN:-}" ] || check retroarch/memory "grew by $ann_grown and $bob_grown KB after the abuse; expected less than 4096" \
    test $ann_grown -lt 4096 -a $bob_grown -lt 4096
note "resident: $ann_kb and $bob_kb KB, grown by $ann_grown and $bob_grown KB"

stop watch
for who in ann bob; do
    stop $who
    status=$?
    check "retroarch/end-$who" "exit status $status" test $status = 0
    note "$(grep -aoE 'session frames=.*' "$tmp/$who.log" | tail -n 1)"
done
heard bob "save RAM that it stored" 'Saved successfully to .*shooter.srm'
equal retroarch ann bob
check retroarch/moves "the hashes do not change" hashes_move "$tmp/ann.hash"
if grep -aqE 'desync=[0-9]' "$tmp/ann.log" "$tmp/bob.log"; then fail "retroarch/desync: the relay found one"; fi
for who in ann bob; do
    in_time python3 tests/e2e/judge_trace.py "retroarch/$who" "$tmp/$who.csv" --after 5 --fps 60 \
        --min-share 0.99833 --watch "$tmp/watch.log"
    check "retroarch/srm-$who" "the player's .srm has changed" cmp "$tmp/$who.srm" "$tmp/$who/save/shooter.srm"
done
finish
