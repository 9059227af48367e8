/* redis.h - a connection to a Redis server, by hiredis: commands go out together, and their answers come in
 * their order. One thread.
 *
 * hiredis is loaded when it is wanted; its header, if there is one at build, says the library's version. */
#ifndef KL_REDIS_H
#define KL_REDIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KL_REDIS_URL  300
#define KL_REDIS_WORD 256 /* of a user or a password, with NUL */

struct kl_redis_place {
    char host[256];
    uint16_t port;
    unsigned database;
    bool tls;
    char user[KL_REDIS_WORD], password[KL_REDIS_WORD]; /* "": none */
};
/* Reads redis://HOST[:PORT][/DB], rediss:// for TLS, or off: an empty host. False: err says what was
 * expected. */
bool kl_redis_parse(const char *url, struct kl_redis_place *out, char *err, size_t err_len);
/* Reads a private file with one line, "PASSWORD" or "USER PASSWORD". False with a line in err. */
bool kl_redis_login(const char *path, struct kl_redis_place *out, char *err, size_t err_len);

/* An argument: a text, or bytes. */
struct kl_redis_arg {
    const void *bytes;
    size_t len;
};
#define KL_REDIS_TEXT(text) ((struct kl_redis_arg){(text), strlen(text)})
#define KL_REDIS_ARGS       64 /* of one command at most */

/* An answer. Its memory is the library's. */
enum kl_redis_kind { KL_REDIS_NONE, KL_REDIS_STRING, KL_REDIS_LIST, KL_REDIS_NUMBER };
struct kl_redis_answer {
    enum kl_redis_kind kind;
    const char *text; /* of a string, with a NUL behind it */
    size_t len;       /* its bytes; or the parts of a list */
    int64_t number;
    const void *reply;
};

struct kl_redis; /* NULL: closed */

/* Connects within timeout_ms, and gives each answer as long. NULL with a line in err: no library of this
 * build's version, no server, one that refuses, or a certificate that is not the server's. */
struct kl_redis *kl_redis_open(const struct kl_redis_place *place, unsigned timeout_ms, char *err,
                               size_t err_len);
void kl_redis_close(struct kl_redis *r);

/* Adds a command. It goes out with the first kl_redis_next(). */
void kl_redis_add(struct kl_redis *r, const struct kl_redis_arg *arg, unsigned args);
/* The next answer; it stays until the next call. False with err: it is an error of the server's, or the
 * connection is broken. */
bool kl_redis_next(struct kl_redis *r, struct kl_redis_answer *out, char *err, size_t err_len);
/* Part i of a list; KL_REDIS_NONE: there is none. */
struct kl_redis_answer kl_redis_part(const struct kl_redis_answer *list, size_t i);

/* TLS of a connection to Redis, by OpenSSL. hiredis knows it from version 1.0 on, and checks no
 * name in a certificate: the session is made here. One thread. */

/* The advice of a relay that cannot. */
#define KL_REDIS_NO_TLS "for Redis with TLS use stunnel, and its address here"

/* True if this build's hiredis is new enough. */
bool kl_redis_tls_is_built(void);
/* Begins TLS on a connected redisContext. The certificate has to be host's, by name or address, and of a CA
 * of the system (or of SSL_CERT_FILE). The context frees the session. False with a line in err; the context
 * is of no use then. */
bool kl_redis_tls_begin(void *context, const char *host, char *err, size_t err_len);

#endif
