#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "net/engine/lock_relay_return.h"
#include "net/record/klr_body.h"
#include "net/relay/durable/journal_private.h"
#include "net/relay/durable/lobby_ticket.h"
#include "net/relay/durable/tail.h"

/* A room's two files that are being loaded. */
struct load {
    struct kl_lobby *lobby;
    uint8_t id[KL_STORE_ID], key[32];
    char name[KL_STORE_NAME]; /* the id, for the log */
    struct kl_store_found recording, tail;
    struct kl_tail_cursor slot[2]; /* good ones, the older first */
    unsigned slots;
    struct kl_tail_slot newest; /* behind its last record */
    struct kl_lobby_ticket ticket;
    const uint8_t *sealed; /* the ticket, in the tail's bytes; NULL: there is none */
    size_t sealed_len;
    uint32_t end;             /* the tail's frames lie below; 0: it has none */
    size_t wrong;             /* place of damage in the tail; 0: there is none */
    struct kl_tail_base base; /* of the recording's good part */
    enum kl_klr_next next;    /* and what follows it */
    uint8_t next_type;
    const uint8_t *start; /* in the recording's bytes; NULL: none */
    uint32_t start_len;
    bool has_end, reported;
    struct kl_lobby_room *room; /* made of them, and not whole yet; NULL: none */
    struct kl_klr_cursor at;    /* the recording's blocks before this place are played into the room */
    uint32_t played;            /* frames below are in the room */
    bool one_by_one;            /* the newest frames have begun: each is kept by itself */
};

static struct kl_journal_room unread(uint64_t bytes) {
    return (struct kl_journal_room){.state = KL_JOURNAL_UNREAD, .file.handle = -1, .base.klr.at = bytes};
}

/* --- the tail --- */

static void take_ticket(struct load *f, const struct kl_tail_cursor *c) {
    static struct kl_lobby_ticket t;
    if (kl_lobby_ticket_open(&t, f->lobby->secret, c->body, c->body_len) == KL_OK &&
        memcmp(t.id, f->id, sizeof t.id) == 0) {
        f->ticket = t;
        f->sealed = c->body;
        f->sealed_len = c->body_len;
    }
    sodium_memzero(&t, sizeof t);
}

static uint32_t end_of(const uint8_t *piece, size_t len) {
    struct kl_reader r = kl_reader(piece, len);
    uint32_t first = kl_read_u32(&r);
    return first + kl_read_u8(&r);
}

/* The first ticket of the newest slot, which stands first there: it names the room. False: there is none. */
static bool look_at_ticket(struct load *f, const uint8_t *bytes, size_t len) {
    f->slots = kl_tail_open(f->slot, f->key, bytes, len, &f->wrong);
    if (f->slots == 0) return false;
    struct kl_tail_cursor c = f->slot[f->slots - 1];
    if (kl_tail_next(&c, &f->wrong) && c.type == KL_TAIL_TICKET) take_ticket(f, &c);
    return f->sealed;
}

/* The newest ticket, and how far the frames reach. NULL, or why it cannot be used. */
static const char *look_at_tail(struct load *f) {
    const char *bad = kl_tail_objection(f->tail.bytes, f->tail.len);
    f->slots = kl_tail_open(f->slot, f->key, f->tail.bytes, f->tail.len, &f->wrong);
    for (unsigned i = 0; i < f->slots; i++) {
        struct kl_tail_cursor c = f->slot[i];
        for (; kl_tail_next(&c, &f->wrong); f->newest = c.slot) {
            if (c.type == KL_TAIL_TICKET) take_ticket(f, &c);
            if (c.type == KL_TAIL_FRAMES && end_of(c.body, c.body_len) > f->end)
                f->end = end_of(c.body, c.body_len);
        }
        f->slot[i].checked = c.slot.used;
    }
    if (f->sealed) return NULL;
    return bad ? bad : "it is no tail of this relay's key, or it is torn before its ticket";
}

/* --- the recording --- */

