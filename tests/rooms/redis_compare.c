/* The model of Redis beside a real server: they give the same answers. */
#include "tests/rooms/redis_parts.h"

struct kl_redis *__real_kl_redis_open(const struct kl_redis_place *place, unsigned timeout_ms, char *err,
                                      size_t err_len);
bool __real_kl_redis_next(struct kl_redis *r, struct kl_redis_answer *out, char *err, size_t err_len);
struct kl_redis_answer __wrap_kl_redis_part(const struct kl_redis_answer *list, size_t i);
void __real_kl_redis_add(struct kl_redis *r, const struct kl_redis_arg *arg, unsigned args);
struct kl_redis_answer __real_kl_redis_part(const struct kl_redis_answer *list, size_t i);

#define SHOWN 4096

static int by_text(const void *a, const void *b) {
    return strcmp(a, b);
}

/* An answer as a text; lists in an order of their own, since sets have none. */
static void show(const struct kl_redis_answer *a, bool real, char out[SHOWN]) {
    static const char end_of_part[] = " ";
    if (a->kind != KL_REDIS_LIST) {
        const char *text = a->kind == KL_REDIS_STRING ? a->text : "-";
        snprintf(out, SHOWN, "%d:%lld:%.200s", a->kind, (long long)a->number, text);
        return;
    }
    char(*part)[SHOWN] = calloc(a->len + 1, sizeof *part);
    if (!part) fail("no memory");
    for (size_t i = 0; i < a->len; i++) {
        const struct kl_redis_answer p = real ? __real_kl_redis_part(a, i) : __wrap_kl_redis_part(a, i);
        show(&p, real, part[i]);
    }
    qsort(part, a->len, sizeof *part, by_text);
    snprintf(out, SHOWN, "list of %zu:", a->len);
    for (size_t i = 0; i < a->len; i++) {
        strncat(out, end_of_part, SHOWN - 1 - strlen(out));
        strncat(out, part[i], SHOWN - 1 - strlen(out));
    }
    free(part);
}

struct line {
    struct kl_redis_arg arg[16];
    unsigned args;
    char text[16][256];
};

static void word(struct line *l, const char *text) {
    snprintf(l->text[l->args], sizeof l->text[0], "%s", text);
    l->arg[l->args] = KL_REDIS_TEXT(l->text[l->args]);
    l->args++;
}
static void long_word(struct line *l, const char *text) {
    l->arg[l->args++] = KL_REDIS_TEXT(text);
}
static void number_word(struct line *l, uint64_t number) {
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    word(l, text);
}

static const char *one_of(const char *const of[], unsigned count) {
    return of[rng_below(&redis_rng, count)];
}

/* The next command: of a few relays, rooms and numbers, so that they meet. */
static void draw(struct line *l, int *script) {
    static const char *const relays[] = {"a:1", "b:1", "c:1"}, *const rooms[] = {"r", "s"},
                             *const ids[] = {"00112233445566778899aabbccddeeff",
                                             "ff112233445566778899aabbccddee00"},
                             *const hows[] = {"look", "claim", "back", "bring"};
    const char *relay = one_of(relays, 3), *room = one_of(rooms, 2), *id = one_of(ids, 2);
    const struct key rec = redis_key("record", room);
    const char *has = redis_get(rec.text, "number"), *owner = redis_get(rec.text, "owner"),
               *own = redis_get(rec.text, "id");
    const bool fits = rng_chance(&redis_rng, 0.7) && has;
    const unsigned kind = rng_below(&redis_rng, 20);
    l->args = 0;
    *script = -1;
    if (kind < 3) { /* as if the time of one were over */
        if (kind == 0 && rng_chance(&redis_rng, 0.3)) {
            word(l, "HSET");
            word(l, "keylock:begun");
            word(l, "since");
            word(l, "1");
            return;
        }
        word(l, "DEL");
        word(l, redis_key("relay", relay).text);
        word(l, redis_key("rooms", relay).text);
        return;
    }
    if (kind < 9) { /* renew, or claim */
        word(l, "EVAL");
        *script = kind < 6 ? -2 : -3;
        long_word(l, "");
        word(l, "1");
        word(l, "keylock:relays");
        word(l, relay);
        word(l, kind < 6 ? "60000" : room);
        word(l, kind >= 6       ? rng_chance(&redis_rng, 0.2) ? id : one_of(hows, 4)
                      : *relay == 'c' ? "key=G at="
                                : "key=F at=");
        return;
    }
    *script = kind < 12   ? KL_REPLICA_BEGIN
              : kind < 18 ? KL_REPLICA_WRITE
              : kind < 19 ? KL_REPLICA_END
                          : KL_REPLICA_GIVE;
    word(l, "EVALSHA");
    long_word(l, "");
    word(l, "1");
    word(l, "keylock:relays");
    word(l, room);
    word(l, fits ? own : id);
    word(l, fits && *script != KL_REPLICA_BEGIN ? owner : relay);
    word(l, fits ? has : "1");
    if (*script == KL_REPLICA_BEGIN) word(l, "60");
    if (*script != KL_REPLICA_WRITE) return;
    const struct key klr = redis_key_of_copy("klr", l->text[5], l->text[7]),
                     tail = redis_key_of_copy("tail", l->text[5], l->text[7]);
    number_word(l, rng_chance(&redis_rng, 0.8) ? redis_length(klr.text) : 3);
    word(l, rng_chance(&redis_rng, 0.5) ? "bytes" : "");
    number_word(l, rng_chance(&redis_rng, 0.6) ? redis_length(tail.text) : 0);
    word(l, rng_chance(&redis_rng, 0.7) ? "slot" : "");
    word(l, rng_chance(&redis_rng, 0.5) ? "1" : "0");
    word(l, "60");
}

