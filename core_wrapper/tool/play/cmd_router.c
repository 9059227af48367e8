/* The process that speaks with the player's router for `keylock play --host-here` (router.h, host_here.h).
 * Its arguments are a port and a lease in seconds. It tells its parent each change as a struct
 * kl_router_news. It ends, and removes the mapping, when its parent closes the channel or ends, and at
 * SIGTERM. */
#include "core_wrapper/tool/common/tool.h"

#include "net/platform/clock.h"
#include "net/platform/process.h"
#include "net/platform/wait.h"
#include "core_wrapper/tool/play/router.h"

#define MEMORY_BYTES (256u << 20)
#define AGAIN        8 /* of a lease, the part after which a failed renewal is tried again */

static uint64_t next_us(const struct kl_router_news *n, uint32_t lease_s) {
    bool mapped = n->result == KL_ROUTER_MAPPED;
    if (mapped && !n->lease_s) return KL_WAIT_FOREVER;
    uint32_t s = mapped ? n->lease_s / 2 : lease_s / AGAIN;
    return kl_now_us() + (s ? s : 1) * UINT64_C(1000000);
}

/* Whether people should hear of it. A renewal that only changes the lease is none. */
static bool is_news(const struct kl_router_news *was, const struct kl_router_news *is) {
    return was->result != is->result || was->port != is->port || was->host != is->host;
}

static void keep_open(struct kl_router *r, uint32_t lease_s, int quit) {
    struct kl_router_news is = {0}, was = {0};
    const int what[] = {quit, kl_process_parent()};
    bool first = true;
    do {
        kl_router_map(r, &is);
        bool told = !first && !is_news(&was, &is);
        if (!told && !kl_process_tell(&(struct kl_process_part){&is, sizeof is}, 1)) return;
        if (first && is.result != KL_ROUTER_MAPPED) return;
        first = false;
        was = is;
        /* a wait may end early */
        for (uint64_t until_us = next_us(&is, lease_s); kl_now_us() < until_us;)
            if (kl_wait_for(what, 2, until_us)) return;
    } while (true);
}

int cmd_router(int argc, char **argv) {
    uint64_t port, lease_s;
    if (argc != 3 || !kl_number(argv[1], 1, UINT16_MAX, &port) ||
        !kl_number(argv[2], 1, UINT32_MAX, &lease_s))
        tool_usage("expected a port and a lease, got %d words", argc - 1);
    int quit = kl_wake_at_quit();
    kl_process_leave_terminal();
    kl_process_limit_memory(MEMORY_BYTES);
    struct kl_router *r = kl_router_open((uint16_t)port, (uint32_t)lease_s);
    if (!r) return KLT_FAILED;
    keep_open(r, (uint32_t)lease_s, quit);
    kl_router_close(r);
    return KLT_OK;
}
