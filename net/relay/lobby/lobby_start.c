#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "net/engine/lock_relay_return.h"
#include "net/platform/clock.h"
#include "net/relay/lobby/lobby_parts.h"

static bool seats_are_filled(const struct kl_lobby_room *r) {
    return kl_size(kl_lobby_seats_filled(r)) >= r->params.players;
}

/* --- the host gives --- */

/* One machine that does not load the host's saves, and no machine begins with them. */
static bool all_consent(const struct kl_lobby_room *r) {
    for (KL_MEMBERS(i, r, kl_lobby_here))
        if (!r->member[i]->consents) return false;
    return true;
}

static void ask_host(struct kl_lobby_room *r) {
    struct kl_lobby_member *host = r->member[r->host];
    struct kl_msg m = {.kind = KL_MSG_SEND, .bare = !all_consent(r)};
    r->phase = KL_ROOM_ASKED;
    host->v.deadline_us = kl_visitor_waits_until_us(&host->v, 0);
    kl_lobby_log_member(KL_LOG_INFO, "asked_start_data", r, r->host, "filled=%u saves=%d",
                        kl_size(kl_lobby_seats_filled(r)), !m.bare);
    kl_lobby_send(r->lobby, host->v.peer, &m);
}

/* had: it has the start data, for it gave it. */
static void prepare(struct kl_lobby_room *r, unsigned member, bool had, uint64_t now_us) {
    r->member[member]->checked = false;
    r->talk.roster_changed = true;
    kl_visitor_prepare(r, &r->member[member]->v, had, now_us);
}

static void begin_loading(struct kl_lobby_room *r, uint64_t now_us) {
    r->phase = KL_ROOM_LOADING;
    r->start.epoch_s = kl_wall_us() / 1000000;
    kl_lobby_log_room(KL_LOG_INFO, "prepare", r, "data_bytes=%u epoch_s=%llu", r->start.bytes,
                      (unsigned long long)r->start.epoch_s);
    for (KL_MEMBERS(i, r, kl_lobby_here)) {
        kl_visitor_wait(&r->member[i]->v, now_us);
        if (kl_lobby_reaches(r->member[i])) prepare(r, i, r->member[i]->gave, now_us);
    }
}

/* Takes memory for the start data; NULL, or why there is none to spare. */
static const char *open_start(struct kl_lobby_room *r, uint32_t total, uint64_t now_us) {
    const char *why = kl_lobby_start_refusal(r->lobby, r->maker, total, now_us);
    if (why) return why;
    r->start.data = malloc(total ? total : 1);
    if (!r->start.data) return "this relay has no memory for the start data now";
    r->start.bytes = total;
    r->lobby->start_bytes += total;
    return NULL;
}

bool kl_lobby_start_data(struct kl_lobby_room *r, unsigned member, const struct kl_data *d, uint64_t now_us) {
    struct kl_lobby_member *m = r->member[member];
    char text[KL_TEXT_MAX];
    uint32_t most = r->lobby->limits.start_kib * 1024;
    if (r->phase != KL_ROOM_ASKED || member != r->host || kl_lobby_start_is_kept(r)) return false;
    if (d->offset != r->start.have) return false;
    if (d->total > most) {
        snprintf(text, sizeof text, "the start data (saves) has %u bytes, this relay takes %u", d->total,
                 most);
        kl_lobby_put_out(r, member, KL_REFUSE_LIMIT, text, now_us);
        return true;
    }
    const char *why = r->start.data ? NULL : open_start(r, d->total, now_us);
    if (why) {
        kl_lobby_put_out(r, member, KL_REFUSE_LIMIT, why, now_us);
        return true;
    }
    if (d->total != r->start.bytes || d->len > d->total - d->offset || (d->len == 0 && d->total > 0))
        return false;
    memcpy(r->start.data + d->offset, d->bytes, d->len);
    r->start.have += d->len;
    m->v.deadline_us = kl_visitor_waits_until_us(&m->v, r->start.have);
    if (!kl_lobby_start_is_kept(r)) return true;
    m->gave = true;
    m->v.deadline_us = 0;
    crypto_generichash(r->start.hash, sizeof r->start.hash, r->start.data, r->start.bytes, NULL, 0);
    return true;
}

/* --- the others fetch and load --- */

/* False: the member is put out, for there is no memory. */
static bool keep_ready(struct kl_lobby_room *r, unsigned member, const struct kl_facts *f, uint64_t now_us) {
    struct kl_lobby_member *m = r->member[member];
    kl_lobby_start_drop_ready(m);
    m->ready = kl_lobby_memory_facts(f);
    if (!m->ready)
        kl_lobby_put_out(r, member, KL_REFUSE_LIMIT, "this relay has no memory for your READY", now_us);
    return m->ready;
}

