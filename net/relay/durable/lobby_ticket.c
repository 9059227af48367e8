#include "net/relay/durable/lobby_ticket.h"

#include <string.h>

#include <sodium.h>

#include "net/engine/msg.h"

bool kl_lobby_ticket_has_start(const struct kl_lobby_ticket *t) {
    return !sodium_is_zero(t->start_hash, sizeof t->start_hash);
}

/* --- the room's record --- */

static void take_member(struct kl_ticket_member *to, const struct kl_lobby_member *from) {
    if (!kl_lobby_stays(from)) return;
    to->here = true;
    to->seats = from->seats;
    to->joined = from->joined;
    memcpy(to->name, from->v.name, sizeof to->name);
    memcpy(to->seat_key, from->v.seat_key, sizeof to->seat_key);
    memcpy(to->token_hash, from->token_hash, sizeof to->token_hash);
}

void kl_lobby_ticket_of(struct kl_lobby_ticket *t, const struct kl_lobby_room *r) {
    memset(t, 0, sizeof *t);
    t->number = r->past.ticket_number;
    t->frame = r->lock.next_close;
    memcpy(t->name, r->name, sizeof t->name);
    memcpy(t->maker, r->maker, sizeof t->maker);
    memcpy(t->id, r->id, sizeof t->id);
    t->doors = r->door.flags;
    memcpy(t->salt, r->door.salt, sizeof t->salt);
    memcpy(t->secret, r->door.secret, sizeof t->secret);
    t->seat_time_s = r->seat_time_s;
    t->delay_s = r->watch.delay_s;
    t->epoch_s = r->start.epoch_s;
    t->start_bytes = r->start.bytes;
    memcpy(t->start_hash, r->start.hash, sizeof t->start_hash);
    t->params = r->params;
    memcpy(&t->facts, r->facts, kl_facts_size(r->facts));
    if (r->start.ready) memcpy(&t->ready, r->start.ready, kl_facts_size(r->start.ready));
    t->host = (uint8_t)r->host;
    t->joins = r->joins;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        take_member(&t->member[i], &r->member[i]);
    t->bans = 0;
    for (unsigned i = 0; i < r->door.bars; i++)
        if (r->door.bar[i].why == KL_BAR_BAN) t->ban[t->bans++] = r->door.bar[i].who;
}

/* --- bytes --- */

static void write_member(struct kl_writer *w, const struct kl_ticket_member *m) {
    kl_write_u8(w, m->here);
    if (!m->here) return;
    kl_write_u8(w, m->seats);
    kl_write_u32(w, m->joined);
    kl_write_string(w, m->name);
    kl_write_bytes(w, m->seat_key, sizeof m->seat_key);
    kl_write_bytes(w, m->token_hash, sizeof m->token_hash);
}

static void read_member(struct kl_reader *r, struct kl_ticket_member *m) {
    m->here = kl_read_bool(r);
    if (!m->here) return;
    m->seats = kl_read_u8(r);
    m->joined = kl_read_u32(r);
    kl_read_name(r, m->name, KL_NAME_CHARS);
    kl_read_into(r, m->seat_key, sizeof m->seat_key);
    kl_read_into(r, m->token_hash[0], sizeof m->token_hash);
}

int kl_lobby_ticket_encode(const struct kl_lobby_ticket *t, uint8_t *buf, size_t cap) {
    struct kl_writer w;
    kl_writer_init(&w, buf, cap);
    kl_write_u8(&w, KL_LOBBY_TICKET_VERSION);
    kl_write_u32(&w, t->number);
    kl_write_u32(&w, t->frame);
    kl_write_string(&w, t->name);
    kl_write_string(&w, t->maker);
    kl_write_bytes(&w, t->id, sizeof t->id);
    kl_write_u8(&w, t->doors);
    kl_write_bytes(&w, t->salt, sizeof t->salt);
    kl_write_bytes(&w, t->secret, sizeof t->secret);
    kl_write_u16(&w, t->seat_time_s);
    kl_write_u16(&w, t->delay_s);
    kl_write_u64(&w, t->epoch_s);
    kl_write_u32(&w, t->start_bytes);
    kl_write_bytes(&w, t->start_hash, sizeof t->start_hash);
    kl_write_params(&w, &t->params);
    kl_write_facts(&w, &t->facts);
    kl_write_facts(&w, &t->ready);
    kl_write_u8(&w, t->host);
    kl_write_u32(&w, t->joins);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        write_member(&w, &t->member[i]);
    kl_write_u8(&w, t->bans);
    for (unsigned i = 0; i < t->bans; i++) {
        kl_write_bytes(&w, t->ban[i].seat_key, sizeof t->ban[i].seat_key);
        kl_write_string(&w, t->ban[i].host);
    }
    return w.failed ? KL_E_SPACE : (int)(w.at - buf);
}

