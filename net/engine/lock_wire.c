#include "lock_wire.h"

#include <string.h>

enum { HAS_ECHO = 1 };
enum { UPDATE_SCHEDULE = 2, UPDATE_ABSENT = 4, UPDATE_RETURNING = 8, UPDATE_PAUSED = 16, UPDATE_FLAGS = 31 };
enum { CTRL_AWAY = 2, CTRL_RESUME = 4, CTRL_FLAGS = 7 };
enum { INTERVAL_HASH = 0x80, INTERVAL_BY_CLOCK = 0x40, INTERVAL_COMMANDS = 0x20, INTERVAL_LENGTH = 0x1f };
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

/* Checks one stream of `count` inputs and leaves the reader behind it. A run may not reach past the end. */
static void skip_stream(struct kl_reader *r, uint32_t count) {
    struct kl_input_decoder d;
    struct kl_input in;
    kl_input_decoder_init(&d);
    for (uint32_t i = 0; i < count && !r->failed; i++)
        kl_input_decode(&d, r, &in);
    if (d.run_left > 0) r->failed = true;
}

static void open_streams(struct kl_streams *s, struct kl_reader *r, unsigned streams, uint32_t count) {
    s->count = streams;
    for (unsigned i = 0; i < streams; i++) {
        s->reader[i] = *r;
        kl_input_decoder_init(&s->decoder[i]);
        skip_stream(r, count);
    }
}

/* --- UPDATE ----------------------------------------------------------------------------------------------
 */

static uint8_t seats_used(const struct kl_frame *ring, uint32_t first, uint32_t count) {
    static const struct kl_input neutral;
    uint8_t seats = 0;
    for (uint32_t f = first; f < first + count; f++)
        for (unsigned s = 0; s < KL_MAX_SEATS; s++)
            if (!kl_input_equal(&ring[f % KL_KEPT_FRAMES].in[s], &neutral)) seats |= (uint8_t)(1u << s);
    return seats;
}

static void write_commands(struct kl_writer *w, const struct kl_commands *sets, uint32_t keyframe) {
    for (unsigned i = 0; i < KL_COMMAND_SETS; i++) {
        const struct kl_commands *set = &sets[i];
        if (set->count == 0 || set->keyframe != keyframe) continue;
        kl_write_u8(w, set->count);
        for (unsigned k = 0; k < set->count; k++) {
            kl_write_u8(w, set->at[k].client);
            kl_write_u8(w, set->at[k].kind);
            kl_write_u8(w, set->at[k].len);
            kl_write_bytes(w, set->at[k].data, set->at[k].len);
        }
        return;
    }
    w->failed = true; /* a marked frame whose commands are gone */
}

static uint8_t interval_head(const struct kl_frame *f) {
    uint8_t head = (uint8_t)f->spacing;
    if (f->flags & KL_FRAME_HASH) head |= INTERVAL_HASH;
    if (f->flags & KL_FRAME_BY_CLOCK) head |= INTERVAL_BY_CLOCK;
    if (f->flags & KL_FRAME_COMMANDS) head |= INTERVAL_COMMANDS;
    return head;
}

static void write_intervals(struct kl_writer *w, const struct kl_frame *ring, const struct kl_commands *sets,
                            uint32_t first, uint32_t count) {
    const struct kl_frame *f = &ring[first % KL_KEPT_FRAMES];
    kl_write_u8(w, (uint8_t)(first - f->keyframe));
    for (uint32_t at = first; at < first + count; at = f->keyframe + f->spacing) {
        f = &ring[at % KL_KEPT_FRAMES];
        kl_write_u8(w, interval_head(f));
        kl_write_u8(w, f->active);
        if (f->flags & KL_FRAME_COMMANDS) write_commands(w, sets, f->number);
    }
}

