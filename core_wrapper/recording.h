/* recording.h - a run as a text file: what it was played with, its inputs and its hashes, for `keylock
 * bisect`.
 *
 * The first line is KL_RECORDING_MAGIC; then one of these on each, in order of frames:
 * - core NAME VERSION; content VALUE (identity.h); epoch SECONDS; option KEY=VALUE; device PORT ID
 * - memory ID OFFSET HEX: what retro_get_memory_data held at frame 0 (save RAM that was brought)
 * - input FRAME SEAT PAD [HEX]: from that frame on, until the seat's next line. PAD: its buttons,
 * hexadecimal; HEX: all of the input as PROTOCOL.md §3 codes it, where it is more than a pad
 * - hash FRAME RAM STATE: as in hash files; RAM after every frame, where there is any
 * - do FRAME WORDS: a command that changed the machine, before that frame: reset, option KEY=VALUE, save,
 * load FRAME (of its save), snapshot (all serialized) or snapshot load (and loaded that again); disk N cannot
 * be replayed
 * - flip FRAME OFFSET: a desync was planted (corrupt.h), before that frame
 * - alien FRAME WHY: before that frame the machine was changed by what is not in here
 * - end FRAMES
 * A file that broke off is good up to its last whole line. */
#ifndef KLW_RECORDING_H
#define KLW_RECORDING_H

#include <stdio.h>

#include "net/engine/input.h"
#include "core_wrapper/wrapper_api.h"

#define KL_RECORDING_MAGIC "keylock recording 1"
#define KL_RECORDING_PIECE 256 /* bytes of memory on a line */
#define KL_RECORDING_TEXT  512 /* bytes of a text in it, NUL included */

/* ---- writing ---- */

struct kl_recorder {
    FILE *file; /* NULL: nothing is recorded, every call does nothing */
    struct kl_input last[KL_MAX_SEATS];
    uint32_t frames;
    uint32_t hashed; /* frames below have been hashed */
};
/* 0, or -1 with errno. */
int kl_recorder_open(struct kl_recorder *r, const char *path);
/* "core", "content", "epoch", "option", "device"; "do", "flip", "alien" begin their value with the frame.
 * Control characters are written as blanks. */
void kl_recorder_line(struct kl_recorder *r, const char *word, const char *value);
/* "memory", in as many lines as it takes. */
void kl_recorder_memory(struct kl_recorder *r, unsigned id, const void *bytes, size_t len);
/* What the core reads in a frame; before it runs. */
void kl_recorder_frame(struct kl_recorder *r, uint32_t frame, const struct kl_input in[KL_MAX_SEATS]);
void kl_recorder_hash(struct kl_recorder *r, const struct klw_hash *h);
/* 0, or -1 where something could not be written. Harmless twice. */
int kl_recorder_close(struct kl_recorder *r);

/* ---- reading ---- */

struct kl_recorded_input {
    uint32_t frame;
    uint8_t seat;
    struct kl_input in;
};
struct kl_recorded_memory {
    uint32_t id, offset, len;
    uint8_t bytes[KL_RECORDING_PIECE];
};
/* A command, a flip or what is alien. */
struct kl_recorded_deed {
    uint32_t frame;
    enum { KL_DEED_COMMAND, KL_DEED_FLIP, KL_DEED_ALIEN } kind;
    char text[KL_RECORDING_TEXT]; /* words, offset, why */
};
struct kl_recording {
    char core[KL_RECORDING_TEXT], content[KL_RECORDING_TEXT]; /* "": not said */
    bool has_epoch;
    uint64_t epoch_s;
    char (*option)[KL_RECORDING_TEXT];
    unsigned options;
    uint8_t device_set;
    uint32_t device[KL_MAX_SEATS];
    struct kl_recorded_memory *memory;
    unsigned memories;
    struct kl_recorded_input *input;
    unsigned inputs;
    struct klw_hash *hash;
    unsigned hashes;
    struct kl_recorded_deed *deed;
    unsigned deeds;
    uint32_t frames; /* one more than the last it tells of */
    /* of kl_recording_at() */
    unsigned next;
    uint32_t at;
    struct kl_input now[KL_MAX_SEATS];
};
/* 0; 1: the file is something else; -1 with a line in err that names file and line. Free it in any case. */
int kl_recording_read(struct kl_recording *r, const char *path, char *err, size_t err_len);
/* The same from an open file; name: for err. */
int kl_recording_parse(struct kl_recording *r, FILE *f, const char *name, char *err, size_t err_len);
void kl_recording_free(struct kl_recording *r);

/* The inputs of a frame, one per seat, borrowed until the next call. Quick where frames go forward. */
const struct kl_input *kl_recording_at(struct kl_recording *r, uint32_t frame);

#endif
