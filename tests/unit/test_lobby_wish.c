/* test_lobby_wish.c - a rematch, a load and a core option need more than half of the players; one wish at a
 * time, and one that nobody shared bars the player for a while. net/ROOMS.md §7, Wishes. */
#include "tests/unit/unit.h"
#include "tests/lib/lobby_watchers.h"

#include "net/engine/command.h"

static unsigned reset_count, load_count, option_count; /* of the game, as the first player runs it */

static void count_resets(struct player *p, const struct kl_frame *f) {
    bool some = p == &player[0] && (f->flags & KL_FRAME_COMMANDS);
    const struct kl_commands *set = some ? kl_client_commands(&p->lock, f->number) : NULL;
    for (unsigned i = 0; set && i < set->count; i++) {
        reset_count += set->at[i].kind == KL_COMMAND_RESET;
        load_count += set->at[i].kind == KL_COMMAND_LOAD;
        option_count += set->at[i].kind == KL_COMMAND_OPTION;
    }
}

static void begin_counting(void) {
    begin_watched();
    reset_count = load_count = option_count = 0;
    on_frame = count_resets;
}

static const struct kl_text *newest_notice(unsigned peer) {
    return &got(peer, KL_MSG_NOTICE)->text;
}

static void reset_by(unsigned peer) {
    say(peer, &(struct kl_msg){.kind = KL_MSG_COMMAND, .order = {.kind = KL_COMMAND_RESET}});
}

TEST_WITH(a_rematch_needs_more_than_half, set_up_watched, tear_down) {
    begin_counting();
    go(2 * SECOND);
    reset_by(0);
    go(SECOND);
    assert_int_equal(reset_count, 0);
    assert_string_equal(newest_notice(0)->text, "you asked for a rematch: 1 of 3 players agree");
    for (unsigned i = 1; i < PLAYERS; i++) {
        assert_int_equal(newest_notice(i)->code, KL_NOTICE_AGAIN);
        assert_string_equal(newest_notice(i)->text, "p0 (1) wants a rematch: agree within 10 s");
    }
    for (unsigned i = 0; i < 5; i++) /* again and again: it stays one wish */
        reset_by(0);
    go(SECOND);
    assert_int_equal(reset_count, 0);
    reset_by(2);
    go(SECOND);
    assert_int_equal(reset_count, 1);
    reset_by(1); /* the wishes before are used up */
    go(SECOND);
    assert_int_equal(reset_count, 1);
    go(10 * SECOND);
    reset_by(2); /* the wish before is over */
    go(SECOND);
    assert_int_equal(reset_count, 1);
}

TEST_WITH(a_rematch_of_one, set_up_watched, tear_down) {
    begin_counting();
    go(2 * SECOND);
    order(2, KL_COMMAND_SEAT, 0);
    go(SECOND);
    reset_by(2); /* without a seat */
    assert_string_equal(newest_notice(2)->text, "only players can ask for that");
    reset_by(0);
    go(SECOND);
    assert_int_equal(reset_count, 0); /* of two */
    cut(1);
    go(11 * SECOND);
    reset_by(0);
    go(SECOND);
    assert_int_equal(reset_count, 1); /* the other one is away */
    order(2, KL_COMMAND_SEAT, 1);
    reset_by(0); /* at once: the other one counts before the first sample */
    go(SECOND);
    assert_int_equal(reset_count, 1);
}

static void option_by(unsigned peer, const char *text) {
    struct kl_msg m = {.kind = KL_MSG_COMMAND,
                       .order = {.kind = KL_COMMAND_OPTION, .len = (uint8_t)strlen(text)}};
    memcpy(m.order.data, text, strlen(text));
    say(peer, &m);
}

TEST_WITH(an_option_needs_more_than_half_or_the_host, set_up_watched, tear_down) {
    begin_counting();
    go(2 * SECOND);
    option_by(1, "speed=fast");
    go(SECOND);
    assert_int_equal(option_count, 0);
    assert_int_equal(newest_notice(2)->code, KL_NOTICE_AGAIN);
    assert_string_equal(newest_notice(2)->text, "p1 (2) wants speed=fast: agree within 10 s");
    assert_string_equal(newest_notice(1)->text, "you asked for speed=fast: 1 of 3 players agree");
    option_by(2, "speed=slow"); /* another wish */
    assert_string_equal(newest_notice(2)->text, "p1 (2) wants speed=fast: agree, or wait");
    go(SECOND);
    assert_int_equal(option_count, 0);
    option_by(0, "speed=slow"); /* the host's own */
    go(SECOND);
    assert_int_equal(option_count, 1);
    option_by(2, "speed=fast"); /* the same */
    go(SECOND);
    assert_int_equal(option_count, 2);
    option_by(1, "speed=slow"); /* the last one was shared */
    reset_by(2);                /* the key that agrees */
    go(SECOND);
    assert_int_equal(option_count, 3);
    assert_int_equal(reset_count, 0);
}

static void saved_by(unsigned peer, uint32_t keyframe) {
    struct kl_msg m = {.kind = KL_MSG_COMMAND, .order = {.kind = KL_COMMAND_SAVED, .len = KL_SAVED_BYTES}};
    m.order.data[0] = (uint8_t)keyframe;
    m.order.data[4] = true;
    say(peer, &m);
}

static void load_by(unsigned peer, uint32_t keyframe) {
    struct kl_msg m = {.kind = KL_MSG_COMMAND, .order = {.kind = KL_COMMAND_LOAD, .len = KL_LOAD_BYTES}};
    m.order.data[0] = (uint8_t)keyframe;
    say(peer, &m);
}

TEST_WITH(a_load_needs_more_than_half_and_the_state, set_up_watched, tear_down) {
    begin_counting();
    go(2 * SECOND);
    for (unsigned i = 0; i < PLAYERS; i++)
        saved_by(i, 60);
    load_by(0, 60);
    go(SECOND);
    assert_int_equal(load_count, 0);
    assert_string_equal(newest_notice(1)->text, "p0 (1) wants the saved state: agree within 10 s");
    saved_by(2, 61); /* meanwhile */
    load_by(1, 60);
    go(SECOND);
    assert_int_equal(load_count, 0);
    for (unsigned i = 0; i < PLAYERS; i++)
        saved_by(i, 61);
    load_by(0, 61);
    load_by(1, 61);
    go(SECOND);
    assert_int_equal(load_count, 1);
}

TEST_WITH(a_wish_that_nobody_shares_bars_its_player, set_up_watched, tear_down) {
    begin_counting();
    go(2 * SECOND);
    option_by(1, "speed=fast");
    go(11 * SECOND);
    reset_by(1);
    assert_string_equal(newest_notice(1)->text, "the others did not agree: ask again in 19 s");
    reset_by(2); /* another's wish */
    assert_string_equal(newest_notice(1)->text, "p2 (3) wants a rematch: agree within 10 s");
    reset_by(1);
    go(SECOND);
    assert_int_equal(reset_count, 1);
    go(20 * SECOND);
    reset_by(1);
    assert_string_equal(newest_notice(2)->text, "p1 (2) wants a rematch: agree within 10 s");
}

TEST_WITH(a_wish_ends_with_its_player, set_up_watched, tear_down) {
    begin_counting();
    go(2 * SECOND);
    reset_by(1);
    bye(1);
    go(SECOND);
    reset_by(2);
    assert_string_equal(newest_notice(0)->text, "p2 (3) wants a rematch: agree within 10 s");
    go(SECOND);
    assert_int_equal(reset_count, 0);
}
