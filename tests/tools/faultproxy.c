/* faultproxy.c - a UDP link that behaves badly, for tests: clients talk to it as if it were the relay.
 *
 *   faultproxy --listen PORT --to HOST:PORT [--delay MS] [--jitter MS] [--loss PCT] [--dup PCT]
 *              [--reorder PCT] [--truncate PCT] [--replay PCT] [--garbage PCT] [--rate KBIT]
 *              [--straight MS] [--others MS] [--own N] [--seed N]
 *
 * Per datagram and in each direction: the delay (one way, so an RTT has it twice), plus the absolute value of
 * a normal variate times the jitter (half-normal: mean 0.8, 99.9 % below 3.3 times the jitter). Jitter never
 * changes the order: a datagram waits for the one before. --reorder: this share comes 20 ms later than it
 * should, behind others. A copy (--dup) draws its own jitter. --rate: each client's link carries so many
 * kbit/s each way, IP and UDP headers counted; what would have to wait for it longer than 300 ms is dropped,
 * as by a router. Hostility: --truncate cuts a datagram short, --replay sends one of the last 64 of its
 * direction again behind it, --garbage a random one. The random stream is the seed's alone; it prints the
 * seed. Port 0 takes a free one; the first line on standard output names it. SIGUSR1 switches an outage on,
 * and off again; SIGUSR2 gives every client a new port towards the relay, as a NAT does that has forgotten
 * (the old one is deaf). With --straight the proxy is the clients' router too: a datagram of one to another's
 * port towards the relay gets there so much later, from its own such port; else none does; jitter, copies and
 * garbage are its as well. --others: the delay of all clients but the first. --own: each client comes to the
 * relay from an address of its own, 127.N.CLIENT.1. Ends with 0 on SIGTERM or SIGINT; counters go to standard
 * error. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/rng.h"

#define FLOWS_MAX     64
#define QUEUE_MAX     32768 /* datagrams under way; more are dropped and counted */
#define DATAGRAM_MAX  2048
#define REORDER_BY_US 20000
#define REMEMBERED    64
#define BUFFER_BYTES  (4 * 1024 * 1024)
#define GARBAGE_MAX   200
#define HEADER_BYTES  28     /* of IP and UDP */
#define HEADER_SEALED 6      /* of a sealed datagram, without its counter: magic, kind, session */
#define ROUTER_US     300000 /* of traffic that a router keeps */

enum { UP, DOWN };

struct options {
    uint16_t listen;
    struct sockaddr_in to;
    double delay_us, jitter_us, loss, dup, reorder, truncate, replay, garbage; /* shares of 1 */
    double rate_kbit;                                                          /* 0: as much as comes */
    bool straight;
    uint64_t straight_us;
    uint32_t own;     /* 0: all clients have the proxy's own address */
    double others_us; /* below 0: as the first */
    uint64_t seed;
};

struct seen {
    size_t len;
    uint8_t bytes[DATAGRAM_MAX];
};

struct flow { /* one client */
    struct sockaddr_in client;
    int fd;                          /* connected to the relay */
    uint64_t last_us[2], free_us[2]; /* free_us: the link has carried all that it was given */
    unsigned seen_count[2];
    struct seen seen[2][REMEMBERED];
};

struct packet {
    uint64_t due_us, order;
    unsigned flow, direction;
    bool straight;
    unsigned from; /* with straight: the flow of its sender */
    size_t len;
    uint8_t bytes[DATAGRAM_MAX];
};

struct proxy {
    struct options o;
    int fd, signals;
    bool outage; /* everything is lost, until the next SIGUSR1 */
    unsigned flows;
    struct flow flow[FLOWS_MAX];
    struct packet *heap[QUEUE_MAX]; /* soonest first */
    unsigned queued;
    uint64_t order;
    struct rng random;
    uint64_t passed, lost, copied, late, hostile, overflow;
    uint64_t bytes[2]; /* by direction: bytes that passed */
};

