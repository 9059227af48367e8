/* field.h - a struct's form on the wire as a table of fields, with one reader and one writer for all tables.
 * net/PROTOCOL.md §7. Pure. The tables of the messages are in msg.c.
 *
 * Integers are little-endian and as wide as their member of the struct. A table ends with {0}. */
#ifndef KL_FIELD_H
#define KL_FIELD_H

#include "net/engine/wire.h"

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
