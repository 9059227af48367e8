# Keylock. `make help` lists the targets.

V        ?= 0
SAN      ?=
COV      ?=
CC       ?= cc
PREFIX   ?= /usr/local
DESTDIR  ?=
BUILD    ?= build
SEEDS    ?= 1000
comma    := ,
Q        := $(if $(filter 1,$(V)),,@)

# Binaries of another build (sanitizers, coverage) stand in a folder of their own.
OUT      := $(BUILD)$(if $(SAN),/$(if $(filter thread,$(SAN)),tsan,san))$(if $(COV),/cov)

# CFLAGS, CPPFLAGS and LDFLAGS belong to the packager, also on the command line; what the code itself needs is in MY_*.
CFLAGS      ?= -O2 -g
WARN        := -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion $(if $(CI),-Werror)
MY_CPPFLAGS := -D_GNU_SOURCE -iquote . -isystem /usr/include/libretro-common
MY_CFLAGS   := -std=gnu11 -fPIC -fvisibility=hidden -pthread $(WARN) $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer) $(if $(COV),--coverage)
MY_LDFLAGS  := -pthread $(if $(SAN),-fsanitize=$(SAN)) $(if $(COV),--coverage)
COMPILE      = $(CC) $(MY_CPPFLAGS) $(CPPFLAGS) $(CFLAGS) $(MY_CFLAGS)

