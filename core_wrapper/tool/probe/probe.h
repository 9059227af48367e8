/* probe.h - one measured run of `keylock probe` and its findings. A run has a process of its own, so that a
 * crashing core ends only that process, and so that address space layout, heap and clock differ as between
 * two machines. */
#ifndef KLT_PROBE_H
#define KLT_PROBE_H

#include "core_wrapper/tool/desync/machine.h"

struct kl_probe_result {
    bool ran;       /* to its end */
    int code;       /* an exit code for keylock probe, if it did not run; 0: none */
    char crash[64]; /* the signal that ended it, in words; "": none */
    char error[KLT_ERR];
    char name[128], version[128];
    char files[300]; /* the file for which a room gives no states, and why; "": there is none */
    struct kl_measure_figures figures;
    struct kl_measure_check *check; /* heap */
    uint8_t **state;                /* heap: of some checks, if they are kept; NULL: not of this one */
    unsigned checks;
};

/* Runs `frames` frames in a machine of its own, with a check after `every`. turn: runs of odd turns have the
 * core at another address, unless setup->same_addresses. keep: keeps the states of some checks. Always fills
 * in r. */
void kl_probe_run(struct kl_probe_result *r, const struct kl_machine_setup *setup, enum kl_measure_mode mode,
                  unsigned turn, uint32_t frames, uint32_t every, bool keep);
void kl_probe_free(struct kl_probe_result *r);

/* Compares the states that two runs kept. */
void kl_probe_compare_states(struct kl_measure_bytes *out, const struct kl_probe_result *a,
                             const struct kl_probe_result *b);

#endif
