/* load.c - load on a relay: many real clients in one thread, and the cost of the relay's process.
 *
 *   load [--clients N] [--room N] [--rtt MS] [--loss PERCENT] [--fps F] [--seconds S] [--warm S]
 *        [--at-once N] [--cipher aes|chacha|clear] [--held US] [--callgrind] [--raw] [--wait]
 *        [-- RELAY'S OPTIONS]
 *
 * It starts the relay that $KEYLOCK_RELAY_BIN names and brings N clients into rooms of `--room`, so many at
 * once. They play for --warm and --seconds; delay and loss are made here, in both directions. Prints CSV: the
 * time that the relay's processes took between the two, by the scheduler's count, and the clients' figures.
 *
 * --raw: not a relay but the yardstick. A child process collects a sealed datagram of each client of a room
 * and sends one to each: plain sockets, as many and as large as a relay's.
 * --wait: each room lacks a player, so nobody ever plays.
 * --held: an UPDATE whose echo the relay held longer waited for another player, and is not counted.
 * --callgrind: the relay runs under callgrind, which counts while it is measured.
 *
 * The clients are the wrapper's links (net/transport) without their threads. Links and ENet read and write
 * datagrams through functions here, in the place of net/platform/socket.h's and of ENet's own. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <arpa/inet.h>

#include "net/engine/lock_wire.h"
#include "net/platform/clock.h"
#include "net/session/seal.h"
#include "net/transport/shards.h"
#include "net/transport/link_state.h"
#include "tests/lib/rng.h"
#include "tests/net/net_player.h"

#define DATAGRAM   1300
#define RAW_UP     72 /* as CTRL and UPDATE of two players who mash, RTT 50 */
#define RAW_DOWN   90
#define EVENTS     256
#define NAP_NS     50000
#define LOOK_US    5000   /* between turns of a client that does not play yet */
#define WAITS_US   100000 /* the same with --wait, once it is in */
#define SLOWEST_US 200000

static struct {
    unsigned clients, room, at_once, held_us;
    double rtt_ms, loss, fps, seconds, warm;
    uint8_t cipher;
    bool raw, callgrind, wait;
    const char *const *relay_args;
} opt = {.clients = 16,
         .room = 2,
         .at_once = 16,
         .held_us = 1500,
         .fps = 60,
         .seconds = 10,
         .warm = 3,
         .cipher = KL_CIPHER_AES256GCM};

struct client {
    struct player p;
    int fd;
    uint64_t wake_us, frame_us; /* next turns */
    struct kl_sealer sealer;    /* with --raw */
    struct kl_opener opener;
};
static struct client *client;
static unsigned opened; /* clients that have begun */
static struct client *by_fd[65536];
static struct sockaddr_in relay_at;
static uint64_t now_us;

/* --- measuring --- */

static struct {
    bool on;
    uint64_t updates, lost, late[SLOWEST_US + 1], lates;
} seen;

static void note_latency(uint32_t since) {
    if (!seen.on) return;
    uint64_t took = (uint32_t)now_us - since, link = (uint64_t)(opt.rtt_ms * 1000);
    took = took > link ? took - link : 0;
    seen.late[took < SLOWEST_US ? took : SLOWEST_US]++;
    seen.lates++;
}

static unsigned percentile(double part) {
    uint64_t sum = 0;
    for (unsigned us = 0; us <= SLOWEST_US; us++)
        if ((double)(sum += seen.late[us]) > part * (double)seen.lates) return us;
    return SLOWEST_US;
}

static struct program relay; /* or the yardstick */
static struct {
    pid_t pid[KL_SHARDS_MAX + 1];
    unsigned count;
} measured; /* its processes */

static void note_processes(void) {
    measured.pid[0] = relay.pid;
    measured.count = 1 + program_children(&relay, measured.pid + 1, KL_SHARDS_MAX);
}