/* Frames in pieces, each after its length. False: this is something else. */
static bool count_frames(const uint8_t *body, size_t len, uint32_t *end) {
    const uint8_t *piece;
    struct kl_reader r = kl_reader(body, len);
    while ((piece = kl_klr_read_piece(&r, &len))) {
        if (len < 5 || end_of(piece, len) < *end) return false;
        *end = end_of(piece, len);
    }
    return !r.failed;
}

/* A digest counts if it is of all frames so far. */
static bool take_digest(struct load *f, const struct kl_klr_cursor *c, uint32_t end) {
    struct kl_digest d;
    struct kl_reader r = kl_reader(c->body, c->body_len);
    kl_klr_read_digest(&r, &d);
    if (r.failed || d.end != end) return false;
    f->base.chain = d;
    return true;
}

static bool take_head(const struct load *f, const struct kl_klr_cursor *c) {
    struct kl_klr_head head;
    struct kl_reader r = kl_reader(c->body, c->body_len);
    kl_klr_read_head(&r, &head);
    return !r.failed && memcmp(head.room_id, f->id, sizeof f->id) == 0;
}

/* The newest slot's word for the recording: the block between these two does not end at its place there. */
static bool is_another(const struct load *f, uint64_t before, const struct kl_klr_place *p) {
    const struct kl_klr_place *known = &f->slot[f->slots - 1].base.klr;
    if (before >= known->at || p->at < known->at) return false;
    return p->at > known->at || memcmp(p->check, known->check, sizeof p->check) != 0;
}

/* Finds its good part: blocks up to the last DIGEST before anything wrong. NULL, or why it has none. */
static const char *look_at_recording(struct load *f) {
    struct kl_klr_cursor c;
    uint32_t end = 0;
    uint64_t before = 0;
    bool good = true;
    if (!kl_klr_open(&c, f->recording.bytes, f->recording.len)) return "it is no recording";
    while (good && (f->next = kl_klr_next(&c)) == KL_KLR_BLOCK) {
        if (is_another(f, before, &c.place)) return "it is another recording than its tail was written with";
        if (c.type == KL_KLR_HEAD) good = take_head(f, &c);
        if (c.type == KL_KLR_START && !f->start && end == 0) {
            f->start = c.body;
            f->start_len = c.body_len;
        }
        if (c.type == KL_KLR_PIECES) good = count_frames(c.body, c.body_len, &end);
        if (c.type == KL_KLR_DIGEST) good = take_digest(f, &c, end);
        if (c.type == KL_KLR_END) f->has_end = true;
        if (c.type == KL_KLR_EVENT && c.body_len && c.body[0] == KL_KLR_REPORT) f->reported = true;
        if (good && end == f->base.chain.end) f->base.klr = c.place;
        before = c.place.at;
    }
    if (!good) f->next = KL_KLR_DAMAGED;
    f->next_type = c.type;
    return f->start ? NULL : "it is torn before its first frames";
}

/* --- the room --- */

/* The intervals that begin in this piece; negative: they do not follow. */
static int adopt_intervals(struct kl_lobby_room *r, const uint8_t *piece, size_t len) {
    struct kl_frames frames;
    struct kl_frame key;
    int count = 0;
    if (kl_piece_skim(&frames, piece, len) != KL_OK) return -1;
    for (; kl_frames_next_key(&frames, &key); count++) {
        const struct kl_commands *commands = key.flags & KL_FRAME_COMMANDS ? &frames.commands : NULL;
        if (kl_lock_adopt_interval(&r->lock, &key, commands) != KL_OK) return -1;
    }
    return count;
}

/* The frames of a block, unread: no UPDATE reaches back to them. */
static bool adopt_pieces(struct kl_lobby_room *r, const uint8_t *body, size_t len) {
    const uint8_t *piece;
    struct kl_reader pieces = kl_reader(body, len);
    while ((piece = kl_klr_read_piece(&pieces, &len))) {
        int intervals = adopt_intervals(r, piece, len);
        if (intervals < 0 || !kl_lobby_past_adopt(r, piece, len, (uint32_t)intervals)) return false;
    }
    return !pieces.failed;
}

