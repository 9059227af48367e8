#include "net/relay/durable/lobby_ticket.h"

#include <string.h>

#include <sodium.h>

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
    memcpy(t->match, r->door.match, sizeof t->match);
    memcpy(t->maker, r->maker, sizeof t->maker);
    memcpy(t->id, r->id, sizeof t->id);
    t->doors = r->door.flags;
    t->recorded = r->door.recorded;
    t->voice = r->watch.voice;
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
    t->joins = r->places.joins;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        take_member(&t->member[i], r->member[i]);
    t->bans = 0;
    for (unsigned i = 0; i < r->door.bars; i++)
        if (r->door.bar[i].why == KL_BAR_BAN) t->ban[t->bans++] = r->door.bar[i].who;
}

/* --- bytes --- */

static const struct kl_field ticket[] = {KL_NUMBER(kl_lobby_ticket, number),
                                         KL_NUMBER(kl_lobby_ticket, frame),
                                         KL_NAME(kl_lobby_ticket, name, 1, KL_NAME_CHARS),
                                         KL_STRING(kl_lobby_ticket, maker),
                                         KL_BYTES(kl_lobby_ticket, id),
                                         KL_NUMBER(kl_lobby_ticket, doors),
                                         KL_BYTES(kl_lobby_ticket, salt),
                                         KL_BYTES(kl_lobby_ticket, secret),
                                         KL_NUMBER(kl_lobby_ticket, seat_time_s),
                                         KL_UPTO(kl_lobby_ticket, delay_s, KL_WATCH_DELAY_MAX_S),
                                         KL_NUMBER(kl_lobby_ticket, epoch_s),
                                         KL_NUMBER(kl_lobby_ticket, start_bytes),
                                         KL_BYTES(kl_lobby_ticket, start_hash),
                                         KL_PART(kl_lobby_ticket, params, kl_params_fields),
                                         KL_PART(kl_lobby_ticket, facts, kl_facts_fields),
                                         KL_PART(kl_lobby_ticket, ready, kl_facts_fields),
                                         KL_UPTO(kl_lobby_ticket, host, KL_NO_HOST),
                                         KL_NUMBER(kl_lobby_ticket, joins),
                                         {0}};
static const struct kl_field member[] = {
    KL_BOOL(kl_ticket_member, here),
    KL_NUMBER_IF(kl_ticket_member, seats, here, 1),
    KL_NUMBER_IF(kl_ticket_member, joined, here, 1),
    KL_FIELD(kl_ticket_member, name, KL_FIELD_TEXT, .max = KL_NAME_CHARS, KL_IF(kl_ticket_member, here, 1)),
    KL_BYTES_IF(kl_ticket_member, seat_key, here, 1),
    KL_BYTES_IF(kl_ticket_member, token_hash, here, 1),
    {0}};
static const struct kl_field person[] = {
    KL_BYTES(kl_lobby_person, seat_key), KL_STRING(kl_lobby_person, host), {0}};
static const struct kl_field match[] = {KL_STRING(kl_lobby_ticket, match), {0}};
static const struct kl_field bans[] = {KL_LIST(kl_lobby_ticket, ban, bans, person), {0}};

int kl_lobby_ticket_encode(const struct kl_lobby_ticket *t, uint8_t *buf, size_t cap) {
    struct kl_writer w = kl_writer(buf, cap);
    kl_write_u8(&w, KL_LOBBY_TICKET_VERSION);
    kl_fields_write(&w, ticket, t);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        kl_fields_write(&w, member, &t->member[i]);
    kl_fields_write(&w, bans, t);
    if (t->recorded || *t->match || t->voice)
        kl_write_u8(&w, t->recorded);                         /* older tickets do not have it, */
    if (*t->match || t->voice) kl_fields_write(&w, match, t); /* nor this */
    if (t->voice) kl_write_u8(&w, t->voice);
    return w.failed ? KL_E_SPACE : (int)(w.at - buf);
}

#define KEPT_DOORS                                                                                           \
    (KL_DOOR_UNLISTED | KL_DOOR_PASSWORD | KL_DOOR_LOCKED | KL_DOOR_LET_GO | KL_DOOR_ONCE | KL_DOOR_QUICK)

/* No seat belongs to two, the host is there, and the doors are of those that a record keeps. */
static bool fits_together(const struct kl_lobby_ticket *t) {
    uint8_t seats = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        if (seats & t->member[i].seats) return false;
        seats |= t->member[i].seats;
    }
    return !(t->doors & ~KEPT_DOORS) && (t->host == KL_NO_HOST || t->member[t->host].here);
}

int kl_lobby_ticket_decode(struct kl_lobby_ticket *t, const uint8_t *buf, size_t len) {
    struct kl_reader r = kl_reader(buf, len);
    memset(t, 0, sizeof *t);
    uint8_t version = kl_read_u8(&r);
    if (!r.failed && version != KL_LOBBY_TICKET_VERSION) return KL_E_VERSION;
    kl_fields_read(&r, ticket, t);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        kl_fields_read(&r, member, &t->member[i]);
    kl_fields_read(&r, bans, t);
    bool more = kl_reader_left(&r) > 0;
    uint8_t recorded = more ? kl_read_u8(&r) : 0;
    bool has_match = kl_reader_left(&r) > 0;
    t->recorded = recorded == 1;
    if (has_match) kl_fields_read(&r, match, t);
    bool has_voice = kl_reader_left(&r) > 0;
    if (has_voice) t->voice = kl_read_u8(&r);
    if (recorded > 1 || (more && !recorded && !has_match) || has_match != (*t->match || has_voice) ||
        !kl_match_fits(t->match) || has_voice != !!t->voice || t->voice > KL_VOICE_ALL)
        return KL_E_MALFORMED;
    return !r.failed && kl_reader_left(&r) == 0 && fits_together(t) ? KL_OK : KL_E_MALFORMED;
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
