
#include <stdio.h>

#include "net/engine/lock_relay_return.h"
#include "net/relay/heal/lobby_heal.h"

#define LEAST_RUN 300     /* frames: fewer tell no speed */
#define ORDER_US  5000000 /* between two snapshots that are ordered for watchers */

static const struct kl_text *refuse(enum kl_refuse code, const char *text) {
    static struct kl_text why;
    why.code = (uint8_t)code;
    kl_copy_cut(why.text, sizeof why.text, text);
    return &why;
}

/* --- the snapshots that watchers are offered --- */

/* No snapshot goes to a watcher before its frame may be seen. So the room's are held: the newest that may,
 * and the first one after that. */
static void note_newest(struct kl_lobby_room *r) {
    struct kl_lobby_watch *a = &r->watch;
    struct kl_lobby_packed *k = r->snapshot.kept;
    if (!k || a->next.snapshot || k->keyframe < a->noted) return;
    a->noted = k->keyframe + 1;
    a->next.snapshot = k;
    k->refs++;
}

void kl_lobby_watch_drop_snapshots(struct kl_lobby_room *r) {
    kl_lobby_fetch_end(r, &r->watch.seen);
    kl_lobby_fetch_end(r, &r->watch.next);
}

void kl_lobby_watch_snapshots(struct kl_lobby_room *r) {
    struct kl_lobby_watch *a = &r->watch;
    if (a->count == 0) {
        kl_lobby_watch_drop_snapshots(r);
        a->noted = 0;
        return;
    }
    note_newest(r);
    if (!a->next.snapshot || a->next.snapshot->keyframe > a->end) return;
    kl_lobby_fetch_end(r, &a->seen);
    a->seen = a->next;
    a->next = (struct kl_lobby_fetch){0};
    note_newest(r); /* one that came meanwhile */
}

static void order(struct kl_lobby_room *r, bool watches, uint64_t now_us) {
    struct kl_lobby_watch *a = &r->watch;
    if (watches && (a->next.snapshot || now_us < a->order_us + ORDER_US)) return;
    if (kl_lobby_snapshot_order(r, 0, now_us) && watches) a->order_us = now_us;
}

/* --- from the beginning --- */

bool kl_visitor_begin(struct kl_lobby_room *r, struct kl_visitor *v, uint64_t now_us) {
    const struct kl_catchup t = {.watches = v->catchup.watches,
                                 .fps = v->catchup.fps,
                                 .no_states = v->catchup.no_states,
                                 .made = r->lock.next_close};
    if (kl_lobby_catchup_by(r, &t) == KL_CATCHUP_NONE) return false;
    kl_lobby_fetch_end(r, &v->fetch);
    if (t.watches) {
        struct kl_lobby_watcher *w = kl_visitor_watcher(v);
        w->next = w->acked = w->ran = w->healed_from = 0;
        w->hashes = 0;
        w->caught_up = false;
    } else {
        struct kl_lobby_member *m = r->member[kl_visitor_member(v)];
        m->heal.has_loaded = false; /* its core begins anew */
        m->checked = false;
        r->talk.roster_changed = true;
        kl_lobby_snapshot_again(r, kl_visitor_member(v), now_us);
    }
    v->catchup = t;
    if (kl_lobby_catchup_by(r, &t) == KL_CATCHUP_ORDER) order(r, t.watches, now_us);
    kl_visitor_wait_anew(v, now_us);
    kl_visitor_prepare(r, v, false, now_us);
    return true;
}

static const struct kl_text *begin_or_go(struct kl_lobby_room *r, struct kl_visitor *v, enum kl_refuse code,
                                         const char *why, uint64_t now_us) {
    if (!kl_visitor_begin(r, v, now_us)) return refuse(code, why);
    if (!v->catchup.watches) return NULL;
    struct kl_lobby_watcher *w = kl_visitor_watcher(v);
    w->healed = (uint16_t)(w->healed + w->parted);
    w->parted = false;
    kl_visitor_tell(r, v, 0, "it runs the game from the beginning again");
    return NULL;
}

