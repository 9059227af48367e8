/* Commands: limits of queues and stores, needs, and refusals. The rooms of tests/sim judge their order and
 * effects. PROTOCOL.md §5 "Commands". */
#include "tests/unit/unit.h"

#include "net/engine/command.h"
#include "net/engine/lock_client.h"
#include "net/engine/lock_relay_return.h"
#include "tests/lib/relay_hand.h"

void kl_lock_act(struct kl_lock_relay *room,
                 const struct kl_command *c); /* lock_relay_private.h, which shadows our r */

/* Two players with spacing 4 and a spectator, who all have everything. */
static void begin(void) {
    hand_begin(hand_params(KL_POLICY_STRICT, 2, 4));
    kl_lock_add(&r, 0, 1, 0);
    kl_lock_add(&r, 1, 2, 0);
    kl_lock_add(&r, 9, 0, 0);
    kl_lock_start(&r, 1000);
    interval = hand_take_all();
}

static int order(unsigned client, uint8_t kind, uint8_t data, size_t len) {
    uint8_t bytes[KL_COMMAND_BYTES + 1];
    memset(bytes, data, sizeof bytes);
    return kl_lock_command(&r, client, kind, bytes, len);
}

/* Plays one interval; gives the commands before its keyframe, or NULL. */
static const struct kl_commands *next_interval(void) {
    uint32_t n = r.next_close - interval, keyframe = r.next_close;
    uint64_t now = 1000 + r.next_close * UINT64_C(20000);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(hand_ctrl(i, n, 4, 0, now), 0);
    hand_ctrl(9, 0, 0, 0, now);
    bool some = false;
    while (kl_lock_take(&r, &hand_last))
        if (hand_last.number == keyframe) some = hand_last.flags & KL_FRAME_COMMANDS;
    static struct kl_commands set;
    return some ? kl_lock_commands(&r, keyframe, &set) : NULL;
}

TEST(one_of_each_in_turn) {
    begin();
    for (uint8_t i = 0; i < 5; i++)
        assert_int_equal(order(0, 30, i, 1), 0);
    for (uint8_t i = 0; i < 2; i++)
        assert_int_equal(order(1, 31, i, 1), 0);
    assert_int_equal(order(KL_RELAY_CLIENT, 32, 0, 1), 0);
    next_interval();
    const struct kl_commands *c = next_interval();
    assert_int_equal(c->count, 8);
    unsigned had[2] = {0};
    for (unsigned i = 0; i < 8; i++) {
        if (c->at[i].client == KL_RELAY_CLIENT) continue;
        assert_int_equal(c->at[i].data[0], had[c->at[i].client]); /* his own order is kept */
        had[c->at[i].client]++;
        if (had[0] > 2) assert_int_equal(had[1], 2); /* nobody has a third before the other had his second */
    }
}

TEST(forbidden_commands_are_refused) {
    begin();
    assert_int_equal(order(0, KL_COMMAND_FREE - 1, 0, 0), KL_E_MALFORMED);
    assert_int_equal(order(0, KL_COMMAND_FREE, 0, KL_COMMAND_BYTES + 1), KL_E_MALFORMED);
    assert_int_equal(order(0, KL_COMMAND_POLICY, 3, 5), KL_E_MALFORMED);
    assert_int_equal(order(0, KL_COMMAND_POLICY, 0, 4), KL_E_MALFORMED);
    assert_int_equal(order(0, KL_COMMAND_SWAP, KL_MAX_SEATS, 2), KL_E_MALFORMED);
    assert_int_equal(order(5, KL_COMMAND_FREE, 0, 0), KL_E_STATE);
    hand_begin(r.params);
    kl_lock_add(&r, 0, 1, 0);
    assert_int_equal(order(0, KL_COMMAND_FREE, 0, 0), KL_E_STATE); /* not started */
}

/* A command, and an interval in which the spectator acknowledges nothing: the keyframes with commands. */
static unsigned unheard_interval(void) {
    unsigned sets = 0;
    order(0, 30, 0, 1);
    uint32_t n = r.next_close - interval;
    for (unsigned i = 0; i < 2; i++)
        hand_ctrl(i, n, 4, 0, 1000 + r.next_close * UINT64_C(20000));
    while (kl_lock_take(&r, &hand_last))
        sets += (hand_last.flags & KL_FRAME_COMMANDS) != 0;
    return sets;
}

TEST(more_places_are_wanted_when_the_first_are_full) {
    static struct kl_packed_set more[KL_SETS_MORE];
    unsigned sets = 0;
    begin();
    r.more_commands = NULL;
    for (unsigned k = 0; k < KL_SETS_LEAST + 4; k++)
        sets += unheard_interval();
    assert_int_equal(sets, KL_SETS_LEAST);
    assert_true(r.wants_commands);
    kl_lock_give_sets(&r, more);
    assert_false(r.wants_commands);
    for (unsigned k = 0; k < KL_COMMAND_SETS; k++)
        sets += unheard_interval();
    assert_int_equal(sets, KL_COMMAND_SETS);
    assert_false(r.wants_commands);
}

static struct kl_commands set_of(uint32_t keyframe, unsigned count, uint8_t len) {
    struct kl_commands set = {.keyframe = keyframe, .count = (uint8_t)count};
    for (unsigned i = 0; i < count; i++) {
        set.at[i] = (struct kl_command){.client = (uint8_t)i, .kind = 40, .len = len};
        memset(set.at[i].data, (int)(keyframe + i), len);
    }
    return set;
}

