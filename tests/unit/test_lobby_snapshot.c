/* Snapshots in the lobby: three who play, what they say, what they give. net/ROOMS.md §7, Snapshots. */
#include "tests/unit/unit.h"
#include "tests/lib/lobby_players.h"

#include <zstd.h>

#include "core_wrapper/core/snapshot_pack.h"
#include "net/engine/command.h"

#define BYTES 50000

static uint8_t state[PLAYERS][BYTES]; /* of whom; equal where they are in sync */

/* Pieces of this snapshot from `from` to `to`, until the relay hangs up. */
static void give_some(unsigned who, bool based, const uint8_t *packed, uint32_t from, uint32_t to,
                      uint32_t len) {
    const unsigned peer = player[who].peer;
    for (uint32_t at = from; at < to && !inbox[peer].hung_up;) {
        struct kl_msg m = {.kind = KL_MSG_GIVE, .snapshot = {.keyframe = snapshot_at, .based = based}};
        m.snapshot.piece = (struct kl_piece){.offset = at, .total = len};
        m.snapshot.piece.len = (uint16_t)(to - at < KL_BULK_MAX ? to - at : KL_BULK_MAX);
        memcpy(m.snapshot.piece.bytes, packed + at, m.snapshot.piece.len);
        at += m.snapshot.piece.len;
        say(peer, &m);
    }
}

static void give_pieces(unsigned who, const uint8_t *packed, uint32_t len) {
    give_some(who, false, packed, 0, len, len);
}

static uint32_t pack_state(const uint8_t *from, size_t len, uint8_t *packed, size_t cap) {
    size_t n = ZSTD_compress(packed, cap, from, len, 1);
    assert_false(ZSTD_isError(n));
    return (uint32_t)n;
}

static void give_state(unsigned who) {
    static uint8_t packed[2 * BYTES];
    give_pieces(who, packed, pack_state(state[who], BYTES, packed, sizeof packed));
}

static struct kl_ask ask; /* the one of who_is_asked() */

static unsigned who_is_asked(void) {
    for (unsigned i = 0; i < PLAYERS; i++) {
        if (!player[i].to_give) continue;
        player[i].to_give = false;
        ask = player[i].p.ask;
        assert_int_equal(ask.keyframe, snapshot_at);
        return i;
    }
    fail_msg("nobody is asked");
    return 0;
}

static void begin(void) {
    start_room(KL_POLICY_BOUNDED);
    state_bytes = BYTES;
    for (unsigned i = 0; i < PLAYERS; i++) {
        state_of_machine(&player[i], state[i]);
        player[i].state = state[i];
        player[i].states = true;
        player[i].gives = player[i].loads = false; /* the test does */
    }
    play(SECOND);
}

static void order_one(void) {
    assert_true(kl_lobby_snapshot_order(the_room(), 0, now_us));
    assert_false(kl_lobby_snapshot_order(the_room(), 0, now_us)); /* one at a time */
    play(SECOND / 2);
}

static void expect_kept(unsigned who) {
    const struct kl_lobby_packed *k = the_room()->snapshot.kept;
    static uint8_t out[BYTES];
    assert_non_null(k->packed);
    assert_int_equal(k->keyframe, snapshot_at);
    assert_int_equal(ZSTD_decompress(out, BYTES, k->packed, k->len), BYTES);
    assert_memory_equal(out, state[who], BYTES);
    assert_int_equal(lobby->snapshot_bytes, k->len);
}

TEST_WITH(is_kept_and_sent_on, set_up, tear_down) {
    begin();
    order_one();
    unsigned giver = who_is_asked();
    give_state(giver);
    expect_kept(giver);
    assert_true(kl_visitor_offer(the_room(), &the_room()->member[2]->v, the_room()->snapshot.kept, false));
    play(SECOND);
    const struct kl_msg *offer = heard(player[2].peer, KL_MSG_OFFER);
    assert_non_null(offer);
    assert_int_equal(offer->offer.keyframe, snapshot_at);
    assert_int_equal(offer->offer.bytes, BYTES);
    assert_memory_equal(player[2].p.coming, the_room()->snapshot.kept->packed, offer->offer.packed);
    uint32_t before = snapshot_at;
    order_one(); /* a newer one takes its place */
    assert_true(snapshot_at > before);
    give_state(who_is_asked());
    expect_kept(0);
    expect_all_at_the_end();
}

