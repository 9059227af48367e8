/* strange_plan.h - the strange core's behaviour, drawn from a seed.
 *
 * A plan is a set of kinds with some numbers. Each kind has dice of its own: a kind that is taken out leaves
 * the others as they were, so that a failing plan can be made smaller. The driver (tests/strange) reads
 * the plan through strange_plan(). */
#ifndef TEST_STRANGE_PLAN_H
#define TEST_STRANGE_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Names as the driver and the content write them. "late": while the game plays. */
#define KINDS(X)                                                                                             \
    X(MAP, "map")                     /* RAM is shown by a memory map */                                     \
    X(MAP_LATE, "map-late")           /* the map comes late, or once more with another part of RAM */        \
    X(KEYBOARD, "keyboard")           /* key events, from loading on */                                      \
    X(KEYBOARD_LATE, "keyboard-late") /* key events, declared late */                                        \
    X(KEYS, "keys")                   /* keys are polled */                                                  \
    X(FRAME_TIME, "frame-time")       /* a frame-time callback, from loading on */                           \
    X(FRAME_TIME_LATE, "frame-time-late")                                                                    \
    X(OPTIONS, "options")           /* a list of options, from loading on */                                 \
    X(OPTIONS_LATE, "options-late") /* another list late */                                                  \
    X(OPTION_SET, "option-set")     /* the core changes an option itself, late */                            \
    X(DESCRIPTORS, "descriptors")   /* controllers at loading, input descriptors then and late */            \
    X(SUBSYSTEM, "subsystem")       /* subsystems, performance level, achievements */                        \
    X(DISK, "disk")                 /* a disk drive whose state is in RAM */                                 \
    X(GEOMETRY, "geometry")         /* SET_GEOMETRY, late */                                                 \
    X(RATE, "rate")                 /* SET_SYSTEM_AV_INFO with another rate of frames, late */               \
    X(AV_INFO, "av-info")           /* SET_SYSTEM_AV_INFO with another rate of sound and largest size */     \
    X(ROTATION, "rotation")         /* SET_ROTATION, late */                                                 \
    X(PIXELS, "pixels")             /* 16 bits, at loading */                                                \
    X(DUPES, "dupes")               /* some frames have no picture */                                        \
    X(DEVICES, "devices")           /* mouse, sticks and touches are polled */                               \
    X(RUMBLE, "rumble")             /* motors on all ports, which last */                                    \
    X(LEDS, "leds")                 /* lights, which last */                                                 \
    X(SRAM, "sram")                 /* save RAM that the game writes */                                      \
    X(THREAD, "thread")             /* a thread plays a part of each frame */                                \
    X(F_WHOLE, "files-whole")       /* a file written whole, by any way of opening */                        \
    X(F_APPEND, "files-append")     /* a file that grows */                                                  \
    X(F_PATCH, "files-patch")       /* a file changed in its middle */                                       \
    X(F_HELD, "files-held")         /* a file open from loading on, nothing left in a buffer */              \
    X(F_LATE, "files-late")         /* a file opened late and held open, with bytes in a buffer */           \
    X(F_REMOVE, "files-remove")     /* a file renamed and removed */                                         \
    X(F_LIST, "files-list")         /* a folder that fills, and its order */                                 \
    X(F_TEMP, "files-temp")         /* tmpfile, and a temporary file by the process's number */              \
    X(F_SAVES, "files-saves")       /* the player's own save files, each machine's another one */            \
    X(F_HIDDEN, "files-hidden")     /* a file of the system folder that only some machines have */           \
    X(C_RAND, "chance-rand")                                                                                 \
    X(C_RANDOM, "chance-random")                                                                             \
    X(C_TIME, "chance-time")                                                                                 \
    X(C_CLOCK, "chance-clock")                                                                               \
    X(C_GETRANDOM, "chance-getrandom")                                                                       \
    X(C_URANDOM, "chance-urandom")                                                                           \
    X(C_PID, "chance-pid")                                                                                   \
    X(C_CPUS, "chance-cpus")                                                                                 \
    X(C_FOLDER, "chance-folder")                                                                             \
    X(C_DATES, "chance-dates")                                                                               \
    X(C_LOCALE, "chance-locale")                                                                             \
    X(C_PERF, "chance-perf")                                                                                 \
    X(STATE_ROUGH, "state-rough")     /* with bytes that were never written */                               \
    X(STATE_SIZE, "state-size")       /* its size changes */                                                 \
    X(STATE_ADDRESS, "state-address") /* with host addresses, which loading ignores; nothing is declared */  \
    X(STATE_SESSION, "state-session") /* with host addresses that loading uses: SINGLE_SESSION */            \
    X(STATE_PART, "state-part")       /* a counter is missing: INCOMPLETE */                                 \
    X(STATE_LATE, "state-late")       /* none in the first frames: MUST_INITIALIZE */                        \
    X(STATE_NONE, "state-none")                                                                              \
    X(RAM_NONE, "ram-none")                                                                                  \
    X(KINDS_END, "")

