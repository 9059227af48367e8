#!/usr/bin/env bash
# netplay/host.sh - RetroArch's own Netplay menu without a known relay: the host's wrapper is the relay of the match, and the
# guest finds it at the address that its RetroArch is connected to. Otherwise as netplay/room.sh.
# runs: waiting, test, 25 s
cd "$(dirname "$0")/../../.." || exit 1
NO_RELAY=1 exec tests/e2e/netplay/room.sh