static bool play_pieces(struct kl_lobby_room *r, const uint8_t *body, size_t len) {
    const uint8_t *piece;
    struct kl_reader pieces = kl_reader(body, len);
    while ((piece = kl_klr_read_piece(&pieces, &len)))
        if (kl_lobby_restore_piece(r, piece, len) != KL_OK) return false;
    return !pieces.failed;
}

static bool play_block(struct load *f) {
    struct kl_klr_cursor *c = &f->at;
    uint32_t last = f->end > f->base.chain.end ? f->end : f->base.chain.end;
    if (c->type == KL_KLR_PIECES) {
        count_frames(c->body, c->body_len, &f->played);
        f->one_by_one = f->one_by_one || f->played + KL_KEPT_FRAMES > last;
        return (f->one_by_one ? play_pieces : adopt_pieces)(f->room, c->body, c->body_len);
    }
    if (c->type == KL_KLR_DIGEST && !f->one_by_one) {
        struct kl_digest digest;
        struct kl_reader d = kl_reader(c->body, c->body_len);
        kl_klr_read_digest(&d, &digest);
        kl_lobby_past_adopt_digest(f->room, &digest);
    }
    return true;
}

static bool is_complete(const struct load *f) {
    const struct kl_lobby_room *r = f->room;
    return r->lock.next_close == f->base.chain.end && r->past.history.intervals == f->base.chain.intervals &&
           memcmp(&r->past.digest, &f->base.chain, sizeof r->past.digest) == 0;
}

#define FRAMES_A_TURN 10000 /* some 3 minutes of play */

/* The next of the recording's blocks. Frames of the last ones count one by one: clients may get them by
 * UPDATE. 1: there are more; 0: that was all; -1: they cannot be played. */
static int play_recording(struct load *f) {
    for (uint32_t until = f->played + FRAMES_A_TURN; f->played < until;) {
        if (kl_klr_next(&f->at) != KL_KLR_BLOCK) return is_complete(f) ? 0 : -1;
        if (!play_block(f)) return -1;
    }
    return 1;
}

/* The tail knows of blocks that a recording which ends between two has lost. */
static void log_damage(const struct load *f, const struct kl_lobby_room *r) {
    unsigned long long at = f->base.klr.at, had = f->recording.len;
    if (f->slots && f->slot[f->slots - 1].base.klr.at > had) had = f->slot[f->slots - 1].base.klr.at;
    uint8_t type = f->recording.len > at ? f->next_type : 0; /* none of it is there */
    if (had > at)
        kl_lobby_log_room(
            KL_LOG_ERROR, "journal_torn", r, "file=%s.klr block=%s at=%llu reason=%s lost_bytes=%llu",
            f->name, kl_klr_type_name(type), at, f->next == KL_KLR_DAMAGED ? "changed" : "ends", had - at);
    if (f->wrong)
        kl_lobby_log_room(KL_LOG_ERROR, "journal_torn", r, "file=%s.tail at=%llu frame=%u", f->name,
                          (unsigned long long)f->wrong, r->lock.next_close);
}

static void go_on_writing(struct load *f, struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_journal_room *j = &r->journal;
    char why[128];
    *j = (struct kl_journal_room){.state = KL_JOURNAL_OPEN,
                                  .reported = f->reported,
                                  .file = f->recording.file,
                                  .base = f->base,
                                  .frames = r->lock.next_close,
                                  .ticket = r->past.ticket_number - 1};
    f->recording.file.handle = -1;
    log_damage(f, r);
    if (f->recording.len != f->base.klr.at && kl_file_cut(&j->file, f->base.klr.at, why, sizeof why) != 0)
        kl_journal_give_up(r, why);
    struct kl_file tail = f->tail.file;
    f->tail.file.handle = -1;
    j->tail = kl_tail_make(f->key, &tail, &f->newest, why, sizeof why);
    j->said = kl_journal_said_new();
    if (!j->tail) kl_journal_give_up(r, why);
    (void)kl_lobby_memory_ticket(r, f->sealed, (uint32_t)f->sealed_len); /* else the next one comes soon */
    if (j->state == KL_JOURNAL_OPEN) kl_journal_roll(r, now_us);
}

