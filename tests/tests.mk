# The layers of tests. The commands of each suite: tests/tools/plan.py.

UNIT     := $(patsubst %.c,$(OUT)/tests/%$(EXE),$(notdir $(wildcard tests/unit/test_*.c)))
NET      := $(patsubst %.c,$(OUT)/tests/%$(EXE),$(notdir $(wildcard tests/net/test_*.c)))
FUZZ     := $(patsubst %.c,$(OUT)/fuzz/%,$(notdir $(wildcard tests/fuzz/fuzz_*.c)))
CORES    := $(patsubst tests/cores/%.c,$(OUT)/cores/%_libretro.$(DLL),$(wildcard tests/cores/*.c))
E2E      := $(sort $(wildcard tests/e2e/*/*.sh))
RETROARCH_E2E = $(shell grep -lE "start_retroarch|with_retroarch|_RETROARCH=|NO_RELAY=" $(E2E))
TEST_LIBS := -lcmocka $(LIBS)
vpath test_%.c tests/unit tests/net
vpath fuzz_%.c tests/fuzz

.SECONDARY: # objects of tests are kept: make would take them for intermediate
.PHONY: test-fleet soak-fleet check test test-all test-debian13 big-endian check-build test-build test-frontends unit sim rooms conformance fuzz fuzz-smoke corpus strange \
    borders purity draw e2e e2e-san e2e-tsan soak soak-verify test-fbneo trials options

# The programs under test are named to the tests, which may stand in another folder than build/.
RUN = KL_BUILD=$(OUT) KEYLOCK_RELAY_BIN=$(OUT)/keylock-relay KEYLOCK_FAULTPROXY_BIN=$(OUT)/faultproxy tests/run.sh

check: check-build ## under a minute: unit tests, 40 simulated rooms, the protocol's document, borders, lint, format
	$(Q)$(RUN) --suite check
# make test T=relay/restart, T=test_lobby: that scenario or program alone. A variable of the environment is not meant.
ALONE = $(if $(filter command,$(origin T)),$(T))
only = $(foreach t,$(ALONE),$(or $(wildcard tests/e2e/$t.sh),$(if $(wildcard tests/unit/$t.c tests/net/$t.c),$(OUT)/tests/$t$(EXE)), \
    $(error expected T=FOLDER/NAME of tests/e2e, or the name of a test program, got "$t")))
test: deps ## installs what is missing, builds, tests: real RetroArch, real cores, the relay; 10 minutes. T=relay/restart: one alone
	$(Q)$(MAKE) $(JOBS) --no-print-directory test-build test-frontends
	$(Q)$(RUN) $(or $(only),--suite check --suite test $(BESIDE:%=--suite %))
test-all: deps ## everything that is tested; forty minutes
	$(Q)$(MAKE) $(JOBS) --no-print-directory test-build test-frontends
	$(Q)$(RUN) --suite check --suite test --suite all --suite trials

test-debian13: ## make test on a bare Debian 13, in a root of its own (as root; 2 GB)
	$(Q)tests/tools/debian13.sh

check-build: all $(UNIT) $(OUT)/tests/sim $(OUT)/tests/rooms $(OUT)/vectors $(OUT)/session_peer $(OUT)/option_tables cores
test-build: check-build $(NET) $(FUZZ) $(OUT)/make_corpus $(OUT)/faultproxy $(OUT)/loads $(OUT)/reopens $(OUT)/storm
# RetroArch 1.20, which is fetched, and the patched one, which is built: without them, their scenarios are skipped.
test-frontends: all
	$(Q)tests/tools/retroarch_120.sh >/dev/null || echo "no RetroArch 1.20: its scenarios are skipped" >&2
	$(Q)$(MAKE) --no-print-directory frontend || echo "no patched RetroArch: its scenarios are skipped" >&2

# A program that stands in for RetroArch on Windows.
$(OUT)/tells$(EXE): $(call obj,tests/tools/tells.c) $(OUT)/libkeylock.a
	$(link) $(LIBS)