enum strange_kind {
#define X(name, text) name,
    KINDS(X)
#undef X
};

static const char *const kind_name[] = {
#define X(name, text) text,
    KINDS(X)
#undef X
};
_Static_assert(KINDS_END <= 64, "a bit for each");

struct plan {
    uint64_t seed, kinds;
};

static uint64_t dice(uint64_t value) { /* SplitMix64 */
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

/* The n-th number of a kind, below `below`. */
static uint32_t pick(const struct plan *p, enum strange_kind k, uint32_t n, uint32_t below) {
    uint64_t from = p->seed * 0x9e3779b97f4a7c15u + (uint64_t)k * 1000003 + n;
    return (uint32_t)((dice(dice(from)) >> 16) % below);
}

static bool has(const struct plan *p, enum strange_kind k) {
    return p->kinds >> k & 1;
}

/* Of some kinds a core can have one. */
static void only_one(struct plan *p, enum strange_kind first, enum strange_kind last) {
    bool found = false;
    uint32_t turn = pick(p, KINDS_END, first, last - first + 1);
    for (uint32_t i = 0; i <= (uint32_t)(last - first); i++) {
        uint32_t k = first + (i + turn) % (last - first + 1);
        if (found) p->kinds &= ~(UINT64_C(1) << k);
        found |= p->kinds >> k & 1;
    }
}

static void draw_plan(struct plan *p, uint64_t seed) {
    static const uint32_t one_in[] = {4, 6, 9, 14};
    *p = (struct plan){.seed = seed};
    for (uint32_t k = 0; k < KINDS_END; k++)
        if (pick(p, k, 0, one_in[seed % 4]) == 0) p->kinds |= UINT64_C(1) << k;
    only_one(p, STATE_ROUGH, STATE_NONE);
    only_one(p, KEYBOARD, KEYBOARD_LATE);
    if (has(p, RAM_NONE)) p->kinds &= ~(UINT64_C(1) << MAP | UINT64_C(1) << MAP_LATE);
}

/* "strange SEED", then words: -KIND takes a kind out, +KIND puts one in, = takes all out. False: something
 * else. */
static bool read_plan(struct plan *p, const char *text) {
    unsigned long long seed;
    char word[32];
    int used = 0;
    if (sscanf(text, "strange %llu%n", &seed, &used) != 1) return false;
    draw_plan(p, seed);
    for (text += used; sscanf(text, " %31s%n", word, &used) == 1; text += used) {
        if (strcmp(word, "=") == 0) p->kinds = 0;
        for (uint32_t k = 0; k < KINDS_END; k++) {
            if (strcmp(word + 1, kind_name[k]) != 0) continue;
            if (*word == '-') p->kinds &= ~(UINT64_C(1) << k);
            if (*word == '+') p->kinds |= UINT64_C(1) << k;
        }
    }
    return true;
}

#endif
