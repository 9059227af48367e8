/* Sends a client of a room, member or watcher, its WELCOME, start data, history, snapshots and lines for its
 * screen. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/engine/command.h"
#include "net/platform/buffer.h"
#include "net/relay/room/lobby_room.h"

struct kl_visitor *kl_visitor_of(struct kl_lobby_client *c) {
    if (c->state == KL_CLIENT_WATCHER) return &c->watcher->v;
    return c->state == KL_CLIENT_MEMBER ? &c->room->member[c->member]->v : NULL;
}

struct kl_lobby_person kl_lobby_person(const uint8_t *seat_key, const char *address) {
    struct kl_lobby_person p;
    memcpy(p.seat_key, seat_key, sizeof p.seat_key);
    memcpy(p.host, kl_address_host(address).text, sizeof p.host);
    return p;
}

bool kl_lobby_is_same(const struct kl_lobby_person *a, const struct kl_lobby_person *b) {
    return !memcmp(a->seat_key, b->seat_key, sizeof a->seat_key) || (*a->host && !strcmp(a->host, b->host));
}

unsigned kl_visitor_member(const struct kl_visitor *v) {
    return ((const struct kl_lobby_member *)v)->number;
}

bool kl_visitor_reaches(const struct kl_visitor *v) {
    return v->catchup.watches || kl_lobby_reaches((const struct kl_lobby_member *)v);
}

struct kl_lobby_watcher *kl_visitor_watcher(struct kl_visitor *v) {
    return (struct kl_lobby_watcher *)v;
}

void kl_visitor_welcome(struct kl_lobby_room *r, struct kl_visitor *v, struct kl_welcome w) {
    struct kl_msg m = {.kind = KL_MSG_WELCOME, .welcome = w};
    v->sealed = 0;
    m.welcome.session = r->lobby->net.session(r->lobby->net.ctx, v->peer);
    m.welcome.params = r->params;
    memcpy(m.welcome.room_id, r->id, sizeof m.welcome.room_id);
    snprintf(m.welcome.match, sizeof m.welcome.match, "%s", kl_lobby_match(r));
    kl_lobby_send(r->lobby, v->peer, &m);
    if (r->lobby->fleet) kl_visitor_relays(r, v->peer);
}

void kl_visitor_relays(struct kl_lobby_room *r, unsigned peer) {
    struct kl_msg m = {.kind = KL_MSG_NOTICE, .text.code = KL_NOTICE_RELAYS};
    struct kl_addresses at;
    kl_fleet_successors(r->lobby->fleet, r->name, &at);
    kl_fleet_places(m.text.text, &at);
    kl_lobby_send(r->lobby, peer, &m);
}

void kl_visitor_send_seal(struct kl_lobby_room *r, struct kl_visitor *v, uint32_t have) {
    const struct kl_lobby_seals *s = &r->past.seals;
    for (unsigned i = s->count; i > 0 && i + KL_SEALS_KEPT > s->count; i--) {
        const struct kl_proof *p = &s->kept[(i - 1) % KL_SEALS_KEPT];
        if (p->end <= v->sealed) return;
        if (p->end > have) continue;
        v->sealed = p->end;
        kl_lobby_send(r->lobby, v->peer, &(struct kl_msg){.kind = KL_MSG_SEAL, .seal = *p});
        return;
    }
}

/* --- lines and commands --- */

void kl_visitor_tell(struct kl_lobby_room *r, const struct kl_visitor *v, uint8_t code, const char *format,
                     ...) {
    struct kl_msg m = {.kind = KL_MSG_NOTICE, .text.code = code};
    if (!kl_visitor_reaches(v) || kl_lobby_is_behind(r, v->peer, KL_NOTICES_UNDER_WAY)) return;
    KL_FORMAT(m.text.text, sizeof m.text.text, format);
    kl_cut_whole(m.text.text);
    kl_lobby_send(r->lobby, v->peer, &m);
}

void kl_lobby_refuse(struct kl_lobby *l, unsigned peer, enum kl_refuse code, const char *text) {
    struct kl_msg m = {.kind = KL_MSG_REFUSE, .text.code = (uint8_t)code};
    kl_copy_cut(m.text.text, sizeof m.text.text, text);
    kl_lobby_send(l, peer, &m);
    kl_lobby_hang_up(l, peer);
}

