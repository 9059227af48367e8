#include "tests/net/net_liar.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/clock.h"
#include "tests/lib/engine_turn.h"

static void say(struct liar *l, const struct kl_msg *m) {
    uint8_t bytes[KL_MSG_MAX];
    int len = kl_msg_encode(m, bytes, sizeof bytes);
    if (len <= 0) abort();
    intruder_say(&l->in, bytes, (size_t)len);
}

/* --- messages and frames that come --- */

static void on_welcome(struct liar *l, const struct kl_welcome *w) {
    kl_client_init(&l->lock, &w->params, w->seats, l->held, LIAR_HELD, kl_now_us());
    l->welcomed = true;
}

static void on_data(struct liar *l) {
    struct kl_msg m = {.kind = KL_MSG_READY};
    kl_facts_add(&m.ready.facts, "system files", "none");
    say(l, &m);
    l->loaded = true;
}

/* Whatever tells of a label, or of the state before that frame. */
static void tells_of(struct liar *l, uint32_t label) {
    const struct liar_word *w = &l->word[l->got % LIAR_WORDS];
    l->early += l->got != l->put && w->lie == LIE_LATE && w->said.hash.frame <= label;
}

static void hears(struct intruder *n, const struct kl_msg *m) {
    struct liar *l = n->ctx;
    switch (m->kind) {
    case KL_MSG_WELCOME: on_welcome(l, &m->welcome); break;
    case KL_MSG_PREPARE:
        if (m->prepare.data_bytes == 0) on_data(l);
        break;
    case KL_MSG_DATA: on_data(l); break; /* of one piece */
    case KL_MSG_VERDICT:
        tells_of(l, m->verdict.frame);
        l->verdicts++;
        l->differing += m->verdict.differs != 0;
        break;
    case KL_MSG_OFFER: tells_of(l, m->offer.keyframe); break;
    case KL_MSG_STATE:
    case KL_MSG_HASH: l->overheard++; break;
    default: break;
    }
}

static void update(struct intruder *n, const uint8_t *body, size_t len) {
    struct liar *l = n->ctx;
    if (l->welcomed) (void)kl_client_receive(&l->lock, body, len, kl_now_us());
}

/* --- hashes and input that it says --- */

static void note_hash(struct liar *l, uint32_t frame) {
    struct liar_word *w = &l->word[l->put % LIAR_WORDS];
    if (l->put - l->got == LIAR_WORDS) l->got++;
    l->put++;
    *w = (struct liar_word){.lie = l->lie, .at_us = kl_now_us()};
    w->said =
        (struct kl_msg){.kind = KL_MSG_HASH, .hash = {.frame = frame, .has = KL_HASH_RAM | KL_HASH_STATE}};
    w->said.hash.ram = w->said.hash.state = l->digest;
}

static void speak(struct liar *l) {
    for (; l->got != l->put; l->got++) {
        const struct liar_word *w = &l->word[l->got % LIAR_WORDS];
        if (w->lie == LIE_LATE && kl_now_us() < w->at_us + LIAR_LATE_US) return;
        if (w->lie != LIE_SILENT) say(l, &w->said);
    }
}

static void press(void *ctx, uint32_t sample, struct kl_input in[KL_MAX_SEATS]) {
    const struct liar *l = ctx;
    player_sample(l->name, 0, sample, in);
}

static void run_frame(void *ctx, const struct kl_frame *f) {
    struct liar *l = ctx;
    if (f->flags & KL_FRAME_HASH) note_hash(l, f->number - 1);
    l->digest = player_digest(l->digest, f);
    l->frames++;
}

static void send_input(void *ctx, const uint8_t *body, size_t len) {
    struct liar *l = ctx;
    intruder_send(&l->in, -1, KL_SEAL_CTRL, body, len);
}

static void play(struct liar *l, const struct engine_player *e) {
    uint64_t now_us = kl_now_us(), period_us = UINT64_C(1000000000000) / l->lock.params.fps_uhz;
    if (now_us < l->due_us) return;
    l->due_us = (l->due_us && now_us < l->due_us + period_us ? l->due_us : now_us) + period_us;
    engine_turn(e, now_us, 8);
}

/* --- a turn --- */

void liar_enter(struct liar *l, const struct kl_hello *hello, uint16_t port) {
    struct kl_hello h = *hello;
    memset(l, 0, sizeof *l);
    memcpy(l->name, h.name, sizeof l->name);
    randombytes_buf(h.seat_key, sizeof h.seat_key);
    intruder_enter(&l->in, port);
    l->in.ctx = l;
    l->in.hears = hears;
    l->in.update = update;
    intruder_hello(&l->in, &h);
}

void liar_turn(struct liar *l) {
    struct engine_player e = {&l->lock, l, press, run_frame, send_input};
    intruder_look(&l->in);
    if (l->in.gone || !l->welcomed) return;
    if (l->loaded) play(l, &e);
    speak(l);
    engine_send(&e, kl_now_us());
    enet_host_flush(l->in.host);
}

void liar_leave(struct liar *l) {
    intruder_leave(&l->in);
}
