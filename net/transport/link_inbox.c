#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/engine/lock_return.h"
#include "net/platform/clock.h"
#include "net/transport/link_state.h"

void kl_link_happened(struct kl_link *l) {
    l->shared.events++;
    kl_cond_wake(&l->changed);
}

static void enter(struct kl_link *l, enum kl_link_phase phase) {
    struct kl_link_status *st = &l->shared.status;
    if (st->phase == phase || st->phase == KL_LINK_ENDED) return;
    st->phase = phase;
    kl_link_happened(l);
}

void kl_link_end(struct kl_link *l, const char *reason) {
    struct kl_link_status *st = &l->shared.status;
    if (st->phase == KL_LINK_ENDED) return;
    snprintf(st->reason, sizeof st->reason, "%s", reason);
    enter(l, KL_LINK_ENDED);
}

static void put_notice(struct kl_link *l, const char *text) {
    struct kl_link_shared *s = &l->shared;
    if (s->notice_put - s->notice_got == KL_LINK_NOTICES) s->notice_got++; /* nobody reads: the oldest goes */
    snprintf(s->notice[s->notice_put++ % KL_LINK_NOTICES], KL_TEXT_MAX, "%s", text);
}

static void on_welcome(struct kl_link *l, const struct kl_welcome *w) {
    struct kl_link_shared *s = &l->shared;
    bool watched = s->joined && s->status.welcome.client == KL_WATCHER; /* and is a client of the game now */
    if (s->joined && s->status.phase != KL_LINK_RETURNING && !watched) return;
    if (watched && memcmp(w->room_id, s->status.welcome.room_id, sizeof w->room_id) != 0) {
        kl_link_end(l, "the game that was watched is over, and the room is another by now");
        return;
    }
    if (l->welcomed && w->client != KL_WATCHER) l->welcomed(l->ctx, w);
    if (s->joined) {
        kl_link_returned(l, w);
        return;
    }
    s->joined = true;
    kl_link_take_welcome(s, w);
    kl_client_init(&s->lock, &w->params, w->seats, l->held, KL_HELD_FRAMES, kl_now_us());
    kl_client_spare(&s->lock, l->sparing);
    kl_client_watch(&s->lock, w->client == KL_WATCHER);
    if (l->fresh) kl_client_return(&s->lock, kl_now_us());
    enter(l, KL_LINK_WAITING);
}

static void on_roster(struct kl_link *l, const struct kl_roster *roster) {
    struct kl_link_status *st = &l->shared.status;
    st->roster = *roster;
    for (unsigned i = 0; i < roster->count; i++)
        if (roster->member[i].client == st->welcome.client) st->welcome.host = roster->member[i].host;
    kl_link_happened(l);
}

static void start_is_here(struct kl_link *l) {
    struct kl_link_status *st = &l->shared.status;
    st->data_done = st->data_total;
    enter(l, KL_LINK_LOAD);
}

/* The relay cannot bring us on from where we are: all is to be done again. */
static void begin_anew(struct kl_link *l) {
    struct kl_link_shared *s = &l->shared;
    const struct kl_welcome *w = &s->status.welcome;
    if (s->start != s->given) { /* the caller may still look at it */
        free(s->start_before);
        s->start_before = s->start;
    }
    s->start = NULL;
    s->hash_got = s->hash_committed = s->hash_put;
    s->order_got = s->order_put;
    s->status.desync = s->status.any_verified = false;
    kl_link_past_forget(l, 0, 0);
    kl_link_shot_drop(l);
    s->unloaded = false;
    kl_client_init(&s->lock, &w->params, w->seats, l->held, KL_HELD_FRAMES, kl_now_us());
    kl_client_watch(&s->lock, w->client == KL_WATCHER);
    kl_client_return(&s->lock, kl_now_us());
}

static void fetch(struct kl_link *l, const struct kl_prepare *p) {
    struct kl_link_shared *s = &l->shared;
    s->status.prepare = *p;
    s->status.data_total = p->data_bytes;
    s->status.data_done = 0;
    s->start_len = 0;
    if (s->start != s->given) free(s->start);
    s->start = NULL;
    if (s->is_given && s->given_len == p->data_bytes) { /* what we gave is not sent back to us */
        s->start = s->given;
        s->start_len = s->given_len;
        start_is_here(l);
        return;
    }
    s->start = p->data_bytes <= KL_START_BYTES_MAX ? malloc(p->data_bytes ? p->data_bytes : 1) : NULL;
    if (!s->start) {
        kl_link_end(l, "no memory for the room's start data");
        return;
    }
    enter(l, KL_LINK_FETCHING);
    if (p->data_bytes == 0) start_is_here(l);
}

static void on_prepare(struct kl_link *l, const struct kl_prepare *p) {
    switch (l->shared.status.phase) {
    case KL_LINK_PLAYING:
        begin_anew(l);
        fetch(l, p);
        break;
    case KL_LINK_WAITING:
    case KL_LINK_FETCHING: fetch(l, p); break;                /* the latter: again, after a return */
    case KL_LINK_READY: l->shared.ready_wanted = true; break; /* the same */
    default: break;
    }
}

static void on_data(struct kl_link *l, const struct kl_data *d) {
    struct kl_link_shared *s = &l->shared;
    if (s->status.phase != KL_LINK_FETCHING) return;
    if (d->total != s->status.data_total || d->offset != s->start_len || d->len > d->total - d->offset) {
        kl_link_end(l, "the relay's start data does not fit together");
        return;
    }
    memcpy(s->start + s->start_len, d->bytes, d->len);
    s->start_len += d->len;
    s->status.data_done = (uint32_t)s->start_len;
    if (s->start_len == d->total) start_is_here(l);
}

