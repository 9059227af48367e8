/* eye.c - the shim of `make bench-ahead`: a library that is preloaded into RetroArch and stands around every
 * libretro core of the process, the wrapper and the cores inside it too. It writes down which frame each core
 * runs with which pads and picture, and which of these pictures RetroArch gets.
 *
 * Cores are found as they are by everybody, by dlsym(); their files, worlds and checksums stay as they are.
 * The number of a core's next frame is kept behind the bytes of its savestates, so that a core that goes back
 * is known to run a frame again.
 *
 * EYE_LOG names the file. Its lines, in microseconds of the monotonic clock:
 *     core SLOT FPS RATE PATH     the core's own words, after it has loaded
 *     run SLOT FRAME BEGIN_US PAD0 PAD1 HASH SHOWN_US
 *                                 a run: the buttons of two ports, the hash of its picture (0: none), the
 *                                 time at which RetroArch got that (0: not)
 *     call BEGIN_US END_US SAMPLES
 *                                 RetroArch's call, and the sound that it got in it
 * EYE_DRAW=1: a core that asks whether its picture is seen is told yes, so that frames which RetroArch runs
 * again have hashes. EYE_SLOW=N: the core takes N times its time: after each of its calls the processor is
 * kept busy for as long as is missing. */
#include <dlfcn.h>
#include <libretro.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core_wrapper/core/core.h"

#define SLOTS       8
#define PORTS       5
#define TRAILER     sizeof(uint64_t) /* of a state: the number of the next frame */
#define FLUSH_EVERY 30               /* calls */
#define PICTURES    32               /* frames */

struct picture {
    uint64_t frame, hash;
    bool shown;
    unsigned width, height;
    size_t cap;
    uint8_t *rgb;
};

struct slot { /* one core */
    void *handle;
    bool wraps;                      /* another core runs inside it */
    struct slot *below;              /* the core inside which it runs */
    struct kl_core core;             /* its functions */
    retro_environment_t environment; /* its frontend's, and so on */
    retro_video_refresh_t video_refresh;
    retro_audio_sample_t audio_sample;
    retro_audio_sample_batch_t audio_sample_batch;
    retro_input_poll_t input_poll;
    retro_input_state_t input_state;
    unsigned pixel_bytes;
    uint64_t next_frame;
    struct picture kept[PICTURES];
    uint16_t pad[2]; /* of the present run, as the rest */
    uint64_t hash, shown_us;
};

static struct slot slots[SLOTS];
static struct slot *running; /* the innermost */
static uint64_t samples;     /* that RetroArch got in this call */
static FILE *out;
static bool draw;
static unsigned slow = 1;
static const char *pictures; /* NULL: none are kept */

