/* link_state.h - what the parts of a link share: link.c (the frontend's side), link_thread.c (the network's),
 * link_inbox.c (what the relay's messages do). Only inside net/transport.
 *
 * A field belongs to the mutex, or to the network thread alone; the two are kept apart below. */
#ifndef KL_LINK_STATE_H
#define KL_LINK_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "enet_common.h"
#include "link.h"

#define KL_START_BYTES_MAX (16U * 1024 * 1024)
#define KL_LINK_HASHES     KL_WINDOW_FRAMES /* that wait to be sent; kl_link_plan() sees that they fit */
#define KL_HELD_FRAMES     16384  /* about four and a half minutes at 60 fps: how long a menu may stay open */
#define KL_AWAY_US         150000 /* a frontend that has not called for so long does not run */
#define KL_LINK_ORDERS     8
#define KL_LINK_NOTICES    16
#define KL_LINK_HOST_MAX   256

struct kl_link_shared {
    struct kl_link_status status; /* but for .lock, which is taken fresh from the lock client */
    bool joined;                  /* WELCOME has come: lock is initialised */
    struct kl_client lock;
    uint64_t events, seen; /* things kl_link_wait() waits for: happened, and known to the caller */
    uint64_t wake_us;      /* when the thread gets up by itself */

    struct kl_hash hash[KL_LINK_HASHES];
    uint32_t hash_put, hash_got;
    struct kl_order order[KL_LINK_ORDERS]; /* commands that wait to be sent */
    uint32_t order_put, order_got;
    uint64_t planned_us; /* when the frontend last asked for a plan */
    char notice[KL_LINK_NOTICES][KL_TEXT_MAX];
    uint32_t notice_put, notice_got;

    uint8_t *given; /* start data of the host, on its way up */
    size_t given_len;
    bool is_given;
    uint8_t *start; /* start data to begin with; may be `given` */
    size_t start_len;

    struct kl_facts ready_facts;
    bool ready_wanted; /* READY is to be sent */

    bool leaving;
    uint64_t leave_by_us;
};

struct kl_link {
    /* set before the thread starts, constant from then on */
    char host[KL_LINK_HOST_MAX];
    uint16_t port;
    struct kl_hello hello;
    int kick_fd;
    pthread_t thread;

    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct kl_held *held;         /* KL_HELD_FRAMES of them, for the lock client; under mutex */
    struct kl_link_shared shared; /* under mutex */

    /* the network thread's own */
    ENetHost *enet;
    ENetPeer *peer;
    bool connected, over;
    uint32_t session, counter;
    struct kl_replay replay;
    size_t uploaded;
    struct kl_sent sent;
    bool said_bye;
};

/* Under the mutex: the caller of kl_link_wait() has something to look at. */
void kl_link_happened(struct kl_link *l);
/* Under the mutex: it is over. The first reason stays. */
void kl_link_end(struct kl_link *l, const char *reason);

/* Under the mutex: acts on one message of the relay. */
void kl_link_take_message(struct kl_link *l, const struct kl_msg *m);
/* Under the mutex: feeds the body of an UPDATE. */
void kl_link_take_update(struct kl_link *l, const uint8_t *body, size_t len, uint64_t now_us);

/* The network thread; arg is the link. */
void *kl_link_thread(void *arg);

#endif
