/* The court of the room's verdicts: the members that vote, and the hashes that count. */
#include <string.h>

#include "net/relay/heal/lobby_heal.h"

bool kl_lobby_heal_busy(const struct kl_lobby_room *r, unsigned member) {
    return (r->heal.wrong >> member & 1) || r->member[member].heal.loads;
}

void kl_lobby_heal_homes(const struct kl_lobby_room *r, uint8_t home[KL_MAX_CLIENTS]) {
    for (uint8_t i = 0; i < KL_MAX_CLIENTS; i++) {
        home[i] = i;
        for (uint8_t j = 0; j < i && home[i] == i; j++)
            if (kl_lobby_here(&r->member[j]) && strcmp(r->member[i].home, r->member[j].home) == 0)
                home[i] = home[j];
    }
}

struct kl_verdict_court kl_lobby_heal_court(const struct kl_lobby_room *r) {
    struct kl_verdict_court c = {0};
    kl_lobby_heal_homes(r, c.home);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        uint16_t bit = (uint16_t)(1U << i);
        if (kl_lobby_here(&r->member[i]) && r->member[i].seats) c.voters |= bit;
        if (kl_lobby_heal_busy(r, i)) continue;
        if (kl_lobby_play_reports(r, i)) c.present |= bit;
        if (kl_lobby_plays_now(r, i)) c.awaited |= bit;
    }
    return c;
}

bool kl_lobby_heal_counts(const struct kl_lobby_room *r, unsigned member, uint32_t label) {
    return !kl_lobby_heal_busy(r, member) && label + 1 >= r->member[member].heal.from;
}

bool kl_lobby_heal_has_loaded(const struct kl_lobby_room *r, unsigned member) {
    const struct kl_lobby_member *m = &r->member[member];
    return m->way.begins || m->heal.has_loaded || r->past.reopened;
}
