#include "net/engine/wire.h"

#include <string.h>

/* --- values --- */

void kl_write_bytes(struct kl_writer *w, const void *p, size_t len) {
    uint8_t *place = kl_write_place(w, len);
    if (place && len) memcpy(place, p, len);
}

/* bytes: 1 to 8. */
static void write_number(struct kl_writer *w, uint64_t v, unsigned bytes) {
    uint8_t b[8] = {0};
    for (unsigned i = 0; i < bytes; i++)
        b[i] = (uint8_t)(v >> (8 * i));
    kl_write_bytes(w, b, bytes);
}

void kl_write_u64(struct kl_writer *w, uint64_t v) {
    write_number(w, v, 8);
}

void kl_write_long_var(struct kl_writer *w, uint64_t v) {
    size_t len = 1;
    for (uint64_t left = v >> 7; left > 0; left >>= 7)
        len++;
    uint8_t *b = kl_write_place(w, len);
    for (; b && v > 0x7f; v >>= 7)
        *b++ = (uint8_t)(v | 0x80);
    if (b) *b = (uint8_t)v;
}

/* Length of the UTF-8 sequence at p (of `left` bytes), or 0 if it is none: RFC 3629, no surrogates, shortest
 * form, and no control character. */
static size_t utf8_length(const uint8_t *p, size_t left) {
    if (p[0] < 0x80) return p[0] >= 0x20 && p[0] != 0x7f ? 1 : 0;
    size_t len = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || left < len) return 0;
    for (size_t i = 1; i < len; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    uint8_t second_min = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
    uint8_t second_max = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;
    return p[1] >= second_min && p[1] <= second_max ? len : 0;
}

void kl_write_string(struct kl_writer *w, const char *s) {
    size_t len = strlen(s);
    kl_write_var(w, len);
    for (size_t i = 0, n; i < len; i += n) {
        n = utf8_length((const uint8_t *)s + i, len - i);
        kl_write_bytes(w, n ? s + i : "?", n ? n : 1);
        if (n == 0) n = 1;
    }
}

void kl_read_into(struct kl_reader *r, uint8_t *out, size_t len) {
    const uint8_t *p = kl_read_bytes(r, len);
    if (p && len) memcpy(out, p, len);
}

static uint64_t read_number(struct kl_reader *r, unsigned bytes) {
    const uint8_t *b = kl_read_bytes(r, bytes);
    uint64_t v = 0;
    for (unsigned i = 0; b && i < bytes; i++)
        v |= (uint64_t)b[i] << (8 * i);
    return v;
}

uint64_t kl_read_u64(struct kl_reader *r) {
    return read_number(r, 8);
}

uint64_t kl_read_long_var(struct kl_reader *r, uint64_t max) {
    const uint8_t *at = r->at, *end = r->failed ? at : r->end;
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 70 && at < end; shift += 7) {
        uint8_t b = *at++;
        bool overflow = shift == 63 && b > 1;
        bool padded = b == 0 && shift > 0; /* not the shortest form */
        if (overflow || padded) break;
        v |= (uint64_t)(b & 0x7f) << shift;
        if (b & 0x80) continue;
        if (v > max) break;
        r->at = at;
        return v;
    }
    r->failed = true;
    return 0;
}

void kl_read_string(struct kl_reader *r, char *out, size_t cap) {
    out[0] = 0;
    size_t len = (size_t)kl_read_var(r, cap - 1);
    const uint8_t *p = kl_read_bytes(r, len);
    if (!p) return;
    for (size_t i = 0; i < len;) {
        size_t n = utf8_length(p + i, len - i);
        if (!n) {
            r->failed = true;
            return;
        }
        i += n;
    }
    memcpy(out, p, len);
    out[len] = 0;
}

size_t kl_characters(const char *text) {
    size_t n = 0;
    for (; *text; text++)
        n += ((uint8_t)*text & 0xc0) != 0x80;
    return n;
}

/* --- structs by tables of their fields --- */

uint64_t kl_field_number(const void *p, unsigned width) {
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (width) {
    case 1: return *(const uint8_t *)p;
    case 2: return memcpy(&two, p, 2), two;
    case 4: return memcpy(&four, p, 4), four;
    default: return memcpy(&eight, p, 8), eight;
    }
}

static void set_number(void *p, unsigned width, uint64_t v) {
    uint16_t two = (uint16_t)v;
    uint32_t four = (uint32_t)v;
    switch (width) {
    case 1: *(uint8_t *)p = (uint8_t)v; break;
    case 2: memcpy(p, &two, 2); break;
    case 4: memcpy(p, &four, 4); break;
    default: memcpy(p, &v, 8);
    }
}