static double on_processor_s(void) {
    double sum_s = 0;
    for (unsigned i = 0; i < measured.count; i++) {
        char path[64];
        unsigned long long ns = 0;
        snprintf(path, sizeof path, "/proc/%d/schedstat", (int)measured.pid[i]);
        FILE *f = fopen(path, "r");
        if (f && fscanf(f, "%llu", &ns) == 1) sum_s += (double)ns / 1e9;
        if (f) fclose(f);
    }
    return sum_s;
}

/* A number of /proc/PID/status, of all processes together. */
static double status_of(const char *name) {
    double sum = 0;
    for (unsigned i = 0; i < measured.count; i++) {
        char path[64], line[256];
        snprintf(path, sizeof path, "/proc/%d/status", (int)measured.pid[i]);
        FILE *f = fopen(path, "r");
        while (f && fgets(line, sizeof line, f))
            if (strncmp(line, name, strlen(name)) == 0) sum += atof(line + strlen(name) + 1);
        if (f) fclose(f);
    }
    return sum;
}

static double own_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* --- the link between: a delay, and losses --- */

struct under_way {
    uint64_t due_us;
    struct client *c;
    uint16_t len;
    uint8_t bytes[DATAGRAM];
};
static struct line {
    struct under_way *at;
    uint32_t head, tail, places; /* places: a power of two */
} up, down;

static bool is_lost(void) {
    static uint64_t dice = 1;
    dice = rng_mix(dice + 1);
    if (opt.loss <= 0 || (double)(dice % 1000000) >= opt.loss * 1e4) return false;
    seen.lost++;
    return true;
}

static void put(struct line *l, struct client *c, const void *bytes, size_t len) {
    if (l->tail - l->head == l->places || len > DATAGRAM) {
        fprintf(stderr, "load: %u datagrams are under way, or one has %zu bytes\n", l->places, len);
        exit(1);
    }
    struct under_way *u = &l->at[l->tail++ & (l->places - 1)];
    u->due_us = now_us + (uint64_t)(opt.rtt_ms * 500);
    u->c = c;
    u->len = (uint16_t)len;
    memcpy(u->bytes, bytes, len);
}

static struct under_way *next_due(struct line *l) {
    struct under_way *u = &l->at[l->head & (l->places - 1)];
    if (l->head == l->tail || u->due_us > now_us) return NULL;
    l->head++;
    return u;
}

static void put_on_wire(const struct client *c, const void *bytes, size_t len) {
    (void)!sendto(c->fd, bytes, len, MSG_DONTWAIT, (struct sockaddr *)&relay_at, sizeof relay_at);
}

static void send_up(struct client *c, const void *bytes, size_t len) {
    if (is_lost()) return;
    if (opt.rtt_ms > 0)
        put(&up, c, bytes, len);
    else
        put_on_wire(c, bytes, len);
}

/* --- the links' sockets, and ENet's --- */

static const struct under_way *arrived; /* for the client whose turn it is; NULL: nothing more */
static bool enet_byte;                  /* for its ENet: enet_feed.h */

bool __wrap_kl_socket_send(int s, const struct kl_address *to, const void *bytes, size_t len);
int __wrap_kl_socket_receive(int s, void *bytes, size_t cap, struct kl_address *from);

bool __wrap_kl_socket_send(int s, const struct kl_address *to, const void *bytes, size_t len) {
    (void)to;
    if (by_fd[s])
        send_up(by_fd[s], bytes, len);
    else
        enet_byte = true; /* by its sink */
    return true;
}
int __wrap_kl_socket_receive(int s, void *bytes, size_t cap, struct kl_address *from) {
    (void)s;
    const struct under_way *u = arrived;
    arrived = NULL;
    if (!u || u->len > cap) return -1;
    memcpy(bytes, u->bytes, u->len);
    *from = kl_address_v4((const uint8_t *)&relay_at.sin_addr, ntohs(relay_at.sin_port));
    return u->len;
}

__attribute__((visibility("default"))) int enet_socket_receive(ENetSocket s, ENetAddress *from,
                                                               ENetBuffer *to, size_t buffers) {
    (void)s, (void)from, (void)to, (void)buffers;
    bool has_one = enet_byte;
    enet_byte = false;
    return has_one;
}
__attribute__((visibility("default"))) int enet_socket_send(ENetSocket s, const ENetAddress *to,
                                                            const ENetBuffer *from, size_t buffers) {
    (void)s, (void)to, (void)from, (void)buffers;
    return 0; /* it is empty: the datagram has left by the link's socket */
}

