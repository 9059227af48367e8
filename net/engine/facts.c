#include "net/engine/facts.h"

#include <string.h>

#include "net/engine/engine.h"

void kl_copy_cut(char *out, size_t cap, const char *s) {
    size_t len = strlen(s);
    if (len > cap - 1) {
        len = cap - 1;
        while (len > 0 && ((uint8_t)s[len] & 0xc0) == 0x80)
            len--;
    }
    memcpy(out, s, len);
    out[len] = 0;
}

void kl_cut_whole(char *text) {
    size_t len = strlen(text), more = 0;
    while (more < 3 && more < len && ((uint8_t)text[len - 1 - more] & 0xc0) == 0x80)
        more++;
    uint8_t head = more < len ? (uint8_t)text[len - 1 - more] : 0;
    size_t wanted = head >= 0xf0 ? 3 : head >= 0xe0 ? 2 : head >= 0xc0 ? 1 : 0;
    if (wanted > more) text[len - 1 - more] = 0;
}

size_t kl_facts_size(const struct kl_facts *f) {
    return offsetof(struct kl_facts, fact) + f->count * sizeof f->fact[0];
}

int kl_facts_add(struct kl_facts *f, const char *key, const char *value) {
    if (f->count >= KL_FACTS_MAX) return KL_E_FULL;
    struct kl_fact *fact = &f->fact[f->count++];
    kl_copy_cut(fact->key, sizeof fact->key, key);
    kl_copy_cut(fact->value, sizeof fact->value, value);
    return KL_OK;
}

static void append(char *out, size_t cap, const char *s) {
    size_t used = strlen(out);
    if (used + 1 < cap) kl_copy_cut(out + used, cap - used, s);
}

static void append_difference(char *out, size_t cap, const char *key, const char *room, const char *you) {
    if (out[0]) append(out, cap, "; ");
    append(out, cap, key);
    append(out, cap, " differs: room has ");
    append(out, cap, room ? room : "none");
    append(out, cap, ", you have ");
    append(out, cap, you ? you : "none");
}

size_t kl_fact_length(const char *value) {
    const char *remark = strstr(value, " (");
    return remark ? (size_t)(remark - value) : strlen(value);
}

static bool values_equal(const char *a, const char *b) {
    size_t len = kl_fact_length(a);
    return len == kl_fact_length(b) && memcmp(a, b, len) == 0;
}

/* --- lists of members --- */

#define WORDS_MAX (KL_FACTS_MAX * (KL_FACT_VAL_MAX / (KL_FACT_MEMBER_ID + 2) + 1))

struct word {
    const char *name;
    size_t name_len;
    char use;
    const char *id;
};
struct words {
    unsigned count;
    struct word word[WORDS_MAX];
};

/* The word at the beginning of text, and its length; 0: it is none. */
static size_t read_word(const char *text, struct word *w) {
    size_t len = 0;
    while (text[len] && text[len] != ' ')
        len++;
    if (len < KL_FACT_MEMBER_ID + 1) return 0;
    w->name = text;
    w->name_len = len - KL_FACT_MEMBER_ID - 1;
    w->use = text[w->name_len];
    w->id = text + w->name_len + 1;
    return w->use == '=' || w->use == '?' || w->use == '-' ? len : 0;
}

/* False: the fact is no list of members, whatever its key says. */
static bool is_list(const struct kl_fact *fact) {
    struct word w;
    const char *at = fact->value;
    if (memcmp(fact->key, KL_FACT_MEMBERS, strlen(KL_FACT_MEMBERS)) != 0 || !*at) return false;
    for (; *at; at += *at == ' ') {
        size_t len = read_word(at, &w);
        if (!len) return false;
        at += len;
    }
    return true;
}

static void collect_words(const struct kl_facts *f, struct words *out) {
    out->count = 0;
    for (unsigned i = 0; i < f->count; i++) {
        if (!is_list(&f->fact[i])) continue;
        for (const char *at = f->fact[i].value; *at && out->count < WORDS_MAX; at += *at == ' ')
            at += read_word(at, &out->word[out->count++]);
    }
}

static bool same_id(const struct word *a, const struct word *b) {
    return memcmp(a->id, b->id, KL_FACT_MEMBER_ID) == 0;
}

/* A member that was read must have been read on the other side, as far as that is known; one that was perhaps
 * read must be there. */
static bool is_matched(const struct word *w, const struct words *other) {
    if (w->use == '-') return true;
    for (unsigned i = 0; i < other->count; i++)
        if (same_id(w, &other->word[i]) && (w->use == '?' || other->word[i].use != '-')) return true;
    return false;
}

