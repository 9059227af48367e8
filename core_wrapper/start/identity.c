#include "core_wrapper/start/identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "net/platform/file.h"
#include "core_wrapper/world/archive.h"
#include "core_wrapper/core/core.h"
#include "core_wrapper/start/savedir.h"

/* Facts before the others are folded into one; in all KL_FACTS_MAX. */
#define FILE_PLACES_ALONE 18
#define FILE_PLACES       5 /* beside members */
#define MEMBER_PLACES     17

#define NAME_BYTES 40 /* the last ones of a file's name */

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
        snprintf(out, cap, "%.60s members %016llx (%d of them)", kl_file_base(path), (unsigned long long)sum,
                 count);
    return count > 0;
}

/* patch: kl_content's; "": none. */
static void hash_bytes(const void *data, size_t len, const char *path, const char *patch, char *out,
                       size_t cap) {
    snprintf(out, cap, "xxh3 %016llx (%s%s%s%zu bytes, %.*s)", (unsigned long long)XXH3_64bits(data, len),
             *patch ? KL_FACT_PATCH : "", patch, *patch ? ", " : "", len, *patch ? 56 : 80,
             path ? kl_file_base(path) : "no name");
}

static int hash_file(struct kl_sums *sums, const char *path, char *out, size_t cap) {
    struct kl_sum sum;
    const void *bytes;
    size_t len;
    if (sums) {
        if (kl_sums_wait(sums, path, &sum) != KL_SUM_KNOWN) return -1;
        snprintf(out, cap, "%s %016llx (%llu bytes, %.80s)", sum.members ? "members" : "xxh3",
                 (unsigned long long)sum.hash, (unsigned long long)sum.bytes, kl_file_base(path));
        return 0;
    }
    if (kl_file_map(path, &bytes, &len) != 0) return -1;
    hash_bytes(bytes, len, path, "", out, cap);
    kl_file_unmap(bytes, len);
    return 0;
}

static int hash_content(struct kl_sums *sums, const char *path, char *out, size_t cap) {
    const char *base = kl_file_base(path);
    if (!kl_archive_is(path)) return hash_file(sums, path, out, cap);
    snprintf(out, cap, "set %.*s (%.60s)", (int)(strrchr(base, '.') - base), base, base);
    return 0;
}

