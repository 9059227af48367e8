#include "tests/sim/reference.h"

#include <string.h>

/* lo = floor(o*n/m), hi = max(lo+1, floor((o+1)*n/m)): by counting, not by dividing. */
void ref_map(uint32_t o, uint32_t n, uint32_t m, uint32_t *lo, uint32_t *hi) {
    uint64_t low = 0, high = 0;
    while ((low + 1) * m <= (uint64_t)o * n)
        low++;
    while ((high + 1) * m <= ((uint64_t)o + 1) * n)
        high++;
    *lo = (uint32_t)low;
    *hi = (uint32_t)(high > low ? high : low + 1);
}

static int32_t clamp16(int32_t v) {
    return v > 32767 ? 32767 : v < -32768 ? -32768 : v;
}

/* A sample's levels and absolutes; its events and motion only where they were not used before. */
static void add_sample(struct kl_input *out, const struct kl_input *in, bool first, bool fresh) {
    out->joypad = first ? in->joypad : (uint16_t)(out->joypad | in->joypad);
    out->mouse_buttons = first ? in->mouse_buttons : (uint16_t)(out->mouse_buttons | in->mouse_buttons);
    out->gun_buttons = first ? in->gun_buttons : out->gun_buttons | in->gun_buttons;
    for (unsigned i = 0; i < 4; i++)
        out->stick[i] = in->stick[i];
    for (unsigned i = 0; i < 2; i++)
        out->trigger[i] = in->trigger[i];
    out->gun_x = in->gun_x;
    out->gun_y = in->gun_y;
    for (unsigned i = 0; i < KL_TOUCHES; i++) {
        /* A contact that is lifted within the frame stays where it last touched. */
        if (!first && out->touch[i].pressed && !in->touch[i].pressed) continue;
        out->touch[i] = in->touch[i];
    }
    if (!fresh) return;
    out->mouse_x = (int16_t)clamp16(out->mouse_x + in->mouse_x);
    out->mouse_y = (int16_t)clamp16(out->mouse_y + in->mouse_y);
}

void ref_add(struct ref_seat *s, struct kl_input *out, uint32_t lo, uint32_t hi, uint32_t fresh_from) {
    memset(out, 0, sizeof *out);
    for (uint32_t k = lo; k < hi; k++)
        add_sample(out, &s->at[k % REF_RING], k == lo, k >= fresh_from);
    for (; s->keys.next < hi; s->keys.next++)
        ref_keys_put(&s->keys, &s->at[s->keys.next % REF_RING]);
    ref_keys_take(&s->keys, out);
}

void ref_frame(struct ref_seat *s, const struct ref_interval *prev, const struct ref_interval *cur,
               uint32_t o, struct kl_input *out, uint32_t lo_hi[2]) {
    uint32_t lo, hi, lo_before = 0, hi_before = 0;
    ref_map(o, prev->samples, cur->length, &lo, &hi);
    if (o > 0) ref_map(o - 1, prev->samples, cur->length, &lo_before, &hi_before);
    ref_add(s, out, prev->sample_first + lo, prev->sample_first + hi, prev->sample_first + hi_before);
    if (!lo_hi) return;
    lo_hi[0] = prev->sample_first + lo;
    lo_hi[1] = prev->sample_first + hi;
}

static bool differs(struct ref_difference *d, const char *field, int64_t is, int64_t expected) {
    if (is == expected) return false;
    if (d) *d = (struct ref_difference){field, is, expected};
    return true;
}

static bool keys_differ(const struct kl_input *is, const struct kl_input *expected,
                        struct ref_difference *d) {
    if (differs(d, "all_up", is->all_up, expected->all_up) ||
        differs(d, "key_count", is->key_count, expected->key_count))
        return true;
    for (unsigned i = 0; i < is->key_count; i++) {
        const struct kl_key *a = &is->key[i], *b = &expected->key[i];
        if (differs(d, "key.code", a->code, b->code) || differs(d, "key.down", a->down, b->down) ||
            differs(d, "key.modifiers", a->modifiers, b->modifiers) ||
            differs(d, "key.character", a->character, b->character))
            return true;
    }
    return false;
}

bool ref_input_differs(const struct kl_input *is, const struct kl_input *expected, struct ref_difference *d) {
    if (differs(d, "joypad", is->joypad, expected->joypad) ||
        differs(d, "mouse_x", is->mouse_x, expected->mouse_x) ||
        differs(d, "mouse_y", is->mouse_y, expected->mouse_y) ||
        differs(d, "mouse_buttons", is->mouse_buttons, expected->mouse_buttons) ||
        differs(d, "gun_x", is->gun_x, expected->gun_x) || differs(d, "gun_y", is->gun_y, expected->gun_y) ||
        differs(d, "gun_buttons", is->gun_buttons, expected->gun_buttons))
        return true;
    for (unsigned i = 0; i < 4; i++)
        if (differs(d, "stick", is->stick[i], expected->stick[i])) return true;
    for (unsigned i = 0; i < 2; i++)
        if (differs(d, "trigger", is->trigger[i], expected->trigger[i])) return true;
    for (unsigned i = 0; i < KL_TOUCHES; i++)
        if (differs(d, "touch.x", is->touch[i].x, expected->touch[i].x) ||
            differs(d, "touch.y", is->touch[i].y, expected->touch[i].y) ||
            differs(d, "touch.pressed", is->touch[i].pressed, expected->touch[i].pressed))
            return true;
    return keys_differ(is, expected, d);
}

bool ref_input_equal(const struct kl_input *a, const struct kl_input *b) {
    return !ref_input_differs(a, b, NULL);
}

uint64_t ref_buttons(const struct kl_input *in) {
    uint64_t touch = 0;
    for (unsigned i = 0; i < KL_TOUCHES; i++)
        touch |= (uint64_t)in->touch[i].pressed << i;
    return in->joypad | (uint64_t)in->mouse_buttons << 16 | (uint64_t)in->gun_buttons << 32 | touch << 60;
}

const char *ref_presses(struct ref_seat *s, const struct ref_interval *prev, const struct ref_interval *cur,
                        uint32_t o, const struct kl_input *shown, bool saturating) {
    uint32_t lo, hi, lo_before = 0, hi_before = 0;
    ref_map(o, prev->samples, cur->length, &lo, &hi);
    if (o > 0) ref_map(o - 1, prev->samples, cur->length, &lo_before, &hi_before);
    if (lo < lo_before || hi < hi_before || (o > 0 && lo > hi_before))
        return "the map goes back or leaves one out";
    if (o + 1 == cur->length && hi != prev->samples)
        return "the map does not end with the interval's last sample";
    uint64_t any = 0;
    for (uint32_t k = lo; k < hi; k++) {
        const struct kl_input *in = &s->at[(prev->sample_first + k) % REF_RING];
        any |= ref_buttons(in);
        if (k < hi_before) continue;
        s->motion_sampled += in->mouse_x + in->mouse_y;
    }
    s->motion_played += shown->mouse_x + shown->mouse_y;
    if (any & ~ref_buttons(shown)) return "a pressed button of a sample is not down in its frame";
    if (ref_buttons(shown) & ~any) return "a frame shows a button that none of its samples had";
    if (!saturating && s->motion_sampled != s->motion_played) return "relative motion is lost or doubled";
    return NULL;
}
