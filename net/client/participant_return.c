/* The return of a player: all that is sent, and when. kl_participant_return_turn() notices that the relay is
 * silent, begin_return() begins a new session, kl_participant_next_entry() makes RETURN,
 * kl_participant_returned() acts on the WELCOME. net/ROOMS.md §7, kept seats. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/client/participant_parts.h"
#include "net/engine/engine.h"
#include "net/engine/lock_client.h"
#include "net/session/proof.h"

#define WELCOME_US   (60 * 1000000ULL) /* for WELCOME to come: the relay itself says no in good time */
#define PROBED_US    250000            /* after its ANSWER, for the old session to be heard all the same */
#define PAST_BLOCKS  512               /* 8 MiB: hours */
#define ELSEWHERE_US 100000            /* to the next try, where relays send us to each other */
#define AGAIN_US     2000000           /* between two tries of a watcher whose room is not there (yet) */

/* --- our past --- */

void kl_participant_past_forget(struct kl_participant *s, const struct kl_digest *before) {
    void *block;
    while ((block = kl_history_drop(&s->past)) != NULL)
        free(block);
    free(s->past.devices);
    for (KL_EACH(seat, s->past.touched))
        free(s->past.pad[seat]);
    kl_history_init(&s->past, before->end, before->intervals);
    s->chain = *before;
    s->marks = s->owns = 0;
}

static const struct kl_digest *mark_of(const struct kl_participant *s, uint32_t keyframe) {
    for (unsigned i = 0; i < s->marks; i++)
        if (s->mark[i].end == keyframe) return &s->mark[i];
    return NULL;
}

static bool is_own(const struct kl_participant *s, uint32_t keyframe) {
    for (unsigned i = 0; i < s->owns; i++)
        if (s->own[i] == keyframe) return true;
    return false;
}

void kl_participant_own_states(struct kl_participant *s, const uint32_t *keyframe, unsigned count) {
    unsigned skip = count > KL_RECORD_STATES ? count - KL_RECORD_STATES : 0;
    s->owns = count - skip;
    memcpy(s->own, keyframe + skip, s->owns * sizeof *keyframe);
}

const struct kl_digest *kl_participant_past_cut(struct kl_participant *s, uint32_t keyframe) {
    const struct kl_digest *m = mark_of(s, keyframe);
    if (!m || keyframe < s->past.first || keyframe > s->past.next) return NULL;
    kl_history_cut(&s->past, keyframe, m->intervals);
    s->chain = *m;
    while (s->marks && s->mark[s->marks - 1].end > keyframe)
        s->marks--;
    while (s->owns && s->own[s->owns - 1] > keyframe)
        s->owns--;
    return &s->chain;
}

/* Without memory for more, the oldest goes: RETURN needs the newest only. False: there is none that could. */
static bool make_place(struct kl_participant *s, const struct kl_frame *f) {
    struct kl_history *h = &s->past;
    uint8_t seats = kl_history_wants_pads(h, f);
    if (seats) {
        struct kl_pad *pads = malloc(KL_PIECE_FRAMES * sizeof *pads);
        if (pads) kl_history_give_pads(h, kl_first(seats), pads);
        return pads;
    }
    if (kl_history_wants_devices(h, f)) {
        struct kl_history_devices *devices = malloc(sizeof *devices);
        if (devices) kl_history_give_devices(h, devices);
        return devices;
    }
    unsigned count = 0;
    for (const struct kl_history_block *b = h->oldest; b; b = b->next)
        count++;
    void *block = count < PAST_BLOCKS ? malloc(KL_HISTORY_BLOCK) : NULL;
    if (!block) block = kl_history_drop(h);
    kl_history_give(h, block);
    return block;
}

void kl_participant_past_keep(struct kl_participant *s, const struct kl_frame *f) {
    struct kl_history *h = &s->past;
    uint8_t bytes[KL_INTERVAL_BYTES];
    if (f->flags & KL_FRAME_HASH && f->number == s->chain.end && f->number > 0) {
        /* Without a place, the oldest goes to which there is no state. */
        unsigned i = 0;
        if (s->marks == KL_PARTICIPANT_MARKS) {
            while (is_own(s, s->mark[i].end))
                i++;
            s->marks--;
            memmove(&s->mark[i], &s->mark[i + 1], (s->marks - i) * sizeof s->mark[0]);
        }
        s->mark[s->marks++] = s->chain;
    }
    const struct kl_commands *commands =
        f->flags & KL_FRAME_COMMANDS ? kl_client_commands(&s->lock, f->number) : NULL;
    int result;
    do
        result = kl_history_append(h, f, commands);
    while (result == KL_E_SPACE && make_place(s, f));
    if (result == 1)
        kl_digest_next(&s->chain, s->status.welcome.room_id, bytes,
                       kl_history_interval(h, bytes, sizeof bytes), h->next);
}

