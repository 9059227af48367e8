#include "net/engine/input.h"

/* --- one input --- */

/* Token of the coded stream (PROTOCOL.md §3): bit 7 set: a run of (low 7 bits + 1) inputs that repeat the one
 * before (kl_input_repeat); clear: a mask of the groups that follow, never 0. */
enum {
    GROUP_JOYPAD = 1,
    GROUP_STICKS = 2,
    GROUP_TRIGGERS = 4,
    GROUP_MOUSE = 8,
    GROUP_TOUCH = 16,
    GROUP_GUN = 32,
    GROUP_KEYS = 64,
    RUN = 128,
    RUN_MAX = 128,
    DEVICES = GROUP_MOUSE | GROUP_TOUCH | GROUP_GUN | GROUP_KEYS,
};
#define KEYS_UP         0x80 /* beside the count of key events */
#define GUN_BUTTONS_MAX ((1u << 20) - 1)
#define UTF32_MAX       0x10ffffu

void kl_input_neutral(struct kl_input *in) {
    memset(in, 0, sizeof *in);
}

static bool keys_equal(const struct kl_input *a, const struct kl_input *b) {
    if (a->all_up != b->all_up || a->key_count != b->key_count) return false;
    for (unsigned i = 0; i < a->key_count; i++) {
        const struct kl_key *x = &a->key[i], *y = &b->key[i];
        if (x->code != y->code || x->modifiers != y->modifiers || x->character != y->character ||
            x->down != y->down)
            return false;
    }
    return true;
}

static bool touch_equal(const struct kl_input *a, const struct kl_input *b) {
    for (unsigned i = 0; i < KL_TOUCHES; i++)
        if (a->touch[i].x != b->touch[i].x || a->touch[i].y != b->touch[i].y ||
            a->touch[i].pressed != b->touch[i].pressed)
            return false;
    return true;
}

static bool gun_equal(const struct kl_input *a, const struct kl_input *b) {
    return a->gun_x == b->gun_x && a->gun_y == b->gun_y && a->gun_buttons == b->gun_buttons;
}

static bool mouse_equal(const struct kl_input *a, const struct kl_input *b) {
    return a->mouse_x == b->mouse_x && a->mouse_y == b->mouse_y && a->mouse_buttons == b->mouse_buttons;
}

/* The groups in which a and b differ. */
static uint8_t differing(const struct kl_input *a, const struct kl_input *b) {
    uint8_t mask = 0;
    if (memcmp(a, b, sizeof *a) == 0) return 0; /* as nearly always; what pads a struct may differ, though */
    if (a->joypad != b->joypad) mask |= GROUP_JOYPAD;
    if (memcmp(a->stick, b->stick, sizeof a->stick) != 0) mask |= GROUP_STICKS;
    if (memcmp(a->trigger, b->trigger, sizeof a->trigger) != 0) mask |= GROUP_TRIGGERS;
    if (!mouse_equal(a, b)) mask |= GROUP_MOUSE;
    if (!touch_equal(a, b)) mask |= GROUP_TOUCH;
    if (!gun_equal(a, b)) mask |= GROUP_GUN;
    if (!keys_equal(a, b)) mask |= GROUP_KEYS;
    return mask;
}

bool kl_input_equal(const struct kl_input *a, const struct kl_input *b) {
    return differing(a, b) == 0;
}

void kl_input_repeat(struct kl_input *in) {
    in->mouse_x = in->mouse_y = 0;
    in->all_up = false;
    in->key_count = 0;
}

static int16_t add_saturating(int16_t a, int16_t b) {
    int32_t sum = (int32_t)a + b;
    return (int16_t)(sum > INT16_MAX ? INT16_MAX : sum < INT16_MIN ? INT16_MIN : sum);
}

void kl_input_fold(struct kl_input *acc, const struct kl_input *next) {
    acc->joypad |= next->joypad;
    memcpy(acc->stick, next->stick, sizeof acc->stick);
    memcpy(acc->trigger, next->trigger, sizeof acc->trigger);
    acc->mouse_x = add_saturating(acc->mouse_x, next->mouse_x);
    acc->mouse_y = add_saturating(acc->mouse_y, next->mouse_y);
    acc->mouse_buttons |= next->mouse_buttons;
    acc->gun_x = next->gun_x;
    acc->gun_y = next->gun_y;
    acc->gun_buttons |= next->gun_buttons;
    for (unsigned i = 0; i < KL_TOUCHES; i++) {
        bool lifted = acc->touch[i].pressed && !next->touch[i].pressed; /* keep the last position */
        if (!lifted) acc->touch[i] = next->touch[i];
    }
}

