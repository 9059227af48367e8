/* Compares a watcher's hashes with those of the game's clients for the same label, once these are in. The
 * clients' hashes are never judged by a watcher's. */
#include "net/relay/room/lobby_room.h"
#include "net/relay/watch/lobby_watch.h"

#define WAIT_US    3000000 /* for the last client's report, as in verdicts */
#define STRIKE_US  60000000
#define VERDICT_US 5000000 /* between two verdicts "equal" while hashes come */
#define LAST_US    1500000 /* to the last such verdict after the last hash */
#define UNDER_WAY  32

/* --- the game's hashes --- */

static struct kl_watch_truth *truth_of(struct kl_lobby_watch *a, uint32_t frame) {
    for (unsigned i = 0; i < a->truth_places; i++)
        if (a->truth[i].count && a->truth[i].hash.frame == frame) return &a->truth[i];
    return NULL;
}

static struct kl_verdict_pair difference(const struct kl_lobby_room *r, const struct kl_watch_truth *t,
                                         const struct kl_hash *h) {
    struct kl_verdict_past past = {.loaded = true, .judged = kl_verdict_states_judge(&r->heal.verdicts)};
    return kl_verdict_compare(&t->hash, h, past);
}

void kl_lobby_watch_truth(struct kl_lobby_room *r, const struct kl_hash *h, uint64_t now_us) {
    struct kl_lobby_watch *a = &r->watch;
    struct kl_watch_truth *t = truth_of(a, h->frame);
    if (!t) {
        t = &a->truth[a->truths++ % a->truth_places];
        *t = (struct kl_watch_truth){.hash = *h, .first_us = now_us};
    }
    if (t->count < UINT8_MAX) t->count++;
    if (difference(r, t, h).differs == 1) t->contested = true; /* among themselves: it tells nothing */
}

/* True if all players have reported, or the time for it is over. */
static bool is_settled(const struct kl_lobby_room *r, const struct kl_watch_truth *t, uint64_t now_us) {
    unsigned players = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        players += kl_lobby_plays_now(r, i);
    return (players > 0 && t->count >= players) || now_us >= t->first_us + WAIT_US;
}

/* The word of one proves nothing, unless the game is theirs alone: a watcher is told, and not healed or put
 * out. */
static bool is_proved(const struct kl_lobby_room *r, const struct kl_watch_truth *t) {
    unsigned players = 0;
    for (KL_MEMBERS(i, r, kl_lobby_has_seat))
        players++;
    return !t->contested && (t->count > 1 || players <= 1);
}

/* --- a watcher's --- */

void kl_lobby_watch_hash(struct kl_lobby_room *r, struct kl_lobby_watcher *w, const struct kl_hash *h) {
    if (w->v.state != KL_MEMBER_PLAYING || h->frame >= r->watch.end) return;
    if (w->v.catchup.step || h->frame + 1 < w->healed_from) return; /* known, or of before it was healed */
    if (w->hashes == KL_WATCH_HASHES) { /* the oldest goes: its label is not the game's */
        for (unsigned i = 1; i < KL_WATCH_HASHES; i++)
            w->hash[i - 1] = w->hash[i];
        w->hashes--;
    }
    w->hash[w->hashes++] = *h;
    kl_lobby_busy(r);
}

/* parts: those that differ; 0: none. */
static void say(struct kl_lobby_room *r, const struct kl_lobby_watcher *w, uint32_t frame, uint8_t parts) {
    struct kl_msg m = {.kind = KL_MSG_VERDICT};
    m.verdict = (struct kl_verdict){.frame = frame,
                                    .first = w->parted ? w->parted_frame : frame,
                                    .differs = parts != 0,
                                    .parts = parts,
                                    .complete = true,
                                    .healed = w->healed};
    if (!kl_lobby_is_behind(r, w->v.peer, UNDER_WAY)) kl_lobby_send(r->lobby, w->v.peer, &m);
}

/* Each word holds its frames up for a round trip, so it waits for the next ones. */
static void tell_equal(struct kl_lobby_room *r, struct kl_lobby_watcher *w, uint64_t now_us) {
    bool due = now_us >= w->verdict_us + VERDICT_US || now_us >= w->equal_us + LAST_US;
    if (!w->equal || !due) return;
    w->equal = false;
    w->verdict_us = now_us;
    say(r, w, w->equal_frame, 0);
}

static void is_equal(struct kl_lobby_watcher *w, uint32_t frame, bool proved, uint64_t now_us) {
    if (proved && frame > w->parted_frame) w->mended = true;
    w->parted = false;
    w->v.catchup.unproved = w->v.catchup.unproved && !proved;
    w->equal = true;
    w->equal_frame = frame;
    w->equal_us = now_us;
}

/* The watcher is out of sync. If that is proved it gets the game's state, or begins anew. */
static bool has_parted(struct kl_lobby_room *r, struct kl_lobby_watcher *w, uint32_t frame, uint8_t parts,
                       bool proved, uint64_t now_us) {
    bool heals = proved && r->params.desync == KL_DESYNC_HEAL;
    w->equal = false;
    if (heals) {
        /* It is to be healed, or begins anew. A long game takes longer to run again than KL_STRIKES in
         * STRIKE_US: a watcher that was not in sync since the last time has parted for the same reason. */
        bool again = !w->mended || now_us < w->strike_us + STRIKE_US;
        w->strikes = again ? w->strikes + 1 : 1;
        w->strike_us = now_us;
        w->mended = false;
    }
    if (!w->parted) {
        char name[KL_LOG_QUOTED(KL_NAME_MAX)];
        w->parted = true;
        w->parted_frame = frame;
        kl_lobby_log_room(
            KL_LOG_INFO, "watcher_desync", r, "client=watcher name=%s frame=%u what=%s strikes=%u",
            kl_log_quote(name, sizeof name, w->v.name), frame, kl_parts_name(parts), w->strikes);
        kl_visitor_tell(r, &w->v, 0, "this machine is out of sync with the game from frame %u on", frame);
        say(r, w, frame, parts);
    }
    if (!heals) return true;
    if (w->strikes < KL_STRIKES) return kl_lobby_watch_stays(r, w, kl_visitor_heal(r, &w->v, now_us));
    kl_lobby_bar(r, KL_BAR_DESYNC, &w->v.who, now_us);
    kl_lobby_watch_put_out(r, w, KL_REFUSE_DESYNC, "out of sync with the game three times");
    return false;
}

bool kl_lobby_watch_judge(struct kl_lobby_room *r, struct kl_lobby_watcher *w, uint64_t now_us) {
    unsigned kept = 0;
    for (unsigned i = 0; i < w->hashes; i++) {
        struct kl_watch_truth *t = truth_of(&r->watch, w->hash[i].frame);
        struct kl_verdict_pair p = {0};
        if (t) p = difference(r, t, &w->hash[i]);
        if (!t || !is_settled(r, t, now_us)) {
            w->hash[kept++] = w->hash[i];
            continue;
        }
        bool proved = is_proved(r, t);
        if (p.differs == 1 && !t->contested) {
            bool here = has_parted(r, w, w->hash[i].frame, p.parts, proved, now_us);
            if (!here || w->v.catchup.step || w->v.state != KL_MEMBER_PLAYING) return here;
        } else if (proved || (w->parted && !t->contested)) {
            is_equal(w, w->hash[i].frame, p.proved, now_us);
        }
    }
    w->hashes = kept;
    tell_equal(r, w, now_us);
    return true;
}
