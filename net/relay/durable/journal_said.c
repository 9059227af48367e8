#include <stdlib.h>
#include <string.h>

#include "net/record/klr_body.h"
#include "net/relay/durable/journal_private.h"
#include "net/relay/room/lobby_room.h"
#include "net/session/proof.h"

#define BYTES  8192 /* 17 s of eight clients that all differ, twice */
#define BEFORE 3    /* u8 type, u16 length, then the body */
#define SIGNS  2    /* of a member until the recording grows: after a seal, and on leaving */

struct kl_journal_said {
    uint8_t seats[KL_MAX_CLIENTS]; /* as written last */
    uint16_t seated;               /* clients with seats */
    uint8_t signs[KL_MAX_CLIENTS];
    struct kl_klr_hash agreed;
    uint32_t used;
    uint8_t bytes[BYTES];
};

struct kl_journal_said *kl_journal_said_new(void) {
    return calloc(1, sizeof(struct kl_journal_said));
}

/* A writer of the next body. One that does not fit is left out. */
static struct kl_writer begin(struct kl_journal_said *s) {
    uint32_t at = s->used + BEFORE < BYTES ? s->used + BEFORE : BYTES;
    return kl_writer(s->bytes + at, BYTES - at);
}

static void end(struct kl_journal_said *s, const struct kl_writer *w, enum kl_klr_type type) {
    if (w->failed) return;
    uint32_t used = (uint32_t)(w->at - s->bytes);
    struct kl_writer before = kl_writer(s->bytes + s->used, BEFORE);
    kl_write_u8(&before, (uint8_t)type);
    kl_write_u16(&before, (uint16_t)(used - s->used - BEFORE));
    s->used = used;
}

static void add_event(struct kl_lobby_room *r, const struct kl_klr_event *e) {
    struct kl_journal_said *s = r->journal.said;
    if (!s) return;
    struct kl_writer w = begin(s);
    kl_klr_write_event(&w, e);
    end(s, &w, KL_KLR_EVENT);
}

/* --- hashes --- */

#define PARTS (KL_HASH_RAM | KL_HASH_STATE | KL_HASH_PICTURE)

static bool is_same(const struct kl_hash *a, const struct kl_hash *b) {
    return (a->has & PARTS) == (b->has & PARTS) && a->ram == b->ram && a->state == b->state &&
           a->picture == b->picture;
}

/* Of these clients' reports those that most of them said: a bit each. */
static uint16_t most(const struct kl_hash said[KL_MAX_CLIENTS], uint16_t clients) {
    uint16_t best = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        uint16_t camp = 0;
        for (unsigned k = 0; clients >> i & 1 && k < KL_MAX_CLIENTS; k++)
            if (clients >> k & 1 && is_same(&said[k], &said[i])) camp |= (uint16_t)(1u << k);
        if (__builtin_popcount(camp) > __builtin_popcount(best)) best = camp;
    }
    return best;
}

/* A state that is only noted is not compared. */
static void note_agreed(struct kl_journal_said *s, const struct kl_verdict *v, const struct kl_klr_hash *h) {
    bool noted = v->differs == KL_VERDICT_NOTED;
    if (!v->complete || (v->differs && !noted)) return;
    s->agreed = *h;
    if (noted) s->agreed.has &= (uint8_t)~KL_HASH_STATE;
}

struct kl_klr_hash kl_journal_said_agreed(const struct kl_journal_said *s) {
    return s ? s->agreed : (struct kl_klr_hash){0};
}

