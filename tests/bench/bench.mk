# `make bench`: figures as CSV and plots in build/bench; QUICK=1 for a version of a minute or two. Included by tests/tests.mk.

BENCHES := cores latency wrapper catchup bytes relay pace

.PHONY: bench bench-build $(BENCHES:%=bench-%)
bench: $(BENCHES:%=bench-%) ## measure: CSV and plots into build/bench (QUICK=1: a few minutes, says less)

bench-latency:  ## lead and press-to-play over the table's links, beside the bound, the original, RetroArch's netplay
bench-wrapper:  ## cost of a frame in the wrapper against the bare core: instructions and time
bench-catchup:  ## how fast a backlog is run off against the bare core's unthrottled speed; JOIN=10: by a newcomer at minute 10
bench-catchup: bench_args = $(if $(JOIN),--join $(JOIN))
bench-bytes:    ## on the wire for each client, up and down, idle and mashing
bench-relay:    ## the relay's processor time for an update against raw UDP
bench-cores:    ## the verdict of `keylock probe` on each installed core
bench-pace:     ## cores of odd rates under displays of odd rates for MINUTES=10: hitches that come back

# They share the machine's cores, so never two at once, with any -j.
$(BENCHES:%=bench-%): bench-%: bench-build
	$(Q)flock --no-fork $(OUT)/bench/.lock env KL_BUILD=$(OUT) KL_CONTENT=$(BUILD)/content QUICK=$(QUICK) $(if $(MINUTES),MINUTES=$(MINUTES)) python3 tests/bench/$*.py $(bench_args)

bench-build: all $(OUT)/tests/sim $(OUT)/faultproxy $(OUT)/bench/press $(OUT)/bench/bench_relay $(OUT)/cores/press_core_libretro.so \
		$(OUT)/cores/tone_core_libretro.so

$(OUT)/bench/press: $(call obj,tests/bench/press.c tests/bench/yardstick.c) $(OUT)/libkeylock.a
	$(link) $(LIBS)
$(OUT)/bench/bench_relay: $(call obj,tests/net/bench_relay.c tests/net/net_player.c) $(OUT)/libkeylock.a
	$(link) $(TEST_LIBS)