size_t kl_update_write(const struct kl_update *u, const struct kl_frame *ring,
                       const struct kl_commands sets[KL_COMMAND_SETS], uint8_t *buf, size_t cap) {
    struct kl_writer w;
    kl_writer_init(&w, buf, cap);
    uint8_t flags =
        (uint8_t)((u->has_echo ? HAS_ECHO : 0) | (u->has_schedule ? UPDATE_SCHEDULE : 0) |
                  (u->presence == KL_ABSENT ? UPDATE_ABSENT : 0) |
                  (u->presence == KL_RETURNING ? UPDATE_RETURNING : 0) | (u->paused ? UPDATE_PAUSED : 0));
    write_times(&w, u->stamp, flags, u->echo, u->hold_us);
    kl_write_var(&w, u->next_sample);
    kl_write_u8(&w, u->waiting_for);
    kl_write_u8(&w, u->away);
    kl_write_var(&w, u->first);
    kl_write_var(&w, u->count);
    if (u->has_schedule) kl_write_svar(&w, u->due_us);
    if (u->count > 0) {
        uint8_t seats = seats_used(ring, u->first, u->count);
        write_intervals(&w, ring, sets, u->first, u->count);
        kl_write_u8(&w, seats);
        for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
            if (!(seats >> s & 1)) continue;
            struct kl_input_coder c;
            kl_input_coder_init(&c);
            for (uint32_t f = u->first; f < u->first + u->count; f++)
                kl_input_encode(&c, &w, &ring[f % KL_KEPT_FRAMES].in[s]);
        }
    }
    return w.failed ? 0 : (size_t)(w.at - buf);
}

static void read_commands(struct kl_reader *r, struct kl_commands *set) {
    uint8_t count = kl_read_u8(r);
    unsigned room = KL_COMMANDS_ROOM;
    if (count < 1 || count > KL_COMMANDS_MAX) r->failed = true;
    for (unsigned i = 0; i < count && !r->failed; i++) {
        struct kl_command *c = &set->at[i];
        c->client = kl_read_u8(r);
        c->kind = kl_read_u8(r);
        c->len = kl_read_u8(r);
        if (c->len > KL_COMMAND_BYTES || c->len > room) r->failed = true;
        const uint8_t *data = kl_read_bytes(r, c->len);
        if (data) memcpy(c->data, data, c->len);
        room -= c->len;
    }
    set->count = count;
}

static void read_interval(struct kl_update *u) {
    u->head = kl_read_u8(&u->intervals);
    u->length = u->head & INTERVAL_LENGTH;
    u->active = kl_read_u8(&u->intervals);
    u->commands.keyframe = u->keyframe;
    if (u->head & INTERVAL_COMMANDS) read_commands(&u->intervals, &u->commands);
}

/* Checks the intervals of all frames and leaves r behind them. Commands stand only before a keyframe that is
 * in here itself. */
static void open_intervals(struct kl_update *u, struct kl_reader *r) {
    uint8_t offset = kl_read_u8(r);
    if (offset > u->first) r->failed = true;
    u->keyframe = u->first - offset;
    u->intervals = *r;
    for (uint64_t covered = u->keyframe, end = (uint64_t)u->first + u->count; covered < end && !r->failed;) {
        uint8_t head = kl_read_u8(r), length = head & INTERVAL_LENGTH;
        kl_read_u8(r);
        bool partial = covered == u->keyframe && offset > 0;
        if (length < KL_SPACING_MIN || length > KL_SPACING_MAX || (partial && offset >= length))
            r->failed = true;
        if (partial && (head & INTERVAL_COMMANDS)) r->failed = true;
        if (head & INTERVAL_COMMANDS) read_commands(r, &u->commands);
        covered += length;
    }
    if (!r->failed) read_interval(u);
}

int kl_update_open(struct kl_update *u, const uint8_t *body, size_t len) {
    struct kl_reader r;
    kl_reader_init(&r, body, len);
    memset(u, 0, sizeof *u);
    uint8_t flags = read_times(&r, UPDATE_FLAGS, &u->stamp, &u->echo, &u->hold_us);
    u->has_echo = flags & HAS_ECHO;
    u->has_schedule = flags & UPDATE_SCHEDULE;
    u->paused = flags & UPDATE_PAUSED;
    u->presence = flags & UPDATE_ABSENT ? KL_ABSENT : flags & UPDATE_RETURNING ? KL_RETURNING : KL_PRESENT;
    if ((flags & UPDATE_ABSENT) && (flags & UPDATE_RETURNING)) r.failed = true;
    u->next_sample = (uint32_t)kl_read_var(&r, UINT32_MAX);
    u->waiting_for = kl_read_u8(&r);
    u->away = kl_read_u8(&r);
    u->first = (uint32_t)kl_read_var(&r, UINT32_MAX - KL_WINDOW_FRAMES - KL_SPACING_MAX);
#define NUMBER_MAX                                                                                           \
    (UINT32_MAX - KL_WINDOW_FRAMES - KL_SPACING_MAX) /* of the first of several frames or samples */
    u->count = (uint32_t)kl_read_var(&r, KL_WINDOW_FRAMES);
    if (u->has_schedule) u->due_us = kl_read_svar(&r);
    u->at = u->first;
    if (u->count > 0) {
        open_intervals(u, &r);
        u->seats = kl_read_u8(&r);
        unsigned streams = 0;
        for (unsigned s = 0; s < KL_MAX_SEATS; s++)
            streams += u->seats >> s & 1;
        open_streams(&u->streams, &r, streams, u->count);
    }
    return r.failed || kl_reader_left(&r) > 0 ? KL_E_MALFORMED : KL_OK;
}