PLATFORM  := $(wildcard net/platform/*.c net/platform/posix/*.c)
ENGINE    := $(wildcard net/engine/*.c)
CLIENT    := $(wildcard net/client/*.c)
SESSION   := $(wildcard net/session/*.c)
TRANSPORT := $(wildcard net/transport/*.c)
RELAY     := $(wildcard net/relay/*/*.c)
WRAPPER   := $(filter-out core_wrapper/tool/%,$(wildcard core_wrapper/*/*.c))
TOOL      := $(wildcard core_wrapper/tool/*.c core_wrapper/tool/*/*.c)
obj        = $(patsubst %.c,$(OUT)/obj/%.o,$(1))

PROGRAMS := $(OUT)/keylock $(OUT)/keylock-relay $(OUT)/keylock_libretro.so
# utf8proc is linked statically, as miniupnpc below: Debian 12 has libutf8proc2 and 13 has libutf8proc3.
NET_LIBS := -lenet -lsodium -lzstd -lm -l:libutf8proc.a
# Of core_wrapper/tool/play/router.c alone. miniupnpc is linked statically: Debian 12 has libminiupnpc17 and 13 has libminiupnpc18,
# and one package serves both.
ROUTER_LIBS := -l:libminiupnpc.a -lnatpmp
LIBS     := $(NET_LIBS) -lsamplerate -lxxhash -ljson-c -lz -ldl

.PHONY: all programs deb deps deps-play deps-relay relay install-relay test-deb content frontend demo test help clean install uninstall format format-check lint
all: programs content ## build the programs and the test content

help: ## list the targets
	$(Q)awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

deps: ## install the Debian packages that are missing
	$(Q)tests/tools/deps.sh
deps-play: ## only those that make install needs
	$(Q)tests/tools/deps.sh play
deps-relay: ## only those that make relay needs
	$(Q)tests/tools/deps.sh relay

# --- programs -------------------------------------------------------------------------------------------------

$(OUT)/obj/%.o: %.c
	@mkdir -p $(@D)
	@$(if $(Q),echo "CC    $<")
	$(Q)$(COMPILE) -MMD -MP -c -o $@ $<

# Everything but the programs' own mains and the wrapper's exported symbols, for the tests to link from.
$(OUT)/libkeylock.a: $(call obj,$(PLATFORM) $(ENGINE) $(SESSION) $(CLIENT) $(TRANSPORT) $(filter-out %/main.c,$(RELAY)) $(filter-out %/main.c,$(TOOL)) $(WRAPPER))
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

define link
@mkdir -p $(@D)
@$(if $(Q),echo "LD    $@")
$(Q)$(CC) $(LDFLAGS) $(MY_LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^)
endef

$(OUT)/keylock-relay: $(call obj,$(PLATFORM) $(ENGINE) $(SESSION) $(CLIENT) $(TRANSPORT) $(RELAY))
	$(link) $(NET_LIBS)

# Where RetroArch runs in a box, keylock install puts the libraries beside the wrapper (core_wrapper/tool/setup/travel.h).
# A sanitizer gives names to what the wrapper has left behind only while it is loaded: it stays.
# The relay is in it for matches that know none (net/relay/loop/hosted.h), without its program: -z defs fails if that is used.
$(OUT)/keylock_libretro.so: $(call obj,$(PLATFORM) $(ENGINE) $(SESSION) $(CLIENT) $(TRANSPORT) $(filter-out net/relay/program/%,$(RELAY)) $(WRAPPER))
	$(link) -shared -Wl,-rpath,'$$ORIGIN/keylock-libs' -Wl,-z,defs -Wl,-z,now $(if $(SAN),-Wl$(comma)-z$(comma)nodelete) $(LIBS)

$(OUT)/keylock: $(call obj,core_wrapper/tool/main.c) $(OUT)/libkeylock.a
	$(link) $(LIBS) $(ROUTER_LIBS) -rdynamic

relay: $(OUT)/keylock-relay ## the relay alone

GAME := $(BUILD)/content/shooter.nes
# The game comes first: two makes at once would build its tools twice.
content: $(GAME) ## assemble the bundled game and the test programs
	$(Q)$(MAKE) --no-print-directory -s -C tests/content OUT=$(abspath $(BUILD))/content V=$(V)

$(GAME): $(wildcard tests/content/shooter/* tests/content/shooter/art/*)
	$(Q)$(MAKE) --no-print-directory -s -C tests/content OUT=$(abspath $(BUILD))/content V=$(V) $(abspath $@)

# The same for all builds of ours: it loads whichever wrapper it finds.
frontend: ## RetroArch 1.20.0 with Keylock in its Netplay menu: fetched, patched, built (two minutes, once)
	$(Q)$(MAKE) --no-print-directory -s -C frontend_patch BUILD=$(abspath $(BUILD))/frontend

-include $(shell find $(OUT)/obj -name '*.d' 2>/dev/null)

# --- tests ----------------------------------------------------------------------------------------------------

include tests/tests.mk

demo: deps ## a relay and two RetroArch windows playing the bundled game in lock (DEMO=headless: a picture)
	$(Q)$(MAKE) --no-print-directory all
	$(Q)tests/e2e/demo.sh $(DEMO)

# --- the rest -------------------------------------------------------------------------------------------------

LIBRETRO_DIR ?= $(PREFIX)/lib/libretro
INFO_DIR     ?= $(PREFIX)/share/libretro/info
GAME_DIR     ?= $(PREFIX)/share/keylock
programs: $(PROGRAMS) $(GAME)
install: install-relay programs ## install into DESTDIR/PREFIX
	install -D -m 755 $(OUT)/keylock $(DESTDIR)$(PREFIX)/bin/keylock
	install -D -m 755 $(OUT)/keylock_libretro.so $(DESTDIR)$(LIBRETRO_DIR)/keylock_libretro.so
	install -D -m 644 frontend_patch/keylock_libretro.info $(DESTDIR)$(INFO_DIR)/keylock_libretro.info
	install -D -m 644 $(GAME) $(DESTDIR)$(GAME_DIR)/shooter.nes
install-relay: relay ## the relay alone
	install -D -m 755 $(OUT)/keylock-relay $(DESTDIR)$(PREFIX)/bin/keylock-relay

uninstall: ## take it away again
	rm -f $(DESTDIR)$(PREFIX)/bin/keylock $(DESTDIR)$(PREFIX)/bin/keylock-relay
	rm -f $(DESTDIR)$(LIBRETRO_DIR)/keylock_libretro.so $(DESTDIR)$(INFO_DIR)/keylock_libretro.info
	rm -rf $(DESTDIR)$(GAME_DIR)

deb: ## the Debian packages keylock-relay and keylock, into build/deb
	$(Q)tests/tools/deb.sh $(abspath $(BUILD))/deb

test-deb: deb ## installs, upgrades and purges them on bare Debian 12 and 13, and walks from the package to a match (as root)
	$(Q)tests/tools/packages.sh

C_FILES = $(shell git ls-files '*.c' '*.h')
format: ## format the C code
	$(Q)clang-format -i $(C_FILES)
# Versions of clang-format differ: Debian 12's judges.
format-check: ## say where the format differs
	$(Q)if clang-format --version | grep -q ' version 14\.'; then clang-format --dry-run -Werror $(C_FILES); \
	    else echo "skip format: expected clang-format 14, got $$(clang-format --version)"; fi
lint: ## static analysis
	@mkdir -p $(BUILD)/lint
	$(Q)cppcheck --quiet --error-exitcode=1 --inline-suppr --enable=warning,portability -j2 --cppcheck-build-dir=$(BUILD)/lint \
	    --suppress=missingIncludeSystem --suppress=normalCheckLevelMaxBranches -D_GNU_SOURCE -I. net core_wrapper

clean: ## remove what was built
	rm -rf $(BUILD)
