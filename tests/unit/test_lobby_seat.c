/* test_lobby_seat.c - seats that are kept while a link is lost, and how they are taken back; people who are
 * kept out of a room for a time. net/ROOMS.md §7, kept seats; docs/security.md, Bounds for one player. */
#include "tests/unit/unit.h"
#include "tests/lib/lobby_net.h"

#include "net/engine/command.h"
#include "net/relay/lobby/lobby_parts.h"

TEST_WITH(a_lost_link_keeps_seat_and_rights, set_up, tear_down) {
    start_kept_game(2);
    lose(0);
    assert_int_equal(state_of(1, 0), KL_MEMBER_AWAY);
    assert_true(member_of(1, 0)->host);
    assert_int_equal(member_of(1, 0)->seats, 1);
    assert_int_equal(heard(1, KL_MSG_ROSTER)->roster.filled, 2);
    pass(59 * SECOND);
    assert_int_equal(state_of(1, 0), KL_MEMBER_AWAY);
    pass(2 * SECOND);
    assert_null(member_of(1, 0));
    assert_true(member_of(1, 1)->host);
    expect_notice(1, "did not come back in time");
    assert_int_equal(kl_lobby_members(lobby), 1);
}

/* To him who has been seated longest, of those who are there; never to who watches while somebody has a seat.
 */
TEST_WITH(rights_pass_to_players, set_up, tear_down) {
    start_kept_game(4);
    order(1, KL_COMMAND_SEAT, 0); /* it steps back, and is here longer than both who are away */
    lose(2);
    lose(3);
    bye(0);
    assert_true(member_of(1, 2)->host); /* one of those two */
    assert_false(member_of(1, 1)->host);
    pass(61 * SECOND);
    assert_true(member_of(1, 1)->host); /* nobody else is left */
    hello(3, "other", 1, 3, "x");
    hello(4, "other", 1, 3, "x");
    hello(5, "other", 1, 3, "x");
    lose(4);
    bye(3);
    assert_true(member_of(5, 2)->host);
}

TEST_WITH(the_same_seat_and_a_new_token, set_up, tear_down) {
    uint8_t old[KL_TOKEN_BYTES];
    start_kept_game(2);
    memcpy(old, kept_token[1], sizeof old);
    lose(1);
    pass(20 * SECOND);
    seat_come_back(1, 11, false);
    const struct kl_welcome *w = &heard(11, KL_MSG_WELCOME)->welcome;
    assert_int_equal(w->client, 1);
    assert_int_equal(w->seats, 2);
    assert_false(w->host);
    assert_int_equal(w->seat_time_s, 60);
    assert_memory_not_equal(w->token, old, sizeof old);
    assert_memory_equal(w->room_id, heard(0, KL_MSG_WELCOME)->welcome.room_id, KL_ROOM_ID_BYTES);
    assert_int_equal(state_of(0, 1), KL_MEMBER_PLAYING);
    pass(61 * SECOND); /* nothing runs out any more */
    assert_int_equal(state_of(0, 1), KL_MEMBER_PLAYING);
    assert_int_equal(kl_lobby_members(lobby), 2);
}

/* The WELCOME that brought the newest token may have been lost with the link. */
TEST_WITH(the_token_before_is_good_until_the_newest_was_used, set_up, tear_down) {
    uint8_t first[KL_TOKEN_BYTES];
    start_kept_game(2);
    memcpy(first, kept_token[1], sizeof first);
    lose(1);
    seat_come_back(1, 11, false);
    lose(11);
    memcpy(kept_token[1], first, sizeof first); /* never got the second */
    seat_come_back(1, 12, false);
    lose(12);
    seat_come_back(1, 13, false);
    lose(13);
    memcpy(kept_token[1], first, sizeof first); /* the third has been used: no longer */
    seat_come_back_with(1, 14, false, "");
    expect_refusal(14, KL_REFUSE_SEAT, "room room keeps no seat for you");
    assert_int_equal(state_of(0, 1), KL_MEMBER_AWAY);
}

