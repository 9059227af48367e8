#include "net/engine/lock_wire.h"

#include <stddef.h>
#include <string.h>

#include "net/engine/frames.h"

#define HELD 0x80 /* of a count */

static unsigned run_of(const uint16_t *joypad, unsigned count) {
    unsigned length = 1;
    while (length < count && joypad[length] == joypad[0])
        length++;
    return length;
}

/* next: the frame that closes next; h->first is below it, by KL_HINTS_BELOW at most. Some port has hints. */
static void write_hints(struct kl_writer *w, const struct kl_hints *h, uint32_t next) {
    kl_write_u8(w, h->ports);
    kl_write_u8(w, (uint8_t)(next - h->first));
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        bool held = h->held >> s & 1;
        if (!(h->ports >> s & 1)) continue;
        kl_write_u8(w, (uint8_t)(h->count[s] | (held ? HELD : 0)));
        for (unsigned i = 0, length; !held && i < h->count[s]; i += length) {
            length = run_of(h->joypad[s] + i, h->count[s] - i);
            kl_write_u8(w, (uint8_t)length);
            kl_write_u16(w, h->joypad[s][i]);
        }
    }
}

static void read_runs(struct kl_reader *r, uint16_t *joypad, unsigned count) {
    for (unsigned i = 0; i < count && !r->failed;) {
        unsigned length = kl_read_u8(r);
        uint16_t pad = kl_read_u16(r);
        if (length == 0 || length > count - i) r->failed = true;
        for (unsigned end = i + length; i < end && !r->failed; i++)
            joypad[i] = pad;
    }
}

/* r->failed if they are malformed. */
static void read_hints(struct kl_reader *r, struct kl_hints *h, uint32_t next) {
    memset(h, 0, sizeof *h);
    h->ports = kl_read_u8(r);
    uint8_t below = kl_read_u8(r);
    if (h->ports == 0 || below == 0 || below > next) r->failed = true;
    h->first = next - below;
    for (unsigned s = 0; s < KL_MAX_SEATS && !r->failed; s++) {
        if (!(h->ports >> s & 1)) continue;
        uint8_t count = kl_read_u8(r);
        if (count & HELD) h->held |= (uint8_t)(1u << s);
        h->count[s] = count & (HELD - 1);
        if (h->count[s] == 0 || h->count[s] > KL_HINTS_MAX) r->failed = true;
        if (!(count & HELD)) read_runs(r, h->joypad[s], h->count[s]);
    }
}

enum { HAS_ECHO = 1 };
enum {
    UPDATE_SCHEDULE = 2,
    UPDATE_ABSENT = 4,
    UPDATE_RETURNING = 8,
    UPDATE_PAUSED = 16,
    UPDATE_HINTS = 32,
    UPDATE_AWAY = 64,
    UPDATE_FLAGS = 127
};
enum {
    CTRL_AWAY = 2,
    CTRL_RESUME = 4,
    CTRL_SPARING = 8,
    CTRL_TURN_LATE = 16,
    CTRL_GUESSES = 32,
    CTRL_BATCH = 64,
    CTRL_FLAGS = 127
};
#define NUMBER_MAX                                                                                           \
    (UINT32_MAX - KL_WINDOW_FRAMES - KL_SPACING_MAX) /* of the first of several frames or samples */

static void write_times(struct kl_writer *w, uint32_t stamp, uint8_t flags, uint32_t echo, uint32_t hold_us) {
    kl_write_u32(w, stamp);
    kl_write_u8(w, flags);
    if (flags & HAS_ECHO) {
        kl_write_u32(w, echo);
        kl_write_var(w, hold_us);
    }
}

static uint8_t read_times(struct kl_reader *r, uint8_t allowed, uint32_t *stamp, uint32_t *echo,
                          uint32_t *hold_us) {
    *stamp = kl_read_u32(r);
    uint8_t flags = kl_read_u8(r);
    if (flags & ~allowed) r->failed = true;
    if (flags & HAS_ECHO) {
        *echo = kl_read_u32(r);
        *hold_us = (uint32_t)kl_read_var(r, UINT32_MAX);
    }
    return flags;
}

