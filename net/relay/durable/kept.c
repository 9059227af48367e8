#include "net/relay/durable/kept.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/clock.h"
#include "net/platform/dir.h"
#include "net/platform/file.h"
#include "net/platform/thread.h"
#include "net/record/klr.h"
#include "net/record/klr_body.h"
#include "net/relay/log/relay_log.h"
#include "net/session/proof.h"

/* --- questions to the verifier --- */

/* Questions to the verifier beside the relay, `keylock verify --watch DIR`: their files. net/record/tie.h. */

static void path_of(const char *dir, const struct kl_tie_question *q, bool verdict, char out[KL_FILE_PATH]) {
    char name[KL_TIE_NAME];
    kl_tie_name(name, q, verdict ? KL_TIE_VERDICT : KL_TIE_ASKED);
    snprintf(out, KL_FILE_PATH, "%s/%s/%s", dir, verdict ? KL_TIE_VERDICTS : KL_TIE_ASK, name);
}

/* A verifier holds a lock of its folder. */
static bool somebody_watches(const char *dir) {
    char path[KL_FILE_PATH];
    struct kl_file lock;
    snprintf(path, sizeof path, "%s/lock", dir);
    if (kl_file_kind_here(path) != KL_FILE_IS_PLAIN) return false;
    int held = kl_file_lock(&lock, path, false, NULL, 0);
    if (held == 0) kl_file_unlock(&lock, NULL);
    return held == KL_FILE_KEPT;
}

static bool copy_asked(const char *dir, const struct kl_kept_question *t, char why[KL_TIE_WHY]) {
    char path[KL_FILE_PATH];
    if (!somebody_watches(dir)) {
        snprintf(why, KL_TIE_WHY, "nobody watches the folder of recordings");
        return false;
    }
    path_of(dir, &t->is, false, path);
    return kl_store_copy(t->store, t->is.room, t->bytes, path, why, KL_TIE_WHY);
}

static enum kl_kept_ask look_for_verdict(const char *dir, const struct kl_tie_question *q,
                                         struct kl_klr_hash *found, char why[KL_TIE_WHY]) {
    char path[KL_FILE_PATH];
    void *text;
    size_t len;
    path_of(dir, q, true, path);
    int got = kl_file_read(path, KL_TIE_ANSWER, KL_FILE_NO_LINK, &text, &len, NULL, 0);
    if (got == KL_FILE_ABSENT) return KL_KEPT_ASKED;
    bool good = got == 0 && kl_tie_read_answer(text, found, why);
    free(text);
    if (!good) snprintf(why, KL_TIE_WHY, "the verifier's answer is none");
    return good && found->has ? KL_KEPT_ANSWERED : KL_KEPT_CANNOT;
}

static void remove_question(const char *dir, const struct kl_tie_question *q) {
    char path[KL_FILE_PATH];
    for (unsigned i = 0; i < 2; i++) {
        path_of(dir, q, i, path);
        (void)kl_file_remove(path, NULL, 0);
    }
}

static void clear(const char *dir, const char *folder, const char *ending) {
    char path[KL_FILE_PATH];
    struct kl_dir_list list;
    struct kl_tie_question q;
    snprintf(path, sizeof path, "%s/%s", dir, folder);
    if (kl_dir_list(&list, path, ending, NULL, 0) != 0) return;
    for (unsigned i = 0; i < list.count; i++)
        if (kl_tie_read_name(list.name[i], ending, &q)) remove_question(dir, &q);
    kl_dir_list_free(&list);
}

void kl_kept_ask_clear(const char *dir) {
    clear(dir, KL_TIE_ASK, KL_TIE_ASKED);
    clear(dir, KL_TIE_VERDICTS, KL_TIE_VERDICT);
}

/* --- the name of a recording --- */

#define TIME_CHARS 15 /* 20240506-070809 */
#define REPORTED   "-reported.klr"

static bool is_name(const char *name) {
    return strspn(name, "0123456789-") > TIME_CHARS;
}

static bool is_reported(const char *name) {
    size_t n = strlen(name), m = strlen(REPORTED);
    return n >= m && !strcmp(name + n - m, REPORTED);
}

/* --- deleting --- */

/* A player's wish that the recording of a match be deleted. */

#define ROOM_CHARS (2 * KL_ROOM_ID_BYTES)

static bool is_of(const char *name, const char *room) {
    return is_name(name) && strlen(name) > KL_KEPT_ROOM_AT + ROOM_CHARS &&
           memcmp(name + KL_KEPT_ROOM_AT, room, ROOM_CHARS) == 0;
}

/* Does the file hold hashes that this key has signed in that room? What stands in it is no more than a word:
 * the host may have laid it there. */
