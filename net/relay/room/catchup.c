#include "net/relay/room/catchup.h"

#include <stdio.h>

#include "net/relay/room/lobby_room.h"

#define PACE       5        /* times the room's: how fast a machine replays if nothing is known of it */
#define STUCK_US   5000000  /* for a keyframe to come at which the room serializes */
#define LOAD_US    10000000 /* for a snapshot to be loaded, once it is offered */
#define LOAD_LEAST 8192     /* bytes a second at which a snapshot comes, at least */
#define BACK_US    30000000 /* for a client to load its own state and to run the frames since again */
/* To get a snapshot, in a row, or of newcomers with one: the room counts as without states. */
#define FAILURES    2
#define HEAL_FRAMES 600 /* a snapshot that is no older brings a watcher back into sync */

enum kl_catchup_by kl_catchup_choose(const struct kl_catchup_facts *f) {
    if (f->have == 0 && !f->start) return KL_CATCHUP_NONE;
    if (f->history && f->end - f->have <= f->limit) return KL_CATCHUP_HISTORY;
    /* A snapshot that took long to give is as old as the next one would be. */
    uint32_t frames = f->snapshot ? f->end - f->keyframe : f->history ? f->end - f->have : UINT32_MAX;
    bool recent = frames <= f->limit || (f->made && f->keyframe >= f->made);
    if (f->snapshot && recent) return KL_CATCHUP_SNAPSHOT;
    bool worth_it = f->another && ((uint64_t)f->another_end - f->end) * PACE < frames;
    if (worth_it && f->coming) return KL_CATCHUP_COMING;
    if (worth_it && !f->stuck) return KL_CATCHUP_ORDER;
    if (f->snapshot) return KL_CATCHUP_SNAPSHOT;
    if (f->history) return KL_CATCHUP_HISTORY;
    return worth_it ? KL_CATCHUP_ORDER : KL_CATCHUP_NONE; /* a room that stands still serializes nothing */
}

uint32_t kl_catchup_limit(double fps, uint32_t room_uhz, unsigned seconds) {
    double frames = (fps > 0 ? fps : PACE * (room_uhz / 1e6)) * seconds;
    return frames < UINT32_MAX ? (uint32_t)frames : UINT32_MAX;
}

void kl_catchup_set_out(struct kl_catchup *t, uint64_t now_us) {
    t->step = KL_CATCHUP_WAITS;
    t->since_us = now_us;
}

bool kl_catchup_is_stuck(const struct kl_catchup *t, bool comes, uint64_t now_us) {
    return t->step == KL_CATCHUP_WAITS && !comes && now_us >= t->since_us + STUCK_US;
}

void kl_catchup_go(struct kl_catchup *t) {
    t->step = KL_CATCHUP_GOES;
}

void kl_catchup_load(struct kl_catchup *t, uint32_t keyframe, uint32_t packed, uint64_t now_us) {
    t->step = KL_CATCHUP_LOADS;
    t->offered = true;
    t->keyframe = keyframe;
    if (!t->heals) t->begins = keyframe;
    t->load_by_us = now_us + LOAD_US + packed * UINT64_C(1000000) / LOAD_LEAST;
}

void kl_catchup_back(struct kl_catchup *t, uint32_t keyframe, uint64_t now_us) {
    t->step = KL_CATCHUP_BACK;
    t->keyframe = keyframe;
    t->load_by_us = now_us + BACK_US;
}

bool kl_catchup_is_late(const struct kl_catchup *t, uint64_t now_us) {
    bool timed = t->step == KL_CATCHUP_BACK || (t->step == KL_CATCHUP_LOADS && !t->heals);
    return timed && now_us >= t->load_by_us;
}

enum kl_catchup_loaded kl_catchup_loaded(struct kl_catchup *t, const struct kl_healed *h) {
    bool back = t->step == KL_CATCHUP_BACK;
    if ((!back && t->step != KL_CATCHUP_LOADS) || h->keyframe != t->keyframe)
        return KL_CATCHUP_LOADED_NOTHING;
    t->step = KL_CATCHUP_GOES;
    if (back)
        return h->how == KL_HEALED_NOT || h->next != t->keyframe ? KL_CATCHUP_NOT_BACK : KL_CATCHUP_IS_BACK;
    if (h->how == KL_HEALED_NOT) {
        t->no_states = true;
        return KL_CATCHUP_NOT_LOADED;
    }
    t->unproved = true;
    return KL_CATCHUP_LOADED;
}

