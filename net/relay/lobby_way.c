/* How somebody comes to the present of a game under way: who joins, who comes back. net/PROTOCOL.md §7.
 *
 *     (ready, or back) -> by history -> PLAYING
 *                      -> waits for a snapshot -> begins there -> PLAYING, and HEALED when it is loaded
 *                                               <- where it comes to nothing on its way
 *
 * What can be replayed within the limit is replayed, for that avoids every trap of loading a state. Else a
 * recent snapshot and what came after it; where none is recent one is ordered first. */
#include <stdio.h>

#include "net/engine/room_return.h"
#include "net/relay/lobby_room.h"

#define PACE       5       /* times the room's: how fast a machine replays that nothing is known of */
#define STUCK_US   5000000 /* for a keyframe to come at which the room serializes */
#define FAILURES   2 /* to get one, in a row, or of newcomers with one: this room is one without states */
#define LOAD_US    10000000 /* for a snapshot to be loaded, once it is sent, and … */
#define LOAD_LEAST 8192     /* bytes a second that it comes by at least, from who gives it */
#define LEAST_RUN  300      /* frames: of fewer, no speed is to be told */

static uint32_t limit_frames(const struct kl_lobby_room *r, double fps) {
    double frames = (fps > 0 ? fps : PACE * (r->params.fps_uhz / 1e6)) * r->lobby->limits.catch_up_s;
    return frames < UINT32_MAX ? (uint32_t)frames : UINT32_MAX;
}

bool kl_lobby_way_has_states(const struct kl_lobby_room *r) {
    return !r->shot.unfit && r->shot.in_a_row < FAILURES && r->shot.untrue < FAILURES;
}

static bool has_kept(const struct kl_lobby_room *r, uint32_t have) {
    return kl_lobby_snapshot_reaches(r) && r->shot.kept->keyframe > have && r->shot.untrue < FAILURES;
}

/* Where giving it took long, the next one would be no younger. */
static bool is_recent(const struct kl_lobby_room *r, const struct kl_lobby_wish *w, uint32_t limit) {
    uint32_t keyframe = r->shot.kept->keyframe;
    return r->lock.next_close - keyframe <= limit || (w->made && keyframe >= w->made);
}

/* Of what is here now. */
static enum kl_way shorter(const struct kl_lobby_room *r, const struct kl_lobby_wish *w) {
    bool kept = w->states && has_kept(r, w->have);
    if (!kept && kl_lobby_past_reaches(r, w->have)) return KL_WAY_HISTORY;
    return kept ? KL_WAY_SNAPSHOT : KL_WAY_NONE;
}

enum kl_way kl_lobby_way_to_present(const struct kl_lobby_room *r, const struct kl_lobby_wish *w) {
    uint32_t next = r->lock.next_close, limit = limit_frames(r, w->fps);
    if (w->have == 0 && !kl_lobby_start_is_kept(r)) return KL_WAY_NONE;
    if (kl_lobby_past_reaches(r, w->have) && next - w->have <= limit) return KL_WAY_HISTORY;
    if (w->states && has_kept(r, w->have) && is_recent(r, w, limit)) return KL_WAY_SNAPSHOT;
    bool order = w->states && !r->past.broken && kl_lobby_way_has_states(r);
    return order ? KL_WAY_ORDER : shorter(r, w);
}

/* --- on the way -------------------------------------------------------------------------------------------
 */

static struct kl_lobby_wish wish_of(const struct kl_lobby_member *m) {
    return (struct kl_lobby_wish){
        .have = m->way.have, .fps = m->way.fps, .states = !m->way.no_states, .made = m->way.came_at};
}

static void by_history(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[member];
    if (kl_room_return(&r->lock, member, m->way.have, now_us) != KL_OK) return; /* it was asked before */
    m->state = KL_MEMBER_PLAYING;
    kl_lobby_log_member(KL_LOG_INFO, "way", r, member, "by=history frame=%u frames_to_run=%u", m->way.have,
                        r->lock.next_close - m->way.have);
}