TEST_WITH(nobody_else_gets_the_seat, set_up, tear_down) {
    start_kept_game(2);
    lose(1);
    connect_peer(10);
    struct kl_msg m = a_return(1, 10, "room", kept_token[1]);
    m.back.signature[5] ^= 1;
    say(10, &m);
    expect_refusal(10, KL_REFUSE_SEAT, "no seat");
    connect_peer(11);
    m = a_return(1, 11, "room", kept_token[1]);
    inbox[11].binding[0] ^= 1; /* a signature of another session */
    say(11, &m);
    expect_refusal(11, KL_REFUSE_SEAT, "no seat");
    connect_peer(12);
    m = a_return(1, 12, "room", kept_token[0]); /* another's token */
    say(12, &m);
    expect_refusal(12, KL_REFUSE_SEAT, "no seat");
    connect_peer(13);
    m = a_return(2, 13, "room", kept_token[1]); /* the token without the key */
    say(13, &m);
    expect_refusal(13, KL_REFUSE_SEAT, "no seat");
    connect_peer(14);
    m = a_return(1, 14, "elsewhere", kept_token[1]);
    say(14, &m);
    expect_refusal(14, KL_REFUSE_SEAT,
                   "this relay has no room elsewhere: it ended, or was lost with the relay before");
    assert_int_equal(state_of(0, 1), KL_MEMBER_AWAY);
    seat_come_back(1, 15, false);
    assert_int_equal(state_of(0, 1), KL_MEMBER_PLAYING);
}

TEST_WITH(the_newest_session_has_the_seat, set_up, tear_down) {
    start_kept_game(2);
    seat_come_back(1, 11, false); /* peer 1 is still connected */
    expect_refusal(1, KL_REFUSE_CLOSED, "taken back by a newer session");
    kl_lobby_lost(lobby, 1, now_us); /* the network's words on the old one change nothing */
    pass(SECOND);
    assert_int_equal(state_of(0, 1), KL_MEMBER_PLAYING);
    assert_false(inbox[11].hung_up);
    uint8_t body[3] = {255, 255, 255};
    for (unsigned i = 0; i < 100; i++)
        kl_lobby_datagram(lobby, 1, body, sizeof body, 0, 0, now_us);
    run();
    assert_false(inbox[11].hung_up);
    lose(11);
    assert_int_equal(state_of(0, 1), KL_MEMBER_AWAY);
}

TEST_WITH(a_client_that_comes_back_with_nothing_gets_it_all, set_up, tear_down) {
    start_kept_game(2);
    pass(3 * SECOND);
    lose(1);
    seat_come_back_with(1, 10, true, "another game");
    expect_refusal(10, KL_REFUSE_IDENTITY, "content differs: room has x, you have another game");
    seat_come_back(1, 11, true);
    assert_int_equal(heard(11, KL_MSG_PREPARE)->prepare.data_bytes, 4);
    assert_int_equal(heard(11, KL_MSG_PREPARE)->prepare.epoch_s, heard(0, KL_MSG_PREPARE)->prepare.epoch_s);
    assert_memory_equal(heard(11, KL_MSG_DATA)->data.bytes, "save", 4);
    assert_int_equal(state_of(0, 1), KL_MEMBER_LOADING);
    unsigned before = inbox[11].datagrams;
    pass(SECOND);
    assert_int_equal(inbox[11].datagrams, before); /* no frames before it has loaded */
    ready(11, "a");
    assert_int_equal(state_of(0, 1), KL_MEMBER_PLAYING);
    pass(SECOND);
    assert_true(inbox[11].datagrams > before);
    lose(11);
    seat_come_back(1, 12, true);
    ready(12, "other system files");
    expect_refusal(12, KL_REFUSE_IDENTITY, "system differs");
    assert_int_equal(kl_lobby_members(lobby), 1);
}

/* The one who gave the start data as well: a process that was killed has it no longer. */
TEST_WITH(the_host_gets_the_start_data_back, set_up, tear_down) {
    start_kept_game(2);
    lose(0);
    seat_come_back(0, 10, true);
    assert_memory_equal(heard(10, KL_MSG_DATA)->data.bytes, "save", 4);
    assert_true(heard(10, KL_MSG_WELCOME)->welcome.host);
    ready(10, "a");
    assert_int_equal(state_of(1, 0), KL_MEMBER_PLAYING);
}

TEST_WITH(loading_has_its_time_and_no_more, set_up, tear_down) {
    start_kept_game(2);
    lose(1);
    seat_come_back(1, 11, true);
    pass(62 * SECOND);
    expect_refusal(11, KL_REFUSE_CLOSED, "loading the game took more than 60 s");
}

