/* bench_relay.c - a relay's cost: rooms of two at 60 Hz over loopback, and the relay's CPU per update
 * (one input in, one update out) without encryption (--insecure-lan: SipHash, so still authentic), with
 * AES-256-GCM and with ChaCha20-Poly1305: three relays at the same time, beside raw UDP pairs in the same
 * run.
 *
 *   bench_relay [ROOMS [SECONDS]]
 *         ROOMS at each relay. Prints CSV: cipher, rooms, clients, seconds, updates, relay CPU us per update,
 *         share of a core, raw us per pair, ratio to raw, ratio to clear, bytes of an update's body, bytes of
 *         protection, KiB of resident memory that a room adds to the relay
 *   bench_relay --idle ROOMS
 *         rooms for two whose first player waits, then whose second has come and has not loaded. Prints CSV:
 *         rooms, players in each, KiB of resident memory that a room adds to the relay */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "net/platform/clock.h"
#include "net/session/seal.h"
#include "tests/net/net_player.h"

/* On a processor, as the scheduler counts it: the other thread only writes the log. */
static double cpu_s(pid_t pid) {
    char path[64];
    unsigned long long ns = 0;
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)pid);
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    int got = fscanf(f, "%llu", &ns);
    fclose(f);
    return got == 1 ? (double)ns / 1e9 : 0;
}

/* Resident memory. */
static double kib_of(pid_t pid) {
    char path[64];
    long unused, pages = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    int got = fscanf(f, "%ld %ld", &unused, &pages);
    fclose(f);
    return got == 2 ? (double)pages * (double)sysconf(_SC_PAGESIZE) / 1024 : 0;
}

/* One datagram out and one in, by plain sockets. */
static double raw_pair_us(void) {
    enum { PAIRS = 100000 };
    struct sockaddr_in in = {.sin_family = AF_INET};
    socklen_t size = sizeof in;
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM, 0);
    bind(a, (struct sockaddr *)&in, sizeof in);
    getsockname(a, (struct sockaddr *)&in, &size);
    char bytes[64] = {0};
    struct timespec from, to;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    for (int i = 0; i < PAIRS; i++) {
        (void)!sendto(b, bytes, 48, 0, (struct sockaddr *)&in, sizeof in);
        (void)!recv(a, bytes, sizeof bytes, 0);
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    close(a);
    close(b);
    return ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / 1e3 / PAIRS;
}

static const struct mode {
    const char *name;
    uint8_t ciphers;
    bool insecure_lan;
} modes[] = {
    {"clear", 0, true},
    {"aes-256-gcm", KL_CIPHER_AES256GCM, false},
    {"chacha20-poly1305", KL_CIPHER_CHACHA20, false},
};
#define MODES 3

struct bench {
    struct program relay;
    struct player *p;
    double empty_kib; /* before its first client */
    double from_s;
    uint64_t from, bytes, datagrams;
};
static struct bench bench[MODES];
static unsigned count; /* players of each */

static void turn_all(unsigned first) {
    for (unsigned m = 0; m < MODES; m++) {
        struct player *p = bench[(first + m) % MODES].p;
        for (unsigned i = 0; p && i < count && p[i].link; i++)
            player_turn(&p[i]);
    }
}

static void start(struct bench *b, const struct mode *mode) {
    const char *const args[] = {"--per-address",
                                "4000",
                                "--rooms-per-address",
                                "1024",
                                "--handshakes",
                                "100000",
                                "--rooms",
                                "1024",
                                "--log",
                                "info",
                                mode->insecure_lan ? "--insecure-lan" : NULL,
                                NULL};
    b->p = calloc(count, sizeof *b->p);
    b->relay = relay_start(args);
    b->empty_kib = kib_of(b->relay.pid);
}

/* Player i comes into a room for two. */
static bool come(struct bench *b, const struct mode *mode, unsigned i) {
    char room[16];
    snprintf(room, sizeof room, "r%u", i / 2);
    struct kl_hello h = hello_make("bench", room, 1, 2);
    h.params.clocked = true;
    b->p[i].insecure_lan = mode->insecure_lan;
    b->p[i].ciphers = mode->ciphers;
    player_open(&b->p[i], &h, b->relay.port, 1000000);
    return player_joins(&b->p[i]);
}

