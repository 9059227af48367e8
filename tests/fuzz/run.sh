#!/usr/bin/env bash
# run.sh DIR SECONDS TARGET...: each target that long with libFuzzer, two at a time. Its findings stay in DIR/found.
# Of the lobby's 10,000 features libFuzzer calls thousands rare at first, and looks through their list for each feature of
# each input: half of all time. The threshold makes it a hundred.
set -u
dir=$1 seconds=$2
shift 2
mkdir -p "$dir/found" "$dir/corpus" "$dir/log"

one() {
    local target=$1 log=$dir/log/$1.log
    mkdir -p "$dir/corpus/$target"
    if "$dir/san/fuzz/$target" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 -print_final_stats=1 \
        -entropic_feature_frequency_threshold=1 -artifact_prefix="$dir/found/$target-" "$dir/corpus/$target" "tests/fuzz/corpus/$target" >"$log" 2>&1; then
        echo "ok $target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs in $seconds s"
    else
        echo "FAIL $target: $(grep -m 1 -E 'ERROR|runtime error|SUMMARY' "$log"), all of it in $log"
        return 1
    fi
}
export -f one
export dir seconds
printf '%s\n' "$@" | xargs -P 2 -I{} bash -c 'one {}'