/* --- against the one that is kept --- */

static uint8_t before[BYTES]; /* the state that was */
static uint8_t *slices;
static size_t slices_len;

/* One is kept, all have gone on since, and another is ordered. Returns the member that is asked for it. */
static unsigned go_on_from_one(void) {
    begin();
    order_one();
    uint32_t first = snapshot_at;
    give_state(who_is_asked());
    assert_false(ask.based); /* by what? */
    memcpy(before, state[0], BYTES);
    for (unsigned i = 0; i < PLAYERS; i++)
        for (unsigned n = 0; n < BYTES; n += 2500)
            memset(state[i] + n, (int)(n / 2500 + 1), 20);
    order_one();
    unsigned giver = who_is_asked();
    assert_true(ask.based && ask.base == first && ask.keyframe == snapshot_at);
    assert_memory_equal(ask.hash, the_room()->snapshot.kept->hash, sizeof ask.hash);
    slices = kl_snapshot_pack_against(before, BYTES, state[giver], BYTES, &slices_len);
    assert_non_null(slices);
    return giver;
}

TEST_WITH(a_difference_is_enough, set_up, tear_down) {
    unsigned giver = go_on_from_one();
    assert_true(slices_len * 2 < the_room()->snapshot.kept->len);
    give_some(giver, true, slices, 0, (uint32_t)slices_len, (uint32_t)slices_len);
    play(SECOND / 10);
    expect_kept(giver);
    assert_memory_equal(the_room()->snapshot.kept->hash, the_room()->snapshot.wanted.hash, KL_SNAPSHOT_HASH);
    assert_true(kl_visitor_offer(the_room(), &the_room()->member[2]->v, the_room()->snapshot.kept,
                                 false)); /* whole: he may have no base */
    play(SECOND);
    uint8_t *whole = player_unpack(&player[2].p);
    assert_memory_equal(whole, state[2], BYTES);
    free(whole), free(slices);
    expect_all_at_the_end();
}

/* Nobody is put out for it: he is asked for the whole, and what he had sent of the other means nothing. */
TEST_WITH(a_difference_that_does_not_fit_is_asked_whole, set_up, tear_down) {
    for (unsigned how = 0; how < 3; how++) {
        unsigned giver = go_on_from_one();
        uint32_t len = (uint32_t)slices_len, half = len / 2;
        if (how == 0) { /* another base than he says */
            free(slices);
            memcpy(before, state[giver], BYTES);
            slices = kl_snapshot_pack_against(before, BYTES, state[giver], BYTES, &slices_len);
            len = (uint32_t)slices_len;
        }
        if (how == 1) memset(slices, 7, half); /* no slices: that shows before the last of them is here */
        if (how == 2) lobby->limits.mib_per_address = 0;
        give_some(giver, true, slices, 0, how ? half : len, len);
        play(SECOND / 10);
        if (how) give_some(giver, true, slices, half, len, len);
        lobby->limits.mib_per_address = 64;
        assert_false(inbox[player[giver].peer].hung_up);
        assert_int_equal(who_is_asked(), giver);
        assert_false(ask.based);
        assert_int_equal(lobby->snapshot_bytes, the_room()->snapshot.kept->len);
        give_state(giver);
        expect_kept(giver);
        free(slices);
        begin_again();
    }
}

