#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "net/platform/dir.h"
#include "net/relay/durable/journal_private.h"
#include "net/relay/durable/lobby_again.h"

#define MARKS 4096 /* 19 hours; later frames load slowly */

/* A file that is being loaded. */
struct load {
    struct kl_lobby *lobby;
    char name[KL_JOURNAL_NAME];
    struct kl_file file;
    uint8_t *bytes; /* of the file; place for `cap`, which the next one uses again */
    uint64_t len, cap;
    uint8_t id[KL_JOURNAL_ID], key[32];
    struct kl_lobby_ticket ticket;
    struct kl_journal_cursor sealed; /* its record, if has_ticket */
    bool has_ticket, has_frames;
    struct kl_journal_marked marked;
    uint64_t marked_end;  /* the last mark ends there; 0: there is none */
    uint64_t mark[MARKS]; /* byte of the file at which each begins */
    uint32_t marks, used; /* used: frames that came of them */
    uint64_t whole;       /* its whole records end there */
    const uint8_t *start; /* the first, in bytes; NULL: none */
    uint32_t start_len;
};

/* --- the file --- */

/* NULL, or why it is not read. */
static const char *read_file(struct load *f) {
    static char why[128];
    char path[KL_FILE_PATH];
    snprintf(path, sizeof path, "%s/%s", f->lobby->journal->dir, f->name);
    int result = kl_file_open(&f->file, path, false, why, sizeof why);
    if (result == 0) result = kl_file_read_open(&f->file, &f->bytes, &f->cap, &f->len, why, sizeof why);
    return result == 0 ? NULL : why;
}

static const char *open_head(struct load *f) {
    char name[KL_JOURNAL_NAME];
    int result = kl_journal_head_open(f->lobby->secret, f->bytes, f->len, f->id);
    if (result == KL_E_VERSION) return "it is of another version of this relay";
    if (result != KL_OK) return "it is no journal of this relay's key";
    kl_journal_name(name, f->id);
    if (strcmp(name, f->name) != 0) return "it has the name of another room's journal";
    kl_journal_key(f->lobby->secret, f->id, f->key);
    return NULL;
}

/* --- its records --- */

static void take_ticket(struct load *f, const struct kl_journal_cursor *c) {
    static struct kl_lobby_ticket t;
    if (kl_lobby_ticket_open(&t, f->lobby->secret, c->body, c->body_len) == KL_OK &&
        memcmp(t.id, f->id, sizeof t.id) == 0) {
        f->ticket = t;
        f->sealed = *c;
        f->has_ticket = true;
    }
    sodium_memzero(&t, sizeof t);
}

/* Takes from a record the facts that are needed before the first frame. */
static void take_record(struct load *f, const struct kl_journal_cursor *c) {
    if (c->type == KL_JOURNAL_TICKET) take_ticket(f, c);
    if (c->type == KL_JOURNAL_FRAMES) f->has_frames = true;
    if (c->type != KL_JOURNAL_START || f->start || f->has_frames) return; /* it stands before all frames */
    f->start = c->body;
    f->start_len = c->body_len;
}

static void forget(struct load *f) {
    f->has_ticket = f->has_frames = false;
    f->start = NULL;
    f->marked = (struct kl_journal_marked){0};
    f->marked_end = f->marks = f->used = 0;
}

/* Up to the last mark: frames that marks cover are not looked at. */
static void look_at_marks(struct load *f) {
    struct kl_journal_cursor c;
    kl_journal_seek(&c, f->key, f->bytes, f->len);
    for (uint64_t at = c.at; f->marks < MARKS && kl_journal_hop(&c); at = c.at) {
        if (c.type == KL_JOURNAL_FRAMES) {
            f->has_frames = true;
            continue;
        }
        if (!kl_journal_is_right(&c)) break;
        take_record(f, &c);
        if (c.type != KL_JOURNAL_MARK) continue;
        if (!kl_journal_mark_look(c.body, c.body_len, &f->marked)) break;
        f->mark[f->marks++] = at;
        f->marked_end = c.at;
    }
}

/* All the others. */
static void look_through(struct load *f) {
    struct kl_journal_cursor c;
    kl_journal_seek(&c, f->key, f->bytes, f->len);
    if (f->marked_end) c.at = f->marked_end;
    while (kl_journal_next(&c)) {
        if (c.type == KL_JOURNAL_MARK) (void)kl_journal_mark_look(c.body, c.body_len, &f->marked);
        take_record(f, &c);
    }
    f->whole = c.at;
}