/* Makes the room without its frames. NULL, or why there is none. */
static const char *begin_room(struct load *f, uint64_t now_us) {
    static char why[KL_TEXT_MAX];
    f->room = kl_lobby_restore(f->lobby, &f->ticket, f->start, f->start_len, now_us, why, sizeof why);
    if (!f->room) return why;
    f->room->journal = unread(f->recording.len);
    kl_klr_open(&f->at, f->recording.bytes, f->base.klr.at);
    f->at.checked = f->base.klr.at;
    return NULL;
}

/* The next part of the room's frames; f->room is NULL once they are all there. NULL, or why there is no room
 * any more. */
static const char *go_on(struct load *f, uint64_t now_us) {
    struct kl_lobby_room *r = f->room;
    int left = play_recording(f);
    if (left > 0) return NULL;
    f->room = NULL;
    if (left == 0) {
        /* The frames of the tail that follow. A later piece may begin before an earlier one. */
        size_t known;
        int result = KL_OK;
        for (unsigned i = 0; i < f->slots; i++)
            for (struct kl_tail_cursor c = f->slot[i]; kl_tail_next(&c, &known);) {
                if (c.type == KL_TAIL_FRAMES) result = kl_lobby_restore_piece(r, c.body, c.body_len);
                if (result != KL_OK && result != KL_E_WINDOW) break;
            }
    }
    if (left < 0 || r->lock.next_close == 0) {
        kl_lobby_restore_drop(r);
        return "its frames cannot be played";
    }
    kl_lobby_log_room(KL_LOG_INFO, "journal_loaded", r, "file=%s.klr bytes=%llu frame=%u intervals=%u",
                      f->name, (unsigned long long)f->recording.len, r->lock.next_close,
                      r->past.digest.intervals);
    go_on_writing(f, r, now_us);
    return NULL;
}

static const char *load_files(struct load *f, uint64_t now_us) {
    static char why[128];
    const struct kl_store *s = f->lobby->journal->store;
    if (kl_store_load(s, f->id, KL_STORE_TAIL, &f->tail, why, sizeof why) != 0) return why;
    const char *bad = look_at_tail(f);
    int read = kl_store_load(s, f->id, KL_STORE_RECORDING, &f->recording, why, sizeof why);
    if (read < 0) return why;
    if (!bad && read == 0) bad = look_at_recording(f);
    if (!bad && read == 0 && (f->base.chain.end || f->end) && !f->has_end) return begin_room(f, now_us);
    bool began = f->slots == 0 && kl_tail_is_unwritten(f->tail.bytes, f->tail.len);
    bool ended = f->slots > 0 && read == KL_FILE_ABSENT;
    if (bad && !began && !ended) return bad;
    /* The relay died as it made or removed them: nobody has played anything, or the room had ended. */
    const struct kl_journal *j = f->lobby->journal;
    char err[KL_FILE_PATH + 64] = "";
    bool stays =
        f->has_end && f->ticket.recorded && !kl_journal_keep(j, f->id, f->ticket.epoch_s, true, f->reported);
    bool gone = kl_store_remove(j->store, f->id, stays, err, sizeof err);
    kl_log(KL_LOG_INFO, "journal_removed",
           "file=%s.tail reason=\"the game had no frames yet, or had ended\" error=%d", f->name, !gone);
    return NULL;
}

