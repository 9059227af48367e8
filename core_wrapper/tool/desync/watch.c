/* A verdict is in the database before its file is moved: killed at any moment, this loses none. At the next
 * start a file of DIR/new whose verdict is there is only moved. */
#include "core_wrapper/tool/desync/verify.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/tool/common/report.h"
#include "net/engine/plain.h"
#include "net/record/tie.h"
#include "net/platform/clock.h"
#include "net/platform/dir.h"
#include "net/platform/file.h"
#include "net/platform/wait.h"

#define LOCK_US    100000
#define LOOK_US    1000000 /* between looks at an empty folder */
#define NEW_US     10000000
#define TURN_MS    1000 /* of waiting for a child, before a look whether this is to stop */
#define LOOK_MAX_S 60   /* for reading a file */
#define RUN_MAX_S  7200 /* for running one */
#define ANSWER_MAX (4u << 20)
#define HOUR_US    3600000000u
#define OPTIONS    (2 * KLT_VERIFY_PLACES * 2 + 16)

struct entry {
    char *name;
    bool reported;
};
struct watch {
    const struct kl_watch_wish *wish;
    struct kl_database *db;
    struct kl_file lock;
    char in[KL_FILE_PATH], kept[KL_FILE_PATH], deleted[KL_FILE_PATH];
    char asked[KL_FILE_PATH], verdicts[KL_FILE_PATH];
    bool decides;       /* a tie, now */
    struct entry *file; /* in DIR/new, in order of names */
    unsigned files;
    uint64_t forget_us;
    char err[KLT_ERR];
};

static int fail(struct watch *w) {
    return tool_fail(KLT_FAILED, "verify", "%s", w->err);
}

/* --- a child --- */

/* A verdict for a file whose child did not say one. */
static json_object *nothing_said(const char *path, const char *why) {
    json_object *j = json_object_new_object();
    json_object_object_add(j, "file", json_object_new_string(path));
    json_object_object_add(j, "verdict", json_object_new_string(kl_verify_word(KLT_CANNOT, false)));
    json_object_object_add(j, "exit", json_object_new_int(KLT_CANNOT));
    json_object_object_add(j, "why", json_object_new_string(why));
    return j;
}

static void take_ties(struct watch *w);

/* The child's object of this file, with these options more. Ties are decided meanwhile. NULL: this program is
 * to stop. */
static json_object *ask_for(struct watch *w, const char *path, unsigned seconds, const char *const *more) {
    const char *args[OPTIONS] = {"keylock", "verify-child"}, *const *o = w->wish->options;
    unsigned n = 2;
    while (*o)
        args[n++] = *o++;
    while (*more)
        args[n++] = *more++;
    args[n++] = "--";
    args[n++] = path;
    struct kl_process_setup setup = {.arguments = args};
    struct kl_process child;
    struct kl_process_end how;
    enum kl_process_result got = KL_PROCESS_LATE;
    bool speaks = false;
    char why[256];
    void *bytes = NULL;
    size_t len;
    if (kl_process_start(&child, &setup, why, sizeof(why)) != 0) return nothing_said(path, why);
    int channel = child.channel;
    for (unsigned i = 0; i < seconds && !speaks && !kl_process_stopped(); i++) {
        speaks = kl_wait_for(&channel, 1, kl_now_us() + TURN_MS * 1000u);
        if (!speaks) take_ties(w);
    }
    if (speaks) got = kl_process_answer(&child, ANSWER_MAX, 10 * TURN_MS, &bytes, &len);
    kl_process_end(&child, got == KL_PROCESS_OK ? TURN_MS : 0, &how);
    json_object *j = bytes ? json_tokener_parse(bytes) : NULL;
    free(bytes);
    if (j || kl_process_stopped()) return j;
    if (got == KL_PROCESS_LATE)
        snprintf(why, sizeof(why), "it takes more than %u s", seconds);
    else
        snprintf(why, sizeof(why), "the process that ran it has ended%s%s", how.crashed ? ": " : "", how.why);
    return nothing_said(path, why);
}

