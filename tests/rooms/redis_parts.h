/* redis_parts.h - shared by the files of the model of Redis alone. fleet.h. */
#ifndef TEST_ROOMS_REDIS_PARTS_H
#define TEST_ROOMS_REDIS_PARTS_H

#include "net/relay/fleet/directory_parts.h"
#include "net/relay/fleet/replica.h"
#include "tests/rooms/fleet.h"

struct key {
    char text[256];
};

struct reply {
    enum kl_redis_kind kind;
    int64_t number;
    size_t len; /* of the text, or parts */
    char *text;
    struct reply *part;
    uint64_t at_us; /* it is here then */
    struct reply *after;
};

extern struct rng redis_rng;

/* A field of a key; NULL: there is none. The length of a string. */
const char *redis_get(const char *key, const char *field);
size_t redis_length(const char *key);
/* The key of that kind of that name; of a copy of a match. */
struct key redis_key(const char *kind, const char *name);
struct key redis_key_of_copy(const char *kind, const char *id, const char *number);
/* Does a command. The reply is the caller's, by redis_free() and free(). */
struct reply *redis_command(const struct kl_redis_arg *arg, unsigned args);
struct kl_redis_answer redis_answer(const struct reply *r);
void redis_free(struct reply *r);
/* It has again all that it kept, as another process. */
void redis_restore(void);

#endif
