#include "net/relay/durable/lobby_again.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "net/engine/lock_relay_return.h"
#include "net/session/identity.h"

static unsigned free_place(const struct kl_lobby *l) {
    unsigned i = 0;
    while (i < l->limits.rooms && l->room[i])
        i++;
    return i;
}

static bool start_fits(const struct kl_lobby_ticket *t, const uint8_t *start, size_t len) {
    uint8_t hash[sizeof t->start_hash];
    crypto_generichash(hash, sizeof hash, start, len, NULL, 0);
    return len == t->start_bytes && memcmp(hash, t->start_hash, sizeof hash) == 0;
}

static const char *objection(const struct kl_lobby *l, const struct kl_lobby_ticket *t, const uint8_t *start,
                             size_t len) {
    if (kl_lobby_find(l, t->name)) return "there is a room of that name";
    if (free_place(l) == l->limits.rooms) return "all places for rooms are taken";
    if (l->start_bytes + len > KL_START_BYTES_TOTAL) return "no memory for its start data";
    return !kl_lobby_ticket_has_start(t) || start_fits(t, start, len) ? NULL : "the start data is another";
}

/* For all that the ticket names. */
static bool take_memory(struct kl_lobby_room *r, const struct kl_lobby_ticket *t) {
    unsigned bans = t->bans + r->door.bans;
    bool has = kl_lobby_memory_delay(r, t->delay_s) &&
               kl_lobby_memory_bans(r, bans < KL_BANS_MAX ? bans : KL_BANS_MAX);
    for (unsigned i = 0; i < KL_MAX_CLIENTS && has; i++)
        if (t->member[i].here) has = kl_lobby_memory_take(r, i, t->member[i].seats);
    return has;
}

static void take_member(struct kl_lobby_room *r, unsigned i, const struct kl_ticket_member *from,
                        uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[i];
    if (!from->here || kl_lobby_here(m)) return;
    *m = (struct kl_lobby_member){.place = KL_PLACE_KEPT,
                                  .seats = from->seats,
                                  .state = KL_MEMBER_PLAYING,
                                  .joined = from->joined,
                                  .checked = true,
                                  .any_token = true,
                                  .cut_us = now_us};
    memcpy(m->name, from->name, sizeof m->name);
    memcpy(m->seat_key, from->seat_key, sizeof m->seat_key);
    memcpy(m->token_hash, from->token_hash, sizeof m->token_hash);
    if (r->phase == KL_ROOM_PLAYING) (void)kl_lock_add(&r->lock, i, m->seats, now_us);
    r->lobby->members++;
}

/* Before the game goes on: seats belong to the members that the newest ticket names. */
static void seat_members(struct kl_lobby_room *r, uint64_t now_us) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (!kl_lobby_here(&r->member[i]) || r->member[i].seats != r->lock.client[i].seats)
            kl_lock_remove(&r->lock, i, now_us);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (kl_lobby_here(&r->member[i])) (void)kl_lock_add(&r->lock, i, r->member[i].seats, now_us);
}

static bool knows_ban(const struct kl_lobby_ticket *t, const struct kl_lobby_ban *b) {
    for (unsigned i = 0; i < t->bans; i++)
        if (memcmp(t->ban[i].seat_key, b->seat_key, sizeof b->seat_key) == 0 &&
            strcmp(t->ban[i].host, b->host) == 0)
            return true;
    return false;
}

/* Takes the door from the ticket; there is memory for its bans. Clients banned since then stay banned. */
static void take_door(struct kl_lobby_room *r, const struct kl_lobby_ticket *t) {
    struct kl_lobby_ban ban[KL_BANS_MAX];
    unsigned bans = t->bans;
    memcpy(ban, t->ban, sizeof ban);
    for (unsigned i = 0; i < r->door.bans && bans < KL_BANS_MAX; i++)
        if (!knows_ban(t, &r->door.ban[i])) ban[bans++] = r->door.ban[i];
    if (bans) memcpy(r->door.ban, ban, bans * sizeof ban[0]);
    r->door.bans = bans;
    r->door.flags = t->doors;
    r->watch.delay_s = t->delay_s;
    r->host = t->host;
}

static void describe(struct kl_lobby_room *r, const struct kl_lobby_ticket *t) {
    memcpy(r->name, t->name, sizeof r->name);
    memcpy(r->maker, t->maker, sizeof r->maker);
    memcpy(r->id, t->id, sizeof r->id);
    memcpy(r->door.salt, t->salt, sizeof r->door.salt);
    memcpy(r->door.secret, t->secret, sizeof r->door.secret);
    r->seat_time_s = t->seat_time_s;
    r->joins = t->joins;
    r->params = t->params;
    kl_identity(&t->facts, r->identity);
    take_door(r, t);
    r->start.epoch_s = t->epoch_s;
    memcpy(r->start.hash, t->start_hash, sizeof r->start.hash);
    r->past.ticket_number = r->reopening.made_of = t->number;
}

