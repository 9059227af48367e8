/* server.h - the relay's event loop: joins the network (net/transport/hub.h) to the rooms (lobby.h). */
#ifndef KL_SERVER_H
#define KL_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/session/url.h"
#include "net/transport/hub.h"
#include "net/transport/shards.h"
#include "net/relay/lobby/lobby.h"

#define KL_RELAY_PATH 512

/* An operator's lines, read from a descriptor that does not block. */
struct kl_server_operator {
    int fd; /* -1: there is none, or it has ended, which read() sets; listening() may set it */
    /* Called when fd can be read. network: the counts as they are now. False: the relay shall end. */
    bool (*read)(struct kl_server_operator *self, struct kl_lobby *l, const struct kl_hub_stats *network,
                 uint64_t now_us);
};

#define KL_SERVER_OPERATORS 2

/* How many of something took up to kl_server_upto_us[i], and longer than the one before; the last: longer. */
#define KL_SERVER_UPTO 8
extern const uint32_t kl_server_upto_us[KL_SERVER_UPTO];
struct kl_server_times {
    uint64_t count[KL_SERVER_UPTO + 1], sum_us;
};
void kl_server_time(struct kl_server_times *t, uint64_t us);

/* Looks at the relay, for statistics. */
#define KL_SERVER_LOOK_US 250000
struct kl_server_onlooker {
    /* Called every KL_SERVER_LOOK_US, between two turns of the loop. */
    void (*look)(struct kl_server_onlooker *self, const struct kl_lobby *l,
                 const struct kl_hub_stats *network, uint64_t now_us);
    struct kl_server_times turn;   /* of the loop, without its rest */
    struct kl_server_times waited; /* players' datagrams: since they came to this machine */
};

struct kl_server_config {
    char bind[64];
    uint16_t port;
    unsigned rooms, seats;
    struct kl_hub_limits limits; /* but for `peers`, which follows from rooms and seats */
    char state[KL_RELAY_PATH];   /* folder of the relay's key; "": kl_server_state() */
    bool insecure_lan;
    char journal[KL_RELAY_PATH];             /* folder; "": STATE/journal/PORT; "off": none is kept */
    unsigned journal_mib, journal_total_mib; /* of one room; of all */
    char record[KL_RELAY_PATH];              /* folder of kept recordings; "": none is kept */
    unsigned record_mib, record_days;        /* of all kept recordings */
    bool record_chat;                        /* chat is in them */
    bool no_delete;                          /* players may not delete those of their matches */
    struct kl_lobby_limits lobby;            /* but for peers, rooms and seats */
    char host[KL_URL_HOST_MAX + 1];          /* of this relay, for players' links; "": not known */
    struct kl_server_operator *operators[KL_SERVER_OPERATORS]; /* NULL: none */
    struct kl_server_onlooker *onlooker;                       /* NULL: none */
    /* This process is one of several, whose parent has bound the socket and holds the journal's folder. NULL:
     * it is alone. */
    struct kl_shards *shards;
    int socket;             /* with shards */
    struct kl_fleet *fleet; /* with shards; NULL: this relay knows no others */
    bool again;             /* another process was here before */
    /* NULL, or called once the relay listens, before it serves */
    void (*listening)(void *ctx, uint16_t port, const char *fingerprint);
    void *ctx;
};

void kl_server_defaults(struct kl_server_config *out);
/* The default folder of the relay's key: $XDG_STATE_HOME/keylock-relay, else ~/.local/state/keylock-relay.
 * -1: neither is known. */
int kl_server_state(char *out, size_t cap);

/* The folder of the relay's key; -1 with one line in err. And of its journal: "off": none is kept. */
int kl_server_key_folder(const struct kl_server_config *config, char out[KL_RELAY_PATH], char *err,
                         size_t err_len);
#define KL_SERVER_JOURNAL (KL_RELAY_PATH + 32)
void kl_server_journal_folder(const struct kl_server_config *config, const char *state, uint16_t port,
                              char out[KL_SERVER_JOURNAL]);

/* Listens and serves until `quit` (of kl_wake_at_quit(), or any wake-up) can be read, or the operator ends
 * it. Then it ends all rooms, tells all clients and returns 0. With a journal and KL_QUIT_SERVICE the rooms
 * stay in the journal instead, and the clients look for the next relay at once. -1 if it could not listen:
 * one line for people is in err. */
int kl_server_run(const struct kl_server_config *config, int quit, char *err, size_t err_len);

#endif
