# Keylock. `make help` lists the targets.

V        ?= 0
SAN      ?=
COV      ?=
CC       ?= cc
PREFIX   ?= /usr/local
DESTDIR  ?=
BUILD    ?= build
SEEDS    ?= 1000
LIBRETRO_INCLUDE ?= /usr/include/libretro-common
# For the make of a whole build inside another's recipe: all processors, unless the outer make was told how many.
JOBS      = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))
comma    := ,
Q        := $(if $(filter 1,$(V)),,@)

# Binaries of another build (sanitizers, coverage) stand in a folder of their own.
OUT      := $(BUILD)$(if $(SAN),/$(if $(filter thread,$(SAN)),tsan,san))$(if $(COV),/cov)

# The system that it is built for: OS=windows, or this machine's kind.
SYSTEM := $(if $(filter windows,$(OS)),windows,posix)
EXE    := $(if $(filter windows,$(SYSTEM)),.exe)
DLL    := $(if $(filter windows,$(SYSTEM)),dll,so)

CFLAGS_posix  := -fPIC -pthread
LDFLAGS_posix := -pthread
# Windows 10. printf of mingw's own, which knows %zu and %llu; what our __printf__ attributes check is that one, not msvcrt's.
WINDOWS_ROOT     ?= $(abspath $(BUILD))/root
CPPFLAGS_windows := -D_WIN32_WINNT=0x0A00 -D_FILE_OFFSET_BITS=64 -D__USE_MINGW_ANSI_STDIO=1 -D__printf__=__gnu_printf__ -DSODIUM_STATIC -DUTF8PROC_STATIC \
                    -DMINIUPNP_STATICLIB -DNATPMP_STATICLIB -DLIBARCHIVE_STATIC -isystem $(WINDOWS_ROOT)/include
# Everything is linked into the program but the system's own DLLs. No time of the build in its head: equal sources give equal bytes.
LDFLAGS_windows  := -static -L$(WINDOWS_ROOT)/lib -Wl,--no-insert-timestamp

# CFLAGS, CPPFLAGS and LDFLAGS belong to the packager, also on the command line; what the code itself needs is in MY_*.
CFLAGS      ?= -O2 -g
WARN        := -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Werror=implicit-function-declaration $(if $(CI),-Werror)
MY_CPPFLAGS := -D_GNU_SOURCE -iquote . -isystem $(LIBRETRO_INCLUDE) $(CPPFLAGS_$(SYSTEM))
# -ffp-contract=off: arm64 has a multiply-and-add that rounds once, x86-64's baseline has not, and both shall count the same.
MY_CFLAGS   := -std=gnu11 -fvisibility=hidden -ffp-contract=off $(CFLAGS_$(SYSTEM)) $(WARN) $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer) $(if $(COV),--coverage)
MY_LDFLAGS  := $(LDFLAGS_$(SYSTEM)) $(if $(SAN),-fsanitize=$(SAN)) $(if $(COV),--coverage)
COMPILE      = $(CC) $(MY_CPPFLAGS) $(CPPFLAGS) $(CFLAGS) $(MY_CFLAGS)

