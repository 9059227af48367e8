/* two_ways.c - the shown core of a player who runs ahead, as a second copy in the process and as a process of
 * its own: `make bench-two-ways`.
 *
 *   two_ways CORE CONTENT [SECONDS]     prints a row for each way
 *
 * Sixty times a second: the shown core keeps its state and runs a frame, and the true core runs one; each
 * eighth time the shown core goes back five frames and runs them again first. In one process they go one
 * after the other, the shown core first, because its picture is awaited. As two, the other process is woken,
 * runs and puts its picture into shared memory, while this one runs the true core. The columns are
 * milliseconds from the call's beginning to the picture and to the call's end, median and 99th percentile of
 * plain calls, and of those with a correction. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core_wrapper/tool/headless/headless.h"
#include "net/platform/clock.h"

#define AGAIN       5
#define EVERY       8
#define STATE_MAX   (16u << 20)
#define PICTURE     (1024u * 1024 * 4)
#define CALLS_MAX   36000
#define PERIOD_US   16667
#define WAY(report) (report).us[0], (report).us[1], (report).us[2], (report).us[3]

static struct shared { uint8_t picture[PICTURE]; } * shared;
static uint8_t drawn[PICTURE]; /* in place of the frontend's copy */
static uint8_t *state;
static size_t state_bytes;

static void set_up(struct kl_headless *h, const char *core, const char *content) {
    char err[KLT_ERR];
    struct kl_headless_setup setup = {.core_path = core,
                                      .content_path = content,
                                      .virtual_clock = true,
                                      .epoch_s = KLT_EPOCH_DEFAULT,
                                      .quiet = true};
    if (kl_headless_open(h, &setup, err, sizeof err) != 0) {
        fprintf(stderr, "two_ways: %s\n", err);
        exit(1);
    }
}

static void keep(struct kl_headless *h) {
    if (h->emu.core.serialize_size() <= STATE_MAX) state_bytes = h->emu.core.serialize_size();
    h->emu.core.serialize(state, state_bytes);
}

static void show(struct kl_headless *h, bool corrects) {
    kl_headless_turn(h);
    if (corrects) h->emu.core.unserialize(state, state_bytes);
    for (unsigned i = 0; i < (corrects ? AGAIN : 1); i++) {
        keep(h);
        kl_headless_run(h);
    }
}

static size_t picture_bytes(const struct kl_headless *h) {
    size_t n = (size_t)h->emu.av.geometry.base_width * h->emu.av.geometry.base_height *
               (h->emu.picture.format == RETRO_PIXEL_FORMAT_XRGB8888 ? 4 : 2);
    return n < PICTURE ? n : PICTURE;
}

/* --- the other process --- */

struct other {
    pid_t pid;
    int go, done;
};

static void wake(int fd, uint64_t value) {
    if (write(fd, &value, sizeof value) != sizeof value) exit(1);
}
static uint64_t sleep_on(int fd) {
    uint64_t value = 0;
    if (read(fd, &value, sizeof value) != sizeof value) exit(1);
    return value;
}

/* go: 1 a plain call, 2 one with a correction, 3 the end. */
static void start_other(struct other *o, const char *core, const char *content) {
    static struct kl_headless h;
    o->go = eventfd(0, 0);
    o->done = eventfd(0, 0);
    o->pid = fork();
    if (o->pid != 0) return;
    set_up(&h, core, content);
    keep(&h);
    wake(o->done, 1);
    for (uint64_t what; (what = sleep_on(o->go)) != 3;) {
        show(&h, what == 2);
        memcpy(shared->picture, drawn, picture_bytes(&h));
        wake(o->done, 1);
    }
    _exit(0);
}

/* --- measuring --- */

struct report {
    double us[4]; /* picture: median, p99; end: median, p99 */
};
static uint32_t to_picture[2][CALLS_MAX], to_end[2][CALLS_MAX]; /* [corrects] */
static unsigned calls[2];

static int by_value(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static struct report sum_up(unsigned corrects) {
    unsigned n = calls[corrects];
    qsort(to_picture[corrects], n, sizeof(uint32_t), by_value);
    qsort(to_end[corrects], n, sizeof(uint32_t), by_value);
    return (struct report){{to_picture[corrects][n / 2] / 1e3, to_picture[corrects][n * 99 / 100] / 1e3,
                            to_end[corrects][n / 2] / 1e3, to_end[corrects][n * 99 / 100] / 1e3}};
}

static void call(struct kl_headless *true_core, struct kl_headless *shown, struct other *other, unsigned i) {
    bool corrects = i % EVERY == 0;
    uint64_t from_us = kl_now_us(), picture_us;
    if (other) {
        wake(other->go, corrects ? 2 : 1);
        kl_headless_run(true_core);
        sleep_on(other->done);
        memcpy(drawn, shared->picture, picture_bytes(true_core));
        picture_us = kl_now_us();
    } else {
        show(shown, corrects);
        memcpy(drawn, shared->picture, picture_bytes(shown));
        picture_us = kl_now_us();
        kl_headless_run(true_core);
    }
    unsigned k = calls[corrects]++;
    to_picture[corrects][k] = (uint32_t)(picture_us - from_us);
    to_end[corrects][k] = (uint32_t)(kl_now_us() - from_us);
}

static void measure(const char *name, struct kl_headless *true_core, struct kl_headless *shown,
                    struct other *other, unsigned seconds) {
    uint64_t next_us = kl_now_us();
    memset(calls, 0, sizeof calls);
    for (unsigned i = 1; i < seconds * 60 && i < CALLS_MAX; i++) {
        next_us += PERIOD_US;
        while (kl_now_us() < next_us)
            kl_sleep_us((uint32_t)(next_us - kl_now_us()));
        call(true_core, shown, other, i);
    }
    struct report plain = sum_up(0), corrected = sum_up(1);
    printf("| %s | %s | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f |\n", true_core->name, name,
           WAY(plain), WAY(corrected));
    fflush(stdout);
}

int main(int argc, char **argv) {
    static struct kl_headless true_core, shown;
    char err[KLT_ERR];
    unsigned seconds = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 20;
    if (argc < 3) {
        fprintf(stderr, "two_ways: expected CORE CONTENT [SECONDS]\n");
        return 2;
    }
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    state = calloc(1, STATE_MAX);
    if (shared == MAP_FAILED || !state) return 1;
    struct other other;
    start_other(&other, argv[1], argv[2]);
    sleep_on(other.done);
    set_up(&true_core, argv[1], argv[2]);
    set_up(&shown, argv[1], argv[2]);
    keep(&shown);
    measure("a copy in the process", &true_core, &shown, NULL, seconds);
    measure("a process of its own", &true_core, NULL, &other, seconds);
    wake(other.go, 3);
    waitpid(other.pid, NULL, 0);
    kl_headless_close(&shown, err, sizeof err);
    kl_headless_close(&true_core, err, sizeof err);
    return 0;
}
