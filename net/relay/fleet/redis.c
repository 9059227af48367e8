#include "net/relay/fleet/redis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/address.h"
#include "net/platform/file.h"
#include "net/platform/library.h"

#define PORT 6379

/* --- the place --- */

static bool read_number(const char *text, unsigned long most, unsigned long *out) {
    char *end;
    *out = strtoul(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && *out <= most;
}

/* "HOST", "HOST:PORT", "[HOST]", "[HOST]:PORT". Cuts the text up. */
static bool read_host(char *text, struct kl_redis_place *out) {
    unsigned long port = PORT;
    char *end = *text == '[' ? strchr(text, ']') : NULL, *colon = strchr(end ? end : text, ':');
    if (*text == '[' && !end) return false;
    if (colon && !read_number(colon + 1, UINT16_MAX, &port)) return false;
    if (end && end[1] && end + 1 != colon) return false;
    if (colon) *colon = 0;
    if (end) *end = 0;
    const char *host = end ? text + 1 : text;
    if (!*host || strlen(host) >= sizeof out->host || !port) return false;
    strcpy(out->host, host);
    out->port = (uint16_t)port;
    return true;
}

bool kl_redis_parse(const char *url, struct kl_redis_place *out, char *err, size_t err_len) {
    static const char plain[] = "redis://", sealed[] = "rediss://";
    char text[KL_REDIS_URL];
    unsigned long database = 0;
    *out = (struct kl_redis_place){.tls = !strncmp(url, sealed, strlen(sealed))};
    if (!strcmp(url, "off")) return true;
    if (out->tls && !kl_redis_tls_is_built()) {
        snprintf(err, err_len, "expected redis://HOST:PORT/DB, got %.80s: " KL_REDIS_NO_TLS, url);
        return false;
    }
    const char *scheme = out->tls ? sealed : plain;
    bool good = !strncmp(url, scheme, strlen(scheme)) && strlen(url) < sizeof text && !strchr(url, '@');
    if (good) {
        strcpy(text, url + strlen(scheme));
        char *slash = strchr(text, '/');
        if (slash && slash[1]) good = read_number(slash + 1, 1u << 20, &database);
        if (slash) *slash = 0;
        good = good && read_host(text, out);
        out->database = (unsigned)database;
    }
    if (!good)
        snprintf(err, err_len, "expected off, redis://HOST:PORT/DB or rediss:// for TLS, got \"%.80s\"", url);
    return good;
}

bool kl_redis_login(const char *path, struct kl_redis_place *out, char *err, size_t err_len) {
    void *bytes;
    size_t len;
    if (kl_file_read(path, 2 * KL_REDIS_WORD, KL_FILE_PRIVATE, &bytes, &len, err, err_len) != 0) return false;
    char *text = bytes;
    text[strcspn(text, "\r\n")] = 0;
    char *space = strchr(text, ' '), *password = space ? space + 1 : text;
    if (space) *space = 0;
    bool good = *text && *password && !strchr(password, ' ') && strlen(text) < sizeof out->user &&
                strlen(password) < sizeof out->password;
    if (good && space) strcpy(out->user, text);
    if (good) strcpy(out->password, password);
    if (!good) snprintf(err, err_len, "%s: expected one line, PASSWORD or USER PASSWORD", path);
    memset(text, 0, len);
    free(bytes);
    return good;
}

/* --- the library --- */

#if __has_include(<hiredis/hiredis.h>)
#include <hiredis/hiredis.h>

#define NAME(version)  NAME_(version)
#define NAME_(version) "libhiredis.so." #version
#define LIBRARY        NAME(HIREDIS_SONAME)
/* clang-format off */
#define CALLS(CALL)                                                                                          \
    CALL(ConnectWithTimeout) CALL(SetTimeout) CALL(AppendCommandArgv) CALL(GetReply) CALL(Free)
/* clang-format on */
#define FIELD(name) __typeof__(redis##name) *name;
#define WANT(name)  {"redis" #name, (void **)&hi.name},

static struct { CALLS(FIELD) } hi;
static void (*free_reply)(void *reply);

struct kl_redis {
    redisContext *context;
    void *reply; /* of the last kl_redis_next() */
};

static bool load(char *err, size_t err_len) {
    static const struct kl_library_symbol want[] = {CALLS(WANT){"freeReplyObject", (void **)&free_reply}};
    return free_reply || kl_library_load(LIBRARY, want, sizeof want / sizeof *want, err, err_len);
}

/* --- a connection --- */

void kl_redis_add(struct kl_redis *r, const struct kl_redis_arg *arg, unsigned args) {
    const char *bytes[KL_REDIS_ARGS];
    size_t len[KL_REDIS_ARGS];
    for (unsigned i = 0; i < args; i++) {
        bytes[i] = arg[i].bytes;
        len[i] = arg[i].len;
    }
    hi.AppendCommandArgv(r->context, (int)args, bytes, len); /* an error shows at the next answer */
}

static struct kl_redis_answer answer_of(const redisReply *reply) {
    struct kl_redis_answer a = {.reply = reply, .number = reply->integer};
    switch (reply->type) {
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS: a.kind = KL_REDIS_STRING; break;
    case REDIS_REPLY_INTEGER: a.kind = KL_REDIS_NUMBER; break;
    case REDIS_REPLY_ARRAY: a.kind = KL_REDIS_LIST; break;
    default: break;
    }
    if (a.kind == KL_REDIS_STRING) a.text = reply->str, a.len = reply->len;
    if (a.kind == KL_REDIS_LIST) a.len = reply->elements;
    return a;
}

bool kl_redis_next(struct kl_redis *r, struct kl_redis_answer *out, char *err, size_t err_len) {
    if (r->reply) free_reply(r->reply);
    r->reply = NULL;
    if (hi.GetReply(r->context, &r->reply) != REDIS_OK || !r->reply) {
        snprintf(err, err_len, "%s", r->context->errstr[0] ? r->context->errstr : "no answer");
        r->reply = NULL;
        return false;
    }
    const redisReply *reply = r->reply;
    if (reply->type == REDIS_REPLY_ERROR) snprintf(err, err_len, "%s", reply->str);
    *out = answer_of(reply);
    return reply->type != REDIS_REPLY_ERROR;
}

struct kl_redis_answer kl_redis_part(const struct kl_redis_answer *list, size_t i) {
    const redisReply *reply = list->reply;
    if (list->kind != KL_REDIS_LIST || i >= reply->elements) return (struct kl_redis_answer){0};
    return answer_of(reply->element[i]);
}

/* One command, with an answer that is no error. */
static bool says_yes(struct kl_redis *r, const struct kl_redis_arg *arg, unsigned args, char *err,
                     size_t err_len) {
    struct kl_redis_answer a;
    kl_redis_add(r, arg, args);
    return kl_redis_next(r, &a, err, err_len);
}

static bool greet(struct kl_redis *r, const struct kl_redis_place *place, char *err, size_t err_len) {
    char database[16];
    struct kl_redis_arg login[3] = {KL_REDIS_TEXT("AUTH")};
    unsigned args = 1;
    snprintf(database, sizeof database, "%u", place->database);
    if (*place->user) login[args++] = KL_REDIS_TEXT(place->user);
    login[args++] = KL_REDIS_TEXT(place->password);
    if (*place->password && !says_yes(r, login, args, err, err_len)) return false;
    const struct kl_redis_arg select[] = {KL_REDIS_TEXT("SELECT"), KL_REDIS_TEXT(database)};
    return says_yes(r, select, 2, err, err_len);
}

struct kl_redis *kl_redis_open(const struct kl_redis_place *place, unsigned timeout_ms, char *err,
                               size_t err_len) {
    const struct timeval tv = {.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000};
    if (!load(err, err_len)) return NULL;
    struct kl_redis *r = calloc(1, sizeof *r);
    if (r) r->context = hi.ConnectWithTimeout(place->host, place->port, tv);
    if (r && r->context && !r->context->err) {
        hi.SetTimeout(r->context, tv);
        if ((!place->tls || kl_redis_tls_begin(r->context, place->host, err, err_len)) &&
            greet(r, place, err, err_len))
            return r;
    } else {
        snprintf(err, err_len, "%s", r && r->context ? r->context->errstr : "no memory");
    }
    kl_redis_close(r);
    return NULL;
}

void kl_redis_close(struct kl_redis *r) {
    if (!r) return;
    if (r->reply) free_reply(r->reply);
    if (r->context) hi.Free(r->context);
    free(r);
}

#else

struct kl_redis *kl_redis_open(const struct kl_redis_place *place, unsigned timeout_ms, char *err,
                               size_t err_len) {
    (void)place, (void)timeout_ms;
    snprintf(err, err_len, "this keylock-relay was built without hiredis (libhiredis-dev)");
    return NULL;
}
void kl_redis_close(struct kl_redis *r) {
    (void)r;
}
void kl_redis_add(struct kl_redis *r, const struct kl_redis_arg *arg, unsigned args) {
    (void)r, (void)arg, (void)args;
}
bool kl_redis_next(struct kl_redis *r, struct kl_redis_answer *out, char *err, size_t err_len) {
    (void)r, (void)out, (void)err, (void)err_len;
    return false;
}
struct kl_redis_answer kl_redis_part(const struct kl_redis_answer *list, size_t i) {
    (void)list, (void)i;
    return (struct kl_redis_answer){0};
}

#endif
