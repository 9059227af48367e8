/* klr_body.h - the bodies of a recording's blocks (net/RECORD.md), written and read. START's is the room's
 * start data as it is. Errors by the writer's or reader's `failed`; a reader that does not end with its body
 * has read a malformed one. Pure; nothing is owned. */
#ifndef KL_KLR_BODY_H
#define KL_KLR_BODY_H

#include "net/engine/frames.h"
#include "net/engine/msg.h"
#include "net/engine/wire.h"
#include "net/session/digest.h"

#define KL_KLR_VERSION 1
#define KL_KLR_SMALL   4096 /* bytes of the longest body but those of START and PIECES */
#define KL_KLR_TEXT    400  /* bytes of a text, NUL included */

enum { KL_KLR_BY_CLIENT = 1, KL_KLR_HAS_EPOCH = 2 }; /* flags; HAS_EPOCH: the clock is the room's */
struct kl_klr_head {
    uint8_t version; /* as read; KL_KLR_VERSION is written */
    uint16_t rules;  /* KL_KLR_RULES: of what the wrapper makes the same on every machine */
    uint8_t flags;
    uint8_t room_id[KL_DIGEST_ROOM_ID], relay_key[32]; /* zero: no room, no relay */
    uint64_t epoch_s;
};
#define KL_KLR_RULES 1

struct kl_klr_member {
    uint8_t client, seats; /* seats: a bit each */
    char name[KL_NAME_MAX];
};
struct kl_klr_room {
    char name[KL_NAME_MAX]; /* "": no room */
    bool has_params;
    struct kl_params params;
    struct kl_facts facts; /* of identity */
    uint8_t members;
    struct kl_klr_member member[KL_MAX_CLIENTS];
    char match[KL_KLR_TEXT]; /* the maker's own words for the match; "" */
};

/* Facts of recordings alone. SYSTEM: of the machine that wrote it; it is no part of the identity. CHALLENGE,
 * "NAME FPS_UHZ SECONDS": the room is a token of that challenge, good for so long from the epoch on. */
#define KL_KLR_SYSTEM    "system"
#define KL_KLR_CHALLENGE "challenge"

/* A state that frames from `frame` on began with, by its bytes before packing. */
struct kl_klr_snapshot {
    uint32_t frame, bytes;
    uint8_t hash[KL_SNAPSHOT_HASH];
    struct kl_digest before; /* of the frames below */
};

/* The hashes after frame `label`; `clients`: a bit for each that said them. */
struct kl_klr_hash {
    uint32_t label;
    uint16_t clients;
    uint8_t has; /* KL_HASH_RAM, KL_HASH_STATE, KL_HASH_PICTURE */
    uint64_t ram, state, picture;
};

enum kl_klr_event_kind {
    KL_KLR_FLIP = 1,   /* a planted desync: u64 offset, u8 1: in the state */
    KL_KLR_ALIEN,      /* something changed the machine that is not in the file: text */
    KL_KLR_OPTION,     /* an option has another value here than in START: "KEY=VALUE" */
    KL_KLR_SERIALIZED, /* the machine was serialized for the room: u8 1: and took its own state */
    KL_KLR_CUT,        /* frames from this one on no longer count: the relay lost them */
    KL_KLR_SEATS,      /* a client has these seats, and this name; none: it plays no more */
    KL_KLR_LOADED,     /* a client goes on with the state of a snapshot */
    KL_KLR_REPORT      /* a client says that something was wrong: its own words */
};
struct kl_klr_event {
    uint8_t kind;
    uint32_t frame; /* before it runs */
    uint64_t offset;
    bool yes; /* in the state; took its own */
    uint8_t client, seats;
    uint32_t snapshot; /* its frame */
    char text[KL_KLR_TEXT];
};

/* A client's own signature under the hashes that it has said. */
struct kl_klr_sign {
    uint8_t client, seat_pub[KL_SEAT_KEY_BYTES];
    struct kl_sign sign;
};

struct kl_klr_end {
    uint32_t frames; /* the newest frame of the file + 1 */
    char why[KL_KLR_TEXT];
};

void kl_klr_write_head(struct kl_writer *w, const struct kl_klr_head *h);
void kl_klr_read_head(struct kl_reader *r, struct kl_klr_head *h);
void kl_klr_write_room(struct kl_writer *w, const struct kl_klr_room *m);
void kl_klr_read_room(struct kl_reader *r, struct kl_klr_room *m);
void kl_klr_write_snapshot(struct kl_writer *w, const struct kl_klr_snapshot *s);
void kl_klr_read_snapshot(struct kl_reader *r, struct kl_klr_snapshot *s);
void kl_klr_write_digest(struct kl_writer *w, const struct kl_digest *d);
void kl_klr_read_digest(struct kl_reader *r, struct kl_digest *d);
void kl_klr_write_hash(struct kl_writer *w, const struct kl_klr_hash *h);
void kl_klr_read_hash(struct kl_reader *r, struct kl_klr_hash *h);
/* Kinds that are not known have a frame alone. */
void kl_klr_write_event(struct kl_writer *w, const struct kl_klr_event *e);
void kl_klr_read_event(struct kl_reader *r, struct kl_klr_event *e);
void kl_klr_write_seal(struct kl_writer *w, const struct kl_proof *p);
void kl_klr_read_seal(struct kl_reader *r, struct kl_proof *p);
void kl_klr_write_sign(struct kl_writer *w, const struct kl_klr_sign *s);
void kl_klr_read_sign(struct kl_reader *r, struct kl_klr_sign *s);
void kl_klr_write_end(struct kl_writer *w, const struct kl_klr_end *e);
void kl_klr_read_end(struct kl_reader *r, struct kl_klr_end *e);

/* PIECES: pieces (frames.h), each after its u16 length, in order of frames. */
const uint8_t *kl_klr_read_piece(struct kl_reader *r,
                                 size_t *len); /* borrowed; NULL: no more, or r->failed */

#endif
