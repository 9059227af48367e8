/* link_state.h - shared by link.c (the frontend's side) and link_thread.c (the network's). Only inside
 * net/transport and tests/bench. A field belongs to the mutex, or to the network thread alone. */
#ifndef KL_LINK_STATE_H
#define KL_LINK_STATE_H

#include "net/client/participant.h"
#include "net/platform/thread.h"
#include "net/platform/address.h"
#include "net/transport/enet_feed.h"
#include "net/transport/link.h"

#define KL_HELD_FRAMES   16384 /* a menu may stay open for some 4.5 minutes at 60 fps */
#define KL_LINK_HOST_MAX 256

struct kl_link {
    /* set before the thread starts, constant from then on */
    char host[KL_LINK_HOST_MAX];
    uint16_t port;
    char password[KL_DOOR_PASSWORD_MAX + 1]; /* of the room; "": none */
    void (*keep)(void *ctx, const struct kl_welcome *w, const char *relays);
    int (*trust)(void *ctx, const uint8_t pub[32], char *err, size_t err_len);
    void *ctx;
    int kick_fd;
    struct kl_voice_box *voice; /* NULL: none */
    struct kl_thread thread;

    struct kl_mutex mutex;
    struct kl_cond changed;
    /* under the mutex; of the participant, `dial` and `leaving` are written by one thread each */
    struct kl_held *held; /* KL_HELD_FRAMES of them, for the participant */
    struct kl_participant participant;
    uint64_t announced;  /* participant.events, as signalled */
    bool held_by_caller; /* the frontend's thread alone reads and writes it: kl_link_hold() is not nested */

    /* the network thread's own */
    int socket;
    struct kl_enet_sink sink;
    struct kl_enet_feed enet;
    struct kl_addresses names;  /* the addresses of `host`, in the order in which they are tried */
    unsigned tried;             /* that have got this handshake's INIT */
    struct kl_address relay;    /* the one of them that answered first; port 0: none has */
    struct kl_addresses others; /* of relays that may go on with the room */
    struct kl_address found;    /* the one that answered the probe; port 0: none has */
    uint32_t number;            /* participant.dial.number of the fields below */
    ENetPeer *peer;             /* NULL: none */
    bool has_keys;
    struct kl_sealer sealer;
    struct kl_opener opener;
    struct kl_sent sent[KL_ENET_CHANNELS];
};

static inline void kl_link_lock(struct kl_link *l) {
    kl_mutex_lock(&l->mutex);
}
/* Wakes kl_link_wait() if the participant had an event. */
static inline void kl_link_unlock(struct kl_link *l) {
    bool news = l->announced != l->participant.events;
    l->announced = l->participant.events;
    if (news) kl_cond_wake(&l->changed);
    kl_mutex_unlock(&l->mutex);
}

/* kl_link_open() without its thread: for the thread below, and for a program that turns
 * many links in one thread. */
int kl_link_make(struct kl_link **out, const struct kl_link_config *config, char *err, size_t err_len);

/* Its ENet host, once the sink is open. False: no memory or no socket. */
bool kl_link_open_enet(struct kl_link *l);
/* The network thread; arg is the link. */
void kl_link_thread(void *arg);
/* Its parts. Looks the relay up and begins the handshake; false if the participant ended before. */
bool kl_link_begin(struct kl_link *l);
/* Takes what has come, and sends what is due. */
void kl_link_turn(struct kl_link *l);

#endif
