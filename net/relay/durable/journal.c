#include "net/relay/durable/journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "net/record/klr_body.h"
#include "net/record/pieces.h"
#include "net/relay/durable/journal_private.h"
#include "net/relay/durable/lobby_ticket.h"
#include "net/relay/durable/tail.h"
#include "net/relay/room/lobby_room.h"

#define RETRY_US 1000000

static int open_in(struct kl_journal **out, const char *dir, struct kl_journal_limits limits, bool held,
                   char *err, size_t err_len) {
    struct kl_journal *j = calloc(1, sizeof *j);
    if (!j) {
        snprintf(err, err_len, "no memory for the journal");
        return -1;
    }
    j->limits = limits;
    if (kl_store_open(&j->store, dir, held, err, err_len) != 0) {
        free(j);
        return -1;
    }
    *out = j;
    return 0;
}

int kl_journal_open(struct kl_journal **out, const char *dir, struct kl_journal_limits limits, char *err,
                    size_t err_len) {
    return open_in(out, dir, limits, false, err, err_len);
}

int kl_journal_open_held(struct kl_journal **out, const char *dir, struct kl_journal_limits limits, char *err,
                         size_t err_len) {
    return open_in(out, dir, limits, true, err, err_len);
}

int kl_journal_keep_in(struct kl_journal *j, const char *dir, struct kl_kept_limits limits, char *err,
                       size_t err_len) {
    if (kl_kept_open(&j->kept, dir, limits, err, err_len) != 0) return -1;
    return kl_store_can_give(j->store, kl_kept_new(j->kept), err, err_len);
}

void kl_journal_close(struct kl_journal *j) {
    if (!j) return;
    kl_kept_close(j->kept);
    kl_store_close(j->store);
    free(j);
}

bool kl_journal_wish(struct kl_journal *j, const struct kl_kept_wish *w) {
    return j && j->kept && kl_kept_wish(j->kept, w);
}

bool kl_journal_next_wish(struct kl_journal *j, struct kl_kept_wish *out) {
    return j && j->kept && kl_kept_next(j->kept, out);
}

struct kl_journal_stats kl_journal_stats(const struct kl_journal *j) {
    return j ? j->stats : (struct kl_journal_stats){0};
}

/* --- the place for all rooms --- */

static uint64_t bytes_of(const struct kl_journal_room *j) {
    return j->tail || j->base.klr.at ? j->base.klr.at + KL_TAIL_BYTES : 0;
}

bool kl_journal_keep(const struct kl_journal *j, const uint8_t id[KL_STORE_ID], uint64_t epoch_s, bool ended,
                     bool reported) {
    char room[KL_STORE_NAME], name[KL_KEPT_NAME], path[KL_FILE_PATH], why[128];
    if (!j->kept) return true;
    kl_kept_name(name, sodium_bin2hex(room, sizeof room, id, KL_STORE_ID), epoch_s, ended, reported);
    snprintf(path, sizeof path, "%s/%s", kl_kept_new(j->kept), name);
    int given = kl_store_give(j->store, id, path, why, sizeof why);
    if (given == 0) kl_log(KL_LOG_INFO, "recording_kept", "file=new/%s", name);
    if (given < 0)
        kl_log(KL_LOG_ERROR, "recording_stays", "file=%s." KL_ENDING_RECORDING " reason=\"%s\"", room, why);
    kl_kept_grew(j->kept);
    return given >= 0;
}

static void lose_files(struct kl_lobby_room *r) {
    const struct kl_journal *j = r->lobby->journal;
    char err[KL_FILE_PATH + 64];
    bool ended = r->journal.ended, reported = r->journal.reported;
    kl_journal_leave(r);
    bool stays = r->door.recorded && !kl_journal_keep(j, r->id, r->start.epoch_s, ended, reported);
    if (!kl_store_remove(j->store, r->id, stays, err, sizeof err))
        kl_lobby_log_room(KL_LOG_ERROR, "journal_stays", r, "reason=\"%s\"", err);
}

/* Until `more` bytes fit, the room with the most gives way, and its files go. Rooms that nobody has come back
 * to keep theirs: they do not grow, and end soon. False: they do not fit, or r itself gave way. */
