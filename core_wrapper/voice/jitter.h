/* jitter.h - one speaker's packets: in their order, each at its time. README.md "Time".
 *
 * Pure: the time is an argument, in kl_now_us() microseconds. A unit is 20 ms, and packets are numbered by
 * units. */
#ifndef KLW_JITTER_H
#define KLW_JITTER_H

#include <stdbool.h>
#include <stdint.h>

#include "net/engine/voice.h"

#define KL_JITTER_UNIT_US 20000
#define KL_JITTER_SLOTS   32  /* units that can wait */
#define KL_JITTER_SEEN    150 /* packets whose lateness counts: 3 s of speech */
#define KL_JITTER_MIN_US  10000
#define KL_JITTER_MAX_US  120000

enum kl_jitter_state { KL_JITTER_IDLE, KL_JITTER_HELD /* a spurt has come, not begun */, KL_JITTER_PLAYING };

/* All zero: nothing has come yet. */
struct kl_jitter {
    enum kl_jitter_state state;
    struct kl_jitter_slot {
        bool used;
        uint64_t number;
        struct kl_voice voice;
    } slot[KL_JITTER_SLOTS];
    uint64_t newest;                 /* numbers without wrapping; 0: none has come */
    uint64_t next;                   /* to be played */
    uint64_t ended;                  /* the newest number that was the last of a spurt */
    unsigned missing;                /* units concealed in a row while no packet was there */
    unsigned longer;                 /* units beyond the first that a packet of this speaker has */
    int64_t seen_us[KL_JITTER_SEEN]; /* arrival less number times unit */
    unsigned seen_count, seen_at;
    int64_t base_us;    /* the least of seen_us: the quickest packet's */
    uint32_t target_us; /* how long the quickest packet waits */
    int32_t lost;       /* the share of the units that did not come lately; 65536 is all of them */
    bool lossy, waits;  /* copies are of use; they are waited for */
};

/* A packet has come, and is copied. Packets that are too late or came before are dropped. A number far from
 * the others begins anew. */
void kl_jitter_put(struct kl_jitter *j, const struct kl_voice *v, uint64_t now_us);

enum kl_jitter_next {
    KL_JITTER_SILENCE, /* nobody speaks */
    KL_JITTER_PACKET,  /* out is to be played */
    KL_JITTER_LOST,    /* a packet is lost, and out is the one after it, which may have its copy */
    KL_JITTER_GAP,     /* a unit is not there: conceal it */
};
/* The unit to be played now; called once for each unit of time while somebody speaks, oftener in silence. */
enum kl_jitter_next kl_jitter_take(struct kl_jitter *j, uint64_t now_us, struct kl_voice *out);
/* The packet just taken was longer than a unit, by so many; 0: it was not. */
void kl_jitter_longer(struct kl_jitter *j, unsigned units);
/* How much later than wanted the next unit plays, if it plays now. At most 0 in silence. */
int64_t kl_jitter_excess_us(const struct kl_jitter *j, uint64_t now_us);

#endif
