#include "core_wrapper/match/wanted_room.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- as a menu wants it --- */

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

/* --- of the game --- */

#define WORD 12 /* letters of the core's name */
#define CODE 6  /* letters of 5 bits */

/* "Nestopia UE" -> "nestopia". */
static void put_word(char out[WORD + 1], const char *core) {
    unsigned n = 0;
    for (const char *p = core; *p && n < WORD; p++) {
        bool upper = *p >= 'A' && *p <= 'Z';
        if (upper || (*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9'))
            out[n++] = (char)(upper ? *p + 32 : *p);
        else if (n)
            break;
    }
    if (!n) memcpy(out, "game", n = 4);
    out[n] = 0;
}

/* The part of a content's value that names the game: the hash of a file, a set's name, or the name of an
 * archive without its ending and members. */
static size_t game_part(const char *value) {
    const char *members = strstr(value, " members ");
    size_t name = strcspn(value, ".");
    return members && name < (size_t)(members - value) ? name : kl_fact_length(value);
}

void kl_room_name(char out[KL_NAME_MAX], const char *core, const struct kl_facts *facts, bool password,
                  unsigned nth) {
    static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789";
    crypto_generichash_state h;
    uint8_t hash[16];
    char word[WORD + 1], code[CODE + 1] = "";
    crypto_generichash_init(&h, NULL, 0, sizeof hash);
    crypto_generichash_update(&h, (const uint8_t *)core, strlen(core) + 1);
    crypto_generichash_update(&h, (const uint8_t *)(password ? "p" : "-"), 1);
    for (unsigned i = 0; i < facts->count; i++) {
        const struct kl_fact *f = &facts->fact[i];
        if (strncmp(f->key, "content", strlen("content")) != 0) continue;
        crypto_generichash_update(&h, (const uint8_t *)f->value, game_part(f->value));
        crypto_generichash_update(&h, (const uint8_t *)"", 1);
    }
    crypto_generichash_final(&h, hash, sizeof hash);
    for (unsigned i = 0; i < CODE; i++)
        code[i] = letters[hash[i] & 31];
    put_word(word, core);
    if (nth)
        snprintf(out, KL_NAME_MAX, "%s-%s-%u", word, code, nth + 1);
    else
        snprintf(out, KL_NAME_MAX, "%s-%s", word, code);
}
