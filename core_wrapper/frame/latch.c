#include "core_wrapper/frame/latch.h"

#include <string.h>

static bool bit(const uint8_t *set, unsigned i) {
    return i < KL_LATCH_CODES && (set[i / 8] >> (i % 8) & 1);
}

static void set_bit(uint8_t *set, unsigned i, bool on) {
    if (i >= KL_LATCH_CODES) return;
    if (on)
        set[i / 8] |= (uint8_t)(1u << (i % 8));
    else
        set[i / 8] &= (uint8_t) ~(1u << (i % 8));
}

void kl_latch_init(struct kl_latch *l, bool bitmasks) {
    memset(l, 0, sizeof *l);
    l->bitmasks = bitmasks;
}

/* --- from the frontend --- */

static uint16_t read_pad(const struct kl_latch *l, retro_input_state_t state, unsigned port) {
    if (l->bitmasks) return (uint16_t)state(port, RETRO_DEVICE_JOYPAD, 0, RETRO_DEVICE_ID_JOYPAD_MASK);
    unsigned mask = 0;
    for (unsigned id = 0; id < 16; id++)
        if (state(port, RETRO_DEVICE_JOYPAD, 0, id)) mask |= 1u << id;
    return (uint16_t)mask;
}

static void read_analog(const struct kl_latch *l, struct kl_input *in, retro_input_state_t state,
                        unsigned port) {
    if (l->asked_sticks)
        for (unsigned i = 0; i < 4; i++)
            in->stick[i] = state(port, RETRO_DEVICE_ANALOG, i / 2, i % 2);
    if (!l->asked_triggers) return;
    for (unsigned i = 0; i < 2; i++)
        in->trigger[i] =
            state(port, RETRO_DEVICE_ANALOG, RETRO_DEVICE_INDEX_ANALOG_BUTTON, RETRO_DEVICE_ID_JOYPAD_L2 + i);
}

static void read_mouse(struct kl_input *in, retro_input_state_t state, unsigned port) {
    in->mouse_x = state(port, RETRO_DEVICE_MOUSE, 0, RETRO_DEVICE_ID_MOUSE_X);
    in->mouse_y = state(port, RETRO_DEVICE_MOUSE, 0, RETRO_DEVICE_ID_MOUSE_Y);
    for (unsigned id = RETRO_DEVICE_ID_MOUSE_LEFT; id <= RETRO_DEVICE_ID_MOUSE_BUTTON_5; id++)
        if (state(port, RETRO_DEVICE_MOUSE, 0, id)) in->mouse_buttons |= (uint16_t)(1u << id);
}

static bool is_gun_button(unsigned id) {
    return (id >= RETRO_DEVICE_ID_LIGHTGUN_TRIGGER && id <= RETRO_DEVICE_ID_LIGHTGUN_DPAD_RIGHT) ||
           id == RETRO_DEVICE_ID_LIGHTGUN_IS_OFFSCREEN || id == RETRO_DEVICE_ID_LIGHTGUN_RELOAD;
}

static void read_gun(struct kl_input *in, retro_input_state_t state, unsigned port) {
    in->gun_x = state(port, RETRO_DEVICE_LIGHTGUN, 0, RETRO_DEVICE_ID_LIGHTGUN_SCREEN_X);
    in->gun_y = state(port, RETRO_DEVICE_LIGHTGUN, 0, RETRO_DEVICE_ID_LIGHTGUN_SCREEN_Y);
    for (unsigned id = 0; id <= RETRO_DEVICE_ID_LIGHTGUN_RELOAD; id++)
        if (is_gun_button(id) && state(port, RETRO_DEVICE_LIGHTGUN, 0, id)) in->gun_buttons |= 1u << id;
}

static void read_touches(struct kl_input *in, retro_input_state_t state, unsigned port) {
    for (unsigned i = 0; i < KL_TOUCHES; i++) {
        in->touch[i].x = state(port, RETRO_DEVICE_POINTER, i, RETRO_DEVICE_ID_POINTER_X);
        in->touch[i].y = state(port, RETRO_DEVICE_POINTER, i, RETRO_DEVICE_ID_POINTER_Y);
        in->touch[i].pressed = state(port, RETRO_DEVICE_POINTER, i, RETRO_DEVICE_ID_POINTER_PRESSED) != 0;
    }
}

