/* The host's token, and the host's orders by HTTP: the console's words, given to the relay as `ctl` gives
 * them. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "net/platform/dir.h"
#include "net/platform/file.h"
#include "net/relay/program/control.h"
#include "net/relay/program/window_http.h"

#define TOKEN_BYTES 32 /* of chance, in a token that the relay makes */
#define TOKEN_LEAST 20 /* characters of one that somebody has written */
#define WAIT_US     1000000
#define LINE_TYPE   "application/x-keylock-line"

/* --- the token --- */

static int make_token(const char *path, char *err, size_t err_len) {
    uint8_t chance[TOKEN_BYTES];
    char text[KL_WINDOW_TOKEN];
    randombytes_buf(chance, sizeof chance);
    sodium_bin2base64(text, sizeof text - 1, chance, sizeof chance, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    strcat(text, "\n");
    return kl_file_write_whole(path, text, strlen(text), KL_FILE_PRIVATE | KL_FILE_KEEP, err, err_len);
}

int kl_window_token(const char *dir, char out[KL_WINDOW_TOKEN], char *err, size_t err_len) {
    char path[KL_FILE_PATH];
    void *bytes;
    size_t len;
    if (kl_dir_make(dir, true, err, err_len) != 0) return -1;
    if (kl_file_join(path, sizeof path, dir, "http.token", err, err_len) != 0) return -1;
    int result = kl_file_read(path, KL_WINDOW_TOKEN, KL_FILE_PRIVATE, &bytes, &len, err, err_len);
    if (result == KL_FILE_ABSENT) {
        if (make_token(path, err, err_len) < 0) return -1;
        result = kl_file_read(path, KL_WINDOW_TOKEN, KL_FILE_PRIVATE, &bytes, &len, err, err_len);
    }
    if (result != 0) return -1;
    char *text = bytes;
    text[strcspn(text, "\r\n")] = 0;
    const char *at = text;
    while (isalnum((unsigned char)*at) || (*at && strchr("-._~+/=", *at)))
        at++;
    bool good = !*at && strlen(text) >= TOKEN_LEAST && strlen(text) < KL_WINDOW_TOKEN;
    if (good) strcpy(out, text);
    if (!good)
        snprintf(err, err_len, "%s: expected one line of %d to %d letters and digits, got another", path,
                 TOKEN_LEAST, KL_WINDOW_TOKEN - 1);
    sodium_memzero(text, len);
    free(bytes);
    return good ? 0 : -1;
}

enum kl_window_reader kl_window_reader(const struct kl_window *w, struct MHD_Connection *c, int *result) {
    static const char scheme[] = "Bearer ";
    const char *given = kl_mhd.lookup_connection_value(c, HEADER_KIND, "Authorization");
    const char *token = w->config.token;
    const size_t len = strlen(token);
    if (!given) return KL_WINDOW_PUBLIC;
    bool right = len && !strncmp(given, scheme, strlen(scheme));
    given += right ? strlen(scheme) : 0;
    right = right && strlen(given) == len && sodium_memcmp(given, token, len) == 0;
    if (right) return KL_WINDOW_HOST;
    if (len)
        *result = kl_window_put_text(c, 401, "expected the token of this relay's file http.token\n");
    else
        *result = kl_window_put_text(
            c, 403,
            "there are no controls: --http is no address of this machine alone (--http-behind-tls)\n");
    return KL_WINDOW_WRONG;
}

/* --- an order --- */

static int give(const struct kl_window *w, struct MHD_Connection *c, const char *line) {
    struct kl_console_line parsed;
    struct kl_buffer all = {0};
    struct kl_ctl ctl = {.folder = w->config.control, .line = line, .wait_us = WAIT_US};
    int failed = 0;
    unsigned answered = 0;
    kl_console_parse(&parsed, line);
    if (parsed.verb == KL_CONSOLE_NOTHING) return kl_window_put_text(c, 400, "expected a word, got none\n");
    if (parsed.verb == KL_CONSOLE_BAD) return kl_window_put_text(c, 400, parsed.room);
    if (parsed.verb == KL_CONSOLE_QUIT)
        return kl_window_put_text(c, 403, "the relay ends by keylock-relay ctl quit, or by its service\n");
    for (unsigned i = 0; i < w->count; i++)
        if (!ctl.port) ctl.port = atomic_load(&w->place[i].port);
    ctl.socket = *ctl.folder && ctl.port ? kl_local_open(NULL) : -1;
    if (ctl.socket >= 0) answered = kl_ctl_ask(&ctl, parsed.verb, &all, &failed);
    kl_local_close(ctl.socket);
    int result = NO;
    if (!answered || failed)
        result = kl_window_put_text(c, 503, "a process of the relay takes no orders (--control)\n");
    else if (!all.failed)
        result = kl_window_put_text(c, kl_ctl_refused(&all) ? 409 : 200, all.at ? all.at : "");
    kl_buffer_free(&all);
    return result;
}

struct request {
    size_t len;
    char line[KL_CONSOLE_LINE];
};

/* Answers by the head alone: a body is taken from the host alone. */
static int begin(const struct kl_window *w, struct MHD_Connection *c, void **of_request) {
    int result = NO;
    enum kl_window_reader reader = kl_window_reader(w, c, &result);
    const char *type = kl_mhd.lookup_connection_value(c, HEADER_KIND, "Content-Type");
    if (reader == KL_WINDOW_WRONG) return result;
    if (reader == KL_WINDOW_PUBLIC)
        return kl_window_put_text(c, 401, "expected the token of this relay's file http.token, got none\n");
    if (!type || strcmp(type, LINE_TYPE) != 0)
        return kl_window_put_text(c, 415, "expected Content-Type: " LINE_TYPE "\n");
    const char *len = kl_mhd.lookup_connection_value(c, HEADER_KIND, "Content-Length");
    if (len && strtoul(len, NULL, 10) >= KL_CONSOLE_LINE)
        return kl_window_put_text(c, 413,
                                  "expected a line of fewer bytes: the console takes no longer one\n");
    return (*of_request = calloc(1, sizeof(struct request))) ? YES : NO;
}

int kl_window_control(const struct kl_window *w, struct MHD_Connection *c, const char *body, size_t *body_len,
                      void **of_request) {
    struct request *r = *of_request;
    if (!r) return begin(w, c, of_request);
    if (!*body_len) return give(w, c, r->line);
    if (r->len + *body_len >= sizeof r->line) return NO; /* a longer line is no line: the connection ends */
    for (size_t i = 0; i < *body_len; i++)
        r->line[r->len++] = iscntrl((unsigned char)body[i]) ? ' ' : body[i];
    *body_len = 0;
    return YES;
}