static uint64_t clock_us(clockid_t which) {
    struct timespec t;
    clock_gettime(which, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}
static uint64_t now_us(void) {
    return clock_us(CLOCK_MONOTONIC);
}

static unsigned number(const struct slot *s) {
    return (unsigned)(s - slots);
}

/* --- a slow core --- */

static uint64_t begin_cost(void) {
    return slow > 1 ? clock_us(CLOCK_THREAD_CPUTIME_ID) : 0;
}
static void pay(const struct slot *s, uint64_t from_us) {
    if (slow < 2 || s->wraps) return;
    uint64_t until_us = from_us + (clock_us(CLOCK_THREAD_CPUTIME_ID) - from_us) * slow;
    while (clock_us(CLOCK_THREAD_CPUTIME_ID) < until_us) {
    }
}

/* --- a core's callbacks --- */

static bool on_environment(struct slot *s, unsigned command, void *data) {
    bool good = s->environment(command, data);
    if (command == RETRO_ENVIRONMENT_SET_PIXEL_FORMAT && good)
        s->pixel_bytes = *(enum retro_pixel_format *)data == RETRO_PIXEL_FORMAT_XRGB8888 ? 4 : 2;
    if (command == RETRO_ENVIRONMENT_GET_AUDIO_VIDEO_ENABLE && good && draw && data) *(int *)data |= 1;
    return good;
}

static uint64_t picture_hash(const struct slot *s, const void *data, unsigned width, unsigned height,
                             size_t pitch) {
    uint64_t h = 1;
    for (unsigned y = 0; y < height; y++)
        h = XXH3_64bits_withSeed((const char *)data + y * pitch, (size_t)width * s->pixel_bytes, h);
    return h;
}

/* --- pictures that were wrong --- */

static void take_pixels(const struct slot *s, struct picture *p, const uint8_t *data, size_t pitch) {
    uint8_t *to = p->rgb;
    for (unsigned y = 0; y < p->height; y++)
        for (unsigned x = 0; x < p->width; x++) {
            const uint8_t *from = data + y * pitch + x * s->pixel_bytes;
            uint32_t v = s->pixel_bytes == 4 ? from[0] | from[1] << 8 | from[2] << 16
                                             : (from[0] & 0x1f) << 3 | (from[0] & 0xe0) << 5 |
                                                   (from[1] & 0x07) << 13 | (from[1] & 0xf8) << 16;
            *to++ = (uint8_t)(v >> 16);
            *to++ = (uint8_t)(v >> 8);
            *to++ = (uint8_t)v;
        }
}

/* The picture of the present run. One that was shown stays, though its frame is run again. */
static void keep_picture(struct slot *s, const void *data, unsigned width, unsigned height, size_t pitch) {
    uint64_t frame = s->next_frame - 1;
    struct picture *p = &s->kept[frame % PICTURES];
    size_t bytes = (size_t)3 * width * height;
    if (p->frame == frame && p->shown) return;
    if (p->cap < bytes) {
        free(p->rgb);
        p->rgb = malloc(bytes);
        p->cap = p->rgb ? bytes : 0;
    }
    if (!p->rgb) return;
    p->frame = frame;
    p->hash = s->hash;
    p->shown = false;
    p->width = width;
    p->height = height;
    take_pixels(s, p, data, pitch);
}

static void write_both(const struct picture *shown, const struct picture *is) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%llu.ppm", pictures, (unsigned long long)is->frame);
    FILE *f = shown->width == is->width && shown->height == is->height ? fopen(path, "wbe") : NULL;
    if (!f) return;
    fprintf(f, "P6 %u %u 255\n", 2 * is->width, is->height);
    for (unsigned y = 0; y < is->height; y++) {
        fwrite(shown->rgb + (size_t)3 * y * is->width, 3, is->width, f);
        fwrite(is->rgb + (size_t)3 * y * is->width, 3, is->width, f);
    }
    fclose(f);
}

static void compare_pictures(struct slot *s, uint64_t frame) {
    struct picture *mine = &s->kept[frame % PICTURES];
    if (mine->frame != frame || !mine->rgb) return;
    mine->shown |= s->shown_us > 0;
    for (unsigned i = 0; i < SLOTS; i++) {
        const struct picture *p = &slots[i].kept[frame % PICTURES];
        if (p != mine && p->frame == frame && p->shown && p->hash != mine->hash) write_both(p, mine);
    }
}

/* A core's picture is the one that RetroArch gets during its run. */
static void on_video_refresh(struct slot *s, const void *data, unsigned width, unsigned height,
                             size_t pitch) {
    if (data && data != RETRO_HW_FRAME_BUFFER_VALID && !s->wraps) {
        s->hash = picture_hash(s, data, width, height, pitch);
        if (pictures) keep_picture(s, data, width, height, pitch);
    }
    if (!s->below && running) running->shown_us = now_us();
    s->video_refresh(data, width, height, pitch);
}

static void on_audio_sample(struct slot *s, int16_t left, int16_t right) {
    if (!s->below) samples++;
    s->audio_sample(left, right);
}
static size_t on_audio_sample_batch(struct slot *s, const int16_t *data, size_t frames) {
    if (!s->below) samples += frames;
    return s->audio_sample_batch(data, frames);
}

static void on_input_poll(struct slot *s) {
    s->input_poll();
    for (unsigned port = 0; port < 2 && !s->wraps && s->input_state; port++) {
        s->pad[port] = 0;
        for (unsigned id = 0; id < 16; id++)
            s->pad[port] |= (uint16_t)((s->input_state(port, RETRO_DEVICE_JOYPAD, 0, id) != 0) << id);
    }
}

