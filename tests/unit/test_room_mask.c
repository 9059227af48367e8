/* The mask that a room is given in play: the pieces that put it in force, and what it leaves of a hash. The
 * core and the frontend are stand-ins. */
#include "tests/unit/unit.h"

#include <string.h>

#include "core_wrapper/match/command.h"
#include "core_wrapper/match/match.h"
#include "core_wrapper/match/room_profile.h"
#include "net/engine/command.h"

#define STATE  100000
#define RANGES 100

static struct kl_match match;
static struct kl_mask mask;
static uint8_t state[STATE];
static struct kl_command piece[KL_MASK_PIECES + 1];
static unsigned pieces;

/* The mask's commands, of client 0. */
static void cut(void) {
    static uint8_t bytes[KL_MASK_PIECES * KL_MASK_PIECE];
    struct kl_writer w = kl_writer(bytes, sizeof bytes);
    kl_mask_write(&w, &mask);
    assert_false(w.failed);
    size_t len = (size_t)(w.at - bytes);
    pieces = (unsigned)((len + KL_MASK_PIECE - 1) / KL_MASK_PIECE);
    for (unsigned i = 0; i < pieces; i++) {
        size_t at = i * KL_MASK_PIECE, n = len - at < KL_MASK_PIECE ? len - at : KL_MASK_PIECE;
        piece[i] = (struct kl_command){.kind = KL_COMMAND_MASK, .len = (uint8_t)(n + 2)};
        piece[i].data[0] = (uint8_t)i;
        piece[i].data[1] = (uint8_t)pieces;
        memcpy(piece[i].data + 2, bytes + at, n);
    }
}

static int begin(void **unused) {
    (void)unused;
    memset(&match, 0, sizeof match);
    mask = (struct kl_mask){.state_bytes = STATE, .count = RANGES};
    for (unsigned i = 0; i < RANGES; i++)
        mask.range[i] = (struct kl_mask_range){500 * i + 3, 500 * i + 10};
    cut();
    assert_true(pieces > 2);
    return 0;
}

static bool in_force(void) {
    return match.profile.room.mask.count > 0;
}

static uint8_t hash_kind(void) {
    struct kl_hash h = {0};
    (void)kl_room_profile_hash(&match, state, sizeof state, &h);
    return h.has;
}

TEST_WITH(the_last_piece_puts_it_in_force, begin, NULL) {
    struct kl_hash h;
    assert_int_equal(hash_kind(), 0);
    for (unsigned i = 0; i < pieces; i++) {
        assert_false(in_force());
        kl_command_obey(&match, &match.play.run, &piece[i]);
    }
    assert_memory_equal(&match.profile.room.mask, &mask, sizeof mask);
    assert_int_equal(hash_kind(), KL_HASH_MASKED);
    uint64_t was = kl_room_profile_hash(&match, state, sizeof state, &h);
    state[10] ^= 1;
    assert_true(kl_room_profile_hash(&match, state, sizeof state, &h) == was);
    state[11] ^= 1;
    assert_true(kl_room_profile_hash(&match, state, sizeof state, &h) != was);
}

TEST_WITH(only_the_next_piece_of_the_same_client_counts, begin, NULL) {
    struct kl_command other = piece[1];
    other.client = 1;
    kl_command_obey(&match, &match.play.run, &piece[0]);
    kl_command_obey(&match, &match.play.run, &piece[2]);
    kl_command_obey(&match, &match.play.run, &other);
    other = piece[1];
    other.data[1]++;
    kl_command_obey(&match, &match.play.run, &other);
    other.len = 2;
    other.data[1]--;
    kl_command_obey(&match, &match.play.run, &other);
    for (unsigned i = 1; i < pieces - 1; i++)
        kl_command_obey(&match, &match.play.run, &piece[i]);
    kl_command_obey(&match, &match.play.run, &piece[1]);
    assert_false(in_force());
    kl_command_obey(&match, &match.play.run, &piece[pieces - 1]);
    assert_true(in_force());
}

static void give_all(void) {
    cut();
    for (unsigned i = 0; i < pieces; i++)
        kl_command_obey(&match, &match.play.run, &piece[i]);
}

/* More than 1 %, no range, and what is not one. */
TEST_WITH(a_bad_mask_is_refused, begin, NULL) {
    mask.count = 1;
    mask.range[0].to = mask.range[0].from + STATE / 100;
    give_all();
    assert_false(in_force());
    mask.count = 0;
    give_all();
    assert_false(in_force());
    struct kl_command c = {.kind = KL_COMMAND_MASK};
    for (unsigned number = 0; number < 256; number += 5)
        for (unsigned all = 0; all < 256; all++)
            for (c.len = 0; c.len <= KL_COMMAND_BYTES; c.len += 16) {
                memset(c.data, 0xff, sizeof c.data);
                c.data[0] = (uint8_t)number, c.data[1] = (uint8_t)all;
                kl_command_obey(&match, &match.play.run, &c);
            }
    assert_false(in_force());
}

/* A host cannot take bytes out of the judgement that counted before. */
TEST_WITH(a_second_mask_changes_nothing, begin, NULL) {
    mask.count = 1;
    give_all();
    assert_int_equal(match.profile.room.mask.count, 1);
    mask.count = 2;
    give_all();
    assert_int_equal(match.profile.room.mask.count, 1);
    memset(&match, 0, sizeof match);
    match.profile.room.states_equal = true;
    give_all();
    assert_false(in_force());
}

TEST_WITH(of_another_system_or_size_it_counts_otherwise, begin, NULL) {
    give_all();
    match.profile.foreign = true;
    assert_int_equal(hash_kind(), KL_HASH_NOTED);
    match.profile.foreign = false;
    match.profile.room.mask.state_bytes = STATE + 1;
    assert_int_equal(hash_kind(), 0);
}
