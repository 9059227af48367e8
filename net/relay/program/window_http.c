/* The process of --http: HTTP by libmicrohttpd, which is loaded when it is wanted. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/clock.h"
#include "net/platform/library.h"
#include "net/platform/wait.h"
#include "net/relay/program/window.h"

#define CONNECTIONS  512
#define TIMEOUT_S    10   /* of a silent connection */
#define MEMORY_BYTES 8192 /* of a connection's request and head */
#define KEPT_US      250000

/* --- the library: its own names and numbers, the same since 2013 --- */

#define LIBRARY "libmicrohttpd.so.12"
enum { NO = 0, YES = 1 };
enum { USE_INTERNAL_POLLING_THREAD = 8, USE_AUTO = 65536 };
enum { OPTION_END, OPTION_MEMORY_LIMIT, OPTION_CONNECTION_LIMIT, OPTION_TIMEOUT, OPTION_LISTEN_SOCKET = 12 };
enum { MUST_COPY = 2 };
enum { HEADER_KIND = 1, ARGUMENT_KIND = 8 };

struct MHD_Daemon;
struct MHD_Connection;
struct MHD_Response;
typedef int on_request(void *ctx, struct MHD_Connection *c, const char *url, const char *method,
                       const char *version, const char *body, size_t *body_len, void **of_request);
static struct {
    struct MHD_Daemon *(*start_daemon)(unsigned flags, uint16_t port, void *accept, void *accept_ctx,
                                       on_request *answer, void *ctx, ...);
    void (*stop_daemon)(struct MHD_Daemon *d);
    struct MHD_Response *(*create_response_from_buffer)(size_t len, void *bytes, int mode);
    int (*add_response_header)(struct MHD_Response *r, const char *name, const char *value);
    int (*queue_response)(struct MHD_Connection *c, unsigned status, struct MHD_Response *r);
    void (*destroy_response)(struct MHD_Response *r);
    const char *(*lookup_connection_value)(struct MHD_Connection *c, int kind, const char *key);
} mhd;

