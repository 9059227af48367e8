#include <stdlib.h>
#include <string.h>

#include "net/relay/room/lobby_room.h"

/* Memory comes by malloc(), uncleared, wherever that will do: pages that a waiting room never writes to stay
 * untouched. */
#define SEAT_PLACES (KL_WINDOW_FRAMES + KL_NEAR_FRAMES)
struct devices {
    struct kl_devices at[SEAT_PLACES]; /* first: the room frees it by them */
    struct kl_keys keys;
};

/* Labels that its hashes are compared at. */
static uint32_t verdict_labels(const struct kl_params *p) {
    uint32_t labels = p->hash_every ? KL_WINDOW_FRAMES / p->hash_every : 0;
    return labels > KL_VERDICT_LABELS_LEAST ? labels : KL_VERDICT_LABELS_LEAST;
}

bool kl_lobby_memory_begin(struct kl_lobby_room *r, const struct kl_facts *facts) {
    kl_lobby_members_begin(r);
    struct kl_near_frame *frames = malloc(KL_NEAR_FRAMES * sizeof *frames);
    uint32_t places = verdict_labels(&r->params);
    struct kl_verdict_label *labels = malloc(places * sizeof *labels);
    kl_lock_init(&r->lock, &r->params);
    if (frames) kl_lock_give_ring(&r->lock, frames, KL_NEAR_FRAMES, &r->past.history, r->lobby->laid_out);
    if (labels) kl_verdict_begin(&r->heal.verdicts, labels, places);
    r->facts = kl_lobby_memory_facts(facts);
    return frames && labels && r->facts && kl_lobby_memory_delay(r, r->watch.delay_s);
}

/* A ring of at least `more` places; entries [first, next) of the one before keep their numbers. NULL: there
 * is no memory. */
static void *larger(void *ring, size_t size, uint32_t *places, uint32_t first, uint32_t next, uint32_t more) {
    if (*places >= more) return ring;
    uint8_t *from = ring, *to = calloc(more, size);
    for (uint32_t n = first; to && n != next; n++)
        memcpy(to + n % more * size, from + n % *places * size, size);
    if (!to) return NULL;
    free(ring);
    *places = more;
    return to;
}

/* Hashes come every hash_every frames. */
static uint32_t labels_in(const struct kl_params *p, unsigned seconds) {
    double labels = p->hash_every ? seconds * (p->fps_uhz / 1e6) / p->hash_every : 0;
    if (labels < KL_WATCH_TRUTHS_LEAST) return KL_WATCH_TRUTHS_LEAST;
    return labels < KL_WATCH_TRUTHS_MOST ? (uint32_t)labels : KL_WATCH_TRUTHS_MOST;
}

bool kl_lobby_memory_delay(struct kl_lobby_room *r, unsigned delay_s) {
    struct kl_lobby_watch *a = &r->watch;
    uint32_t labels = labels_in(&r->params, delay_s + KL_WATCH_TRUTHS_S);
    uint32_t first = a->truths > a->truth_places ? a->truths - a->truth_places : 0;
    void *cut = larger(a->cut, sizeof *a->cut, &a->cuts, a->cut_first, a->cut_next, KL_WATCH_CUTS(delay_s));
    if (cut) a->cut = cut;
    void *truth = cut ? larger(a->truth, sizeof *a->truth, &a->truth_places, first, a->truths, labels) : NULL;
    if (truth) a->truth = truth;
    return truth;
}

static bool take_place(struct kl_lobby_room *r, unsigned member) {
    if (r->lock.place[member]) return true;
    struct kl_lock_place *place = malloc(sizeof *place);
    if (place) kl_lock_give_place(&r->lock, member, place);
    return place;
}

/* Reports of a client. */
#define WORDS(table) ((table)->places + KL_MAX_CLIENTS)

static bool take_words(struct kl_verdict_table *t, unsigned member) {
    if (!t->words[member]) t->words[member] = malloc(WORDS(t) * sizeof *t->words[member]);
    return t->words[member];
}

static bool take_seat(struct kl_lobby_room *r, unsigned seat) {
    if (r->lock.sample[seat].pad) return true;
    struct kl_pad *pads = malloc(SEAT_PLACES * sizeof *pads);
    if (pads) kl_lock_give_seat(&r->lock, seat, pads);
    return pads;
}

bool kl_lobby_memory_gone(struct kl_lobby_room *r) {
    if (!r->door.gone) r->door.gone = calloc(1, sizeof *r->door.gone);
    return r->door.gone;
}

bool kl_lobby_memory_devices(struct kl_lobby_room *r) {
    for (KL_EACH(s, r->lock.wants)) {
        struct devices *devices = malloc(sizeof *devices);
        if (!devices) return false;
        kl_lock_give_devices(&r->lock, s, devices->at, &devices->keys);
    }
    return true;
}

struct kl_digest *kl_lobby_memory_digest(struct kl_lobby_room *r) {
    struct kl_lobby_past *p = &r->past;
    unsigned more = p->keeps ? 2 * p->keeps : KL_DIGESTS_LEAST;
    bool full = p->kept_next == p->keeps && more <= KL_DIGESTS_KEPT;
    struct kl_digest *kept = full ? realloc(p->kept, more * sizeof *kept) : NULL;
    if (kept) {
        p->kept = kept;
        p->keeps = more;
    }
    return p->keeps ? &p->kept[p->kept_next++ % p->keeps] : NULL;
}

