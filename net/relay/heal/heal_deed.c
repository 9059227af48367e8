#include <stdlib.h>
#include <string.h>

#include "net/record/tie.h"
#include "net/relay/heal/lobby_heal.h"

/* --- deeds --- */

/* The deeds of a healing, and its ends: members load the others' state, go back to their own, or run the game
 * from frame 0. lobby_heal.c decides on them. */

#define LOAD_US        10000000 /* for a snapshot to be loaded, once it is sent */
#define LOAD_LEAST     16384    /* lowest assumed rate of the snapshot, bytes a second */
#define REST_US        10000000 /* to the next try, after three in a row without a state */
#define AGAIN_LEAST_US 16667    /* for each frame that runs again */
#define HEALS_US       2000000  /* that a member's healings by own states may cost at once */
#define DRAINS         16       /* and one part in so many of all time */

/* --- the end of it --- */

void kl_heal_stop(struct kl_lobby_room *r) {
    r->heal.phase = KL_HEAL_NONE;
    r->heal.wrong = 0;
    kl_lobby_busy(r);
}

void kl_heal_count(struct kl_lobby_room *r) {
    r->heal.count++;
    r->heal.hopeless = false;
    kl_verdict_healed(&r->heal.verdicts);
}

static void log_failure(struct kl_lobby_room *r, const char *why) {
    kl_lobby_log_room(KL_LOG_INFO, "heal_failed", r, "frame=%u reason=\"%s\"", r->heal.label, why);
}

static void forget_newest_strike(struct kl_lobby_healing *h) {
    memmove(&h->strike_us[0], &h->strike_us[1], sizeof h->strike_us - sizeof h->strike_us[0]);
    h->strike_us[KL_STRIKES - 2] = 0;
}

/* The members that wait for a state lose nothing by it. */
void kl_heal_failed(struct kl_lobby_room *r, const char *why, uint64_t now_us) {
    for (KL_EACH(i, r->heal.wrong))
        forget_newest_strike(&r->member[i]->heal);
    if (++r->heal.vain >= KL_STRIKES) r->heal.again_us = now_us + REST_US;
    log_failure(r, why);
    kl_lobby_notice(r, "not brought back in sync: %s", why);
    kl_heal_stop(r);
}

void kl_heal_no_more(struct kl_lobby_room *r, const char *why, uint64_t now_us) {
    r->heal.hopeless = true;
    log_failure(r, why);
    kl_heal_stop(r);
    kl_lobby_play_on_ask(r, now_us);
}

/* --- the game from frame 0 --- */

/* False: that is not kept, or has been tried too often. */
static bool begins_anew(struct kl_lobby_room *r, unsigned member) {
    struct kl_lobby_healing *h = &r->member[member]->heal;
    if (h->anew >= KL_STRIKES - 1 || !kl_lobby_catchup_has_beginning(r)) return false;
    h->anew++;
    r->heal.agreed_by &= (uint16_t)~kl_only(member);
    r->heal.deeds.anew |= kl_only(member);
    kl_verdict_forget(&r->heal.verdicts, kl_only(member));
    return true;
}

bool kl_heal_one_anew(struct kl_lobby_room *r, unsigned member) {
    if (!begins_anew(r, member)) return false;
    kl_lobby_notice(r, "out of sync: %s runs the game from the beginning", kl_lobby_name(r, member).text);
    return true;
}

bool kl_heal_all_anew(struct kl_lobby_room *r, const char *why) {
    uint16_t anew = 0;
    char who[KL_LOBBY_NAMES];
    for (KL_EACH(i, r->heal.wrong))
        if (begins_anew(r, i)) anew |= kl_only(i);
    if (anew != r->heal.wrong) return false;
    kl_lobby_names_of(r, anew, who, sizeof who);
    kl_lobby_log_room(KL_LOG_INFO, "heal_anew", r, "frame=%u", r->heal.label);
    kl_lobby_notice(r, "%s: %s run%s the game from the beginning", why, who, kl_size(anew) == 1 ? "s" : "");
    kl_heal_count(r);
    kl_heal_stop(r);
    return true;
}

/* --- states --- */

/* for_us: that the member has for it. */
static void begin_loading(struct kl_lobby_room *r, unsigned member, bool own, uint32_t keyframe,
                          uint64_t for_us, uint64_t now_us) {
    struct kl_lobby_healing *h = &r->member[member]->heal;
    h->loads = true;
    h->own = own;
    h->loaded = false;
    h->keyframe = keyframe;
    h->label = r->heal.label;
    h->found_us = r->heal.found_us;
    h->since_us = now_us;
    h->by_us = now_us + LOAD_US + for_us;
}

