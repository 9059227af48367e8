/* pieces.h - frames gathered for the next PIECES of a recording, and the digest over them. net/RECORD.md.
 *
 * Frames come in order. Whole intervals are coded as they come; take what is there as often as a file is to
 * grow. Chat stays out of the body, unless it is wanted; it is under no digest. Pure; some 300 KB: the caller
 * allocates it. */
#ifndef KL_PIECES_H
#define KL_PIECES_H

#include "net/engine/frames.h"
#include "net/session/digest.h"

#define KL_PIECES_BYTES 131072 /* of a body; from half of it on kl_pieces_due() is true */

struct kl_pieces {
    uint8_t room_id[KL_DIGEST_ROOM_ID];
    struct kl_digest chain;                 /* of the whole intervals, if it is known */
    bool chat;                              /* stays in the body */
    bool knows;                             /* chain: from a room's frame 0, or from a snapshot's */
    uint32_t coded, next;                   /* frames below are in the body, or taken; the next one to come */
    uint32_t whole;                         /* whole intervals end there */
    size_t used;                            /* bytes of the body */
    struct kl_frame frame[KL_PIECE_FRAMES]; /* by number */
    struct kl_commands commands[KL_PIECE_FRAMES];
    uint8_t body[KL_PIECES_BYTES];
};

/* before: of the frames below the first one to come, frame before->end. */
void kl_pieces_init(struct kl_pieces *p, const uint8_t room_id[KL_DIGEST_ROOM_ID],
                    const struct kl_digest *before, bool chat);

/* The next frame, and the commands before it (NULL: it has none, whatever its flags say; then there are no
 * more digests). A frame that is not the next one begins anew there, without digests. False: no place, take
 * the body first. */
bool kl_pieces_add(struct kl_pieces *p, const struct kl_frame *f, const struct kl_commands *commands);
/* The body grows so large that it is to be taken. */
bool kl_pieces_due(const struct kl_pieces *p);
/* Bytes of the body, which is p->body until the next call; 0: there is nothing. all: also the frames of an
 * interval under way; the last body of a file, or before a cut, may end so. */
size_t kl_pieces_take(struct kl_pieces *p, bool all);

#endif
