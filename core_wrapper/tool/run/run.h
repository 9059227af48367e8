/* run.h - the parts of `keylock run`: its command line, what it writes, its record and states. */
#ifndef KLT_RUN_H
#define KLT_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "core_wrapper/abi/wrapper_api.h"
#include "core_wrapper/core/statefile.h"
#include "core_wrapper/record/desync.h"
#include "core_wrapper/record/recording.h"
#include "core_wrapper/tool/common/tool.h"
#include "core_wrapper/tool/common/hashfile.h"
#include "core_wrapper/tool/headless/headless.h"

#define KLT_COMMANDS 64 /* --command at most */

/* --command FRAME[+MS]:WORDS: given once that frame is next, and so long after. */
struct kl_run_command {
    uint32_t frame, after_ms;
    const char *words;
};

struct kl_run_options {
    struct kl_machine_setup machine; /* but for `ports` */
    const char *hash_out, *told_out, *trace, *wrapper, *wav, *voice_in, *voice_out;
    struct kl_forward settings; /* of the wrapper in a room */
    const char *record, *states;
    struct kl_run_command command[KLT_COMMANDS];
    unsigned command_count;
    double hz; /* calls a second; 0: the core's rate at --speed real, else no limit */
    uint64_t frames, hash_every, seats, wait_s;
    bool real_speed, quiet;
    bool has_hash_every, has_seats;
    bool in_room; /* by relay or link */
};

/* 0, or -1 after a line on standard error. */
int kl_run_options_parse(struct kl_run_options *o, int argc, char **argv);

/* The output of `keylock run`: hash file, trace, progress, the final JSON line. */

struct kl_run_output {
    FILE *hashes, *trace;
    const char *hash_path, *trace_path;
    struct kl_hashline last; /* the newest hash, if any */
    bool any;
    uint32_t hash_next; /* hashes of frames below are written, or were passed over */
    uint32_t hash_count;
    bool progress; /* standard error is a terminal */
    uint64_t progress_us;
    char error[512]; /* the first write error */
};

/* Opens the files that are named (NULL: none). 0, or -1 with o->error. */
int kl_run_output_open(struct kl_run_output *o, const char *hash_path, const char *trace_path);
/* A hash: kept as the last one and written. Errors go to o->error. */
void kl_run_output_hash(struct kl_run_output *o, const struct kl_hashline *line);
/* A line of the trace. wall_us: since the run began. */
void kl_run_output_trace(struct kl_run_output *o, uint64_t wall_us, const struct klw_report *r);
void kl_run_output_progress(struct kl_run_output *o, uint64_t now_us, uint32_t done, uint32_t frames,
                            const struct klw_report *r);
/* 0, or -1 with o->error. */
int kl_run_output_close(struct kl_run_output *o);

struct kl_run_summary {
    uint32_t frames;
    struct klw_final final;
    double wall_s;
    const char *core, *content, *turned, *left;
    int exit_code;
    const char *error; /* "" for none */
    uint32_t desync_first;
    bool desync;
    uint32_t healed, state_only; /* how often; verdicts with equal RAM and unequal state */
};
/* Writes the JSON line and closes `to`. Returns 0, or -1 if the write failed. */
int kl_run_output_json(const struct kl_run_output *o, const struct kl_run_summary *s, FILE *to);

/* The files of a lone `keylock run` for blame and bisect: a recording, states, a planted
 * desync. In a room the wrapper writes them (core_wrapper/record/record.c), as the environment asks. */

struct kl_run_trail {
    struct kl_recorder recorder;
    struct kl_corrupt corrupt;
    struct kl_origin origin;
    const char *states, *record;
    char error[512]; /* the first write error */
};

/* Before the wrapper is loaded: in a room, its environment. */
void kl_run_trail_export(const struct kl_run_options *o);
/* The content is loaded and nothing has been run, alone. 0, or -1 with t->error. */
int kl_run_trail_begin(struct kl_run_trail *t, const struct kl_run_options *o, struct kl_headless *h);
/* A frame is next. */
void kl_run_trail_frame(struct kl_run_trail *t, struct kl_headless *h, const struct kl_frame *next);
/* Hashes that were taken of the state in h->buffer. */
void kl_run_trail_hash(struct kl_run_trail *t, const struct kl_headless *h, const struct kl_statehash *taken);
/* 0, or -1 with t->error. */
int kl_run_trail_end(struct kl_run_trail *t);

#endif
