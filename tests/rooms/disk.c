/* The relay's journal (net/relay/durable/journal.h) on a disk that fails: it is full, it tears what is
 * written, it cannot be read, it is gone. Drawn from a stream of its own. */
#include <sodium.h>

#include "net/platform/dir.h"
#include "tests/rooms/rooms.h"
#include "tests/lib/journal_whole.h"

#define MIB       (UINT64_C(1) << 20)
#define EVERY_S   12 /* between two faults while the relay lives */
#define TORN_MOST 3000
#define FILES     8

static struct rng disk_rng;
static bool keeps; /* the relay has a journal */
static bool fails; /* its disk, now and then */
static char folder[KL_FILE_PATH];
static struct kl_journal *journal;
static uint64_t full_until_us; /* nothing more is written before */
static bool tears;             /* a half written record stays */
static bool unreadable;
static bool vanished; /* while this relay lives: it writes to a file without a name */
static uint32_t owed; /* frames that the relay which died had written, on a disk in order */
static uint32_t proven;
static struct found { /* a file, and the frames that it can prove */
    uint8_t id[KL_STORE_ID];
    uint32_t frames;
} found[FILES];
static unsigned files;

/* --- the disk --- */

int __real_kl_file_append(const struct kl_file *f, uint64_t at, const struct kl_file_part *part,
                          unsigned parts, char *why, size_t why_len);
int __wrap_kl_file_append(const struct kl_file *f, uint64_t at, const struct kl_file_part *part,
                          unsigned parts, char *why, size_t why_len);
int __real_kl_file_open(struct kl_file *f, const char *path, bool fresh, char *why, size_t why_len);
int __wrap_kl_file_open(struct kl_file *f, const char *path, bool fresh, char *why, size_t why_len);

int __real_kl_slab_take(struct kl_slab *s, const struct kl_file *file, size_t len, char *why, size_t why_len);
int __wrap_kl_slab_take(struct kl_slab *s, const struct kl_file *file, size_t len, char *why, size_t why_len);

int __wrap_kl_file_append(const struct kl_file *f, uint64_t at, const struct kl_file_part *part,
                          unsigned parts, char *why, size_t why_len) {
    uint32_t sum = 0;
    int result = __real_kl_file_append(f, at, part, parts, why, why_len);
    if (result != 0 || now_us >= full_until_us) return result;
    for (unsigned i = 0; i < parts; i++)
        sum += (uint32_t)part[i].len;
    uint64_t end = at + (tears ? rng_range(&disk_rng, 0, sum - 1) : 0);
    if (kl_file_cut(f, end, why, why_len) != 0) fail("%s", why);
    snprintf(why, why_len, "No space left on device");
    return -1;
}

int __wrap_kl_file_open(struct kl_file *f, const char *path, bool fresh, char *why, size_t why_len) {
    f->handle = -1;
    const char *bad = fresh && now_us < full_until_us ? "No space left on device"
                      : !fresh && unreadable          ? "Permission denied"
                                                      : NULL;
    if (!bad) return __real_kl_file_open(f, path, fresh, why, why_len);
    snprintf(why, why_len, "%s", bad);
    return -1;
}

int __wrap_kl_slab_take(struct kl_slab *s, const struct kl_file *file, size_t len, char *why,
                        size_t why_len) {
    if (now_us >= full_until_us) return __real_kl_slab_take(s, file, len, why, why_len);
    snprintf(why, why_len, "No space left on device");
    return -1;
}

/* Calls it for each file there. */
static void each_file(void (*what)(const char *path)) {
    char path[KL_FILE_PATH], err[300];
    struct kl_dir_list list;
    if (kl_dir_list(&list, folder, "", err, sizeof err) != 0) return; /* it is gone */
    for (unsigned i = 0; i < list.count; i++)
        if (list.name[i][0] != '.' &&
            kl_file_join(path, sizeof path, folder, list.name[i], err, sizeof err) == 0)
            what(path);
    kl_dir_list_free(&list);
}

static void vanish(void) {
    kl_dir_remove_tree(folder);
}

static uint8_t *bytes_of(const char *path, size_t *len) {
    char err[300];
    void *bytes;
    if (kl_file_read(path, SIZE_MAX / 2, 0, &bytes, len, err, sizeof err) != 0) fail("%s", err);
    return bytes;
}

static void replace(const char *path, uint8_t *bytes, size_t len) {
    char err[300];
    if (kl_file_write_whole(path, bytes, len, KL_FILE_PRIVATE | KL_FILE_QUICK, err, sizeof err) != 0)
        fail("%s", err);
    free(bytes);
}

static bool is_tail(const char *path) {
    return strstr(path, "." KL_ENDING_TAIL) != NULL;
}

/* The bytes of a tail that hold something end there, in its first slot or in its second. */
static size_t end_of_slot(const uint8_t *bytes, unsigned which) {
    size_t begin = KL_TAIL_HEAD + which * (size_t)KL_TAIL_SLOT, end = begin + KL_TAIL_SLOT;
    while (end > begin && !bytes[end - 1])
        end--;
    return end;
}

/* The last writes did not reach the disk. */
static void tear_one(const char *path) {
    size_t len;
    uint8_t *bytes = bytes_of(path, &len);
    size_t less = rng_range(&disk_rng, 1, TORN_MOST);
    for (unsigned which = 0; which < 2 && is_tail(path) && len == KL_TAIL_BYTES; which++) {
        size_t end = end_of_slot(bytes, which), begin = KL_TAIL_HEAD + which * (size_t)KL_TAIL_SLOT;
        size_t from = end > begin + less ? end - less : begin;
        memset(bytes + from, 0, end - from);
    }
    bool cut = !is_tail(path) && rng_chance(&disk_rng, 0.3);
    replace(path, bytes, !cut ? len : len > less ? len - less : 0);
}

