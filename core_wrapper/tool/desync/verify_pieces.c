/* One recording's run in pieces that run at once, from states that an earlier run has kept. */
#include "core_wrapper/tool/desync/verify.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/dir.h"
#include "net/platform/thread.h"

#define PIECES_MAX   16
#define PIECE_FRAMES 600 /* at least; and a PIECES_MAX-th of all frames */
#define JOBS_MAX     64

struct piece {
    struct kl_verify *v;           /* of these frames alone; heap */
    uint32_t to;                   /* the frame after them */
    const struct kl_verify *after; /* begins with the state of that frame; NULL: the recording ends there */
};
struct pieces {
    struct piece at[PIECES_MAX + 1];
    unsigned count, next;
    atomic_bool failed;
    struct kl_mutex mutex; /* of next */
    struct kl_verify *all;
};

/* --- the states --- */

uint32_t kl_verify_pieces_next(const struct kl_verify *v, uint32_t at) {
    const struct kl_recording *r = &v->rec;
    uint32_t apart = r->whole / PIECES_MAX + 1, to = 0;
    if (!v->wish->pieces || r->first) return r->whole;
    if (apart < PIECE_FRAMES) apart = PIECE_FRAMES;
    for (uint32_t k = at / apart; to <= at; k++) {
        to = k * apart;
        while (to > 0 && to < r->whole && v->what[to - 1] != KLT_HASH_FULL)
            to++;
        if (to >= r->whole) return r->whole;
    }
    return to;
}

/* Of this recording's bytes: another one's states are elsewhere. */
static void name_folder(const struct kl_verify *v, char *out, size_t len) {
    uint8_t hash[16];
    char hex[2 * sizeof(hash) + 1];
    crypto_generichash(hash, sizeof(hash), v->rec.bytes, v->rec.len, NULL, 0);
    sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
    snprintf(out, len, "%.2000s/%s", v->wish->pieces, hex);
}

void kl_verify_pieces_keep(struct kl_verify *v, struct kl_machine *m) {
    char dir[KL_FILE_PATH - 64], path[KL_FILE_PATH], err[KLT_ERR];
    struct kl_statefile s;
    if (!v->wish->pieces || m->frame == v->rec.whole || v->rec.first) return;
    if (kl_machine_save(m, &s, err, sizeof(err)) != 0) return;
    name_folder(v, dir, sizeof(dir));
    kl_statefile_name(path, sizeof(path), dir, m->frame - 1);
    if (kl_dir_make(dir, true, err, sizeof(err)) != 0 ||
        kl_statefile_write(path, &s.origin, s.bytes, s.len, err, sizeof(err)) != 0)
        snprintf(v->note, sizeof(v->note), "states are not kept: %.200s", err);
    kl_statefile_free(&s);
}

static bool add(struct pieces *p, const char *dir, uint32_t from, uint32_t to) {
    char path[KL_FILE_PATH], err[KLT_ERR];
    struct kl_verify *v = malloc(sizeof(*v));
    if (!v) return false;
    memcpy(v, p->all, sizeof(*v));
    memset(&v->begin, 0, sizeof(v->begin));
    v->from = from;
    p->at[p->count++] = (struct piece){.v = v, .to = to};
    if (p->count > 1) p->at[p->count - 2].after = v;
    if (!from) return true;
    kl_statefile_name(path, sizeof(path), dir, from - 1);
    return kl_statefile_read(&v->begin, path, err, sizeof(err)) == 0 && v->begin.origin.has_frame &&
           v->begin.origin.frame == from - 1;
}

/* False: not all of its states are there. */
static bool find_pieces(struct pieces *p) {
    char dir[KL_FILE_PATH - 64];
    const struct kl_verify *v = p->all;
    name_folder(v, dir, sizeof(dir));
    for (uint32_t at = 0; at < v->rec.whole;) {
        uint32_t to = kl_verify_pieces_next(v, at);
        if (p->count > PIECES_MAX || !add(p, dir, at, to)) return false;
        at = to;
    }
    return p->count > 1;
}

/* --- running --- */

static bool stands_at(struct kl_machine *m, const struct kl_statefile *s) {
    char err[KLT_ERR];
    struct kl_statefile is;
    if (kl_machine_save(m, &is, err, sizeof(err)) != 0) return false;
    bool same = is.len == s->len && memcmp(is.bytes, s->bytes, s->len) == 0 &&
                is.origin.epoch_s == s->origin.epoch_s && is.origin.chance == s->origin.chance;
    kl_statefile_free(&is);
    return same;
}

static bool run_piece(struct pieces *p, struct piece *one) {
    struct kl_verify *v = one->v;
    struct kl_machine m = {0};
    bool good = kl_verify_begin(v, &m) == 0;
    while (good && m.frame < one->to) {
        uint32_t at = m.frame;
        int n = kl_verify_run_on(v, &m, one->to);
        good = n > 0 && !p->failed;
        for (int i = 0; good && i < n; i++)
            good = v->what[at + (uint32_t)i] != KLT_HASH_FULL || kl_verify_agrees(v, &v->line[i]);
        if (good) atomic_fetch_add(&p->all->done, (unsigned)n);
    }
    good = good && (!one->after || stands_at(&m, &one->after->begin));
    kl_machine_stop(&m);
    return good;
}

static void work(void *arg) {
    struct pieces *p = arg;
    kl_mutex_lock(&p->mutex);
    while (p->next < p->count && !p->failed) {
        struct piece *one = &p->at[p->next++];
        kl_mutex_unlock(&p->mutex);
        bool good = run_piece(p, one);
        kl_mutex_lock(&p->mutex);
        if (!good) p->failed = true;
    }
    kl_mutex_unlock(&p->mutex);
}

static void run_all(struct pieces *p) {
    static struct kl_thread thread[JOBS_MAX];
    unsigned started = 0;
    while (started + 1 < p->all->wish->jobs && started < JOBS_MAX &&
           kl_thread_start(&thread[started], "keylock-piece", work, p) == 0)
        started++;
    work(p);
    for (unsigned i = 0; i < started; i++)
        kl_thread_join(&thread[i]);
}

bool kl_verify_pieces(struct kl_verify *v) {
    struct pieces *p = v->wish->pieces && !v->rec.first && v->wish->files == 1 ? calloc(1, sizeof(*p)) : NULL;
    if (!p) return false;
    p->all = v;
    bool good = find_pieces(p);
    if (good) run_all(p);
    bool verified = good && !p->failed;
    atomic_store(&v->done, 0);
    for (unsigned i = 0; i < p->count; i++) {
        const struct kl_verify *one = p->at[i].v;
        if (verified && one->hashes) {
            v->hashes += one->hashes;
            v->parts |= one->parts;
            v->agreed = one->agreed;
        }
        kl_statefile_free(&p->at[i].v->begin);
        free(p->at[i].v);
    }
    if (verified && !*v->note)
        snprintf(v->note, sizeof(v->note), "in %u pieces from states of an earlier run", p->count);
    else if (good && !verified && !*v->note)
        snprintf(v->note, sizeof(v->note), "the states of an earlier run do not fit: run whole");
    free(p);
    return verified;
}