/* Fills in our frames and their digests. */
static void describe_past(const struct kl_participant *s, struct kl_return *r) {
    uint8_t bytes[KL_INTERVAL_BYTES];
    uint32_t keyframe;
    size_t len =
        s->past.next > s->chain.end ? kl_history_so_far(&s->past, bytes, sizeof bytes, &keyframe) : 0;
    r->have = s->past.next;
    r->first = s->past.first;
    r->intervals = s->chain.intervals;
    memcpy(r->digest, s->chain.digest, sizeof r->digest);
    kl_digest_open(&s->chain, s->status.welcome.room_id, bytes, len, r->open);
    for (unsigned i = 0; i < s->owns; i++) {
        const struct kl_digest *m = s->own[i] >= s->past.first ? mark_of(s, s->own[i]) : NULL;
        if (!m) continue;
        r->state[r->states].intervals = m->intervals;
        memcpy(r->state[r->states++].digest, m->digest, sizeof m->digest);
    }
}

/* --- losing the relay --- */

bool kl_participant_is_returning(const struct kl_participant *s) {
    return s->status.phase == KL_PARTICIPANT_RETURNING;
}

static bool seat_is_kept(const struct kl_participant *s) {
    return s->joined && s->status.welcome.seat_time_s > 0 && !s->leaving && !s->said_bye &&
           !kl_participant_is_over(s);
}

/* Nothing is kept for a watcher: they come by the door. */
static bool watches(const struct kl_participant *s) {
    return s->joined && s->status.welcome.client == KL_WATCHER;
}

/* found: with the keys that a probe has got. */
static void begin_return(struct kl_participant *s, bool found, uint64_t now_us) {
    struct kl_participant_status *st = &s->status;
    if (!kl_participant_is_returning(s)) {
        s->before = st->phase;
        st->phase = KL_PARTICIPANT_RETURNING;
        st->lost_us = s->dial.s.heard_us;
        snprintf(st->reason, sizeof st->reason, "the relay %s does not answer; trying to come back",
                 s->dial.relay);
        kl_participant_happened(s);
    }
    if (s->snapshot.begins || s->snapshot.goes_back) s->unloaded = true; /* until all is done again */
    kl_participant_snapshot_forget(s);
    kl_participant_direct_forget(s);
    kl_participant_voice_forget(s);
    if (s->is_given) s->uploaded = SIZE_MAX; /* until SEND asks again */
    s->enter_wanted = s->door.prove_wanted = false;
    s->path_len = 0;
    s->turned_us = 0;
    if (s->door.has_password && watches(s)) s->door.state = KL_PARTICIPANT_OUTSIDE;
    if (found)
        kl_dial_begin_found(&s->dial, now_us);
    else
        kl_dial_begin(&s->dial, now_us);
}

void kl_participant_look_for_relay(struct kl_participant *s, uint64_t now_us) {
    bool again = s->joined ? kl_participant_is_returning(s) : s->sent_on;
    s->sent_on = s->goes_on = true;
    if (s->joined)
        begin_return(s, false, now_us);
    else
        kl_dial_begin(&s->dial, now_us);
    if (again) s->dial.s.init_us = now_us + ELSEWHERE_US;
}

bool kl_participant_refused_for_now(struct kl_participant *s, const struct kl_text *t) {
    bool now = t->code == KL_REFUSE_FULL || t->code == KL_REFUSE_STARTED || t->code == KL_REFUSE_SEAT;
    if (!now || !kl_participant_is_returning(s) || !watches(s)) return false;
    snprintf(s->status.reason, sizeof s->status.reason, "%s", t->text);
    return true;
}

void kl_participant_hung_up(struct kl_participant *s, bool bye, uint64_t now_us) {
    if (kl_participant_is_over(s)) return;
    if (kl_participant_is_returning(s) && watches(s)) { /* turned away: they try again */
        begin_return(s, false, now_us);
        s->dial.s.init_us = now_us + AGAIN_US;
    } else if (bye) {
        kl_participant_end_with(s, "the relay %s closed the connection");
    } else if (seat_is_kept(s)) {
        begin_return(s, false, now_us);
    } else {
        kl_participant_end_with(s, "the relay %s does not answer any more");
    }
}

