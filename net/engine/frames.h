/* frames.h - a run of closed frames as bytes: the tail of an UPDATE (net/PROTOCOL.md §5, frames).
 *
 * One coding for everything that carries closed frames: UPDATE, HISTORY, the journal and the digests. Writing
 * the same frames gives the same bytes, always: runs are as long as they can be, and the writer has no
 * choice. Pure; nothing is owned: readers borrow the bytes they read. */
#ifndef KL_FRAMES_H
#define KL_FRAMES_H

#include "net/engine/input.h"
#include "net/engine/lock_wire.h"

/* All of a frame but its number and inputs: as in struct kl_frame. */
struct kl_frame_head {
    uint32_t keyframe;
    uint8_t spacing, flags, active;
};
static inline struct kl_frame_head kl_frame_head_of(const struct kl_frame *f) {
    return (struct kl_frame_head){f->keyframe, (uint8_t)f->spacing, f->flags, f->active};
}

/* Frames in compact form: that of frame f is head[f % places]; inputs are by seat, and in it by f. */
struct kl_frame_columns {
    const struct kl_frame_head *head;
    uint32_t places;
    struct kl_inputs in[KL_MAX_SEATS];
};

/* The frames to write: frame f is ring[f % places], or in columns; its commands are in one of the sets. */
struct kl_frames_from {
    const struct kl_frame *ring;
    uint32_t places;
    const struct kl_commands *sets;
    unsigned set_count;
    const struct kl_frame_columns *columns; /* NULL: they are in the ring */
    const uint8_t *coded; /* NULL, or the frames as kl_frames_write() has written them: then no more counts */
    size_t coded_len;
    bool for_digest; /* as digests have them: chat is left out */
};

/* Writes frames [first, first + count), count >= 1. Sets w->failed if they do not fit, or if a frame has
 * commands that are in none of the sets. */
void kl_frames_write(struct kl_writer *w, const struct kl_frames_from *from, uint32_t first, uint32_t count);

/* Checks a run of `count` frames, 1..KL_WINDOW_FRAMES, and leaves r behind it; sets r->failed if it is
 * malformed. The bytes are borrowed while frames are read. */
void kl_frames_open(struct kl_frames *f, struct kl_reader *r, uint32_t first, uint32_t count);
/* The next frame; false at the end. f->commands holds those of the keyframe handed out last, if it has
 * some. */
bool kl_frames_next(struct kl_frames *f, struct kl_frame *out);

/* Checks `streams` streams of `count` inputs each and moves r past them; sets r->failed if they are
 * malformed. They are read from input `known` on, known <= count. */
void kl_streams_open(struct kl_streams *s, struct kl_reader *r, unsigned streams, uint32_t count,
                     uint32_t known);

/* A piece: u32 first, u8 count (1..KL_PIECE_FRAMES), then that run. HISTORY messages, the journal's records
 * and blocks of kl_history hold pieces. */
#define KL_PIECE_FRAMES 64
#define KL_PIECE_BYTES  4000 /* bytes of the longest piece */

/* The largest piece of [first, first + most) that cap (<= KL_PIECE_BYTES counts) holds: its length, and in
 * *count its frames. 0 if not even one frame fits. */
size_t kl_piece_write(const struct kl_frames_from *from, uint32_t first, uint32_t most, uint8_t *buf,
                      size_t cap, uint32_t *count);
/* 0 or KL_E_MALFORMED; bytes past the piece are malformed. f->first and f->count are its frames. */
int kl_piece_open(struct kl_frames *f, const uint8_t *piece, size_t len);

/* As kl_piece_open(), but only for kl_frames_next_key(): inputs are neither checked nor read. Many times
 * faster. */
int kl_piece_skim(struct kl_frames *f, const uint8_t *piece, size_t len);
/* The next keyframe, without its inputs; false if no more intervals begin. f->commands as above. A run is
 * read by this or by kl_frames_next(), not by both. */
bool kl_frames_next_key(struct kl_frames *f, struct kl_frame *out);

#endif