void kl_journal_verdict(struct kl_lobby_room *r, const struct kl_verdict *v) {
    struct kl_journal_said *s = r->journal.said;
    struct kl_hash said[KL_MAX_CLIENTS];
    uint16_t left = 0;
    bool first = true;
    if (!s) return;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (kl_verdict_said(&r->heal.verdicts, v->frame, i, &said[i])) left |= (uint16_t)(1u << i);
    for (uint16_t camp; (camp = most(said, left)); left &= (uint16_t)~camp) {
        const struct kl_hash *h = &said[__builtin_ctz(camp)];
        const struct kl_klr_hash out = {
            v->frame, camp, h->has & PARTS, .ram = h->ram, .state = h->state, .picture = h->picture};
        if (first) note_agreed(s, v, &out);
        first = false;
        struct kl_writer w = begin(s);
        kl_klr_write_hash(&w, &out);
        if (out.has) end(s, &w, KL_KLR_HASH);
    }
}

void kl_journal_signed(struct kl_lobby_room *r, unsigned member, const struct kl_sign *s) {
    struct kl_journal_said *said = r->journal.said;
    struct kl_klr_sign out = {.client = (uint8_t)member, .sign = *s};
    memcpy(out.seat_pub, r->member[member]->v.seat_key, sizeof out.seat_pub);
    if (!said || said->signs[member] == SIGNS || !kl_sign_is_good(s, r->id, out.seat_pub)) return;
    said->signs[member]++;
    struct kl_writer w = begin(said);
    kl_klr_write_sign(&w, &out);
    end(said, &w, KL_KLR_SIGN);
}

/* --- events --- */

void kl_journal_loaded(struct kl_lobby_room *r, unsigned member, const struct kl_healed *h) {
    const struct kl_klr_event e = {
        .kind = KL_KLR_LOADED, .frame = h->next, .client = (uint8_t)member, .snapshot = h->keyframe};
    if (h->how != KL_HEALED_NOT) add_event(r, &e);
}

bool kl_journal_report(struct kl_lobby_room *r, unsigned member, const char *text) {
    struct kl_klr_event e = {.kind = KL_KLR_REPORT, .frame = r->past.history.next, .client = (uint8_t)member};
    if (!r->door.recorded || r->journal.state != KL_JOURNAL_OPEN || !r->journal.said) return false;
    kl_copy_cut(e.text, sizeof e.text, text);
    add_event(r, &e);
    r->journal.reported = true;
    return true;
}

void kl_journal_seats(struct kl_lobby_room *r) {
    struct kl_journal_said *s = r->journal.said;
    for (KL_EACH(i, s ? r->places.here | s->seated : 0)) {
        const struct kl_lobby_member *m = r->member[i];
        uint8_t seats = kl_lobby_here(m) ? m->seats : 0;
        if (seats == s->seats[i]) continue;
        struct kl_klr_event e = {.kind = KL_KLR_SEATS, .frame = r->past.history.next, .client = (uint8_t)i};
        e.seats = s->seats[i] = seats;
        s->seated = (uint16_t)(seats ? s->seated | kl_only(i) : s->seated & ~kl_only(i));
        if (seats) memcpy(e.text, m->v.name, sizeof m->v.name);
        add_event(r, &e);
    }
}

/* --- into the recording --- */

const uint8_t *kl_journal_said_take(struct kl_journal_said *s, struct kl_klr_place *end, size_t *len) {
    static uint8_t blocks[BYTES * (KL_KLR_AROUND + BEFORE) / BEFORE];
    struct kl_writer w = kl_writer(blocks, sizeof blocks);
    struct kl_reader r = kl_reader(s->bytes, s->used);
    while (kl_reader_left(&r)) {
        enum kl_klr_type type = kl_read_u8(&r);
        uint16_t size = kl_read_u16(&r);
        const uint8_t *body = kl_read_bytes(&r, size);
        struct kl_klr_around a = kl_klr_around(end, type, body, size);
        kl_write_bytes(&w, a.before, sizeof a.before);
        kl_write_bytes(&w, body, size);
        kl_write_bytes(&w, a.check, sizeof a.check);
    }
    s->used = 0;
    memset(s->signs, 0, sizeof s->signs);
    *len = (size_t)(w.at - blocks);
    return blocks;
}
