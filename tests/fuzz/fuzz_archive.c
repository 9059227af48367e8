/* An archive of a player's, which may be anything: u8 how many of the spans behind it (u16 from, u16 bytes)
 * count, 255: none are known; then the archive. The result goes through the facts of two machines, which
 * the relay compares. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "core_wrapper/world/archive.h"
#include "net/engine/facts.h"

/* libarchive asks for what a 7z says that its dictionary needs, up to many GB, before it reads a byte of it.
 * The sanitizer then answers as a system without that memory does: there is none. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "allocator_may_return_null=1:max_allocation_size_mb=1024";
}

static unsigned differences(const struct kl_facts *a, const struct kl_facts *b) {
    char text[480];
    memset(text, 0x55, sizeof text);
    unsigned count = kl_facts_differ(a, b, text, sizeof text);
    MUST(memchr(text, 0, sizeof text));
    return count;
}

/* Any bytes as a list of members: a client may send them. */
static void take_list(struct kl_facts *f, const uint8_t *data, size_t size) {
    char key[KL_FACT_KEY_MAX], value[KL_FACT_VAL_MAX];
    f->count = 0;
    for (size_t at = 0, n = 0; at < size && n < KL_FACTS_MAX; at += sizeof value - 1, n++) {
        size_t len = size - at < sizeof value - 1 ? size - at : sizeof value - 1;
        memcpy(value, data + at, len);
        value[len] = 0;
        snprintf(key, sizeof key, KL_FACT_MEMBERS "%zu", n);
        MUST(kl_facts_add(f, key, value) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct kl_facts facts, lists, none;
    struct kl_archive_span span[8] = {{0, 0}};
    struct kl_archive_member *member;
    char word[64];
    if (size < 33) return 0;
    unsigned spans = data[0] == 255 ? 0 : data[0] % 8;
    for (unsigned i = 0; i < spans; i++) {
        const uint8_t *p = data + 1 + 4 * i;
        span[i].from = p[0] | (unsigned)p[1] << 8;
        span[i].to = span[i].from + (p[2] | (unsigned)p[3] << 8);
    }
    take_list(&lists, data + 1, size - 1);
    int count = kl_archive_list(data + 33, size - 33, data[0] == 255 ? NULL : span, spans, &member);
    facts.count = 0;
    MUST(count <= KL_ARCHIVE_MEMBERS && (count >= 0) == (member != NULL));
    for (int i = 0; i < count; i++) {
        const struct kl_archive_member *m = &member[i];
        MUST(memchr(m->name, 0, sizeof m->name) && strchr("=?-", m->use));
        for (const char *p = m->name; *p; p++)
            MUST(*p > ' ' && *p < 0x7f && !strchr("()=?\"", *p));
        snprintf(word, sizeof word, "%s%c%08x.%08x", m->name, m->use, m->crc, m->hash);
        if (facts.count < KL_FACTS_MAX) kl_facts_add(&facts, KL_FACT_MEMBERS "1", word);
    }
    free(member);
    MUST(differences(&facts, &facts) == 0 && differences(&lists, &lists) == 0);
    MUST(!differences(&facts, &lists) == !differences(&lists, &facts));
    MUST(!differences(&facts, &none) == !differences(&none, &facts));
    return 0;
}
