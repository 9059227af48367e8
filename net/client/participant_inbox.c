/* Each message of the relay has its function here. net/PROTOCOL.md §7. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/client/participant_parts.h"
#include "net/engine/lock_client.h"

static void enter(struct kl_participant *s, enum kl_participant_phase phase) {
    struct kl_participant_status *st = &s->status;
    if (st->phase == phase || st->phase == KL_PARTICIPANT_ENDED) return;
    st->phase = phase;
    kl_participant_happened(s);
}

static void put_notice(struct kl_participant *s, const struct kl_text *text) {
    if (s->notice_put - s->notice_got == KL_PARTICIPANT_NOTICES)
        s->notice_got++; /* nobody reads: the oldest goes */
    s->notice[s->notice_put++ % KL_PARTICIPANT_NOTICES] = *text;
}

/* The lock begins, at frame 0. back: as after an absence. */
static void begin_lock(struct kl_participant *s, bool back, uint64_t now_us) {
    const struct kl_welcome *w = &s->status.welcome;
    kl_client_init(&s->lock, &w->params, w->seats, s->held, s->held_frames, now_us);
    kl_client_spare(&s->lock, s->sparing);
    kl_client_watch(&s->lock, w->client == KL_WATCHER);
    if (back) kl_client_return(&s->lock, now_us);
}

static void on_welcome(struct kl_participant *s, const struct kl_welcome *w, uint64_t now_us) {
    bool watched = s->joined && s->status.welcome.client == KL_WATCHER; /* and is a client of the game now */
    if (s->joined && s->status.phase != KL_PARTICIPANT_RETURNING && !watched) return;
    if (watched && memcmp(w->room_id, s->status.welcome.room_id, sizeof w->room_id) != 0) {
        kl_participant_end(s, "the game that was watched is over, and the room is another by now");
        return;
    }
    s->new_token = w->client != KL_WATCHER;
    if (s->joined) {
        kl_participant_returned(s, w, now_us);
        return;
    }
    s->joined = true;
    kl_participant_take_welcome(s, w);
    begin_lock(s, s->fresh, now_us);
    enter(s, KL_PARTICIPANT_WAITING);
}

static void on_roster(struct kl_participant *s, const struct kl_roster *roster) {
    struct kl_participant_status *st = &s->status;
    st->roster = *roster;
    for (unsigned i = 0; i < roster->count; i++)
        if (roster->member[i].client == st->welcome.client) st->welcome.host = roster->member[i].host;
    kl_participant_happened(s);
}

static void start_is_here(struct kl_participant *s) {
    struct kl_participant_status *st = &s->status;
    st->data_done = st->data_total;
    enter(s, KL_PARTICIPANT_LOAD);
}

/* The relay cannot send the frames after ours: the game begins anew. */
static void begin_anew(struct kl_participant *s, uint64_t now_us) {
    if (s->start != s->given) { /* the caller may still look at it */
        free(s->start_before);
        s->start_before = s->start;
    }
    s->start = NULL;
    s->hash_got = s->hash_put;
    s->order_got = s->order_put;
    s->file_got = s->file_put;
    s->status.desync = s->status.any_verified = false;
    kl_participant_past_forget(s, &(struct kl_digest){0});
    kl_participant_snapshot_drop(s);
    s->unloaded = false;
    begin_lock(s, true, now_us);
}

static void fetch(struct kl_participant *s, const struct kl_prepare *p) {
    s->status.prepare = *p;
    s->status.data_total = p->data_bytes;
    s->status.data_done = 0;
    s->start_len = 0;
    if (s->start != s->given) free(s->start);
    s->start = NULL;
    if (s->is_given && s->given_len == p->data_bytes) { /* our own start data is not sent back to us */
        s->start = s->given;
        s->start_len = s->given_len;
        start_is_here(s);
        return;
    }
    s->start = p->data_bytes <= KL_START_BYTES_MAX ? malloc(p->data_bytes ? p->data_bytes : 1) : NULL;
    if (!s->start) {
        kl_participant_end(s, "no memory for the room's start data");
        return;
    }
    enter(s, KL_PARTICIPANT_FETCHING);
    if (p->data_bytes == 0) start_is_here(s);
}

