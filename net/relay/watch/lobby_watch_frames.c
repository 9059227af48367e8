/* Frames for watchers. A *cut* notes the time at which the game stood before frame `end`; watchers may see
 * the frames below after the delay. A cut is made at the end of an interval, at most ten a second. */
#include <string.h>

#include "net/engine/lock_relay_return.h"
#include "net/relay/room/lobby_room.h"
#include "net/relay/watch/lobby_watch.h"

#define CUT_US  100000 /* between two cuts */
#define LATE_US 250000 /* after so long a cut is made within an interval too */
/* Watchers' frames are due so much later than the players', for batches, their way and a lost one; besides
 * the longest interval. */
#define SLACK_US          300000
#define IDLE_US           500000 /* between UPDATEs while nothing comes */
#define PIECES            8      /* of history, for one watcher in one turn */
#define ROSTERS_UNDER_WAY 32

/* --- visible frames --- */

static uint64_t cut_us(const struct kl_lobby_watch *a, const struct kl_watch_cut *c) {
    return a->cut_base_us + c->at_ms * UINT64_C(1000);
}

static void make_cut(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_watch *a = &r->watch;
    const struct kl_watch_cut *last = &a->cut[(a->cut_next - 1) % a->cuts];
    bool first = a->cut_next == 0;
    uint64_t since_us = first ? LATE_US : now_us - cut_us(a, last);
    if (r->report.spacing > a->spacing) a->spacing = r->report.spacing;
    if (!first && last->end == r->past.history.next) return;
    bool interval_ends = r->lock.now.first == r->past.history.next;
    if (since_us >= LATE_US || (since_us >= CUT_US && interval_ends)) {
        if (a->cut_first == a->cut_next) a->cut_base_us = now_us;
        if (a->cut_next - a->cut_first == a->cuts) a->cut_first++; /* never younger than the longest delay */
        struct kl_watch_cut *c = &a->cut[a->cut_next++ % a->cuts];
        double line_us = kl_schedule_line_us(&r->lock.schedule, r->past.history.next);
        c->end = r->past.history.next;
        c->at_ms = (uint32_t)((now_us - a->cut_base_us) / 1000);
        c->line_us = (int32_t)(line_us - (double)(a->cut_base_us + c->at_ms * UINT64_C(1000)));
    }
}

void kl_lobby_watch_see(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_watch *a = &r->watch;
    if (r->phase != KL_ROOM_PLAYING || r->past.broken) return;
    if (a->cut_next == 0) {
        /* A room that was made again does not know when its frames closed: not more of them within the delay
         * than its clock allows. */
        uint64_t hidden = (uint64_t)r->watch.delay_s * r->lock.params.fps_uhz / 980000;
        if (r->params.clocked && r->past.history.next > hidden)
            r->watch.end = r->past.history.next - (uint32_t)hidden;
    }
    make_cut(r, now_us);
    uint64_t delay_us = a->delay_s * UINT64_C(1000000);
    while (a->cut_first != a->cut_next) {
        const struct kl_watch_cut *c = &a->cut[a->cut_first % a->cuts];
        if (now_us < cut_us(a, c) + delay_us) return;
        if (c->end > a->end) {
            a->end = c->end;
            a->line_us = (int64_t)cut_us(a, c) + c->line_us;
            a->batch++;
        }
        if (a->cut_first + 1 == a->cut_next) return; /* the newest stays, for make_cut() */
        a->cut_first++;
    }
}

/* --- frames --- */

/* True if something went out. */
static bool send_frames(struct kl_lobby_room *r, struct kl_lobby_watcher *w, bool *more) {
    unsigned sent = 0;
    while (w->next < r->watch.end && w->next < w->ran + KL_HISTORY_AHEAD) {
        struct kl_visitor_piece *p = &r->watch.desk->piece;
        *more = *more || kl_lobby_bulk_room(r, w->v.peer) == 0 || sent == PIECES;
        if (*more || !kl_visitor_send_history(r, &w->v, p, w->next, r->watch.end)) break;
        if (w->caught_up) kl_lobby_cost_stream(r->lobby, w->v.peer, p->past.len);
        w->next = p->end;
        sent++;
    }
    return sent > 0;
}

/* --- the clock --- */

static int64_t shift_us(const struct kl_lobby_room *r) {
    double longest_us = r->watch.spacing * 1e12 / r->lock.params.fps_uhz;
    return r->watch.delay_s * INT64_C(1000000) + SLACK_US + (int64_t)longest_us;
}

