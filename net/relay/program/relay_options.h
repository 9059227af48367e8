/* relay_options.h - keylock-relay's command line and configuration file, from one table
 * (net/platform/options.h). */
#ifndef KL_RELAY_OPTIONS_H
#define KL_RELAY_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "net/platform/address.h"
#include "net/platform/options.h"
#include "net/relay/fleet/redis.h"
#include "net/relay/log/relay_log.h"
#include "net/relay/loop/server.h"

struct kl_relay_options {
    char config[KL_RELAY_PATH]; /* the file that was read; "": none */
    struct kl_server_config server;
    enum kl_log_level log;
    unsigned log_lines;  /* kl_log_set_lines() */
    bool hash_addresses; /* kl_log_hash_addresses() */
    bool console, check;
    struct kl_address http; /* struct kl_window_config */
    bool http_behind_tls;
    char http_matches[KL_RELAY_PATH];
    char control[KL_RELAY_PATH]; /* kl_control_folder() */
    unsigned shards;             /* processes; 0: as many as there are processors */
    struct kl_redis_place fleet; /* host "": no fleet */
    char fleet_login[KL_RELAY_PATH];
};

enum kl_relay_action { KL_RELAY_RUN, KL_RELAY_CHECK, KL_RELAY_HELP, KL_RELAY_VERSION, KL_RELAY_BAD };

/* Fills out with the defaults, the options of the file that argv names by --config, and the options of argv,
 * which count before the file's. KL_RELAY_BAD: one line for people is in err: the option or the file's line,
 * the expected and the actual value. */
enum kl_relay_action kl_relay_options_parse(struct kl_relay_options *out, int argc, char **argv, char *err,
                                            size_t err_len);
void kl_relay_help(FILE *out);

extern const struct kl_row kl_relay_rows[];
/* The defaults, until the next call. */
const struct kl_relay_options *kl_relay_usual(void);

#endif
