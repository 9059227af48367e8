/* Healing: who is out of sync gets the others' state. net/PROTOCOL.md §7, Healing.
 *
 *     found -> (all who play have reported, or a second is over) -> ordered -> (a snapshot is kept) ->
 * loading -> none
 *
 * The wrong ones' hashes do not count from the decision until they say HEALED. What fails is tried again when
 * the next hashes differ; what does not help is given up, for healing takes everybody a moment each time. */
#include <string.h>

#include "../engine/command.h"
#include "lobby_room.h"

#define REPORTS_US  1000000  /* for the last of those who play to report, once a difference is known */
#define LOAD_US     10000000 /* for a snapshot to be loaded, once it is sent, and … */
#define LOAD_LEAST  16384    /* … bytes a second that it comes by at least */
#define MINUTE_US   60000000
#define ORDER_TIRES 10000000 /* a snapshot that could not be ordered for so long */

static bool has_bit(uint16_t mask, unsigned i) {
    return mask >> i & 1;
}
static unsigned count_bits(uint16_t mask) {
    return (unsigned)__builtin_popcount(mask);
}

const char *kl_lobby_desync_name(uint8_t policy) {
    static const char *const names[] = {"heal", "pause", "ignore"};
    return policy <= KL_DESYNC_IGNORE ? names[policy] : "unknown";
}

struct kl_verdict_court kl_lobby_heal_court(const struct kl_lobby_room *r, uint16_t reporting) {
    struct kl_verdict_court c = {.present = reporting & (uint16_t)~r->heal.wrong};
    c.judge = r->heal.judged && kl_lobby_reaches(&r->member[r->heal.judge]) ? r->heal.judge : KL_MAX_CLIENTS;
    c.host = r->host;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        uint16_t bit = (uint16_t)(1U << i);
        if (r->member[i].here && r->member[i].seats) c.voters |= bit;
        bool decides = i == c.judge || kl_lobby_plays_now(r, i);
        if (decides && !has_bit(r->heal.wrong, i)) c.awaited |= bit;
    }
    return c;
}

bool kl_lobby_heal_counts(const struct kl_lobby_room *r, unsigned member, uint32_t label) {
    return !has_bit(r->heal.wrong, member) && label + 1 >= r->member[member].healed_from;
}

/* --- the end of it -----------------------------------------------------------------------------------------
 */

static void stop(struct kl_lobby_room *r) {
    r->heal.phase = KL_HEAL_NONE;
    r->heal.wrong = r->heal.loading = 0;
    r->busy = true;
}

static void give_up(struct kl_lobby_room *r, const char *why) {
    kl_lobby_log_room(KL_LOG_INFO, "heal_failed", r, "frame=%u reason=\"%s\"", r->heal.label, why);
    kl_lobby_notice(r, "not brought back in sync: %s", why);
    stop(r);
}

/* For good, until the host says `desync heal' again. */
static void no_more(struct kl_lobby_room *r, const char *why) {
    r->heal.hopeless = true;
    give_up(r, why);
}

static void done(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_heal *h = &r->heal;
    char who[KL_LOBBY_NAMES];
    kl_lobby_names_of(r, h->healed, who, sizeof who);
    kl_lobby_log_room(KL_LOG_INFO, "healed", r, "frame=%u snapshot=%u ms=%llu", h->label, h->keyframe,
                      (unsigned long long)(now_us - h->found_us) / 1000);
    if (h->healed) {
        kl_lobby_notice(r, "back in sync: %s has the state of frame %u", who, h->keyframe);
        h->count++;
        kl_verdict_healed(&r->verdicts);
    }
    stop(r);
}

/* --- who is out of sync ------------------------------------------------------------------------------------
 */

/* How often within the last minute, this time included. */
static unsigned strikes(struct kl_lobby_member *m, uint64_t now_us) {
    unsigned count = 1;
    for (unsigned i = 0; i < KL_STRIKES - 1; i++)
        count += m->strike_us[i] && now_us < m->strike_us[i] + MINUTE_US;
    memmove(&m->strike_us[1], &m->strike_us[0], sizeof m->strike_us - sizeof m->strike_us[0]);
    m->strike_us[0] = now_us;
    return count;
}

static void forget_strikes(struct kl_lobby_member *m) {
    memset(m->strike_us, 0, sizeof m->strike_us);
}

/* Who began with a snapshot and was never in sync since shows that states of this core do not hold all of it.
 */
