/* Healing: a member that is out of sync gets the state of the majority. On a tie nobody gets another's state:
 * all members go back to their own states of the last keyframe at which they agreed, and run the frames since
 * again. net/PROTOCOL.md §7, Healing.
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

#include "net/engine/command.h"
#include "net/relay/heal/lobby_heal.h"

#define REPORTS_US     1000000  /* for the last player to report, once a difference is known */
#define LOAD_US        10000000 /* for a snapshot to be loaded, once it is sent */
#define LOAD_LEAST     16384    /* lowest assumed rate of the snapshot, bytes a second */
#define MINUTE_US      60000000
#define ORDER_TIRES    10000000 /* for a snapshot to be ordered */
#define AGAIN_US       10000000 /* to the next try, after three in a row without a state */
#define AGAIN_LEAST_US 16667    /* for each frame that runs again */
#define HEALS_US       2000000  /* that a member's healings by own states may cost at once */
#define DRAINS         16       /* and one part in so many of all time */

static bool has_bit(uint16_t mask, unsigned i) {
    return mask >> i & 1;
}
static unsigned count_bits(uint16_t mask) {
    return (unsigned)__builtin_popcount(mask);
}

const char *kl_lobby_heal_what(uint8_t parts) {
    return parts & KL_HASH_RAM ? "RAM" : kl_parts_name(parts);
}

/* --- the end of it --- */

static void stop(struct kl_lobby_room *r) {
    r->heal.phase = KL_HEAL_NONE;
    r->heal.wrong = 0;
    r->due.busy = true;
}

static void log_failure(struct kl_lobby_room *r, const char *why) {
    kl_lobby_log_room(KL_LOG_INFO, "heal_failed", r, "frame=%u reason=\"%s\"", r->heal.label, why);
}

static void give_up(struct kl_lobby_room *r, const char *why) {
    log_failure(r, why);
    kl_lobby_notice(r, "not brought back in sync: %s", why);
    stop(r);
}

static void forget_newest_strike(struct kl_lobby_healing *h) {
    memmove(&h->strike_us[0], &h->strike_us[1], sizeof h->strike_us - sizeof h->strike_us[0]);
    h->strike_us[KL_STRIKES - 2] = 0;
}

/* No state could be had. The members that wait for one lose nothing by it; after KL_STRIKES failures in a row
 * the room rests for AGAIN_US. */
static void healing_failed(struct kl_lobby_room *r, const char *why, uint64_t now_us) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (has_bit(r->heal.wrong, i)) forget_newest_strike(&r->member[i].heal);
    if (++r->heal.vain >= KL_STRIKES) r->heal.again_us = now_us + AGAIN_US;
    give_up(r, why);
}

/* For good, until the host says `desync heal' again or all are equal: the players decide. */
static void no_more(struct kl_lobby_room *r, const char *why, uint64_t now_us) {
    r->heal.hopeless = true;
    log_failure(r, why);
    stop(r);
    kl_lobby_play_on_ask(r, now_us);
}

/* Counts a healing: the difference is over. */
static void count_one(struct kl_lobby_room *r) {
    r->heal.count++;
    r->heal.hopeless = false;
    kl_verdict_healed(&r->heal.verdicts);
}

/* Ends the healing if all members with this one's snapshot have loaded it or were given up. */
static void look_for_end(struct kl_lobby_room *r, const struct kl_lobby_healing *one, uint64_t now_us) {
    char who[KL_LOBBY_NAMES];
    uint16_t healed = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        const struct kl_lobby_healing *h = &r->member[i].heal;
        if (!kl_lobby_here(&r->member[i]) || h->keyframe != one->keyframe || h->own != one->own) continue;
        if (h->loads) return;
        if (h->loaded) healed |= (uint16_t)(1U << i);
    }
    if (!healed) return;
    kl_lobby_names_of(r, healed, who, sizeof who);
    kl_lobby_log_room(KL_LOG_INFO, "healed", r, "frame=%u snapshot=%u own=%d ms=%llu", one->label,
                      one->keyframe, one->own, (unsigned long long)(now_us - one->found_us) / 1000);
    kl_lobby_notice(r, "back in sync: %s %s frame %u", who, one->own ? "ran again from" : "has the state of",
                    one->keyframe);
    count_one(r);
}

/* The time that healings by own states cost the others is a sum of each member, which drains. One that is
 * above HEALS_US has parted too often. */
static bool parts_often(const struct kl_lobby_room *r, uint16_t members, uint64_t now_us) {
    bool often = false;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        often |= has_bit(members, i) && r->member[i].v.spent.healed_us > now_us + HEALS_US * DRAINS;
    return often;
}

