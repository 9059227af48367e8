#!/usr/bin/env bash
# project/other-processors.sh - the same sources on other processors, under qemu-user: unit programs, simulated rooms and the protocol's
# vectors on arm64; rooms, vectors, and the readers of the wire on s390x, whose numbers begin with the high byte.
# Logs and vectors are the same bytes as this machine's.
#   PARTS='unit arm64 s390x'  only these; builds: what they and arm64/rooms run
#   SEEDS='1 2'  of the rooms
# instead: nothing
# runs: spare, all, 300 s
# limit: 900
. "$(dirname "$0")/../lib.sh"
. tests/e2e/lib_arm64.sh

PARTS=${PARTS:-arm64 s390x unit}
SEEDS=${SEEDS:-1 2 3 7}
needs "$build/tests/sim" "$build/vectors"

# Left out: the one that starts a program for arm64 by its path, for which the kernel would have to know the emulator, and those
# that compute for over nine seconds there; and voice in real time, for which the emulator is too slow beside others (arm64/rooms has it).
left_out() {
    case $1 in
        test_platform_process | test_audio | test_pace | test_journal_torn) ;;
        test_gate | test_lobby_debt | test_lobby_watch_crowd | test_lobby_hash | test_lobby_door) ;;
        test_durability | test_journal | test_talk) ;;
        *) false ;;
    esac
}

programs=() cores=(tests/cores/*.c)
for t in tests/unit/test_*.c; do
    t=$(basename "$t" .c)
    left_out "$t" || programs+=("$t")
done
cores=("${cores[@]#tests/}")
parts_of_unit=(keylock_libretro.so "${cores[@]/%.c/_libretro.so}" "${programs[@]/#/tests/}")

unit() {
    local name status run=0
    arm64_builds "${parts_of_unit[@]}"
    for name in "${programs[@]}"; do
        KL_BUILD=$arm64 timeout 400 qemu-aarch64 "$arm64/tests/$name" >"$tmp/$name.log" 2>&1
        status=$?
        run=$((run + 1))
        [ $status = 0 ] && continue
        fail "processors/arm64-$name: exit status $status"
        SHOW_LINES=15 show "$name"
    done
    check processors/arm64-unit "$run unit programs" test $run -gt 100
    note "$run unit programs"
}

# same SYSTEM EMULATOR FOLDER: rooms and vectors, beside this machine's.
same() {
    local seed system=$1 emulator=$2 folder=$3
    for seed in $SEEDS; do
        "$build/tests/sim" --seed "$seed" >"$tmp/room.native"
        $emulator "$folder/tests/sim" --seed "$seed" >"$tmp/room.other"
        check "processors/$system-room-$seed" "$(cmp "$tmp/room.native" "$tmp/room.other" 2>&1)" cmp -s "$tmp/room.native" "$tmp/room.other"
        check "processors/$system-room-$seed-whole" "no line event=end" grep -q 'event=end .*failed=0' "$tmp/room.other"
    done
    "$build/vectors" >"$tmp/vectors.native"
    $emulator "$folder/vectors" >"$tmp/vectors.other"
    check "processors/$system-vectors" "$(cmp "$tmp/vectors.native" "$tmp/vectors.other" 2>&1)" cmp -s "$tmp/vectors.native" "$tmp/vectors.other"
    check "processors/$system-vectors-all" "only $(wc -l <"$tmp/vectors.other")" test "$(wc -l <"$tmp/vectors.other")" -gt 100
    printf '#!/bin/sh\nexec %s "%s" "$@"\n' "$emulator" "$folder/vectors" >"$tmp/vectors"
    chmod +x "$tmp/vectors"
    python3 tests/conformance/decode.py "$tmp/vectors" >"$tmp/decode.log" 2>&1 || show decode
    check "processors/$system-conformance" "decode.py refuses it" eval '! grep -q ^FAIL "$tmp/decode.log" && grep -q ^ok "$tmp/decode.log"'
}

arm64() {
    arm64_builds tests/sim vectors
    same arm64 qemu-aarch64 "$arm64"
    # A multiply-and-add that rounds once would let a figure of the lock differ from x86-64's, in one room of very many.
    aarch64-linux-gnu-objdump -d "$arm64/tests/sim" >"$tmp/sim.dump"
    check processors/arm64-rounds-twice "$(grep -cE '\s(fn?madd|fn?msub|fmla|fmls)\s' "$tmp/sim.dump") instructions round once" \
        eval 'grep -q "\sfmul\s" "$tmp/sim.dump" && ! grep -qE "\s(fn?madd|fn?msub|fmla|fmls)\s" "$tmp/sim.dump"'
}

s390x_builds() {
    env -u MAKEFLAGS -u MAKELEVEL HOME="$user_home" make --no-print-directory big-endian BUILD=build >"$tmp/s390x.log" 2>&1 ||
        { show s390x; die "processors: make big-endian fails"; }
}

s390x() {
    local t folder=$PWD/build/s390x
    s390x_builds
    same s390x "qemu-s390x -L /usr/s390x-linux-gnu" "$folder"
    for t in msg ctrl update input start strangers; do
        qemu-s390x -L /usr/s390x-linux-gnu "$folder/fuzz/fuzz_$t" --smoke 1 200 >"$tmp/smoke.log" 2>&1
        check "processors/s390x-fuzz_$t" "exit status $?" grep -q "^ok fuzz_$t" "$tmp/smoke.log"
    done
}

builds() {
    arm64_builds keylock keylock-relay tests/sim vectors "${parts_of_unit[@]}"
    s390x_builds
    ok processors/built
}

for part in $PARTS; do $part; done
finish
