/* The room's saved state: a LOAD goes to the room only where all have the same. */
#include "tests/unit/unit.h"
#include "tests/lib/lobby_net.h"

#include "net/engine/command.h"
#include "net/relay/lobby/lobby_parts.h"

static struct kl_lobby_room *room;

static int begin(void **state) {
    set_up(state);
    start_game_of(3);
    room = the_room();
    return 0;
}

/* In a room that has closed so many frames. */
static void say_at(uint32_t frame, unsigned peer, const struct kl_msg *m) {
    uint8_t bytes[KL_MSG_MAX];
    uint32_t was = room->lock.next_close;
    int len = kl_msg_encode(m, bytes, sizeof bytes);
    room->lock.next_close = frame;
    kl_lobby_message(lobby, peer, bytes, (size_t)len, now_us);
    room->lock.next_close = was;
}

static void tell(unsigned peer, uint32_t keyframe, bool has, uint8_t hash) {
    struct kl_msg m = {.kind = KL_MSG_COMMAND, .order = {.kind = KL_COMMAND_SAVED, .len = KL_SAVED_BYTES}};
    m.order.data[0] = (uint8_t)keyframe;
    m.order.data[1] = (uint8_t)(keyframe >> 8);
    m.order.data[4] = has;
    m.order.data[5] = hash;
    say_at(1000, peer, &m);
}

static void ask(unsigned peer, uint32_t keyframe) {
    struct kl_msg m = {.kind = KL_MSG_COMMAND, .order = {.kind = KL_COMMAND_LOAD, .len = KL_LOAD_BYTES}};
    m.order.data[0] = (uint8_t)keyframe;
    m.order.data[1] = (uint8_t)(keyframe >> 8);
    say_at(1000, peer, &m);
}

static unsigned queued(unsigned client) {
    return room->lock.client[client].queued;
}

/* Everybody is told. */
static void refused(const char *text) {
    for (unsigned i = 0; i < 3; i++) {
        if (inbox[i].hung_up) continue;
        const struct kl_msg *m = heard(i, KL_MSG_NOTICE);
        assert_non_null(m);
        assert_string_equal(m->text.text, text);
    }
}

TEST_WITH(all_or_none, begin, tear_down) {
    ask(0, 100);
    assert_int_equal(queued(0), 0);
    refused("did not load the save of frame 100: p0 (1) has not run that save yet");
    tell(0, 100, true, 5);
    tell(1, 100, true, 5);
    ask(0, 100);
    assert_int_equal(queued(0), 0);
    refused("did not load the save of frame 100: p2 (3) has not run that save yet");
    tell(2, 100, false, 0);
    ask(0, 100);
    assert_int_equal(queued(0), 0);
    refused("did not load the save of frame 100: p2 (3) could not save it");
    tell(2, 100, true, 6);
    ask(0, 100);
    assert_int_equal(queued(0), 0);
    refused("did not load the save of frame 100: p2 (3) has another save, out of sync");
    tell(2, 100, true, 5);
    ask(1, 100);
    assert_int_equal(queued(1), 0);
    ask(0, 100); /* two of three want it */
    assert_int_equal(queued(1), 1);
    tell(1, 200, true, 7);
    ask(0, 100);
    assert_int_equal(queued(0), 0);
    refused("did not load the save of frame 100: p1 (2) has a newer save");
}

/* A player who is away runs the save before the load. A player who said they have nothing would not. */
TEST_WITH(members_that_are_gone_do_not_count, begin, tear_down) {
    tell(0, 100, true, 5);
    tell(1, 100, true, 5);
    lose(2);
    ask(0, 100);
    ask(1, 100);
    assert_int_equal(queued(0), 1);
    tell(1, 200, false, 0);
    tell(0, 200, true, 5);
    lose(1);
    ask(0, 200);
    assert_int_equal(queued(0), 1);
    refused("did not load the save of frame 200: p1 (2) could not save it");
}

TEST_WITH(nonsense_changes_nothing, begin, tear_down) {
    struct kl_msg m = {.kind = KL_MSG_COMMAND, .order = {.kind = KL_COMMAND_LOAD}};
    for (unsigned i = 0; i < 3; i++)
        tell(i, 100, true, 5);
    say_at(1000, 0, &m); /* names no keyframe */
    assert_int_equal(queued(0), 0);
    tell(1, 1000, true, 5); /* of a frame that nobody can have run */
    m.order = (struct kl_order){.kind = KL_COMMAND_SAVED, .len = KL_SAVED_BYTES, .data = {90, 0, 0, 0, 2}};
    say_at(1000, 1, &m);
    m.order.len--;
    say_at(1000, 1, &m);
    ask(0, 100);
    ask(1, 100);
    assert_int_equal(queued(0), 1);
}

TEST_WITH(by_the_operator, begin, tear_down) {
    const struct kl_order load = {.kind = KL_COMMAND_LOAD};
    assert_int_equal(kl_lobby_order_command(room, &load, now_us), KL_E_STATE); /* nothing is saved */
    for (unsigned i = 0; i < 3; i++)
        tell(i, 100, true, 5);
    tell(1, 300, true, 5);
    assert_int_equal(kl_lobby_order_command(room, &load, now_us), KL_E_STATE);
    refused("did not load the save of frame 300: p0 (1) has not run that save yet");
    tell(0, 300, true, 5);
    tell(2, 300, true, 5);
    assert_int_equal(kl_lobby_order_command(room, &load, now_us), KL_OK);
    assert_int_equal(room->lock.relay.queued, 1);
    assert_memory_equal(room->lock.relay.queue[0].data, ((uint8_t[]){0x2c, 1, 0, 0}), KL_LOAD_BYTES);
}