static bool load(char *err, size_t err_len) {
#define WANT(symbol)                                                                                         \
    { "MHD_" #symbol, (void **)&mhd.symbol }
    static const struct kl_library_symbol want[] = {
        WANT(start_daemon),           WANT(stop_daemon),    WANT(create_response_from_buffer),
        WANT(add_response_header),    WANT(queue_response), WANT(destroy_response),
        WANT(lookup_connection_value)};
    return kl_library_load(LIBRARY, want, sizeof want / sizeof *want, err, err_len);
}

/* --- answers; the library calls from one thread --- */

static struct {
    struct kl_figures figures[KL_SHARDS_MAX]; /* the newest of each process that could be read */
    struct kl_buffer metrics;
    uint64_t metrics_us;
} kept;

static int put(struct MHD_Connection *c, unsigned status, const char *type, const char *text, size_t len) {
    struct MHD_Response *r = mhd.create_response_from_buffer(len, (void *)(uintptr_t)text, MUST_COPY);
    if (!r) return NO;
    mhd.add_response_header(r, "Content-Type", type);
    mhd.add_response_header(r, "Cache-Control", "no-store");
    mhd.add_response_header(r, "X-Content-Type-Options", "nosniff");
    mhd.add_response_header(r, "Referrer-Policy", "no-referrer");
    mhd.add_response_header(r, "Content-Security-Policy", kl_window_policy());
    if (status == 405) mhd.add_response_header(r, "Allow", "GET, HEAD");
    int result = mhd.queue_response(c, status, r);
    mhd.destroy_response(r);
    return result;
}

/* The page and what it asks for are for browsers, which send the name that they were given: another name than
 * this relay's is a trick to read it from elsewhere (DNS rebinding). An address cannot be one. */
static bool is_own_host(struct MHD_Connection *c, const struct kl_window *w) {
    const char *host = mhd.lookup_connection_value(c, HEADER_KIND, "Host");
    struct kl_address ignored;
    if (!host) return true; /* no browser */
    size_t len = strcspn(host, ":");
    bool own = *w->host && len == strlen(w->host) && !strncmp(host, w->host, len);
    return own || kl_address_parse_place(host, &ignored) || (len == 9 && !strncmp(host, "localhost", len));
}

static int put_text(struct MHD_Connection *c, unsigned status, const char *text) {
    return put(c, status, "text/plain; charset=utf-8", text, strlen(text));
}

/* All readers together have a new text every KEPT_US. */
static int put_metrics(struct MHD_Connection *c, const struct kl_window *w, uint64_t now_us) {
    if (now_us >= kept.metrics_us + KEPT_US || !kept.metrics.len) {
        kl_buffer_clear(&kept.metrics);
        kl_figures_tell(&kept.metrics, w->place, kept.figures, w->count, now_us);
        kept.metrics_us = now_us;
    }
    if (kept.metrics.failed) return NO;
    return put(c, 200, "text/plain; version=0.0.4; charset=utf-8", kept.metrics.at, kept.metrics.len);
}

static int put_health(struct MHD_Connection *c, const struct kl_window *w, bool to_be_ready,
                      uint64_t now_us) {
    struct kl_buffer text = {0};
    uint64_t rooms = 0;
    bool good = kl_figures_fresh(&text, kept.figures, w->count, now_us);
    for (unsigned i = 0; i < w->count; i++)
        for (unsigned n = 0; n < KL_FIGURES_PHASES; n++)
            rooms += kept.figures[i].rooms[n];
    if (to_be_ready && good && rooms >= kept.figures[0].rooms_most) {
        kl_buffer_add(&text, "all of %llu rooms are taken\n", (unsigned long long)kept.figures[0].rooms_most);
        good = false;
    }
    if (to_be_ready && good && kept.figures[0].fleet && !kept.figures[0].fleet_speaks) {
        kl_buffer_add(&text, "the fleet's Redis does not answer: no room goes to another relay\n");
        good = false;
    }
    int result = put_text(c, good ? 200 : 503, good || !text.at ? "ok\n" : text.at);
    kl_buffer_free(&text);
    return result;
}

static const struct kl_shown_rooms *rooms_of(const void *window, unsigned shard) {
    return &((const struct kl_window *)window)->place[shard].rooms;
}

static int put_rooms(struct MHD_Connection *c, const struct kl_window *w) {
    struct kl_buffer text = {0};
    const char *from = mhd.lookup_connection_value(c, ARGUMENT_KIND, "from");
    char *end = NULL;
    unsigned long first = from ? strtoul(from, &end, 10) : 0;
    if (from && (!isdigit((unsigned char)*from) || *end || first > KL_SHARDS_MAX * KL_SHARD_ROOMS))
        return put_text(c, 400, "expected from=N, the number that the answer before has as \"next\"\n");
    kl_rooms_text_tell(&text, rooms_of, w, w->count, (unsigned)first);
    int result = text.failed ? NO : put(c, 200, "application/json", text.at, text.len);
    kl_buffer_free(&text);
    return result;
}

static int put_page(struct MHD_Connection *c) {
    size_t len;
    const char *page = kl_window_page(&len);
    return put(c, 200, "text/html; charset=utf-8", page, len);
}

static int answer(void *ctx, struct MHD_Connection *c, const char *url, const char *method,
                  const char *version, const char *body, size_t *body_len, void **of_request) {
    const struct kl_window *w = ctx;
    const uint64_t now_us = kl_now_us();
    (void)version, (void)body, (void)body_len, (void)of_request;
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return put_text(c, 405, "expected GET or HEAD\n");
    for (unsigned i = 0; i < w->count; i++)
        (void)kl_figures_read(&w->place[i], &kept.figures[i]);
    if (!strcmp(url, "/metrics")) return put_metrics(c, w, now_us);
    if (!strcmp(url, "/healthz")) return put_health(c, w, false, now_us);
    if (!strcmp(url, "/readyz")) return put_health(c, w, true, now_us);
    if (strcmp(url, "/") != 0 && strcmp(url, "/api/rooms") != 0)
        return put_text(c, 404, "expected /, /api/rooms, /metrics, /healthz or /readyz\n");
    if (!is_own_host(c, w))
        return put_text(c, 421, "expected this relay's --host, localhost or an address\n");
    return *++url ? put_rooms(c, w) : put_page(c);
}

int kl_window_serve(void *ctx) {
    struct kl_window *w = ctx;
    char err[256] = "";
    kl_process_yield(); /* the rooms come first */
    if (!load(err, sizeof err)) {
        kl_log(KL_LOG_ERROR, "no_window", "reason=\"--http needs libmicrohttpd: %s\"", err);
        return KL_WINDOW_NO_LIBRARY;
    }
    struct MHD_Daemon *d = mhd.start_daemon(USE_AUTO | USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, answer, w,
                                            OPTION_LISTEN_SOCKET, w->listener, OPTION_CONNECTION_LIMIT,
                                            (unsigned)CONNECTIONS, OPTION_TIMEOUT, (unsigned)TIMEOUT_S,
                                            OPTION_MEMORY_LIMIT, (size_t)MEMORY_BYTES, OPTION_END);
    if (!d) return 1;
    while (!(kl_wait_for(&w->quit, 1, KL_WAIT_FOREVER) & 1)) {
    }
    mhd.stop_daemon(d);
    return 0;
}
