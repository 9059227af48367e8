/* Tokens of challenges, and runs of them as files: in time, once, and whatever bytes they have.
 * tests/conformance/match_challenge.py has the reasons for which a relay refuses one.
 * runs: working, check, 2 s */
#include "tests/unit/unit.h"

#include <stdlib.h>

#include "net/platform/dir.h"
#include "net/platform/file.h"
#include "net/record/klr.h"
#include "net/record/klr_body.h"
#include "net/record/pieces.h"
#include "net/relay/durable/kept.h"
#include "net/session/proof.h"
#include "tests/unit/folder.h"

#define GIVEN_S 1000000000u
#define FRAMES  120
#define TAKES_S 2 /* for them */

static struct kl_relay_key key;
static struct kl_seat_key seat;

/* --- a file --- */

struct out {
    uint8_t bytes[1 << 16];
    size_t len;
    struct kl_klr_place place;
};

static void add_block(struct out *o, enum kl_klr_type type, const void *body, size_t len) {
    struct kl_klr_around a = kl_klr_around(&o->place, type, body, (uint32_t)len);
    assert_true(o->len + len + KL_KLR_AROUND <= sizeof o->bytes);
    memcpy(o->bytes + o->len, a.before, sizeof a.before);
    memcpy(o->bytes + o->len + sizeof a.before, body, len);
    memcpy(o->bytes + o->len + sizeof a.before + len, a.check, sizeof a.check);
    o->len += len + KL_KLR_AROUND;
}

