#include "core_wrapper/tool/takeover.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core_wrapper/tool/files.h"

#define DEPTH 8

struct move {
    const char *bare, *locked;
    unsigned copied, depth;
    char *err;
    size_t err_len;
    bool failed;
};
struct pair {
    struct move *m;
    const char *from, *to;
};

/* "Nestopia.opt" becomes "Nestopia Keylock.opt". */
static void new_name(const struct move *m, const char *name, char *out, size_t cap) {
    size_t n = strlen(m->bare);
    if (!strncmp(name, m->bare, n) && name[n] == '.')
        snprintf(out, cap, "%s%s", m->locked, name + n);
    else
        snprintf(out, cap, "%s", name);
}

static void copy_folder(struct move *m, const char *from, const char *to);

static void copy_one(void *ctx, const char *name) {
    const struct pair *p = ctx;
    char from[KLT_PATH], to[KLT_PATH], renamed[512];
    struct stat st;
    new_name(p->m, name, renamed, sizeof renamed);
    int a = snprintf(from, sizeof from, "%s/%s", p->from, name);
    int b = snprintf(to, sizeof to, "%s/%s", p->to, renamed);
    if (p->m->failed || a >= (int)sizeof from || b >= (int)sizeof to || lstat(from, &st) != 0) return;
    if (S_ISDIR(st.st_mode)) {
        copy_folder(p->m, from, to);
    } else if (S_ISREG(st.st_mode)) {
        p->m->failed = kl_file_copy(from, to, st.st_mode & 0777, p->m->err, p->m->err_len) < 0;
        if (!p->m->failed) p->m->copied++;
    }
}

static void copy_folder(struct move *m, const char *from, const char *to) {
    struct pair p = {m, from, to};
    if (m->depth == DEPTH || kl_folder_make(to, m->err, m->err_len) != 0) {
        m->failed = true;
        return;
    }
    m->depth++;
    kl_folder_each(from, "", copy_one, &p);
    m->depth--;
}

/* DIR/bare to DIR/locked. */
static void take(struct move *m, const char *dir) {
    char from[KLT_PATH], to[KLT_PATH];
    int a = snprintf(from, sizeof from, "%s/%s", dir, m->bare);
    int b = snprintf(to, sizeof to, "%s/%s", dir, m->locked);
    if (!*dir || a >= (int)sizeof from || b >= (int)sizeof to) return;
    if (kl_folder_there(from) && !kl_folder_there(to)) copy_folder(m, from, to);
}

static void take_below(void *ctx, const char *name) {
    const struct pair *p = ctx;
    char dir[KLT_PATH];
    if (snprintf(dir, sizeof dir, "%s/%s", p->from, name) < (int)sizeof dir && kl_folder_there(dir))
        take(p->m, dir);
}

/* Sorted by the content's folder first, there is another folder between. */
static void take_saves(struct move *m, const char *dir) {
    struct pair p = {m, dir, NULL};
    if (!*dir) return;
    take(m, dir);
    kl_folder_each(dir, "", take_below, &p);
}

int kl_takeover(const struct kl_place *p, const char *bare, const char *locked, unsigned *copied, char *err,
                size_t err_len) {
    struct move m = {.bare = bare, .locked = locked, .err = err, .err_len = err_len};
    if (strchr(bare, '/') || *bare == '.') return 0; /* no name of a folder */
    take(&m, p->options);
    take(&m, p->remaps);
    if (p->sort_saves) take_saves(&m, p->saves);
    if (p->sort_states) take_saves(&m, p->states);
    *copied = m.copied;
    return m.failed ? -1 : 0;
}
