# The layers of tests; `make test` runs them all and counts.

UNIT     := $(patsubst %.c,$(OUT)/tests/%,$(notdir $(wildcard tests/unit/test_*.c tests/net/test_*.c)))
FUZZ     := $(patsubst %.c,$(OUT)/fuzz/%,$(notdir $(wildcard tests/fuzz/fuzz_*.c)))
CORES    := $(patsubst tests/cores/%.c,$(OUT)/cores/%_libretro.so,$(wildcard tests/cores/*.c))
E2E      := $(sort $(wildcard tests/e2e/[0-9]*.sh))
RETROARCH_E2E = $(shell grep -lE "start_retroarch|with_retroarch|_RETROARCH=|NO_RELAY=" $(E2E))
TEST_LIBS := -lcmocka $(LIBS)
vpath test_%.c tests/unit tests/net
vpath fuzz_%.c tests/fuzz

.SECONDARY: # objects of tests are kept: make would take them for intermediate
.PHONY: test test-run test-build unit sim rooms conformance fuzz fuzz-smoke corpus purity e2e e2e-san e2e-tsan soak trials

test: deps ## everything: installs what is missing, builds, runs; about half an hour
	$(Q)tests/tools/retroarch_120.sh >/dev/null || echo "no RetroArch 1.20: what needs it is skipped" >&2
	$(Q)$(MAKE) --no-print-directory all test-build
	$(Q)$(MAKE) --no-print-directory frontend || echo "no patched RetroArch: what needs it is skipped" >&2
	$(Q)$(MAKE) --no-print-directory test-run

test-build: $(UNIT) $(FUZZ) $(OUT)/make_corpus $(OUT)/tests/sim $(OUT)/tests/rooms $(OUT)/vectors $(OUT)/session_peer $(OUT)/faultproxy $(OUT)/loads $(OUT)/storm cores

SIM_SEEDS ?= 300
SIM_KEPT  := 284 1525 30055 # rooms for which engine or judge was once mended
ROOM_SEEDS ?= 60
ROOMS_KEPT := 20 32 1101 1213 1327 20205 20482 # rooms for which the relay or a client was once mended
# Directed trials of the engine in virtual time, each of which ends with 1 on a MISS; the quick ones are part of `test`.
trial = "$(OUT)/tests/sim --$(1)"
QUICK_TRIALS := $(call trial,slow) $(call trial,unequal) $(call trial,menu 60) $(call trial,hang 5) $(call trial,return)
TRIALS := $(QUICK_TRIALS) $(call trial,pace) $(call trial,hour) $(call trial,table --seeds 4) \
    $(call trial,table --seeds 4 --half-steps) $(call trial,step) $(call trial,hitch)
# … since there are watchers in them, and snapshots to begin with (without --plain); or that were once judged wrongly
ROOMS_KEPT_WIDE := 30 33 555 883 890 911 1074 1105 1215 1264 401020 402017
# All that is the processors' work runs two at a time, what plays in real time but mostly waits three at a time, and so do the
# scenarios that are judged by hashes, frames and words alone (BESIDE). What is judged by time, to a frame or so or by what the
# machine can do, runs alone, and so does every scenario not named here. A line of tests/run.sh tells what only waits.
net_tests  = $(patsubst %,$(OUT)/tests/test_%,$(1))
scenarios  = $(foreach n,$(1),$(wildcard tests/e2e/$(n)*.sh))
AT_WORK   := $(call scenarios,10 11 30 31 60 80)
REAL_TIME := $(call scenarios,51 55 54 74 72 71) $(call net_tests,relay return roam front liar)
BESIDE    := $(call scenarios,93 91 86 94 59 81 58 73-capture 56 92 84-parted 90)
OTHER_RETROARCH := $(foreach s,$(call scenarios,91 94 90 92),"KL_RETROARCH=1.20 $(s)")
TIMED     := $(call net_tests,flood hostile restart)
REST      := $(filter-out $(REAL_TIME) $(TIMED),$(UNIT))
ALONE     := $(TIMED) $(filter-out $(AT_WORK) $(REAL_TIME) $(BESIDE) %/70-return.sh %-sound.sh,$(E2E))
test-run: test-build
	$(Q)KL_BUILD=$(OUT) KEYLOCK_RELAY_BIN=$(OUT)/keylock-relay KEYLOCK_FAULTPROXY_BIN=$(OUT)/faultproxy tests/run.sh \
	    --beside 2 "$(OUT)/tests/sim --seeds $(SIM_SEEDS) --jobs 1" \
	    $(foreach s,$(SIM_KEPT),"$(OUT)/tests/sim --seeds 1 --first $(s)") "$(OUT)/tests/rooms --seeds $(ROOM_SEEDS) --first 200" \
	    $(foreach s,$(ROOMS_KEPT_WIDE),"$(OUT)/tests/rooms --seeds 1 --first $(s)") \
	    $(foreach s,$(ROOMS_KEPT),"$(OUT)/tests/rooms --plain --seeds 1 --first $(s)") $(AT_WORK) "$(MAKE) -s purity" "$(MAKE) -s conformance" \
	    $(foreach f,$(FUZZ),"$(f) --smoke") $(QUICK_TRIALS) $(REST) \
	    --alone --timed --beside 3 "PARTS=outage tests/e2e/70-return.sh" "PARTS='killed twins forgotten' tests/e2e/70-return.sh" \
	    $(REAL_TIME) $(BESIDE) $(OTHER_RETROARCH) --alone $(ALONE)

$(OUT)/tests/%: $(OUT)/obj/test/%.o $(OUT)/libkeylock.a
	$(link) $(TEST_LIBS)
$(patsubst %.c,$(OUT)/tests/%,$(notdir $(wildcard tests/net/test_*.c))): $(call obj,tests/net/net_player.c tests/net/net_intruder.c tests/net/net_spoof.c tests/net/net_journal.c tests/net/net_state.c tests/net/net_liar.c)
$(OUT)/obj/test/%.o: %.c
	@mkdir -p $(@D)
	@$(if $(Q),echo "CC    $<")
	$(Q)$(COMPILE) -MMD -MP -c -o $@ $<

unit: $(UNIT) cores ## unit tests and the relay's own
	$(Q)tests/run.sh $(UNIT)

$(OUT)/tests/sim: $(call obj,$(wildcard tests/sim/*.c) $(ENGINE) core_wrapper/pace.c)
	$(link) -lm
$(OUT)/tests/rooms: $(call obj,$(wildcard tests/rooms/*.c)) $(OUT)/libkeylock.a
	$(link) $(LIBS) -lm
sim: $(OUT)/tests/sim ## a room in virtual time: SEEDS=1000 rooms, or SEED=n replayed with its log
	$(Q)$(OUT)/tests/sim $(if $(SEED),--seed $(SEED),--seeds $(SEEDS) --jobs 2)
rooms: $(OUT)/tests/rooms ## a whole relay's room in virtual time, with crashes and desyncs: SEEDS=1000 rooms, or SEED=n with its story
	$(Q)$(OUT)/tests/rooms $(if $(SEED),--seed $(SEED),--seeds $(SEEDS) --jobs 2)

trials: $(OUT)/tests/sim ## what the lock costs in virtual time, judged: every link, changes, hangs, slow players, an hour (some ten minutes)
	$(Q)RUN_LIMIT=1800 tests/run.sh $(TRIALS)

$(OUT)/vectors: $(call obj,tests/conformance/vectors.c tests/conformance/fields.c) $(OUT)/libkeylock.a
	$(link) $(LIBS)
$(OUT)/session_peer: $(call obj,tests/conformance/session_peer.c) $(OUT)/libkeylock.a
	$(link) $(LIBS)
conformance: $(OUT)/vectors $(OUT)/session_peer ## PROTOCOL.md against the code, by a decoder written from the document alone
	$(Q)python3 tests/conformance/decode.py $(OUT)/vectors
	$(Q)python3 tests/conformance/session.py $(OUT)/session_peer

$(OUT)/fuzz/%: $(OUT)/obj/test/%.o $(if $(FUZZER),,$(call obj,tests/fuzz/replay_main.c)) $(OUT)/libkeylock.a
	$(link) $(if $(FUZZER),-fsanitize=fuzzer) $(LIBS)
$(OUT)/make_corpus: $(call obj,tests/fuzz/make_corpus.c tests/fuzz/corpus_more.c tests/fuzz/corpus_rooms.c) $(OUT)/libkeylock.a
	$(link) $(LIBS)
corpus: $(OUT)/make_corpus ## write the fuzz targets' seed corpus anew, after a change of the wire
	$(Q)$(OUT)/make_corpus tests/fuzz/corpus
fuzz-smoke: $(FUZZ) ## the corpus and some thousand mutations through every hostile surface
	$(Q)tests/run.sh $(foreach f,$(FUZZ),"$(f) --smoke")

# Each target T seconds with libFuzzer, ASan and UBSan, two at a time, from the committed corpus; what is found lies in
# build/fuzzer/found. Exits 1 where one of them found something.
T ?= 60
FUZZ_FLAGS := -O1 -g -fsanitize=fuzzer-no-link
fuzz: deps ## each fuzz target for T=60 seconds with libFuzzer
	$(Q)CFLAGS="$(FUZZ_FLAGS)" $(MAKE) --no-print-directory CC=clang BUILD=$(BUILD)/fuzzer SAN=address,undefined FUZZER=1 \
	    $(patsubst $(OUT)/%,$(BUILD)/fuzzer/san/%,$(FUZZ))
	$(Q)tests/fuzz/run.sh $(BUILD)/fuzzer $(T) $(notdir $(FUZZ))

# What the engine may call; the session layer libsodium besides, and but for its files no heap, file or clock.
PURE   := kl_|mem(cpy|set|cmp|move|chr)$$|str(len|cmp|str)$$|__assert_fail$$|_GLOBAL_OFFSET_TABLE_$$|__(asan|ubsan|stack_chk|gcov)|str(len|cmp|str)_chk
SODIUM := crypto_|sodium_|randombytes_|abort$$|strchr$$|strcspn$$|strcasecmp$$|snprintf$$|__v?snprintf_chk$$
imports = nm -u $(1) | awk '$$1 == "U" && $$2 !~ /^($(2))/ {print $$2}' | sort -u
SEALED := $(filter-out %/private_file.c %/known.c,$(SESSION))
purity: $(call obj,$(ENGINE) $(SEALED)) ## the engine calls no clock, socket, thread, file or heap; the session layer libsodium besides
	$(Q)bad=$$($(call imports,$(call obj,$(ENGINE)),$(PURE))); \
	if [ -n "$$bad" ]; then echo "FAIL purity: the engine imports" $$bad; exit 1; fi; echo "ok purity of the engine"
	$(Q)bad=$$($(call imports,$(call obj,$(SEALED)),$(PURE)|$(SODIUM))); \
	if [ -n "$$bad" ]; then echo "FAIL purity: the session layer imports" $$bad; exit 1; fi; echo "ok purity of the session layer"

.PHONY: cores
cores: $(CORES)
$(OUT)/cores/%_libretro.so: tests/cores/%.c tests/cores/libretro_core.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(MY_CPPFLAGS) -std=gnu11 -O2 -g -fPIC -shared -fvisibility=hidden $(WARN) -o $@ $< -lm

$(OUT)/faultproxy: $(call obj,tests/tools/faultproxy.c)
	$(link) -lm

$(OUT)/loads: $(call obj,tests/tools/loads.c)
	$(link) -ldl

$(OUT)/storm: $(call obj,tests/net/storm.c tests/net/net_player.c tests/net/net_intruder.c tests/net/net_spoof.c) $(OUT)/libkeylock.a
	$(link) $(NET_LIBS)

e2e: all test-build frontend ## only the end-to-end scenarios
	$(Q)KL_BUILD=$(OUT) KEYLOCK_RELAY_BIN=$(OUT)/keylock-relay KEYLOCK_FAULTPROXY_BIN=$(OUT)/faultproxy tests/run.sh $(E2E)
# The same with programs that watch themselves; RetroArch gets the sanitizer's library put before it. What depends on how
# fast this machine is, is not judged. make e2e-san E2E='tests/e2e/31-saves.sh …': only these.
sanitized = $(Q)KL_SAN=$(1) KL_JUDGE_TIME=off RUN_LIMIT=1200 $(MAKE) --no-print-directory SAN=$(2) e2e
e2e-san: ## the end-to-end scenarios with ASan and UBSan, leaks too (half an hour)
	$(call sanitized,address,address$(comma)undefined)
e2e-tsan: ## the same with TSan, for those that need no RetroArch
	$(call sanitized,thread,thread) E2E="$(or $(TSAN_E2E),$(filter-out $(RETROARCH_E2E),$(E2E)))"
soak: all test-build ## what takes longer: 10,000 frames on every core, ten minutes of two RetroArch, joining at minute ten, 50 rooms of an hour, 1,000 simulated rooms and 10,000 with their relay
	$(Q)KL_BUILD=$(OUT) KEYLOCK_RELAY_BIN=$(OUT)/keylock-relay KEYLOCK_FAULTPROXY_BIN=$(OUT)/faultproxy FRAMES=10000 SECONDS_OF_PLAY=600 RUN_LIMIT=1500 tests/run.sh tests/e2e/10-cores.sh tests/e2e/11-four.sh \
	    tests/e2e/50-retroarch.sh tests/e2e/53-sound.sh "LONG=1 $(OUT)/tests/test_return" "LONG=10 tests/e2e/82-join.sh" "LONG=10 tests/e2e/85-way.sh" \
	    "HOURS=50 $(OUT)/tests/test_restart" "$(OUT)/tests/sim --seeds 1000 --jobs 2" "$(OUT)/tests/rooms --seeds 10000 --jobs 2"

screens: all test-build frontend ## the README's pictures of every state, from real RetroArch
	$(Q)KL_BUILD=$(OUT) tests/e2e/screens.sh
	$(Q)KL_BUILD=$(OUT) PICTURES=tests/e2e/pictures tests/e2e/93-patch.sh
screenshots: screens ## the same

include tests/bench/bench.mk
