#!/usr/bin/env bash
# lock/saves.sh - a session plays on the host's save RAM and leaves every player's own save as it was. Strangers play without saves.
# runs: working, test, 15 s
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper"
core=$(core_path nestopia) || { skip "saves: no nestopia"; finish; }
rom=$tmp/battery.nes # a game that is nothing but its save RAM
{ ca65 -o "$tmp/battery.o" tests/e2e/battery.s && ld65 -t none --start-addr 0x7FF0 -o "$rom" "$tmp/battery.o"; } ||
    die "saves: battery.s does not assemble"
export XDG_STATE_HOME=$tmp/state-home
start_relay

saves() { md5sum <"$tmp/$1/battery.srm"; }

# Does this content keep anything? Then two runs that start from different saves differ, and write theirs back.
for who in a b; do
    mkdir -p "$tmp/$who"
    python3 -c 'import random, sys; random.seed(sys.argv[1]); sys.stdout.buffer.write(random.randbytes(8192))' "$who" \
        >"$tmp/$who/battery.srm"
    cp -r "$tmp/$who" "$tmp/alone-$who"
    "$keylock" run --quiet --core "$core" --content "$rom" --frames 300 --hash-every 50 --input random:1 \
        --save "$tmp/alone-$who" --hash-out "$tmp/alone-$who.hash" >"$tmp/alone-$who.log" 2>&1 ||
        { fail "saves/alone: exit status $?"; show "alone-$who"; }
done
if cmp -s "$tmp/alone-a/battery.srm" "$tmp/a/battery.srm" || cmp -s "$tmp/alone-a.hash" "$tmp/alone-b.hash"; then
    fail "saves/alone: battery.nes under nestopia neither writes nor heeds its save RAM, so nothing here means anything"
    finish
fi
ok "saves/alone: alone the game reads its save RAM and the runner stores it"

before_a=$(saves a) before_b=$(saves b)
for who in a b; do
    run_in_room "$who" --core "$core" --content "$rom" --room saves --frames 900 --input random:1 --hash-every 50 \
        --save "$tmp/$who" --wait 30
    said relay "event=joined room=\"saves\".*name=\"$who\"" 10 || show $who relay
    [ $who = b ] || next_second
    [ $who = b ] || ls -R "$XDG_STATE_HOME" >"$tmp/sessions" 2>&1
done
for who in a b; do
    ended $who 60 || { fail "saves/room: client $who: exit status $?"; show $who; }
done
check saves/equal "different saves, different games" cmp "$tmp/a.hash" "$tmp/b.hash"
check saves/kept-by-host "the host's .srm was changed" test "$(saves a)" = "$before_a"
check saves/kept-by-joiner "the joiner's .srm was changed" test "$(saves b)" = "$before_b"
check saves/nothing-added "files were left in a player's save folder: $(ls "$tmp/a" "$tmp/b" | tr '\n' ' ')" \
    test "$(ls "$tmp/a")$(ls "$tmp/b")" = battery.srmbattery.srm
check saves/session-folder "no session folder was seen in $XDG_STATE_HOME while a session was on" grep -q saves- "$tmp/sessions"
check saves/session-folder-removed "left: $(find "$XDG_STATE_HOME" -mindepth 3 2>/dev/null | head -n 3 | tr '\n' ' ')" \
    test -z "$(find "$XDG_STATE_HOME" -path '*sessions/*' 2>/dev/null)"

# The room starts from the host's save: with the joiner's as host it is another game.
for who in b a; do
    run_in_room "second-$who" --core "$core" --content "$rom" --room saves2 --frames 900 --input random:1 \
        --hash-every 50 --save "$tmp/$who" --wait 30
    said relay "event=joined room=\"saves2\".*name=\"second-$who\"" 10 || show second-$who relay
    [ $who = a ] || next_second
done
for who in a b; do
    ended second-$who 60 || { fail "saves/second-room: client $who: exit status $?"; show second-$who; }
done
check saves/second-equal "different saves, different games" cmp "$tmp/second-a.hash" "$tmp/second-b.hash"
if cut -d ' ' -f 2 "$tmp/a.hash" | cmp -s - <(cut -d ' ' -f 2 "$tmp/second-a.hash"); then
    fail "saves/of-the-host: the host's save makes no difference"
else
    ok "saves/of-the-host: another host's save, another game"
fi

# --- strangers: in a listed room without password nobody loads another's saves; nor with a host who keeps them out ---

declare -A trust=([a-b]=auto [b-a]=on) gives=([a-b]=on [b-a]=off)
for pair in a-b b-a; do
    for who in ${pair/-/ }; do
        KEYLOCK_TRUST=${trust[$pair]} KEYLOCK_SAVES=${gives[$pair]} run_in_room "$pair-$who" --core "$core" --content "$rom" --room "strangers-$pair" --frames 300 \
            --input random:1 --hash-every 50 --save "$tmp/$who" --wait 30
        said relay "event=joined room=\"strangers-$pair\".*name=\"$pair-$who\"" 10 || show "$pair-$who" relay
        [ "$who" != "${pair%-*}" ] || next_second
    done
    for who in a b; do
        ended "$pair-$who" 60 || { fail "saves/strangers-$pair: client $who: exit status $?"; show "$pair-$who" relay; }
    done
    check "saves/strangers-equal-$pair" "the machines differ" cmp "$tmp/$pair-a.hash" "$tmp/$pair-b.hash"
done
check saves/strangers-without "the host's save makes a difference" \
    cmp <(cut -d ' ' -f 2 "$tmp/a-b-a.hash") <(cut -d ' ' -f 2 "$tmp/b-a-a.hash")
check saves/strangers-kept "a player's own save was changed" test "$(saves a)" = "$before_a" -a "$(saves b)" = "$before_b"

# A stranger who comes to a game with saves is told why not.
run_in_room host --core "$core" --content "$rom" --room friends --players 1 --speed real --frames 100000 --save "$tmp/a" --wait 30
said relay 'event=started room="friends"' 20 || { show host relay; die "saves: the room does not start"; }
KEYLOCK_TRUST=off run_in_room stranger --core "$core" --content "$rom" --room friends --seats 0 --save "$tmp/b" --frames 60 --wait 30
ended stranger 30
status=$?
check saves/told-why "exit status $status: $(tail -n 2 "$tmp/stranger.log")" \
    eval "[ $status != 0 ] && grep -aq \"host's saves, and this machine loads none of strangers\" '$tmp/stranger.log'"
stop host
finish
