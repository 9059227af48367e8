/* The process of --http: HTTP by libmicrohttpd. */
#include "net/relay/program/window_http.h"

#include <ctype.h>
#include <sodium.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/clock.h"
#include "net/platform/library.h"
#include "net/platform/wait.h"

#define CONNECTIONS  512
#define TIMEOUT_S    10   /* of a silent connection */
#define MEMORY_BYTES 8192 /* of a connection's request and head */
#define KEPT_US      250000
#define TURN_US      1000000 /* of the streams */

/* --- the library --- */

#define LIBRARY "libmicrohttpd.so.12"
enum { USE_EPOLL = 512, USE_ITC = 1024, ALLOW_SUSPEND_RESUME = 8192 | USE_ITC };
enum {
    OPTION_END,
    OPTION_MEMORY_LIMIT,
    OPTION_CONNECTION_LIMIT,
    OPTION_TIMEOUT,
    OPTION_NOTIFY_COMPLETED,
    OPTION_LISTEN_SOCKET = 12
};
enum { MUST_COPY = 2 };
enum { INFO_EPOLL_FD = 3 };

struct kl_mhd kl_mhd;

static bool load(char *err, size_t err_len) {
#define WANT(symbol)                                                                                         \
    { "MHD_" #symbol, (void **)&kl_mhd.symbol }
    static const struct kl_library_symbol want[] = {WANT(start_daemon),
                                                    WANT(stop_daemon),
                                                    WANT(run),
                                                    WANT(get_timeout),
                                                    WANT(get_daemon_info),
                                                    WANT(suspend_connection),
                                                    WANT(resume_connection),
                                                    WANT(create_response_from_buffer),
                                                    WANT(create_response_from_callback),
                                                    WANT(add_response_header),
                                                    WANT(queue_response),
                                                    WANT(destroy_response),
                                                    WANT(lookup_connection_value)};
    return kl_library_load(LIBRARY, want, sizeof want / sizeof *want, err, err_len);
}

/* --- the page --- */

/* The page of --http: page.html, and the policy by which a browser runs its own style and script alone. */
#ifdef _WIN32 /* it has no --http */
static const char kl_window_page_begin[] = "";
#else
/* The file becomes part of the program: GNU as, .incbin. */
__asm__(".section .rodata\n"
        "kl_window_page_begin:\n"
        ".incbin \"net/relay/program/page.html\"\n"
        ".byte 0\n"
        ".previous\n");
extern const char kl_window_page_begin[] __attribute__((visibility("hidden")));
#endif

/* 'sha256-…' of the bytes between two tags (CSP level 3, §8.4). */
static void hash_between(const char *from, const char *to, char out[64]) {
    uint8_t hash[crypto_hash_sha256_BYTES];
    const char *begin = strstr(kl_window_page_begin, from), *end = begin ? strstr(begin, to) : NULL;
    *out = 0;
    if (!end) return;
    begin += strlen(from);
    crypto_hash_sha256(hash, (const uint8_t *)begin, (size_t)(end - begin));
    strcpy(out, "'sha256-");
    sodium_bin2base64(out + strlen(out), 48, hash, sizeof hash, sodium_base64_VARIANT_ORIGINAL);
    strcat(out, "'");
}

static const char *policy_of_page(void) {
    static char policy[320];
    char style[64], script[64];
    if (*policy) return policy;
    hash_between("<style>", "</style>", style);
    hash_between("<script>", "</script>", script);
    snprintf(policy, sizeof policy,
             "default-src 'none'; style-src %s; script-src %s; connect-src 'self'; base-uri 'none'; "
             "form-action 'none'; frame-ancestors 'none'",
             style, script);
    return policy;
}

/* --- answers --- */

static struct {
    struct kl_figures figures[KL_SHARDS_MAX]; /* the newest of each process that could be read */
    struct kl_buffer metrics;
    uint64_t metrics_us;
} kept;

int kl_window_queue(struct MHD_Connection *c, unsigned status, const char *type, struct MHD_Response *r) {
    if (!r) return NO;
    kl_mhd.add_response_header(r, "Content-Type", type);
    kl_mhd.add_response_header(r, "Cache-Control", "no-store");
    kl_mhd.add_response_header(r, "X-Content-Type-Options", "nosniff");
    kl_mhd.add_response_header(r, "Referrer-Policy", "no-referrer");
    kl_mhd.add_response_header(r, "Content-Security-Policy", policy_of_page());
    int result = kl_mhd.queue_response(c, status, r);
    kl_mhd.destroy_response(r);
    return result;
}

int kl_window_put(struct MHD_Connection *c, unsigned status, const char *type, const char *text, size_t len) {
    return kl_window_queue(c, status, type,
                           kl_mhd.create_response_from_buffer(len, (void *)(uintptr_t)text, MUST_COPY));
}

int kl_window_put_text(struct MHD_Connection *c, unsigned status, const char *text) {
    return kl_window_put(c, status, "text/plain; charset=utf-8", text, strlen(text));
}

/* The page and what it asks for are for browsers, which send the name that they were given: another name than
 * this relay's is a trick to read it from elsewhere (DNS rebinding). An address cannot be one. */
static bool is_own_host(struct MHD_Connection *c, const struct kl_window *w) {
    const char *host = kl_mhd.lookup_connection_value(c, HEADER_KIND, "Host");
    struct kl_address ignored;
    if (!host) return true; /* no browser */
    size_t len = strcspn(host, ":");
    const char *name = w->config.host;
    bool own = *name && len == strlen(name) && !strncmp(host, name, len);
    return own || kl_address_parse_place(host, &ignored) || (len == 9 && !strncmp(host, "localhost", len));
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
    int result = kl_window_put_text(c, good ? 200 : 503, good || !text.at ? "ok\n" : text.at);
    kl_buffer_free(&text);
    return result;
}

static const struct kl_shown_rooms *rooms_of(const void *window, unsigned shard) {
    return &((const struct kl_window *)window)->place[shard].rooms;
}

struct kl_rooms_told kl_window_rooms(const struct kl_window *w, bool to_host) {
    return (struct kl_rooms_told){rooms_of, w, w->count, to_host};
}

static int put_room(struct MHD_Connection *c, const struct kl_window *w, const struct kl_rooms_told *told,
                    const char *name) {
    struct kl_buffer text = {0};
    if (!kl_rooms_text_tell_one(&text, told, name))
        return kl_window_put_text(c, 404, "expected room=NAME of a room of /api/rooms\n");
    kl_window_matches_of(&text, w, name, told->to_host);
    kl_buffer_add(&text, "}\n");
    int result = text.failed ? NO : kl_window_put(c, 200, "application/json", text.at, text.len);
    kl_buffer_free(&text);
    return result;
}

static int put_rooms(struct MHD_Connection *c, const struct kl_window *w, bool stream) {
    struct kl_buffer text = {0};
    const char *from = kl_mhd.lookup_connection_value(c, ARGUMENT_KIND, "from");
    const char *room = kl_mhd.lookup_connection_value(c, ARGUMENT_KIND, "room");
    char *end = NULL;
    unsigned long first = from ? strtoul(from, &end, 10) : 0;
    int result = NO;
    enum kl_window_reader reader = kl_window_reader(w, c, &result);
    const struct kl_rooms_told told = kl_window_rooms(w, reader == KL_WINDOW_HOST);
    if (reader == KL_WINDOW_WRONG) return result;
    if (stream) return kl_window_stream(c, w, told.to_host);
    if (room) return put_room(c, w, &told, room);
    if (from && (!isdigit((unsigned char)*from) || *end || first > KL_SHARDS_MAX * KL_SHARD_ROOMS))
        return kl_window_put_text(c, 400,
                                  "expected from=N, the number that the answer before has as \"next\"\n");
    kl_rooms_text_tell(&text, &told, (unsigned)first, KL_ROOMS_TEXT_BYTES);
    result = text.failed ? NO : kl_window_put(c, 200, "application/json", text.at, text.len);
    kl_buffer_free(&text);
    return result;
}

static int get(const struct kl_window *w, struct MHD_Connection *c, const char *url) {
    const uint64_t now_us = kl_now_us();
    for (unsigned i = 0; i < w->count; i++)
        (void)kl_figures_read(&w->place[i], &kept.figures[i]);
    if (!strcmp(url, "/metrics")) {
        /* All readers together have a new text every KEPT_US. */
        if (now_us >= kept.metrics_us + KEPT_US || !kept.metrics.len) {
            kl_buffer_clear(&kept.metrics);
            kl_figures_tell(&kept.metrics, w->place, kept.figures, w->count, now_us);
            kept.metrics_us = now_us;
        }
        if (kept.metrics.failed) return NO;
        return kl_window_put(c, 200, "text/plain; version=0.0.4; charset=utf-8", kept.metrics.at,
                             kept.metrics.len);
    }
    if (!strcmp(url, "/healthz")) return put_health(c, w, false, now_us);
    if (!strcmp(url, "/readyz")) return put_health(c, w, true, now_us);
    if (!is_own_host(c, w))
        return kl_window_put_text(c, 421, "expected this relay's --host, localhost or an address\n");
    if (!strcmp(url, "/api/matches")) return kl_window_matches(c, w);
    if (url[1]) return put_rooms(c, w, !strcmp(url, "/api/stream"));
    return kl_window_put(c, 200, "text/html; charset=utf-8", kl_window_page_begin,
                         strlen(kl_window_page_begin));
}

static int answer(void *ctx, struct MHD_Connection *c, const char *url, const char *method,
                  const char *version, const char *body, size_t *body_len, void **of_request) {
    static const char *const paths[] = {"/",        "/api/rooms", "/api/stream", "/api/matches",
                                        "/metrics", "/healthz",   "/readyz",     "/api/control"};
    const size_t last = sizeof paths / sizeof *paths - 1;
    size_t i = 0;
    (void)version;
    while (i <= last && strcmp(url, paths[i]) != 0)
        i++;
    if (*of_request) return kl_window_control(ctx, c, body, body_len, of_request);
    if (i > last)
        return kl_window_put_text(c, 404,
                                  "expected /, /api/rooms, /api/stream, /api/matches, /api/control, "
                                  "/metrics, /healthz or /readyz\n");
    if (i == last && strcmp(method, "POST") != 0) return kl_window_put_text(c, 405, "expected POST\n");
    if (i < last && strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return kl_window_put_text(c, 405, "expected GET or HEAD\n");
    if (i < last) return get(ctx, c, url);
    if (!is_own_host(c, ctx))
        return kl_window_put_text(c, 421, "expected this relay's --host, localhost or an address\n");
    return kl_window_control(ctx, c, body, body_len, of_request);
}

static void forget_request(void *ctx, struct MHD_Connection *c, void **of_request, int how) {
    (void)ctx, (void)c, (void)how;
    free(*of_request);
    *of_request = NULL;
}

static void serve(const struct kl_window *w, struct MHD_Daemon *d) {
    const int what[] = {w->quit, kl_mhd.get_daemon_info(d, INFO_EPOLL_FD)->epoll_fd};
    uint64_t turn_us = 0;
    for (;;) {
        unsigned long long ms;
        uint64_t now_us = kl_now_us(), until_us = turn_us;
        if (now_us >= turn_us) kl_window_stream_turn(w);
        if (now_us >= turn_us) until_us = turn_us = now_us + TURN_US;
        if (kl_mhd.get_timeout(d, &ms) && now_us + ms * 1000 < until_us) until_us = now_us + ms * 1000;
        if (kl_wait_for(what, 2, until_us) & 1) return;
        kl_mhd.run(d);
    }
}

int kl_window_serve(void *ctx) {
    struct kl_window *w = ctx;
    char err[256] = "";
    kl_process_yield(); /* the rooms come first */
    if (!load(err, sizeof err)) {
        kl_log(KL_LOG_ERROR, "no_window", "reason=\"--http needs libmicrohttpd: %s\"", err);
        return KL_WINDOW_NO_LIBRARY;
    }
    struct MHD_Daemon *d = kl_mhd.start_daemon(
        USE_EPOLL | ALLOW_SUSPEND_RESUME, 0, NULL, NULL, answer, w, OPTION_LISTEN_SOCKET, w->listener,
        OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS, OPTION_TIMEOUT, (unsigned)TIMEOUT_S,
        OPTION_MEMORY_LIMIT, (size_t)MEMORY_BYTES, OPTION_NOTIFY_COMPLETED, forget_request, NULL, OPTION_END);
    if (!d) return 1;
    serve(w, d);
    kl_window_stream_end();
    kl_mhd.run(d);
    kl_mhd.stop_daemon(d);
    return 0;
}