/* Takes the frames of all marks that end so long before the last that UPDATEs no longer reach there. False:
 * they do not fit. */
static bool play_marks(const struct load *f, struct kl_lobby_room *r, struct kl_journal_marked *used) {
    struct kl_journal_cursor c;
    kl_journal_seek(&c, f->key, f->bytes, f->marked_end);
    for (uint32_t i = 0; i < f->marks; i++) {
        struct kl_journal_marked next = *used;
        c.at = f->mark[i];
        if (!kl_journal_hop(&c) || !kl_journal_mark_look(c.body, c.body_len, &next)) return false;
        if (next.chain.end + KL_KEPT_FRAMES > f->marked.chain.end) break;
        if (!kl_journal_mark_adopt(r, c.body, c.body_len)) return false;
        *used = next;
    }
    return true;
}

/* The part of the file that could be used. */
struct good {
    uint64_t bytes;
    uint32_t frames; /* that stand in it */
};

/* From this byte on; macs are known to be right up to `checked`. The room may get frames of the first wrong
 * record that are not in the good part: the journal writes them again. */
static struct good play_back(struct load *f, struct kl_lobby_room *r, uint64_t from, uint64_t checked) {
    struct kl_journal_cursor c;
    kl_journal_seek(&c, f->key, f->bytes, f->whole);
    if (from > c.at) c.at = from;
    c.checked = checked;
    struct good good = {c.at, r->past.history.next};
    while (kl_journal_next(&c)) {
        if (c.type == KL_JOURNAL_FRAMES && kl_lobby_again_piece(r, c.body, c.body_len) != KL_OK) {
            kl_lobby_log_room(KL_LOG_ERROR, "journal_wrong", r, "file=%s at=%llu frame=%u", f->name,
                              (unsigned long long)good.bytes, r->lock.next_close);
            break;
        }
        good = (struct good){c.at, r->past.history.next};
    }
    return good;
}

/* --- the room --- */

/* The ticket that counts stood in the part that is cut off. */
static void keep_ticket(const struct load *f, struct kl_lobby_room *r) {
    if (kl_lobby_memory_ticket(r, f->sealed.body, f->sealed.body_len)) /* else the next one comes soon */
        r->journal.ticket = r->past.ticket_number - 1;
}

static void go_on_writing(struct load *f, struct kl_lobby_room *r, const struct good *good, uint64_t now_us) {
    struct kl_journal_room *j = &r->journal;
    *j = (struct kl_journal_room){
        .state = KL_JOURNAL_OPEN, .file = f->file, .bytes = good->bytes, .frames = good->frames};
    if (f->marked.chain.end <= j->frames) j->marked = f->marked;
    j->marked.next_frames = j->frames;
    j->marked.next_at = good->bytes;
    memcpy(j->key, f->key, sizeof j->key);
    f->file.handle = -1;
    if (good->bytes == f->len) return;
    char why[128];
    bool cut = kl_file_cut(&j->file, good->bytes, why, sizeof why) == 0;
    kl_lobby_log_room(KL_LOG_ERROR, "journal_torn", r, "file=%s bytes=%llu lost_bytes=%llu cut=%d", f->name,
                      (unsigned long long)good->bytes, (unsigned long long)(f->len - good->bytes), cut);
    if (f->sealed.at > good->bytes) keep_ticket(f, r);
    kl_journal_write(r, now_us);
}

static struct kl_lobby_room *again(struct load *f, uint64_t now_us, const char **why) {
    static char text[KL_TEXT_MAX];
    *why = text;
    return kl_lobby_again(f->lobby, &f->ticket, f->start, f->start_len, now_us, text, sizeof text);
}

/* By its marks, and the records since. NULL: there are none that reach so far, or not all of it is right. */
static struct kl_lobby_room *quickly(struct load *f, uint64_t now_us, struct good *good) {
    struct kl_journal_marked used = {0};
    const char *why;
    struct kl_lobby_room *r = f->marked.chain.end > KL_KEPT_FRAMES ? again(f, now_us, &why) : NULL;
    if (!r) return NULL;
    if (play_marks(f, r, &used) && used.chain.end) {
        *good = play_back(f, r, used.at, used.at);
        f->used = used.chain.end;
        if (good->frames >= used.chain.end + KL_KEPT_FRAMES) return r;
    }
    kl_lobby_again_drop(r);
    return NULL;
}

