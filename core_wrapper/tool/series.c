#include "core_wrapper/tool/series.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* "000000599.state" */
static bool frame_of(const char *name, uint32_t *out) {
    char *end;
    unsigned long frame = strtoul(name, &end, 10);
    *out = (uint32_t)frame;
    return *name >= '0' && *name <= '9' && frame < UINT32_MAX && strcmp(end, ".state") == 0;
}

static int state_files(const struct dirent *e) {
    uint32_t frame;
    return frame_of(e->d_name, &frame);
}

static int by_frame(const struct dirent **a, const struct dirent **b) {
    uint32_t x = 0, y = 0;
    frame_of((*a)->d_name, &x);
    frame_of((*b)->d_name, &y);
    return x < y ? -1 : x > y;
}

static bool is_dir(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void free_list(struct dirent **list, int count) {
    for (int i = 0; i < count; i++)
        free(list[i]);
    free(list);
}

static int list_dir(const char *dir, struct dirent ***list, char *err, size_t err_len) {
    int n = scandir(dir, list, state_files, by_frame);
    if (n > 0) return n;
    snprintf(err, err_len, "%s: expected files FRAME.state in it, %s", dir,
             n < 0 ? strerror(errno) : "it has none");
    if (n == 0) free(*list);
    return -1;
}

static void match(struct kl_series *s, const char *a, struct dirent **x, int n, const char *b,
                  struct dirent **y, int m) {
    for (int i = 0, k = 0; i < n || k < m;) {
        uint32_t fx = UINT32_MAX, fy = UINT32_MAX;
        if (i < n) frame_of(x[i]->d_name, &fx);
        if (k < m) frame_of(y[k]->d_name, &fy);
        if (fx == fy) {
            struct kl_pair *p = &s->at[s->count++];
            p->frame = fx;
            snprintf(p->a, sizeof(p->a), "%.3800s/%s", a, x[i]->d_name);
            snprintf(p->b, sizeof(p->b), "%.3800s/%s", b, y[k]->d_name);
        }
        s->only_a += fx < fy;
        s->only_b += fy < fx;
        i += fx <= fy;
        k += fy <= fx;
    }
}

static int open_dirs(struct kl_series *s, const char *a, const char *b, char *err, size_t err_len) {
    struct dirent **x = NULL, **y = NULL;
    int n = list_dir(a, &x, err, err_len), m = n < 0 ? -1 : list_dir(b, &y, err, err_len);
    s->at = n > 0 && m > 0 ? calloc((size_t)n, sizeof(*s->at)) : NULL;
    if (s->at) match(s, a, x, n, b, y, m);
    if (n > 0) free_list(x, n);
    if (m > 0) free_list(y, m);
    if (n < 0 || m < 0) return -1;
    if (s->at && s->count) return 0;
    snprintf(err, err_len, "%s and %s have no frame in common (%d and %d states)", a, b, n, m);
    return -1;
}

int kl_series_open(struct kl_series *s, const char *a, const char *b, char *err, size_t err_len) {
    memset(s, 0, sizeof(*s));
    if (is_dir(a) != is_dir(b)) {
        snprintf(err, err_len, "expected two states or two folders of them: only %s is a folder",
                 is_dir(a) ? a : b);
        return -1;
    }
    if (is_dir(a)) return open_dirs(s, a, b, err, err_len);
    s->at = calloc(1, sizeof(*s->at));
    if (!s->at) {
        snprintf(err, err_len, "out of memory");
        return -1;
    }
    s->count = 1;
    snprintf(s->at->a, sizeof(s->at->a), "%s", a);
    snprintf(s->at->b, sizeof(s->at->b), "%s", b);
    return 0;
}

void kl_series_free(struct kl_series *s) {
    free(s->at);
    memset(s, 0, sizeof(*s));
}

bool kl_series_from(const char *dir, uint32_t frame, uint32_t *found, char *path, size_t cap) {
    struct dirent **list = NULL;
    int n = scandir(dir, &list, state_files, by_frame);
    bool any = false;
    for (int i = 0; i < n && !any; i++) {
        any = frame_of(list[i]->d_name, found) && *found >= frame;
        if (any) snprintf(path, cap, "%s/%s", dir, list[i]->d_name);
    }
    if (n >= 0) free_list(list, n);
    return any;
}