/* --- a core's functions --- */

static void note_run(const struct slot *s, uint64_t frame, uint64_t begin_us) {
    if (s->wraps) return;
    fprintf(out, "run %u %llu %llu %x %x %llx %llu\n", number(s), (unsigned long long)frame,
            (unsigned long long)begin_us, s->pad[0], s->pad[1], (unsigned long long)s->hash,
            (unsigned long long)s->shown_us);
}

static void note_call(uint64_t begin_us) {
    static unsigned calls;
    fprintf(out, "call %llu %llu %llu\n", (unsigned long long)begin_us, (unsigned long long)now_us(),
            (unsigned long long)samples);
    if (++calls % FLUSH_EVERY == 0) fflush(out);
}

static void on_run(struct slot *s) {
    uint64_t begin_us = now_us(), frame = s->next_frame, from_us = begin_cost();
    s->below = running;
    if (running) running->wraps = true;
    if (!running) samples = 0;
    running = s;
    s->hash = s->shown_us = 0;
    s->next_frame++;
    s->core.run();
    running = s->below;
    pay(s, from_us);
    if (pictures && !s->wraps) compare_pictures(s, frame);
    note_run(s, frame, begin_us);
    if (!running) note_call(begin_us);
}

static bool on_load_game(struct slot *s, const struct retro_game_info *game) {
    struct retro_system_av_info av = {0};
    Dl_info file = {0};
    s->next_frame = 0;
    s->below = running;
    if (!s->core.load_game(game)) return false;
    s->core.get_system_av_info(&av);
    dladdr(*(void **)&s->core.run, &file);
    fprintf(out, "core %u %.4f %.4f %s\n", number(s), av.timing.fps, av.timing.sample_rate, file.dli_fname);
    return true;
}

static size_t on_serialize_size(struct slot *s) {
    size_t size = s->core.serialize_size();
    return size && !s->wraps ? size + TRAILER : size;
}

static bool on_serialize(struct slot *s, void *data, size_t size) {
    uint64_t from_us = begin_cost();
    if (s->wraps) return s->core.serialize(data, size);
    if (size < TRAILER || !s->core.serialize(data, size - TRAILER)) return false;
    memcpy((char *)data + size - TRAILER, &s->next_frame, TRAILER);
    pay(s, from_us);
    return true;
}

static bool on_unserialize(struct slot *s, const void *data, size_t size) {
    uint64_t from_us = begin_cost();
    if (s->wraps) return s->core.unserialize(data, size);
    if (size < TRAILER || !s->core.unserialize(data, size - TRAILER)) return false;
    memcpy(&s->next_frame, (const char *)data + size - TRAILER, TRAILER);
    pay(s, from_us);
    return true;
}

/* RetroArch's netplay sets devices for 16 ports, and pce_fast dies of any beyond its five. */
static void on_set_controller_port_device(struct slot *s, unsigned port, unsigned device) {
    if (port < PORTS) s->core.set_controller_port_device(port, device);
}

/* --- functions without a context: some for each slot --- */

#define CALLBACK(n, name, result, parameters, ...)                                                           \
    static result name##_##n parameters {                                                                    \
        return on_##name(__VA_ARGS__);                                                                       \
    }                                                                                                        \
    static void set_##name##_##n(retro_##name##_t f) {                                                       \
        slots[n].name = f;                                                                                   \
        slots[n].core.set_##name(name##_##n);                                                                \
    }
#define FUNCTION(n, name, result, parameters, ...)                                                           \
    static result name##_##n parameters {                                                                    \
        return on_##name(__VA_ARGS__);                                                                       \
    }