/* A number that is near another one, as the difference to it. */
static void write_near(struct kl_writer *w, uint32_t number, uint32_t to) {
    kl_write_svar(w, (int64_t)number - to);
}

static uint32_t read_near(struct kl_reader *r, uint32_t to, uint32_t most) {
    int64_t difference = kl_read_svar(r);
    if (difference < -(int64_t)to || difference > (int64_t)most - to) r->failed = true;
    return r->failed ? 0 : (uint32_t)(to + difference);
}

/* --- UPDATE --- */

size_t kl_update_write(const struct kl_update *u, const struct kl_frames_from *from, uint8_t *buf,
                       size_t cap) {
    struct kl_writer w = kl_writer(buf, cap);
    uint8_t flags =
        (uint8_t)((u->has_echo ? HAS_ECHO : 0) | (u->has_schedule ? UPDATE_SCHEDULE : 0) |
                  (u->presence == KL_ABSENT ? UPDATE_ABSENT : 0) |
                  (u->presence == KL_RETURNING ? UPDATE_RETURNING : 0) | (u->paused ? UPDATE_PAUSED : 0) |
                  (u->hints.ports ? UPDATE_HINTS : 0) | (u->away ? UPDATE_AWAY : 0));
    write_times(&w, u->stamp, flags, u->echo, u->hold_us);
    kl_write_u8(&w, u->waiting_for);
    if (u->away) kl_write_u8(&w, u->away);
    kl_write_var(&w, u->first);
    kl_write_var(&w, u->count);
    write_near(&w, u->next_sample, u->first + u->count);
    if (u->has_schedule) kl_write_svar(&w, u->due_us);
    if (u->hints.ports) write_hints(&w, &u->hints, u->first + u->count);
    if (u->count > 0 && from->coded)
        kl_write_bytes(&w, from->coded, from->coded_len);
    else if (u->count > 0)
        kl_frames_write(&w, from, u->first, u->count);
    return w.failed ? 0 : (size_t)(w.at - buf);
}

int kl_update_open(struct kl_update *u, const uint8_t *body, size_t len) {
    struct kl_reader r = kl_reader(body, len);
    memset(u, 0, sizeof *u);
    uint8_t flags = read_times(&r, UPDATE_FLAGS, &u->stamp, &u->echo, &u->hold_us);
    u->has_echo = flags & HAS_ECHO;
    u->has_schedule = flags & UPDATE_SCHEDULE;
    u->paused = flags & UPDATE_PAUSED;
    u->presence = flags & UPDATE_ABSENT ? KL_ABSENT : flags & UPDATE_RETURNING ? KL_RETURNING : KL_PRESENT;
    if ((flags & UPDATE_ABSENT) && (flags & UPDATE_RETURNING)) r.failed = true;
    u->waiting_for = kl_read_u8(&r);
    u->away = flags & UPDATE_AWAY ? kl_read_u8(&r) : 0;
    u->first = (uint32_t)kl_read_var(&r, NUMBER_MAX);
    u->count = (uint32_t)kl_read_var(&r, KL_WINDOW_FRAMES);
    u->next_sample = read_near(&r, u->first + u->count, UINT32_MAX);
    if (u->has_schedule) u->due_us = kl_read_svar(&r);
    if (flags & UPDATE_HINTS) read_hints(&r, &u->hints, u->first + u->count);
    if (u->count > 0) kl_frames_open(&u->frames, &r, u->first, u->count);
    return r.failed || kl_reader_left(&r) > 0 ? KL_E_MALFORMED : KL_OK;
}

bool kl_update_frame(struct kl_update *u, struct kl_frame *out) {
    return u->count > 0 && kl_frames_next(&u->frames, out);
}

/* --- CTRL --- */