TEST_WITH(rights_go_to_who_played_longest, set_up, tear_down) {
    hello(9, "room", 1, 3, "x"); /* the host */
    hello(3, "room", 1, 3, "x");
    hello(2, "room", 1, 3, "x");
    lose(9);
    assert_true(member_of(2, 0)->host); /* away, and still host */
    pass(61 * SECOND);
    assert_null(member_of(2, 0));
    assert_true(member_of(2, 1)->host);
    address_of_peers = "192.0.2.7:5";
    hello(7, "room", 1, 3, "x"); /* in the first place of the list, but the newest */
    bye(3);
    assert_true(member_of(2, 2)->host);
    bye(2);
    assert_true(member_of(7, 0)->host);
}

TEST_WITH(coming_back_before_the_game, set_up, tear_down) {
    hello(0, "room", 1, 2, "x");
    hello(1, "room", 1, 2, "x"); /* SEND goes to the host */
    keep_token(0, 0);
    keep_token(1, 1);
    struct kl_msg part = {.kind = KL_MSG_DATA, .data = {.total = 100, .len = 10}};
    say(0, &part);
    lose(0);
    assert_null(heard(1, KL_MSG_SEND)); /* his seat and his rights are kept */
    seat_come_back(0, 10, false);
    assert_non_null(heard(10, KL_MSG_SEND));
    give(10, "save"); /* from the beginning */
    assert_non_null(heard(1, KL_MSG_PREPARE));
    ready(1, "a");
    lose(1);
    seat_come_back(1, 11, false); /* has loaded, and said so */
    assert_null(heard(11, KL_MSG_PREPARE));
    ready(11, "a"); /* says it again: its first may have been lost */
    assert_false(inbox[11].hung_up);
    lose(11);
    seat_come_back(1, 12, true);
    assert_non_null(heard(12, KL_MSG_DATA));
    ready(10, "a");
    assert_int_equal(state_of(10, 0), KL_MEMBER_READY);
    ready(12, "a");
    assert_int_equal(state_of(10, 1), KL_MEMBER_PLAYING);
}

TEST_WITH(a_game_may_begin_while_one_who_is_ready_is_away, set_up, tear_down) {
    hello(0, "room", 1, 2, "x");
    hello(1, "room", 1, 2, "x");
    keep_token(1, 1);
    give(0, "save");
    ready(1, "a");
    lose(1);
    ready(0, "a");
    assert_int_equal(state_of(0, 0), KL_MEMBER_PLAYING);
    assert_int_equal(state_of(0, 1), KL_MEMBER_AWAY);
    pass(SECOND);
    seat_come_back(1, 11, false);
    assert_null(heard(11, KL_MSG_PREPARE));
    assert_int_equal(state_of(0, 1), KL_MEMBER_PLAYING);
}

/* A latecomer that loses its link before it has loaded has nothing to go on from: it gets all again. */
TEST_WITH(a_link_that_goes_while_it_loads, set_up, tear_down) {
    start_kept_game(2);
    pass(5 * SECOND);
    order(0, KL_COMMAND_PLACES, 3);
    hello(2, "room", 1, 3, "x");
    keep_token(2, 2);
    assert_non_null(heard(2, KL_MSG_PREPARE));
    lose(2);
    pass(SECOND);
    connect_peer(12);
    inbox[12].pending = 1; /* no DATA yet */
    struct kl_msg m = a_return(2, 12, "room", kept_token[2]);
    say(12, &m);
    keep_token(2, 12);
    assert_non_null(heard(12, KL_MSG_PREPARE));
    assert_int_equal(state_of(0, 2), KL_MEMBER_LOADING);
    ready(12, "a"); /* it had got all that it needs: READY was lost */
    assert_false(inbox[12].hung_up);
    assert_int_equal(state_of(0, 2), KL_MEMBER_JOINING);
    lose(12);
    pass(SECOND);
    seat_come_back(2, 13, false);
    assert_null(heard(13, KL_MSG_PREPARE));
    assert_int_equal(state_of(0, 2), KL_MEMBER_JOINING);
}

