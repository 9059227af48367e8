/* probe.h - one measured run of `keylock probe` and its findings. A run has a process of its own, so that a
 * crashing core ends only that process, and so that address space layout, heap and clock differ as between
 * two machines. */
#ifndef KLT_PROBE_H
#define KLT_PROBE_H

#include "core_wrapper/tool/common/hashfile.h"
#include "core_wrapper/tool/headless/headless.h"

enum kl_probe_mode {
    KL_PROBE_PLAIN,  /* hashed at each check */
    KL_PROBE_HOST,   /* with the host's clock */
    KL_PROBE_HIDDEN, /* three of four frames without picture and sound */
    KL_PROBE_QUIET,  /* hashed after the last frame only */
    KL_PROBE_LOAD,   /* its own state loaded at each check */
    KL_PROBE_REPLAY, /* at each check saved, 8 frames run, loaded, the same 8 frames run again, then compared
                      */
    KL_PROBE_TWICE,  /* serialized twice at each check, no frame between */
    KL_PROBE_BESIDE, /* a second copy of the core runs by turns with it, and goes back to its own states */
    KL_PROBE_PAGES,  /* four frames in eight are first run with nothing pressed; it goes back by its pages */
    KL_PROBE_MODES
};

#define KL_PROBE_REPLAY_FRAMES 8
#define KL_PROBE_LINE          2048 /* bytes of a line that the child tells */

struct kl_probe_setup {
    const char *core, *content, *system_dir, *input;
    const char *const *options;
    unsigned option_count;
    uint32_t frames, every;
    bool same_addresses; /* memory is at the same place in each run */
};

/* The findings of a run at one check, or at the end. */
struct kl_probe_check {
    struct kl_hashline hash;
    uint64_t av;               /* picture and sound since frame 0 */
    uint64_t state_bytes;      /* 0: no state */
    bool compared;             /* REPLAY and TWICE: this check compared something */
    bool ram_same, state_same; /* the result of the comparison */
};

/* Offsets of the state whose bytes differed, as ranges [from, to], in order; bounded. */
#define KL_PROBE_RANGES 4096
struct kl_probe_bytes {
    struct {
        uint32_t from, to;
    } range[KL_PROBE_RANGES];
    unsigned ranges;
    uint64_t count; /* bytes in all, also beyond the ranges */
};

struct kl_probe_result {
    bool ran;       /* to its end */
    int code;       /* the child's exit code */
    char crash[64]; /* the signal that ended it, in words; "": none */
    char error[KLT_ERR];
    char name[128], version[128];
    char turned[1024], left[1024];
    char files[300]; /* the file for which a room gives no states, and why; "": there is none */
    bool rand;       /* it imports rand() */
    uint64_t ram_bytes;
    unsigned ram_pieces;
    double frame_us, frame_p99_us, serialize_us, unserialize_us; /* means; of serializing the median,
                                                                    processor time; 0: not measured */
    struct kl_probe_check *check;                                /* heap */
    unsigned checks;
    struct kl_probe_bytes unstable; /* found by this run alone (REPLAY, TWICE) */
};

/* Runs in a child process (this program again, as `keylock probe-child`). scratch: a folder for its files;
 * with states, it leaves the states of some checks in scratch/<mode><turn>.states. Always fills in r. */
void kl_probe_run(struct kl_probe_result *r, const struct kl_probe_setup *setup, enum kl_probe_mode mode,
                  unsigned turn, const char *scratch);
void kl_probe_free(struct kl_probe_result *r);

/* Compares the states that two PLAIN runs left behind. */
void kl_probe_compare_states(struct kl_probe_bytes *out, const char *scratch);

/* Marks a byte map's set bytes as ranges. */
void kl_probe_bytes_from_map(struct kl_probe_bytes *out, const uint8_t *map, size_t len);

#endif
