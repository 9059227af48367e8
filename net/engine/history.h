/* history.h - every closed frame of a room since the first kept one, coded, readable from any frame.
 * net/PROTOCOL.md §5 and §7.
 *
 * Pure, no heap: the caller gives memory in blocks of KL_HISTORY_BLOCK bytes (aligned as malloc does it) and
 * gets them back. Frames are held in pieces (frames.h), the newest ones uncoded until they fill a piece.
 *
 *     for each frame that kl_lock_take() hands out:
 *         while ((result = kl_history_append(h, &frame, commands)) == KL_E_SPACE)
 *             kl_history_give(h, malloc(KL_HISTORY_BLOCK)); // or kl_history_give_pads(), .._devices()
 *         if (result == 1)
 *             n = kl_history_interval(h, bytes, sizeof bytes); // the bytes under the interval's digest */
#ifndef KL_HISTORY_H
#define KL_HISTORY_H

#include "net/engine/command_store.h"
#include "net/engine/frames.h"

#define KL_HISTORY_BLOCK 16384
#define KL_INTERVAL_BYTES                                                                                    \
    24576 /* of the longest interval: 30 frames, 8 seats, everything in motion, commands */

struct kl_history_block {
    struct kl_history_block *next;
    uint32_t first, end; /* frames [first, end) */
    uint32_t used;       /* bytes of the pieces */
    uint32_t packed;     /* the same as the caller has packed them; 0: they are not packed */
    uint8_t bytes[];     /* u16 length and piece, again and again */
};
#define KL_HISTORY_BLOCK_BYTES (KL_HISTORY_BLOCK - sizeof(struct kl_history_block))

/* The part of devices in frames that are in no piece yet. */
struct kl_history_devices {
    struct kl_devices of[KL_MAX_SEATS][KL_PIECE_FRAMES];
};
#define KL_HISTORY_SETS 4 /* a piece ends before one more */

struct kl_history {
    uint32_t first, next; /* frames [first, next) are held */
    uint32_t sealed;      /* those below are in blocks */
    bool begun;           /* some frame has come, and none was adopted since */
    uint32_t intervals;   /* complete ones since frame 0 (or since kl_history_init's) */
    struct kl_history_block *oldest, *newest, *spare;
    /* by number: [sealed, next), and before them the newest interval's */
    struct kl_frame_head open[KL_PIECE_FRAMES];
    struct kl_pad *pad[KL_MAX_SEATS];          /* KL_PIECE_FRAMES of them; NULL: all are neutral */
    uint8_t touched;                           /* seats that have such memory */
    struct kl_history_devices *devices;        /* NULL: pads gave all */
    struct kl_packed_set set[KL_HISTORY_SETS]; /* the newest commands, a ring */
    unsigned sets;                             /* so many were put there */
    /* The caller may put a packed copy in the place of a block before the newest; then nothing may be cut.
     * This gives the copy's pieces, good until the next call; NULL: it cannot be read. */
    const uint8_t *(*unpack)(void *ctx, const struct kl_history_block *b);
    void *ctx;
};

/* Begins at `first`, the keyframe of interval number `interval` (0, 0: the room's beginning). */
void kl_history_init(struct kl_history *h, uint32_t first, uint32_t interval);

/* True if an append that seals a piece needs a block; kl_history_give() gives one (NULL: nothing happens). */
bool kl_history_wants_block(const struct kl_history *h);
void kl_history_give(struct kl_history *h, void *block);

/* The seats whose inputs have been neutral so far, and are not in this frame: each needs memory for
 * KL_PIECE_FRAMES pads, once. It stays the caller's, and kl_history_init() forgets it. */
uint8_t kl_history_wants_pads(const struct kl_history *h, const struct kl_frame *f);
void kl_history_give_pads(struct kl_history *h, unsigned seat, struct kl_pad *pads);

/* The same of memory for devices: true if an append of this frame needs it. */
bool kl_history_wants_devices(const struct kl_history *h, const struct kl_frame *f);
void kl_history_give_devices(struct kl_history *h, struct kl_history_devices *devices);

/* Takes the oldest block away with its frames (h->first rises); NULL if there is none. To free everything,
 * call it until it gives NULL. */
void *kl_history_drop(struct kl_history *h);

/* Appends the next frame, and the commands before it (NULL: it has none). 1 if it is the last of its
 * interval, else 0; or, with nothing changed: KL_E_WINDOW (not frame h->next, or not the interval's next),
 * KL_E_MALFORMED (a frame with KL_FRAME_COMMANDS and none given), KL_E_SPACE (it needs a block, or
 * memory for pads or devices). */
int kl_history_append(struct kl_history *h, const struct kl_frame *f, const struct kl_commands *commands);

/* Takes a piece as it is, unread: it begins at frame h->next, and no appended frame waits for a piece.
 * `intervals`: of those that begin in it. The next append must be of a keyframe. KL_E_WINDOW, KL_E_MALFORMED
 * (too long), KL_E_SPACE as above. */
int kl_history_adopt(struct kl_history *h, const uint8_t *piece, size_t len, uint32_t intervals);

/* Forgets all frames from this keyframe on, which is the first of that interval: h->first <= keyframe <=
 * h->next. The next append must be of it. */
void kl_history_cut(struct kl_history *h, uint32_t keyframe, uint32_t interval);

/* The bytes of the interval that the last append completed, as kl_frames_write() has them from its keyframe
 * on for a digest. Returns their length; 0 if the last append completed no
 * interval. cap >= KL_INTERVAL_BYTES. The interval's number is h->intervals - 1; its keyframe is h->next less
 * its length in frames. */
size_t kl_history_interval(const struct kl_history *h, uint8_t *buf, size_t cap);

/* The same for the present part of the newest interval; *keyframe: its first frame. 0: there are no
 * frames. */
size_t kl_history_so_far(const struct kl_history *h, uint8_t *buf, size_t cap, uint32_t *keyframe);

/* The piece that holds frame `from`: it may begin before. Its length (<= KL_PIECE_BYTES), and in *end the
 * frame after its last; 0 if `from` is not held. cap >= KL_PIECE_BYTES. */
size_t kl_history_read(const struct kl_history *h, uint32_t from, uint8_t *buf, size_t cap, uint32_t *end);

/* Reads frame by frame, from `at` on. buf holds the piece under way. */
struct kl_history_cursor {
    const struct kl_history *history;
    uint32_t at; /* the next frame */
    bool open;
    struct kl_frames frames; /* frames.commands: of the keyframe handed out last, if it has some */
    uint8_t buf[KL_PIECE_BYTES];
};
void kl_history_seek(struct kl_history_cursor *c, const struct kl_history *h, uint32_t from);
/* False at the end, or if the history does not hold the frame. */
bool kl_history_next(struct kl_history_cursor *c, struct kl_frame *out);

#endif