bool kl_field_is_there(const struct kl_field *f, const void *of) {
    return !f->bits || ((const uint8_t *)of)[f->when] & f->bits;
}

/* --- writing --- */

static void write_list(struct kl_writer *w, const struct kl_field *f, const uint8_t *from) {
    uint64_t count = kl_field_number(from + f->count, f->width);
    if (count > f->max) w->failed = true;
    write_number(w, count, f->width);
    for (uint64_t i = 0; i < count && !w->failed; i++)
        kl_fields_write(w, f->of, from + f->place + i * (f->size / f->max));
}

static void write_rest(struct kl_writer *w, const struct kl_field *f, const uint8_t *from) {
    uint64_t count = kl_field_number(from + f->count, f->width);
    if (count > f->max) w->failed = true;
    kl_write_bytes(w, from + f->place, (size_t)count);
}

static void write_bits(struct kl_writer *w, const struct kl_field *f, const uint8_t *from) {
    unsigned bits = 0;
    for (unsigned i = 0; f->of[i].type; i++)
        bits |= (unsigned)from[f->of[i].place] << i;
    kl_write_u8(w, (uint8_t)bits);
}

static void write_field(struct kl_writer *w, const struct kl_field *f, const uint8_t *from) {
    const uint8_t *at = from + f->place;
    switch (f->type) {
    case KL_FIELD_NUMBER: write_number(w, kl_field_number(at, f->size), f->size); break;
    case KL_FIELD_BITS: write_bits(w, f, from); break;
    case KL_FIELD_TEXT: kl_write_string(w, (const char *)at); break;
    case KL_FIELD_BYTES: kl_write_bytes(w, at, f->size); break;
    case KL_FIELD_REST: write_rest(w, f, from); break;
    case KL_FIELD_LIST: write_list(w, f, from); break;
    default: kl_fields_write(w, f->of, at);
    }
}

void kl_fields_write(struct kl_writer *w, const struct kl_field *table, const void *from) {
    for (const struct kl_field *f = table; f->type; f++)
        if (kl_field_is_there(f, from)) write_field(w, f, from);
}

/* --- reading --- */

static uint64_t read_in_range(struct kl_reader *r, const struct kl_field *f) {
    uint64_t v = read_number(r, f->size);
    if ((v < f->min || v > f->max) && !(f->or_none && v == 255)) r->failed = true;
    return r->failed ? 0 : v;
}

static void read_list(struct kl_reader *r, const struct kl_field *f, uint8_t *to) {
    uint64_t count = read_number(r, f->width);
    if (count > f->max) r->failed = true;
    if (r->failed) return;
    set_number(to + f->count, f->width, count);
    for (uint64_t i = 0; i < count; i++)
        kl_fields_read(r, f->of, to + f->place + i * (f->size / f->max));
}

static void read_rest(struct kl_reader *r, const struct kl_field *f, uint8_t *to) {
    size_t count = kl_reader_left(r);
    if (count < f->min || count > f->max) r->failed = true;
    if (r->failed) return;
    set_number(to + f->count, f->width, count);
    kl_read_into(r, to + f->place, count);
}

static void read_bits(struct kl_reader *r, const struct kl_field *f, uint8_t *to) {
    unsigned bits = kl_read_u8(r), i = 0;
    for (; f->of[i].type; i++)
        to[f->of[i].place] = bits >> i & 1;
    if (bits >> i) r->failed = true;
}

static void read_text(struct kl_reader *r, const struct kl_field *f, char *to) {
    kl_read_string(r, to, f->size);
    if ((f->min && !to[0]) || (f->max && kl_characters(to) > f->max)) r->failed = true;
}

static void read_field(struct kl_reader *r, const struct kl_field *f, uint8_t *to) {
    uint8_t *at = to + f->place;
    switch (f->type) {
    case KL_FIELD_NUMBER: set_number(at, f->size, read_in_range(r, f)); break;
    case KL_FIELD_BITS: read_bits(r, f, to); break;
    case KL_FIELD_TEXT: read_text(r, f, (char *)at); break;
    case KL_FIELD_BYTES: kl_read_into(r, at, f->size); break;
    case KL_FIELD_REST: read_rest(r, f, to); break;
    case KL_FIELD_LIST: read_list(r, f, to); break;
    default: kl_fields_read(r, f->of, at);
    }
}

void kl_fields_read(struct kl_reader *r, const struct kl_field *table, void *to) {
    for (const struct kl_field *f = table; f->type && !r->failed; f++)
        if (kl_field_is_there(f, to)) read_field(r, f, to);
}
