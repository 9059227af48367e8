#include "net/relay/relay_options.h"

#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/engine/engine.h"
#include "net/transport/link.h"

#define ROOMS_DEFAULT 256
#define ROOMS_MAX     4096

#define JOURNAL_MIB_DEFAULT 256

/* Eight players behind one NAT, each with a link that comes and goes, must never meet one of these. */
#define PER_ADDRESS_DEFAULT 64    /* a LAN party; 64 addresses to fill the relay */
#define HANDSHAKES_DEFAULT  128   /* in 10 s: two each for that party; 0.1 ms of processor time each */
#define HALF_OPEN_DEFAULT   512   /* all at once after a restart */
#define DATAGRAMS_DEFAULT   5000  /* a second: a room without a clock; a game at 60 fps sends 60 to 240 */
#define KBYTES_DEFAULT      16384 /* a second: start data over a LAN */
#define MESSAGES_DEFAULT    500   /* a second: hashes of a room without a clock; a game at 60 fps sends one */
#define PIECES_DEFAULT      4096  /* a second: 3 MiB of start data at once */
#define LOG_LINES_DEFAULT   120

/* clang-format off: a line here is a line there */
const char kl_relay_help[] =
    "Usage: keylock-relay [OPTION]...\n"
    "       keylock-relay help\n"
    "Closes the frames of Keylock rooms: the one machine that all players' machines talk to.\n"
    "\n"
    "  --bind ADDR        the IPv4 address to listen on (0.0.0.0: every address)\n"
    "  --port N           the UDP port (55435); 0 takes any free port, and the line `listening' names it\n"
    "  --rooms N          rooms at once (256)\n"
    "  --max-seats N      seats of one room, 1 to 8 (8)\n"
    "  --watchers N       watchers of one room from outside the game (128). All rooms together have a "
    "quarter of the\n"
    "                     relay's connections. 0: a watcher is one of the room's 16 clients\n"
    "  --state DIR        the folder of the relay's key, made at the first start\n"
    "                     ($XDG_STATE_HOME/keylock-relay, else ~/.local/state/keylock-relay)\n"
    "  --journal DIR      the folder of the journal, made with mode 0700: rooms go on from it after a crash "
    "or\n"
    "                     kill -9 (none: clients bring their rooms back)\n"
    "  --journal-mib N    the most MiB of journal for one room (256); above it the journal of that room "
    "ends.\n"
    "                     An hour takes 4 to 12\n"
    "  --insecure-lan     no encryption with clients that ask for the same; for a network that you trust\n"
    "  --per-address N    connections from one address (64)\n"
    "  --handshakes N     new connections from one address in 10 s (128)\n"
    "  --half-open N      new connections at once that have sent nothing yet (512)\n"
    "  --datagrams N      datagrams a second from one connection (5000); the relay drops more\n"
    "  --kbytes N         KiB a second from one connection (16384); the relay drops more\n"
    "  --messages N       reliable messages a second from one connection (500); more have to wait\n"
    "  --pieces N         pieces of start data and history a second from one connection (4096); more have to "
    "wait\n"
    "  --rooms-per-address N   rooms made from one address (16)\n"
    "  --mib-per-address N     MiB that these rooms hold, with start data, history and snapshots (64)\n"
    "  --seat-time S      seconds that a seat is kept for a lost player (60), unless the room says "
    "otherwise\n"
    "  --seat-time-max S  the most that a room may say (600)\n"
    "  --chat N           chat lines a minute of one client (60)\n"
    "  --commands N       other commands a minute of one client (240)\n"
    "  --password-tries N wrong passwords a minute from one address (20); four times that at one room\n"
    "  --malformed N      malformed input datagrams in a row before a client is put out (64)\n"
    "  --start-kib N      KiB of start data (saves) of one room (3072)\n"
    "  --history-kib N    KiB of history of one room (2560); an hour of two pads takes some 1000\n"
    "  --snapshot-kib N   KiB of the newest snapshot of one room, packed (8192); twice that while the next "
    "one comes\n"
    "  --catch-up S       a newcomer replays the game if that takes at most S seconds (10), else loads a "
    "snapshot.\n"
    "                     The relay expects 5 times the game's pace from a machine that it does not know\n"
    "  --log LEVEL        error, info or debug (info); to standard error\n"
    "  --log-lines N      log lines a minute of one kind about one client, room or address (120; 0: any "
    "number);\n"
    "                     a line `left_out' counts the rest\n"
    "  --console          takes the operator's lines from standard input (try `help'); answers go to "
    "standard output\n"
    "  -h, --help         prints this text\n"
    "  -V, --version      prints version and protocol\n"
    "\n"
    "The first client that names a room makes it, and the room ends with its last client. SIGTERM or SIGINT "
    "ends the\n"
    "relay, which tells its clients.\n"
    "\n"
    "Exit status:\n"
    "  0  ended by a signal or by the console\n"
    "  1  could not listen\n"
    "  2  wrong usage\n";
/* clang-format on */