static void who_replays(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_heal *h = &r->heal;
    uint16_t replay = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (has_bit(h->wrong, i) && r->member[i].late.unchecked && kl_lobby_way_untrue(r, i, now_us))
            replay |= (uint16_t)(1U << i);
    if (!replay) return;
    h->wrong &= (uint16_t)~replay;
    h->count++; /* what differed is over */
    kl_verdict_healed(&r->verdicts);
    kl_verdict_forget(&r->verdicts, replay);
}

/* True: nobody is left to be healed, or nothing helps. */
static bool too_often(struct kl_lobby_room *r, const struct kl_verdict_camps *c, uint64_t now_us) {
    uint16_t wrong = r->heal.wrong;
    bool alone = c->majority && count_bits(wrong) == 1;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        struct kl_lobby_member *m = &r->member[i];
        if (!has_bit(wrong, i) || strikes(m, now_us) < KL_STRIKES) continue;
        forget_strikes(m);
        if (!c->ram) { /* where the core does not keep all in its state, nothing helps, and nobody is to blame
                        */
            r->heal.states_hopeless = true;
            give_up(r, "the state does not hold all of this core, so theirs will differ");
        } else if (alone) {
            r->heal.phase = KL_HEAL_NONE;
            r->heal.wrong = 0;
            kl_lobby_put_out(r, i, KL_REFUSE_DESYNC,
                             "out of sync with all others three times within a minute", now_us);
        } else
            no_more(r, "it was tried three times within a minute");
        return true;
    }
    return false;
}

static void begin(struct kl_lobby_room *r, const struct kl_verdict_camps *c, uint64_t now_us) {
    struct kl_lobby_heal *h = &r->heal;
    kl_lobby_play_tell_owing(r, h->label);
    h->right = c->right;
    h->wrong = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (has_bit(c->reported & (uint16_t)~c->right, i) && kl_lobby_reaches(&r->member[i]) &&
            !r->member[i].way.loading)
            h->wrong |= (uint16_t)(1U << i);
    if (!h->right)
        kl_lobby_log_room(KL_LOG_INFO, "heal_waits", r, "frame=%u reason=\"nobody can say who is right\"",
                          h->label);
    else if (c->ram)
        who_replays(r, now_us);
    if (!h->right || !h->wrong || (!c->ram && h->states_hopeless)) {
        stop(r); /* until the next hashes differ */
        return;
    }
    if (too_often(r, c, now_us)) return;
    if (r->shot.unfit) {
        no_more(r, "there is no state to be had of this core");
        return;
    }
    kl_verdict_forget(&r->verdicts, h->wrong);
    h->phase = KL_HEAL_ORDERING;
    h->since_us = now_us;
    h->healed = 0;
}

static void pause_once(struct kl_lobby_room *r) {
    if (r->heal.paused || r->lock.paused || r->lock.pausing) return;
    r->heal.paused = true;
    if (kl_room_command(&r->lock, KL_RELAY_CLIENT, KL_COMMAND_PAUSE, NULL, 0) != KL_OK) return;
    kl_lobby_log_room(KL_LOG_INFO, "pauses", r, "reason=\"out of sync\"");
    kl_lobby_notice(r, "the room pauses, out of sync; `resume' goes on, `desync heal' mends it then");
}

void kl_lobby_heal_found(struct kl_lobby_room *r, const struct kl_verdict *v, uint64_t now_us) {
    struct kl_lobby_heal *h = &r->heal;
    if (r->phase != KL_ROOM_PLAYING) return;
    bool apart = v->differs && v->differs != KL_VERDICT_NOTED;
    if (!apart && v->complete) h->paused = false;
    if (!apart || (v->differs == 2 && h->states_hopeless)) return;
    if (r->params.desync == KL_DESYNC_PAUSE) pause_once(r);
    if (r->params.desync != KL_DESYNC_HEAL || h->hopeless || h->phase != KL_HEAL_NONE) return;
    h->phase = KL_HEAL_FOUND;
    h->label = v->frame;
    h->found_us = h->since_us = now_us;
    r->busy = true;
}

/* --- on the way --------------------------------------------------------------------------------------------
 */

/* Who plays and has not reported that label. */
static bool somebody_is_owed(const struct kl_lobby_room *r, const struct kl_verdict_camps *c) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (!has_bit(c->reported, i) && kl_lobby_plays_now(r, i)) return true;
    return false;
}

static void wait_for_reports(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_heal *h = &r->heal;
    struct kl_verdict_camps c;
    struct kl_verdict_court court = kl_lobby_heal_court(r, 0);
    if (!kl_verdict_camps(&r->verdicts, h->label, &court, &c))
        stop(r); /* of the game's end */
    else if (!somebody_is_owed(r, &c) || now_us >= h->since_us + REPORTS_US)
        begin(r, &c, now_us);
}

