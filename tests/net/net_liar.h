/* net_liar.h - for tests of the relay: a player made by hand, message by message, whose word can be made any.
 * It joins and plays as a link does; it keeps no seat, heals nothing and gives nothing. */
#ifndef NET_LIAR_H
#define NET_LIAR_H

#include "net/engine/lock_client.h"
#include "tests/net/net_intruder.h"

#define LIAR_WORDS 64
#define LIAR_HELD  2048

enum lie {
    LIE_NONE,
    LIE_LATE,   /* it says each hash LIAR_LATE_US after it has it */
    LIE_SILENT, /* it says none */
};
#define LIAR_LATE_US 600000

struct liar {
    struct intruder in;
    char name[KL_NAME_MAX];
    enum lie lie; /* from the next label on */
    bool welcomed, loaded;
    struct kl_client lock;
    struct kl_held held[LIAR_HELD];
    uint64_t due_us, digest; /* of the machine, before frame: */
    uint32_t frames;
    struct liar_word {
        struct kl_msg said;
        enum lie lie;
        uint64_t at_us; /* the liar has it since then */
    } word[LIAR_WORDS];
    uint32_t put, got;
    unsigned overheard; /* hashes of others that came: none may */
    unsigned early;     /* VERDICTs and offers of a label that it had still to say, and time for */
    unsigned verdicts, differing;
};

/* Comes into the room. By pointer: it may not move. */
void liar_enter(struct liar *l, const struct kl_hello *hello, uint16_t port);
/* Acts as its program would now. */
void liar_turn(struct liar *l);
void liar_leave(struct liar *l);

#endif