/* --- clients --- */

void __real_kl_participant_update(struct kl_participant *s, const uint8_t *body, size_t len, uint64_t at_us);
void __wrap_kl_participant_update(struct kl_participant *s, const uint8_t *body, size_t len, uint64_t at_us);
void __wrap_kl_participant_update(struct kl_participant *s, const uint8_t *body, size_t len, uint64_t at_us) {
    struct kl_update u;
    seen.updates += seen.on;
    if (seen.on && kl_update_open(&u, body, len) == 0 && u.has_echo && u.hold_us < opt.held_us)
        note_latency(u.echo);
    __real_kl_participant_update(s, body, len, at_us);
}

static void link_turn(struct client *c) {
    kl_link_turn(c->p.link);
    c->wake_us = kl_participant_wake_at(kl_link_hold(c->p.link), now_us);
    kl_link_release(c->p.link);
}

static void frame_turn(struct client *c) {
    player_turn(&c->p);
    bool waits = opt.wait && c->p.status.phase != KL_PARTICIPANT_CONNECTING;
    c->frame_us =
        c->p.status.phase == KL_PARTICIPANT_PLAYING ? c->p.due_us : now_us + (waits ? WAITS_US : LOOK_US);
    link_turn(c);
}

static void take(struct client *c, struct under_way *u) {
    struct kl_opened o;
    if (!opt.raw) {
        arrived = u;
        link_turn(c);
    } else if (kl_open(&c->opener, u->bytes, u->len, &o) == 0) {
        uint32_t since, closed_it;
        memcpy(&since, o.body, sizeof since);
        memcpy(&closed_it, o.body + 4, sizeof closed_it);
        seen.updates += seen.on;
        if (closed_it) note_latency(since);
    }
}

static void raw_turn(struct client *c) {
    uint8_t body[RAW_UP - KL_SEAL_OVERHEAD] = {0}, bytes[RAW_UP];
    uint32_t stamp = (uint32_t)now_us;
    memcpy(body, &stamp, sizeof stamp);
    send_up(c, bytes, kl_seal(&c->sealer, KL_SEAL_CTRL, body, sizeof body, bytes));
    c->frame_us += (uint64_t)(1e6 / opt.fps);
    if (c->frame_us < now_us) c->frame_us = now_us;
}

static void read_socket(struct client *c) {
    struct under_way u = {.c = c};
    ssize_t len;
    while ((len = recv(c->fd, u.bytes, sizeof u.bytes, MSG_DONTWAIT)) > 0) {
        if (is_lost()) continue;
        u.len = (uint16_t)len;
        if (opt.rtt_ms > 0)
            put(&down, c, u.bytes, u.len);
        else
            take(c, &u);
    }
}

/* One look at everything. */
static void turn(int sockets) {
    struct epoll_event e[EVENTS];
    struct under_way *u;
    now_us = kl_now_us();
    int ready = epoll_wait(sockets, e, EVENTS, 0);
    for (int i = 0; i < ready; i++)
        read_socket(e[i].data.ptr);
    while ((u = next_due(&down)))
        take(u->c, u);
    for (unsigned i = 0; i < opened; i++) {
        struct client *c = &client[i];
        if (now_us >= c->frame_us)
            (opt.raw ? raw_turn : frame_turn)(c);
        else if (!opt.raw && now_us >= c->wake_us)
            link_turn(c);
    }
    while ((u = next_due(&up)))
        put_on_wire(u->c, u->bytes, u->len);
    if (ready <= 0) nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
}

static void turn_for(int sockets, double seconds) {
    uint64_t until_us = kl_now_us() + (uint64_t)(seconds * 1e6);
    while (kl_now_us() < until_us)
        turn(sockets);
}

/* --- joining --- */

