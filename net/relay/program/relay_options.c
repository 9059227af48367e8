#include "net/relay/program/relay_options.h"

#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/engine/engine.h"
#include "net/platform/address.h"
#include "net/platform/cfg_file.h"
#include "net/platform/file.h"
#include "net/platform/help_line.h"
#include "net/transport/link.h"

#define ROOMS_MAX    4096
#define CONFIG_BYTES 65536
#define HELP_COLUMN  25

enum kind { KIND_TEXT, KIND_NUMBER, KIND_PORT, KIND_FLAG, KIND_LEVEL, KIND_HOST, KIND_PLACE, KIND_REDIS };

#define FIELD(field) offsetof(struct kl_relay_options, field)
#define TEXT(field)  KIND_TEXT, FIELD(field), 1, sizeof((struct kl_relay_options *)0)->field - 1

#define LOBBY(field) KIND_NUMBER, FIELD(server.lobby.field)

/* --NAME of the command line, and the key NAME of a configuration file. Eight players behind one NAT, each
 * with a link that comes and goes, must never meet one of the limits for an address. */
static const struct option_kind {
    const char *name;
    enum kind kind;
    size_t field;
    long min, max;        /* of a number; bytes of a text */
    const char *standard; /* NULL: that of kl_server_defaults(), or none */
    const char *value;    /* NULL: a flag has none */
    const char *help;
    const char *shown; /* the default in words; NULL: as it is */
} known[] = {
    {"config", TEXT(config), NULL, "FILE",
     "reads options from a file first, a line `key = value` each, as in `port = 55436` and `console = on`; "
     "an option of the command line counts before the file's",
     "none"},
    {"bind", TEXT(server.bind), NULL, "ADDR", "the address to listen on",
     "::, every address; 0.0.0.0 is every one of IPv4"},
    {"host", KIND_HOST, FIELD(server.host), 1, KL_URL_HOST_MAX, NULL, "NAME",
     "the name or address by which players reach this relay, for the link that it logs at its start",
     "this machine's address"},
    {"port", KIND_PORT, FIELD(server.port), 0, 65535, NULL, "N",
     "the UDP port; 0 takes any free port, and the log's line `listening` names it", NULL},
    {"rooms", KIND_NUMBER, FIELD(server.rooms), 1, ROOMS_MAX, NULL, "N", "rooms at once", NULL},
    {"shards", KIND_NUMBER, FIELD(shards), 0, KL_SHARDS_MAX, NULL, "N",
     "processes that share the port and the rooms; 0: as many as there are processors; a process that "
     "ends is started anew, and its rooms go on from the journal; one with `--console`, on Windows, and on a "
     "system that cannot",
     NULL},
    {"fleet", KIND_REDIS, FIELD(fleet), 0, 0, "off", "URL",
     "relays that share this Redis, redis://HOST:PORT/DB, are one: each lists the rooms of all, and sends "
     "players on to the relay that has theirs; they have one relay.key, and each its own `--host`; needs "
     "hiredis; not on Windows",
     NULL},
    {"fleet-login", TEXT(fleet_login), NULL, "FILE",
     "a file that nobody else can read (mode 0600) with one line for that Redis, PASSWORD or USER PASSWORD",
     "none"},
    {"max-seats", KIND_NUMBER, FIELD(server.seats), 1, KL_MAX_SEATS, NULL, "N", "seats of one room, {range}",
     NULL},
    {"watchers", LOBBY(watchers), 0, KL_HUB_PEERS_MAX / 4, NULL, "N",
     "watchers of one room from outside the game; all rooms together have a quarter of the relay's "
     "connections; 0: none, so whoever finds no free seat is refused",
     NULL},
    {"state", TEXT(server.state), NULL, "DIR", "the folder of the relay's key, made at the first start",
     "`$XDG_STATE_HOME/keylock-relay`, else `~/.local/state/keylock-relay`"},
    {"journal", TEXT(server.journal), NULL, "DIR",
     "the folder of the journal, made with mode 0700; rooms go on from it after a restart or a crash; `off`: "
     "none is kept",
     "`STATE/journal/PORT`"},
    {"journal-mib", KIND_NUMBER, FIELD(server.journal_mib), 1, 65536, NULL, "N",
     "the most MiB of journal for one room; above it the journal of that room ends; an hour takes about 0.4",
     NULL},
    {"journal-total-mib", KIND_NUMBER, FIELD(server.journal_total_mib), 1, 16777216, NULL, "N",
     "the most MiB of journal for all rooms; above it the room with the most loses its own, and would not "
     "outlive a restart",
     NULL},
    {"record", TEXT(server.record), NULL, "DIR",
     "keeps recordings: as a room ends, its match moves from the journal into DIR/new, which must be on the "
     "same file system; players are told before the game",
     "none is kept"},
    {"record-mib", KIND_NUMBER, FIELD(server.record_mib), 1, 16777216, NULL, "N",
     "the most MiB of kept recordings; above it the oldest goes", NULL},
    {"record-days", KIND_NUMBER, FIELD(server.record_days), 1, UINT16_MAX, NULL, "N",
     "the days for which a recording is kept", NULL},
    {"record-chat", KIND_FLAG, FIELD(server.record_chat), 0, 0, "off", NULL,
     "recordings have what was said in the match", NULL},
    {"no-delete", KIND_FLAG, FIELD(server.no_delete), 0, 0, "off", NULL,
     "a match's players may not delete its recording (`keylock delete`)", NULL},
    {"insecure-lan", KIND_FLAG, FIELD(server.insecure_lan), 0, 0, "off", NULL,
     "no encryption with clients that were started with `--insecure-lan`; for a network that you trust",
     NULL},
    {"per-address", KIND_NUMBER, FIELD(server.limits.per_address), 1, KL_HUB_PEERS_MAX, NULL, "N",
     "connections from one address", NULL},
    {"handshakes", KIND_NUMBER, FIELD(server.limits.handshakes), 1, 1000000, NULL, "N",
     "new connections from one address in 10 s", NULL},
    {"half-open", KIND_NUMBER, FIELD(server.limits.half_open), 1, 16384, NULL, "N",
     "new connections at once that have sent nothing yet; above it one of them at random is lost, first of "
     "those from addresses that ask often",
     NULL},
    {"datagrams", KIND_NUMBER, FIELD(server.limits.datagrams), 100, 1000000, NULL, "N",
     "datagrams a second from one connection; the relay drops more", NULL},
    {"kbytes", KIND_NUMBER, FIELD(server.limits.kbytes), 64, 1000000, NULL, "N",
     "KiB a second from one connection; the relay drops more", NULL},
    {"messages", KIND_NUMBER, FIELD(server.limits.messages), 100, 1000000, NULL, "N",
     "reliable messages a second from one connection; more have to wait", NULL},
    {"pieces", KIND_NUMBER, FIELD(server.limits.pieces), 100, 1000000, NULL, "N",
     "pieces of start data and history a second from one connection; more have to wait", NULL},
    {"rooms-per-address", LOBBY(rooms_per_address), 1, ROOMS_MAX, NULL, "N", "rooms made from one address",
     NULL},
    {"mib-per-address", LOBBY(mib_per_address), 1, 1048576, NULL, "N",
     "MiB of all rooms made from one address, with start data, history and snapshots", NULL},
    {"seat-time", LOBBY(seat_time_s), 1, 65535, NULL, "S",
     "seconds that a seat is kept for a lost player, unless the room says otherwise", NULL},
    {"seat-time-max", LOBBY(seat_time_max_s), 1, 65535, NULL, "S", "the most that a room may say", NULL},
    {"pause", LOBBY(pause_s), 1, 86400, NULL, "S",
     "the longest pause; then the game goes on without the player who paused", NULL},
    {"pauses", LOBBY(pauses_s), 1, 86400, NULL, "S", "all pauses of one player in a match", NULL},
    {"chat", LOBBY(chat_per_min), 1, 100000, NULL, "N", "chat lines a minute of one client", NULL},
    {"commands", LOBBY(commands_per_min), 1, 100000, NULL, "N", "other commands a minute of one client",
     NULL},
    {"password-tries", LOBBY(password_tries), 1, 100000, NULL, "N",
     "wrong passwords a minute from one address; at one room twice that from addresses that failed, once "
     "from new ones, once from those that were right",
     NULL},
    {"malformed", LOBBY(malformed), 1, 1000000, NULL, "N",
     "malformed input datagrams in a row before a client is put out", NULL},
    {"start-mib", LOBBY(start_mib), 1, 65536, NULL, "N",
     "MiB of start data of all rooms; above it a room has at most 256 KiB of its own", NULL},
    {"start-kib", LOBBY(start_kib), 1, 65536, NULL, "N", "KiB of start data (saves) of one room", NULL},
    {"history-kib", LOBBY(history_kib), 192, 1048576, NULL, "N",
     "KiB of history of one room; an hour with two pads takes about 110 KiB, with two sticks in motion 2000",
     NULL},
    {"snapshot-kib", LOBBY(snapshot_kib), 16, 65536, NULL, "N",
     "KiB of the newest snapshot of one room, packed; twice that while the next one comes", NULL},
    {"catch-up", LOBBY(catch_up_s), 1, 86400, NULL, "S",
     "a newcomer replays the game if that takes at most S seconds, else loads a snapshot; the relay "
     "expects 5 times the game's pace from a machine that it does not know",
     NULL},
    {"log", KIND_LEVEL, FIELD(log), 0, 0, "info", "LEVEL", "error, info or debug; to standard error", NULL},
    {"log-lines", KIND_NUMBER, FIELD(log_lines), 0, 1000000, "120", "N",
     "log lines a minute of one kind about one client, room or address; 0: any number; a line `left_out` "
     "counts the rest",
     NULL},
    {"hash-addresses", KIND_FLAG, FIELD(hash_addresses), 0, 0, "off", NULL,
     "the log has a hash in place of each client's address, by a key of this run; bans and limits go by "
     "the addresses as ever",
     NULL},
    {"console", KIND_FLAG, FIELD(console), 0, 0, "off", NULL,
     "takes the operator's lines from standard input (`help` lists them); answers go to standard output",
     NULL},
    {"control", TEXT(control), NULL, "DIR",
     "the folder of the sockets for `keylock-relay ctl`, which gives the console's words to a relay that "
     "runs; "
     "only the relay's user and root can use them; `off`: none",
     "`$RUNTIME_DIRECTORY`, else `$XDG_RUNTIME_DIR/keylock-relay`, else one in `/tmp`; for root "
     "`/run/keylock-relay`"},
    {"http", KIND_PLACE, FIELD(http), 0, 0, "off", "ADDR:PORT",
     "answers HTTP there, by a process of its own: a page of rooms, `/metrics` for Prometheus, `/healthz` "
     "and "
     "`/readyz`; a port alone is one of 127.0.0.1; everybody who reaches it can read it; with the token of "
     "STATE/http.token, which the relay makes, it also takes the host's orders; needs libmicrohttpd; not on "
     "Windows",
     NULL},
    {"http-behind-tls", KIND_FLAG, FIELD(http_behind_tls), 0, 0, "off", NULL,
     "takes the host's orders also where `--http` is no address of this machine alone: only behind a server "
     "that speaks TLS to all others, because the token is not sealed",
     NULL},
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
    struct kl_address a;
    if (!set_text(k, value, field)) return false;
    if (kl_address_parse(field, &a) || (kl_address_parse_place(field, &a) && !a.port))
        kl_address_text(field, &a);
    strcpy(url.host, field);
    return kl_url_write(&url, link, sizeof link) == 0;
}