static void charge(struct kl_lobby_member *m, uint64_t now_us) {
    uint64_t from_us = m->v.spent.healed_us > now_us ? m->v.spent.healed_us : now_us;
    m->v.spent.healed_us = from_us + (now_us - m->heal.since_us) * DRAINS;
}

/* The time that loading took is none in which it could have been in sync. */
static void end_loading(struct kl_lobby_room *r, unsigned member, bool loaded, uint64_t now_us) {
    struct kl_lobby_healing *h = &r->member[member].heal;
    h->loads = false;
    h->loaded = loaded;
    h->has_loaded = h->has_loaded || loaded;
    if (h->own) charge(&r->member[member], now_us);
    if (loaded) h->spared = 0;
    if (loaded && !h->own) r->heal.agreed_by &= (uint16_t) ~(1U << member); /* its own states are gone */
    for (unsigned i = 0; i < KL_STRIKES - 1; i++)
        if (h->strike_us[i]) h->strike_us[i] += now_us - h->since_us;
    look_for_end(r, h, now_us);
    r->due.busy = true;
}

/* Ends a difference without healing: all present members are equal, because the other one left, or after a
 * reset. */
static void over_by_itself(struct kl_lobby_room *r, struct kl_verdict *v) {
    const struct kl_verdict_table *t = &r->heal.verdicts;
    bool clear = t->any_bad && v->frame > t->first_bad.frame && r->heal.phase == KL_HEAL_NONE;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        clear = clear && !kl_lobby_heal_busy(r, i);
    if (!clear) return;
    kl_lobby_log_room(KL_LOG_INFO, "in_sync", r, "frame=%u", v->frame);
    kl_lobby_notice(r, "in sync again: all machines agree on frame %u", v->frame);
    count_one(r);
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

/* Its link was lost before it had the others' state: when it is back and still out of sync, that is the same
 * time. */
static void take_strike_back(struct kl_lobby_healing *h) {
    if (h->spared == KL_SPARED) return;
    h->spared++;
    forget_newest_strike(h);
}

static void forget_strikes(struct kl_lobby_healing *h) {
    memset(h->strike_us, 0, sizeof h->strike_us);
}

/* True if the member began with a snapshot and was never in sync since. It proves that the core's states are
 * incomplete only if all others were in sync since then; otherwise the member may be the one that is still
 * right. */
static bool is_apart(const struct kl_lobby_room *r, unsigned member) {
    const struct kl_lobby_member *m = &r->member[member];
    return m->late.check != KL_LATE_CHECKED && !(r->heal.any_apart && m->v.way.begins <= r->heal.apart);
}

static void note_apart(struct kl_lobby_room *r, uint16_t wrong) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        if (!has_bit(wrong, i) || r->member[i].late.check != KL_LATE_CHECKED) continue;
        r->heal.any_apart = true;
        r->heal.apart = r->heal.label;
    }
}

static bool can_replay(const struct kl_lobby_room *r, const struct kl_way_trip *way) {
    return way->begins && !way->no_states && kl_lobby_way_has_beginning(r);
}

/* States of this core do not hold all of it. */
static void order_replays(struct kl_lobby_room *r) {
    struct kl_lobby_heal *h = &r->heal;
    uint16_t replay = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (has_bit(h->wrong, i) && is_apart(r, i) && can_replay(r, &r->member[i].v.way))
            replay |= (uint16_t)(1U << i);
    if (!replay) return;
    h->deeds.apart |= replay;
    h->wrong &= (uint16_t)~replay;
    count_one(r);
    kl_verdict_forget(&r->heal.verdicts, replay);
}

/* The member runs the game from frame 0. False: that is not kept, or has been tried too often. */
static bool begins_anew(struct kl_lobby_room *r, unsigned member) {
    struct kl_lobby_healing *h = &r->member[member].heal;
    uint16_t bit = (uint16_t)(1U << member);
    if (h->anew >= KL_STRIKES - 1 || !kl_lobby_way_has_beginning(r)) return false;
    h->anew++;
    r->heal.agreed_by &= (uint16_t)~bit;
    r->heal.deeds.anew |= bit;
    kl_verdict_forget(&r->heal.verdicts, bit);
    return true;
}

/* States do not help: the members in the wrong run the game from frame 0, if that is kept. False: not all of
 * them can. */