static void keys_of(unsigned n, struct kl_session_keys *k) {
    *k = (struct kl_session_keys){.cipher = opt.cipher, .session = n + 1};
    memset(k->up, 1, sizeof k->up);
    memset(k->down, 2, sizeof k->down);
}

static void open_client(struct client *c, int sockets) {
    char room[16], name[16], err[200];
    unsigned n = (unsigned)(c - client);
    if (opt.raw) {
        struct kl_session_keys k;
        keys_of(n, &k);
        kl_sealer_init(&c->sealer, &k, k.up);
        kl_opener_init(&c->opener, &k, k.down);
        c->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        c->frame_us = kl_now_us() + rng_mix(n) % 100000;
    } else {
        snprintf(room, sizeof room, "r%u", n / opt.room);
        snprintf(name, sizeof name, "p%u", n);
        struct kl_hello h = hello_make(name, room, 1, (uint8_t)(opt.room + opt.wait));
        h.params.clocked = true;
        h.params.fps_uhz = (uint32_t)(opt.fps * 1e6);
        c->p.ciphers = opt.cipher;
        c->p.insecure_lan = opt.cipher == KL_CIPHER_CLEAR;
        c->p.pads = true;
        struct kl_link_config config = player_config(&c->p, &h, ntohs(relay_at.sin_port), 1U << 20);
        if (kl_link_make(&c->p.link, &config, err, sizeof err) != 0) {
            fprintf(stderr, "load: %s\n", err);
            exit(1);
        }
        c->fd = c->p.link->socket;
        (void)kl_link_begin(c->p.link);
    }
    by_fd[c->fd] = c;
    epoll_ctl(sockets, EPOLL_CTL_ADD, c->fd, &(struct epoll_event){.events = EPOLLIN, .data.ptr = c});
    opened++;
}

static unsigned count_in(enum kl_participant_phase phase) {
    unsigned count = 0;
    for (unsigned i = 0; i < opened; i++)
        count += client[i].p.status.phase == phase;
    return count;
}

/* Seconds until all play; below 0: they do not. */
static double join(int sockets) {
    uint64_t from_us = kl_now_us(), until_us = from_us + 120 * UINT64_C(1000000);
    while (kl_now_us() < until_us && count_in(KL_PARTICIPANT_ENDED) == 0) {
        unsigned coming = opt.raw ? 0 : count_in(KL_PARTICIPANT_CONNECTING);
        while (opened < opt.clients && (opt.raw || coming++ < opt.at_once))
            open_client(&client[opened], sockets);
        turn(sockets);
        bool all_in =
            opt.wait ? count_in(KL_PARTICIPANT_CONNECTING) == 0 : count_in(KL_PARTICIPANT_PLAYING) == opened;
        if (opened == opt.clients && (opt.raw || all_in)) return (double)(kl_now_us() - from_us) / 1e6;
    }
    for (unsigned i = 0, told = 0; i < opened && told < 4; i++)
        if (client[i].p.status.phase != KL_PARTICIPANT_PLAYING && ++told)
            fprintf(stderr, "load: client %u is in phase %d: %s\n", i, client[i].p.status.phase,
                    client[i].p.status.reason);
    return -1;
}

/* --- the yardstick --- */