void kl_input_coder_init(struct kl_input_coder *c) {
    memset(c, 0, sizeof *c);
}

static void write_keys(struct kl_writer *w, const struct kl_input *in) {
    kl_write_u8(w, (uint8_t)(in->key_count | (in->all_up ? KEYS_UP : 0)));
    for (unsigned i = 0; i < in->key_count; i++) {
        const struct kl_key *k = &in->key[i];
        kl_write_u16(w, k->code);
        kl_write_var(w, ((uint64_t)k->character << 1) | k->down);
        kl_write_var(w, k->modifiers);
    }
}

static void write_group(struct kl_writer *w, const struct kl_input *in, uint8_t group) {
    switch (group) {
    case GROUP_JOYPAD: kl_write_u16(w, in->joypad); break;
    case GROUP_STICKS:
        for (unsigned i = 0; i < 4; i++)
            kl_write_u16(w, (uint16_t)in->stick[i]);
        break;
    case GROUP_TRIGGERS:
        for (unsigned i = 0; i < 2; i++)
            kl_write_u16(w, (uint16_t)in->trigger[i]);
        break;
    case GROUP_MOUSE:
        kl_write_svar(w, in->mouse_x);
        kl_write_svar(w, in->mouse_y);
        kl_write_var(w, in->mouse_buttons);
        break;
    case GROUP_TOUCH:
        for (unsigned i = 0; i < KL_TOUCHES; i++) {
            kl_write_u16(w, (uint16_t)in->touch[i].x);
            kl_write_u16(w, (uint16_t)in->touch[i].y);
            kl_write_u8(w, in->touch[i].pressed);
        }
        break;
    case GROUP_GUN:
        kl_write_u16(w, (uint16_t)in->gun_x);
        kl_write_u16(w, (uint16_t)in->gun_y);
        kl_write_var(w, in->gun_buttons);
        break;
    default: write_keys(w, in); break;
    }
}

void kl_input_encode(struct kl_input_coder *c, struct kl_writer *w, const struct kl_input *in) {
    uint8_t mask = differing(&c->last, in);
    if (w->failed) return;
    if (mask == 0 && c->run && *c->run < RUN + RUN_MAX - 1) {
        ++*c->run;
        return;
    }
    if (mask == 0) {
        c->run = w->at;
        kl_write_u8(w, RUN);
        return;
    }
    c->run = NULL;
    kl_write_u8(w, mask);
    for (unsigned g = 1; g < RUN; g <<= 1)
        if (mask & g) write_group(w, in, (uint8_t)g);
    c->last = *in;
    kl_input_repeat(&c->last);
}

/* The groups in which these pads differ. */
static uint8_t differing_pads(const struct kl_pad *a, const struct kl_pad *b) {
    uint8_t mask = a->joypad != b->joypad ? GROUP_JOYPAD : 0;
    if (memcmp(a->stick, b->stick, sizeof a->stick) != 0) mask |= GROUP_STICKS;
    if (memcmp(a->trigger, b->trigger, sizeof a->trigger) != 0) mask |= GROUP_TRIGGERS;
    if (a->all_up != b->all_up) mask |= GROUP_KEYS;
    return mask;
}

static void write_pad(struct kl_writer *w, const struct kl_pad *last, const struct kl_pad *pad) {
    uint8_t mask = differing_pads(last, pad);
    kl_write_u8(w, mask);
    if (mask & GROUP_JOYPAD) kl_write_u16(w, pad->joypad);
    if (mask == GROUP_JOYPAD) return;
    struct kl_input in = {0};
    memcpy(&in, pad, sizeof *pad);
    for (unsigned g = GROUP_STICKS; g < RUN; g <<= 1)
        if (mask & g) write_group(w, &in, (uint8_t)g);
}

static void write_pads(struct kl_writer *w, const struct kl_inputs *r, uint32_t first, uint32_t count) {
    const struct kl_pad *pad = r->pad + first % r->places, *end = r->pad + r->places;
    struct kl_pad last = {0};
    while (count > 0 && !w->failed) {
        uint32_t run = 0;
        for (; run < count && run < RUN_MAX && kl_pad_equal(pad, &last); run++)
            if (++pad == end) pad = r->pad;
        if (run > 0) {
            kl_write_u8(w, (uint8_t)(RUN + run - 1));
            count -= run;
            continue;
        }
        write_pad(w, &last, pad);
        last = *pad;
        last.all_up = false;
        count--;
        if (++pad == end) pad = r->pad;
    }
}

