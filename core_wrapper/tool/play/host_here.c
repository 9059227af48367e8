#include "core_wrapper/tool/play/host_here.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "net/platform/clock.h"
#include "net/platform/socket.h"
#include "net/platform/wait.h"
#include "core_wrapper/tool/play/router.h"
#include "core_wrapper/tool/common/tool.h"

#define START_US  5000000 /* for the relay to listen */
#define LOOK_US   5000
#define ROUTER_US 5000000 /* for the router; the game waits for it */
#define REMOVE_MS 3000    /* for the router to remove the mapping */
#define CTRL_C_US 3000000 /* for RetroArch, which got it as well */
#define ROOM_CODE 8       /* characters: 40 bits */

static void say(const char *text) {
    tool_fail(KLT_OK, "play", "%s", text);
}

/* --- the relay --- */

static int listen_here(struct kl_host_here *h) {
    char err[256] = "no memory";
    uint64_t until_us = kl_now_us() + START_US;
    enum kl_hosted_state state = KL_HOSTED_FAILED;
    h->relay = kl_hosted_open("");
    while (h->relay &&
           (state = kl_hosted_look(h->relay, &h->port, h->link.fingerprint, err, sizeof err)) ==
               KL_HOSTED_STARTING &&
           kl_now_us() < until_us)
        kl_sleep_us(LOOK_US);
    if (state == KL_HOSTED_LISTENS) return KLT_OK;
    return tool_fail(KLT_ROOM, "play", "no relay starts on this machine: %s",
                     state == KL_HOSTED_STARTING ? "it does not listen in time" : err);
}

static void name_room(char out[KL_URL_ROOM_MAX + 1], const char *room) {
    static const char letters[33] = "abcdefghijkmnpqrstuvwxyz23456789"; /* none looks like another */
    if (room)
        snprintf(out, KL_URL_ROOM_MAX + 1, "%s", room);
    else
        for (unsigned i = 0; i < ROOM_CODE; i++)
            out[i] = letters[randombytes_uniform(32)];
}

/* --- the words --- */

/* The link is for machines of this network; why is the reason. */
static void say_near(const struct kl_host_here *h, const char *why) {
    tool_fail(KLT_OK, "play",
              "%s. The link leads to %s, an address of your own network: friends elsewhere need UDP port %u "
              "forwarded to it in your router's settings, and your router's outside address in the link",
              why, h->link.host, h->port);
}

static void say_mapped(struct kl_host_here *h, const struct kl_router_news *n) {
    char host[KL_ADDRESS_TEXT], why[200];
    const struct kl_address outside = kl_address_v4((const uint8_t *)&n->host, 0);
    kl_address_text(host, &outside);
    if (!n->host) {
        snprintf(why, sizeof why, "the router forwards UDP port %u, but does not tell its outside address",
                 n->port);
        say_near(h, why);
    } else if (kl_invitation_audience(host) != KL_AUDIENCE_ALL) {
        tool_fail(
            KLT_OK, "play",
            "not reachable from outside: the router forwards UDP port %u, but its own address %s is not "
            "public, another router or the provider stands before it. The link leads to %s, for machines of "
            "your own network. For friends elsewhere, use a relay (--relay)",
            n->port, host, h->link.host);
    } else {
        snprintf(h->link.host, sizeof h->link.host, "%s", host);
        h->link.port = n->port;
        tool_fail(
            KLT_OK, "play",
            "the router forwards UDP port %u at %s%s. Nothing here can prove that it is reachable: your "
            "friend's try with the link does",
            n->port, host,
            n->lease_s ? "" : ", until keylock play removes it: this router knows no end time");
    }
}

static void say_result(struct kl_host_here *h, const struct kl_router_news *n) {
    static const char *const way[] = {"NAT-PMP", "UPnP"};
    char why[300];
    switch (n->result) {
    case KL_ROUTER_MAPPED: say_mapped(h, n); return;
    case KL_ROUTER_REFUSED:
        snprintf(why, sizeof why, "the router refuses to forward UDP port %u: %s (%s %" PRId32 ")", h->port,
                 kl_router_reason(n->way, n->code), way[n->way], n->code);
        break;
    case KL_ROUTER_ODD:
        snprintf(why, sizeof why, "expected from the router to forward UDP port %u, got a wrong answer (%s)",
                 h->port, way[n->way]);
        break;
    default: snprintf(why, sizeof why, "no router answers to NAT-PMP or UPnP"); break;
    }
    say_near(h, why);
}

/* --- the router --- */

/* From a process that may have been taken over: nothing of it is printed as text or used as an index
 * unchecked. */
static bool is_sane(const struct kl_router_news *n) {
    return n->result <= KL_ROUTER_ODD && n->way <= KL_ROUTER_UPNP;
}

/* False: no news come any more. */
static bool hear(struct kl_host_here *h, unsigned timeout_ms, struct kl_router_news *out) {
    void *bytes;
    size_t len = 0;
    enum kl_process_result result = kl_process_answer(&h->router, sizeof *out, timeout_ms, &bytes, &len);
    bool good = result == KL_PROCESS_OK && len == sizeof *out;
    if (good) memcpy(out, bytes, sizeof *out);
    free(bytes);
    return good && is_sane(out);
}

static bool start_router(struct kl_host_here *h) {
    char port[8], lease[16], err[512];
    snprintf(port, sizeof port, "%u", h->port);
    snprintf(lease, sizeof lease, "%u", KL_ROUTER_LEASE_S);
    const char *const arguments[] = {"keylock", "router", port, lease, NULL};
    if (kl_process_start(&h->router, &(struct kl_process_setup){.arguments = arguments}, err, sizeof err) ==
        0)
        return true;
    tool_fail(KLT_OK, "play", "the router cannot be asked: %s", err);
    return false;
}

