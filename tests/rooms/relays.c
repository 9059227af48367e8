/* The relays of a fleet: for each its lobby, its journal, and its directory as a fiber. The linker
 * exchanges the clock and the waiting of that fiber here. */
#if __has_include(<ucontext.h>)
#include <ucontext.h>
#define FIBERS true
#else
#define FIBERS false /* this system has no contexts */
#endif

#include "net/platform/clock.h"
#include "net/platform/dir.h"
#include "net/platform/wait.h"
#include "net/relay/durable/journal.h"
#include "net/relay/fleet/replica.h"
#include "net/relay/fleet/directory.h"
#include "tests/rooms/fleet.h"

#define STACK_BYTES (512 * 1024)
#define ROOMS       2
#define PUBLISH_US  250000
#define MIB         (UINT64_C(1) << 20)

int64_t fleet_clock_us[RELAYS];

static struct relay {
    unsigned life;                   /* it has begun so often */
    uint64_t up_us;                  /* its processes begin then; 0: they are there */
    uint64_t directory_us, rooms_us; /* these stand still before */
    uint64_t publish_us;
    struct kl_shards shards;
    struct kl_fleet *memory;
    struct kl_directory_config directory;
    struct kl_journal *journal;
    char host[16], folder[KL_FILE_PATH];
#if FIBERS
    ucontext_t fiber;
#endif
} relay[RELAYS];
static char folder[KL_FILE_PATH];
static int running = -1;        /* directory */
static unsigned rooms = RELAYS; /* rooms' process */

/* --- fibers --- */

int fiber_now(void) {
    return running;
}

#if FIBERS
static ucontext_t home;

void fiber_yield(void) {
    const int own = running;
    running = -1;
    if (swapcontext(&relay[own].fiber, &home) != 0) fail("no other context");
    running = own;
}

static void resume(unsigned i) {
    running = (int)i;
    if (swapcontext(&home, &relay[i].fiber) != 0) fail("no other context");
    running = -1;
}

static void keep_directory(int i) {
    running = i;
    (void)kl_directory_run(relay[i].memory, &relay[i].directory, -1);
    fail("a directory has ended");
}

static void begin_fiber(unsigned i) {
    struct relay *r = &relay[i];
    if (getcontext(&r->fiber) != 0) fail("no context");
    r->fiber.uc_stack.ss_sp = malloc(STACK_BYTES);
    r->fiber.uc_stack.ss_size = STACK_BYTES;
    r->fiber.uc_link = NULL;
    if (!r->fiber.uc_stack.ss_sp) fail("no memory");
    makecontext(&r->fiber, (void (*)(void))keep_directory, 1, (int)i);
}
#else
void fiber_yield(void) {}
static void resume(unsigned i) {
    (void)i;
}
static void begin_fiber(unsigned i) {
    (void)i;
    fail("this system has no contexts");
}
#endif

uint64_t __real_kl_now_us(void);
uint64_t __wrap_kl_now_us(void);
uint64_t __wrap_kl_now_us(void) {
    return fleet ? now_us : __real_kl_now_us();
}

uint32_t __real_kl_wait_for(const int *what, unsigned count, uint64_t until_us);
uint32_t __wrap_kl_wait_for(const int *what, unsigned count, uint64_t until_us);
uint32_t __wrap_kl_wait_for(const int *what, unsigned count, uint64_t until_us) {
    if (running < 0) return __real_kl_wait_for(what, count, until_us);
    for (;;) {
        const uint32_t readable = __real_kl_wait_for(what, count, 0);
        if (readable) return readable;
        fiber_yield();
        if (now_us >= until_us) return 0;
    }
}

unsigned fleet_relay_now(void) {
    return running >= 0 ? (unsigned)running : rooms;
}

/* --- processes --- */

void fleet_folders(void) {
    char err[300];
    if (kl_dir_make_temporary(folder, sizeof folder, "fleet", err, sizeof err) != 0) fail("%s", err);
}

void fleet_folders_end(void) {
    if (*folder) kl_dir_remove_tree(folder);
}

static void begin_memory(struct relay *r) {
    struct kl_shard *shard = calloc(1, sizeof *shard);
    r->memory = calloc(1, sizeof *r->memory);
    if (!shard || !r->memory) fail("no memory");
    kl_shards_begin(&r->shards, shard, 1);
    r->memory->wake = kl_wake_open();
    r->memory->copied_wake[0] = kl_wake_open();
    r->memory->shards = &r->shards;
    r->memory->rooms_most = ROOMS;
}

void fleet_relay_begins(unsigned i) {
    struct relay *r = &relay[i];
    char err[300];
    kl_journal_close(r->journal);
    begin_memory(r);
    snprintf(r->host, sizeof r->host, "10.0.0.%u", i + 1);
    snprintf(r->folder, sizeof r->folder, "%.200s/%u", folder, i);
    if (kl_journal_open(&r->journal, r->folder, (struct kl_journal_limits){64 * MIB, 256 * MIB}, err,
                        sizeof err) != 0)
        fail("%s", err);
    r->directory = (struct kl_directory_config){
        .redis = {.host = "redis"}, .host = r->host, .port = FLEET_PORT, .journal = r->folder};
    snprintf(r->directory.fingerprint, sizeof r->directory.fingerprint, "fleet");
    kl_copy_fleet_key(relay_secret, r->directory.copies);
    kl_lobby_set_shards(lobby[i], &r->shards);
    kl_lobby_set_fleet(lobby[i], r->memory);
    kl_lobby_set_journal(lobby[i], r->journal, now_us);
    begin_fiber(i);
    r->life++;
    r->up_us = r->directory_us = r->rooms_us = 0;
}

void fleet_relay_dies(unsigned i, uint64_t up_us) {
    relay[i].up_us = up_us;
    wire_relay_gone(i);
    redis_end(i);
}

void fleet_stop(unsigned i, uint64_t directory_us, uint64_t rooms_us) {
    relay[i].directory_us = directory_us;
    relay[i].rooms_us = rooms_us;
}

bool fleet_runs(unsigned i) {
    return !relay[i].up_us && now_us >= relay[i].rooms_us;
}
bool fleet_stands(unsigned i) {
    return !relay[i].up_us && now_us < relay[i].rooms_us;
}
unsigned fleet_life(unsigned i) {
    return relay[i].up_us ? 0 : relay[i].life;
}

/* The list of rooms, as net/relay/loop/server.c writes it. */
static void publish(unsigned i) {
    struct relay *r = &relay[i];
    struct kl_lobby_listing l;
    if (now_us < r->publish_us) return;
    r->publish_us = now_us + PUBLISH_US;
    kl_lobby_shards_publish(lobby[i]);
    for (unsigned place = 0; place < ROOMS; place++) {
        struct kl_shard_line line = {.is = KL_SHARD_NO_ROOM};
        if (kl_lobby_listing_at(lobby[i], place, &l)) {
            line.is = KL_SHARD_LISTED;
            snprintf(line.line.name, sizeof line.line.name, "%s", l.name);
            kl_lobby_shards_id(lobby[i], place, line.id);
        }
        kl_shards_list(&r->shards, place, &line);
    }
}

void fleet_turn(void) {
    redis_step();
    for (unsigned i = 0; i < RELAYS; i++) {
        if (relay[i].up_us && now_us >= relay[i].up_us) relay_begin(i);
        if (!relay[i].up_us && now_us >= relay[i].directory_us) resume(i);
        if (!fleet_runs(i)) continue;
        rooms = i;
        kl_lobby_run(lobby[i], now_us);
        publish(i);
        rooms = RELAYS;
    }
}
