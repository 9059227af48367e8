/* recording.h - a run as a text file: its core, content, inputs and hashes, for `keylock bisect`.
 *
 * The first line is KL_RECORDING_MAGIC. Then each line is one of these, in order of frames:
 * - core NAME VERSION; content VALUE (identity.h); epoch SECONDS; option KEY=VALUE; device PORT ID
 * - memory ID OFFSET HEX: the bytes of retro_get_memory_data at frame 0 (save RAM that was brought)
 * - input FRAME SEAT PAD [HEX]: counts from that frame to the seat's next line. PAD: the buttons,
 *   hexadecimal; HEX: all of the input as PROTOCOL.md §3 codes it, if it is more than a pad
 * - hash FRAME RAM STATE: as in hash files; RAM after every frame, if there is any
 * - do FRAME WORDS: a command that changed the machine before that frame: reset, option KEY=VALUE, save,
 *   load FRAME (of its save), snapshot (all serialized), snapshot load (all also loaded it); disk N cannot
 *   be replayed
 * - flip FRAME OFFSET: a planted desync (corrupt.h), before that frame
 * - alien FRAME WHY: something outside this file changed the machine before that frame
 * - end FRAMES
 * A file that broke off is good up to its last whole line. */
#ifndef KLW_RECORDING_H
#define KLW_RECORDING_H

#include <stdio.h>

#include "net/engine/input.h"
#include "core_wrapper/abi/wrapper_api.h"

#define KL_RECORDING_MAGIC "keylock recording 1"
#define KL_RECORDING_PIECE 256 /* bytes of memory on a line */
#define KL_RECORDING_TEXT  512 /* bytes of a text, NUL included */

/* --- writing --- */

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
/* Writes "memory" in as many lines as the bytes need. */
void kl_recorder_memory(struct kl_recorder *r, unsigned id, const void *bytes, size_t len);
/* Records the inputs of a frame, before the frame runs. */
void kl_recorder_frame(struct kl_recorder *r, uint32_t frame, const struct kl_input in[KL_MAX_SEATS]);
void kl_recorder_hash(struct kl_recorder *r, const struct klw_hash *h);
/* Returns 0, or -1 if a write failed. A second call does nothing. */
int kl_recorder_close(struct kl_recorder *r);

/* --- reading --- */

struct kl_recorded_input {
    uint32_t frame;
    uint8_t seat;
    struct kl_input in;
};
struct kl_recorded_memory {
    uint32_t id, offset, len;
    uint8_t bytes[KL_RECORDING_PIECE];
};
/* A line do, flip or alien. */
struct kl_recorded_deed {
    uint32_t frame;
    enum { KL_DEED_COMMAND, KL_DEED_FLIP, KL_DEED_ALIEN } kind;
    char text[KL_RECORDING_TEXT]; /* words, offset, why */
};
struct kl_recording {
    char core[KL_RECORDING_TEXT], content[KL_RECORDING_TEXT]; /* "": no such line */
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
    uint32_t frames; /* number of the last frame in the file + 1 */
    /* state of kl_recording_at() */
    unsigned next;
    uint32_t at;
    struct kl_input now[KL_MAX_SEATS];
};
/* Returns 0; 1: the file is no recording; -1 with a line in err that names file and line. Free r in any
 * case. */
int kl_recording_read(struct kl_recording *r, const char *path, char *err, size_t err_len);
/* kl_recording_read() from an open file; name: for err. */
int kl_recording_parse(struct kl_recording *r, FILE *f, const char *name, char *err, size_t err_len);
void kl_recording_free(struct kl_recording *r);

/* The inputs of a frame, one for each seat, borrowed until the next call. Quick if frames go forward. */
const struct kl_input *kl_recording_at(struct kl_recording *r, uint32_t frame);

#endif
