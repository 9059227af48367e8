/* A tie, and one voice more. In a tie nobody can know who is right. A verifier beside the relay runs the
 * match's recording, which needs nobody's word but the inputs; its hash of the tied label decides. The lobby
 * asks it (net/relay/lobby/lobby_tie.c). Until the answer has come the room goes by the rules of a tie. */
#include <stdlib.h>
#include <string.h>

#include "net/record/tie.h"
#include "net/relay/heal/lobby_heal.h"

#define PARTS (KL_HASH_RAM | KL_HASH_STATE | KL_HASH_PICTURE) /* that a run of a recording gives */

void kl_heal_tie_end(struct kl_lobby_room *r) {
    free(r->heal.tie);
    r->heal.tie = NULL;
}

void kl_heal_tie_keep(struct kl_lobby_room *r, uint64_t now_us) {
    const struct kl_lobby_heal *h = &r->heal;
    bool told = h->tie && h->tie->told;
    struct kl_lobby_tie *t = h->tie ? h->tie : malloc(sizeof *t);
    if (!t) return;
    *t = (struct kl_lobby_tie){.label = h->label, .parts = h->parts & PARTS, .told = told};
    t->until_us = now_us + KL_TIE_ANSWERS_S * UINT64_C(1000000);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        if (!kl_verdict_said(&h->verdicts, h->label, i, &t->said[i])) continue;
        t->reported |= kl_only(i);
        t->joined[i] = r->member[i]->joined;
    }
    r->heal.tie = t;
}

static bool is_equal(const struct kl_hash *said, const struct kl_klr_hash *found, uint8_t parts) {
    return (said->has & parts) == parts && (!(parts & KL_HASH_RAM) || said->ram == found->ram) &&
           (!(parts & KL_HASH_STATE) || said->state == found->state) &&
           (!(parts & KL_HASH_PICTURE) || said->picture == found->picture);
}

uint16_t kl_heal_tie_sides(const struct kl_lobby_room *r, const struct kl_klr_hash *found, uint16_t *wrong) {
    const struct kl_lobby_tie *t = r->heal.tie;
    uint8_t parts = t->parts & found->has;
    uint16_t right = 0;
    *wrong = 0;
    for (KL_EACH(i, parts ? t->reported : 0)) {
        bool here = kl_lobby_here(r->member[i]) && r->member[i]->joined == t->joined[i];
        bool equal = is_equal(&t->said[i], found, parts);
        if (here && equal) right |= kl_only(i);
        if (here && !equal) *wrong |= kl_only(i);
    }
    return right;
}

void kl_heal_tie_tell(struct kl_lobby_room *r, uint16_t right, uint16_t wrong, bool apart) {
    char good[KL_LOBBY_NAMES], bad[KL_LOBBY_NAMES], quoted[2][2 * KL_LOBBY_NAMES];
    kl_lobby_names_of(r, right, good, sizeof good);
    kl_lobby_names_of(r, wrong, bad, sizeof bad);
    kl_lobby_log_room(KL_LOG_INFO, "tie_decided", r, "frame=%u right=%s wrong=%s apart=%d",
                      r->heal.tie->label, kl_log_quote(quoted[0], sizeof quoted[0], good),
                      kl_log_quote(quoted[1], sizeof quoted[1], bad), apart);
    if (right && wrong)
        kl_lobby_notice(r, "the relay's own run agrees with %s, not with %s", good, bad);
    else if (!right)
        kl_lobby_notice(r, wrong ? "the relay's own run agrees with nobody"
                                 : "the relay cannot tell who is right");
}