void kl_inputs_write(struct kl_writer *w, const struct kl_inputs *r, uint32_t first, uint32_t count) {
    if (!r->devices) {
        write_pads(w, r, first, count);
        return;
    }
    struct kl_input_coder c;
    kl_input_coder_init(&c);
    for (uint32_t n = first; n < first + count; n++) {
        struct kl_input in;
        kl_inputs_get(r, n, &in);
        kl_input_encode(&c, w, &in);
    }
}

bool kl_inputs_neutral_devices(const struct kl_inputs *r, uint32_t first, uint32_t count) {
    static const struct kl_input neutral;
    for (uint32_t n = first; n < first + count; n++) {
        struct kl_input in;
        kl_inputs_get(r, n, &in);
        if (!kl_input_equal(&in, &neutral)) return false;
    }
    return true;
}

void kl_input_decoder_init(struct kl_input_decoder *d) {
    memset(d, 0, sizeof *d);
}

static void read_keys(struct kl_reader *r, struct kl_input *in) {
    uint8_t head = kl_read_u8(r);
    unsigned count = head & (uint8_t)~KEYS_UP;
    if (head == 0 || count > KL_KEYS) {
        r->failed = true;
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        struct kl_key *k = &in->key[i];
        k->code = kl_read_u16(r);
        if (k->code >= KL_KEY_CODES) r->failed = true;
        uint32_t v = (uint32_t)kl_read_var(r, (UTF32_MAX << 1) | 1);
        k->down = v & 1;
        k->character = v >> 1 & KL_UTF32;
        k->modifiers = (uint16_t)kl_read_var(r, UINT16_MAX);
    }
    in->all_up = head & KEYS_UP;
    in->key_count = (uint8_t)count;
}

static int16_t read_motion(struct kl_reader *r) {
    int64_t v = kl_read_svar(r);
    if (v < INT16_MIN || v > INT16_MAX) r->failed = true;
    return (int16_t)v;
}

static void read_group(struct kl_reader *r, struct kl_input *in, uint8_t group) {
    switch (group) {
    case GROUP_JOYPAD: in->joypad = kl_read_u16(r); break;
    case GROUP_STICKS:
        for (unsigned i = 0; i < 4; i++)
            in->stick[i] = (int16_t)kl_read_u16(r);
        break;
    case GROUP_TRIGGERS:
        for (unsigned i = 0; i < 2; i++)
            in->trigger[i] = (int16_t)kl_read_u16(r);
        break;
    case GROUP_MOUSE:
        in->mouse_x = read_motion(r);
        in->mouse_y = read_motion(r);
        in->mouse_buttons = (uint16_t)kl_read_var(r, UINT16_MAX);
        break;
    case GROUP_TOUCH:
        for (unsigned i = 0; i < KL_TOUCHES; i++) {
            in->touch[i].x = (int16_t)kl_read_u16(r);
            in->touch[i].y = (int16_t)kl_read_u16(r);
            uint8_t pressed = kl_read_u8(r);
            if (pressed > 1) r->failed = true;
            in->touch[i].pressed = pressed;
        }
        break;
    case GROUP_GUN:
        in->gun_x = (int16_t)kl_read_u16(r);
        in->gun_y = (int16_t)kl_read_u16(r);
        in->gun_buttons = (uint32_t)kl_read_var(r, GUN_BUTTONS_MAX);
        break;
    default: read_keys(r, in); break;
    }
}

/* The groups of a token. A group that says nothing new would be a second form of the same input. */
static void read_groups(struct kl_input_decoder *d, struct kl_reader *r, uint8_t token,
                        struct kl_input *out) {
    *out = d->last;
    for (unsigned g = 1; g < RUN; g <<= 1)
        if (token & g) read_group(r, out, (uint8_t)g);
    d->devices |= (token & DEVICES) != 0;
    if (token == 0 || (!r->failed && differing(&d->last, out) != token)) r->failed = true;
    d->last = *out;
    kl_input_repeat(&d->last);
}

/* The same for buttons alone, as nearly always. */
static void read_joypad(struct kl_input_decoder *d, struct kl_reader *r) {
    uint16_t joypad = kl_read_u16(r);
    if (joypad == d->last.joypad) r->failed = true;
    d->last.joypad = joypad;
}

void kl_input_decode(struct kl_input_decoder *d, struct kl_reader *r, struct kl_input *out) {
    uint8_t token = d->run_left > 0 ? RUN : kl_read_u8(r);
    if (d->run_left > 0)
        d->run_left--;
    else if (token & RUN)
        d->run_left = token & (RUN - 1); /* this one, and as many more */
    else if (token == GROUP_JOYPAD)
        read_joypad(d, r);
    if (token & RUN || token == GROUP_JOYPAD || r->failed)
        *out = d->last;
    else
        read_groups(d, r, token, out);
}

