/* The room's saved state lies with its clients, each has a copy. LOAD loads all of them or none: it goes to
 * the room only where everybody has said that his copy is there, and the same.
 *
 * Whoever is absent, or watches, may not have got as far as the SAVE: he runs it, and then the LOAD, in their
 * order. Nobody waits for him, unless he has said already that he has nothing. */
#include <string.h>

#include "net/engine/command.h"
#include "net/engine/wire.h"
#include "net/relay/lobby_room.h"

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
        if (!m->here || m->leaving || !m->slot.said || (any && m->slot.keyframe <= *keyframe)) continue;
        *keyframe = m->slot.keyframe;
        any = true;
    }
    return any;
}

/* What keeps this member from it; NULL: nothing. */
static const char *objection(const struct kl_lobby_room *r, unsigned member, uint32_t keyframe,
                             uint64_t hash) {
    const struct kl_lobby_slot *s = &r->member[member].slot;
    if (!s->said || s->keyframe < keyframe)
        return kl_lobby_plays_now(r, member) ? "has not got as far as that" : NULL;
    if (s->keyframe > keyframe) return "has saved a newer one";
    if (!s->has) return "could not save it";
    return s->hash == hash ? NULL : "has saved another, out of sync";
}

/* What the first who has one has. */
static uint64_t hash_of(const struct kl_lobby_room *r, uint32_t keyframe) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        const struct kl_lobby_member *m = &r->member[i];
        if (m->here && !m->leaving && m->slot.said && m->slot.has && m->slot.keyframe == keyframe)
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
        if (!r->member[i].here || r->member[i].leaving) continue;
        const char *why = objection(r, i, keyframe, hash);
        if (!why) continue;
        kl_lobby_notice(r, "not back to the state of frame %u: %s %s", keyframe, r->member[i].name, why);
        return false;
    }
    return true;
}
