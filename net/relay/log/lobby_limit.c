#include "net/relay/log/lobby_limit.h"

#include <stdio.h>
#include <string.h>

#define ONE       1000U
#define MINUTE_US 60000000U

static void leak(struct kl_bucket *b, unsigned per_min, uint64_t now_us) {
    uint64_t gone = now_us > b->at_us ? (now_us - b->at_us) * per_min / (MINUTE_US / ONE) : 0;
    if (gone == 0 && b->level > 0) return; /* at_us stays, so that small steps add up */
    b->level = gone < b->level ? b->level - (uint32_t)gone : 0;
    b->at_us = now_us;
}

bool kl_bucket_take(struct kl_bucket *b, unsigned per_min, uint64_t now_us) {
    leak(b, per_min, now_us);
    if (b->level + ONE > per_min * ONE) return false;
    b->level += ONE;
    return true;
}

unsigned kl_bucket_wait_s(struct kl_bucket *b, unsigned per_min, uint64_t now_us) {
    leak(b, per_min, now_us);
    if (b->level + ONE <= per_min * ONE) return 0;
    if (per_min == 0) return 60;
    uint64_t over = b->level + ONE - per_min * ONE;
    return (unsigned)((over * 60 + per_min * ONE - 1) / (per_min * ONE));
}

struct kl_trier *kl_triers_of(struct kl_triers *t, const char *host, uint64_t now_us) {
    struct kl_trier *oldest = &t->at[0];
    for (unsigned i = 0; i < KL_TRIERS; i++) {
        struct kl_trier *at = &t->at[i];
        if (strcmp(at->host, host) == 0) {
            at->used_us = now_us;
            return at;
        }
        if (at->used_us < oldest->used_us) oldest = at;
    }
    *oldest = (struct kl_trier){.used_us = now_us};
    strncpy(oldest->host, host, sizeof oldest->host - 1);
    return oldest;
}

struct kl_host kl_address_host(const char *address) {
    struct kl_host host = {0};
    struct kl_address a;
    if (kl_address_parse_place(address, &a) || kl_address_parse(address, &a))
        kl_address_net(host.text, &a);
    else
        snprintf(host.text, sizeof host.text, "%.*s", (int)strcspn(address, ":"), address);
    return host;
}

/* --- log lines --- */

#define TELL_US 10000000 /* after the last one that was written or told */

size_t kl_log_token(const char *at) {
    size_t n = 0;
    for (bool quoted = false; at[n] && (quoted || at[n] != ' '); n++) {
        if (at[n] == '"') quoted = !quoted;
        if (at[n] == '\\' && at[n + 1]) n++;
    }
    return n;
}

void kl_log_key(char out[KL_LOG_KEY], const char *event, const char *rest) {
    size_t len = kl_log_token(rest);
    const char *next = rest[len] ? rest + len + 1 : "";
    char address[KL_PLACE_TEXT];
    if (strncmp(rest, "address=", 8) == 0) {
        snprintf(address, sizeof address, "%.*s", (int)(len - 8), rest + 8);
        snprintf(out, KL_LOG_KEY, "%s %.8s%s", event, rest, kl_address_host(address).text);
        return;
    }
    if (strncmp(next, "client=", 7) == 0) len += 1 + kl_log_token(next);
    snprintf(out, KL_LOG_KEY, "%s%s%.*s", event, len ? " " : "", (int)len, rest);
}

static struct kl_log_cell *cell_of(struct kl_log_limit *l, const char *key, uint64_t now_us) {
    struct kl_log_cell *oldest = &l->cell[0];
    for (unsigned i = 0; i < KL_LOG_CELLS; i++) {
        struct kl_log_cell *c = &l->cell[i];
        if (strcmp(c->key, key) == 0) return c;
        if (c->used_us < oldest->used_us) oldest = c;
    }
    l->untold -= oldest->left_out;
    *oldest = (struct kl_log_cell){.used_us = now_us};
    snprintf(oldest->key, sizeof oldest->key, "%s", key);
    return oldest;
}

static void tell(struct kl_log_limit *l, struct kl_log_cell *c, uint64_t now_us, uint64_t *left_out) {
    *left_out = c->left_out;
    l->untold -= c->left_out;
    c->left_out = 0;
    c->used_us = now_us;
}

bool kl_log_take(struct kl_log_limit *l, const char *key, uint64_t now_us, uint64_t *left_out) {
    *left_out = 0;
    if (l->per_min == 0) return true;
    struct kl_log_cell *c = cell_of(l, key, now_us);
    if (!kl_bucket_take(&c->bucket, l->per_min, now_us)) {
        c->left_out++;
        l->untold++;
        return false;
    }
    tell(l, c, now_us, left_out);
    return true;
}

const struct kl_log_cell *kl_log_untold(struct kl_log_limit *l, uint64_t now_us, bool all,
                                        uint64_t *left_out) {
    for (unsigned i = 0; i < KL_LOG_CELLS && l->untold; i++) {
        struct kl_log_cell *c = &l->cell[i];
        if (c->left_out == 0 || (!all && now_us < c->used_us + TELL_US)) continue;
        tell(l, c, now_us, left_out);
        return c;
    }
    return NULL;
}
