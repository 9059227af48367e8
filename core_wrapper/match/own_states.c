#include "core_wrapper/match/own_states.h"

#include <stdlib.h>
#include <string.h>

static void drop_newest(struct kl_own_states *o) {
    free(o->at[--o->count].bytes);
}

static void drop_oldest(struct kl_own_states *o) {
    free(o->at[0].bytes);
    o->count--;
    memmove(&o->at[0], &o->at[1], o->count * sizeof o->at[0]);
}

void kl_own_states_keep(struct kl_own_states *o, uint32_t frame, uint8_t *bytes, size_t len) {
    size_t places = len ? KL_OWN_STATES_MAX / len : 0;
    if (places > KL_OWN_STATES) places = KL_OWN_STATES;
    if (places < KL_OWN_STATE_LEAST) {
        free(bytes);
        return;
    }
    while (o->count && o->at[o->count - 1].frame >= frame)
        drop_newest(o);
    while (o->count && o->count >= places)
        drop_newest(o);
    o->at[o->count++] = (struct kl_own_state){.bytes = bytes, .len = len, .frame = frame};
}

void kl_own_states_agreed(struct kl_own_states *o, uint32_t keyframe) {
    while (o->count > 1 && o->at[1].frame <= keyframe)
        drop_oldest(o);
}

const struct kl_own_state *kl_own_states_find(const struct kl_own_states *o, uint32_t keyframe) {
    for (unsigned i = o->count; i > 0; i--)
        if (o->at[i - 1].frame <= keyframe) return &o->at[i - 1];
    return NULL;
}

void kl_own_states_after(struct kl_own_states *o, uint32_t frame) {
    while (o->count && o->at[o->count - 1].frame > frame)
        drop_newest(o);
}

void kl_own_states_clear(struct kl_own_states *o) {
    while (o->count)
        drop_newest(o);
}
