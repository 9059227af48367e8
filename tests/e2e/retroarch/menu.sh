#!/usr/bin/env bash
# retroarch/menu.sh - the room's commands in real RetroArch's menu: a player steps through the values of one of the wrapper's options.
# The room gets the last value, once, and the option is ready for the next command.
#   PICTURE=FILE  keeps a picture of the menu
# runs: waiting, test, 20 s
. "$(dirname "$0")/../lib.sh"

needs "$keylock" "$relay_program" "$wrapper" "$content/shooter.nes"
for program in retroarch Xvfb; do
    command -v $program >/dev/null || { skip "menu: no $program"; finish; }
done
core_path nestopia >/dev/null || { skip "menu: no nestopia"; finish; }

retroarch_home ann "${no_sound[@]}" "${short_menu[@]}" \
    'network_cmd_enable = "true"' "network_cmd_port = \"${remote:=$(free_port)}\""
start_xvfb 600x460
start_relay

# RetroArch's own remote control, one press of a menu key a frame: the next only once it has run some more. A machine
# that takes a second for that has made the menu stand still: slow counts those.
calls() { wc -l <"$tmp/ann.csv"; }
keys() {
    local key at from
    for key in "$@"; do
        at=$(($(calls) + 6)) from=${EPOCHREALTIME/./}
        printf '%s' "$key" >"/dev/udp/127.0.0.1/$remote"
        eventually 10 eval '[ "$(calls)" -ge '$at' ]'
        [ $((${EPOCHREALTIME/./} - from)) -lt 1000000 ] || slow=$((slow + 1))
    done
}
told() { grep -aoE '\[f [0-9]+\] ann .[12].: .*' "$tmp/ann.log" | sed 's/.*] ann .[12].: //' | tr '\n' ';'; }

# stays_on WHAT WANTED KEY…: presses the keys; then the room has got WANTED and no other command.
stays_on() {
    local what=$1 wanted=$2
    shift 2
    keys "$@"
    check "menu/$what-steps" "expected no command while stepping, got: $(told)" test "$(told)" = "$heard"
    heard+="$wanted;"
    is_told() { [ "$(told)" = "$heard" ]; }
    eventually 5 is_told
    check "menu/$what" "expected the commands: $heard, got: $(told)" stays 2 is_told # nothing else comes
    heard=$(told)
}

steps() {
    start_retroarch ann --core nestopia --content "$content/shooter.nes" --relay "$relay" --room menu --players 1 -- -v
    said ann 'playing ' 30 || { show ann relay; die "menu/start: the game did not begin"; }
    watch watch ann relay xvfb
    slow=0 heard=
    eventually 10 eval '[ "$(calls)" -ge 60 ]'
    keys MENU_TOGGLE MENU_A MENU_UP MENU_A # the quick menu; the core's options; the last category is ours; in
    keys MENU_DOWN MENU_DOWN MENU_DOWN # past play, room and practice
    # past policy, budget, spacing, ahead, feel, voice, one line, panel, record matches
    keys MENU_DOWN MENU_DOWN MENU_DOWN MENU_DOWN MENU_DOWN MENU_DOWN MENU_DOWN MENU_DOWN MENU_DOWN
    stays_on do 'state saved for all' MENU_RIGHT MENU_RIGHT MENU_RIGHT MENU_RIGHT
    [ -z "${PICTURE:-}" ] || import -window root "$PICTURE"
    stays_on do-again reset MENU_RIGHT MENU_RIGHT
    keys MENU_UP MENU_UP MENU_UP MENU_UP MENU_UP MENU_UP MENU_UP MENU_UP MENU_UP
    stays_on policy 'policy optimistic, 250 ms' MENU_RIGHT MENU_RIGHT MENU_RIGHT
    keys MENU_DOWN
    stays_on budget 'policy optimistic, 100 ms' MENU_RIGHT MENU_RIGHT
    stop ann
    check menu/end "RetroArch does not end in peace" test $? = 0
}

steps >"$tmp/steps"
if [ $checks_failed -gt 0 ] && [ $slow -gt 0 ]; then
    note "the machine took a second and more for $slow keys"
    checks_failed=0
    in_time cat "$tmp/steps"
else
    cat "$tmp/steps"
fi
finish
