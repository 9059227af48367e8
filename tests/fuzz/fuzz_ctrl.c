/* Hostile CTRL bodies into a live room of two players and a spectator. The first byte says what kind of room;
 * then records, whose extra byte holds the sender and the time that has passed. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "tests/lib/lock_memory.h"

static struct kl_lock_relay r, before;
static const uint8_t sender[4] = {0, 3, 9, 5}; /* 5 does not exist */

static void send_all(uint64_t now_us) {
    uint8_t buf[KL_DATAGRAM_MAX];
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        size_t len, rounds = 0;
        while ((len = kl_lock_send(&r, i, now_us, buf, sizeof buf)) > 0) {
            MUST(len <= sizeof buf);
            MUST(++rounds <= KL_BURST_MAX);
            struct kl_update u;
            MUST(kl_update_open(&u, buf, len) == 0);
        }
    }
    MUST(kl_lock_send_at(&r) > now_us);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) return 0;
    struct kl_params p = {.subframes = data[0] & 1,
                          .clocked = data[0] & 2,
                          .players = 2,
                          .fps_uhz = 60098800,
                          .spacing_fixed = data[0] >> 2 & 0x0f,
                          .hash_every = 60};
    lock_begin(&r, &p, NULL);
    kl_lock_add(&r, 0, 0x01, 0);
    kl_lock_add(&r, 3, 0x06, 0);
    kl_lock_add(&r, 9, 0, 0);
    if (!(data[0] & 0x40)) kl_lock_start(&r, 1000);
    data++, size--;
    uint64_t now_us = 2000;
    uint32_t next = 0;
    struct kl_frame f;
    for (struct record rec; next_record(&data, &size, &rec);) {
        now_us += 500 * (uint64_t)(rec.extra >> 2);
        before = r;
        int result = kl_lock_receive(&r, sender[rec.extra & 3], rec.bytes, rec.len, 0, 0, now_us);
        MUST(result == 0 || memcmp(&r, &before, sizeof r) == 0);
        while (kl_lock_take(&r, &f)) {
            MUST(f.number == next++);
            MUST(f.spacing >= KL_SPACING_MIN && f.spacing <= KL_SPACING_MAX);
            MUST(f.number - f.keyframe < f.spacing);
        }
        send_all(now_us);
    }
    return 0;
}