void kl_input_skip(struct kl_input_decoder *d, struct kl_reader *r, uint32_t count) {
    while (count > 0 && !r->failed) {
        uint8_t token = d->run_left > 0 ? RUN : kl_read_u8(r);
        struct kl_input in;
        if (token & RUN) { /* all of it that is wanted */
            uint32_t run = d->run_left > 0 ? d->run_left : 1u + (token & (RUN - 1)),
                     now = run < count ? run : count;
            d->run_left = run - now;
            count -= now;
            continue;
        }
        if (token == GROUP_JOYPAD)
            read_joypad(d, r);
        else
            read_groups(d, r, token, &in);
        count--;
    }
}

/* --- the keyboard --- */

/* --- sets of keys --- */

void kl_key_put(struct kl_key_set *set, unsigned code, bool in) {
    uint8_t bit = (uint8_t)(1u << code % 8);
    if (code == 0 || code >= KL_KEY_CODES) return;
    if (in)
        set->bits[code / 8] |= bit;
    else
        set->bits[code / 8] &= (uint8_t)~bit;
}

/* --- the keyboard --- */

static bool held_by_another(const struct kl_keyboard *k, unsigned seat, unsigned code) {
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        if (s != seat && kl_key_in(&k->held[s], code)) return true;
    return false;
}

/* The second of two seats on one key changes nothing, nor does the first of them that lets go. A key that its
 * own seat presses again is a repetition, which brings characters. */
static void play_event(struct kl_keyboard *k, unsigned seat, const struct kl_key *key, kl_key_fn *tell,
                       void *ctx) {
    bool mine = kl_key_in(&k->held[seat], key->code), others = held_by_another(k, seat, key->code);
    kl_key_put(&k->held[seat], key->code, key->down);
    if (key->down) kl_key_put(&k->pressed, key->code, true);
    if (key->code == 0 || (key->down ? mine || !others : mine && !others)) {
        if (tell) tell(ctx, key);
    }
}

void kl_keyboard_play(struct kl_keyboard *k, const struct kl_input in[KL_MAX_SEATS], kl_key_fn *tell,
                      void *ctx) {
    memset(&k->pressed, 0, sizeof k->pressed);
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        if (in[s].all_up) {
            for (unsigned code = 1; code < KL_KEY_CODES; code++) {
                struct kl_key up = {.code = (uint16_t)code};
                if (kl_key_in(&k->held[s], code)) play_event(k, s, &up, tell, ctx);
            }
        }
        for (unsigned i = 0; i < in[s].key_count; i++)
            play_event(k, s, &in[s].key[i], tell, ctx);
    }
}

bool kl_keyboard_down(const struct kl_keyboard *k, unsigned code) {
    return kl_key_in(&k->pressed, code) || held_by_another(k, KL_MAX_SEATS, code);
}

bool kl_keyboard_holds(const struct kl_keyboard *k, unsigned seat) {
    static const struct kl_key_set none;
    return memcmp(&k->held[seat], &none, sizeof none) != 0;
}

/* --- events that wait --- */

/* `next`: the code of the event that is to come. */
static void keep_last_of_each(struct kl_keys *q, unsigned next) {
    bool seen[KL_KEY_CODES] = {[0] = false};
    unsigned to = q->count;
    seen[next] = true;
    for (unsigned i = q->count; i-- > 0;) {
        if (seen[q->at[i].code]) continue;
        seen[q->at[i].code] = true;
        q->at[--to] = q->at[i];
    }
    q->count = (uint16_t)(q->count - to);
    memmove(q->at, q->at + to, q->count * sizeof q->at[0]);
}

void kl_keys_add(struct kl_keys *q, const struct kl_key *key) {
    if (key->code >= KL_KEY_CODES) return;
    if (q->count == KL_KEYS_WAITING) keep_last_of_each(q, key->code);
    q->at[q->count++] = *key;
}

void kl_keys_put(struct kl_keys *q, const struct kl_input *in) {
    if (in->all_up) q->count = 0;
    q->all_up |= in->all_up;
    for (unsigned i = 0; i < in->key_count; i++)
        kl_keys_add(q, &in->key[i]);
}

void kl_keys_take(struct kl_keys *q, struct kl_input *in) {
    unsigned n = q->count < KL_KEYS ? q->count : KL_KEYS;
    in->all_up = q->all_up;
    in->key_count = (uint8_t)n;
    memcpy(in->key, q->at, n * sizeof in->key[0]);
    q->all_up = false;
    q->count = (uint16_t)(q->count - n);
    memmove(q->at, q->at + n, q->count * sizeof q->at[0]);
}
