/* recording.h - one machine's run as a recording (net/RECORD.md): its core, content, options, inputs and
 * hashes, for `keylock bisect`, `verify` and `replay`.
 *
 * The file grows once a second, by a thread (spool.h), which packs it at the end. One that broke off, or is
 * damaged, is good up to its last whole block; a packed one up to its last whole packed frame. */
#ifndef KLW_RECORDING_H
#define KLW_RECORDING_H

#include <stdio.h>

#include "core_wrapper/abi/wrapper_api.h"
#include "core_wrapper/record/spool.h"
#include "core_wrapper/start/start.h"
#include "net/record/klr.h"
#include "net/record/klr_body.h"
#include "net/record/pieces.h"

#define KL_RECORDING_TEXT KL_KLR_TEXT /* bytes of a text, NUL included */
#define KL_RECORDING_LOCK ".lock"     /* behind the name of a challenge's run: locked while it is played */

/* --- writing --- */

struct kl_recorder {
    bool on;   /* false: nothing is recorded, every call does nothing */
    bool chat; /* is recorded: of the caller, before the head */
    struct kl_spool spool;
    struct kl_klr_place place;
    struct kl_pieces *pieces;    /* heap */
    struct kl_commands commands; /* before the next frame, if its keyframe is that one */
    uint16_t client;             /* a bit: whose hashes these are */
    uint32_t frames;             /* the newest frame + 1 */
    uint32_t written, digested;  /* frames below are in the file; are under a DIGEST there */
};
/* r: closed; its bytes do not matter. 0, or -1 with errno: kl_spool_open(), no memory. kl_spool_failed()
 * tells later of a file that cannot be written. The head comes next, before all others. */
int kl_recorder_open(struct kl_recorder *r, const char *path);
/* client: of the machine in its room (KL_WATCHER: its hashes name nobody), or 0. start: the room's start
 * data, may be NULL. */
void kl_recorder_head(struct kl_recorder *r, unsigned client, const struct kl_klr_head *head,
                      const struct kl_klr_room *room, const void *start, size_t start_len);
/* The run begins with a state. */
void kl_recorder_snapshot(struct kl_recorder *r, const struct kl_klr_snapshot *s);
/* The relay's newest signature: of frames that are in the file, or still come. */
void kl_recorder_seal(struct kl_recorder *r, const struct kl_proof *p);
/* Before that frame. Control characters of a text are written as blanks. */
void kl_recorder_event(struct kl_recorder *r, const struct kl_klr_event *e);
/* The room's commands before the frame that comes next. */
void kl_recorder_commands(struct kl_recorder *r, const struct kl_commands *c);
/* A frame, before it runs. */
void kl_recorder_frame(struct kl_recorder *r, const struct kl_frame *f);
void kl_recorder_hash(struct kl_recorder *r, const struct klw_hash *h);
/* Writes the end; nothing is recorded any more. Waits for no disk. The thread packs the file (klr_pack.h). */
void kl_recorder_finish(struct kl_recorder *r);
/* The same, and waits for the disk. Returns 0, or -1 if a write failed. A second call does nothing. */
int kl_recorder_close(struct kl_recorder *r);
/* A line of a file of hashes: FRAME RAM STATE, "-" for a hash that is not there. */
void kl_hash_line(struct kl_spool *s, const struct klw_hash *h);

/* --- reading --- */

/* A fact of a client's: its own machine's; the host's may be another. */
#define KL_RECORDING_SYSTEM KL_KLR_SYSTEM