size_t kl_ctrl_write(const struct kl_ctrl *c, const struct kl_input (*ring)[KL_MAX_SEATS],
                     unsigned seat_count, uint8_t *buf, size_t cap) {
    struct kl_writer w = kl_writer(buf, cap);
    bool turn_late = c->turn_late > 0 && c->sample_count > 0;
    bool batch = c->sample_batch != 1 && c->sample_count > 0;
    uint8_t flags =
        (uint8_t)((c->has_echo ? HAS_ECHO : 0) | (c->away ? CTRL_AWAY : 0) | (c->resume ? CTRL_RESUME : 0) |
                  (c->sparing ? CTRL_SPARING : 0) | (c->guesses ? CTRL_GUESSES : 0) |
                  (turn_late ? CTRL_TURN_LATE : 0) | (batch ? CTRL_BATCH : 0));
    write_times(&w, c->stamp, flags, c->echo, c->hold_us);
    kl_write_var(&w, c->frame_acked);
    kl_write_var(&w, c->backlog);
    kl_write_u8(&w, c->need_count);
    kl_write_bytes(&w, c->need, c->need_count);
    write_near(&w, c->sample_first, c->frame_acked);
    kl_write_var(&w, c->sample_count);
    if (c->sample_count > 0) {
        kl_write_var(&w, c->sample_late);
        if (turn_late) kl_write_var(&w, c->turn_late);
        if (batch) kl_write_u8(&w, c->sample_batch);
    }
    for (unsigned s = 0; s < seat_count; s++) {
        struct kl_input_coder coder;
        kl_input_coder_init(&coder);
        for (uint32_t i = c->sample_first; i < c->sample_first + c->sample_count; i++)
            kl_input_encode(&coder, &w, &ring[i % KL_WINDOW_FRAMES][s]);
    }
    return w.failed ? 0 : (size_t)(w.at - buf);
}

static void read_needs(struct kl_ctrl *c, struct kl_reader *r) {
    c->need_count = kl_read_u8(r);
    if (c->need_count == 0) return;
    if (c->need_count > KL_NEEDS_MAX || c->need_count > c->frame_acked - c->backlog) {
        r->failed = true;
        return;
    }
    const uint8_t *needs = kl_read_bytes(r, c->need_count);
    if (needs) memcpy(c->need, needs, c->need_count);
}

int kl_ctrl_open(struct kl_ctrl *c, unsigned seat_count, uint32_t known, const uint8_t *body, size_t len) {
    struct kl_reader r = kl_reader(body, len);
    memset(c, 0, offsetof(struct kl_ctrl, need)); /* all behind it is written before it is read */
    uint8_t flags = read_times(&r, CTRL_FLAGS, &c->stamp, &c->echo, &c->hold_us);
    c->has_echo = flags & HAS_ECHO;
    c->away = flags & CTRL_AWAY;
    c->resume = flags & CTRL_RESUME;
    c->sparing = flags & CTRL_SPARING;
    c->guesses = flags & CTRL_GUESSES;
    c->frame_acked = (uint32_t)kl_read_var(&r, UINT32_MAX);
    c->backlog = (uint32_t)kl_read_var(&r, c->frame_acked);
    read_needs(c, &r);
    c->sample_first = read_near(&r, c->frame_acked, NUMBER_MAX);
    c->sample_count = (uint32_t)kl_read_var(&r, seat_count > 0 ? KL_WINDOW_FRAMES : 0);
    if (c->sample_count > 0) {
        c->sample_late = (uint16_t)kl_read_var(&r, UINT16_MAX);
        if (flags & CTRL_TURN_LATE) c->turn_late = (uint16_t)kl_read_var(&r, UINT16_MAX);
        c->sample_batch = flags & CTRL_BATCH ? kl_read_u8(&r) : 1;
    }
    uint32_t skipped = known > c->sample_first ? known - c->sample_first : 0;
    if (skipped > c->sample_count) skipped = c->sample_count;
    c->sample_next = c->sample_first + skipped;
    kl_streams_open(&c->streams, &r, seat_count, c->sample_count, skipped);
    return r.failed || kl_reader_left(&r) > 0 ? KL_E_MALFORMED : KL_OK;
}

void kl_ctrl_sample(struct kl_ctrl *c, struct kl_input out[KL_MAX_SEATS]) {
    for (unsigned i = 0; i < c->streams.count; i++)
        kl_input_decode(&c->streams.decoder[i], &c->streams.reader[i], &out[i]);
}
