#include "core_wrapper/tool/desync/bisect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/tool/common/tool.h"
#include "net/platform/dir.h"

/* --- sides --- */

/* --- known hashes --- */

static int add_known(struct kl_side *s, const struct kl_hashline *line) {
    if ((s->knowns & (s->knowns - 1)) == 0) {
        struct kl_hashline *grown =
            realloc(s->known, (s->knowns ? 2 * (size_t)s->knowns : 1) * sizeof(*grown));
        if (!grown) return tool_fail(-1, "bisect", "out of memory");
        s->known = grown;
    }
    s->known[s->knowns++] = *line;
    return 0;
}

static int read_hashes(struct kl_side *s) {
    struct kl_hashreader r;
    struct kl_hashline line;
    char err[KLT_ERR];
    int more = kl_hashreader_open(&r, s->hashes, err, sizeof(err)) == 0 ? 1 : -1;
    while (more > 0 && (more = kl_hashreader_next(&r, &line, err, sizeof(err))) > 0)
        if (add_known(s, &line) != 0) more = -2;
    kl_hashreader_close(&r);
    if (more == -1) return tool_fail(-1, "bisect", "%s", err);
    return more;
}

static int read_recording(struct kl_side *s) {
    char err[KLT_ERR];
    int result = kl_recording_read(&s->rec, s->setup.recording, err, sizeof(err));
    if (result < 0) return tool_fail(-1, "bisect", "%s", err);
    if (result > 0) { /* of hashes alone, which says nothing of how to run it */
        s->hashes = s->setup.recording;
        s->setup.recording = NULL;
        s->runs = false;
        return 0;
    }
    for (unsigned i = 0; i < s->rec.hashes; i++) {
        const struct kl_klr_hash *h = &s->rec.hash[i];
        struct kl_hashline line = {.frame = h->label,
                                   .has_ram = h->has & KL_HASH_RAM,
                                   .has_state = h->has & KL_HASH_STATE,
                                   .ram = h->ram,
                                   .state = h->state};
        if (add_known(s, &line) != 0) return -1;
    }
    return 0;
}

int kl_side_open(struct kl_side *s) {
    char err[KLT_ERR];
    s->runs = s->setup.core && s->setup.content && !s->hashes;
    if (s->setup.recording && read_recording(s) != 0) return -1;
    if (s->hashes && read_hashes(s) != 0) return -1;
    if (!s->runs && !s->knowns)
        return tool_fail(-1, "bisect",
                         "side %c: expected a recording, a file of hashes, or --core and --content",
                         s->letter);
    if (!s->setup.core) return 0;
    if (tool_find_core(s->setup.core, s->core, sizeof(s->core), err, sizeof(err)) != 0)
        return tool_fail(-1, "bisect", "side %c: %s", s->letter, err);
    s->setup.core = s->core;
    return 0;
}

void kl_side_close(struct kl_side *s) {
    kl_machine_stop(&s->machine);
    kl_recording_free(&s->rec);
    free(s->known);
    free(s->line);
}

const struct kl_hashline *kl_side_known(const struct kl_side *s, uint32_t frame, unsigned *next) {
    while (*next < s->knowns && s->known[*next].frame < frame)
        (*next)++;
    if (*next < s->knowns && s->known[*next].frame == frame) return &s->known[*next];
    return !s->knowns && frame < s->lines ? &s->line[frame] : NULL;
}

/* --- running it --- */

int kl_side_start(struct kl_side *s) {
    char err[KLT_ERR];
    kl_machine_stop(&s->machine);
    s->lines = 0;
    if (kl_machine_start(&s->machine, &s->setup, err, sizeof(err)) == 0) return 0;
    return tool_fail(-1, "bisect", "side %c: %s", s->letter, err);
}

int kl_side_run(struct kl_side *s, uint32_t to, const uint8_t *what) {
    char err[KLT_ERR];
    uint32_t from = s->machine.frame;
    struct kl_hashline *grown = realloc(s->line, ((size_t)to + 1) * sizeof(*grown));
    if (!grown) return tool_fail(-1, "bisect", "out of memory");
    s->line = grown;
    if (to > from &&
        kl_machine_run(&s->machine, to - from, what + from, s->line + from, err, sizeof(err)) != 0)
        return tool_fail(-1, "bisect", "side %c: %s", s->letter, err);
    s->lines = to;
    return 0;
}

