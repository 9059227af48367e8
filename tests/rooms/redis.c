/* A link to the model of Redis delays, and keeps what is on its way while it is cut, as TCP does: a command
 * may be done after its sender has given up. */
#include "net/platform/clock.h"
#include "tests/rooms/redis_parts.h"

#define TIMEOUT_US 500000

bool redis_cut[RELAYS], redis_stands;

/* Commands that go out together. */
struct batch {
    struct kl_redis *from; /* NULL: it has given up */
    unsigned relay;
    uint64_t at_us; /* they arrive */
    unsigned count;
    struct words {
        struct kl_redis_arg arg[16];
        unsigned args;
    } * words;
    struct batch *after;
};
static struct batch *under_way;

struct kl_redis {
    unsigned relay;
    struct batch *next; /* to go out with the first question for an answer */
    struct reply *answer, last;
    bool broken;
    struct kl_redis *after;
};
static struct kl_redis *connection;

static uint64_t delay_us(void) {
    return rng_chance(&redis_rng, 0.01) ? rng_range(&redis_rng, 2000, 60000) : 500;
}

static void free_batch(struct batch *b) {
    for (unsigned i = 0; i < b->count; i++)
        for (unsigned k = 0; k < b->words[i].args; k++)
            free((void *)b->words[i].arg[k].bytes);
    free(b->words);
    free(b);
}

static void do_all(const struct batch *b) {
    struct reply **end = b->from ? &b->from->answer : NULL;
    const uint64_t at_us = now_us + delay_us();
    while (end && *end)
        end = &(*end)->after;
    for (unsigned i = 0; i < b->count; i++) {
        struct reply *r = redis_command(b->words[i].arg, b->words[i].args);
        r->at_us = at_us;
        if (!end) {
            redis_free(r);
            free(r);
            continue;
        }
        *end = r;
        end = &r->after;
    }
}

void redis_step(void) {
    for (struct batch **at = &under_way; *at;) {
        struct batch *b = *at;
        if (redis_cut[b->relay] || redis_stands) /* TCP tries again */
            b->at_us = b->at_us > now_us ? b->at_us : now_us + rng_range(&redis_rng, 1000, 400000);
        if (b->at_us > now_us) {
            at = &b->after;
            continue;
        }
        *at = b->after;
        do_all(b);
        free_batch(b);
    }
}

/* It is over for one relay, or for all. */
static void end_connections(const unsigned *relay, bool forgets) {
    for (struct kl_redis *r = connection; r; r = r->after)
        if (!relay || r->relay == *relay) r->broken = true;
    for (struct batch **at = &under_way; *at;) {
        struct batch *b = *at;
        if (relay && b->relay == *relay) b->from = NULL;
        if (!relay && forgets) {
            *at = b->after;
            free_batch(b);
        } else {
            at = &b->after;
        }
    }
}

void redis_end(unsigned relay) {
    end_connections(&relay, false);
}

void redis_go_back(void) {
    redis_restore();
    end_connections(NULL, true);
}

/* --- for directory and copies --- */

bool __real_kl_redis_next(struct kl_redis *r, struct kl_redis_answer *out, char *err, size_t err_len);
struct kl_redis *__wrap_kl_redis_open(const struct kl_redis_place *place, unsigned timeout_ms, char *err,
                                      size_t err_len);
void __wrap_kl_redis_close(struct kl_redis *r);
void __wrap_kl_redis_add(struct kl_redis *r, const struct kl_redis_arg *arg, unsigned args);
bool __wrap_kl_redis_next(struct kl_redis *r, struct kl_redis_answer *out, char *err, size_t err_len);
struct kl_redis_answer __wrap_kl_redis_part(const struct kl_redis_answer *list, size_t i);

struct kl_redis *__wrap_kl_redis_open(const struct kl_redis_place *place, unsigned timeout_ms, char *err,
                                      size_t err_len) {
    (void)place;
    const unsigned relay = (unsigned)fiber_now();
    const uint64_t begun_us = now_us, until_us = now_us + timeout_ms * UINT64_C(1000);
    do
        fiber_yield();
    while (now_us < until_us && (redis_cut[relay] || redis_stands || now_us < begun_us + 1000));
    struct kl_redis *r = now_us < until_us ? calloc(1, sizeof *r) : NULL;
    if (!r) {
        snprintf(err, err_len, "Connection timed out");
        return NULL;
    }
    r->relay = relay;
    r->after = connection;
    connection = r;
    return r;
}

void __wrap_kl_redis_close(struct kl_redis *r) {
    struct kl_redis **at = &connection;
    if (!r) return;
    while (*at != r)
        at = &(*at)->after;
    *at = r->after;
    for (struct batch *b = under_way; b; b = b->after)
        if (b->from == r) b->from = NULL;
    if (r->next) free_batch(r->next);
    for (struct reply *a = r->answer, *after; a; a = after) {
        after = a->after;
        redis_free(a);
        free(a);
    }
    redis_free(&r->last);
    free(r);
}

void __wrap_kl_redis_add(struct kl_redis *r, const struct kl_redis_arg *arg, unsigned args) {
    if (!r->next && !(r->next = calloc(1, sizeof *r->next))) fail("no memory");
    struct batch *b = r->next;
    b->words = realloc(b->words, (b->count + 1) * sizeof *b->words);
    if (!b->words) fail("no memory");
    struct words *w = &b->words[b->count++];
    w->args = args;
    for (unsigned i = 0; i < args; i++) {
        char *bytes = malloc(arg[i].len + 1);
        if (!bytes) fail("no memory");
        if (arg[i].len) memcpy(bytes, arg[i].bytes, arg[i].len);
        bytes[arg[i].len] = 0;
        w->arg[i] = (struct kl_redis_arg){bytes, arg[i].len};
    }
}

static void send(struct kl_redis *r) {
    struct batch *b = r->next, **end = &under_way;
    r->next = NULL;
    if (!b) return;
    b->from = r;
    b->relay = r->relay;
    b->at_us = now_us + delay_us();
    while (*end)
        end = &(*end)->after;
    *end = b;
}

bool __wrap_kl_redis_next(struct kl_redis *r, struct kl_redis_answer *out, char *err, size_t err_len) {
    const uint64_t until_us = now_us + TIMEOUT_US;
    if (fiber_now() < 0) return __real_kl_redis_next(r, out, err, err_len);
    redis_free(&r->last);
    r->last = (struct reply){0};
    send(r);
    while (!r->broken && (!r->answer || now_us < r->answer->at_us || redis_cut[r->relay])) {
        if (now_us >= until_us) r->broken = true;
        if (!r->broken) fiber_yield();
    }
    struct reply *a = r->broken ? NULL : r->answer;
    if (!a) {
        snprintf(err, err_len, "no answer");
        return false;
    }
    r->answer = a->after;
    r->last = *a;
    free(a);
    *out = redis_answer(&r->last);
    return true;
}

struct kl_redis_answer __wrap_kl_redis_part(const struct kl_redis_answer *list, size_t i) {
    const struct reply *r = list->reply;
    if (list->kind != KL_REDIS_LIST || i >= r->len) return (struct kl_redis_answer){0};
    return redis_answer(&r->part[i]);
}
