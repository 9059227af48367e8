#include "net/relay/fleet/redis.h"

#include <stdint.h>
#include <stdio.h>

#include "net/platform/address.h"
#include "net/platform/library.h"

#if __has_include(<hiredis/hiredis.h>)
#include <hiredis/hiredis.h>
#define IS_BUILT (HIREDIS_MAJOR >= 1)
#else
#define IS_BUILT 0
#endif

bool kl_redis_tls_is_built(void) {
    return IS_BUILT;
}

#if IS_BUILT

#define NAME(stem, version)  NAME_(stem, version)
#define NAME_(stem, version) stem ".so." #version
#define PARENT               NAME("libhiredis", HIREDIS_SONAME) /* loaded; LIBRARY needs it, and does not say so */
#define LIBRARY              NAME("libhiredis_ssl", HIREDIS_SONAME)

/* OpenSSL's own numbers; its header is not needed at build. */
#define VERIFY_PEER   1
#define CTRL_SET_NAME 55
#define TYPE_HOST     0L

/* OpenSSL is looked up as hiredis's dependency: both have to use one. */
static struct {
    int (*begin)(redisContext *c, void *session);
    const void *(*method)(void);
    void *(*make_context)(const void *method);
    void (*free_context)(void *context);
    int (*use_system_cas)(void *context);
    void (*set_verify)(void *context, int mode, void *call);
    void *(*make_session)(void *context);
    void (*free_session)(void *session);
    int (*expect_host)(void *session, const char *host);
    long (*control)(void *session, int what, long type, void *value);
} tls;

static bool load(char *err, size_t err_len) {
    static const struct kl_library_symbol want[] = {
        {"TLS_client_method", (void **)&tls.method},
        {"SSL_CTX_new", (void **)&tls.make_context},
        {"SSL_CTX_free", (void **)&tls.free_context},
        {"SSL_CTX_set_default_verify_paths", (void **)&tls.use_system_cas},
        {"SSL_CTX_set_verify", (void **)&tls.set_verify},
        {"SSL_new", (void **)&tls.make_session},
        {"SSL_free", (void **)&tls.free_session},
        {"SSL_set1_host", (void **)&tls.expect_host},
        {"SSL_ctrl", (void **)&tls.control},
        {"redisInitiateSSL", (void **)&tls.begin}};
    char why[200];
    kl_library_share(PARENT);
    if (tls.begin || kl_library_load(LIBRARY, want, sizeof want / sizeof *want, why, sizeof why)) return true;
    snprintf(err, err_len, "%s; " KL_REDIS_NO_TLS, why);
    return false;
}

/* NULL: no memory. */
static void *make_session(const char *host) {
    struct kl_address address;
    void *context = tls.make_context(tls.method()), *session = NULL;
    if (context && tls.use_system_cas(context)) {
        tls.set_verify(context, VERIFY_PEER, NULL);
        session = tls.make_session(context);
    }
    bool good = session && tls.expect_host(session, host);
    if (good && !kl_address_parse(host, &address))
        good = tls.control(session, CTRL_SET_NAME, TYPE_HOST, (void *)(uintptr_t)host);
    if (session && !good) tls.free_session(session);
    if (context) tls.free_context(context); /* the session keeps it */
    return good ? session : NULL;
}

bool kl_redis_tls_begin(void *context, const char *host, char *err, size_t err_len) {
    redisContext *c = context;
    if (!load(err, err_len)) return false;
    void *session = make_session(host);
    if (session && tls.begin(c, session) == REDIS_OK) return true;
    if (session) tls.free_session(session);
    snprintf(err, err_len, "TLS: %s", c->err ? c->errstr : "no memory");
    return false;
}

#else

bool kl_redis_tls_begin(void *context, const char *host, char *err, size_t err_len) {
    (void)context, (void)host;
    snprintf(err, err_len, KL_REDIS_NO_TLS);
    return false;
}

#endif