bool kl_lobby_start_ready(struct kl_lobby_room *r, unsigned member, const struct kl_facts *f,
                          uint64_t now_us) {
    struct kl_lobby_member *m = r->member[member];
    if (m->v.state == KL_MEMBER_READY || m->v.state == KL_MEMBER_PLAYING)
        return true;                                   /* said again after a return */
    if (m->v.state != KL_MEMBER_LOADING) return false; /* not all may be sent again: it has loaded before */
    if (r->phase == KL_ROOM_PLAYING) {
        kl_lobby_put_out_for(r, member, kl_visitor_ready(r, &m->v, f, now_us), now_us);
        return true;
    }
    if (!keep_ready(r, member, f, now_us)) return true;
    m->v.state = KL_MEMBER_READY;
    m->v.deadline_us = 0;
    r->talk.roster_changed = true;
    kl_lobby_log_member(KL_LOG_INFO, "ready", r, member, "facts=%u", f->count);
    return true;
}

/* Compares the members' facts after loading with the host's, once those are known. */
static void check_ready(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_member *host = r->host == KL_NO_HOST ? NULL : r->member[r->host];
    if (!r->start.ready && host && host->v.state == KL_MEMBER_READY && host->ready) {
        r->start.ready = host->ready;
        host->ready = NULL;
        host->checked = true;
    }
    for (unsigned i = 0; i < KL_MAX_CLIENTS && r->start.ready; i++) {
        struct kl_lobby_member *m = r->member[i];
        if (!kl_lobby_here(m) || m->checked || m->v.state != KL_MEMBER_READY || !m->ready) continue;
        char why[KL_TEXT_MAX];
        bool differs = kl_facts_differ(r->start.ready, m->ready, why, sizeof why) > 0;
        m->checked = true;
        kl_lobby_start_drop_ready(m);
        if (differs) kl_lobby_put_out(r, i, KL_REFUSE_IDENTITY, why, now_us);
    }
}

static bool all_are_ready(const struct kl_lobby_room *r) {
    for (KL_MEMBERS(i, r, kl_lobby_here))
        if (!r->member[i]->checked) return false;
    return true;
}

static void start(struct kl_lobby_room *r, uint64_t now_us) {
    char seats[20];
    if (kl_lock_start(&r->lock, now_us) != KL_OK) return;
    r->phase = KL_ROOM_PLAYING; /* the start data is kept for members that come back without it */
    kl_lobby_past_begin(r, now_us);
    for (KL_MEMBERS(i, r, kl_lobby_here)) {
        struct kl_lobby_member *m = r->member[i];
        m->v.state = KL_MEMBER_PLAYING;
        memcpy(m->home, m->v.host, sizeof m->home); /* later moves change no votes */
        if (!kl_lobby_reaches(m)) kl_lock_cut(&r->lock, i, now_us);
    }
    r->talk.roster_changed = true;
    r->report.stall.since_us = r->report.told.status_us = r->report.began_us = now_us;
    kl_lobby_notice(r, "the game begins");
    kl_lobby_log_room(KL_LOG_INFO, "started", r, "frame=0 seats=%s spacing=%u",
                      kl_log_seats(seats, kl_lobby_seats_filled(r)), r->lock.now.length);
}

static bool host_is_here(const struct kl_lobby_room *r) {
    return r->host != KL_NO_HOST && kl_lobby_reaches(r->member[r->host]);
}

void kl_lobby_start_run(struct kl_lobby_room *r, uint64_t now_us) {
    if (r->phase == KL_ROOM_GATHERING && host_is_here(r) && seats_are_filled(r)) {
        kl_visitor_wait(&r->member[r->host]->v, now_us);
        ask_host(r);
    }
    if (r->phase == KL_ROOM_ASKED && kl_lobby_start_is_kept(r) && seats_are_filled(r))
        begin_loading(r, now_us);
    for (KL_MEMBERS(i, r, kl_lobby_reaches))
        if (r->member[i]->v.state == KL_MEMBER_LOADING)
            if (kl_visitor_send_start(r, &r->member[i]->v, now_us)) kl_lobby_busy(r);
    if (r->phase != KL_ROOM_LOADING) return;
    check_ready(r, now_us);
    if (seats_are_filled(r) && all_are_ready(r)) start(r, now_us);
}

/* --- comings and goings in between --- */

void kl_lobby_start_joined(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    kl_visitor_wait(&r->member[member]->v, now_us);
    if (r->phase == KL_ROOM_LOADING) prepare(r, member, false, now_us);
}

void kl_lobby_start_returned(struct kl_lobby_room *r, unsigned member, bool fresh, uint64_t now_us) {
    struct kl_lobby_member *m = r->member[member];
    if (member == r->host && kl_lobby_start_under_way(r)) {
        kl_lobby_start_free(r); /* the part that had arrived is lost */
        m->v.again = true;
        ask_host(r);
    }
    bool loaded = m->v.state == KL_MEMBER_READY && !fresh;
    if (r->phase != KL_ROOM_LOADING || loaded) return;
    kl_visitor_wait_anew(&m->v, now_us);
    prepare(r, member, m->gave && !fresh, now_us);
}
