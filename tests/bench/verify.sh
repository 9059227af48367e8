#!/usr/bin/env bash
# verify.sh - an hour of each core is recorded and verified, twice: from its beginning, which keeps states, and in pieces from these,
# two at once. Prints processor time a frame of the verification beside that of the bare core, which runs before it and after it.
#   MINUTES=60        of each recording
#   CORES="nestopia"  only these
#   FBNEO=core ZIP=set SYSTEM=folder  FBNeo too
. "$(dirname "$0")/../e2e/lib.sh"

frames=$((${MINUTES:-60} * 3600)) bare=$((${MINUTES:-60} * 360))
CORES=${CORES-nestopia gambatte mgba bsnes_mercury_performance mednafen_pce_fast mednafen_wswan}
needs "$keylock"
TIMEFORMAT='%U %S %R'

# timed NAME COMMAND…: its processor time and time in seconds, in $cpu and $real; its words in NAME.log and NAME.out.
timed() {
    local name=$1 user system status
    shift
    { time "$@" >"$tmp/$name.out" 2>"$tmp/$name.log"; status=$?; } 2>"$tmp/$name.time"
    read -r user system real <"$tmp/$name.time"
    cpu=$(awk "BEGIN { print $user + $system }")
    return $status
}
us() { awk "BEGIN { printf \"%.1f\", $1 * 1e6 / $2 }"; } # SECONDS FRAMES

# hour NAME CORE CONTENT [SYSTEM]
hour() {
    local name=$1 system=() before verified pieces status
    local game=(--core "$2" --content "$3")
    [ -z "${4:-}" ] || system=(--system "$4")
    timed record "$keylock" run --quiet "${game[@]}" "${system[@]}" --frames "$frames" --speed max --input random:7 --hash-every 60 --record "$tmp/$name.klr"
    status=$?
    [ $status = 0 ] || { show record; fail "verify/$name-recorded: exit status $status"; return; }
    timed bare "$keylock" run --quiet "${game[@]}" "${system[@]}" --frames $bare --speed max --input random:7
    before=$cpu
    timed verify "$keylock" verify "${game[@]}" "${system[@]}" --pieces "$tmp/$name.pieces" "$tmp/$name.klr"
    status=$?
    verified=$cpu
    check "verify/$name" "exit status $status: $(cut -c 1-300 "$tmp/verify.out")" test $status = 0
    note "$name: $(sed 's/^.*: verified: //' "$tmp/verify.out"); $real s"
    timed bare "$keylock" run --quiet "${game[@]}" "${system[@]}" --frames $bare --speed max --input random:7
    note "$name: the bare core $(us "$before" $bare) and $(us "$cpu" $bare) µs of processor a frame, verified $(us "$verified" "$frames"): $(
        awk "BEGIN { printf \"%.2f\", ($before + $cpu) / 2 / $bare / ($verified / $frames) }") of the bare core"
    timed pieces "$keylock" verify "${game[@]}" "${system[@]}" --pieces "$tmp/$name.pieces" -j 2 "$tmp/$name.klr"
    status=$?
    pieces=$(grep -o 'in [0-9]* pieces\|run whole' "$tmp/pieces.out")
    check "verify/$name-in-pieces" "exit status $status: $(cut -c 1-300 "$tmp/pieces.out")" test $status = 0
    note "$name: again ${pieces:-whole}: $real s, $cpu s of processor; $(du -sk "$tmp/$name.pieces" | cut -f 1) KB of states"
    rm -rf "${tmp:?}/$name.pieces"
}

for core in $CORES; do
    case $core in
    nestopia) game=shooter.nes ;;
    gambatte) game=pads.gb ;;
    mgba) game=pads.gba ;;
    bsnes*) game=pads.sfc ;;
    *pce*) game=pads.pce ;;
    *) game=pads.ws ;;
    esac
    path=$(core_path "$core") && [ -e "$content/$game" ] || { skip "verify/$core: no such core or game"; continue; }
    hour "$core" "$path" "$content/$game"
done
[ -z "${FBNEO:-}" ] || hour fbneo "$(realpath "$FBNEO")" "$(realpath "$ZIP")" "$(realpath "$SYSTEM")"
finish
