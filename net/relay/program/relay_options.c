#include "net/relay/program/relay_options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "net/engine/engine.h"
#include "net/platform/file.h"
#include "net/transport/link.h"

#define ROOMS_MAX    4096
#define CONFIG_BYTES 65536
#define HELP_COLUMN  25

/* --- values with rules of their own --- */

static bool take_host(const struct kl_row *row, void *field, const char *value, char why[KL_ROW_TEXT]) {
    struct kl_url url = {.room = "any"};
    char link[KL_URL_MAX + 1];
    struct kl_address a;
    size_t len = strlen(value);
    (void)why;
    if (!len || len >= row->size) return false;
    memcpy(field, value, len + 1);
    if (kl_address_parse(field, &a) || (kl_address_parse_place(field, &a) && !a.port))
        kl_address_text(field, &a);
    strcpy(url.host, field);
    return kl_url_write(&url, link, sizeof link) == 0;
}

/* A port is one of this machine alone. */
static bool take_place(const struct kl_row *row, void *field, const char *value, char why[KL_ROW_TEXT]) {
    char local[32];
    struct kl_address at = {.port = 0};
    bool off = !strcmp(value, "off");
    (void)row, (void)why;
    snprintf(local, sizeof local, "127.0.0.1:%s", value);
    if (!off && !kl_address_parse_place(value, &at) && !kl_address_parse_place(local, &at)) return false;
    if (!off && !at.port) return false;
    *(struct kl_address *)field = at;
    return true;
}

static bool take_redis(const struct kl_row *row, void *field, const char *value, char why[KL_ROW_TEXT]) {
    (void)row;
    return kl_redis_parse(value, field, why, KL_ROW_TEXT);
}

/* --- the rows --- */

#define NAME(word) .name = word, .key = word
#define FIELD(f)                                                                                             \
    .field = offsetof(struct kl_relay_options, f), .size = sizeof((struct kl_relay_options *)0)->f
#define TEXT(f)                                           .min = 1, FIELD(f), .kind = KL_KIND_TEXT
#define SWITCH(f)                                         .kind = KL_KIND_SWITCH, FIELD(f)
#define NUMBER(f, lo, hi)                                 .kind = KL_KIND_NUMBER, FIELD(f), .min = lo, .max = hi
#define LIMIT(f, option, v, lo, hi, text)                 {NAME(option), NUMBER(f, lo, hi), .value = v, .help = text},
#define HUB_LIMIT(f, option, v, lo, hi, standard, text)   LIMIT(server.limits.f, option, v, lo, hi, text)
#define LOBBY_LIMIT(f, option, v, lo, hi, standard, text) LIMIT(server.lobby.f, option, v, lo, hi, text)

