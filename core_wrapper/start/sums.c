#include "core_wrapper/start/sums.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <xxhash.h>

#include "core_wrapper/world/archive.h"
#include "net/platform/dir.h"

/* --- checksums --- */

#define STEP_BYTES (1u << 20) /* between two looks at `ends` */

/* --- the thread --- */

static bool note_step(struct kl_sums *s, size_t bytes) {
    kl_mutex_lock(&s->mutex);
    s->done += bytes;
    bool ends = s->ends;
    kl_mutex_unlock(&s->mutex);
    return !ends;
}

/* By reading, not by mapping: a file that shrinks meanwhile would end the process. s: NULL for a caller's
 * own. */
static bool sum_bytes(struct kl_sums *s, const char *path, struct kl_sum *out) {
    FILE *f = kl_file_stream(path, "r");
    uint8_t *step = malloc(STEP_BYTES);
    XXH3_state_t *state = XXH3_createState();
    bool good = f && step && state && XXH3_64bits_reset(state) == XXH_OK;
    *out = (struct kl_sum){0};
    while (good) {
        size_t len = fread(step, 1, STEP_BYTES, f);
        if (!len) break;
        XXH3_64bits_update(state, step, len);
        out->bytes += len;
        good = !s || note_step(s, len);
    }
    if (f) good = good && !ferror(f);
    if (good) out->hash = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    free(step);
    if (f) fclose(f);
    return good;
}

/* False: it is no archive that can be read here. */
static bool sum_members(const char *path, struct kl_sum *out) {
    struct kl_archive_member *list = NULL;
    const void *bytes;
    size_t len;
    if (!kl_archive_is(path) || kl_file_map(path, &bytes, &len) != 0) return false;
    int count = kl_archive_list(bytes, len, NULL, 0, &list);
    kl_file_unmap(bytes, len);
    *out = (struct kl_sum){.bytes = len, .members = count > 0 ? (uint32_t)count : 0};
    for (int i = 0; i < count; i++)
        out->hash += XXH3_64bits_withSeed(list[i].name, strlen(list[i].name),
                                          (uint64_t)list[i].crc << 32 | list[i].hash);
    free(list);
    return count > 0;
}

static bool sum_file(struct kl_sums *s, const char *path, struct kl_sum *out) {
    return kl_file_kind(path) == KL_FILE_IS_PLAIN && (sum_members(path, out) || sum_bytes(s, path, out));
}

static struct kl_sum_entry *next_busy(struct kl_sums *s) {
    for (unsigned i = 0; i < s->count; i++)
        if (s->entry[i].state == KL_SUM_BUSY) return &s->entry[i];
    return NULL;
}

static void work(void *arg) {
    struct kl_sums *s = arg;
    kl_mutex_lock(&s->mutex);
    while (!s->ends) {
        struct kl_sum_entry *e = next_busy(s);
        if (!e) {
            s->done = s->asked = 0;
            kl_cond_wait(&s->news, &s->mutex);
            continue;
        }
        uint64_t before = s->done, changed = e->changed;
        kl_mutex_unlock(&s->mutex);
        struct kl_sum sum;
        bool good = sum_file(s, e->path, &sum);
        kl_mutex_lock(&s->mutex);
        s->done = before + e->bytes;
        if (e->changed == changed) { /* else it has changed meanwhile, and is read again */
            e->sum = sum;
            e->state = good ? KL_SUM_KNOWN : KL_SUM_MISSING;
        }
        kl_cond_wake(&s->news);
    }
    kl_mutex_unlock(&s->mutex);
}

/* --- its owner --- */

static bool begin(struct kl_sums *s) {
    if (s->runs) return true;
    if (!s->entry) s->entry = calloc(KL_SUMS, sizeof *s->entry);
    s->runs = s->entry && kl_thread_start(&s->thread, "keylock-sums", work, s) == 0;
    return s->runs;
}

static struct kl_sum_entry *entry_of(struct kl_sums *s, const char *path) {
    for (unsigned i = 0; i < s->count; i++)
        if (!strcmp(s->entry[i].path, path)) return &s->entry[i];
    if (s->count == KL_SUMS) return NULL;
    char *own = strdup(path);
    if (!own) return NULL;
    s->entry[s->count] = (struct kl_sum_entry){.path = own, .state = KL_SUM_FULL};
    return &s->entry[s->count++];
}

