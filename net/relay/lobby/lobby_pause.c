/* lobby_pause.c - pauses of a match, and their ends. net/ROOMS.md §7, Pauses.
 *
 * A pause that a member began, or the room's rule for differing hashes, ends after a while by itself: nobody
 * keeps the others from their game. One without others may stand. The time that a member may pause is spent
 * by all of its address. */
#include <stdio.h>
#include <string.h>

#include "net/relay/lobby/lobby_parts.h"

#define PAUSES_PER_MIN 6 /* from one address: nobody stops the game again as often as others resume it */
#define SECOND_US      UINT64_C(1000000)

static bool is_beside(const struct kl_lobby_room *r, unsigned member, unsigned other) {
    return kl_lobby_here(r->member[other]) && !strcmp(r->member[other]->v.host, r->member[member]->v.host);
}

/* The member that this pause is charged to; KL_MAX_CLIENTS: none, or it has gone. */
static unsigned pauser(const struct kl_lobby_room *r) {
    const struct kl_lobby_pause *p = &r->talk.pause;
    bool there = p->asked && p->by < KL_MAX_CLIENTS && kl_lobby_here(r->member[p->by]) &&
                 r->member[p->by]->joined == p->joined;
    return there ? p->by : KL_MAX_CLIENTS;
}

/* A player is there, besides the one that has paused. */
static bool keeps_others(const struct kl_lobby_room *r) {
    bool others = false;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        others = others || (i != pauser(r) && kl_lobby_reaches(r->member[i]) && r->member[i]->seats);
    return others;
}

/* The rest of this member's time for pauses. */
static uint64_t left_us(const struct kl_lobby_room *r, unsigned member) {
    uint64_t most_us = r->lobby->limits.pauses_s * SECOND_US, spent_us = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (is_beside(r, member, i) && r->member[i]->v.spent.paused_us > spent_us)
            spent_us = r->member[i]->v.spent.paused_us;
    return spent_us < most_us ? most_us - spent_us : 0;
}

/* One person can be several clients, so those of one address share. */
static bool may_pause(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    unsigned wait_s = 0;
    if (member == KL_RELAY_CLIENT) return true;
    if (left_us(r, member) < SECOND_US) {
        kl_lobby_tell(r, member, 0, "you have paused for %u s in this match: no more",
                      r->lobby->limits.pauses_s);
        return false;
    }
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        unsigned of_it_s =
            is_beside(r, member, i)
                ? kl_bucket_wait_s(&r->member[i]->v.spent.of[KL_SPENDS_PAUSES], PAUSES_PER_MIN, now_us)
                : 0;
        if (of_it_s > wait_s) wait_s = of_it_s;
    }
    for (unsigned i = 0; i < KL_MAX_CLIENTS && wait_s == 0; i++)
        if (is_beside(r, member, i))
            (void)kl_bucket_take(&r->member[i]->v.spent.of[KL_SPENDS_PAUSES], PAUSES_PER_MIN, now_us);
    if (wait_s > 0) kl_lobby_tell(r, member, 0, "you have paused too often: try again in %u s", wait_s);
    return wait_s == 0;
}

static int begin(struct kl_lobby_room *r, unsigned client) {
    int result = kl_lock_command(&r->lock, client, KL_COMMAND_PAUSE, NULL, 0);
    bool asked = r->talk.pause.asked && (r->talk.pause.by == KL_RELAY_CLIENT || pauser(r) < KL_MAX_CLIENTS);
    if (result != KL_OK || asked) return result;
    r->talk.pause = (struct kl_lobby_pause){.asked = true, .by = client};
    if (client < KL_MAX_CLIENTS) r->talk.pause.joined = r->member[client]->joined;
    return result;
}

int kl_lobby_pause(struct kl_lobby_room *r, unsigned client, const char *who, const uint8_t *data, size_t len,
                   uint64_t now_us) {
    bool paused = r->lock.paused || r->lock.pausing;
    if (len > 1 || (len == 1 && data[0] > 1)) return KL_E_MALFORMED;
    bool pause = len ? data[0] == 1 : !paused;
    if (!pause && kl_lobby_play_on_agree(r, client, now_us)) return KL_OK; /* also before the pause begins */
    if (pause == paused) return KL_OK;
    if (pause) return may_pause(r, client, now_us) ? begin(r, client) : KL_E_STATE;
    int result = kl_lock_resume(&r->lock, now_us);
    if (result == KL_OK) kl_lobby_notice(r, "%s resumes the game", who);
    return result;
}

/* The time after which the pause ends by itself; UINT64_MAX: the operator's does not. */
static uint64_t lasts_us(const struct kl_lobby_room *r) {
    const struct kl_lobby_pause *p = &r->talk.pause;
    uint64_t most_us = r->lobby->limits.pause_s * SECOND_US;
    unsigned by = pauser(r);
    if (p->asked && p->by == KL_RELAY_CLIENT) return UINT64_MAX;
    return by < KL_MAX_CLIENTS && left_us(r, by) < most_us ? left_us(r, by) : most_us;
}

static void tell_begin(struct kl_lobby_room *r) {
    uint64_t lasts = lasts_us(r);
    char who[KL_NAME_SHOWN + 10] = "the relay", most[24] = "";
    if (r->heal.play_on.until_us || !r->talk.pause.asked) return; /* the room has asked */
    if (pauser(r) < KL_MAX_CLIENTS) snprintf(who, sizeof who, "%s", kl_lobby_name(r, pauser(r)).text);
    if (lasts != UINT64_MAX && keeps_others(r))
        snprintf(most, sizeof most, " for %u s at most", (unsigned)(lasts / SECOND_US));
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        kl_lobby_tell(r, i, KL_NOTICE_PLAY_ON, "%s pauses%s. Go on?", who, most);
}

static void end(struct kl_lobby_room *r, uint64_t now_us) {
    unsigned by = pauser(r), lasted_s = (unsigned)((now_us - r->talk.pause.since_us) / SECOND_US);
    if (kl_lock_resume(&r->lock, now_us) != KL_OK) return;
    if (by < KL_MAX_CLIENTS) kl_lock_leave_out(&r->lock, by);
    kl_lobby_log_room(KL_LOG_INFO, "pause_over", r, "frame=%u seconds=%u", r->lock.next_close, lasted_s);
    kl_lobby_notice(r, "the pause has lasted %u s: the game goes on", lasted_s);
    r->talk.pause = (struct kl_lobby_pause){0};
}

void kl_lobby_pause_run(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_pause *p = &r->talk.pause;
    if (!r->lock.paused) {
        if (p->since_us) *p = (struct kl_lobby_pause){0};
        return;
    }
    if (!p->since_us) {
        p->since_us = p->charged_us = now_us;
        p->lasts_us = lasts_us(r);
        tell_begin(r);
    }
    if (keeps_others(r)) {
        uint64_t us = now_us - p->charged_us;
        unsigned by = pauser(r);
        for (unsigned i = 0; i < KL_MAX_CLIENTS && by < KL_MAX_CLIENTS; i++)
            if (is_beside(r, by, i)) r->member[i]->v.spent.paused_us += us;
    } else
        p->since_us = now_us;
    p->charged_us = now_us;
    if (!r->heal.play_on.until_us && now_us - p->since_us >= p->lasts_us) end(r, now_us);
}
