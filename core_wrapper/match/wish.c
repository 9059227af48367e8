#include "core_wrapper/match/wish.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

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

void kl_wish_forget(struct kl_wish *w) {
    for (size_t i = 0; i < w->count; i++) {
        sodium_memzero(w->value[i], strlen(w->value[i])); /* one may be a password */
        free(w->key[i]);
        free(w->value[i]);
    }
    bool had = w->count > 0;
    memset(w, 0, sizeof *w);
    w->fresh = had; /* the configuration read with it is out of date */
}

static int keep(struct kl_wish *w, const struct keylock_setting *want, size_t count) {
    kl_wish_forget(w);
    for (; w->count < count; w->count++) {
        w->key[w->count] = strdup(want[w->count].key);
        w->value[w->count] = strdup(want[w->count].value);
        if (w->key[w->count] && w->value[w->count]) continue;
        free(w->key[w->count]);
        free(w->value[w->count]);
        kl_wish_forget(w);
        return -1;
    }
    w->fresh = true;
    return 0;
}

int kl_wish_set(struct kl_wish *w, const struct keylock_setting *want, size_t count, char *err,
                size_t err_len) {
    static struct kl_config scratch;
    if (count > KL_WISHES) {
        if (err) snprintf(err, err_len, "expected at most %d settings, got %zu", KL_WISHES, count);
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
    if (keep(w, want, count) == 0) return 0;
    if (err) snprintf(err, err_len, "out of memory");
    return -1;
}

int kl_wish_apply(struct kl_wish *w, struct kl_config *c, char *err, size_t err_len) {
    w->fresh = false;
    for (size_t i = 0; i < w->count; i++)
        if (kl_wish_check(c, w->key[i], w->value[i], err, err_len) != 0) return -1;
    return w->count ? kl_config_settle(c, err, err_len) : 0;
}

bool kl_wish_new(struct kl_wish *w) {
    return w->fresh;
}