/* For cores that read the keyboard without taking its events: changes of the keys they read become events. */
static void read_keys(struct kl_latch *l, retro_input_state_t state) {
    for (unsigned code = 1; code < KL_LATCH_CODES; code++) {
        if (!bit(l->asked_key, code)) continue;
        bool down = state(0, RETRO_DEVICE_KEYBOARD, 0, code) != 0;
        if (down == bit(l->key_polled, code)) continue;
        set_bit(l->key_polled, code, down);
        kl_latch_key(l, down, code, 0, 0);
    }
}

static bool asked(const struct kl_latch *l, unsigned device) {
    return l->asked >> device & 1;
}

/* Hides the triggers that belong to hidden buttons of the pad. */
static void hide(struct kl_input *in, uint16_t pad, uint16_t shown) {
    uint16_t hidden = pad & (uint16_t)~shown;
    in->joypad = shown;
    for (unsigned i = 0; i < 2; i++)
        if (hidden >> (RETRO_DEVICE_ID_JOYPAD_L2 + i) & 1) in->trigger[i] = 0;
}

void kl_latch_poll(struct kl_latch *l, retro_input_state_t state, unsigned seats) {
    for (unsigned p = 0; p < seats; p++) {
        struct kl_input *in = &l->now[p];
        kl_input_neutral(in);
        in->joypad = read_pad(l, state, p);
        if (asked(l, RETRO_DEVICE_ANALOG)) read_analog(l, in, state, p);
        if (asked(l, RETRO_DEVICE_MOUSE)) read_mouse(in, state, p);
        if (asked(l, RETRO_DEVICE_LIGHTGUN)) read_gun(in, state, p);
        if (asked(l, RETRO_DEVICE_POINTER)) read_touches(in, state, p);
        if (l->filter) hide(in, in->joypad, l->filter(l->filter_ctx, p, in->joypad));
        if (l->has_pending)
            kl_input_fold(&l->pending[p], in);
        else
            l->pending[p] = *in;
    }
    if (!seats && l->filter)
        l->filter(l->filter_ctx, 0, read_pad(l, state, 0)); /* a watcher has hot keys too */
    if (asked(l, RETRO_DEVICE_KEYBOARD) && !l->key_events && seats) read_keys(l, state);
    l->has_pending = true;
}

void kl_latch_key(struct kl_latch *l, bool down, unsigned code, uint32_t character, uint16_t modifiers) {
    if (l->queued == KL_LATCH_KEYS) return;
    struct kl_key *k = &l->queue[l->queued++];
    k->code = (uint16_t)code;
    k->modifiers = modifiers;
    k->character = character & KL_UTF32;
    k->down = down;
}

static void take_keys(struct kl_latch *l, struct kl_input *in) {
    unsigned n = l->queued < KL_KEYS ? l->queued : KL_KEYS;
    memcpy(in->key, l->queue, n * sizeof in->key[0]);
    in->key_count = (uint8_t)n;
    l->queued -= n;
    memmove(l->queue, l->queue + n, l->queued * sizeof l->queue[0]);
}

void kl_latch_sample(struct kl_latch *l, struct kl_input *out, unsigned seats) {
    for (unsigned i = 0; i < seats; i++) {
        out[i] = l->has_pending ? l->pending[i] : l->now[i];
        if (!l->has_pending) kl_input_repeat(&out[i]);
    }
    if (seats) take_keys(l, &out[0]);
    l->has_pending = false;
}

void kl_latch_forget(struct kl_latch *l) {
    l->has_pending = false;
    l->queued = 0;
}

/* --- to the core --- */

void kl_latch_frame(struct kl_latch *l, const struct kl_frame *frame) {
    l->frame = *frame;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        for (unsigned k = 0; k < frame->in[s].key_count && k < KL_KEYS; k++)
            set_bit(l->key_down, frame->in[s].key[k].code, frame->in[s].key[k].down);
}

