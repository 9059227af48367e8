#include "net/relay/program/group.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "net/platform/clock.h"
#include "net/platform/copies.h"
#include "net/platform/socket.h"
#include "net/relay/durable/store.h"
#include "net/relay/fleet/replica.h"
#include "net/relay/fleet/directory.h"
#include "net/relay/log/relay_log.h"
#include "net/session/handshake.h"
#include "net/session/keys.h"
#include "net/transport/gate.h"

#define AGAIN_US 250000 /* from the start of a process to its next one at the least */
#define GRACE_MS 3000   /* for all to end */
#define LOOK_MS  20

struct group {
    struct kl_server_config config; /* of the process that starts next */
    struct kl_shards shards;
    int (*serve)(const struct kl_server_config *config, int quit);
    int quit;
    struct kl_store *store; /* the journal's folder; NULL: none is kept */
    int socket[KL_SHARDS_MAX];
    unsigned processes; /* with the directory, which is the last */
    struct kl_process process[KL_SHARDS_MAX + 1];
    bool runs[KL_SHARDS_MAX + 1];
    uint64_t again_us[KL_SHARDS_MAX + 1]; /* it may start again then */
    char journal[KL_SERVER_JOURNAL];
    struct kl_directory_config directory;
};

/* --- a process --- */

static int work(void *ctx) {
    struct group *g = ctx;
    for (unsigned i = 0; i < g->shards.count; i++)
        if (i != g->shards.own) kl_socket_close(g->socket[i]);
    return g->serve(&g->config, g->quit);
}

static int keep_directory(void *ctx) {
    struct group *g = ctx;
    for (unsigned i = 0; i < g->shards.count; i++)
        kl_socket_close(g->socket[i]);
    return kl_directory_run(g->config.fleet, &g->directory, g->quit);
}

static bool start(struct group *g, unsigned i, bool again, char *err, size_t err_len) {
    const bool shard = i < g->shards.count;
    if (shard) {
        memset(&g->shards.all[i], 0, sizeof g->shards.all[i]); /* counts of one that is dead */
        g->shards.own = i;
        g->config.socket = g->socket[i];
        g->config.again = again;
    }
    bool good = kl_copy_start(&g->process[i], shard ? work : keep_directory, g, err, err_len) == 0;
    g->again_us[i] = kl_now_us() + AGAIN_US;
    return g->runs[i] = good;
}

/* --- all of them --- */

static int open_sockets(struct group *g, char *err, size_t err_len) {
    static const struct kl_copies_key key = {
        .kind_at = 1, .kind_from = KL_HS_INIT, .six_at = 3, .other_at = KL_INIT_BUCKET};
    _Static_assert(KL_PEER_BITS == 12 && KL_SHARD_BITS == 6, "a session's number stands in byte 2 and on");
    g->socket[0] = kl_hub_bind(g->config.bind, &g->config.port, err, err_len);
    if (g->socket[0] < 0) return -1;
    if (g->shards.count == 1) return 0; /* of a fleet */
    if (kl_copies_sockets(g->socket, g->shards.count, &key) == 0) return 0;
    snprintf(err, err_len, "cannot open %u sockets at UDP port %u: %s", g->shards.count, g->config.port,
             strerror(errno));
    return -1;
}

/* All have one key, and one folder of journals. */
static int open_folders(struct group *g, char *err, size_t err_len) {
    char state[KL_RELAY_PATH], *journal = g->journal;
    struct kl_relay_key key;
    if (kl_server_key_folder(&g->config, state, err, err_len) != 0) return -1;
    if (kl_keys_open(state, &key, err, err_len) != 0) return -1;
    kl_fingerprint(key.exchange.pub, g->directory.fingerprint);
    kl_copy_fleet_key(key.exchange.secret, g->directory.copies);
    sodium_memzero(&key, sizeof key);
    kl_server_journal_folder(&g->config, state, g->config.port, journal);
    return strcmp(journal, "off") == 0 ? 0 : kl_store_open(&g->store, journal, false, err, err_len);
}

static void close_all(struct group *g) {
    kl_store_close(g->store);
    g->store = NULL;
    for (unsigned i = 0; i < g->shards.count; i++) {
        kl_socket_close(g->socket[i]);
        g->socket[i] = -1;
    }
}

/* The processes of a parent that was killed a moment ago have port and folder until they have ended. */
static int open_all(struct group *g, char *err, size_t err_len) {
    const uint64_t until_us = kl_now_us() + GRACE_MS * UINT64_C(1000);
    for (;;) {
        int result = open_sockets(g, err, err_len);
        if (result == 0) result = open_folders(g, err, err_len);
        if (result == 0) return 0;
        bool held = errno == EADDRINUSE || errno == EBUSY;
        close_all(g);
        if (!held || kl_now_us() >= until_us) return -1;
        kl_sleep_us(LOOK_MS * UINT64_C(1000));
    }
}

