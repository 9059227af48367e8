#!/usr/bin/env bash
# retroarch/swap.sh - after seats have changed hands the screens still name the right player: the player that the room waits for, and
# the player that is away.
# runs: waiting, test, 20 s
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$test_core" "$content/shooter.nes"
start_relay
player() { # NAME ARGUMENT…: the wrapper's messages are needed here, so not --quiet
    local name=$1
    shift
    start "$name" "$keylock" run --relay "$relay" --room swap --name "$name" --hash-out "$tmp/$name.hash" --trace "$tmp/$name.csv" --speed real \
        --core "$test_core" --content "$content/shooter.nes" --frames 900 --hash-every 30 --players 3 --wait 20 "$@"
    said relay "event=joined .*name=\"$name\"" 10 || { show "$name" relay; die "swap: $name does not join"; }
}
# ann, bob and carl play as 2, 5 and 1 then.
player ann --policy strict --input random:1 --command "60:swap 1 2" --command "90:give 1 carl" --command "120:swap 3 5" \
    --command "400:policy bounded"
player bob --input random:2
player carl --input random:3

stopped() { # WORD LINE: bob stands still until the others have said it
    kill -STOP "${pid[bob]}"
    for who in ann carl; do
        said $who "$2" 8
        check "swap/$1-$who" "$who's log: $(grep -aoE 'waiting for .*|goes on without [a-z]+' "$tmp/$who.log" | tail -n 1)" \
            grep -aqE "$2" "$tmp/$who.log"
    done
    kill -CONT "${pid[bob]}"
}
said carl '\[f [0-9]+\] ann \(2\): players 3 and 5 swap' 20 || { show ann carl relay; die "swap: the seats do not change"; }
plays carl 30
stopped waiting '\] waiting for bob \(5\)  '
said carl '\[f [0-9]+\] ann .[0-9].: policy bounded' 20 || { show ann carl relay; die "swap: the policy does not change"; }
plays carl 30
stopped away 'the game goes on without bob \(5\)'
for who in ann carl; do
    wrong=$(grep -aoE 'waiting for [^p].*|goes on without [a-z]+' "$tmp/$who.log" | grep -vE 'bob|to load|to start' | tail -n 1)
    check "swap/only-bob-$who" "$who's log: $wrong" test -z "$wrong"
done
ends_well swap bob 30
both_equal swap ann carl 30
finish
