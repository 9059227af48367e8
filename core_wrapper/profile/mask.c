#include "core_wrapper/profile/mask.h"

#include <string.h>

#define XXH_STATIC_LINKING_ONLY /* for a state on the stack; its layout is fixed since 0.8 */
#include <xxhash.h>

bool kl_mask_small_enough(uint64_t bytes, uint64_t state_bytes) {
    return bytes * 100 <= state_bytes * KL_MASK_PERCENT;
}

uint64_t kl_mask_bytes(const struct kl_mask *m) {
    uint64_t bytes = 0;
    for (unsigned i = 0; i < m->count; i++)
        bytes += (uint64_t)m->range[i].to - m->range[i].from + 1;
    return bytes;
}

const char *kl_mask_bad(const struct kl_mask *m) {
    if (m->state_bytes > KL_MASK_STATE_MAX) return "the state is larger than any core's";
    if (m->count > KL_MASK_RANGES) return "too many ranges";
    for (unsigned i = 0; i < m->count; i++) {
        const struct kl_mask_range *r = &m->range[i];
        if (r->to < r->from) return "a range ends before it begins";
        if (r->to >= m->state_bytes) return "a range reaches past the state";
        if (i && (uint64_t)r[-1].to + 1 >= r->from) return "ranges are not in order, or touch";
    }
    if (!kl_mask_small_enough(kl_mask_bytes(m), m->state_bytes))
        return "the mask covers more than 1 % of the state";
    return NULL;
}

bool kl_mask_add(struct kl_mask *m, const struct kl_mask *more) {
    static struct kl_mask both; /* large */
    unsigned i = 0, k = 0;
    if (m->state_bytes != more->state_bytes) return false;
    both.state_bytes = m->state_bytes;
    both.count = 0;
    while (i < m->count || k < more->count) {
        bool first = k == more->count || (i < m->count && m->range[i].from <= more->range[k].from);
        struct kl_mask_range next = first ? m->range[i++] : more->range[k++];
        struct kl_mask_range *last = both.count ? &both.range[both.count - 1] : NULL;
        if (last && next.from <= (uint64_t)last->to + 1)
            last->to = next.to > last->to ? next.to : last->to;
        else if (both.count == KL_MASK_RANGES)
            return false;
        else
            both.range[both.count++] = next;
    }
    if (kl_mask_bad(&both)) return false;
    *m = both;
    return true;
}

void kl_mask_write(struct kl_writer *w, const struct kl_mask *m) {
    uint32_t at = 0;
    kl_write_var(w, m->state_bytes);
    kl_write_var(w, m->count);
    for (unsigned i = 0; i < m->count; i++) {
        kl_write_var(w, m->range[i].from - at);
        kl_write_var(w, m->range[i].to - m->range[i].from + 1);
        at = m->range[i].to + 1;
    }
}

void kl_mask_read(struct kl_reader *r, struct kl_mask *m) {
    uint64_t at = 0;
    m->count = 0;
    m->state_bytes = (uint32_t)kl_read_var(r, KL_MASK_STATE_MAX);
    unsigned n = (unsigned)kl_read_var(r, KL_MASK_RANGES);
    for (unsigned i = 0; i < n && !r->failed; i++) {
        uint64_t from = at + kl_read_var(r, KL_MASK_STATE_MAX), len = kl_read_var(r, KL_MASK_STATE_MAX);
        if (len == 0 || from + len > m->state_bytes) r->failed = true;
        at = from + len;
        if (r->failed) return;
        m->range[m->count++] = (struct kl_mask_range){(uint32_t)from, (uint32_t)(at - 1)};
    }
    if (kl_mask_bad(m)) r->failed = true;
}

bool kl_mask_hear(struct kl_mask_said *s, const struct kl_command *c, struct kl_mask *out) {
    size_t len = c->len > 2 ? c->len - 2u : 0;
    uint8_t number = c->data[0], pieces = c->data[1];
    if (!len || number >= pieces || pieces > KL_MASK_PIECES) return false;
    if (number == 0) *s = (struct kl_mask_said){.client = c->client, .pieces = pieces};
    if (s->client != c->client || s->pieces != pieces || s->next != number) return false;
    memcpy(s->bytes + s->len, c->data + 2, len);
    s->len += len;
    if (++s->next != pieces) return false;
    struct kl_reader r = kl_reader(s->bytes, s->len);
    kl_mask_read(&r, out);
    return !r.failed && !kl_reader_left(&r) && out->count;
}

uint64_t kl_mask_hash(const struct kl_mask *m, const uint8_t *state, size_t len, bool *used) {
    XXH3_state_t sum;
    *used = !m->state_bytes || m->state_bytes == len;
    if (!*used || !m->count) return XXH3_64bits(state, len);
    size_t at = 0;
    XXH3_INITSTATE(&sum);
    XXH3_64bits_reset(&sum);
    for (unsigned i = 0; i < m->count; i++) {
        XXH3_64bits_update(&sum, state + at, m->range[i].from - at);
        at = (size_t)m->range[i].to + 1;
    }
    XXH3_64bits_update(&sum, state + at, len - at);
    return XXH3_64bits_digest(&sum);
}
