/* Playing on though machines differ: the last resort, so that no room stands because they do. The room pauses
 * and tells its players what differs. It goes on once each player that is there agrees, or ASK_US later: one
 * that has not answered by then may be gone, and one that does not want to play on can leave. From then on
 * nothing is healed, until the host says `desync heal' or all machines are equal again. net/ROOMS.md §7,
 * Playing on. */
#include <string.h>
#include <stdio.h>

#include "net/relay/heal/lobby_heal.h"

#define ASK_US        30000000  /* for all players to agree */
#define ASK_LEAST_US  600000000 /* between two questions: a liar could have the room stand again and again */
#define NOTE_LEAST_US 60000000  /* between two log lines of a difference that is not healed */

#define WHAT_MAX (KL_LOBBY_NAMES + 16)

/* Those that differ, and have not left. */
static uint16_t between(const struct kl_lobby_room *r) {
    uint16_t here = 0;
    for (KL_EACH(i, r->heal.play_on.between))
        if (kl_lobby_stays(r->member[i])) here |= kl_only(i);
    return here;
}

/* "RAM: ann (1), bob (2)" */
static void difference(const struct kl_lobby_room *r, char out[WHAT_MAX]) {
    uint8_t parts = r->heal.parts;
    char who[KL_LOBBY_NAMES];
    kl_lobby_names_of(r, between(r), who, sizeof who);
    snprintf(out, WHAT_MAX, "%s: %s", parts & KL_HASH_RAM ? "RAM" : kl_parts_name(parts), who);
}

/* A member that watches, joins, has lost its link or is in its menu is not waited for. */
static bool is_asked(const struct kl_lobby_room *r, unsigned member) {
    const struct kl_lobby_member *m = r->member[member];
    const struct kl_lock_client *c = &r->lock.client[member];
    return kl_lobby_reaches(m) && m->seats && m->v.state == KL_MEMBER_PLAYING && !c->away && !c->joining;
}

static void go_on(struct kl_lobby_room *r, const char *why, uint64_t now_us) {
    struct kl_lobby_play_on *p = &r->heal.play_on;
    char what[WHAT_MAX], quoted[2 * WHAT_MAX];
    if (kl_lock_resume(&r->lock, now_us) != KL_OK) return; /* its pause is still to come */
    *p = (struct kl_lobby_play_on){.asked_us = p->asked_us, .between = p->between, .tied = p->tied};
    kl_lobby_busy(r);
    difference(r, what);
    kl_lobby_log_room(KL_LOG_INFO, "plays_on", r, "frame=%u differs=%s reason=\"%s\"", r->lock.next_close,
                      kl_log_quote(quoted, sizeof quoted, what), why);
    if (r->heal.hopeless) kl_lobby_notice(r, "playing on, machines differ in %s", what);
}

void kl_lobby_play_on_ask(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_play_on *p = &r->heal.play_on;
    bool stands = r->lock.paused || r->lock.pausing;
    char what[WHAT_MAX], quoted[2 * WHAT_MAX];
    difference(r, what);
    bool lately = p->asked_us && now_us < p->asked_us + ASK_LEAST_US;
    if (lately ||
        (!stands && kl_lock_command(&r->lock, KL_RELAY_CLIENT, KL_COMMAND_PAUSE, NULL, 0) != KL_OK)) {
        kl_lobby_notice(r, "playing on, machines differ in %s", what);
        return;
    }
    p->asked_us = now_us;
    p->until_us = now_us + ASK_US;
    p->agreed = 0;
    kl_lobby_log_room(KL_LOG_INFO, "asks_to_play_on", r, "frame=%u differs=%s", r->lock.next_close,
                      kl_log_quote(quoted, sizeof quoted, what));
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        kl_lobby_play_on_tell(r, i);
}

void kl_lobby_play_on_tell(struct kl_lobby_room *r, unsigned member) {
    bool asks = r->heal.play_on.until_us;
    char what[WHAT_MAX];
    if (!r->heal.hopeless) return;
    difference(r, what);
    kl_lobby_tell(r, member, asks ? KL_NOTICE_PLAY_ON : 0, "machines differ in %s%s", what,
                  asks ? ". Go on?" : "");
}

bool kl_lobby_play_on_agree(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    struct kl_lobby_play_on *p = &r->heal.play_on;
    if (!p->until_us) return false;
    if (member == KL_RELAY_CLIENT) {
        go_on(r, "the operator's word", now_us);
    } else if (!r->member[member]->seats) {
        kl_lobby_tell(r, member, 0, "the players decide whether the game goes on");
    } else if (!(p->agreed & kl_only(member))) {
        p->agreed |= kl_only(member);
        kl_lobby_log_member(KL_LOG_INFO, "agrees", r, member, "frame=%u", r->lock.next_close);
        kl_lobby_notice(r, "%s plays on", kl_lobby_name(r, member).text);
    }
    kl_lobby_play_on_run(r, now_us);
    return true;
}