/* --- of a room that plays --- */

bool kl_lobby_catchup_has_states(const struct kl_lobby_room *r) {
    return !r->snapshot.unfit && r->snapshot.in_a_row < FAILURES && r->snapshot.begins_apart < FAILURES;
}

bool kl_lobby_catchup_has_beginning(const struct kl_lobby_room *r) {
    return kl_lobby_start_is_kept(r) && kl_lobby_past_reaches(r, 0);
}

/* A watcher has no other source than the history. */
static bool reaches(const struct kl_lobby_room *r, const struct kl_catchup *t, uint32_t from) {
    return kl_lobby_past_reaches(r, from) && !(t->watches && r->past.broken);
}

/* The snapshot that comes up just now, if it can be sent on at once. Watchers may see none of those. */
static struct kl_lobby_packed *coming(const struct kl_lobby_room *r, const struct kl_catchup *t) {
    struct kl_lobby_packed *k = r->snapshot.phase == KL_SNAPSHOT_GIVING ? r->snapshot.coming : NULL;
    bool good = k && !r->snapshot.made && !t->watches && k->keyframe > t->have;
    return good && kl_lobby_past_reaches(r, k->keyframe) ? k : NULL;
}

struct kl_lobby_packed *kl_lobby_catchup_snapshot(const struct kl_lobby_room *r, const struct kl_catchup *t,
                                                  enum kl_catchup_by by) {
    if (by == KL_CATCHUP_COMING) return coming(r, t);
    return t->watches ? r->watch.seen.snapshot : r->snapshot.kept;
}

static bool snapshot_helps(const struct kl_lobby_room *r, const struct kl_catchup *t,
                           const struct kl_lobby_packed *k) {
    if (!k || t->no_states || !reaches(r, t, k->keyframe)) return false;
    if (t->heals) return k->keyframe >= t->begins;
    return k->keyframe > t->have && (t->watches || r->snapshot.begins_apart < FAILURES);
}

/* A watcher that heals has its frames, but they led elsewhere: only a state helps. One order that comes to
 * nothing is enough then, and it begins anew. */
struct kl_catchup_facts kl_lobby_catchup_facts(const struct kl_lobby_room *r, const struct kl_catchup *t) {
    const struct kl_lobby_packed *k = kl_lobby_catchup_snapshot(r, t, KL_CATCHUP_SNAPSHOT);
    const struct kl_lobby_packed *next = t->watches ? r->watch.next.snapshot : NULL;
    uint32_t end = t->watches ? r->watch.end : r->lock.next_close;
    uint32_t limit = kl_catchup_limit(t->fps, r->params.fps_uhz, r->lobby->limits.catch_up_s);
    bool failed = t->heals && r->snapshot.failures != t->failures;
    return (struct kl_catchup_facts){
        .end = end,
        .have = t->heals ? end : t->have,
        .limit = t->heals ? HEAL_FRAMES : limit,
        .made = t->made,
        .start = kl_lobby_start_is_kept(r),
        .history = !t->heals && reaches(r, t, t->have),
        .snapshot = snapshot_helps(r, t, k),
        .keyframe = k ? k->keyframe : 0,
        .coming = coming(r, t),
        .another = !t->no_states && !r->past.broken && (next || kl_lobby_catchup_has_states(r)) && !failed,
        .another_end = next ? next->keyframe : r->lock.next_close,
    };
}

enum kl_catchup_by kl_lobby_catchup_by(const struct kl_lobby_room *r, const struct kl_catchup *t) {
    struct kl_catchup_facts f = kl_lobby_catchup_facts(r, t);
    return kl_catchup_choose(&f);
}

bool kl_lobby_catchup_closed(const struct kl_lobby_room *r, bool consents, char *why, size_t cap) {
    const struct kl_catchup t = {.no_states = !consents};
    const char *states = !consents ? "you load no state of other players (trust = on, if you know them)"
                         : r->snapshot.unfit ? "its core gives no state to begin from"
                                             : "its machines have no state in common to begin from";
    snprintf(why, cap,
             "room %s has played for too long: this relay does not keep its beginning any more, and %s",
             r->name, kl_lobby_start_is_kept(r) ? states : "not its saves either");
    return kl_lobby_catchup_by(r, &t) == KL_CATCHUP_NONE;
}
