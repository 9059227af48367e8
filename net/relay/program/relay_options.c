#include "net/relay/program/relay_options.h"

#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/engine/engine.h"
#include "net/platform/cfg_file.h"
#include "net/platform/file.h"
#include "net/transport/link.h"

#define ROOMS_MAX 4096

#define CONFIG_BYTES 65536

#define LOG_LINES_DEFAULT 120

/* clang-format off: a line here is a line there */
const char kl_relay_help[] =
    "Usage: keylock-relay [OPTION]...\n"
    "       keylock-relay help\n"
    "Closes the frames of Keylock rooms: the one machine that all players' machines talk to.\n"
    "\n"
    "  --config FILE      reads options from a file first, a line `key = value' each: `port = 55436', "
    "`console = on'.\n"
    "                     An option of the command line counts before the file's\n"
    "  --bind ADDR        the IPv4 address to listen on (0.0.0.0: every address)\n"
    "  --host NAME        the name or IPv4 address by which players reach this relay, for the link that it "
    "logs at its\n"
    "                     start (the address of this machine)\n"
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
    "                     a restart (none: clients bring their rooms back)\n"
    "  --journal-mib N    the most MiB of journal for one room (256); above it the journal of that room "
    "ends.\n"
    "                     An hour takes 4 to 12\n"
    "  --insecure-lan     no encryption with clients that ask for the same; for a network that you trust\n"
    "  --per-address N    connections from one address (64)\n"
    "  --handshakes N     new connections from one address in 10 s (128)\n"
    "  --half-open N      new connections at once that have sent nothing yet (16384)\n"
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
    "  --hash-addresses   the log has a hash in place of each client's address, by a key of this run; bans "
    "and limits\n"
    "                     go by the addresses as ever\n"
    "  --console          takes the operator's lines from standard input (try `help'); answers go to "
    "standard output\n"
    "  -h, --help         prints this text\n"
    "  -V, --version      prints version and protocol\n"
    "\n"
    "The first client that names a room makes it, and the room ends with its last client. SIGINT (Ctrl-C) "
    "ends all\n"
    "rooms and the relay, which tells its clients. SIGTERM does the same, but with a journal the rooms go on "
    "when the\n"
    "relay is started again.\n"
    "\n"
    "Exit status:\n"
    "  0  ended by a signal or by the console\n"
    "  1  could not listen\n"
    "  2  wrong usage\n";
/* clang-format on */

enum kind { KIND_TEXT, KIND_NUMBER, KIND_PORT, KIND_FLAG, KIND_LEVEL, KIND_HOST };

#define FIELD(field) offsetof(struct kl_relay_options, field)
#define TEXT(field)  KIND_TEXT, FIELD(field), 1, sizeof((struct kl_relay_options *)0)->field - 1