static bool all_anew(struct kl_lobby_room *r, const char *why) {
    uint16_t anew = 0;
    char who[KL_LOBBY_NAMES];
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (has_bit(r->heal.wrong, i) && begins_anew(r, i)) anew |= (uint16_t)(1U << i);
    if (anew != r->heal.wrong) return false;
    kl_lobby_names_of(r, anew, who, sizeof who);
    kl_lobby_log_room(KL_LOG_INFO, "heal_anew", r, "frame=%u", r->heal.label);
    kl_lobby_notice(r, "%s: %s runs the game from the beginning", why, who);
    count_one(r);
    stop(r);
    return true;
}

/* The core gives no states, or the room takes none. */
static void without_states(struct kl_lobby_room *r, uint64_t now_us) {
    const char *why = "this core gives no state";
    if (!all_anew(r, why)) no_more(r, why, now_us);
}

static void order_out(struct kl_lobby_room *r, unsigned member, const char *text) {
    r->heal.deeds.put_out |= (uint16_t)(1U << member);
    r->heal.deeds.text = text;
}

/* True: nobody is left to be healed, or nothing helps. */
static bool too_often(struct kl_lobby_room *r, const struct kl_verdict_camps *c, uint64_t now_us) {
    uint16_t wrong = r->heal.wrong;
    bool alone = count_bits(wrong) == 1;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        struct kl_lobby_healing *h = &r->member[i].heal;
        if (!has_bit(wrong, i) || strikes(h->strike_us, now_us) < KL_STRIKES) continue;
        forget_strikes(h);
        if (!c->ram) { /* the core does not keep all in its state: nobody is to blame, and no state helps */
            if (all_anew(r, "this core's state does not hold all of it")) return true;
            no_more(r, "this core's state does not hold all of it", now_us);
        } else if (alone) {
            r->heal.phase = KL_HEAL_NONE;
            r->heal.wrong = 0;
            order_out(r, i, "out of sync with all others three times within a minute");
        } else
            no_more(r, "three tries within a minute failed", now_us);
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

/* --- own states --- */

/* These members go back to their own states of the agreed keyframe. */
static void go_back(struct kl_lobby_room *r, uint16_t members, uint64_t now_us) {
    struct kl_lobby_heal *room = &r->heal;
    struct kl_msg m = {.kind = KL_MSG_REWIND, .rewind = {.keyframe = room->agreed}};
    uint64_t frames = r->lock.next_close - room->agreed;
    kl_verdict_forget(&r->heal.verdicts, members);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        struct kl_lobby_healing *h = &r->member[i].heal;
        if (!has_bit(members, i)) continue;
        kl_lobby_snapshot_again(r, i, now_us);
        h->loads = h->own = true;
        h->loaded = false;
        h->keyframe = room->agreed;
        h->label = room->label;
        h->found_us = room->found_us;
        h->since_us = now_us;
        h->by_us = now_us + LOAD_US + frames * AGAIN_LEAST_US;
        kl_lobby_send(r->lobby, r->member[i].v.peer, &m);
    }
    room->rewound = room->agreed;
    kl_lobby_log_room(KL_LOG_INFO, "rewind", r, "frame=%u to=%u", room->label, room->agreed);
    stop(r);
}

/* A member has no own state of the agreed keyframe: it alone runs the game from the beginning. */
static bool has_no_own(struct kl_lobby_room *r, unsigned member) {
    if (!begins_anew(r, member)) return false;
    kl_lobby_notice(r, "out of sync: %s runs the game from the beginning", kl_lobby_name(r, member).text);
    return true;
}

/* Members that were not there when all others last agreed are on their own; true: some of them were sent to
 * the beginning, and those that are left may agree. */
static bool send_strangers(struct kl_lobby_room *r) {
    uint16_t strangers = r->heal.wrong & (uint16_t)~r->heal.agreed_by;
    bool some = false;
    if (strangers == r->heal.wrong) return false;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (has_bit(strangers, i) && !r->member[i].heal.anew) some |= has_no_own(r, i);
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
        count_one(r);
        stop(r);
    } else if (can_go_back(r) && parts_often(r, h->wrong, now_us)) {
        no_more(r, "the machines part again and again", now_us);
    } else if (can_go_back(r)) {
        go_back(r, h->wrong, now_us);
    } else if (!h->began_anew && all_anew(r, "out of sync")) {
        h->began_anew = true;
    } else {
        no_more(
            r, r->snapshot.unfit ? "this core gives no state" : "the machines part from the same state again",
            now_us);
    }
}

