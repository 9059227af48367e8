/* How a watcher comes to what may be seen of the game, and back into sync with it. net/PROTOCOL.md §7,
 * Watching.
 *
 *     loaded -> by history                     -> sees the game
 *            -> waits for a snapshot -> begins there -> …
 *     out of sync -> waits for a snapshot -> loads it, and runs again what came after -> …
 *                 -> from the beginning, where snapshots are of no use
 *
 * No snapshot goes out before its frame may be seen. So the room's are held for watchers: the newest that
 * may, and the first one after that. */
#include "net/engine/room_return.h"
#include "net/relay/lobby_room.h"

#define PACE        5        /* times the room's: how fast they replay, nothing is known of each */
#define HEAL_FRAMES 600      /* a snapshot that is no older brings one back into sync */
#define ORDER_US    5000000  /* between two that are ordered for watchers */
#define STUCK_US    5000000  /* for a keyframe to come at which the room serializes */
#define LOAD_US     10000000 /* for a snapshot to be loaded, and … */
#define LOAD_LEAST  8192     /* … bytes a second that it is fetched at, at least */

/* --- which snapshots --------------------------------------------------------------------------------------
 */

/* Where the frames that follow it are: in history, and nowhere else for a watcher. */
static bool reaches(const struct kl_lobby_room *r, uint32_t from) {
    return !r->past.broken && from >= r->past.history.first && from <= r->past.history.next;
}

void kl_lobby_watch_drop_shots(struct kl_lobby_room *r) {
    kl_lobby_fetch_end(r, &r->watch.seen);
    kl_lobby_fetch_end(r, &r->watch.next);
}

static void note_newest(struct kl_lobby_room *r) {
    struct kl_lobby_watch *a = &r->watch;
    struct kl_lobby_packed *k = r->shot.kept;
    if (!k || a->next.shot || k->keyframe < a->noted) return;
    a->noted = k->keyframe + 1;
    a->next.shot = k;
    k->refs++;
}

void kl_lobby_watch_shots(struct kl_lobby_room *r) {
    struct kl_lobby_watch *a = &r->watch;
    if (a->count == 0) {
        kl_lobby_watch_drop_shots(r);
        a->noted = 0;
        return;
    }
    note_newest(r);
    if (!a->next.shot || a->next.shot->keyframe > a->end) return;
    kl_lobby_fetch_end(r, &a->seen);
    a->seen = a->next;
    a->next = (struct kl_lobby_fetch){0};
    note_newest(r); /* one that came meanwhile */
}

/* --- which way --------------------------------------------------------------------------------------------
 */

static uint32_t limit_frames(const struct kl_lobby_room *r) {
    double frames = PACE * (r->params.fps_uhz / 1e6) * r->lobby->limits.catch_up_s;
    return frames < UINT32_MAX ? (uint32_t)frames : UINT32_MAX;
}

static struct kl_lobby_packed *usable(const struct kl_lobby_room *r, const struct kl_lobby_watcher *w) {
    struct kl_lobby_packed *k = r->watch.seen.shot;
    bool fits = k && !w->way.no_states && reaches(r, k->keyframe);
    return fits && (!w->way.heals || k->keyframe >= w->way.keyframe) ? k : NULL;
}

static bool from_the_beginning(const struct kl_lobby_room *r) {
    return kl_lobby_start_is_kept(r) && reaches(r, 0);
}

/* Another can be had, and sooner than `frames` are replayed. */
static bool worth_waiting(const struct kl_lobby_room *r, const struct kl_lobby_watcher *w, uint32_t frames) {
    const struct kl_lobby_watch *a = &r->watch;
    bool coming = a->next.shot || kl_lobby_way_has_states(r);
    uint32_t of = a->next.shot ? a->next.shot->keyframe : r->lock.next_close;
    if (w->way.no_states || r->past.broken || !coming) return false;
    return ((uint64_t)of - a->end) * PACE < frames;
}

static enum kl_way way_in(const struct kl_lobby_room *r, const struct kl_lobby_watcher *w, bool stuck) {
    const struct kl_lobby_packed *k = usable(r, w);
    uint32_t end = r->watch.end, limit = limit_frames(r);
    uint32_t frames = k ? end - k->keyframe : from_the_beginning(r) ? end : UINT32_MAX;
    if (!kl_lobby_start_is_kept(r)) return KL_WAY_NONE;
    if (reaches(r, 0) && end <= limit) return KL_WAY_HISTORY;
    if (k && (frames <= limit || k->keyframe >= w->way.came_at)) return KL_WAY_SNAPSHOT;
    if (!stuck && worth_waiting(r, w, frames)) return KL_WAY_ORDER;
    if (k) return KL_WAY_SNAPSHOT;
    return from_the_beginning(r) ? KL_WAY_HISTORY : stuck ? KL_WAY_ORDER : KL_WAY_NONE;
}

/* One order for it that comes to nothing is enough: then it is the beginning. */
static enum kl_way way_back(const struct kl_lobby_room *r, const struct kl_lobby_watcher *w) {
    const struct kl_lobby_packed *k = usable(r, w);
    uint32_t frames = k ? r->watch.end - k->keyframe : UINT32_MAX;
    if (k && (frames <= HEAL_FRAMES || k->keyframe >= w->way.came_at)) return KL_WAY_SNAPSHOT;
    if (r->shot.failures == w->way.failures && worth_waiting(r, w, frames)) return KL_WAY_ORDER;
    return k ? KL_WAY_SNAPSHOT : KL_WAY_NONE;
}

bool kl_lobby_watch_has_way(const struct kl_lobby_room *r, const struct kl_lobby_watcher *w) {
    return way_in(r, w, false) != KL_WAY_NONE;
}

