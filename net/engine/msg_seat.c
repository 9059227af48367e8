#include "net/engine/msg_parts.h"

void kl_write_hello(struct kl_writer *w, const struct kl_hello *h) {
    kl_write_u16(w, h->version);
    kl_write_string(w, h->name);
    kl_write_string(w, h->room);
    kl_write_u8(w, h->seats_wanted);
    kl_write_params(w, &h->params);
    kl_write_facts(w, &h->facts);
    kl_write_u8(w, h->door);
    kl_write_u8(w, h->consent);
    kl_write_u16(w, h->seat_time_s);
    kl_write_bytes(w, h->seat_key, sizeof h->seat_key);
}

int kl_read_hello(struct kl_reader *r, struct kl_hello *h) {
    h->version = kl_read_u16(r);
    if (!r->failed && !kl_protocol_serves(KL_PROTOCOL_VERSION, h->version)) return KL_E_VERSION;
    kl_read_string(r, h->name, sizeof h->name);
    kl_read_string(r, h->room, sizeof h->room);
    h->seats_wanted = kl_read_count(r, KL_MAX_SEATS);
    kl_read_params(r, &h->params);
    kl_read_facts(r, &h->facts);
    h->door = kl_read_count(r, KL_DOOR_UNLISTED | KL_DOOR_PASSWORD | KL_DOOR_LET_GO | KL_DOOR_ONCE |
                                   KL_DOOR_AGAIN | KL_DOOR_QUICK | KL_DOOR_SEAT);
    if (h->door & KL_DOOR_LOCKED) r->failed = true;
    h->consent = kl_read_count(r, KL_CONSENT_ROOM);
    h->seat_time_s = kl_read_u16(r);
    kl_read_into(r, h->seat_key, sizeof h->seat_key);
    if (h->room[0] == 0 || h->name[0] == 0) r->failed = true;
    return KL_OK;
}

void kl_write_welcome(struct kl_writer *w, const struct kl_welcome *m) {
    kl_write_u32(w, m->session);
    kl_write_u8(w, m->client);
    kl_write_u8(w, m->seats);
    kl_write_u8(w, m->host);
    kl_write_params(w, &m->params);
    kl_write_bytes(w, m->room_id, sizeof m->room_id);
    kl_write_bytes(w, m->token, sizeof m->token);
    kl_write_u16(w, m->seat_time_s);
}

void kl_read_welcome(struct kl_reader *r, struct kl_welcome *m) {
    m->session = kl_read_u32(r);
    m->client = kl_read_u8(r);
    m->seats = kl_read_u8(r);
    m->host = kl_read_bool(r);
    bool watches = m->client == KL_WATCHER;
    if (watches ? m->seats || m->host : m->client >= KL_MAX_CLIENTS) r->failed = true;
    kl_read_params(r, &m->params);
    kl_read_into(r, m->room_id, sizeof m->room_id);
    kl_read_into(r, m->token, sizeof m->token);
    m->seat_time_s = kl_read_u16(r);
}

void kl_write_door(struct kl_writer *w, const struct kl_door_msg *d) {
    kl_write_u8(w, d->what);
    kl_write_bytes(w, d->salt, sizeof d->salt);
    kl_write_bytes(w, d->share, sizeof d->share);
}

void kl_read_door(struct kl_reader *r, struct kl_door_msg *d) {
    d->what = kl_read_count(r, KL_PROVE_SET);
    kl_read_into(r, d->salt, sizeof d->salt);
    kl_read_into(r, d->share, sizeof d->share);
}

void kl_write_prove(struct kl_writer *w, const struct kl_prove *p) {
    kl_write_u8(w, p->what);
    kl_write_bytes(w, p->share, sizeof p->share);
    kl_write_bytes(w, p->mac, sizeof p->mac);
}

void kl_read_prove(struct kl_reader *r, struct kl_prove *p) {
    p->what = kl_read_count(r, KL_PROVE_SET);
    kl_read_into(r, p->share, sizeof p->share);
    kl_read_into(r, p->mac, sizeof p->mac);
}

enum { RETURN_FRESH = 1, RETURN_CAN_BRING = 2 };

void kl_write_return(struct kl_writer *w, const struct kl_return *b) {
    kl_write_string(w, b->room);
    kl_write_bytes(w, b->token, sizeof b->token);
    kl_write_bytes(w, b->seat_key, sizeof b->seat_key);
    kl_write_bytes(w, b->signature, sizeof b->signature);
    kl_write_u8(w, (uint8_t)(b->fresh * RETURN_FRESH | b->can_bring * RETURN_CAN_BRING));
    kl_write_u32(w, b->have);
    kl_write_u32(w, b->first);
    kl_write_u32(w, b->tags);
    kl_write_bytes(w, b->digest, sizeof b->digest);
    kl_write_facts(w, &b->facts);
    kl_write_u8(w, b->consent);
}

void kl_read_return(struct kl_reader *r, struct kl_return *b) {
    kl_read_string(r, b->room, sizeof b->room);
    kl_read_into(r, b->token, sizeof b->token);
    kl_read_into(r, b->seat_key, sizeof b->seat_key);
    kl_read_into(r, b->signature, sizeof b->signature);
    uint8_t flags = kl_read_count(r, RETURN_FRESH | RETURN_CAN_BRING);
    b->fresh = flags & RETURN_FRESH;
    b->can_bring = flags & RETURN_CAN_BRING;
    b->have = kl_read_u32(r);
    b->first = kl_read_u32(r);
    b->tags = kl_read_u32(r);
    kl_read_into(r, b->digest, sizeof b->digest);
    kl_read_facts(r, &b->facts);
    b->consent = kl_read_count(r, KL_CONSENT_ROOM);
    if (b->room[0] == 0 || b->first > b->have || (b->fresh && (b->have || b->tags))) r->failed = true;
}
