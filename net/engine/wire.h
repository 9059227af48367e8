/* wire.h - bytes of the wire, written and read: values, and structs by tables of their fields. */
#ifndef KL_WIRE_H
#define KL_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- values --- */

/* Bounded reading and writing of the wire's integers. net/PROTOCOL.md §1.
 *
 * Both sides carry a sticky `failed` flag instead of an error per call: write or read a whole message, then
 * look once. After a failure a writer writes nothing more and a reader yields zeros. Little-endian; varints
 * are base-128, least significant group first, at most 10 bytes, shortest form required.
 *
 * The parts of a frame's datagrams stand here, for the compiler to put it in place. */

struct kl_writer {
    uint8_t *at, *end;
    bool failed;
};
struct kl_reader {
    const uint8_t *at, *end;
    bool failed;
};

static inline struct kl_writer kl_writer(uint8_t *buf, size_t cap) {
    return (struct kl_writer){.at = buf, .end = buf + cap};
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

static inline struct kl_reader kl_reader(const void *buf, size_t len) {
    const uint8_t *at = (const uint8_t *)buf;
    return (struct kl_reader){.at = at, .end = at + len};
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
static inline uint32_t kl_u32_at(const uint8_t *b) { /* 4 bytes, checked by the caller */
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}
static inline uint32_t kl_read_u32(struct kl_reader *r) {
    const uint8_t *b = kl_read_bytes(r, 4);
    return b ? kl_u32_at(b) : 0;
}
uint64_t kl_read_u64(struct kl_reader *r);
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

/* --- structs by tables of their fields --- */

/* A struct's form on the wire as a table of fields, with one reader and one writer for all tables.
 * net/PROTOCOL.md §7. Pure. The tables of the messages are in msg.c.
 *
 * Integers are little-endian and as wide as their member of the struct. A table ends with {0}. */

enum kl_field_type {
    KL_FIELD_END,
    KL_FIELD_NUMBER, /* min..max; also a bool */
    KL_FIELD_BITS,   /* a byte: one bit for each bool of the table `of`, the first is bit 0 */
    KL_FIELD_TEXT,   /* a string; min: 1 if it is not empty; max: its characters, 0: as many as fit */
    KL_FIELD_BYTES,  /* as many as the member has */
    KL_FIELD_REST,   /* min..max bytes: the rest of the message */
    KL_FIELD_LIST,   /* a count, at most max, and so many structs of the table `of` */
    KL_FIELD_PART,   /* a struct of the table `of` */
    KL_FIELD_GROUP   /* the same; the two differ only in print (tests/conformance/fields.c) */
};
struct kl_field {
    uint8_t type;         /* enum kl_field_type */
    uint8_t bits;         /* 0: the field is always there */
    uint16_t when;        /* with bits: place of a byte; the field is there if it has one of them */
    uint16_t place, size; /* of the member: bytes from the start of the struct, and its bytes */
    uint16_t count;       /* REST, LIST: place of the member that counts */
    uint8_t width;        /* and that one's bytes */
    bool or_none;         /* NUMBER: 255 too */
    uint64_t min, max;    /* of the number, the characters, the bytes or the elements */
    const struct kl_field *of;
};

/* Rows of a table, for member m of struct s. */
#define KL_BYTES_OF(s, m) sizeof(((struct s *)0)->m)
#define KL_FIELD(s, m, kind, ...)                                                                            \
    { .type = kind, .place = offsetof(struct s, m), .size = KL_BYTES_OF(s, m), __VA_ARGS__ }
#define KL_COUNTED(s, n) .width = KL_BYTES_OF(s, n), .count = offsetof(struct s, n)
#define KL_IF(s, w, b)   .when = offsetof(struct s, w), .bits = b

#define KL_RANGE(s, m, least, most) KL_FIELD(s, m, KL_FIELD_NUMBER, .min = least, .max = most)
#define KL_UPTO(s, m, most)         KL_RANGE(s, m, 0, most)
#define KL_UPTO_OR_NONE(s, m, most) KL_FIELD(s, m, KL_FIELD_NUMBER, .max = most, .or_none = true)
#define KL_BOOL(s, m)               KL_UPTO(s, m, 1)
#define KL_NUMBER(s, m)             KL_UPTO(s, m, UINT64_MAX)
#define KL_NUMBER_IF(s, m, w, b)    KL_FIELD(s, m, KL_FIELD_NUMBER, .max = UINT64_MAX, KL_IF(s, w, b))
#define KL_NAME(s, m, least, chars) KL_FIELD(s, m, KL_FIELD_TEXT, .min = least, .max = chars)
#define KL_STRING(s, m)             KL_NAME(s, m, 0, 0)
#define KL_BYTES(s, m)              KL_FIELD(s, m, KL_FIELD_BYTES, .bits = 0)
#define KL_BYTES_IF(s, m, w, b)     KL_FIELD(s, m, KL_FIELD_BYTES, KL_IF(s, w, b))
#define KL_PART(s, m, table)        KL_FIELD(s, m, KL_FIELD_PART, .of = table)
#define KL_GROUP(s, m, table)       KL_FIELD(s, m, KL_FIELD_GROUP, .of = table)
#define KL_FLAGS(table)                                                                                      \
    { .type = KL_FIELD_BITS, .of = table }
#define KL_REST(s, m, n, least)                                                                              \
    KL_FIELD(s, m, KL_FIELD_REST, KL_COUNTED(s, n), .min = least, .max = KL_BYTES_OF(s, m))
#define KL_LIST(s, m, n, table)                                                                              \
    KL_FIELD(s, m, KL_FIELD_LIST, KL_COUNTED(s, n), .of = table,                                             \
             .max = KL_BYTES_OF(s, m) / KL_BYTES_OF(s, m[0]))

/* Writes the struct `from`. A list or rest that is longer than its member sets w->failed. Other values are
 * written as they are, also those that no reader takes. */
void kl_fields_write(struct kl_writer *w, const struct kl_field *table, const void *from);
/* Reads into the struct `to`, which is zeroed before. Sets r->failed at a value out of range. */
void kl_fields_read(struct kl_reader *r, const struct kl_field *table, void *to);

/* The integer at p, `width` bytes of this machine (1, 2, 4 or 8). */
uint64_t kl_field_number(const void *p, unsigned width);
/* True if the field of the struct `of` is there (kl_field.when). */
bool kl_field_is_there(const struct kl_field *f, const void *of);

#endif
