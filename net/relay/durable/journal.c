#include "net/relay/durable/journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "net/platform/dir.h"
#include "net/relay/durable/journal_private.h"
#include "net/relay/durable/lobby_ticket.h"
#include "net/relay/room/lobby_room.h"

#define RETRY_US 1000000
#define BATCH    65536 /* bytes of frames in one write */
#define PARTS    8     /* of one write */

/* --- the folder --- */

static void lock_path(const struct kl_journal *j, char *out, size_t cap) {
    snprintf(out, cap, "%s/.lock", j->dir);
}

static int fail(struct kl_journal *j, char *err, size_t err_len, const char *what) {
    snprintf(err, err_len, "cannot use the journal's folder %s: %s", j->dir, what);
    kl_journal_close(j);
    return -1;
}

int kl_journal_open(struct kl_journal **out, const char *dir, uint64_t limit_bytes, char *err,
                    size_t err_len) {
    char lock[sizeof((struct kl_journal *)0)->dir + 16], why[sizeof lock + 64];
    if (kl_dir_make(dir, true, err, err_len) != 0) return -1;
    struct kl_journal *j = calloc(1, sizeof *j);
    if (!j) {
        snprintf(err, err_len, "no memory for the journal");
        return -1;
    }
    j->lock.handle = -1;
    j->limit_bytes = limit_bytes;
    if ((size_t)snprintf(j->dir, sizeof j->dir, "%s", dir) >= sizeof j->dir)
        return fail(j, err, err_len, "its name is too long");
    if (kl_dir_others_write(dir)) return fail(j, err, err_len, "others may write there");
    lock_path(j, lock, sizeof lock);
    int result = kl_file_lock(&j->lock, lock, false, why, sizeof why);
    if (result < 0) return fail(j, err, err_len, why);
    if (result == KL_FILE_KEPT) return fail(j, err, err_len, "another relay keeps its journal there");
    *out = j;
    return 0;
}

void kl_journal_close(struct kl_journal *j) {
    char lock[sizeof j->dir + 16];
    if (!j) return;
    lock_path(j, lock, sizeof lock);
    kl_file_unlock(&j->lock, lock);
    free(j);
}

struct kl_journal_stats kl_journal_stats(const struct kl_journal *j) {
    return j ? j->stats : (struct kl_journal_stats){0};
}

void kl_journal_name(char out[KL_JOURNAL_NAME], const uint8_t id[KL_JOURNAL_ID]) {
    sodium_bin2hex(out, 2 * KL_JOURNAL_ID + 1, id, KL_JOURNAL_ID);
    memcpy(out + 2 * KL_JOURNAL_ID, KL_JOURNAL_SUFFIX, sizeof KL_JOURNAL_SUFFIX);
}

void kl_journal_path(const struct kl_lobby_room *r, char out[KL_FILE_PATH]) {
    char name[KL_JOURNAL_NAME];
    kl_journal_name(name, r->id);
    snprintf(out, KL_FILE_PATH, "%s/%s", r->lobby->journal->dir, name);
}

/* --- one write --- */

/* The records that the next write appends. Bodies are borrowed until then. */
struct batch {
    struct kl_file_part part[3 * PARTS + 1];
    unsigned parts;
    uint8_t head[KL_JOURNAL_HEAD], before[PARTS][KL_JOURNAL_BEFORE], mac[PARTS][KL_JOURNAL_MAC];
    unsigned records;
    uint64_t bytes;  /* of all of it */
    uint32_t frames; /* written below, once it is */
};

static void add_part(struct batch *b, const void *bytes, size_t len) {
    b->part[b->parts++] = (struct kl_file_part){bytes, len};
    b->bytes += len;
}

static void add_record(struct batch *b, const struct kl_journal_room *j, enum kl_journal_type type,
                       const void *body, size_t len) {
    unsigned i = b->records++;
    kl_journal_record(j->key, j->bytes + b->bytes, type, body, (uint32_t)len, b->before[i], b->mac[i]);
    add_part(b, b->before[i], sizeof b->before[i]);
    add_part(b, body, len);
    add_part(b, b->mac[i], sizeof b->mac[i]);
}

/* --- records --- */

/* As many frames as go into one write. False: the history has a gap. */
static bool add_frames(const struct kl_lobby_room *r, struct batch *b) {
    static uint8_t body[BATCH];
    size_t used = 0;
    while (b->frames < r->past.history.next && b->records < PARTS) {
        if (used + KL_PIECE_BYTES > sizeof body) break;
        size_t len = kl_history_read(&r->past.history, b->frames, body + used, KL_PIECE_BYTES, &b->frames);
        if (len == 0) return false;
        add_record(b, &r->journal, KL_JOURNAL_FRAMES, body + used, len);
        used += len;
    }
    return true;
}

static void add_beginning(const struct kl_lobby_room *r, struct batch *b) {
    kl_journal_head(r->journal.key, r->id, b->head);
    add_part(b, b->head, sizeof b->head);
    add_record(b, &r->journal, KL_JOURNAL_TICKET, r->past.ticket, r->past.ticket_len);
    add_record(b, &r->journal, KL_JOURNAL_START, r->start.data, r->start.bytes);
}

/* --- when --- */

