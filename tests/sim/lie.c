#include "tests/sim/lie.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/engine/lock_wire.h"

static const struct {
    const char *name;
    int32_t least, most, usual;
} field[LIE_FIELDS] = {
    [LIE_HELD] = {"held", 0, 1, 0},       [LIE_HOLD] = {"hold", -20, 400, 0},
    [LIE_NEAR] = {"near", 0, 1, 0},       [LIE_NEED] = {"need", 0, 254, 0},
    [LIE_ACK] = {"ack", 0, 60, 0},        [LIE_LATE] = {"late", 0, 1000, 0},
    [LIE_TURN] = {"turn", 0, 1000, 0},    [LIE_ON] = {"on", 20, 4000, 1000},
    [LIE_OFF] = {"off", 0, 20000, 0},     [LIE_AWAY] = {"away", 0, 600, 0},
    [LIE_LIARS] = {"liars", 1, 2, 1},     [LIE_PLAYERS] = {"players", 2, 4, 2},
    [LIE_RTT] = {"rtt", 5, 120, 30},      [LIE_JITTER] = {"jitter", 0, 10, 2},
};

static void settle(struct lie *l) {
    if (l->is[LIE_LIARS] >= l->is[LIE_PLAYERS]) l->is[LIE_LIARS] = l->is[LIE_PLAYERS] - 1;
}

bool lie_read(struct lie *l, const char *text) {
    for (unsigned i = 0; i < LIE_FIELDS; i++)
        l->is[i] = field[i].usual;
    while (*text) {
        unsigned i = 0;
        size_t n = strcspn(text, "=");
        while (i < LIE_FIELDS && (strlen(field[i].name) != n || strncmp(field[i].name, text, n) != 0))
            i++;
        if (i == LIE_FIELDS || text[n] != '=') return false;
        char *end;
        long value = strtol(text + n + 1, &end, 10);
        if (end == text + n + 1 || value < field[i].least || value > field[i].most) return false;
        l->is[i] = (int32_t)value;
        if (*end && *end != ',') return false;
        text = *end ? end + 1 : end;
    }
    settle(l);
    return true;
}

void lie_write(const struct lie *l, char *out, size_t cap) {
    size_t n = 0;
    *out = 0;
    for (unsigned i = 0; i < LIE_FIELDS && n < cap; i++)
        if (l->is[i] != field[i].usual)
            n += (size_t)snprintf(out + n, cap - n, "%s%s=%d", n ? "," : "", field[i].name, l->is[i]);
}

static void draw_field(struct lie *l, unsigned i, struct rng *r) {
    uint32_t span = (uint32_t)(field[i].most - field[i].least);
    l->is[i] = field[i].least + (int32_t)rng_range(r, 0, span);
}

/* Most liars do one thing or two. */
void lie_draw(struct lie *l, struct rng *r) {
    (void)lie_read(l, "");
    draw_field(l, LIE_RTT, r);
    draw_field(l, LIE_PLAYERS, r);
    l->is[LIE_HELD] = rng_chance(r, 0.7);
    draw_field(l, LIE_HOLD, r);
    for (unsigned i = 0; i < LIE_FIELDS; i++)
        if (i != LIE_HELD && i != LIE_HOLD && rng_chance(r, 0.25)) draw_field(l, i, r);
    settle(l);
}

void lie_change(struct lie *l, struct rng *r) {
    for (unsigned count = rng_range(r, 1, 3); count > 0; count--) {
        unsigned i = rng_range(r, 0, LIE_FIELDS - 1);
        int32_t was = l->is[i];
        draw_field(l, i, r);
        if (rng_chance(r, 0.5)) l->is[i] = was + (l->is[i] - was) / 8;
    }
    settle(l);
}

bool lie_now(const struct lie *l, uint64_t since_us, uint64_t now_us) {
    uint64_t on_us = (uint64_t)l->is[LIE_ON] * 1000, off_us = (uint64_t)l->is[LIE_OFF] * 1000;
    if (now_us < since_us) return false;
    return off_us == 0 || (now_us - since_us) % (on_us + off_us) < on_us;
}

size_t lie_about(const struct lie *l, uint32_t n, uint32_t held_us, unsigned seats, uint8_t *ctrl, size_t len,
                 size_t cap) {
    static struct kl_input ring[KL_WINDOW_FRAMES][KL_MAX_SEATS];
    struct kl_ctrl m;
    if (kl_ctrl_open(&m, seats, ctrl, len) != KL_OK) return len;
    for (uint32_t i = 0; i < m.sample_count; i++)
        kl_ctrl_sample(&m, ring[(m.sample_first + i) % KL_WINDOW_FRAMES]);
    if (m.has_echo && l->is[LIE_NEAR]) m.echo += held_us;
    if (l->is[LIE_NEED]) memset(m.need, l->is[LIE_NEED], m.need_count);
    uint32_t less = (uint32_t)l->is[LIE_ACK];
    m.frame_acked -= less < m.frame_acked ? less : m.frame_acked;
    if (m.backlog > m.frame_acked) m.backlog = m.frame_acked;
    if (l->is[LIE_LATE]) m.sample_late = (uint16_t)l->is[LIE_LATE];
    if (l->is[LIE_TURN]) m.turn_late = (uint16_t)l->is[LIE_TURN];
    if (l->is[LIE_AWAY]) m.away = m.away || n % (uint32_t)l->is[LIE_AWAY] == 0;
    size_t now = kl_ctrl_write(&m, (const struct kl_input(*)[KL_MAX_SEATS])ring, seats, ctrl, cap);
    return now ? now : len;
}
