/* keylock-relay: the program. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "net/engine/engine.h"
#include "net/platform/copies.h"
#include "net/platform/standard.h"
#include "net/platform/process.h"
#include "net/platform/socket.h"
#include "net/platform/wait.h"
#include "net/relay/log/relay_log.h"
#include "net/relay/program/console.h"
#include "net/relay/program/control.h"
#include "net/relay/program/enet_sockets.h"
#include "net/relay/program/group.h"
#include "net/relay/program/relay_options.h"
#include "net/relay/program/window.h"
#include "net/relay/loop/server.h"
#include "net/transport/enet_common.h"
#include "net/transport/hub.h"

#define LAST_LINES_MS   500
#define LAST_ANSWERS_MS 500
#define REDIS_MS        2000 /* for --check */

enum { EXIT_CANNOT_LISTEN = 1, EXIT_BAD_OPTION = 2 };

struct console_lines {
    struct kl_server_operator lines; /* first */
    struct kl_console console;
    struct kl_buffer answers;
    struct kl_outlet *outlet; /* NULL: standard output itself */
};

static bool read_lines(struct kl_server_operator *self, struct kl_lobby *l,
                       const struct kl_hub_stats *network, uint64_t now_us) {
    struct console_lines *o = (struct console_lines *)self;
    o->console.network = *network;
    bool goes_on = kl_console_read(&o->console, l, &o->answers, now_us);
    if (o->outlet)
        kl_outlet_put(o->outlet, o->answers.at, o->answers.len);
    else
        fwrite(o->answers.at, 1, o->answers.len, stdout), fflush(stdout);
    kl_buffer_clear(&o->answers);
    o->lines.fd = o->console.fd;
    return goes_on;
}

static int serve_with_console(const struct kl_server_config *config, int quit, char *err, size_t err_len) {
    struct kl_server_config with_console = *config;
    int input = kl_input_open();
    struct console_lines o = {.lines = {input, read_lines}, .console.fd = input};
    o.outlet = kl_outlet_open(STDOUT_FILENO);
    with_console.operators[1] = &o.lines;
    int result = kl_server_run(&with_console, quit, err, err_len);
    kl_outlet_close(o.outlet, LAST_ANSWERS_MS);
    kl_buffer_free(&o.answers);
    return result;
}

/* Of all processes. */
struct setup {
    bool console;
    char control[KL_RELAY_PATH]; /* kl_control_folder() */
    long parent;                 /* of several */
    struct kl_window window;
};

static void open_control(void *ctx, uint16_t port, const char *fingerprint) {
    (void)fingerprint;
    kl_control_open(ctx, port);
}

static int serve_with_control(const struct kl_server_config *config, int quit, char *err, size_t err_len) {
    const struct setup *setup = config->ctx;
    struct kl_server_config with_control = *config;
    struct kl_control control = {.folder = setup->control, .shards = 1, .lines.fd = -1};
    if (config->shards) control.own = config->shards->own;
    if (config->shards) control.shards = config->shards->count;
    if (config->shards) control.parent = setup->parent;
    with_control.operators[0] = &control.lines;
    with_control.listening = open_control;
    with_control.ctx = &control;
    struct kl_figures_writer figures;
    if (setup->window.place) {
        kl_figures_begin(&figures, &setup->window.place[control.own], config);
        control.port = &setup->window.place[control.own].port;
        with_control.onlooker = &figures.onlooker;
    }
    int result = (setup->console ? serve_with_console : kl_server_run)(&with_control, quit, err, err_len);
    kl_control_close(&control);
    return result;
}

/* Each process has a thread of its own that writes the log. Returns the program's status. */
static int serve_logged(const struct kl_server_config *config, int quit) {
    char err[256] = "";
    struct kl_outlet *log = kl_outlet_open(STDERR_FILENO);
    kl_log_through(log);
    int result = serve_with_control(config, quit, err, sizeof err);
    kl_log_left_out(true);
    kl_log_through(NULL);
    kl_outlet_close(log, LAST_LINES_MS);
    if (result == 0) return 0;
    fprintf(stderr, "keylock-relay: %s\n", err);
    return EXIT_CANNOT_LISTEN;
}