enum {
    OPT_BIND = 1,
    OPT_PORT,
    OPT_ROOMS,
    OPT_SEATS,
    OPT_STATE,
    OPT_INSECURE_LAN,
    OPT_JOURNAL,
    OPT_JOURNAL_MIB,
    OPT_PER_ADDRESS,
    OPT_HANDSHAKES,
    OPT_HALF_OPEN,
    OPT_DATAGRAMS,
    OPT_KBYTES,
    OPT_MESSAGES,
    OPT_PIECES,
    OPT_LOG,
    OPT_LOG_LINES,
    OPT_CONSOLE,
    OPT_LOBBY = 256 /* and those after it: by place in lobby_options */
};

#define LOBBY_FIELD(field) offsetof(struct kl_lobby_limits, field)
static const struct {
    const char *name;
    size_t field;
    long min, max;
} lobby_options[] = {
    {"rooms-per-address", LOBBY_FIELD(rooms_per_address), 1, ROOMS_MAX},
    {"seat-time", LOBBY_FIELD(seat_time_s), 1, 65535},
    {"seat-time-max", LOBBY_FIELD(seat_time_max_s), 1, 65535},
    {"chat", LOBBY_FIELD(chat_per_min), 1, 100000},
    {"commands", LOBBY_FIELD(commands_per_min), 1, 100000},
    {"password-tries", LOBBY_FIELD(password_tries), 1, 100000},
    {"malformed", LOBBY_FIELD(malformed), 1, 1000000},
    {"start-kib", LOBBY_FIELD(start_kib), 1, 65536},
    {"history-kib", LOBBY_FIELD(history_kib), 192, 1048576},
    {"snapshot-kib", LOBBY_FIELD(snapshot_kib), 16, 65536},
    {"mib-per-address", LOBBY_FIELD(mib_per_address), 1, 1048576},
    {"catch-up", LOBBY_FIELD(catch_up_s), 1, 86400},
    {"watchers", LOBBY_FIELD(watchers), 0, KL_HUB_PEERS_MAX / 4},
};
#define LOBBY_OPTIONS (sizeof lobby_options / sizeof lobby_options[0])

static const struct option long_options[] = {
    {"bind", required_argument, NULL, OPT_BIND},
    {"port", required_argument, NULL, OPT_PORT},
    {"rooms", required_argument, NULL, OPT_ROOMS},
    {"max-seats", required_argument, NULL, OPT_SEATS},
    {"state", required_argument, NULL, OPT_STATE},
    {"insecure-lan", no_argument, NULL, OPT_INSECURE_LAN},
    {"journal", required_argument, NULL, OPT_JOURNAL},
    {"journal-mib", required_argument, NULL, OPT_JOURNAL_MIB},
    {"per-address", required_argument, NULL, OPT_PER_ADDRESS},
    {"handshakes", required_argument, NULL, OPT_HANDSHAKES},
    {"half-open", required_argument, NULL, OPT_HALF_OPEN},
    {"datagrams", required_argument, NULL, OPT_DATAGRAMS},
    {"kbytes", required_argument, NULL, OPT_KBYTES},
    {"messages", required_argument, NULL, OPT_MESSAGES},
    {"pieces", required_argument, NULL, OPT_PIECES},
    {"log", required_argument, NULL, OPT_LOG},
    {"log-lines", required_argument, NULL, OPT_LOG_LINES},
    {"console", no_argument, NULL, OPT_CONSOLE},
    {"rooms-per-address", required_argument, NULL, OPT_LOBBY},
    {"seat-time", required_argument, NULL, OPT_LOBBY + 1},
    {"seat-time-max", required_argument, NULL, OPT_LOBBY + 2},
    {"chat", required_argument, NULL, OPT_LOBBY + 3},
    {"commands", required_argument, NULL, OPT_LOBBY + 4},
    {"password-tries", required_argument, NULL, OPT_LOBBY + 5},
    {"malformed", required_argument, NULL, OPT_LOBBY + 6},
    {"start-kib", required_argument, NULL, OPT_LOBBY + 7},
    {"history-kib", required_argument, NULL, OPT_LOBBY + 8},
    {"snapshot-kib", required_argument, NULL, OPT_LOBBY + 9},
    {"mib-per-address", required_argument, NULL, OPT_LOBBY + 10},
    {"catch-up", required_argument, NULL, OPT_LOBBY + 11},
    {"watchers", required_argument, NULL, OPT_LOBBY + 12},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
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
    snprintf(p->err, p->err_len, "--%s: expected a number from %ld to %ld, got \"%s\"", option, min, max,
             optarg);
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
    snprintf(p->err, p->err_len, "--log: expected error, info or debug, got \"%s\"", optarg);
    return -1;
}

static int set_limit(struct parser *p, int option) {
    struct kl_hub_limits *l = &p->out->limits;
    switch (option) {
    case OPT_PER_ADDRESS: return set_unsigned(p, "per-address", 1, KL_HUB_PEERS_MAX, &l->per_address);
    case OPT_HANDSHAKES: return set_unsigned(p, "handshakes", 1, 1000000, &l->handshakes);
    case OPT_HALF_OPEN: return set_unsigned(p, "half-open", 1, KL_HUB_PEERS_MAX, &l->half_open);
    case OPT_DATAGRAMS: return set_unsigned(p, "datagrams", 100, 1000000, &l->datagrams);
    case OPT_KBYTES: return set_unsigned(p, "kbytes", 64, 1000000, &l->kbytes);
    case OPT_MESSAGES: return set_unsigned(p, "messages", 100, 1000000, &l->messages);
    case OPT_PIECES: return set_unsigned(p, "pieces", 100, 1000000, &l->pieces);
    default: return -1;
    }
}

