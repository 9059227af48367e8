#!/usr/bin/env bash
# recording/forged.sh - hostile players tell false hashes and give mutated savestates to real cores (forger.py). Strangers' states are never
# loaded: the guest goes back to its own, begins anew, or is told; its game stays right. A trusting guest loads them, and may die.
# STATES mutated states for each core (20), from SEED (1) on.
# instead: `desync/heal`: in a tie nobody's state is loaded; `test_lobby_hash`
# runs: waiting, all, 150 s
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper"
ulimit -c 0 # of guests that die

# forge CORE GAME STATES ROOMS [trusts]. Rooms play in real time: at once no more than two processors carry, mGBA's being the dearest.
forge() {
    local path
    path=$(core_path "$1") || { skip "forged/$1: the core is not installed"; return; }
    start "$1${5:-}" python3 tests/e2e/forger.py "$build" "$path" "$content/$2" "$3" "${SEED:-1}" "$4" ${5:-}
}
judge() { # NAME
    [ -n "${pid[$1]:-}" ] || return
    ended "$1" 600
    local status=$?
    grep -aE '^(ok|FAIL|  )' "$tmp/$1.log"
    [ $status = 0 ] || fail "forged/$1: exit status $status: $(tail -n 1 "$tmp/$1.log")"
}
states=${STATES:-20}
forge gambatte pads.gb "$states" 4
forge mednafen_wswan pads.ws "$states" 4
judge gambatte
judge mednafen_wswan
forge nestopia shooter.nes "$states" 4
forge mednafen_pce_fast pads.pce "$states" 4
judge nestopia
judge mednafen_pce_fast
forge mgba pads.gba "$states" 2
judge mgba
# With consent, the limit that docs/security.md names.
forge gambatte pads.gb 8 4 trusts
forge nestopia shooter.nes 8 4 trusts
judge gambattetrusts
judge nestopiatrusts
finish