/* Beyond this machine there are no controls, unless something before the relay seals what is said. */
static int begin_window(struct kl_window *w, const struct kl_relay_options *options, const char *control,
                        unsigned shards, int quit, char *err, size_t err_len) {
    struct kl_window_config config = {.http = options->http,
                                      .host = options->server.host,
                                      .control = control,
                                      .matches = options->http_matches};
    char dir[KL_RELAY_PATH];
    const bool here = kl_address_audience(&config.http) == KL_AUDIENCE_MACHINE;
    if (config.http.port && (here || options->http_behind_tls) &&
        (kl_server_key_folder(&options->server, dir, err, err_len) != 0 ||
         kl_window_token(dir, config.token, err, err_len) != 0))
        return -1;
    return kl_window_start(w, &config, shards, quit, err, err_len);
}

static int serve(const struct kl_relay_options *options, int quit) {
    const bool one = options->console || !kl_copies_possible();
    const unsigned processors = one ? 1 : kl_copies_processors();
    const unsigned most = processors < KL_SHARDS_MAX ? processors : KL_SHARDS_MAX;
    const unsigned shards = options->shards ? options->shards : most;
    struct setup setup = {.console = options->console, .parent = kl_process_self()};
    struct kl_server_config config = options->server;
    char err[256] = "";
    config.ctx = &setup;
    if (kl_control_folder(options->control, setup.control, err, sizeof err) != 0)
        kl_log(KL_LOG_INFO, "no_control", "reason=\"%s\"", err);
    const bool fleet = options->fleet.host[0], group = shards > 1 || fleet;
    struct kl_redis_place redis = options->fleet;
    int result = 0;
    if (fleet && options->fleet_login[0] && !kl_redis_login(options->fleet_login, &redis, err, sizeof err))
        result = -1;
    if (result == 0)
        result = begin_window(&setup.window, options, setup.control, shards, quit, err, sizeof err);
    if (result == 0 && group)
        result = kl_group_run(&config, shards, fleet ? &redis : NULL, quit, serve_logged, err, sizeof err);
    int status = result == 0 && !group ? serve_logged(&config, quit) : 0;
    if (result != 0) fprintf(stderr, "keylock-relay: %s\n", err);
    kl_window_end(&setup.window);
    return result != 0 ? EXIT_CANNOT_LISTEN : status;
}

#define OTHER_FILES 64 /* sockets, the log, the key, the console */

/* Two for each room's journal. */
static unsigned files_of(const struct kl_relay_options *options) {
    return OTHER_FILES + 2 * options->server.rooms;
}

#define BURSTS_A_SECOND 100 /* the loop may rest for 10 ms while all players of all rooms speak */
#define FRAMES_A_SECOND 60
#define DATAGRAM_BYTES  416 /* a small datagram's share of a buffer: Linux counts 832 of twice the buffer */

/* False with a line on standard error. */
static bool check_fleet(const struct kl_relay_options *options) {
    struct kl_redis_place place = options->fleet;
    char err[256];
    struct kl_redis *r = NULL;
    if (!place.host[0]) return true;
    if (!options->fleet_login[0] || kl_redis_login(options->fleet_login, &place, err, sizeof err))
        r = kl_redis_open(&place, REDIS_MS, err, sizeof err);
    if (!r)
        fprintf(stderr, "keylock-relay: no Redis at %s: %s\n", kl_host_port(place.host, place.port).text,
                err);
    kl_redis_close(r);
    return r;
}

