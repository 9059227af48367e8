# The layers of tests. What each suite runs: tests/tools/plan.py.

UNIT     := $(patsubst %.c,$(OUT)/tests/%,$(notdir $(wildcard tests/unit/test_*.c)))
NET      := $(patsubst %.c,$(OUT)/tests/%,$(notdir $(wildcard tests/net/test_*.c)))
FUZZ     := $(patsubst %.c,$(OUT)/fuzz/%,$(notdir $(wildcard tests/fuzz/fuzz_*.c)))
CORES    := $(patsubst tests/cores/%.c,$(OUT)/cores/%_libretro.so,$(wildcard tests/cores/*.c))
E2E      := $(sort $(wildcard tests/e2e/[0-9]*.sh))
RETROARCH_E2E = $(shell grep -lE "start_retroarch|with_retroarch|_RETROARCH=|NO_RELAY=" $(E2E))
TEST_LIBS := -lcmocka $(LIBS)
vpath test_%.c tests/unit tests/net
vpath fuzz_%.c tests/fuzz

.SECONDARY: # objects of tests are kept: make would take them for intermediate
.PHONY: check test test-all test-rest test-debian13 check-build test-build test-frontends unit sim rooms conformance fuzz fuzz-smoke corpus \
    borders purity e2e e2e-san e2e-tsan soak test-fbneo trials options

# The programs under test are named to the tests, which may stand in another folder than build/.
RUN = KL_BUILD=$(OUT) KEYLOCK_RELAY_BIN=$(OUT)/keylock-relay KEYLOCK_FAULTPROXY_BIN=$(OUT)/faultproxy tests/run.sh

check: check-build ## under a minute: unit tests, 100 simulated rooms, the protocol's document, borders, lint, format
	$(Q)$(RUN) --suite check
test: deps ## installs what is missing, builds, tests: real RetroArch, real cores, the relay; 15 minutes
	$(Q)$(MAKE) --no-print-directory test-build test-frontends
	$(Q)$(RUN) --suite check --suite test
test-all: deps ## everything that is tested; half an hour
	$(Q)$(MAKE) --no-print-directory test-build test-frontends
	$(Q)$(RUN) --suite check --suite test --suite all --suite trials
test-rest: test-build test-frontends ## what test-all has and test has not
	$(Q)$(RUN) --suite all --suite trials

test-debian13: ## make test on a bare Debian 13, in a root of its own (as root; 2 GB)
	$(Q)tests/tools/debian13.sh

check-build: all $(UNIT) $(OUT)/tests/sim $(OUT)/tests/rooms $(OUT)/vectors $(OUT)/session_peer $(OUT)/option_tables cores
test-build: check-build $(NET) $(FUZZ) $(OUT)/make_corpus $(OUT)/faultproxy $(OUT)/loads $(OUT)/storm
# RetroArch 1.20, which is fetched, and the patched one, which is built: without them, their scenarios are skipped.
test-frontends: all
	$(Q)tests/tools/retroarch_120.sh >/dev/null || echo "no RetroArch 1.20: its scenarios are skipped" >&2
	$(Q)$(MAKE) --no-print-directory frontend || echo "no patched RetroArch: its scenarios are skipped" >&2

$(OUT)/tests/%: $(OUT)/obj/test/%.o $(OUT)/libkeylock.a
	$(link) $(TEST_LIBS)
$(OUT)/tests/test_archive: TEST_LIBS += -larchive
$(NET): $(call obj,tests/net/net_player.c tests/net/net_intruder.c tests/net/net_spoof.c tests/net/net_journal.c tests/net/net_state.c tests/net/net_liar.c tests/net/net_hitch.c)
$(OUT)/obj/test/%.o: %.c
	@mkdir -p $(@D)
	@$(if $(Q),echo "CC    $<")
	$(Q)$(COMPILE) -MMD -MP -c -o $@ $<

unit: $(UNIT) cores ## unit tests alone
	$(Q)$(RUN) $(UNIT)

$(OUT)/tests/sim: $(call obj,$(wildcard tests/sim/*.c) $(ENGINE) core_wrapper/frame/pace.c)
	$(link) -lm
$(OUT)/tests/rooms: $(call obj,$(wildcard tests/rooms/*.c)) $(OUT)/libkeylock.a
	$(link) $(LIBS) -lm -Wl,--wrap=kl_file_append,--wrap=kl_file_open
sim: $(OUT)/tests/sim ## a room in virtual time: SEEDS=1000 rooms, or SEED=n replayed with its log
	$(Q)$(OUT)/tests/sim $(if $(SEED),--seed $(SEED),--seeds $(SEEDS) --jobs 2)
rooms: $(OUT)/tests/rooms ## a whole relay's room in virtual time, with crashes and desyncs: SEEDS=1000 rooms, or SEED=n with its story
	$(Q)$(OUT)/tests/rooms $(if $(SEED),--seed $(SEED),--seeds $(SEEDS) --jobs 2)

trials: $(OUT)/tests/sim ## what the lock costs in virtual time, judged: every link, changes, hitches, an hour (some ten minutes)
	$(Q)RUN_LIMIT=1800 $(RUN) --suite trials

$(OUT)/option_tables: $(call obj,tests/tools/option_tables.c) $(OUT)/libkeylock.a
	$(link) $(LIBS)
options: $(OUT)/option_tables ## write the tables of docs/options.md anew, after a change of the tables of options
	$(Q)KL_BUILD=$(OUT) tests/tools/documents.py --write-options

$(OUT)/vectors: $(call obj,tests/conformance/vectors.c tests/conformance/fields.c) $(OUT)/libkeylock.a
	$(link) $(LIBS)
$(OUT)/session_peer: $(call obj,tests/conformance/session_peer.c) $(OUT)/libkeylock.a
	$(link) $(LIBS)
conformance: $(OUT)/vectors $(OUT)/session_peer $(OUT)/keylock-relay ## PROTOCOL.md against the code, by a decoder written from the document alone
	$(Q)python3 tests/conformance/decode.py $(OUT)/vectors
	$(Q)python3 tests/conformance/session.py $(OUT)/session_peer
	$(Q)python3 tests/conformance/client.py $(OUT)/keylock-relay

$(OUT)/fuzz/%: $(OUT)/obj/test/%.o $(if $(FUZZER),,$(call obj,tests/fuzz/replay_main.c)) $(OUT)/libkeylock.a
	$(link) $(if $(FUZZER),-fsanitize=fuzzer) $(LIBS)
# tests/fuzz/quick.h and memory_wire.h stand in for these.
wrap  = $(patsubst %,-Wl$(comma)--wrap=%,$(1))
quick = $(call wrap,malloc calloc realloc free $(foreach n,1 2 4 8,$(addprefix __sanitizer_cov_trace_,cmp$(n) const_cmp$(n))))
$(OUT)/fuzz/fuzz_lobby: MY_LDFLAGS += $(quick)
$(OUT)/fuzz/fuzz_hub: MY_LDFLAGS += $(quick) $(call wrap,$(addprefix kl_socket_,bind enlarge send receive peek))
$(OUT)/make_corpus: $(call obj,tests/fuzz/make_corpus.c tests/fuzz/corpus_more.c tests/fuzz/corpus_rooms.c) $(OUT)/libkeylock.a
	$(link) $(LIBS)
corpus: $(OUT)/make_corpus ## write the fuzz targets' seed corpus anew, after a change of the wire
	$(Q)$(OUT)/make_corpus tests/fuzz/corpus
fuzz-smoke: $(FUZZ) ## the corpus and some thousand mutations through every hostile surface
	$(Q)$(RUN) $(foreach f,$(FUZZ),"$(f) --smoke")

# Each target T seconds with libFuzzer, ASan and UBSan, two at a time, from the committed corpus; what is found lies in
# build/fuzzer/found. Exits 1 where one of them found something.
T ?= 60
FUZZ_FLAGS := -O1 -g -fsanitize=fuzzer-no-link -fno-sanitize-recover=undefined
fuzz: deps ## each fuzz target for T=60 seconds with libFuzzer
	$(Q)CFLAGS="$(FUZZ_FLAGS)" $(MAKE) --no-print-directory CC=clang BUILD=$(BUILD)/fuzzer SAN=address,undefined FUZZER=1 \
	    $(patsubst $(OUT)/%,$(BUILD)/fuzzer/san/%,$(FUZZ))
	$(Q)tests/fuzz/run.sh $(BUILD)/fuzzer $(T) $(notdir $(FUZZ))

borders: check-build ## which folder may include and call which, and what the pure ones may call outside
	$(Q)KL_BUILD=$(OUT) tests/tools/borders.py
purity: check-build ## of these, only what the engine and the session layer may call outside
	$(Q)KL_BUILD=$(OUT) tests/tools/borders.py --purity

.PHONY: cores
cores: $(CORES)
$(OUT)/cores/%_libretro.so: tests/cores/%.c tests/cores/libretro_core.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(MY_CPPFLAGS) -std=gnu11 -O2 -g -fPIC -shared -fvisibility=hidden $(WARN) -o $@ $< -lm $(CORE_LIBS)
$(OUT)/cores/arcade_core_libretro.so: CORE_LIBS := -lz -larchive

$(OUT)/faultproxy: $(call obj,tests/tools/faultproxy.c)
	$(link) -lm

$(OUT)/loads: $(call obj,tests/tools/loads.c)
	$(link) -ldl

$(OUT)/storm: $(call obj,tests/net/storm.c tests/net/net_player.c tests/net/net_intruder.c tests/net/net_spoof.c) $(OUT)/libkeylock.a
	$(link) $(NET_LIBS)

e2e: all test-build frontend ## only the end-to-end scenarios
	$(Q)$(RUN) $(E2E)
# The same with programs that watch themselves; RetroArch gets the sanitizer's library put before it. What depends on how
# fast this machine is, is not judged. make e2e-san E2E='tests/e2e/31-saves.sh …': only these.
sanitized = $(Q)KL_SAN=$(1) KL_JUDGE_TIME=off RUN_LIMIT=1200 $(MAKE) --no-print-directory SAN=$(2) e2e
e2e-san: ## the end-to-end scenarios with ASan and UBSan, leaks too (half an hour)
	$(call sanitized,address,address$(comma)undefined)
e2e-tsan: ## the same with TSan, for those that need no RetroArch
	$(call sanitized,thread,thread) E2E="$(or $(TSAN_E2E),$(filter-out $(RETROARCH_E2E),$(E2E)))"
test-fbneo: all ## the arcade scenario on a real core: FBNEO=core CONTENT=zip SYSTEM=folder, each a path
	$(Q)KL_BUILD=$(OUT) tests/e2e/fbneo.sh "$(FBNEO)" "$(CONTENT)" "$(SYSTEM)"
soak: all test-build ## what takes longer: 10,000 frames on every core, ten minutes of two RetroArch, joining at minute ten, 50 rooms of an hour, 1,000 simulated rooms and 10,000 with their relay
	$(Q)FRAMES=10000 SECONDS_OF_PLAY=600 RUN_LIMIT=1500 $(RUN) tests/e2e/10-cores.sh tests/e2e/11-four.sh \
	    tests/e2e/50-retroarch.sh tests/e2e/53-sound.sh "LONG=1 $(OUT)/tests/test_return" "LONG=10 tests/e2e/82-join.sh" "LONG=10 tests/e2e/85-way.sh" \
	    "HOURS=50 $(OUT)/tests/test_restart" "$(OUT)/tests/sim --seeds 1000 --jobs 2" "$(OUT)/tests/rooms --seeds 10000 --jobs 2"

screens: all test-build frontend ## the documents' pictures of every state, from real RetroArch
	$(Q)KL_BUILD=$(OUT) tests/e2e/screens.sh
	$(Q)KL_BUILD=$(OUT) PICTURES=tests/e2e/pictures tests/e2e/93-patch.sh
screenshots: screens ## the same

include tests/bench/bench.mk