/* No seat belongs to two, and the host is there. */
static bool fits_together(const struct kl_lobby_ticket *t) {
    uint8_t seats = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        if (seats & t->member[i].seats) return false;
        seats |= t->member[i].seats;
    }
    return t->host == KL_NO_HOST || t->member[t->host].here;
}

#define KEPT_DOORS                                                                                           \
    (KL_DOOR_UNLISTED | KL_DOOR_PASSWORD | KL_DOOR_LOCKED | KL_DOOR_LET_GO | KL_DOOR_ONCE | KL_DOOR_QUICK)

static void read_door(struct kl_reader *r, struct kl_lobby_ticket *t) {
    t->doors = kl_read_u8(r);
    if (t->doors & ~KEPT_DOORS) r->failed = true;
    kl_read_into(r, t->salt, sizeof t->salt);
    kl_read_into(r, t->secret, sizeof t->secret);
    t->seat_time_s = kl_read_u16(r);
    t->delay_s = kl_read_u16(r);
    if (t->delay_s > KL_WATCH_DELAY_MAX_S) r->failed = true;
}

static void read_bans(struct kl_reader *r, struct kl_lobby_ticket *t) {
    t->bans = kl_read_count(r, KL_BANS_MAX);
    for (unsigned i = 0; i < t->bans; i++) {
        kl_read_into(r, t->ban[i].seat_key, sizeof t->ban[i].seat_key);
        kl_read_string(r, t->ban[i].host, sizeof t->ban[i].host);
    }
}

int kl_lobby_ticket_decode(struct kl_lobby_ticket *t, const uint8_t *buf, size_t len) {
    struct kl_reader r;
    kl_reader_init(&r, buf, len);
    memset(t, 0, sizeof *t);
    uint8_t version = kl_read_u8(&r);
    if (!r.failed && version != KL_LOBBY_TICKET_VERSION) return KL_E_VERSION;
    t->number = kl_read_u32(&r);
    t->frame = kl_read_u32(&r);
    kl_read_name(&r, t->name, KL_NAME_CHARS);
    kl_read_string(&r, t->maker, sizeof t->maker);
    kl_read_into(&r, t->id, sizeof t->id);
    read_door(&r, t);
    t->epoch_s = kl_read_u64(&r);
    t->start_bytes = kl_read_u32(&r);
    kl_read_into(&r, t->start_hash, sizeof t->start_hash);
    kl_read_params(&r, &t->params);
    kl_read_facts(&r, &t->facts);
    kl_read_facts(&r, &t->ready);
    t->host = kl_read_count(&r, KL_NO_HOST);
    t->joins = kl_read_u32(&r);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        read_member(&r, &t->member[i]);
    read_bans(&r, t);
    bool good = !r.failed && kl_reader_left(&r) == 0 && t->name[0] && fits_together(t);
    return good ? KL_OK : KL_E_MALFORMED;
}

int kl_lobby_ticket_open(struct kl_lobby_ticket *t, const uint8_t relay_secret[32], const uint8_t *sealed,
                         size_t len) {
    static uint8_t body[KL_TICKET_BODY_MAX];
    int opened = kl_ticket_open(relay_secret, sealed, len, body);
    int result = opened > 0 ? kl_lobby_ticket_decode(t, body, (size_t)opened) : KL_E_MALFORMED;
    sodium_memzero(body, sizeof body);
    return result;
}

void kl_lobby_ticket_renew(struct kl_lobby_room *r) {
    static struct kl_lobby_ticket t;
    static uint8_t body[KL_TICKET_BODY_MAX], sealed[KL_TICKET_MAX];
    struct kl_lobby_past *p = &r->past;
    p->ticket_number++;
    kl_lobby_ticket_of(&t, r);
    int len = kl_lobby_ticket_encode(&t, body, sizeof body);
    if (len > 0) len = kl_ticket_seal(r->lobby->secret, body, (size_t)len, sealed);
    p->ticket_changed = len <= 0 || !kl_lobby_memory_ticket(r, sealed, (uint32_t)len);
    if (p->ticket_changed) p->ticket_number--; /* the one before stays; this one is tried again */
    sodium_memzero(body, sizeof body);
    sodium_memzero(&t, sizeof t);
}
