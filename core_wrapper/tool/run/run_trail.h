/* run_trail.h - the files of a lone `keylock run` for blame and bisect: a recording, states, a planted
 * desync. In a room the wrapper writes them (core_wrapper/record/record_run.c), as the environment asks. */
#ifndef KLT_RUN_TRAIL_H
#define KLT_RUN_TRAIL_H

#include "core_wrapper/record/corrupt.h"
#include "core_wrapper/record/recording.h"
#include "core_wrapper/core/statefile.h"
#include "core_wrapper/tool/run/run_options.h"

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
void kl_run_trail_frame(struct kl_run_trail *t, struct kl_headless *h);
/* Hashes that were taken of the state in h->buffer. */
void kl_run_trail_hash(struct kl_run_trail *t, const struct kl_headless *h, const struct kl_statehash *taken);
/* 0, or -1 with t->error. */
int kl_run_trail_end(struct kl_run_trail *t);

#endif
