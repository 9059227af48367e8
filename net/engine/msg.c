#include "msg.h"

#include <string.h>

#include "wire.h"

void kl_dgram_write(const struct kl_dgram *d, uint8_t out[KL_DGRAM_HEADER]) {
    struct kl_writer w;
    kl_writer_init(&w, out, KL_DGRAM_HEADER);
    kl_write_u8(&w, KL_DATAGRAM_MAGIC);
    kl_write_u8(&w, d->kind);
    kl_write_u32(&w, d->session);
    kl_write_u32(&w, d->counter);
}

int kl_dgram_read(struct kl_dgram *d, const uint8_t *buf, size_t len) {
    struct kl_reader r;
    kl_reader_init(&r, buf, len);
    uint8_t magic = kl_read_u8(&r);
    struct kl_dgram got = {.kind = kl_read_u8(&r)};
    got.session = kl_read_u32(&r);
    got.counter = kl_read_u32(&r);
    if (r.failed || magic != KL_DATAGRAM_MAGIC || got.counter == 0) return KL_E_MALFORMED;
    if (got.kind != KL_DGRAM_CTRL && got.kind != KL_DGRAM_UPDATE) return KL_E_MALFORMED;
    *d = got;
    return KL_OK;
}

bool kl_replay_fresh(struct kl_replay *w, uint32_t counter) {
    if (counter > w->highest) {
        uint32_t ahead = counter - w->highest;
        w->seen = ahead < 64 ? w->seen << ahead : 0;
        w->seen |= 1;
        w->highest = counter;
        return true;
    }
    uint32_t behind = w->highest - counter;
    if (behind >= 64 || (w->seen >> behind & 1)) return false;
    w->seen |= UINT64_C(1) << behind;
    return true;
}

/* Copies as much of s as fits, cut where no UTF-8 sequence is broken. */
static void copy_cut(char *out, size_t cap, const char *s) {
    size_t len = strlen(s);
    if (len > cap - 1) {
        len = cap - 1;
        while (len > 0 && ((uint8_t)s[len] & 0xc0) == 0x80)
            len--;
    }
    memcpy(out, s, len);
    out[len] = 0;
}

int kl_facts_add(struct kl_facts *f, const char *key, const char *value) {
    if (f->count >= KL_FACTS_MAX) return KL_E_FULL;
    struct kl_fact *fact = &f->fact[f->count++];
    copy_cut(fact->key, sizeof fact->key, key);
    copy_cut(fact->value, sizeof fact->value, value);
    return KL_OK;
}

static const char *fact_value(const struct kl_facts *f, const char *key) {
    for (unsigned i = 0; i < f->count; i++)
        if (strcmp(f->fact[i].key, key) == 0) return f->fact[i].value;
    return NULL;
}

static void append(char *out, size_t cap, const char *s) {
    size_t used = strlen(out);
    if (used + 1 < cap) copy_cut(out + used, cap - used, s);
}

static void append_difference(char *out, size_t cap, const char *key, const char *room, const char *you) {
    if (out[0]) append(out, cap, "; ");
    append(out, cap, key);
    append(out, cap, " differs: room has ");
    append(out, cap, room ? room : "none");
    append(out, cap, ", you have ");
    append(out, cap, you ? you : "none");
}

/* Length of the part of a value that counts: what stands in parentheses at its end is for people. */
static size_t value_length(const char *value) {
    const char *remark = strstr(value, " (");
    return remark ? (size_t)(remark - value) : strlen(value);
}

static bool values_equal(const char *a, const char *b) {
    size_t len = value_length(a);
    return len == value_length(b) && memcmp(a, b, len) == 0;
}

unsigned kl_facts_differ(const struct kl_facts *room, const struct kl_facts *you, char *out, size_t cap) {
    unsigned count = 0;
    out[0] = 0;
    for (unsigned i = 0; i < room->count; i++) {
        const char *mine = fact_value(you, room->fact[i].key);
        if (mine && values_equal(mine, room->fact[i].value)) continue;
        append_difference(out, cap, room->fact[i].key, room->fact[i].value, mine);
        count++;
    }
    for (unsigned i = 0; i < you->count; i++) {
        if (fact_value(room, you->fact[i].key)) continue;
        append_difference(out, cap, you->fact[i].key, NULL, you->fact[i].value);
        count++;
    }
    return count;
}

