#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "net/engine/lock_relay_return.h"
#include "net/platform/clock.h"
#include "net/relay/lobby/lobby_parts.h"

static bool seats_are_filled(const struct kl_lobby_room *r) {
    return kl_lobby_count(kl_lobby_seats_filled(r)) >= r->params.players;
}

/* --- how long is waited --- */

static void begin_waiting(struct kl_lobby_member *m, uint64_t now_us) {
    m->waited_us = now_us;
    m->furthest = 0;
    m->again = false;
}

/* The member has to load. If it was loading before, the wait goes on. */
static void wait_anew(struct kl_lobby_member *m, uint64_t now_us) {
    if (m->state == KL_MEMBER_LOADING)
        m->again = true;
    else
        begin_waiting(m, now_us);
}

/* The end of the wait after so many transferred bytes. A member that lost its link and begins anew gets one
 * minute more, once, so that nobody can hold the others up for ever. */
static uint64_t by_when_us(struct kl_lobby_member *m, uint32_t bytes) {
    if (bytes > m->furthest) m->furthest = bytes;
    return m->waited_us + (m->again ? 2 : 1) * KL_GIVE_US + m->furthest * UINT64_C(1000000) / KL_GIVE_BYTES;
}

/* To fetch, and then to load. */
static void set_deadline(struct kl_lobby_member *m, uint64_t now_us) {
    uint64_t by_us = by_when_us(m, m->sent), load_us = now_us + KL_LOAD_US;
    bool load = m->fetched && !(m->again && by_us < load_us);
    m->deadline_us = load ? load_us : by_us;
}

/* --- the host gives --- */

/* One machine that does not load the host's saves, and no machine begins with them. */
static bool all_consent(const struct kl_lobby_room *r) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (kl_lobby_here(&r->member[i]) && !r->member[i].consents) return false;
    return true;
}

static void ask_host(struct kl_lobby_room *r) {
    struct kl_lobby_member *host = &r->member[r->host];
    struct kl_msg m = {.kind = KL_MSG_SEND, .bare = !all_consent(r)};
    r->phase = KL_ROOM_ASKED;
    host->deadline_us = by_when_us(host, 0);
    kl_lobby_log_member(KL_LOG_INFO, "asked_start_data", r, r->host, "filled=%u saves=%d",
                        kl_lobby_count(kl_lobby_seats_filled(r)), !m.bare);
    kl_lobby_send(r->lobby, host->peer, &m);
}

/* had: it has the start data, for it gave it. */
static void prepare(struct kl_lobby_room *r, unsigned member, bool had, uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[member];
    struct kl_msg msg = {.kind = KL_MSG_PREPARE};
    msg.prepare = (struct kl_prepare){.epoch_s = r->start.epoch_s, .data_bytes = r->start.bytes};
    m->state = KL_MEMBER_LOADING;
    m->checked = false;
    m->sent = had ? r->start.bytes : 0;
    m->fetched = m->sent == r->start.bytes;
    set_deadline(m, now_us);
    r->talk.roster_changed = true;
    kl_lobby_send(r->lobby, m->peer, &msg);
}

static void begin_loading(struct kl_lobby_room *r, uint64_t now_us) {
    r->phase = KL_ROOM_LOADING;
    r->start.epoch_s = kl_wall_us() / 1000000;
    kl_lobby_log_room(KL_LOG_INFO, "prepare", r, "data_bytes=%u epoch_s=%llu", r->start.bytes,
                      (unsigned long long)r->start.epoch_s);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        begin_waiting(&r->member[i], now_us);
        if (kl_lobby_reaches(&r->member[i])) prepare(r, i, r->member[i].gave, now_us);
    }
}

/* Takes memory for the start data; NULL, or why there is none to spare. */
static const char *open_start(struct kl_lobby_room *r, uint32_t total) {
    if (!kl_lobby_address_has(r->lobby, r->maker, total))
        return "the rooms of your address have used up their memory for start data on this relay";
    bool fits = r->lobby->start_bytes + total <= KL_START_BYTES_TOTAL;
    r->start.data = fits ? malloc(total ? total : 1) : NULL;
    if (!r->start.data) return "this relay has no memory for the start data now";
    r->start.bytes = total;
    r->lobby->start_bytes += total;
    return NULL;
}