static uint64_t now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void fail(const char *what) {
    fprintf(stderr, "faultproxy: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* --- chance: tests/lib/rng.h, Box-Muller --- */

static double uniform(struct proxy *p) {
    return rng_unit(&p->random);
}

static double half_normal(struct proxy *p) {
    double u = 1.0 - uniform(p), v = uniform(p);
    return fabs(sqrt(-2.0 * log(u)) * cos(2.0 * M_PI * v));
}

/* --- the queue --- */

static bool before(const struct packet *a, const struct packet *b) {
    return a->due_us != b->due_us ? a->due_us < b->due_us : a->order < b->order;
}

static void push(struct proxy *p, struct packet *k) {
    unsigned i = p->queued++;
    for (; i > 0 && before(k, p->heap[(i - 1) / 2]); i = (i - 1) / 2)
        p->heap[i] = p->heap[(i - 1) / 2];
    p->heap[i] = k;
}

static struct packet *pop(struct proxy *p) {
    struct packet *top = p->heap[0], *last = p->heap[--p->queued];
    unsigned i = 0;
    for (unsigned child; (child = 2 * i + 1) < p->queued; i = child) {
        if (child + 1 < p->queued && before(p->heap[child + 1], p->heap[child])) child++;
        if (!before(p->heap[child], last)) break;
        p->heap[i] = p->heap[child];
    }
    p->heap[i] = last;
    return top;
}

/* When the link has carried so many bytes more; 0: they are dropped. */
static uint64_t carried_us(struct proxy *p, unsigned flow, unsigned direction, size_t len, uint64_t at_us) {
    uint64_t *free_us = &p->flow[flow].free_us[direction];
    if (p->o.rate_kbit == 0) return at_us;
    if (*free_us > at_us + ROUTER_US) return 0;
    if (*free_us < at_us) *free_us = at_us;
    return *free_us += (uint64_t)((double)(len + HEADER_BYTES) * 8000 / p->o.rate_kbit);
}

static void schedule(struct proxy *p, unsigned flow, unsigned direction, const uint8_t *bytes, size_t len) {
    uint64_t sent_us = carried_us(p, flow, direction, len, now_us());
    struct packet *k = sent_us && p->queued < QUEUE_MAX ? malloc(sizeof *k) : NULL;
    if (!k) {
        p->overflow++;
        return;
    }
    uint64_t *last_us = &p->flow[flow].last_us[direction];
    k->flow = flow;
    k->direction = direction;
    k->len = len;
    k->order = p->order++;
    double delay_us = flow > 0 && p->o.others_us >= 0 ? p->o.others_us : p->o.delay_us;
    k->due_us = sent_us + (uint64_t)(delay_us + half_normal(p) * p->o.jitter_us);
    memcpy(k->bytes, bytes, len);
    if (uniform(p) < p->o.reorder) {
        k->due_us += REORDER_BY_US;
        p->late++;
    } else {
        if (k->due_us < *last_us) k->due_us = *last_us;
        *last_us = k->due_us;
    }
    k->straight = false;
    push(p, k);
}

static void schedule_straight(struct proxy *p, unsigned from, unsigned to, const uint8_t *bytes, size_t len) {
    bool lost = uniform(p) < p->o.loss || p->outage;
    struct packet *k = !lost && p->queued < QUEUE_MAX ? malloc(sizeof *k) : NULL;
    if (!k) return;
    k->flow = to;
    k->from = from;
    k->direction = DOWN;
    k->straight = true;
    k->len = len;
    k->order = p->order++;
    k->due_us = now_us() + p->o.straight_us + (uint64_t)(half_normal(p) * p->o.jitter_us);
    memcpy(k->bytes, bytes, len);
    push(p, k);
}

static void remember(struct flow *f, unsigned direction, const uint8_t *bytes, size_t len) {
    struct seen *seen = &f->seen[direction][f->seen_count[direction]++ % REMEMBERED];
    seen->len = len;
    memcpy(seen->bytes, bytes, len);
}

static void send_replay(struct proxy *p, unsigned flow, unsigned direction) {
    const struct flow *f = &p->flow[flow];
    unsigned n = f->seen_count[direction] < REMEMBERED ? f->seen_count[direction] : REMEMBERED;
    const struct seen *seen = &f->seen[direction][(unsigned)(uniform(p) * n)];
    p->hostile++;
    schedule(p, flow, direction, seen->bytes, seen->len);
}

/* Half of it looks like our datagrams at first sight, the other half like anything. */
static size_t make_garbage(struct proxy *p, uint8_t bytes[GARBAGE_MAX]) {
    size_t len = (size_t)(uniform(p) * GARBAGE_MAX);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)(uniform(p) * 256);
    if (len > 0 && uniform(p) < 0.5) bytes[0] = 'K';
    p->hostile++;
    return len;
}

static void send_garbage(struct proxy *p, unsigned flow, unsigned direction) {
    uint8_t bytes[GARBAGE_MAX];
    schedule(p, flow, direction, bytes, make_garbage(p, bytes));
}

/* The header of a true one, with garbage behind it, or garbage alone. */
static void be_hostile_straight(struct proxy *p, unsigned from, unsigned to, const uint8_t *bytes,
                                size_t len) {
    uint8_t bad[GARBAGE_MAX];
    if (uniform(p) < p->o.replay) {
        p->hostile++;
        schedule_straight(p, from, to, bytes, len);
    }
    if (uniform(p) >= p->o.garbage) return;
    size_t bad_len = make_garbage(p, bad);
    if (uniform(p) < 0.5) memcpy(bad, bytes, bad_len < HEADER_SEALED ? bad_len : HEADER_SEALED);
    schedule_straight(p, from, to, bad, bad_len);
}

static void be_hostile(struct proxy *p, unsigned flow, unsigned direction, const uint8_t *bytes, size_t len) {
    remember(&p->flow[flow], direction, bytes, len);
    if (uniform(p) < p->o.replay) send_replay(p, flow, direction);
    if (uniform(p) < p->o.garbage) send_garbage(p, flow, direction);
}

static void accept_packet(struct proxy *p, unsigned flow, unsigned direction, const uint8_t *bytes,
                          size_t len) {
    bool lost = uniform(p) < p->o.loss || p->outage, copied = uniform(p) < p->o.dup;
    if (lost) {
        p->lost++;
        return;
    }
    if (uniform(p) < p->o.truncate) {
        p->hostile++;
        schedule(p, flow, direction, bytes, (size_t)(uniform(p) * (double)len));
        return;
    }
    schedule(p, flow, direction, bytes, len);
    be_hostile(p, flow, direction, bytes, len);
    if (!copied) return;
    p->copied++;
    schedule(p, flow, direction, bytes, len);
}

static void deliver_due(struct proxy *p) {
    while (p->queued > 0 && p->heap[0]->due_us <= now_us()) {
        struct packet *k = pop(p);
        struct flow *f = &p->flow[k->flow];
        if (k->direction == UP)
            (void)!sendto(f->fd, k->bytes, k->len, MSG_DONTWAIT,
                          p->o.straight ? (const struct sockaddr *)&p->o.to : NULL,
                          p->o.straight ? sizeof p->o.to : 0);
        else
            (void)!sendto(k->straight ? p->flow[k->from].fd : p->fd, k->bytes, k->len, MSG_DONTWAIT,
                          (struct sockaddr *)&f->client, sizeof f->client);
        p->passed++;
        p->bytes[k->direction] += k->len;
        free(k);
    }
}

/* --- sockets --- */

static int open_socket(void) {
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), bytes = BUFFER_BYTES;
    if (fd < 0) fail("socket");
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    return fd;
}

