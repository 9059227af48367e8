#include "net/transport/strangers.h"

#include <stdio.h>
#include <string.h>

#include "net/engine/engine.h"
#include "net/engine/msg.h"
#include "net/engine/wire.h"
#include "net/session/seal.h"

#define LINE_MAX_BYTES (1 + KL_LINE_NAME + 2 * (1 + KL_LINE_TEXT) + 10 + 16)

enum { FLAG_INSECURE_LAN = 1 };                                                /* PONG */
enum { FLAG_PLAYING = 1, FLAG_PASSWORD = 2, FLAG_LOCKED = 4, FLAG_QUICK = 8 }; /* a line of ROOMS */
#define FLAGS (FLAG_PLAYING | FLAG_PASSWORD | FLAG_LOCKED | FLAG_QUICK)

static void begin(struct kl_writer *w, uint8_t *out, size_t cap, uint8_t kind,
                  const uint8_t echo[KL_ECHO_BYTES]) {
    kl_writer_init(w, out, cap);
    kl_write_u8(w, KL_SEAL_MAGIC);
    kl_write_u8(w, kind);
    kl_write_bytes(w, echo, KL_ECHO_BYTES);
}

/* False if it is no such datagram. */
static bool open(struct kl_reader *r, const uint8_t *bytes, size_t len, uint8_t kind,
                 uint8_t echo[KL_ECHO_BYTES]) {
    kl_reader_init(r, bytes, len);
    uint8_t magic = kl_read_u8(r), is = kl_read_u8(r);
    const uint8_t *at = kl_read_bytes(r, KL_ECHO_BYTES);
    if (!at || magic != KL_SEAL_MAGIC || is != kind) return false;
    memcpy(echo, at, KL_ECHO_BYTES);
    return true;
}

static uint16_t read_u16(struct kl_reader *r) {
    const uint8_t *b = kl_read_bytes(r, 2);
    return b ? (uint16_t)((unsigned)b[0] | (unsigned)b[1] << 8) : 0;
}

/* --- questions --- */

static size_t length_of(uint8_t kind) {
    return kind == KL_STRANGER_PING ? KL_PING_BYTES : KL_LIST_BYTES;
}

size_t kl_question_write(const struct kl_question *q, uint8_t *out) {
    struct kl_writer w;
    size_t len = length_of(q->kind);
    memset(out, 0, len);
    begin(&w, out, len, q->kind, q->echo);
    kl_write_u16(&w, q->version);
    if (q->kind == KL_STRANGER_LIST) kl_write_u16(&w, q->from);
    return len;
}

int kl_question_read(struct kl_question *q, const uint8_t *bytes, size_t len) {
    struct kl_reader r;
    struct kl_question got = {.kind = len > 1 ? bytes[1] : 0};
    if (got.kind != KL_STRANGER_PING && got.kind != KL_STRANGER_LIST) return KL_E_MALFORMED;
    if (len != length_of(got.kind) || !open(&r, bytes, len, got.kind, got.echo)) return KL_E_MALFORMED;
    got.version = read_u16(&r);
    if (got.kind == KL_STRANGER_LIST) got.from = read_u16(&r);
    *q = got;
    return r.failed ? KL_E_MALFORMED : KL_OK;
}

/* --- PONG --- */

size_t kl_pong_write(const struct kl_pong *p, uint8_t out[KL_PING_BYTES]) {
    struct kl_writer w;
    begin(&w, out, KL_PING_BYTES, KL_STRANGER_PONG, p->echo);
    kl_write_u16(&w, p->version);
    kl_write_u8(&w, p->insecure_lan ? FLAG_INSECURE_LAN : 0);
    kl_write_u16(&w, p->rooms);
    kl_write_u16(&w, p->clients);
    return (size_t)(w.at - out);
}

int kl_pong_read(struct kl_pong *p, const uint8_t *bytes, size_t len) {
    struct kl_reader r;
    struct kl_pong got = {0};
    if (!open(&r, bytes, len, KL_STRANGER_PONG, got.echo)) return KL_E_MALFORMED;
    got.version = read_u16(&r);
    uint8_t flags = kl_read_u8(&r);
    got.insecure_lan = flags & FLAG_INSECURE_LAN;
    got.rooms = read_u16(&r);
    got.clients = read_u16(&r);
    if (r.failed || kl_reader_left(&r) || flags > FLAG_INSECURE_LAN) return KL_E_MALFORMED;
    *p = got;
    return KL_OK;
}