/* --NAME of the command line, and the key NAME of a configuration file. */
const struct kl_row kl_relay_rows[] = {
    {.name = "config",
     TEXT(config),
     .value = "FILE",
     .help = "reads options from a file first, a line `key = value` each, as in `port = 55436` and `console "
             "= on`; "
             "an option of the command line counts before the file's",
     .shown = "none"},
    {NAME("bind"), TEXT(server.bind), .value = "ADDR", .help = "the address to listen on",
     .shown = "::, every address; 0.0.0.0 is every one of IPv4"},
    {NAME("host"), .take = take_host, FIELD(server.host), .want = "a name or an address", .value = "NAME",
     .help = "the name or address by which players reach this relay, for the link that it logs at its start",
     .shown = "this machine's address"},
    {NAME("port"), NUMBER(server.port, 0, 65535), .value = "N",
     .help = "the UDP port; 0 takes any free port, and the log's line `listening` names it"},
    {NAME("rooms"), NUMBER(server.rooms, 1, ROOMS_MAX), .value = "N", .help = "rooms at once"},
    {NAME("shards"), NUMBER(shards, 0, KL_SHARDS_MAX), .value = "N",
     .help =
         "processes that share the port and the rooms; 0: as many as there are processors; a process that "
         "ends is started anew, and its rooms go on from the journal; one with `--console`, on Windows, and "
         "on a "
         "system that cannot"},
    {NAME("fleet"), .take = take_redis, FIELD(fleet), .standard = "off", .value = "URL",
     .help =
         "relays that share this Redis, redis://HOST:PORT/DB, or rediss:// for TLS, are one: each lists the "
         "rooms of all, and sends "
         "players on to the relay that has theirs; they have one relay.key, and each its own `--host`; needs "
         "hiredis; not on Windows"},
    {NAME("fleet-login"), TEXT(fleet_login), .value = "FILE",
     .help = "a file that nobody else can read (mode 0600) with one line for that Redis, PASSWORD or USER "
             "PASSWORD",
     .shown = "none"},
    {NAME("max-seats"), NUMBER(server.seats, 1, KL_MAX_SEATS), .value = "N",
     .help = "seats of one room, {range}"},
    {NAME("watchers"), NUMBER(server.lobby.watchers, 0, KL_HUB_PEERS_MAX / 4), .value = "N",
     .help = "watchers of one room from outside the game; all rooms together have a quarter of the relay's "
             "connections; 0: none, so whoever finds no free seat is refused"},
    {NAME("state"), TEXT(server.state), .value = "DIR",
     .help = "the folder of the relay's key, made at the first start",
     .shown = "`$XDG_STATE_HOME/keylock-relay`, else `~/.local/state/keylock-relay`"},
    {NAME("journal"), TEXT(server.journal), .value = "DIR",
     .help = "the folder of the journal, made with mode 0700; rooms go on from it after a restart or a "
             "crash; `off`: "
             "none is kept",
     .shown = "`STATE/journal/PORT`"},
    {NAME("journal-mib"), NUMBER(server.journal_mib, 1, 65536), .value = "N",
     .help = "the most MiB of journal for one room; above it the journal of that room ends; an hour takes "
             "about 0.4"},
    {NAME("journal-total-mib"), NUMBER(server.journal_total_mib, 1, 16777216), .value = "N",
     .help = "the most MiB of journal for all rooms; above it the room with the most loses its own, and "
             "would not "
             "outlive a restart"},
    {NAME("record"), TEXT(server.record), .value = "DIR",
     .help = "keeps recordings: as a room ends, its match moves from the journal into DIR/new, which must be "
             "on the "
             "same file system; players are told before the game",
     .shown = "none is kept"},
    {NAME("record-mib"), NUMBER(server.record_mib, 1, 16777216), .value = "N",
     .help = "the most MiB of kept recordings; above it the oldest goes"},
    {NAME("record-days"), NUMBER(server.record_days, 1, UINT16_MAX), .value = "N",
     .help = "the days for which a recording is kept"},
    {NAME("record-chat"), SWITCH(server.record_chat), .help = "recordings have what was said in the match"},
    {NAME("no-delete"), SWITCH(server.no_delete),
     .help = "a match's players may not delete its recording (`keylock delete`)"},
    {NAME("insecure-lan"), SWITCH(server.insecure_lan),
     .help =
         "no encryption with clients that were started with `--insecure-lan`; for a network that you trust"},
    KL_HUB_LIMITS(HUB_LIMIT) KL_LOBBY_LIMITS(LOBBY_LIMIT){
        NAME("log"), .kind = KL_KIND_WORD, FIELD(log), .words = "error info debug", .standard = "info",
        .value = "LEVEL", .help = "error, info or debug; to standard error"},
    {NAME("log-lines"), NUMBER(log_lines, 0, 1000000), .standard = "120", .value = "N",
     .help =
         "log lines a minute of one kind about one client, room or address; 0: any number; a line `left_out` "
         "counts the rest"},
    {NAME("hash-addresses"), SWITCH(hash_addresses),
     .help =
         "the log has a hash in place of each client's address, by a key of this run; bans and limits go by "
         "the addresses as ever"},
    {NAME("console"), SWITCH(console),
     .help =
         "takes the operator's lines from standard input (`help` lists them); answers go to standard output"},
    {NAME("control"), TEXT(control), .value = "DIR",
     .help =
         "the folder of the sockets for `keylock-relay ctl`, which gives the console's words to a relay that "
         "runs; "
         "only the relay's user and root can use them; `off`: none",
     .shown = "`$RUNTIME_DIRECTORY`, else `$XDG_RUNTIME_DIR/keylock-relay`, else one in `/tmp`; for root "
              "`/run/keylock-relay`"},
    {NAME("http"), .take = take_place, FIELD(http), .want = "off, a port, or an address with its port",
     .standard = "off", .value = "ADDR:PORT",
     .help = "answers HTTP there, by a process of its own: a page of rooms, `/metrics` for Prometheus, "
             "`/healthz` "
             "and `/readyz`; a port alone is one of 127.0.0.1; everybody who reaches it can read it; with "
             "the token of "
             "STATE/http.token, which the relay makes, it also takes the host's orders; needs libmicrohttpd; "
             "not on "
             "Windows"},
    {NAME("http-matches"), TEXT(http_matches), .value = "FILE",
     .help =
         "the database of `keylock verify --watch`, whose matches and verdicts the page shows to the host; "
         "needs SQLite",
     .shown = "none"},
    {NAME("http-behind-tls"), SWITCH(http_behind_tls),
     .help = "takes the host's orders also where `--http` is no address of this machine alone: only behind a "
             "server "
             "that speaks TLS to all others, because the token is not sealed"},
    {.name = NULL},
};

