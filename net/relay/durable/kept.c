#include "net/relay/durable/kept.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/clock.h"
#include "net/platform/dir.h"
#include "net/platform/file.h"
#include "net/platform/thread.h"
#include "net/relay/log/relay_log.h"

#define MINUTE_US UINT64_C(60000000)
#define HOUR_US   (60 * MINUTE_US)
#define DAY_US    (24 * HOUR_US)
#define DIR_BYTES 768
#define REPORTED  "-reported.klr"

#define WISHES 16

static const char *const folder[] = {"new", "kept"};
#define FOLDERS (sizeof folder / sizeof *folder)

struct kl_kept_recordings {
    char dir[DIR_BYTES], new[DIR_BYTES + 16];
    struct kl_kept_limits limits;
    struct kl_thread thread;
    struct kl_mutex lock; /* of the rest */
    struct kl_cond changed;
    bool grew, closing;
    struct kl_kept_wish wish[WISHES];
    unsigned put, done, got; /* wishes so far: of players, with their fates, that were told */
    struct kl_kept_question question[KL_TIE_OPEN];
};

/* --- names --- */

#define TIME_CHARS 15 /* 20240506-070809 */

/* Of 2024-05-06T07:08:09.123Z. */
static void time_text(char out[TIME_CHARS + 1], uint64_t wall_us) {
    char t[KL_WALL_TEXT];
    kl_wall_text(t, wall_us);
    snprintf(out, TIME_CHARS + 1, "%.4s%.2s%.2s-%.2s%.2s%.2s", t, t + 5, t + 8, t + 11, t + 14, t + 17);
}

void kl_kept_name(char out[KL_KEPT_NAME], const char *room_id, uint64_t epoch_s, bool ended, bool reported) {
    char begun[TIME_CHARS + 1];
    time_text(begun, epoch_s * 1000000);
    snprintf(out, KL_KEPT_NAME, "%s-%.32s%s%s", begun, room_id, ended ? "" : "-broken",
             reported ? REPORTED : ".klr");
}

const char *kl_kept_new(const struct kl_kept_recordings *a) {
    return a->new;
}

bool kl_kept_is_name(const char *name) {
    return strspn(name, "0123456789-") > TIME_CHARS;
}

bool kl_kept_is_reported(const char *name) {
    size_t n = strlen(name), m = strlen(REPORTED);
    return n >= m && !strcmp(name + n - m, REPORTED);
}

/* --- bounds --- */

struct item {
    const char *folder, *name;
    uint64_t bytes;
    bool reported;
};

struct items {
    struct item *at;
    size_t count;
    uint64_t bytes;
};

static void add(struct items *all, const char *dir, const char *in, const struct kl_dir_list *list) {
    char path[KL_FILE_PATH];
    uint64_t changed;
    struct item *more = realloc(all->at, (all->count + list->count + 1) * sizeof *more);
    if (!more) return;
    all->at = more;
    for (unsigned i = 0; i < list->count; i++) {
        struct item *t = &all->at[all->count];
        *t = (struct item){.folder = in, .name = list->name[i]};
        t->reported = kl_kept_is_reported(t->name);
        snprintf(path, sizeof path, "%s/%s/%s", dir, in, t->name);
        if (!kl_kept_is_name(t->name) || !kl_file_stamp(path, &t->bytes, &changed)) continue;
        all->bytes += t->bytes;
        all->count++;
    }
}

/* In the order in which they give way. */
static int compare(const void *a, const void *b) {
    const struct item *x = a, *y = b;
    return x->reported != y->reported ? x->reported - y->reported : strcmp(x->name, y->name);
}

static void keep_bounds(struct items *all, const char *dir, struct kl_kept_limits limits, uint64_t wall_us) {
    char oldest[TIME_CHARS + 1];
    uint64_t kept_us = limits.days * DAY_US;
    time_text(oldest, wall_us > kept_us ? wall_us - kept_us : 0);
    if (all->count) qsort(all->at, all->count, sizeof *all->at, compare);
    for (size_t i = 0; i < all->count; i++) {
        const struct item *t = &all->at[i];
        bool old = !t->reported && strcmp(t->name, oldest) < 0;
        if (!old && all->bytes <= limits.all_bytes) continue;
        const char *why = old ? "it is older than --record-days" : "all recordings have --record-mib";
        char path[KL_FILE_PATH], err[KL_FILE_PATH + 64] = "";
        snprintf(path, sizeof path, "%s/%s/%s", dir, t->folder, t->name);
        bool gone = kl_file_remove(path, err, sizeof err) >= 0;
        kl_log(gone ? KL_LOG_INFO : KL_LOG_ERROR, gone ? "recording_removed" : "recording_stays",
               "file=%s/%s bytes=%llu reason=\"%s\"", t->folder, t->name, (unsigned long long)t->bytes,
               gone ? why : err);
        all->bytes -= t->bytes;
    }
}

