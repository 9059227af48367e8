/* input.h - the input of a seat's devices: in one frame, in a ring of frames, and as the room's keyboard. */
#ifndef KL_INPUT_H
#define KL_INPUT_H

#include <string.h>

#include "net/engine/engine.h"
#include "net/engine/wire.h"

/* --- one input --- */

/* The input of one seat's devices in one frame; its folding, mapping and coding. net/PROTOCOL.md §3.
 *
 * Wide enough for every libretro device class; a group that is neutral or unchanged costs no bytes on the
 * wire. Values are libretro's (RETRO_DEVICE_ID_* bit numbers and ranges); the engine only knows which of them
 * are levels, which are relative and which are events. */

#define KL_TOUCHES   2         /* pointer contacts carried */
#define KL_KEYS      4         /* keyboard events carried in one input; more wait for the next */
#define KL_KEY_CODES 344       /* RETROK_* codes lie below */
#define KL_UTF32     0x1fffffu /* the bits of a character */

struct kl_key {
    uint16_t code;           /* RETROK_*, below KL_KEY_CODES; 0: no key, a character alone */
    uint16_t modifiers;      /* RETROKMOD_* */
    uint32_t character : 31; /* UTF-32, 0 for none */
    uint32_t down : 1;
};

struct kl_touch {
    int16_t x, y; /* RETRO_DEVICE_POINTER range, -0x7fff..0x7fff */
    bool pressed;
};

/* The first bytes, up to the mouse, are a struct kl_pad. */
struct kl_input {
    uint16_t joypad;        /* level; bit RETRO_DEVICE_ID_JOYPAD_* */
    int16_t stick[4];       /* absolute; left x, left y, right x, right y */
    int16_t trigger[2];     /* absolute; L2, R2 */
    bool all_up;            /* before its key events: all keys that this seat holds go up */
    uint8_t key_count;      /* 0..KL_KEYS */
    int16_t mouse_x;        /* relative */
    int16_t mouse_y;        /* relative */
    uint16_t mouse_buttons; /* level; bit RETRO_DEVICE_ID_MOUSE_* (wheel steps are buttons) */
    int16_t gun_x, gun_y;   /* absolute; screen coordinates */
    uint32_t gun_buttons; /* level; bit RETRO_DEVICE_ID_LIGHTGUN_* (IS_OFFSCREEN among them), below bit 20 */
    struct kl_touch touch[KL_TOUCHES];
    struct kl_key key[KL_KEYS];
};

/* True if a and b hold the same values (padding does not count; unused key slots do not count). */
bool kl_input_equal(const struct kl_input *a, const struct kl_input *b);

/* Neutral: nothing pressed, everything centred. */
void kl_input_neutral(struct kl_input *in);

/* Prepares a sample for its second use: levels and absolutes stay, motion and key events go. */
void kl_input_repeat(struct kl_input *in);

/* Folds the later sample `next` into `acc`, all but the keys: buttons OR-ed, absolutes the
 * later, motion summed (saturating). */
void kl_input_fold(struct kl_input *acc, const struct kl_input *next);

/* docs/design.md §3, "Sub-frames": frame `o` of an interval of `m` frames takes samples [lo, hi) of the
 * interval before, which has `n` samples. 0 <= o < m; n, m >= 1. */
static inline void kl_input_map(uint32_t o, uint32_t n, uint32_t m, uint32_t *lo, uint32_t *hi) {
    *lo = n == m ? o : (uint32_t)((uint64_t)o * n / m);
    *hi = n == m ? o + 1 : (uint32_t)((uint64_t)(o + 1) * n / m);
    if (*hi < *lo + 1) *hi = *lo + 1;
}

/* Writes `count` inputs in order (in[0], in[stride], …), each coded against the one before, the first
 * against neutral; runs of unchanged ones share a byte. Sets w->failed if it does not fit. */
struct kl_input_coder {
    struct kl_input last;
    uint8_t *run; /* the run byte still open in the writer, or NULL */
};
void kl_input_coder_init(struct kl_input_coder *c);
void kl_input_encode(struct kl_input_coder *c, struct kl_writer *w, const struct kl_input *in);

/* Decodes one input a call. Rejects (r->failed) groups that say nothing new and values out of range; the
 * caller rejects a run that reaches past the end (run_left > 0). run_left and last are the coder's state. */
struct kl_input_decoder {
    struct kl_input last;
    unsigned run_left;
    bool devices; /* some input had more than a pad gives */
};
void kl_input_decoder_init(struct kl_input_decoder *d);
void kl_input_decode(struct kl_input_decoder *d, struct kl_reader *r, struct kl_input *out);
/* The same for `count` inputs that nobody wants to see. */
void kl_input_skip(struct kl_input_decoder *d, struct kl_reader *r, uint32_t count);

/* --- a ring of inputs --- */

/* A ring of one seat's inputs, 16 bytes each: the part that a pad gives. The part of other devices (mouse,
 * light gun, touches, keys) has memory of its own, which most seats never want.
 *
 * Pure. The memory is the caller's; without that for devices, their part of an input is lost. */

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

/* --- the keyboard --- */

/* The keyboard of a room: the keys that each seat holds, and key events that wait for a frame.
 * net/PROTOCOL.md §3, "Keys".
 *
 * The keys that a seat holds follow from the frames alone. The core has one keyboard for all seats, so a key
 * is up when the last seat lets go of it. Pure. */

/* --- sets of keys --- */

struct kl_key_set {
    uint8_t bits[KL_KEY_CODES / 8]; /* by code; code 0 is no key */
};

static inline bool kl_key_in(const struct kl_key_set *set, unsigned code) {
    return code < KL_KEY_CODES && (set->bits[code / 8] >> (code % 8) & 1);
}
/* Codes that are no key change nothing. */
void kl_key_put(struct kl_key_set *set, unsigned code, bool in);

/* --- the keyboard --- */

struct kl_keyboard {
    struct kl_key_set held[KL_MAX_SEATS]; /* by seat, after the newest frame */
    struct kl_key_set pressed;            /* in the newest frame, even if it also released them */
};

/* Plays one frame's inputs. tell: gets the events that are the core's, in order; NULL: nobody listens. */
typedef void kl_key_fn(void *ctx, const struct kl_key *key);
void kl_keyboard_play(struct kl_keyboard *k, const struct kl_input in[KL_MAX_SEATS], kl_key_fn *tell,
                      void *ctx);
/* For a core that asks: some seat holds the key, or the newest frame pressed it. */
bool kl_keyboard_down(const struct kl_keyboard *k, unsigned code);
bool kl_keyboard_holds(const struct kl_keyboard *k, unsigned seat);

/* --- events that wait --- */

/* Of each code one event, at least, can wait. */
#define KL_KEYS_WAITING KL_KEY_CODES
struct kl_keys {
    bool all_up; /* stands before them */
    uint16_t count;
    uint32_t next; /* the owner's: the keys of samples below were put */
    struct kl_key at[KL_KEYS_WAITING];
};

/* Nothing waits. `at` need not be initialized. */
static inline void kl_keys_clear(struct kl_keys *q) {
    q->all_up = false;
    q->count = 0;
}
/* If no place is left, only the last event of each code stays. Events of codes past KL_KEY_CODES are
 * ignored. */
void kl_keys_add(struct kl_keys *q, const struct kl_key *key);
/* The keys of an input; "all up" takes the place of all that waited. */
void kl_keys_put(struct kl_keys *q, const struct kl_input *in);
/* As many as an input can have, in place of its own. */
void kl_keys_take(struct kl_keys *q, struct kl_input *in);

#endif