/* Nothing more is written: the file stays as it is until the room ends. */
static void give_up(struct kl_lobby_room *r, const char *why) {
    r->lobby->journal->stats.over++;
    r->journal.state = KL_JOURNAL_OVER;
    kl_lobby_log_room(KL_LOG_ERROR, "journal_over", r, "frame=%u reason=\"%s\"", r->journal.frames, why);
}

static void note_failure(struct kl_lobby_room *r, const char *why, uint64_t now_us) {
    r->lobby->journal->stats.failures++;
    r->journal.retry_us = now_us + RETRY_US;
    if (!r->journal.failing)
        kl_lobby_log_room(KL_LOG_ERROR, "journal_fails", r, "frame=%u reason=\"%s\"", r->journal.frames, why);
    r->journal.failing = true;
}

static void note_success(struct kl_lobby_room *r, const struct batch *b) {
    struct kl_journal_room *j = &r->journal;
    if (j->failing) kl_lobby_log_room(KL_LOG_INFO, "journal_goes_on", r, "frame=%u", b->frames);
    j->failing = false;
    j->bytes += b->bytes;
    j->frames = b->frames;
    j->ticket = r->past.ticket_number;
    r->lobby->journal->stats.bytes += b->bytes;
}

/* The room's file, new. 0, or -1 with why. */
static int create(struct kl_lobby_room *r, char *why, size_t why_len) {
    char path[KL_FILE_PATH];
    struct kl_file file;
    kl_journal_path(r, path);
    if (kl_file_open(&file, path, true, why, why_len) != 0) return -1;
    r->journal = (struct kl_journal_room){.state = KL_JOURNAL_OPEN, .file = file};
    kl_journal_key(r->lobby->secret, r->id, r->journal.key);
    return 0;
}

/* Half a record is taken back: the next one must stand at the place that its mac says. */
static bool write_down(struct kl_lobby_room *r, const struct batch *b, uint64_t now_us) {
    char why[128];
    bool good = kl_file_append(&r->journal.file, r->journal.bytes, b->part, b->parts, why, sizeof why) == 0;
    if (good)
        note_success(r, b);
    else
        note_failure(r, why, now_us);
    return good;
}

static void write_batch(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_journal_room *j = &r->journal;
    struct batch b = {.frames = j->frames};
    if (j->bytes == 0)
        add_beginning(r, &b);
    else if (j->ticket != r->past.ticket_number && r->past.ticket_len)
        add_record(&b, j, KL_JOURNAL_TICKET, r->past.ticket, r->past.ticket_len);
    if (!add_frames(r, &b)) {
        give_up(r, "frames that could not be written are no longer kept");
    } else if (j->bytes + b.bytes > r->lobby->journal->limit_bytes) {
        give_up(r, "it has as many bytes as --journal-mib lets it have");
    } else {
        write_down(r, &b, now_us);
    }
}

/* A mark that does not fit is left out: it is for quick loading only. */
static void write_mark(struct kl_lobby_room *r, uint64_t now_us) {
    static uint8_t body[KL_JOURNAL_MARK_BYTES];
    struct kl_journal_room *j = &r->journal;
    struct kl_journal_marked marked;
    struct batch b = {.frames = j->frames};
    size_t len = kl_journal_mark_write(r, body, &marked);
    if (len == 0) return;
    add_record(&b, j, KL_JOURNAL_MARK, body, len);
    if (j->bytes + b.bytes > r->lobby->journal->limit_bytes) return;
    if (write_down(r, &b, now_us)) j->marked = marked;
}

static bool wants(const struct kl_lobby_room *r) {
    const struct kl_journal_room *j = &r->journal;
    return j->frames < r->past.history.next ||
           (j->ticket != r->past.ticket_number && r->past.ticket_len && j->bytes);
}

void kl_journal_write(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_journal_room *j = &r->journal;
    if (!r->lobby->journal || j->state == KL_JOURNAL_OVER || !(wants(r) || r->past.broken)) return;
    if (j->failing && now_us < j->retry_us) return;
    if (r->past.broken || (j->bytes == 0 && !r->start.data)) {
        give_up(r, "the room does not keep its history");
        return;
    }
    if (j->bytes == 0 && r->past.ticket_changed) kl_lobby_ticket_renew(r);
    char why[128];
    if (j->state == KL_JOURNAL_NONE && create(r, why, sizeof why) != 0) {
        note_failure(r, why, now_us);
        return;
    }
    do
        write_batch(r, now_us);
    while (j->state == KL_JOURNAL_OPEN && !j->failing && wants(r));
    if (j->state == KL_JOURNAL_OPEN && !j->failing && kl_journal_mark_due(r)) write_mark(r, now_us);
}

/* --- the end --- */

void kl_journal_leave(struct kl_lobby_room *r) {
    if (r->journal.state != KL_JOURNAL_NONE) kl_file_close(&r->journal.file);
    sodium_memzero(&r->journal, sizeof r->journal);
}

void kl_journal_end(struct kl_lobby_room *r) {
    char path[KL_FILE_PATH], err[KL_FILE_PATH + 64];
    bool has_file = r->journal.state != KL_JOURNAL_NONE;
    kl_journal_leave(r);
    if (!has_file) return;
    kl_journal_path(r, path);
    if (kl_file_remove(path, err, sizeof err) != 0)
        kl_lobby_log_room(KL_LOG_ERROR, "journal_stays", r, "reason=\"%s\"", err);
}
