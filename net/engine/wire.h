/* wire.h - bounded reading and writing of the wire's integers. net/PROTOCOL.md §1.
 *
 * Both sides carry a sticky `failed` flag instead of an error per call: write or read a whole message, then
 * look once. After a failure a writer writes nothing more and a reader yields zeros. Little-endian; varints
 * are base-128, least significant group first, at most 10 bytes, shortest form required.
 *
 * The parts of a frame's datagrams stand here, for the compiler to put it in place. */
#ifndef KL_WIRE_H
#define KL_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kl_writer {
    uint8_t *at, *end;
    bool failed;
};
struct kl_reader {
    const uint8_t *at, *end;
    bool failed;
};

static inline void kl_writer_init(struct kl_writer *w, uint8_t *buf, size_t cap) {
    *w = (struct kl_writer){.at = buf, .end = buf + cap};
}
/* Of the next `len` bytes; NULL: there is none, and the writer has failed. */
static inline uint8_t *kl_write_place(struct kl_writer *w, size_t len) {
    uint8_t *place = w->at;
    if (w->failed || (size_t)(w->end - place) < len) {
        w->failed = true;
        return NULL;
    }
    w->at += len;
    return place;
}
static inline void kl_write_u8(struct kl_writer *w, uint8_t v) {
    uint8_t *b = kl_write_place(w, 1);
    if (b) *b = v;
}
static inline void kl_write_u16(struct kl_writer *w, uint16_t v) {
    uint8_t *b = kl_write_place(w, 2);
    for (unsigned i = 0; b && i < 2; i++)
        b[i] = (uint8_t)(v >> (8 * i));
}
static inline void kl_write_u32(struct kl_writer *w, uint32_t v) {
    uint8_t *b = kl_write_place(w, 4);
    for (unsigned i = 0; b && i < 4; i++)
        b[i] = (uint8_t)(v >> (8 * i));
}
void kl_write_u64(struct kl_writer *w, uint64_t v);
void kl_write_number(struct kl_writer *w, uint64_t v, unsigned bytes); /* of 1 to 8 bytes */
void kl_write_long_var(struct kl_writer *w, uint64_t v);
static inline void kl_write_var(struct kl_writer *w, uint64_t v) {
    if (v > 0x7f)
        kl_write_long_var(w, v);
    else
        kl_write_u8(w, (uint8_t)v);
}
static inline void kl_write_svar(struct kl_writer *w, int64_t v) { /* zigzag */
    kl_write_var(w, ((uint64_t)v << 1) ^ (v < 0 ? UINT64_MAX : 0));
}
void kl_write_bytes(struct kl_writer *w, const void *p, size_t len);
/* Varint length, then the bytes without the NUL. Characters that a reader would reject are written as '?'. */
void kl_write_string(struct kl_writer *w, const char *s);

static inline void kl_reader_init(struct kl_reader *r, const void *buf, size_t len) {
    const uint8_t *at = (const uint8_t *)buf;
    *r = (struct kl_reader){.at = at, .end = at + len};
}
static inline size_t kl_reader_left(const struct kl_reader *r) {
    return r->failed ? 0 : (size_t)(r->end - r->at);
}
/* Borrowed; NULL on failure. */
static inline const uint8_t *kl_read_bytes(struct kl_reader *r, size_t len) {
    const uint8_t *b = r->at;
    if (r->failed || (size_t)(r->end - b) < len) {
        r->failed = true;
        return NULL;
    }
    r->at += len;
    return b;
}
static inline uint8_t kl_read_u8(struct kl_reader *r) {
    const uint8_t *b = kl_read_bytes(r, 1);
    return b ? *b : 0;
}
static inline uint16_t kl_read_u16(struct kl_reader *r) {
    const uint8_t *b = kl_read_bytes(r, 2);
    return b ? (uint16_t)(b[0] | b[1] << 8) : 0;
}
static inline uint32_t kl_read_u32(struct kl_reader *r) {
    const uint8_t *b = kl_read_bytes(r, 4);
    return b ? b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24 : 0;
}
uint64_t kl_read_u64(struct kl_reader *r);
uint64_t kl_read_number(struct kl_reader *r, unsigned bytes);
uint64_t kl_read_long_var(struct kl_reader *r, uint64_t max);
static inline uint64_t kl_read_var(struct kl_reader *r, uint64_t max) { /* fails above max */
    bool is_short = !r->failed && r->at < r->end && *r->at <= 0x7f && *r->at <= max;
    return is_short ? *r->at++ : kl_read_long_var(r, max);
}
static inline int64_t kl_read_svar(struct kl_reader *r) {
    uint64_t v = kl_read_var(r, UINT64_MAX);
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}
void kl_read_into(struct kl_reader *r, uint8_t *out, size_t len); /* copies them */
/* Copies a string of at most cap-1 bytes and ends it with NUL. Fails if it is longer, or holds a control
 * character (below 0x20, 0x7f) or bytes that are not UTF-8. */
void kl_read_string(struct kl_reader *r, char *out, size_t cap);
/* Characters of a text in UTF-8. */
size_t kl_characters(const char *text);

#endif
