#include "net/record/klr_body.h"

#include "net/engine/msg.h"

void kl_klr_write_head(struct kl_writer *w, const struct kl_klr_head *h) {
    kl_write_u8(w, KL_KLR_VERSION);
    kl_write_u16(w, h->rules);
    kl_write_u8(w, h->flags);
    kl_write_bytes(w, h->room_id, sizeof h->room_id);
    kl_write_bytes(w, h->relay_key, sizeof h->relay_key);
    kl_write_u64(w, h->epoch_s);
}

void kl_klr_read_head(struct kl_reader *r, struct kl_klr_head *h) {
    h->version = kl_read_u8(r);
    h->rules = kl_read_u16(r);
    h->flags = kl_read_u8(r);
    kl_read_into(r, h->room_id, sizeof h->room_id);
    kl_read_into(r, h->relay_key, sizeof h->relay_key);
    h->epoch_s = kl_read_u64(r);
}

void kl_klr_write_room(struct kl_writer *w, const struct kl_klr_room *m) {
    kl_write_string(w, m->name);
    kl_write_u8(w, m->has_params);
    if (m->has_params) kl_write_params(w, &m->params);
    kl_write_facts(w, &m->facts);
    kl_write_u8(w, m->members);
    for (unsigned i = 0; i < m->members; i++) {
        kl_write_u8(w, m->member[i].client);
        kl_write_u8(w, m->member[i].seats);
        kl_write_string(w, m->member[i].name);
    }
    kl_write_string(w, m->match);
}

void kl_klr_read_room(struct kl_reader *r, struct kl_klr_room *m) {
    kl_read_name(r, m->name, KL_NAME_CHARS);
    m->has_params = kl_read_bool(r);
    if (m->has_params) kl_read_params(r, &m->params);
    kl_read_facts(r, &m->facts);
    m->members = kl_read_count(r, KL_MAX_CLIENTS);
    for (unsigned i = 0; i < m->members; i++) {
        m->member[i].client = kl_read_count(r, KL_MAX_CLIENTS - 1);
        m->member[i].seats = kl_read_u8(r);
        kl_read_name(r, m->member[i].name, KL_NAME_CHARS);
    }
    kl_read_string(r, m->match, sizeof m->match);
}

void kl_klr_write_digest(struct kl_writer *w, const struct kl_digest *d) {
    kl_write_u32(w, d->intervals);
    kl_write_u32(w, d->end);
    kl_write_bytes(w, d->digest, sizeof d->digest);
}

void kl_klr_read_digest(struct kl_reader *r, struct kl_digest *d) {
    d->intervals = kl_read_u32(r);
    d->end = kl_read_u32(r);
    kl_read_into(r, d->digest, sizeof d->digest);
}

void kl_klr_write_snapshot(struct kl_writer *w, const struct kl_klr_snapshot *s) {
    kl_write_u32(w, s->frame);
    kl_write_u32(w, s->bytes);
    kl_write_bytes(w, s->hash, sizeof s->hash);
    kl_klr_write_digest(w, &s->before);
}

void kl_klr_read_snapshot(struct kl_reader *r, struct kl_klr_snapshot *s) {
    s->frame = kl_read_u32(r);
    s->bytes = kl_read_u32(r);
    kl_read_into(r, s->hash, sizeof s->hash);
    kl_klr_read_digest(r, &s->before);
}

#define HASHES (KL_HASH_RAM | KL_HASH_STATE | KL_HASH_PICTURE)

void kl_klr_write_hash(struct kl_writer *w, const struct kl_klr_hash *h) {
    kl_write_u32(w, h->label);
    kl_write_u16(w, h->clients);
    kl_write_u8(w, h->has);
    if (h->has & KL_HASH_RAM) kl_write_u64(w, h->ram);
    if (h->has & KL_HASH_STATE) kl_write_u64(w, h->state);
    if (h->has & KL_HASH_PICTURE) kl_write_u64(w, h->picture);
}

void kl_klr_read_hash(struct kl_reader *r, struct kl_klr_hash *h) {
    h->label = kl_read_u32(r);
    h->clients = kl_read_u16(r);
    h->has = kl_read_u8(r);
    if (h->has & ~HASHES) r->failed = true;
    h->ram = h->has & KL_HASH_RAM ? kl_read_u64(r) : 0;
    h->state = h->has & KL_HASH_STATE ? kl_read_u64(r) : 0;
    h->picture = h->has & KL_HASH_PICTURE ? kl_read_u64(r) : 0;
}

void kl_klr_write_event(struct kl_writer *w, const struct kl_klr_event *e) {
    kl_write_u8(w, e->kind);
    kl_write_u32(w, e->frame);
    if (e->kind == KL_KLR_FLIP) kl_write_u64(w, e->offset);
    if (e->kind == KL_KLR_FLIP || e->kind == KL_KLR_SERIALIZED) kl_write_u8(w, e->yes);
    if (e->kind == KL_KLR_SEATS || e->kind == KL_KLR_LOADED) kl_write_u8(w, e->client);
    if (e->kind == KL_KLR_SEATS) kl_write_u8(w, e->seats);
    if (e->kind == KL_KLR_LOADED) kl_write_u32(w, e->snapshot);
    if (e->kind == KL_KLR_ALIEN || e->kind == KL_KLR_OPTION || e->kind == KL_KLR_SEATS)
        kl_write_string(w, e->text);
}

void kl_klr_read_event(struct kl_reader *r, struct kl_klr_event *e) {
    *e = (struct kl_klr_event){.kind = kl_read_u8(r), .frame = kl_read_u32(r)};
    switch (e->kind) {
    case KL_KLR_FLIP:
        e->offset = kl_read_u64(r);
        e->yes = kl_read_bool(r);
        break;
    case KL_KLR_SERIALIZED: e->yes = kl_read_bool(r); break;
    case KL_KLR_ALIEN:
    case KL_KLR_OPTION: kl_read_string(r, e->text, sizeof e->text); break;
    case KL_KLR_CUT: break;
    case KL_KLR_SEATS:
        e->client = kl_read_count(r, KL_MAX_CLIENTS - 1);
        e->seats = kl_read_u8(r);
        kl_read_name(r, e->text, KL_NAME_CHARS);
        break;
    case KL_KLR_LOADED:
        e->client = kl_read_count(r, KL_MAX_CLIENTS - 1);
        e->snapshot = kl_read_u32(r);
        break;
    default: r->at = r->end; /* of a later keylock */
    }
}

void kl_klr_write_end(struct kl_writer *w, const struct kl_klr_end *e) {
    kl_write_u32(w, e->frames);
    kl_write_string(w, e->why);
}

void kl_klr_read_end(struct kl_reader *r, struct kl_klr_end *e) {
    e->frames = kl_read_u32(r);
    kl_read_string(r, e->why, sizeof e->why);
}

const uint8_t *kl_klr_read_piece(struct kl_reader *r, size_t *len) {
    *len = kl_reader_left(r) ? kl_read_u16(r) : 0;
    return *len ? kl_read_bytes(r, *len) : NULL;
}
