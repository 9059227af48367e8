/* world.h - time, chance and files as the emulator sees them through the C library. docs/design.md §6 "The
 * virtual clock".
 *
 * Cores write the host's clock and unseeded chance into their state. One such byte makes two machines differ.
 * So a core reads a virtual clock instead: the room's epoch plus frames divided by fps, equal on all
 * machines.
 *
 * After a core has been opened, the imports of that one shared object (its relocated symbol table entries:
 * JMP_SLOT, GLOB_DAT, R_*_64) are pointed at functions here; nothing else in the process is touched.
 * Process-wide state: one world at a time, used from the thread that runs the core (the functions themselves
 * may be called by threads of the core). */
#ifndef KLW_WORLD_H
#define KLW_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What could and could not be turned, for `keylock probe` and the log; cut where it does not fit. */
struct kl_world_report {
    char turned[1024]; /* names, separated by blanks; C++ names demangled, if the core has a C++ library */
    char left[1024]; /* imports of time, chance or waiting that were left alone, each with its reason in () */
};

/* Turns the imports of the object that `handle` (of dlopen) stands for:
 * - clocks (time, gettimeofday, clock_gettime, timespec_get, ftime, clock, std::chrono's now()):
 *   CLOCK_REALTIME* = epoch + frames, all others = frames since frame 0;
 * - the calendar (localtime, gmtime, mktime, ctime and their _r, tzset, timezone, tzname): UTC, no zone file;
 * - timed waits (pthread_cond_timedwait, pthread_mutex_timedlock, sem_timedwait … and their clock variants):
 *   the deadline is translated from the virtual to the real clock, so that a turned clock_gettime cannot make
 *   them spin or hang;
 * - chance (rand, random, drand48 … with their seeds, arc4random, getrandom, std::random_device): one
 *   generator of our own, seeded from the epoch;
 * - getenv of TZ, LANG, LC_ALL: constants; setlocale is left alone;
 * - the heap (malloc, realloc, operator new …): memory comes as zeros, so that what a core never writes is
 * equal;
 * - files (fopen, open, openat, gzopen, std::fstream …): passed through, noted (see kl_world_files).
 *
 * Constructors have run before; what they read of the host's clock stays read. report may be NULL.
 * 0, or -1 with a line in err where the object cannot be read or this machine's relocations are not known. */
int kl_world_turn(void *handle, struct kl_world_report *report, char *err, size_t err_len);

/* Sets the clock to frame 0 and the generator to its seed: before retro_init, for cores ask for both while
 * they load. fps_uhz 0: not known yet, see kl_world_rate(). */
void kl_world_start(uint64_t epoch_s, uint32_t fps_uhz);
/* The core's rate from the present frame on: after retro_load_game, and where it changes in play. */
void kl_world_rate(uint32_t fps_uhz);
/* The next retro_run is frame f: the clock stands at epoch + f / fps throughout that run
 * (but for cores that spin on the clock: from the 1001st reading within a frame each moves it on by 1 µs). */
void kl_world_frame(uint32_t f);

/* The core reads that clock by another way than an import (libretro's performance interface): nanoseconds
 * since frame 0. Never goes back, also where the rate changes. */
int64_t kl_world_read_ns(void);

/* How the clock goes: base_ns after frame 0 at base_frame, and on from there at that rate. Whoever goes back
 * to a state takes it along, and says which frame is next by kl_world_frame(). */
struct kl_world_time {
    int64_t base_ns;
    uint32_t base_frame, fps_uhz;
};
struct kl_world_time kl_world_time(void);
void kl_world_time_set(const struct kl_world_time *t);

/* Where the generator stands. It is no part of a core's savestate: whoever goes back to a state, or gives one
 * to another machine, takes it along. */
uint64_t kl_world_chance(void);
void kl_world_chance_set(uint64_t chance);

/* Files that the core opened, or looked for in vain, since kl_world_files_clear(), in order of first opening,
 * each once. `wrote`: it was opened for writing at least once. Returns the count; i < count gives name
 * (absolute, borrowed). */
void kl_world_files_clear(void);
unsigned kl_world_files(void);
const char *kl_world_file(unsigned i, bool *wrote);
/* The wrapper's own VFS front (environment call 45) reports openings here too. */
void kl_world_note_file(const char *path, bool write);

#endif