#define put_small(o, TYPE, name, value)                                                                      \
    do {                                                                                                     \
        uint8_t small[KL_KLR_SMALL];                                                                         \
        struct kl_writer w;                                                                                  \
        w = kl_writer(small, sizeof small);                                                                  \
        kl_klr_write_##name(&w, value);                                                                      \
        add_block(o, KL_KLR_##TYPE, small, (size_t)(w.at - small));                                          \
    } while (0)

static void begin_file(struct out *o) {
    memcpy(o->bytes, kl_klr_magic, KL_KLR_MAGIC);
    o->len = KL_KLR_MAGIC;
    o->place = kl_klr_begin();
}

/* DIR/challenges/attack.klr */
static void make_challenge(void) {
    static struct out o;
    struct kl_klr_head head = {.rules = KL_KLR_RULES, .flags = KL_KLR_HAS_EPOCH, .epoch_s = 1};
    struct kl_klr_room room = {.has_params = true, .params = {.players = 1, .fps_uhz = 60000000}};
    kl_facts_add(&room.facts, "core", "a core 1");
    kl_facts_add(&room.facts, "system", "Linux");
    begin_file(&o);
    put_small(&o, HEAD, head, &head);
    put_small(&o, ROOM, room, &room);
    add_block(&o, KL_KLR_START, "start", 5);
    assert_int_equal(kl_dir_make(at("challenges"), true, err, sizeof err), 0);
    assert_int_equal(kl_dir_make(at("new"), true, err, sizeof err), 0);
    assert_int_equal(kl_file_write_whole(at("challenges/attack.klr"), o.bytes, o.len, 0, err, sizeof err), 0);
}

static int begin(void **state) {
    uint8_t seed[KL_RELAY_SEED] = {7};
    if (make_folder(state) != 0) return -1;
    kl_relay_key_from_seed(&key, seed);
    kl_seat_make(&seat);
    make_challenge();
    return 0;
}

/* --- a token and its run --- */

static struct kl_kept_challenge *ask_at(const char *name, uint64_t now_s) {
    struct kl_kept_challenge *c = calloc(1, sizeof *c);
    assert_non_null(c);
    c->key = key;
    snprintf(c->wanted.name, sizeof c->wanted.name, "%s", name);
    snprintf(c->wanted.player, sizeof c->wanted.player, "ann");
    kl_kept_challenge(dir, c, now_s);
    return c;
}

struct made {
    struct out file;
    struct kl_run run;
};

/* A run of a new token, of FRAMES frames. */
static void make_run(struct made *m) {
    static struct kl_pieces pieces;
    struct kl_kept_challenge *token = ask_at("attack", GIVEN_S);
    struct kl_klr_cursor c;
    struct kl_klr_hash hash = {.label = FRAMES - 1, .clients = 1, .has = KL_HASH_RAM, .ram = 5};
    struct kl_klr_end end = {.frames = FRAMES, .why = "the run ended"};
    assert_int_equal(token->code, 0);
    begin_file(&m->file);
    memcpy(m->file.bytes, token->bytes, m->file.len = token->len);
    assert_true(kl_klr_open(&c, token->bytes, token->len));
    kl_klr_next(&c);
    memcpy(m->run.room_id, c.body + 4, sizeof m->run.room_id);
    while (kl_klr_next(&c) == KL_KLR_BLOCK) {
    }
    m->file.place = c.place;
    kl_kept_challenge_free(token);
    kl_pieces_init(&pieces, m->run.room_id, &(struct kl_digest){0}, false);
    for (uint32_t n = 0; n < FRAMES; n++) {
        uint32_t offset = n % KL_SPACING_MAX;
        struct kl_frame f = {.number = n, .keyframe = n - offset, .spacing = KL_SPACING_MAX, .active = 1};
        f.flags = offset ? 0 : KL_FRAME_KEY;
        f.in[0].joypad = (uint16_t)(n / 7);
        assert_true(kl_pieces_add(&pieces, &f, NULL));
    }
    size_t len = kl_pieces_take(&pieces, true);
    add_block(&m->file, KL_KLR_PIECES, pieces.body, len);
    put_small(&m->file, HASH, hash, &hash);
    put_small(&m->file, END, end, &end);
    m->run.sign = (struct kl_sign){0};
    kl_sign_add(&m->run.sign, &(struct kl_hash){.frame = hash.label, .has = hash.has, .ram = hash.ram});
    kl_sign_make(&m->run.sign, m->run.room_id, &seat);
    memcpy(m->run.seat_key, seat.pub, sizeof m->run.seat_key);
}

static char said[KL_TEXT_MAX];

static int hand_in(const struct made *m, const uint8_t *bytes, size_t len, uint64_t now_s) {
    struct kl_kept_challenge *c = calloc(1, sizeof *c);
    assert_non_null(c);
    c->key = key;
    c->run = m->run;
    c->bytes = malloc(len ? len : 1);
    assert_non_null(c->bytes);
    memcpy(c->bytes, bytes, c->len = len);
    kl_kept_challenge(dir, c, now_s);
    int code = c->code;
    memcpy(said, c->why, sizeof said);
    kl_kept_challenge_free(c);
    return code;
}

static unsigned files_in(const char *name) {
    struct kl_dir_list list;
    assert_int_equal(kl_dir_list(&list, at(name), ".klr", err, sizeof err), 0);
    unsigned count = list.count;
    kl_dir_list_free(&list);
    return count;
}

static struct made made;

/* --- tests --- */

TEST_WITH(a_run_counts_once_and_in_time, begin, remove_folder) {
    const struct out *o = &made.file;
    make_run(&made);
    assert_int_equal(hand_in(&made, o->bytes, o->len, GIVEN_S), KL_REFUSE_LIMIT);
    assert_int_equal(hand_in(&made, o->bytes, o->len, GIVEN_S + TAKES_S - 1), KL_REFUSE_LIMIT);
    assert_non_null(strstr(said, "its 120 frames take 2 s, and its token was given 1 s ago"));
    assert_int_equal(hand_in(&made, o->bytes, o->len, GIVEN_S + KL_CHALLENGE_GOOD_S + 1), KL_REFUSE_DOOR);
    assert_int_equal(files_in("new"), 0);
    assert_int_equal(hand_in(&made, o->bytes, o->len, GIVEN_S + TAKES_S), KL_REFUSE_TAKEN);
    assert_int_equal(files_in("new"), 1);
    assert_int_equal(hand_in(&made, o->bytes, o->len, GIVEN_S + TAKES_S), KL_REFUSE_SEAT);
    assert_non_null(strstr(said, "handed in before"));
    assert_int_equal(files_in("new"), 1);
}

TEST_WITH(old_tokens_go, begin, remove_folder) {
    for (unsigned i = 0; i < 3; i++)
        make_run(&made);
    assert_int_equal(files_in("challenges/given"), 3);
    kl_kept_challenge_free(ask_at("attack", GIVEN_S + KL_CHALLENGE_GOOD_S));
    assert_int_equal(files_in("challenges/given"), 4);
    kl_kept_challenge_free(ask_at("attack", GIVEN_S + KL_CHALLENGE_GOOD_S + 1));
    assert_int_equal(files_in("challenges/given"), 2);
}

TEST_WITH(a_file_that_is_no_recording_is_no_challenge, begin, remove_folder) {
    assert_int_equal(kl_file_write_whole(at("challenges/text.klr"), "text", 4, 0, err, sizeof err), 0);
    struct kl_kept_challenge *c = ask_at("text", GIVEN_S);
    assert_int_equal(c->code, KL_REFUSE_SEAT);
    assert_non_null(strstr(c->why, "tell the host"));
    kl_kept_challenge_free(c);
}

TEST_WITH(a_torn_or_changed_run_is_refused, begin, remove_folder) {
    static uint8_t bytes[sizeof made.file.bytes];
    make_run(&made);
    for (size_t i = 0; i < made.file.len; i++) {
        memcpy(bytes, made.file.bytes, made.file.len);
        assert_int_not_equal(hand_in(&made, bytes, i, GIVEN_S + TAKES_S), KL_REFUSE_TAKEN);
        bytes[i] ^= (uint8_t)(1u << i % 8);
        assert_int_not_equal(hand_in(&made, bytes, made.file.len, GIVEN_S + TAKES_S), KL_REFUSE_TAKEN);
    }
    assert_int_equal(files_in("new"), 0);
}

/* Anybody can compute the checks anew. Nothing crashes, and HEAD, START and SEAL stand as they were. */
TEST_WITH(a_run_with_a_byte_changed_and_all_checks_made_anew, begin, remove_folder) {
    static struct out o;
    static uint8_t body[sizeof o.bytes];
    make_run(&made);
    for (size_t i = KL_KLR_MAGIC; i < made.file.len; i++) {
        struct kl_klr_cursor c;
        unsigned type = 0;
        begin_file(&o);
        assert_true(kl_klr_open(&c, made.file.bytes, made.file.len));
        while (kl_klr_next(&c) == KL_KLR_BLOCK) {
            size_t from = (size_t)(c.body - made.file.bytes);
            memcpy(body, c.body, c.body_len);
            bool here = i >= from && i < from + c.body_len;
            if (here) body[i - from] ^= (uint8_t)(1u << i % 8);
            if (here) type = c.type;
            add_block(&o, c.type, body, c.body_len);
        }
        int code = hand_in(&made, o.bytes, o.len, GIVEN_S + TAKES_S);
        bool fixed =
            type == KL_KLR_HEAD || type == KL_KLR_START || type == KL_KLR_SEAL || type == KL_KLR_HASH;
        assert_false(fixed && code == KL_REFUSE_TAKEN);
        if (code == KL_REFUSE_TAKEN) make_run(&made);
    }
}
