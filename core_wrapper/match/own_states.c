#include "core_wrapper/match/own_states.h"

#include <stdlib.h>
#include <string.h>

static void drop(struct kl_own_state *s) {
    free(s->bytes);
    kl_fileset_free(s->files);
}

static void drop_at(struct kl_own_states *o, unsigned i) {
    drop(&o->at[i]);
    o->count--;
    memmove(&o->at[i], &o->at[i + 1], (o->count - i) * sizeof o->at[0]);
    if (i < o->older) o->older--;
    if (o->older && o->older >= o->count) o->older = o->count ? o->count - 1 : 0;
}

static void drop_newest(struct kl_own_states *o) {
    drop_at(o, o->count - 1);
}

void kl_own_states_keep(struct kl_own_states *o, uint32_t frame, uint8_t *bytes, size_t len,
                        struct kl_fileset *files) {
    struct kl_own_state s = {.bytes = bytes, .files = files, .len = len, .frame = frame};
    size_t places = len ? KL_OWN_STATES_MAX / len : 0;
    if (places > KL_OWN_STATES_ALL) places = KL_OWN_STATES_ALL;
    if (places < KL_OWN_STATE_LEAST) {
        drop(&s);
        return;
    }
    while (o->count && o->at[o->count - 1].frame >= frame)
        drop_newest(o);
    while (o->older && o->older + KL_OWN_STATES > places)
        drop_at(o, 0);
    while (o->count && o->count - o->older >= KL_OWN_STATES)
        drop_newest(o);
    while (o->count && o->count >= places)
        drop_newest(o);
    o->at[o->count++] = s;
}

void kl_own_states_agreed(struct kl_own_states *o, uint32_t keyframe) {
    while (o->older + 1 < o->count && o->at[o->older + 1].frame <= keyframe) {
        unsigned was = o->older; /* the newest agreed one up to now */
        bool stays = was == 0 || o->at[was].frame >= o->at[was - 1].frame + KL_OWN_STATES_APART;
        if (stays)
            o->older++;
        else
            drop_at(o, was);
    }
    while (o->older > KL_OWN_STATES_OLDER)
        drop_at(o, 0);
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

unsigned kl_own_states_frames(const struct kl_own_states *o, uint32_t frame[KL_OWN_STATES_ALL]) {
    for (unsigned i = 0; i < o->count; i++)
        frame[i] = o->at[i].frame;
    return o->count;
}
