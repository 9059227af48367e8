#include "core_wrapper/start/identity.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <xxhash.h>

#include "net/platform/file.h"
#include "core_wrapper/world/archive.h"
#include "core_wrapper/core/core.h"
#include "core_wrapper/start/gifts.h"
#include "core_wrapper/world/world.h"

/* Facts before the others are folded into one; in all KL_FACTS_MAX. */
#define FILE_PLACES_ALONE 18
#define FILE_PLACES       5 /* beside members */
#define MEMBER_PLACES     17

static const char *base_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* --- values --- */

/* An archive in memory, by its members: their order and packing do not matter. False: it is none. */
static bool sum_members(const void *data, size_t len, const char *path, char *out, size_t cap) {
    struct kl_archive_member *list = NULL;
    int count = path && kl_archive_is(path) ? kl_archive_list(data, len, NULL, 0, &list) : -1;
    uint64_t sum = 0;
    for (int i = 0; i < count; i++)
        sum += XXH3_64bits_withSeed(list[i].name, strlen(list[i].name),
                                    (uint64_t)list[i].crc << 32 | list[i].hash);
    free(list);
    if (count > 0)
        snprintf(out, cap, "%.60s members %016llx (%d of them)", base_of(path), (unsigned long long)sum,
                 count);
    return count > 0;
}

static void hash_bytes(const void *data, size_t len, const char *path, char *out, size_t cap) {
    snprintf(out, cap, "xxh3 %016llx (%zu bytes, %.80s)", (unsigned long long)XXH3_64bits(data, len), len,
             path ? base_of(path) : "no name");
}

static int hash_file(const char *path, char *out, size_t cap) {
    const void *bytes;
    size_t len;
    if (kl_file_map(path, &bytes, &len) != 0) return -1;
    hash_bytes(bytes, len, path, out, cap);
    kl_file_unmap(bytes, len);
    return 0;
}

int kl_identity_hash_file(const char *path, char *out, size_t cap) {
    const char *base = base_of(path);
    if (!kl_archive_is(path)) return hash_file(path, out, cap);
    snprintf(out, cap, "set %.*s (%.60s)", (int)(strrchr(base, '.') - base), base, base);
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

/* docs/cores.md shows them equal on Linux and Windows. */
static bool plays_alike(const struct retro_system_info *info) {
    static const char *const names[] = {"Nestopia"};
    const char *said = info->library_name ? info->library_name : "";
    int len = kl_core_text_len(said, 90);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((int)strlen(names[i]) == len && !strncmp(said, names[i], (size_t)len)) return true;
    return false;
}

void kl_identity_rand(struct kl_facts *facts, const struct retro_system_info *info,
                      const struct kl_world_report *report) {
    char value[KL_FACT_VAL_MAX];
    unsigned bits = 0;
    if (!report->rand || plays_alike(info)) return;
    for (unsigned long most = RAND_MAX; most; most >>= 1)
        bits++;
    snprintf(value, sizeof value, "%u bits (on %s; the core asks for it)", bits, kl_world_system);
    kl_facts_add(facts, KL_IDENTITY_RAND, value);
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
        const char *base = item->path ? base_of(item->path) : "none";
        if (item->data && !sum_members(item->data, item->size, item->path, value, sizeof value))
            hash_bytes(item->data, item->size, item->path, value, sizeof value);
        else if (!item->data && (!item->path || kl_identity_hash_file(item->path, value, sizeof value) != 0))
            snprintf(value, sizeof value, "%.100s", base);
        kl_facts_add(facts, key, value);
    }
}

/* --- files --- */