void kl_visitor_anew(struct kl_lobby_room *r, struct kl_visitor *v, bool apart, uint64_t now_us) {
    unsigned member = kl_visitor_member(v);
    v->catchup.no_states = true;
    if (apart) {
        const struct kl_name_shown name = kl_lobby_name(r, member);
        r->snapshot.begins_apart++;
        kl_lobby_log_member(KL_LOG_INFO, "catch_up_apart", r, member, "snapshot=%u", v->catchup.begins);
        kl_lobby_notice(r,
                        "%s is still out of sync, since this core's states are incomplete: %s "
                        "replays the game",
                        name.text, name.text);
    }
    kl_lock_cut(&r->lock, member, now_us);
    (void)kl_visitor_begin(r, v, now_us);
}

/* --- catching up --- */

static const struct kl_text *by_history(struct kl_lobby_room *r, struct kl_visitor *v, uint64_t now_us) {
    const struct kl_catchup *t = &v->catchup;
    uint32_t frames = (t->watches ? r->watch.end : r->lock.next_close) - t->have;
    if (!t->watches && kl_lock_return(&r->lock, kl_visitor_member(v), t->have, now_us) != KL_OK)
        return NULL; /* it was asked before */
    v->state = KL_MEMBER_PLAYING;
    kl_visitor_log("catch_up", r, v, "by=history from=%u frames_to_run=%u", t->have, frames);
    if (!t->watches && r->snapshot.in_a_row && frames > LEAST_RUN)
        kl_visitor_tell(r, v, 0, "no state to be had (%s): you run the match from frame %u on",
                        r->snapshot.failed_why, t->have);
    return NULL;
}

/* OFFER goes before the first HISTORY from its keyframe on: both are bulk. */
static const struct kl_text *by_snapshot(struct kl_lobby_room *r, struct kl_visitor *v,
                                         struct kl_lobby_packed *k, uint64_t now_us) {
    struct kl_catchup *t = &v->catchup;
    uint32_t end = t->watches ? r->watch.end : r->lock.next_close;
    if (!t->watches && kl_lock_return(&r->lock, kl_visitor_member(v), k->keyframe, now_us) != KL_OK)
        return NULL;
    (void)kl_visitor_offer(r, v, k, !t->heals);
    kl_catchup_load(t, k->keyframe, k->len, now_us);
    v->state = KL_MEMBER_PLAYING;
    struct kl_lobby_watcher *w = kl_visitor_watcher(v);
    if (t->watches && !t->heals) w->next = w->acked = w->ran = k->keyframe;
    kl_visitor_log("catch_up", r, v, "by=snapshot heals=%d snapshot=%u bytes=%u packed=%u frames_to_run=%u",
                   t->heals, k->keyframe, k->bytes, k->len, end - k->keyframe);
    return NULL;
}

static const struct kl_text *turn_away(struct kl_lobby_room *r, struct kl_visitor *v, uint64_t now_us) {
    char text[KL_TEXT_MAX];
    if (v->catchup.watches)
        return begin_or_go(r, v, KL_REFUSE_STARTED, "this relay does not keep the game's beginning any more",
                           now_us);
    kl_lobby_catchup_closed(r, r->member[kl_visitor_member(v)]->consents, text, sizeof text);
    return refuse(KL_REFUSE_STARTED, text);
}

static const struct kl_text *go(struct kl_lobby_room *r, struct kl_visitor *v, enum kl_catchup_by by,
                                uint64_t now_us) {
    struct kl_catchup *t = &v->catchup;
    bool snapshot = by == KL_CATCHUP_SNAPSHOT || by == KL_CATCHUP_COMING;
    if (snapshot && kl_lobby_bulk_room(r, v->peer) == 0) {
        kl_lobby_busy(r);
        return NULL;
    }
    kl_catchup_go(t);
    if (!t->watches) {
        r->member[kl_visitor_member(v)]->ran_us = 0;
        r->talk.roster_changed = true;
    }
    if (snapshot) return by_snapshot(r, v, kl_lobby_catchup_snapshot(r, t, by), now_us);
    if (by == KL_CATCHUP_NONE) return turn_away(r, v, now_us);
    if (!t->offered) return by_history(r, v, now_us);
    /* A client that was offered a snapshot before has nothing that history could go on from. */
    return kl_visitor_begin(r, v, now_us) ? NULL : turn_away(r, v, now_us);
}

