#include "tests/lib/any_message.h"

#include <stdlib.h>
#include <string.h>

#include "net/engine/wire.h"

static void put_number(uint8_t *at, unsigned size, uint64_t v) {
    const uint16_t two = (uint16_t)v;
    const uint32_t four = (uint32_t)v;
    if (size == 1) *at = (uint8_t)v;
    if (size == 2) memcpy(at, &two, 2);
    if (size == 4) memcpy(at, &four, 4);
    if (size == 8) memcpy(at, &v, 8);
}

static uint64_t any_number(const struct kl_field *f, struct rng *rng) {
    uint64_t most = f->size == 8 ? UINT64_MAX : ((uint64_t)1 << 8 * f->size) - 1;
    if (f->max < most) most = f->max;
    switch (rng_below(rng, f->or_none ? 5 : 4)) {
    case 0: return f->min;
    case 1: return most;
    case 2: return f->min < most ? f->min + 1 : most;
    case 3: return most == UINT64_MAX ? rng_next(rng) : f->min + rng_next(rng) % (most - f->min + 1);
    default: return 255;
    }
}

/* Characters of one to four bytes. */
static void any_text(const struct kl_field *f, char *out, struct rng *rng) {
    static const char *const character[] = {"a", " ", "~", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x8e\xae"};
    uint32_t most = f->max ? (uint32_t)f->max : (f->size - 1u) / 4;
    uint32_t count = rng_chance(rng, 0.2) ? most : rng_range(rng, (uint32_t)f->min, most < 9 ? most : 9);
    out[0] = 0;
    while (count-- > 0)
        strcat(out, character[rng_below(rng, 6)]);
}

static void any_bytes(uint8_t *out, size_t len, struct rng *rng) {
    for (size_t i = 0; i < len; i++)
        out[i] = (uint8_t)rng_next(rng);
}

static uint32_t any_count(const struct kl_field *f, struct rng *rng) {
    uint32_t max = (uint32_t)f->max, least = (uint32_t)f->min;
    return rng_chance(rng, 0.2) ? max : rng_range(rng, least, least + 3 < max ? least + 3 : max);
}

static void fill(const struct kl_field *f, uint8_t *to, struct rng *rng) {
    for (; f->type; f++) {
        uint8_t *at = to + f->place;
        uint32_t count = 0;
        if (!kl_field_is_there(f, to)) continue;
        if (f->type == KL_FIELD_LIST || f->type == KL_FIELD_REST)
            put_number(to + f->count, f->width, count = any_count(f, rng));
        switch (f->type) {
        case KL_FIELD_NUMBER: put_number(at, f->size, any_number(f, rng)); break;
        case KL_FIELD_TEXT: any_text(f, (char *)at, rng); break;
        case KL_FIELD_BYTES: any_bytes(at, f->size, rng); break;
        case KL_FIELD_REST: any_bytes(at, count, rng); break;
        case KL_FIELD_LIST:
            for (uint32_t i = 0; i < count; i++)
                fill(f->of, at + i * (f->size / f->max), rng);
            break;
        default: fill(f->of, at, rng);
        }
    }
}

bool any_message(struct kl_msg *m, uint8_t kind, struct rng *rng) {
    const struct kl_msg_form *form = kl_msg_form(kind);
    if (!form || kind == KL_MSG_HISTORY) return false;
    for (unsigned tries = 0; tries < 10000; tries++) {
        *m = (struct kl_msg){.kind = kind};
        fill(form->table, (uint8_t *)m + form->place, rng);
        if (kind == KL_MSG_HELLO) m->hello.version = KL_PROTOCOL_VERSION;
        if (!form->fits || form->fits(m)) return true;
    }
    abort(); /* no value fits the others */
}