struct kl_recorded_input { /* counts from that frame to the seat's next one */
    uint32_t frame;
    uint8_t seat;
    struct kl_input in;
};
/* Something that changed the machine before that frame. */
struct kl_recorded_deed {
    uint32_t frame;
    unsigned order; /* in the file */
    enum {
        KL_DEED_COMMAND, /* reset, option KEY=VALUE, save, load FRAME (of its save), snapshot (all
                            serialized), snapshot load (all also loaded it); disk N cannot be done again */
        KL_DEED_FLIP,    /* a planted desync (desync.h): OFFSET [state] */
        KL_DEED_ALIEN    /* the reason why this file does not hold all: WHY */
    } kind;
    char text[KL_RECORDING_TEXT];
};
struct kl_recorded_seats { /* a client has these seats from that frame on, a bit each */
    uint32_t frame;
    uint8_t client, seats;
    char name[KL_NAME_MAX]; /* of the client, while it has seats */
};
struct kl_recorded_active { /* the seats whose players are there, a bit each, from that frame on */
    uint32_t frame;
    uint8_t seats;
};
struct kl_recorded_report { /* a player's own words on what happened before that frame */
    uint32_t frame;
    uint8_t client;
    char text[KL_COMMAND_BYTES + 1];
};
/* The room's commands before that frame, in a piece of the file's bytes. */
struct kl_recorded_commands {
    uint32_t frame;
    const uint8_t *piece;
    size_t len;
};
struct kl_recording {
    uint8_t *bytes; /* of the file, unpacked */
    size_t len;
    size_t packed;          /* bytes of the file, if it is packed; 0: it is not */
    unsigned packed_frames; /* of zstd, whole */
    struct kl_klr_head head;
    struct kl_klr_room room;
    char core[KL_RECORDING_TEXT], content[KL_RECORDING_TEXT]; /* of the room's facts; "": none */
    char (*option)[KL_RECORDING_TEXT];                        /* KEY=VALUE at the run's beginning */
    unsigned options;
    uint8_t device_set;
    uint32_t device[KL_MAX_SEATS];
    struct kl_start_memory memory[KL_START_MEMORIES]; /* at frame 0; in bytes */
    unsigned memories;
    struct kl_start_file *file; /* in the save folder at frame 0, the host's; their bytes are in bytes */
    unsigned files;
    char system[16];      /* of the machine that wrote it; of a relay's, of the host; "": not said */
    struct kl_mask mask;  /* of the room: a relay's states are less these bytes, */
    uint32_t mask_from;   /* from this label on */
    const uint8_t *start; /* the start data, in bytes; NULL: none */
    size_t start_len;
    struct kl_start_state begun; /* of the start data: the match began with it; in bytes. begun.bytes 0: it
                                    began at power-on */
    struct kl_mask_said heard;   /* of a mask that comes in pieces */
    char name[KL_MAX_CLIENTS][KL_NAME_MAX]; /* the last one of each client; "": there was none */
    struct kl_recorded_input *input;
    unsigned inputs;
    struct kl_klr_hash *hash; /* in order of labels; in a relay's, of each the one that most clients said */
    unsigned hashes;
    struct kl_klr_hash *other; /* in a relay's, what other clients said; as in the file */
    unsigned others;
    uint32_t
        *mark; /* frames before which all machines were hashed, in order; a run without a room has none */
    unsigned marks;
    struct {
        uint32_t label;
        uint16_t clients;          /* that said something of it; 0: there was none yet */
    } said;                        /* read last, in a relay's */
    struct kl_recorded_deed *deed; /* in order of frames */
    unsigned deeds;
    struct kl_recorded_seats *seats; /* as in the file */
    unsigned seatings;
    struct kl_recorded_active *active; /* in order of frames */
    unsigned actives;
    struct kl_recorded_report *report; /* as in the file */
    unsigned reports;
    struct kl_serialized {
        uint32_t frame;
        bool yes; /* and loaded */
    } * serialized;
    unsigned serializeds;
    struct kl_recorded_commands *command; /* in order of frames */
    unsigned commands;
    uint32_t first, frames; /* of the frames in the file: the first, the last + 1 */
    uint32_t whole;         /* those from `first` to below are all there; behind a later SNAPSHOT some lack */
    struct kl_digest digest;  /* of the last DIGEST; `end` 0: none */
    struct kl_proof seal;     /* of the last SEAL; `end` 0: none; as it stands, unchecked */
    struct kl_klr_sign *sign; /* as in the file, unchecked */
    unsigned signs;
    unsigned blocks;
    bool ended; /* it has an END, which says why: */
    char end[KL_RECORDING_TEXT];
    char damage[160]; /* "", or where it is torn or damaged, and how: what follows is not read */
    /* state of kl_recording_at() */
    unsigned next;
    uint32_t at;
    struct kl_input now[KL_MAX_SEATS];
};
/* Returns 0, also with r->damage; 1: the file is no recording; -1 with a line in err: it cannot be read, or
 * is of a later version. Free r in any case. */
int kl_recording_read(struct kl_recording *r, const char *path, char *err, size_t err_len);
/* kl_recording_read() of these bytes, from malloc, which are r's, and may be packed; name: for err. */
int kl_recording_parse(struct kl_recording *r, void *bytes, size_t len, const char *name, char *err,
                       size_t err_len);
void kl_recording_free(struct kl_recording *r);

/* The inputs of a frame, one for each seat, borrowed until the next call. Quick if frames go forward. */
const struct kl_input *kl_recording_at(struct kl_recording *r, uint32_t frame);

/* The room's commands before that frame. False: it has none. */
bool kl_recording_commands(const struct kl_recording *r, uint32_t frame, struct kl_commands *out);

/* recording_seal.c: "" if the relay that HEAD names has signed the frames below r->seal.end, in this match;
 * else why not. A file may name any relay: compare the fingerprint of r->head.relay_key. */
const char *kl_recording_sealed(const struct kl_recording *r);

/* The newest SIGN of a client whose hash is in a relay's recording. */
enum kl_signed {
    KL_SIGNED_NOT,
    KL_SIGNED_FALSE, /* the signature is not of the key that it names, or of another hash than the file's */
    KL_SIGNED_ONE,   /* its last hash is in the file; of those before some are not, or others */
    KL_SIGNED_ALL    /* the file has all of its hashes below that one, and it, or the SIGN alone has it */
};
/* *out: that SIGN; NULL with KL_SIGNED_NOT. */
enum kl_signed kl_recording_signed(const struct kl_recording *r, unsigned client,
                                   const struct kl_klr_sign **out);

/* recording_text.c: as lines of text. Returns 0, or -1 if `out` cannot be written. */
int kl_recording_text(struct kl_recording *r, FILE *out);

#endif
