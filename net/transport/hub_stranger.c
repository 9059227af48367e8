#include <string.h>

#include "net/engine/engine.h"
#include "net/transport/hub_state.h"
#include "net/transport/strangers.h"

/* The length of the answer to PING or LIST; 0: none. */
static size_t answer_question(struct kl_hub *hub, const uint8_t *bytes, size_t len,
                              uint8_t out[KL_STRANGER_MAX]) {
    struct kl_question q;
    struct kl_pong pong = {.version = KL_PROTOCOL_VERSION};
    const struct kl_hub_handler *h = &hub->handler;
    if (kl_question_read(&q, bytes, len) != KL_OK) {
        hub->stats.malformed++;
        return 0;
    }
    if (q.kind == KL_STRANGER_LIST) return h->next_line ? kl_rooms_write(&q, h->next_line, h->ctx, out) : 0;
    memcpy(pong.echo, q.echo, sizeof pong.echo);
    pong.insecure_lan = hub->gate->handshake.ciphers & KL_CIPHER_CLEAR;
    pong.rooms = (uint16_t)(h->rooms ? h->rooms(h->ctx) : 0);
    pong.clients = (uint16_t)kl_shards_clients(hub->gate->shards);
    return kl_pong_write(&pong, out);
}

void kl_hub_stranger(struct kl_hub *hub, const struct kl_address *from, const uint8_t *bytes, size_t len) {
    uint8_t out[KL_STRANGER_MAX];
    hub->stats.asked_bytes += len;
    if (len > sizeof out) {
        hub->stats.malformed++;
        return;
    }
    size_t out_len = bytes[1] >= KL_STRANGER_PING
                         ? answer_question(hub, bytes, len, out)
                         : kl_gate_ask(hub->gate, hub->now_us, from, bytes, len, out);
    hub->stats.answered_bytes += out_len;
    if (out_len) kl_hub_send_raw(hub, from, out, out_len);
}
