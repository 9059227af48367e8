#include "net/platform/file.h"
#include "core_wrapper/tool/headless/input_source.h"

#include <errno.h>
#include <libretro.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BIT(id) (1u << RETRO_DEVICE_ID_JOYPAD_##id)

/* Random play, one hand per port, moved on frame by frame. */
struct hand {
    uint64_t dice;
    uint32_t next_frame; /* the one that `mask` is not yet computed for */
    uint32_t direction_left, button_left[4];
    uint16_t direction, buttons, mask;
};

/* A change in a file. */
struct change {
    uint32_t frame;
    uint16_t mask;
};

struct kl_input_source {
    bool random, any; /* any: every device, with the pads of random */
    uint64_t seed;
    struct hand hand[KLT_INPUT_PORTS];
    struct {
        struct change *at;
        unsigned count;
    } port[KLT_INPUT_PORTS];
};

/* --- random --- */

static uint64_t roll(uint64_t *dice) { /* SplitMix64 */
    uint64_t z = *dice += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint32_t between(uint64_t *dice, uint32_t lo, uint32_t hi) {
    return lo + (uint32_t)(roll(dice) % (hi - lo + 1));
}

static void hand_start(struct hand *h, uint64_t seed, unsigned port) {
    memset(h, 0, sizeof(*h));
    h->dice = seed * 0x2545f4914f6cdd1du + port * 0x632be59bd9b4e019u;
}

static void steer(struct hand *h) {
    static const uint16_t ways[] = {0,
                                    BIT(UP),
                                    BIT(DOWN),
                                    BIT(LEFT),
                                    BIT(RIGHT),
                                    BIT(LEFT),
                                    BIT(RIGHT),
                                    BIT(UP) | BIT(LEFT),
                                    BIT(UP) | BIT(RIGHT),
                                    BIT(DOWN) | BIT(LEFT),
                                    BIT(DOWN) | BIT(RIGHT)};
    if (h->direction_left-- > 0) return;
    h->direction = ways[roll(&h->dice) % (sizeof(ways) / sizeof(ways[0]))];
    h->direction_left = between(&h->dice, 5, 30) - 1;
}

/* Each of four fingers goes down for 1 to 8 frames and up for 1 to 12. */
static void mash(struct hand *h) {
    static const uint16_t fingers[4][2] = {
        {BIT(B), BIT(B)}, {BIT(A), BIT(A)}, {BIT(Y), BIT(X)}, {BIT(L), BIT(R)}};
    for (unsigned i = 0; i < 4; i++) {
        if (h->button_left[i]-- > 0) continue;
        bool down = (h->buttons & (fingers[i][0] | fingers[i][1])) != 0;
        h->buttons &= (uint16_t) ~(fingers[i][0] | fingers[i][1]);
        if (!down) h->buttons |= fingers[i][roll(&h->dice) & 1];
        h->button_left[i] = (down ? between(&h->dice, 1, 12) : between(&h->dice, 1, 8)) - 1;
    }
}

static uint16_t random_joypad(struct kl_input_source *s, uint32_t frame, unsigned port) {
    struct hand *h = &s->hand[port];
    if (frame + 1 < h->next_frame) hand_start(h, s->seed, port);
    while (h->next_frame <= frame) {
        steer(h);
        mash(h);
        h->mask = h->direction | h->buttons;
        uint64_t r = roll(&h->dice);
        /* Start gets past title screens early on, and pauses and goes on again later. */
        if (r % (h->next_frame < 900 ? 90 : 600) == 0) h->mask |= BIT(START);
        if ((r >> 32) % 1200 == 0) h->mask |= BIT(SELECT);
        h->next_frame++;
    }
    return h->mask;
}

/* --- any: a function of the frame alone, without a memory --- */

/* A value that stays for `hold` frames. */
static uint32_t held(const struct kl_input_source *s, uint32_t frame, uint32_t hold, uint32_t what) {
    uint64_t dice = s->seed * 0x2545f4914f6cdd1du + what * 0x632be59bd9b4e019u + (frame + what) / hold;
    return (uint32_t)(roll(&dice) >> 32);
}

static bool plays_any(const struct kl_input_source *s, uint32_t frame) {
    return s && s->any && frame % KLT_INPUT_SPELL < KLT_INPUT_SPELL / 2;
}

unsigned kl_input_source_code(unsigned i) {
    static const uint16_t code[KLT_INPUT_KEYS] = {RETROK_a,  RETROK_b,      RETROK_c,     RETROK_d,
                                                  RETROK_UP, RETROK_DOWN,   RETROK_SPACE, RETROK_RETURN,
                                                  RETROK_F1, RETROK_LSHIFT, RETROK_LCTRL, RETROK_KP0};
    return code[i % KLT_INPUT_KEYS];
}

/* Nobody plays with all keys: one that another player never touches stays down if nobody lets it go. */
uint16_t kl_input_source_keys(const struct kl_input_source *s, uint32_t frame) {
    unsigned down = 0;
    for (unsigned i = 0; plays_any(s, frame) && i < KLT_INPUT_KEYS; i++)
        down |= (unsigned)((s->seed + i) % 3 != 0 && held(s, frame, 2 + 3 * i, i) % 3 == 0) << i;
    return (uint16_t)down;
}

int16_t kl_input_source_other(const struct kl_input_source *s, uint32_t frame, unsigned port, unsigned device,
                              unsigned index, unsigned id) {
    if (!plays_any(s, frame)) return 0;
    uint32_t value = held(s, frame, 3, port << 24 | device << 16 | index << 8 | id | 1u << 31);
    switch (device) {
    case RETRO_DEVICE_MOUSE:
        return (int16_t)(id <= RETRO_DEVICE_ID_MOUSE_Y ? value % 21 - 10 : value % 8 == 0);
    case RETRO_DEVICE_POINTER: return (int16_t)(id <= RETRO_DEVICE_ID_POINTER_Y ? value : value % 4 == 0);
    case RETRO_DEVICE_ANALOG: return (int16_t)value;
    default: return 0;
    }
}

/* --- file --- */

static uint16_t file_joypad(const struct kl_input_source *s, uint32_t frame, unsigned port) {
    unsigned lo = 0, hi = s->port[port].count;
    while (lo < hi) {
        unsigned mid = (lo + hi) / 2;
        if (s->port[port].at[mid].frame <= frame)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo ? s->port[port].at[lo - 1].mask : 0;
}

static int add_change(struct kl_input_source *s, unsigned port, struct change c) {
    unsigned n = s->port[port].count;
    if (n && s->port[port].at[n - 1].frame > c.frame) return -1;
    if ((n & (n - 1)) == 0) { /* doubled whenever it is full */
        struct change *grown = realloc(s->port[port].at, (n ? 2 * n : 1) * sizeof(*grown));
        if (!grown) return -1;
        s->port[port].at = grown;
    }
    s->port[port].at[n] = c;
    s->port[port].count = n + 1;
    return 0;
}

static int read_line(struct kl_input_source *s, char *line) {
    unsigned long long frame;
    unsigned port, mask;
    int used = 0;
    line[strcspn(line, "#\r\n")] = '\0';
    if (line[strspn(line, " \t")] == '\0') return 0;
    if (sscanf(line, "%llu %u %x %n", &frame, &port, &mask, &used) != 3 || line[used] || frame > UINT32_MAX ||
        port >= KLT_INPUT_PORTS || mask > 0xffff || strchr(line, '-'))
        return -1;
    return add_change(s, port, (struct change){(uint32_t)frame, (uint16_t)mask});
}

static int read_file(struct kl_input_source *s, const char *path, char *err, size_t err_len) {
    FILE *f = kl_file_stream(path, "r");
    char line[256];
    int number = 0, result = 0;
    if (!f) {
        snprintf(err, err_len,
                 "cannot read the input file %s: %s (expected none, random:SEED, any:SEED or a file)", path,
                 strerror(errno));
        return -1;
    }
    while (result == 0 && fgets(line, sizeof(line), f)) {
        char shown[64];
        number++;
        snprintf(shown, sizeof(shown), "%.*s", (int)strcspn(line, "\r\n"), line);
        result = read_line(s, line);
        if (result != 0)
            snprintf(err, err_len,
                     "%s:%d: expected FRAME PORT MASK (port below %d, hexadecimal mask, frames in order), "
                     "got \"%s\"",
                     path, number, KLT_INPUT_PORTS, shown);
    }
    if (result == 0 && ferror(f)) {
        snprintf(err, err_len, "cannot read the input file %s: %s", path, strerror(errno));
        result = -1;
    }
    fclose(f);
    return result;
}

/* --- both --- */

static int open_random(struct kl_input_source *s, const char *seed, char *err, size_t err_len) {
    char *end;
    errno = 0;
    s->random = true;
    s->seed = strtoull(seed, &end, 10);
    if (*seed < '0' || *seed > '9' || *end || errno) {
        snprintf(err, err_len, "--input random:SEED: expected a decimal number for SEED, got \"%s\"", seed);
        return -1;
    }
    for (unsigned i = 0; i < KLT_INPUT_PORTS; i++)
        hand_start(&s->hand[i], s->seed, i);
    return 0;
}

int kl_input_source_open(struct kl_input_source **out, const char *spec, char *err, size_t err_len) {
    *out = NULL;
    if (strcmp(spec, "none") == 0) return 0;
    struct kl_input_source *s = calloc(1, sizeof(*s));
    if (!s) {
        snprintf(err, err_len, "out of memory");
        return -1;
    }
    s->any = strncmp(spec, "any:", 4) == 0;
    bool random = s->any || strncmp(spec, "random:", 7) == 0;
    int result =
        random ? open_random(s, strchr(spec, ':') + 1, err, err_len) : read_file(s, spec, err, err_len);
    if (result != 0) {
        kl_input_source_close(s);
        return -1;
    }
    *out = s;
    return 0;
}

void kl_input_source_close(struct kl_input_source *s) {
    if (!s) return;
    for (unsigned i = 0; i < KLT_INPUT_PORTS; i++)
        free(s->port[i].at);
    free(s);
}

uint16_t kl_input_source_joypad(struct kl_input_source *s, uint32_t frame, unsigned port) {
    if (!s || port >= KLT_INPUT_PORTS) return 0;
    return s->random ? random_joypad(s, frame, port) : file_joypad(s, frame, port);
}