/* A giver of another whole one is then a liar, and the next is asked for a whole one, too. */
TEST_WITH(a_second_misfit_comes_from_another, set_up, tear_down) {
    unsigned giver = go_on_from_one();
    memset(slices, 7, slices_len);
    give_some(giver, true, slices, 0, (uint32_t)slices_len, (uint32_t)slices_len);
    assert_int_equal(who_is_asked(), giver);
    give_pieces(giver, slices, (uint32_t)slices_len);
    expect_refusal(player[giver].peer, KL_REFUSE_PROTOCOL, "does not match the hash that you gave");
    vanish(giver);
    unsigned next = who_is_asked();
    assert_false(ask.based);
    give_state(next);
    expect_kept(next);
    free(slices);
}

/* Half of one kind and half of the other is neither; and who has no base gives the whole at once. */
TEST_WITH(whole_or_not, set_up, tear_down) {
    unsigned giver = go_on_from_one();
    give_state(giver);
    expect_kept(giver);
    free(slices);
    begin_again();
    giver = go_on_from_one();
    give_some(giver, true, slices, 0, 40, (uint32_t)slices_len);
    give_some(giver, false, slices, 40, 50, (uint32_t)slices_len);
    assert_true(inbox[player[giver].peer].hung_up);
    free(slices);
}

TEST_WITH(most_are_right, set_up, tear_down) {
    begin();
    state[0][777] ^= 1;
    order_one();
    unsigned giver = who_is_asked();
    assert_int_not_equal(giver, 0);
    give_state(giver);
    expect_kept(1);
}

TEST_WITH(a_state_of_those_that_count_is_asked, set_up, tear_down) {
    begin();
    state[1][777] ^= 1;
    state[2][777] ^= 1;
    assert_true(kl_lobby_snapshot_order(the_room(), 1U << 0, now_us));
    play(SECOND / 2);
    assert_int_equal(who_is_asked(), 0);
    give_state(0);
    expect_kept(0);
}

#define BOMB (64U << 20)

/* Nobody gets what a forger gives, and the next one is asked: other bytes, a frame without its end, no zstd,
 * a state that is longer, and a bomb. */
TEST_WITH(forger, set_up, tear_down) {
    static uint8_t packed[2 * BYTES], other[BYTES + 1];
    uint8_t *zeros = calloc(1, BOMB);
    assert_non_null(zeros);
    for (unsigned how = 0; how < 5; how++) {
        if (how) begin_again();
        begin();
        order_one();
        unsigned liar = who_is_asked();
        memcpy(other, state[liar], BYTES);
        other[BYTES / 2] ^= how == 0;
        uint32_t len = how == 4 ? pack_state(zeros, BOMB, packed, sizeof packed)
                                : pack_state(other, BYTES + (how == 3), packed, sizeof packed);
        if (how == 1) len -= 3;
        if (how == 2) memset(packed, 7, len);
        give_pieces(liar, packed, len);
        expect_refusal(player[liar].peer, KL_REFUSE_PROTOCOL, "does not match the hash that you gave");
        vanish(liar);
        unsigned next = who_is_asked();
        assert_int_not_equal(next, liar);
        give_state(next);
        expect_kept(next);
    }
    free(zeros);
}

TEST_WITH(silent_giver, set_up, tear_down) {
    begin();
    order_one();
    unsigned first = who_is_asked();
    play(4 * SECOND);
    assert_int_equal(the_room()->snapshot.giver, first);
    play(2 * SECOND);
    unsigned second = who_is_asked();
    assert_int_not_equal(first, second);
    give_state(first); /* too late, and nothing to him */
    assert_null(the_room()->snapshot.kept);
    give_state(second);
    expect_kept(second);
}

TEST_WITH(giver_goes, set_up, tear_down) {
    begin();
    order_one();
    unsigned first = who_is_asked();
    cut(first);
    play(SECOND);
    unsigned second = who_is_asked();
    assert_int_not_equal(first, second);
    give_state(second);
    expect_kept(second);
}

