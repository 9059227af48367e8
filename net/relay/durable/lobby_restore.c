#include "net/relay/durable/lobby_ticket.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "net/engine/lock_relay_return.h"
#include "net/session/digest.h"

static bool start_fits(const struct kl_lobby_ticket *t, const uint8_t *start, size_t len) {
    uint8_t hash[sizeof t->start_hash];
    crypto_generichash(hash, sizeof hash, start, len, NULL, 0);
    return len == t->start_bytes && memcmp(hash, t->start_hash, sizeof hash) == 0;
}

static const char *objection(const struct kl_lobby *l, const struct kl_lobby_ticket *t, const uint8_t *start,
                             size_t len) {
    if (kl_lobby_find(l, t->name)) return "there is a room of that name";
    if (!kl_lobby_has_name(l, t->name)) return "it is of an older Keylock: start once with --shards 1";
    if (kl_lobby_place(l) == l->limits.rooms) return "all places for rooms are taken";
    if (!start) return NULL; /* it comes later */
    if (!kl_lobby_start_fits(l, (uint32_t)len)) return "no memory for its start data";
    return !kl_lobby_ticket_has_start(t) || start_fits(t, start, len) ? NULL : "the start data is another";
}

/* For all that the ticket names. */
static bool take_memory(struct kl_lobby_room *r, const struct kl_lobby_ticket *t) {
    bool has = kl_lobby_memory_delay(r, t->delay_s) && kl_lobby_memory_commands(r) &&
               (!t->bans || kl_lobby_memory_bars(r));
    for (unsigned i = 0; i < KL_MAX_CLIENTS && has; i++)
        if (t->member[i].here) has = kl_lobby_memory_take(r, i, t->member[i].seats);
    return has;
}

static void take_member(struct kl_lobby_room *r, unsigned i, const struct kl_ticket_member *from,
                        uint64_t now_us) {
    struct kl_lobby_member *m = r->member[i];
    if (!from->here || kl_lobby_here(m)) return;
    *m = (struct kl_lobby_member){.number = (uint8_t)i,
                                  .place = KL_PLACE_KEPT,
                                  .seats = from->seats,
                                  .v.state = KL_MEMBER_PLAYING,
                                  .joined = from->joined,
                                  .checked = true,
                                  .any_token = true,
                                  .cut_us = now_us};
    kl_lobby_set_here(r, i, true);
    memcpy(m->v.name, from->name, sizeof m->v.name);
    memcpy(m->v.seat_key, from->seat_key, sizeof m->v.seat_key);
    memcpy(m->token_hash, from->token_hash, sizeof m->token_hash);
    if (r->phase == KL_ROOM_PLAYING) (void)kl_lock_add(&r->lock, i, m->seats, now_us);
    r->lobby->members++;
}

static void describe(struct kl_lobby_room *r, const struct kl_lobby_ticket *t) {
    memcpy(r->name, t->name, sizeof r->name);
    memcpy(r->maker, t->maker, sizeof r->maker);
    memcpy(r->id, t->id, sizeof r->id);
    memcpy(r->door.salt, t->salt, sizeof r->door.salt);
    memcpy(r->door.secret, t->secret, sizeof r->door.secret);
    r->seat_time_s = t->seat_time_s;
    r->places.joins = t->joins;
    r->params = t->params;
    kl_identity(&t->facts, r->identity);
    /* Takes the door from the ticket; there is memory for its bans. */
    for (unsigned i = 0; i < t->bans; i++)
        kl_lobby_bar(r, KL_BAR_BAN, &t->ban[i], 0);
    r->door.flags = t->doors;
    memcpy(r->door.match, t->match, sizeof r->door.match);
    r->door.recorded = t->recorded && r->lobby->limits.record_days;
    r->watch.delay_s = t->delay_s;
    r->watch.voice = t->voice;
    r->host = t->host;
    r->start.epoch_s = t->epoch_s;
    memcpy(r->start.hash, t->start_hash, sizeof r->start.hash);
    r->past.ticket_number = t->number;
}

static bool take_start(struct kl_lobby_room *r, const uint8_t *start, size_t len) {
    r->start.data = malloc(len ? len : 1);
    if (!r->start.data) return false;
    if (len) memcpy(r->start.data, start, len);
    r->start.bytes = r->start.have = (uint32_t)len;
    r->lobby->start_bytes += len;
    return true;
}

