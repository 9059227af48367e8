#include "core_wrapper/identity.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <xxhash.h>

#include "net/platform/file.h"
#include "core_wrapper/core.h"
#include "core_wrapper/world.h"

#define OWN_PLACES 18 /* facts in all before files are folded into one */

static const char *base_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_zip(const char *path) {
    const char *dot = strrchr(path, '.');
    return dot && !strcasecmp(dot, ".zip");
}

/* ---- zip: names, sizes and checksums of its members (APPNOTE.TXT 4.3.12, 4.3.16) ---- */

static uint32_t le(const uint8_t *p, unsigned bytes) {
    uint32_t v = 0;
    for (unsigned i = 0; i < bytes; i++)
        v |= (uint32_t)p[i] << (8 * i);
    return v;
}

/* The end record, within the last 64 KiB and 22 bytes; NULL for none. */
static const uint8_t *zip_end(const uint8_t *z, size_t len) {
    size_t stop = len > 65557 ? len - 65557 : 0;
    for (size_t at = len < 22 ? 0 : len - 22; len >= 22; at--) {
        if (le(z + at, 4) == 0x06054b50) return z + at;
        if (at == stop) break;
    }
    return NULL;
}

/* Sum of the members' hashes, so that their order does not matter. 0 members: no zip. */
static unsigned zip_members(const uint8_t *z, size_t len, uint64_t *sum) {
    const uint8_t *end = zip_end(z, len);
    *sum = 0;
    if (!end) return 0;
    unsigned count = le(end + 10, 2);
    size_t at = le(end + 16, 4);
    for (unsigned i = 0; i < count; i++) {
        if (at > len || len - at < 46 || le(z + at, 4) != 0x02014b50) return 0;
        unsigned name = le(z + at + 28, 2), extra = le(z + at + 30, 2), comment = le(z + at + 32, 2);
        if (len - at - 46 < (size_t)name + extra + comment) return 0;
        uint64_t seed = (uint64_t)le(z + at + 16, 4) << 32 | le(z + at + 24, 4); /* CRC and size */
        *sum += XXH3_64bits_withSeed(z + at + 46, name, seed);
        at += 46u + name + extra + comment;
    }
    return count;
}

/* ---- values ---- */

static void hash_bytes(const void *data, size_t len, const char *path, char *out, size_t cap) {
    uint64_t sum;
    unsigned members = path && is_zip(path) ? zip_members(data, len, &sum) : 0;
    const char *base = path ? base_of(path) : "no name";
    if (members)
        snprintf(out, cap, "%.60s members %016llx (%u of them)", base, (unsigned long long)sum, members);
    else
        snprintf(out, cap, "xxh3 %016llx (%zu bytes, %.80s)", (unsigned long long)XXH3_64bits(data, len), len,
                 base);
}

int kl_identity_hash_file(const char *path, char *out, size_t cap) {
    const void *bytes;
    size_t len;
    if (kl_file_map(path, &bytes, &len) != 0) return -1;
    hash_bytes(bytes, len, path, out, cap);
    kl_file_unmap(bytes, len);
    return 0;
}

static void add_core(struct kl_facts *facts, const struct retro_system_info *info, bool any_version) {
    char value[KL_FACT_VAL_MAX], name[91], version[61];
    const char *said = info->library_name ? info->library_name : "?";
    const char *of = info->library_version ? info->library_version : "";
    snprintf(name, sizeof name, "%.*s", kl_core_text_len(said, 90), said);
    snprintf(version, sizeof version, "%.*s", kl_core_text_len(of, 60), of);
    if (any_version)
        snprintf(value, sizeof value, "%s, any version (%.40s)", name, version);
    else
        snprintf(value, sizeof value, "%s %s", name, version);
    kl_facts_add(facts, "core", value);
}

void kl_identity_core(struct kl_facts *facts, const struct retro_system_info *info) {
    add_core(facts, info, false);
}

void kl_identity_any_version(struct kl_facts *facts, const struct retro_system_info *info) {
    add_core(facts, info, true);
}

void kl_identity_content(struct kl_facts *facts, const struct kl_content *content) {
    char key[KL_FACT_KEY_MAX], value[KL_FACT_VAL_MAX];
    if (content->none) kl_facts_add(facts, "content", "none");
    for (unsigned i = 0; i < content->count; i++) {
        const struct retro_game_info *item = &content->item[i];
        if (content->special)
            snprintf(key, sizeof key, "content %u", i + 1);
        else
            snprintf(key, sizeof key, "content");
        if (item->data)
            hash_bytes(item->data, item->size, item->path, value, sizeof value);
        else if (!item->path || kl_identity_hash_file(item->path, value, sizeof value) != 0)
            snprintf(value, sizeof value, "%.100s", item->path ? base_of(item->path) : "none");
        kl_facts_add(facts, key, value);
    }
}

/* ---- files ---- */

struct looked_in {
    char system[4096], beside[4096]; /* real paths; "": there is none */
    const struct kl_content *content;
    bool sets_only;
};

