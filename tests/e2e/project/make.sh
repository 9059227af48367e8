#!/usr/bin/env bash
# project/make.sh - the Makefile in a packager's hands: the relay alone, flags on the command line, an install into a staging folder,
# `make -n`.
# runs: working, all, 40 s
# instead: nothing
. "$(dirname "$0")/../lib.sh"

mkdir "$tmp/tree"
git ls-files -z | xargs -0 cp --parents -t "$tmp/tree"
cd "$tmp/tree" || die "make: no copy of the tree"
unset MAKEFLAGS MAKELEVEL KL_BUILD CI

# make -n runs nothing: it fetches, installs, builds and tests nothing. (make itself runs lines that name $(MAKE).)
timeout 60 make -n test >"$tmp/dry.log" 2>&1
status=$?
check make/dry-run "exit status $status" test $status = 0
check make/dry-run-prints-the-tests "no line with tests/run.sh" grep -q 'tests/run.sh --suite check --suite test' "$tmp/dry.log"
check make/dry-run-runs-nothing "$(find build -type f 2>/dev/null | head -n 3)" test -z "$(find build -type f 2>/dev/null | head -n 1)"

# The relay alone needs nothing of cores, sound or RetroArch.
make -j2 BUILD=alone CFLAGS=-O0 install-relay DESTDIR="$tmp/alone" PREFIX=/usr >"$tmp/alone.log" 2>&1
status=$?
check make/relay-alone "exit status $status: $(tail -n 1 "$tmp/alone.log")" test $status = 0
check make/relay-files "$(find "$tmp/alone" -type f | tr '\n' ' ')" test "$(find "$tmp/alone" -type f)" = "$tmp/alone/usr/bin/keylock-relay"
others=$(ldd "$tmp/alone/usr/bin/keylock-relay" | grep -vE 'linux-vdso|ld-linux|lib(enet|sodium|zstd|c|m|pthread|dl)\.so')
check make/relay-libraries "it needs $others" test -z "$others"
check make/relay-objects "objects of others were built" test -z "$(find alone -name '*.o' -path '*core_wrapper*')"

make -j2 CFLAGS=-O0 CPPFLAGS=-DPACKAGED LDFLAGS=-Wl,-z,relro all >"$tmp/flags.log" 2>&1
status=$?
check make/packagers-flags "exit status $status: $(tail -n 3 "$tmp/flags.log")" test $status = 0
make CFLAGS=-O0 install DESTDIR="$tmp/staged" PREFIX=/usr >"$tmp/install.log" 2>&1
status=$?
check make/staged "exit status $status: $(tail -n 1 "$tmp/install.log")" test $status = 0 -a -x "$tmp/staged/usr/bin/keylock" \
    -a -e "$tmp/staged/usr/lib/libretro/keylock_libretro.so"
check make/built-runs "keylock run --help fails" "$tmp/staged/usr/bin/keylock" run --help
finish
