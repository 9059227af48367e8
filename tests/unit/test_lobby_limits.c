/* test_lobby_limits.c - what one client or one address may take of the relay. PROTOCOL.md §7, limits. */
#include "lobby_net.h"

#include "net/engine/command.h"

static void so_many_rooms_to_one_address(void **state) {
    (void)state;
    kl_lobby_destroy(lobby);
    struct kl_lobby_limits limits = {.peers = PEERS, .rooms = 30, .seats = 4, .rooms_per_address = 3};
    open_lobby(&limits);
    hello(0, "a", 1, 2, "x"), hello(1, "b", 1, 2, "x"), hello(2, "c", 1, 2, "x");
    hello(3, "d", 1, 2, "x");
    expect_refusal(3, KL_REFUSE_LIMIT, "this relay gives 3 rooms to one address");
    hello(3, "c", 1, 2, "x"); /* others' are open to him */
    assert_non_null(heard(3, KL_MSG_WELCOME));
    address_of_peers = "192.0.2.2:5";
    hello(4, "d", 1, 2, "x");
    assert_non_null(heard(4, KL_MSG_WELCOME));
}

static void chat(unsigned peer) {
    say(peer, &(struct kl_msg){.kind = KL_MSG_COMMAND, .order = {KL_COMMAND_CHAT, 2, "hi"}});
}

static void so_many_lines_and_commands(void **state) {
    (void)state;
    start_game_of(2);
    for (unsigned i = 0; i < 60; i++)
        chat(1);
    inbox[1].count = 0;
    chat(1);
    assert_non_null(strstr(heard(1, KL_MSG_NOTICE)->text.text, "too many lines a minute"));
    order(1, 200, 0); /* commands count by themselves */
    inbox[1].count = 0;
    for (unsigned i = 0; i < 238; i++)
        chat(1);
    assert_false(inbox[1].hung_up);
    chat(1), chat(1);
    expect_refusal(1, KL_REFUSE_LIMIT, "commands without end");
    assert_false(inbox[0].hung_up);
}

static void who_takes_nothing_is_put_out(void **state) {
    (void)state;
    start_game_of(2);
    inbox[1].pending = 401;
    pass(SECOND);
    expect_refusal(1, KL_REFUSE_LIMIT, "you do not take what the relay sends");
    assert_false(inbox[0].hung_up);
}

static void start_data_has_its_measure(void **state) {
    (void)state;
    hello(0, "room", 1, 1, "x");
    struct kl_msg m = {.kind = KL_MSG_DATA, .data = {.total = 3072 * 1024 + 1, .len = 1000}};
    say(0, &m);
    expect_refusal(0, KL_REFUSE_LIMIT, "the start data (saves) has 3145729 bytes, this relay takes 3145728");
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(so_many_rooms_to_one_address),
        T(so_many_lines_and_commands),
        T(who_takes_nothing_is_put_out),
        T(start_data_has_its_measure),
    };
    return cmocka_run_group_tests_name("lobby_limits", tests, NULL, NULL);
}