/* look: it runs nothing. */
static json_object *ask(struct watch *w, const char *path, bool look) {
    const char *const more[] = {look ? "--look" : NULL, NULL};
    return ask_for(w, path, look ? LOOK_MAX_S : RUN_MAX_S, more);
}

static bool is_reported(json_object *found) {
    json_object *list;
    return json_object_object_get_ex(found, "reports", &list) && json_object_array_length(list) > 0;
}

static int code_of(json_object *found) {
    json_object *code;
    return json_object_object_get_ex(found, "exit", &code) && code ? json_object_get_int(code) : -1;
}

/* --- the folder --- */

static int path_in(struct watch *w, const char *dir, const char *name, char out[KL_FILE_PATH]) {
    return kl_file_join(out, KL_FILE_PATH, dir, name, w->err, sizeof(w->err));
}

#define REPORTED "-reported" /* the relay keeps such files beyond --record-days */

static bool is_marked(const char *name) {
    const char *dot = strrchr(name, '.');
    size_t mark = strlen(REPORTED);
    return (size_t)(dot - name) >= mark && !strncmp(dot - mark, REPORTED, mark);
}

/* New names are looked at; those that are left after some seconds have their turn behind the next file. -1:
 * told in w->err, or this program is to stop. */
static int look_at_folder(struct watch *w) {
    struct kl_dir_list list;
    unsigned old = 0, count = 0;
    uint64_t until_us = kl_now_us() + NEW_US;
    if (kl_dir_list(&list, w->in, ".klr", w->err, sizeof(w->err)) != 0) return -1;
    struct entry *file = calloc(list.count + 1, sizeof(*file));
    if (!file) snprintf(w->err, sizeof(w->err), "out of memory");
    for (unsigned i = 0; file && i < list.count && !kl_process_stopped(); i++) {
        char path[KL_FILE_PATH];
        while (old < w->files && strcmp(w->file[old].name, list.name[i]) < 0)
            free(w->file[old++].name);
        if (old < w->files && !strcmp(w->file[old].name, list.name[i])) {
            file[count++] = w->file[old++];
            continue;
        }
        if (kl_now_us() > until_us) continue;
        bool marked = is_marked(list.name[i]) || path_in(w, w->in, list.name[i], path) != 0;
        json_object *found = marked ? NULL : ask(w, path, true);
        file[count++] = (struct entry){strdup(list.name[i]), marked || (found && is_reported(found))};
        json_object_put(found);
    }
    while (old < w->files)
        free(w->file[old++].name);
    free(w->file);
    w->file = file;
    w->files = file ? count : 0;
    kl_dir_list_free(&list);
    return file ? 0 : -1;
}

static const struct entry *next_file(const struct watch *w) {
    for (unsigned i = 0; i < w->files; i++)
        if (w->file[i].reported) return &w->file[i];
    return w->files ? &w->file[0] : NULL;
}

/* --- ties --- */

static uint64_t hash_of(json_object *tie, const char *key) {
    json_object *text = NULL;
    return json_object_object_get_ex(tie, key, &text) && text
               ? strtoull(json_object_get_string(text), NULL, 16)
               : 0;
}

/* The run's hashes of a tie. has 0, with why: there are none. */
static struct kl_klr_hash hashes_of(json_object *found, const char **why) {
    json_object *tie, *has = NULL, *text = NULL;
    *why = json_object_object_get_ex(found, "why", &text) && text ? json_object_get_string(text) : "";
    if (!json_object_object_get_ex(found, "tie", &tie)) return (struct kl_klr_hash){0};
    (void)json_object_object_get_ex(tie, "has", &has);
    return (struct kl_klr_hash){.has = (uint8_t)json_object_get_int(has),
                                .ram = hash_of(tie, "ram"),
                                .state = hash_of(tie, "state"),
                                .picture = hash_of(tie, "picture")};
}

static void print(const struct watch *w, const char *name, json_object *found);

