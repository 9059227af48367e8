#!/usr/bin/env bash
# retroarch/versions.sh - two versions of RetroArch in one room: this machine's, and 1.20 as Debian 13 has it (tests/tools/retroarch_120.sh,
# which fetches it once). The same play, the same abuse and the same judgement as in retroarch/room.sh.
# instead: `retroarch/room`, a room with one version; `netplay/room`, a room with the other version
# runs: waiting, all, 50 s
cd "$(dirname "$0")/../../.." || exit 1
OTHER_RETROARCH=1.20 exec tests/e2e/retroarch/room.sh
