#include "tests/net/net_state.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "core_wrapper/core/snapshot_pack.h"
#include "net/engine/command.h"
#include "tests/lib/rng.h"

struct head {
    uint64_t digest;
    uint32_t frame, bytes;
};

static void make(uint8_t *out, const struct head *h) {
    struct rng noise = {h->digest};
    for (uint32_t i = 0; i < h->bytes; i++)
        out[i] = (uint8_t)rng_next(&noise);
    memcpy(out, h, sizeof *h);
}

uint8_t *state_pack(const uint8_t *bytes, size_t len, uint32_t *packed_len) {
    size_t cap = ZSTD_compressBound(len);
    uint8_t *packed = malloc(cap);
    size_t got = packed ? ZSTD_compress(packed, cap, bytes, len, 1) : 0;
    if (!packed || ZSTD_isError(got)) abort();
    *packed_len = (uint32_t)got;
    return packed;
}

/* --- its own --- */

/* At a SNAPSHOT the state is made, and its hash said. */
static void look(struct player *p, uint32_t frame, uint64_t digest) {
    struct state *s = p->state;
    const struct kl_commands *set = kl_participant_commands(kl_link_hold(p->link), frame);
    bool ordered = false;
    for (unsigned i = 0; set && i < set->count; i++)
        ordered |= set->at[i].client == KL_RELAY_CLIENT && set->at[i].kind == KL_COMMAND_SNAPSHOT;
    kl_link_release(p->link);
    if (!ordered || frame == p->begun) return;
    uint8_t *oldest = s->before;
    s->before = s->own;
    s->before_frame = s->frame;
    s->own = oldest ? oldest : malloc(s->bytes);
    if (!s->own) abort();
    make(s->own, &(struct head){digest, frame, s->bytes});
    s->frame = frame;
    struct kl_state_said said = {.keyframe = frame, .has = true, .bytes = s->bytes};
    crypto_generichash(said.hash, sizeof said.hash, s->own, s->bytes, NULL, 0);
    kl_participant_say_state(kl_link_hold(p->link), &said);
    kl_link_release(p->link);
}

static bool has_base(const struct state *s, const struct kl_ask *ask) {
    uint8_t hash[KL_SNAPSHOT_HASH];
    if (!ask->based || ask->base != s->before_frame) return false;
    crypto_generichash(hash, sizeof hash, s->before, s->bytes, NULL, 0);
    return memcmp(hash, ask->hash, sizeof hash) == 0;
}

static void give(struct player *p, const struct kl_ask *ask) {
    struct state *s = p->state;
    uint32_t len = 0;
    size_t slices = 0;
    bool based = !s->forge && has_base(s, ask);
    uint8_t *packed = s->forge ? s->forge(s, &len)
                      : based  ? kl_snapshot_pack_against(s->before, s->bytes, s->own, s->bytes, &slices)
                               : state_pack(s->own, s->bytes, &len);
    s->asked++;
    s->based += based;
    if (!packed) return;
    kl_participant_give_snapshot(kl_link_hold(p->link), s->frame, based, packed,
                                 based ? (uint32_t)slices : len);
    kl_link_release(p->link);
}

/* --- the others' --- */

/* The frames since then are run again. */
static bool run_again(struct player *p, const struct head *h) {
    static struct kl_history_cursor c;
    struct kl_frame f;
    uint32_t at = h->frame;
    if (at > 0) p->digest[at - 1] = h->digest;
    bool kept = kl_participant_past_seek(kl_link_hold(p->link), &c, at) || at == p->frames;
    for (; kept && at < p->frames && kl_history_next(&c, &f); at++)
        p->digest[at] = player_digest(at ? p->digest[at - 1] : 0, &f);
    kl_link_release(p->link);
    return at == p->frames;
}

static void report(struct player *p, uint32_t keyframe, bool done) {
    const struct kl_healed h = {keyframe, p->frames, done ? KL_HEALED_SAME : KL_HEALED_NOT};
    kl_participant_say_healed(kl_link_hold(p->link), &h);
    kl_link_release(p->link);
    p->wrong_next = 0;
}

/* Nothing but what was offered, to the byte, is ever loaded: the relay says what is good. */
static void load(struct player *p, const struct kl_offer *o, const uint8_t *packed) {
    uint8_t *bytes = malloc(o->bytes), hash[KL_SNAPSHOT_HASH];
    struct head h;
    if (!bytes) abort();
    bool good = ZSTD_decompress(bytes, o->bytes, packed, o->packed) == o->bytes && o->bytes >= sizeof h;
    crypto_generichash(hash, sizeof hash, bytes, o->bytes, NULL, 0);
    memcpy(&h, bytes, sizeof h);
    if (!good || memcmp(hash, o->hash, sizeof hash) != 0 || h.frame != o->keyframe) {
        fprintf(stderr, "%s: what came is not what was offered\n", p->hello.name);
        abort();
    }
    free(bytes);
    if (o->begin) {
        p->frames = p->begun = h.frame;
        kl_participant_begun(kl_link_hold(p->link), h.frame, 0);
        kl_link_release(p->link);
    }
    bool done = run_again(p, &h);
    report(p, h.frame, done);
    p->state->loads++;
}

/* Its digest before any frame is known, so it has all its own states. */
static void go_back(struct player *p, uint32_t keyframe) {
    struct head h = {.digest = keyframe ? p->digest[keyframe - 1] : 0, .frame = keyframe};
    bool done = keyframe < p->frames && run_again(p, &h);
    report(p, keyframe, done);
    p->state->rewinds++;
}

static void turn(struct player *p) {
    struct kl_ask ask;
    struct kl_rewind to;
    struct kl_offer offer;
    uint8_t *packed;
    struct kl_participant *participant = kl_link_hold(p->link);
    bool rewinds = kl_participant_rewind(participant, &to), asked = kl_participant_asked(participant, &ask);
    bool got = kl_participant_snapshot(participant, &offer, &packed);
    kl_link_release(p->link);
    if (rewinds) go_back(p, to.keyframe);
    if (asked && ask.keyframe == p->state->frame) give(p, &ask);
    if (!got) return;
    load(p, &offer, packed);
    free(packed);
}

void state_begin(struct player *p, struct state *s, uint32_t bytes) {
    *s = (struct state){.bytes = bytes, .own = malloc(bytes)};
    if (!s->own) abort();
    p->state = s;
    p->commands = look;
    p->turn = turn;
}

void state_end(struct player *p) {
    free(p->state->own);
    free(p->state->before);
    p->state->own = p->state->before = NULL;
}
