/* The room's saved state lies with its clients, each has a copy. LOAD loads all of them or none: it goes to
 * the room only if every member has reported its copy, and all copies are equal.
 *
 * A member that is absent, or watches, may not have run the SAVE yet: it runs SAVE and LOAD in their order.
 * LOAD does not wait for it, unless it has reported that it could not save. */
#include <string.h>

#include "net/engine/command.h"
#include "net/engine/wire.h"
#include "net/relay/lobby/lobby_parts.h"

int kl_lobby_slot_said(struct kl_lobby_room *r, unsigned member, const struct kl_order *o) {
    struct kl_lobby_slot *s = &r->member[member].slot;
    struct kl_reader in;
    if (o->len != KL_SAVED_BYTES) return KL_E_MALFORMED;
    kl_reader_init(&in, o->data, o->len);
    uint32_t keyframe = kl_read_u32(&in);
    uint8_t has = kl_read_u8(&in);
    uint64_t hash = kl_read_u64(&in);
    if (has > 1 || keyframe >= r->lock.next_close) return KL_E_MALFORMED;
    *s = (struct kl_lobby_slot){.said = true, .has = has, .keyframe = keyframe, .hash = hash};
    return KL_OK;
}

bool kl_lobby_slot_newest(const struct kl_lobby_room *r, uint32_t *keyframe) {
    bool any = false;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        const struct kl_lobby_member *m = &r->member[i];
        if (!kl_lobby_stays(m) || !m->slot.said || (any && m->slot.keyframe <= *keyframe)) continue;
        *keyframe = m->slot.keyframe;
        any = true;
    }
    return any;
}

/* The reason why this member cannot load; NULL: it can. */
static const char *objection(const struct kl_lobby_room *r, unsigned member, uint32_t keyframe,
                             uint64_t hash) {
    const struct kl_lobby_slot *s = &r->member[member].slot;
    if (!s->said || s->keyframe < keyframe)
        return kl_lobby_plays_now(r, member) ? "has not run that save yet" : NULL;
    if (s->keyframe > keyframe) return "has a newer save";
    if (!s->has) return "could not save it";
    return s->hash == hash ? NULL : "has another save, out of sync";
}

/* The hash of the first member that has a copy. */
static uint64_t hash_of(const struct kl_lobby_room *r, uint32_t keyframe) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        const struct kl_lobby_member *m = &r->member[i];
        if (kl_lobby_stays(m) && m->slot.said && m->slot.has && m->slot.keyframe == keyframe)
            return m->slot.hash;
    }
    return 0;
}

bool kl_lobby_slot_agreed(struct kl_lobby_room *r, const struct kl_order *o) {
    struct kl_reader in;
    kl_reader_init(&in, o->data, o->len);
    uint32_t keyframe = kl_read_u32(&in);
    if (in.failed || o->len != KL_LOAD_BYTES) return false;
    uint64_t hash = hash_of(r, keyframe);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        if (!kl_lobby_stays(&r->member[i])) continue;
        const char *why = objection(r, i, keyframe, hash);
        if (!why) continue;
        kl_lobby_notice(r, "did not load the save of frame %u: %s %s", keyframe, kl_lobby_name(r, i).text,
                        why);
        return false;
    }
    return true;
}