bool kl_lobby_start_data(struct kl_lobby_room *r, unsigned member, const struct kl_data *d, uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[member];
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
    const char *why = r->start.data ? NULL : open_start(r, d->total);
    if (why) {
        kl_lobby_put_out(r, member, KL_REFUSE_LIMIT, why, now_us);
        return true;
    }
    if (d->total != r->start.bytes || d->len > d->total - d->offset || (d->len == 0 && d->total > 0))
        return false;
    memcpy(r->start.data + d->offset, d->bytes, d->len);
    r->start.have += d->len;
    m->deadline_us = by_when_us(m, r->start.have);
    if (!kl_lobby_start_is_kept(r)) return true;
    m->gave = true;
    m->deadline_us = 0;
    crypto_generichash(r->start.hash, sizeof r->start.hash, r->start.data, r->start.bytes, NULL, 0);
    return true;
}

/* --- the others fetch and load --- */

static void send_pieces(struct kl_lobby_room *r, struct kl_lobby_member *m, uint64_t now_us) {
    const struct kl_lobby_net *net = &r->lobby->net;
    while (m->sent < r->start.bytes && kl_lobby_bulk_room(r, m->peer) > 0) {
        uint32_t left = r->start.bytes - m->sent;
        struct kl_msg msg = {.kind = KL_MSG_DATA};
        msg.data.offset = m->sent;
        msg.data.total = r->start.bytes;
        msg.data.len = (uint16_t)(left < KL_CHUNK_MAX ? left : KL_CHUNK_MAX);
        memcpy(msg.data.bytes, r->start.data + m->sent, msg.data.len);
        kl_lobby_send_bulk(r->lobby, m->peer, &msg);
        m->sent += msg.data.len;
    }
    if (m->fetched) return;
    m->fetched = m->sent == r->start.bytes && net->pending(net->ctx, m->peer) == 0;
    set_deadline(m, now_us);
    if (!m->fetched) r->due.bulk = true;
}

/* A member that came back without frames has loaded; the game goes on meanwhile. */
static void goes_on(struct kl_lobby_room *r, unsigned member, const struct kl_facts *f, uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[member];
    char why[KL_TEXT_MAX];
    m->deadline_us = 0;
    if (r->start.ready && kl_facts_differ(r->start.ready, f, why, sizeof why) > 0) {
        kl_lobby_put_out(r, member, KL_REFUSE_IDENTITY, why, now_us);
        return;
    }
    m->checked = true;
    r->talk.roster_changed = true;
    kl_lobby_log_member(KL_LOG_INFO, "ready", r, member, "facts=%u frame=%u", f->count, r->lock.next_close);
    kl_lobby_set_out(r, member, 0, now_us);
}

/* False: the member is put out, for there is no memory. */
static bool keep_ready(struct kl_lobby_room *r, unsigned member, const struct kl_facts *f, uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[member];
    kl_lobby_start_drop_ready(m);
    m->ready = kl_lobby_memory_facts(f);
    if (!m->ready)
        kl_lobby_put_out(r, member, KL_REFUSE_LIMIT, "this relay has no memory for your READY", now_us);
    return m->ready;
}

bool kl_lobby_start_ready(struct kl_lobby_room *r, unsigned member, const struct kl_facts *f,
                          uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[member];
    if (m->state == KL_MEMBER_READY || m->state == KL_MEMBER_PLAYING)
        return true;                                 /* said again after a return */
    if (m->state != KL_MEMBER_LOADING) return false; /* not all may be sent again: it has loaded before */
    if (r->phase == KL_ROOM_PLAYING) {
        goes_on(r, member, f, now_us);
        return true;
    }
    if (!keep_ready(r, member, f, now_us)) return true;
    m->state = KL_MEMBER_READY;
    m->deadline_us = 0;
    r->talk.roster_changed = true;
    kl_lobby_log_member(KL_LOG_INFO, "ready", r, member, "facts=%u", f->count);
    return true;
}

void kl_lobby_start_drop_ready(struct kl_lobby_member *m) {
    free(m->ready);
    m->ready = NULL;
}

/* Compares the members' facts after loading with the host's, once those are known. */
static void check_ready(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_member *host = r->host == KL_NO_HOST ? NULL : &r->member[r->host];
    if (!r->start.ready && host && host->state == KL_MEMBER_READY && host->ready) {
        r->start.ready = host->ready;
        host->ready = NULL;
        host->checked = true;
    }
    for (unsigned i = 0; i < KL_MAX_CLIENTS && r->start.ready; i++) {
        struct kl_lobby_member *m = &r->member[i];
        if (!kl_lobby_here(m) || m->checked || m->state != KL_MEMBER_READY || !m->ready) continue;
        char why[KL_TEXT_MAX];
        bool differs = kl_facts_differ(r->start.ready, m->ready, why, sizeof why) > 0;
        m->checked = true;
        kl_lobby_start_drop_ready(m);
        if (differs) kl_lobby_put_out(r, i, KL_REFUSE_IDENTITY, why, now_us);
    }
}

