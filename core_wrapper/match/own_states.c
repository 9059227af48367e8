#include "core_wrapper/match/own_states.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/core/snapshot_pack.h"

/* --- to go back to --- */

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

/* --- to seek in a replay --- */

#define GROUP_FRAMES (KL_REPLAY_GROUP * KL_REPLAY_APART)

bool kl_replay_states_init(struct kl_replay_states *s, uint32_t frames, size_t most) {
    memset(s, 0, sizeof *s);
    s->groups = frames / GROUP_FRAMES + 1;
    s->group = calloc(s->groups, sizeof *s->group);
    s->step = 1;
    s->most = most;
    return s->group;
}

static void drop_group(struct kl_replay_states *s, struct kl_replay_group *g) {
    for (unsigned i = 0; i < g->count; i++) {
        s->bytes -= g->at[i].packed_len;
        free(g->at[i].packed);
        kl_fileset_free(g->at[i].files);
    }
    g->count = 0;
}

void kl_replay_states_free(struct kl_replay_states *s) {
    for (unsigned i = 0; s->group && i < s->groups; i++)
        drop_group(s, &s->group[i]);
    free(s->group);
    free(s->last);
    memset(s, 0, sizeof *s);
}

static struct kl_replay_group *group_of(const struct kl_replay_states *s, uint32_t frame) {
    unsigned i = frame / GROUP_FRAMES;
    return s->group && i < s->groups && i % s->step == 0 ? &s->group[i] : NULL;
}

bool kl_replay_states_wants(const struct kl_replay_states *s, uint32_t frame) {
    const struct kl_replay_group *g = group_of(s, frame);
    if (!g || g->count == KL_REPLAY_GROUP) return false;
    return !g->count || frame >= g->at[g->count - 1].frame + KL_REPLAY_APART;
}

/* Turns bytes into their difference to base, or back. */
static void mix(uint8_t *bytes, const uint8_t *base, size_t len) {
    for (size_t i = 0; i < len; i++)
        bytes[i] ^= base[i];
}

/* The state before, whose difference counts. NULL: no memory. */
static uint8_t *base_of(const struct kl_replay_states *s, const struct kl_replay_state *before) {
    if (!s->last || s->last_frame != before->frame) return kl_replay_states_unpack(s, before);
    uint8_t *copy = malloc(before->len);
    if (copy) memcpy(copy, s->last, before->len);
    return copy;
}

static bool pack(const struct kl_replay_states *s, const struct kl_replay_group *g,
                 struct kl_replay_state *to, const uint8_t *bytes) {
    const struct kl_replay_state *before = g->count ? &g->at[g->count - 1] : NULL;
    uint8_t *base = before ? base_of(s, before) : NULL, *own = malloc(to->len);
    bool good = own && (base || !before);
    if (good) memcpy(own, bytes, to->len);
    if (good && before) mix(own, base, to->len < before->len ? to->len : before->len);
    if (good) crypto_generichash(to->hash, sizeof to->hash, own, to->len, NULL, 0);
    to->packed = good ? kl_snapshot_pack(own, to->len, &to->packed_len) : NULL;
    free(base);
    free(own);
    return to->packed;
}

void kl_replay_states_add(struct kl_replay_states *s, uint32_t frame, uint32_t slot, uint8_t *bytes,
                          size_t len, struct kl_fileset *files) {
    struct kl_replay_group *g = group_of(s, frame);
    struct kl_replay_state to = {.frame = frame, .slot = slot, .len = len, .files = files};
    if (!g || !kl_replay_states_wants(s, frame) || !pack(s, g, &to, bytes)) {
        free(bytes);
        kl_fileset_free(files);
        return;
    }
    g->at[g->count++] = to;
    s->bytes += to.packed_len;
    free(s->last);
    s->last = bytes;
    s->last_frame = frame;
    while (s->bytes > s->most && s->step < s->groups) {
        s->step *= 2;
        for (unsigned i = 0; i < s->groups; i++)
            if (i % s->step) drop_group(s, &s->group[i]);
    }
}

const struct kl_replay_state *kl_replay_states_find(const struct kl_replay_states *s, uint32_t frame,
                                                    uint32_t slot) {
    for (unsigned i = frame / GROUP_FRAMES + 1; s->group && i-- > 0;)
        for (unsigned k = i < s->groups ? s->group[i].count : 0; k-- > 0;) {
            const struct kl_replay_state *at = &s->group[i].at[k];
            if (at->frame <= frame && (!at->slot || at->slot == slot)) return at;
        }
    return NULL;
}

uint8_t *kl_replay_states_unpack(const struct kl_replay_states *s, const struct kl_replay_state *at) {
    const struct kl_replay_group *g = group_of(s, at->frame);
    uint8_t *bytes = NULL;
    size_t len = 0;
    for (unsigned i = 0; g && i < g->count && g->at[i].frame <= at->frame; i++) {
        const struct kl_replay_state *one = &g->at[i];
        uint8_t *next = kl_snapshot_unpack(one->packed, one->packed_len, (uint32_t)one->len, one->hash);
        if (next && bytes) mix(next, bytes, len < one->len ? len : one->len);
        free(bytes);
        if (!next) return NULL;
        bytes = next;
        len = one->len;
    }
    return bytes;
}
