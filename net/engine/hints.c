#include "net/engine/hints.h"

#include <string.h>

#define HELD 0x80 /* of a count */

static unsigned run_of(const uint16_t *joypad, unsigned count) {
    unsigned length = 1;
    while (length < count && joypad[length] == joypad[0])
        length++;
    return length;
}

void kl_hints_write(struct kl_writer *w, const struct kl_hints *h, uint32_t next) {
    kl_write_u8(w, h->ports);
    kl_write_u8(w, (uint8_t)(next - h->first));
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        bool held = h->held >> s & 1;
        if (!(h->ports >> s & 1)) continue;
        kl_write_u8(w, (uint8_t)(h->count[s] | (held ? HELD : 0)));
        for (unsigned i = 0, length; !held && i < h->count[s]; i += length) {
            length = run_of(h->joypad[s] + i, h->count[s] - i);
            kl_write_u8(w, (uint8_t)length);
            kl_write_u16(w, h->joypad[s][i]);
        }
    }
}

static void read_runs(struct kl_reader *r, uint16_t *joypad, unsigned count) {
    for (unsigned i = 0; i < count && !r->failed;) {
        unsigned length = kl_read_u8(r);
        uint16_t pad = kl_read_u16(r);
        if (length == 0 || length > count - i) r->failed = true;
        for (unsigned end = i + length; i < end && !r->failed; i++)
            joypad[i] = pad;
    }
}

void kl_hints_read(struct kl_reader *r, struct kl_hints *h, uint32_t next) {
    memset(h, 0, sizeof *h);
    h->ports = kl_read_u8(r);
    uint8_t below = kl_read_u8(r);
    if (h->ports == 0 || below == 0 || below > next) r->failed = true;
    h->first = next - below;
    for (unsigned s = 0; s < KL_MAX_SEATS && !r->failed; s++) {
        if (!(h->ports >> s & 1)) continue;
        uint8_t count = kl_read_u8(r);
        if (count & HELD) h->held |= (uint8_t)(1u << s);
        h->count[s] = count & (HELD - 1);
        if (h->count[s] == 0 || h->count[s] > KL_HINTS_MAX) r->failed = true;
        if (!(count & HELD)) read_runs(r, h->joypad[s], h->count[s]);
    }
}
