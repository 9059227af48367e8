#include <stdlib.h>
#include <string.h>

#include "net/engine/room_return.h"
#include "net/session/past.h"
#include "net/relay/lobby/lobby_room.h"
#include "net/relay/durable/lobby_ticket.h"

void kl_lobby_past_begin(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_past *p = &r->past;
    kl_history_init(&p->history, 0, 0);
    kl_tag_key(r->lobby->secret, r->id, p->tag_key);
    kl_mark_key(r->lobby->secret, r->id, p->mark_key);
    p->tags_us = now_us;
    p->ticket_changed = true;
}

void kl_lobby_past_free(struct kl_lobby_room *r) {
    void *block;
    while ((block = kl_history_drop(&r->past.history)))
        free(block);
    r->lobby->history_bytes -= r->past.bytes;
    r->past.bytes = 0;
}

/* --- keeping ----------------------------------------------------------------------------------------------
 */

static uint64_t most_bytes(const struct kl_lobby_room *r) {
    return r->lobby->limits.history_kib * UINT64_C(1024) * (r->past.on_trial ? 2 : 1);
}

static void *new_block(struct kl_lobby_room *r) {
    struct kl_lobby *l = r->lobby;
    bool fits = r->past.bytes + KL_HISTORY_BLOCK <= most_bytes(r) &&
                l->history_bytes + KL_HISTORY_BLOCK <= KL_HISTORY_BYTES_TOTAL &&
                (r->past.bytes + KL_HISTORY_BLOCK <= KL_HISTORY_LEAST ||
                 kl_lobby_address_has(l, r->maker, KL_HISTORY_BLOCK));
    void *block = fits ? malloc(KL_HISTORY_BLOCK) : NULL;
    if (!block) return NULL;
    r->past.bytes += KL_HISTORY_BLOCK;
    l->history_bytes += KL_HISTORY_BLOCK;
    return block;
}

/* Drops the oldest frames if memory runs out. From then on newcomers begin with a snapshot, or cannot
 * join. */
static void *reuse_oldest(struct kl_lobby_room *r) {
    bool whole = r->past.history.first == 0;
    if (r->past.on_trial) return NULL;
    void *block = kl_history_drop(&r->past.history);
    if (!block) return NULL;
    if (whole)
        kl_lobby_log_room(KL_LOG_INFO, "history_full", r, "frame=%u kib=%llu", r->lock.next_close,
                          (unsigned long long)r->past.bytes / 1024);
    if (r->shot.unfit && kl_lobby_start_is_kept(r)) {
        kl_lobby_start_free(r);
        kl_lobby_notice(r, "nobody can join this room any more: the relay dropped its first frames, and the "
                           "core gives no state");
    }
    return block;
}

void kl_lobby_past_trim(struct kl_lobby_room *r) {
    while (r->past.bytes > most_bytes(r)) {
        void *block = reuse_oldest(r);
        if (!block) return;
        free(block);
        r->past.bytes -= KL_HISTORY_BLOCK;
        r->lobby->history_bytes -= KL_HISTORY_BLOCK;
    }
}

static const uint8_t no_tag[KL_TAG];

static const uint8_t *tag_before(const struct kl_lobby_past *p, uint32_t interval) {
    return interval ? p->tag[(interval - 1) % KL_TAGS_KEPT] : no_tag;
}

bool kl_lobby_past_mark(const struct kl_lobby_room *r, uint8_t mark[KL_MARK]) {
    static uint8_t bytes[KL_INTERVAL_BYTES];
    const struct kl_lobby_past *p = &r->past;
    struct kl_mark_of of = {.key = p->mark_key, .room_id = r->id, .end = p->history.next};
    size_t len = kl_history_so_far(&p->history, bytes, sizeof bytes, &of.keyframe);
    bool whole = p->tags && p->tag_end[(p->tags - 1) % KL_TAGS_KEPT] == of.end;
    of.interval = p->tags - whole;
    of.before = tag_before(p, of.interval);
    kl_mark_make(&of, bytes, len, mark);
    return len > 0;
}

static void tag_interval(struct kl_lobby_room *r) {
    struct kl_lobby_past *p = &r->past;
    uint8_t bytes[KL_INTERVAL_BYTES];
    struct kl_tag t;
    uint32_t i = p->history.intervals - 1, length = p->last_spacing;
    uint8_t *tag = p->tag[i % KL_TAGS_KEPT];
    size_t len = kl_history_interval(&p->history, bytes, sizeof bytes);
    kl_tag_begin(&t, p->tag_key, tag_before(p, i), r->id, i, p->history.next - length);
    kl_tag_add(&t, bytes, len);
    kl_tag_end(&t, tag);
    p->tag_end[i % KL_TAGS_KEPT] = p->history.next;
    p->tags = i + 1;
}

static void make_place(struct kl_lobby_room *r) {
    struct kl_history *h = &r->past.history;
    if (!kl_history_wants_block(h)) return;
    void *block = new_block(r);
    kl_history_give(h, block ? block : reuse_oldest(r));
}

