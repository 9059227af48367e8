/* Healing: a member that is out of sync gets the state of the majority. On a tie nobody gets another's state:
 * all members go back to their own states of the last keyframe at which they agreed, and run the frames since
 * again. net/ROOMS.md §7, Healing.
 *
 *     found -> (all players have reported, or a second is over) -> ordered
 *           -> (a snapshot is kept) -> offered
 *     found -> (the same) -> a tie: all go back, REWIND
 *
 * The wrong ones' hashes do not count from the decision until they say HEALED. From the offer on each of them
 * is on its own: another member's desync is healed meanwhile without waiting for it. A failed healing is
 * tried again when the next hashes differ. Healing that does not help is given up, because it costs all
 * members a moment each time. */
#include <string.h>

#include "net/relay/heal/lobby_heal.h"

#define REPORTS_US  1000000 /* for the last player to report, once a difference is known */
#define MINUTE_US   60000000
#define ORDER_TIRES 10000000 /* for a snapshot to be ordered */

/* Nobody is being healed. */
static bool is_idle(const struct kl_lobby_room *r) {
    bool idle = r->heal.phase == KL_HEAL_NONE;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        idle = idle && !kl_lobby_heal_busy(r, i);
    return idle;
}

/* Ends a difference without healing: all present members are equal, because the other one left, or after a
 * reset. */
static void over_by_itself(struct kl_lobby_room *r, struct kl_verdict *v) {
    const struct kl_verdict_table *t = &r->heal.verdicts;
    if (!t->any_bad || v->frame <= t->first_bad.frame || !is_idle(r)) return;
    kl_lobby_log_room(KL_LOG_INFO, "in_sync", r, "frame=%u", v->frame);
    kl_lobby_notice(r, "in sync again: all machines agree on frame %u", v->frame);
    kl_heal_count(r);
    v->first = 0;
}

/* --- members out of sync --- */

/* How often within the last minute, this time included. */
static unsigned strikes(uint64_t at_us[KL_STRIKES - 1], uint64_t now_us) {
    unsigned count = 1;
    for (unsigned i = 0; i < KL_STRIKES - 1; i++)
        count += at_us[i] && now_us < at_us[i] + MINUTE_US;
    memmove(&at_us[1], &at_us[0], (KL_STRIKES - 2) * sizeof at_us[0]);
    at_us[0] = now_us;
    return count;
}

/* True if the member began with a snapshot and was never in sync since. It proves that the core's states are
 * incomplete only if all others were in sync since then; otherwise the member may be the one that is still
 * right. */
static bool is_apart(const struct kl_lobby_room *r, unsigned member) {
    const struct kl_lobby_member *m = r->member[member];
    return m->late.check != KL_LATE_CHECKED && !(r->heal.any_apart && m->v.catchup.begins <= r->heal.apart);
}

static void note_apart(struct kl_lobby_room *r, uint16_t wrong) {
    for (KL_EACH(i, wrong)) {
        if (r->member[i]->late.check != KL_LATE_CHECKED) continue;
        r->heal.any_apart = true;
        r->heal.apart = r->heal.label;
    }
}

static bool can_replay(const struct kl_lobby_room *r, const struct kl_catchup *c) {
    return c->begins && !c->no_states && kl_lobby_catchup_has_beginning(r);
}

/* States of this core do not hold all of it. */
static void order_replays(struct kl_lobby_room *r) {
    struct kl_lobby_heal *h = &r->heal;
    uint16_t replay = 0;
    for (KL_EACH(i, h->wrong))
        if (is_apart(r, i) && can_replay(r, &r->member[i]->v.catchup)) replay |= kl_only(i);
    if (!replay) return;
    h->deeds.apart |= replay;
    h->wrong &= (uint16_t)~replay;
    kl_heal_count(r);
    kl_verdict_forget(&r->heal.verdicts, replay);
}

static void order_out(struct kl_lobby_room *r, unsigned member, const char *text) {
    r->heal.deeds.put_out |= kl_only(member);
    r->heal.deeds.text = text;
}

/* The core gives no states, or the room takes none. */
static void without_states(struct kl_lobby_room *r, uint64_t now_us) {
    const char *why = "this core gives no state";
    if (!kl_heal_all_anew(r, why)) kl_heal_no_more(r, why, now_us);
}