/* The child's end of it, until it is killed. */
static void serve_raw(int s) {
    struct peer {
        struct sockaddr_in at;
        struct kl_sealer sealer;
        struct kl_opener opener;
        uint32_t stamp;
        bool has;
    } *peer = aligned_alloc(64, (opt.clients * sizeof *peer + 63) / 64 * 64);
    unsigned *waiting = calloc(opt.clients, sizeof *waiting);
    if (!peer || !waiting) _exit(1);
    for (unsigned i = 0; i < opt.clients; i++) {
        struct kl_session_keys k;
        keys_of(i, &k);
        peer[i].has = false;
        kl_opener_init(&peer[i].opener, &k, k.up);
        kl_sealer_init(&peer[i].sealer, &k, k.down);
    }
    for (;;) {
        uint8_t bytes[DATAGRAM], body[RAW_DOWN - KL_SEAL_OVERHEAD] = {0};
        struct sockaddr_in from;
        socklen_t size = sizeof from;
        struct kl_opened o;
        ssize_t len = recvfrom(s, bytes, sizeof bytes, 0, (struct sockaddr *)&from, &size);
        uint32_t n = len > 0 ? kl_seal_session(bytes, (size_t)len) - 1 : opt.clients;
        if (n >= opt.clients || kl_open(&peer[n].opener, bytes, (size_t)len, &o) != 0) continue;
        peer[n].at = from;
        memcpy(&peer[n].stamp, o.body, sizeof peer[n].stamp);
        waiting[n / opt.room] += !peer[n].has;
        peer[n].has = true;
        unsigned first = n / opt.room * opt.room;
        unsigned all = first + opt.room < opt.clients ? opt.room : opt.clients - first;
        for (unsigned i = first; waiting[n / opt.room] == all && i < first + all; i++) {
            uint32_t closed_it = i == n;
            memcpy(body, &peer[i].stamp, sizeof peer[i].stamp);
            memcpy(body + 4, &closed_it, sizeof closed_it);
            len = (ssize_t)kl_seal(&peer[i].sealer, KL_SEAL_UPDATE, body, sizeof body, bytes);
            (void)!sendto(s, bytes, (size_t)len, 0, (struct sockaddr *)&peer[i].at, sizeof peer[i].at);
            peer[i].has = false;
        }
        if (waiting[n / opt.room] == all) waiting[n / opt.room] = 0;
    }
}

static pid_t start_raw(void) {
    socklen_t size = sizeof relay_at;
    int s = socket(AF_INET, SOCK_DGRAM, 0), bytes = 4 << 20;
    setsockopt(s, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
    bind(s, (struct sockaddr *)&relay_at, sizeof relay_at);
    getsockname(s, (struct sockaddr *)&relay_at, &size);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve_raw(s);
    }
    close(s);
    return relay.pid = pid;
}

/* --- the run --- */

static pid_t start_relay(void) {
    const char *const wide[] = {
        "--log",        "info",    "--per-address",     "4000",  "--rooms-per-address", "4000",
        "--handshakes", "1000000", "--mib-per-address", "100000"};
    const char *args[24] = {0};
    unsigned n = 0;
    for (; n < sizeof wide / sizeof wide[0]; n++)
        args[n] = wide[n];
    if (opt.cipher == KL_CIPHER_CLEAR) args[n++] = "--insecure-lan";
    for (unsigned i = 0; opt.relay_args[i] && n < 23; i++)
        args[n++] = opt.relay_args[i];
    relay = relay_start(args);
    relay_at.sin_port = htons(relay.port);
    return relay.pid;
}

static void count_instructions(const char *on) {
    for (unsigned i = 0; opt.callgrind && i < measured.count; i++) {
        char command[64];
        snprintf(command, sizeof command, "callgrind_control -i %s %d >/dev/null 2>&1", on,
                 (int)measured.pid[i]);
        if (system(command) != 0) fprintf(stderr, "load: no answer of callgrind\n");
    }
}

static double frames_taken(void) {
    double sum = 0;
    for (unsigned i = 0; i < opened; i++)
        sum += client[i].p.frames;
    return sum;
}

