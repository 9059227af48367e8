#include "net/engine/wire.h"

#include <string.h>

void kl_write_bytes(struct kl_writer *w, const void *p, size_t len) {
    uint8_t *place = kl_write_place(w, len);
    if (place && len) memcpy(place, p, len);
}

void kl_write_number(struct kl_writer *w, uint64_t v, unsigned bytes) {
    uint8_t b[8] = {0};
    for (unsigned i = 0; i < bytes; i++)
        b[i] = (uint8_t)(v >> (8 * i));
    kl_write_bytes(w, b, bytes);
}

void kl_write_u64(struct kl_writer *w, uint64_t v) {
    kl_write_number(w, v, 8);
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

uint64_t kl_read_number(struct kl_reader *r, unsigned bytes) {
    const uint8_t *b = kl_read_bytes(r, bytes);
    uint64_t v = 0;
    for (unsigned i = 0; b && i < bytes; i++)
        v |= (uint64_t)b[i] << (8 * i);
    return v;
}

uint64_t kl_read_u64(struct kl_reader *r) {
    return kl_read_number(r, 8);
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