/* OFFER goes before the first HISTORY: both are bulk. */
static void by_snapshot(struct kl_lobby_room *r, unsigned member, struct kl_lobby_packed *k,
                        uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[member];
    if (kl_room_return(&r->lock, member, k->keyframe, now_us) != KL_OK) return;
    (void)kl_lobby_fetch_begin(r, &m->fetch, k, m->peer, true);
    kl_lobby_past_returned(r, member, k->interval);
    m->state = KL_MEMBER_PLAYING;
    m->way.loading = m->way.offered = true;
    m->way.keyframe = k->keyframe;
    m->way.load_by_us = now_us + LOAD_US + k->len * UINT64_C(1000000) / LOAD_LEAST;
    kl_lobby_log_member(KL_LOG_INFO, "way", r, member,
                        "by=snapshot frame=%u bytes=%u packed=%u frames_to_run=%u", k->keyframe, k->bytes,
                        k->len, r->lock.next_close - k->keyframe);
}

/* k: with KL_WAY_SNAPSHOT. Who was offered one before has nothing that history could go on from. */
static void go(struct kl_lobby_room *r, unsigned member, enum kl_way way, struct kl_lobby_packed *k,
               uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[member];
    const struct kl_lobby_net *net = &r->lobby->net;
    char text[KL_TEXT_MAX];
    if (way == KL_WAY_SNAPSHOT && net->bulk_room(net->ctx, m->peer) == 0) {
        r->bulk = true;
        return;
    }
    m->way.waits = false;
    m->way.ran_us = 0;
    r->roster_changed = true;
    if (way == KL_WAY_HISTORY && m->way.offered) {
        if (kl_lobby_start_again(r, member, now_us)) return;
        way = KL_WAY_NONE;
    }
    if (way == KL_WAY_HISTORY) by_history(r, member, now_us);
    if (way == KL_WAY_SNAPSHOT) by_snapshot(r, member, k, now_us);
    if (way != KL_WAY_NONE) return;
    kl_lobby_way_closed(r, text, sizeof text);
    kl_lobby_put_out(r, member, KL_REFUSE_STARTED, text, now_us);
}

/* The one that comes up just now: it can go on at once. */
static struct kl_lobby_packed *coming(const struct kl_lobby_room *r, const struct kl_lobby_wish *w) {
    struct kl_lobby_packed *k = r->shot.phase == KL_SHOT_GIVING ? r->shot.coming : NULL;
    return k && k->keyframe > w->have && kl_lobby_past_reaches(r, k->keyframe) ? k : NULL;
}

/* A room that stands still serializes nothing: then it is what there is, or the newcomer waits as well. */
static void look_again(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    const struct kl_lobby_member *m = &r->member[member];
    struct kl_lobby_wish w = wish_of(m);
    struct kl_lobby_packed *k = r->shot.kept;
    enum kl_way way = kl_lobby_way_to_present(r, &w);
    if (way == KL_WAY_ORDER && coming(r, &w)) {
        k = coming(r, &w);
        way = KL_WAY_SNAPSHOT;
    } else if (way == KL_WAY_ORDER) {
        (void)kl_lobby_snapshot_order(r, 0, now_us);
        bool stuck = now_us >= m->way.since_us + STUCK_US && r->shot.phase <= KL_SHOT_ORDERED;
        way = stuck ? shorter(r, &w) : KL_WAY_NONE;
        if (way == KL_WAY_NONE) return;
    }
    go(r, member, way, k, now_us);
}

static void set_out(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[member];
    kl_room_cut(&r->lock, member, now_us); /* it gets nothing before its way is known */
    kl_lobby_fetch_end(r, &m->fetch);
    m->state = KL_MEMBER_READY;
    m->way.waits = true;
    m->way.loading = false;
    m->way.since_us = now_us;
    look_again(r, member, now_us);
}

void kl_lobby_set_out(struct kl_lobby_room *r, unsigned member, uint32_t have, uint64_t now_us) {
    struct kl_lobby_way *w = &r->member[member].way;
    w->have = have;
    w->offered = false;
    if (have > 0) w->came_at = r->lock.next_close;
    set_out(r, member, now_us);
}

void kl_lobby_way_ahead(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[member];
    m->way = (struct kl_lobby_way){
        .fps = m->way.fps, .no_states = m->way.no_states, .came_at = r->lock.next_close};
    struct kl_lobby_wish w = wish_of(m);
    if (kl_lobby_way_to_present(r, &w) == KL_WAY_ORDER) (void)kl_lobby_snapshot_order(r, 0, now_us);
}

