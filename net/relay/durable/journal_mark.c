#include <string.h>

#include "net/engine/lock_relay_return.h"
#include "net/engine/wire.h"
#include "net/relay/durable/journal_private.h"
#include "net/relay/room/lobby_room.h"

#define MARK_FRAMES 1024 /* at least, but where they do not fit */
#define GROUP_BYTES                                                                                          \
    (2 * KL_PIECE_BYTES * 16) /* that are kept free for the next pieces, whatever is in them */

/* --- writing --- */

bool kl_journal_mark_due(const struct kl_lobby_room *r) {
    const struct kl_journal_marked *m = &r->journal.marked;
    uint32_t whole = r->past.digest.end;
    return r->past.history.first <= m->chain.end && whole >= m->chain.end + MARK_FRAMES;
}

/* Frames gathered until they make a piece. */
struct group {
    struct kl_frame frame[KL_PIECE_FRAMES];
    struct kl_commands commands[KL_PIECE_FRAMES];
    uint32_t first, next;
};

static void write_pieces(struct kl_writer *w, struct group *g) {
    struct kl_frames_from from = {g->frame, KL_PIECE_FRAMES, g->commands, KL_PIECE_FRAMES, NULL};
    uint8_t piece[KL_PIECE_BYTES];
    uint32_t count;
    while (g->first < g->next && !w->failed) {
        size_t len = kl_piece_write(&from, g->first, g->next - g->first, piece, sizeof piece, &count);
        if (len == 0) w->failed = true;
        kl_write_u16(w, (uint16_t)len);
        kl_write_bytes(w, piece, len);
        g->first += count;
    }
}

static void gather(struct group *g, const struct kl_frame *f, const struct kl_commands *commands) {
    g->frame[f->number % KL_PIECE_FRAMES] = *f;
    g->commands[f->number % KL_PIECE_FRAMES].count = 0;
    if (f->flags & KL_FRAME_COMMANDS) g->commands[f->number % KL_PIECE_FRAMES] = *commands;
    g->next = f->number + 1;
}

/* The whole interval of which this is the last frame. */
static void digest_interval(struct kl_digest *c, const struct kl_lobby_room *r, const struct group *g,
                            const struct kl_frame *last) {
    static uint8_t bytes[KL_INTERVAL_BYTES];
    struct kl_frames_from from = {g->frame, KL_PIECE_FRAMES, g->commands, KL_PIECE_FRAMES, NULL};
    struct kl_writer w;
    kl_writer_init(&w, bytes, sizeof bytes);
    kl_frames_write(&w, &from, last->keyframe, last->spacing);
    kl_digest_next(c, r->id, bytes, (size_t)(w.at - bytes), g->next);
}

/* Whole intervals from c->end on, which c moves behind. */
static void write_frames(struct kl_writer *w, const struct kl_lobby_room *r, struct kl_digest *c) {
    static struct kl_history_cursor cursor;
    static struct group g;
    struct kl_frame f;
    uint32_t from = c->end;
    g.first = g.next = from;
    kl_history_seek(&cursor, &r->past.history, from);
    while ((size_t)(w->end - w->at) > GROUP_BYTES && kl_history_next(&cursor, &f)) {
        gather(&g, &f, &cursor.frames.commands);
        if (g.next < f.keyframe + f.spacing) continue;
        digest_interval(c, r, &g, &f);
        if (c->end >= from + MARK_FRAMES) break;
        if (g.next - g.first + KL_SPACING_MAX > KL_PIECE_FRAMES) write_pieces(w, &g);
    }
    g.next = c->end;
    write_pieces(w, &g);
}