static void note_end(struct group *g, unsigned i) {
    struct kl_process_end how;
    kl_process_end(&g->process[i], GRACE_MS, &how); /* at once, nearly always */
    g->runs[i] = false;
    if (i == g->shards.count) {
        kl_log(KL_LOG_ERROR, "directory_ended", "code=%d signal=\"%s\"", how.code,
               how.crashed ? how.why : "none");
        return;
    }
    kl_log(KL_LOG_ERROR, "shard_ended", "shard=%u of=%u code=%d signal=\"%s\"", i, g->shards.count, how.code,
           how.crashed ? how.why : "none");
}

/* Until a request to end. */
static void watch(struct group *g) {
    int what[KL_SHARDS_MAX + 2];
    for (;;) {
        uint64_t next_us = UINT64_MAX;
        for (unsigned i = 0; i < g->processes; i++) {
            if (!g->runs[i] && kl_now_us() >= g->again_us[i]) {
                char err[256];
                if (!start(g, i, true, err, sizeof err))
                    kl_log(KL_LOG_ERROR, "shard_fails", "shard=%u reason=\"%s\"", i, err);
            }
            if (!g->runs[i] && g->again_us[i] < next_us) next_us = g->again_us[i];
            what[i] = g->process[i].channel;
        }
        what[g->processes] = g->quit;
        uint32_t readable = kl_wait_for(what, g->processes + 1, next_us);
        if (readable >> g->processes & 1) return;
        for (unsigned i = 0; i < g->processes; i++)
            if (readable >> i & 1) note_end(g, i);
    }
}

static int run_all(struct group *g, char *err, size_t err_len) {
    char name[KL_QUIT_NAME];
    int result = 0;
    for (unsigned i = 0; i < g->processes && result == 0; i++)
        result = start(g, i, false, err, err_len) ? 0 : -1;
    if (result == 0) watch(g);
    enum kl_quit quit = kl_wake_quit(g->quit, name);
    const uint64_t until_us = kl_now_us() + GRACE_MS * UINT64_C(1000);
    for (unsigned i = 0; i < g->shards.count; i++)
        kl_copy_quit(&g->process[i], quit);
    for (unsigned i = 0; i < g->processes; i++) {
        uint64_t now_us = kl_now_us();
        if (i == g->shards.count)
            kl_copy_quit(&g->process[i], quit); /* it has the rooms' last frames to copy */
        kl_process_end(&g->process[i], until_us > now_us ? (unsigned)((until_us - now_us) / 1000) : 0, NULL);
    }
    return result;
}

static bool begin_fleet(struct group *g, const struct kl_redis_place *redis) {
    struct kl_fleet *fleet = kl_copies_memory(sizeof *fleet);
    if (!fleet) return false;
    fleet->wake = kl_wake_open();
    for (unsigned i = 0; i < g->shards.count; i++)
        if ((fleet->copied_wake[i] = kl_wake_open()) < 0) return false;
    fleet->shards = &g->shards;
    fleet->rooms_most = g->config.rooms;
    g->config.fleet = fleet;
    g->directory.redis = *redis;
    g->directory.host = g->config.host;
    g->directory.journal = g->journal;
    g->processes++;
    return fleet->wake >= 0;
}

int kl_group_run(const struct kl_server_config *config, unsigned count, const struct kl_redis_place *redis,
                 int quit, int (*serve)(const struct kl_server_config *config, int quit), char *err,
                 size_t err_len) {
    struct group g = {.config = *config, .serve = serve, .quit = quit};
    struct kl_shard *memory = kl_copies_memory(count * sizeof *memory);
    if (!memory) {
        snprintf(err, err_len, "no memory for %u processes", count);
        return -1;
    }
    kl_shards_begin(&g.shards, memory, count);
    g.config.shards = &g.shards;
    g.processes = count;
    for (unsigned i = 0; i < count; i++)
        g.process[i].channel = g.socket[i] = -1;
    g.process[count].channel = -1;
    if (redis && !begin_fleet(&g, redis)) {
        snprintf(err, err_len, "no memory for the fleet's directory");
        return -1;
    }
    if (open_all(&g, err, err_len) != 0) return -1;
    g.directory.port = g.config.port;
    int result = run_all(&g, err, err_len);
    close_all(&g);
    return result;
}
