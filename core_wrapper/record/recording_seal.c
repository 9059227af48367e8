/* Whether a relay has signed a recording's frames, and players their hashes (recording.h). */
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/record/recording.h"
#include "net/record/pieces.h"
#include "net/session/digest.h"
#include "net/session/proof.h"

/* A piece that counts, up to `end`; piece NULL: a SNAPSHOT, with the digest of the frames below. */
struct span {
    const uint8_t *piece;
    size_t len;
    uint32_t first, end;
    struct kl_digest before;
};
struct walk {
    struct span *span;
    unsigned spans, cap;
    const uint8_t *start;
    size_t start_len;
};

static bool add_span(struct walk *k, const struct span *s) {
    if (k->spans == k->cap) {
        unsigned cap = k->cap ? 2 * k->cap : 64;
        struct span *more = realloc(k->span, cap * sizeof *more);
        if (!more) return false;
        k->span = more;
        k->cap = cap;
    }
    k->span[k->spans++] = *s;
    return true;
}

static bool add_pieces(struct walk *k, struct kl_reader *in) {
    struct span s = {0};
    struct kl_frames frames;
    struct kl_frame f;
    while ((s.piece = kl_klr_read_piece(in, &s.len))) {
        bool any = kl_piece_open(&frames, s.piece, s.len) == KL_OK && kl_frames_next(&frames, &f);
        s.first = any ? f.number : 0;
        s.end = UINT32_MAX;
        if (!any || !add_span(k, &s)) return false;
    }
    return !in->failed;
}

static bool add_block(struct walk *k, const struct kl_klr_cursor *c) {
    struct kl_klr_event e;
    struct kl_klr_snapshot s;
    struct kl_reader in = kl_reader(c->body, c->body_len);
    switch (c->type) {
    case KL_KLR_START:
        k->start = c->body;
        k->start_len = c->body_len;
        return true;
    case KL_KLR_PIECES: return add_pieces(k, &in);
    case KL_KLR_SNAPSHOT:
        kl_klr_read_snapshot(&in, &s);
        return add_span(k, &(struct span){.first = s.frame, .before = s.before});
    case KL_KLR_EVENT:
        kl_klr_read_event(&in, &e);
        if (e.kind == KL_KLR_CUT) {
            while (k->spans && k->span[k->spans - 1].first >= e.frame)
                k->spans--;
            if (k->spans) k->span[k->spans - 1].end = e.frame;
        }
        return true;
    default: return true;
    }
}

/* Runs the digest over the frames that count, up to those of `want`. */
static bool frames_are(const struct walk *k, const uint8_t *room_id, const struct kl_proof *want,
                       struct kl_pieces *p) {
    struct kl_frames frames;
    struct kl_frame f;
    kl_pieces_init(p, room_id, &(struct kl_digest){0}, false);
    for (unsigned i = 0; i < k->spans; i++) {
        const struct span *s = &k->span[i];
        if (!s->piece) kl_pieces_init(p, room_id, &s->before, false);
        if (!s->piece || kl_piece_open(&frames, s->piece, s->len) != KL_OK) continue;
        while (p->chain.end < want->end && kl_frames_next(&frames, &f) && f.number < s->end) {
            if (kl_pieces_due(p)) (void)kl_pieces_take(p, false);
            if (!kl_pieces_add(p, &f, f.flags & KL_FRAME_COMMANDS ? &frames.commands : NULL)) return false;
        }
    }
    return p->knows && p->chain.intervals == want->intervals && p->chain.end == want->end &&
           memcmp(p->chain.digest, want->digest, sizeof want->digest) == 0;
}