void kl_heal_offer(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_packed *k = r->snapshot.kept;
    for (KL_EACH(i, r->heal.wrong)) {
        struct kl_lobby_member *m = r->member[i];
        if (!kl_lobby_reaches(m) || !kl_visitor_offer(r, &m->v, k, false)) continue; /* it has said BYE */
        begin_loading(r, i, false, k->keyframe, k->len * UINT64_C(1000000) / LOAD_LEAST, now_us);
    }
    r->heal.vain = 0;
    kl_heal_stop(r);
}

void kl_heal_go_back(struct kl_lobby_room *r, uint16_t members, uint64_t now_us) {
    uint32_t to = r->heal.agreed;
    struct kl_msg m = {.kind = KL_MSG_REWIND, .rewind = {.keyframe = to}};
    kl_verdict_forget(&r->heal.verdicts, members);
    for (KL_EACH(i, members)) {
        kl_lobby_snapshot_again(r, i, now_us);
        begin_loading(r, i, true, to, (uint64_t)(r->lock.next_close - to) * AGAIN_LEAST_US, now_us);
        kl_lobby_send(r->lobby, r->member[i]->v.peer, &m);
    }
    r->heal.rewound = to;
    kl_lobby_log_room(KL_LOG_INFO, "rewind", r, "frame=%u to=%u", r->heal.label, to);
    kl_heal_stop(r);
}

bool kl_heal_parts_often(const struct kl_lobby_room *r, uint16_t members, uint64_t now_us) {
    for (KL_EACH(i, members))
        if (r->member[i]->v.spent.healed_us > now_us + HEALS_US * DRAINS) return true;
    return false;
}

/* Ends the healing if all members with this one's state have loaded it or were given up. */
static void look_for_end(struct kl_lobby_room *r, const struct kl_lobby_healing *one, uint64_t now_us) {
    char who[KL_LOBBY_NAMES];
    uint16_t healed = 0;
    for (KL_MEMBERS(i, r, kl_lobby_here)) {
        const struct kl_lobby_healing *h = &r->member[i]->heal;
        if (h->keyframe != one->keyframe || h->own != one->own) continue;
        if (h->loads) return;
        if (h->loaded) healed |= kl_only(i);
    }
    if (!healed) return;
    kl_lobby_names_of(r, healed, who, sizeof who);
    kl_lobby_log_room(KL_LOG_INFO, "healed", r, "frame=%u snapshot=%u own=%d ms=%llu", one->label,
                      one->keyframe, one->own, (unsigned long long)(now_us - one->found_us) / 1000);
    kl_lobby_notice(r, "back in sync: %s %s frame %u", who, one->own ? "ran again from" : "has the state of",
                    one->keyframe);
    kl_heal_count(r);
}

/* The time that loading took is none in which it could have been in sync. */
static void end_loading(struct kl_lobby_room *r, unsigned member, bool loaded, uint64_t now_us) {
    struct kl_lobby_healing *h = &r->member[member]->heal;
    h->loads = false;
    h->loaded = loaded;
    h->has_loaded = h->has_loaded || loaded;
    if (h->own) {
        /* The time that healings by own states cost the others is a sum of each member, which drains. */
        struct kl_lobby_member *m = r->member[member];
        uint64_t from_us = m->v.spent.healed_us > now_us ? m->v.spent.healed_us : now_us;
        m->v.spent.healed_us = from_us + (now_us - m->heal.since_us) * DRAINS;
    }
    if (loaded) h->spared = 0;
    if (loaded && !h->own) r->heal.agreed_by &= (uint16_t)~kl_only(member); /* its own states are gone */
    for (unsigned i = 0; i < KL_STRIKES - 1; i++)
        if (h->strike_us[i]) h->strike_us[i] += now_us - h->since_us;
    look_for_end(r, h, now_us);
    kl_lobby_busy(r);
}

void kl_heal_loading_run(struct kl_lobby_room *r, uint64_t now_us) {
    for (KL_MEMBERS(i, r, kl_lobby_here)) {
        const struct kl_lobby_healing *h = &r->member[i]->heal;
        if (!h->loads || now_us < h->by_us) continue;
        kl_lobby_log_member(KL_LOG_INFO, "not_loaded", r, i, "snapshot=%u", h->keyframe);
        kl_lobby_notice(r, "%s did not %s in time", kl_lobby_name(r, i).text,
                        h->own ? "go back to its own state" : "load the others' state");
        end_loading(r, i, false, now_us);
    }
}

bool kl_lobby_heal_loaded(struct kl_lobby_room *r, unsigned member, const struct kl_healed *m,
                          uint64_t now_us) {
    static const char *const how[] = {"same", "other", "not"};
    struct kl_lobby_healing *h = &r->member[member]->heal;
    if (r->phase != KL_ROOM_PLAYING || m->keyframe > r->lock.next_close || m->next > r->lock.next_close)
        return false;
    kl_lobby_log_member(KL_LOG_INFO, "loaded", r, member, "snapshot=%u frame=%u how=%s", m->keyframe, m->next,
                        how[m->how]);
    if (!h->loads || m->keyframe != h->keyframe) return true;
    bool loaded = m->how != KL_HEALED_NOT; /* if not, its hashes will say so */
    if (loaded) h->from = m->next;
    end_loading(r, member, loaded, now_us);
    if (!loaded && h->own) (void)kl_heal_one_anew(r, member);
    return true;
}

