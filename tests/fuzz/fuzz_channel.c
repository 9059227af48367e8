/* A packet of RetroArch's netplay, from whoever reached the player's RetroArch; and a stream of them, which
 * carry datagrams. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "core_wrapper/netplay/channel.h"

static void one(const uint8_t *data, size_t size) {
    struct kl_channel_packet p, again;
    uint8_t buf[KL_CHANNEL_MAX];
    if (kl_channel_decode(&p, data, size) != KL_OK) return;
    int len = kl_channel_encode(&p, buf, sizeof buf);
    MUST(len > 0);
    MUST(kl_channel_decode(&again, buf, (size_t)len) == KL_OK);
    MUST(memcmp(&again, &p, sizeof p) == 0);
}

static void judge(const struct kl_carry *c) {
    MUST(c->sent - c->gone <= KL_CARRY_AHEAD);
    MUST(c->input_count <= KL_CARRY_INPUTS && c->rest_count <= KL_CARRY_RESTS);
    MUST(c->trickle <= KL_CARRY_TRICKLE);
}

/* Records (extra: 0 a packet of the other's, 1 a datagram of ours, else a frame) as they come. */
static void stream(const uint8_t *data, size_t size) {
    static struct kl_carry c;
    struct record r;
    struct kl_channel_packet p;
    uint8_t buf[KL_CHANNEL_MAX];
    kl_carry_init(&c);
    while (next_record(&data, &size, &r)) {
        bool carried =
            r.extra == 0 && kl_channel_decode(&p, r.bytes, r.len) == KL_OK && p.kind == KL_CHANNEL_CARRY;
        if (carried) (void)kl_carry_take(&c, &p);
        if (r.extra == 1) kl_carry_put(&c, r.bytes, r.len);
        if (r.extra > 1) kl_carry_frame(&c);
        judge(&c);
        while (r.extra > 1 && kl_carry_next(&c, &p)) {
            judge(&c);
            MUST(kl_channel_encode(&p, buf, sizeof buf) == 5 + p.len);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    one(data, size);
    stream(data, size);
    return 0;
}