/* Members that the newer ticket does not name any more. */
static void remove_member(struct kl_lobby_room *r, unsigned i, uint64_t now_us) {
    if (r->phase == KL_ROOM_PLAYING) {
        kl_lobby_put_out(r, i, KL_REFUSE_SEAT, "you were no longer in this room when its relay died", now_us);
        return;
    }
    r->member[i].place = KL_PLACE_EMPTY; /* its frames stay; kl_lobby_again_open() takes it out of the game */
    r->lobby->members--;
}

static void give_seats(struct kl_lobby_room *r, unsigned i, uint8_t seats, uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[i];
    if (!kl_lobby_here(m) || m->seats == seats) return;
    if (r->phase == KL_ROOM_PLAYING)
        (void)kl_lobby_reseat(r, i, seats, "as before the relay died", now_us);
    else
        m->seats = seats;
}

/* Takes over changed seats and new members from the newer ticket. Seats are freed before they are taken. */
static void renew_seats(struct kl_lobby_room *r, const struct kl_lobby_ticket *t, uint64_t now_us) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (t->member[i].here && (r->member[i].seats & ~t->member[i].seats)) give_seats(r, i, 0, now_us);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (t->member[i].here) give_seats(r, i, t->member[i].seats, now_us);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        take_member(r, i, &t->member[i], now_us);
}

void kl_lobby_again_renew(struct kl_lobby_room *r, const struct kl_lobby_ticket *t, uint64_t now_us) {
    if (memcmp(r->id, t->id, sizeof r->id) != 0 || t->number <= r->reopening.made_of) return;
    if (!take_memory(r, t)) {
        kl_lobby_log_room(KL_LOG_ERROR, "newer_ticket", r, "ticket=%u error=\"no memory for its members\"",
                          t->number);
        return;
    }
    take_door(r, t);
    r->reopening.made_of = t->number;
    if (r->past.ticket_number < t->number) r->past.ticket_number = t->number;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        struct kl_lobby_member *m = &r->member[i];
        if (kl_lobby_here(m) && !t->member[i].here)
            remove_member(r, i, now_us);
        else if (kl_lobby_here(m) && m->any_token) /* else it has had a newer one here */
            memcpy(m->token_hash, t->member[i].token_hash, sizeof m->token_hash);
    }
    renew_seats(r, t, now_us);
    if (r->host != KL_NO_HOST && !kl_lobby_stays(&r->member[r->host])) kl_lobby_choose_host(r);
    r->talk.roster_changed = r->due.busy = r->past.ticket_changed = true;
    kl_lobby_log_room(KL_LOG_INFO, "newer_ticket", r, "ticket=%u", t->number);
}

static bool take_start(struct kl_lobby_room *r, const uint8_t *start, size_t len) {
    r->start.data = malloc(len ? len : 1);
    if (!r->start.data) return false;
    if (len) memcpy(r->start.data, start, len);
    r->start.bytes = r->start.have = (uint32_t)len;
    r->lobby->start_bytes += len;
    return true;
}

/* NULL: there is no memory. */
static struct kl_lobby_room *make(struct kl_lobby *l, const struct kl_lobby_ticket *t, const uint8_t *start,
                                  size_t len) {
    struct kl_lobby_room *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->lobby = l;
    if (!kl_lobby_memory_bans(r, t->bans)) {
        free(r);
        return NULL;
    }
    describe(r, t);
    r->start.ready = kl_lobby_memory_facts(&t->ready);
    bool has = kl_lobby_memory_begin(r, &t->facts) && r->start.ready && take_memory(r, t);
    if (has && (!kl_lobby_ticket_has_start(t) || take_start(r, start, len))) return r;
    kl_lobby_memory_free(r);
    sodium_memzero(r, offsetof(struct kl_lobby_room, lock));
    free(r);
    return NULL;
}

struct kl_lobby_room *kl_lobby_again(struct kl_lobby *l, const struct kl_lobby_ticket *t,
                                     const uint8_t *start, size_t start_len, uint64_t now_us, char *why,
                                     size_t cap) {
    const char *text = objection(l, t, start, start_len);
    struct kl_lobby_room *r = text ? NULL : make(l, t, start, start_len);
    if (!r) {
        snprintf(why, cap, "%s", text ? text : "no memory for another room");
        return NULL;
    }
    r->phase = KL_ROOM_REOPENING;
    r->due.chores_us = r->tale.told.status_us = now_us;
    r->tale.told.farthest = r->tale.told.farthest_was = KL_MAX_CLIENTS;
    kl_lobby_past_begin(r, now_us);
    r->past.reopened = true;
    r->past.base = t->base;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        take_member(r, i, &t->member[i], now_us);
    l->room[free_place(l)] = r;
    l->rooms++;
    return r;
}