TEST_WITH(the_maker_says_how_long, set_up, tear_down) {
    struct kl_msg m = a_hello(0, "room", 1, 2, "x");
    m.hello.seat_time_s = 5;
    enter(0, &m);
    assert_int_equal(heard(0, KL_MSG_WELCOME)->welcome.seat_time_s, 5);
    hello(1, "room", 1, 2, "x");
    assert_int_equal(heard(1, KL_MSG_WELCOME)->welcome.seat_time_s, 5);
    lose(1);
    pass(4900000);
    assert_int_equal(state_of(0, 1), KL_MEMBER_AWAY);
    pass(700000);
    assert_null(member_of(0, 1));
    m = a_hello(2, "other", 1, 3, "x");
    m.hello.seat_time_s = 60000;
    enter(2, &m);
    assert_int_equal(heard(2, KL_MSG_WELCOME)->welcome.seat_time_s, 600); /* the relay's limit */
    hello(3, "other", 1, 3, "x");
    lose(3);
    pass(59 * SECOND);
    assert_int_equal(state_of(2, 1), KL_MEMBER_AWAY);
    pass(2 * SECOND);
    assert_null(member_of(2, 1)); /* before the game: as long as one that loads */
}

TEST_WITH(a_client_that_left_does_not_come_back, set_up, tear_down) {
    start_kept_game(2);
    bye(1);
    seat_come_back_with(1, 11, false, "");
    expect_refusal(11, KL_REFUSE_SEAT, "no seat");
}

/* A player that leaves and comes again has its limits as far used up as before. */
TEST_WITH(limits_stay_with_the_player, set_up, tear_down) {
    start_kept_game(2);
    struct kl_lobby_spent before = the_room()->member[1]->v.spent;
    for (unsigned i = 0; i < KL_SPENDS_COUNT; i++)
        while (kl_bucket_take(&before.of[i], 6, now_us)) {
        }
    the_room()->member[1]->v.spent = before;
    bye(1);
    pass(2 * SECOND);
    hello(8, "room", 1, 2, "x");
    unsigned again = heard(8, KL_MSG_WELCOME)->welcome.client;
    for (unsigned i = 0; i < KL_SPENDS_COUNT; i++)
        assert_true(the_room()->member[again]->v.spent.of[i].level == before.of[i].level);
}

TEST_WITH(a_room_that_nobody_comes_back_to_ends, set_up, tear_down) {
    start_kept_game(2);
    lose(0);
    lose(1);
    pass(30 * SECOND);
    assert_int_equal(kl_lobby_rooms(lobby), 1);
    seat_come_back(1, 11, false);
    pass(61 * SECOND);
    assert_int_equal(kl_lobby_members(lobby), 1);
    lose(11);
    pass(59 * SECOND);
    assert_int_equal(kl_lobby_members(lobby), 1);
    pass(2 * SECOND);
    assert_int_equal(kl_lobby_rooms(lobby), 0);
}

/* It gathers, waits for the start data, loads: nobody misses it. */
TEST_WITH(a_room_that_never_played_ends_with_its_last_link, set_up, tear_down) {
    for (unsigned phase = 0; phase < 3; phase++) {
        hello(0, "room", 1, 2, "x");
        if (phase > 0) hello(1, "room", 1, 2, "x");
        if (phase > 1) give(0, "save");
        assert_int_equal(the_room()->phase, phase);
        lose(0);
        pass(SECOND);
        assert_int_equal(kl_lobby_rooms(lobby), phase > 0);
        if (phase == 0) continue;
        assert_int_equal(state_of(1, 0), KL_MEMBER_AWAY); /* kept, for the sake of the other one */
        lose(1);
        pass(SECOND);
        assert_int_equal(kl_lobby_rooms(lobby), 0);
    }
}

static void play_alone(unsigned peer, const char *room, uint64_t us) {
    hello(peer, room, 1, 1, "x");
    give(peer, "save");
    ready(peer, "a");
    pass(us);
}

