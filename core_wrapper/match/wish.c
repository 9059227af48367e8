#include "core_wrapper/match/wish.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#define WISHES 32

static struct {
    char *key[WISHES], *value[WISHES];
    size_t count;
    bool fresh;
} wish;

int kl_wish_check(struct kl_config *c, const char *key, const char *value, char *err, size_t err_len) {
    char why[2 * KLW_WISH_TEXT];
    if (kl_config_set(c, key, value, why, sizeof why) == 0) return 0;
    const char *what = strncmp(why, "KEYLOCK_", 8) ? NULL : strstr(why, ": ");
    if (err && what)
        snprintf(err, err_len, "%s: %s", key, what + 2);
    else if (err)
        snprintf(err, err_len, "%s", why);
    return -1;
}

void kl_wish_forget(void) {
    for (size_t i = 0; i < wish.count; i++) {
        sodium_memzero(wish.value[i], strlen(wish.value[i])); /* one may be a password */
        free(wish.key[i]);
        free(wish.value[i]);
    }
    bool had = wish.count > 0;
    memset(&wish, 0, sizeof wish);
    wish.fresh = had; /* the configuration read with it is out of date */
}

static int keep(const struct keylock_setting *want, size_t count) {
    kl_wish_forget();
    for (; wish.count < count; wish.count++) {
        wish.key[wish.count] = strdup(want[wish.count].key);
        wish.value[wish.count] = strdup(want[wish.count].value);
        if (wish.key[wish.count] && wish.value[wish.count]) continue;
        free(wish.key[wish.count]);
        free(wish.value[wish.count]);
        kl_wish_forget();
        return -1;
    }
    wish.fresh = true;
    return 0;
}

int kl_wish_set(const struct keylock_setting *want, size_t count, char *err, size_t err_len) {
    static struct kl_config scratch;
    if (count > WISHES) {
        if (err) snprintf(err, err_len, "expected at most %d settings, got %zu", WISHES, count);
        return -1;
    }
    memset(&scratch, 0, sizeof scratch);
    for (size_t i = 0; i < count; i++)
        if (kl_wish_check(&scratch, want[i].key, want[i].value, err, err_len) != 0) return -1;
    sodium_memzero(scratch.password, sizeof scratch.password);
    bool lacks = scratch.mode != KL_PLAY_ALONE && scratch.mode != KL_PLAY_AUTO && !*scratch.host;
    if (lacks) {
        if (err) snprintf(err, err_len, "relay: expected HOST or HOST:PORT, got none");
        return -1;
    }
    if (keep(want, count) == 0) return 0;
    if (err) snprintf(err, err_len, "out of memory");
    return -1;
}

int kl_wish_apply(struct kl_config *c, char *err, size_t err_len) {
    wish.fresh = false;
    for (size_t i = 0; i < wish.count; i++)
        if (kl_wish_check(c, wish.key[i], wish.value[i], err, err_len) != 0) return -1;
    return wish.count ? kl_config_settle(c, err, err_len) : 0;
}

bool kl_wish_new(void) {
    return wish.fresh;
}
