#include "core_wrapper/match/room_name.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

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