static int open_towards(const struct proxy *p, unsigned flow) {
    int fd = open_socket();
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (p->o.own) from.sin_addr.s_addr = htonl(127U << 24 | p->o.own << 16 | flow << 8 | 1);
    if ((p->o.straight || p->o.own) && bind(fd, (struct sockaddr *)&from, sizeof from) != 0) fail("bind");
    if (p->o.straight) return fd;
    if (connect(fd, (const struct sockaddr *)&p->o.to, sizeof p->o.to) != 0) fail("connect");
    return fd;
}

static void rebind(struct proxy *p) {
    for (unsigned i = 0; i < p->flows; i++) {
        int was = p->flow[i].fd; /* closed last, so that the port cannot be the same */
        p->flow[i].fd = open_towards(p, i);
        close(was);
    }
    fprintf(stderr, "faultproxy: rebound\n");
}

static bool is_client(const struct flow *f, const struct sockaddr_in *at) {
    return f->client.sin_port == at->sin_port && f->client.sin_addr.s_addr == at->sin_addr.s_addr;
}

/* The flow of this client, new or known; FLOWS_MAX without room. */
static unsigned flow_of(struct proxy *p, const struct sockaddr_in *client) {
    for (unsigned i = 0; i < p->flows; i++)
        if (is_client(&p->flow[i], client)) return i;
    if (p->flows == FLOWS_MAX) return FLOWS_MAX;
    struct flow *f = &p->flow[p->flows];
    f->client = *client;
    f->fd = open_towards(p, p->flows);
    return p->flows++;
}