bool kl_update_frame(struct kl_update *u, struct kl_frame *out) {
    if (u->at == u->first + u->count) return false;
    if (u->at == u->keyframe + u->length) {
        u->keyframe = u->at;
        read_interval(u);
    }
    memset(out, 0, sizeof *out);
    out->number = u->at++;
    out->keyframe = u->keyframe;
    out->spacing = u->length;
    out->active = u->active;
    if (u->head & INTERVAL_BY_CLOCK) out->flags |= KL_FRAME_BY_CLOCK;
    if (out->number == u->keyframe) {
        out->flags |= KL_FRAME_KEY;
        if (u->head & INTERVAL_HASH) out->flags |= KL_FRAME_HASH;
        if (u->head & INTERVAL_COMMANDS) out->flags |= KL_FRAME_COMMANDS;
    }
    for (unsigned s = 0, i = 0; s < KL_MAX_SEATS; s++) {
        if (!(u->seats >> s & 1)) continue;
        kl_input_decode(&u->streams.decoder[i], &u->streams.reader[i], &out->in[s]);
        i++;
    }
    return true;
}

/* --- CTRL ------------------------------------------------------------------------------------------------
 */

size_t kl_ctrl_write(const struct kl_ctrl *c, const struct kl_input (*ring)[KL_MAX_SEATS],
                     unsigned seat_count, uint8_t *buf, size_t cap) {
    struct kl_writer w;
    kl_writer_init(&w, buf, cap);
    uint8_t flags =
        (uint8_t)((c->has_echo ? HAS_ECHO : 0) | (c->away ? CTRL_AWAY : 0) | (c->resume ? CTRL_RESUME : 0));
    write_times(&w, c->stamp, flags, c->echo, c->hold_us);
    kl_write_var(&w, c->frame_acked);
    kl_write_var(&w, c->backlog);
    kl_write_u8(&w, c->need_count);
    if (c->need_count > 0) {
        kl_write_var(&w, c->need_first);
        kl_write_bytes(&w, c->need, c->need_count);
    }
    kl_write_var(&w, c->sample_first);
    kl_write_var(&w, c->sample_count);
    if (c->sample_count > 0) kl_write_u8(&w, c->sample_late);
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
    if (c->need_count > KL_NEEDS_MAX) {
        r->failed = true;
        return;
    }
    c->need_first = (uint32_t)kl_read_var(r, NUMBER_MAX);
    const uint8_t *needs = kl_read_bytes(r, c->need_count);
    if (needs) memcpy(c->need, needs, c->need_count);
}

int kl_ctrl_open(struct kl_ctrl *c, unsigned seat_count, const uint8_t *body, size_t len) {
    struct kl_reader r;
    kl_reader_init(&r, body, len);
    memset(c, 0, sizeof *c);
    uint8_t flags = read_times(&r, CTRL_FLAGS, &c->stamp, &c->echo, &c->hold_us);
    c->has_echo = flags & HAS_ECHO;
    c->away = flags & CTRL_AWAY;
    c->resume = flags & CTRL_RESUME;
    c->frame_acked = (uint32_t)kl_read_var(&r, UINT32_MAX);
    c->backlog = (uint32_t)kl_read_var(&r, c->frame_acked);
    read_needs(c, &r);
    c->sample_first = (uint32_t)kl_read_var(&r, NUMBER_MAX);
    c->sample_count = (uint32_t)kl_read_var(&r, seat_count > 0 ? KL_WINDOW_FRAMES : 0);
    if (c->sample_count > 0) c->sample_late = kl_read_u8(&r);
    open_streams(&c->streams, &r, seat_count, c->sample_count);
    return r.failed || kl_reader_left(&r) > 0 ? KL_E_MALFORMED : KL_OK;
}

void kl_ctrl_sample(struct kl_ctrl *c, struct kl_input out[KL_MAX_SEATS]) {
    for (unsigned i = 0; i < c->streams.count; i++)
        kl_input_decode(&c->streams.decoder[i], &c->streams.reader[i], &out[i]);
}