static void write_facts(struct kl_writer *w, const struct kl_facts *f) {
    kl_write_u8(w, f->count);
    for (unsigned i = 0; i < f->count && i < KL_FACTS_MAX; i++) {
        kl_write_string(w, f->fact[i].key);
        kl_write_string(w, f->fact[i].value);
    }
}

/* A count that must not pass max. */
static uint8_t read_count(struct kl_reader *r, unsigned max) {
    uint8_t n = kl_read_u8(r);
    if (n > max) r->failed = true;
    return r->failed ? 0 : n;
}

static bool read_bool(struct kl_reader *r) {
    return read_count(r, 1) == 1;
}

static void read_facts(struct kl_reader *r, struct kl_facts *f) {
    f->count = read_count(r, KL_FACTS_MAX);
    for (unsigned i = 0; i < f->count; i++) {
        kl_read_string(r, f->fact[i].key, sizeof f->fact[i].key);
        kl_read_string(r, f->fact[i].value, sizeof f->fact[i].value);
    }
}

static void write_params(struct kl_writer *w, const struct kl_params *p) {
    kl_write_u8(w, p->policy);
    kl_write_u8(w, (uint8_t)(p->subframes | p->clocked << 1 | p->half_steps << 2));
    kl_write_u8(w, p->players);
    kl_write_u8(w, p->spacing_fixed);
    kl_write_u16(w, p->wait_budget_ms);
    kl_write_u16(w, p->hash_every);
    kl_write_u32(w, p->fps_uhz);
}

static void read_params(struct kl_reader *r, struct kl_params *p) {
    p->policy = read_count(r, KL_POLICY_OPTIMISTIC);
    uint8_t flags = read_count(r, 7);
    p->subframes = flags & 1;
    p->clocked = flags & 2;
    p->half_steps = flags & 4;
    p->players = read_count(r, KL_MAX_SEATS);
    p->spacing_fixed = read_count(r, KL_SPACING_MAX);
    p->wait_budget_ms = kl_read_u16(r);
    p->hash_every = kl_read_u16(r);
    p->fps_uhz = kl_read_u32(r);
    if (p->players < 1 || p->fps_uhz < KL_FPS_MIN || p->fps_uhz > KL_FPS_MAX) r->failed = true;
}

static void write_hello(struct kl_writer *w, const struct kl_hello *h) {
    kl_write_u16(w, h->version);
    kl_write_string(w, h->name);
    kl_write_string(w, h->room);
    kl_write_u8(w, h->seats_wanted);
    write_params(w, &h->params);
    write_facts(w, &h->facts);
}

static int read_hello(struct kl_reader *r, struct kl_hello *h) {
    h->version = kl_read_u16(r);
    if (!r->failed && h->version != KL_PROTOCOL_VERSION) return KL_E_VERSION;
    kl_read_string(r, h->name, sizeof h->name);
    kl_read_string(r, h->room, sizeof h->room);
    h->seats_wanted = read_count(r, KL_MAX_SEATS);
    read_params(r, &h->params);
    read_facts(r, &h->facts);
    if (h->room[0] == 0 || h->name[0] == 0) r->failed = true;
    return KL_OK;
}

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

enum { HASH_RAM = 1, HASH_STATE = 2, HASH_AV = 4 };

static void write_hash(struct kl_writer *w, const struct kl_hash *h) {
    kl_write_u32(w, h->frame);
    kl_write_u8(w, (uint8_t)(h->has_ram * HASH_RAM | h->has_state * HASH_STATE | h->has_av * HASH_AV));
    if (h->has_ram) kl_write_u64(w, h->ram);
    if (h->has_state) kl_write_u64(w, h->state);
    if (h->has_av) kl_write_u64(w, h->av);
}

static void read_hash(struct kl_reader *r, struct kl_hash *h) {
    h->frame = kl_read_u32(r);
    uint8_t has = read_count(r, HASH_RAM | HASH_STATE | HASH_AV);
    h->has_ram = has & HASH_RAM;
    h->has_state = has & HASH_STATE;
    h->has_av = has & HASH_AV;
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
    kl_write_u8(w, o->count);
    for (unsigned i = 0; i < o->count && i < KL_MAX_CLIENTS; i++) {
        const struct kl_member *m = &o->member[i];
        kl_write_u8(w, m->client);
        kl_write_u8(w, m->seats);
        kl_write_u8(w, m->state);
        kl_write_u8(w, m->host);
        kl_write_string(w, m->name);
    }
}

