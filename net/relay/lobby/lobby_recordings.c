#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/relay/lobby/lobby_parts.h"

/* --- deleting --- */

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

/* For the thread that has the recordings (kept.h); w gets its number. False: the client is turned away. */
static bool ask_kept(struct kl_lobby *l, unsigned peer, struct kl_kept_wish *w, uint64_t now_us) {
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
    (void)ask_kept(l, peer, &w, now_us);
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

/* --- challenges --- */

/* Players of challenges: they want a token, or hand a run in. The files are kept_challenge.c's. */

#define GIVEN_AN_HOUR 12 /* tokens of one challenge, to one address */
#define TAKEN_AN_HOUR 30 /* runs of one address that are looked at */
#define COMING        4  /* runs at once */
#define TOKEN_US      (60 * UINT64_C(1000000))

/* One more of that kind from that address: false, and it is turned away. */
static bool has_share(struct kl_lobby *l, unsigned peer, const char *name, unsigned per_hour,
                      uint64_t now_us) {
    const struct kl_host host = kl_address_host(l->client[peer].address);
    char text[KL_NAME_MAX + KL_NET_TEXT], key[2 * crypto_shorthash_BYTES + 1];
    static const uint8_t none[crypto_shorthash_KEYBYTES];
    uint8_t hash[crypto_shorthash_BYTES];
    int len = snprintf(text, sizeof text, "%s %s", host.text, name);
    crypto_shorthash(hash, (const uint8_t *)text, (unsigned long long)len, none);
    struct kl_trier *t =
        kl_triers_of(&l->challengers, sodium_bin2hex(key, sizeof key, hash, sizeof hash), now_us);
    if (kl_bucket_take(&t->wrong, per_hour, now_us / 60)) return true;
    kl_lobby_turn_away(l, peer, KL_REFUSE_DOOR, "expected at most %u %s an hour from your address", per_hour,
                       *name ? "tokens of this challenge" : "runs");
    return false;
}

/* NULL: it was turned away. */
static struct kl_kept_challenge *open_challenge(struct kl_lobby *l, unsigned peer) {
    struct kl_kept_challenge *c = l->signer.signs && l->limits.record_days ? calloc(1, sizeof *c) : NULL;
    if (c)
        c->key = l->signer;
    else
        kl_lobby_turn_away(l, peer, KL_REFUSE_SEAT, "this relay has no challenges");
    return c;
}

/* The thread gets it. */
static void ask(struct kl_lobby *l, unsigned peer, struct kl_kept_challenge *c, uint64_t now_us) {
    l->client[peer].challenge = NULL;
    if (!ask_kept(l, peer, &(struct kl_kept_wish){.challenge = c}, now_us)) kl_kept_challenge_free(c);
}

void kl_lobby_challenge(struct kl_lobby *l, unsigned peer, const struct kl_wanted *w, uint64_t now_us) {
    if (!has_share(l, peer, w->name, GIVEN_AN_HOUR, now_us)) return;
    struct kl_kept_challenge *c = open_challenge(l, peer);
    if (!c) return;
    c->wanted = *w;
    ask(l, peer, c, now_us);
}

void kl_lobby_hand_in(struct kl_lobby *l, unsigned peer, const struct kl_run *r, uint64_t now_us) {
    unsigned coming = 0;
    for (unsigned i = 0; i < l->limits.peers; i++)
        coming += l->client[i].challenge && !*l->client[i].challenge->wanted.name;
    if (coming >= COMING) {
        kl_lobby_turn_away(l, peer, KL_REFUSE_LIMIT, "too many hand in a run: try again in a minute");
        return;
    }
    if (!has_share(l, peer, "", TAKEN_AN_HOUR, now_us)) return;
    if (!kl_sign_is_good(&r->sign, r->room_id, r->seat_key)) {
        kl_lobby_turn_away(l, peer, KL_REFUSE_DOOR, "its hashes are not signed by the key that it names");
        return;
    }
    struct kl_kept_challenge *c = open_challenge(l, peer);
    if (!c) return;
    c->run = *r;
    l->client[peer].challenge = c;
    l->client[peer].greet_by_us = now_us + KL_GIVE_US;
}

void kl_lobby_hand_in_data(struct kl_lobby *l, unsigned peer, const struct kl_data *d, uint64_t now_us) {
    struct kl_lobby_client *client = &l->client[peer];
    struct kl_kept_challenge *c = client->challenge;
    if (d->total > KL_CHALLENGE_BYTES) {
        kl_lobby_turn_away(l, peer, KL_REFUSE_DOOR, "expected a run of at most %u bytes, got %u",
                           KL_CHALLENGE_BYTES, d->total);
        return;
    }
    if (!c->bytes) {
        c->bytes = malloc(d->total ? d->total : 1);
        client->total = d->total;
    }
    if (!c->bytes || d->total != client->total || d->offset != c->len || !d->len) {
        kl_lobby_turn_away(l, peer, c->bytes ? KL_REFUSE_PROTOCOL : KL_REFUSE_LIMIT,
                           c->bytes ? "the pieces of the run do not fit together"
                                    : "this relay has no memory for the run now");
        return;
    }
    memcpy(c->bytes + d->offset, d->bytes, d->len);
    c->len += d->len;
    client->greet_by_us += d->len * UINT64_C(1000000) / KL_GIVE_BYTES;
    if (c->len == d->total) ask(l, peer, c, now_us);
}

/* The thread's answer to that client; c is the client's, or freed. */
static void tell_challenge(struct kl_lobby *l, unsigned peer, struct kl_kept_challenge *c, uint64_t now_us) {
    struct kl_lobby_client *client = &l->client[peer];
    if (c->code) {
        kl_lobby_turn_away(l, peer, c->code, "%s", c->why);
        kl_kept_challenge_free(c);
        return;
    }
    client->challenge = c;
    client->wish = 0;
    client->total = 0;
    client->greet_by_us = now_us + TOKEN_US;
}

/* The token is wholly sent: true. */
static bool send_token(struct kl_lobby *l, unsigned peer) {
    struct kl_lobby_client *client = &l->client[peer];
    const struct kl_kept_challenge *c = client->challenge;
    while (client->total < c->len && l->net.bulk_room(l->net.ctx, peer) > 0) {
        size_t left = c->len - client->total;
        struct kl_msg m = {.kind = KL_MSG_DATA, .data = {.offset = client->total, .total = (uint32_t)c->len}};
        m.data.len = (uint16_t)(left < KL_CHUNK_MAX ? left : KL_CHUNK_MAX);
        memcpy(m.data.bytes, c->bytes + client->total, m.data.len);
        kl_lobby_send(l, peer, &m);
        client->total += m.data.len;
    }
    return client->total == c->len;
}

/* Sends tokens. True: some are not wholly sent. */
static bool send_tokens(struct kl_lobby *l) {
    bool waits = false;
    for (unsigned i = 0; i < l->limits.peers; i++) {
        struct kl_kept_challenge *c = l->client[i].challenge;
        if (!c || !*c->wanted.name) continue;
        bool sent = send_token(l, i);
        waits |= !sent;
        if (!sent) continue;
        kl_kept_challenge_free(c);
        l->client[i].challenge = NULL;
    }
    return waits;
}

/* --- the thread's answers --- */

void kl_lobby_wishes_turn(struct kl_lobby *l, uint64_t now_us) {
    struct kl_kept_wish w;
    if (now_us < l->wishes_us) return;
    l->wishes_us = now_us + LOOK_US;
    while (kl_journal_next_wish(l->journal, &w)) {
        /* The client that waits for it; limits.peers: none does any more. */
        unsigned peer = 0;
        while (peer < l->limits.peers &&
               (l->client[peer].state != KL_CLIENT_GREETING || l->client[peer].wish != w.number))
            peer++;
        l->wishes_wait--;
        if (peer == l->limits.peers)
            kl_kept_challenge_free(w.challenge);
        else if (w.challenge)
            tell_challenge(l, peer, w.challenge, now_us);
        else
            tell(l, peer, w.fate, now_us);
    }
    l->tokens_wait = send_tokens(l);
}