static int16_t pad_state(const struct kl_input *in, unsigned id) {
    if (id == RETRO_DEVICE_ID_JOYPAD_MASK) return (int16_t)in->joypad;
    return (int16_t)(id < 16 ? in->joypad >> id & 1 : 0);
}

static int16_t analog_state(struct kl_latch *l, const struct kl_input *in, unsigned index, unsigned id) {
    if (index == RETRO_DEVICE_INDEX_ANALOG_BUTTON) {
        l->asked_triggers = true;
        int16_t full = id < 16 && (in->joypad >> id & 1) ? 0x7fff : 0;
        bool trigger = id == RETRO_DEVICE_ID_JOYPAD_L2 || id == RETRO_DEVICE_ID_JOYPAD_R2;
        int16_t depth = trigger ? in->trigger[id - RETRO_DEVICE_ID_JOYPAD_L2] : 0;
        return depth ? depth : full;
    }
    l->asked_sticks = true;
    return index < 2 && id < 2 ? in->stick[index * 2 + id] : 0;
}

static int16_t mouse_state(const struct kl_input *in, unsigned id) {
    switch (id) {
    case RETRO_DEVICE_ID_MOUSE_X: return in->mouse_x;
    case RETRO_DEVICE_ID_MOUSE_Y: return in->mouse_y;
    default: return (int16_t)(id < 16 ? in->mouse_buttons >> id & 1 : 0);
    }
}

static int16_t gun_state(struct kl_latch *l, const struct kl_input *in, unsigned id) {
    switch (id) {
    case RETRO_DEVICE_ID_LIGHTGUN_X:
    case RETRO_DEVICE_ID_LIGHTGUN_Y:
        l->asked |= 1u << RETRO_DEVICE_MOUSE; /* the old relative way */
        return id == RETRO_DEVICE_ID_LIGHTGUN_X ? in->mouse_x : in->mouse_y;
    case RETRO_DEVICE_ID_LIGHTGUN_SCREEN_X: return in->gun_x;
    case RETRO_DEVICE_ID_LIGHTGUN_SCREEN_Y: return in->gun_y;
    default: return (int16_t)(id < 20 ? in->gun_buttons >> id & 1 : 0);
    }
}

static int16_t pointer_state(const struct kl_input *in, unsigned index, unsigned id) {
    if (id == RETRO_DEVICE_ID_POINTER_COUNT) return (int16_t)(in->touch[0].pressed + in->touch[1].pressed);
    if (index >= KL_TOUCHES) return 0;
    switch (id) {
    case RETRO_DEVICE_ID_POINTER_X: return in->touch[index].x;
    case RETRO_DEVICE_ID_POINTER_Y: return in->touch[index].y;
    case RETRO_DEVICE_ID_POINTER_PRESSED: return in->touch[index].pressed;
    default: return 0;
    }
}

/* The machine has one keyboard, whatever the port. */
static int16_t keyboard_state(struct kl_latch *l, unsigned id) {
    set_bit(l->asked_key, id, true);
    return bit(l->key_down, id);
}

int16_t kl_latch_state(struct kl_latch *l, unsigned port, unsigned device, unsigned index, unsigned id) {
    device &= RETRO_DEVICE_MASK;
    if (device < 32) l->asked |= 1u << device;
    if (device == RETRO_DEVICE_KEYBOARD) return keyboard_state(l, id);
    if (port >= KL_MAX_SEATS) return 0;
    const struct kl_input *in = &l->frame.in[port];
    switch (device) {
    case RETRO_DEVICE_JOYPAD: return pad_state(in, id);
    case RETRO_DEVICE_ANALOG: return analog_state(l, in, index, id);
    case RETRO_DEVICE_MOUSE: return mouse_state(in, id);
    case RETRO_DEVICE_LIGHTGUN: return gun_state(l, in, id);
    case RETRO_DEVICE_POINTER: return pointer_state(in, index, id);
    default: return 0;
    }
}