void kl_lobby_past_keep(struct kl_lobby_room *r, const struct kl_frame *f) {
    struct kl_lobby_past *p = &r->past;
    if (p->broken) return;
    make_place(r);
    const struct kl_commands *commands =
        f->flags & KL_FRAME_COMMANDS ? kl_room_commands(&r->lock, f->number) : NULL;
    int result = kl_history_append(&p->history, f, commands);
    p->last_spacing = f->spacing;
    if (result == 1) tag_interval(r);
    if (result >= 0) return;
    p->broken = true;
    kl_lobby_log_room(KL_LOG_ERROR, "history_broken", r, "frame=%u error=%d", f->number, result);
}

bool kl_lobby_past_adopt(struct kl_lobby_room *r, const uint8_t *piece, size_t len, uint32_t intervals) {
    struct kl_lobby_past *p = &r->past;
    make_place(r);
    return kl_history_adopt(&p->history, piece, len, intervals) == KL_OK;
}

void kl_lobby_past_adopt_tag(struct kl_lobby_room *r, uint32_t i, const uint8_t tag[KL_TAG], uint32_t end) {
    struct kl_lobby_past *p = &r->past;
    memcpy(p->tag[i % KL_TAGS_KEPT], tag, KL_TAG);
    p->tag_end[i % KL_TAGS_KEPT] = end;
    p->tags = i + 1;
}

/* --- returning members --- */

bool kl_lobby_past_reaches(const struct kl_lobby_room *r, uint32_t from) {
    if (from > r->lock.next_close || from < r->lock.begin) return false;
    bool by_update = from + KL_KEPT_FRAMES / 4 >= r->lock.next_close; /* as near as the room lets it */
    return by_update || (!r->past.broken && from >= r->past.history.first);
}

#define BASE_FRAMES 16384 /* between two bases: four minutes and a half */
#define DIGEST_MAX  4096  /* frames past the newest tag that are looked at for one RETURN */

/* The digest that this client must have, computed from our frames. False if we do not keep them any more. */
static bool digest_of(const struct kl_lobby_past *p, const struct kl_return *b, uint8_t out[16]) {
    static struct kl_history_cursor c;
    struct kl_digest d;
    struct kl_frame f;
    uint32_t last = b->tags - 1;
    bool known = b->tags <= p->tags && b->tags + KL_TAGS_KEPT >= p->tags;
    uint32_t from = b->tags && known ? p->tag_end[last % KL_TAGS_KEPT] : 0;
    if (!known || b->have < from || b->have > p->history.next || b->have - from > DIGEST_MAX) return false;
    kl_digest_begin(&d, b->tags ? p->tag[last % KL_TAGS_KEPT] : NULL);
    kl_history_seek(&c, &p->history, from);
    while (from < b->have && kl_history_next(&c, &f)) {
        kl_digest_frame(&d, &f, f.flags & KL_FRAME_COMMANDS ? &c.frames.commands : NULL);
        from++;
    }
    kl_digest_end(&d, out);
    return from == b->have;
}

bool kl_lobby_past_same(const struct kl_lobby_room *r, const struct kl_return *b) {
    uint8_t ours[16];
    if (!r->past.reopened) return true; /* its frames came from here, and nothing was lost since */
    return digest_of(&r->past, b, ours) && memcmp(ours, b->digest, sizeof ours) == 0;
}

void kl_lobby_past_returned(struct kl_lobby_room *r, unsigned member, uint32_t tags) {
    struct kl_lobby_member *m = &r->member[member];
    m->tags_told = tags < r->past.tags ? tags : r->past.tags;
    m->ticket_told = m->ticket_sent = 0;
}

/* --- sending ----------------------------------------------------------------------------------------------
 */

static bool may_send(struct kl_lobby_room *r, const struct kl_lobby_member *m) {
    return kl_lobby_bulk_room(r, m->peer) > 0;
}

static void send_history(struct kl_lobby_room *r, unsigned member) {
    const struct kl_lobby_member *m = &r->member[member];
    uint32_t from, end;
    while (kl_room_wants_history(&r->lock, member, &from)) {
        struct kl_msg msg = {.kind = KL_MSG_HISTORY};
        if (!may_send(r, m)) {
            r->bulk = true;
            return;
        }
        size_t len = kl_history_read(&r->past.history, from, msg.past.bytes, sizeof msg.past.bytes, &end);
        if (len == 0) return; /* not sealed into a piece yet, or gone: help_the_lost() sees to it */
        msg.past.len = (uint16_t)len;
        kl_lobby_send_bulk(r->lobby, m->peer, &msg);
        kl_room_gave_history(&r->lock, member, end);
    }
}

static void send_tags(struct kl_lobby_room *r, struct kl_lobby_member *m) {
    const struct kl_lobby_past *p = &r->past;
    if (m->tags_told + KL_TAGS_KEPT < p->tags) m->tags_told = p->tags - KL_TAGS_KEPT;
    while (m->tags_told < p->tags) {
        struct kl_msg msg = {.kind = KL_MSG_TAGS, .tags.first = m->tags_told};
        if (!may_send(r, m)) {
            r->bulk = true;
            return;
        }
        for (; m->tags_told < p->tags && msg.tags.count < KL_TAGS_MAX; m->tags_told++) {
            msg.tags.end_frame = p->tag_end[m->tags_told % KL_TAGS_KEPT];
            memcpy(msg.tags.tag[msg.tags.count++], p->tag[m->tags_told % KL_TAGS_KEPT], KL_TAG_BYTES);
        }
        kl_lobby_send_bulk(r->lobby, m->peer, &msg);
    }
}