/* A player who has the game's state, or may come back with it. */
static bool somebody_can_give(const struct kl_lobby_room *r) {
    for (KL_MEMBERS(i, r, kl_lobby_has_seat))
        if (r->member[i]->v.state == KL_MEMBER_PLAYING) return true;
    return false;
}

/* A snapshot is made at a keyframe, and a strict room that waits for this client comes to none: it goes on
 * without it, as without a newcomer. */
static void go_on_without(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    bool strict = r->lock.params.policy == KL_POLICY_STRICT;
    if (!strict || !r->member[member]->seats || kl_lock_joining(&r->lock, member)) return;
    (void)kl_lock_reseat(&r->lock, member, r->member[member]->seats, now_us);
}

static const struct kl_text *look(struct kl_lobby_room *r, struct kl_visitor *v, uint64_t now_us) {
    const struct kl_catchup *t = &v->catchup;
    struct kl_catchup_facts f = kl_lobby_catchup_facts(r, t);
    bool comes = r->snapshot.phase > KL_SNAPSHOT_ORDERED || (t->watches && r->watch.next.snapshot);
    f.stuck = kl_catchup_is_stuck(t, comes, now_us);
    enum kl_catchup_by by = kl_catchup_choose(&f);
    if (by == KL_CATCHUP_ORDER && f.stuck && !t->watches) {
        if (!somebody_can_give(r)) return go(r, v, KL_CATCHUP_NONE, now_us);
        go_on_without(r, kl_visitor_member(v), now_us);
    }
    if (by != KL_CATCHUP_ORDER) return go(r, v, by, now_us);
    order(r, t->watches, now_us);
    return NULL;
}

static void wait_to_catch_up(struct kl_lobby_room *r, struct kl_visitor *v, bool heals, uint64_t now_us) {
    kl_lobby_fetch_end(r, &v->fetch);
    kl_catchup_set_out(&v->catchup, now_us);
    v->catchup.heals = heals;
    v->catchup.failures = r->snapshot.failures;
    if (!heals) v->state = KL_MEMBER_READY;
    if (v->catchup.watches) {
        kl_visitor_watcher(v)->hashes = 0;
        kl_lobby_busy(r);
    } else {
        kl_lock_cut(&r->lock, kl_visitor_member(v), now_us); /* it gets nothing until it catches up */
    }
}

const struct kl_text *kl_visitor_set_out(struct kl_lobby_room *r, struct kl_visitor *v, uint32_t have,
                                         uint64_t now_us) {
    v->catchup.have = have;
    v->catchup.offered = false;
    if (have > 0) v->catchup.made = r->lock.next_close;
    wait_to_catch_up(r, v, false, now_us);
    return look(r, v, now_us);
}

const struct kl_text *kl_visitor_ready(struct kl_lobby_room *r, struct kl_visitor *v,
                                       const struct kl_facts *f, uint64_t now_us) {
    char why[KL_TEXT_MAX];
    v->deadline_us = 0;
    if (r->start.ready && kl_facts_differ(r->start.ready, f, why, sizeof why) > 0)
        return refuse(KL_REFUSE_IDENTITY, why);
    if (!v->catchup.watches) {
        r->member[kl_visitor_member(v)]->checked = true;
        r->talk.roster_changed = true;
        kl_visitor_log("ready", r, v, "facts=%u frame=%u", f->count, r->lock.next_close);
    }
    return kl_visitor_set_out(r, v, 0, now_us);
}

/* A watcher that was in sync since its last snapshot is healed by another snapshot. */
const struct kl_text *kl_visitor_heal(struct kl_lobby_room *r, struct kl_visitor *v, uint64_t now_us) {
    v->catchup.no_states = v->catchup.no_states || v->catchup.unproved;
    v->catchup.made = r->lock.next_close;
    wait_to_catch_up(r, v, true, now_us);
    if (kl_lobby_catchup_by(r, &v->catchup) == KL_CATCHUP_NONE) return turn_away(r, v, now_us);
    kl_visitor_tell(r, v, 0, "it gets the state of the game, and runs on from there");
    return NULL;
}

