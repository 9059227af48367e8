#include "net/engine/msg.h"

#include <string.h>

#include "net/engine/msg_parts.h"
#include "net/engine/wire.h"

static void write_data(struct kl_writer *w, const struct kl_data *d) {
    kl_write_u32(w, d->offset);
    kl_write_u32(w, d->total);
    kl_write_bytes(w, d->bytes, d->len);
}

static void read_data(struct kl_reader *r, struct kl_data *d) {
    d->offset = kl_read_u32(r);
    d->total = kl_read_u32(r);
    size_t len = kl_reader_left(r);
    if (len > KL_CHUNK_MAX || d->offset > d->total || len > d->total - d->offset) r->failed = true;
    if (r->failed) return;
    d->len = (uint16_t)len;
    const uint8_t *p = kl_read_bytes(r, len);
    if (len) memcpy(d->bytes, p, len);
}

enum { HASH_RAM = 1, HASH_STATE = 2, HASH_AV = 4, HASH_FULL = 8, HASH_NOTED = 16 };

static void write_hash(struct kl_writer *w, const struct kl_hash *h) {
    kl_write_u32(w, h->frame);
    kl_write_u8(w, (uint8_t)(h->has_ram * HASH_RAM | h->has_state * HASH_STATE | h->has_av * HASH_AV |
                             h->full * HASH_FULL | h->noted * HASH_NOTED));
    if (h->has_ram) kl_write_u64(w, h->ram);
    if (h->has_state) kl_write_u64(w, h->state);
    if (h->has_av) kl_write_u64(w, h->av);
}

static void read_hash(struct kl_reader *r, struct kl_hash *h) {
    h->frame = kl_read_u32(r);
    uint8_t has = kl_read_count(r, HASH_RAM | HASH_STATE | HASH_AV | HASH_FULL | HASH_NOTED);
    h->has_ram = has & HASH_RAM;
    h->has_state = has & HASH_STATE;
    h->has_av = has & HASH_AV;
    h->full = has & HASH_FULL;
    h->noted = has & HASH_NOTED;
    if ((h->full || h->noted) && (!h->has_state || h->full == h->noted)) r->failed = true;
    if (h->has_ram) h->ram = kl_read_u64(r);
    if (h->has_state) h->state = kl_read_u64(r);
    if (h->has_av) h->av = kl_read_u64(r);
}

static void read_order(struct kl_reader *r, struct kl_order *o) {
    o->kind = kl_read_u8(r);
    size_t len = kl_reader_left(r);
    if (len > KL_COMMAND_BYTES) r->failed = true;
    const uint8_t *data = kl_read_bytes(r, len);
    if (!data) return;
    o->len = (uint8_t)len;
    if (len) memcpy(o->data, data, len);
}

static void write_roster(struct kl_writer *w, const struct kl_roster *o) {
    kl_write_u8(w, o->filled);
    kl_write_u8(w, o->players);
    kl_write_u8(w, o->doors);
    kl_write_u8(w, o->farthest);
    kl_write_u8(w, o->count);
    for (unsigned i = 0; i < o->count && i < KL_MAX_CLIENTS; i++) {
        const struct kl_member *m = &o->member[i];
        kl_write_u8(w, m->client);
        kl_write_u8(w, m->seats);
        kl_write_u8(w, m->state);
        kl_write_u8(w, m->host);
        kl_write_string(w, m->name);
    }
    kl_write_u16(w, o->watchers);
    kl_write_u16(w, o->delay_s);
    kl_write_u8(w, o->waiting);
    for (unsigned i = 0; i < o->waiting && i < KL_QUEUE_MAX; i++) {
        kl_write_u8(w, o->queue[i].client);
        kl_write_u8(w, o->queue[i].turn);
        kl_write_string(w, o->queue[i].name);
    }
}

