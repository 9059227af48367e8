/* redis_tls.h - TLS of a connection to Redis, by OpenSSL. hiredis knows it from version 1.0 on, and checks no
 * name in a certificate: the session is made here. One thread. */
#ifndef KL_REDIS_TLS_H
#define KL_REDIS_TLS_H

#include <stdbool.h>
#include <stddef.h>

/* The advice of a relay that cannot. */
#define KL_REDIS_NO_TLS "for Redis with TLS use stunnel, and its address here"

/* True if this build's hiredis is new enough. */
bool kl_redis_tls_is_built(void);
/* Begins TLS on a connected redisContext. The certificate has to be host's, by name or address, and of a CA
 * of the system (or of SSL_CERT_FILE). The context frees the session. False with a line in err; the context
 * is of no use then. */
bool kl_redis_tls_begin(void *context, const char *host, char *err, size_t err_len);

#endif
