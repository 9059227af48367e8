#include "net/engine/direct.h"

#include "net/engine/wire.h"

#define GUESSES     0x80 /* of a count */
#define SAMPLES_END (UINT32_MAX - KL_WINDOW_FRAMES - KL_SPACING_MAX)

static unsigned seats_in(uint8_t seats) {
    unsigned count = 0;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        count += seats >> s & 1;
    return count;
}

size_t kl_direct_write(const struct kl_direct *d, uint8_t seats, uint8_t out[KL_DIRECT_BYTES]) {
    struct kl_writer w;
    kl_writer_init(&w, out, KL_DIRECT_BYTES);
    kl_write_u32(&w, d->first);
    kl_write_u8(&w, (uint8_t)(d->count | (d->guesses ? GUESSES : 0)));
    for (unsigned i = 0; i < seats_in(seats); i++)
        for (unsigned k = 0; k < d->count; k++)
            kl_write_u16(&w, d->joypad[i][k]);
    return (size_t)(w.at - out);
}

int kl_direct_read(struct kl_direct *d, uint8_t seats, const uint8_t *body, size_t len) {
    struct kl_reader r;
    kl_reader_init(&r, body, len);
    *d = (struct kl_direct){.first = kl_read_u32(&r)};
    uint8_t count = kl_read_u8(&r);
    d->guesses = count & GUESSES;
    d->count = count & (GUESSES - 1);
    if (d->count > KL_DIRECT_MAX || d->first > SAMPLES_END) return KL_E_MALFORMED;
    for (unsigned i = 0; i < seats_in(seats); i++)
        for (unsigned k = 0; k < d->count; k++)
            d->joypad[i][k] = kl_read_u16(&r);
    return r.failed || kl_reader_left(&r) > 0 ? KL_E_MALFORMED : KL_OK;
}

void kl_direct_keep(struct kl_direct_kept kept[KL_MAX_SEATS], uint8_t seats, const struct kl_direct *d) {
    for (unsigned s = 0, i = 0; s < KL_MAX_SEATS; s++) {
        if (!(seats >> s & 1)) continue;
        for (uint32_t k = 0; k < d->count; k++) {
            uint32_t place = (d->first + k) % KL_DIRECT_KEPT, end = d->first + k + 1;
            if (kept[s].end[place] == end) continue;
            kept[s].end[place] = end;
            kept[s].joypad[place] = d->joypad[i][k];
        }
        i++;
    }
}

bool kl_direct_find(const struct kl_direct_kept *k, uint32_t sample, uint16_t *joypad) {
    uint32_t place = sample % KL_DIRECT_KEPT;
    *joypad = k->joypad[place];
    return k->end[place] == sample + 1;
}
