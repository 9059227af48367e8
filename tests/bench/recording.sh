#!/usr/bin/env bash
# recording.sh - bytes of an hour's recording of two players, packed and not, with hashes of RAM and state each second: buttons pressed
# ten times a second with a direction four times a second, and `random:7`. Prints a line for each player's file. MINUTES=60
. "$(dirname "$0")/../e2e/lib.sh"

frames=$((${MINUTES:-60} * 3600))
needs "$keylock" "$relay_program" "$wrapper" "$content/pads.gb"
gambatte=$(core_path gambatte) || die "recording: no gambatte"
python3 - "$frames" "$tmp/masher" <<'END_OF_PYTHON'
import random, sys
for seed in (1, 2):
    rng, held, pad, out = random.Random(seed), {}, 0, []
    for frame in range(int(sys.argv[1])):
        held = {bit: left - 1 for bit, left in held.items() if left > 1}
        if rng.random() < 10 / 60:
            held[rng.choice([b for b in (0x1, 0x100, 0x2, 0x200) if b not in held])] = rng.randint(2, 4)
        if frame % 15 == 0:
            way = rng.choice([0, 0x10, 0x20, 0x40, 0x80])
        mask = way | sum(held)
        if mask != pad:
            out.append("%d 0 %x\n" % (frame, mask))
        pad = mask
    open(sys.argv[2] + str(seed), "w").write("".join(out))
END_OF_PYTHON

start_relay --journal "$tmp/journal"
# play NAME INPUT INPUT: a room of two at full speed.
play() {
    local i
    for i in 1 2; do
        run_in_room "$1-$i" --core "$gambatte" --content "$content/pads.gb" --room "$1" --frames "$frames" --speed max \
            --input "${@:i+1:1}" --hash-every 60 --wait 60 --record "$tmp/$1-$i.klr"
        [ $i = 2 ] || said relay "event=joined room=\"$1\"" 10
    done
    for i in 1 2; do
        ends_well recording "$1-$i" 480
        "$keylock" replay --info "$tmp/$1-$i.klr" | awk -v name="$1-$i" '/^(inputs|hashes|bytes)/ { line = line "; " $0 } END { print name line }'
    done
}
play masher "$tmp/masher1" "$tmp/masher2"
play random random:7 random:8
finish