/* A member of the same name and other bytes; NULL: there is none. */
static const struct word *find_twin(const struct word *w, const struct words *other) {
    for (unsigned i = 0; i < other->count; i++) {
        const struct word *o = &other->word[i];
        if (o->name_len == w->name_len && !memcmp(o->name, w->name, w->name_len) && !same_id(o, w)) return o;
    }
    return NULL;
}

/* "crc 6e40dc74"; if the other side has the same one for other bytes, with the second checksum. */
static const char *say_checksum(const struct word *w, const struct word *other, char out[32]) {
    bool whole = w && other && memcmp(w->id, other->id, 8) == 0;
    if (!w) return NULL;
    strcpy(out, "crc ");
    memcpy(out + 4, w->id, whole ? KL_FACT_MEMBER_ID : 8);
    out[4 + (whole ? KL_FACT_MEMBER_ID : 8)] = 0;
    return out;
}

static void append_member(char *out, size_t cap, const struct word *room, const struct word *you) {
    char name[KL_FACT_VAL_MAX], theirs[32], yours[32];
    const struct word *w = room ? room : you;
    memcpy(name, w->name, w->name_len);
    name[w->name_len] = 0;
    append_difference(out, cap, name, say_checksum(room, you, theirs), say_checksum(you, room, yours));
}

static unsigned members_differ(const struct kl_facts *room, const struct kl_facts *you, char *out,
                               size_t cap) {
    struct words theirs, yours;
    unsigned count = 0;
    collect_words(room, &theirs);
    collect_words(you, &yours);
    for (unsigned i = 0; i < theirs.count; i++) {
        if (is_matched(&theirs.word[i], &yours)) continue;
        append_member(out, cap, &theirs.word[i], find_twin(&theirs.word[i], &yours));
        count++;
    }
    for (unsigned i = 0; i < yours.count; i++) {
        const struct word *twin = find_twin(&yours.word[i], &theirs);
        if (is_matched(&yours.word[i], &theirs) || (twin && !is_matched(twin, &yours))) continue;
        append_member(out, cap, twin, &yours.word[i]);
        count++;
    }
    return count;
}

/* --- all facts --- */

const char *kl_facts_value(const struct kl_facts *f, const char *key) {
    for (unsigned i = 0; i < f->count; i++)
        if (strcmp(f->fact[i].key, key) == 0) return f->fact[i].value;
    return "";
}

static const char *plain_value(const struct kl_facts *f, const char *key) {
    for (unsigned i = 0; i < f->count; i++)
        if (strcmp(f->fact[i].key, key) == 0 && !is_list(&f->fact[i])) return f->fact[i].value;
    return NULL;
}

unsigned kl_facts_differ(const struct kl_facts *room, const struct kl_facts *you, char *out, size_t cap) {
    unsigned count = 0;
    out[0] = 0;
    for (unsigned i = 0; i < room->count; i++) {
        if (is_list(&room->fact[i])) continue;
        const char *mine = plain_value(you, room->fact[i].key);
        if (mine && values_equal(mine, room->fact[i].value)) continue;
        append_difference(out, cap, room->fact[i].key, room->fact[i].value, mine);
        count++;
    }
    for (unsigned i = 0; i < you->count; i++) {
        if (is_list(&you->fact[i]) || plain_value(room, you->fact[i].key)) continue;
        append_difference(out, cap, you->fact[i].key, NULL, you->fact[i].value);
        count++;
    }
    return count + members_differ(room, you, out, cap);
}

void kl_fact_name(char out[KL_FACT_NAME_MAX], const char *value) {
    const char *members = strstr(value, " members "), *bytes = strstr(value, " bytes, ");
    const char *note = strstr(value, " (");
    size_t len = strlen(value);
    bool is_file = bytes && memcmp(value, "xxh3 ", 5) == 0;
    bool is_set = note && note - value >= 4 && memcmp(value, "set ", 4) == 0;
    if (is_file || is_set) {
        value = is_file ? bytes + strlen(" bytes, ") : note + strlen(" (");
        len = strlen(value);
        if (len && value[len - 1] == ')') len--;
    } else if (members && members > value)
        len = (size_t)(members - value);
    if (len >= KL_FACT_NAME_MAX) len = KL_FACT_NAME_MAX - 1;
    memcpy(out, value, len);
    out[len] = 0;
}

bool kl_fact_patch(char out[KL_FACT_PATCH_MAX], const char *value) {
    const char *from = strstr(value, " (" KL_FACT_PATCH), *end = from ? strstr(from, ", ") : NULL;
    size_t len = 0;
    if (end)
        for (from += strlen(" (" KL_FACT_PATCH); from < end && len < KL_FACT_PATCH_MAX - 1; from++)
            out[len++] = *from >= ' ' && *from <= '~' ? *from : '_';
    out[len] = 0;
    return len > 0;
}