static const char *check(const struct kl_recording *r, const struct walk *k, struct kl_pieces *p) {
    struct kl_proof_match of = {.epoch_s = r->head.epoch_s};
    memcpy(of.room_id, r->head.room_id, sizeof of.room_id);
    /* As the room had it: the system is the writer's own. */
    struct kl_facts facts = {0};
    for (unsigned i = 0; i < r->room.facts.count; i++) {
        const struct kl_fact *f = &r->room.facts.fact[i];
        if (strcmp(f->key, KL_RECORDING_SYSTEM) != 0) (void)kl_facts_add(&facts, f->key, f->value);
    }
    kl_identity(&facts, of.identity);
    kl_proof_start(k->start, k->start_len, of.start);
    switch (kl_proof_check(&r->seal, &of, r->head.relay_key)) {
    case KL_PROOF_FALSE: return "the seal's signature is not of this match, its frames and hashes";
    case KL_PROOF_FOREIGN: return "the seal is signed by another key than its relay's";
    case KL_PROOF_GOOD: break;
    }
    return frames_are(k, r->head.room_id, &r->seal, p) ? "" : "its frames are not the sealed ones";
}

const char *kl_recording_sealed(const struct kl_recording *r) {
    struct walk k = {0};
    struct kl_klr_cursor c;
    struct kl_pieces *p = malloc(sizeof *p);
    bool good = p && kl_klr_open(&c, r->bytes, r->len);
    if (!r->seal.end) {
        free(p);
        return "it has no seal";
    }
    for (unsigned i = 0; good && i < r->blocks; i++)
        good = kl_klr_next(&c) == KL_KLR_BLOCK && add_block(&k, &c);
    const char *why = good ? check(r, &k, p) : "no memory to check it";
    free(k.span);
    free(p);
    return why;
}

/* --- players --- */

/* The client's hash of the label of r->hash[at]; NULL: it said none. */
static const struct kl_klr_hash *said(const struct kl_recording *r, unsigned at, unsigned client) {
    if (r->hash[at].clients >> client & 1) return &r->hash[at];
    for (unsigned i = 0; i < r->others; i++)
        if (r->other[i].label == r->hash[at].label && r->other[i].clients >> client & 1) return &r->other[i];
    return NULL;
}

static enum kl_signed compare(const struct kl_recording *r, const struct kl_klr_sign *s) {
    const struct kl_sign *is = &s->sign;
    const struct kl_hash newest = {
        .frame = is->label, .has = is->has, .ram = is->ram, .state = is->state, .picture = is->picture};
    struct kl_sign own = {0};
    bool there = false;
    if (!kl_sign_is_good(is, r->head.room_id, s->seat_pub)) return KL_SIGNED_FALSE;
    for (unsigned i = 0; i < r->hashes && r->hash[i].label <= is->label; i++) {
        const struct kl_klr_hash *h = said(r, i, s->client);
        if (!h) continue;
        struct kl_hash next = (struct kl_hash){
            .frame = h->label, .has = h->has, .ram = h->ram, .state = h->state, .picture = h->picture};
        there = h->label == is->label;
        if (there && (next.has != is->has || next.ram != is->ram || next.state != is->state ||
                      next.picture != is->picture))
            return KL_SIGNED_FALSE;
        kl_sign_add(&own, &next);
    }
    if (!there) kl_sign_add(&own, &newest); /* a room's last hash may get no verdict before it ends */
    bool all = own.count == is->count && memcmp(own.chain, is->chain, sizeof own.chain) == 0;
    return all ? KL_SIGNED_ALL : there ? KL_SIGNED_ONE : KL_SIGNED_NOT;
}

enum kl_signed kl_recording_signed(const struct kl_recording *r, unsigned client,
                                   const struct kl_klr_sign **out) {
    enum kl_signed is = KL_SIGNED_NOT;
    *out = NULL;
    for (unsigned i = r->signs; i-- > 0 && is == KL_SIGNED_NOT;) {
        if (r->sign[i].client != client) continue;
        is = compare(r, &r->sign[i]);
        *out = is == KL_SIGNED_NOT ? NULL : &r->sign[i];
    }
    return is;
}