static void order(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_watch *a = &r->watch;
    if (a->next.shot || now_us < a->order_us + ORDER_US) return;
    if (kl_lobby_snapshot_order(r, 0, now_us)) a->order_us = now_us;
}

void kl_lobby_watch_way_ahead(struct kl_lobby_room *r, const struct kl_lobby_watcher *w, uint64_t now_us) {
    if (way_in(r, w, false) == KL_WAY_ORDER) order(r, now_us);
}

/* --- on the way -------------------------------------------------------------------------------------------
 */

static void by_history(struct kl_lobby_room *r, struct kl_lobby_watcher *w) {
    w->state = KL_MEMBER_PLAYING;
    w->way.step = KL_WATCHER_GOES;
    kl_lobby_watch_log("way", r, w, "by=history frames_to_run=%u", r->watch.end);
}

/* OFFER goes before the first HISTORY from its keyframe on: both are bulk. */
static void by_snapshot(struct kl_lobby_room *r, struct kl_lobby_watcher *w, struct kl_lobby_packed *k,
                        uint64_t now_us) {
    bool begin = !w->way.heals;
    (void)kl_lobby_fetch_begin(r, &w->fetch, k, w->peer, begin);
    w->state = KL_MEMBER_PLAYING;
    w->way.step = KL_WATCHER_LOADS;
    w->way.offered = k->keyframe;
    w->way.load_by_us = now_us + LOAD_US + k->len * UINT64_C(1000000) / LOAD_LEAST;
    if (begin) w->next = w->acked = w->ran = w->way.keyframe = k->keyframe;
    kl_lobby_watch_log("way", r, w, "by=snapshot heals=%d snapshot=%u bytes=%u packed=%u frames_to_run=%u",
                       w->way.heals, k->keyframe, k->bytes, k->len, r->watch.end - k->keyframe);
}

static bool anew(struct kl_lobby_room *r, struct kl_lobby_watcher *w, uint64_t now_us) {
    if (kl_lobby_watch_begin(r, w, now_us)) {
        w->healed = (uint16_t)(w->healed + w->parted);
        w->parted = false;
        kl_lobby_watch_tell(r, w, "it runs the game from the beginning again");
        return true;
    }
    kl_lobby_watch_put_out(r, w, KL_REFUSE_STARTED, "this relay does not keep the game's beginning any more");
    return false;
}

void kl_lobby_watch_look(struct kl_lobby_room *r, struct kl_lobby_watcher *w, uint64_t now_us) {
    const struct kl_lobby_net *net = &r->lobby->net;
    if (w->way.step == KL_WATCHER_LOADS && !w->way.heals && now_us >= w->way.load_by_us) {
        kl_lobby_watch_put_out(r, w, KL_REFUSE_LIMIT, "the room's state did not come to you in time");
        return;
    }
    if (w->way.step != KL_WATCHER_WAITS) return;
    bool comes = r->watch.next.shot || r->shot.phase > KL_SHOT_ORDERED;
    bool stuck = now_us >= w->way.since_us + STUCK_US && !comes;
    enum kl_way way = w->way.heals ? way_back(r, w) : way_in(r, w, stuck);
    if (way == KL_WAY_SNAPSHOT && net->bulk_room(net->ctx, w->peer) == 0) {
        r->bulk = true;
        return;
    }
    switch (way) {
    case KL_WAY_ORDER: order(r, now_us); break;
    case KL_WAY_HISTORY: by_history(r, w); break;
    case KL_WAY_SNAPSHOT: by_snapshot(r, w, usable(r, w), now_us); break;
    case KL_WAY_NONE: (void)anew(r, w, now_us); break;
    }
}

static void wait_for_a_way(struct kl_lobby_room *r, struct kl_lobby_watcher *w, bool heals, uint64_t now_us) {
    kl_lobby_fetch_end(r, &w->fetch);
    w->way.step = KL_WATCHER_WAITS;
    w->way.heals = heals;
    w->way.since_us = now_us;
    w->way.failures = r->shot.failures;
    w->hashes = 0;
    r->busy = true;
}

void kl_lobby_watch_set_out(struct kl_lobby_room *r, struct kl_lobby_watcher *w, uint64_t now_us) {
    w->state = KL_MEMBER_READY;
    wait_for_a_way(r, w, false, now_us);
    kl_lobby_watch_look(r, w, now_us);
}

/* Who has been in sync since the last snapshot that he loaded can do with another. */
bool kl_lobby_watch_heal(struct kl_lobby_room *r, struct kl_lobby_watcher *w, uint64_t now_us) {
    w->way.no_states = w->way.no_states || w->way.unproved;
    w->way.came_at = r->lock.next_close;
    wait_for_a_way(r, w, true, now_us);
    if (way_back(r, w) == KL_WAY_NONE) return anew(r, w, now_us);
    kl_lobby_watch_tell(r, w, "it gets the state of the game, and runs on from there");
    return true;
}

void kl_lobby_watch_healed(struct kl_lobby_room *r, struct kl_lobby_watcher *w, const struct kl_healed *h,
                           uint64_t now_us) {
    static const char *const how[] = {"same", "other", "not"};
    struct kl_watcher_way *way = &w->way;
    if (way->step != KL_WATCHER_LOADS || h->keyframe != way->offered) return; /* of one before */
    kl_lobby_watch_log("loaded", r, w, "snapshot=%u how=%s", h->keyframe, how[h->how]);
    if (h->how == KL_HEALED_NOT) {
        way->no_states = true;
        (void)anew(r, w, now_us);
        return;
    }
    w->healed_from = h->next;
    w->healed = (uint16_t)(w->healed + way->heals);
    w->parted = false;
    way->step = KL_WATCHER_GOES;
    way->heals = false;
    way->unproved = true;
}
