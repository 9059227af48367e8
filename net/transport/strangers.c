#include "net/transport/strangers.h"

#include <string.h>

#include "net/engine/engine.h"
#include "net/engine/wire.h"
#include "net/session/seal.h"

static const struct kl_field ping[] = {KL_NUMBER(kl_question, version), {0}};
static const struct kl_field list[] = {KL_NUMBER(kl_question, version), KL_NUMBER(kl_question, from), {0}};

static const struct kl_field pong[] = {KL_NUMBER(kl_pong, version),
                                       KL_BOOL(kl_pong, insecure_lan),
                                       KL_NUMBER(kl_pong, rooms),
                                       KL_NUMBER(kl_pong, clients),
                                       {0}};

static const struct kl_field flags[] = {KL_BOOL(kl_room_line, playing),
                                        KL_BOOL(kl_room_line, password),
                                        KL_BOOL(kl_room_line, locked),
                                        KL_BOOL(kl_room_line, quick),
                                        KL_BOOL(kl_room_line, recorded),
                                        KL_BOOL(kl_room_line, economy),
                                        {0}};
static const struct kl_field line_of_room[] = {
    KL_NAME(kl_room_line, name, 1, KL_NAME_CHARS),
    KL_STRING(kl_room_line, content),
    KL_STRING(kl_room_line, core),
    KL_NUMBER(kl_room_line, rtt_ms),
    KL_UPTO(kl_room_line, players, KL_MAX_SEATS),
    KL_UPTO(kl_room_line, filled, KL_MAX_SEATS),
    KL_UPTO(kl_room_line, open, KL_MAX_SEATS),
    KL_NUMBER(kl_room_line, watchers),
    KL_UPTO(kl_room_line, waiting, KL_QUEUE_MAX),
    KL_RANGE(kl_room_line, lead_max, KL_SPACING_MIN, KL_SPACING_MAX),
    KL_FLAGS(flags),
    KL_BYTES(kl_room_line, identity),
    {0}};
static const struct kl_field rooms[] = {
    KL_NUMBER(kl_rooms, next), KL_LIST(kl_rooms, line, count, line_of_room), {0}};

static void begin(struct kl_writer *w, uint8_t *out, size_t cap, uint8_t kind,
                  const uint8_t echo[KL_ECHO_BYTES]) {
    *w = kl_writer(out, cap);
    kl_write_u8(w, KL_SEAL_MAGIC);
    kl_write_u8(w, kind);
    kl_write_bytes(w, echo, KL_ECHO_BYTES);
}

/* False if it is no such datagram. */
static bool open(struct kl_reader *r, const uint8_t *bytes, size_t len, uint8_t kind,
                 uint8_t echo[KL_ECHO_BYTES]) {
    *r = kl_reader(bytes, len);
    uint8_t magic = kl_read_u8(r), is = kl_read_u8(r);
    const uint8_t *at = kl_read_bytes(r, KL_ECHO_BYTES);
    if (!at || magic != KL_SEAL_MAGIC || is != kind) return false;
    memcpy(echo, at, KL_ECHO_BYTES);
    return true;
}

/* --- questions --- */

static size_t length_of(uint8_t kind) {
    return kind == KL_STRANGER_PING ? KL_PING_BYTES : KL_LIST_BYTES;
}

/* NULL: it is no question. */
static const struct kl_field *table_of(uint8_t kind) {
    return kind == KL_STRANGER_PING ? ping : kind == KL_STRANGER_LIST ? list : NULL;
}

size_t kl_question_write(const struct kl_question *q, uint8_t *out) {
    struct kl_writer w;
    const struct kl_field *table = table_of(q->kind);
    size_t len = length_of(q->kind);
    if (!table) return 0;
    memset(out, 0, len);
    begin(&w, out, len, q->kind, q->echo);
    kl_fields_write(&w, table, q);
    return len;
}

int kl_question_read(struct kl_question *q, const uint8_t *bytes, size_t len) {
    struct kl_reader r;
    struct kl_question got = {.kind = len > 1 ? bytes[1] : 0};
    const struct kl_field *table = table_of(got.kind);
    if (!table) return KL_E_MALFORMED;
    if (len != length_of(got.kind) || !open(&r, bytes, len, got.kind, got.echo)) return KL_E_MALFORMED;
    kl_fields_read(&r, table, &got);
    *q = got;
    return r.failed ? KL_E_MALFORMED : KL_OK;
}

/* --- PONG --- */

size_t kl_pong_write(const struct kl_pong *p, uint8_t out[KL_PING_BYTES]) {
    struct kl_writer w;
    begin(&w, out, KL_PING_BYTES, KL_STRANGER_PONG, p->echo);
    kl_fields_write(&w, pong, p);
    return (size_t)(w.at - out);
}

int kl_pong_read(struct kl_pong *p, const uint8_t *bytes, size_t len) {
    struct kl_reader r;
    struct kl_pong got = {0};
    if (!open(&r, bytes, len, KL_STRANGER_PONG, got.echo)) return KL_E_MALFORMED;
    kl_fields_read(&r, pong, &got);
    if (r.failed || kl_reader_left(&r)) return KL_E_MALFORMED;
    *p = got;
    return KL_OK;
}

/* --- ROOMS --- */

size_t kl_room_line_write(const struct kl_room_line *line, uint8_t out[KL_ROOM_LINE_BYTES]) {
    struct kl_writer w = kl_writer(out, KL_ROOM_LINE_BYTES);
    kl_fields_write(&w, line_of_room, line);
    return (size_t)(w.at - out);
}

int kl_room_line_read(struct kl_room_line *line, const uint8_t *bytes, size_t len) {
    memset(line, 0, sizeof *line);
    struct kl_reader r = kl_reader(bytes, len);
    kl_fields_read(&r, line_of_room, line);
    return r.failed || kl_reader_left(&r) ? KL_E_MALFORMED : KL_OK;
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
    while ((more = next_line(ctx, &from, &line)) && (size_t)(w.end - w.at) >= KL_ROOM_LINE_BYTES &&
           count < KL_ROOMS_MAX) {
        kl_fields_write(&w, line_of_room, &line);
        here = from;
        count++;
    }
    if (!more || here >= KL_ROOMS_END) here = KL_ROOMS_END;
    head[0] = (uint8_t)here;
    head[1] = (uint8_t)(here >> 8);
    head[2] = count;
    return (size_t)(w.at - out);
}

int kl_rooms_read(struct kl_rooms *out, const uint8_t *bytes, size_t len) {
    struct kl_reader r;
    memset(out, 0, sizeof *out);
    if (len > KL_LIST_BYTES || !open(&r, bytes, len, KL_STRANGER_ROOMS, out->echo)) return KL_E_MALFORMED;
    kl_fields_read(&r, rooms, out);
    return r.failed || kl_reader_left(&r) ? KL_E_MALFORMED : KL_OK;
}
