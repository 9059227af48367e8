/* press.c - a frontend as small as can be, for measuring: paces retro_run like a display, and presses a
 * button now and then at moments that have nothing to do with frames.
 *
 *   press --core FILE --content FILE --log FILE [--seconds S] [--hz H] [--seed N] [--still]
 *         [--hang AT:FOR | --stop AT:FOR] [--yardstick CORE]
 *
 * It is a frontend like any other to the wrapper: polled once a call, no view inside. Everything else (room,
 * trace) goes by KEYLOCK_* in the environment; what the core logs goes to standard error. S seconds after the
 * wrapper says "playing" it ends, and presses come from then on.
 * - --still: nobody presses, so that every run plays the same frames.
 * - --hang: AT seconds after that it makes no calls for FOR seconds, as with a menu open.
 * - --stop: AT seconds after that it stops by SIGSTOP; another is to send SIGCONT FOR seconds later.
 * - --yardstick: a copy of the core, whose bare speed over the frames missed then is measured at the end of
 * the hang (of a stop, at its begin) and two seconds after.
 *
 * The log's lines, in microseconds of the monotonic clock:
 * - begin US: the first retro_run
 * - press US POLL_US MASK: a button went down at US, the poll at POLL_US was the first to see it
 * - bare WALL_US CPU_US FRAMES: what those frames took of time and of processor
 * - call US CPU_US: each call between the two of those, and what this process had used of processor then */
#include <errno.h>
#include <getopt.h>
#include <libretro.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/yardstick.h"
#include "tests/lib/rng.h"

#define COMPARE_US 2000000 /* after a hang, until the yardstick is measured again */

static struct {
    const char *core, *content, *log, *yardstick;
    double seconds, hz, hang_at, hang_for;
    struct rng dice;
    bool still, stop;
} asked = {.seconds = 10, .dice = {1}};

static struct {
    bool playing;
    uint64_t down_us, up_us; /* of the next or present press */
    unsigned number;
    bool seen;
    uint16_t mask; /* the buttons of the last poll */
} pad;
static FILE *out;
static char folder[] = "/tmp/keylock-press.XXXXXX";
static volatile sig_atomic_t told_to_end;

static uint64_t now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void fail(const char *what, const char *why) {
    fprintf(stderr, "press: %s: %s\n", what, why);
    exit(1);
}

static uint64_t between_us(uint64_t low, uint64_t high) {
    return low + rng_next(&asked.dice) % (high - low);
}

/* --- the pad --- */

/* Held for 70 to 110 ms, then up for 120 to 300: no two presses ever become one. */
static void next_press(uint64_t from_us) {
    pad.number++;
    pad.down_us = from_us + between_us(120000, 300000);
    pad.up_us = pad.down_us + between_us(70000, 110000);
    pad.seen = false;
}

/* Ten buttons in turn (Select and Start are left alone: hot keys), so that one press is not taken for
 * another. */
static uint16_t press_mask(void) {
    static const uint8_t button[] = {0, 1, 4, 5, 6, 7, 8, 9, 10, 11};
    return (uint16_t)(1u << button[pad.number % sizeof button]);
}

static void on_poll(void) {
    uint64_t at_us = now_us();
    pad.mask = 0;
    if (!pad.playing || asked.still) return;
    if (!pad.down_us) next_press(at_us + between_us(0, 500000));
    if (at_us >= pad.up_us && pad.seen) next_press(pad.up_us);
    if (at_us < pad.down_us) return;
    pad.mask = press_mask();
    if (pad.seen) return;
    pad.seen = true;
    if (at_us > pad.up_us) pad.up_us = at_us; /* nobody looked in time */
    fprintf(out, "press %llu %llu %x\n", (unsigned long long)pad.down_us, (unsigned long long)at_us,
            pad.mask);
}

static int16_t on_state(unsigned port, unsigned device, unsigned index, unsigned id) {
    (void)index;
    if (port || (device & RETRO_DEVICE_MASK) != RETRO_DEVICE_JOYPAD) return 0;
    if (id == RETRO_DEVICE_ID_JOYPAD_MASK) return (int16_t)pad.mask;
    return id < 16 && (pad.mask >> id & 1);
}

/* --- the rest of a frontend --- */

static void on_log(enum retro_log_level level, const char *format, ...) {
    char line[1024];
    va_list args;
    (void)level;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (strstr(line, "playing seats=")) pad.playing = true;
    fprintf(stderr, "%s%s", line, strchr(line, '\n') ? "" : "\n");
}

static bool on_environment(unsigned command, void *data) {
    switch (command) {
    case RETRO_ENVIRONMENT_GET_LOG_INTERFACE: ((struct retro_log_callback *)data)->log = on_log; return true;
    case RETRO_ENVIRONMENT_SHUTDOWN: told_to_end = 1; return true;
    default: return bare_answer(folder, command, data);
    }
}

/* --- the hang and its measurement --- */

static uint64_t hang_us, compare_us; /* when; 0: not, or no more */

