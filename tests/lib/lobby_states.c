#include "tests/lib/lobby_states.h"

#include <sodium.h>
#include <zstd.h>

#include "net/engine/command.h"

uint32_t snapshot_ordered(struct player *p, const struct kl_frame *f) {
    if (!(f->flags & KL_FRAME_COMMANDS)) return UINT32_MAX;
    const struct kl_commands *set = kl_client_commands(&p->lock, f->number);
    for (unsigned i = 0; set && i < set->count; i++) {
        if (set->at[i].kind != KL_COMMAND_SNAPSHOT) continue;
        MUST(set->at[i].client == KL_RELAY_CLIENT);
        return set->keyframe;
    }
    return UINT32_MAX;
}

void fill_state(uint8_t *state, size_t len) {
    for (size_t n = 0; n < len; n++)
        state[n] = n % 3000 < 2000 ? 0 : (uint8_t)(n * n / 77);
}

struct kl_msg a_state(uint32_t keyframe, const uint8_t *state, size_t len) {
    struct kl_msg m = {.kind = KL_MSG_STATE, .state = {.keyframe = keyframe, .has = state != NULL}};
    if (!state) return m;
    m.state.bytes = (uint32_t)len;
    crypto_generichash(m.state.hash, sizeof m.state.hash, state, len, NULL, 0);
    return m;
}

uint32_t pack_state(const uint8_t *state, size_t len, uint8_t *packed, size_t cap) {
    size_t n = ZSTD_compress(packed, cap, state, len, 1);
    MUST(!ZSTD_isError(n));
    return (uint32_t)n;
}

void give_packed(unsigned peer, struct kl_snapshot_piece head, const uint8_t *packed, uint32_t from,
                 uint32_t end, uint32_t total) {
    for (uint32_t at = from; at < end && !inbox[peer].hung_up;) {
        struct kl_msg m = {.kind = KL_MSG_GIVE, .snapshot = head};
        m.snapshot.piece = (struct kl_piece){.offset = at, .total = total};
        m.snapshot.piece.len = (uint16_t)(end - at < KL_BULK_MAX ? end - at : KL_BULK_MAX);
        memcpy(m.snapshot.piece.bytes, packed + at, m.snapshot.piece.len);
        at += m.snapshot.piece.len;
        say(peer, &m);
    }
}
