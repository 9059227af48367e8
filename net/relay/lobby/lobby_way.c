/* How a member comes to the present of a game under way: by joining late, or by coming back. net/PROTOCOL.md
 * §7. way.h decides, by the facts of lobby_way_facts.c; the deeds are here. */
#include <stdio.h>

#include "net/engine/lock_relay_return.h"
#include "net/relay/lobby/lobby_parts.h"

#define LEAST_RUN 300 /* frames: fewer tell no speed */

/* --- on the way --- */

static void by_history(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[member];
    if (kl_lock_return(&r->lock, member, m->v.way.have, now_us) != KL_OK) return; /* it was asked before */
    m->v.state = KL_MEMBER_PLAYING;
    kl_lobby_log_member(KL_LOG_INFO, "way", r, member, "by=history frame=%u frames_to_run=%u", m->v.way.have,
                        r->lock.next_close - m->v.way.have);
    if (r->shot.in_a_row && r->lock.next_close - m->v.way.have > LEAST_RUN)
        kl_lobby_tell(r, member, 0, "no state to be had (%s): you run the match from frame %u on",
                      r->shot.failed_why, m->v.way.have);
}

/* OFFER goes before the first HISTORY: both are bulk. */
static void by_snapshot(struct kl_lobby_room *r, unsigned member, struct kl_lobby_packed *k,
                        uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[member];
    if (kl_lock_return(&r->lock, member, k->keyframe, now_us) != KL_OK) return;
    kl_visitor_load(r, &m->v, k, now_us);
    kl_lobby_log_member(KL_LOG_INFO, "way", r, member,
                        "by=snapshot frame=%u bytes=%u packed=%u frames_to_run=%u", k->keyframe, k->bytes,
                        k->len, r->lock.next_close - k->keyframe);
}

/* A client that was offered a snapshot before has nothing that history could go on from. */
static void go(struct kl_lobby_room *r, unsigned member, enum kl_way way, uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[member];
    bool snapshot = way == KL_WAY_SNAPSHOT || way == KL_WAY_COMING;
    char text[KL_TEXT_MAX];
    if (snapshot && kl_lobby_bulk_room(r, m->v.peer) == 0) {
        r->due.bulk = true;
        return;
    }
    kl_way_go(&m->v.way);
    m->ran_us = 0;
    r->talk.roster_changed = true;
    if (way == KL_WAY_HISTORY && m->v.way.offered) {
        if (kl_lobby_start_again(r, member, now_us)) return;
        way = KL_WAY_NONE;
    }
    if (snapshot)
        by_snapshot(r, member, way == KL_WAY_COMING ? kl_lobby_way_coming(r, &m->v.way) : r->shot.kept,
                    now_us);
    if (way == KL_WAY_HISTORY) by_history(r, member, now_us);
    if (way != KL_WAY_NONE) return;
    kl_lobby_way_closed(r, m->consents, text, sizeof text);
    kl_lobby_put_out(r, member, KL_REFUSE_STARTED, text, now_us);
}

/* A player who has the game's state, or may come back with it. */
static bool somebody_can_give(const struct kl_lobby_room *r) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (kl_lobby_here(&r->member[i]) && r->member[i].seats && r->member[i].v.state == KL_MEMBER_PLAYING)
            return true;
    return false;
}

/* A snapshot is made at a keyframe, and a strict room that waits for this client comes to none: it goes on
 * without it, as without a newcomer. */
static void go_on_without(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    bool strict = r->lock.params.policy == KL_POLICY_STRICT;
    if (!strict || !r->member[member].seats || kl_lock_joining(&r->lock, member)) return;
    (void)kl_lock_reseat(&r->lock, member, r->member[member].seats, now_us);
}

static void look_again(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    struct kl_way_trip *t = &r->member[member].v.way;
    struct kl_way_facts f = kl_lobby_way_facts(r, t);
    f.stuck = kl_way_is_stuck(t, r->shot.phase > KL_SHOT_ORDERED, now_us);
    enum kl_way way = kl_way_choose(&f);
    if (way == KL_WAY_ORDER && f.stuck && !somebody_can_give(r)) way = KL_WAY_NONE;
    if (way == KL_WAY_ORDER && f.stuck) go_on_without(r, member, now_us);
    if (way == KL_WAY_ORDER)
        (void)kl_lobby_snapshot_order(r, 0, now_us);
    else
        go(r, member, way, now_us);
}

static void set_out(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[member];
    kl_lock_cut(&r->lock, member, now_us); /* it gets nothing before its way is known */
    kl_lobby_fetch_end(r, &m->v.fetch);
    m->v.state = KL_MEMBER_READY;
    kl_way_set_out(&m->v.way, now_us);
    look_again(r, member, now_us);
}

void kl_lobby_set_out(struct kl_lobby_room *r, unsigned member, uint32_t have, uint64_t now_us) {
    struct kl_way_trip *t = &r->member[member].v.way;
    t->have = have;
    t->offered = false;
    if (have > 0) t->made = r->lock.next_close;
    set_out(r, member, now_us);
}

void kl_lobby_way_ahead(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    struct kl_way_trip *t = &r->member[member].v.way;
    *t = (struct kl_way_trip){.fps = t->fps, .no_states = t->no_states, .made = r->lock.next_close};
    if (kl_lobby_way_to_present(r, t) == KL_WAY_ORDER) (void)kl_lobby_snapshot_order(r, 0, now_us);
}