static int run(void) {
    int sockets = epoll_create1(EPOLL_CLOEXEC);
    if ((opt.raw ? start_raw() : start_relay()) <= 0) return 1;
    note_processes();
    double empty_kib = status_of("VmRSS"), join_s = join(sockets);
    if (join_s < 0) return 1;
    turn_for(sockets, opt.warm);
    note_processes();
    count_instructions("on");
    double from_s = on_processor_s(), from_own_s = own_s(), frames = frames_taken(),
           sleeps = status_of("voluntary_ctxt_switches");
    uint64_t from_us = kl_now_us();
    seen.on = true;
    turn_for(sockets, opt.seconds);
    seen.on = false;
    double wall_s = (double)(kl_now_us() - from_us) / 1e6, took_s = on_processor_s() - from_s,
           idle = 1 - (own_s() - from_own_s) / wall_s, updates = seen.updates ? (double)seen.updates : 1;
    sleeps = (status_of("voluntary_ctxt_switches") - sleeps) / wall_s;
    frames = frames_taken() - frames;
    double kib = status_of("VmRSS");
    count_instructions("off");
    printf("what,clients,room,rtt_ms,loss,join_s,updates,us_per_update,core_share,sleeps_s,p50_us,p99_us,fps,"
           "generator_idle,kib,room_kib,desyncs,ended\n");
    printf("%s,%u,%u,%g,%g,%.2f,%.0f,%.3f,%.4f,%.0f,%u,%u,%.2f,%.3f,%.0f,%.1f,%u,%u\n",
           opt.raw ? "raw" : "relay", opt.clients, opt.room, opt.rtt_ms, opt.loss, join_s, updates,
           took_s * 1e6 / updates, took_s / wall_s, sleeps, percentile(0.5), percentile(0.99),
           frames / opt.clients / wall_s, idle, kib, (kib - empty_kib) * opt.room / opt.clients,
           opt.raw ? 0 : program_lines(&relay, "event=desync"), count_in(KL_PARTICIPANT_ENDED));
    fflush(stdout);
    program_stop(&relay, opt.raw ? SIGKILL : SIGTERM);
    return 0;
}

static int usage(void) {
    fputs("load: a bad option; its head names all\n", stderr);
    return 2;
}

int main(int argc, char **argv) {
    enum { CLIENTS, ROOM, RTT, LOSS, FPS, SECONDS, WARM, AT_ONCE, CIPHER, CALLGRIND, RAW, WAIT, HELD };
    static const struct option options[] = {{"clients", 1, 0, CLIENTS}, {"room", 1, 0, ROOM},
                                            {"rtt", 1, 0, RTT},         {"loss", 1, 0, LOSS},
                                            {"fps", 1, 0, FPS},         {"seconds", 1, 0, SECONDS},
                                            {"warm", 1, 0, WARM},       {"at-once", 1, 0, AT_ONCE},
                                            {"cipher", 1, 0, CIPHER},   {"callgrind", 0, 0, CALLGRIND},
                                            {"raw", 0, 0, RAW},         {"wait", 0, 0, WAIT},
                                            {"held", 1, 0, HELD},       {0}};
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;)
        switch (o) {
        case CLIENTS: opt.clients = (unsigned)atoi(optarg); break;
        case ROOM: opt.room = (unsigned)atoi(optarg); break;
        case RTT: opt.rtt_ms = atof(optarg); break;
        case LOSS: opt.loss = atof(optarg); break;
        case FPS: opt.fps = atof(optarg); break;
        case SECONDS: opt.seconds = atof(optarg); break;
        case WARM: opt.warm = atof(optarg); break;
        case AT_ONCE: opt.at_once = (unsigned)atoi(optarg); break;
        case CIPHER:
            opt.cipher = optarg[0] == 'a' && optarg[1] == 'e' ? KL_CIPHER_AES256GCM
                         : optarg[1] == 'h'                   ? KL_CIPHER_CHACHA20
                                                              : KL_CIPHER_CLEAR;
            break;
        case HELD: opt.held_us = (unsigned)atoi(optarg); break;
        case CALLGRIND: opt.callgrind = true; break;
        case RAW: opt.raw = true; break;
        case WAIT: opt.wait = true; break;
        default: return usage();
        }
    struct rlimit files = {65536, 65536};
    if (!opt.clients || !opt.room || opt.room + opt.wait > KL_MAX_SEATS) return usage();
    (void)setrlimit(RLIMIT_NOFILE, &files);
    opt.relay_args = (const char *const *)argv + optind;
    relay_at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (up.places = 1024; up.places < opt.clients * 64; up.places *= 2) {
    }
    down.places = up.places;
    client = aligned_alloc(64, (opt.clients * sizeof *client + 63) / 64 * 64);
    up.at = calloc(up.places, sizeof *up.at);
    down.at = calloc(down.places, sizeof *down.at);
    if (!client || !up.at || !down.at || sodium_init() < 0) return 1;
    memset(client, 0, opt.clients * sizeof *client);
    return run();
}
