/* run_options.h - the command line of `keylock run`. */
#ifndef KLT_RUN_OPTIONS_H
#define KLT_RUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "core_wrapper/tool/common/forward.h"
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

#endif