/* The answer is there before the question goes: killed at any moment, this loses none. */
static void decide(struct watch *w, const char *name, const struct kl_tie_question *q) {
    char path[KL_FILE_PATH], to[KL_FILE_PATH], verdict[KL_TIE_NAME], label[16], text[KL_TIE_ANSWER];
    const char *const more[] = {"--tie", "--label", label, NULL};
    const char *why;
    kl_tie_name(verdict, q, KL_TIE_VERDICT);
    if (path_in(w, w->asked, name, path) != 0 || path_in(w, w->verdicts, verdict, to) != 0) return;
    snprintf(label, sizeof(label), "%" PRIu32, q->label);
    json_object *found = ask_for(w, path, KL_TIE_ANSWERS_S, more);
    if (!found) return;
    struct kl_klr_hash h = hashes_of(found, &why);
    size_t len = kl_tie_write_answer(text, &h, why);
    bool wanted = kl_file_kind_here(path) == KL_FILE_IS_PLAIN; /* the relay may not wait any more */
    if (wanted &&
        kl_file_write_whole(to, text, len, KL_FILE_NO_LINK | KL_FILE_QUICK, w->err, sizeof(w->err)) == 0)
        print(w, name, found);
    json_object_put(found);
    (void)kl_file_remove(path, w->err, sizeof(w->err));
}

/* The oldest question of DIR/ask, if there is one. */
static void take_ties(struct watch *w) {
    struct kl_dir_list list;
    struct kl_tie_question q, oldest_q;
    const char *oldest = NULL;
    uint64_t bytes, changed, oldest_changed = 0;
    char path[KL_FILE_PATH];
    if (w->decides || kl_dir_list(&list, w->asked, KL_TIE_ASKED, w->err, sizeof(w->err)) != 0) return;
    for (unsigned i = 0; i < list.count; i++) {
        bool good = kl_tie_read_name(list.name[i], KL_TIE_ASKED, &q) &&
                    path_in(w, w->asked, list.name[i], path) == 0 && kl_file_stamp(path, &bytes, &changed);
        if (!good || (oldest && changed >= oldest_changed)) continue;
        oldest = list.name[i];
        oldest_q = q;
        oldest_changed = changed;
    }
    w->decides = true;
    if (oldest) decide(w, oldest, &oldest_q);
    w->decides = false;
    kl_dir_list_free(&list);
}

/* --- one file --- */

static bool sum_of(const char *path, char out[KLT_SUM]) {
    uint8_t sum[(KLT_SUM - 1) / 2];
    const void *bytes;
    size_t len;
    if (kl_file_map(path, &bytes, &len) != 0) return false;
    crypto_generichash(sum, sizeof(sum), bytes, len, NULL, 0);
    kl_file_unmap(bytes, len);
    sodium_bin2hex(out, KLT_SUM, sum, sizeof(sum));
    return true;
}

/* A name that no other file of DIR/kept has: NAME, marked if it is reported; or a number stands before its
 * end. */
static int free_name(struct watch *w, const char *name, const char *sum, bool reported, char out[KLT_FILE]) {
    char path[KL_FILE_PATH];
    const char *dot = strrchr(name, '.');
    snprintf(out, KLT_FILE, "%.*s%s%s", (int)(dot - name), name, reported && !is_marked(name) ? REPORTED : "",
             dot);
    for (unsigned n = 2; path_in(w, w->kept, out, path) == 0; n++) {
        if (kl_file_kind_here(path) == KL_FILE_IS_NONE && !kl_database_has_file(w->db, out, sum)) return 0;
        snprintf(out, KLT_FILE, "%.*s.%u%s%s", (int)(dot - name), name, n, reported ? REPORTED : "", dot);
    }
    return -1;
}