/* Record by record. NULL, and why. */
static struct kl_lobby_room *slowly(struct load *f, uint64_t now_us, struct good *good, const char **why) {
    forget(f);
    look_through(f);
    if (!f->has_ticket || !f->start || !f->has_frames) {
        *why = "it is torn before its first frames";
        return NULL;
    }
    struct kl_lobby_room *r = again(f, now_us, why);
    if (!r) return NULL;
    *good = play_back(f, r, 0, f->whole);
    if (r->lock.next_close) return r;
    kl_lobby_again_drop(r);
    *why = "its frames cannot be played";
    return NULL;
}

/* NULL, or why there is no room. */
static const char *make_room(struct load *f, uint64_t now_us) {
    const char *why;
    struct good good;
    struct kl_lobby_room *r = quickly(f, now_us, &good);
    if (!r) r = slowly(f, now_us, &good, &why);
    if (!r) return why;
    kl_lobby_log_room(KL_LOG_INFO, "journal_loaded", r, "file=%s bytes=%llu frame=%u intervals=%u marked=%u",
                      f->name, (unsigned long long)good.bytes, r->lock.next_close, r->past.digest.intervals,
                      f->used);
    go_on_writing(f, r, &good, now_us);
    return NULL;
}

/* The relay died between making it and the first frame: nobody has played anything. */
static void remove_unplayed(const struct load *f) {
    char path[KL_FILE_PATH], err[KL_FILE_PATH + 64] = "";
    snprintf(path, sizeof path, "%s/%s", f->lobby->journal->dir, f->name);
    int result = kl_file_remove(path, err, sizeof err);
    kl_log(KL_LOG_INFO, "journal_removed", "file=%s reason=\"the game had no frames yet\" error=%d", f->name,
           result);
}

static void load_file(struct load *f, struct kl_lobby *l, const char *name, uint64_t now_us) {
    char quoted[2 * KL_JOURNAL_NAME];
    *f = (struct load){.lobby = l, .file.handle = -1, .bytes = f->bytes, .cap = f->cap};
    snprintf(f->name, sizeof f->name, "%s", name);
    const char *why = read_file(f);
    if (!why) why = open_head(f);
    if (!why) {
        look_at_marks(f);
        look_through(f);
        if (f->has_ticket && f->start && f->has_frames)
            why = make_room(f, now_us);
        else if (f->whole != f->len)
            why = "it is torn before its first frames";
        else
            remove_unplayed(f);
    }
    if (why)
        kl_log(KL_LOG_ERROR, "journal_left_alone", "file=%s reason=\"%s\"",
               kl_log_quote(quoted, sizeof quoted, name), why);
    kl_file_close(&f->file);
}

/* --- all of them --- */

static void look_at(struct load *f, struct kl_lobby *l, const char *name, uint64_t now_us) {
    char quoted[64];
    size_t len = strlen(name), suffix = sizeof KL_JOURNAL_SUFFIX - 1;
    if (len + 1 == KL_JOURNAL_NAME && strcmp(name + len - suffix, KL_JOURNAL_SUFFIX) == 0)
        load_file(f, l, name, now_us);
    else if (name[0] != '.')
        kl_log(KL_LOG_ERROR, "journal_left_alone", "file=%s reason=\"it has no journal's name\"",
               kl_log_quote(quoted, sizeof quoted, name));
}

void kl_journal_load(struct kl_lobby *l, uint64_t now_us) {
    static struct load f;
    if (!l->journal) return;
    char err[KL_FILE_PATH + 64];
    struct kl_dir_list list;
    if (kl_dir_list(&list, l->journal->dir, "", err, sizeof err) != 0) {
        kl_log(KL_LOG_ERROR, "journal_unreadable", "reason=\"%s\"", err);
        return;
    }
    for (unsigned i = 0; i < list.count; i++)
        look_at(&f, l, list.name[i], now_us);
    kl_dir_list_free(&list);
    free(f.bytes);
    sodium_memzero(&f, sizeof f);
}
