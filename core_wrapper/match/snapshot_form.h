/* snapshot_form.h - a snapshot as bytes: the core's savestate, and the other parts of the machine before a
 * frame: clock, chance, swapped seats, policy, disk, core options. net/PROTOCOL.md §12, "A snapshot's
 * bytes", has the layout.
 *
 * Equal machines give equal bytes, because the room agrees on their hash. A snapshot comes from another
 * machine, so the reader trusts nothing. The core loads only a state that the room agreed on, because cores'
 * own readers of states were never hardened. */
#ifndef KLW_SNAPSHOT_FORM_H
#define KLW_SNAPSHOT_FORM_H

#include "net/engine/engine.h"
#include "net/engine/wire.h"
#include "core_wrapper/core/options.h"
#include "core_wrapper/world/world.h"

#define KL_SNAPSHOT_KEY_MAX   128 /* bytes, NUL included */
#define KL_SNAPSHOT_VALUE_MAX 256
#define KL_SNAPSHOT_OPTIONS   1024
#define KL_SNAPSHOT_NO_DISK   0xffff

struct kl_snapshot_head {
    uint32_t frame; /* that runs next */
    uint64_t chance;
    struct kl_world_time time;
    uint8_t plays[KL_MAX_SEATS];
    uint8_t policy, spacing_fixed;
    uint16_t wait_budget_ms;
    bool tray_open;
    uint32_t tray_frame;
    uint16_t tray_index, disk;
    bool ejected;
};

/* Begins a snapshot for a state of so many bytes. Returns it (heap), with the state's place in *state, still
 * zeros, and the whole length in *len; NULL without memory, or if it would be longer than KL_SNAPSHOT_MAX. */
uint8_t *kl_snapshot_begin(const struct kl_snapshot_head *head, const struct kl_options *options,
                           size_t state_len, uint8_t **state, size_t *len);

struct kl_snapshot_view {
    struct kl_snapshot_head head;
    unsigned options;
    struct kl_reader option; /* kl_snapshot_option() goes on from here */
    const uint8_t *state;    /* borrowed */
    size_t state_len;
};
/* 0, or KL_E_MALFORMED. */
int kl_snapshot_open(struct kl_snapshot_view *v, const uint8_t *bytes, size_t len);
/* The next of v->options options. False: no more. */
bool kl_snapshot_option(struct kl_snapshot_view *v, char key[KL_SNAPSHOT_KEY_MAX],
                        char value[KL_SNAPSHOT_VALUE_MAX]);

#endif