void kl_visitor_back(struct kl_lobby_room *r, struct kl_visitor *v, uint32_t keyframe, uint64_t now_us) {
    struct kl_msg msg = {.kind = KL_MSG_REWIND, .rewind = {.keyframe = keyframe, .lost = true}};
    wait_to_catch_up(r, v, false, now_us);
    kl_catchup_back(&v->catchup, keyframe, now_us);
    kl_visitor_log("catch_up", r, v, "by=own_state frame=%u frames_to_run=%u", keyframe,
                   r->lock.next_close - keyframe);
    kl_lobby_send(r->lobby, v->peer, &msg);
}

/* It begins anew, if that is possible. */
static const struct kl_text *is_not_back(struct kl_lobby_room *r, struct kl_visitor *v, uint64_t now_us) {
    const struct kl_record_facts nothing = {.have = UINT32_MAX};
    kl_catchup_go(&v->catchup);
    return begin_or_go(r, v, KL_REFUSE_SEAT, kl_record_why(&nothing), now_us);
}

const struct kl_text *kl_visitor_loaded(struct kl_lobby_room *r, struct kl_visitor *v,
                                        const struct kl_healed *h, uint64_t now_us) {
    static const char *const how[] = {"same", "other", "not"};
    bool watches = v->catchup.watches;
    enum kl_catchup_loaded loaded = kl_catchup_loaded(&v->catchup, h);
    if (loaded == KL_CATCHUP_LOADED_NOTHING) return NULL;
    if (loaded == KL_CATCHUP_IS_BACK) return kl_visitor_set_out(r, v, h->keyframe, now_us);
    if (loaded == KL_CATCHUP_NOT_BACK) return is_not_back(r, v, now_us);
    if (watches)
        kl_visitor_log("loaded", r, v, "snapshot=%u how=%s", h->keyframe, how[h->how]);
    else
        r->member[kl_visitor_member(v)]->late.looked_us = 0;
    if (loaded == KL_CATCHUP_LOADED && watches) {
        struct kl_lobby_watcher *w = kl_visitor_watcher(v);
        w->healed_from = h->next;
        w->healed = (uint16_t)(w->healed + v->catchup.heals);
        w->parted = v->catchup.heals = false;
    }
    if (loaded == KL_CATCHUP_LOADED) return NULL;
    if (watches) return turn_away(r, v, now_us);
    kl_lock_cut(&r->lock, kl_visitor_member(v), now_us);
    return begin_or_go(r, v, KL_REFUSE_STARTED,
                       "the room's state could not be loaded on this machine, and this relay does not keep "
                       "the game's beginning any more",
                       now_us);
}

/* How fast the member replays, for the next time. */
static void measure(struct kl_lobby_room *r, struct kl_lobby_member *m, uint64_t now_us) {
    unsigned member = kl_visitor_member(&m->v);
    uint32_t ran = kl_lobby_ran(r, member);
    uint32_t from = m->v.catchup.begins > m->v.catchup.have ? m->v.catchup.begins : m->v.catchup.have;
    if (m->ran_us == 0 && ran > from) {
        m->ran_us = now_us;
        m->ran_from = ran;
    }
    if (m->ran_us && ran >= m->ran_from + LEAST_RUN && now_us > m->ran_us &&
        kl_lock_fetching(&r->lock, member))
        m->v.catchup.fps = (ran - m->ran_from) * 1e6 / (double)(now_us - m->ran_us);
}

const struct kl_text *kl_visitor_catchup_run(struct kl_lobby_room *r, struct kl_visitor *v, uint64_t now_us) {
    const struct kl_catchup *t = &v->catchup;
    const struct kl_text *why = t->step == KL_CATCHUP_WAITS ? look(r, v, now_us) : NULL;
    if (why) return why;
    if (t->step == KL_CATCHUP_BACK && kl_catchup_is_late(t, now_us)) return is_not_back(r, v, now_us);
    if (v->state != KL_MEMBER_PLAYING) return NULL;
    if (t->step == KL_CATCHUP_LOADS && v->fetch.snapshot && v->fetch.snapshot->failed) {
        wait_to_catch_up(r, v, t->heals, now_us); /* nobody gave it: another is to be made */
        return look(r, v, now_us);
    }
    if (kl_catchup_is_late(t, now_us))
        return refuse(KL_REFUSE_LIMIT, "the room's state did not reach you in time");
    if (!t->watches && t->step != KL_CATCHUP_LOADS) measure(r, r->member[kl_visitor_member(v)], now_us);
    return NULL;
}
