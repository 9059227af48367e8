/* measure.h - the measured run of a machine (machine.h), for `keylock probe`: frames in one of several modes,
 * a check after some of them, figures at the end. The child's side is measure.c. */
#ifndef KLT_MEASURE_H
#define KLT_MEASURE_H

#include "core_wrapper/tool/common/hashfile.h"
#include "core_wrapper/tool/headless/headless.h"

enum kl_measure_mode {
    KL_MEASURE_PLAIN,  /* hashed at each check */
    KL_MEASURE_HOST,   /* with the host's clock */
    KL_MEASURE_HIDDEN, /* of four frames three that nobody will see */
    KL_MEASURE_QUIET,  /* hashed after the last frame only */
    KL_MEASURE_LOAD,   /* its own state loaded at each check */
    KL_MEASURE_REPLAY, /* at each check saved, 8 frames run, loaded, the same 8 frames run again, then
                          compared */
    KL_MEASURE_TWICE,  /* serialized twice at each check, no frame between */
    KL_MEASURE_BESIDE, /* a second copy of the core runs by turns with it, and goes back to its own states */
    KL_MEASURE_PAGES, /* four frames in eight are first run with nothing pressed; it goes back by its pages */
    KL_MEASURE_MODES
};

/* The findings at one check. The state's bytes follow in the answer, if they were asked for. */
struct kl_measure_check {
    struct kl_hashline hash;
    uint64_t av;               /* picture and sound since frame 0 */
    uint64_t state_bytes;      /* 0: no state */
    bool compared;             /* REPLAY and TWICE: this check compared something */
    bool ram_same, state_same; /* the result of the comparison */
    char files[300];           /* the file for which a room gives no states, and why; "": there is none */
};

/* Offsets of the state whose bytes differed, as ranges [from, to], in order; bounded. */
#define KL_MEASURE_RANGES 4096
struct kl_measure_bytes {
    struct {
        uint32_t from, to;
    } range[KL_MEASURE_RANGES];
    unsigned ranges;
    uint64_t count; /* bytes in all, also beyond the ranges */
};

struct kl_measure_figures {
    char turned[1024], left[1024];
    bool rand; /* it imports rand() */
    uint64_t ram_bytes;
    unsigned ram_pieces;
    double frame_us, frame_p99_us, serialize_us, unserialize_us; /* means; of serializing the median,
                                                                    processor time; 0: not measured */
    struct kl_measure_bytes unstable;                            /* found by this run alone (REPLAY, TWICE) */
};

/* Marks a byte map's set bytes as ranges. */
void kl_measure_bytes_from_map(struct kl_measure_bytes *out, const uint8_t *map, size_t len);

/* --- the child's side --- */

struct kl_measure {
    enum kl_measure_mode mode;
    struct kl_headless *h, beside;                        /* beside: KL_MEASURE_BESIDE */
    char handlers[sizeof((struct kl_headless *)0)->name]; /* of signals, before the core was loaded */
    const char *fault;                                    /* the run cannot go on; NULL: it can */
    uint32_t *frame_us, *serialize_us; /* one per frame; one per serialize, processor time */
    uint64_t unserialize_us;
    uint32_t frames;
    unsigned serializes, unserializes;
    uint64_t beside_chance; /* of the state that the second copy holds */
    uint8_t *map;           /* of unstable bytes, map_len = size of the state when it was made */
    size_t map_len;
    bool history_only; /* a file was found */
};

/* Before the core is loaded: what the mode wants of its setup. */
void kl_measure_prepare(struct kl_measure *m, enum kl_measure_mode mode, struct kl_headless_setup *setup);
/* With the core loaded. 0, or -1 with a line in err. */
int kl_measure_begin(struct kl_measure *m, struct kl_headless *h, struct kl_input_source *input, char *err,
                     size_t err_len);
/* Runs `frames` frames and checks, as the mode has it. False: m->fault says why. */
bool kl_measure_run(struct kl_measure *m, uint32_t frames, struct kl_measure_check *out);
void kl_measure_figures(struct kl_measure *m, struct kl_measure_figures *out);
void kl_measure_end(struct kl_measure *m);

#endif