static void receive_up(struct proxy *p) {
    uint8_t bytes[DATAGRAM_MAX];
    struct sockaddr_in client;
    socklen_t size = sizeof client;
    ssize_t len;
    while ((len = recvfrom(p->fd, bytes, sizeof bytes, 0, (struct sockaddr *)&client, &size)) >= 0) {
        unsigned flow = flow_of(p, &client);
        if (flow < FLOWS_MAX) accept_packet(p, flow, UP, bytes, (size_t)len);
        size = sizeof client;
    }
}

static void receive_down(struct proxy *p, unsigned flow) {
    uint8_t bytes[DATAGRAM_MAX];
    struct sockaddr_in from;
    socklen_t size = sizeof from;
    ssize_t len;
    while ((len = recvfrom(p->flow[flow].fd, bytes, sizeof bytes, 0, (struct sockaddr *)&from, &size)) >= 0) {
        unsigned sender = 0;
        while (sender < p->flows && !is_client(&p->flow[sender], &from))
            sender++;
        if (sender == p->flows)
            accept_packet(p, flow, DOWN, bytes, (size_t)len);
        else if (p->o.straight) {
            schedule_straight(p, sender, flow, bytes, (size_t)len);
            be_hostile_straight(p, sender, flow, bytes, (size_t)len);
        }
        size = sizeof from;
    }
}

static void wait_and_receive(struct proxy *p) {
    struct pollfd fds[FLOWS_MAX + 1];
    unsigned flows = p->flows;
    fds[0] = (struct pollfd){.fd = p->fd, .events = POLLIN};
    for (unsigned i = 0; i < flows; i++)
        fds[i + 1] = (struct pollfd){.fd = p->flow[i].fd, .events = POLLIN};
    uint64_t t = now_us(), until_us = t + 100000;
    if (p->queued > 0 && p->heap[0]->due_us < until_us) until_us = p->heap[0]->due_us;
    struct timespec left = {.tv_nsec = (long)(until_us > t ? until_us - t : 0) * 1000};
    if (ppoll(fds, flows + 1, &left, NULL) <= 0) return;
    if (fds[0].revents) receive_up(p);
    for (unsigned i = 0; i < flows; i++)
        if (fds[i + 1].revents) receive_down(p, i);
}

/* --- the command line --- */

static void usage(const char *why) {
    fprintf(stderr, "faultproxy: %s (see the head of faultproxy.c)\n", why);
    exit(2);
}

static double number(const char *s, double max) {
    char *end;
    double v = strtod(s, &end);
    if (end == s || *end || !(v >= 0 && v <= max)) usage("a number is out of range");
    return v;
}

static void set_target(struct options *o, const char *s) {
    char host[256];
    const char *colon = strrchr(s, ':');
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM}, *found;
    if (!colon || (size_t)(colon - s) >= sizeof host) usage("--to takes HOST:PORT");
    snprintf(host, sizeof host, "%.*s", (int)(colon - s), s);
    if (getaddrinfo(host, colon + 1, &hints, &found) != 0) usage("--to names no IPv4 address");
    memcpy(&o->to, found->ai_addr, sizeof o->to);
    freeaddrinfo(found);
}

