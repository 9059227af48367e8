#include "relay_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "../engine/engine.h"
#include "../transport/link.h"

#define ROOMS_DEFAULT       256
#define ROOMS_MAX           4096
#define PER_ADDRESS_DEFAULT 64 /* a LAN party behind one NAT; 64 addresses to fill the relay */
#define PER_ADDRESS_MAX     4095

const char kl_relay_help[] =
    "Usage: keylock-relay [OPTION]...\n"
    "Closes the frames of Keylock rooms: the one machine that all players' machines talk to.\n"
    "\n"
    "  --bind ADDR        IPv4 address to listen on (0.0.0.0: every one)\n"
    "  --port N           UDP port (55435); 0 takes any free one, see the `listening' line\n"
    "  --rooms N          rooms at once (256)\n"
    "  --max-seats N      seats of one room, 1 to 8 (8)\n"
    "  --per-address N    connections from one address (64)\n"
    "  --log LEVEL        error, info (default) or debug; to standard error\n"
    "  --console          take the operator's lines from standard input (try `help'); answers go to standard "
    "output\n"
    "  --help             this text\n"
    "  --version          version and protocol\n"
    "\n"
    "A room is made by the first client who names it and ends with the last. SIGTERM or SIGINT ends the "
    "relay:\n"
    "its clients are told. Exit status: 0 after a signal, 1 where it could not listen, 2 for a bad option.\n";

enum {
    OPT_BIND = 1,
    OPT_PORT,
    OPT_ROOMS,
    OPT_SEATS,
    OPT_PER_ADDRESS,
    OPT_LOG,
    OPT_CONSOLE,
    OPT_HELP,
    OPT_VERSION
};

static const struct option long_options[] = {
    {"bind", required_argument, NULL, OPT_BIND},
    {"port", required_argument, NULL, OPT_PORT},
    {"rooms", required_argument, NULL, OPT_ROOMS},
    {"max-seats", required_argument, NULL, OPT_SEATS},
    {"per-address", required_argument, NULL, OPT_PER_ADDRESS},
    {"log", required_argument, NULL, OPT_LOG},
    {"console", no_argument, NULL, OPT_CONSOLE},
    {"help", no_argument, NULL, OPT_HELP},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

struct parser {
    struct kl_relay_options *out;
    char *err;
    size_t err_len;
};

static int number(struct parser *p, const char *option, long min, long max, long *value) {
    char *end;
    errno = 0;
    *value = strtol(optarg, &end, 10);
    if (errno == 0 && end != optarg && *end == 0 && *value >= min && *value <= max) return 0;
    snprintf(p->err, p->err_len, "--%s takes a number from %ld to %ld, not '%s'", option, min, max, optarg);
    return -1;
}

static int set_unsigned(struct parser *p, const char *option, long min, long max, unsigned *field) {
    long value;
    if (number(p, option, min, max, &value) != 0) return -1;
    *field = (unsigned)value;
    return 0;
}

static int set_port(struct parser *p) {
    long value;
    if (number(p, "port", 0, 65535, &value) != 0) return -1;
    p->out->port = (uint16_t)value;
    return 0;
}

static int set_log(struct parser *p) {
    if (kl_log_level_parse(optarg, &p->out->log)) return 0;
    snprintf(p->err, p->err_len, "--log takes error, info or debug, not '%s'", optarg);
    return -1;
}

static int set_option(struct parser *p, int option) {
    switch (option) {
    case OPT_BIND: p->out->bind = optarg; return 0;
    case OPT_PORT: return set_port(p);
    case OPT_ROOMS: return set_unsigned(p, "rooms", 1, ROOMS_MAX, &p->out->rooms);
    case OPT_SEATS: return set_unsigned(p, "max-seats", 1, KL_MAX_SEATS, &p->out->seats);
    case OPT_PER_ADDRESS: return set_unsigned(p, "per-address", 1, PER_ADDRESS_MAX, &p->out->per_address);
    case OPT_LOG: return set_log(p);
    case OPT_CONSOLE: p->out->console = true; return 0;
    default: return -1;
    }
}

enum kl_relay_action kl_relay_options_parse(struct kl_relay_options *out, int argc, char **argv, char *err,
                                            size_t err_len) {
    struct parser p = {out, err, err_len};
    *out = (struct kl_relay_options){.bind = "0.0.0.0",
                                     .port = KL_DEFAULT_PORT,
                                     .rooms = ROOMS_DEFAULT,
                                     .seats = KL_MAX_SEATS,
                                     .per_address = PER_ADDRESS_DEFAULT,
                                     .log = KL_LOG_INFO};
    int option;
    optind = 1;
    while ((option = getopt_long(argc, argv, ":", long_options, NULL)) != -1) {
        if (option == OPT_HELP) return KL_RELAY_HELP;
        if (option == OPT_VERSION) return KL_RELAY_VERSION;
        if (option == '?' || option == ':') {
            snprintf(err, err_len, "%s '%s' (try --help)",
                     option == ':' ? "a value is missing after" : "there is no option", argv[optind - 1]);
            return KL_RELAY_BAD;
        }
        if (set_option(&p, option) != 0) return KL_RELAY_BAD;
    }
    if (optind == argc) return KL_RELAY_RUN;
    snprintf(err, err_len, "'%s' is not an option (try --help)", argv[optind]);
    return KL_RELAY_BAD;
}
