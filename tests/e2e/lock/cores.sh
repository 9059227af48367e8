#!/usr/bin/env bash
# lock/cores.sh - pairs in a room on loopback, on every core: started in different seconds, random input with
# different seeds on both sides, the same hashes.
#   FRAMES=10000  frames of each pair (2000)
#   CORES='nestopia gambatte'  only these
# runs: working, test, 60 s
# limit: 900
. "$(dirname "$0")/../lib.sh"

FRAMES=${FRAMES:-2000}
CORES=${CORES:-}
EVERY=50
OTHER_FRAMES=600 # of the room with other seeds
WAIT=$((40 + FRAMES / 50)) # each of these is far quicker than 50 fps

needs "$keylock" "$relay_program" "$wrapper"
start_relay --per-address 64

rooms=0
# pair NAME CORE CONTENT FRAMES SEED_A SEED_B [BETWEEN]: the second begins after that; both in sync to the end, or a reason in $why.
pair() {
    local name=$1 core=$2 rom=$3 frames=$4 a=$1-a b=$1-b status_a status_b room=room-$((++rooms))
    run_in_room "$a" --core "$core" --content "$rom" --room $room --frames "$frames" --input "random:$5" \
        --hash-every $EVERY --wait 30
    ${7:-}
    run_in_room "$b" --core "$core" --content "$rom" --room $room --frames "$frames" --input "random:$6" --wait 30
    ended "$a" "$WAIT"; status_a=$?
    ended "$b" "$WAIT"; status_b=$?
    why=
    if [ "$status_a" != 0 ] || [ "$status_b" != 0 ]; then
        why="exit status $status_a and $status_b (124: over $WAIT s)"
    elif ! "$keylock" diff "$tmp/$a.hash" "$tmp/$b.hash" >"$tmp/$name.diff" 2>&1; then
        why="keylock diff: $(head -n 1 "$tmp/$name.diff")"
    elif [ "$(json "$a" ram) $(json "$a" state)" != "$(json "$b" ram) $(json "$b" state)" ]; then
        why="last ram and state: $(json "$a" ram) $(json "$a" state), $(json "$b" ram) $(json "$b" state)"
    elif [ "$(json "$a" frames)" != "$frames" ] || [ "$(json "$b" frames)" != "$frames" ]; then
        why="ran $(json "$a" frames) and $(json "$b" frames) of $frames frames"
    elif ! cmp -s "$tmp/$a.hash" "$tmp/$b.hash"; then
        why="the hash files differ in what keylock diff does not look at"
    elif [ "$(wc -l <"$tmp/$a.hash")" -lt $((frames / EVERY / 2)) ]; then
        why="only $(wc -l <"$tmp/$a.hash") hashes in $frames frames"
    elif ! hashes_move "$tmp/$a.hash"; then
        why="the hashes do not change over time"
    fi
    [ -z "$why" ]
}

# Other seeds give other hashes: the hashed bytes follow the pads.
follows_input() { # NAME CORE CONTENT
    pair "$1-other" "$2" "$3" $OTHER_FRAMES 303 404 || return
    "$keylock" diff "$tmp/$1-a.hash" "$tmp/$1-other-a.hash" >"$tmp/$1.diff" 2>&1
    case $? in
    1) return 0 ;;
    *) why="other input, same hashes: $(head -n 1 "$tmp/$1.diff")" ; return 1 ;;
    esac
}

core() { # CORE CONTENT
    local path name
    name=$1-$(basename "$2")
    case " $CORES " in "  " | *" $1 "*) ;; *) return ;; esac
    path=$(core_path "$1") || { skip "cores/$name: the core is not installed"; return; }
    [ -s "$2" ] || { fail "cores/$name: $2 is missing"; return; }
    if pair "$name" "$path" "$2" "$FRAMES" 101 202 next_second; then
        ok "cores/$name: $FRAMES frames, $(wc -l <"$tmp/$name-a.hash") equal hashes, $(json "$name-a" wall_s) s"
    else
        fail "cores/$name: $why"
        show "$name-a" "$name-b"
        return
    fi
    if follows_input "$name" "$path" "$2"; then
        ok "cores/$name: other input, other hashes"
    else
        fail "cores/$name: $why"
    fi
}

core nestopia "$content/shooter.nes"
for rom in croom lj65; do
    case " $CORES " in "  " | *" nestopia "*) ;; *) continue ;; esac
    if file=$(jsnes_rom $rom); then core nestopia "$file"; else skip "cores/nestopia-$rom: npm cannot fetch jsnes@1.2.1"; fi
done
core gambatte "$content/pads.gb"
core mgba "$content/pads.gba"
core mednafen_pce_fast "$content/pads.pce"
core bsnes_mercury_performance "$content/pads.sfc"
[ ! -e "$content/pads.ws" ] || core mednafen_wswan "$content/pads.ws"

stop relay
check cores/relay "exit status $? of the relay after SIGTERM" test $? = 0
finish