static void read_roster(struct kl_reader *r, struct kl_roster *o) {
    o->filled = kl_read_count(r, KL_MAX_SEATS);
    o->players = kl_read_count(r, KL_MAX_SEATS);
    o->doors = kl_read_count(r, KL_DOOR_UNLISTED | KL_DOOR_PASSWORD | KL_DOOR_LOCKED);
    o->farthest = kl_read_u8(r);
    if (o->farthest >= KL_MAX_CLIENTS && o->farthest != KL_WATCHER) r->failed = true;
    o->count = kl_read_count(r, KL_MAX_CLIENTS);
    for (unsigned i = 0; i < o->count; i++) {
        struct kl_member *m = &o->member[i];
        m->client = kl_read_count(r, KL_MAX_CLIENTS - 1);
        m->seats = kl_read_u8(r);
        m->state = kl_read_count(r, KL_MEMBER_JOINING);
        m->host = kl_read_bool(r);
        kl_read_string(r, m->name, sizeof m->name);
    }
    o->watchers = kl_read_u16(r);
    o->delay_s = kl_read_u16(r);
    if (o->delay_s > KL_WATCH_DELAY_MAX_S) r->failed = true;
    o->waiting = kl_read_count(r, KL_QUEUE_MAX);
    for (unsigned i = 0; i < o->waiting; i++) {
        struct kl_waiter *q = &o->queue[i];
        q->client = kl_read_u8(r);
        if (q->client >= KL_MAX_CLIENTS && q->client != KL_WATCHER) r->failed = true;
        q->turn = kl_read_bool(r);
        kl_read_string(r, q->name, sizeof q->name);
    }
}

static void write_verdict(struct kl_writer *w, const struct kl_verdict *v) {
    kl_write_u32(w, v->frame);
    kl_write_u32(w, v->first);
    kl_write_u8(w, v->differs);
    kl_write_u8(w, v->complete);
    kl_write_u16(w, v->minority);
    kl_write_u16(w, v->healed);
    kl_write_u32(w, v->agreed);
}

static void read_verdict(struct kl_reader *r, struct kl_verdict *v) {
    v->frame = kl_read_u32(r);
    v->first = kl_read_u32(r);
    v->differs = kl_read_count(r, 3);
    v->complete = kl_read_bool(r);
    v->minority = kl_read_u16(r);
    v->healed = kl_read_u16(r);
    v->agreed = kl_read_u32(r);
}

int kl_msg_encode(const struct kl_msg *m, uint8_t *buf, size_t cap) {
    struct kl_writer w;
    kl_writer_init(&w, buf, cap);
    kl_write_u8(&w, m->kind);
    switch (m->kind) {
    case KL_MSG_HELLO: kl_write_hello(&w, &m->hello); break;
    case KL_MSG_DATA: write_data(&w, &m->data); break;
    case KL_MSG_READY: kl_write_facts(&w, &m->ready.facts); break;
    case KL_MSG_HASH: write_hash(&w, &m->hash); break;
    case KL_MSG_COMMAND:
        kl_write_u8(&w, m->order.kind);
        kl_write_bytes(&w, m->order.data, m->order.len);
        break;
    case KL_MSG_BYE:
    case KL_MSG_REFUSE:
    case KL_MSG_NOTICE:
        kl_write_u8(&w, m->text.code);
        kl_write_string(&w, m->text.text);
        break;
    case KL_MSG_WELCOME: kl_write_welcome(&w, &m->welcome); break;
    case KL_MSG_SEND: kl_write_u8(&w, m->bare); break;
    case KL_MSG_ROSTER: write_roster(&w, &m->roster); break;
    case KL_MSG_PREPARE:
        kl_write_u64(&w, m->prepare.epoch_s);
        kl_write_u32(&w, m->prepare.data_bytes);
        break;
    case KL_MSG_VERDICT: write_verdict(&w, &m->verdict); break;
    case KL_MSG_PROVE: kl_write_prove(&w, &m->prove); break;
    case KL_MSG_RETURN: kl_write_return(&w, &m->back); break;
    case KL_MSG_BRING: kl_write_bring(&w, &m->bring); break;
    case KL_MSG_DOOR: kl_write_door(&w, &m->door); break;
    case KL_MSG_PROVED: kl_write_bytes(&w, m->proved.mac, sizeof m->proved.mac); break;
    case KL_MSG_HISTORY: kl_write_bytes(&w, m->past.bytes, m->past.len); break;
    case KL_MSG_TAGS: kl_write_tags(&w, &m->tags); break;
    case KL_MSG_TICKET: kl_write_piece(&w, &m->piece); break;
    case KL_MSG_WANT:
        kl_write_u8(&w, m->want.what);
        kl_write_u32(&w, m->want.from);
        break;
    case KL_MSG_STATE: kl_write_state(&w, &m->state); break;
    case KL_MSG_GIVE: kl_write_give(&w, &m->shot); break;
    case KL_MSG_SNAPSHOT: kl_write_shot(&w, &m->shot); break;
    case KL_MSG_HEALED: kl_write_healed(&w, &m->healed); break;
    case KL_MSG_ASK: kl_write_ask(&w, &m->ask); break;
    case KL_MSG_OFFER: kl_write_offer(&w, &m->offer); break;
    case KL_MSG_SEAT:
        kl_write_u8(&w, m->seat.client);
        kl_write_u8(&w, m->seat.seats);
        break;
    case KL_MSG_REWIND: kl_write_u32(&w, m->rewind.keyframe); break;
    default: break; /* SEND has no body */
    }
    return w.failed ? KL_E_SPACE : (int)(w.at - buf);
}