static void on_prepare(struct kl_participant *s, const struct kl_prepare *p, uint64_t now_us) {
    switch (s->status.phase) {
    case KL_PARTICIPANT_PLAYING:
        begin_anew(s, now_us);
        fetch(s, p);
        break;
    case KL_PARTICIPANT_WAITING: fetch(s, p); break;
    case KL_PARTICIPANT_FETCHING: fetch(s, p); break;         /* again, after a return */
    case KL_PARTICIPANT_READY: s->ready_wanted = true; break; /* again, after a return */
    default: break;
    }
}

static void on_data(struct kl_participant *s, const struct kl_data *d) {
    if (s->errand.kind && s->status.phase == KL_PARTICIPANT_CONNECTING) /* a challenge's token */
        fetch(s, &(struct kl_prepare){.data_bytes = d->total});
    if (s->status.phase != KL_PARTICIPANT_FETCHING) return;
    if (d->total != s->status.data_total || d->offset != s->start_len || d->len > d->total - d->offset) {
        kl_participant_end(s, "the relay's start data does not fit together");
        return;
    }
    memcpy(s->start + s->start_len, d->bytes, d->len);
    s->start_len += d->len;
    s->status.data_done = (uint32_t)s->start_len;
    if (s->start_len == d->total) start_is_here(s);
}

static void on_verdict(struct kl_participant *s, const struct kl_verdict *v) {
    struct kl_participant_status *st = &s->status;
    st->verdict = *v;
    bool equal = !v->differs || v->differs == KL_VERDICT_NOTED;
    /* a relay that was started anew may know of no difference, and counts from 0 */
    bool over = equal && v->complete && v->first == 0;
    if (v->healed != st->healed || over) {
        st->healed = v->healed;
        st->desync = false;
    }
    if (equal) {
        if (v->complete && !st->desync && (!st->any_verified || v->frame > st->verified)) {
            st->verified = v->frame;
            st->any_verified = true;
        }
        kl_participant_happened(s);
        return;
    }
    /* the first, or its later and fuller reading */
    if (!st->desync || v->frame <= st->first_bad.frame) st->first_bad = *v;
    st->desync = true;
    kl_participant_happened(s);
}

static void on_send(struct kl_participant *s, bool bare) {
    if (s->is_given && s->status.bare != bare && s->start != s->given) { /* others are here now */
        free(s->given);
        s->given = NULL;
        s->is_given = false;
        s->uploaded = 0;
    }
    s->status.bare = bare;
    if (s->is_given)
        s->uploaded = 0; /* asked again, after a return */
    else if (s->status.phase == KL_PARTICIPANT_WAITING)
        enter(s, KL_PARTICIPANT_SEND_START);
}

static void note_progress(struct kl_participant *s, uint32_t closed_before) {
    if (s->lock.started && s->status.phase == KL_PARTICIPANT_READY) enter(s, KL_PARTICIPANT_PLAYING);
    if (s->lock.stats.next_closed != closed_before) kl_participant_happened(s);
}

/* Closed frames that we missed. There is a place for all that the relay sends ahead (8,192 frames): it takes
 * a wrong relay to send others. */
static void on_history(struct kl_participant *s, const struct kl_past *p, uint64_t now_us) {
    uint32_t closed = s->lock.stats.next_closed;
    int left = kl_client_history(&s->lock, p->bytes, p->len, now_us);
    /* of before PREPARE, which was quicker */
    if (left == KL_E_WINDOW && kl_client_have(&s->lock) == 0) return;
    if (left != 0) {
        kl_participant_end(s, "the relay's history does not fit together");
        return;
    }
    note_progress(s, closed);
}

static void on_seat(struct kl_participant *s, const struct kl_reseat *m) {
    s->status.welcome.client = m->client;
    s->status.welcome.seats = m->seats;
    kl_client_reseat(&s->lock, m->seats);
    kl_participant_happened(s);
}

static void on_refuse(struct kl_participant *s, const struct kl_text *t, uint64_t now_us) {
    if (kl_participant_refused_for_now(s, t)) return;
    if (t->code == KL_REFUSE_MOVED && !s->moved) { /* COOKIE told a wrong key; now it is proved */
        s->moved = true;
        kl_dial_begin(&s->dial, now_us);
        return;
    }
    if (t->code == KL_REFUSE_ELSEWHERE && (!s->sent_on || s->joined || s->fresh)) {
        memcpy(s->elsewhere, t->text, sizeof s->elsewhere);
        kl_participant_look_for_relay(s, now_us);
        return;
    }
    s->status.refused = t->code;
    kl_participant_end(s, t->text[0] ? t->text : "the relay closed the connection without a reason");
}

