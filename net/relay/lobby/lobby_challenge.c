/* Players of challenges: they want a token, or hand a run in. The files are kept_challenge.c's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "net/relay/lobby/lobby_parts.h"

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
    if (!kl_lobby_ask_kept(l, peer, &(struct kl_kept_wish){.challenge = c}, now_us))
        kl_kept_challenge_free(c);
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

void kl_lobby_challenge_told(struct kl_lobby *l, unsigned peer, struct kl_kept_challenge *c,
                             uint64_t now_us) {
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

bool kl_lobby_challenge_turn(struct kl_lobby *l) {
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
