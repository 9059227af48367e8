/* Tokens of challenges, and runs of them. docs/design.md §7, net/PROTOCOL.md §9. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "net/platform/dir.h"
#include "net/platform/buffer.h"
#include "net/platform/file.h"
#include "net/record/klr.h"
#include "net/record/klr_body.h"
#include "net/record/klr_pack.h"
#include "net/record/pieces.h"
#include "net/relay/durable/kept.h"
#include "net/relay/log/relay_log.h"
#include "net/session/digest.h"
#include "net/session/proof.h"

#define GIVEN "challenges/given"
#define FLAGS (KL_KLR_BY_CLIENT | KL_KLR_HAS_EPOCH)

/* A recording, read from its beginning on. */
struct reading {
    struct kl_klr_cursor at;
    struct kl_klr_place before; /* the block read last */
    struct kl_klr_head head;
    struct kl_klr_room room;
    const uint8_t *start;
    size_t start_len;
    struct kl_proof token;
    uint32_t frames;
    struct kl_sign own; /* of its hashes */
    uint32_t labels;    /* the highest of them, plus one */
    struct kl_pieces pieces;
};

void kl_kept_challenge_free(struct kl_kept_challenge *c) {
    if (!c) return;
    free(c->bytes);
    sodium_memzero(&c->key, sizeof c->key);
    free(c);
}

/* False. */
__attribute__((format(__printf__, 3, 4))) static bool refuse(struct kl_kept_challenge *c, enum kl_refuse code,
                                                             const char *format, ...) {
    KL_FORMAT(c->why, sizeof c->why, format);
    c->code = code;
    return false;
}

/* --- reading --- */

static bool unpack(struct kl_kept_challenge *c, uint8_t **bytes, size_t *len) {
    struct kl_klr_unpacked u;
    char err[256];
    if (!kl_klr_is_packed(*bytes, *len)) return true;
    int result = kl_klr_unpack_most(&u, KL_CHALLENGE_UNPACKED, *bytes, *len, "it", err, sizeof err);
    if (result == 0 && *u.damage) result = -1, snprintf(err, sizeof err, "it is damaged: %s", u.damage);
    if (result != 0) {
        free(u.bytes);
        return refuse(c, KL_REFUSE_DOOR, "%s", err);
    }
    free(*bytes);
    *bytes = u.bytes;
    *len = u.len;
    return true;
}

static bool next_is(struct reading *r, enum kl_klr_type type, struct kl_reader *body) {
    r->before = r->at.place;
    bool good = kl_klr_next(&r->at) == KL_KLR_BLOCK && r->at.type == type;
    if (good) *body = kl_reader(r->at.body, r->at.body_len);
    return good;
}

static bool is_read(const struct kl_reader *body) {
    return !body->failed && kl_reader_left(body) == 0;
}

/* HEAD, ROOM, START. */
static bool read_beginning(struct reading *r, const uint8_t *bytes, size_t len) {
    struct kl_reader b;
    if (!kl_klr_open(&r->at, bytes, len) || !next_is(r, KL_KLR_HEAD, &b)) return false;
    kl_klr_read_head(&b, &r->head);
    bool ours = r->head.version == KL_KLR_VERSION && r->head.rules == KL_KLR_RULES;
    if (!is_read(&b) || !ours || !next_is(r, KL_KLR_ROOM, &b)) return false;
    kl_klr_read_room(&b, &r->room);
    if (!is_read(&b) || !next_is(r, KL_KLR_START, &b)) return false;
    r->start = r->at.body;
    r->start_len = r->at.body_len;
    return true;
}

