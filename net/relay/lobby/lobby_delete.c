#include <string.h>

#include <sodium.h>

#include "net/relay/lobby/lobby_parts.h"

#define LOOK_US   20000    /* between looks whether a wish has its fate */
#define ANSWER_US 15000000 /* for that fate */

static bool still_plays(const struct kl_lobby *l, const uint8_t room_id[KL_ROOM_ID_BYTES]) {
    for (unsigned i = 0; i < l->limits.rooms; i++)
        if (l->room[i] && memcmp(l->room[i]->id, room_id, KL_ROOM_ID_BYTES) == 0) return true;
    return false;
}

/* NULL: nothing is against it yet. */
static const char *objection(struct kl_lobby *l, unsigned peer, const struct kl_delete *d, uint64_t now_us) {
    if (!kl_delete_is_good(d, l->pub)) {
        kl_lobby_tries_wrong(l, NULL, l->client[peer].address, now_us);
        return "the wish is not signed by the key that it names, or not for this relay";
    }
    if (l->limits.no_delete) return "its host lets no player delete recordings: ask the host";
    if (still_plays(l, d->room_id)) return "the room of that match is still there: ask when it has ended";
    return NULL;
}

bool kl_lobby_ask_kept(struct kl_lobby *l, unsigned peer, struct kl_kept_wish *w, uint64_t now_us) {
    struct kl_lobby_client *c = &l->client[peer];
    w->number = ++l->wishes;
    if (!kl_journal_wish(l->journal, w)) {
        bool keeps = l->limits.record_days;
        kl_lobby_turn_away(l, peer, keeps ? KL_REFUSE_LIMIT : KL_REFUSE_SEAT, "%s",
                           keeps ? "too many wishes wait; try again in a minute"
                                 : "this relay keeps no recordings");
        return false;
    }
    c->wish = w->number;
    c->greet_by_us = now_us + ANSWER_US;
    l->wishes_wait++;
    return true;
}

void kl_lobby_delete(struct kl_lobby *l, unsigned peer, const struct kl_delete *d, uint64_t now_us) {
    struct kl_lobby_client *c = &l->client[peer];
    struct kl_kept_wish w = {0};
    unsigned wait_s = kl_lobby_tries_wait_s(l, NULL, c->address, now_us);
    if (wait_s) {
        kl_lobby_turn_away(l, peer, KL_REFUSE_LIMIT, "too many wrong tries; try again in %u s", wait_s);
        return;
    }
    const char *why = objection(l, peer, d, now_us);
    if (why) {
        kl_lobby_turn_away(l, peer, KL_REFUSE_DOOR, "%s", why);
        return;
    }
    memcpy(w.room_id, d->room_id, sizeof w.room_id);
    memcpy(w.seat_key, d->seat_key, sizeof w.seat_key);
    (void)kl_lobby_ask_kept(l, peer, &w, now_us);
}

static void tell(struct kl_lobby *l, unsigned peer, enum kl_kept_fate fate, uint64_t now_us) {
    static const struct {
        enum kl_refuse code;
        const char *text;
    } answer[] = {
        [KL_KEPT_DELETED] = {KL_REFUSE_DELETED, "the recording is deleted"},
        [KL_KEPT_NONE] = {KL_REFUSE_SEAT, "this relay has no recording of that match"},
        [KL_KEPT_ANOTHERS] = {KL_REFUSE_DOOR, "no player of that match has signed it with this key"},
        [KL_KEPT_REPORTED] = {KL_REFUSE_DOOR, "a player has reported that match, so it stays: ask the host"},
        [KL_KEPT_STAYS] = {KL_REFUSE_LIMIT, "the relay cannot delete the recording: ask the host"}};
    if (fate == KL_KEPT_NONE || fate == KL_KEPT_ANOTHERS)
        kl_lobby_tries_wrong(l, NULL, l->client[peer].address, now_us);
    kl_lobby_turn_away(l, peer, answer[fate].code, "%s", answer[fate].text);
}

void kl_lobby_wishes_turn(struct kl_lobby *l, uint64_t now_us) {
    struct kl_kept_wish w;
    if (now_us < l->wishes_us) return;
    l->wishes_us = now_us + LOOK_US;
    while (kl_journal_next_wish(l->journal, &w)) {
        /* The client that waits for it; limits.peers: none does any more. */
        uint64_t wish = w.number;
        unsigned i = 0;
        while (i < l->limits.peers && (l->client[i].state != KL_CLIENT_GREETING || l->client[i].wish != wish))
            i++;
        unsigned peer = i;
        l->wishes_wait--;
        if (peer == l->limits.peers)
            kl_kept_challenge_free(w.challenge);
        else if (w.challenge)
            kl_lobby_challenge_told(l, peer, w.challenge, now_us);
        else
            tell(l, peer, w.fate, now_us);
    }
    l->tokens_wait = kl_lobby_challenge_turn(l);
}