int kl_identity_hash_file(const char *path, char *out, size_t cap) {
    return hash_content(NULL, path, out, cap);
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

void kl_identity_rand(struct kl_facts *facts, const struct kl_world_report *report, enum kl_rand_use use) {
    char value[KL_FACT_VAL_MAX];
    unsigned bits = 0;
    if (!report->rand) return;
    for (unsigned long most = RAND_MAX; most; most >>= 1)
        bits++;
    if (use == KL_RAND_SYSTEM)
        snprintf(value, sizeof value, "%u bits (on %s; the core asks for it)", bits, kl_world_system);
    else
        snprintf(value, sizeof value, "%s 15 bits (" KL_IDENTITY_SHARED ")",
                 use == KL_RAND_LOW ? "lower" : "upper");
    kl_facts_add(facts, KL_IDENTITY_RAND, value);
}

void kl_identity_content(struct kl_facts *facts, const struct kl_content *content, struct kl_sums *sums) {
    char key[KL_FACT_KEY_MAX], value[KL_FACT_VAL_MAX];
    if (content->none) kl_facts_add(facts, "content", "none");
    for (unsigned i = 0; i < content->count; i++) {
        const struct retro_game_info *item = &content->item[i];
        if (content->special)
            snprintf(key, sizeof key, "content %u", i + 1);
        else
            snprintf(key, sizeof key, "content");
        const char *base = item->path ? kl_file_base(item->path) : "none";
        if (item->data && !sum_members(item->data, item->size, item->path, value, sizeof value))
            hash_bytes(item->data, item->size, item->path, i ? "" : content->patch, value, sizeof value);
        else if (!item->data && (!item->path || hash_content(sums, item->path, value, sizeof value) != 0))
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
    struct kl_sums *sums;
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

static bool is_missing(const struct kl_fact *f) {
    return !strncmp(f->value, KL_IDENTITY_MISSING, strlen(KL_IDENTITY_MISSING));
}

/* Files that are missing come first: they must not be folded. */
static int by_key(const void *a, const void *b) {
    const struct kl_fact *x = a, *y = b;
    if (is_missing(x) != is_missing(y)) return is_missing(x) ? -1 : 1;
    int keys = strcmp(x->key, y->key);
    return keys ? keys : strcmp(x->value, y->value);
}

static const char *last_bytes(const char *text, size_t bytes) {
    size_t n = strlen(text);
    return n > bytes ? text + n - bytes : text;
}

static void add_file(struct found *f, const char *name, const char *real) {
    struct kl_fact *to = &f->file[f->files];
    snprintf(to->key, sizeof to->key, "file %.40s", last_bytes(name, NAME_BYTES));
    if (hash_file(f->sums, real, to->value, sizeof to->value) == 0) f->files++;
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

static void look_in(struct looked_in *in, const char *system_dir, const struct kl_content *content) {
    char dir[4096];
    *in = (struct looked_in){.content = content};
    if (system_dir && !kl_file_real(system_dir, in->system, sizeof in->system)) in->system[0] = 0;
    if (!content->count || !content->item[0].path) return;
    snprintf(dir, sizeof dir, "%s", content->item[0].path);
    char *slash = strrchr(dir, '/');
    if (slash) *slash = 0;
    if (!slash || !kl_file_real(*dir ? dir : "/", in->beside, sizeof in->beside)) in->beside[0] = 0;
}

/* The name of file i of the world, if it counts; real: its path. NULL: it does not. */
static const char *name_of(struct kl_world *w, unsigned i, const struct looked_in *in, char real[4096]) {
    bool wrote;
    const char *path = kl_world_file(w, i, &wrote);
    if (wrote || !path || kl_gifts_is(path)) return NULL;
    if (!kl_file_real(path, real, 4096)) snprintf(real, 4096, "%s", path); /* it is not there */
    if (is_content(real, in->content)) return kl_archive_is(real) ? kl_file_base(real) : NULL;
    /* The path below one of the folders that count; NULL: it is in neither. */
    const char *name = below(real, in->system);
    return name ? name : below(real, in->beside);
}

static void add_opened(struct found *f, unsigned i, const struct looked_in *in) {
    char real[4096];
    const char *name = name_of(f->world, i, in, real);
    if (!name || (kl_archive_is(real) && add_members(f, real))) return;
    add_file(f, name, real);
}

bool kl_identity_name(struct kl_world *w, unsigned i, const char *system_dir,
                      const struct kl_content *content, char name[KL_FACT_KEY_MAX], char real[KL_FILE_PATH]) {
    struct looked_in in;
    look_in(&in, system_dir, content);
    const char *found = name_of(w, i, &in, real);
    if (found) snprintf(name, KL_FACT_KEY_MAX, "%.40s", last_bytes(found, NAME_BYTES));
    return found;
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
        add_file(f, kl_file_base(real), real);
    }
}

/* The files that the content names, whatever the core opens of them now. */
static void add_listed(struct found *f, const char *content, const struct kl_filelist *list) {
    const char *base = kl_file_base(content);
    char dir[4096];
    snprintf(dir, sizeof dir, "%.*s", (int)(base - content), content);
    for (unsigned i = 0; i < list->count; i++) {
        const char *path = list->path[i], *name = below(path, dir);
        struct kl_fact *to = &f->file[f->files];
        unsigned before = f->files;
        add_file(f, name ? name : kl_file_base(path), path);
        if (f->files > before) continue;
        snprintf(to->value, sizeof to->value, KL_IDENTITY_MISSING " (%.60s names it)", base);
        f->files++;
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
    unsigned kept = 0;
    if (count) qsort(list, count, sizeof *list, by_key);
    for (unsigned i = 0; i < count; i++) /* a file may be opened and named */
        if (!kept || by_key(&list[kept - 1], &list[i]) != 0) list[kept++] = list[i];
    count = kept;
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
    /* The same bytes may be in several archives. */
    unsigned kept = 0;
    for (unsigned i = 0; i < count; i++)
        if (!kept || list[kept - 1].crc != list[i].crc || list[kept - 1].hash != list[i].hash)
            list[kept++] = list[i];
    count = kept;
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
                       const struct kl_content *content, struct kl_sums *sums) {
    struct looked_in in;
    struct kl_filelist list[KL_CONTENT_ITEMS] = {0};
    look_in(&in, system_dir, content);
    unsigned files = kl_world_files(w), listed = 0;
    for (unsigned i = 0; i < content->count; i++) {
        if (content->item[i].path) kl_filelist_add(&list[i], content->item[i].path);
        listed += list[i].count;
    }
    struct found f = {.world = w, .sums = sums};
    f.file = calloc(files + listed + KL_CONTENT_ITEMS + 1, sizeof *f.file);
    for (unsigned i = 0; f.file && i < files; i++)
        add_opened(&f, i, &in);
    for (unsigned i = 0; f.file && i < content->count; i++)
        if (content->item[i].path) add_listed(&f, content->item[i].path, &list[i]);
    if (f.file) {
        add_unopened(&f, content);
        put_files(facts, f.file, f.files, f.members ? FILE_PLACES : FILE_PLACES_ALONE);
        put_members(facts, f.member, f.members);
    }
    free(f.file);
    free(f.member);
    for (unsigned i = 0; i < content->count; i++)
        kl_filelist_free(&list[i]);
}

/* --- checksums by a thread --- */

void kl_identity_ask_content(const struct kl_content *content, struct kl_sums *sums) {
    struct kl_sum sum;
    for (unsigned i = 0; i < content->count; i++) {
        struct kl_filelist list = {0};
        const struct retro_game_info *item = &content->item[i];
        if (!item->path) continue;
        if (!item->data && !kl_archive_is(item->path)) (void)kl_sums_get(sums, item->path, &sum);
        kl_filelist_add(&list, item->path);
        for (unsigned k = 0; k < list.count; k++)
            (void)kl_sums_get(sums, list.path[k], &sum);
        kl_filelist_free(&list);
    }
}

void kl_identity_ask_files(struct kl_world *w, const char *system_dir, const struct kl_content *content,
                           struct kl_sums *sums) {
    struct looked_in in;
    struct kl_sum sum;
    char real[4096];
    look_in(&in, system_dir, content);
    for (unsigned i = 0; i < kl_world_files(w); i++)
        if (name_of(w, i, &in, real) && !kl_archive_is(real)) (void)kl_sums_get(sums, real, &sum);
}

enum kl_sum_state kl_identity_image(const char *path, struct kl_sums *sums, char name[KL_FACT_KEY_MAX],
                                    struct kl_sum *sum) {
    struct kl_filelist list = {0};
    enum kl_sum_state state = KL_SUM_KNOWN;
    const char *named = path;
    *sum = (struct kl_sum){0};
    kl_filelist_add(&list, path);
    for (unsigned i = 0; i <= list.count; i++) {
        const char *file = i ? list.path[i - 1] : path;
        struct kl_sum one;
        enum kl_sum_state is = kl_sums_get(sums, file, &one);
        if (is == KL_SUM_FULL) is = kl_sums_wait(sums, file, &one);
        if (is == KL_SUM_KNOWN) {
            sum->bytes += one.bytes;
            sum->hash = XXH3_64bits_withSeed(&one.hash, sizeof one.hash, sum->hash);
        } else if (state != KL_SUM_MISSING) {
            state = is;
            if (is == KL_SUM_MISSING) named = file;
        }
    }
    snprintf(name, KL_FACT_KEY_MAX, "%.40s", last_bytes(kl_file_base(named), NAME_BYTES));
    kl_filelist_free(&list);
    return state;
}
