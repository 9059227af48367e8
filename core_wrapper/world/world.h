/* world.h - time, chance and files as the emulator sees them through the C library. docs/design.md §6 "The
 * virtual clock".
 *
 * Cores write the host's clock and unseeded chance into their state. One such byte makes two machines differ.
 * So a core reads a virtual clock instead: the room's epoch plus frames divided by fps, equal on all
 * machines.
 *
 * After a core has been opened, the imports of that one shared object (ELF: its relocated symbol table
 * entries, JMP_SLOT, GLOB_DAT, R_*_64; PE: its import tables) are pointed at functions here; nothing else in
 * the process is touched.
 *
 * Each core has a world of its own. The C library's functions take no context, so each world has functions of
 * its own, and there are KL_WORLDS of them. A world is used from the thread that runs its core (the replaced
 * functions themselves may be called by threads of the core). */
#ifndef KLW_WORLD_H
#define KLW_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core_wrapper/world/archive.h"

#define KL_WORLDS 4 /* in one process */

struct kl_world;
/* A world that no core has: at frame 0 of no epoch. NULL: all are taken. */
struct kl_world *kl_world_take(void);
/* Its core has been unloaded. NULL: harmless. */
void kl_world_release(struct kl_world *w);

/* This system: "Linux" or "Windows". */
extern const char kl_world_system[];

/* The turned and the remaining imports, for `keylock probe` and the log; cut if too long. */
struct kl_world_report {
    char turned[1024]; /* names, separated by blanks; C++ names demangled, if the core has a C++ library */
    char left[1024];   /* facts that stay the host's, each with the reason in (): imports; files and variables
                      * once the core has asked for them */
    bool rand;         /* rand() is turned */
};

/* The names in `left` without their reasons, "rdtsc, /proc/cpuinfo", as far as cap goes: instructions and
 * files first, then calls, then variables. "": nothing is left. Returns out. */
const char *kl_world_left_names(const char *left, char *out, size_t cap);

/* Turns the imports of the object `handle` (of kl_library_open), that is, points them at this module:
 * - clocks (time, gettimeofday, clock_gettime, timespec_get, ftime, clock, std::chrono's now()):
 *   CLOCK_REALTIME* = epoch + frames, all others = frames since frame 0;
 * - the calendar (localtime, gmtime, mktime, ctime and their _r, tzset, timezone, tzname): UTC, no zone
 *   file;
 * - timed waits (pthread_cond_timedwait, pthread_mutex_timedlock, sem_timedwait … and their clock variants):
 *   the deadline is translated from the virtual to the real clock, so that a turned clock_gettime cannot
 *   make them spin or hang; a condition's wait that has timed out moves the monotonic clock of its thread on,
 *   until the next frame, for code that asks the clock afterwards;
 * - chance (rand, random, drand48 … with their seeds, arc4random, getrandom, std::random_device): one
 *   generator of our own, seeded from the epoch;
 * - the devices of chance (/dev/urandom, /dev/random): a file in memory, of that generator, for each opening;
 * - the process (getpid, gettid; kill and others take the number back), processors, memory, the machine's
 *   name: one answer in every room. In names of files the number is replaced by each core's own;
 * - language: C's locale, English; of the environment zone, language and user are constants, others are the
 *   player's and listed as left when the core asks for them;
 * - folders (readdir, scandir, nftw, glob, FindFirstFile, std::filesystem …): sorted by the bytes of names;
 *   names of temporary files follow a count;
 * - the heap (malloc, realloc, operator new …): memory comes as zeros, so that bytes that a core never
 *   writes are equal;
 * - files (fopen, open, openat, gzopen, std::fstream, stat, rename …): noted (see kl_world_files), and opened
 *   as the session's view has them (view.h);
 * On Windows these are the names of msvcrt.dll and of ucrtbase.dll, and those of the system (GetTickCount,
 * QueryPerformanceCounter, HeapAlloc, CreateFileW …), also if the core asks for one by GetProcAddress();
 * waits that have timed out move the clock of their thread on, until the next frame.
 *
 * Constructors that ran before have already read the host's clock. report: borrowed until the world is
 * released, since what the core asks for joins it; may be NULL.
 * Returns 0, or -1 with a line in err if the object cannot be read or this machine's relocations are
 * unknown. */