# Code that tests share: each takes what it uses.
TESTS_LIB := $(wildcard tests/lib/*.c tests/lib/$(SYSTEM)/*.c) $(if $(filter posix,$(SYSTEM)),$(wildcard tests/net/net_*.c))
$(OUT)/libtests.a: $(call obj,$(TESTS_LIB))
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(OUT)/tests/%$(EXE): $(OUT)/obj/test/%.o $(OUT)/libtests.a $(OUT)/libkeylock.a
	$(link) $(TEST_LIBS)
$(OUT)/tests/test_archive$(EXE): TEST_LIBS += -larchive
$(OUT)/obj/test/%.o: %.c
	@mkdir -p $(@D)
	@$(if $(Q),echo "CC    $<")
	$(Q)$(COMPILE) -MMD -MP -c -o $@ $<

unit: $(UNIT) cores ## unit tests alone
	$(Q)$(RUN) $(UNIT)

$(OUT)/tests/sim$(EXE): $(call obj,$(wildcard tests/sim/*.c) $(ENGINE) net/session/command_words.c core_wrapper/frame/pace.c $(if $(filter windows,$(SYSTEM)),$(PLATFORM),net/platform/posix/clock.c net/platform/posix/standard.c)) $(OUT)/libtests.a
	$(link) -lm $(SYSTEM_LIBS)
$(OUT)/tests/rooms$(EXE): $(call obj,$(wildcard tests/rooms/*.c)) $(OUT)/libtests.a $(OUT)/libkeylock.a
	$(link) $(LIBS) -lm -Wl,--wrap=kl_file_append,--wrap=kl_file_open,--wrap=kl_slab_take,--wrap=kl_wall_us,--wrap=kl_now_us,--wrap=kl_wait_for,--wrap=kl_redis_open,--wrap=kl_redis_close,--wrap=kl_redis_add,--wrap=kl_redis_next,--wrap=kl_redis_part
sim: $(OUT)/tests/sim ## a room in virtual time: SEEDS=1000 rooms, or SEED=n replayed with its log
	$(Q)$(OUT)/tests/sim $(if $(SEED),--seed $(SEED),--seeds $(SEEDS) --jobs 2)
rooms: $(OUT)/tests/rooms ## a whole relay's room in virtual time, with crashes and desyncs: SEEDS=1000 rooms, or SEED=n with its story
	$(Q)$(OUT)/tests/rooms $(if $(SEED),--seed $(SEED),--seeds $(SEEDS) --jobs 2)
strange: all cores ## a core whose behaviour a seed draws, in matches with late players, healing and returns: SEEDS=200, or SEED=n with its story
	$(Q)KL_BUILD=$(OUT) tests/strange/strange.py $(if $(SEED),--seed $(SEED),--seeds $(SEEDS))

trials: $(OUT)/tests/sim ## what the lock costs in virtual time, judged: every link, changes, hitches, an hour (some ten minutes)
	$(Q)RUN_LIMIT=1800 $(RUN) --suite trials

$(OUT)/option_tables: $(call obj,tests/tools/option_tables.c) $(OUT)/libkeylock.a
	$(link) $(LIBS)
options: $(OUT)/option_tables ## write the tables of docs/options.md anew, after a change of the tables of options
	$(Q)KL_BUILD=$(OUT) tests/tools/documents.py --write-options

$(OUT)/vectors$(EXE): $(call obj,tests/conformance/vectors.c tests/conformance/fields.c tests/lib/any_message.c net/platform/$(SYSTEM)/standard.c) $(OUT)/libkeylock.a
	$(link) $(LIBS)
# A machine whose numbers begin with the high byte (s390x, run by qemu-user): the engine and the codec. They link
# without any library; the linker leaves out what nobody calls.
BIG_ENDIAN := tests/sim vectors $(addprefix fuzz/fuzz_,msg ctrl update input start strangers)
big-endian: ## build the engine and the codec for s390x, in build/s390x
	$(Q)tests/tools/deps.sh big-endian
	$(Q)$(MAKE) $(JOBS) --no-print-directory BUILD=$(BUILD)/s390x CC=s390x-linux-gnu-gcc AR=s390x-linux-gnu-ar LIBS= \
	    CPPFLAGS=-DXXH_INLINE_ALL CFLAGS="-O2 -ffunction-sections" LDFLAGS=-Wl,--gc-sections PLATFORM=net/platform/address.c CLIENT= RELAY= TOOL= \
	    SESSION="net/session/url.c net/session/keys.c" TRANSPORT=net/transport/strangers.c \
	    WRAPPER="$(patsubst %,core_wrapper/%.c,netplay/channel match/snapshot_form env/outside core/options_form core/options start/start profile/mask)" \
	    TESTS_LIB="$(patsubst %,tests/lib/%.c,kept numbers posix/crew search lock_memory must)" $(addprefix $(BUILD)/s390x/,$(BIG_ENDIAN))

$(OUT)/session_peer: $(call obj,tests/conformance/session_peer.c) $(OUT)/libkeylock.a
	$(link) $(LIBS)
conformance: $(OUT)/vectors $(OUT)/session_peer $(PROGRAMS) $(OUT)/cores/press_core_libretro.so ## PROTOCOL.md against the code, by a decoder written from the document alone
	$(Q)python3 tests/conformance/decode.py $(OUT)/vectors
	$(Q)python3 tests/conformance/session.py $(OUT)/session_peer
	$(Q)python3 tests/conformance/client.py $(OUT)/keylock-relay

$(OUT)/fuzz/%: $(OUT)/obj/test/%.o $(if $(FUZZER),,$(call obj,tests/fuzz/replay_main.c)) $(OUT)/libtests.a $(OUT)/libkeylock.a
	$(link) $(if $(FUZZER),-fsanitize=fuzzer) $(LIBS)
# tests/standin: parts that stand in for a library's or the system's, by name or by the linker (--wrap).
standin = $(call obj,$(patsubst %,tests/standin/%.c,$(1)))
wrap    = $(patsubst %,-Wl$(comma)--wrap=%,$(1))
quick   = $(call wrap,malloc calloc realloc free $(foreach n,1 2 4 8,$(addprefix __sanitizer_cov_trace_,cmp$(n) const_cmp$(n))))
$(OUT)/fuzz/fuzz_lobby: MY_LDFLAGS += $(quick)
$(OUT)/fuzz/fuzz_lobby: $(call standin,quick)
$(OUT)/fuzz/fuzz_hub: MY_LDFLAGS += $(quick) $(call wrap,$(addprefix kl_socket_,open close bind enlarge send receive peek receive_batch send_batch time_arrivals))
$(OUT)/fuzz/fuzz_hub: $(call standin,quick quick_curve memory_wire)
$(OUT)/tests/test_gate$(EXE): $(call obj,tests/standin/quick_curve.c)
$(OUT)/tests/test_journal_torn$(EXE): MY_LDFLAGS += $(call wrap,kl_slab_put kl_file_append)
$(OUT)/tests/test_lobby_memory$(EXE): MY_LDFLAGS += $(call wrap,malloc calloc realloc)
$(OUT)/tests/test_lobby_memory$(EXE): $(call standin,scarce)
$(OUT)/make_corpus: $(call obj,tests/fuzz/make_corpus.c $(wildcard tests/fuzz/corpus_*.c)) $(OUT)/libtests.a $(OUT)/libkeylock.a
	$(link) $(LIBS)
corpus: $(OUT)/make_corpus ## write the fuzz targets' seed corpus anew, after a change of the wire
	$(Q)$(OUT)/make_corpus tests/fuzz/corpus
fuzz-smoke: $(FUZZ) ## the corpus and some thousand mutations through every hostile surface
	$(Q)$(RUN) $(foreach f,$(FUZZ),"$(f) --smoke")

# Each target T seconds with libFuzzer, ASan and UBSan, two at a time, from the committed corpus; what is found lies in
# build/fuzzer/found. Exits 1 where one of them found something.
T ?= 60
FUZZ_FLAGS := -O1 -g -fsanitize=fuzzer-no-link -fno-sanitize-recover=undefined
fuzz: deps fuzz-build ## each fuzz target for T=60 seconds with libFuzzer
	$(Q)tests/fuzz/run.sh $(BUILD)/fuzzer $(T) $(notdir $(FUZZ))
.PHONY: fuzz-build
fuzz-build:
	$(Q)CFLAGS="$(FUZZ_FLAGS)" $(MAKE) $(JOBS) --no-print-directory CC=clang BUILD=$(BUILD)/fuzzer SAN=address,undefined FUZZER=1 \
	    $(patsubst $(OUT)/%,$(BUILD)/fuzzer/san/%,$(FUZZ))

core-table: deps all $(if $(EXTRA),,arm64 windows) ## Debian's libretro cores: locked, joined late, run ahead? into docs/cores.md (ten minutes); EXTRA=FOLDER: those there
	$(Q)[ -n "$(EXTRA)" ] || tests/tools/windows_cores.sh $(BUILD)/windows/cores-of-debian all
	$(Q)[ -n "$(EXTRA)" ] || tests/tools/wine_root.sh $(BUILD)/wine
	$(Q). tests/tools/wine_settings.sh && WINEPREFIX=$(abspath $(BUILD))/wine KL_BUILD=$(OUT) ONLY="$(ONLY)" EXTRA="$(EXTRA)" python3 tests/tools/core_table.py --write docs/cores.md
.PHONY: core-table

borders: check-build ## which folder may include and call which, and what the pure ones may call outside
	$(Q)KL_BUILD=$(OUT) tests/tools/borders.py
purity: check-build ## of these, only what the engine and the session layer may call outside
	$(Q)KL_BUILD=$(OUT) tests/tools/borders.py --purity

draw: check-build ## draw the folders, the arrows between them and the circles inside: docs/folders.svg
	$(Q)KL_BUILD=$(OUT) tests/tools/borders.py --draw docs/folders.svg

.PHONY: cores
cores: $(CORES)
$(OUT)/cores/%_libretro.$(DLL): tests/cores/%.c $(wildcard tests/cores/*.h)
	@mkdir -p $(@D)
	$(Q)$(CC) $(MY_CPPFLAGS) -std=gnu11 -O2 -g -fPIC -shared -fvisibility=hidden $(WARN) -o $@ $< -lm $(CORE_LIBS) $(CORE_LIBS_$(SYSTEM))
# As RetroArch's own builds are: mingw's threads and libraries are in the core. The second is of the other C runtime.
CORE_LIBS_windows := -static -lpthread -lntdll
$(OUT)/cores/probe_ucrt_libretro.dll: tests/cores/probe_core.c $(wildcard tests/cores/*.h)
	@mkdir -p $(@D)
	$(Q)$(CC) -dumpspecs | sed 's/-lmsvcrt/-lucrt/g' >$(OUT)/cores/ucrt.specs
	$(Q)$(CC) -specs=$(OUT)/cores/ucrt.specs -D_UCRT -Wl,--defsym=_setjmp=__intrinsic_setjmp $(MY_CPPFLAGS) -std=gnu11 -O2 -g -shared $(WARN) -o $@ $< $(CORE_LIBS_windows)
$(OUT)/cores/host_core_libretro.so: CORE_LIBS := -Wl,--no-warnings # it calls tmpnam() on purpose
$(OUT)/cores/arcade_core_libretro.so: CORE_LIBS := -lz -larchive

$(OUT)/faultproxy: $(call obj,tests/tools/faultproxy.c)
	$(link) -lm

$(OUT)/reopens: $(call obj,tests/tools/reopens.c tests/bench/yardstick.c)
	$(link) -ldl
$(OUT)/loads: $(call obj,tests/tools/loads.c)
	$(link) -ldl

$(OUT)/storm: $(call obj,tests/net/storm.c) $(OUT)/libtests.a $(OUT)/libkeylock.a
	$(link) $(NET_LIBS)

e2e: all test-build frontend ## only the end-to-end scenarios
	$(Q)$(RUN) $(E2E)
# The same with programs that watch themselves; RetroArch gets the sanitizer's library put before it. Judgements that depend on
# the machine's speed are left out. make e2e-san E2E='tests/e2e/lock/saves.sh …': only these.
sanitized = $(Q)KL_SAN=$(1) KL_JUDGE_TIME=off RUN_LIMIT=1200 $(MAKE) --no-print-directory SAN=$(2) e2e
e2e-san: ## the end-to-end scenarios with ASan and UBSan, leaks too (half an hour)
	$(call sanitized,address,address$(comma)undefined)
e2e-tsan: ## the same with TSan, for those that need no RetroArch
	$(call sanitized,thread,thread) E2E="$(or $(TSAN_E2E),$(filter-out $(RETROARCH_E2E),$(E2E)))"
test-fbneo: all ## the arcade scenario on a real core: FBNEO=core CONTENT=zip SYSTEM=folder, each a path
	$(Q)KL_BUILD=$(OUT) tests/e2e/fbneo.sh "$(FBNEO)" "$(CONTENT)" "$(SYSTEM)"
soak: all test-build ## what takes longer: 10,000 frames on every core, ten minutes of two RetroArch, joining at minute ten, 50 rooms of an hour, 1,000 simulated rooms and 10,000 with their relay
	$(Q)FRAMES=10000 SECONDS_OF_PLAY=600 RUN_LIMIT=1500 $(RUN) tests/e2e/lock/cores.sh tests/e2e/lock/four.sh \
	    tests/e2e/retroarch/room.sh tests/e2e/retroarch/sound.sh "LONG=10 tests/e2e/late/history.sh" "LONG=10 tests/e2e/late/snapshot.sh" \
	    "HOURS=50 $(OUT)/tests/test_restart" "$(OUT)/tests/sim --seeds 1000 --jobs 2" "$(OUT)/tests/rooms --seeds 10000 --jobs 2"

# An hour of each core is longer than a test may be.
soak-verify: all ## recordings: an hour of every core verified; FBNEO=core ZIP=set SYSTEM=folder: of FBNeo, too
	$(Q)KL_BUILD=$(OUT) FBNEO="$(FBNEO)" ZIP="$(ZIP)" SYSTEM="$(SYSTEM)" tests/bench/verify.sh

screens: all test-build frontend ## the documents' pictures of every state, from real RetroArch
	$(Q)KL_BUILD=$(OUT) tests/e2e/screens.sh
	$(Q)KL_BUILD=$(OUT) PICTURES=tests/e2e/pictures tests/e2e/retroarch/patch.sh
	$(Q)KL_BUILD=$(OUT) PICTURES=tests/e2e/pictures tests/e2e/relay/window.sh
test-fleet: all $(OUT)/tests/test_fleet $(OUT)/tests/test_two_truths ## three relays and a Redis: matches move, relays die, Redis goes and comes back
	$(Q)$(RUN) tests/e2e/relay/fleet.sh "KEYLOCK_TEST='a_relay_*' $(OUT)/tests/test_fleet" "KEYLOCK_TEST='r*' $(OUT)/tests/test_fleet" \
	    "KEYLOCK_TEST='a*' KEYLOCK_SKIP='a_relay_*' $(OUT)/tests/test_fleet" $(OUT)/tests/test_two_truths
soak-fleet: all $(OUT)/tests/test_two_truths ## 50 rooms on three relays that are cut off, killed and stopped, as their Redis is, for SECONDS=600: never two truths; as root
	$(Q)FLEET_PAIRS=50 FLEET_SECONDS=$(or $(SECONDS),600) $(OUT)/tests/test_two_truths
screenshots: screens ## the same

include tests/bench/bench.mk