/* --- comparing --- */

unsigned kl_lines_part(const struct kl_hashline *a, const struct kl_hashline *b) {
    unsigned parts = 0;
    if (a->has_ram && b->has_ram && a->ram != b->ram) parts |= KLT_PART_RAM;
    if (a->has_state && b->has_state && a->state != b->state) parts |= KLT_PART_STATE;
    return parts;
}

/* --- series of states --- */

/* "000000599.state" */
static bool frame_of(const char *name, uint32_t *out) {
    char *end;
    unsigned long frame = strtoul(name, &end, 10);
    *out = (uint32_t)frame;
    return *name >= '0' && *name <= '9' && frame < UINT32_MAX && strcmp(end, ".state") == 0;
}

static int by_frame(const void *a, const void *b) {
    uint32_t x = 0, y = 0;
    frame_of(*(char *const *)a, &x);
    frame_of(*(char *const *)b, &y);
    return x < y ? -1 : x > y;
}

/* The states of a folder in the order of their frames. -1 with a line in err, also if there are none. */
static int list_states(struct kl_dir_list *list, const char *dir, char *err, size_t err_len) {
    uint32_t frame;
    unsigned kept = 0;
    if (kl_dir_list(list, dir, ".state", err, err_len) != 0) return -1;
    for (unsigned i = 0; i < list->count; i++) {
        if (frame_of(list->name[i], &frame))
            list->name[kept++] = list->name[i];
        else
            free(list->name[i]);
    }
    list->count = kept;
    if (kept) {
        qsort(list->name, kept, sizeof *list->name, by_frame);
        return 0;
    }
    kl_dir_list_free(list);
    snprintf(err, err_len, "%s: expected files FRAME.state in it, it has none", dir);
    return -1;
}

static void match(struct kl_series *s, const char *a, const struct kl_dir_list *x, const char *b,
                  const struct kl_dir_list *y) {
    for (unsigned i = 0, k = 0; i < x->count || k < y->count;) {
        uint32_t fx = UINT32_MAX, fy = UINT32_MAX;
        if (i < x->count) frame_of(x->name[i], &fx);
        if (k < y->count) frame_of(y->name[k], &fy);
        if (fx == fy) {
            struct kl_pair *p = &s->at[s->count++];
            p->frame = fx;
            snprintf(p->a, sizeof(p->a), "%.3800s/%s", a, x->name[i]);
            snprintf(p->b, sizeof(p->b), "%.3800s/%s", b, y->name[k]);
        }
        s->only_a += fx < fy;
        s->only_b += fy < fx;
        i += fx <= fy;
        k += fy <= fx;
    }
}

static int open_dirs(struct kl_series *s, const char *a, const char *b, char *err, size_t err_len) {
    struct kl_dir_list x = {NULL, 0}, y = {NULL, 0};
    bool good = list_states(&x, a, err, err_len) == 0 && list_states(&y, b, err, err_len) == 0;
    unsigned n = x.count, m = y.count;
    s->at = good ? calloc(n, sizeof(*s->at)) : NULL;
    if (s->at) match(s, a, &x, b, &y);
    kl_dir_list_free(&x);
    kl_dir_list_free(&y);
    if (!good) return -1;
    if (s->at && s->count) return 0;
    snprintf(err, err_len, "%s and %s have no frame in common (%u and %u states)", a, b, n, m);
    return -1;
}

int kl_series_open(struct kl_series *s, const char *a, const char *b, char *err, size_t err_len) {
    memset(s, 0, sizeof(*s));
    if (kl_dir_exists(a) != kl_dir_exists(b)) {
        snprintf(err, err_len, "expected two states or two folders of them: only %s is a folder",
                 kl_dir_exists(a) ? a : b);
        return -1;
    }
    if (kl_dir_exists(a)) return open_dirs(s, a, b, err, err_len);
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
    struct kl_dir_list list;
    char ignored[256];
    bool any = false;
    if (list_states(&list, dir, ignored, sizeof ignored) != 0) return false;
    for (unsigned i = 0; i < list.count && !any; i++) {
        any = frame_of(list.name[i], found) && *found >= frame;
        if (any) snprintf(path, cap, "%s/%s", dir, list.name[i]);
    }
    kl_dir_list_free(&list);
    return any;
}
