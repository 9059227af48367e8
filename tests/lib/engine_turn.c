#include "tests/lib/engine_turn.h"

#include <string.h>

#include "tests/lib/must.h"

void engine_turn(const struct engine_player *p, uint64_t now_us, uint32_t most_frames) {
    struct kl_plan plan = kl_client_plan(p->client, now_us, most_frames);
    struct kl_input in[KL_MAX_SEATS];
    struct kl_frame f;
    for (uint32_t i = 0; i < plan.samples; i++) {
        memset(in, 0, sizeof in);
        p->press(p->ctx, p->client->stats.next_sample, in);
        (void)kl_client_sample(p->client, in, now_us); /* refused if the window is full */
    }
    for (uint32_t i = 0; i < plan.runs; i++) {
        MUST(kl_client_take(p->client, &f));
        if (p->run) p->run(p->ctx, &f);
    }
}

void engine_send(const struct engine_player *p, uint64_t now_us) {
    uint8_t body[KL_DATAGRAM_MAX];
    size_t len;
    while (now_us >= kl_client_send_at(p->client) &&
           (len = kl_client_send(p->client, now_us, body, sizeof body)) > 0)
        p->send(p->ctx, body, len);
}
