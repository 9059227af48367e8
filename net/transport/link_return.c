#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/engine/lock_return.h"
#include "net/platform/clock.h"
#include "net/session/past.h"
#include "net/transport/link_state.h"

#define CONNECT_US  (5 * 1000000ULL)  /* for ENet to connect, after the handshake */
#define WELCOME_US  (60 * 1000000ULL) /* for WELCOME to come: the relay itself says no in good time */
#define PROBE_US    1000000           /* of silence, and a new handshake is begun beside the session */
#define PROBED_US   250000            /* after its ANSWER, for the old session to be heard all the same */
#define PAST_BLOCKS 128               /* 8 MiB: hours */
#define AGAIN_US    2000000 /* between two tries of who watches, where the room is not there (yet) */

static void lock(struct kl_link *l) {
    kl_mutex_lock(&l->mutex);
}
static void unlock(struct kl_link *l) {
    kl_mutex_unlock(&l->mutex);
}

/* --- what was played ---------------------------------------------------------------------------------------
 */

void kl_link_past_forget(struct kl_link *l, uint32_t keyframe, uint32_t interval) {
    void *block;
    while ((block = kl_history_drop(&l->shared.past)) != NULL)
        free(block);
    kl_history_init(&l->shared.past, keyframe, interval);
    l->shared.tags_put = 0;
}

static unsigned blocks_of(const struct kl_history *h) {
    unsigned count = 0;
    for (const struct kl_history_block *b = h->oldest; b; b = b->next)
        count++;
    return count;
}

/* Where there is no memory the oldest goes: RETURN needs the newest only. */
void kl_link_past_keep(struct kl_link *l, const struct kl_frame *f) {
    struct kl_history *h = &l->shared.past;
    if (kl_history_wants_block(h)) {
        void *block = blocks_of(h) < PAST_BLOCKS ? malloc(KL_HISTORY_BLOCK) : NULL;
        kl_history_give(h, block ? block : kl_history_drop(h));
    }
    (void)kl_history_append(
        h, f, f->flags & KL_FRAME_COMMANDS ? kl_client_commands(&l->shared.lock, f->number) : NULL);
}

void kl_link_take_tags(struct kl_link *l, const struct kl_tags *t) {
    struct kl_link_tags *to = &l->shared.tags[l->shared.tags_put++ % KL_LINK_TAGS];
    *to = (struct kl_link_tags){.count = t->first + t->count, .end_frame = t->end_frame};
    memcpy(to->tag, t->tag[t->count - 1], sizeof to->tag);
}

const struct kl_link_tags *kl_link_newest_tag(const struct kl_link_shared *s) {
    const struct kl_link_tags *best = NULL;
    for (uint32_t i = 0; i < KL_LINK_TAGS && i < s->tags_put; i++)
        if (s->tags[i].end_frame <= s->past.next && s->tags[i].end_frame >= s->past.first &&
            (!best || s->tags[i].count > best->count))
            best = &s->tags[i];
    return best;
}

/* Under the mutex: fills in what we have. */
static void describe_past(struct kl_link_shared *s, struct kl_return *r) {
    struct kl_history_cursor cursor;
    const struct kl_link_tags *tag = kl_link_newest_tag(s);
    struct kl_digest d;
    struct kl_frame f;
    r->have = s->past.next;
    r->can_bring = kl_link_can_bring(s);
    r->tags = tag ? tag->count : 0;
    kl_digest_begin(&d, tag ? tag->tag : NULL);
    kl_history_seek(&cursor, &s->past, tag ? tag->end_frame : 0);
    while (kl_history_next(&cursor, &f))
        kl_digest_frame(&d, &f, f.flags & KL_FRAME_COMMANDS ? &cursor.frames.commands : NULL);
    kl_digest_end(&d, r->digest);
}

/* --- losing the relay
 * ---------------------------------------------------------------------------------------
 */

bool kl_link_is_returning(struct kl_link *l) {
    lock(l);
    bool returning = l->shared.status.phase == KL_LINK_RETURNING;
    unlock(l);
    return returning;
}

/* Under the mutex. */
static bool seat_is_kept(const struct kl_link *l) {
    const struct kl_link_shared *s = &l->shared;
    return s->joined && s->status.welcome.seat_time_s > 0 && !s->leaving && !l->said_bye &&
           s->status.phase != KL_LINK_ENDED;
}

/* Nothing is kept for who watches: he comes by the door. */
static bool watches(struct kl_link *l) {
    lock(l);
    bool outside = l->shared.joined && l->shared.status.welcome.client == KL_WATCHER;
    unlock(l);
    return outside;
}

/* found: keys that a probe has got, or NULL. */
static void begin_return(struct kl_link *l, const struct kl_hs_outcome *found) {
    struct kl_link_status *st = &l->shared.status;
    lock(l);
    if (st->phase != KL_LINK_RETURNING) {
        l->shared.before = st->phase;
        st->phase = KL_LINK_RETURNING;
        st->lost_us = l->session.heard_us;
        snprintf(st->reason, sizeof st->reason, "the relay %s:%u does not answer; trying to come back",
                 l->host, l->port);
        kl_link_happened(l);
    }
    if (l->shared.shot.begins) l->shared.unloaded = true; /* until all is done again */
    kl_link_shot_forget(l);
    unlock(l);
    if (l->shared.is_given) l->uploaded = SIZE_MAX; /* until SEND asks again */
    l->bring.active = false;
    if (l->door.password[0] && watches(l)) l->door.state = KL_DOOR_OUTSIDE;
    if (found)
        kl_link_session_begin_with(l, found);
    else
        kl_link_session_begin(l);
}