/* f keeps its memory from room to room. */
static void begin(struct load *f, struct kl_lobby *l, const uint8_t id[KL_STORE_ID]) {
    *f = (struct load){.lobby = l,
                       .recording = {{-1}, f->recording.bytes, 0, f->recording.cap},
                       .tail = {{-1}, f->tail.bytes, 0, f->tail.cap}};
    memcpy(f->id, id, sizeof f->id);
    sodium_bin2hex(f->name, sizeof f->name, id, sizeof f->id);
    kl_tail_key(l->secret, f->id, f->key);
}

static void end(struct load *f) {
    kl_file_close(&f->recording.file);
    kl_file_close(&f->tail.file);
    sodium_memzero(&f->ticket, sizeof f->ticket);
    sodium_memzero(f->key, sizeof f->key);
}

/* why: of the last step; NULL: it was good. */
static void end_step(struct load *f, const char *why) {
    if (why) kl_log(KL_LOG_ERROR, "journal_left_alone", "file=%s.tail reason=\"%s\"", f->name, why);
    if (!f->room) end(f);
}

static void begin_load(struct load *f, struct kl_lobby *l, const uint8_t id[KL_STORE_ID], uint64_t now_us) {
    begin(f, l, id);
    end_step(f, load_files(f, now_us));
}

/* --- rooms that nobody has come back to yet --- */

/* The recording is good up to its start data: else no room comes of it, and its name stays free. */
static bool can_begin(const struct kl_store *s, const uint8_t id[KL_STORE_ID]) {
    struct kl_klr_cursor c;
    const void *bytes;
    size_t len;
    bool found = false;
    if (!kl_store_look(s, id, KL_STORE_RECORDING, &bytes, &len)) return false;
    for (bool good = kl_klr_open(&c, bytes, len); good && !found; found = good && c.type == KL_KLR_START)
        good = kl_klr_next(&c) == KL_KLR_BLOCK;
    kl_store_look_away(bytes, len);
    return found;
}

/* By its ticket alone: some pages of its tail. False: there is something to say of its files. */
static bool index_room(struct load *f, struct kl_lobby *l, const uint8_t id[KL_STORE_ID], uint64_t now_us) {
    const struct kl_store *s = l->journal->store;
    struct kl_lobby_room *r = NULL;
    char why[KL_TEXT_MAX];
    const void *bytes;
    size_t len;
    uint64_t recording = kl_store_size(s, id, KL_STORE_RECORDING);
    begin(f, l, id);
    if (can_begin(s, id) && kl_store_look(s, id, KL_STORE_TAIL, &bytes, &len)) {
        if (look_at_ticket(f, bytes, len))
            r = kl_lobby_restore(l, &f->ticket, NULL, 0, now_us, why, sizeof why);
        kl_store_look_away(bytes, len);
    }
    if (r) r->journal = unread(recording);
    end(f);
    return r;
}

bool kl_journal_is_unread(const struct kl_lobby_room *r) {
    return r->journal.state == KL_JOURNAL_UNREAD;
}

static struct load one; /* with memory for a room's files */

void kl_journal_read(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby *l = r->lobby;
    uint8_t id[KL_STORE_ID];
    if (one.room) {
        end_step(&one, go_on(&one, now_us));
        return;
    }
    memcpy(id, r->id, sizeof id);
    kl_lobby_restore_drop(r);
    begin_load(&one, l, id, now_us);
}

void kl_journal_stop_reading(const struct kl_lobby_room *r) {
    if (one.room != r) return;
    one.room = NULL;
    end(&one);
}

/* --- rooms that nobody comes back to --- */

/* The frames that only the tail has. */
static bool add_tail(const struct load *f, struct kl_lobby_room *r, struct kl_pieces *p, char *why,
                     size_t why_len) {
    size_t known;
    for (unsigned i = 0; i < f->slots; i++)
        for (struct kl_tail_cursor c = f->slot[i]; kl_tail_next(&c, &known);) {
            struct kl_frames frames;
            struct kl_frame next;
            if (c.type != KL_TAIL_FRAMES || kl_piece_open(&frames, c.body, c.body_len) != KL_OK) continue;
            while (kl_frames_next(&frames, &next))
                if (next.number == p->next)
                    (void)kl_pieces_add(p, &next, next.flags & KL_FRAME_COMMANDS ? &frames.commands : NULL);
            if (kl_pieces_due(p) && !kl_journal_add_last(r, p, false, why, why_len)) return false;
        }
    return kl_journal_add_last(r, p, true, why, why_len);
}