/* --NAME of the command line, and the key NAME of a configuration file. */
static const struct option_kind {
    const char *name;
    enum kind kind;
    size_t field;
    long min, max; /* of a number; bytes of a text */
} known[] = {
    {"config", TEXT(config)},
    {"bind", TEXT(server.bind)},
    {"host", KIND_HOST, FIELD(server.host), 1, KL_URL_HOST_MAX},
    {"port", KIND_PORT, FIELD(server.port), 0, 65535},
    {"rooms", KIND_NUMBER, FIELD(server.rooms), 1, ROOMS_MAX},
    {"max-seats", KIND_NUMBER, FIELD(server.seats), 1, KL_MAX_SEATS},
    {"watchers", KIND_NUMBER, FIELD(server.lobby.watchers), 0, KL_HUB_PEERS_MAX / 4},
    {"state", TEXT(server.state)},
    {"journal", TEXT(server.journal)},
    {"journal-mib", KIND_NUMBER, FIELD(server.journal_mib), 1, 65536},
    {"insecure-lan", KIND_FLAG, FIELD(server.insecure_lan), 0, 0},
    {"per-address", KIND_NUMBER, FIELD(server.limits.per_address), 1, KL_HUB_PEERS_MAX},
    {"handshakes", KIND_NUMBER, FIELD(server.limits.handshakes), 1, 1000000},
    {"half-open", KIND_NUMBER, FIELD(server.limits.half_open), 1, 16384},
    {"datagrams", KIND_NUMBER, FIELD(server.limits.datagrams), 100, 1000000},
    {"kbytes", KIND_NUMBER, FIELD(server.limits.kbytes), 64, 1000000},
    {"messages", KIND_NUMBER, FIELD(server.limits.messages), 100, 1000000},
    {"pieces", KIND_NUMBER, FIELD(server.limits.pieces), 100, 1000000},
    {"rooms-per-address", KIND_NUMBER, FIELD(server.lobby.rooms_per_address), 1, ROOMS_MAX},
    {"mib-per-address", KIND_NUMBER, FIELD(server.lobby.mib_per_address), 1, 1048576},
    {"seat-time", KIND_NUMBER, FIELD(server.lobby.seat_time_s), 1, 65535},
    {"seat-time-max", KIND_NUMBER, FIELD(server.lobby.seat_time_max_s), 1, 65535},
    {"chat", KIND_NUMBER, FIELD(server.lobby.chat_per_min), 1, 100000},
    {"commands", KIND_NUMBER, FIELD(server.lobby.commands_per_min), 1, 100000},
    {"password-tries", KIND_NUMBER, FIELD(server.lobby.password_tries), 1, 100000},
    {"malformed", KIND_NUMBER, FIELD(server.lobby.malformed), 1, 1000000},
    {"start-kib", KIND_NUMBER, FIELD(server.lobby.start_kib), 1, 65536},
    {"history-kib", KIND_NUMBER, FIELD(server.lobby.history_kib), 192, 1048576},
    {"snapshot-kib", KIND_NUMBER, FIELD(server.lobby.snapshot_kib), 16, 65536},
    {"catch-up", KIND_NUMBER, FIELD(server.lobby.catch_up_s), 1, 86400},
    {"log", KIND_LEVEL, FIELD(log), 0, 0},
    {"log-lines", KIND_NUMBER, FIELD(log_lines), 0, 1000000},
    {"hash-addresses", KIND_FLAG, FIELD(hash_addresses), 0, 0},
    {"console", KIND_FLAG, FIELD(console), 0, 0},
};
#define KNOWN  (sizeof known / sizeof known[0])
#define CONFIG 0 /* of these: not for the file itself */

#define OPT_KNOWN 256 /* of getopt_long: and the place in known */

static bool set_number(const struct option_kind *k, const char *value, void *field) {
    char *end;
    errno = 0;
    long number = strtol(value, &end, 10);
    if (errno != 0 || end == value || *end != 0 || number < k->min || number > k->max) return false;
    if (k->kind == KIND_PORT)
        *(uint16_t *)field = (uint16_t)number;
    else
        *(unsigned *)field = (unsigned)number;
    return true;
}

static bool set_text(const struct option_kind *k, const char *value, char *field) {
    size_t len = strlen(value);
    if (len < (size_t)k->min || len > (size_t)k->max) return false;
    memcpy(field, value, len + 1);
    return true;
}

static bool set_host(const struct option_kind *k, const char *value, char *field) {
    struct kl_url url = {.room = "any"};
    char link[KL_URL_MAX + 1];
    if (!set_text(k, value, field)) return false;
    strcpy(url.host, field);
    return kl_url_write(&url, link, sizeof link) == 0;
}

/* On a command line, a flag has no value. */
static bool set_flag(const char *value, bool *field) {
    *field = !value || !strcmp(value, "on");
    return *field || !strcmp(value, "off");
}

/* Sets it, or writes the expected and the actual value into why. */
static bool set(struct kl_relay_options *out, const struct option_kind *k, const char *value, char *why,
                size_t why_len) {
    void *field = (char *)out + k->field;
    char expected[64] = "on or off";
    bool good = false;
    switch (k->kind) {
    case KIND_TEXT:
        snprintf(expected, sizeof expected, "%ld to %ld bytes", k->min, k->max);
        good = set_text(k, value, field);
        break;
    case KIND_NUMBER:
    case KIND_PORT:
        snprintf(expected, sizeof expected, "a number from %ld to %ld", k->min, k->max);
        good = set_number(k, value, field);
        break;
    case KIND_LEVEL:
        strcpy(expected, "error, info or debug");
        good = kl_log_level_parse(value, field);
        break;
    case KIND_HOST:
        strcpy(expected, "a name or an IPv4 address");
        good = set_host(k, value, field);
        break;
    case KIND_FLAG: good = set_flag(value, field); break;
    }
    if (!good) snprintf(why, why_len, "%s: expected %s, got \"%.64s\"", k->name, expected, value);
    return good;
}

/* --- the configuration file --------------------------------------------------------------------------------
 */

struct file_reader {
    struct kl_relay_options *out;
    const char *path;
    unsigned line[KNOWN]; /* the line that has it; 0: none so far */
    char *err;            /* "" until the first bad line */
    size_t err_len;
};