static const struct kl_row check_row[] = {
    {.name = "check",
     SWITCH(check),
     .help = "reads the options and the file, looks whether the system allows so many rooms, and ends"},
    {.name = NULL},
};

/* --- sources of values --- */

static void set_defaults(struct kl_relay_options *out) {
    *out = (struct kl_relay_options){.log = KL_LOG_INFO};
    kl_server_defaults(&out->server);
    kl_rows_standard(kl_relay_rows, out);
}

const struct kl_relay_options *kl_relay_usual(void) {
    static struct kl_relay_options usual;
    set_defaults(&usual);
    return &usual;
}

static bool read_config(struct kl_relay_options *out, const char *path, char *err, size_t err_len) {
    void *text;
    size_t len;
    if (kl_file_read(path, CONFIG_BYTES, 0, &text, &len, err, err_len) != 0) return false;
    bool good = kl_rows_read(kl_relay_rows, out, text, path, "an option without its --", err, err_len);
    free(text);
    return good;
}

static enum kl_relay_action read_words(struct kl_relay_options *out, int argc, char **argv, char *err,
                                       size_t err_len) {
    static const struct kl_table tables[] = {{.rows = kl_relay_rows}, {.rows = check_row}, {.rows = NULL}};
    char why[KL_ROW_TEXT];
    switch (kl_tables_parse(tables, out, argc, argv, false, "one of its options", why)) {
    case KL_LINE_HELP: return KL_RELAY_HELP;
    case KL_LINE_VERSION: return KL_RELAY_VERSION;
    case KL_LINE_DONE:
        if (optind == argc) return out->check ? KL_RELAY_CHECK : KL_RELAY_RUN;
        snprintf(why, sizeof why, "expected options only, got \"%s\"", argv[optind]);
        break;
    case KL_LINE_BAD: break;
    }
    snprintf(err, err_len, "%s", why);
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
    if (!read_config(out, path, err, err_len)) return KL_RELAY_BAD;
    return read_words(out, argc, argv, err, err_len);
}

/* --- help --- */

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
    fputs(help_begin, out);
    kl_rows_help(kl_relay_rows, 0, kl_relay_usual(), HELP_COLUMN, true, out);
    kl_rows_help(check_row, 0, NULL, HELP_COLUMN, true, out);
    fputs(help_end, out);
}