static bool make_place(struct kl_lobby_room *r, uint64_t more) {
    const struct kl_lobby *l = r->lobby;
    for (;;) {
        struct kl_lobby_room *largest = r;
        uint64_t all = more;
        for (unsigned i = 0; i < l->limits.rooms; i++) {
            struct kl_lobby_room *other = l->room[i];
            if (!other) continue;
            all += bytes_of(&other->journal);
            if (other->journal.state != KL_JOURNAL_UNREAD &&
                bytes_of(&other->journal) > bytes_of(&largest->journal))
                largest = other;
        }
        if (all <= l->journal->limits.all_bytes) return true;
        if (bytes_of(&largest->journal) == 0) return false;
        kl_journal_give_up(largest, "all journals have --journal-total-mib together, and it had the most");
        lose_files(largest);
        largest->journal = (struct kl_journal_room){.state = KL_JOURNAL_OVER, .file.handle = -1};
        if (largest == r) return false;
    }
}

/* --- the recording --- */

#define BLOCKS 4 /* of one write */

/* The blocks that the next write appends. Bodies are borrowed until then. */
struct batch {
    struct kl_file_part part[3 * BLOCKS + 1];
    struct kl_klr_around around[BLOCKS];
    unsigned parts, blocks;
    struct kl_klr_place end;
};

static void add_block(struct batch *b, enum kl_klr_type type, const void *body, size_t len) {
    struct kl_klr_around *a = &b->around[b->blocks++];
    *a = kl_klr_around(&b->end, type, body, (uint32_t)len);
    b->part[b->parts++] = (struct kl_file_part){a->before, sizeof a->before};
    b->part[b->parts++] = (struct kl_file_part){body, len};
    b->part[b->parts++] = (struct kl_file_part){a->check, sizeof a->check};
}

/* Half a block is taken back: the next one must stand at the place that its check says. */
static bool append(struct kl_lobby_room *r, const struct batch *b, char *why, size_t why_len) {
    struct kl_journal_room *j = &r->journal;
    uint64_t at = j->base.klr.at;
    if (!kl_store_append(&j->file, at, b->part, b->parts, why, why_len)) return false;
    r->lobby->journal->stats.bytes += b->end.at - at;
    j->base.klr = b->end;
    return true;
}

static size_t code_head(const struct kl_lobby_ticket *t, const uint8_t secret[32], uint8_t *out) {
    struct kl_klr_head head = {.rules = KL_KLR_RULES, .flags = KL_KLR_HAS_EPOCH, .epoch_s = t->epoch_s};
    memcpy(head.room_id, t->id, sizeof head.room_id);
    crypto_scalarmult_base(head.relay_key, secret);
    struct kl_writer w = kl_writer(out, KL_KLR_SMALL);
    kl_klr_write_head(&w, &head);
    return (size_t)(w.at - out);
}

static size_t code_room(const struct kl_lobby_ticket *t, uint8_t *out) {
    static struct kl_klr_room room;
    room = (struct kl_klr_room){.has_params = true, .params = t->params, .facts = t->facts};
    memcpy(room.name, t->name, sizeof room.name);
    memcpy(room.match, t->match, sizeof t->match);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        const struct kl_ticket_member *m = &t->member[i];
        struct kl_klr_member *to = &room.member[room.members];
        if (!m->here) continue;
        *to = (struct kl_klr_member){.client = (uint8_t)i, .seats = m->seats};
        memcpy(to->name, m->name, sizeof to->name);
        room.members++;
    }
    struct kl_writer w = kl_writer(out, KL_KLR_SMALL);
    kl_klr_write_room(&w, &room);
    return (size_t)(w.at - out);
}

static bool begin_recording(struct kl_lobby_room *r, char *why, size_t why_len) {
    static uint8_t head[KL_KLR_SMALL], room[KL_KLR_SMALL];
    static struct kl_lobby_ticket t;
    struct batch b = {.part[0] = {kl_klr_magic, KL_KLR_MAGIC}, .parts = 1, .end = kl_klr_begin()};
    kl_lobby_ticket_of(&t, r);
    add_block(&b, KL_KLR_HEAD, head, code_head(&t, r->lobby->secret, head));
    add_block(&b, KL_KLR_ROOM, room, code_room(&t, room));
    add_block(&b, KL_KLR_START, r->start.data, r->start.bytes);
    sodium_memzero(&t, sizeof t);
    return append(r, &b, why, why_len);
}

static struct kl_pieces pieces; /* of the next block */

/* The frames from the recording's last on, as many as make a block, below `end`. False: the history has a
 * gap. */
static bool gather(const struct kl_lobby_room *r, struct kl_pieces *p, uint32_t end) {
    static struct kl_history_cursor c;
    struct kl_frame f;
    kl_pieces_init(p, r->id, &r->journal.base.chain, r->lobby->limits.record_chat);
    kl_history_seek(&c, &r->past.history, p->next);
    while (p->next < end && !kl_pieces_due(p)) {
        if (!kl_history_next(&c, &f)) return false;
        kl_pieces_add(p, &f, f.flags & KL_FRAME_COMMANDS ? &c.frames.commands : NULL);
    }
    return true;
}

