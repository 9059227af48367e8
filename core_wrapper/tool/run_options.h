/* run_options.h - the command line of `keylock run`. */
#ifndef KLT_RUN_OPTIONS_H
#define KLT_RUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define KLT_CORE_OPTIONS 256 /* --option at most */

struct kl_run_options {
    const char *core, *content, *input, *hash_out, *trace, *system_dir, *save_dir;
    const char *relay, *room, *name, *wrapper;
    const char *option[KLT_CORE_OPTIONS];
    unsigned option_count;
    uint64_t frames, hash_every, epoch_s, players, seats, spacing, wait_s;
    bool real_speed, host_clock, subframes_off, quiet;
    bool has_hash_every, has_seats, has_clock, help;
};

/* 0, or -1 after a line on standard error. o->help: --help was asked for and printed. */
int kl_run_options_parse(struct kl_run_options *o, int argc, char **argv);

#endif