/* A port is one of this machine alone. */
static bool set_place(const char *value, struct kl_address *field) {
    char local[32];
    struct kl_address at = {.port = 0};
    bool off = !strcmp(value, "off");
    snprintf(local, sizeof local, "127.0.0.1:%s", value);
    if (!off && !kl_address_parse_place(value, &at) && !kl_address_parse_place(local, &at)) return false;
    if (!off && !at.port) return false;
    *field = at;
    return true;
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
    char expected[192] = "on or off";
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
        strcpy(expected, "a name or an address");
        good = set_host(k, value, field);
        break;
    case KIND_PLACE:
        strcpy(expected, "off, a port, or an address with its port");
        good = set_place(value, field);
        break;
    case KIND_REDIS:
        if (kl_redis_parse(value, field, expected, sizeof expected)) return true;
        snprintf(why, why_len, "%s: %s", k->name, expected);
        return false;
    case KIND_FLAG: good = set_flag(value, field); break;
    }
    if (!good) snprintf(why, why_len, "%s: expected %s, got \"%.64s\"", k->name, expected, value);
    return good;
}

/* --- the configuration file --- */

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

/* --- the command line --- */

static void set_defaults(struct kl_relay_options *out) {
    char why[256];
    *out = (struct kl_relay_options){.log = KL_LOG_INFO};
    kl_server_defaults(&out->server);
    for (size_t i = 0; i < KNOWN; i++)
        if (known[i].standard) (void)set(out, &known[i], known[i].standard, why, sizeof why);
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

static void name_options(struct option out[KNOWN + 4]) {
    for (size_t i = 0; i < KNOWN; i++)
        out[i] = (struct option){.name = known[i].name,
                                 .has_arg = known[i].kind == KIND_FLAG ? no_argument : required_argument,
                                 .val = OPT_KNOWN + (int)i};
    out[KNOWN] = (struct option){.name = "help", .val = 'h'};
    out[KNOWN + 1] = (struct option){.name = "version", .val = 'V'};
    out[KNOWN + 2] = (struct option){.name = "check", .val = 'C'};
    out[KNOWN + 3] = (struct option){0};
}

static enum kl_relay_action read_words(struct kl_relay_options *out, int argc, char **argv, char *err,
                                       size_t err_len) {
    struct option names[KNOWN + 4];
    enum kl_relay_action action = KL_RELAY_RUN;
    int option;
    char why[256];
    name_options(names);
    optind = 1;
    while ((option = getopt_long(argc, argv, ":hV", names, NULL)) != -1) {
        if (option == 'h') return KL_RELAY_HELP;
        if (option == 'V') return KL_RELAY_VERSION;
        if (option == 'C') action = KL_RELAY_CHECK;
        if (option == 'C') continue;
        if (option == '?' || option == ':') return refuse(option, argv[optind - 1], err, err_len);
        if (set(out, &known[option - OPT_KNOWN], optarg, why, sizeof why)) continue;
        snprintf(err, err_len, "--%s", why);
        return KL_RELAY_BAD;
    }
    if (optind == argc) return action;
    snprintf(err, err_len, "expected options only, got \"%s\"", argv[optind]);
    return KL_RELAY_BAD;
}

/* The file's options are set first, then the command line's once more: those count. */
enum kl_relay_action kl_relay_options_parse(struct kl_relay_options *out, int argc, char **argv, char *err,
                                            size_t err_len) {
    char path[sizeof out->config];
    set_defaults(out);
    if (argc == 2 && !strcmp(argv[1], "help")) return KL_RELAY_HELP;
    enum kl_relay_action action = read_words(out, argc, argv, err, err_len);
    if ((action != KL_RELAY_RUN && action != KL_RELAY_CHECK) || !out->config[0]) return action;
    strcpy(path, out->config);
    set_defaults(out);
    if (read_config(out, path, err, err_len) != 0) return KL_RELAY_BAD;
    return read_words(out, argc, argv, err, err_len);
}

/* --- the table for people --- */

static void tell_help(const struct option_kind *k, char *out, size_t cap) {
    const char *at = strstr(k->help, "{range}");
    if (at)
        snprintf(out, cap, "%.*s%ld to %ld%s", (int)(at - k->help), k->help, k->min, k->max,
                 at + strlen("{range}"));
    else
        snprintf(out, cap, "%s", k->help);
}

bool kl_relay_option_at(size_t i, struct kl_relay_option_text *out) {
    static struct kl_relay_options usual;
    if (i >= KNOWN) return false;
    const struct option_kind *k = &known[i];
    set_defaults(&usual);
    snprintf(out->flag, sizeof out->flag, "--%s%s%s", k->name, k->value ? " " : "", k->value ? k->value : "");
    tell_help(k, out->help, sizeof out->help);
    if (k->shown || k->standard)
        snprintf(out->shown, sizeof out->shown, "%s", k->shown ? k->shown : k->standard);
    else if (k->kind == KIND_PORT)
        snprintf(out->shown, sizeof out->shown, "%u", usual.server.port);
    else
        snprintf(out->shown, sizeof out->shown, "%u", *(const unsigned *)((const char *)&usual + k->field));
    return true;
}

static const char help_begin[] =
    "Usage: keylock-relay [OPTION]...\n"
    "       keylock-relay help\n"
    "       keylock-relay ctl [OPTION]... WORD...\n"
    "Closes the frames of Keylock rooms: the one machine that all players' machines "
    "talk to. With `ctl` it asks\n"
    "the relay that runs here (`keylock-relay ctl --help`).\n"
    "\n";

/* clang-format off: a line here is a line there */
static const char help_end[] =
    "  --check                reads the options and the file, looks whether the system allows so many rooms, "
    "and ends\n"
    "  -h, --help             prints this text\n"
    "  -V, --version          prints version and protocol\n"
    "\n"
    "The first client that names a room makes it, and the room ends with its last client. SIGINT (Ctrl-C) "
    "ends all\n"
    "rooms and the relay, which tells its clients. After SIGTERM the rooms go on when the relay is started "
    "again at\n"
    "the same port; with --journal off it ends them, too.\n"
    "\n"
    "Exit status:\n"
    "  0  ended by a signal or by the console; --check: all is in order\n"
    "  1  could not listen; --check: the system does not allow so many rooms\n"
    "  2  wrong usage\n";
/* clang-format on */

void kl_relay_help(FILE *out) {
    struct kl_relay_option_text t;
    char text[sizeof t.help + sizeof t.shown + 4];
    fputs(help_begin, out);
    for (size_t i = 0; kl_relay_option_at(i, &t); i++) {
        bool tell = strchr(t.flag, ' ') && strcmp(t.shown, "none") != 0;
        snprintf(text, sizeof text, "%s%s%s%s", t.help, tell ? " (" : "", tell ? t.shown : "",
                 tell ? ")" : "");
        kl_help_line(out, t.flag, HELP_COLUMN, text);
    }
    fputs(help_end, out);
}