static int check(const struct kl_relay_options *options) {
    const unsigned rooms = options->server.rooms, most = rooms * options->server.seats;
    const unsigned players = most < KL_HUB_PEERS_MAX ? most : KL_HUB_PEERS_MAX;
    unsigned wanted = files_of(options), has = kl_process_raise_files(wanted);
    int burst = (int)(players * FRAMES_A_SECOND / BURSTS_A_SECOND * DATAGRAM_BYTES);
    int allowed = kl_socket_allowed(KL_SOCKET_BUFFER_BYTES);
    if (has < wanted)
        fprintf(
            stderr,
            "keylock-relay: %u rooms need %u open files, the system allows %u (ulimit -n, LimitNOFILE=)\n",
            rooms, wanted, has);
    if (allowed < burst)
        fprintf(
            stderr,
            "keylock-relay: %u players need %d bytes of a socket's buffers, the system allows %d; as root: "
            "sysctl -w net.core.rmem_max=%d net.core.wmem_max=%d\n",
            players, burst, allowed, KL_SOCKET_BUFFER_BYTES, KL_SOCKET_BUFFER_BYTES);
    const bool fleet = check_fleet(options);
    if (has < wanted || allowed < burst || !fleet) return EXIT_CANNOT_LISTEN;
    return printf("in order: %u rooms, %u players, %u open files, %d bytes of a socket's buffers\n", rooms,
                  players, wanted, allowed) < 0;
}

static int run(struct kl_relay_options *options) {
    unsigned wanted = files_of(options), has = kl_process_raise_files(wanted);
    int quit = kl_wake_at_quit(); /* before there are threads */
#ifdef SIGPIPE                    /* Windows has neither */
    signal(SIGXFSZ, SIG_IGN);     /* a journal that may not grow is no reason to die */
    signal(SIGPIPE, SIG_IGN);     /* a log reader that goes away ends nothing */
#endif
    kl_log_set_level(options->log);
    kl_log_set_lines(options->log_lines);
    if (sodium_init() >= 0 && options->hash_addresses) kl_log_hash_addresses();
    if (has < wanted)
        kl_log(KL_LOG_ERROR, "few_files", "wanted=%u allowed=%u reason=\"journals of later rooms will fail\"",
               wanted, has);
    return serve(options, quit);
}

/* NULL, or why there cannot be so many processes. */
static const char *objection(const struct kl_relay_options *options) {
    if (options->http.port && !kl_copies_possible()) return "--http: expected off on this system, got more";
    if (options->fleet.host[0] && !kl_copies_possible())
        return "--fleet: expected none on this system, got more";
    if (options->fleet.host[0] && !options->server.host[0])
        return "--fleet: expected --host beside it, got none";
    if (options->fleet.host[0] && options->console)
        return "--console: expected no --fleet beside it, got one";
    if (options->shards <= 1) return NULL;
    if (!kl_copies_possible()) return "--shards: expected 1 on this system, got more";
    return options->console ? "--console: expected --shards 1 beside it, got more" : NULL;
}

int main(int argc, char **argv) {
    struct kl_relay_options options = {0};
    char err[256];
    kl_process_begin(&argc, &argv);
    if (argc > 1 && !strcmp(argv[1], "ctl")) return kl_ctl(argc - 1, argv + 1);
    switch (kl_relay_options_parse(&options, argc, argv, err, sizeof err)) {
    case KL_RELAY_HELP: kl_relay_help(stdout); return fflush(stdout) != 0 || ferror(stdout);
    case KL_RELAY_VERSION:
        return printf("keylock-relay %s, protocol %d\n", KL_VERSION, KL_PROTOCOL_VERSION) < 0 ||
               fflush(stdout) != 0;
    case KL_RELAY_BAD:
        fprintf(stderr, "keylock-relay: %s; see keylock-relay --help\n", err);
        return EXIT_BAD_OPTION;
    case KL_RELAY_CHECK: return check(&options);
    case KL_RELAY_RUN: break;
    }
    if (objection(&options)) {
        fprintf(stderr, "keylock-relay: %s; see keylock-relay --help\n", objection(&options));
        return EXIT_BAD_OPTION;
    }
    kl_enet_sockets_begin();
    return run(&options);
}
