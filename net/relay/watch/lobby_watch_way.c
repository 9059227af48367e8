/* A watcher's way to the visible frames, and its healing. net/PROTOCOL.md §7, Watching. way.h decides; this
 * file has the facts and carries the decision out.
 *
 * No snapshot goes out before its frame may be seen. So the room's are held for watchers: the newest that
 * may, and the first one after that. */
#include "net/engine/lock_relay_return.h"
#include "net/relay/heal/lobby_snapshot.h"
#include "net/relay/watch/lobby_watch.h"
#include "net/relay/room/lobby_room.h"

#define HEAL_FRAMES 600     /* a snapshot that is no older brings one back into sync */
#define ORDER_US    5000000 /* between two that are ordered for watchers */

/* --- the snapshots that are offered --- */

/* True if the frames from there on are in history; a watcher has no other source. */
static bool reaches(const struct kl_lobby_room *r, uint32_t from) {
    return !r->past.broken && from >= r->past.history.first && from <= r->past.history.next;
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

/* --- the way of a watcher --- */

/* A watcher that heals has its frames, but they led elsewhere: only a state helps. One order that comes to
 * nothing is enough then, and it begins anew. */
static struct kl_way_facts facts_of(const struct kl_lobby_room *r, const struct kl_way_trip *t) {
    const struct kl_lobby_watch *a = &r->watch;
    const struct kl_lobby_packed *k = a->seen.shot;
    bool states = !t->no_states && !r->past.broken, can_order = kl_lobby_way_has_states(r);
    return (struct kl_way_facts){
        .end = a->end,
        .have = t->heals ? a->end : 0,
        .limit = t->heals ? HEAL_FRAMES : kl_way_limit(0, r->params.fps_uhz, r->lobby->limits.catch_up_s),
        .made = t->made,
        .start = kl_lobby_start_is_kept(r),
        .history = !t->heals && reaches(r, 0),
        .snapshot = k && !t->no_states && reaches(r, k->keyframe) && (!t->heals || k->keyframe >= t->begins),
        .keyframe = k ? k->keyframe : 0,
        .another = states && (a->next.shot || can_order) && !(t->heals && r->shot.failures != t->failures),
        .another_end = a->next.shot ? a->next.shot->keyframe : r->lock.next_close,
    };
}

bool kl_lobby_watch_has_way(const struct kl_lobby_room *r, const struct kl_lobby_watcher *w) {
    struct kl_way_facts f = facts_of(r, &w->v.way);
    return kl_way_choose(&f) != KL_WAY_NONE;
}

static void order(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_watch *a = &r->watch;
    if (a->next.shot || now_us < a->order_us + ORDER_US) return;
    if (kl_lobby_snapshot_order(r, 0, now_us)) a->order_us = now_us;
}

void kl_lobby_watch_way_ahead(struct kl_lobby_room *r, const struct kl_lobby_watcher *w, uint64_t now_us) {
    struct kl_way_facts f = facts_of(r, &w->v.way);
    if (kl_way_choose(&f) == KL_WAY_ORDER) order(r, now_us);
}

/* --- on the way --- */

static void by_history(struct kl_lobby_room *r, struct kl_lobby_watcher *w) {
    w->v.state = KL_MEMBER_PLAYING;
    kl_way_go(&w->v.way);
    kl_lobby_watch_log("way", r, w, "by=history frames_to_run=%u", r->watch.end);
}

/* OFFER goes before the first HISTORY from its keyframe on: both are bulk. */
static void by_snapshot(struct kl_lobby_room *r, struct kl_lobby_watcher *w, struct kl_lobby_packed *k,
                        uint64_t now_us) {
    bool begin = !w->v.way.heals;
    kl_visitor_load(r, &w->v, k, now_us);
    if (begin) w->next = w->acked = w->ran = k->keyframe;
    kl_lobby_watch_log("way", r, w, "by=snapshot heals=%d snapshot=%u bytes=%u packed=%u frames_to_run=%u",
                       w->v.way.heals, k->keyframe, k->bytes, k->len, r->watch.end - k->keyframe);
}

static bool anew(struct kl_lobby_room *r, struct kl_lobby_watcher *w, uint64_t now_us) {
    if (kl_lobby_watch_begin(r, w, now_us)) {
        w->healed = (uint16_t)(w->healed + w->parted);
        w->parted = false;
        kl_visitor_tell(r, &w->v, 0, "it runs the game from the beginning again");
        return true;
    }
    kl_lobby_watch_put_out(r, w, KL_REFUSE_STARTED, "this relay does not keep the game's beginning any more");
    return false;
}

void kl_lobby_watch_look(struct kl_lobby_room *r, struct kl_lobby_watcher *w, uint64_t now_us) {
    if (kl_way_is_late(&w->v.way, now_us)) {
        kl_lobby_watch_put_out(r, w, KL_REFUSE_LIMIT, "the room's state did not reach you in time");
        return;
    }
    if (w->v.way.step != KL_WAY_WAITS) return;
    struct kl_way_facts f = facts_of(r, &w->v.way);
    f.stuck = kl_way_is_stuck(&w->v.way, r->watch.next.shot || r->shot.phase > KL_SHOT_ORDERED, now_us);
    enum kl_way way = kl_way_choose(&f);
    if (way == KL_WAY_SNAPSHOT && kl_lobby_bulk_room(r, w->v.peer) == 0) {
        r->due.bulk = true;
        return;
    }
    switch (way) {
    case KL_WAY_COMING: /* of those that come, watchers may see none */
    case KL_WAY_ORDER: order(r, now_us); break;
    case KL_WAY_HISTORY: by_history(r, w); break;
    case KL_WAY_SNAPSHOT: by_snapshot(r, w, r->watch.seen.shot, now_us); break;
    case KL_WAY_NONE: (void)anew(r, w, now_us); break;
    }
}

static void wait_for_a_way(struct kl_lobby_room *r, struct kl_lobby_watcher *w, bool heals, uint64_t now_us) {
    kl_lobby_fetch_end(r, &w->v.fetch);
    kl_way_set_out(&w->v.way, now_us);
    w->v.way.heals = heals;
    w->v.way.failures = r->shot.failures;
    w->hashes = 0;
    r->due.busy = true;
}

void kl_lobby_watch_set_out(struct kl_lobby_room *r, struct kl_lobby_watcher *w, uint64_t now_us) {
    w->v.state = KL_MEMBER_READY;
    wait_for_a_way(r, w, false, now_us);
    kl_lobby_watch_look(r, w, now_us);
}

/* A watcher that was in sync since its last snapshot is healed by another snapshot. */
bool kl_lobby_watch_heal(struct kl_lobby_room *r, struct kl_lobby_watcher *w, uint64_t now_us) {
    w->v.way.no_states = w->v.way.no_states || w->v.way.unproved;
    w->v.way.made = r->lock.next_close;
    wait_for_a_way(r, w, true, now_us);
    if (!kl_lobby_watch_has_way(r, w)) return anew(r, w, now_us);
    kl_visitor_tell(r, &w->v, 0, "it gets the state of the game, and runs on from there");
    return true;
}

void kl_lobby_watch_healed(struct kl_lobby_room *r, struct kl_lobby_watcher *w, const struct kl_healed *h,
                           uint64_t now_us) {
    static const char *const how[] = {"same", "other", "not"};
    bool healed = w->v.way.heals;
    enum kl_way_loaded loaded = kl_way_loaded(&w->v.way, h);
    if (loaded == KL_WAY_LOADED_NOTHING) return;
    kl_lobby_watch_log("loaded", r, w, "snapshot=%u how=%s", h->keyframe, how[h->how]);
    if (loaded == KL_WAY_NOT_LOADED) {
        (void)anew(r, w, now_us);
        return;
    }
    w->healed_from = h->next;
    w->healed = (uint16_t)(w->healed + healed);
    w->parted = false;
    w->v.way.heals = false;
}