/* One that loads no state of others, against a majority. */
static void heal_alone(struct kl_lobby_room *r, unsigned member, bool own, uint64_t now_us) {
    bool tried = r->heal.agreed == r->heal.rewound;
    if (own && !tried)
        go_back(r, (uint16_t)(1U << member), now_us);
    else if (has_no_own(r, member))
        count_one(r);
    else if (own)
        go_back(r, (uint16_t)(1U << member), now_us);
    else
        order_out(r, member,
                  "out of sync: you load no state of other players (trust = on, if you know them), and "
                  "this relay does not keep the game's beginning");
}

/* Those in the wrong that load no state of others; the rest stays to be healed. */
static void heal_those_alone(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_heal *h = &r->heal;
    uint16_t wrong = h->wrong, alone = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (has_bit(wrong, i) && !r->member[i].consents) alone |= (uint16_t)(1U << i);
    uint32_t rewound = h->rewound;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        if (!has_bit(alone, i)) continue;
        h->rewound = rewound;
        heal_alone(r, i, h->agreed && has_bit(h->agreed_by, i) && !r->snapshot.unfit, now_us);
    }
    h->wrong = wrong & (uint16_t)~alone;
}

/* The members whose machines are to be healed: all but those in the right. */
static uint16_t in_the_wrong(const struct kl_lobby_room *r, uint16_t members) {
    uint16_t wrong = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (has_bit(members, i) && kl_lobby_reaches(&r->member[i]) && r->member[i].v.way.step != KL_WAY_LOADS)
            wrong |= (uint16_t)(1U << i);
    return wrong;
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
        stop(r); /* until the next hashes differ */
        return;
    }
    if (!h->right) {
        settle_tie(r, now_us);
        return;
    }
    if (too_often(r, c, now_us)) return;
    heal_those_alone(r, now_us);
    if (!h->wrong) {
        stop(r);
        return;
    }
    if (r->snapshot.unfit) {
        without_states(r, now_us);
        return;
    }
    kl_verdict_forget(&r->heal.verdicts, h->wrong);
    h->phase = KL_HEAL_ORDERING;
    h->since_us = now_us;
}

/* The keyframe after a label on which all agree, while nothing differs: to it machines can go back. */
static void note_agreed(struct kl_lobby_room *r, const struct kl_verdict *v) {
    struct kl_lobby_heal *h = &r->heal;
    const struct kl_verdict_table *t = &r->heal.verdicts;
    bool equal = v->complete && (!v->differs || v->differs == KL_VERDICT_NOTED);
    bool clear = equal && h->phase == KL_HEAL_NONE && !t->any_bad;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        clear = clear && !kl_lobby_heal_busy(r, i);
    uint16_t proved = clear ? kl_verdict_proved(t, v->frame) : 0;
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
    if (r->phase != KL_ROOM_PLAYING) return;
    if (!apart) return;
    if (r->params.desync == KL_DESYNC_PAUSE) pause_once(r);
    if (h->hopeless) kl_lobby_play_on_note(r, v, now_us);
    if (r->params.desync != KL_DESYNC_HEAL || h->hopeless || h->phase != KL_HEAL_NONE) return;
    if (now_us < h->again_us) return; /* the next hashes will differ, too */
    h->phase = KL_HEAL_FOUND;
    h->label = v->frame;
    h->parts = v->parts;
    h->found_us = h->since_us = now_us;
    r->due.busy = true;
}

/* --- on the way --- */

static void wait_for_reports(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_heal *h = &r->heal;
    struct kl_verdict_camps c;
    struct kl_verdict_members members = kl_lobby_heal_members(r);
    if (!kl_verdict_camps(&r->heal.verdicts, h->label, &members, &c))
        stop(r); /* of the game's end */
    else if (!(members.awaited & ~c.reported) || now_us >= h->since_us + REPORTS_US)
        begin(r, &c, now_us);
}

static void order(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_heal *h = &r->heal;
    h->failures = r->snapshot.failures;
    if (kl_lobby_snapshot_order(r, h->right, now_us))
        h->phase = KL_HEAL_WAITING;
    else if (r->snapshot.unfit)
        without_states(r, now_us);
    else if (now_us >= h->since_us + ORDER_TIRES)
        healing_failed(r, "no snapshot could be ordered", now_us);
}

static void offer(struct kl_lobby_room *r, uint64_t now_us) {
    const struct kl_lobby_packed *k = r->snapshot.kept;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        struct kl_lobby_member *m = &r->member[i];
        struct kl_lobby_healing *h = &m->heal;
        bool gets = has_bit(r->heal.wrong, i) && kl_lobby_reaches(m); /* one that said BYE does not */
        if (!gets || !kl_visitor_offer(r, &m->v, r->snapshot.kept, false)) continue;
        h->loads = true;
        h->own = h->loaded = false;
        h->keyframe = k->keyframe;
        h->label = r->heal.label;
        h->found_us = r->heal.found_us;
        h->since_us = now_us;
        h->by_us = now_us + LOAD_US + k->len * UINT64_C(1000000) / LOAD_LEAST;
    }
    r->heal.vain = 0;
    stop(r);
}

