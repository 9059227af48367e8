#!/usr/bin/env bash
# run.sh - the runner behind `make check`, `make test` and `make test-all`: runs what a suite has, and commands.
#
#   tests/run.sh [--suite SUITE]… [COMMAND]…
#
# tests/tools/plan.py reads from the test files which suites there are and what may run beside them. Commands given run last, three
# at a time, each by a shell.
#
# Prints one line a command with the seconds it took and those that processors worked for it, all output of what failed, and as
# its last line the count:
#   N passed, N failed[, N skipped]
# What counts: lines "ok …", "FAIL …" and "skip …", and cmocka's own totals. A command that prints none of these
# counts as one by its exit status; one that prints only good news and yet exits non-zero, or runs into its time
# limit, counts as failed once more. With CI=true what an end-to-end scenario skips counts as failed.
# A test that is judged by time knows the machine's own hitches (tests/e2e/hitches.py, tests/net/net_hitch.h), and allows for them.
# A command that plays in real time beside others and fails is played once more at the end, alone, and that play counts: links time out and
# machines cannot catch up where a dozen programs share two processors. The output of both plays is printed. A program that died,
# a sanitizer's report and a command that does not depend on time (suites.txt, tests/unit) are never played again.
#
#   RUN_LIMIT  seconds that every command may take at least. Else 600, or what a script's line "# limit: N" says.
#   V=1        shows the output of everything
set -u
passed=0 failed=0 skipped=0 begun=0
declare -A job=() # process → number
declare -A spare=() # the same, of those that take what the processors have left
left_over=() # commands of that kind that have not begun
declare -A real_time=() # number → its command, if it plays in real time
once_more=() # commands
declare -A at_once=([working]=3 [waiting]=4 [emulated]=2 [alone]=1 [once]=1) # of two processors: what works also fetches, builds by turns, and waits for locks
SPARE=2
dir=$(mktemp -d)
awake= here=$(dirname "$0")
trap '[ -z "$awake" ] || kill $awake 2>/dev/null; rm -rf "$dir"' EXIT
trap '[ $((${#job[@]} + ${#spare[@]})) = 0 ] || kill "${!job[@]}" "${!spare[@]}" 2>/dev/null; [ -z "$awake" ] || kill $awake; wait; exit 130' INT TERM HUP

