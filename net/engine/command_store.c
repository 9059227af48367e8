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

static void put(struct kl_command_store *s, const void *data, uint32_t len) {
    const uint8_t *from = data;
    for (uint32_t i = 0; i < len; i++)
        s->bytes[s->put++ % KL_COMMAND_STORE] = from[i];
}

static void get(struct kl_command_store *s, void *data, uint32_t len) {
    uint8_t *to = data;
    for (uint32_t i = 0; i < len; i++)
        to[i] = s->bytes[s->got++ % KL_COMMAND_STORE];
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

static void unpack(struct kl_command_store *s) {
    struct kl_commands *set = &s->first;
    get(s, &set->keyframe, sizeof set->keyframe);
    get(s, &set->count, 1);
    for (unsigned i = 0; i < set->count; i++) {
        uint8_t head[COMMAND_BYTES];
        get(s, head, sizeof head);
        set->at[i] = (struct kl_command){.client = head[0], .kind = head[1], .len = head[2]};
        get(s, set->at[i].data, head[2]);
    }
}

const struct kl_commands *kl_command_store_find(struct kl_command_store *s, uint32_t keyframe) {
    while (s->put != s->got && (s->first.count == 0 || s->first.keyframe < keyframe))
        unpack(s);
    return s->first.count > 0 && s->first.keyframe == keyframe ? &s->first : NULL;
}
