#!/usr/bin/env bash
# 83-forged.sh - hostile players tell false hashes and give mutated savestates to real cores (forger.py). Strangers' states are never
# loaded: the guest goes back to its own, begins anew, or is told; its game stays right. A trusting guest loads them, and may die.
# STATES mutated states for each core (20), from SEED (1) on.
# runs: waiting, all, 190 s
. "$(dirname "$0")/lib.sh"

needs "$keylock" "$relay_program" "$wrapper"
ulimit -c 0 # of guests that die
cores='gambatte:pads.gb mednafen_wswan:pads.ws mednafen_pce_fast:pads.pce nestopia:shooter.nes mgba:pads.gba'

# forge CORE GAME STATES [trusts]
forge() {
    local path
    path=$(core_path "$1") || { skip "forged/$1: the core is not installed"; return; }
    start "$1${4:-}" python3 tests/e2e/forger.py "$build" "$path" "$content/$2" "$3" "${SEED:-1}" 4 ${4:-}
}
judge() { # NAME
    [ -n "${pid[$1]:-}" ] || return
    ended "$1" 600
    local status=$?
    grep -aE '^(ok|FAIL|  )' "$tmp/$1.log"
    [ $status = 0 ] || fail "forged/$1: exit status $status: $(tail -n 1 "$tmp/$1.log")"
}
for core in $cores; do forge "${core%:*}" "${core#*:}" "${STATES:-20}"; done
for core in $cores; do judge "${core%:*}"; done
# With consent, the limit that docs/security.md names.
for core in gambatte:pads.gb nestopia:shooter.nes; do forge "${core%:*}" "${core#*:}" 8 trusts; done
for core in gambatte nestopia; do judge "${core}trusts"; done
finish