size_t kl_journal_mark_write(const struct kl_lobby_room *r, uint8_t *buf, struct kl_journal_marked *m) {
    static uint8_t pieces[KL_JOURNAL_MARK_BYTES - 64];
    const struct kl_journal_room *j = &r->journal;
    struct kl_writer w, of_pieces;
    *m = j->marked;
    kl_writer_init(&of_pieces, pieces, sizeof pieces);
    write_frames(&of_pieces, r, &m->chain);
    if (m->next_frames <= m->chain.end) {
        m->at = m->next_at;
        m->next_at = j->bytes;
        m->next_frames = j->frames;
    }
    kl_writer_init(&w, buf, KL_JOURNAL_MARK_BYTES);
    kl_write_u64(&w, m->at);
    kl_write_u32(&w, j->marked.chain.end);
    kl_write_u32(&w, j->marked.chain.intervals);
    kl_write_u16(&w, (uint16_t)(m->chain.intervals - j->marked.chain.intervals));
    kl_write_bytes(&w, m->chain.digest, sizeof m->chain.digest);
    kl_write_bytes(&w, pieces, (size_t)(of_pieces.at - pieces));
    return of_pieces.failed || w.failed || m->chain.end == j->marked.chain.end ? 0 : (size_t)(w.at - buf);
}

/* --- reading --- */

struct mark {
    uint64_t at;
    uint32_t first, interval, intervals;
    const uint8_t *digest;
    struct kl_reader pieces;
};

static bool open_mark(struct mark *m, const uint8_t *body, size_t len) {
    struct kl_reader r;
    kl_reader_init(&r, body, len);
    m->at = kl_read_u64(&r);
    m->first = kl_read_u32(&r);
    m->interval = kl_read_u32(&r);
    m->intervals = kl_read_u16(&r);
    m->digest = kl_read_bytes(&r, KL_DIGEST);
    m->pieces = r;
    return !r.failed;
}

static const uint8_t *next_piece(struct mark *m, size_t *len) {
    *len = kl_reader_left(&m->pieces) ? kl_read_u16(&m->pieces) : 0;
    const uint8_t *piece = *len ? kl_read_bytes(&m->pieces, *len) : NULL;
    return piece && *len >= 5 ? piece : NULL;
}

bool kl_journal_mark_look(const uint8_t *body, size_t len, struct kl_journal_marked *m) {
    struct mark mark;
    const uint8_t *piece;
    if (!open_mark(&mark, body, len) || mark.first != m->chain.end || mark.interval != m->chain.intervals)
        return false;
    while ((piece = next_piece(&mark, &len)))
        m->chain.end += piece[4];
    m->chain.intervals += mark.intervals;
    memcpy(m->chain.digest, mark.digest, sizeof m->chain.digest);
    m->at = mark.at;
    return !mark.pieces.failed;
}

/* The intervals that begin in this piece; negative: they do not follow. */
static int adopt_intervals(struct kl_lobby_room *r, const uint8_t *piece, size_t len) {
    struct kl_frames frames;
    struct kl_frame key;
    int count = 0;
    if (kl_piece_skim(&frames, piece, len) != KL_OK) return -1;
    for (; kl_frames_next_key(&frames, &key); count++) {
        const struct kl_commands *commands = key.flags & KL_FRAME_COMMANDS ? &frames.commands : NULL;
        if (kl_lock_adopt_interval(&r->lock, &key, commands) != KL_OK) return -1;
    }
    return count;
}

bool kl_journal_mark_adopt(struct kl_lobby_room *r, const uint8_t *body, size_t len) {
    struct mark m;
    const uint8_t *piece;
    uint32_t count = 0;
    if (!open_mark(&m, body, len)) return false;
    while ((piece = next_piece(&m, &len))) {
        int more = adopt_intervals(r, piece, len);
        if (more < 0 || !kl_lobby_past_adopt(r, piece, len, (uint32_t)more)) return false;
        count += (uint32_t)more;
    }
    struct kl_digest c = {.intervals = m.interval + m.intervals, .end = r->past.history.next};
    memcpy(c.digest, m.digest, sizeof c.digest);
    kl_lobby_past_adopt_digest(r, &c);
    return count == m.intervals && r->past.history.next == r->lock.next_close &&
           r->past.history.intervals == c.intervals;
}