TEST_WITH(nobody_agrees, set_up, tear_down) {
    begin();
    state[0][1] ^= 1;
    state[1][1] ^= 2;
    order_one();
    assert_int_equal(the_room()->snapshot.phase, KL_SNAPSHOT_NONE);
    assert_int_equal(the_room()->snapshot.failures, 1);
    assert_null(the_room()->snapshot.kept);
    assert_true(kl_lobby_snapshot_order(the_room(), 0, now_us)); /* it may be better next time */
}

TEST_WITH(no_states, set_up, tear_down) {
    begin();
    for (unsigned i = 0; i < PLAYERS; i++)
        player[i].no_state = true;
    order_one();
    assert_int_equal(the_room()->snapshot.failures, 1);
    assert_false(kl_lobby_snapshot_order(the_room(), 0, now_us));
}

/* No one client says for the core that it has no states, whoever is asked. */
TEST_WITH(one_says_that_there_are_none, set_up, tear_down) {
    begin();
    player[1].no_state = true;
    assert_true(kl_lobby_snapshot_order(the_room(), 1U << 1, now_us));
    play(SECOND / 2);
    assert_int_equal(the_room()->snapshot.failures, 1);
    assert_false(the_room()->snapshot.unfit);
    player[0].states = player[2].states = false; /* a silent client has not said so either */
    assert_true(kl_lobby_snapshot_order(the_room(), 0, now_us));
    play(4 * SECOND);
    assert_int_equal(the_room()->snapshot.failures, 2);
    assert_false(the_room()->snapshot.unfit);
    player[0].states = player[2].states = true;
    order_one();
    give_state(who_is_asked());
    expect_kept(0);
}

/* Nor how large it is. */
TEST_WITH(one_says_that_it_is_too_large, set_up, tear_down) {
    static uint8_t packed[BYTES];
    begin();
    lobby->limits.snapshot_kib = 16;
    assert_true(kl_lobby_snapshot_order(the_room(), 1U << 1, now_us));
    play(SECOND / 2);
    assert_int_equal(who_is_asked(), 1);
    give_pieces(1, packed, 16 * 1024 + 1);
    assert_int_equal(the_room()->snapshot.failures, 1);
    assert_false(the_room()->snapshot.unfit);
}

/* A giver that was asked in vain is asked last, however short his round trip. */
TEST_WITH(never_gives, set_up, tear_down) {
    begin();
    order_one();
    unsigned first = who_is_asked();
    play(6 * SECOND);
    give_state(who_is_asked());
    order_one();
    unsigned second = who_is_asked();
    assert_int_not_equal(first, second);
    give_state(second);
    expect_kept(second);
}

/* They play in sync, and their states differ in what no verdict looks at: newcomers get history, and all are
 * told once. */
TEST_WITH(states_apart, set_up, tear_down) {
    begin();
    state[0][1] ^= 1;
    state[1][1] ^= 2;
    order_one();
    assert_false(the_room()->snapshot.told_apart); /* one of them may have been out of sync */
    assert_true(kl_lobby_catchup_has_states(the_room()));
    order_one();
    assert_true(the_room()->snapshot.told_apart);
    expect_notice(player[0].peer, "the machines' states differ");
    assert_false(kl_lobby_catchup_has_states(the_room()) || the_room()->snapshot.unfit);
    struct kl_catchup w = {0};
    assert_int_equal(kl_lobby_catchup_by(the_room(), &w), KL_CATCHUP_HISTORY);
}

/* Two who agree are enough, the third is waited for a while. */
TEST_WITH(one_says_nothing, set_up, tear_down) {
    begin();
    state[0][1] ^= 1;
    player[2].states = false;
    order_one();
    assert_int_equal(the_room()->snapshot.phase, KL_SNAPSHOT_HASHING);
    play(3 * SECOND);
    assert_int_equal(the_room()->snapshot.failures, 1); /* one against one */
    state[0][1] ^= 1;
    order_one();
    give_state(who_is_asked());
    expect_kept(0);
}

