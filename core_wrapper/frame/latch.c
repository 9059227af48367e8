#include "core_wrapper/frame/latch.h"

#include <string.h>

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

static bool asked(const struct kl_latch *l, unsigned device) {
    return l->asked >> device & 1;
}

static bool answers_down(const struct kl_latch *l, retro_input_state_t state, unsigned code) {
    return code != l->own_key && state(0, RETRO_DEVICE_KEYBOARD, 0, code) != 0;
}

/* The keys to ask the frontend for. A core that takes events gets no key of which no event came: the frontend
 * may keep it for itself. The first time nobody knows. */
static bool asks_for(const struct kl_latch *l, unsigned code) {
    if (!l->key_events) return kl_key_in(&l->asked_key, code);
    return l->say == KL_LATCH_FIRST || kl_key_in(&l->pressed, code);
}

static void say_key(struct kl_latch *l, unsigned code, bool down) {
    struct kl_key key = {.code = (uint16_t)code, .down = down};
    kl_key_put(&l->down, code, down);
    kl_keys_add(&l->keys, &key);
}

/* A key that was pressed by an event counts as down until its event, or, if the frontend has once answered
 * for it, while the answer is so. */
static void ask_for_key(struct kl_latch *l, retro_input_state_t state, unsigned code) {
    bool is = answers_down(l, state, code);
    if (is) kl_key_put(&l->confirmed, code, true);
    if (l->key_events && !kl_key_in(&l->confirmed, code)) return;
    if (is != kl_key_in(&l->down, code)) say_key(l, code, is);
}

/* Keys that changed by an event since, wait already. */
static void say_anew(struct kl_latch *l, retro_input_state_t state) {
    struct kl_key_set waits = {{0}};
    for (unsigned i = 0; i < l->keys.count; i++)
        kl_key_put(&waits, l->keys.at[i].code, true);
    for (unsigned code = 1; code < KL_KEY_CODES; code++) {
        if (kl_key_in(&waits, code)) continue;
        bool is = asks_for(l, code) && answers_down(l, state, code);
        kl_key_put(&l->pressed, code, is);
        kl_key_put(&l->confirmed, code, is);
        kl_key_put(&l->down, code, is);
        if (is != kl_key_in(&l->said, code) || (is && l->say != KL_LATCH_CHANGES)) say_key(l, code, is);
    }
    l->say = KL_LATCH_GOES_ON;
}

static void read_keys(struct kl_latch *l, retro_input_state_t state) {
    if (l->say != KL_LATCH_GOES_ON) say_anew(l, state);
    for (unsigned code = 1; code < KL_KEY_CODES; code++)
        if (asks_for(l, code)) ask_for_key(l, state, code);
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
        if (asked(l, RETRO_DEVICE_MOUSE)) {
            in->mouse_x = state(p, RETRO_DEVICE_MOUSE, 0, RETRO_DEVICE_ID_MOUSE_X);
            in->mouse_y = state(p, RETRO_DEVICE_MOUSE, 0, RETRO_DEVICE_ID_MOUSE_Y);
            for (unsigned id = RETRO_DEVICE_ID_MOUSE_LEFT; id <= RETRO_DEVICE_ID_MOUSE_BUTTON_5; id++)
                if (state(p, RETRO_DEVICE_MOUSE, 0, id)) in->mouse_buttons |= (uint16_t)(1u << id);
        }
        if (asked(l, RETRO_DEVICE_LIGHTGUN)) read_gun(in, state, p);
        if (asked(l, RETRO_DEVICE_POINTER)) {
            for (unsigned i = 0; i < KL_TOUCHES; i++) {
                in->touch[i].x = state(p, RETRO_DEVICE_POINTER, i, RETRO_DEVICE_ID_POINTER_X);
                in->touch[i].y = state(p, RETRO_DEVICE_POINTER, i, RETRO_DEVICE_ID_POINTER_Y);
                in->touch[i].pressed =
                    state(p, RETRO_DEVICE_POINTER, i, RETRO_DEVICE_ID_POINTER_PRESSED) != 0;
            }
        }
        if (l->filter) hide(in, in->joypad, l->filter(l->filter_ctx, p, in->joypad));
        if (l->has_pending)
            kl_input_fold(&l->pending[p], in);
        else
            l->pending[p] = *in;
    }
    if (!seats && l->filter)
        l->filter(l->filter_ctx, 0, read_pad(l, state, 0)); /* a watcher has hot keys too */
    if ((asked(l, RETRO_DEVICE_KEYBOARD) || l->key_events) && seats) read_keys(l, state);
    l->has_pending = true;
}

void kl_latch_key(struct kl_latch *l, bool down, unsigned code, uint32_t character, uint16_t modifiers) {
    struct kl_key key = {
        .code = (uint16_t)code, .modifiers = modifiers, .character = character & KL_UTF32, .down = down};
    if (code >= KL_KEY_CODES) return;
    if (code && code == l->own_key && (down || !kl_key_in(&l->down, code))) return;
    kl_key_put(&l->pressed, code, down);
    kl_key_put(&l->confirmed, code, false);
    kl_key_put(&l->down, code, down);
    kl_keys_add(&l->keys, &key);
}

void kl_latch_sample(struct kl_latch *l, struct kl_input *out, unsigned seats) {
    for (unsigned i = 0; i < seats; i++) {
        out[i] = l->has_pending ? l->pending[i] : l->now[i];
        if (!l->has_pending) kl_input_repeat(&out[i]);
    }
    if (seats) {
        struct kl_input *in = &out[0];
        kl_keys_take(&l->keys, in);
        for (unsigned i = 0; i < in->key_count; i++)
            kl_key_put(&l->said, in->key[i].code, in->key[i].down);
    }
    l->has_pending = false;
}

void kl_latch_forget(struct kl_latch *l) {
    l->has_pending = false;
    kl_keys_clear(&l->keys);
    if (l->say == KL_LATCH_GOES_ON) l->say = KL_LATCH_CHANGES;
}

void kl_latch_press_again(struct kl_latch *l) {
    if (l->say != KL_LATCH_FIRST) l->say = KL_LATCH_AGAIN;
}

void kl_latch_begin(struct kl_latch *l) {
    kl_latch_forget(l);
    kl_latch_press_again(l);
    memset(&l->said, 0, sizeof l->said);
    memset(&l->keyboard, 0, sizeof l->keyboard);
}

/* --- to the core --- */

void kl_latch_frame(struct kl_latch *l, const struct kl_frame *frame, kl_key_fn *tell, void *ctx) {
    l->frame = *frame;
    kl_keyboard_play(&l->keyboard, frame->in, tell, ctx);
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

int16_t kl_latch_state(struct kl_latch *l, unsigned port, unsigned device, unsigned index, unsigned id) {
    device &= RETRO_DEVICE_MASK;
    if (device < 32) l->asked |= 1u << device;
    if (device == RETRO_DEVICE_KEYBOARD) {
        /* The machine has one keyboard, whatever the port. */
        kl_key_put(&l->asked_key, id, true);
        return kl_keyboard_down(&l->keyboard, id);
    }
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