void kl_lobby_play_on_end(struct kl_lobby_room *r, const char *why, uint64_t now_us) {
    if (r->heal.play_on.until_us) go_on(r, why, now_us);
}

void kl_lobby_play_on_left(struct kl_lobby_room *r, unsigned member) {
    struct kl_lobby_play_on *p = &r->heal.play_on;
    p->agreed &= (uint16_t)~kl_only(member);
    if (!kl_lobby_stays(r->member[member])) p->between &= (uint16_t)~kl_only(member);
}

void kl_lobby_play_on_run(struct kl_lobby_room *r, uint64_t now_us) {
    const struct kl_lobby_play_on *p = &r->heal.play_on;
    uint16_t asked = p->agreed;
    if (!p->until_us) return;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (is_asked(r, i)) asked |= kl_only(i);
    if (!r->heal.hopeless) go_on(r, "in sync again", now_us);
    if (!asked || !p->until_us) return; /* nobody is there: whoever comes back finds the question */
    if (!(asked & ~p->agreed))
        go_on(r, "all agree", now_us);
    else if (!(p->tied ? between(r) & (between(r) - 1) : between(r)))
        go_on(r, "nobody is left that differs", now_us);
    else if (now_us >= p->until_us)
        go_on(r, "no answer", now_us);
}

void kl_lobby_play_on_note(struct kl_lobby_room *r, struct kl_verdict *v, uint64_t now_us) {
    struct kl_lobby_play_on *p = &r->heal.play_on;
    char what[WHAT_MAX], quoted[2 * WHAT_MAX];
    if (p->until_us) return;
    v->parts |= KL_PARTS_LEFT;
    if (p->noted_us && now_us < p->noted_us + NOTE_LEAST_US) return;
    p->noted_us = now_us;
    difference(r, what);
    kl_lobby_log_room(KL_LOG_INFO, "not_healed", r, "frame=%u differs=%s", v->frame,
                      kl_log_quote(quoted, sizeof quoted, what));
}

/* --- the members that vote, and the hashes that count --- */

bool kl_lobby_heal_busy(const struct kl_lobby_room *r, unsigned member) {
    return (r->heal.wrong >> member & 1) || r->member[member]->heal.loads;
}

static void find_homes(const struct kl_lobby_room *r, uint8_t home[KL_MAX_CLIENTS]) {
    for (uint8_t i = 0; i < KL_MAX_CLIENTS; i++) {
        home[i] = i;
        for (uint8_t j = 0; j < i && home[i] == i; j++)
            if (kl_lobby_here(r->member[j]) && strcmp(r->member[i]->home, r->member[j]->home) == 0)
                home[i] = home[j];
    }
}

static uint16_t host_of(const struct kl_lobby_room *r) {
    return r->host == KL_NO_HOST ? 0 : kl_only(r->host);
}

bool kl_lobby_carries(const struct kl_lobby_room *r, bool host, uint16_t voters, uint16_t camp) {
    uint8_t home[KL_MAX_CLIENTS];
    find_homes(r, home);
    return kl_verdict_carries(home, host ? host_of(r) : 0, voters, camp);
}

struct kl_verdict_members kl_lobby_heal_members(const struct kl_lobby_room *r) {
    struct kl_verdict_members c = {0};
    find_homes(r, c.home);
    c.host = host_of(r);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        uint16_t bit = kl_only(i);
        if (kl_lobby_has_seat(r->member[i])) c.voters |= bit;
        if (kl_lobby_heal_busy(r, i)) continue;
        if (kl_lobby_play_reports(r, i)) c.present |= bit;
        if (kl_lobby_plays_now(r, i)) c.awaited |= bit;
    }
    return c;
}

bool kl_lobby_heal_counts(const struct kl_lobby_room *r, unsigned member, uint32_t label) {
    const struct kl_lobby_member *m = r->member[member];
    bool begins = m->v.state == KL_MEMBER_LOADING; /* its hashes on the way are older than PREPARE */
    return !begins && !kl_lobby_heal_busy(r, member) && label + 1 >= m->heal.from;
}

bool kl_lobby_heal_has_loaded(const struct kl_lobby_room *r, unsigned member) {
    const struct kl_lobby_member *m = r->member[member];
    return m->v.catchup.begins || m->heal.has_loaded || r->past.reopened;
}