static void change_one(const char *path) {
    size_t len;
    uint8_t *bytes = bytes_of(path, &len);
    size_t end = is_tail(path) && len == KL_TAIL_BYTES ? end_of_slot(bytes, rng_range(&disk_rng, 0, 1)) : len;
    size_t at = end > TORN_MOST ? end - TORN_MOST : 0;
    at += rng_range(&disk_rng, 0, (uint32_t)(end - at));
    if (at < len) bytes[at] ^= 1;
    replace(path, bytes, len);
}

static void look_at_one(const char *path) {
    struct journal_bytes b = {0};
    char recording[KL_FILE_PATH], *ending, err[300];
    void *bytes = NULL;
    if (!is_tail(path)) return;
    if (files == FILES) fail("too many files");
    struct found *f = &found[files++];
    snprintf(recording, sizeof recording, "%s", path);
    ending = strrchr(recording, '.');
    sodium_hex2bin(f->id, sizeof f->id, ending - 2 * sizeof f->id, 2 * sizeof f->id, NULL, NULL, NULL);
    snprintf(ending, 5, ".%s", KL_ENDING_RECORDING);
    uint8_t *tail = bytes_of(path, &b.tail_len);
    (void)kl_file_read(recording, SIZE_MAX / 2, 0, &bytes, &b.recording_len, err, sizeof err);
    b.tail = tail;
    b.recording = bytes;
    f->frames = bytes ? journal_whole_frames(relay_secret, f->id, &b, NULL) : 0;
    free(tail);
    free(bytes);
}

/* --- the relay's lives --- */

void disk_choose(uint64_t seed) {
    disk_rng = (struct rng){seed ^ UINT64_C(0xd15c)};
    keeps = true;
    fails = !plain && rng_chance(&disk_rng, 0.5);
    char err[300];
    if (kl_dir_make_temporary(folder, sizeof folder, "rooms", err, sizeof err) != 0) fail("%s", err);
    if (!verbose) kl_log_to(fopen("/dev/null", "w")); /* hundreds of errors, all deserved */
}

void disk_step(void) {
    if (!fails || !rng_chance(&disk_rng, STEP_US / 1e6 / EVERY_S)) return;
    counts.disk_faults++;
    if (rng_chance(&disk_rng, 0.2)) {
        story("the journal's folder vanishes");
        vanished = true;
        vanish();
        return;
    }
    full_until_us = now_us + rng_range(&disk_rng, 100000, 6000000);
    tears = rng_chance(&disk_rng, 0.5);
    story("the disk is full for %.1f s%s", (double)(full_until_us - now_us) / 1e6,
          tears ? ", and tears" : "");
}

/* While the disk is in order, all that anybody can have run is written. */
static void check_promise(void) {
    owed = 0;
    const struct kl_lobby_room *r = the_room();
    if (!r || r->phase != KL_ROOM_PLAYING || r->journal.state != KL_JOURNAL_OPEN || r->journal.failing)
        return;
    if (r->journal.frames < canon_end) fail("frame %u was run, and is not in the journal", r->journal.frames);
    if (!vanished) owed = canon_end;
}

void disk_relay_dies(void) {
    if (keeps) check_promise();
}

static void damage(void) {
    double kind = rng_unit(&disk_rng);
    const char *what = kind < 0.4    ? NULL
                       : kind < 0.6  ? "is torn"
                       : kind < 0.7  ? "is changed"
                       : kind < 0.85 ? "cannot be read"
                                     : "is gone";
    unreadable = kind >= 0.7 && kind < 0.85;
    if (kind >= 0.85)
        vanish();
    else if (kind >= 0.6 && kind < 0.7)
        each_file(change_one);
    else if (kind >= 0.4 && kind < 0.6)
        each_file(tear_one);
    if (what) owed = 0;
    counts.disk_faults += what != NULL;
    if (what) story("the journal %s", what);
}

/* Of the room that is back; without one, of any. */
static uint32_t frames_found(const struct kl_lobby_room *r) {
    uint32_t most = 0;
    for (unsigned i = 0; i < files; i++)
        if ((!r || memcmp(found[i].id, r->id, sizeof r->id) == 0) && found[i].frames > most)
            most = found[i].frames;
    return most;
}

uint32_t disk_proves(void) {
    return proven;
}

void disk_relay_begins(bool again) {
    char err[300];
    if (!keeps) return;
    kl_journal_close(journal);
    journal = NULL;
    full_until_us = 0;
    if (again && fails) damage();
    files = 0;
    if (!unreadable) each_file(look_at_one);
    if (kl_journal_open(&journal, folder, (struct kl_journal_limits){64 * MIB, 256 * MIB}, err, sizeof err) !=
        0)
        fail("%s", err);
    kl_lobby_set_journal(lobby[0], journal, now_us);
    journal_read_rooms(lobby[0], now_us);
    unreadable = false;
    proven = frames_found(the_room());
    uint32_t back = the_room() ? the_room()->lock.next_close : 0;
    if (back != proven) fail("of %u frames in the journal %u are back", proven, back);
    if (proven < owed) fail("of %u frames that were run the journal has %u", owed, proven);
    vanished = false;
    counts.from_journal += proven > 0;
    if (proven) story("the journal has %u frames of %u", proven, canon_end);
}

void disk_end(void) {
    if (keeps) vanish();
}
