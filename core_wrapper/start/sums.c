#include "core_wrapper/start/sums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core_wrapper/world/archive.h"

#define STEP_BYTES (1u << 20) /* between two looks at `ends` */

/* --- the thread --- */

static bool note_step(struct kl_sums *s, size_t bytes) {
    kl_mutex_lock(&s->mutex);
    s->done += bytes;
    bool ends = s->ends;
    kl_mutex_unlock(&s->mutex);
    return !ends;
}

/* By reading, not by mapping: a file that shrinks meanwhile would end the process. s: NULL for a caller's
 * own. */
static bool sum_bytes(struct kl_sums *s, const char *path, struct kl_sum *out) {
    FILE *f = kl_file_stream(path, "r");
    uint8_t *step = malloc(STEP_BYTES);
    XXH3_state_t *state = XXH3_createState();
    bool good = f && step && state && XXH3_64bits_reset(state) == XXH_OK;
    *out = (struct kl_sum){0};
    while (good) {
        size_t len = fread(step, 1, STEP_BYTES, f);
        if (!len) break;
        XXH3_64bits_update(state, step, len);
        out->bytes += len;
        good = !s || note_step(s, len);
    }
    if (f) good = good && !ferror(f);
    if (good) out->hash = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    free(step);
    if (f) fclose(f);
    return good;
}

/* False: it is no archive that can be read here. */
static bool sum_members(const char *path, struct kl_sum *out) {
    struct kl_archive_member *list = NULL;
    const void *bytes;
    size_t len;
    if (!kl_archive_is(path) || kl_file_map(path, &bytes, &len) != 0) return false;
    int count = kl_archive_list(bytes, len, NULL, 0, &list);
    kl_file_unmap(bytes, len);
    *out = (struct kl_sum){.bytes = len, .members = count > 0 ? (uint32_t)count : 0};
    for (int i = 0; i < count; i++)
        out->hash += XXH3_64bits_withSeed(list[i].name, strlen(list[i].name),
                                          (uint64_t)list[i].crc << 32 | list[i].hash);
    free(list);
    return count > 0;
}

static bool sum_file(struct kl_sums *s, const char *path, struct kl_sum *out) {
    return kl_file_kind(path) == KL_FILE_IS_PLAIN && (sum_members(path, out) || sum_bytes(s, path, out));
}

static struct kl_sum_entry *next_busy(struct kl_sums *s) {
    for (unsigned i = 0; i < s->count; i++)
        if (s->entry[i].state == KL_SUM_BUSY) return &s->entry[i];
    return NULL;
}

static void work(void *arg) {
    struct kl_sums *s = arg;
    kl_mutex_lock(&s->mutex);
    while (!s->ends) {
        struct kl_sum_entry *e = next_busy(s);
        if (!e) {
            s->done = s->asked = 0;
            kl_cond_wait(&s->news, &s->mutex);
            continue;
        }
        uint64_t before = s->done, changed = e->changed;
        kl_mutex_unlock(&s->mutex);
        struct kl_sum sum;
        bool good = sum_file(s, e->path, &sum);
        kl_mutex_lock(&s->mutex);
        s->done = before + e->bytes;
        if (e->changed == changed) { /* else it has changed meanwhile, and is read again */
            e->sum = sum;
            e->state = good ? KL_SUM_KNOWN : KL_SUM_MISSING;
        }
        kl_cond_wake(&s->news);
    }
    kl_mutex_unlock(&s->mutex);
}

/* --- its owner --- */

static bool begin(struct kl_sums *s) {
    if (s->runs) return true;
    if (!s->entry) s->entry = calloc(KL_SUMS, sizeof *s->entry);
    s->runs = s->entry && kl_thread_start(&s->thread, "keylock-sums", work, s) == 0;
    return s->runs;
}

static struct kl_sum_entry *entry_of(struct kl_sums *s, const char *path) {
    for (unsigned i = 0; i < s->count; i++)
        if (!strcmp(s->entry[i].path, path)) return &s->entry[i];
    if (s->count == KL_SUMS) return NULL;
    char *own = strdup(path);
    if (!own) return NULL;
    s->entry[s->count] = (struct kl_sum_entry){.path = own, .state = KL_SUM_FULL};
    return &s->entry[s->count++];
}

enum kl_sum_state kl_sums_get(struct kl_sums *s, const char *path, struct kl_sum *out) {
    uint64_t bytes, changed;
    if (!kl_file_stamp(path, &bytes, &changed)) return KL_SUM_MISSING;
    if (!begin(s)) return KL_SUM_FULL;
    kl_mutex_lock(&s->mutex);
    struct kl_sum_entry *e = entry_of(s, path);
    enum kl_sum_state state = KL_SUM_FULL;
    if (e) {
        bool same = e->state != KL_SUM_FULL && e->bytes == bytes && e->changed == changed;
        if (!same) {
            e->bytes = bytes;
            e->changed = changed;
            e->state = KL_SUM_BUSY;
            s->asked += bytes;
            kl_cond_wake(&s->news);
        }
        state = e->state;
        if (state == KL_SUM_KNOWN) *out = e->sum;
    }
    kl_mutex_unlock(&s->mutex);
    return state;
}

bool kl_sums_idle(struct kl_sums *s, uint64_t until_us) {
    if (!s->runs) return true;
    kl_mutex_lock(&s->mutex);
    while (next_busy(s) && kl_cond_wait_until(&s->news, &s->mutex, until_us))
        ;
    bool idle = !next_busy(s);
    kl_mutex_unlock(&s->mutex);
    return idle;
}

enum kl_sum_state kl_sums_wait(struct kl_sums *s, const char *path, struct kl_sum *out) {
    enum kl_sum_state state;
    while ((state = kl_sums_get(s, path, out)) == KL_SUM_BUSY)
        (void)kl_sums_idle(s, UINT64_MAX);
    if (state == KL_SUM_FULL) state = sum_file(NULL, path, out) ? KL_SUM_KNOWN : KL_SUM_MISSING;
    return state;
}

void kl_sums_progress(struct kl_sums *s, uint64_t *done, uint64_t *all) {
    kl_mutex_lock(&s->mutex);
    *done = s->done;
    *all = s->asked > s->done ? s->asked : s->done;
    kl_mutex_unlock(&s->mutex);
}

void kl_sums_close(struct kl_sums *s) {
    if (s->runs) {
        kl_mutex_lock(&s->mutex);
        s->ends = true;
        kl_cond_wake(&s->news);
        kl_mutex_unlock(&s->mutex);
        kl_thread_join(&s->thread);
    }
    for (unsigned i = 0; i < s->count; i++)
        free(s->entry[i].path);
    free(s->entry);
    memset(s, 0, sizeof *s);
}
