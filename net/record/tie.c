#include "net/record/tie.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define PARTS      (KL_HASH_RAM | KL_HASH_STATE | KL_HASH_PICTURE)
#define ROOM_CHARS (2 * KL_DIGEST_ROOM_ID)
#define HASH_CHARS 16

/* In an answer. */
#define HAS_AT     4
#define RAM_AT     (HAS_AT + 6)
#define STATE_AT   (RAM_AT + HASH_CHARS + 7)
#define PICTURE_AT (STATE_AT + HASH_CHARS + 9)

void kl_tie_name(char out[KL_TIE_NAME], const struct kl_tie_question *q, const char *ending) {
    char room[ROOM_CHARS + 1];
    sodium_bin2hex(room, sizeof room, q->room, sizeof q->room);
    snprintf(out, KL_TIE_NAME, "%s-%" PRIu32 "%s", room, q->label, ending);
}

/* The name that is written of what was read must be this one. */
bool kl_tie_read_name(const char *name, const char *ending, struct kl_tie_question *out) {
    char again[KL_TIE_NAME];
    *out = (struct kl_tie_question){0};
    if (strlen(name) < ROOM_CHARS + 2 ||
        sodium_hex2bin(out->room, sizeof out->room, name, ROOM_CHARS, NULL, NULL, NULL) != 0)
        return false;
    for (const char *c = name + ROOM_CHARS + 1; *c >= '0' && *c <= '9'; c++)
        out->label = 10 * out->label + (uint32_t)(*c - '0');
    kl_tie_name(again, out, ending);
    return strcmp(again, name) == 0;
}

size_t kl_tie_write_answer(char out[KL_TIE_ANSWER], const struct kl_klr_hash *found, const char *why) {
    char text[KL_TIE_WHY];
    snprintf(text, sizeof text, "%s", why);
    for (char *c = text; *c; c++)
        if ((uint8_t)*c < ' ' || *c == 0x7f) *c = ' ';
    return (size_t)snprintf(out, KL_TIE_ANSWER,
                            "has=%u ram=%016" PRIx64 " state=%016" PRIx64 " picture=%016" PRIx64 " why=%s\n",
                            found->has & PARTS, found->ram, found->state, found->picture, text);
}

/* Of 16 digits; 0 of others. */
static uint64_t hash_at(const char *text) {
    uint8_t bytes[HASH_CHARS / 2] = {0};
    uint64_t hash = 0;
    if (sodium_hex2bin(bytes, sizeof bytes, text, HASH_CHARS, NULL, NULL, NULL) != 0) return 0;
    for (unsigned i = 0; i < sizeof bytes; i++)
        hash = hash << 8 | bytes[i];
    return hash;
}

/* All but its end has one length, so the line that is written of what was read must be this one. */
bool kl_tie_read_answer(const char *text, struct kl_klr_hash *found, char why[KL_TIE_WHY]) {
    char again[KL_TIE_ANSWER];
    size_t before = kl_tie_write_answer(again, &(struct kl_klr_hash){0}, "") - 1;
    *found = (struct kl_klr_hash){0};
    *why = 0;
    if (strlen(text) <= before) return false;
    found->has = (uint8_t)(text[HAS_AT] - '0') & PARTS;
    found->ram = hash_at(text + RAM_AT);
    found->state = hash_at(text + STATE_AT);
    found->picture = hash_at(text + PICTURE_AT);
    snprintf(why, KL_TIE_WHY, "%.*s", (int)strcspn(text + before, "\n"), text + before);
    (void)kl_tie_write_answer(again, found, why);
    return strcmp(again, text) == 0;
}