enum kl_sum_state kl_sums_get(struct kl_sums *s, const char *path, struct kl_sum *out) {
    uint64_t bytes, changed;
    if (!kl_file_stamp(path, &bytes, &changed)) return KL_SUM_MISSING;
    if (!begin(s)) return KL_SUM_FULL;
    kl_mutex_lock(&s->mutex);
    struct kl_sum_entry *e = entry_of(s, path);
    enum kl_sum_state state = KL_SUM_FULL;
    if (e) {
        bool same = e->state != KL_SUM_FULL && e->bytes == bytes && e->changed == changed;
        if (!same) {
            e->bytes = bytes;
            e->changed = changed;
            e->state = KL_SUM_BUSY;
            s->asked += bytes;
            kl_cond_wake(&s->news);
        }
        state = e->state;
        if (state == KL_SUM_KNOWN) *out = e->sum;
    }
    kl_mutex_unlock(&s->mutex);
    return state;
}

bool kl_sums_idle(struct kl_sums *s, uint64_t until_us) {
    if (!s->runs) return true;
    kl_mutex_lock(&s->mutex);
    while (next_busy(s) && kl_cond_wait_until(&s->news, &s->mutex, until_us))
        ;
    bool idle = !next_busy(s);
    kl_mutex_unlock(&s->mutex);
    return idle;
}

enum kl_sum_state kl_sums_wait(struct kl_sums *s, const char *path, struct kl_sum *out) {
    enum kl_sum_state state;
    while ((state = kl_sums_get(s, path, out)) == KL_SUM_BUSY)
        (void)kl_sums_idle(s, UINT64_MAX);
    if (state == KL_SUM_FULL) state = sum_file(NULL, path, out) ? KL_SUM_KNOWN : KL_SUM_MISSING;
    return state;
}

void kl_sums_progress(struct kl_sums *s, uint64_t *done, uint64_t *all) {
    kl_mutex_lock(&s->mutex);
    *done = s->done;
    *all = s->asked > s->done ? s->asked : s->done;
    kl_mutex_unlock(&s->mutex);
}

void kl_sums_close(struct kl_sums *s) {
    if (s->runs) {
        kl_mutex_lock(&s->mutex);
        s->ends = true;
        kl_cond_wake(&s->news);
        kl_mutex_unlock(&s->mutex);
        kl_thread_join(&s->thread);
    }
    for (unsigned i = 0; i < s->count; i++)
        free(s->entry[i].path);
    free(s->entry);
    memset(s, 0, sizeof *s);
}

/* --- files that a file names --- */

#define NAME_MAX_BYTES 1024 /* of a name in a list */

static const char *ending_of(const char *path) {
    const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
    return dot && (!slash || dot > slash) ? dot + 1 : "";
}

static bool ends(const char *path, const char *ending) {
    return !strcasecmp(ending_of(path), ending);
}

/* --- the names in a text --- */

struct line {
    const char *at, *end;
};

/* Without blanks around it. False: the text has ended. */
static bool next_line(const char **at, const char *end, struct line *out) {
    if (*at >= end) return false;
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    *out = (struct line){*at, stop ? stop : end};
    *at = stop ? stop + 1 : end;
    while (out->at < out->end && strchr(" \t\r", out->at[0]) && out->at[0])
        out->at++;
    while (out->end > out->at && strchr(" \t\r", out->end[-1]) && out->end[-1])
        out->end--;
    return true;
}

static bool copy(char out[NAME_MAX_BYTES], const char *from, const char *end) {
    size_t len = (size_t)(end - from);
    if (!len || len >= NAME_MAX_BYTES || memchr(from, 0, len)) return false;
    memcpy(out, from, len);
    out[len] = 0;
    return true;
}

/* The next word of a line, which quotes may enclose. */
static bool next_word(struct line *l, char out[NAME_MAX_BYTES]) {
    while (l->at < l->end && (*l->at == ' ' || *l->at == '\t'))
        l->at++;
    bool quoted = l->at < l->end && *l->at == '"';
    const char *from = l->at + quoted, *stop = from;
    while (stop < l->end && (quoted ? *stop != '"' : *stop != ' ' && *stop != '\t'))
        stop++;
    l->at = stop + (quoted && stop < l->end);
    return copy(out, from, stop);
}