/* A relay that speaks but does not welcome us yet may have much to do. */
static bool is_overdue(const struct kl_dial *dial, uint64_t now_us) {
    const struct kl_dial_session *d = &dial->s;
    if (d->stage != KL_DIAL_CONNECTED) return kl_dial_is_lost(dial, now_us);
    return now_us >= d->heard_us + KL_SILENCE_US || now_us >= d->answered_us + WELCOME_US;
}

static void keep_trying(struct kl_participant *s, uint64_t now_us) {
    uint64_t until_us = s->status.lost_us + s->status.welcome.seat_time_s * UINT64_C(1000000);
    if (now_us >= until_us)
        kl_participant_end_with(s, "the relay %s did not answer for as long as it keeps a seat");
    else if (is_overdue(&s->dial, now_us))
        begin_return(s, false, now_us);
}

/* An honest relay speaks ten times a second at the least. */
static void mind_silence(struct kl_participant *s, uint64_t now_us) {
    const struct kl_dial_session *d = &s->dial.s;
    uint64_t silence_us = now_us > d->heard_us ? now_us - d->heard_us : 0;
    bool new_life = d->found_us > d->heard_us && now_us >= d->found_us + PROBED_US;
    /* This process or its machine stood still: the relay has given the session up, or soon will. Datagrams
     * that the socket kept meanwhile would pass for a sign of life, and a command said now would be lost. */
    uint64_t turned_us = s->turned_us;
    s->turned_us = now_us;
    if (turned_us && now_us >= turned_us + KL_SILENCE_US)
        begin_return(s, false, now_us);
    else if (silence_us < KL_PARTICIPANT_PROBE_US)
        kl_dial_probe_end(&s->dial);
    else if (new_life || silence_us >= KL_SILENCE_US)
        begin_return(s, d->found_us != 0, now_us);
    else
        kl_dial_probe(&s->dial, now_us);
}

void kl_participant_return_turn(struct kl_participant *s, uint64_t now_us) {
    if (kl_participant_is_returning(s))
        keep_trying(s, now_us);
    else if (seat_is_kept(s) && s->dial.s.stage == KL_DIAL_CONNECTED)
        mind_silence(s, now_us);
}

/* --- entering --- */

static void make_return(struct kl_participant *s, struct kl_msg *m) {
    *m = (struct kl_msg){.kind = KL_MSG_RETURN};
    struct kl_return *r = &m->back;
    memcpy(r->room, s->hello.room, sizeof r->room);
    memcpy(r->token, s->joined ? s->status.welcome.token : s->token, sizeof r->token);
    memcpy(r->seat_key, s->seat.pub, sizeof r->seat_key);
    r->fresh = !s->joined || s->unloaded;
    r->facts = s->hello.facts;
    r->consent = s->hello.consent;
    if (!r->fresh) describe_past(s, r);
    kl_seat_sign(&s->seat, s->dial.s.outcome.keys.binding, r->token, r->signature);
}

bool kl_participant_next_entry(struct kl_participant *s, struct kl_msg *m) {
    bool returning = kl_participant_is_returning(s), again = returning && watches(s);
    if (!s->enter_wanted) return false;
    s->enter_wanted = false;
    if (!again && (s->fresh || returning)) {
        make_return(s, m);
        return true;
    }
    if (s->errand.kind) {
        *m = s->errand;
        s->uploaded = 0;
        if (m->kind == KL_MSG_DELETE) kl_delete_sign(&m->wish, s->status.relay_key, &s->seat);
        return true;
    }
    *m = (struct kl_msg){.kind = KL_MSG_HELLO, .hello = s->hello};
    if (again) m->hello.door |= KL_DOOR_AGAIN;
    if (again) m->hello.seats_wanted = 0;
    return true;
}

/* A watcher tries to come back for KL_WATCH_AGAIN_S. */
void kl_participant_take_welcome(struct kl_participant *s, const struct kl_welcome *w) {
    s->status.welcome = *w;
    s->sent_on = false;
    if (w->client == KL_WATCHER) s->status.welcome.seat_time_s = KL_WATCH_AGAIN_S;
}

void kl_participant_returned(struct kl_participant *s, const struct kl_welcome *w, uint64_t now_us) {
    bool returning = kl_participant_is_returning(s);
    kl_participant_take_welcome(s, w);
    kl_client_watch(&s->lock, w->client == KL_WATCHER);
    if (w->seats != s->lock.seats) kl_client_reseat(&s->lock, w->seats); /* SEAT was lost with the session */
    if (returning) kl_client_drop(&s->lock);
    kl_client_return(&s->lock, now_us);
    if (!returning) return;
    s->status.phase = s->before;
    s->status.reason[0] = 0;
    kl_participant_happened(s);
}