void kl_link_lost(struct kl_link *l) {
    lock(l);
    bool kept = seat_is_kept(l);
    unlock(l);
    if (kept)
        begin_return(l, NULL);
    else
        kl_link_end_with(l, "the relay %s does not answer any more");
}

bool kl_link_refused_for_now(struct kl_link *l, const struct kl_text *t) {
    struct kl_link_status *st = &l->shared.status;
    bool now = t->code == KL_REFUSE_FULL || t->code == KL_REFUSE_STARTED || t->code == KL_REFUSE_SEAT;
    if (!now || st->phase != KL_LINK_RETURNING || st->welcome.client != KL_WATCHER) return false;
    snprintf(st->reason, sizeof st->reason, "%s", t->text);
    return true;
}

bool kl_link_turned_away(struct kl_link *l) {
    if (!kl_link_is_returning(l) || !watches(l)) return false;
    begin_return(l, NULL);
    l->session.init_us = kl_now_us() + AGAIN_US;
    return true;
}

/* A relay that speaks but does not welcome us yet may be waiting for others to bring the room. */
static bool is_overdue(const struct kl_link_session *s, uint64_t now_us) {
    if (s->stage == KL_STAGE_HANDSHAKE) return false;
    if (s->stage != KL_STAGE_CONNECTED) return now_us >= s->answered_us + CONNECT_US;
    return now_us >= s->heard_us + KL_SILENCE_US || now_us >= s->answered_us + WELCOME_US;
}

static void keep_trying(struct kl_link *l, uint64_t now_us) {
    const struct kl_link_session *s = &l->session;
    lock(l);
    uint64_t until_us = l->shared.status.lost_us + l->shared.status.welcome.seat_time_s * UINT64_C(1000000);
    unlock(l);
    if (now_us >= until_us)
        kl_link_end_with(l, "the relay %s did not answer for as long as it keeps a seat");
    else if (is_overdue(s, now_us))
        begin_return(l, NULL);
}

/* An honest relay speaks ten times a second at the least. */
static void mind_silence(struct kl_link *l, uint64_t now_us) {
    const struct kl_link_session *s = &l->session;
    uint64_t silence_us = now_us > s->heard_us ? now_us - s->heard_us : 0;
    bool new_life = s->found_us > s->heard_us && now_us >= s->found_us + PROBED_US;
    if (silence_us < PROBE_US)
        kl_link_probe(l, 0);
    else if (new_life || silence_us >= KL_SILENCE_US)
        begin_return(l, s->found_us ? &s->found : NULL);
    else
        kl_link_probe(l, now_us);
}

void kl_link_return_turn(struct kl_link *l, uint64_t now_us) {
    lock(l);
    bool returning = l->shared.status.phase == KL_LINK_RETURNING, kept = seat_is_kept(l);
    unlock(l);
    if (returning)
        keep_trying(l, now_us);
    else if (kept && l->session.stage == KL_STAGE_CONNECTED)
        mind_silence(l, now_us);
}

/* --- entering ----------------------------------------------------------------------------------------------
 */

static void send_return(struct kl_link *l) {
    struct kl_msg m = {.kind = KL_MSG_RETURN};
    lock(l);
    struct kl_return *r = &m.back;
    const struct kl_link_shared *s = &l->shared;
    memcpy(r->room, l->hello.room, sizeof r->room);
    memcpy(r->token, s->joined ? s->status.welcome.token : l->token, sizeof r->token);
    memcpy(r->seat_key, l->seat.pub, sizeof r->seat_key);
    r->fresh = !s->joined || s->unloaded;
    r->facts = l->hello.facts;
    if (!r->fresh) describe_past(&l->shared, r);
    unlock(l);
    kl_seat_sign(&l->seat, l->session.outcome.keys.binding, r->token, r->signature);
    kl_link_send_message(l, &m);
}

void kl_link_enter(struct kl_link *l) {
    struct kl_msg m = {.kind = KL_MSG_HELLO, .hello = l->hello};
    bool returning = kl_link_is_returning(l), again = returning && watches(l);
    if (again) m.hello.door |= KL_DOOR_AGAIN;
    if (again) m.hello.seats_wanted = 0;
    if (!again && (l->fresh || returning))
        send_return(l);
    else
        kl_link_send_message(l, &m);
}

/* So long does who watches try to come back. */
void kl_link_take_welcome(struct kl_link_shared *s, const struct kl_welcome *w) {
    s->status.welcome = *w;
    if (w->client == KL_WATCHER) s->status.welcome.seat_time_s = KL_WATCH_AGAIN_S;
}

void kl_link_returned(struct kl_link *l, const struct kl_welcome *w) {
    struct kl_link_shared *s = &l->shared;
    kl_link_take_welcome(s, w);
    s->hash_committed = s->hash_got; /* the relay has forgotten what was not revealed */
    s->any_reveal = false;
    kl_client_watch(&s->lock, w->client == KL_WATCHER);
    if (w->seats != s->lock.seats) kl_client_reseat(&s->lock, w->seats); /* SEAT was lost with the session */
    if (s->status.phase == KL_LINK_RETURNING) kl_client_drop(&s->lock);
    kl_client_return(&s->lock, kl_now_us());
    if (s->status.phase != KL_LINK_RETURNING) return;
    s->status.phase = s->before;
    s->status.reason[0] = 0;
    kl_link_happened(l);
}
