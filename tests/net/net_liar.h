/* net_liar.h - for tests of the relay: a player made by hand, message by message, whose word can be made any.
 * It joins, plays and commits as a link does; it keeps no seat, heals nothing and gives nothing. */
#ifndef NET_LIAR_H
#define NET_LIAR_H

#include "net/engine/lock_client.h"
#include "tests/net/net_intruder.h"

#define LIAR_WORDS 64
#define LIAR_HELD  2048

enum lie {
    LIE_NONE,
    LIE_OTHER,  /* it reveals another hash than it committed to */
    LIE_COPY,   /* it commits to what `copies` has committed to, and says what he says */
    LIE_SILENT, /* it commits, and reveals nothing */
    LIE_MUTE,   /* it does not even commit */
};

struct liar {
    struct intruder in;
    char name[KL_NAME_MAX];
    enum lie lie;              /* from the next label on */
    const struct liar *copies; /* with LIE_COPY */
    bool welcomed, loaded, revealed;
    uint8_t room_id[KL_ROOM_ID_BYTES], client;
    struct kl_client lock;
    struct kl_held held[LIAR_HELD];
    uint64_t due_us, digest; /* of the machine, before frame: */
    uint32_t frames;
    struct liar_word {
        struct kl_msg said;
        struct kl_commit commit;
        enum lie lie;
        bool committed;
    } word[LIAR_WORDS];
    uint32_t put, got, reveal;
    unsigned overheard; /* commitments and hashes of others that came: none may */
    unsigned early;     /* REVEALs of a label that it had not committed to */
};

/* Comes into the room. By pointer: it may not move. */
void liar_enter(struct liar *l, const struct kl_hello *hello, uint16_t port);
/* What its program would do now. */
void liar_turn(struct liar *l);
void liar_leave(struct liar *l);

#endif