/* Hashes and events since the last time. If they cannot be written they are lost, and no frame with them. */
static bool append_said(struct kl_lobby_room *r, char *why, size_t why_len) {
    struct kl_journal_room *j = &r->journal;
    struct batch b = {.end = j->base.klr, .parts = 1};
    if (!j->said) return true;
    b.part[0].bytes = kl_journal_said_take(j->said, &b.end, &b.part[0].len);
    return b.part[0].len == 0 || append(r, &b, why, why_len);
}

/* The blocks of gathered frames. */
static void add_pieces(struct batch *b, struct kl_pieces *p, bool all) {
    static uint8_t digest[KL_KLR_SMALL];
    size_t len = kl_pieces_take(p, all);
    if (len == 0) return;
    add_block(b, KL_KLR_PIECES, p->body, len);
    struct kl_writer w = kl_writer(digest, sizeof digest);
    kl_klr_write_digest(&w, &p->chain);
    add_block(b, KL_KLR_DIGEST, digest, (size_t)(w.at - digest));
}

/* body: KL_KLR_SMALL bytes, until the batch is appended. */
static void add_seal(struct batch *b, const struct kl_proof *p, uint8_t *body) {
    struct kl_writer w = kl_writer(body, KL_KLR_SMALL);
    kl_klr_write_seal(&w, p);
    add_block(b, KL_KLR_SEAL, body, (size_t)(w.at - body));
}

/* Whole intervals go into the recording. False: they do not, and why is "" if they never will. */
static bool record(struct kl_lobby_room *r, uint64_t now_us, char *why, size_t why_len) {
    struct kl_journal_room *j = &r->journal;
    *why = 0;
    while (j->base.chain.end < r->past.digest.end) {
        uint8_t seal[KL_KLR_SMALL];
        struct kl_proof sealed;
        struct batch b = {.end = j->base.klr};
        if (!gather(r, &pieces, r->past.digest.end)) {
            kl_journal_give_up(r, "frames that could not be written are no longer kept");
            return false;
        }
        add_pieces(&b, &pieces, false);
        bool seals = kl_journal_seals(r, pieces.chain.end, now_us);
        if (seals) kl_journal_seal(r, &pieces.chain, &sealed);
        if (seals) add_seal(&b, &sealed, seal);
        if (b.end.at > r->lobby->journal->limits.room_bytes) {
            kl_journal_give_up(r, "it has as many bytes as --journal-mib lets it have");
            return false;
        }
        if (!make_place(r, b.end.at - j->base.klr.at)) return false;
        if (!append(r, &b, why, why_len)) return false;
        j->base.chain = pieces.chain;
        if (!seals) continue;
        j->sealed_us = now_us;
        r->past.seals.kept[r->past.seals.count++ % KL_SEALS_KEPT] = sealed;
    }
    return append_said(r, why, why_len);
}

/* --- the tail --- */

static bool add_ticket(struct kl_lobby_room *r) {
    struct kl_journal_room *j = &r->journal;
    if (j->ticket == r->past.ticket_number || !r->past.ticket_len) return true;
    if (!kl_tail_add(j->tail, KL_TAIL_TICKET, r->past.ticket, r->past.ticket_len)) return false;
    j->ticket = r->past.ticket_number;
    return true;
}

static bool add_frames(struct kl_lobby_room *r) {
    static uint8_t piece[KL_PIECE_BYTES];
    struct kl_journal_room *j = &r->journal;
    while (j->frames < r->past.history.next) {
        uint32_t end;
        size_t len = kl_history_read(&r->past.history, j->frames, piece, sizeof piece, &end);
        if (len == 0 || !kl_tail_add(j->tail, KL_TAIL_FRAMES, piece, len)) return false;
        r->lobby->journal->stats.bytes += KL_TAIL_AROUND + len;
        j->frames = end;
    }
    return true;
}

/* A new slot, with all that the recording has not. */
static bool turn(struct kl_lobby_room *r) {
    struct kl_journal_room *j = &r->journal;
    uint32_t frames = j->frames, ticket = j->ticket;
    bool begun = kl_tail_turn(j->tail, &j->base);
    j->frames = j->base.chain.end;
    j->ticket = r->past.ticket_number - 1;
    if (begun && add_ticket(r) && add_frames(r) && kl_tail_keep(j->tail)) return true;
    kl_tail_drop(j->tail);
    j->frames = frames;
    j->ticket = ticket;
    return false;
}