/* True: nobody is left to be healed, or nothing helps. */
static bool too_often(struct kl_lobby_room *r, const struct kl_verdict_camps *c, uint64_t now_us) {
    uint16_t wrong = r->heal.wrong;
    bool alone = kl_size(wrong) == 1;
    for (KL_EACH(i, wrong)) {
        struct kl_lobby_healing *h = &r->member[i]->heal;
        if (strikes(h->strike_us, now_us) < KL_STRIKES) continue;
        memset(h->strike_us, 0, sizeof h->strike_us);
        if (!c->ram) { /* the core does not keep all in its state: nobody is to blame, and no state helps */
            if (kl_heal_all_anew(r, "this core's state does not hold all of it")) return true;
            kl_heal_no_more(r, "this core's state does not hold all of it", now_us);
        } else if (alone) {
            r->heal.phase = KL_HEAL_NONE;
            r->heal.wrong = 0;
            order_out(r, i, "out of sync with all others three times within a minute");
        } else
            kl_heal_no_more(r, "three tries within a minute failed", now_us);
        return true;
    }
    return false;
}

static void pause_once(struct kl_lobby_room *r) {
    if (r->heal.paused || r->lock.paused || r->lock.pausing) return;
    r->heal.paused = true;
    if (kl_lock_command(&r->lock, KL_RELAY_CLIENT, KL_COMMAND_PAUSE, NULL, 0) != KL_OK) return;
    kl_lobby_log_room(KL_LOG_INFO, "pauses", r, "reason=\"out of sync\"");
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        kl_lobby_tell(r, i, KL_NOTICE_PLAY_ON, "out of sync, paused by the room's rule. Go on?");
}

/* Members that were not there when all others last agreed are on their own; true: some of them were sent to
 * the beginning, and those that are left may agree. */
static bool send_strangers(struct kl_lobby_room *r) {
    uint16_t strangers = r->heal.wrong & (uint16_t)~r->heal.agreed_by;
    bool some = false;
    if (strangers == r->heal.wrong) return false;
    for (KL_EACH(i, strangers))
        if (!r->member[i]->heal.anew) some |= kl_heal_one_anew(r, i);
    return some;
}

static bool can_go_back(const struct kl_lobby_room *r) {
    const struct kl_lobby_heal *h = &r->heal;
    return h->agreed && h->agreed != h->rewound && !(h->wrong & ~h->agreed_by) && !r->snapshot.unfit;
}

/* Nobody can say who is right: whoever reproduces the hashes on which all agreed is. If the machines part
 * again from there, they run the game from the beginning; and if that does not help, the players are asked. A
 * difference after they have agreed again is another one: they go back to the newer state, unless that has
 * cost too much time. */
static void settle_tie(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_heal *h = &r->heal;
    if (send_strangers(r)) {
        kl_heal_count(r);
        kl_heal_stop(r);
    } else if (can_go_back(r) && kl_heal_parts_often(r, h->wrong, now_us)) {
        kl_heal_no_more(r, "the machines part again and again", now_us);
    } else if (can_go_back(r)) {
        kl_heal_go_back(r, h->wrong, now_us);
    } else if (!h->began_anew && kl_heal_all_anew(r, "out of sync")) {
        h->began_anew = true;
    } else {
        kl_heal_no_more(
            r, r->snapshot.unfit ? "this core gives no state" : "the machines part from the same state again",
            now_us);
    }
}

/* Those in the wrong that load no state of others, against a majority; the rest stays to be healed. */
static void heal_those_alone(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_heal *h = &r->heal;
    uint16_t wrong = h->wrong, alone = 0;
    uint32_t rewound = h->rewound;
    for (KL_EACH(i, wrong))
        if (!r->member[i]->consents) alone |= kl_only(i);
    for (KL_EACH(i, alone)) {
        bool own = h->agreed && kl_has(h->agreed_by, i) && !r->snapshot.unfit;
        h->rewound = rewound;
        if (!(own && h->agreed != rewound) && kl_heal_one_anew(r, i))
            kl_heal_count(r);
        else if (own)
            kl_heal_go_back(r, kl_only(i), now_us);
        else
            order_out(r, i,
                      "out of sync: you load no state of other players (trust = on, if you know them), and "
                      "this relay does not keep the game's beginning");
    }
    h->wrong = wrong & (uint16_t)~alone;
}

