#include <string.h>

#include "net/engine/lock_relay_return.h"
#include "net/engine/wire.h"
#include "net/relay/durable/journal_private.h"
#include "net/relay/room/lobby_room.h"

#define MARK_FRAMES 1024 /* at least, but where they do not fit */
#define GROUP_BYTES                                                                                          \
    (2 * KL_PIECE_BYTES * 16) /* that are kept free for the next pieces, whatever is in them */

/* --- writing --- */

/* The end of the newest whole interval. */
static uint32_t whole_frames(const struct kl_lobby_past *p) {
    return p->tags ? p->tag_end[(p->tags - 1) % KL_TAGS_KEPT] : 0;
}

bool kl_journal_mark_due(const struct kl_lobby_room *r) {
    const struct kl_journal_marked *m = &r->journal.marked;
    return r->past.history.first <= m->frames && whole_frames(&r->past) >= m->frames + MARK_FRAMES;
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

/* Whole intervals from m->frames on, which m moves behind. */
static void write_frames(struct kl_writer *w, const struct kl_history *h, struct kl_journal_marked *m) {
    static struct kl_history_cursor c;
    static struct group g;
    struct kl_frame f;
    uint32_t from = m->frames;
    g.first = g.next = from;
    kl_history_seek(&c, h, from);
    while ((size_t)(w->end - w->at) > GROUP_BYTES && kl_history_next(&c, &f)) {
        gather(&g, &f, &c.frames.commands);
        if (g.next < f.keyframe + f.spacing) continue;
        m->frames = g.next;
        m->intervals++;
        if (m->frames >= from + MARK_FRAMES) break;
        if (g.next - g.first + KL_SPACING_MAX > KL_PIECE_FRAMES) write_pieces(w, &g);
    }
    g.next = m->frames;
    write_pieces(w, &g);
}

/* Those tags of the intervals from `first` on that are still there. */
static void write_tags(struct kl_writer *w, const struct kl_lobby_past *p, uint32_t first, uint32_t end) {
    uint32_t from = first + KL_TAGS_KEPT < p->tags ? p->tags - KL_TAGS_KEPT : first;
    if (from > end) from = end;
    kl_write_u16(w, (uint16_t)(end - from));
    for (; from < end; from++)
        kl_write_bytes(w, p->tag[from % KL_TAGS_KEPT], KL_TAG);
}

size_t kl_journal_mark_write(const struct kl_lobby_room *r, uint8_t *buf, struct kl_journal_marked *m) {
    static uint8_t pieces[KL_JOURNAL_MARK_BYTES - 32 - MARK_FRAMES * KL_TAG];
    const struct kl_journal_room *j = &r->journal;
    struct kl_writer w, of_pieces;
    *m = j->marked;
    kl_writer_init(&of_pieces, pieces, sizeof pieces);
    write_frames(&of_pieces, &r->past.history, m);
    if (m->next_frames <= m->frames) {
        m->at = m->next_at;
        m->next_at = j->bytes;
        m->next_frames = j->frames;
    }
    kl_writer_init(&w, buf, KL_JOURNAL_MARK_BYTES);
    kl_write_u64(&w, m->at);
    kl_write_u32(&w, j->marked.frames);
    kl_write_u32(&w, j->marked.intervals);
    kl_write_u16(&w, (uint16_t)(m->intervals - j->marked.intervals));
    write_tags(&w, &r->past, j->marked.intervals, m->intervals);
    kl_write_bytes(&w, pieces, (size_t)(of_pieces.at - pieces));
    return of_pieces.failed || w.failed || m->frames == j->marked.frames ? 0 : (size_t)(w.at - buf);
}

/* --- reading --- */

struct mark {
    uint64_t at;
    uint32_t first, interval, intervals, tags;
    const uint8_t *tag;
    struct kl_reader pieces;
};

static bool open_mark(struct mark *m, const uint8_t *body, size_t len) {
    struct kl_reader r;
    kl_reader_init(&r, body, len);
    m->at = kl_read_u64(&r);
    m->first = kl_read_u32(&r);
    m->interval = kl_read_u32(&r);
    m->intervals = kl_read_u16(&r);
    m->tags = kl_read_u16(&r);
    m->tag = kl_read_bytes(&r, (size_t)m->tags * KL_TAG);
    m->pieces = r;
    return !r.failed && m->tags <= m->intervals;
}

static const uint8_t *next_piece(struct mark *m, size_t *len) {
    *len = kl_reader_left(&m->pieces) ? kl_read_u16(&m->pieces) : 0;
    const uint8_t *piece = *len ? kl_read_bytes(&m->pieces, *len) : NULL;
    return piece && *len >= 5 ? piece : NULL;
}

bool kl_journal_mark_look(const uint8_t *body, size_t len, struct kl_journal_marked *m) {
    struct mark mark;
    const uint8_t *piece;
    if (!open_mark(&mark, body, len) || mark.first != m->frames || mark.interval != m->intervals)
        return false;
    while ((piece = next_piece(&mark, &len)))
        m->frames += piece[4];
    m->intervals += mark.intervals;
    m->at = mark.at;
    return !mark.pieces.failed;
}

/* The intervals that begin in this piece; negative: they do not follow. */
static int adopt_intervals(struct kl_lobby_room *r, const struct mark *m, uint32_t *at, const uint8_t *piece,
                           size_t len) {
    struct kl_frames frames;
    struct kl_frame key;
    int count = 0;
    if (kl_piece_skim(&frames, piece, len) != KL_OK) return -1;
    for (; kl_frames_next_key(&frames, &key); ++*at, count++) {
        const struct kl_commands *commands = key.flags & KL_FRAME_COMMANDS ? &frames.commands : NULL;
        if (kl_lock_adopt_interval(&r->lock, &key, commands) != KL_OK) return -1;
        uint32_t without = m->intervals - m->tags;
        if (*at >= without && *at < m->intervals)
            kl_lobby_past_adopt_tag(r, m->interval + *at, m->tag + (size_t)(*at - without) * KL_TAG,
                                    key.number + key.spacing);
    }
    return count;
}

bool kl_journal_mark_adopt(struct kl_lobby_room *r, const uint8_t *body, size_t len) {
    struct mark m;
    const uint8_t *piece;
    uint32_t at = 0;
    if (!open_mark(&m, body, len)) return false;
    while ((piece = next_piece(&m, &len))) {
        int count = adopt_intervals(r, &m, &at, piece, len);
        if (count < 0 || !kl_lobby_past_adopt(r, piece, len, (uint32_t)count)) return false;
    }
    return at == m.intervals && r->past.history.next == r->lock.next_close &&
           r->past.history.intervals == r->past.tags;
}
