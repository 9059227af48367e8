#include "net/engine/frames.h"

#include <string.h>

#include "net/engine/engine.h"
#include "net/engine/command.h"

enum { INTERVAL_HASH = 0x80, INTERVAL_BY_CLOCK = 0x40, INTERVAL_COMMANDS = 0x20, INTERVAL_LENGTH = 0x1f };
#define NUMBER_MAX (UINT32_MAX - KL_WINDOW_FRAMES - KL_SPACING_MAX) /* of the first of several frames */

/* --- writing --- */

static const struct kl_frame *frame_at(const struct kl_frames_from *from, uint32_t f) {
    return &from->ring[f % from->places];
}

static struct kl_frame_head head_at(const struct kl_frames_from *from, uint32_t f) {
    const struct kl_frame_columns *c = from->columns;
    return c ? c->head[f % c->places] : kl_frame_head_of(frame_at(from, f));
}

/* An untouched seat is all zeros: most seats of most rooms. */
static bool is_neutral(const struct kl_frames_from *from, unsigned seat, uint32_t first, uint32_t count) {
    static const struct kl_input neutral;
    for (uint32_t f = first; f < first + count; f++) {
        const struct kl_input *in = &frame_at(from, f)->in[seat];
        if (memcmp(in, &neutral, sizeof neutral) != 0 && !kl_input_equal(in, &neutral)) return false;
    }
    return true;
}

static uint8_t seats_used(const struct kl_frames_from *from, uint32_t first, uint32_t count) {
    const struct kl_frame_columns *c = from->columns;
    uint8_t seats = 0;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        bool neutral = !c             ? is_neutral(from, s, first, count)
                       : c->in[s].pad ? kl_inputs_neutral(&c->in[s], first, count)
                                      : true;
        if (!neutral) seats |= (uint8_t)(1u << s);
    }
    return seats;
}

static bool is_written(const struct kl_frames_from *from, const struct kl_command *c) {
    return !from->for_digest || c->kind != KL_COMMAND_CHAT;
}

/* Those before a marked frame; NULL: they are gone. */
static const struct kl_commands *commands_at(const struct kl_frames_from *from, uint32_t keyframe) {
    for (unsigned i = 0; i < from->set_count; i++)
        if (from->sets[i].count && from->sets[i].keyframe == keyframe) return &from->sets[i];
    return NULL;
}

static uint8_t count_commands(const struct kl_frames_from *from, const struct kl_commands *set) {
    uint8_t count = 0;
    for (unsigned k = 0; k < set->count; k++)
        count = (uint8_t)(count + is_written(from, &set->at[k]));
    return count;
}

static uint8_t interval_head(const struct kl_frame_head *f) {
    uint8_t head = f->spacing;
    if (f->flags & KL_FRAME_HASH) head |= INTERVAL_HASH;
    if (f->flags & KL_FRAME_BY_CLOCK) head |= INTERVAL_BY_CLOCK;
    if (f->flags & KL_FRAME_COMMANDS) head |= INTERVAL_COMMANDS;
    return head;
}

static void write_intervals(struct kl_writer *w, const struct kl_frames_from *from, uint32_t first,
                            uint32_t count) {
    struct kl_frame_head f = head_at(from, first);
    kl_write_u8(w, (uint8_t)(first - f.keyframe));
    for (uint32_t at = first; at < first + count; at = f.keyframe + f.spacing) {
        f = head_at(from, at);
        bool marked = f.flags & KL_FRAME_COMMANDS;
        const struct kl_commands *set = marked ? commands_at(from, at) : NULL;
        bool any = set && count_commands(from, set);
        w->failed |= marked && !set;
        kl_write_u8(w, interval_head(&f) & (uint8_t) ~(any ? 0 : INTERVAL_COMMANDS));
        kl_write_u8(w, f.active);
        if (any) {
            kl_write_u8(w, count_commands(from, set));
            for (unsigned k = 0; k < set->count; k++) {
                if (!is_written(from, &set->at[k])) continue;
                kl_write_u8(w, set->at[k].client);
                kl_write_u8(w, set->at[k].kind);
                kl_write_u8(w, set->at[k].len);
                kl_write_bytes(w, set->at[k].data, set->at[k].len);
            }
        }
    }
}

void kl_frames_write(struct kl_writer *w, const struct kl_frames_from *from, uint32_t first, uint32_t count) {
    uint8_t seats = seats_used(from, first, count);
    write_intervals(w, from, first, count);
    kl_write_u8(w, seats);
    for (KL_EACH(s, seats)) {
        if (from->columns) {
            kl_inputs_write(w, &from->columns->in[s], first, count);
            continue;
        }
        struct kl_input_coder c;
        kl_input_coder_init(&c);
        for (uint32_t f = first; f < first + count; f++)
            kl_input_encode(&c, w, &frame_at(from, f)->in[s]);
    }
}

/* --- reading --- */