static void set_option(struct options *o, int option) {
    switch (option) {
    case 'L': o->listen = (uint16_t)number(optarg, 65535); break;
    case 't': set_target(o, optarg); break;
    case 'd': o->delay_us = number(optarg, 10000) * 1000; break;
    case 'j': o->jitter_us = number(optarg, 10000) * 1000; break;
    case 'l': o->loss = number(optarg, 100) / 100; break;
    case 'u': o->dup = number(optarg, 100) / 100; break;
    case 'r': o->reorder = number(optarg, 100) / 100; break;
    case 'T': o->truncate = number(optarg, 100) / 100; break;
    case 'R': o->replay = number(optarg, 100) / 100; break;
    case 'G': o->garbage = number(optarg, 100) / 100; break;
    case 'b': o->rate_kbit = number(optarg, 1e7); break;
    case 'S':
        o->straight = true;
        o->straight_us = (uint64_t)(number(optarg, 1000) * 1000);
        break;
    case 'O': o->others_us = number(optarg, 10000) * 1000; break;
    case 's': o->seed = (uint64_t)number(optarg, 9e15); break;
    case 'w': o->own = (uint32_t)number(optarg, 255); break;
    default: usage("bad option");
    }
}

static void parse(struct options *o, int argc, char **argv) {
    static const struct option names[] = {
        {"listen", 1, NULL, 'L'},   {"to", 1, NULL, 't'},       {"delay", 1, NULL, 'd'},
        {"jitter", 1, NULL, 'j'},   {"loss", 1, NULL, 'l'},     {"dup", 1, NULL, 'u'},
        {"reorder", 1, NULL, 'r'},  {"truncate", 1, NULL, 'T'}, {"replay", 1, NULL, 'R'},
        {"garbage", 1, NULL, 'G'},  {"seed", 1, NULL, 's'},     {"rate", 1, NULL, 'b'},
        {"straight", 1, NULL, 'S'}, {"others", 1, NULL, 'O'},   {"own", 1, NULL, 'w'},
        {NULL, 0, NULL, 0}};
    int option;
    *o = (struct options){.seed = 1, .others_us = -1};
    while ((option = getopt_long(argc, argv, "", names, NULL)) != -1)
        set_option(o, option);
    if (optind != argc) usage("too many arguments");
    if (o->to.sin_port == 0) usage("--to is missing");
}

static void open_proxy(struct proxy *p) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    p->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    p->fd = open_socket();
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(p->o.listen)};
    socklen_t size = sizeof in;
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(p->fd, (struct sockaddr *)&in, size) != 0) fail("cannot listen");
    getsockname(p->fd, (struct sockaddr *)&in, &size);
    printf("listening 127.0.0.1:%u seed %llu\n", ntohs(in.sin_port), (unsigned long long)p->o.seed);
    fflush(stdout);
}

/* Acts on arrived signals; true if one of them ends the program. */
static bool told_to_end(struct proxy *p) {
    struct signalfd_siginfo info;
    while (read(p->signals, &info, sizeof info) > 0) {
        if (info.ssi_signo == SIGUSR2) {
            rebind(p);
            continue;
        }
        if (info.ssi_signo != SIGUSR1) return true;
        p->outage = !p->outage;
        fprintf(stderr, "faultproxy: outage %s\n", p->outage ? "on" : "off");
    }
    return false;
}

int main(int argc, char **argv) {
    static struct proxy p;
    parse(&p.o, argc, argv);
    p.random.state = p.o.seed;
    open_proxy(&p);
    while (!told_to_end(&p)) {
        wait_and_receive(&p);
        deliver_due(&p);
    }
    fprintf(stderr,
            "faultproxy: clients=%u up_bytes=%llu down_bytes=%llu passed=%llu lost=%llu copied=%llu "
            "late=%llu hostile=%llu overflow=%llu\n",
            p.flows, (unsigned long long)p.bytes[UP], (unsigned long long)p.bytes[!UP],
            (unsigned long long)p.passed, (unsigned long long)p.lost, (unsigned long long)p.copied,
            (unsigned long long)p.late, (unsigned long long)p.hostile, (unsigned long long)p.overflow);
    return 0;
}
