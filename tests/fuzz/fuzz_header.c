/* The datagram header, and a replay window fed with counters from the wire. */
#include "fuzz.h"

#include <string.h>

#include "msg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct kl_replay window = {0};
    uint32_t taken[64];
    unsigned count = 0;
    for (; size >= KL_DGRAM_HEADER; data += KL_DGRAM_HEADER, size -= KL_DGRAM_HEADER) {
        struct kl_dgram d;
        if (kl_dgram_read(&d, data, size) != 0) continue;
        uint8_t again[KL_DGRAM_HEADER];
        kl_dgram_write(&d, again);
        MUST(memcmp(again, data, sizeof again) == 0);
        if (!kl_replay_fresh(&window, d.counter)) continue;
        for (unsigned i = 0; i < count && i < 64; i++)
            MUST(taken[i] != d.counter); /* never twice */
        taken[count++ % 64] = d.counter;
        MUST(!kl_replay_fresh(&window, d.counter));
    }
    struct kl_dgram d;
    MUST(kl_dgram_read(&d, data, size) == KL_E_MALFORMED);
    return 0;
}