/* Sends an UPDATE without frames, for the clock and as a sign of life. */
static void send_update(struct kl_lobby_room *r, struct kl_lobby_watcher *w, uint64_t now_us) {
    const struct kl_lobby_net *net = &r->lobby->net;
    const struct kl_lobby_watch *a = &r->watch;
    uint8_t body[KL_DATAGRAM_MAX];
    bool live = r->phase == KL_ROOM_PLAYING && a->delay_s == 0;
    struct kl_update u = {.stamp = (uint32_t)now_us,
                          .has_echo = w->heard,
                          .echo = w->stamp,
                          .hold_us = (uint32_t)(now_us - w->heard_at_us),
                          .paused = r->lock.paused && a->end == r->lock.next_close,
                          .waiting_for = live ? kl_lock_waiting_for(&r->lock) : 0,
                          .away = live ? kl_lock_away(&r->lock) : 0,
                          .has_schedule = a->batch > 0 && r->params.clocked,
                          .first = a->end};
    if (u.has_schedule) u.due_us = a->line_us + shift_us(r) - (int64_t)now_us;
    size_t len = kl_update_write(&u, NULL, body, sizeof body);
    if (len) net->datagram(net->ctx, w->v.peer, body, len);
    w->update_us = now_us;
    w->batch = a->batch;
}

/* --- a watcher --- */

static bool tell(struct kl_lobby_room *r, struct kl_lobby_watcher *w) {
    struct kl_lobby_watch *a = &r->watch;
    if (w->roster == a->roster && w->notices == a->notices) return false;
    if (kl_lobby_is_behind(r, w->v.peer, ROSTERS_UNDER_WAY)) return false; /* later: the newest roster then */
    struct kl_msg m = {.kind = KL_MSG_ROSTER, .roster = a->desk->now};
    if (w->roster != a->roster) kl_lobby_send(r->lobby, w->v.peer, &m);
    w->roster = a->roster;
    if (a->notices - w->notices > KL_WATCH_NOTICES) w->notices = a->notices - KL_WATCH_NOTICES;
    for (m.kind = KL_MSG_NOTICE; w->notices != a->notices; w->notices++) {
        m.text = a->desk->notice[w->notices % KL_WATCH_NOTICES];
        kl_lobby_send(r->lobby, w->v.peer, &m);
    }
    return true;
}

bool kl_lobby_watch_serve(struct kl_lobby_room *r, struct kl_lobby_watcher *w, uint64_t now_us, bool *more) {
    bool update = now_us >= w->update_us + IDLE_US;
    bool sent = tell(r, w);
    if (w->v.state == KL_MEMBER_LOADING) {
        uint32_t before = w->v.sent;
        *more = kl_visitor_send_start(r, &w->v, now_us) || *more;
        sent = sent || w->v.sent > before;
    }
    if (w->v.state == KL_MEMBER_PLAYING) {
        update = update || w->batch != r->watch.batch;
        bool before = w->v.fetch.snapshot;
        *more = kl_visitor_send_snapshot(r, &w->v) || *more;
        kl_visitor_send_seal(r, &w->v, w->acked);
        sent = send_frames(r, w, more) || before || sent;
    }
    if (update) send_update(r, w, now_us);
    return sent || update;
}

/* A watcher's samples, needs and flags are ignored. */
void kl_lobby_watch_datagram(struct kl_lobby_room *r, struct kl_lobby_watcher *w, const uint8_t *body,
                             size_t len, uint64_t now_us) {
    struct kl_ctrl c;
    if (kl_ctrl_open(&c, 0, 0, body, len) != KL_OK || c.frame_acked > r->watch.end) {
        if (++w->v.malformed == r->lobby->limits.malformed)
            kl_lobby_watch_put_out(r, w, KL_REFUSE_PROTOCOL, "protocol error: malformed input datagrams");
        return;
    }
    w->v.malformed = 0;
    if (w->heard && (int32_t)(c.stamp - w->stamp) < 0) return;
    if (w->v.state != KL_MEMBER_PLAYING) w->update_us = 0; /* an answer, so that it learns the round trip */
    w->heard = true;
    w->stamp = c.stamp;
    w->heard_at_us = now_us;
    if (c.frame_acked > w->next || c.frame_acked < w->v.catchup.begins) return; /* of before it began here */
    w->acked = c.frame_acked;
    w->ran = c.frame_acked - c.backlog;
    uint64_t slack_frames = (uint64_t)((double)shift_us(r) * r->lock.params.fps_uhz / 1e12);
    if (w->caught_up || w->v.state != KL_MEMBER_PLAYING || w->v.catchup.step) return;
    if (w->ran + slack_frames < r->watch.end) return;
    w->caught_up = true;
    char name[KL_LOG_QUOTED(KL_NAME_MAX)];
    kl_lobby_log_room(KL_LOG_INFO, "caught_up", r, "client=watcher name=%s frame=%u took_ms=%llu from=%u",
                      kl_log_quote(name, sizeof name, w->v.name), w->ran,
                      (unsigned long long)(now_us - w->v.waited_us) / 1000, w->v.catchup.begins);
}
