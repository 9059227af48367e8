/* test_lobby_again.c - the relay dies in the middle of a game and is started again: the room is made again
 * from its ticket, its start data and its frames, and the match goes on. ROOMS.md §7, kept seats. */
#include "tests/unit/unit.h"
#include "tests/lib/lobby_players.h"

TEST_WITH(the_match_goes_on, set_up, tear_down) {
    play_and_die(KL_POLICY_BOUNDED);
    uint32_t before = canon_end;
    struct kl_lobby_room *r = make_again();
    assert_non_null(r);
    adopt(r, canon_end);
    assert_int_equal(kl_lobby_restore_open(r, 3 * SECOND, now_us), KL_OK);
    come_back(0, 10), come_back(1, 11), come_back(2, 12);
    assert_true(heard(10, KL_MSG_WELCOME)->welcome.host);
    assert_int_equal(heard(12, KL_MSG_WELCOME)->welcome.client, 2);
    play(6 * SECOND);
    expect_all_at_the_end();
    assert_true(canon_end > before + 3 * 60); /* run_frame() compares: no frame lost, none changed */
    assert_int_equal(state_of(11, 2), KL_MEMBER_PLAYING);
    const struct kl_digest d = digest_of(ticket.id, canon_end); /* one chain through both lives */
    assert_true(d.intervals > 100);
    struct kl_digest is;
    assert_true(kl_lobby_past_digest(r, d.intervals, &is));
    assert_memory_equal(&d, &is, sizeof d);
}

TEST_WITH(a_strict_room_waits_for_all, set_up, tear_down) {
    play_and_die(KL_POLICY_STRICT);
    struct kl_lobby_room *r = make_again();
    adopt(r, canon_end);
    assert_int_equal(kl_lobby_restore_open(r, 3 * SECOND, now_us), KL_OK);
    uint32_t before = canon_end;
    come_back(0, 10), come_back(1, 11);
    play(10 * SECOND);
    assert_int_equal(canon_end, before);
    come_back(2, 12);
    play(4 * SECOND);
    assert_true(canon_end > before + 60);
    expect_all_at_the_end();
}

/* A player who does not come is neutral after a while, and gone after the seat time. */
TEST_WITH(without_who_does_not_come_back, set_up, tear_down) {
    play_and_die(KL_POLICY_BOUNDED);
    struct kl_lobby_room *r = make_again();
    adopt(r, canon_end);
    kl_lobby_restore_open(r, 3 * SECOND, now_us);
    uint32_t before = canon_end;
    come_back(1, 11), come_back(2, 12);
    play(8 * SECOND);
    assert_true(canon_end > before + 3 * 60);
    assert_true(member_of(11, 0)->host); /* still his */
    play(60 * SECOND);
    assert_null(member_of(11, 0));
    assert_true(member_of(11, 1)->host);
}

/* A client that ran frames which the room lost begins anew; so does one that has nothing. */
TEST_WITH(a_client_that_has_other_frames_begins_anew, set_up, tear_down) {
    play_and_die(KL_POLICY_BOUNDED);
    struct kl_lobby_room *r = make_again();
    adopt(r, canon_end - 100);
    canon_end -= 100;
    kl_lobby_restore_open(r, 0, now_us);
    struct kl_msg m = prepare_return(0, 10); /* has run 100 frames more */
    player[0].plays = false;
    say(10, &m);
    assert_non_null(heard(10, KL_MSG_PREPARE));
    assert_memory_equal(heard(10, KL_MSG_DATA)->data.bytes, "save", 4);
    assert_int_equal(heard(10, KL_MSG_PREPARE)->prepare.epoch_s, ticket.epoch_s);
    lose(10);
    m = prepare_return(1, 11); /* as many as the room, but others */
    m.back.have = canon_end;
    player[1].plays = false;
    say(11, &m);
    assert_non_null(heard(11, KL_MSG_PREPARE));
    lose(11);
    for (unsigned i = 0; i < PLAYERS; i++) {
        player[i].linked = false;
        come_back_with_nothing(i, 20 + i);
    }
    play(6 * SECOND);
    expect_all_at_the_end();
}