static bool all_are_ready(const struct kl_lobby_room *r) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (kl_lobby_here(&r->member[i]) && !r->member[i].checked) return false;
    return true;
}

static void begin_play(struct kl_lobby_room *r, uint64_t now_us) {
    char seats[20];
    r->tale.stall.since_us = r->tale.told.status_us = now_us;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) /* later moves change no votes */
        if (kl_lobby_here(&r->member[i]))
            memcpy(r->member[i].home, r->member[i].host[0], sizeof r->member[i].home);
    kl_lobby_log_room(KL_LOG_INFO, "started", r, "frame=0 seats=%s spacing=%u",
                      kl_log_seats(seats, kl_lobby_seats_filled(r)), r->lock.now.length);
}

static void start(struct kl_lobby_room *r, uint64_t now_us) {
    if (kl_lock_start(&r->lock, now_us) != KL_OK) return;
    r->phase = KL_ROOM_PLAYING; /* the start data is kept for members that come back without it */
    kl_lobby_past_begin(r, now_us);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        if (!kl_lobby_here(&r->member[i])) continue;
        r->member[i].state = KL_MEMBER_PLAYING;
        if (!kl_lobby_reaches(&r->member[i])) kl_lock_cut(&r->lock, i, now_us);
    }
    r->talk.roster_changed = true;
    kl_lobby_notice(r, "the game begins");
    begin_play(r, now_us);
}

static bool host_is_here(const struct kl_lobby_room *r) {
    return r->host != KL_NO_HOST && kl_lobby_reaches(&r->member[r->host]);
}

void kl_lobby_start_run(struct kl_lobby_room *r, uint64_t now_us) {
    if (r->phase == KL_ROOM_GATHERING && host_is_here(r) && seats_are_filled(r)) {
        begin_waiting(&r->member[r->host], now_us);
        ask_host(r);
    }
    if (r->phase == KL_ROOM_ASKED && kl_lobby_start_is_kept(r) && seats_are_filled(r))
        begin_loading(r, now_us);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (kl_lobby_reaches(&r->member[i]) && r->member[i].state == KL_MEMBER_LOADING)
            send_pieces(r, &r->member[i], now_us);
    if (r->phase != KL_ROOM_LOADING) return;
    check_ready(r, now_us);
    if (seats_are_filled(r) && all_are_ready(r)) start(r, now_us);
}

/* --- comings and goings in between --- */

void kl_lobby_start_joined(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    begin_waiting(&r->member[member], now_us);
    if (r->phase == KL_ROOM_LOADING) prepare(r, member, false, now_us);
}

void kl_lobby_start_returned(struct kl_lobby_room *r, unsigned member, bool fresh, uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[member];
    if (member == r->host && kl_lobby_start_under_way(r)) {
        kl_lobby_start_free(r); /* the part that had arrived is lost */
        m->again = true;
        ask_host(r);
    }
    bool loaded = m->state == KL_MEMBER_READY && !fresh;
    if (r->phase != KL_ROOM_LOADING || loaded) return;
    wait_anew(m, now_us);
    prepare(r, member, m->gave && !fresh, now_us);
}

bool kl_lobby_start_again(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[member];
    const struct kl_way_trip t = {.no_states = m->way.no_states};
    if (kl_lobby_way_to_present(r, &t) == KL_WAY_NONE) return false;
    m->heal.has_loaded = false; /* its core begins anew */
    kl_lobby_snapshot_again(r, member, now_us);
    wait_anew(m, now_us);
    kl_lobby_way_ahead(r, member, now_us);
    prepare(r, member, false, now_us);
    return true;
}

bool kl_lobby_start_under_way(const struct kl_lobby_room *r) {
    return r->phase == KL_ROOM_ASKED && !kl_lobby_start_is_kept(r);
}

/* A host that goes before it has given everything: the next one is asked from the beginning. */
void kl_lobby_start_left(struct kl_lobby_room *r, bool was_host) {
    if (!was_host || !kl_lobby_start_under_way(r)) return;
    kl_lobby_start_free(r);
    r->phase = KL_ROOM_GATHERING;
}