/* A place is kept by links, or by having played: not by rooms that were made and left. */
TEST_WITH(a_room_without_a_link_gives_way, set_up, tear_down) {
    struct kl_lobby_limits limits = {.peers = PEERS, .rooms = 3, .seats = 4};
    for (unsigned own = 0; own < 2; own++) { /* the relay's places are taken, or the address's */
        limits.rooms_per_address = own ? 2 : 16;
        reopen(&limits);
        play_alone(0, "long", 30 * SECOND);
        play_alone(1, "short", 2 * SECOND);
        if (!own) address_of_peers = "192.0.2.2:5";
        if (!own) play_alone(2, "here", 0);
        lose(0);
        lose(1);
        pass(SECOND);
        hello(3, "new", 1, 1, "x"); /* the short one waits as long as it was played */
        expect_refusal(3, KL_REFUSE_LIMIT, own ? "your address has 2 rooms" : "this relay is full");
        pass(SECOND + SECOND / 2);
        assert_int_equal(kl_lobby_rooms(lobby), own ? 2 : 3); /* nobody needed its place yet */
        hello(4, "new", 1, 1, "x");
        assert_non_null(heard(4, KL_MSG_WELCOME));
        assert_null(kl_lobby_find(lobby, "short"));
        hello(5, "newer", 1, 1, "x");
        expect_refusal(5, KL_REFUSE_LIMIT, own ? "your address has 2 rooms" : "this relay is full");
        pass(8 * SECOND); /* ten seconds in all */
        hello(6, "newer", 1, 1, "x");
        assert_non_null(heard(6, KL_MSG_WELCOME));
        assert_null(kl_lobby_find(lobby, "long"));
        pass(30 * SECOND);
        hello(7, "newest", 1, 1, "x"); /* the others have links */
        expect_refusal(7, KL_REFUSE_LIMIT, own ? "your address has 2 rooms" : "this relay is full");
    }
}

TEST_WITH(nothing_goes_to_a_link_that_is_lost, set_up, tear_down) {
    start_kept_game(2);
    lose(1); /* fake_send() and fake_datagram() would object */
    struct kl_msg m = {.kind = KL_MSG_HASH, .hash = {.frame = 0, .has = KL_HASH_RAM, .ram = 1}};
    say(0, &m);
    assert_true(heard(0, KL_MSG_VERDICT)->verdict.complete); /* a player who is away is not waited for */
    pass(5 * SECOND);
    kl_lobby_shut_down(lobby, now_us);
    assert_int_equal(kl_lobby_rooms(lobby), 0);
}

/* --- people who are kept out --- */

/* One is ready and waits; a second one comes as this peer from that address, and has the room load. */
static void begin_loading(unsigned peer, unsigned last) {
    live_at(1);
    hello(0, "room", 1, 2, "x");
    live_at(last);
    hello(peer, "room", 1, 2, "x");
    give(0, "save");
    ready(0, "a");
    assert_non_null(heard(peer, KL_MSG_PREPARE));
}

static void comes_again(unsigned peer, unsigned last, const char *refusal) {
    live_at(last);
    hello(peer, "room", 1, 2, "x");
    if (refusal)
        expect_refusal(peer, KL_REFUSE_DOOR, refusal);
    else
        assert_non_null(heard(peer, KL_MSG_WELCOME));
}

/* A minute, then two, then four: for the key and for the address. */
TEST_WITH(one_that_is_never_ready_is_barred_longer_each_time, set_up, tear_down) {
    begin_loading(1, 2);
    for (unsigned i = 0; i < 3; i++) {
        uint64_t from_us = now_us;
        pass(61 * SECOND);
        expect_refusal(1, KL_REFUSE_CLOSED, "loading the game took more than 60 s");
        comes_again(2, 2, "room room is closed to you for ");
        comes_again(1, 3, "s: it waited for you, and you did not load");
        pass((60 << i) * SECOND + from_us + 59 * SECOND - now_us);
        comes_again(1, 2, "room room is closed to you for ");
        pass(3 * SECOND);
        comes_again(1, 2, NULL);
    }
    assert_false(inbox[0].hung_up);
}

/* The seat is somebody else's then. */
TEST_WITH(the_room_goes_on_without_it, set_up, tear_down) {
    begin_loading(1, 2);
    pass(61 * SECOND);
    comes_again(3, 4, NULL);
    ready(3, "a");
    assert_int_equal(state_of(0, 0), KL_MEMBER_PLAYING);
}

/* A member that goes before the 60 s are over is let in again, until its waits are a minute in sum. */
TEST_WITH(waits_add_up, set_up, tear_down) {
    begin_loading(1, 2);
    for (unsigned i = 0; i < 2; i++) {
        pass(25 * SECOND);
        bye(1);
        comes_again(1, 2, NULL);
    }
    pass(25 * SECOND);
    bye(1);
    comes_again(1, 2, "s: it waited for you, and you did not load");
}

TEST_WITH(a_host_that_gives_nothing_is_barred, set_up, tear_down) {
    hello(0, "room", 1, 2, "x");
    live_at(2);
    hello(1, "room", 1, 2, "x");
    pass(61 * SECOND);
    expect_refusal(0, KL_REFUSE_CLOSED, "the host's start data did not arrive in time");
    comes_again(0, 1, "s: it waited for you, and you did not load");
}

