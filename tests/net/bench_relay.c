/* bench_relay.c - what a relay costs: rooms of two at 60 Hz over loopback, and the relay's CPU per update
 * (one input in, one update out), beside raw UDP pairs in the same run.
 *
 *   bench_relay [ROOMS [SECONDS]]     prints CSV: rooms, clients, seconds, updates, relay CPU us per update,
 *                                     share of a core, raw us per pair, ratio
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "net_player.h"

static double cpu_s(pid_t pid) {
    char path[64], line[1024];
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    if (fgets(line, sizeof line, f)) {
        const char *after = strrchr(line, ')');
        if (after) sscanf(after + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
    }
    fclose(f);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
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

static void turn_for(struct player *p, unsigned count, double s) {
    uint64_t end_us = kl_now_us() + (uint64_t)(s * 1e6);
    while (kl_now_us() < end_us) {
        for (unsigned i = 0; i < count; i++)
            player_turn(&p[i]);
        poll(NULL, 0, 2);
    }
}

static uint64_t frames_of(const struct player *p, unsigned count) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < count; i++)
        sum += p[i].frames;
    return sum;
}

int main(int argc, char **argv) {
    unsigned rooms = argc > 1 ? (unsigned)atoi(argv[1]) : 32, count = 2 * rooms;
    double seconds = argc > 2 ? atof(argv[2]) : 10;
    struct player *p = calloc(count, sizeof *p);
    struct program relay =
        relay_start((const char *const[]){"--per-address", "4000", "--rooms", "1024", NULL});
    for (unsigned i = 0; i < count; i++) {
        char room[16];
        snprintf(room, sizeof room, "r%u", i / 2);
        struct kl_hello h = hello_make("bench", room, 1, 2);
        h.params.clocked = true;
        player_open(&p[i], &h, relay.port, 1000000);
        if (!player_joins(&p[i])) return 1;
    }
    turn_for(p, count, 3);
    double from_s = cpu_s(relay.pid), begin_us = (double)kl_now_us();
    uint64_t from = frames_of(p, count);
    turn_for(p, count, seconds);
    double used_s = cpu_s(relay.pid) - from_s, wall_s = ((double)kl_now_us() - begin_us) / 1e6,
           raw = raw_pair_us();
    uint64_t updates = frames_of(p, count) - from;
    printf("rooms,clients,seconds,updates,us_per_update,core_share,raw_us,ratio\n%u,%u,%.1f,%llu,%.2f,%.3f,%."
           "2f,%.2f\n",
           rooms, count, wall_s, (unsigned long long)updates, used_s * 1e6 / (double)updates, used_s / wall_s,
           raw, used_s * 1e6 / (double)updates / raw);
    for (unsigned i = 0; i < count; i++)
        player_close(&p[i], 0);
    free(p);
    return program_stop(&relay, SIGTERM);
}