/* Runs --on-verdict with the object on its input. */
static void tell_command(struct watch *w, json_object *found) {
    char path[KL_FILE_PATH], err[KLT_ERR];
    const char *const args[] = {"sh", "-c", "eval \"$1\" <\"$2\"", "sh", w->wish->on_verdict, path, NULL};
    struct kl_process p;
    if (path_in(w, w->wish->dir, "verdict.json", path) != 0 ||
        kl_report_write(path, json_object_get(found), err, sizeof(err)) != 0)
        return;
    if (kl_process_run(&p, "/bin/sh", args, err, sizeof(err)) == 0) {
        int channel = p.channel;
        while (!kl_wait_for(&channel, 1, kl_now_us() + TURN_MS * 1000u) && !kl_process_stopped())
            continue;
        kl_process_end(&p, TURN_MS, NULL);
    }
    (void)kl_file_remove(path, err, sizeof(err));
}

static void print(const struct watch *w, const char *name, json_object *found) {
    json_object *verdict = NULL, *why = NULL;
    char line[4096];
    if (w->wish->json) {
        (void)kl_report_put(stdout, json_object_get(found));
        return;
    }
    (void)json_object_object_get_ex(found, "verdict", &verdict);
    (void)json_object_object_get_ex(found, "why", &why);
    snprintf(line, sizeof(line), "%s: %s%s%.2000s", name,
             verdict ? json_object_get_string(verdict) : "not in the share", why ? ": " : "",
             why ? json_object_get_string(why) : "");
    puts(kl_plain(line));
    fflush(stdout);
}

/* 0; -1: told in w->err, and the file stays; 1: this program is to stop. */
static int find_verdict(struct watch *w, const struct entry *e, const char *path, const char *sum,
                        char file[KLT_FILE]) {
    bool runs = e->reported || randombytes_uniform(100) < w->wish->share;
    json_object *found = ask(w, path, !runs);
    if (!found || kl_process_stopped()) {
        json_object_put(found);
        return 1;
    }
    bool keeps = !w->wish->keep_parted || is_reported(found) || code_of(found) > 0;
    *file = 0;
    int result = keeps ? free_name(w, e->name, sum, is_reported(found), file) : 0;
    if (result == 0) result = kl_database_put(w->db, sum, file, found, w->err, sizeof(w->err));
    if (result == 0) print(w, e->name, found);
    if (result == 0 && w->wish->on_verdict && code_of(found) >= 0) tell_command(w, found);
    json_object_put(found);
    return result;
}

/* Its players had the relay delete it meanwhile. */
static int drop_match(struct watch *w, const char *sum) {
    if (kl_database_drop(w->db, sum)) return 0;
    snprintf(w->err, sizeof(w->err), "cannot forget a match that was deleted");
    return -1;
}

/* The same results. */
static int take_file(struct watch *w, const struct entry *e) {
    char path[KL_FILE_PATH], to[KL_FILE_PATH], sum[KLT_SUM], file[KLT_FILE];
    int code = -1, result = 0;
    if (path_in(w, w->in, e->name, path) != 0) return -1;
    if (!sum_of(path, sum)) {
        if (kl_file_kind_here(path) == KL_FILE_IS_NONE) return 0; /* gone meanwhile */
        snprintf(w->err, sizeof(w->err), "cannot read %.900s", path);
        return -1;
    }
    bool told = kl_database_find(w->db, sum, &code, file) && code >= 0 && code != KLT_CANNOT;
    if (!told) result = find_verdict(w, e, path, sum, file);
    if (result != 0) return result;
    if (kl_file_kind_here(path) == KL_FILE_IS_NONE) return drop_match(w, sum);
    if (!*file) return kl_file_remove(path, w->err, sizeof(w->err)) < 0 ? -1 : 0;
    if (path_in(w, w->kept, file, to) != 0) return -1;
    if (kl_file_rename(path, to)) return 0;
    if (kl_file_kind_here(path) == KL_FILE_IS_NONE) return drop_match(w, sum);
    snprintf(w->err, sizeof(w->err), "cannot move %.480s to %.480s", path, to);
    return -1;
}

/* --- all of it --- */

static void forget_file(void *ctx, const char *file) {
    struct watch *w = ctx;
    char path[KL_FILE_PATH];
    if (path_in(w, w->kept, file, path) == 0) (void)kl_file_remove(path, w->err, sizeof(w->err));
}

