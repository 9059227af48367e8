#include "net/relay/heal/lobby_heal.h"
#include "net/relay/lobby/lobby_parts.h"

static void give_up(struct kl_lobby_room *r, const char *why) {
    char quoted[2 * KL_TIE_WHY];
    kl_lobby_log_room(KL_LOG_INFO, "tie_undecided", r, "frame=%u reason=%s", r->heal.tie->label,
                      kl_log_quote(quoted, sizeof quoted, why));
    if (r->heal.tie->told) kl_lobby_notice(r, "the relay cannot tell who is right");
    kl_heal_tie_end(r);
}

static void tell_asked(struct kl_lobby_room *r) {
    struct kl_lobby_tie *t = r->heal.tie;
    if (t->told) return;
    t->told = true;
    kl_lobby_log_room(KL_LOG_INFO, "tie_asked", r, "frame=%u", t->label);
    kl_lobby_notice(r, "who is right? The relay runs the match again");
}

void kl_lobby_tie_chores(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_tie *t = r->heal.tie;
    if (!t) return;
    if (!t->asked) {
        int asked = kl_journal_ask(r, t->label, now_us);
        t->asked = asked == 0;
        if (asked < 0) kl_heal_tie_end(r);
    } else {
        /* The players hear of it once the recording lies there. */
        struct kl_klr_hash found;
        char why[KL_TIE_WHY];
        enum kl_kept_ask is = kl_journal_answer(r, r->heal.tie->label, &found, why);
        if (is == KL_KEPT_CANNOT) {
            give_up(r, why);
        } else if (is != KL_KEPT_UNASKED) {
            tell_asked(r);
            if (is == KL_KEPT_ANSWERED) kl_lobby_heal_answered(r, &found, now_us);
        }
    }
    if (r->heal.tie && now_us >= t->until_us) give_up(r, "no answer came");
    if (!r->heal.tie) kl_journal_ask_no_more(r);
}