/* A lost link is no way around it. */
TEST_WITH(one_whose_link_is_lost_while_it_loads, set_up, tear_down) {
    begin_loading(1, 2);
    lose(1);
    pass(61 * SECOND);
    comes_again(2, 2, "s: it waited for you, and you did not load");
}

/* One that was ready, and goes, has kept nobody waiting. */
TEST_WITH(whoever_was_ready_may_come_again, set_up, tear_down) {
    live_at(1);
    hello(0, "room", 1, 2, "x");
    live_at(2);
    hello(1, "room", 1, 2, "x");
    give(0, "save");
    ready(1, "a");
    pass(59 * SECOND);
    bye(1);
    comes_again(1, 2, NULL);
    ready(1, "a");
    bye(1);
    comes_again(1, 2, NULL);
}

/* In a game nobody waits, but its seat is kept from others. */
TEST_WITH(a_latecomer_that_is_never_ready, set_up, tear_down) {
    start_game_of(2);
    bye(1);
    pass(3 * SECOND);
    comes_again(3, 9, NULL);
    pass(61 * SECOND);
    expect_refusal(3, KL_REFUSE_CLOSED, "loading the game took more than 60 s");
    comes_again(4, 9, "s: it waited for you, and you did not load");
}

TEST_WITH(put_out_by_the_others_hashes, set_up, tear_down) {
    start_game_of(2);
    strcpy(the_room()->member[1]->v.host, "192.0.2.9");
    kl_lobby_put_out(the_room(), 1, KL_REFUSE_DESYNC, "out of sync with all others", now_us);
    comes_again(5, 9, "room room is closed to you for 60 s: out of sync again and again");
    comes_again(1, 3, "out of sync again and again");
    comes_again(6, 3, NULL); /* neither that key nor that address */
    pass(61 * SECOND);
    comes_again(5, 9, NULL);
}

/* A newer one makes way for none: bans stay, and so do the bars that last longest. */
TEST_WITH(the_table_is_bounded, set_up, tear_down) {
    start_game_of(2);
    struct kl_lobby_room *r = the_room();
    struct kl_lobby_person p = {.host = "banned"};
    uint8_t key[KL_SEAT_KEY_BYTES] = {0};
    kl_lobby_bar(r, KL_BAR_BAN, &p, now_us);
    kl_lobby_bar(r, KL_BAR_BAN, &p, now_us); /* is one */
    for (unsigned i = 0; i < 3 * KL_TIMED_MAX; i++) {
        char host[KL_NET_TEXT];
        snprintf(host, sizeof host, "10.0.0.%u:7", i);
        key[0] = (uint8_t)(i + 1);
        p = kl_lobby_person(key, host);
        kl_lobby_bar(r, KL_BAR_TURN, &p, now_us + i);
        assert_true(kl_lobby_barred_s(r, true, &p, NULL, now_us) > 0);
        assert_int_equal(kl_lobby_barred_s(r, false, &p, NULL, now_us), 0);
    }
    assert_int_equal(r->door.bars, 1 + KL_TIMED_MAX);
    key[0] = 0xff;
    p = kl_lobby_person(key, "banned");
    assert_int_equal(kl_lobby_barred_s(r, false, &p, NULL, now_us), KL_BAR_EVER);
    for (unsigned i = 0; i <= KL_BANS_MAX; i++) {
        key[0] = (uint8_t)i, key[1] = 1;
        p = kl_lobby_person(key, "");
        kl_lobby_bar(r, KL_BAR_BAN, &p, now_us);
    }
    assert_int_equal(r->door.bars, KL_BANS_MAX + KL_TIMED_MAX);
    assert_int_equal(kl_lobby_barred_s(r, false, &p, NULL, now_us), KL_BAR_EVER);
    p = kl_lobby_person((uint8_t[KL_SEAT_KEY_BYTES]){0xee}, "banned");
    assert_int_equal(kl_lobby_barred_s(r, false, &p, NULL, now_us), 0); /* the oldest */
    p = kl_lobby_person((uint8_t[KL_SEAT_KEY_BYTES]){0xee}, "");
    assert_int_equal(kl_lobby_barred_s(r, false, &p, NULL, now_us), 0); /* no address is nobody's */
}