/* The members whose machines are to be healed: all but those in the right. */
static uint16_t in_the_wrong(const struct kl_lobby_room *r, uint16_t members) {
    uint16_t wrong = 0;
    for (KL_EACH(i, members))
        if (kl_lobby_reaches(r->member[i]) && r->member[i]->v.catchup.step != KL_CATCHUP_LOADS)
            wrong |= kl_only(i);
    return wrong;
}

/* The rest gets the state of those in the right. */
static void heal_by_others(struct kl_lobby_room *r, uint64_t now_us) {
    if (!r->heal.wrong) {
        kl_heal_stop(r);
    } else if (r->snapshot.unfit) {
        without_states(r, now_us);
    } else {
        kl_verdict_forget(&r->heal.verdicts, r->heal.wrong);
        r->heal.phase = KL_HEAL_ORDERING;
        r->heal.since_us = now_us;
    }
}

static void begin(struct kl_lobby_room *r, const struct kl_verdict_camps *c, uint64_t now_us) {
    struct kl_lobby_heal *h = &r->heal;
    h->right = c->right;
    h->ram = c->ram;
    h->play_on.between = c->reported & (uint16_t)~c->right;
    h->play_on.tied = !c->right;
    h->wrong = in_the_wrong(r, h->play_on.between);
    uint16_t all = h->wrong;
    if (h->right) note_apart(r, h->play_on.between);
    if (!h->right && !c->tied)
        kl_lobby_log_room(KL_LOG_INFO, "heal_waits", r, "frame=%u reason=\"nobody can say who is right\"",
                          h->label);
    else if (c->ram || c->picture)
        order_replays(r);
    bool tells = h->right || (c->tied && h->wrong == all); /* a newcomer replays: the others may agree */
    if (!tells || !h->wrong) {
        kl_heal_stop(r); /* until the next hashes differ */
    } else if (!h->right) {
        kl_heal_tie_keep(r, now_us);
        settle_tie(r, now_us);
    } else if (!too_often(r, c, now_us)) {
        heal_those_alone(r, now_us);
        heal_by_others(r, now_us);
    }
}

void kl_lobby_heal_answered(struct kl_lobby_room *r, const struct kl_klr_hash *found, uint64_t now_us) {
    struct kl_lobby_heal *h = &r->heal;
    struct kl_verdict_camps c = {.ram = h->ram};
    uint16_t wrong;
    if (!is_idle(r)) return;
    c.right = kl_heal_tie_sides(r, found, &wrong);
    bool apart = h->verdicts.any_bad && h->label == h->tie->label && r->params.desync == KL_DESYNC_HEAL;
    kl_heal_tie_tell(r, c.right, wrong, apart);
    kl_heal_tie_end(r);
    if (!apart || !c.right || !wrong) return;
    h->hopeless = false;
    h->right = c.right;
    h->play_on.between = wrong;
    h->play_on.tied = false;
    h->wrong = in_the_wrong(r, wrong);
    kl_lobby_play_on_end(r, "a run of the match decides", now_us);
    note_apart(r, wrong);
    if (too_often(r, &c, now_us)) return;
    heal_those_alone(r, now_us);
    heal_by_others(r, now_us);
}

/* The keyframe after a label on which all agree, while nothing differs: to it machines can go back. */
static void note_agreed(struct kl_lobby_room *r, const struct kl_verdict *v) {
    struct kl_lobby_heal *h = &r->heal;
    bool equal = v->complete && (!v->differs || v->differs == KL_VERDICT_NOTED);
    bool clear = equal && !h->verdicts.any_bad && is_idle(r);
    uint16_t proved = clear ? kl_verdict_proved(&h->verdicts, v->frame) : 0;
    if (!proved || v->frame + 1 <= h->agreed) return;
    h->agreed = v->frame + 1;
    h->agreed_by = proved;
}

void kl_lobby_heal_found(struct kl_lobby_room *r, struct kl_verdict *v, uint64_t now_us) {
    struct kl_lobby_heal *h = &r->heal;
    bool apart = v->differs && v->differs != KL_VERDICT_NOTED;
    if (!apart && v->complete) {
        h->paused = false;
        over_by_itself(r, v);
    }
    v->healed = h->count;
    note_agreed(r, v);
    v->agreed = h->agreed;
    if (r->phase != KL_ROOM_PLAYING || !apart) return;
    if (r->params.desync == KL_DESYNC_PAUSE) pause_once(r);
    if (h->hopeless) kl_lobby_play_on_note(r, v, now_us);
    if (r->params.desync != KL_DESYNC_HEAL || h->hopeless || h->phase != KL_HEAL_NONE) return;
    if (now_us < h->again_us) return; /* the next hashes will differ, too */
    h->phase = KL_HEAL_FOUND;
    h->label = v->frame;
    h->parts = v->parts;
    h->found_us = h->since_us = now_us;
    kl_lobby_busy(r);
}