# The host of a virtual machine takes a processor that rests away, and what is timed then waits for it. While each processor has a
# command that takes what is left, none rests; and nothing else is timed.
keep_awake() {
    if [ ${#spare[@]} -ge $SPARE ] || [ ${#job[@]} = 0 ]; then
        [ -z "$awake" ] || kill $awake
        awake=
    elif [ -z "$awake" ]; then
        python3 "$here/bench/awake.py" &
        awake=$!
    fi
}

limit_of() { # COMMAND: the script in it may name its own limit
    local word own=
    for word in $1; do
        case $word in *.sh) own=$(sed -n '1,20s/^# limit: \([0-9]*\).*/\1/p' "$word" 2>/dev/null | head -n 1) ;; esac
    done
    own=${own:-600}
    [ "${RUN_LIMIT:-0}" -gt "$own" ] && own=$RUN_LIMIT
    echo "$own"
}

# Sets good, bad, left from the log.
count() {
    read -r good bad left < <(awk '
        /^ok /   { good++ }
        /^FAIL / { bad++ }
        /^skip / { left++ }
        /^\[  PASSED  \] [0-9]+ test\(s\)/  { good += $4 }
        /^\[  FAILED  \] [0-9]+ test\(s\)/  { bad += $4 }
        /^\[  SKIPPED \] [0-9]+ test\(s\)/  { left += $4 }
        END { print good + 0, bad + 0, left + 0 }' "$1")
}

# One command, in a process of its own: what is to be said of it in NUMBER.out, its counts in NUMBER.count.
run_one() { # COMMAND NUMBER [HOW]
    local limit begin status seconds work note='' word=ok child log=$dir/$2.log idle=()
    limit=$(limit_of "$1")
    [ "${3:-}" != spare ] || { idle=(chrt --idle 0); limit=$((limit * 6)); }
    begin=$SECONDS
    timeout -k 10 "$limit" "${idle[@]}" sh -c "$1" >"$log" 2>&1 </dev/null &
    child=$!
    trap 'kill "$child" 2>/dev/null; wait; exit 130' INT TERM HUP
    wait "$child" 2>/dev/null
    status=$?
    seconds=$((SECONDS - begin))
    times >"$dir/$2.times"
    work=$(awk -F '[ms ]+' 'NR == 2 { printf "%d", $1 * 60 + $2 + $3 * 60 + $4 + 0.5 }' "$dir/$2.times")
    count "$log"
    if [ "${CI:-}" = true ] && [[ $1 == *tests/e2e/* ]]; then
        bad=$((bad + left)) left=0
    fi
    if [ "$status" != 0 ] && [ "$bad" = 0 ]; then bad=1; fi
    if [ "$status" = 0 ] && [ $((good + bad + left)) = 0 ]; then good=1; fi
    if [ "$status" = 124 ] || [ "$status" = 137 ]; then note=", ran into its limit of $limit s"
    elif [ "$status" != 0 ]; then note=", exit status $status"; fi
    [ "$left" = 0 ] || word=skip
    [ "$bad" = 0 ] || word=FAIL
    {
        printf '%-4s %5d s %4d s work  %s: %d passed' "$word" "$seconds" "$work" "$1" "$good"
        [ "$bad" = 0 ] || printf ', %d failed' "$bad"
        [ "$left" = 0 ] || printf ', %d skipped' "$left"
        printf '%s\n' "$note"
        if [ "$bad" != 0 ] || [ "${V:-0}" = 1 ]; then
            sed 's/^/    | /' "$log"
        elif [ "$left" != 0 ]; then
            grep -aE '^skip |  SKIPPED \] [^0-9]' "$log" | sed 's/^/    | /'
        fi
    } >"$dir/$2.out"
    grep -aqE 'Sanitizer|[Ss]egmentation fault|Aborted|died of signal' "$log" && touch "$dir/$2.died"
    rm -f "$log"
    echo "$good $bad $left" >"$dir/$2.count"
}

# begin_spare: of the commands that take what is left, as many as have room.
begin_spare() {
    while [ ${#spare[@]} -lt $SPARE ] && [ ${#left_over[@]} -gt 0 ]; do
        begun=$((begun + 1))
        [[ ${left_over[0]} != *tests/e2e/* ]] || real_time[$begun]=${left_over[0]}
        run_one "${left_over[0]}" $begun spare &
        spare[$!]=$begun
        left_over=("${left_over[@]:1}")
    done
}

# Waits until one of those that run has ended.
take_one() {
    local pid='' number good=0 bad=1 left=0
    wait -n -p pid "${!job[@]}" "${!spare[@]}"
    [ -n "$pid" ] || return
    number=${job[$pid]:-${spare[$pid]:-}}
    unset "job[$pid]" "spare[$pid]"
    begin_spare
    [ ${#job[@]} = 0 ] || keep_awake
    read -r good bad left <"$dir/$number.count"
    if [ "$bad" != 0 ] && [ -n "${real_time[$number]:-}" ] && [ ! -e "$dir/$number.died" ]; then
        sed -E 's/^( +\| )?FAIL /\1first play: /' "$dir/$number.out"
        echo "     is played once more, alone, when the others have ended"
        once_more+=("${real_time[$number]}")
        return
    fi
    cat "$dir/$number.out"
    passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + left))
}

# run HOW COMMAND: begins it once there is room. Commands that run in another way have ended before.
how=
run() {
    while [ ${#job[@]} -gt 0 ] && { [ "$1" != "$how" ] || [ ${#job[@]} -ge "${at_once[$1]}" ]; }; do take_one; done
    how=$1
    begun=$((begun + 1))
    if [ "$how" = waiting ] || [[ $how = @(working|emulated) && $2 == *tests/e2e/* ]]; then real_time[$begun]=$2; fi
    run_one "$2" $begun &
    job[$!]=$begun
    keep_awake
}

suites=()
while [ "${1:-}" = --suite ] && [ $# -gt 1 ]; do
    suites+=("$2")
    shift 2
done
case ${1:-} in -*)
    echo "run.sh: expected --suite SUITE or a command, got \"$1\"" >&2
    exit 2
    ;;
esac
if [ ${#suites[@]} -gt 0 ]; then
    tests/tools/plan.py "${suites[@]}" >"$dir/plan" || exit 2
    mapfile -t left_over < <(sed -n 's/^spare\t//p' "$dir/plan")
fi
begin_spare
if [ ${#suites[@]} -gt 0 ]; then
    while IFS=$'\t' read -r -u 3 way command; do [ "$way" = spare ] || run "$way" "$command"; done 3<"$dir/plan"
fi
for command; do run working "$command"; done
while [ $((${#job[@]} + ${#spare[@]})) -gt 0 ]; do
    take_one
    keep_awake
done
for command in "${once_more[@]}"; do run once "$command"; done
while [ ${#job[@]} -gt 0 ]; do take_one; done

if [ "$skipped" = 0 ]; then
    echo "$passed passed, $failed failed"
else
    echo "$passed passed, $failed failed, $skipped skipped"
fi
[ "$failed" = 0 ]
