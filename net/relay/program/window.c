#include "net/relay/program/window.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/clock.h"
#include "net/platform/process.h"
#include "net/platform/local.h"
#include "net/platform/socket.h"
#include "net/platform/wait.h"

#define AGAIN_US 1000000 /* from the start of a process to the next at the least */
#define LOOK_US  250000
#define GRACE_MS 1000

/* --- word to the service manager: sd_notify(3), the datagrams alone --- */

struct notice {
    int socket; /* -1: nobody asks */
    const char *to;
    bool ready;
    uint64_t every_us, due_us; /* every_us 0: no watchdog */
};

static struct notice open_notice(void) {
    const char *to = kl_environment_get("NOTIFY_SOCKET"), *every = kl_environment_get("WATCHDOG_USEC");
    struct notice n = {.socket = -1};
    if (!to || (*to != '/' && *to != '@')) return n;
    n.to = *to == '@' ? to + 1 : to;
    n.socket = kl_local_open(NULL);
    n.every_us = every ? strtoull(every, NULL, 10) / 4 : 0;
    return n;
}

static void tell(struct notice *n, const struct kl_window *w) {
    struct kl_figures f;
    const uint64_t now_us = kl_now_us();
    const bool due = !n->ready || (n->every_us && now_us >= n->due_us);
    for (unsigned i = 0; i < w->count; i++)
        if (!due || !kl_figures_read(&w->place[i], &f) || !kl_figures_fresh(NULL, &f, 1, now_us)) return;
    const char *text = n->ready ? "WATCHDOG=1" : "READY=1";
    if (kl_local_send(n->socket, n->to, text, strlen(text)) != 0) return;
    n->ready = true;
    n->due_us = now_us + n->every_us;
}

/* --- the process that starts the other one --- */

static void note_end(struct kl_window *w, struct kl_process *server) {
    struct kl_process_end how;
    kl_process_end(server, GRACE_MS, &how); /* at once, nearly always */
    if (how.code == KL_WINDOW_NO_LIBRARY && !how.crashed) {
        kl_socket_close(w->listener);
        w->listener = -1;
        return;
    }
    kl_log(KL_LOG_ERROR, "window_ended", "code=%d signal=\"%s\"", how.code, how.crashed ? how.why : "none");
}

static int keep(void *ctx) {
    struct kl_window *w = ctx;
    struct notice n = open_notice();
    struct kl_process server = {.channel = -1};
    uint64_t again_us = 0;
    for (;;) {
        if (w->listener >= 0 && server.channel < 0 && kl_now_us() >= again_us) {
            char err[256];
            again_us = kl_now_us() + AGAIN_US;
            if (kl_copy_start(&server, kl_window_serve, w, err, sizeof err) != 0)
                kl_log(KL_LOG_ERROR, "window_fails", "reason=\"%s\"", err);
        }
        if (n.socket >= 0) tell(&n, w);
        const int what[] = {w->quit, server.channel};
        uint32_t readable = kl_wait_for(what, 2, kl_now_us() + LOOK_US);
        if (readable & 1) break;
        if (readable & 2) note_end(w, &server);
    }
    kl_copy_quit(&server, KL_QUIT_SERVICE);
    kl_process_end(&server, GRACE_MS, NULL);
    kl_local_close(n.socket);
    return 0;
}

/* --- the relay's side --- */

static int listen_at(struct kl_window *w, const struct kl_address *http, char *err, size_t err_len) {
    char place[KL_PLACE_TEXT];
    struct kl_address at = *http;
    w->listener = kl_socket_listen(&at);
    if (w->listener < 0) {
        snprintf(err, err_len, "cannot listen for --http at %s: %s", kl_address_place(place, http),
                 strerror(errno));
        return -1;
    }
    kl_log(KL_LOG_INFO, "window", "http=%s", kl_address_place(place, &at));
    return 0;
}

int kl_window_start(struct kl_window *w, const struct kl_window_config *config, unsigned count, int quit,
                    char *err, size_t err_len) {
    const struct kl_address *http = &config->http;
    *w = (struct kl_window){
        .count = count, .config = *config, .quit = quit, .listener = -1, .keeper.channel = -1};
    if (!http->port && !(kl_environment_get("NOTIFY_SOCKET") && kl_copies_possible())) return 0;
    w->place = kl_copies_memory(count * sizeof *w->place);
    if (!w->place) {
        snprintf(err, err_len, "no memory for the figures of %u processes", count);
        return -1;
    }
    if (http->port && listen_at(w, http, err, err_len) != 0) return -1;
    int result = kl_copy_start(&w->keeper, keep, w, err, err_len);
    kl_socket_close(w->listener); /* it is the other process's */
    w->listener = -1;
    return result;
}

void kl_window_end(struct kl_window *w) {
    if (w->keeper.channel < 0) return;
    kl_copy_quit(&w->keeper, KL_QUIT_SERVICE);
    kl_process_end(&w->keeper, GRACE_MS, NULL);
}