void kl_kept_tidy(const char *dir, struct kl_kept_limits limits, uint64_t wall_us) {
    struct kl_dir_list list[FOLDERS] = {{0}};
    struct items all = {0};
    char path[KL_FILE_PATH], ignored[KL_FILE_PATH + 64];
    for (unsigned i = 0; i < FOLDERS; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, folder[i]);
        if (kl_dir_list(&list[i], path, ".klr", ignored, sizeof ignored) == 0)
            add(&all, dir, folder[i], &list[i]);
    }
    keep_bounds(&all, dir, limits, wall_us);
    free(all.at);
    for (unsigned i = 0; i < FOLDERS; i++)
        kl_dir_list_free(&list[i]);
}

/* --- the thread --- */

/* With the lock. */
static void grant(struct kl_kept_recordings *a) {
    struct kl_kept_wish *w = &a->wish[a->done % WISHES];
    kl_mutex_unlock(&a->lock);
    if (w->challenge)
        kl_kept_challenge(a->dir, w->challenge, kl_wall_us() / 1000000);
    else
        w->fate = kl_kept_delete(a->dir, w);
    kl_mutex_lock(&a->lock);
    a->grew |= w->challenge && w->challenge->code == KL_REFUSE_TAKEN;
    a->done++;
}

/* The same. The next question that has its files to go, or to come: a new one may have the names of a dropped
 * one. False: none has. */
static bool serve(struct kl_kept_recordings *a) {
    for (unsigned i = 0; i < 2 * KL_TIE_OPEN; i++) {
        struct kl_kept_question *t = &a->question[i % KL_TIE_OPEN], now = *t;
        bool comes = !now.dropped && now.state == KL_KEPT_UNASKED && i >= KL_TIE_OPEN;
        if (!now.open || !(now.dropped || comes)) continue;
        kl_mutex_unlock(&a->lock);
        if (now.dropped)
            kl_kept_ask_remove(a->dir, &now.is);
        else
            now.state = kl_kept_ask_copy(a->dir, &now, now.why) ? KL_KEPT_ASKED : KL_KEPT_CANNOT;
        kl_mutex_lock(&a->lock);
        now.open = !now.dropped;
        now.dropped = now.open && t->dropped; /* meanwhile */
        *t = now;
        return true;
    }
    return false;
}

static void run(void *arg) {
    struct kl_kept_recordings *a = arg;
    uint64_t tidy_us = 0;
    kl_mutex_lock(&a->lock);
    while (!a->closing) {
        uint64_t now_us = kl_now_us();
        if (a->grew && tidy_us > now_us + MINUTE_US) tidy_us = now_us + MINUTE_US;
        a->grew = false;
        if (a->done != a->put) {
            grant(a);
        } else if (serve(a)) {
            continue;
        } else if (now_us >= tidy_us) {
            kl_mutex_unlock(&a->lock);
            kl_kept_tidy(a->dir, a->limits, kl_wall_us());
            kl_mutex_lock(&a->lock);
            tidy_us = kl_now_us() + HOUR_US;
        } else {
            (void)kl_cond_wait_until(&a->changed, &a->lock, tidy_us);
        }
    }
    kl_mutex_unlock(&a->lock);
}

static void wake(struct kl_kept_recordings *a, bool *why) {
    kl_mutex_lock(&a->lock);
    *why = true;
    kl_cond_wake(&a->changed);
    kl_mutex_unlock(&a->lock);
}

void kl_kept_grew(struct kl_kept_recordings *a) {
    wake(a, &a->grew);
}

