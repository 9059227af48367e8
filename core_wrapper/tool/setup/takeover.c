#include "core_wrapper/tool/setup/install.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/file.h"
#include "net/platform/dir.h"

#define DEPTH 8

struct move {
    const char *bare, *locked;
    unsigned copied, depth;
    char *err;
    size_t err_len;
    bool failed;
};

static void copy_folder(struct move *m, const char *from, const char *to);

static void copy_one(struct move *m, const char *from_dir, const char *to_dir, const char *name) {
    char from[KLT_PATH], to[KLT_PATH], renamed[512];
    /* "Nestopia.opt" becomes "Nestopia Keylock.opt". */
    size_t n = strlen(m->bare);
    if (!strncmp(name, m->bare, n) && name[n] == '.')
        snprintf(renamed, sizeof renamed, "%s%s", m->locked, name + n);
    else
        snprintf(renamed, sizeof renamed, "%s", name);
    int a = snprintf(from, sizeof from, "%s/%s", from_dir, name);
    int b = snprintf(to, sizeof to, "%s/%s", to_dir, renamed);
    if (a >= (int)sizeof from || b >= (int)sizeof to) return;
    enum kl_file_kind kind = kl_file_kind_here(from);
    if (kind == KL_FILE_IS_DIR) {
        copy_folder(m, from, to);
    } else if (kind == KL_FILE_IS_PLAIN) {
        m->failed = kl_file_copy(from, to, 0, m->err, m->err_len) < 0;
        if (!m->failed) m->copied++;
    }
}

static void copy_folder(struct move *m, const char *from, const char *to) {
    struct kl_dir_list list;
    if (m->depth == DEPTH || kl_dir_make(to, false, m->err, m->err_len) != 0 ||
        kl_dir_list(&list, from, "", m->err, m->err_len) != 0) {
        m->failed = true;
        return;
    }
    m->depth++;
    for (unsigned i = 0; i < list.count && !m->failed; i++)
        copy_one(m, from, to, list.name[i]);
    m->depth--;
    kl_dir_list_free(&list);
}

/* DIR/bare to DIR/locked. */
static void take(struct move *m, const char *dir) {
    char from[KLT_PATH], to[KLT_PATH];
    int a = snprintf(from, sizeof from, "%s/%s", dir, m->bare);
    int b = snprintf(to, sizeof to, "%s/%s", dir, m->locked);
    if (!*dir || a >= (int)sizeof from || b >= (int)sizeof to) return;
    if (kl_dir_exists(from) && !kl_dir_exists(to)) copy_folder(m, from, to);
}

/* If saves are sorted by the content's folder first, there is another folder between. */
static void take_saves(struct move *m, const char *dir) {
    char below[KLT_PATH], ignored[KLT_PATH + 64];
    struct kl_dir_list list;
    if (!*dir) return;
    take(m, dir);
    if (kl_dir_list(&list, dir, "", ignored, sizeof ignored) != 0) return;
    for (unsigned i = 0; i < list.count; i++)
        if (snprintf(below, sizeof below, "%s/%s", dir, list.name[i]) < (int)sizeof below &&
            kl_dir_exists(below))
            take(m, below);
    kl_dir_list_free(&list);
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