static void send_ticket(struct kl_lobby_room *r, struct kl_lobby_member *m) {
    const struct kl_lobby_past *p = &r->past;
    if (m->ticket_told != p->ticket_number) m->ticket_sent = 0; /* a newer one: from the beginning */
    m->ticket_told = p->ticket_number;
    while (m->ticket_sent < p->ticket_len) {
        struct kl_msg msg = {.kind = KL_MSG_TICKET};
        uint32_t left = p->ticket_len - m->ticket_sent;
        if (!may_send(r, m)) {
            r->bulk = true;
            return;
        }
        msg.piece = (struct kl_piece){.offset = m->ticket_sent, .total = p->ticket_len};
        msg.piece.len = (uint16_t)(left < KL_BULK_MAX ? left : KL_BULK_MAX);
        memcpy(msg.piece.bytes, p->ticket + m->ticket_sent, msg.piece.len);
        kl_lobby_send_bulk(r->lobby, m->peer, &msg);
        m->ticket_sent += msg.piece.len;
    }
}

void kl_lobby_past_renew(struct kl_lobby_room *r) {
    static struct kl_lobby_ticket t;
    static uint8_t body[KL_TICKET_BODY_MAX];
    struct kl_lobby_past *p = &r->past;
    p->ticket_changed = false;
    p->ticket_number++;
    kl_lobby_ticket_of(&t, r);
    int len = kl_lobby_ticket_encode(&t, body, sizeof body);
    if (len > 0) len = kl_ticket_seal(r->lobby->secret, body, (size_t)len, p->ticket);
    p->ticket_len = len > 0 ? (uint32_t)len : 0;
    sodium_memzero(body, sizeof body);
    sodium_memzero(&t, sizeof t);
}

/* --- the base ----------------------------------------------------------------------------------------------
 */

/* Some client's frames begin past the base, or it is long ago: clients drop their oldest frames, too. */
static bool wants_base(const struct kl_lobby_room *r) {
    uint32_t base = r->past.base.keyframe;
    bool wants = r->lock.next_close >= base + BASE_FRAMES;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        wants |= r->member[i].here && r->member[i].way.begins > base;
    return wants && !r->past.broken;
}

/* The keyframe of the interval that is being closed. */
static void choose_base(struct kl_lobby_room *r) {
    const struct kl_lobby_past *p = &r->past;
    struct kl_lobby_base *b = &r->past.next_base;
    uint32_t keyframe = r->lock.now.first, i = p->tags;
    while (i > 0 && i + 2 > p->tags && p->tag_end[(i - 1) % KL_TAGS_KEPT] != keyframe)
        i--;
    if (i == 0 || p->tag_end[(i - 1) % KL_TAGS_KEPT] != keyframe) return;
    *b = (struct kl_lobby_base){.keyframe = keyframe, .interval = i, .rules = r->lock.rules};
    memcpy(b->tag, tag_before(p, i), sizeof b->tag);
}

/* All members here can prove that the base's interval was played, and so bring it. */
static bool all_have_run(const struct kl_lobby_room *r, const struct kl_lobby_base *b) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        const struct kl_lobby_member *m = &r->member[i];
        if (!kl_lobby_reaches(m) || m->state != KL_MEMBER_PLAYING) continue;
        uint32_t ran = r->lock.next_close - kl_lobby_behind(r, i);
        if (ran < b->keyframe + KL_SPACING_MAX || m->tags_told <= b->interval) return false;
    }
    return true;
}

/* The ticket gets a base only when clients have run it: frames that no client has are lost with the relay.
 */
static void move_base(struct kl_lobby_room *r) {
    struct kl_lobby_past *p = &r->past;
    if (!p->next_base.keyframe) {
        if (wants_base(r)) choose_base(r);
    } else if (all_have_run(r, &p->next_base)) {
        p->base = p->next_base;
        p->next_base = (struct kl_lobby_base){0};
        p->ticket_changed = true;
    }
}

void kl_lobby_past_run(struct kl_lobby_room *r, uint64_t now_us) {
    bool due = now_us >= r->past.tags_us;
    if (due) r->past.tags_us = now_us + KL_TAGS_US;
    if (due) move_base(r);
    if (due && r->past.ticket_changed) kl_lobby_past_renew(r);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        struct kl_lobby_member *m = &r->member[i];
        if (!kl_lobby_reaches(m) || m->state != KL_MEMBER_PLAYING) continue;
        send_history(r, i);
        if (due || m->tags_told + KL_TAGS_MAX <= r->past.tags) send_tags(r, m);
        /* The first ticket of a newcomer names the newcomer: it may be the last one before the relay dies. */
        if (m->ticket_told == 0 && r->past.ticket_changed) kl_lobby_past_renew(r);
        send_ticket(r, m);
    }
}
