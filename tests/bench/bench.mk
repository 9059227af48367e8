# `make bench`: figures as CSV and plots in build/bench; QUICK=1 for a version of a minute or two. Included by tests/tests.mk.

BENCHES := latency wrapper catchup bytes relay pace

.PHONY: bench bench-build bench-ahead bench-pages bench-database bench-beyond bench-fleet bench-voice $(BENCHES:%=bench-%)
bench: $(BENCHES:%=bench-%) ## measure: CSV and plots into build/bench (QUICK=1: a few minutes, says less)

bench-latency:  ## lead and press-to-play over the table's links, beside the bound and the original
bench-wrapper:  ## cost of a frame in the wrapper against the bare core: instructions and time
bench-catchup:  ## how fast a backlog is run off against the bare core's unthrottled speed; JOIN=10: by a newcomer at minute 10
bench-catchup: bench_args = $(if $(JOIN),--join $(JOIN))
bench-bytes:    ## on the wire for each client, up and down, idle and mashing
bench-relay:    ## what a relay costs an UPDATE: instructions by callgrind, processor time beside sealed plain sockets; DOCUMENT=1: into docs/measured.md; ONLY=instructions, sockets, or verifier (latency beside one)
bench-relay: bench_args = $(ONLY)
bench-ahead:    ## running ahead beside the lock and RetroArch's netplay; CASES="CORE:RTT:JITTER:LOSS …"; DOCUMENT=1: into docs/measured-ahead.md; EQUAL=MINUTES ROOMS="…": are the hashes equal? FEEL=MINUTES: wrong pictures by `feel`; TRIANGLES=MINUTES: hints and the direct path on unequal links
bench-ahead: bench_args = $(if $(TRIANGLES),--triangles $(TRIANGLES) $(ROOMS),$(if $(FEEL),--feel $(FEEL) $(ROOMS),$(if $(EQUAL),--equal $(EQUAL) $(ROOMS),$(CASES))))
bench-pages: $(OUT)/bench/pages ## cores that go back by the pages of their memory, beside savestates: ONLY="nestopia …"; DOCUMENT=1: into docs/measured-ahead.md
bench-pages: bench_args = $(ONLY)
bench-pace:     ## cores of odd rates under displays of odd rates for MINUTES=10: hitches that come back

bench-beyond:   ## what 10,000 and 1,000,000 players would take, computed from docs/measured.md; DOCUMENT=1: into it
bench-database: ## a list of the verifier's database with 100,000 matches, beside the program's start

bench-fleet:    ## what a frame waits for Redis in a fleet, and how many rooms fill one Redis; ROOMS="1 16 …"; DOCUMENT=1: into docs/measured.md
bench-fleet: bench_args = $(ROOMS)

# They share the machine's cores, so never two at once, with any -j.
$(BENCHES:%=bench-%) bench-ahead bench-pages bench-database bench-beyond bench-fleet bench-voice: bench-%: bench-build
	$(Q)flock --no-fork $(OUT)/bench/.lock env KL_BUILD=$(OUT) KL_CONTENT=$(BUILD)/content QUICK=$(QUICK) DOCUMENT=$(DOCUMENT) $(if $(MINUTES),MINUTES=$(MINUTES)) python3 tests/bench/$*.py $(bench_args)

bench-voice:    ## voice between two players: delay, by PulseAudio too, losses, cost, a narrow uplink, with a plot; ONLY="delay", "pulse", "losses", "cost", "uplink", or "crowd": 8 talkers for MINUTES=10
bench-voice: bench_args = $(ONLY)

bench-replay: all ## how long a seek takes in an hour's recording, in RetroArch: MINUTES=60 TIMES=20
	$(Q)KL_BUILD=$(OUT) tests/bench/replay.sh
.PHONY: bench-replay
$(OUT)/bench/pages: $(call obj,tests/bench/pages.c) $(OUT)/libkeylock.a
	$(link) $(LIBS)

bench-build: all $(OUT)/tests/sim $(OUT)/faultproxy $(OUT)/bench/press $(OUT)/bench/eye.so $(OUT)/bench/load $(OUT)/bench/voice_floor $(OUT)/cores/press_core_libretro.so \
		$(OUT)/cores/tone_core_libretro.so $(OUT)/cores/arcade_core_libretro.so $(OUT)/cores/probe_core_libretro.so

$(OUT)/bench/press: $(call obj,tests/bench/press.c tests/bench/yardstick.c)
	$(link) -ldl
$(OUT)/bench/eye.so: tests/bench/eye.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(MY_CPPFLAGS) -std=gnu11 -O2 -g -fPIC -shared -fvisibility=hidden $(WARN) -o $@ $< -ldl
$(OUT)/bench/voice_floor: $(call obj,tests/bench/voice_floor.c) $(OUT)/libkeylock.a
	$(link) $(LIBS) -lm
$(OUT)/bench/load: $(call obj,tests/bench/load.c) $(OUT)/libtests.a $(OUT)/libkeylock.a
	$(link) $(TEST_LIBS) -Wl,--wrap=kl_participant_update,--wrap=kl_socket_send,--wrap=kl_socket_receive