/* A menu that stays open for all the frames that a client keeps, while the relay gives all that it may. */
TEST(the_longest_menu_loses_none) {
    static struct kl_command_store s;
    memset(&s, 0, sizeof s);
    for (unsigned lap = 0; lap < 3; lap++) { /* around the ring, too */
        uint32_t base = lap * 2 * KL_COMMAND_LAG, sets = 0, bytes = 0;
        for (uint32_t k = 0; k < KL_COMMAND_LAG; k += 4) {
            struct kl_commands set = set_of(base + k, 1 + k % 8, 40);
            if (bytes >= KL_COMMAND_BURST + KL_COMMAND_PACE * k) continue;
            assert_true(kl_command_store_put(&s, &set));
            bytes += kl_command_store_size(&set);
            sets++;
        }
        assert_true(sets > 1000);
        for (uint32_t k = 0; k < KL_COMMAND_LAG; k++) {
            const struct kl_commands *got = kl_command_store_find(&s, base + k);
            if (!got) continue;
            struct kl_commands set = set_of(base + k, 1 + k % 8, 40);
            assert_true(got->count == set.count && got->keyframe == set.keyframe);
            for (unsigned i = 0; i < set.count; i++)
                assert_memory_equal(&got->at[i], &set.at[i], sizeof set.at[i]);
            sets--;
        }
        assert_int_equal(sets, 0);
    }
}

TEST(a_full_store_takes_nothing_and_loses_nothing) {
    static struct kl_command_store s;
    memset(&s, 0, sizeof s);
    uint32_t put = 0;
    for (struct kl_commands set = set_of(0, 4, 90); kl_command_store_put(&s, &set); set = set_of(put, 4, 90))
        put++;
    assert_in_range(put, KL_COMMAND_STORE / kl_command_store_size(&s.first) / 100, KL_COMMAND_STORE / 377);
    for (uint32_t k = 0; k < put; k++)
        assert_non_null(kl_command_store_find(&s, k));
    assert_null(kl_command_store_find(&s, put));
}

/* As much at once as a client has place for, and then as much a frame. */
TEST(a_flood_waits_in_the_queues) {
    begin();
    r.commands_given = KL_COMMAND_BURST + 4 * KL_COMMAND_PACE;
    r.given_at = r.now.first;
    uint32_t n = r.next_close, before = r.client[0].queued;
    order(0, 40, 9, 2);
    assert_int_equal(r.client[0].queued, before + 1);
    unsigned given_at = 0;
    for (unsigned k = 1; k < 6 && !given_at; k++, n += 4) {
        for (unsigned i = 0; i < 2; i++)
            hand_ctrl(i, n - interval, 4, 0, 1000 + n * UINT64_C(20000));
        if (r.client[0].queued == before) given_at = k;
    }
    assert_int_equal(given_at, 2); /* at the first keyframe it was four frames' worth too much */
    assert_int_equal(r.commands_given, KL_COMMAND_BURST - 4 * KL_COMMAND_PACE + 5 + 3 + 2);
}

/* Each client's word on its own link: the spacing looks at them one by one. */
TEST(needs_are_kept_by_client) {
    uint8_t buf[KL_DATAGRAM_MAX];
    hand_begin((struct kl_params){
        .subframes = true, .clocked = true, .players = 2, .spacing_fixed = 4, .fps_uhz = 50000000});
    kl_lock_add(&r, 0, 1, 0);
    kl_lock_add(&r, 3, 2, 0);
    kl_lock_start(&r, 1000);
    hand_missing = 1;             /* datagrams that told the samples before */
    hand_ctrl(0, 0, 4, 0, 60000); /* interval 0 is made of no samples, and its needs do not count */
    hand_ctrl(3, 0, 4, 0, 60000);
    r.client[3].sent[0].stamp = 180000;
    struct kl_ctrl m = {.stamp = 70000,
                        .has_echo = true,
                        .echo = 180000,
                        .frame_acked = 8,
                        .sample_first = 4,
                        .backlog = 1,
                        .need_count = 2,
                        .need = {9, 11}};
    size_t len = kl_ctrl_write(&m, (const struct kl_input(*)[KL_MAX_SEATS])ring, 1, buf, sizeof buf);
    assert_int_equal(kl_lock_receive(&r, 3, buf, len, 0, 0, 190000), 0);
    assert_int_equal(r.spacing.need[3][6], 11);
    assert_int_equal(r.spacing.next[3], 7);
    assert_int_equal(r.spacing.next[0], 0);
}

/* As a client may bring them to a relay that begins again. */
TEST(malformed_commands_do_nothing) {
    begin();
    struct kl_command wild[] = {
        {.kind = KL_COMMAND_SWAP, .len = 2, .data = {1, 255}},
        {.kind = KL_COMMAND_RATE, .len = 4},
        {.kind = KL_COMMAND_POLICY, .len = 5, .data = {1, 250, 0, 255, 0}},
        {.kind = KL_COMMAND_POLICY, .len = 5, .data = {1, 250, 0, 0, 31}},
        {.kind = KL_COMMAND_POLICY, .len = 1, .data = {9}},
    };
    for (size_t i = 0; i < sizeof wild / sizeof *wild; i++)
        kl_lock_act(&r, &wild[i]);
    assert_int_equal(r.plays[1], 1);
    assert_int_equal(r.params.fps_uhz, 50000000);
    assert_int_equal(r.params.policy, KL_POLICY_STRICT);
    assert_int_equal(r.params.spacing_fixed, 4);
}