static struct kl_proof_match match_of(const struct reading *r) {
    struct kl_proof_match of = {.epoch_s = r->head.epoch_s};
    struct kl_facts facts = {0};
    memcpy(of.room_id, r->head.room_id, sizeof of.room_id);
    for (unsigned i = 0; i < r->room.facts.count; i++) {
        const struct kl_fact *f = &r->room.facts.fact[i];
        if (strcmp(f->key, KL_KLR_SYSTEM) != 0) (void)kl_facts_add(&facts, f->key, f->value);
    }
    kl_identity(&facts, of.identity);
    kl_proof_start(r->start, r->start_len, of.start);
    return of;
}

/* --- writing --- */

/* A block at p, into `to`, which has place. Gives the end. */
static uint8_t *put(uint8_t *to, struct kl_klr_place *p, enum kl_klr_type type, const void *body,
                    size_t len) {
    struct kl_klr_around a = kl_klr_around(p, type, body, (uint32_t)len);
    memcpy(to, a.before, sizeof a.before);
    if (len) memcpy(to + sizeof a.before, body, len);
    memcpy(to + sizeof a.before + len, a.check, sizeof a.check);
    return to + sizeof a.before + len + sizeof a.check;
}

/* put_small(HEAD, head): the body that this writer makes. */
#define put_small(to, p, TYPE, name, value)                                                                  \
    do {                                                                                                     \
        uint8_t small[KL_KLR_SMALL];                                                                         \
        struct kl_writer w;                                                                                  \
        w = kl_writer(small, sizeof small);                                                                  \
        kl_klr_write_##name(&w, value);                                                                      \
        to = put(to, p, KL_KLR_##TYPE, small, (size_t)(w.at - small));                                       \
    } while (0)

/* DIR/SUB/NAME. */
static bool place(char out[KL_FILE_PATH], const char *dir, const char *sub, const char *name,
                  struct kl_kept_challenge *c) {
    char in[KL_FILE_PATH];
    if (kl_file_join(in, sizeof in, dir, sub, NULL, 0) == 0 &&
        kl_file_join(out, KL_FILE_PATH, in, name, NULL, 0) == 0)
        return true;
    return refuse(c, KL_REFUSE_LIMIT, "the relay's folder of recordings has too long a name");
}

/* The host reads the reason in the log. */
static bool cannot_write(struct kl_kept_challenge *c, const char *err) {
    kl_log(KL_LOG_ERROR, "challenge_stays", "reason=\"%s\"", err);
    return refuse(c, KL_REFUSE_LIMIT, "the relay cannot write its files now: try again later");
}

/* --- a token --- */

static bool is_name(const char *name) {
    return strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == strlen(name);
}

static bool read_challenge(const char *dir, struct kl_kept_challenge *c) {
    char path[KL_FILE_PATH], name[KL_NAME_MAX + 8], err[KL_FILE_PATH + 64];
    void *bytes;
    snprintf(name, sizeof name, "%s.klr", c->wanted.name);
    if (!is_name(c->wanted.name))
        return refuse(c, KL_REFUSE_SEAT, "a challenge's name has letters, digits, - and _ alone");
    if (!place(path, dir, "challenges", name, c)) return false;
    int read = kl_file_read(path, KL_CHALLENGE_BYTES, KL_FILE_NO_LINK, &bytes, &c->len, err, sizeof err);
    if (read == KL_FILE_ABSENT) return refuse(c, KL_REFUSE_SEAT, "this relay has no such challenge");
    if (read != 0) return cannot_write(c, err);
    c->bytes = bytes;
    return true;
}

/* No room's maker may say so: it has a blank. */
static void match_words(char out[KL_KLR_TEXT], const char *name) {
    snprintf(out, KL_KLR_TEXT, "challenge %s", name);
}

/* The recording's beginning becomes that of a token. */
static bool make_token(struct kl_kept_challenge *c, struct reading *r, uint64_t now_s) {
    struct kl_klr_room *room = &r->room;
    struct kl_facts facts = {0};
    char rules[KL_FACT_VAL_MAX];
    r->head.flags = FLAGS;
    r->head.epoch_s = now_s;
    memcpy(r->head.relay_key, c->key.exchange.pub, sizeof r->head.relay_key);
    randombytes_buf(r->head.room_id, sizeof r->head.room_id);
    for (unsigned i = 0; i < room->facts.count; i++) {
        const struct kl_fact *f = &room->facts.fact[i];
        if (strcmp(f->key, KL_KLR_SYSTEM) != 0 && strcmp(f->key, KL_KLR_CHALLENGE) != 0)
            (void)kl_facts_add(&facts, f->key, f->value);
    }
    snprintf(rules, sizeof rules, "%.92s %" PRIu32 " %d", c->wanted.name, room->params.fps_uhz,
             KL_CHALLENGE_GOOD_S);
    bool fits = kl_facts_add(&facts, KL_KLR_CHALLENGE, rules) == 0;
    room->facts = facts;
    room->params.players = 1;
    snprintf(room->name, sizeof room->name, "%s", c->wanted.name);
    match_words(room->match, c->wanted.name);
    room->members = 1;
    room->member[0] = (struct kl_klr_member){.client = 0, .seats = 1};
    snprintf(room->member[0].name, sizeof room->member[0].name, "%s", c->wanted.player);
    return fits;
}

static bool write_token(struct kl_kept_challenge *c, struct reading *r) {
    struct kl_proof_match of = match_of(r);
    struct kl_klr_place p = kl_klr_begin();
    uint8_t *bytes = malloc(KL_KLR_MAGIC + 4 * (KL_KLR_SMALL + KL_KLR_AROUND) + r->start_len), *to = bytes;
    if (!bytes) return refuse(c, KL_REFUSE_LIMIT, "this relay has no memory for a token now");
    kl_proof_sign(&r->token, &of, &c->key);
    memcpy(to, kl_klr_magic, KL_KLR_MAGIC);
    to += KL_KLR_MAGIC;
    put_small(to, &p, HEAD, head, &r->head);
    put_small(to, &p, ROOM, room, &r->room);
    to = put(to, &p, KL_KLR_START, r->start, r->start_len);
    put_small(to, &p, SEAL, seal, &r->token);
    free(c->bytes);
    c->bytes = bytes;
    c->len = (size_t)(to - bytes);
    return true;
}

/* Tokens that are too old go. False: there are too many all the same. */
static bool tidy_given(const char *in, uint64_t now_s) {
    struct kl_dir_list list;
    char oldest[KL_KEPT_NAME], path[KL_FILE_PATH];
    unsigned count = 0;
    if (kl_dir_list(&list, in, ".klr", NULL, 0) != 0) return true;
    kl_kept_name(oldest, "", now_s - KL_CHALLENGE_GOOD_S, true, false);
    for (unsigned i = 0; i < list.count; i++) {
        bool old = strncmp(list.name[i], oldest, KL_KEPT_ROOM_AT) < 0;
        if (old && kl_file_join(path, sizeof path, in, list.name[i], NULL, 0) == 0)
            (void)kl_file_remove(path, NULL, 0);
        count += !old;
    }
    kl_dir_list_free(&list);
    return count < KL_CHALLENGE_GIVEN;
}

/* Of the token's file, and of its run. */
static void name_of(const struct reading *r, char out[KL_KEPT_NAME]) {
    char id[2 * KL_ROOM_ID_BYTES + 1];
    sodium_bin2hex(id, sizeof id, r->head.room_id, sizeof r->head.room_id);
    kl_kept_name(out, id, r->head.epoch_s, true, false);
}

static bool note_given(const char *dir, struct kl_kept_challenge *c, const struct reading *r,
                       uint64_t now_s) {
    char in[KL_FILE_PATH], path[KL_FILE_PATH], name[KL_KEPT_NAME], err[KL_FILE_PATH + 64];
    name_of(r, name);
    if (!place(path, dir, GIVEN, name, c) || kl_file_join(in, sizeof in, dir, GIVEN, err, sizeof err) != 0)
        return false;
    if (kl_dir_make(in, true, err, sizeof err) != 0) return cannot_write(c, err);
    if (!tidy_given(in, now_s))
        return refuse(c, KL_REFUSE_LIMIT, "this relay has given too many tokens today: try again tomorrow");
    if (kl_file_write_whole(path, "", 0, KL_FILE_PRIVATE, err, sizeof err) != 0) return cannot_write(c, err);
    kl_log(KL_LOG_INFO, "challenge_given", "challenge=%s token=%s", c->wanted.name, name);
    return true;
}

static bool give(const char *dir, struct kl_kept_challenge *c, struct reading *r, uint64_t now_s) {
    if (!read_challenge(dir, c) || !unpack(c, &c->bytes, &c->len)) return false;
    if (!read_beginning(r, c->bytes, c->len) || r->start_len > KL_CHALLENGE_START || r->head.epoch_s == 0 ||
        !r->room.has_params || !make_token(c, r, now_s))
        return refuse(c, KL_REFUSE_SEAT,
                      "this relay's file of the challenge is not of this keylock run: tell the host");
    return write_token(c, r) && note_given(dir, c, r, now_s);
}

/* --- a run --- */

/* The token: its relay, its match, its rules. */
static bool check_token(struct kl_kept_challenge *c, struct reading *r, uint32_t *good_s) {
    char ours[KL_FINGERPRINT_CHARS + 1], theirs[KL_FINGERPRINT_CHARS + 1], name[KL_NAME_MAX] = "";
    char words[KL_KLR_TEXT];
    const struct kl_klr_room *room = &r->room;
    struct kl_proof_match of = match_of(r);
    struct kl_reader b;
    uint32_t fps_uhz = 0;
    if (!next_is(r, KL_KLR_SEAL, &b))
        return refuse(c, KL_REFUSE_DOOR, "it does not begin with a token of a challenge");
    kl_klr_read_seal(&b, &r->token);
    if (memcmp(r->head.relay_key, c->key.exchange.pub, sizeof r->head.relay_key) != 0) {
        kl_fingerprint(c->key.exchange.pub, ours);
        kl_fingerprint(r->head.relay_key, theirs);
        return refuse(c, KL_REFUSE_DOOR, "expected a token of this relay, %s, got one of %s", ours, theirs);
    }
    if (!is_read(&b) || r->token.end || r->head.flags != FLAGS ||
        kl_proof_check(&r->token, &of, r->head.relay_key) != KL_PROOF_GOOD)
        return refuse(c, KL_REFUSE_DOOR,
                      "its token is not signed for this core, content, start data and epoch");
    if (sscanf(kl_facts_value(&r->room.facts, KL_KLR_CHALLENGE), "%92s %" SCNu32 " %" SCNu32, name, &fps_uhz,
               good_s) != 3 ||
        !fps_uhz)
        return refuse(c, KL_REFUSE_DOOR, "its token is of a match, not of a challenge");
    match_words(words, name);
    if (memcmp(r->head.room_id, c->run.room_id, sizeof r->head.room_id) != 0 ||
        strcmp(name, room->name) != 0 || strcmp(words, room->match) != 0 || !room->has_params ||
        room->params.fps_uhz != fps_uhz || room->members != 1 || room->member[0].client ||
        room->member[0].seats != 1)
        return refuse(c, KL_REFUSE_DOOR, "its room is not the token's");
    return true;
}

/* Frames of the first seat alone, in their order. */
static bool add_pieces(struct reading *r) {
    struct kl_frames frames;
    struct kl_frame f;
    const uint8_t *piece;
    size_t len;
    struct kl_reader body = kl_reader(r->at.body, r->at.body_len);
    while ((piece = kl_klr_read_piece(&body, &len))) {
        if (kl_piece_open(&frames, piece, len) != KL_OK) return false;
        while (kl_frames_next(&frames, &f)) {
            if (f.number != r->frames || f.active & ~1u || f.flags & KL_FRAME_COMMANDS) return false;
            if (kl_pieces_due(&r->pieces)) (void)kl_pieces_take(&r->pieces, false);
            if (!kl_pieces_add(&r->pieces, &f, NULL)) return false;
            r->frames++;
        }
    }
    return is_read(&body);
}

static bool add_hash(struct reading *r) {
    struct kl_klr_hash h;
    struct kl_reader body = kl_reader(r->at.body, r->at.body_len);
    kl_klr_read_hash(&body, &h);
    kl_sign_add(&r->own,
                &(struct kl_hash){
                    .frame = h.label, .has = h.has, .ram = h.ram, .state = h.state, .picture = h.picture});
    if (h.label >= r->labels) r->labels = h.label + 1;
    return is_read(&body) && h.clients == 1 && h.label != UINT32_MAX;
}

/* A planted byte, another option, a room's command would make it another game's run. */
static bool check_blocks(struct kl_kept_challenge *c, struct reading *r) {
    struct kl_klr_end end;
    enum kl_klr_next next;
    kl_pieces_init(&r->pieces, r->head.room_id, &(struct kl_digest){0}, false);
    while (r->before = r->at.place,
           (next = kl_klr_next(&r->at)) == KL_KLR_BLOCK && r->at.type != KL_KLR_END) {
        bool known = r->at.type == KL_KLR_PIECES || r->at.type == KL_KLR_HASH || r->at.type == KL_KLR_DIGEST;
        if (!known)
            return refuse(c, KL_REFUSE_DOOR, "expected frames and hashes behind its token, got %s",
                          kl_klr_type_name(r->at.type));
        if ((r->at.type == KL_KLR_PIECES && !add_pieces(r)) || (r->at.type == KL_KLR_HASH && !add_hash(r)))
            return refuse(c, KL_REFUSE_DOOR, "its frames from %" PRIu32 " on are not one player's, in order",
                          r->frames);
    }
    if (next != KL_KLR_BLOCK)
        return refuse(c, KL_REFUSE_DOOR, "it is damaged or has no end, at byte %" PRIu64, r->at.place.at);
    struct kl_reader body = kl_reader(r->at.body, r->at.body_len);
    kl_klr_read_end(&body, &end);
    (void)kl_pieces_take(&r->pieces, false);
    if (!is_read(&body) || end.frames != r->frames || r->labels > r->frames || !r->pieces.chain.end ||
        r->at.place.at != r->at.len)
        return refuse(c, KL_REFUSE_DOOR, "expected %d frames or more and an end, got %" PRIu32 " frames",
                      KL_SPACING_MAX, r->frames);
    if (r->own.count != c->run.sign.count || memcmp(r->own.chain, c->run.sign.chain, sizeof r->own.chain))
        return refuse(c, KL_REFUSE_DOOR, "its hashes are not those that its player has signed");
    return true;
}

static bool check_time(struct kl_kept_challenge *c, const struct reading *r, uint32_t good_s,
                       uint64_t now_s) {
    uint64_t given_s = r->head.epoch_s, age_s = now_s > given_s ? now_s - given_s : 0;
    uint64_t takes_s = (uint64_t)r->frames * 1000000 / r->room.params.fps_uhz;
    if (age_s < takes_s)
        return refuse(c, KL_REFUSE_LIMIT,
                      "its %" PRIu32 " frames take %" PRIu64 " s, and its token was given %" PRIu64
                      " s ago: it is too early",
                      r->frames, takes_s, age_s);
    if (age_s > good_s)
        return refuse(c, KL_REFUSE_DOOR,
                      "its token was good for %" PRIu32 " s, and was given %" PRIu64 " s ago", good_s, age_s);
    return true;
}

/* The run's blocks up to END, SIGN, the relay's SEAL, END. */
static bool seal(struct kl_kept_challenge *c, const struct reading *r) {
    const struct kl_digest *d = &r->pieces.chain;
    struct kl_proof_match of = match_of(r);
    struct kl_proof p = {.intervals = d->intervals, .end = d->end};
    struct kl_klr_sign sign = {.client = 0, .sign = c->run.sign};
    struct kl_klr_place at = r->before;
    uint8_t *bytes = malloc(c->len + 2 * (KL_KLR_SMALL + KL_KLR_AROUND)), *to = bytes;
    if (!bytes) return refuse(c, KL_REFUSE_LIMIT, "this relay has no memory for the run now");
    memcpy(p.digest, d->digest, sizeof p.digest);
    kl_proof_sign(&p, &of, &c->key);
    memcpy(sign.seat_pub, c->run.seat_key, sizeof sign.seat_pub);
    memcpy(to, c->bytes, at.at);
    to += at.at;
    put_small(to, &at, SIGN, sign, &sign);
    put_small(to, &at, SEAL, seal, &p);
    to = put(to, &at, KL_KLR_END, r->at.body, r->at.body_len);
    free(c->bytes);
    c->bytes = bytes;
    c->len = (size_t)(to - bytes);
    return true;
}

/* Into DIR/new. The token goes last: killed between, the run may be handed in again, by the same name. */
static bool keep(const char *dir, struct kl_kept_challenge *c, const struct reading *r) {
    char name[KL_KEPT_NAME], token[KL_FILE_PATH], from[KL_FILE_PATH], to[KL_FILE_PATH],
        err[KL_FILE_PATH + 64];
    name_of(r, name);
    if (!place(token, dir, GIVEN, name, c) || !place(from, dir, "challenges", "taken.part", c) ||
        !place(to, dir, "new", name, c))
        return false;
    if (kl_file_kind_here(token) == KL_FILE_IS_NONE)
        return refuse(c, KL_REFUSE_SEAT, "its token was handed in before");
    if (kl_file_write_whole(from, c->bytes, c->len, 0, err, sizeof err) != 0) return cannot_write(c, err);
    (void)kl_klr_pack(from, err, sizeof err); /* one that cannot be packed is good as it is */
    if (!kl_file_rename(from, to)) {
        (void)kl_file_remove(from, err, sizeof err);
        return cannot_write(c, "the run cannot be moved to the folder new");
    }
    if (kl_file_remove(token, err, sizeof err) < 0) kl_log(KL_LOG_ERROR, "token_stays", "reason=\"%s\"", err);
    kl_log(KL_LOG_INFO, "challenge_taken", "challenge=%s file=new/%s frames=%" PRIu32, r->room.name, name,
           r->frames);
    return true;
}

static bool take(const char *dir, struct kl_kept_challenge *c, struct reading *r, uint64_t now_s) {
    uint32_t good_s;
    if (!unpack(c, &c->bytes, &c->len)) return false;
    if (!read_beginning(r, c->bytes, c->len))
        return refuse(c, KL_REFUSE_DOOR, "it does not begin with a token of a challenge");
    if (!check_token(c, r, &good_s) || !check_blocks(c, r) || !check_time(c, r, good_s, now_s) ||
        !seal(c, r) || !keep(dir, c, r))
        return false;
    return refuse(c, KL_REFUSE_TAKEN, "%" PRIu32 " frames of the challenge %s: they will be verified",
                  r->frames, r->room.name);
}

void kl_kept_challenge(const char *dir, struct kl_kept_challenge *c, uint64_t now_s) {
    struct reading *r = calloc(1, sizeof *r);
    c->code = 0;
    if (!r)
        (void)refuse(c, KL_REFUSE_LIMIT, "this relay has no memory for that now");
    else if (*c->wanted.name)
        (void)give(dir, c, r, now_s);
    else
        (void)take(dir, c, r, now_s);
    free(r);
}