static bool begin(struct bench *b, const struct mode *mode) {
    start(b, mode);
    for (unsigned i = 0; i < count; i++) {
        if (!come(b, mode, i)) return false;
        if (strcmp(kl_cipher_name(b->p[i].status.cipher), mode->name) != 0) return false;
        turn_all(0); /* the players in the room are waited for */
    }
    return true;
}

/* Each mode's players come first in turn: who comes later finds warmer caches. */
static void turn_for(double s) {
    uint64_t end_us = kl_now_us() + (uint64_t)(s * 1e6);
    for (unsigned first = 0; kl_now_us() < end_us; first++) {
        turn_all(first);
        poll(NULL, 0, 2);
    }
}

static uint64_t frames_of(const struct bench *b) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < count; i++)
        sum += b->p[i].frames;
    return sum;
}

static double body_bytes(const struct bench *b) {
    uint64_t bytes = 0, datagrams = 0;
    for (unsigned i = 0; i < count; i++) {
        bytes += b->p[i].status.lock.received_bytes;
        datagrams += b->p[i].status.lock.received_datagrams;
    }
    return (double)bytes / (double)datagrams;
}

static void print(double wall_s, double raw) {
    double clear = 0;
    printf("cipher,rooms,clients,seconds,updates,us_per_update,core_share,raw_us,ratio,ratio_to_clear,"
           "body_bytes,protection_bytes,room_kib\n");
    for (unsigned m = 0; m < MODES; m++) {
        struct bench *b = &bench[m];
        double used_s = cpu_s(b->relay.pid) - b->from_s, updates = (double)(frames_of(b) - b->from);
        double us = used_s * 1e6 / updates;
        if (m == 0) clear = us;
        printf("%s,%u,%u,%.1f,%.0f,%.3f,%.4f,%.2f,%.3f,%.3f,%.1f,%d,%.1f\n", modes[m].name, count / 2, count,
               wall_s, updates, us, used_s / wall_s, raw, us / raw, us / clear, body_bytes(b),
               KL_SEAL_OVERHEAD, (kib_of(b->relay.pid) - b->empty_kib) / (count / 2));
    }
}

static int close_all(struct bench *b) {
    for (unsigned i = 0; i < count; i++)
        player_close(&b->p[i], 0);
    free(b->p);
    return program_stop(&b->relay, SIGTERM);
}

/* The players have no turn: none of them loads. */
static int idle(void) {
    struct bench *b = &bench[0];
    start(b, &modes[0]);
    printf("rooms,players,room_kib\n");
    for (unsigned second = 0; second < 2; second++) {
        for (unsigned i = second; i < count; i += 2)
            if (!come(b, &modes[0], i)) return 1;
        printf("%u,%u,%.1f\n", count / 2, second + 1, (kib_of(b->relay.pid) - b->empty_kib) / (count / 2));
    }
    return close_all(b);
}

int main(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[1], "--idle") == 0) {
        count = 2 * (unsigned)atoi(argv[2]);
        return idle();
    }
    count = 2 * (argc > 1 ? (unsigned)atoi(argv[1]) : 16);
    double seconds = argc > 2 ? atof(argv[2]) : 10;
    for (unsigned m = 0; m < MODES; m++)
        if (!begin(&bench[m], &modes[m])) {
            fprintf(stderr, "bench_relay: no players with %s here\n", modes[m].name);
            return 1;
        }
    turn_for(3);
    double begin_us = (double)kl_now_us();
    for (unsigned m = 0; m < MODES; m++) {
        bench[m].from_s = cpu_s(bench[m].relay.pid);
        bench[m].from = frames_of(&bench[m]);
    }
    turn_for(seconds);
    print(((double)kl_now_us() - begin_us) / 1e6, raw_pair_us());
    int failed = 0;
    for (unsigned m = 0; m < MODES; m++)
        failed |= close_all(&bench[m]);
    return failed;
}
