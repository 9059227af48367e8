#!/usr/bin/env bash
# relay/crowd.sh - twelve players on one relay, all of `keylock run`: friends in a room that they named, players who name
# none, quick matches, two games. Nobody comes into a room that they did not ask for, not even for a moment.
# runs: waiting, all, 40 s
# instead: `test_lobby_door` and `test_lobby`, who comes into which room
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$content/shooter.nes" "$content/pads.gb"
core_path nestopia >/dev/null && core_path gambatte >/dev/null || { skip "crowd: no nestopia and gambatte"; finish; }
start_relay

# plays NAME CORE CONTENT ARGUMENT…
plays() {
    local name=$1 core=$2 game=$3
    shift 3
    run_in_room "$name" --core "$core" --content "$game" --speed real --frames 300 --input "random:${#name}" "$@"
}
nes=$content/shooter.nes gb=$content/pads.gb

# One of each kind waits before anybody comes whom a wrong room could take.
plays friend-1 nestopia "$nes" --room friends
plays game-1 nestopia "$nes"
for who in friend-1 game-1; do said relay "joined .*name=\"$who\"" 20 || die "crowd: $who is in no room"; done
for who in quick-1 quick-2; do KEYLOCK_MODE=quick plays $who nestopia "$nes"; done
for who in swift-1 swift-2; do KEYLOCK_MODE=quick plays $who gambatte "$gb"; done
for who in other-1 other-2; do plays $who gambatte "$gb"; done
for who in game-2 game-3 game-4; do plays $who nestopia "$nes"; done
plays friend-2 nestopia "$nes" --room friends

for who in friend-{1,2} game-{1,2,3,4} quick-{1,2} swift-{1,2} other-{1,2}; do
    ends_well crowd $who 60
done

# Every join that the relay noted, against the rooms that each player asked for.
check crowd/rooms "somebody came into a room not asked for" python3 - "$tmp/relay.log" <<'END'
import collections, re, sys
room = collections.defaultdict(set)
watch = 0
for line in open(sys.argv[1], errors="replace"):
    watch += "event=watches" in line
    m = re.search(r'event=joined room="([^"]*)".* name="([^"]*)"', line)
    if m: room[m[1]].add(m[2])
wanted = {"friend": "friends$", "game": "nestopia-[a-z0-9]{6}(-[2-9])?$", "other": "gambatte-[a-z0-9]{6}$", "quick": "quick-", "swift": "quick-"}
bad = []
for name, members in room.items():
    kinds = {m.split("-")[0] for m in members}
    for kind in kinds:
        if not re.match(wanted[kind], name): bad.append((name, members))
    if len(kinds) > 1 or len(members) > 2: bad.append((name, members))
print(dict(room))
assert not bad and not watch, bad
END
for pair in "friend-1 friend-2" "quick-1 quick-2" "swift-1 swift-2" "other-1 other-2"; do equal crowd $pair; done
finish
