#include "net/engine/command_store.h"

#include <string.h>

#define SET_BYTES     5 /* keyframe, count */
#define COMMAND_BYTES 3 /* client, kind, length */

uint32_t kl_command_store_size(const struct kl_commands *set) {
    uint32_t size = SET_BYTES;
    for (unsigned i = 0; i < set->count; i++)
        size += COMMAND_BYTES + set->at[i].len;
    return size;
}

void kl_packed_set_put(struct kl_packed_set *p, const struct kl_commands *set) {
    uint8_t *to = p->bytes;
    p->keyframe = set->keyframe;
    p->count = set->count;
    for (unsigned i = 0; i < set->count; i++) {
        const struct kl_command *c = &set->at[i];
        if (to + COMMAND_BYTES + c->len >
            p->bytes + sizeof p->bytes) { /* cannot be: frames.h reads no more */
            p->count = (uint8_t)i;
            return;
        }
        *to++ = c->client;
        *to++ = c->kind;
        *to++ = c->len;
        memcpy(to, c->data, c->len);
        to += c->len;
    }
}

void kl_packed_set_get(const struct kl_packed_set *p, struct kl_commands *set) {
    const uint8_t *from = p->bytes;
    *set = (struct kl_commands){.keyframe = p->keyframe, .count = p->count};
    for (unsigned i = 0; i < p->count; i++) {
        struct kl_command *c = &set->at[i];
        c->client = *from++;
        c->kind = *from++;
        c->len = *from++;
        memcpy(c->data, from, c->len);
        from += c->len;
    }
}

static void put(struct kl_command_store *s, const void *data, uint32_t len) {
    const uint8_t *from = data;
    for (uint32_t i = 0; i < len; i++)
        s->bytes[s->put++ % KL_COMMAND_STORE] = from[i];
}

/* Reads at *at, and moves it on. */
static void get(const struct kl_command_store *s, uint32_t *at, void *data, uint32_t len) {
    uint8_t *to = data;
    for (uint32_t i = 0; i < len; i++)
        to[i] = s->bytes[(*at)++ % KL_COMMAND_STORE];
}

bool kl_command_store_put(struct kl_command_store *s, const struct kl_commands *set) {
    if (s->put - s->got + kl_command_store_size(set) > KL_COMMAND_STORE) return false;
    put(s, &set->keyframe, sizeof set->keyframe);
    put(s, &set->count, 1);
    for (unsigned i = 0; i < set->count; i++) {
        const struct kl_command *c = &set->at[i];
        const uint8_t head[COMMAND_BYTES] = {c->client, c->kind, c->len};
        put(s, head, sizeof head);
        put(s, c->data, c->len);
    }
    return true;
}

static void unpack(const struct kl_command_store *s, uint32_t *at, struct kl_commands *set) {
    get(s, at, &set->keyframe, sizeof set->keyframe);
    get(s, at, &set->count, 1);
    for (unsigned i = 0; i < set->count; i++) {
        uint8_t head[COMMAND_BYTES];
        get(s, at, head, sizeof head);
        set->at[i] = (struct kl_command){.client = head[0], .kind = head[1], .len = head[2]};
        get(s, at, set->at[i].data, head[2]);
    }
}

const struct kl_commands *kl_command_store_find(struct kl_command_store *s, uint32_t keyframe) {
    while (s->put != s->got && (s->first.count == 0 || s->first.keyframe < keyframe))
        unpack(s, &s->got, &s->first);
    return s->first.count > 0 && s->first.keyframe == keyframe ? &s->first : NULL;
}

bool kl_command_store_look(const struct kl_command_store *s, uint32_t keyframe, struct kl_commands *out) {
    *out = s->first;
    for (uint32_t at = s->got; at != s->put && (out->count == 0 || out->keyframe < keyframe);)
        unpack(s, &at, out);
    return out->count > 0 && out->keyframe == keyframe;
}
