#include "tests/net/net_journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "net/relay/durable/lobby_ticket.h"
#include "net/relay/lobby/lobby.h"
#include "net/session/keys.h"

static const char start[] = "start data";

/* The network of a relay that nobody is connected to. */
static struct kl_lobby *make_lobby(void) {
    static const struct kl_lobby_limits limits = {.peers = 1, .rooms = 1, .seats = 2};
    return kl_lobby_create(&limits, &(struct kl_lobby_net){0});
}

static struct kl_lobby_ticket *ticket_of(struct long_game *g) {
    struct kl_lobby_ticket *t = calloc(1, sizeof *t);
    t->seat_time_s = 60;
    t->start_bytes = sizeof start;
    crypto_generichash(t->start_hash, sizeof t->start_hash, (const uint8_t *)start, sizeof start, NULL, 0);
    snprintf(t->name, sizeof t->name, "%s", g->hello.room);
    snprintf(t->maker, sizeof t->maker, "127.0.0.1");
    randombytes_buf(t->id, sizeof t->id);
    t->params = g->hello.params;
    t->facts = g->hello.facts;
    for (unsigned i = 0; i < 2; i++) {
        struct kl_ticket_member *m = &t->member[i];
        kl_seat_make(&g->seat[i]);
        *m = (struct kl_ticket_member){.here = true, .seats = (uint8_t)(1u << i), .joined = i};
        snprintf(m->name, sizeof m->name, "player%u", i);
        memcpy(m->seat_key, g->seat[i].pub, sizeof m->seat_key);
    }
    return t;
}

/* Two who press something else every ten frames or so. */
static void play_frame(struct long_game *g, struct kl_lobby_room *r, struct kl_frame *f) {
    uint32_t key = f->number / g->spacing * g->spacing;
    f->keyframe = key;
    f->spacing = (uint16_t)g->spacing;
    f->active = 3;
    f->flags = f->number == key ? KL_FRAME_KEY : 0;
    if (f->number == key && f->number && f->number / 60 != (f->number - g->spacing) / 60)
        f->flags |= KL_FRAME_HASH;
    for (unsigned s = 0; s < 2; s++)
        if (randombytes_uniform(10) == 0) f->in[s].joypad = (uint16_t)randombytes_random() & 0x1ff;
    if (kl_lobby_restore_frame(r, f, NULL) != KL_OK) abort();
}

static void digest(struct long_game *g, const struct kl_lobby_room *r) {
    static uint8_t bytes[KL_INTERVAL_BYTES];
    uint32_t keyframe;
    g->digest = r->past.digest;
    size_t len = g->digest.end < r->past.history.next
                     ? kl_history_so_far(&r->past.history, bytes, sizeof bytes, &keyframe)
                     : 0;
    kl_digest_open(&g->digest, r->id, bytes, len, g->open);
}

static void play(struct long_game *g, struct kl_lobby_room *r) {
    struct kl_frame f = {0};
    kl_lobby_ticket_renew(r);
    for (; f.number < g->frames; f.number++) {
        play_frame(g, r, &f);
        if ((f.number + 1) % g->writes == 0) kl_journal_write(r, 1);
    }
    kl_journal_write(r, 1);
    g->bytes = r->journal.base.klr.at;
    digest(g, r);
}

bool journal_make(struct long_game *g, const char *state, const char *folder) {
    char why[300] = "";
    struct kl_relay_key key;
    struct kl_journal *journal;
    if (kl_keys_open(state, &key, why, sizeof why) != 0 ||
        kl_journal_open(&journal, folder, (struct kl_journal_limits){UINT64_C(1) << 30, UINT64_C(1) << 40},
                        why, sizeof why) != 0) {
        fprintf(stderr, "%s\n", why);
        return false;
    }
    struct kl_lobby *lobby = make_lobby();
    struct kl_lobby_ticket *t = ticket_of(g);
    kl_lobby_set_secret(lobby, key.exchange.secret);
    lobby->journal = journal; /* files that lie there already are none of ours to load */
    struct kl_lobby_room *r =
        kl_lobby_restore(lobby, t, (const uint8_t *)start, sizeof start, 1, why, sizeof why);
    if (r) play(g, r);
    bool good = r && r->journal.frames == g->frames;
    if (!good) fprintf(stderr, "no journal: %s\n", why);
    kl_lobby_destroy(lobby);
    kl_journal_close(journal);
    free(t);
    return good;
}