static void free_all(struct kl_lobby_room *r) {
    kl_lobby_start_free(r);
    kl_lobby_past_free(r);
    kl_lobby_memory_free(r);
    sodium_memzero(r, offsetof(struct kl_lobby_room, lock));
    free(r);
}

void kl_lobby_restore_drop(struct kl_lobby_room *r) {
    struct kl_lobby *l = r->lobby;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        l->members -= kl_lobby_here(r->member[i]);
    kl_lobby_drop_room(r);
    free_all(r);
}

/* NULL: there is no memory. */
static struct kl_lobby_room *make(struct kl_lobby *l, const struct kl_lobby_ticket *t, const uint8_t *start,
                                  size_t len) {
    struct kl_lobby_room *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->lobby = l;
    if (t->bans && !kl_lobby_memory_bars(r)) {
        free(r);
        return NULL;
    }
    describe(r, t);
    r->start.ready = kl_lobby_memory_facts(&t->ready);
    bool has = kl_lobby_memory_begin(r, &t->facts) && r->start.ready && take_memory(r, t);
    if (has && (!start || !kl_lobby_ticket_has_start(t) || take_start(r, start, len))) return r;
    free_all(r);
    return NULL;
}

struct kl_lobby_room *kl_lobby_restore(struct kl_lobby *l, const struct kl_lobby_ticket *t,
                                       const uint8_t *start, size_t start_len, uint64_t now_us, char *why,
                                       size_t cap) {
    const char *text = objection(l, t, start, start_len);
    struct kl_lobby_room *r = text ? NULL : make(l, t, start, start_len);
    if (!r) {
        snprintf(why, cap, "%s", text ? text : "no memory for another room");
        return NULL;
    }
    r->phase = KL_ROOM_REOPENING;
    r->due.chores_us = r->report.told.status_us = now_us;
    r->report.told.farthest = r->report.told.farthest_was = KL_MAX_CLIENTS;
    kl_lobby_past_begin(r, now_us);
    r->past.reopened = true;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        take_member(r, i, &t->member[i], now_us);
    kl_lobby_add_room(r, kl_lobby_place(l));
    return r;
}

int kl_lobby_restore_frame(struct kl_lobby_room *r, const struct kl_frame *f,
                           const struct kl_commands *commands) {
    int result = kl_lock_adopt(&r->lock, f, commands);
    if (result != KL_OK) return result;
    kl_lobby_past_keep(r, f);
    return r->past.broken ? KL_E_SPACE : KL_OK;
}

int kl_lobby_restore_piece(struct kl_lobby_room *r, const uint8_t *piece, size_t len) {
    struct kl_frames frames;
    struct kl_frame f;
    int result = kl_piece_open(&frames, piece, len);
    while (result == KL_OK && kl_frames_next(&frames, &f))
        if (f.number >= r->lock.next_close)
            result = kl_lobby_restore_frame(r, &f, f.flags & KL_FRAME_COMMANDS ? &frames.commands : NULL);
    return result;
}

int kl_lobby_restore_open(struct kl_lobby_room *r, uint64_t hold_us, uint64_t now_us) {
    if (r->phase != KL_ROOM_REOPENING) return KL_E_STATE;
    /* Before the game goes on: seats belong to the members that the newest ticket names. */
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (!kl_lobby_here(r->member[i]) || r->member[i]->seats != r->lock.client[i].seats)
            kl_lock_remove(&r->lock, i, now_us);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (kl_lobby_here(r->member[i])) (void)kl_lock_add(&r->lock, i, r->member[i]->seats, now_us);
    int result = kl_lock_reopen(&r->lock, hold_us, now_us);
    if (result != KL_OK) return result;
    r->phase = KL_ROOM_PLAYING;
    for (KL_MEMBERS(i, r, kl_lobby_here))
        r->member[i]->cut_us = now_us;
    r->past.ticket_changed = true;
    kl_lobby_busy(r);
    r->report.stall.since_us = r->report.told.status_us = now_us;
    kl_lobby_log_room(KL_LOG_INFO, "reopened", r, "frame=%u intervals=%u hold_ms=%llu", r->lock.next_close,
                      r->past.digest.intervals, (unsigned long long)hold_us / 1000);
    return KL_OK;
}