bool kl_kept_wish(struct kl_kept_recordings *a, const struct kl_kept_wish *w) {
    kl_mutex_lock(&a->lock);
    bool fits = a->put - a->got < WISHES;
    if (fits) a->wish[a->put++ % WISHES] = *w;
    kl_cond_wake(&a->changed);
    kl_mutex_unlock(&a->lock);
    return fits;
}

bool kl_kept_next(struct kl_kept_recordings *a, struct kl_kept_wish *out) {
    kl_mutex_lock(&a->lock);
    bool any = a->got != a->done;
    if (any) *out = a->wish[a->got++ % WISHES];
    kl_mutex_unlock(&a->lock);
    return any;
}

/* --- questions --- */

static struct kl_kept_question *question_of(struct kl_kept_recordings *a, const uint8_t room[KL_STORE_ID]) {
    for (unsigned i = 0; i < KL_TIE_OPEN; i++) {
        struct kl_kept_question *t = &a->question[i];
        if (t->open && !t->dropped && memcmp(t->is.room, room, KL_STORE_ID) == 0) return t;
    }
    return NULL;
}

static void drop(struct kl_kept_recordings *a, const uint8_t room[KL_STORE_ID]) {
    struct kl_kept_question *t = question_of(a, room);
    if (!t) return;
    t->dropped = true;
    kl_cond_wake(&a->changed);
}

bool kl_kept_ask(struct kl_kept_recordings *a, const struct kl_tie_question *q, const struct kl_store *store,
                 uint64_t bytes) {
    struct kl_kept_question *t = NULL;
    kl_mutex_lock(&a->lock);
    drop(a, q->room);
    for (unsigned i = 0; i < KL_TIE_OPEN && bytes <= KL_TIE_BYTES; i++)
        if (!a->question[i].open) t = &a->question[i];
    if (t) *t = (struct kl_kept_question){.open = true, .is = *q, .store = store, .bytes = bytes};
    kl_cond_wake(&a->changed);
    kl_mutex_unlock(&a->lock);
    return t;
}

enum kl_kept_ask kl_kept_answer(struct kl_kept_recordings *a, const struct kl_tie_question *q,
                                struct kl_klr_hash *found, char why[KL_TIE_WHY]) {
    enum kl_kept_ask state = KL_KEPT_CANNOT;
    snprintf(why, KL_TIE_WHY, "it is not asked");
    kl_mutex_lock(&a->lock);
    const struct kl_kept_question *t = question_of(a, q->room);
    if (t && t->is.label == q->label) {
        state = t->state;
        memcpy(why, t->why, KL_TIE_WHY);
    }
    kl_mutex_unlock(&a->lock);
    return state == KL_KEPT_ASKED ? kl_kept_ask_look(a->dir, q, found, why) : state;
}

void kl_kept_ask_no_more(struct kl_kept_recordings *a, const uint8_t room[KL_STORE_ID]) {
    kl_mutex_lock(&a->lock);
    drop(a, room);
    kl_mutex_unlock(&a->lock);
}

int kl_kept_open(struct kl_kept_recordings **out, const char *dir, struct kl_kept_limits limits, char *err,
                 size_t err_len) {
    struct kl_kept_recordings *a = calloc(1, sizeof *a);
    int made = -1;
    if (a) {
        a->limits = limits;
        snprintf(a->dir, sizeof a->dir, "%s", dir);
        snprintf(a->new, sizeof a->new, "%s/challenges", a->dir);
        made = kl_dir_make(a->new, true, err, err_len);
        snprintf(a->new, sizeof a->new, "%s/%s", a->dir, folder[0]);
        if (made == 0) made = kl_dir_make(a->new, true, err, err_len);
        if (made == 0) kl_kept_ask_clear(a->dir);
        if (made == 0 && kl_thread_start(&a->thread, "keylock-kept", run, a) == 0) {
            *out = a;
            return 0;
        }
    }
    if (made == 0 || !a) snprintf(err, err_len, "no memory for the recordings' folder");
    free(a);
    return -1;
}

void kl_kept_close(struct kl_kept_recordings *a) {
    if (!a) return;
    wake(a, &a->closing);
    kl_thread_join(&a->thread);
    for (; a->got != a->put; a->got++)
        kl_kept_challenge_free(a->wish[a->got % WISHES].challenge);
    kl_kept_ask_clear(a->dir);
    free(a);
}