/* A disk a line; "#" begins a comment, and "|" a label. */
static bool of_m3u(struct line l, char out[NAME_MAX_BYTES]) {
    if (l.end - l.at >= 3 && !memcmp(l.at, "\xef\xbb\xbf", 3)) l.at += 3; /* the mark of UTF-8 */
    if (l.at == l.end || *l.at == '#') return false;
    if (*l.at == '"') return next_word(&l, out);
    const char *label = memchr(l.at, '|', (size_t)(l.end - l.at));
    return copy(out, l.at, label ? label : l.end);
}

/* FILE "track 01.bin" BINARY; a .toc has the other two words too. */
static bool of_cue(struct line l, char out[NAME_MAX_BYTES]) {
    return next_word(&l, out) &&
           (!strcasecmp(out, "FILE") || !strcasecmp(out, "DATAFILE") || !strcasecmp(out, "AUDIOFILE")) &&
           next_word(&l, out);
}

/* NUMBER START TYPE SECTOR NAME OFFSET; the first line has the number of tracks alone. */
static bool of_gdi(struct line l, char out[NAME_MAX_BYTES]) {
    for (unsigned i = 0; i < 5; i++)
        if (!next_word(&l, out)) return false;
    return true;
}

typedef bool (*name_fn)(struct line l, char out[NAME_MAX_BYTES]);

/* NULL: files of this ending list none. */
static name_fn names_of(const char *kind) {
    static const struct {
        const char *kind;
        name_fn name;
    } kinds[] = {{"m3u", of_m3u}, {"m3u8", of_m3u}, {"cue", of_cue}, {"toc", of_cue}, {"gdi", of_gdi}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcasecmp(kinds[i].kind, kind)) return kinds[i].name;
    return NULL;
}

void kl_filelist_parse(const char *kind, const char *text, size_t len, kl_filelist_give give, void *ctx) {
    const char *at = text, *end = text + len;
    name_fn name_in = names_of(kind);
    char name[NAME_MAX_BYTES];
    struct line l;
    unsigned index = 0;
    while (name_in && index < KL_FILELIST_FILES && next_line(&at, end, &l))
        if (name_in(l, name) && !give(ctx, index++, name)) return;
}

/* --- files --- */

static void put_path(struct kl_filelist *l, const char *path, unsigned depth);

/* As the core would open it: beside the list. A list from Windows has backslashes, which cores turn where the
 * system has none. */
static bool beside(char *out, size_t cap, const char *list, const char *name) {
    const char *slash = strrchr(list, '/');
    bool whole = kl_file_is_absolute(name) || !slash;
    int len = snprintf(out, cap, "%.*s%s", whole ? 0 : (int)(slash + 1 - list), list, name);
    if (len <= 0 || (size_t)len >= cap) return false;
    if (kl_file_kind(out) != KL_FILE_IS_NONE) return true;
    for (char *c = out + (size_t)len - strlen(name); *c; c++)
        if (*c == '\\') *c = '/';
    return true;
}

struct reading {
    struct kl_filelist *into;
    const char *list;
    unsigned depth;
};

static bool put_name(void *ctx, unsigned index, const char *name) {
    const struct reading *r = ctx;
    char path[KL_FILE_PATH];
    (void)index;
    if (beside(path, sizeof path, r->list, name)) put_path(r->into, path, r->depth);
    return r->into->count < KL_FILELIST_FILES;
}

static void read_list(const char *path, kl_filelist_give give, void *ctx) {
    void *bytes;
    size_t len;
    if (!names_of(ending_of(path)) || kl_file_kind(path) != KL_FILE_IS_PLAIN ||
        kl_file_read(path, KL_FILELIST_BYTES, 0, &bytes, &len, NULL, 0) != 0)
        return;
    kl_filelist_parse(ending_of(path), bytes, len, give, ctx);
    free(bytes);
}

/* The file of the same name with another ending, in small or capital letters, if there is one. */
static void put_twin(struct kl_filelist *l, const char *path, const char *small, const char *capital,
                     unsigned depth) {
    char twin[KL_FILE_PATH];
    int stem = (int)(ending_of(path) - path);
    for (int i = 0; i < 2; i++) {
        int len = snprintf(twin, sizeof twin, "%.*s%s", stem, path, i ? capital : small);
        if (len <= 0 || (size_t)len >= sizeof twin || kl_file_kind(twin) != KL_FILE_IS_PLAIN) continue;
        put_path(l, twin, depth);
        return;
    }
}

