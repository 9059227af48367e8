/* relay_options.h - keylock-relay's command line. */
#ifndef KL_RELAY_OPTIONS_H
#define KL_RELAY_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/transport/hub.h"
#include "net/relay/lobby.h"
#include "net/relay/relay_log.h"

struct kl_relay_options {
    const char *bind;
    uint16_t port;
    unsigned rooms, seats;
    struct kl_hub_limits limits; /* but for `peers`, which follows from rooms and seats */
    const char *state;           /* folder of the relay's key; NULL: kl_relay_state() */
    bool insecure_lan;
    const char *journal;          /* folder; NULL: none is kept */
    unsigned journal_mib;         /* of one room */
    struct kl_lobby_limits lobby; /* but for peers, rooms and seats */
    enum kl_log_level log;
    unsigned log_lines; /* kl_log_set_lines() */
    bool console;
    /* NULL, or called once the relay listens, before it serves; no option sets it */
    void (*listening)(void *ctx, uint16_t port, const char *fingerprint);
    void *ctx;
};

enum kl_relay_action { KL_RELAY_RUN, KL_RELAY_HELP, KL_RELAY_VERSION, KL_RELAY_BAD };

void kl_relay_options_defaults(struct kl_relay_options *out);
/* Fills out with the defaults and the options of argv. KL_RELAY_BAD: one line for people is in err. */
enum kl_relay_action kl_relay_options_parse(struct kl_relay_options *out, int argc, char **argv, char *err,
                                            size_t err_len);
extern const char kl_relay_help[];

/* The default folder of the relay's key: $XDG_STATE_HOME/keylock-relay, else ~/.local/state/keylock-relay.
 * -1: neither is known. */
int kl_relay_state(char *out, size_t cap);

#endif