static void read_roster(struct kl_reader *r, struct kl_roster *o) {
    o->filled = read_count(r, KL_MAX_SEATS);
    o->players = read_count(r, KL_MAX_SEATS);
    o->count = read_count(r, KL_MAX_CLIENTS);
    for (unsigned i = 0; i < o->count; i++) {
        struct kl_member *m = &o->member[i];
        m->client = read_count(r, KL_MAX_CLIENTS - 1);
        m->seats = kl_read_u8(r);
        m->state = read_count(r, KL_MEMBER_GONE);
        m->host = read_bool(r);
        kl_read_string(r, m->name, sizeof m->name);
    }
}

static void write_verdict(struct kl_writer *w, const struct kl_verdict *v) {
    kl_write_u32(w, v->frame);
    kl_write_u32(w, v->first);
    kl_write_u8(w, v->differs);
    kl_write_u8(w, v->complete);
    kl_write_u16(w, v->minority);
}

static void read_verdict(struct kl_reader *r, struct kl_verdict *v) {
    v->frame = kl_read_u32(r);
    v->first = kl_read_u32(r);
    v->differs = read_count(r, 2);
    v->complete = read_bool(r);
    v->minority = kl_read_u16(r);
}

static void write_welcome(struct kl_writer *w, const struct kl_welcome *m) {
    kl_write_u32(w, m->session);
    kl_write_u8(w, m->client);
    kl_write_u8(w, m->seats);
    kl_write_u8(w, m->host);
    write_params(w, &m->params);
}

static void read_welcome(struct kl_reader *r, struct kl_welcome *m) {
    m->session = kl_read_u32(r);
    m->client = read_count(r, KL_MAX_CLIENTS - 1);
    m->seats = kl_read_u8(r);
    m->host = read_bool(r);
    read_params(r, &m->params);
}

int kl_msg_encode(const struct kl_msg *m, uint8_t *buf, size_t cap) {
    struct kl_writer w;
    kl_writer_init(&w, buf, cap);
    kl_write_u8(&w, m->kind);
    switch (m->kind) {
    case KL_MSG_HELLO: write_hello(&w, &m->hello); break;
    case KL_MSG_DATA: write_data(&w, &m->data); break;
    case KL_MSG_READY: write_facts(&w, &m->ready.facts); break;
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
    case KL_MSG_WELCOME: write_welcome(&w, &m->welcome); break;
    case KL_MSG_ROSTER: write_roster(&w, &m->roster); break;
    case KL_MSG_PREPARE:
        kl_write_u64(&w, m->prepare.epoch_s);
        kl_write_u32(&w, m->prepare.data_bytes);
        break;
    case KL_MSG_VERDICT: write_verdict(&w, &m->verdict); break;
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
    case KL_MSG_HELLO: result = read_hello(&r, &m->hello); break;
    case KL_MSG_DATA: read_data(&r, &m->data); break;
    case KL_MSG_READY: read_facts(&r, &m->ready.facts); break;
    case KL_MSG_HASH: read_hash(&r, &m->hash); break;
    case KL_MSG_COMMAND: read_order(&r, &m->order); break;
    case KL_MSG_BYE:
    case KL_MSG_REFUSE:
    case KL_MSG_NOTICE:
        m->text.code = kl_read_u8(&r);
        kl_read_string(&r, m->text.text, sizeof m->text.text);
        break;
    case KL_MSG_WELCOME: read_welcome(&r, &m->welcome); break;
    case KL_MSG_SEND: break;
    case KL_MSG_ROSTER: read_roster(&r, &m->roster); break;
    case KL_MSG_PREPARE:
        m->prepare.epoch_s = kl_read_u64(&r);
        m->prepare.data_bytes = kl_read_u32(&r);
        break;
    case KL_MSG_VERDICT: read_verdict(&r, &m->verdict); break;
    default: return KL_E_MALFORMED;
    }
    if (result != KL_OK) return result;
    return r.failed || kl_reader_left(&r) > 0 ? KL_E_MALFORMED : KL_OK;
}