static int set_lobby(struct parser *p, unsigned i) {
    unsigned value;
    if (i >= LOBBY_OPTIONS) return -1;
    if (set_unsigned(p, lobby_options[i].name, lobby_options[i].min, lobby_options[i].max, &value) != 0)
        return -1;
    memcpy((char *)&p->out->lobby + lobby_options[i].field, &value, sizeof value);
    return 0;
}

static int set_option(struct parser *p, int option) {
    if (option >= OPT_LOBBY) return set_lobby(p, (unsigned)(option - OPT_LOBBY));
    switch (option) {
    case OPT_BIND: p->out->bind = optarg; return 0;
    case OPT_PORT: return set_port(p);
    case OPT_ROOMS: return set_unsigned(p, "rooms", 1, ROOMS_MAX, &p->out->rooms);
    case OPT_SEATS: return set_unsigned(p, "max-seats", 1, KL_MAX_SEATS, &p->out->seats);
    case OPT_STATE: p->out->state = optarg; return 0;
    case OPT_INSECURE_LAN: p->out->insecure_lan = true; return 0;
    case OPT_JOURNAL: p->out->journal = optarg; return 0;
    case OPT_JOURNAL_MIB: return set_unsigned(p, "journal-mib", 1, 65536, &p->out->journal_mib);
    case OPT_LOG: return set_log(p);
    case OPT_LOG_LINES: return set_unsigned(p, "log-lines", 0, 1000000, &p->out->log_lines);
    case OPT_CONSOLE: p->out->console = true; return 0;
    default: return set_limit(p, option);
    }
}

void kl_relay_options_defaults(struct kl_relay_options *out) {
    *out = (struct kl_relay_options){.bind = "0.0.0.0",
                                     .port = KL_DEFAULT_PORT,
                                     .rooms = ROOMS_DEFAULT,
                                     .seats = KL_MAX_SEATS,
                                     .journal_mib = JOURNAL_MIB_DEFAULT,
                                     .limits = {.per_address = PER_ADDRESS_DEFAULT,
                                                .handshakes = HANDSHAKES_DEFAULT,
                                                .half_open = HALF_OPEN_DEFAULT,
                                                .datagrams = DATAGRAMS_DEFAULT,
                                                .kbytes = KBYTES_DEFAULT,
                                                .messages = MESSAGES_DEFAULT,
                                                .pieces = PIECES_DEFAULT},
                                     .lobby = kl_lobby_defaults,
                                     .log = KL_LOG_INFO,
                                     .log_lines = LOG_LINES_DEFAULT};
}

/* Of getopt_long's ':' and '?': no value, an option that there is not, or a value for one that takes none. */
static enum kl_relay_action refuse(const struct parser *p, int result, const char *word) {
    const char *equals = strchr(word, '=');
    if (result == ':')
        snprintf(p->err, p->err_len, "%s: expected a value, got none", word);
    else if (strncmp(word, "--", 2) != 0)
        snprintf(p->err, p->err_len, "expected one of its options, got \"-%c\"", optopt);
    else if (optopt && equals)
        snprintf(p->err, p->err_len, "%.*s: expected no value, got \"%s\"", (int)(equals - word), word,
                 equals + 1);
    else
        snprintf(p->err, p->err_len, "expected one of its options, got \"%s\"", word);
    return KL_RELAY_BAD;
}

enum kl_relay_action kl_relay_options_parse(struct kl_relay_options *out, int argc, char **argv, char *err,
                                            size_t err_len) {
    struct parser p = {out, err, err_len};
    int option;
    kl_relay_options_defaults(out);
    optind = 1;
    if (argc == 2 && !strcmp(argv[1], "help")) return KL_RELAY_HELP;
    while ((option = getopt_long(argc, argv, ":hV", long_options, NULL)) != -1) {
        if (option == 'h') return KL_RELAY_HELP;
        if (option == 'V') return KL_RELAY_VERSION;
        if (option == '?' || option == ':') return refuse(&p, option, argv[optind - 1]);
        if (set_option(&p, option) != 0) return KL_RELAY_BAD;
    }
    if (optind == argc) return KL_RELAY_RUN;
    snprintf(err, err_len, "expected options only, got \"%s\"", argv[optind]);
    return KL_RELAY_BAD;
}

int kl_relay_state(char *out, size_t cap) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int len = -1;
    if (state && state[0] == '/')
        len = snprintf(out, cap, "%s/keylock-relay", state);
    else if (home && home[0] == '/')
        len = snprintf(out, cap, "%s/.local/state/keylock-relay", home);
    return len > 0 && (size_t)len < cap ? 0 : -1;
}
