#include <stdlib.h>

#include <sodium.h>

#include "net/relay/room/lobby_room.h"

static const struct kl_lobby_member nobody; /* of a client that never came: place and seats are 0 */

static bool has_memory(const struct kl_lobby_room *r, unsigned member) {
    return r->member[member] && r->member[member] != &nobody;
}

void kl_lobby_members_begin(struct kl_lobby_room *r) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        r->member[i] = (struct kl_lobby_member *)&nobody;
}

bool kl_lobby_members_take(struct kl_lobby_room *r, unsigned member) {
    if (has_memory(r, member)) return true;
    struct kl_lobby_member *m = calloc(1, sizeof *m);
    if (!m) return false;
    m->number = (uint8_t)member;
    r->member[member] = m;
    return true;
}

void kl_lobby_members_free(struct kl_lobby_room *r) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        if (!has_memory(r, i)) continue;
        sodium_memzero(r->member[i], sizeof *r->member[i]);
        free(r->member[i]);
    }
}

uint64_t kl_lobby_members_bytes(const struct kl_lobby_room *r) {
    uint64_t bytes = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        bytes += has_memory(r, i) ? sizeof *r->member[i] : 0;
    return bytes;
}
