#!/usr/bin/env bash
# arcade/refusal.sh - a player whose files differ is refused once the game has loaded. The host, in RetroArch, sees the
# player's name and the reason, goes on practising, and plays with the next player. A refused player in RetroArch goes on
# practising, too.
# runs: waiting, test, 20 s
. "$(dirname "$0")/../lib.sh"

core=$build/cores/arcade_core_libretro.so game=$content/arcade/duel.zip
needs "$keylock" "$relay_program" "$wrapper" "$core" "$game"
for program in retroarch Xvfb xdotool; do
    command -v $program >/dev/null || { skip "refusal: no $program"; finish; }
done
retroarch_home ada "${no_sound[@]}" 'network_cmd_enable = "true"' "network_cmd_port = \"${remote:=$(free_port)}\""
# ben's set differs in a byte.
for who in ben cem; do mkdir -p "$tmp/$who"; done
cp "$game" "$tmp/cem"
python3 "tests/content/arcade/sets.py" "$tmp/ben/duel.zip" duel '~duel.gfx'
differs='duel.gfx differs: room has crc 9c694635, you have crc 685bc056'

# The frame that ada's core shows in its memory: the first word of its RAM.
frame_in_ram() {
    python3 - "$remote" <<'END'
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(5)
s.connect(("127.0.0.1", int(sys.argv[1])))
s.send(b"READ_CORE_RAM 0 4")
words = s.recv(4096).split()[2:6]
print(sum(int(w, 16) << 8 * i for i, w in enumerate(words)) if len(words) == 4 else -1)
END
}
passes() { [ "$(frame_in_ram)" -gt "$1" ]; } # FRAME
practises() { # NAME: the frames of ada's core move, with nobody else in the game
    local from
    from=$(frame_in_ram)
    check "refusal/$1" "the core stands at frame $from" eventually 10 passes "$((from + 30))"
}
guest() { # NAME: in the room at the core's own rate
    start "$1" "$keylock" run --relay "$relay" --room duel --name "$1" --core "$core" --content "$tmp/$1/duel.zip" --speed real \
        --frames 600 --input random:2 --hash-every 60 --hash-out "$tmp/$1.hash" --trace "$tmp/$1.csv" --wait 30
}

start_relay
start_xvfb 700x560
start_retroarch ada --core "$core" --content "$game" --relay "$relay" --room duel --practice on -- -v
said relay 'event=joined .*name="ada"' 20 || { show ada relay; die "refusal: ada does not join"; }
practises practice-before

guest ben
ended ben 30
status=$?
check refusal/ben-refused "exit status $status: $(tail -n 1 "$tmp/ben.log" | cut -c 1-150)" \
    eval "[ $status = 4 ] && grep -aq '$differs' '$tmp/ben.log'"
check refusal/ada-hears-why "$(grep -a 'ben' "$tmp/ada.log" | tail -n 1)" \
    said ada '\] ben .2. was refused: duel.gfx differs' 10
practises practice-after
waits_for_players() { grep -a '\] waiting' "$tmp/ada.log" | tail -n 1 | grep -q '(1/2)'; } # once ben is gone
check refusal/ada-waits-for-players "$(grep -a 'waiting' "$tmp/ada.log" | tail -n 1)" eventually 10 waits_for_players
check refusal/listed "$("$keylock" rooms "$relay" 2>&1 | tail -n 2)" eval '"$keylock" rooms "$relay" 2>/dev/null | grep -q "duel.*1/2"'
[ -z "${PICTURE:-}" ] || import -window root "$PICTURE"

guest cem
ends_well refusal cem 60
stop ada
equal refusal ada cem
check refusal/both-from-the-start "$(head -n 1 "$tmp/ada.hash") and $(head -n 1 "$tmp/cem.hash")" begins_with ada cem
check refusal/moves "the hashes stand still" hashes_move "$tmp/cem.hash" 3

# --- the refused player, in RetroArch, goes on too --------------------------------------------------------------

start ben "$keylock" run --relay "$relay" --room bens --name ben --core "$core" --content "$tmp/ben/duel.zip" --speed real \
    --frames 100000 --wait 60
said relay 'event=joined room="bens".*name="ben"' 10 || { show ben relay; die "refusal: ben does not join"; }
start_retroarch ada --core "$core" --content "$game" --relay "$relay" --room bens --practice on -- -v
check refusal/ada-refused "$(grep -a 'Keylock' "$tmp/ada.log" | tail -n 1)" said ada '\] duel.gfx differs: room has crc 685bc056, you have crc 9c694635' 30
practises refused-practice
stop ada
finish
