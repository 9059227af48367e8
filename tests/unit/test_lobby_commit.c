/* Hashes that one is bound to before anybody's are said. net/PROTOCOL.md §7, Commitments. */
#include "tests/unit/lobby_machines.h"

/* Nobody says a hash before all who play are bound to theirs: not with the slowest of them either. */
static void nothing_is_revealed_before_all_have_committed(void **unused) {
    (void)unused;
    begin();
    machine[1] = 8;
    go_on(4 * SECOND);
    expect_in_sync(1);
    assert_true(reveals_heard > 5);
    assert_int_equal(too_early, 0);
}

static void who_says_another_hash_than_it_committed_to(void **unused) {
    (void)unused;
    begin();
    lies[1] = true;
    go_on(2 * SECOND);
    expect_refusal(player[1].peer, KL_REFUSE_PROTOCOL, "are not those that you had committed to");
    player[1].linked = player[1].plays = false;
    go_on(3 * SECOND);
    expect_in_sync(0);
}

/* Silence has no vote, and is nobody's fault: the others are compared. */
static void who_does_not_reveal(void **unused) {
    (void)unused;
    begin();
    reveals[1] = false;
    machine[1] = 8;
    go_on(5 * SECOND);
    assert_false(inbox[player[1].peer].hung_up);
    assert_false(verdict.complete);
    assert_int_equal(verdict.differs, 0);
    assert_true(room()->member[1].owes);
    machine[2] = 9; /* one against one, as far as is known: the host is right */
    go_on(3 * SECOND);
    assert_int_equal(machine[2], 7);
    assert_int_equal(offers[1], 0);
    assert_int_equal(room()->heal.count, 1);
    reveals[1] = true; /* what it held back is told now, and looked at */
    go_on(5 * SECOND);
    assert_false(room()->member[1].owes);
    expect_in_sync(2);
}

static void who_does_not_commit(void **unused) {
    (void)unused;
    begin();
    commits[1] = false;
    unsigned before = reveals_heard;
    go_on(5 * SECOND);
    assert_true(reveals_heard > before + 2); /* it holds nothing up */
    assert_false(verdict.complete);
    machine[2] = 9;
    go_on(4 * SECOND);
    assert_int_equal(machine[2], 7);
    assert_int_equal(room()->heal.count, 1);
    commits[1] = true;
    go_on(2 * SECOND);
    expect_in_sync(1);
}

/* What nobody was bound to is no word, true or not: neither compared, nor complete with it. */
static void who_reveals_what_it_has_not_committed_to(void **unused) {
    (void)unused;
    begin();
    commits[1] = false;
    go_on(2 * SECOND);
    struct kl_msg m = {.kind = KL_MSG_HASH, .hash = {.has_state = true, .has_ram = true, .ram = 1}};
    for (unsigned i = 0; i < 3; i++) {
        m.hash.frame = committed[0];
        say(player[1].peer, &m);
        go_on(SECOND);
    }
    assert_int_equal(verdict.differs, 0);
    assert_false(verdict.complete);
    assert_false(inbox[player[1].peer].hung_up);
    commits[1] = true;
    go_on(2 * SECOND);
    expect_in_sync(0);
}

/* What was not revealed in a session is committed to anew in the next. */
static void who_comes_back(void **unused) {
    (void)unused;
    begin();
    reveals[1] = false;
    go_on(SECOND);
    cut(1);
    for (unsigned i = 0; i < owes[1]; i++)
        owed[1][i].nonce[1] = 77; /* and its nonces are others */
    owes[1] = 0;
    go_on(SECOND);
    reveals[1] = true;
    come_back(1, 11);
    assert_int_equal(heard(11, KL_MSG_REVEAL)->reveal.frame, open_to);
    go_on(4 * SECOND);
    assert_false(inbox[11].hung_up);
    expect_in_sync(0);
}

/* A newer session of whom it is about: what the old one was sent is not waited for. */
static void who_comes_back_before_he_is_missed(void **unused) {
    (void)unused;
    begin();
    machine[1] = 8;
    loads[1] = false;
    while (!room()->member[1].heal.loads)
        go_on(20000);
    to_load[1] = false;
    owes[1] = 0;
    come_back(1, 11);
    assert_false(room()->member[1].heal.loads);
    to_load[1] = false;
    loads[1] = true;
    go_on(5 * SECOND);
    expect_in_sync(1);
}

/* Who takes a place has not said what was said there before. */
static void whose_place_it_was(void **unused) {
    (void)unused;
    begin();
    reveals[2] = false;
    machine[1] = 8;
    while (room()->heal.phase != KL_HEAL_FOUND) /* and the third is waited for */
        go_on(20000);
    cut(1);
    player[1].plays = false;
    room()->seat_time_s = 0;
    while (room()->member[1].here)
        play(STEP_US);
    struct kl_msg m = a_hello(12, "room", 1, PLAYERS, "x");
    connect_peer(12);
    say(12, &m);
    assert_int_equal(heard(12, KL_MSG_WELCOME)->welcome.client, 1);
    play(1500000);
    assert_null(heard(12, KL_MSG_OFFER));
    assert_int_equal(room()->member[1].heal.strike_us[0], 0);
    assert_int_equal(room()->heal.phase, KL_HEAL_NONE);
}

