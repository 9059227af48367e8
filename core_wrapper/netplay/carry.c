#include "core_wrapper/netplay/carry.h"

#include <string.h>

#include "net/session/seal.h"

void kl_carry_init(struct kl_carry *c) {
    c->input_first = c->input_count = c->rest_first = c->rest_count = 0;
    c->sent = c->gone = c->taken = c->said = 0;
    c->dropped = 0;
    kl_carry_frame(c);
}

/* Sent again in every later one of the same session: CTRL, UPDATE; PATH is repeated as well. The handshake's
 * datagrams have other kinds. */
static bool is_input(const uint8_t *datagram, size_t len) {
    if (len < KL_SEAL_OVERHEAD || datagram[0] != KL_SEAL_MAGIC) return false;
    return datagram[1] == KL_SEAL_CTRL || datagram[1] == KL_SEAL_UPDATE || datagram[1] == KL_SEAL_PATH;
}

static void fill(struct kl_carry_item *item, const void *datagram, size_t len) {
    item->len = (uint16_t)len;
    memcpy(item->bytes, datagram, len);
}

static void put_input(struct kl_carry *c, const void *datagram, size_t len) {
    if (c->input_count == KL_CARRY_INPUTS) {
        c->input_first = (c->input_first + 1) % KL_CARRY_INPUTS;
        c->input_count--;
        c->dropped++;
    }
    fill(&c->input[(c->input_first + c->input_count++) % KL_CARRY_INPUTS], datagram, len);
}

void kl_carry_put(struct kl_carry *c, const void *datagram, size_t len) {
    bool fits = len > 0 && len <= KL_CARRY_MAX;
    if (fits && is_input(datagram, len))
        put_input(c, datagram, len);
    else if (fits && c->rest_count < KL_CARRY_RESTS)
        fill(&c->rest[(c->rest_first + c->rest_count++) % KL_CARRY_RESTS], datagram, len);
    else
        c->dropped++;
}

void kl_carry_frame(struct kl_carry *c) {
    c->trickle = KL_CARRY_TRICKLE;
}

static uint32_t under_way(const struct kl_carry *c) {
    return c->sent - c->gone;
}

static void give(struct kl_carry *c, struct kl_channel_packet *out, const struct kl_carry_item *item) {
    out->len = item->len;
    memcpy(out->datagram, item->bytes, item->len);
    c->sent += item->len;
}

static bool give_input(struct kl_carry *c, struct kl_channel_packet *out) {
    const struct kl_carry_item *item = &c->input[c->input_first];
    if (c->input_count == 0 || under_way(c) + item->len > KL_CARRY_AHEAD) return false;
    give(c, out, item);
    c->input_first = (c->input_first + 1) % KL_CARRY_INPUTS;
    c->input_count--;
    return true;
}

static bool give_rest(struct kl_carry *c, struct kl_channel_packet *out) {
    const struct kl_carry_item *item = &c->rest[c->rest_first];
    if (c->rest_count == 0 || item->len > c->trickle) return false;
    if (under_way(c) + item->len > KL_CARRY_AHEAD_REST) return false;
    give(c, out, item);
    c->trickle -= item->len;
    c->rest_first = (c->rest_first + 1) % KL_CARRY_RESTS;
    c->rest_count--;
    return true;
}

bool kl_carry_next(struct kl_carry *c, struct kl_channel_packet *out) {
    memset(out, 0, sizeof *out);
    out->kind = KL_CHANNEL_CARRY;
    out->taken = c->taken;
    if (!give_input(c, out) && !give_rest(c, out) && c->said == c->taken) return false;
    c->said = c->taken;
    return true;
}

int kl_carry_take(struct kl_carry *c, const struct kl_channel_packet *p) {
    if (p->taken - c->gone > under_way(c)) return KL_E_MALFORMED;
    c->gone = p->taken;
    c->taken += p->len;
    return KL_OK;
}