/* A run may not reach past the end. */
void kl_streams_open(struct kl_streams *s, struct kl_reader *r, unsigned streams, uint32_t count,
                     uint32_t known) {
    s->count = streams;
    s->devices = 0;
    for (unsigned i = 0; i < streams; i++) {
        kl_input_decoder_init(&s->decoder[i]);
        kl_input_skip(&s->decoder[i], r, known);
        s->reader[i] = *r;
        struct kl_input_decoder d = s->decoder[i];
        kl_input_skip(&d, r, count - known);
        if (d.run_left > 0) r->failed = true;
        s->devices |= (uint8_t)(d.devices << i);
    }
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

static void read_interval(struct kl_frames *f) {
    f->head = kl_read_u8(&f->intervals);
    f->length = f->head & INTERVAL_LENGTH;
    f->active = kl_read_u8(&f->intervals);
    f->commands.keyframe = f->keyframe;
    if (f->head & INTERVAL_COMMANDS) read_commands(&f->intervals, &f->commands);
}

/* Checks the intervals of all frames and leaves r behind them. Commands stand only before a keyframe that is
 * in here itself. */
static void open_intervals(struct kl_frames *f, struct kl_reader *r) {
    uint8_t offset = kl_read_u8(r);
    if (offset > f->first) r->failed = true;
    f->keyframe = f->first - offset;
    f->intervals = *r;
    for (uint64_t covered = f->keyframe, end = (uint64_t)f->first + f->count; covered < end && !r->failed;) {
        uint8_t head = kl_read_u8(r), length = head & INTERVAL_LENGTH;
        kl_read_u8(r);
        bool partial = covered == f->keyframe && offset > 0;
        if (length < KL_SPACING_MIN || length > KL_SPACING_MAX || (partial && offset >= length))
            r->failed = true;
        if (partial && (head & INTERVAL_COMMANDS)) r->failed = true;
        if (head & INTERVAL_COMMANDS) read_commands(r, &f->commands);
        covered += length;
    }
    if (!r->failed) read_interval(f);
}

void kl_frames_open(struct kl_frames *f, struct kl_reader *r, uint32_t first, uint32_t count) {
    f->first = f->at = first;
    f->count = count;
    open_intervals(f, r);
    f->seats = kl_read_u8(r);
    unsigned streams = 0;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        streams += f->seats >> s & 1;
    kl_streams_open(&f->streams, r, streams, count, 0);
}

/* All but its inputs. */
static void begin_frame(const struct kl_frames *f, struct kl_frame *out) {
    out->flags = 0;
    out->number = f->at;
    out->keyframe = f->keyframe;
    out->spacing = f->length;
    out->active = f->active;
    if (f->head & INTERVAL_BY_CLOCK) out->flags |= KL_FRAME_BY_CLOCK;
    if (out->number == f->keyframe) {
        out->flags |= KL_FRAME_KEY;
        if (f->head & INTERVAL_HASH) out->flags |= KL_FRAME_HASH;
        if (f->head & INTERVAL_COMMANDS) out->flags |= KL_FRAME_COMMANDS;
    }
}

static void next_interval(struct kl_frames *f) {
    f->keyframe = f->at;
    read_interval(f);
}

bool kl_frames_next(struct kl_frames *f, struct kl_frame *out) {
    if (f->at == f->first + f->count) return false;
    if (f->at == f->keyframe + f->length) next_interval(f);
    begin_frame(f, out);
    memset(out->in, 0, sizeof out->in);
    f->at++;
    for (unsigned s = 0, i = 0; s < KL_MAX_SEATS; s++) {
        if (!(f->seats >> s & 1)) continue;
        kl_input_decode(&f->streams.decoder[i], &f->streams.reader[i], &out->in[s]);
        i++;
    }
    return true;
}

bool kl_frames_next_key(struct kl_frames *f, struct kl_frame *out) {
    uint32_t end = f->first + f->count;
    if (f->at > f->keyframe) { /* of the interval under way it is behind us */
        f->at = f->keyframe + f->length;
        if (f->at >= end)
            f->at = f->keyframe = end, f->length = 0;
        else
            next_interval(f);
    }
    if (f->at == end) return false;
    begin_frame(f, out);
    f->at++;
    return true;
}

/* --- pieces --- */

size_t kl_piece_write(const struct kl_frames_from *from, uint32_t first, uint32_t most, uint8_t *buf,
                      size_t cap, uint32_t *count) {
    if (cap > KL_PIECE_BYTES) cap = KL_PIECE_BYTES;
    uint32_t n = most < KL_PIECE_FRAMES ? most : KL_PIECE_FRAMES;
    for (; n > 0; n /= 2) {
        struct kl_writer w = kl_writer(buf, cap);
        kl_write_u32(&w, first);
        kl_write_u8(&w, (uint8_t)n);
        kl_frames_write(&w, from, first, n);
        *count = n;
        if (!w.failed) return (size_t)(w.at - buf);
    }
    return 0;
}

/* Its first five bytes. */
static int open_piece(struct kl_frames *f, struct kl_reader *r, const uint8_t *piece, size_t len) {
    *r = kl_reader(piece, len);
    memset(f, 0, sizeof *f);
    f->first = f->at = kl_read_u32(r);
    f->count = kl_read_u8(r);
    bool good = f->first <= NUMBER_MAX && f->count >= 1 && f->count <= KL_PIECE_FRAMES;
    return good && len <= KL_PIECE_BYTES ? KL_OK : KL_E_MALFORMED;
}

int kl_piece_open(struct kl_frames *f, const uint8_t *piece, size_t len) {
    struct kl_reader r;
    if (open_piece(f, &r, piece, len) != KL_OK) return KL_E_MALFORMED;
    kl_frames_open(f, &r, f->first, f->count);
    return r.failed || kl_reader_left(&r) > 0 ? KL_E_MALFORMED : KL_OK;
}

int kl_piece_skim(struct kl_frames *f, const uint8_t *piece, size_t len) {
    struct kl_reader r;
    if (open_piece(f, &r, piece, len) != KL_OK) return KL_E_MALFORMED;
    open_intervals(f, &r);
    return r.failed ? KL_E_MALFORMED : KL_OK;
}