TEST_WITH(the_key_is_enough_once, set_up, tear_down) {
    play_and_die(KL_POLICY_BOUNDED);
    struct kl_lobby_room *r = make_again();
    adopt(r, canon_end);
    kl_lobby_restore_open(r, 0, now_us);
    uint8_t unknown[KL_TOKEN_BYTES] = {9}; /* of a WELCOME that no ticket has */
    connect_peer(10);
    struct kl_msg m = a_return(2, 10, "room", unknown);
    m.back.fresh = true;
    kl_facts_add(&m.back.facts, "content", "x");
    m.back.signature[0] ^= 1;
    say(10, &m);
    expect_refusal(10, KL_REFUSE_SEAT, "no seat");
    connect_peer(11);
    m.back = a_return(2, 11, "room", unknown).back;
    m.back.fresh = true;
    kl_facts_add(&m.back.facts, "content", "x");
    say(11, &m);
    assert_non_null(heard(11, KL_MSG_WELCOME));
    lose(11);
    connect_peer(12);
    unknown[0] = 8;
    m.back = a_return(2, 12, "room", unknown).back;
    say(12, &m);
    expect_refusal(12, KL_REFUSE_SEAT, "no seat");
}

TEST_WITH(nobody_enters_meanwhile, set_up, tear_down) {
    play_and_die(KL_POLICY_BOUNDED);
    struct kl_lobby_room *r = make_again();
    hello(9, "room", 0, 2, "x");
    expect_refusal(9, KL_REFUSE_STARTED, "is restoring room");
    assert_null(make_again()); /* there is one */
    assert_string_equal(why, "there is a room of that name");
    assert_int_equal(kl_lobby_restore_open(r, 0, now_us), KL_E_STATE); /* no frames */
    kl_lobby_restore_drop(r);
    run();
    assert_int_equal(kl_lobby_rooms(lobby), 0);
    assert_int_equal(kl_lobby_members(lobby), 0);
    assert_int_equal(lobby->start_bytes, 0);
    assert_null(kl_lobby_restore(lobby, &ticket, (const uint8_t *)"sawe", 4, now_us, why, sizeof why));
    assert_string_equal(why, "the start data is another");
    r = make_again();
    struct kl_frame bad = canon[0];
    bad.number = 5;
    assert_int_equal(kl_lobby_restore_frame(r, &bad, NULL), KL_E_WINDOW);
    pass(61 * SECOND); /* never opened: its seats run out */
    assert_int_equal(kl_lobby_rooms(lobby), 0);
}

static int load(struct kl_lobby_room *r, uint32_t from, uint32_t count) {
    struct kl_frames_from at = {.ring = canon, .places = FRAMES};
    uint8_t piece[KL_PIECE_BYTES];
    size_t len = kl_piece_write(&at, from, count, piece, sizeof piece, &count);
    assert_true(len > 0);
    return kl_lobby_restore_piece(r, piece, len);
}

TEST_WITH(pieces_are_loaded, set_up, tear_down) {
    play_and_die(KL_POLICY_BOUNDED);
    struct kl_lobby_room *r = make_again();
    assert_int_equal(load(r, 0, 40), KL_OK);
    assert_int_equal(r->lock.next_close, 40);
    assert_int_equal(load(r, 10, 40), KL_OK);
    assert_int_equal(r->lock.next_close, 50); /* pieces may overlap */
    assert_int_equal(load(r, 20, 20), KL_OK);
    assert_int_equal(load(r, 51, 20), KL_E_WINDOW); /* a gap */
    assert_int_equal(r->lock.next_close, 50);
    const uint8_t no_piece[6] = {50, 0, 0, 0, 1, 99};
    assert_true(kl_lobby_restore_piece(r, no_piece, sizeof no_piece) < 0);
    assert_int_equal(r->lock.next_close, 50);
}

/* The first of its members who comes back opens it; a stranger with a wrong key does not. */
TEST_WITH(the_first_return_opens_it, set_up, tear_down) {
    play_and_die(KL_POLICY_BOUNDED);
    struct kl_lobby_room *r = make_again();
    adopt(r, canon_end);
    uint32_t before = canon_end;
    connect_peer(9);
    struct kl_msg m = a_return(1, 9, "room", player[1].token);
    m.back.signature[0] ^= 1;
    say(9, &m);
    expect_refusal(9, KL_REFUSE_SEAT, "no seat");
    assert_int_equal(r->phase, KL_ROOM_REOPENING);
    pass(5 * SECOND);
    come_back(1, 11);
    assert_int_equal(r->phase, KL_ROOM_PLAYING);
    play(SECOND);
    assert_int_equal(canon_end, before); /* the others are waited for */
    come_back(0, 10), come_back(2, 12);
    play(4 * SECOND);
    assert_true(canon_end > before + 60);
    expect_all_at_the_end();
}