static enum kl_kept_fate look(const char *path, const struct kl_kept_wish *w) {
    const void *bytes;
    size_t len;
    struct kl_klr_cursor c;
    struct kl_klr_sign s;
    if (kl_file_map(path, &bytes, &len) != 0)
        return kl_file_kind_here(path) == KL_FILE_IS_NONE ? KL_KEPT_NONE : KL_KEPT_STAYS;
    enum kl_kept_fate fate = kl_klr_open(&c, bytes, len) ? KL_KEPT_ANOTHERS : KL_KEPT_STAYS;
    c.checked = len; /* it is not damage that is looked for */
    while (fate == KL_KEPT_ANOTHERS && kl_klr_next(&c) == KL_KLR_BLOCK) {
        if (c.type != KL_KLR_SIGN) continue;
        struct kl_reader r = kl_reader(c.body, c.body_len);
        kl_klr_read_sign(&r, &s);
        if (!r.failed && memcmp(s.seat_pub, w->seat_key, sizeof s.seat_pub) == 0 &&
            kl_sign_is_good(&s.sign, w->room_id, w->seat_key))
            fate = KL_KEPT_DELETED;
    }
    kl_file_unmap(bytes, len);
    return fate;
}

static enum kl_kept_fate delete_file(const char *path, const struct kl_kept_wish *w) {
    char err[KL_FILE_PATH + 64] = "it is no recording that this relay reads";
    enum kl_kept_fate fate = look(path, w);
    if (fate == KL_KEPT_DELETED) {
        int gone = kl_file_remove(path, err, sizeof err);
        fate = gone == 0 ? KL_KEPT_DELETED : gone < 0 ? KL_KEPT_STAYS : KL_KEPT_NONE;
    }
    if (fate == KL_KEPT_DELETED)
        kl_log(KL_LOG_INFO, "recording_deleted", "file=%s by=\"one of its players\"", path);
    if (fate == KL_KEPT_STAYS) kl_log(KL_LOG_ERROR, "recording_stays", "file=%s reason=\"%s\"", path, err);
    return fate;
}

/* Of DIR/FOLDER. One that is not this player's makes the worse fate. */
static enum kl_kept_fate delete_in(const char *dir, const char *folder, const char *room,
                                   const struct kl_kept_wish *w) {
    enum kl_kept_fate fate = KL_KEPT_NONE;
    struct kl_dir_list list;
    char in[KL_FILE_PATH], path[KL_FILE_PATH];
    if (kl_file_join(in, sizeof in, dir, folder, NULL, 0) != 0 ||
        kl_dir_list(&list, in, ".klr", NULL, 0) != 0)
        return KL_KEPT_NONE;
    for (unsigned i = 0; i < list.count; i++) {
        const char *name = list.name[i];
        if (!is_of(name, room) || kl_file_join(path, sizeof path, in, name, NULL, 0) != 0) continue;
        fate = is_reported(name) ? KL_KEPT_REPORTED : delete_file(path, w);
    }
    kl_dir_list_free(&list);
    return fate;
}

static enum kl_kept_fate delete_recordings(const char *dir, const struct kl_kept_wish *w) {
    char room[ROOM_CHARS + 1];
    sodium_bin2hex(room, sizeof room, w->room_id, sizeof w->room_id);
    enum kl_kept_fate fate = delete_in(dir, "new", room, w); /* a verifier moves files from here to there */
    if (fate == KL_KEPT_NONE) fate = delete_in(dir, "kept", room, w);
    if (fate == KL_KEPT_DELETED) {
        /* For the verifier, if one has made that folder. */
        char in[KL_FILE_PATH], path[KL_FILE_PATH], err[KL_FILE_PATH + 64];
        if (kl_file_join(in, sizeof in, dir, KL_KEPT_FORGET, err, sizeof err) == 0 && kl_dir_exists(in) &&
            kl_file_join(path, sizeof path, in, room, err, sizeof err) == 0 &&
            kl_file_write_whole(path, "", 0, KL_FILE_PRIVATE, err, sizeof err) < 0)
            kl_log(KL_LOG_ERROR, "verifier_untold", "reason=\"%s\"", err);
    }
    return fate;
}

/* --- recordings --- */

#define MINUTE_US UINT64_C(60000000)
#define HOUR_US   (60 * MINUTE_US)
#define DAY_US    (24 * HOUR_US)
#define DIR_BYTES 768

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
        t->reported = is_reported(t->name);
        snprintf(path, sizeof path, "%s/%s/%s", dir, in, t->name);
        if (!is_name(t->name) || !kl_file_stamp(path, &t->bytes, &changed)) continue;
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
    char path[KL_FILE_PATH];
    for (unsigned i = 0; i < FOLDERS; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, folder[i]);
        if (kl_dir_list(&list[i], path, ".klr", NULL, 0) == 0) add(&all, dir, folder[i], &list[i]);
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
        w->fate = delete_recordings(a->dir, w);
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
            remove_question(a->dir, &now.is);
        else
            now.state = copy_asked(a->dir, &now, now.why) ? KL_KEPT_ASKED : KL_KEPT_CANNOT;
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
    return state == KL_KEPT_ASKED ? look_for_verdict(a->dir, q, found, why) : state;
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
