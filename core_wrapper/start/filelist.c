#include "core_wrapper/start/filelist.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "net/platform/dir.h"
#include "net/platform/file.h"

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
    char err[64];
    void *bytes;
    size_t len;
    if (!names_of(ending_of(path)) || kl_file_kind(path) != KL_FILE_IS_PLAIN ||
        kl_file_read(path, KL_FILELIST_BYTES, 0, &bytes, &len, err, sizeof err) != 0)
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
    char dir[KL_FILE_PATH], file[KL_FILE_PATH], err[64];
    struct kl_dir_list list;
    const char *slash = strrchr(path, '/');
    size_t want = read_head(path, head) ? place_of(head, true) : 0;
    if (!want || !memcmp(head + want, none, CHD_SHA1)) return;
    if (!slash || (size_t)snprintf(dir, sizeof dir, "%.*s", (int)(slash - path), path) >= sizeof dir ||
        kl_dir_list(&list, *dir ? dir : "/", ".chd", err, sizeof err) != 0)
        return;
    for (unsigned i = 0; i < list.count && i < CHD_LOOKED; i++) {
        size_t has = 0;
        if (kl_file_join(file, sizeof file, dir, list.name[i], err, sizeof err) == 0 &&
            read_head(file, other))
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