void kl_lobby_way_loaded(struct kl_lobby_room *r, unsigned member, const struct kl_healed *h,
                         uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[member];
    if (!m->way.loading || h->keyframe != m->way.keyframe) return;
    m->way.loading = false;
    m->late.looked_us = 0;
    if (h->how != KL_HEALED_NOT) return;
    m->way.no_states = true;
    kl_room_cut(&r->lock, member, now_us);
    if (!kl_lobby_start_again(r, member, now_us))
        kl_lobby_put_out(r, member, KL_REFUSE_STARTED,
                         "the room's state could not be loaded on this machine, and this relay does not keep "
                         "the game's beginning any more",
                         now_us);
}

bool kl_lobby_way_untrue(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[member];
    struct kl_lobby_wish w = {0};
    if (m->way.keyframe == 0 || m->way.no_states || shorter(r, &w) != KL_WAY_HISTORY) return false;
    if (!kl_lobby_start_is_kept(r)) return false;
    r->shot.untrue++;
    m->way.no_states = true;
    kl_lobby_log_member(KL_LOG_INFO, "way_untrue", r, member, "snapshot=%u", m->way.keyframe);
    kl_lobby_notice(r,
                    "%s is not in sync by the room's state: this core's states do not hold all of it; %s "
                    "runs all from the beginning",
                    m->name, m->name);
    kl_room_cut(&r->lock, member, now_us);
    return kl_lobby_start_again(r, member, now_us);
}

bool kl_lobby_way_anew(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[member];
    struct kl_lobby_wish w = {0};
    if (!kl_lobby_start_is_kept(r) || kl_lobby_way_to_present(r, &w) != KL_WAY_HISTORY) return false;
    m->way.no_states = true;
    kl_room_cut(&r->lock, member, now_us);
    return kl_lobby_start_again(r, member, now_us);
}

/* How fast it replays, for the next time. */
static void measure(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    struct kl_lobby_way *w = &r->member[member].way;
    uint32_t ran = r->lock.next_close - kl_lobby_behind(r, member);
    uint32_t from = w->keyframe > w->have ? w->keyframe : w->have;
    if (w->ran_us == 0 && ran > from) {
        w->ran_us = now_us;
        w->ran_from = ran;
    }
    if (w->ran_us && ran >= w->ran_from + LEAST_RUN && now_us > w->ran_us &&
        kl_room_fetching(&r->lock, member))
        w->fps = (ran - w->ran_from) * 1e6 / (double)(now_us - w->ran_us);
}

void kl_lobby_way_run(struct kl_lobby_room *r, uint64_t now_us) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        struct kl_lobby_member *m = &r->member[i];
        if (!kl_lobby_reaches(m)) continue;
        if (m->way.waits) look_again(r, i, now_us);
        if (!kl_lobby_reaches(m) || m->state != KL_MEMBER_PLAYING) continue;
        if (m->way.loading && m->fetch.shot && m->fetch.shot->failed)
            set_out(r, i, now_us); /* nobody gave it: another is to be made */
        else if (m->way.loading && now_us >= m->way.load_by_us)
            kl_lobby_put_out(r, i, KL_REFUSE_LIMIT, "the room's state did not come to you in time", now_us);
        else if (!m->way.loading)
            measure(r, i, now_us);
    }
}

void kl_lobby_way_left(struct kl_lobby_room *r, unsigned member) {
    struct kl_lobby_way *w = &r->member[member].way;
    w->waits = w->loading = false;
}

/* --- when there is none -----------------------------------------------------------------------------------
 */

bool kl_lobby_way_closed(const struct kl_lobby_room *r, char *why, size_t cap) {
    struct kl_lobby_wish w = {.states = true};
    const char *states = r->shot.unfit ? "its core gives no state to begin from"
                                       : "its machines have no state in common to begin from";
    snprintf(why, cap,
             "room %s has played for too long: this relay does not keep its beginning any more, and %s",
             r->name, kl_lobby_start_is_kept(r) ? states : "not its saves either");
    return kl_lobby_way_to_present(r, &w) == KL_WAY_NONE;
}