/* --- CHD: a file may be the difference to its parent, which its header names by SHA-1 (chd.h of MAME) --- */

#define CHD_HEAD   124
#define CHD_SHA1   20
#define CHD_LOOKED 256 /* files of a folder */

static bool read_head(const char *path, uint8_t head[CHD_HEAD]) {
    FILE *f = kl_file_kind(path) == KL_FILE_IS_PLAIN ? kl_file_stream(path, "r") : NULL;
    bool good = f && fread(head, CHD_HEAD, 1, f) == 1 && !memcmp(head, "MComprHD\0\0\0", 11);
    if (f) fclose(f);
    return good;
}

/* The place of a file's own hash, or of its parent's; 0: an older or a newer version. */
static size_t place_of(const uint8_t head[CHD_HEAD], bool parent) {
    static const uint8_t own[] = {0, 0, 0, 80, 48, 84}, parents[] = {0, 0, 0, 100, 68, 104};
    uint8_t version = head[15];
    return version < sizeof own && !head[12] && !head[13] && !head[14] ? (parent ? parents : own)[version]
                                                                       : 0;
}

static void put_parent(struct kl_filelist *l, const char *path, unsigned depth) {
    static const uint8_t none[CHD_SHA1];
    uint8_t head[CHD_HEAD], other[CHD_HEAD];
    char dir[KL_FILE_PATH], file[KL_FILE_PATH];
    struct kl_dir_list list;
    const char *slash = strrchr(path, '/');
    size_t want = read_head(path, head) ? place_of(head, true) : 0;
    if (!want || !memcmp(head + want, none, CHD_SHA1)) return;
    if (!slash || (size_t)snprintf(dir, sizeof dir, "%.*s", (int)(slash - path), path) >= sizeof dir ||
        kl_dir_list(&list, *dir ? dir : "/", ".chd", NULL, 0) != 0)
        return;
    for (unsigned i = 0; i < list.count && i < CHD_LOOKED; i++) {
        size_t has = 0;
        if (kl_file_join(file, sizeof file, dir, list.name[i], NULL, 0) == 0 && read_head(file, other))
            has = place_of(other, false);
        if (!has || memcmp(other + has, head + want, CHD_SHA1) != 0) continue;
        put_path(l, file, depth);
        break;
    }
    kl_dir_list_free(&list);
}

/* --- all kinds --- */

static void put_named(struct kl_filelist *l, const char *path, unsigned depth) {
    struct reading r = {l, path, depth + 1};
    if (depth == KL_FILELIST_DEPTH) return;
    if (ends(path, "ccd")) {
        put_twin(l, path, "img", "IMG", depth + 1);
        put_twin(l, path, "sub", "SUB", depth + 1);
    } else if (ends(path, "mds")) {
        put_twin(l, path, "mdf", "MDF", depth + 1);
    } else if (ends(path, "chd")) {
        put_parent(l, path, depth + 1);
    } else {
        read_list(path, put_name, &r);
    }
}

static void put_path(struct kl_filelist *l, const char *path, unsigned depth) {
    for (unsigned i = 0; i < l->count; i++)
        if (!strcmp(l->path[i], path)) return;
    if (l->count == KL_FILELIST_FILES || !(l->path[l->count] = strdup(path))) return;
    l->count++;
    put_named(l, path, depth);
}

void kl_filelist_add(struct kl_filelist *l, const char *path) {
    put_named(l, path, 0);
}

void kl_filelist_free(struct kl_filelist *l) {
    for (unsigned i = 0; i < l->count; i++)
        free(l->path[i]);
    l->count = 0;
}

struct wanted {
    const char *list;
    unsigned index;
    char *out;
    size_t cap;
    bool found;
};

static bool take_disk(void *ctx, unsigned index, const char *name) {
    struct wanted *w = ctx;
    if (index != w->index) return true;
    w->found = beside(w->out, w->cap, w->list, name);
    return false;
}

bool kl_filelist_disk(const char *path, unsigned index, char *out, size_t cap) {
    struct wanted w = {path, index, out, cap, false};
    if (ends(path, "m3u") || ends(path, "m3u8")) read_list(path, take_disk, &w);
    return w.found;
}