/* --- when --- */

void kl_journal_give_up(struct kl_lobby_room *r, const char *why) {
    r->lobby->journal->stats.over++;
    if (r->journal.state == KL_JOURNAL_NONE) r->journal.file.handle = -1;
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

static bool begin(struct kl_lobby_room *r, char *why, size_t why_len) {
    struct kl_journal_room *j = &r->journal;
    const struct kl_store *s = r->lobby->journal->store;
    struct kl_file tail;
    uint8_t key[32];
    *j = (struct kl_journal_room){.state = KL_JOURNAL_OPEN, .failing = j->failing, .file.handle = -1};
    kl_tail_key(r->lobby->secret, r->id, key);
    if (kl_store_make(s, r->id, KL_STORE_TAIL, &tail, why, why_len))
        j->tail = kl_tail_make(key, &tail, NULL, why, why_len);
    sodium_memzero(key, sizeof key);
    j->said = kl_journal_said_new();
    return j->tail && kl_store_make(s, r->id, KL_STORE_RECORDING, &j->file, why, why_len) &&
           begin_recording(r, why, why_len);
}

void kl_journal_roll(struct kl_lobby_room *r, uint64_t now_us) {
    char why[128];
    if (!record(r, now_us, why, sizeof why)) {
        if (*why) note_failure(r, why, now_us);
    } else if (turn(r)) {
        if (r->journal.failing)
            kl_lobby_log_room(KL_LOG_INFO, "journal_goes_on", r, "frame=%u", r->journal.frames);
        r->journal.failing = false;
    } else {
        note_failure(r, "the tail cannot be written", now_us);
    }
}

static void begin_journal(struct kl_lobby_room *r, uint64_t now_us) {
    char why[128] = "all journals have --journal-total-mib together", ignored[KL_FILE_PATH + 64];
    bool failing = r->journal.failing;
    if (r->past.ticket_changed) kl_lobby_ticket_renew(r);
    if (make_place(r, KL_TAIL_BYTES) && begin(r, why, sizeof why)) {
        kl_journal_roll(r, now_us);
        return;
    }
    kl_journal_leave(r);
    (void)kl_store_remove(r->lobby->journal->store, r->id, false, ignored, sizeof ignored);
    r->journal.failing = failing;
    note_failure(r, why, now_us);
}

static bool wants(const struct kl_lobby_room *r) {
    const struct kl_journal_room *j = &r->journal;
    return j->frames < r->past.history.next ||
           (j->ticket != r->past.ticket_number && r->past.ticket_len && j->state == KL_JOURNAL_OPEN);
}

static struct kl_fleet_record record_of(const struct kl_lobby_room *r) {
    const struct kl_tail *t = r->journal.state == KL_JOURNAL_OPEN ? r->journal.tail : NULL;
    struct kl_fleet_record record = {.recording = r->journal.base.klr.at};
    memcpy(record.id, r->id, sizeof record.id);
    memcpy(record.room, r->name, sizeof record.room);
    if (t) record.slot = t->slot.number, record.which = t->slot.which, record.bytes = (uint32_t)t->slot.used;
    return record;
}

/* The fleet copies the files. */
static void note(const struct kl_lobby_room *r) {
    const struct kl_fleet_record record = record_of(r);
    if (r->lobby->fleet) kl_fleet_note(r->lobby->fleet, r->due.index, &record);
}

uint64_t kl_journal_mark(const struct kl_lobby_room *r) {
    const struct kl_tail *t = r->journal.state == KL_JOURNAL_OPEN ? r->journal.tail : NULL;
    return t && t->slot.number ? kl_fleet_mark(r->id, t->slot.number, (uint32_t)t->slot.used) : 0;
}

void kl_journal_write(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_journal_room *j = &r->journal;
    if (!r->lobby->journal || j->state == KL_JOURNAL_OVER || j->state == KL_JOURNAL_UNREAD ||
        !(wants(r) || r->past.broken))
        return;
    kl_journal_seats(r);
    bool may_roll = !j->failing || now_us >= j->retry_us;
    if (r->past.broken || (j->state == KL_JOURNAL_NONE && !r->start.data)) {
        kl_journal_give_up(r, "the room does not keep its history");
    } else if (j->state == KL_JOURNAL_NONE) {
        if (may_roll) begin_journal(r, now_us);
    } else {
        bool full = !(add_ticket(r) && add_frames(r));
        bool due = full || r->past.digest.end >= j->base.chain.end + KL_JOURNAL_FRAMES;
        if (due && may_roll) kl_journal_roll(r, now_us);
    }
    note(r);
}

/* --- a tie --- */

int kl_journal_ask(struct kl_lobby_room *r, uint32_t label, uint64_t now_us) {
    const struct kl_journal *j = r->lobby->journal;
    struct kl_tie_question q = {.label = label};
    if (!j || !j->kept || !r->door.recorded || r->journal.state != KL_JOURNAL_OPEN) return -1;
    if (r->journal.base.chain.end <= label && !r->journal.failing) kl_journal_roll(r, now_us);
    if (r->journal.state != KL_JOURNAL_OPEN) return -1;
    if (r->journal.base.chain.end <= label) return 1;
    memcpy(q.room, r->id, sizeof q.room);
    return kl_kept_ask(j->kept, &q, j->store, r->journal.base.klr.at) ? 0 : -1;
}

enum kl_kept_ask kl_journal_answer(const struct kl_lobby_room *r, uint32_t label, struct kl_klr_hash *found,
                                   char why[KL_TIE_WHY]) {
    struct kl_tie_question q = {.label = label};
    memcpy(q.room, r->id, sizeof q.room);
    return kl_kept_answer(r->lobby->journal->kept, &q, found, why);
}

void kl_journal_ask_no_more(const struct kl_lobby_room *r) {
    const struct kl_journal *j = r->lobby->journal;
    if (j && j->kept) kl_kept_ask_no_more(j->kept, r->id);
}

/* --- the end --- */

void kl_journal_leave(struct kl_lobby_room *r) {
    struct kl_journal_room *j = &r->journal;
    kl_journal_stop_reading(r);
    kl_journal_ask_no_more(r);
    if (j->state != KL_JOURNAL_NONE) kl_file_close(&j->file);
    kl_tail_free(j->tail);
    free(j->said);
    *j = (struct kl_journal_room){0};
}

bool kl_journal_add_last(struct kl_lobby_room *r, struct kl_pieces *p, bool all, char *why, size_t why_len) {
    struct batch b = {.end = r->journal.base.klr};
    add_pieces(&b, p, all);
    if (b.blocks && !append(r, &b, why, why_len)) return false;
    r->journal.base.chain = p->chain;
    return true;
}

/* The frames that the recording has not, also those of the interval under way. */
static bool add_rest(struct kl_lobby_room *r, char *why, size_t why_len) {
    for (bool all = false; !all;) {
        if (!gather(r, &pieces, r->past.history.next)) return false;
        all = pieces.next == r->past.history.next;
        if (!kl_journal_add_last(r, &pieces, all, why, why_len)) return false;
    }
    return append_said(r, why, why_len);
}

/* The last seal is of all whole intervals. */
static void add_end(struct kl_lobby_room *r, const char *reason, char *why, size_t why_len) {
    uint8_t body[KL_KLR_SMALL], seal[KL_KLR_SMALL];
    struct kl_proof sealed;
    struct kl_klr_end end = {.frames = pieces.next};
    struct batch b = {.end = r->journal.base.klr};
    bool seals = r->lobby->signer.signs && pieces.knows && pieces.chain.end;
    if (seals) kl_journal_seal(r, &pieces.chain, &sealed);
    if (seals) add_seal(&b, &sealed, seal);
    snprintf(end.why, sizeof end.why, "%s", reason);
    struct kl_writer w = kl_writer(body, sizeof body);
    kl_klr_write_end(&w, &end);
    add_block(&b, KL_KLR_END, body, (size_t)(w.at - body));
    r->journal.ended = append(r, &b, why, why_len);
}

void kl_journal_end(struct kl_lobby_room *r, const char *reason, uint64_t now_us) {
    struct kl_journal_room *j = &r->journal;
    char why[128] = "";
    bool whole = j->state == KL_JOURNAL_UNREAD ? kl_journal_take_over(r, &pieces, why, sizeof why)
                                               : j->state == KL_JOURNAL_OPEN && add_rest(r, why, sizeof why);
    if (whole) add_end(r, reason, why, sizeof why);
    if (*why) note_failure(r, why, now_us);
    if (j->state != KL_JOURNAL_NONE) lose_files(r);
    note(r);
}

void kl_journal_forget(struct kl_lobby_room *r) {
    char err[KL_FILE_PATH + 64];
    kl_journal_leave(r);
    if (r->lobby->journal && !kl_store_remove(r->lobby->journal->store, r->id, false, err, sizeof err))
        kl_lobby_log_room(KL_LOG_ERROR, "journal_stays", r, "reason=\"%s\"", err);
    note(r);
}