int kl_world_turn(struct kl_world *w, void *handle, struct kl_world_report *report, char *err,
                  size_t err_len);

/* A core's use of rand(). RAND_MAX is compiled into a core, as 2^31-1 on Linux and 2^15-1 on Windows, so the
 * numbers of one system fit no core of the other. */
enum kl_rand_use {
    KL_RAND_SYSTEM, /* unknown: all bits of this system's, so another game may run on another system */
    KL_RAND_LOW,    /* it takes the number, its lower bits or its remainder: 15 bits on every system */
    KL_RAND_UPPER,  /* it compares the number with RAND_MAX, or divides by it: the same share of RAND_MAX */
};
/* From now on, until the world is taken again. Call it before the core's retro_init. */
void kl_world_rand_use(struct kl_world *w, enum kl_rand_use use);

/* Sets the clock to frame 0 and the generator to its seed. Call it before retro_init, because cores ask for
 * both while they load. fps_uhz 0: not known yet, see kl_world_rate(). */
void kl_world_start(struct kl_world *w, uint64_t epoch_s, uint32_t fps_uhz);
/* Sets the core's rate from the present frame on: after retro_load_game, and when the rate changes in
 * play. */
void kl_world_rate(struct kl_world *w, uint32_t fps_uhz);
/* The next retro_run is frame f: the clock stands at epoch + f / fps throughout that run. For cores that
 * spin on the clock, each reading after the 1000th in a frame moves it on by 1 µs. */
void kl_world_frame(struct kl_world *w, uint32_t f);

/* Waits until the threads that the core has started sleep: until one has worked for 1 s, or 20 s have passed
 * because one gets no processor. Some cores go on with the next
 * frame in a thread of their own after retro_run has returned: what is read of them then, and what they read
 * of the clock when it moves, would depend on the machine's speed. Call it after each run. False: a thread
 * works on, and no later call waits; `left` names it. Not on Windows, where true comes at once. */
bool kl_world_rest(struct kl_world *w);

/* The virtual clock for libretro's performance interface, which is no import: nanoseconds since frame 0.
 * Never goes back, even if the rate changes. */
int64_t kl_world_read_ns(struct kl_world *w);

/* The clock's state: base_ns after frame 0 at base_frame, and on from there at that rate. To go back to a
 * savestate, restore this as well and set the next frame by kl_world_frame(). */
struct kl_world_time {
    int64_t base_ns;
    uint32_t base_frame, fps_uhz;
};
struct kl_world_time kl_world_time(const struct kl_world *w);
void kl_world_time_set(struct kl_world *w, const struct kl_world_time *t);

/* The generator's state. A core's savestate does not hold it: to go back to a state, or to give one to
 * another machine, restore this as well. */
uint64_t kl_world_chance(const struct kl_world *w);
void kl_world_chance_set(struct kl_world *w, uint64_t chance);

/* Files that the core has opened, or failed to open, since kl_world_files_clear(), in order of first
 * opening, each once. `wrote`: the file was opened for writing at least once. kl_world_files() gives the
 * count; i < count gives the name (absolute, borrowed). */
void kl_world_files_clear(struct kl_world *w);
unsigned kl_world_files(struct kl_world *w);
const char *kl_world_file(struct kl_world *w, unsigned i, bool *wrote);
/* Notes that the core has opened a file in another way than through its imports. */
void kl_world_note_file(struct kl_world *w, const char *path, bool write);

/* The parts of an archive (.zip, .7z) that the core has read, sorted, apart from each other, as
 * kl_archive_list() wants them; borrowed until kl_world_files_clear(). NULL: unknown, because it was opened
 * by other means than C's streams, is still open, or was not opened. real: its path without links. */
const struct kl_archive_span *kl_world_archive_read(struct kl_world *w, const char *real, unsigned *count);

#endif
