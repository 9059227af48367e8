#include "tests/lib/lock_memory.h"

#include <string.h>

static struct {
    struct kl_near_frame frame[KL_KEPT_FRAMES];
    struct kl_pad pad[KL_MAX_SEATS][KL_WINDOW_FRAMES + KL_KEPT_FRAMES];
    struct kl_devices devices[KL_MAX_SEATS][KL_WINDOW_FRAMES + KL_KEPT_FRAMES];
    struct kl_keys keys[KL_MAX_SEATS];
    struct kl_lock_place place[KL_MAX_CLIENTS];
    struct kl_packed_set more[KL_SETS_MORE];
    struct kl_laid_out laid_out;
} memory;

void lock_begin(struct kl_lock_relay *r, const struct kl_params *params, const struct kl_history *history) {
    memset(&memory, 0, sizeof memory);
    kl_lock_init(r, params);
    kl_lock_give_ring(r, memory.frame, history ? KL_NEAR_FRAMES : KL_KEPT_FRAMES, history, &memory.laid_out);
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        kl_lock_give_seat(r, s, memory.pad[s]);
        if (!history) kl_lock_give_devices(r, s, memory.devices[s], &memory.keys[s]);
    }
    kl_lock_give_sets(r, memory.more);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        kl_lock_give_place(r, i, &memory.place[i]);
}

int lock_receive(struct kl_lock_relay *r, unsigned client, const uint8_t *body, size_t len, uint32_t missing,
                 uint64_t now_us) {
    int result = kl_lock_receive(r, client, body, len, missing, 0, now_us);
    if (result != KL_E_SPACE) return result;
    for (KL_EACH(s, r->wants))
        kl_lock_give_devices(r, s, memory.devices[s], &memory.keys[s]);
    return kl_lock_receive(r, client, body, len, missing, 0, now_us);
}