struct looked_in {
    char system[4096], beside[4096]; /* real paths; "": there is none */
    const struct kl_content *content;
};
struct found {
    struct kl_world *world;
    struct kl_fact *file;
    unsigned files;
    struct kl_archive_member *member;
    unsigned members;
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

static void add_file(struct found *f, const char *name, const char *real) {
    struct kl_fact *to = &f->file[f->files];
    snprintf(to->key, sizeof to->key, "file %.40s", last_bytes(name, 40));
    if (hash_file(real, to->value, sizeof to->value) == 0) f->files++;
}

/* False: the file is to be compared whole. */
static bool add_members(struct found *f, const char *real) {
    struct kl_archive_member *list, *more;
    const void *bytes;
    size_t len;
    unsigned spans;
    if (kl_file_map(real, &bytes, &len) != 0) return true; /* it is not there */
    const struct kl_archive_span *span = kl_world_archive_read(f->world, real, &spans);
    int count = kl_archive_list(bytes, len, span, spans, &list);
    kl_file_unmap(bytes, len);
    if (count < 0) return false;
    more = realloc(f->member, (f->members + (unsigned)count + 1) * sizeof *more);
    if (more) {
        memcpy(more + f->members, list, (unsigned)count * sizeof *more);
        f->member = more;
        f->members += (unsigned)count;
    }
    free(list);
    return more != NULL;
}

/* The path below one of the folders that count; NULL: it is in neither. */
static const char *name_in(const struct looked_in *in, const char *real) {
    const char *name = below(real, in->system);
    return name ? name : below(real, in->beside);
}

static void add_opened(struct found *f, unsigned i, const struct looked_in *in) {
    bool wrote;
    char real[4096];
    const char *path = kl_world_file(f->world, i, &wrote);
    if (wrote || !path || kl_gifts_is(path) || !kl_file_real(path, real, sizeof real)) return;
    bool content = is_content(real, in->content), archive = kl_archive_is(real);
    const char *name = content ? base_of(real) : name_in(in, real);
    if (!name || (content && !archive) || (archive && add_members(f, real))) return;
    add_file(f, name, real);
}

/* The content's archives are the core's even if nobody saw it read them. */
static void add_unopened(struct found *f, const struct kl_content *content) {
    char real[4096];
    for (unsigned i = 0; i < content->count; i++) {
        const struct retro_game_info *item = &content->item[i];
        bool opened = !item->path || item->data || !kl_archive_is(item->path) ||
                      !kl_file_real(item->path, real, sizeof real);
        for (unsigned k = 0; k < kl_world_files(f->world) && !opened; k++)
            opened = !strcmp(kl_world_file(f->world, k, NULL), real);
        if (opened || add_members(f, real)) continue;
        add_file(f, base_of(real), real);
    }
}

/* Length of the compared part: up to the blank before the bracket. */
static size_t compared(const char *value) {
    const char *end = strstr(value, " (");
    return end ? (size_t)(end - value) : strlen(value);
}

static void put_files(struct kl_facts *facts, struct kl_fact *list, unsigned count, unsigned places) {
    uint64_t more = 0;
    char value[KL_FACT_VAL_MAX];
    if (count) qsort(list, count, sizeof *list, by_key);
    for (unsigned i = 0; i < count; i++) {
        if (i < places) {
            kl_facts_add(facts, list[i].key, list[i].value);
            continue;
        }
        more = XXH3_64bits_withSeed(list[i].key, strlen(list[i].key), more);
        more = XXH3_64bits_withSeed(list[i].value, compared(list[i].value), more);
    }
    snprintf(value, sizeof value, "%u with hash %016llx", count - places, (unsigned long long)more);
    if (count > places) kl_facts_add(facts, "more files", value);
}

/* --- members --- */

/* Those that were read first: "=" and "?" before "-". */
static unsigned rank(char use) {
    return use == KL_ARCHIVE_READ ? 0 : use == KL_ARCHIVE_PERHAPS ? 1 : 2;
}

static int by_bytes(const void *a, const void *b) {
    const struct kl_archive_member *x = a, *y = b;
    if (x->crc != y->crc) return x->crc < y->crc ? -1 : 1;
    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    if (rank(x->use) != rank(y->use)) return rank(x->use) < rank(y->use) ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b) {
    const struct kl_archive_member *x = a, *y = b;
    bool later = x->use == KL_ARCHIVE_UNREAD, later_too = y->use == KL_ARCHIVE_UNREAD;
    if (later != later_too) return later ? 1 : -1;
    int names = strcmp(x->name, y->name);
    return names ? names : by_bytes(a, b);
}

/* The same bytes may be in several archives. */
static unsigned drop_twins(struct kl_archive_member *m, unsigned count) {
    unsigned kept = 0;
    for (unsigned i = 0; i < count; i++)
        if (!kept || m[kept - 1].crc != m[i].crc || m[kept - 1].hash != m[i].hash) m[kept++] = m[i];
    return kept;
}

struct line {
    char value[KL_FACT_VAL_MAX];
    size_t used;
    unsigned number;
};

static void end_line(struct kl_facts *facts, struct line *l) {
    char key[KL_FACT_KEY_MAX];
    if (!l->used) return;
    snprintf(key, sizeof key, KL_FACT_MEMBERS "%u", ++l->number);
    kl_facts_add(facts, key, l->value);
    l->used = 0;
}

static bool add_word(struct kl_facts *facts, struct line *l, const char *word) {
    size_t len = strlen(word);
    if (l->used + 1 + len >= sizeof l->value) end_line(facts, l);
    if (l->number == MEMBER_PLACES) return false;
    l->used +=
        (size_t)snprintf(l->value + l->used, sizeof l->value - l->used, "%s%s", l->used ? " " : "", word);
    return true;
}

static void put_members(struct kl_facts *facts, struct kl_archive_member *list, unsigned count) {
    struct line line = {0};
    char word[64], value[KL_FACT_VAL_MAX];
    uint64_t more = 0;
    unsigned folded = 0;
    if (count) qsort(list, count, sizeof *list, by_bytes);
    count = drop_twins(list, count);
    if (count) qsort(list, count, sizeof *list, by_name);
    for (unsigned i = 0; i < count; i++) {
        const struct kl_archive_member *m = &list[i];
        snprintf(word, sizeof word, "%s%c%08x.%08x", m->name, m->use, m->crc, m->hash);
        if (add_word(facts, &line, word) || m->use == KL_ARCHIVE_UNREAD) continue;
        more += XXH3_64bits(word + strlen(m->name) + 1, KL_FACT_MEMBER_ID);
        folded++;
    }
    end_line(facts, &line);
    snprintf(value, sizeof value, "%u with hash %016llx", folded, (unsigned long long)more);
    if (folded) kl_facts_add(facts, "more members", value);
}

/* --- both --- */

void kl_identity_files(struct kl_facts *facts, struct kl_world *w, const char *system_dir,
                       const struct kl_content *content) {
    struct looked_in in = {.content = content};
    char dir[4096];
    if (system_dir && !kl_file_real(system_dir, in.system, sizeof in.system)) in.system[0] = 0;
    if (content->count && content->item[0].path) {
        snprintf(dir, sizeof dir, "%s", content->item[0].path);
        char *slash = strrchr(dir, '/');
        if (slash) *slash = 0;
        if (!slash || !kl_file_real(*dir ? dir : "/", in.beside, sizeof in.beside)) in.beside[0] = 0;
    }
    unsigned files = kl_world_files(w);
    struct found f = {.world = w, .file = calloc(files + KL_CONTENT_ITEMS + 1, sizeof *f.file)};
    for (unsigned i = 0; f.file && i < files; i++)
        add_opened(&f, i, &in);
    if (f.file) {
        add_unopened(&f, content);
        put_files(facts, f.file, f.files, f.members ? FILE_PLACES : FILE_PLACES_ALONE);
        put_members(facts, f.member, f.members);
    }
    free(f.file);
    free(f.member);
}
