/* input.h - the input of one seat's devices in one frame; its folding, mapping and coding. net/PROTOCOL.md
 * §3.
 *
 * Wide enough for every libretro device class; a group that is neutral or unchanged costs no bytes on the
 * wire. Values are libretro's (RETRO_DEVICE_ID_* bit numbers and ranges); the engine only knows which of them
 * are levels, which are relative and which are events. */
#ifndef KL_INPUT_H
#define KL_INPUT_H

#include "net/engine/engine.h"
#include "net/engine/wire.h"

#define KL_TOUCHES   2         /* pointer contacts carried */
#define KL_KEYS      4         /* keyboard events carried in one input; more wait for the next (keyboard.h) */
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

/* The first bytes, up to the mouse, are a struct kl_pad (inputs.h). */
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

/* Folds the later sample `next` into `acc`, all but the keys (keyboard.h): buttons OR-ed, absolutes the
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
    bool devices; /* some input had more than a pad gives (inputs.h) */
};
void kl_input_decoder_init(struct kl_input_decoder *d);
void kl_input_decode(struct kl_input_decoder *d, struct kl_reader *r, struct kl_input *out);
/* The same for `count` inputs that nobody wants to see. */
void kl_input_skip(struct kl_input_decoder *d, struct kl_reader *r, uint32_t count);

#endif