/* The members in the right agree in the compared bytes, but not in all bytes of their states: no state has
 * the word of more than half. */
static void no_majority(struct kl_lobby_room *r, uint64_t now_us) {
    if (r->snapshot.apart && can_go_back(r)) {
        go_back(r, r->heal.wrong, now_us);
        return;
    }
    bool can = r->snapshot.apart && r->heal.ram;
    if (can && all_anew(r, "the states of the other machines differ as well")) return;
    healing_failed(
        r, r->snapshot.apart ? "the states of the machines in sync differ" : "no machine gave its state",
        now_us);
}

static void wait_for_snapshot(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_heal *h = &r->heal;
    if (r->snapshot.phase != KL_SNAPSHOT_NONE) return;
    if (r->snapshot.failures == h->failures)
        offer(r, now_us);
    else if (r->snapshot.unfit)
        without_states(r, now_us);
    else
        no_majority(r, now_us);
}

static void look_at_loading(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    const struct kl_lobby_member *m = &r->member[member];
    if (!m->heal.loads || now_us < m->heal.by_us) return;
    kl_lobby_log_member(KL_LOG_INFO, "not_loaded", r, member, "snapshot=%u", m->heal.keyframe);
    kl_lobby_notice(r, "%s did not %s in time", kl_lobby_name(r, member).text,
                    m->heal.own ? "go back to its own state" : "load the others' state");
    end_loading(r, member, false, now_us);
}

struct kl_heal_deeds kl_lobby_heal_run(struct kl_lobby_room *r, uint64_t now_us) {
    if (r->heal.phase == KL_HEAL_FOUND) wait_for_reports(r, now_us);
    if (r->heal.phase == KL_HEAL_ORDERING) order(r, now_us);
    if (r->heal.phase == KL_HEAL_WAITING) wait_for_snapshot(r, now_us);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        look_at_loading(r, i, now_us);
    kl_lobby_play_on_run(r, now_us);
    struct kl_heal_deeds deeds = r->heal.deeds;
    r->heal.deeds = (struct kl_heal_deeds){0};
    return deeds;
}

void kl_lobby_heal_loaded(struct kl_lobby_room *r, unsigned member, const struct kl_healed *m,
                          uint64_t now_us) {
    struct kl_lobby_healing *h = &r->member[member].heal;
    if (!h->loads || m->keyframe != h->keyframe) return;
    bool loaded = m->how != KL_HEALED_NOT; /* if not, its hashes will say so */
    if (loaded) h->from = m->next;
    end_loading(r, member, loaded, now_us);
    if (!loaded && h->own) (void)has_no_own(r, member);
}

void kl_lobby_heal_left(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    struct kl_lobby_heal *h = &r->heal;
    uint16_t bit = (uint16_t)(1U << member);
    if (kl_lobby_heal_busy(r, member)) take_strike_back(&r->member[member].heal);
    h->wrong &= (uint16_t)~bit;
    h->right &= (uint16_t)~bit;
    h->deeds.anew &= (uint16_t)~bit;
    if (!kl_lobby_here(&r->member[member])) h->agreed_by &= (uint16_t)~bit;
    r->member[member].heal.from = 0;
    kl_lobby_play_on_left(r, member);
    if (r->member[member].heal.loads) end_loading(r, member, false, now_us);
    bool lost = !h->right && h->phase < KL_HEAL_WAITING; /* nobody has the right state any more */
    if (h->phase > KL_HEAL_FOUND && (!h->wrong || lost)) stop(r);
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
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        r->member[i].heal.anew = 0;
    return true;
}

bool kl_lobby_heal_policy(struct kl_lobby_room *r, uint8_t policy, const char *who, uint64_t now_us) {
    static const char *const names[] = {"heal", "pause", "ignore"};
    bool again = renew(r, now_us);
    if (again || policy != KL_DESYNC_HEAL) kl_lobby_play_on_end(r, "the host's word", now_us);
    if (policy != KL_DESYNC_HEAL) stop(r);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (policy != KL_DESYNC_HEAL) r->member[i].heal.loads = false;
    if (r->params.desync == policy) return again;
    r->params.desync = policy;
    r->past.ticket_changed = true;
    kl_lobby_notice(r, "%s sets the desync policy: %s", who, names[policy]);
    return true;
}
