/* run_output.h - the output of `keylock run`: hash file, trace, progress, the final JSON line. */
#ifndef KLT_RUN_OUTPUT_H
#define KLT_RUN_OUTPUT_H

#include "core_wrapper/abi/wrapper_api.h"
#include "core_wrapper/tool/common/hashfile.h"

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

#endif