static void order(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_heal *h = &r->heal;
    h->failures = r->shot.failures;
    if (kl_lobby_snapshot_order(r, h->right, now_us))
        h->phase = KL_HEAL_WAITING;
    else if (r->shot.unfit)
        no_more(r, "there is no state to be had of this core");
    else if (now_us >= h->since_us + ORDER_TIRES)
        give_up(r, "no snapshot could be ordered");
}

static void offer(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_heal *h = &r->heal;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (has_bit(h->wrong, i) && kl_lobby_snapshot_offer(r, i)) h->loading |= (uint16_t)(1U << i);
    h->phase = KL_HEAL_LOADING;
    h->keyframe = r->shot.kept->keyframe;
    h->bytes = r->shot.kept->len;
    h->since_us = now_us;
}

static void wait_for_snapshot(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_heal *h = &r->heal;
    if (r->shot.phase != KL_SHOT_NONE) return;
    if (r->shot.failures == h->failures)
        offer(r, now_us);
    else if (r->shot.unfit)
        no_more(r, "there is no state to be had of this core");
    else
        give_up(r, "those who are right have no state in common");
}

static void wait_for_loading(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_heal *h = &r->heal;
    uint64_t most_us = LOAD_US + h->bytes * UINT64_C(1000000) / LOAD_LEAST;
    if (h->loading && now_us >= h->since_us + most_us) {
        char who[KL_LOBBY_NAMES];
        kl_lobby_names_of(r, h->loading, who, sizeof who);
        kl_lobby_notice(r, "%s did not load the others' state in time", who);
        h->loading = 0;
    }
    if (!h->loading) done(r, now_us);
}

void kl_lobby_heal_run(struct kl_lobby_room *r, uint64_t now_us) {
    if (r->heal.phase == KL_HEAL_FOUND) wait_for_reports(r, now_us);
    if (r->heal.phase == KL_HEAL_ORDERING) order(r, now_us);
    if (r->heal.phase == KL_HEAL_WAITING) wait_for_snapshot(r, now_us);
    if (r->heal.phase == KL_HEAL_LOADING) wait_for_loading(r, now_us);
}

void kl_lobby_heal_loaded(struct kl_lobby_room *r, unsigned member, const struct kl_healed *m) {
    struct kl_lobby_heal *h = &r->heal;
    uint16_t bit = (uint16_t)(1U << member);
    if (h->phase != KL_HEAL_LOADING || !(h->loading & bit) || m->keyframe != h->keyframe) return;
    h->loading &= (uint16_t)~bit;
    h->wrong &= (uint16_t)~bit;
    if (m->how == KL_HEALED_NOT) return; /* its hashes will say so */
    h->healed |= bit;
    r->member[member].healed_from = m->next;
}

void kl_lobby_heal_left(struct kl_lobby_room *r, unsigned member) {
    struct kl_lobby_heal *h = &r->heal;
    uint16_t bit = (uint16_t)(1U << member);
    h->wrong &= (uint16_t)~bit;
    h->right &= (uint16_t)~bit;
    h->loading &= (uint16_t)~bit;
    r->member[member].healed_from = 0;
    kl_verdict_withdraw(&r->verdicts, member);
    if (!r->member[member].here && h->judge == member) h->judged = false;
    bool over = !h->wrong && !h->healed;
    bool lost = !h->right && h->phase < KL_HEAL_WAITING; /* nobody has the right state any more */
    if (h->phase > KL_HEAL_FOUND && (over || lost)) stop(r);
}

/* --- what the host says ------------------------------------------------------------------------------------
 */

void kl_lobby_heal_policy(struct kl_lobby_room *r, uint8_t policy, const char *who) {
    r->heal.hopeless = r->heal.states_hopeless = false;
    if (policy != KL_DESYNC_HEAL) stop(r);
    if (r->params.desync == policy) return;
    r->params.desync = policy;
    r->past.ticket_changed = true;
    kl_lobby_notice(r, "%s: out of sync is now for: %s", who, kl_lobby_desync_name(policy));
}

void kl_lobby_heal_judge(struct kl_lobby_room *r, unsigned member, const char *who) {
    r->heal.judged = member < KL_MAX_CLIENTS;
    r->heal.judge = member;
    if (r->heal.judged)
        kl_lobby_notice(r, "%s: where it is one against one, %s is right", who, r->member[member].name);
    else
        kl_lobby_notice(r, "%s: where it is one against one, the host is right", who);
}