bool kl_journal_take_over(struct kl_lobby_room *r, struct kl_pieces *p, char *why, size_t why_len) {
    static struct load f;
    const struct kl_store *s = r->lobby->journal->store;
    char ignored[128];
    kl_journal_stop_reading(r);
    begin(&f, r->lobby, r->id);
    bool whole = kl_store_load(s, f.id, KL_STORE_TAIL, &f.tail, ignored, sizeof ignored) == 0 &&
                 kl_store_load(s, f.id, KL_STORE_RECORDING, &f.recording, ignored, sizeof ignored) == 0 &&
                 !look_at_tail(&f) && !look_at_recording(&f) && !f.has_end;
    if (!f.has_end) log_damage(&f, r);
    r->journal.ended = f.has_end;
    r->journal.reported = f.reported;
    whole = whole && f.base.klr.at == f.recording.len;
    if (whole) {
        r->journal.file = f.recording.file;
        r->journal.base = f.base;
        f.recording.file.handle = -1;
        kl_pieces_init(p, r->id, &f.base.chain, r->lobby->limits.record_chat);
        whole = add_tail(&f, r, p, why, why_len);
    }
    end(&f);
    return whole;
}

/* --- all of them --- */

static bool has_tail(const struct kl_dir_list *list, const char *recording) {
    char tail[KL_STORE_NAME + sizeof "." KL_ENDING_TAIL];
    snprintf(tail, sizeof tail, "%.*s." KL_ENDING_TAIL, (int)strcspn(recording, "."), recording);
    return kl_dir_list_has(list, tail);
}

/* Files of other shards are theirs: they are perhaps being written. */
static void look_at(struct kl_lobby *l, const struct kl_dir_list *list, const char *name, uint64_t now_us) {
    char quoted[64];
    uint8_t id[KL_STORE_ID] = {0};
    enum kl_store_kind kind = kl_store_kind_of(name, id);
    if (!kl_lobby_has_bucket(l, id[0])) return;
    if (kind == KL_STORE_TAIL) {
        kl_journal_take(l, id, now_us);
    } else if (name[0] != '.' && !(kind == KL_STORE_RECORDING && has_tail(list, name))) {
        kl_log(KL_LOG_ERROR, "journal_left_alone", "file=%s reason=\"%s\"",
               kl_log_quote(quoted, sizeof quoted, name),
               kind == KL_STORE_RECORDING ? "it has no tail" : "it has no journal's name");
    }
}

void kl_journal_take(struct kl_lobby *l, const uint8_t id[KL_STORE_ID], uint64_t now_us) {
    if (!index_room(&one, l, id, now_us)) {
        /* The load says what is wrong. */
        begin_load(&one, l, id, now_us);
        while (one.room)
            end_step(&one, go_on(&one, now_us));
    }
}

void kl_journal_load(struct kl_lobby *l, uint64_t now_us) {
    if (!l->journal) return;
    char err[KL_FILE_PATH + 64];
    struct kl_dir_list list;
    if (kl_store_list(l->journal->store, &list, err, sizeof err) != 0) {
        kl_log(KL_LOG_ERROR, "journal_unreadable", "reason=\"%s\"", err);
        return;
    }
    for (unsigned i = list.count; i-- > 0;) /* a room that was left alone once may have a successor */
        look_at(l, &list, list.name[i], now_us);
    kl_dir_list_free(&list);
    if (l->rooms) kl_log(KL_LOG_INFO, "journal_found", "rooms=%u", l->rooms);
}