/* Once an hour. */
static int forget(struct watch *w) {
    uint64_t now_us = kl_now_us(), age_us = w->wish->days * 24 * HOUR_US, wall_us = kl_wall_us();
    if (!age_us || now_us < w->forget_us || wall_us < age_us) return 0;
    w->forget_us = now_us + HOUR_US;
    return kl_database_forget(w->db, wall_us - age_us, forget_file, w, w->err, sizeof(w->err));
}

/* The relay leaves a file here for each match that its players had it delete, named by the room's id. */
static int forget_deleted(struct watch *w) {
    struct kl_dir_list list;
    char path[KL_FILE_PATH];
    int result = kl_dir_list(&list, w->deleted, "", w->err, sizeof(w->err));
    if (result != 0) return -1;
    for (unsigned i = 0; i < list.count && result == 0; i++) {
        const char *room = list.name[i];
        if (strspn(room, "0123456789abcdef") != 32 || room[32]) continue;
        result = kl_database_forget_room(w->db, room, forget_file, w, w->err, sizeof(w->err));
        if (result == 0) result = path_in(w, w->deleted, room, path);
        if (result == 0 && kl_file_remove(path, w->err, sizeof(w->err)) < 0) result = -1;
    }
    kl_dir_list_free(&list);
    return result;
}

static int open_all(struct watch *w) {
    char lock[KL_FILE_PATH];
    if (path_in(w, w->wish->dir, "new", w->in) != 0 || path_in(w, w->wish->dir, "kept", w->kept) != 0 ||
        path_in(w, w->wish->dir, "lock", lock) != 0 || path_in(w, w->wish->dir, "forget", w->deleted) != 0 ||
        path_in(w, w->wish->dir, KL_TIE_ASK, w->asked) != 0 ||
        path_in(w, w->wish->dir, KL_TIE_VERDICTS, w->verdicts) != 0 ||
        kl_dir_make(w->deleted, false, w->err, sizeof(w->err)) != 0 ||
        kl_dir_make(w->in, false, w->err, sizeof(w->err)) != 0 ||
        kl_dir_make(w->asked, false, w->err, sizeof(w->err)) != 0 ||
        kl_dir_make(w->verdicts, false, w->err, sizeof(w->err)) != 0 ||
        kl_dir_make(w->kept, false, w->err, sizeof(w->err)) != 0)
        return -1;
    /* One that was killed holds it a moment longer, with a child that was just being started. */
    int locked = KL_FILE_KEPT;
    for (unsigned i = 0; i < 20 && locked == KL_FILE_KEPT && !kl_process_stopped(); i++) {
        if (i) (void)kl_sleep_us(LOCK_US);
        locked = kl_file_lock(&w->lock, lock, false, w->err, sizeof(w->err));
    }
    if (locked == KL_FILE_KEPT)
        snprintf(w->err, sizeof(w->err), "%.900s: another keylock verify watches it", w->wish->dir);
    if (locked != 0) return -1;
    w->db = kl_database_open(w->wish->database, true, w->err, sizeof(w->err));
    if (!w->db) kl_file_unlock(&w->lock, NULL);
    return w->db ? 0 : -1;
}

int kl_watch(const struct kl_watch_wish *wish) {
    static struct watch state; /* large */
    struct watch *w = &state;
    int result = 0;
    w->wish = wish;
    if (open_all(w) != 0) return fail(w);
    while (result == 0 && !kl_process_stopped()) {
        const struct entry *e;
        result = forget(w);
        if (result == 0) result = forget_deleted(w);
        take_ties(w);
        if (result == 0) result = look_at_folder(w);
        if (result != 0 || kl_process_stopped()) break;
        if ((e = next_file(w)))
            result = take_file(w, e);
        else if (wish->once)
            break;
        else
            (void)kl_sleep_us(LOOK_US);
    }
    bool stopped = kl_process_stopped() || result > 0;
    kl_database_close(w->db);
    kl_file_unlock(&w->lock, NULL);
    return result < 0 && !stopped ? fail(w) : KLT_OK;
}