static void on_verdict(struct kl_link *l, const struct kl_verdict *v) {
    struct kl_link_status *st = &l->shared.status;
    st->verdict = *v;
    bool equal = !v->differs || v->differs == KL_VERDICT_NOTED;
    bool over = equal && v->complete && v->first == 0; /* a relay that was started anew may know of none */
    if (v->healed != st->healed || over) {             /* … and counts from 0 */
        st->healed = v->healed;
        st->desync = false;
    }
    if (equal) {
        if (v->complete && !st->desync && (!st->any_verified || v->frame > st->verified)) {
            st->verified = v->frame;
            st->any_verified = true;
        }
        kl_link_happened(l);
        return;
    }
    /* the first, its later and fuller reading, or the first of the graver kind */
    const struct kl_verdict *bad = &st->first_bad;
    if (!st->desync || v->frame <= bad->frame || (bad->differs == 2 && v->differs == 1)) st->first_bad = *v;
    st->desync = true;
    kl_link_happened(l);
}

/* The network thread says what it may, before it sleeps. */
static void on_reveal(struct kl_link_shared *s, const struct kl_reveal *v) {
    if (s->any_reveal && v->frame <= s->reveal) return;
    s->any_reveal = true;
    s->reveal = v->frame;
}

static void on_send(struct kl_link *l) {
    if (l->shared.is_given)
        l->uploaded = 0; /* asked again, after a return */
    else if (l->shared.status.phase == KL_LINK_WAITING)
        enter(l, KL_LINK_SEND_START);
}

static void note_progress(struct kl_link *l, uint32_t closed_before) {
    struct kl_link_shared *s = &l->shared;
    if (s->lock.started && s->status.phase == KL_LINK_READY) enter(l, KL_LINK_PLAYING);
    if (s->lock.stats.next_closed != closed_before) kl_link_happened(l);
}

/* Closed frames that we missed. There is a place for all that the relay sends ahead (8,192 frames): it takes
 * a wrong relay to send others. */
static void on_history(struct kl_link *l, const struct kl_past *p) {
    struct kl_link_shared *s = &l->shared;
    uint32_t closed = s->lock.stats.next_closed;
    int left = kl_client_history(&s->lock, p->bytes, p->len, kl_now_us());
    if (left == KL_E_WINDOW && kl_client_have(&s->lock) == 0) return; /* of before: PREPARE was quicker */
    if (left != 0) {
        kl_link_end(l, "the relay's history does not fit together");
        return;
    }
    note_progress(l, closed);
}

static void on_seat(struct kl_link *l, const struct kl_reseat *m) {
    struct kl_link_shared *s = &l->shared;
    s->status.welcome.client = m->client;
    s->status.welcome.seats = m->seats;
    kl_client_reseat(&s->lock, m->seats);
    kl_link_happened(l);
}

static void on_refuse(struct kl_link *l, const struct kl_text *t) {
    if (kl_link_refused_for_now(l, t)) return;
    l->shared.status.refused = t->code;
    kl_link_end(l, t->text[0] ? t->text : "the relay closed the connection without a reason");
}

void kl_link_begin_at(struct kl_link *l, const struct kl_offer *o) {
    struct kl_link_shared *s = &l->shared;
    kl_link_past_forget(l, o->keyframe, o->interval);
    kl_client_begin_at(&s->lock, o->keyframe, o->interval, kl_now_us());
    enter(l, KL_LINK_PLAYING);
}

void kl_link_take_message(struct kl_link *l, const struct kl_msg *m) {
    bool before_welcome = m->kind == KL_MSG_WELCOME || m->kind == KL_MSG_REFUSE || m->kind == KL_MSG_NOTICE;
    if (!l->shared.joined && !before_welcome) return;
    switch (m->kind) {
    case KL_MSG_WELCOME: on_welcome(l, &m->welcome); break;
    case KL_MSG_REFUSE: on_refuse(l, &m->text); break;
    case KL_MSG_ROSTER: on_roster(l, &m->roster); break;
    case KL_MSG_SEAT: on_seat(l, &m->seat); break;
    case KL_MSG_SEND: on_send(l); break;
    case KL_MSG_HISTORY: on_history(l, &m->past); break;
    case KL_MSG_TICKET: kl_link_take_ticket(l, &m->piece); break;
    case KL_MSG_WANT: kl_link_take_want(l, &m->want); break;
    case KL_MSG_TAGS: kl_link_take_tags(l, &m->tags); break;
    case KL_MSG_PREPARE: on_prepare(l, &m->prepare); break;
    case KL_MSG_DATA: on_data(l, &m->data); break;
    case KL_MSG_ASK: kl_link_take_ask(l, &m->ask); break;
    case KL_MSG_OFFER: kl_link_take_offer(l, &m->offer); break;
    case KL_MSG_SNAPSHOT: kl_link_take_shot(l, &m->shot); break;
    case KL_MSG_VERDICT: on_verdict(l, &m->verdict); break;
    case KL_MSG_REVEAL: on_reveal(&l->shared, &m->reveal); break;
    case KL_MSG_NOTICE: put_notice(l, m->text.text); break;
    default: break; /* a client's message: nothing to do with it */
    }
}

void kl_link_take_update(struct kl_link *l, const uint8_t *body, size_t len, uint64_t now_us) {
    struct kl_link_shared *s = &l->shared;
    uint32_t closed = s->lock.stats.next_closed;
    if (kl_client_receive(&s->lock, body, len, now_us) != KL_OK)
        return; /* dropped; what is due comes again */
    note_progress(l, closed);
}