/* Waits for the router's answer. False: the player ends it all. */
static bool ask_router(struct kl_host_here *h) {
    struct kl_router_news news;
    if (!start_router(h)) return true;
    say("asking the router to forward the port");
    const int what[] = {h->quit, h->router.channel};
    uint32_t readable = kl_wait_for(what, 2, kl_now_us() + ROUTER_US);
    if (readable & 1) return false;
    if (!readable)
        say_near(h, "the router does not answer within 5 s");
    else if (hear(h, 100, &news))
        say_result(h, &news);
    else
        say_near(h, "expected an answer of the router, but the program that asks it crashed");
    return true;
}

/* The game runs. */
static void follow_router(struct kl_host_here *h) {
    struct kl_router_news news;
    char link[KL_URL_MAX + 1];
    struct kl_url was = h->link;
    if (!hear(h, 100, &news)) {
        kl_process_end(&h->router, 0, NULL);
        return;
    }
    if (news.result == KL_ROUTER_MAPPED)
        say_mapped(h, &news);
    else
        say("the router does not renew the forwarding of the port: friends who are not here yet may not "
            "reach it");
    if (strcmp(was.host, h->link.host) == 0 && was.port == h->link.port) return;
    if (kl_url_write(&h->link, link, sizeof link) == 0) tool_fail(KLT_OK, "play", "the link is now %s", link);
}

static bool allows(void) {
    char answer[16] = "";
    if (!kl_process_has_answers()) return false;
    fprintf(stderr,
            "May Keylock ask your router to forward a UDP port to this machine until the game ends? [y/N] ");
    if (!fgets(answer, sizeof answer, stdin)) return false;
    return answer[0] == 'y' || answer[0] == 'Y';
}

/* --- the game --- */

static void export_room(struct kl_host_here *h) {
    struct kl_url own = h->link;
    char link[KL_URL_MAX + 1];
    snprintf(own.host, sizeof own.host, "127.0.0.1");
    own.port = h->port;
    (void)kl_url_write(&own, link, sizeof link);
    kl_environment_set("KEYLOCK_LINK", link);
    kl_environment_set("KEYLOCK_REACHED_AT", kl_host_port(h->link.host, h->link.port).text);
    kl_environment_set("KEYLOCK_MODE", "room");
    kl_environment_set("KEYLOCK_UNLISTED", "on");
}

int kl_host_here_open(struct kl_host_here *h, const char *room, enum kl_map_port map) {
    memset(h, 0, sizeof *h);
    h->quit = h->router.channel = h->game.channel = -1;
    kl_invitation_own(h->link.host, map == KL_MAP_ON); /* only IPv4 is forwarded */
    bool public = kl_invitation_audience(h->link.host) == KL_AUDIENCE_ALL;
    if (!public && map == KL_MAP_ASK) map = allows() ? KL_MAP_ON : KL_MAP_OFF;
    if (sodium_init() < 0) return tool_fail(KLT_FAILED, "play", "the crypto library does not start");
    name_room(h->link.room, room);
    h->quit = kl_wake_at_quit();
    int code = listen_here(h);
    if (code != KLT_OK) return code;
    h->link.port = h->port;
    tool_fail(KLT_OK, "play", "this machine is the relay of the match, at UDP port %u, until the game ends",
              h->port);
    if (public)
        tool_fail(
            KLT_OK, "play",
            "this machine's address %s is public, so no router needs to be asked. A firewall must let UDP "
            "port %u in",
            h->link.host, h->port);
    else if (map == KL_MAP_OFF)
        say_near(h, "the router was not asked to forward the port (--map-port on)");
    else if (!ask_router(h))
        return KLT_FAILED;
    export_room(h);
    return KLT_OK;
}

static void follow(struct kl_host_here *h) {
    char name[KL_QUIT_NAME];
    uint64_t ask_us = KL_WAIT_FOREVER;
    enum { GAME, QUIT, ROUTER, WHAT };
    for (;;) {
        const int what[WHAT] = {[GAME] = h->game.channel, [QUIT] = h->quit, [ROUTER] = h->router.channel};
        uint32_t readable = kl_wait_for(what, WHAT, ask_us);
        if (readable >> GAME & 1) return;
        if (readable >> ROUTER & 1) follow_router(h);
        if (readable >> QUIT & 1) {
            enum kl_quit quit = kl_wake_quit(h->quit, name);
            if (quit == KL_QUIT_SERVICE) kl_process_ask_end(&h->game);
            if (quit == KL_QUIT_KEY && ask_us == KL_WAIT_FOREVER) ask_us = kl_now_us() + CTRL_C_US;
        }
        if (kl_now_us() < ask_us) continue;
        kl_process_ask_end(&h->game);
        ask_us = KL_WAIT_FOREVER;
    }
}

int kl_host_here_play(struct kl_host_here *h, const char *program, const char *const *arguments) {
    char err[512];
    struct kl_process_end how;
    if (kl_process_run(&h->game, program, arguments, err, sizeof err) != 0)
        return tool_fail(KLT_LOAD, "play", "%s", err);
    follow(h);
    kl_process_end(&h->game, 1000, &how);
    return how.crashed ? tool_fail(KLT_FAILED, "play", "RetroArch ended by a signal: %s", how.why) : how.code;
}

void kl_host_here_close(struct kl_host_here *h) {
    kl_hosted_close(h->relay);
    kl_process_end(&h->router, REMOVE_MS, NULL);
    kl_socket_close(h->quit);
}