TEST_WITH(too_large, set_up, tear_down) {
    static uint8_t packed[40000];
    begin();
    lobby->limits.snapshot_kib = 16;
    order_one();
    unsigned giver = who_is_asked();
    give_pieces(giver, packed, 16 * 1024 + 1);
    assert_false(the_room()->snapshot.unfit);           /* so he says */
    give_pieces(who_is_asked(), packed, 16 * 1024 + 2); /* two had agreed before the third spoke */
    expect_notice(player[0].peer, "this relay takes at most 16");
    assert_int_equal(lobby->snapshot_bytes, 0);
    assert_false(inbox[player[giver].peer].hung_up);
    assert_false(kl_lobby_snapshot_order(the_room(), 0, now_us));
}

/* He who says that it is too large is not the only one who has it. */
TEST_WITH(another_is_asked_for_a_state_that_is_too_large, set_up, tear_down) {
    static uint8_t packed[BYTES];
    begin();
    lobby->limits.snapshot_kib = 16;
    order_one();
    give_pieces(who_is_asked(), packed, 16 * 1024 + 1);
    unsigned other = who_is_asked();
    give_state(other);
    expect_kept(other);
    order_one();
    unsigned giver = who_is_asked();
    struct kl_msg m = {.kind = KL_MSG_GIVE,
                       .snapshot = {snapshot_at, {.total = BYTES + BYTES / 8 + 1025, .len = 5}}};
    say(player[giver].peer, &m); /* nothing is packed so badly */
    assert_true(inbox[player[giver].peer].hung_up);
    vanish(giver);
    other = who_is_asked();
    give_state(other);
    expect_kept(other);
}

/* Its address has had its share: none now, another time perhaps. */
TEST_WITH(no_memory_left, set_up, tear_down) {
    static uint8_t packed[40000];
    begin();
    lobby->limits.mib_per_address = 0;
    order_one();
    unsigned giver = who_is_asked();
    give_pieces(giver, packed, sizeof packed);
    give_pieces(who_is_asked(), packed, sizeof packed);
    expect_notice(player[0].peer, "has less than 39 KiB left");
    assert_int_equal(lobby->snapshot_bytes, 0);
    assert_false(inbox[player[giver].peer].hung_up || the_room()->snapshot.unfit);
}

TEST_WITH(against_the_protocol, set_up, tear_down) {
    begin();
    order_one();
    unsigned giver = who_is_asked(), other = (giver + 1) % PLAYERS;
    struct kl_msg m = {.kind = KL_MSG_GIVE, .snapshot = {snapshot_at, {.offset = 4, .total = 9, .len = 5}}};
    say(player[other].peer, &m); /* may have been asked before */
    assert_false(inbox[player[other].peer].hung_up);
    say(player[giver].peer, &m); /* in order, that is */
    assert_true(inbox[player[giver].peer].hung_up);
    vanish(giver);
    m = (struct kl_msg){.kind = KL_MSG_STATE, .state.keyframe = 1000000};
    say(player[other].peer, &m); /* of a relay before this one */
    assert_false(inbox[player[other].peer].hung_up);
}

/* The command is the relay's. */
TEST_WITH(not_for_members, set_up, tear_down) {
    begin();
    snapshot_at = 0;
    say(player[0].peer, &(struct kl_msg){.kind = KL_MSG_COMMAND, .order.kind = KL_COMMAND_SNAPSHOT});
    play(SECOND);
    assert_int_equal(snapshot_at, 0);
}

/* A history that fills asks for one by itself. */
TEST_WITH(before_history_is_full, set_up, tear_down) {
    begin();
    lobby->limits.history_kib = 20;
    play(SECOND);
    give_state(who_is_asked());
    expect_kept(0);
    assert_true(kl_lobby_past_reaches(the_room(), the_room()->snapshot.kept->keyframe));
    play(2 * SECOND);
    assert_int_equal(the_room()->snapshot.phase, KL_SNAPSHOT_NONE); /* and no other so soon */
}