bool kl_lobby_memory_commands(struct kl_lobby_room *r) {
    struct kl_packed_set *more = malloc(KL_SETS_MORE * sizeof *more);
    if (more) kl_lock_give_sets(&r->lock, more);
    return more;
}

bool kl_lobby_memory_past(struct kl_lobby_room *r, const struct kl_frame *f) {
    struct kl_history *h = &r->past.history;
    for (KL_EACH(s, kl_history_wants_pads(h, f))) {
        struct kl_pad *pads = malloc(KL_PIECE_FRAMES * sizeof *pads);
        if (!pads) return false;
        kl_history_give_pads(h, s, pads);
    }
    if (!kl_history_wants_devices(h, f)) return true;
    struct kl_history_devices *devices = malloc(sizeof *devices);
    if (devices) kl_history_give_devices(h, devices);
    return devices;
}

void kl_lobby_memory_past_free(struct kl_lobby_room *r) {
    struct kl_history *h = &r->past.history;
    free(h->devices);
    h->devices = NULL;
    for (KL_EACH(s, h->touched))
        free(h->pad[s]);
    h->touched = 0;
}

bool kl_lobby_memory_take(struct kl_lobby_room *r, unsigned member, uint8_t seats) {
    bool has =
        kl_lobby_members_take(r, member) && take_place(r, member) && take_words(&r->heal.verdicts, member);
    for (unsigned s = 0; s < KL_MAX_SEATS && has; s++)
        if (seats >> s & 1) has = take_seat(r, s);
    return has;
}

struct kl_facts *kl_lobby_memory_facts(const struct kl_facts *f) {
    struct kl_facts *copy = malloc(kl_facts_size(f));
    if (copy) memcpy(copy, f, kl_facts_size(f));
    return copy;
}

bool kl_lobby_memory_ticket(struct kl_lobby_room *r, const uint8_t *sealed, uint32_t len) {
    struct kl_lobby_past *p = &r->past;
    void *ticket = p->ticket && len == p->ticket_len ? p->ticket : realloc(p->ticket, len);
    if (!ticket) return false;
    memcpy(ticket, sealed, len);
    p->ticket = ticket;
    p->ticket_len = len;
    return true;
}

bool kl_lobby_memory_files(struct kl_lobby_room *r) {
    if (!r->start.files) r->start.files = calloc(1, sizeof *r->start.files);
    return r->start.files;
}

bool kl_lobby_memory_bars(struct kl_lobby_room *r) {
    if (!r->door.bar) r->door.bar = malloc((KL_BANS_MAX + KL_TIMED_MAX) * sizeof *r->door.bar);
    return r->door.bar;
}

void kl_lobby_memory_free(struct kl_lobby_room *r) {
    free(r->lock.near.frame);
    free(r->lock.more_commands);
    free(r->heal.verdicts.label);
    free(r->watch.cut);
    free(r->watch.truth);
    free(r->past.ticket);
    free(r->past.kept);
    free(r->door.bar);
    free(r->door.gone);
    free(r->start.ready);
    free(r->start.files);
    free(r->facts);
    free(r->heal.tie);
    kl_lobby_members_free(r);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        free(r->lock.place[i]);
        free(r->heal.verdicts.words[i]);
    }
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        free(r->lock.sample[s].pad);
        free(r->lock.sample[s].devices);
    }
}

uint64_t kl_lobby_memory_bytes(const struct kl_lobby_room *r) {
    const struct kl_lobby_watch *a = &r->watch;
    const struct kl_verdict_table *t = &r->heal.verdicts;
    uint64_t bytes = sizeof *r + (r->lock.more_commands ? KL_SETS_MORE * sizeof *r->lock.more_commands : 0) +
                     t->places * sizeof *t->label + KL_NEAR_FRAMES * sizeof(struct kl_near_frame) +
                     a->cuts * sizeof *a->cut + a->truth_places * sizeof *a->truth +
                     (a->desk ? sizeof *a->desk : 0) + kl_lobby_members_bytes(r) + kl_facts_size(r->facts) +
                     (r->start.ready ? kl_facts_size(r->start.ready) : 0) +
                     (r->start.files ? sizeof *r->start.files : 0) +
                     (r->door.gone ? sizeof *r->door.gone : 0) + r->past.ticket_len +
                     r->past.keeps * sizeof *r->past.kept + (r->heal.tie ? sizeof *r->heal.tie : 0) +
                     (r->door.bar ? (KL_BANS_MAX + KL_TIMED_MAX) * sizeof *r->door.bar : 0);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        bytes += (r->lock.place[i] ? sizeof(struct kl_lock_place) : 0) +
                 (t->words[i] ? WORDS(t) * sizeof *t->words[i] : 0);
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        bytes += (r->lock.sample[s].pad ? SEAT_PLACES * sizeof(struct kl_pad) : 0) +
                 (r->lock.sample[s].devices ? sizeof(struct devices) : 0);
    return bytes + kl_size(r->past.history.touched) * KL_PIECE_FRAMES * sizeof(struct kl_pad) +
           (r->past.history.devices ? sizeof *r->past.history.devices : 0);
}