bool kl_lobby_again_from_base(struct kl_lobby_room *r) {
    const struct kl_lobby_base *b = &r->past.base;
    if (!b->keyframe) return false;
    kl_lock_begin_at(&r->lock, b->keyframe, b->interval, &b->rules);
    kl_history_init(&r->past.history, b->keyframe, b->interval);
    kl_lobby_past_adopt_tag(r, b->interval - 1, b->tag, b->keyframe);
    return true;
}

int kl_lobby_again_frame(struct kl_lobby_room *r, const struct kl_frame *f,
                         const struct kl_commands *commands) {
    int result = kl_lock_adopt(&r->lock, f, commands);
    if (result != KL_OK) return result;
    kl_lobby_past_keep(r, f);
    return r->past.broken ? KL_E_SPACE : KL_OK;
}

int kl_lobby_again_piece(struct kl_lobby_room *r, const uint8_t *piece, size_t len, uint32_t end) {
    struct kl_frames frames;
    struct kl_frame f;
    int result = kl_piece_open(&frames, piece, len);
    while (result == KL_OK && kl_frames_next(&frames, &f))
        if (f.number >= r->lock.next_close && f.number < end)
            result = kl_lobby_again_frame(r, &f, f.flags & KL_FRAME_COMMANDS ? &frames.commands : NULL);
    return result;
}

/* The state before a trial: undoing drops the blocks begun since then, and sets the one being filled back. */
struct kl_lobby_trial {
    struct kl_lock_relay lock;
    struct kl_lobby_past past;
    uint32_t used, end; /* of the newest block */
};

bool kl_lobby_again_try(struct kl_lobby_room *r) {
    struct kl_lobby_trial *t = malloc(sizeof *t);
    if (!t) return false;
    t->lock = r->lock;
    t->past = r->past;
    const struct kl_history_block *newest = r->past.history.newest;
    t->used = newest ? newest->used : 0;
    t->end = newest ? newest->end : 0;
    r->past.on_trial = true;
    r->reopening.trial = t;
    return true;
}

static void free_blocks(struct kl_lobby_room *r, struct kl_history_block *b) {
    while (b) {
        struct kl_history_block *next = b->next;
        free(b);
        b = next;
        r->past.bytes -= KL_HISTORY_BLOCK;
        r->lobby->history_bytes -= KL_HISTORY_BLOCK;
    }
}

void kl_lobby_again_undo(struct kl_lobby_room *r) {
    struct kl_lobby_trial *t = r->reopening.trial;
    struct kl_history_block *newest = t->past.history.newest;
    free_blocks(r, newest ? newest->next : r->past.history.oldest);
    free_blocks(r, r->past.history.spare);
    t->past.history.spare = NULL;
    t->past.bytes = r->past.bytes;
    r->lock = t->lock;
    t->past.ticket = r->past.ticket;
    t->past.ticket_len = r->past.ticket_len;
    r->past = t->past;
    if (newest) {
        newest->next = NULL;
        newest->used = t->used;
        newest->end = t->end;
    }
    free(t);
    r->reopening.trial = NULL;
}

void kl_lobby_again_believe(struct kl_lobby_room *r) {
    r->past.on_trial = false;
    kl_lobby_past_trim(r);
    free(r->reopening.trial);
    r->reopening.trial = NULL;
}

bool kl_lobby_again_proves(const struct kl_lobby_room *r, uint32_t i, const uint8_t tag[KL_TAG]) {
    bool kept = i < r->past.tags && i + KL_TAGS_KEPT >= r->past.tags;
    return kept && kl_tag_equal(r->past.tag[i % KL_TAGS_KEPT], tag);
}

int kl_lobby_again_open(struct kl_lobby_room *r, uint64_t hold_us, uint64_t now_us) {
    if (r->phase != KL_ROOM_REOPENING) return KL_E_STATE;
    seat_members(r, now_us);
    int result = kl_lock_reopen(&r->lock, hold_us, now_us);
    if (result != KL_OK) return result;
    r->phase = KL_ROOM_PLAYING;
    if (r->past.base.keyframe >= r->lock.next_close) /* of frames that nobody brought back */
        r->past.base = (struct kl_lobby_base){0};
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        r->member[i].cut_us = now_us;
    r->due.busy = r->past.ticket_changed = true;
    r->tale.stall.since_us = r->tale.told.status_us = now_us;
    kl_lobby_log_room(KL_LOG_INFO, "reopened", r, "frame=%u intervals=%u hold_ms=%llu", r->lock.next_close,
                      r->past.tags, (unsigned long long)hold_us / 1000);
    return KL_OK;
}

void kl_lobby_again_drop(struct kl_lobby_room *r) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        r->lobby->members -= kl_lobby_here(&r->member[i]);
        r->member[i].place = KL_PLACE_EMPTY; /* the next kl_lobby_run() frees it */
    }
}