static const char *below(const char *path, const char *dir) {
    size_t n = dir ? strlen(dir) : 0;
    while (n && dir[n - 1] == '/')
        n--;
    return n && !strncmp(path, dir, n) && path[n] == '/' ? path + n + 1 : NULL;
}

static bool is_content(const char *path, const struct kl_content *content) {
    char real[4096];
    for (unsigned i = 0; i < content->count; i++)
        if (content->item[i].path && kl_file_real(content->item[i].path, real, sizeof real) &&
            !strcmp(real, path))
            return true;
    return false;
}

static int by_key(const void *a, const void *b) {
    const struct kl_fact *x = a, *y = b;
    int keys = strcmp(x->key, y->key);
    return keys ? keys : strcmp(x->value, y->value);
}

static const char *last_bytes(const char *text, size_t bytes) {
    size_t n = strlen(text);
    return n > bytes ? text + n - bytes : text;
}

/* Name and value of the i-th opened file, if it belongs to the identity. A set may lie beside the game or in
 * one of several system folders, so only its own name counts. */
static bool file_fact(unsigned i, const struct looked_in *in, struct kl_fact *out) {
    bool wrote;
    char real[4096];
    const char *path = kl_world_file(i, &wrote);
    if (wrote || !path || !kl_file_real(path, real, sizeof real) || is_content(real, in->content))
        return false;
    bool set = is_zip(real);
    if (in->sets_only && !set) return false;
    const char *name = below(real, in->system);
    if (!name) name = below(real, in->beside);
    if (!name) return false;
    if (set)
        snprintf(out->key, sizeof out->key, "set %s", last_bytes(base_of(name), 40));
    else
        snprintf(out->key, sizeof out->key, "file %s", last_bytes(name, 40));
    return kl_identity_hash_file(real, out->value, sizeof out->value) == 0;
}

/* Length of the compared part: up to the blank before the bracket. */
static size_t compared(const char *value) {
    const char *end = strstr(value, " (");
    return end ? (size_t)(end - value) : strlen(value);
}

/* Of two sets of one name, in two folders, either may be the one that the core takes its files from. */
static unsigned join_twins(struct kl_fact *list, unsigned count) {
    unsigned kept = 0;
    for (unsigned i = 0; i < count; i++) {
        struct kl_fact *last = kept ? &list[kept - 1] : NULL;
        if (!last || strcmp(last->key, list[i].key) != 0) {
            list[kept++] = list[i];
            continue;
        }
        if (!strcmp(last->value, list[i].value)) continue;
        uint64_t both = XXH3_64bits(last->value, compared(last->value));
        both = XXH3_64bits_withSeed(list[i].value, compared(list[i].value), both);
        snprintf(last->value, sizeof last->value, "several, hash %016llx", (unsigned long long)both);
    }
    return kept;
}

static void add_sorted(struct kl_facts *facts, struct kl_fact *list, unsigned count) {
    qsort(list, count, sizeof *list, by_key);
    count = join_twins(list, count);
    uint64_t more = 0;
    unsigned folded = 0;
    for (unsigned i = 0; i < count; i++) {
        if (facts->count < OWN_PLACES) {
            kl_facts_add(facts, list[i].key, list[i].value);
            continue;
        }
        more = XXH3_64bits_withSeed(list[i].key, strlen(list[i].key), more);
        more = XXH3_64bits_withSeed(list[i].value, compared(list[i].value), more);
        folded++;
    }
    char value[KL_FACT_VAL_MAX];
    snprintf(value, sizeof value, "%u with hash %016llx", folded, (unsigned long long)more);
    if (folded) kl_facts_add(facts, "more files", value);
}

static void add_opened(struct kl_facts *facts, const char *system_dir, const struct kl_content *content,
                       bool sets_only) {
    struct looked_in in = {.content = content, .sets_only = sets_only};
    char dir[4096];
    if (system_dir && !kl_file_real(system_dir, in.system, sizeof in.system)) in.system[0] = 0;
    if (content->count && content->item[0].path) {
        snprintf(dir, sizeof dir, "%s", content->item[0].path);
        char *slash = strrchr(dir, '/');
        if (slash) *slash = 0;
        if (!slash || !kl_file_real(*dir ? dir : "/", in.beside, sizeof in.beside)) in.beside[0] = 0;
    }
    unsigned files = kl_world_files(), count = 0;
    struct kl_fact *list = calloc(files + 1, sizeof *list);
    for (unsigned i = 0; list && i < files; i++)
        if (file_fact(i, &in, &list[count])) count++;
    if (list) add_sorted(facts, list, count);
    free(list);
}

void kl_identity_files(struct kl_facts *facts, const char *system_dir, const struct kl_content *content) {
    add_opened(facts, system_dir, content, false);
}

void kl_identity_sets(struct kl_facts *facts, const char *system_dir, const struct kl_content *content) {
    add_opened(facts, system_dir, content, true);
}
