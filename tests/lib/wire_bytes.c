#include "tests/lib/wire_bytes.h"

/* Seals, ENet's headers, and its acknowledgement. */
#define SEAL     26
#define ENET     (SEAL + 10)
#define ENET_ACK (SEAL + 12)

void wire_count_down(struct kl_traffic *t, bool reliable, size_t len) {
    size_t bytes = len + (reliable ? ENET : SEAL);
    t->down += bytes;
    if (!reliable) t->frames += bytes;
}

void wire_count_up(struct kl_traffic *t, bool reliable, size_t len) {
    t->up += len + (reliable ? ENET : SEAL);
}

void wire_count_ack(struct kl_traffic *t, bool of_down) {
    *(of_down ? &t->up : &t->down) += ENET_ACK;
}