static struct yardstick bare(void) {
    const unsigned fps = 60;
    return yardstick_measure(asked.yardstick, asked.content, (unsigned)(asked.hang_at * fps),
                             (unsigned)(asked.hang_for * fps));
}

static void measure_bare(void) {
    if (!asked.yardstick) return;
    struct yardstick y = bare();
    fprintf(out, "bare %llu %llu %u\n", (unsigned long long)y.wall_us, (unsigned long long)y.cpu_us,
            y.frames);
}

static void wait_until(uint64_t until_us) {
    while (!told_to_end && now_us() < until_us)
        usleep(1000);
}

static void hang(void) {
    uint64_t from_us = now_us(), ends_us = from_us + (uint64_t)(asked.hang_for * 1e6);
    if (asked.yardstick && !asked.stop) {
        bare(); /* to know how long it takes */
        wait_until(ends_us - (now_us() - from_us) * 11 / 10);
    }
    measure_bare();
    if (asked.stop)
        raise(SIGSTOP);
    else
        wait_until(ends_us);
}

static void note_call(void) {
    struct timespec t;
    if (!compare_us) return;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    fprintf(out, "call %llu %llu\n", (unsigned long long)now_us(),
            (unsigned long long)t.tv_sec * 1000000 + (unsigned long long)t.tv_nsec / 1000);
}

static void around_hang(void) {
    if (hang_us && now_us() >= hang_us) {
        hang();
        hang_us = 0;
        compare_us = now_us() + COMPARE_US;
    } else if (compare_us && now_us() >= compare_us) {
        compare_us = 0;
        measure_bare();
    }
}

/* --- the calls --- */

/* Calls are due at multiples of the period from the first one on, which has a phase of its own. */
static void play(struct bare *c) {
    struct retro_system_av_info av;
    ((void (*)(struct retro_system_av_info *))bare_find(c, "retro_get_system_av_info"))(&av);
    double period_us = 1e6 / (asked.hz > 0 ? asked.hz : av.timing.fps),
           next_us = (double)now_us() + (double)between_us(0, 16667);
    uint64_t ends_us = 0;
    bool first = true;
    while (!told_to_end && (!ends_us || now_us() < ends_us)) {
        struct timespec at = {(time_t)(next_us / 1e6), (long)((uint64_t)next_us % 1000000 * 1000)};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR && !told_to_end) {
        }
        next_us += period_us;
        if (next_us + 200000 < (double)now_us()) next_us = (double)now_us(); /* a pause is not made up for */
        if (first) fprintf(out, "begin %llu\n", (unsigned long long)now_us());
        first = false;
        note_call();
        c->run();
        if (!pad.playing) continue;
        if (!ends_us) {
            ends_us = now_us() + (uint64_t)(asked.seconds * 1e6);
            if (asked.hang_for > 0) hang_us = now_us() + (uint64_t)(asked.hang_at * 1e6);
        }
        around_hang();
    }
}

static void on_signal(int number) {
    (void)number;
    told_to_end = 1;
}

static void read_options(int argc, char **argv) {
    static const struct option options[] = {
        {"core", 1, 0, 'c'}, {"content", 1, 0, 'f'},   {"log", 1, 0, 'l'},  {"seconds", 1, 0, 's'},
        {"hz", 1, 0, 'h'},   {"seed", 1, 0, 'd'},      {"hang", 1, 0, 'g'}, {"still", 0, 0, 'q'},
        {"stop", 1, 0, 't'}, {"yardstick", 1, 0, 'y'}, {0, 0, 0, 0}};
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;)
        switch (o) {
        case 'c': asked.core = optarg; break;
        case 'f': asked.content = optarg; break;
        case 'l': asked.log = optarg; break;
        case 's': asked.seconds = atof(optarg); break;
        case 'h': asked.hz = atof(optarg); break;
        case 'd': asked.dice.state = strtoull(optarg, NULL, 10); break;
        case 'y': asked.yardstick = optarg; break;
        case 't':
        case 'g':
            asked.stop = o == 't';
            if (sscanf(optarg, "%lf:%lf", &asked.hang_at, &asked.hang_for) != 2) exit(2);
            break;
        case 'q': asked.still = true; break;
        default: exit(2);
        }
    if (!asked.core || !asked.content || !asked.log) {
        fputs(
            "usage: press --core FILE --content FILE --log FILE [--seconds S] [--hz H] [--seed N] [--still] "
            "[--hang AT:FOR | --stop AT:FOR] [--yardstick CORE]\n",
            stderr);
        exit(2);
    }
}

int main(int argc, char **argv) {
    static const struct bare_front front = {on_environment, on_poll, on_state};
    struct bare c;
    read_options(argc, argv);
    out = fopen(asked.log, "w");
    if (!out || !mkdtemp(folder)) fail(asked.log, strerror(errno));
    setvbuf(out, NULL, _IOLBF, 0);
    signal(SIGTERM, on_signal);
    signal(SIGINT, on_signal);
    bare_open(&c, asked.core, asked.content, &front);
    play(&c);
    bare_close(&c);
    fclose(out);
    rmdir(folder);
    return 0;
}