void kl_participant_begin_at(struct kl_participant *s, const struct kl_offer *o, uint64_t now_us) {
    struct kl_digest before = {.intervals = o->interval, .end = o->keyframe};
    memcpy(before.digest, o->digest, sizeof before.digest);
    kl_participant_past_forget(s, &before);
    kl_client_begin_at(&s->lock, o->keyframe, o->interval, now_us);
    enter(s, KL_PARTICIPANT_PLAYING);
}

static void take_relays(struct kl_participant *s, const char text[KL_TEXT_MAX]) {
    const bool plays = s->joined && s->status.welcome.client != KL_WATCHER;
    s->new_relays = s->new_relays || (plays && strcmp(s->relays, text) != 0);
    memcpy(s->relays, text, sizeof s->relays);
}

void kl_participant_take_message(struct kl_participant *s, const struct kl_msg *m, uint64_t now_us) {
    if (kl_participant_is_over(s) || kl_participant_door_take(s, m)) return;
    bool before_welcome = m->kind == KL_MSG_WELCOME || m->kind == KL_MSG_REFUSE || m->kind == KL_MSG_NOTICE ||
                          (m->kind == KL_MSG_DATA && s->errand.kind == KL_MSG_CHALLENGE);
    if (!s->joined && !before_welcome) return;
    switch (m->kind) {
    case KL_MSG_WELCOME: on_welcome(s, &m->welcome, now_us); break;
    case KL_MSG_REFUSE: on_refuse(s, &m->text, now_us); break;
    case KL_MSG_ROSTER: on_roster(s, &m->roster); break;
    case KL_MSG_SEAT: on_seat(s, &m->seat); break;
    case KL_MSG_SEND: on_send(s, m->bare); break;
    case KL_MSG_HISTORY: on_history(s, &m->past, now_us); break;
    case KL_MSG_PREPARE: on_prepare(s, &m->prepare, now_us); break;
    case KL_MSG_DATA: on_data(s, &m->data); break;
    case KL_MSG_ASK: kl_participant_take_ask(s, &m->ask); break;
    case KL_MSG_OFFER: kl_participant_take_offer(s, &m->offer, now_us); break;
    case KL_MSG_SNAPSHOT: kl_participant_take_snapshot(s, &m->snapshot); break;
    case KL_MSG_REWIND: kl_participant_take_rewind(s, &m->rewind, now_us); break;
    case KL_MSG_PEERS: kl_participant_take_peers(s, &m->peers, now_us); break;
    case KL_MSG_VOICES: kl_participant_take_voices(s, &m->voices); break;
    case KL_MSG_CHECK:
        s->check = m->check;
        s->check_wanted = true;
        break;
    case KL_MSG_VERDICT: on_verdict(s, &m->verdict); break;
    case KL_MSG_SEAL:
        s->status.seal = m->seal;
        s->sign_wanted = true;
        break;
    case KL_MSG_NOTICE:
        if (m->text.code == KL_NOTICE_RELAYS)
            take_relays(s, m->text.text);
        else
            put_notice(s, &m->text);
        break;
    default: break; /* a client's message: nothing to do with it */
    }
}

void kl_participant_message(struct kl_participant *s, const uint8_t *bytes, size_t len, uint64_t now_us) {
    struct kl_msg m;
    if (kl_msg_decode(&m, bytes, len) == KL_OK)
        kl_participant_take_message(s, &m, now_us);
    else
        kl_participant_end_with(s, "the relay %s sent something that this protocol does not know");
}

bool kl_participant_welcomed(struct kl_participant *s) {
    bool welcomed = s->new_token;
    s->new_token = false;
    return welcomed;
}

void kl_participant_update(struct kl_participant *s, const uint8_t *body, size_t len, uint64_t now_us) {
    uint32_t closed = s->lock.stats.next_closed;
    if (!s->joined || kl_client_receive(&s->lock, body, len, now_us) != KL_OK)
        return; /* the missing frames come again */
    note_progress(s, closed);
}

bool kl_participant_has_new_relays(struct kl_participant *s) {
    bool has = s->new_relays;
    s->new_relays = false;
    return has;
}