enum kl_visitor_order kl_visitor_orders(struct kl_lobby_room *r, struct kl_visitor *v, uint8_t kind,
                                        uint64_t now_us) {
    const struct kl_lobby_limits *limits = &r->lobby->limits;
    struct kl_bucket *spent = v->spent.of;
    bool chat = kind == KL_COMMAND_CHAT;
    unsigned most = chat ? limits->chat_per_min : limits->commands_per_min;
    if (kl_bucket_take(&spent[chat ? KL_SPENDS_CHAT : KL_SPENDS_COMMANDS], most, now_us))
        return KL_ORDER_TAKEN;
    if (!kl_bucket_take(&spent[KL_SPENDS_DROPPED], limits->commands_per_min, now_us))
        return KL_ORDER_TOO_MANY;
    kl_visitor_tell(r, v, 0, "too many %s a minute: the last one was dropped", chat ? "lines" : "commands");
    return KL_ORDER_DROPPED;
}

/* --- start data --- */

void kl_visitor_wait(struct kl_visitor *v, uint64_t now_us) {
    v->waited_us = now_us;
    v->furthest = 0;
    v->again = false;
}

void kl_visitor_wait_anew(struct kl_visitor *v, uint64_t now_us) {
    if (v->state == KL_MEMBER_LOADING)
        v->again = true;
    else
        kl_visitor_wait(v, now_us);
}

/* A client that lost its link and begins anew gets one minute more, once, so that nobody can hold the others
 * up for ever. */
uint64_t kl_visitor_waits_until_us(struct kl_visitor *v, uint32_t bytes) {
    if (bytes > v->furthest) v->furthest = bytes;
    return v->waited_us + (v->again ? 2 : 1) * KL_GIVE_US + v->furthest * UINT64_C(1000000) / KL_GIVE_BYTES;
}

/* To fetch, and then to load. */
static void set_deadline(struct kl_visitor *v, uint64_t now_us) {
    uint64_t by_us = kl_visitor_waits_until_us(v, v->sent), load_us = now_us + KL_LOAD_US;
    bool load = v->fetched && !(v->again && by_us < load_us);
    v->deadline_us = load ? load_us : by_us;
}

void kl_visitor_prepare(struct kl_lobby_room *r, struct kl_visitor *v, bool has_start, uint64_t now_us) {
    struct kl_msg m = {.kind = KL_MSG_PREPARE, .prepare = {r->start.epoch_s, r->start.bytes}};
    v->state = KL_MEMBER_LOADING;
    v->sent = has_start ? r->start.bytes : 0;
    v->fetched = v->sent == r->start.bytes;
    set_deadline(v, now_us);
    kl_lobby_send(r->lobby, v->peer, &m);
}

bool kl_visitor_send_start(struct kl_lobby_room *r, struct kl_visitor *v, uint64_t now_us) {
    while (v->sent < r->start.bytes && kl_lobby_bulk_room(r, v->peer) > 0) {
        uint32_t left = r->start.bytes - v->sent;
        struct kl_msg m = {.kind = KL_MSG_DATA, .data = {.offset = v->sent, .total = r->start.bytes}};
        m.data.len = (uint16_t)(left < KL_CHUNK_MAX ? left : KL_CHUNK_MAX);
        memcpy(m.data.bytes, r->start.data + v->sent, m.data.len);
        kl_lobby_send(r->lobby, v->peer, &m);
        v->sent += m.data.len;
    }
    if (v->fetched) return false;
    v->fetched = v->sent == r->start.bytes && !kl_lobby_is_behind(r, v->peer, 0);
    set_deadline(v, now_us);
    return !v->fetched;
}

const char *kl_visitor_is_late(const struct kl_lobby_room *r, const struct kl_visitor *v,
                               enum kl_refuse *code, uint64_t now_us) {
    *code = KL_REFUSE_CLOSED;
    if (v->deadline_us && now_us >= v->deadline_us)
        return v->state != KL_MEMBER_LOADING ? "the host's start data did not arrive in time"
               : v->fetched                  ? "loading the game took more than 60 s"
                                             : "the room's start data did not reach you in time";
    *code = KL_REFUSE_LIMIT;
    bool behind = kl_lobby_is_behind(r, v->peer, KL_UNDER_WAY_MAX);
    return behind ? "your machine does not read what the relay sends" : NULL;
}

/* --- history --- */