void kl_lobby_way_back(struct kl_lobby_room *r, unsigned member, uint32_t keyframe, uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[member];
    struct kl_msg msg = {.kind = KL_MSG_REWIND, .rewind = {.keyframe = keyframe, .lost = true}};
    kl_lock_cut(&r->lock, member, now_us); /* it gets no frame before it is back */
    kl_lobby_fetch_end(r, &m->v.fetch);
    m->v.state = KL_MEMBER_READY;
    kl_way_back(&m->v.way, keyframe, now_us);
    kl_lobby_log_member(KL_LOG_INFO, "way", r, member, "by=own_state frame=%u frames_to_run=%u", keyframe,
                        r->lock.next_close - keyframe);
    kl_lobby_send(r->lobby, m->v.peer, &msg);
}

/* It begins anew, if that is possible. */
static void is_not_back(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    kl_way_go(&r->member[member].v.way);
    if (kl_lobby_start_again(r, member, now_us)) return;
    kl_lobby_put_out(r, member, KL_REFUSE_SEAT, kl_record_why(&(struct kl_record_facts){.have = UINT32_MAX}),
                     now_us);
}

void kl_lobby_way_loaded(struct kl_lobby_room *r, unsigned member, const struct kl_healed *h,
                         uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[member];
    enum kl_way_loaded loaded = kl_way_loaded(&m->v.way, h);
    if (loaded == KL_WAY_LOADED_NOTHING) return;
    if (loaded == KL_WAY_IS_BACK) {
        kl_lobby_set_out(r, member, h->keyframe, now_us);
        return;
    }
    if (loaded == KL_WAY_NOT_BACK) {
        is_not_back(r, member, now_us);
        return;
    }
    m->late.looked_us = 0;
    if (loaded == KL_WAY_LOADED) return;
    kl_lock_cut(&r->lock, member, now_us);
    if (!kl_lobby_start_again(r, member, now_us))
        kl_lobby_put_out(r, member, KL_REFUSE_STARTED,
                         "the room's state could not be loaded on this machine, and this relay does not keep "
                         "the game's beginning any more",
                         now_us);
}

void kl_lobby_way_anew(struct kl_lobby_room *r, unsigned member, bool apart, uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[member];
    m->v.way.no_states = true;
    if (apart) {
        r->shot.begins_apart++;
        kl_lobby_log_member(KL_LOG_INFO, "way_apart", r, member, "snapshot=%u", m->v.way.begins);
        kl_lobby_notice(r,
                        "%s is still out of sync, since this core's states are incomplete: %s "
                        "replays the game",
                        kl_lobby_name(r, member).text, kl_lobby_name(r, member).text);
    }
    kl_lock_cut(&r->lock, member, now_us);
    (void)kl_lobby_start_again(r, member, now_us);
}

/* How fast the member replays, for the next time. */
static void measure(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[member];
    uint32_t ran = r->lock.next_close - kl_lobby_behind(r, member);
    uint32_t from = m->v.way.begins > m->v.way.have ? m->v.way.begins : m->v.way.have;
    if (m->ran_us == 0 && ran > from) {
        m->ran_us = now_us;
        m->ran_from = ran;
    }
    if (m->ran_us && ran >= m->ran_from + LEAST_RUN && now_us > m->ran_us &&
        kl_lock_fetching(&r->lock, member))
        m->v.way.fps = (ran - m->ran_from) * 1e6 / (double)(now_us - m->ran_us);
}

void kl_lobby_way_run(struct kl_lobby_room *r, uint64_t now_us) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        struct kl_lobby_member *m = &r->member[i];
        if (!kl_lobby_reaches(m)) continue;
        if (m->v.way.step == KL_WAY_WAITS) look_again(r, i, now_us);
        if (m->v.way.step == KL_WAY_BACK && kl_way_is_late(&m->v.way, now_us)) is_not_back(r, i, now_us);
        if (!kl_lobby_reaches(m) || m->v.state != KL_MEMBER_PLAYING) continue;
        bool loads = m->v.way.step == KL_WAY_LOADS;
        if (loads && m->v.fetch.shot && m->v.fetch.shot->failed)
            set_out(r, i, now_us); /* nobody gave it: another is to be made */
        else if (kl_way_is_late(&m->v.way, now_us))
            kl_lobby_put_out(r, i, KL_REFUSE_LIMIT, "the room's state did not reach you in time", now_us);
        else if (!loads)
            measure(r, i, now_us);
    }
}

/* --- when there is none --- */

bool kl_lobby_way_closed(const struct kl_lobby_room *r, bool consents, char *why, size_t cap) {
    const struct kl_way_trip t = {.no_states = !consents};
    const char *states = !consents       ? "you load no state of other players (trust = on, if you know them)"
                         : r->shot.unfit ? "its core gives no state to begin from"
                                         : "its machines have no state in common to begin from";
    snprintf(why, cap,
             "room %s has played for too long: this relay does not keep its beginning any more, and %s",
             r->name, kl_lobby_start_is_kept(r) ? states : "not its saves either");
    return kl_lobby_way_to_present(r, &t) == KL_WAY_NONE;
}