static struct kl_redis_answer ask(struct kl_redis *r, const struct kl_redis_arg *arg, unsigned args) {
    struct kl_redis_answer a;
    char err[200];
    __real_kl_redis_add(r, arg, args);
    if (!__real_kl_redis_next(r, &a, err, sizeof err)) fail("Redis: %s", err);
    return a;
}

int redis_compare(uint16_t port, unsigned commands, uint64_t seed) {
    const struct kl_redis_place place = {.host = "127.0.0.1", .port = port, .database = 9};
    static char hash[KL_REPLICA_SCRIPTS][44], model[SHOWN], real[SHOWN];
    unsigned kinds[8] = {0};
    char err[200];
    redis_begin(seed);
    struct kl_redis *r = __real_kl_redis_open(&place, 2000, err, sizeof err);
    if (!r) return printf("redis: %s\n", err), 1;
    const struct kl_redis_arg flush = KL_REDIS_TEXT("FLUSHDB");
    (void)ask(r, &flush, 1);
    for (unsigned i = 0; i < KL_REPLICA_SCRIPTS; i++) {
        const struct kl_redis_arg arg[] = {KL_REDIS_TEXT("SCRIPT"), KL_REDIS_TEXT("LOAD"),
                                           KL_REDIS_TEXT(kl_replica_script[i])};
        snprintf(hash[i], sizeof hash[i], "%s", ask(r, arg, 3).text);
    }
    for (unsigned n = 0; n < commands; n++) {
        struct line l;
        int script;
        draw(&l, &script);
        const char number[] = {(char)('0' + (script < 0 ? 0 : script)), 0};
        const char *text = script == -2 ? kl_directory_renew : script == -3 ? kl_directory_claim : number;
        if (script != -1) l.arg[1] = KL_REDIS_TEXT(text);
        struct reply *mine = redis_command(l.arg, l.args);
        struct kl_redis_answer a = redis_answer(mine);
        show(&a, false, model);
        if (script >= 0) l.arg[1] = KL_REDIS_TEXT(hash[script]);
        a = ask(r, l.arg, l.args);
        show(&a, true, real);
        redis_free(mine);
        free(mine);
        kinds[script + 3]++;
        if (script == -1 || !strcmp(model, real)) continue;
        printf("command %u, script %d:", n, script);
        for (unsigned i = 2; i < l.args; i++)
            printf(" %s", (const char *)l.arg[i].bytes);
        printf("\nthe model: %s\nRedis:     %s\n", model, real);
        return 1;
    }
    (void)ask(r, &flush, 1);
    printf(
        "%u commands: the same answers (%u claims, %u renewals, %u begun, %u written, %u ended, %u given)\n",
        commands, kinds[0], kinds[1], kinds[3], kinds[4], kinds[5], kinds[6]);
    return 0;
}