void kl_lobby_heal_left(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    struct kl_lobby_heal *h = &r->heal;
    struct kl_lobby_member *m = r->member[member];
    uint16_t others = (uint16_t)~kl_only(member);
    if (kl_lobby_heal_busy(r, member) && m->heal.spared != KL_SPARED) {
        /* The link was lost before the member had the others' state: when it is back and still out of
         * sync, that is the same time. */
        m->heal.spared++;
        forget_newest_strike(&m->heal);
    }
    h->wrong &= others;
    h->right &= others;
    h->deeds.anew &= others;
    if (!kl_lobby_here(m)) h->agreed_by &= others;
    m->heal.from = 0;
    kl_lobby_play_on_left(r, member);
    if (m->heal.loads) end_loading(r, member, false, now_us);
    bool lost = !h->right && h->phase < KL_HEAL_WAITING; /* nobody has the right state any more */
    if (h->phase > KL_HEAL_FOUND && (!h->wrong || lost)) kl_heal_stop(r);
}

/* --- a tie --- */

/* A tie, and one voice more. In a tie nobody can know who is right. A verifier beside the relay runs the
 * match's recording, which needs nobody's word but the inputs; its hash of the tied label decides. The lobby
 * asks it (net/relay/lobby/lobby_play.c). Until the answer has come the room goes by the rules of a tie. */

#define PARTS (KL_HASH_RAM | KL_HASH_STATE | KL_HASH_PICTURE) /* that a run of a recording gives */

void kl_heal_tie_end(struct kl_lobby_room *r) {
    free(r->heal.tie);
    r->heal.tie = NULL;
}

void kl_heal_tie_keep(struct kl_lobby_room *r, uint64_t now_us) {
    const struct kl_lobby_heal *h = &r->heal;
    bool told = h->tie && h->tie->told;
    struct kl_lobby_tie *t = h->tie ? h->tie : malloc(sizeof *t);
    if (!t) return;
    *t = (struct kl_lobby_tie){.label = h->label, .parts = h->parts & PARTS, .told = told};
    t->until_us = now_us + KL_TIE_ANSWERS_S * UINT64_C(1000000);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        if (!kl_verdict_said(&h->verdicts, h->label, i, &t->said[i])) continue;
        t->reported |= kl_only(i);
        t->joined[i] = r->member[i]->joined;
    }
    r->heal.tie = t;
}

static bool is_equal(const struct kl_hash *said, const struct kl_klr_hash *found, uint8_t parts) {
    return (said->has & parts) == parts && (!(parts & KL_HASH_RAM) || said->ram == found->ram) &&
           (!(parts & KL_HASH_STATE) || said->state == found->state) &&
           (!(parts & KL_HASH_PICTURE) || said->picture == found->picture);
}

uint16_t kl_heal_tie_sides(const struct kl_lobby_room *r, const struct kl_klr_hash *found, uint16_t *wrong) {
    const struct kl_lobby_tie *t = r->heal.tie;
    uint8_t parts = t->parts & found->has;
    uint16_t right = 0;
    *wrong = 0;
    for (KL_EACH(i, parts ? t->reported : 0)) {
        bool here = kl_lobby_here(r->member[i]) && r->member[i]->joined == t->joined[i];
        bool equal = is_equal(&t->said[i], found, parts);
        if (here && equal) right |= kl_only(i);
        if (here && !equal) *wrong |= kl_only(i);
    }
    return right;
}

void kl_heal_tie_tell(struct kl_lobby_room *r, uint16_t right, uint16_t wrong, bool apart) {
    char good[KL_LOBBY_NAMES], bad[KL_LOBBY_NAMES], quoted[2][2 * KL_LOBBY_NAMES];
    kl_lobby_names_of(r, right, good, sizeof good);
    kl_lobby_names_of(r, wrong, bad, sizeof bad);
    kl_lobby_log_room(KL_LOG_INFO, "tie_decided", r, "frame=%u right=%s wrong=%s apart=%d",
                      r->heal.tie->label, kl_log_quote(quoted[0], sizeof quoted[0], good),
                      kl_log_quote(quoted[1], sizeof quoted[1], bad), apart);
    if (right && wrong)
        kl_lobby_notice(r, "the relay's own run agrees with %s, not with %s", good, bad);
    else if (!right)
        kl_lobby_notice(r, wrong ? "the relay's own run agrees with nobody"
                                 : "the relay cannot tell who is right");
}
