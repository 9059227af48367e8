#include "net/engine/facts.h"

#include <stdbool.h>
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

int kl_facts_add(struct kl_facts *f, const char *key, const char *value) {
    if (f->count >= KL_FACTS_MAX) return KL_E_FULL;
    struct kl_fact *fact = &f->fact[f->count++];
    kl_copy_cut(fact->key, sizeof fact->key, key);
    kl_copy_cut(fact->value, sizeof fact->value, value);
    return KL_OK;
}

static const char *fact_value(const struct kl_facts *f, const char *key) {
    for (unsigned i = 0; i < f->count; i++)
        if (strcmp(f->fact[i].key, key) == 0) return f->fact[i].value;
    return NULL;
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

unsigned kl_facts_differ(const struct kl_facts *room, const struct kl_facts *you, char *out, size_t cap) {
    unsigned count = 0;
    out[0] = 0;
    for (unsigned i = 0; i < room->count; i++) {
        const char *mine = fact_value(you, room->fact[i].key);
        if (mine && values_equal(mine, room->fact[i].value)) continue;
        append_difference(out, cap, room->fact[i].key, room->fact[i].value, mine);
        count++;
    }
    for (unsigned i = 0; i < you->count; i++) {
        if (fact_value(room, you->fact[i].key)) continue;
        append_difference(out, cap, you->fact[i].key, NULL, you->fact[i].value);
        count++;
    }
    return count;
}

void kl_fact_name(char out[KL_FACT_NAME_MAX], const char *value) {
    const char *members = strstr(value, " members "), *bytes = strstr(value, " bytes, ");
    size_t len = strlen(value);
    if (bytes && memcmp(value, "xxh3 ", 5) == 0) {
        value = bytes + strlen(" bytes, ");
        len = strlen(value);
        if (len && value[len - 1] == ')') len--;
    } else if (members && members > value)
        len = (size_t)(members - value);
    if (len >= KL_FACT_NAME_MAX) len = KL_FACT_NAME_MAX - 1;
    memcpy(out, value, len);
    out[len] = 0;
}