/* --- catching up --- */

/* The members in the right agree in the compared bytes, but not in all bytes of their states: no state has
 * the word of more than half. */
static void no_majority(struct kl_lobby_room *r, uint64_t now_us) {
    bool apart = r->snapshot.apart;
    if (apart && can_go_back(r))
        kl_heal_go_back(r, r->heal.wrong, now_us);
    else if (!(apart && r->heal.ram &&
               kl_heal_all_anew(r, "the states of the other machines differ as well")))
        kl_heal_failed(r, apart ? "the states of the machines in sync differ" : "no machine gave its state",
                       now_us);
}

static void wait_for_snapshot(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_heal *h = &r->heal;
    if (r->snapshot.phase != KL_SNAPSHOT_NONE) return;
    if (r->snapshot.failures == h->failures)
        kl_heal_offer(r, now_us);
    else if (r->snapshot.unfit)
        without_states(r, now_us);
    else
        no_majority(r, now_us);
}

struct kl_heal_deeds kl_lobby_heal_run(struct kl_lobby_room *r, uint64_t now_us) {
    if (r->heal.phase == KL_HEAL_FOUND) {
        struct kl_lobby_heal *h = &r->heal;
        struct kl_verdict_camps c;
        struct kl_verdict_members members = kl_lobby_heal_members(r);
        if (!kl_verdict_camps(&r->heal.verdicts, h->label, &members, &c))
            kl_heal_stop(r); /* of the game's end */
        else if (!(members.awaited & ~c.reported) || now_us >= h->since_us + REPORTS_US)
            begin(r, &c, now_us);
    }
    if (r->heal.phase == KL_HEAL_ORDERING) {
        struct kl_lobby_heal *h = &r->heal;
        h->failures = r->snapshot.failures;
        if (kl_lobby_snapshot_order(r, h->right, now_us))
            h->phase = KL_HEAL_WAITING;
        else if (r->snapshot.unfit)
            without_states(r, now_us);
        else if (now_us >= h->since_us + ORDER_TIRES)
            kl_heal_failed(r, "no snapshot could be ordered", now_us);
    }
    if (r->heal.phase == KL_HEAL_WAITING) wait_for_snapshot(r, now_us);
    kl_heal_loading_run(r, now_us);
    kl_lobby_play_on_run(r, now_us);
    struct kl_heal_deeds deeds = r->heal.deeds;
    r->heal.deeds = (struct kl_heal_deeds){0};
    return deeds;
}

/* --- the host's orders --- */

/* All is to be tried again. At most once a minute: else a host with a false machine has the others run the
 * game from its beginning, and the room pause, again and again. */
static bool renew(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_heal *h = &r->heal;
    if (h->renewed_us && now_us < h->renewed_us + MINUTE_US) return false;
    h->renewed_us = now_us;
    h->hopeless = false;
    h->again_us = 0;
    h->rewound = 0;
    h->began_anew = false;
    for (KL_MEMBERS(i, r, kl_lobby_here))
        r->member[i]->heal.anew = 0;
    return true;
}

bool kl_lobby_heal_policy(struct kl_lobby_room *r, uint8_t policy, const char *who, uint64_t now_us) {
    static const char *const names[] = {"heal", "pause", "ignore"};
    bool again = renew(r, now_us);
    if (again || policy != KL_DESYNC_HEAL) kl_lobby_play_on_end(r, "the host's word", now_us);
    if (policy != KL_DESYNC_HEAL) kl_heal_stop(r);
    for (KL_MEMBERS(i, r, kl_lobby_here))
        if (policy != KL_DESYNC_HEAL) r->member[i]->heal.loads = false;
    if (r->params.desync == policy) return again;
    r->params.desync = policy;
    r->past.ticket_changed = true;
    kl_lobby_notice(r, "%s sets the desync policy: %s", who, names[policy]);
    return true;
}
