/* Questions to the verifier beside the relay, `keylock verify --watch DIR`: their files. net/record/tie.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/dir.h"
#include "net/platform/file.h"
#include "net/relay/durable/kept.h"

static void path_of(const char *dir, const struct kl_tie_question *q, bool verdict, char out[KL_FILE_PATH]) {
    char name[KL_TIE_NAME];
    kl_tie_name(name, q, verdict ? KL_TIE_VERDICT : KL_TIE_ASKED);
    snprintf(out, KL_FILE_PATH, "%s/%s/%s", dir, verdict ? KL_TIE_VERDICTS : KL_TIE_ASK, name);
}

/* A verifier holds a lock of its folder. */
static bool somebody_watches(const char *dir) {
    char path[KL_FILE_PATH], ignored[KL_FILE_PATH + 64];
    struct kl_file lock;
    snprintf(path, sizeof path, "%s/lock", dir);
    if (kl_file_kind_here(path) != KL_FILE_IS_PLAIN) return false;
    int held = kl_file_lock(&lock, path, false, ignored, sizeof ignored);
    if (held == 0) kl_file_unlock(&lock, NULL);
    return held == KL_FILE_KEPT;
}

bool kl_kept_ask_copy(const char *dir, const struct kl_kept_question *t, char why[KL_TIE_WHY]) {
    char path[KL_FILE_PATH];
    if (!somebody_watches(dir)) {
        snprintf(why, KL_TIE_WHY, "nobody watches the folder of recordings");
        return false;
    }
    path_of(dir, &t->is, false, path);
    return kl_store_copy(t->store, t->is.room, t->bytes, path, why, KL_TIE_WHY);
}

enum kl_kept_ask kl_kept_ask_look(const char *dir, const struct kl_tie_question *q, struct kl_klr_hash *found,
                                  char why[KL_TIE_WHY]) {
    char path[KL_FILE_PATH], ignored[KL_FILE_PATH + 64];
    void *text;
    size_t len;
    path_of(dir, q, true, path);
    int got = kl_file_read(path, KL_TIE_ANSWER, KL_FILE_NO_LINK, &text, &len, ignored, sizeof ignored);
    if (got == KL_FILE_ABSENT) return KL_KEPT_ASKED;
    bool good = got == 0 && kl_tie_read_answer(text, found, why);
    free(text);
    if (!good) snprintf(why, KL_TIE_WHY, "the verifier's answer is none");
    return good && found->has ? KL_KEPT_ANSWERED : KL_KEPT_CANNOT;
}

void kl_kept_ask_remove(const char *dir, const struct kl_tie_question *q) {
    char path[KL_FILE_PATH], ignored[KL_FILE_PATH + 64];
    for (unsigned i = 0; i < 2; i++) {
        path_of(dir, q, i, path);
        (void)kl_file_remove(path, ignored, sizeof ignored);
    }
}

static void clear(const char *dir, const char *folder, const char *ending) {
    char path[KL_FILE_PATH], ignored[KL_FILE_PATH + 64];
    struct kl_dir_list list;
    struct kl_tie_question q;
    snprintf(path, sizeof path, "%s/%s", dir, folder);
    if (kl_dir_list(&list, path, ending, ignored, sizeof ignored) != 0) return;
    for (unsigned i = 0; i < list.count; i++)
        if (kl_tie_read_name(list.name[i], ending, &q)) kl_kept_ask_remove(dir, &q);
    kl_dir_list_free(&list);
}

void kl_kept_ask_clear(const char *dir) {
    clear(dir, KL_TIE_ASK, KL_TIE_ASKED);
    clear(dir, KL_TIE_VERDICTS, KL_TIE_VERDICT);
}