PLATFORM  := $(wildcard net/platform/*.c net/platform/$(SYSTEM)/*.c)
ENGINE    := $(wildcard net/engine/*.c)
CLIENT    := $(wildcard net/client/*.c)
SESSION   := $(wildcard net/session/*.c)
RECORD    := $(wildcard net/record/*.c)
TRANSPORT := $(wildcard net/transport/*.c)
RELAY     := $(wildcard net/relay/*/*.c)
# A core is a shared object of this format.
FORMAT    := $(if $(filter windows,$(SYSTEM)),pe,elf)
WRAPPER   := $(filter-out core_wrapper/tool/%,$(wildcard core_wrapper/*/*.c core_wrapper/*/$(FORMAT)/*.c))
TOOL      := $(wildcard core_wrapper/tool/*.c core_wrapper/tool/*/*.c core_wrapper/tool/*/$(SYSTEM)/*.c)
obj        = $(patsubst %.c,$(OUT)/obj/%.o,$(1))

PROGRAMS := $(OUT)/keylock$(EXE) $(OUT)/keylock-relay$(EXE) $(OUT)/keylock_libretro.$(DLL)
SYSTEM_LIBS := $(if $(filter windows,$(SYSTEM)),-lws2_32 -lwinmm -liphlpapi)
# utf8proc is linked statically, as miniupnpc below: Debian 12 has libutf8proc2 and 13 has libutf8proc3.
NET_LIBS := -lenet -lsodium -lzstd -lm -l:libutf8proc.a $(SYSTEM_LIBS)
# Of core_wrapper/tool/play/router.c alone. miniupnpc is linked statically: Debian 12 has libminiupnpc17 and 13 has libminiupnpc18,
# and one package serves both.
ROUTER_LIBS := -l:libminiupnpc.a -lnatpmp
LIBS     := -lsamplerate -lxxhash -ljson-c $(if $(filter windows,$(SYSTEM)),-larchive -llzma -lopus -lspeexdsp -lole32) -lz $(NET_LIBS) $(if $(filter posix,$(SYSTEM)),-ldl)

.PHONY: all programs arm64 windows windows-zip deb deps deps-play deps-demo deps-relay relay install-relay test-deb content frontend demo test help clean install uninstall format format-check lint
all: programs content ## build the programs and the test content

help: ## list the targets
	$(Q)awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

deps: ## install the Debian packages that are missing
	$(Q)tests/tools/deps.sh
deps-play: ## only those that make install needs
	$(Q)tests/tools/deps.sh play
deps-demo: ## only those that make demo needs
	$(Q)tests/tools/deps.sh demo
deps-relay: ## only those that make relay needs
	$(Q)tests/tools/deps.sh relay

# --- programs -------------------------------------------------------------------------------------------------

$(OUT)/obj/%.o: %.c
	@mkdir -p $(@D)
	@$(if $(Q),echo "CC    $<")
	$(Q)$(COMPILE) -MMD -MP -c -o $@ $<

$(call obj,net/relay/program/window_http.c): net/relay/program/page.html

# Everything but the programs' own mains, what stands before their libraries, and the wrapper's exported symbols, for the tests to link from.
$(OUT)/libkeylock.a: $(call obj,$(PLATFORM) $(ENGINE) $(SESSION) $(RECORD) $(CLIENT) $(TRANSPORT) $(filter-out %/main.c %/enet_sockets.c,$(RELAY)) $(filter-out %/main.c,$(TOOL)) $(WRAPPER))
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

define link
@mkdir -p $(@D)
@$(if $(Q),echo "LD    $@")
$(Q)$(CC) $(LDFLAGS) $(MY_LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^)
endef

$(OUT)/keylock-relay$(EXE): $(call obj,$(PLATFORM) $(ENGINE) $(SESSION) $(RECORD) $(CLIENT) $(TRANSPORT) $(RELAY))
	$(link) $(NET_LIBS)

# In a boxed RetroArch, keylock install puts the libraries beside the wrapper (core_wrapper/tool/setup/install.h).
# A sanitizer gives names to what the wrapper has left behind only while it is loaded: it stays.
# The relay is in it for matches that know none (net/relay/loop/hosted.h), without its program: -z defs fails if that is used.
SHARED_posix := -Wl,-rpath,'$$ORIGIN/keylock-libs' -Wl,-z,defs -Wl,-z,now $(if $(SAN),-Wl$(comma)-z$(comma)nodelete)
# It is a program, too (core_wrapper/tool/own): on Linux with the C library's start, and with the commands of the tool that it runs.
OWN = $(call obj,core_wrapper/tool/own/main.c) $(OUT)/libkeylock.a
START_posix = -Wl,-e,_start $(shell $(CC) -print-file-name=Scrt1.o)
$(OUT)/keylock_libretro.$(DLL): $(call obj,$(PLATFORM) $(ENGINE) $(SESSION) $(RECORD) $(CLIENT) $(TRANSPORT) $(filter-out net/relay/program/%,$(RELAY)) $(WRAPPER)) $(OWN)
	$(link) -shared $(SHARED_$(SYSTEM)) $(START_$(SYSTEM)) $(LIBS)

$(OUT)/keylock$(EXE): $(call obj,core_wrapper/tool/main.c) $(OUT)/libkeylock.a
	$(link) $(ROUTER_LIBS) $(LIBS) $(if $(filter posix,$(SYSTEM)),-rdynamic)

relay: $(OUT)/keylock-relay$(EXE) ## the relay alone

# The same programs for arm64, from this machine: the compiler is told the root of that system. Tests run them by qemu-user.
ARM64_ROOT := $(abspath $(BUILD))/arm64/root
arm64: ## build the programs for Linux on arm64, in build/arm64: a cross compiler and a root of Debian's packages
	$(Q)tests/tools/arm64_root.sh $(ARM64_ROOT)
	$(Q)$(MAKE) $(JOBS) --no-print-directory BUILD=$(BUILD)/arm64 CC="aarch64-linux-gnu-gcc --sysroot=$(ARM64_ROOT)" AR=aarch64-linux-gnu-ar \
	    LIBRETRO_INCLUDE=$(ARM64_ROOT)/usr/include/libretro-common $(addprefix $(BUILD)/arm64/,$(or $(ARM64),keylock keylock-relay keylock_libretro.so))

# The same programs for Windows, stripped: mingw-w64, and the libraries built by it. Tests run them by Wine.
WINDOWS := keylock.exe keylock-relay.exe keylock_libretro.dll
windows: ## build the programs for Windows, in build/windows: mingw-w64, and the first time the libraries (ten to twenty minutes)
	$(Q)tests/tools/windows_root.sh $(abspath $(BUILD))/windows/root
	$(Q)$(MAKE) $(JOBS) --no-print-directory BUILD=$(BUILD)/windows OS=windows CC=x86_64-w64-mingw32-gcc AR=x86_64-w64-mingw32-ar LDFLAGS="$(LDFLAGS) -s" \
	    $(addprefix $(BUILD)/windows/,$(WINDOWS))

GAME := $(BUILD)/content/shooter.nes
# The game comes first: two makes at once would build its tools twice.
content: $(GAME) ## assemble the bundled game and the test programs
	$(Q)$(MAKE) --no-print-directory -s -C tests/content OUT=$(abspath $(BUILD))/content V=$(V)

$(GAME): $(wildcard tests/content/shooter/* tests/content/shooter/art/*)
	$(Q)$(MAKE) --no-print-directory -s -C tests/content OUT=$(abspath $(BUILD))/content V=$(V) $(abspath $@)

windows-zip: windows $(GAME) ## the programs for Windows as players get them: build/keylock-VERSION-windows-x64.zip
	$(Q)tests/tools/windows_zip.py $(BUILD)

# The same for all builds of ours: it loads whichever wrapper it finds.
frontend: ## RetroArch 1.20.0 with Keylock in its Netplay menu: fetched, patched, built (two minutes, once)
	$(Q)$(MAKE) --no-print-directory -s -C frontend_patch BUILD=$(abspath $(BUILD))/frontend

-include $(shell find $(OUT)/obj -name '*.d' 2>/dev/null)

# --- tests ----------------------------------------------------------------------------------------------------

include tests/tests.mk

demo: deps-demo ## a relay and two RetroArch windows playing the bundled game in lock (DEMO=headless: a picture)
	$(Q)$(MAKE) --no-print-directory programs $(OUT)/faultproxy
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

deb: ## the Debian packages keylock-relay and keylock, into build/deb (ARCH=arm64: for that, into build/arm64/deb)
	$(if $(filter-out arm64,$(ARCH)),$(error ARCH: expected arm64 or nothing, got "$(ARCH)"))
	$(if $(ARCH),$(Q)tests/tools/arm64_root.sh $(ARM64_ROOT))
	$(Q)tests/tools/deb.sh $(if $(ARCH),$(abspath $(BUILD))/arm64/deb $(ARM64_ROOT) arm64,$(abspath $(BUILD))/deb)

test-deb: deb ## installs, upgrades and purges them on bare Debian 12 and 13, and walks from the package to a match (as root)
	$(Q)tests/tools/packages.sh

C_FILES = $(shell git ls-files '*.c' '*.h')
format: ## format the C code
	$(Q)clang-format -i $(C_FILES)
# Versions of clang-format differ: Debian 12's judges.
format-check: ## say where the format differs
	$(Q)if clang-format --version | grep -q ' version 14\.'; then clang-format --dry-run -Werror $(C_FILES); \
	    else echo "skip format: expected clang-format 14, got $$(clang-format --version)"; fi
lint: ## static analysis; comments in plain words; how each test runs
	$(Q)tests/tools/comments.py
	$(Q)tests/tools/plan.py check test all trials tools >/dev/null
	@mkdir -p $(BUILD)/lint
	$(Q)cppcheck --quiet --error-exitcode=1 --inline-suppr --enable=warning,portability -j2 --cppcheck-build-dir=$(BUILD)/lint \
	    --suppress=missingIncludeSystem --suppress=normalCheckLevelMaxBranches -D_GNU_SOURCE -I. net core_wrapper

clean: ## remove what was built
	rm -rf $(BUILD)