int kl_msg_decode(struct kl_msg *m, const uint8_t *buf, size_t len) {
    struct kl_reader r;
    int result = KL_OK;
    kl_reader_init(&r, buf, len);
    memset(m, 0, sizeof *m);
    m->kind = kl_read_u8(&r);
    switch (m->kind) {
    case KL_MSG_HELLO: result = kl_read_hello(&r, &m->hello); break;
    case KL_MSG_DATA: read_data(&r, &m->data); break;
    case KL_MSG_READY: kl_read_facts(&r, &m->ready.facts); break;
    case KL_MSG_HASH: read_hash(&r, &m->hash); break;
    case KL_MSG_COMMAND: read_order(&r, &m->order); break;
    case KL_MSG_BYE:
    case KL_MSG_REFUSE:
    case KL_MSG_NOTICE:
        m->text.code = kl_read_u8(&r);
        kl_read_string(&r, m->text.text, sizeof m->text.text);
        break;
    case KL_MSG_WELCOME: kl_read_welcome(&r, &m->welcome); break;
    case KL_MSG_SEND: m->bare = kl_read_bool(&r); break;
    case KL_MSG_ROSTER: read_roster(&r, &m->roster); break;
    case KL_MSG_PREPARE:
        m->prepare.epoch_s = kl_read_u64(&r);
        m->prepare.data_bytes = kl_read_u32(&r);
        break;
    case KL_MSG_VERDICT: read_verdict(&r, &m->verdict); break;
    case KL_MSG_PROVE: kl_read_prove(&r, &m->prove); break;
    case KL_MSG_RETURN: kl_read_return(&r, &m->back); break;
    case KL_MSG_BRING: kl_read_bring(&r, &m->bring); break;
    case KL_MSG_DOOR: kl_read_door(&r, &m->door); break;
    case KL_MSG_PROVED: kl_read_into(&r, m->proved.mac, sizeof m->proved.mac); break;
    case KL_MSG_HISTORY: kl_read_past(&r, &m->past); break;
    case KL_MSG_TAGS: kl_read_tags(&r, &m->tags); break;
    case KL_MSG_TICKET: kl_read_ticket(&r, &m->piece); break;
    case KL_MSG_WANT:
        m->want.what = kl_read_count(&r, KL_WANT_TICKET | KL_WANT_START);
        m->want.from = kl_read_u32(&r);
        break;
    case KL_MSG_STATE: kl_read_state(&r, &m->state); break;
    case KL_MSG_GIVE: kl_read_give(&r, &m->shot); break;
    case KL_MSG_SNAPSHOT: kl_read_shot(&r, &m->shot); break;
    case KL_MSG_HEALED: kl_read_healed(&r, &m->healed); break;
    case KL_MSG_ASK: kl_read_ask(&r, &m->ask); break;
    case KL_MSG_OFFER: kl_read_offer(&r, &m->offer); break;
    case KL_MSG_SEAT:
        m->seat.client = kl_read_count(&r, KL_MAX_CLIENTS - 1);
        m->seat.seats = kl_read_u8(&r);
        break;
    case KL_MSG_REWIND: m->rewind.keyframe = kl_read_u32(&r); break;
    default: return KL_E_MALFORMED;
    }
    if (result != KL_OK) return result;
    return r.failed || kl_reader_left(&r) > 0 ? KL_E_MALFORMED : KL_OK;
}

bool kl_msg_is_bulk(uint8_t kind) {
    return kind == KL_MSG_DATA || kind == KL_MSG_HISTORY || kind == KL_MSG_TAGS || kind == KL_MSG_TICKET ||
           kind == KL_MSG_BRING || kind == KL_MSG_GIVE || kind == KL_MSG_OFFER || kind == KL_MSG_SNAPSHOT;
}