/* Cuts frames that are not visible yet off the end of a piece. Returns its length. */
static size_t shorten(uint8_t *piece, size_t len, uint32_t most, uint32_t *end) {
    static struct kl_frame ring[KL_PIECE_FRAMES];
    static struct kl_commands sets[KL_PIECE_FRAMES];
    struct kl_frames_from from = {.ring = ring, .places = KL_PIECE_FRAMES, .sets = sets};
    struct kl_frames f;
    struct kl_frame one;
    uint32_t count = 0;
    if (kl_piece_open(&f, piece, len) != KL_OK) return 0;
    uint32_t first = f.first;
    for (; first + count < most && kl_frames_next(&f, &one); count++) {
        ring[one.number % KL_PIECE_FRAMES] = one;
        if (one.flags & KL_FRAME_COMMANDS) sets[from.set_count++] = f.commands;
    }
    len = count ? kl_piece_write(&from, first, count, piece, KL_PIECE_BYTES, &count) : 0;
    *end = first + count;
    return len;
}

/* Makes p hold the frames below may_see of the piece with the frame `from`. */
static bool piece_at(struct kl_lobby_room *r, struct kl_visitor_piece *p, uint32_t from, uint32_t may_see) {
    if (p->past.len && p->from == from && p->may_see == may_see) return true;
    size_t len = kl_history_read(&r->past.history, from, p->past.bytes, sizeof p->past.bytes, &p->end);
    if (len && p->end > may_see) len = shorten(p->past.bytes, len, may_see, &p->end);
    p->past.len = (uint16_t)len;
    p->from = from;
    p->may_see = may_see;
    return len > 0;
}

bool kl_visitor_send_history(struct kl_lobby_room *r, const struct kl_visitor *v, struct kl_visitor_piece *p,
                             uint32_t from, uint32_t may_see) {
    struct kl_msg m = {.kind = KL_MSG_HISTORY};
    if (!piece_at(r, p, from, may_see)) return false;
    m.past = p->past;
    kl_lobby_send(r->lobby, v->peer, &m);
    return true;
}

/* --- snapshots --- */

void kl_lobby_packed_drop(struct kl_lobby_room *r, struct kl_lobby_packed **at) {
    struct kl_lobby_packed *p = *at;
    *at = NULL;
    if (!p || --p->refs > 0) return;
    r->snapshot.bytes -= p->len;
    r->lobby->snapshot_bytes -= p->len;
    free(p);
}

/* As bulk, so that it comes before its pieces, and before the history from there on. */
bool kl_visitor_offer(struct kl_lobby_room *r, struct kl_visitor *v, struct kl_lobby_packed *k, bool begin) {
    struct kl_msg msg = {.kind = KL_MSG_OFFER};
    kl_lobby_fetch_end(r, &v->fetch);
    if (!k) return false;
    msg.offer = (struct kl_offer){.keyframe = k->keyframe,
                                  .interval = k->interval,
                                  .begin = begin,
                                  .bytes = k->bytes,
                                  .packed = k->len};
    memcpy(msg.offer.hash, k->hash, sizeof msg.offer.hash);
    memcpy(msg.offer.digest, k->digest, sizeof msg.offer.digest);
    kl_lobby_send(r->lobby, v->peer, &msg);
    k->refs++;
    v->fetch = (struct kl_lobby_fetch){.snapshot = k};
    kl_lobby_busy(r);
    return true;
}

void kl_lobby_fetch_end(struct kl_lobby_room *r, struct kl_lobby_fetch *f) {
    kl_lobby_packed_drop(r, &f->snapshot);
}

/* Of one that is not proved good nobody gets all, so that nobody loads it. */
static uint32_t may_go(const struct kl_lobby_fetch *f) {
    const struct kl_lobby_packed *k = f->snapshot;
    if (!k || k->failed) return 0;
    uint32_t here = k->good || k->have < k->len ? k->have : k->len - 1;
    return k->good || here >= f->sent + KL_BULK_MAX ? here - f->sent : 0;
}

bool kl_visitor_send_snapshot(struct kl_lobby_room *r, struct kl_visitor *v) {
    struct kl_lobby_fetch *f = &v->fetch;
    const struct kl_lobby_packed *k = f->snapshot;
    uint32_t left;
    while ((left = may_go(f)) > 0 && kl_lobby_bulk_room(r, v->peer) > 0) {
        struct kl_msg msg = {.kind = KL_MSG_SNAPSHOT, .snapshot.keyframe = k->keyframe};
        struct kl_piece *p = &msg.snapshot.piece;
        *p = (struct kl_piece){.offset = f->sent, .total = k->len};
        p->len = (uint16_t)(left < KL_BULK_MAX ? left : KL_BULK_MAX);
        memcpy(p->bytes, k->packed + f->sent, p->len);
        kl_lobby_send(r->lobby, v->peer, &msg);
        f->sent += p->len;
        if (f->sent == k->len) kl_lobby_fetch_end(r, f);
    }
    return may_go(f) > 0;
}
