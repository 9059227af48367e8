/* inputs.h - a ring of one seat's inputs, 16 bytes each: the part that a pad gives. The part of other devices
 * (mouse, light gun, touches, keys) has memory of its own, which most seats never want.
 *
 * Pure. The memory is the caller's; without that for devices, their part of an input is lost. */
#ifndef KL_INPUTS_H
#define KL_INPUTS_H

#include <string.h>

#include "net/engine/input.h"

/* As in struct kl_input. */
struct kl_pad {
    uint16_t joypad;
    int16_t stick[4], trigger[2];
    bool all_up;
    uint8_t key_count; /* 0 without memory for devices */
};
/* The rest of it. */
struct kl_devices {
    uint32_t word[(sizeof(struct kl_input) - sizeof(struct kl_pad)) / 4];
};
_Static_assert(sizeof(struct kl_pad) == 16 && offsetof(struct kl_input, mouse_x) == sizeof(struct kl_pad) &&
                   offsetof(struct kl_input, key_count) == offsetof(struct kl_pad, key_count) &&
                   sizeof(struct kl_pad) + sizeof(struct kl_devices) == sizeof(struct kl_input),
               "a pad is the beginning of an input");

struct kl_inputs {
    uint32_t places;
    struct kl_pad *pad;         /* by number % places; NULL: all are neutral */
    struct kl_devices *devices; /* the same; NULL: pads gave all */
};

static inline void kl_inputs_get(const struct kl_inputs *r, uint32_t n, struct kl_input *out) {
    uint32_t place = n % r->places;
    memcpy(out, &r->pad[place], sizeof r->pad[0]);
    if (r->devices)
        memcpy((uint8_t *)out + sizeof r->pad[0], &r->devices[place], sizeof r->devices[0]);
    else
        memset((uint8_t *)out + sizeof r->pad[0], 0, sizeof r->devices[0]);
}

static inline void kl_inputs_put(struct kl_inputs *r, uint32_t n, const struct kl_input *in) {
    uint32_t place = n % r->places;
    memcpy(&r->pad[place], in, sizeof r->pad[0]);
    if (r->devices)
        memcpy(&r->devices[place], (const uint8_t *)in + sizeof r->pad[0], sizeof r->devices[0]);
    else
        r->pad[place].key_count = 0;
}

/* True if a pad cannot give it all. */
static inline bool kl_input_has_devices(const struct kl_input *in) {
    static const uint8_t none[offsetof(struct kl_input, key) - sizeof(struct kl_pad)];
    return in->key_count > 0 || memcmp(&in->mouse_x, none, sizeof none) != 0;
}

/* Writes inputs [first, first + count) of the ring, as kl_input_encode(). */
void kl_inputs_write(struct kl_writer *w, const struct kl_inputs *r, uint32_t first, uint32_t count);

static inline bool kl_pad_equal(const struct kl_pad *a, const struct kl_pad *b) {
    uint64_t x[2], y[2];
    memcpy(x, a, sizeof x);
    memcpy(y, b, sizeof y);
    return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0;
}

/* Of an input, what a pad gives. */
static inline bool kl_pad_neutral(const struct kl_input *in) {
    uint64_t x[2];
    memcpy(x, in, sizeof x);
    return (x[0] | x[1]) == 0;
}

bool kl_inputs_neutral_devices(const struct kl_inputs *r, uint32_t first, uint32_t count);
static inline bool kl_inputs_neutral(const struct kl_inputs *r, uint32_t first, uint32_t count) {
    static const struct kl_pad neutral;
    if (r->devices) return kl_inputs_neutral_devices(r, first, count);
    const struct kl_pad *pad = r->pad + first % r->places, *end = r->pad + r->places;
    for (; count > 0 && kl_pad_equal(pad, &neutral); count--)
        if (++pad == end) pad = r->pad;
    return count == 0;
}

#endif