static void read_line(void *ctx, const struct kl_cfg_line *line) {
    struct file_reader *f = ctx;
    char why[256] = "";
    size_t i = 0;
    if (line->empty || *f->err) return;
    while (line->key && i < KNOWN && (i == CONFIG || strcmp(known[i].name, line->key) != 0))
        i++;
    if (!line->key)
        snprintf(why, sizeof why, "expected key = value, got \"%.64s\"", line->whole);
    else if (i == KNOWN)
        snprintf(why, sizeof why, "expected an option without its --, got \"%.64s\"", line->key);
    else if (f->line[i])
        snprintf(why, sizeof why, "expected %s once, got it in line %u, too", known[i].name, f->line[i]);
    else if (set(f->out, &known[i], line->value, why, sizeof why))
        f->line[i] = line->number;
    if (*why) snprintf(f->err, f->err_len, "%s line %u: %s", f->path, line->number, why);
}

static int read_config(struct kl_relay_options *out, const char *path, char *err, size_t err_len) {
    struct file_reader f = {.out = out, .path = path, .err = err, .err_len = err_len};
    void *text;
    size_t len;
    if (kl_file_read(path, CONFIG_BYTES, 0, &text, &len, err, err_len) != 0) return -1;
    *err = 0;
    if (!kl_cfg_each(text, read_line, &f)) snprintf(err, err_len, "no memory for %s", path);
    free(text);
    return *err ? -1 : 0;
}

/* --- the command line --------------------------------------------------------------------------------------
 */

void kl_relay_options_defaults(struct kl_relay_options *out) {
    *out = (struct kl_relay_options){.log = KL_LOG_INFO, .log_lines = LOG_LINES_DEFAULT};
    kl_server_defaults(&out->server);
}

/* Of getopt_long's ':' and '?': no value, an option that there is not, or a value for one that takes none. */
static enum kl_relay_action refuse(int result, const char *word, char *err, size_t err_len) {
    const char *equals = strchr(word, '=');
    if (result == ':')
        snprintf(err, err_len, "%s: expected a value, got none", word);
    else if (strncmp(word, "--", 2) != 0)
        snprintf(err, err_len, "expected one of its options, got \"-%c\"", optopt);
    else if (optopt && equals)
        snprintf(err, err_len, "%.*s: expected no value, got \"%s\"", (int)(equals - word), word, equals + 1);
    else
        snprintf(err, err_len, "expected one of its options, got \"%s\"", word);
    return KL_RELAY_BAD;
}

static void name_options(struct option out[KNOWN + 3]) {
    for (size_t i = 0; i < KNOWN; i++)
        out[i] = (struct option){.name = known[i].name,
                                 .has_arg = known[i].kind == KIND_FLAG ? no_argument : required_argument,
                                 .val = OPT_KNOWN + (int)i};
    out[KNOWN] = (struct option){.name = "help", .val = 'h'};
    out[KNOWN + 1] = (struct option){.name = "version", .val = 'V'};
    out[KNOWN + 2] = (struct option){0};
}

static enum kl_relay_action read_words(struct kl_relay_options *out, int argc, char **argv, char *err,
                                       size_t err_len) {
    struct option names[KNOWN + 3];
    int option;
    char why[256];
    name_options(names);
    optind = 1;
    while ((option = getopt_long(argc, argv, ":hV", names, NULL)) != -1) {
        if (option == 'h') return KL_RELAY_HELP;
        if (option == 'V') return KL_RELAY_VERSION;
        if (option == '?' || option == ':') return refuse(option, argv[optind - 1], err, err_len);
        if (set(out, &known[option - OPT_KNOWN], optarg, why, sizeof why)) continue;
        snprintf(err, err_len, "--%s", why);
        return KL_RELAY_BAD;
    }
    if (optind == argc) return KL_RELAY_RUN;
    snprintf(err, err_len, "expected options only, got \"%s\"", argv[optind]);
    return KL_RELAY_BAD;
}

/* The file's options are set first, then the command line's once more: those count. */
enum kl_relay_action kl_relay_options_parse(struct kl_relay_options *out, int argc, char **argv, char *err,
                                            size_t err_len) {
    char path[sizeof out->config];
    kl_relay_options_defaults(out);
    if (argc == 2 && !strcmp(argv[1], "help")) return KL_RELAY_HELP;
    enum kl_relay_action action = read_words(out, argc, argv, err, err_len);
    if (action != KL_RELAY_RUN || !out->config[0]) return action;
    strcpy(path, out->config);
    kl_relay_options_defaults(out);
    if (read_config(out, path, err, err_len) != 0) return KL_RELAY_BAD;
    return read_words(out, argc, argv, err, err_len);
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
