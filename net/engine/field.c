#include "net/engine/field.h"

#include <string.h>

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
    kl_write_number(w, count, f->width);
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
    case KL_FIELD_NUMBER: kl_write_number(w, kl_field_number(at, f->size), f->size); break;
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
    uint64_t v = kl_read_number(r, f->size);
    if ((v < f->min || v > f->max) && !(f->or_none && v == 255)) r->failed = true;
    return r->failed ? 0 : v;
}

static void read_list(struct kl_reader *r, const struct kl_field *f, uint8_t *to) {
    uint64_t count = kl_read_number(r, f->width);
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