/* --- ROOMS --- */

static void write_line(struct kl_writer *w, const struct kl_room_line *l) {
    kl_write_string(w, l->name);
    kl_write_string(w, l->content);
    kl_write_string(w, l->core);
    kl_write_u16(w, l->rtt_ms);
    kl_write_u8(w, l->players);
    kl_write_u8(w, l->filled);
    kl_write_u8(w, l->open);
    kl_write_u16(w, l->watchers);
    kl_write_u8(w, l->waiting);
    kl_write_u8(w, l->lead_max);
    kl_write_u8(w, (uint8_t)((l->playing ? FLAG_PLAYING : 0) | (l->password ? FLAG_PASSWORD : 0) |
                             (l->locked ? FLAG_LOCKED : 0) | (l->quick ? FLAG_QUICK : 0)));
    kl_write_bytes(w, l->identity, sizeof l->identity);
}

size_t kl_rooms_write(const struct kl_question *q,
                      bool (*next_line)(void *, unsigned *, struct kl_room_line *), void *ctx,
                      uint8_t out[KL_LIST_BYTES]) {
    struct kl_writer w;
    struct kl_room_line line = {0};
    unsigned from = q->from, here = from;
    uint8_t count = 0;
    bool more;
    begin(&w, out, KL_LIST_BYTES, KL_STRANGER_ROOMS, q->echo);
    uint8_t *head = w.at;
    w.at += 3; /* next, count */
    while ((more = next_line(ctx, &from, &line)) && (size_t)(w.end - w.at) >= LINE_MAX_BYTES &&
           count < KL_ROOMS_MAX) {
        write_line(&w, &line);
        here = from;
        count++;
    }
    if (!more || here >= KL_ROOMS_END) here = KL_ROOMS_END;
    head[0] = (uint8_t)here;
    head[1] = (uint8_t)(here >> 8);
    head[2] = count;
    return (size_t)(w.at - out);
}

static bool read_line(struct kl_reader *r, struct kl_room_line *l) {
    kl_read_string(r, l->name, sizeof l->name);
    kl_read_string(r, l->content, sizeof l->content);
    kl_read_string(r, l->core, sizeof l->core);
    l->rtt_ms = read_u16(r);
    l->players = kl_read_u8(r);
    l->filled = kl_read_u8(r);
    l->open = kl_read_u8(r);
    l->watchers = read_u16(r);
    l->waiting = kl_read_u8(r);
    l->lead_max = kl_read_u8(r);
    uint8_t flags = kl_read_u8(r);
    const uint8_t *identity = kl_read_bytes(r, sizeof l->identity);
    if (!identity || r->failed || flags > FLAGS) return false;
    l->playing = flags & FLAG_PLAYING;
    l->password = flags & FLAG_PASSWORD;
    l->locked = flags & FLAG_LOCKED;
    l->quick = flags & FLAG_QUICK;
    memcpy(l->identity, identity, sizeof l->identity);
    return l->name[0] && l->players <= KL_MAX_SEATS && l->filled <= KL_MAX_SEATS && l->open <= KL_MAX_SEATS &&
           l->waiting <= KL_QUEUE_MAX && l->lead_max >= KL_SPACING_MIN && l->lead_max <= KL_SPACING_MAX;
}

int kl_rooms_read(struct kl_rooms *out, const uint8_t *bytes, size_t len) {
    struct kl_reader r;
    memset(out, 0, sizeof *out);
    if (len > KL_LIST_BYTES || !open(&r, bytes, len, KL_STRANGER_ROOMS, out->echo)) return KL_E_MALFORMED;
    out->next = read_u16(&r);
    uint8_t count = kl_read_u8(&r);
    if (r.failed || count > KL_ROOMS_MAX) return KL_E_MALFORMED;
    for (out->count = 0; out->count < count; out->count++)
        if (!read_line(&r, &out->line[out->count])) return KL_E_MALFORMED;
    return kl_reader_left(&r) ? KL_E_MALFORMED : KL_OK;
}
