#include "net/platform/copies.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/platform/socket.h"

unsigned kl_copies_processors(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

void *kl_copies_memory(size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

/* --- sockets --- */

/* Numbers stand in the order of binding, from the datagram's first byte on; a byte that is not there gives
 * socket 0. */
static int steer(int s, unsigned count, const struct kl_copies_key *key) {
    struct sock_filter step[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, key->kind_at),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, key->kind_from, 8, 0),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, key->six_at + 1),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 3),
        BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, 4),
        BPF_STMT(BPF_MISC | BPF_TAX, 0),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, key->six_at),
        BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 4),
        BPF_STMT(BPF_ALU | BPF_OR | BPF_X, 0),
        BPF_STMT(BPF_JMP | BPF_JA, 1),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, key->other_at),
        BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, count),
        BPF_STMT(BPF_RET | BPF_A, 0),
    };
    const struct sock_fprog program = {.len = sizeof step / sizeof *step, .filter = step};
    return setsockopt(s, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof program);
}

static int share(int s) {
    const int on = 1;
    return setsockopt(s, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
}

/* The first one was bound alone, so it is known that nobody else has the address. */
bool kl_copies_possible(void) {
    static const struct kl_copies_key any;
    int s = kl_socket_open();
    bool possible = s >= 0 && share(s) == 0 && steer(s, 2, &any) == 0;
    kl_socket_close(s);
    return possible;
}

int kl_copies_sockets(int *s, unsigned count, const struct kl_copies_key *key) {
    struct kl_address at;
    bool good = kl_socket_name(s[0], &at) && share(s[0]) == 0;
    for (unsigned i = 1; good && i < count; i++) {
        s[i] = kl_socket_open();
        good = s[i] >= 0 && share(s[i]) == 0 && kl_socket_bind(s[i], &at) == 0;
    }
    return good ? steer(s[0], count, key) : -1;
}

/* --- processes --- */

int kl_copy_start(struct kl_process *p, int (*work)(void *ctx), void *ctx, char *err, size_t err_len) {
    const pid_t parent = getpid();
    int ends[2] = {-1, -1}; /* the copy's end closes when it ends */
    *p = (struct kl_process){.channel = -1};
    fflush(NULL);
    const pid_t pid = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;
    if (pid == 0) {
        /* the parent may have ended before this one asked for its signal */
        if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != parent) _exit(0);
        close(ends[0]);
        exit(work(ctx));
    }
    if (pid < 0) snprintf(err, err_len, "cannot start another process: %s", strerror(errno));
    if (ends[1] >= 0) close(ends[1]);
    if (pid < 0 && ends[0] >= 0) close(ends[0]);
    if (pid > 0) *p = (struct kl_process){.id = pid, .channel = ends[0]};
    return pid > 0 ? 0 : -1;
}

void kl_copy_cost(uint64_t *processor_us, uint64_t *resident_bytes) {
    struct rusage used;
    long pages = 0;
    *processor_us = 0;
    if (getrusage(RUSAGE_SELF, &used) == 0)
        *processor_us = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
                        (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%*d %ld", &pages) != 1) pages = 0;
    if (f) fclose(f);
    *resident_bytes = (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void kl_copy_quit(const struct kl_process *p, enum kl_quit quit) {
    if (p->id > 0) kill((pid_t)p->id, quit == KL_QUIT_KEY ? SIGINT : SIGTERM);
}
