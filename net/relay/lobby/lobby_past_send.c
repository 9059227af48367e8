/* A room's past on its way to members, and the base from which clients can bring the room back. */
#include <string.h>

#include "net/engine/lock_relay_return.h"
#include "net/session/past.h"
#include "net/relay/durable/lobby_ticket.h"
#include "net/relay/lobby/lobby_parts.h"

#define BASE_FRAMES 16384 /* between two bases: four minutes and a half */

/* --- sending --- */

static bool may_send(struct kl_lobby_room *r, const struct kl_lobby_member *m) {
    return kl_lobby_bulk_room(r, m->peer) > 0;
}

static void send_history(struct kl_lobby_room *r, unsigned member) {
    const struct kl_lobby_member *m = &r->member[member];
    uint32_t from, end;
    while (kl_lock_wants_history(&r->lock, member, &from)) {
        struct kl_msg msg = {.kind = KL_MSG_HISTORY};
        if (!may_send(r, m)) {
            r->due.bulk = true;
            return;
        }
        size_t len = kl_history_read(&r->past.history, from, msg.past.bytes, sizeof msg.past.bytes, &end);
        if (len == 0) return; /* not sealed into a piece yet, or gone: help_the_lost() sees to it */
        msg.past.len = (uint16_t)len;
        kl_lobby_send_bulk(r->lobby, m->peer, &msg);
        kl_lock_gave_history(&r->lock, member, end);
    }
}

static void send_tags(struct kl_lobby_room *r, struct kl_lobby_member *m) {
    const struct kl_lobby_past *p = &r->past;
    if (m->tags_told + KL_TAGS_KEPT < p->tags) m->tags_told = p->tags - KL_TAGS_KEPT;
    while (m->tags_told < p->tags) {
        struct kl_msg msg = {.kind = KL_MSG_TAGS, .tags.first = m->tags_told};
        if (!may_send(r, m)) {
            r->due.bulk = true;
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
            r->due.bulk = true;
            return;
        }
        msg.piece = (struct kl_piece){.offset = m->ticket_sent, .total = p->ticket_len};
        msg.piece.len = (uint16_t)(left < KL_BULK_MAX ? left : KL_BULK_MAX);
        memcpy(msg.piece.bytes, p->ticket + m->ticket_sent, msg.piece.len);
        kl_lobby_send_bulk(r->lobby, m->peer, &msg);
        m->ticket_sent += msg.piece.len;
    }
}

/* --- the base --- */

/* Some client's frames begin past the base, or it is long ago: clients drop their oldest frames, too. */
static bool wants_base(const struct kl_lobby_room *r) {
    uint32_t base = r->past.base.keyframe;
    bool wants = r->lock.next_close >= base + BASE_FRAMES;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        wants |= kl_lobby_here(&r->member[i]) && r->member[i].way.begins > base;
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
    memcpy(b->tag, kl_lobby_past_tag_before(p, i), sizeof b->tag);
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

/* The ticket gets a base only when clients have run it: frames that no client has are lost with the relay. */
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
    if (due && r->past.ticket_changed) kl_lobby_ticket_renew(r);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        struct kl_lobby_member *m = &r->member[i];
        if (!kl_lobby_reaches(m) || m->state != KL_MEMBER_PLAYING) continue;
        send_history(r, i);
        if (due || m->tags_told + KL_TAGS_MAX <= r->past.tags) send_tags(r, m);
        /* The first ticket of a newcomer names the newcomer: it may be the last one before the relay dies. */
        if (m->ticket_told == 0 && r->past.ticket_changed) kl_lobby_ticket_renew(r);
        send_ticket(r, m);
    }
}