#define SLOT(n)                                                                                              \
    CALLBACK(n, environment, bool, (unsigned c, void *d), &slots[n], c, d)                                   \
    CALLBACK(n, video_refresh, void, (const void *d, unsigned w, unsigned h, size_t p), &slots[n], d, w, h,  \
             p)                                                                                              \
    CALLBACK(n, audio_sample, void, (int16_t l, int16_t r), &slots[n], l, r)                                 \
    CALLBACK(n, audio_sample_batch, size_t, (const int16_t *d, size_t f), &slots[n], d, f)                   \
    CALLBACK(n, input_poll, void, (void), &slots[n])                                                         \
    static void set_input_state_##n(retro_input_state_t f) {                                                 \
        slots[n].input_state = f;                                                                            \
        slots[n].core.set_input_state(f);                                                                    \
    }                                                                                                        \
    FUNCTION(n, run, void, (void), &slots[n])                                                                \
    FUNCTION(n, load_game, bool, (const struct retro_game_info *g), &slots[n], g)                            \
    FUNCTION(n, serialize_size, size_t, (void), &slots[n])                                                   \
    FUNCTION(n, serialize, bool, (void *d, size_t s), &slots[n], d, s)                                       \
    FUNCTION(n, set_controller_port_device, void, (unsigned p, unsigned d), &slots[n], p, d)                 \
    FUNCTION(n, unserialize, bool, (const void *d, size_t s), &slots[n], d, s)
#define FACE(n)                                                                                              \
    {                                                                                                        \
        .set_environment = set_environment_##n, .set_video_refresh = set_video_refresh_##n,                  \
        .set_audio_sample = set_audio_sample_##n, .set_audio_sample_batch = set_audio_sample_batch_##n,      \
        .set_input_poll = set_input_poll_##n, .set_input_state = set_input_state_##n, .run = run_##n,        \
        .load_game = load_game_##n, .serialize_size = serialize_size_##n, .serialize = serialize_##n,        \
        .unserialize = unserialize_##n, .set_controller_port_device = set_controller_port_device_##n         \
    }

SLOT(0)
SLOT(1)
SLOT(2)
SLOT(3)
SLOT(4)
SLOT(5)
SLOT(6)
SLOT(7)
static const struct kl_core faces[SLOTS] = {FACE(0), FACE(1), FACE(2), FACE(3),
                                            FACE(4), FACE(5), FACE(6), FACE(7)};

/* --- in between --- */

#define NAMED(name)                                                                                          \
    { "retro_" #name, offsetof(struct kl_core, name) }
static const struct {
    const char *name;
    size_t at;
} names[] = {NAMED(set_environment),
             NAMED(set_video_refresh),
             NAMED(set_audio_sample),
             NAMED(set_audio_sample_batch),
             NAMED(set_input_poll),
             NAMED(set_input_state),
             NAMED(run),
             NAMED(load_game),
             NAMED(serialize_size),
             NAMED(serialize),
             NAMED(unserialize),
             NAMED(set_controller_port_device),
             NAMED(get_system_av_info)};

static void *real_dlsym(void *handle, const char *name) {
    static void *(*real)(void *, const char *);
    if (!real) *(void **)&real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    return real(handle, name);
}

/* A library that was unloaded may leave its handle to the next. */
static struct slot *slot_of(void *handle) {
    for (unsigned i = 0; i < SLOTS; i++)
        if (slots[i].handle == handle || !slots[i].handle) {
            slots[i].handle = handle;
            return &slots[i];
        }
    fputs("eye: too many cores\n", stderr);
    abort();
}

static bool begin(void) {
    const char *log = getenv("EYE_LOG"), *n = getenv("EYE_SLOW");
    if (out || !log) return out != NULL;
    out = fopen(log, "we");
    if (!out) return false;
    draw = getenv("EYE_DRAW") != NULL;
    pictures = getenv("EYE_PICTURES");
    slow = n ? (unsigned)strtoul(n, NULL, 10) : 1;
    return true;
}

__attribute__((visibility("default"))) void *dlsym(void *restrict handle, const char *restrict name) {
    void *there = real_dlsym(handle, name);
    if (!there || strncmp(name, "retro_", 6) != 0 || !begin()) return there;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i].name) != 0) continue;
        struct slot *s = slot_of(handle);
        void *face;
        memcpy((char *)&s->core + names[i].at, &there, sizeof there);
        memcpy(&face, (const char *)&faces[number(s)] + names[i].at, sizeof face);
        return face ? face : there;
    }
    return there;
}