/* Verdicts that are held back for who takes nothing do not keep the relay awake. */
static void held_back(void **unused) {
    (void)unused;
    begin();
    reveals[2] = false;
    go_on(1200000);
    inbox[1].pending = KL_VERDICTS_UNDER_WAY + 1;
    go_on(4 * SECOND);
    for (unsigned i = 0; i < 250; i++) {
        run();
        assert_true(kl_lobby_due_us(lobby) > now_us);
        now_us += 1000;
    }
}

/* Before a keyframe comes nobody honest can have hashed what stands before it. Who makes the room stand still
 * there, and speaks at once, makes all others late; that decides nothing. */
static void who_speaks_while_the_room_stands(void **unused) {
    (void)unused;
    fixed_spacing = 30;
    begin();
    fixed_spacing = 0;
    do {
        order(0, KL_COMMAND_PAUSE, 0);
        go_on(300000);
        order(0, KL_COMMAND_PAUSE, 1);
        go_on(2 * SECOND);
        assert_true(room()->lock.paused);
    } while (room()->lock.next_close % 60 != 0); /* until the next keyframe is one that will be marked */
    machine[1] = 8;
    say_hash(1, room()->lock.next_close - 1);
    say(player[1].peer, &owed[1][--owes[1]]);
    go_on(1500000);
    assert_true(any_open && open_to == room()->lock.next_close - 1);
    order(0, KL_COMMAND_PAUSE, 0);
    go_on(5 * SECOND);
    assert_int_equal(offers[0] + offers[2], 0);
    assert_int_equal(machine[0], 7);
    expect_in_sync(1); /* with the next hash he is found out */
}

/* What lies far back is nobody's any more: it is not looked at, and who comes back hears that it is open, so
 * that he does not wait to say it. */
static void what_lies_far_back(void **unused) {
    (void)unused;
    struct kl_msg old = {.kind = KL_MSG_HASH, .hash = {.has_ram = true}};
    begin();
    for (unsigned i = 0; i < PLAYERS; i++)
        commits[i] = false;
    go_on(20 * SECOND);
    uint32_t back = room()->lock.next_close - KL_KEPT_FRAMES;
    assert_true(open_to + 60 < back);
    for (unsigned i = 0; i < 2; i++) {
        old.hash.frame = i ? back + 100 : back - 1;
        struct kl_msg m = commitment_to(player[1].peer, &old);
        say(player[1].peer, &m);
        assert_int_equal(kl_verdict_commitment(&room()->verdicts, 1, old.hash.frame) != NULL, i);
    }
    cut(1);
    go_on(SECOND);
    come_back(1, 11);
    assert_in_range(heard(11, KL_MSG_REVEAL)->reveal.frame, back, room()->lock.next_close - KL_KEPT_FRAMES);
}

/* Of STATE nobody is bound to what he says: who is wrong may repeat the others' hash of it, where he knows
 * it. It gains him nothing: his word is one for what they say, what he gives is looked at, and his next
 * hashes are his own. */
static void who_copies_a_state(void **unused) {
    (void)unused;
    for (unsigned given = 0; given < 2; given++) {
        begin();
        machine[1] = 8;
        copies[1] = true;
        gives[1] = given;
        room()->member[0].in_vain = room()->member[2].in_vain = 1; /* so that he is asked first */
        assert_true(kl_lobby_snapshot_order(room(), 0, now_us));
        while (!to_give[1] && room()->shot.phase != KL_SHOT_NONE)
            play(STEP_US);
        assert_true(to_give[1]);
        go_on(12 * SECOND);
        assert_int_equal(inbox[player[1].peer].hung_up, given); /* a lie is one, silence costs a while */
        if (given) {
            expect_refusal(player[1].peer, KL_REFUSE_PROTOCOL, "does not match the hash that you gave");
            player[1].linked = player[1].plays = false;
        } else
            expect_in_sync(1);
        assert_int_equal(machine[0], 7);
        assert_int_equal(machine[2], 7);
        uint8_t kept[BYTES], ours[BYTES];
        const struct kl_lobby_packed *k = room()->shot.kept;
        state_of_machine(0, ours);
        assert_int_equal(ZSTD_decompress(kept, BYTES, k->packed, k->len), BYTES);
        assert_memory_equal(kept, ours, BYTES);
        tear_down(NULL);
        set_up(NULL);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_is_revealed_before_all_have_committed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_says_another_hash_than_it_committed_to, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_does_not_reveal, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_does_not_commit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_reveals_what_it_has_not_committed_to, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_comes_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_comes_back_before_he_is_missed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(whose_place_it_was, set_up, tear_down),
        cmocka_unit_test_setup_teardown(held_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_lies_far_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_copies_a_state, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_speaks_while_the_room_stands, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
