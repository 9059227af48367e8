/* test_lobby_past.c - rooms that play for real: links are lost, the relay dies, and clients come back with
 * what they have or with nothing; every frame that anybody runs is the same; the record of a room.
 * net/ROOMS.md §7, kept seats. */
#include <stdio.h>

#include "tests/unit/unit.h"
#include "tests/lib/lobby_players.h"

#include "net/relay/durable/lobby_ticket.h"
#include "net/relay/log/lobby_limit.h"

TEST_WITH(a_short_cut_is_mended_by_updates, set_up, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    play(5 * SECOND);
    cut(1);
    uint32_t before = canon_end;
    play(3 * SECOND);
    assert_true(canon_end - before > 3 * 60 - 10); /* the others play on: that the link is lost is known */
    come_back(1, 11);
    play(3 * SECOND);
    assert_int_equal(player[1].pieces, 0);
    expect_all_at_the_end();
    assert_true(canon_end > 10 * 60);
    assert_true(presses_lately(1)); /* its pads count again */
}

TEST_WITH(a_long_one_by_history, set_up, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    play(5 * SECOND);
    cut(1);
    play(30 * SECOND);
    come_back(1, 11);
    play(4 * SECOND);
    assert_true(player[1].pieces > 10);
    expect_all_at_the_end();
    assert_true(canon_end > 38 * 60);
}

TEST_WITH(in_optimistic_rooms_too, set_up, tear_down) {
    start_room(KL_POLICY_OPTIMISTIC);
    play(5 * SECOND);
    cut(0);
    play(10 * SECOND);
    come_back(0, 11);
    play(4 * SECOND);
    expect_all_at_the_end();
    assert_true(canon_end > 18 * 60);
}

TEST_WITH(a_strict_room_waits, set_up, tear_down) {
    start_room(KL_POLICY_STRICT);
    play(5 * SECOND);
    cut(1);
    play(SECOND);
    uint32_t before = canon_end;
    play(10 * SECOND);
    assert_int_equal(canon_end, before);
    come_back(1, 11);
    play(3 * SECOND);
    expect_all_at_the_end();
    assert_true(canon_end > before + 120);
    cut(2);
    play(61 * SECOND); /* and no longer than the seat's time */
    assert_true(canon_end > before + 180);
}

TEST_WITH(a_killed_process_runs_it_all_again, set_up, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    play(20 * SECOND);
    cut(0); /* the host, who gave the start data */
    play(5 * SECOND);
    come_back_with_nothing(0, 11);
    play(6 * SECOND);
    assert_true(player[0].pieces > 10);
    expect_all_at_the_end();
    assert_true(player[0].p.participant.lock.stats.next_run >
                30 * 60); /* from frame 0: run_frame() compares */
    assert_int_equal(kl_lobby_rooms(lobby), 1);
}

TEST_WITH(all_at_once, set_up, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    play(5 * SECOND);
    for (unsigned i = 0; i < PLAYERS; i++)
        cut(i);
    play(10 * SECOND);
    uint32_t before = canon_end;
    come_back(0, 10), come_back(1, 11);
    come_back_with_nothing(2, 12);
    play(4 * SECOND);
    expect_all_at_the_end();
    assert_true(canon_end > before + 120);
}

/* --- the ticket --- */

TEST_WITH(the_ticket_says_who_is_who, set_up, tear_down) {
    static struct kl_lobby_ticket t;
    start_room(KL_POLICY_BOUNDED);
    play(SECOND);
    open_ticket(&t);
    uint32_t number = t.number;
    assert_string_equal(t.name, "room");
    assert_int_equal(t.host, 0);
    assert_int_equal(t.start_bytes, 4);
    assert_string_equal(t.facts.fact[0].value, "x");
    assert_string_equal(t.ready.fact[0].value, "a");
    assert_true(kl_seat_token_is(player[2].p.participant.status.welcome.token, t.member[2].token_hash[0]));
    cut(2);
    come_back(2, 12);
    play(SECOND);
    open_ticket(&t);
    assert_true(kl_seat_token_is(player[2].p.participant.status.welcome.token, t.member[2].token_hash[0]));
    bye(0);
    vanish(0);
    play(4 * SECOND);
    open_ticket(&t);
    assert_true(t.number > number && t.frame > 60);
    assert_true(kl_seat_token_is(player[2].p.participant.status.welcome.token, t.member[2].token_hash[0]));
    assert_false(t.member[0].here);
    assert_int_equal(t.host, 1);
    open_ticket(&t);
    assert_memory_equal(t.id, heard(12, KL_MSG_WELCOME)->welcome.room_id, KL_ROOM_ID_BYTES);
}

/* --- bounds --- */

/* If the beginning is gone, and there are no states, nobody can begin anew; a player with enough can still
 * come back. */
TEST_WITH(history_has_its_measure, set_up, tear_down) {
    struct kl_lobby_limits limits = limits_for_tests;
    limits.history_kib = 192;
    reopen(&limits);
    start_room(KL_POLICY_BOUNDED);
    lobby->room[0]->snapshot.unfit = true;
    mash();
    play(180 * SECOND);
    const struct kl_lobby_room *r = the_room();
    assert_true(r->past.history.first > 0);
    assert_in_range(lobby->history_bytes, 64 * 1024, 192 * 1024);
    assert_int_equal(lobby->start_bytes, 0); /* of no use any more */
    cut(1);
    play(7 * SECOND);
    come_back(1, 11);
    play(3 * SECOND);
    expect_all_at_the_end();
    cut(2);
    connect_peer(12);
    struct kl_msg m = a_return(2, 12, "room", player[2].p.participant.status.welcome.token);
    m.back.fresh = true;
    kl_facts_add(&m.back.facts, "content", "x");
    say(12, &m);
    expect_refusal(12, KL_REFUSE_SEAT, "does not keep the game's beginning any more");
    for (unsigned i = 0; i < 2; i++)
        bye(player[i].peer), vanish(i);
    play(3 * SECOND);
    assert_int_equal(kl_lobby_rooms(lobby), 0);
    assert_int_equal(lobby->history_bytes, 0);
}

/* The flow is held back while nothing is acknowledged. */
TEST_WITH(history_waits_for_the_link, set_up, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    play(5 * SECOND);
    cut(1);
    play(20 * SECOND);
    struct kl_msg m = prepare_return(&player[1], 11);
    inbox[11].pending = 1;
    say(11, &m);
    play(2 * SECOND);
    assert_int_equal(player[1].pieces, 0);
    inbox[11].pending = 0;
    play(3 * SECOND);
    expect_all_at_the_end();
}

/* After the room was made again a client may have frames that it has not: then it begins anew. */
TEST_WITH(claimed_frames_must_be_the_rooms, set_up, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    play(5 * SECOND);
    the_room()->past.reopened = true;
    cut(1);
    play(2 * SECOND);
    struct kl_msg m = prepare_return(&player[1], 11);
    say(11, &m);
    assert_null(heard(11, KL_MSG_PREPARE));
    play(3 * SECOND);
    expect_all_at_the_end();
    cut(1);
    m = prepare_return(&player[1], 12);
    m.back.digest[3] ^= 1;
    player[1].plays = false;
    say(12, &m);
    assert_non_null(heard(12, KL_MSG_PREPARE));
    player[1].linked = false;
    lose(12);
    m = prepare_return(&player[1], 13);
    m.back.intervals = 100000;
    player[1].linked = false;
    say(13, &m);
    assert_non_null(heard(13, KL_MSG_PREPARE));
}

/* Wherever in an interval the client's frames end. */
TEST_WITH(a_part_of_an_interval_is_the_rooms, set_up, tear_down) {
    fixed_spacing = 7;
    start_room(KL_POLICY_BOUNDED);
    fixed_spacing = 0;
    player[1].mashes = true;
    play(3 * SECOND);
    the_room()->past.reopened = true;
    uint32_t parts = 0; /* a bit for each length */
    for (unsigned i = 0; i < 20; i++) {
        play(SECOND + i * 17000);
        cut(1);
        play(SECOND / 2);
        struct kl_msg m = prepare_return(&player[1], 20 + i);
        parts |=
            1U << (m.back.have - digest_of(player[1].p.participant.status.welcome.room_id, m.back.have).end);
        say(20 + i, &m);
        assert_null(heard(20 + i, KL_MSG_PREPARE));
        play(2 * SECOND);
        expect_all_at_the_end();
    }
    assert_true(__builtin_popcount(parts) >= 4);
}

/* --- the relay dies --- */

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
    struct kl_msg m = prepare_return(&player[0], 10); /* has run 100 frames more */
    player[0].plays = false;
    say(10, &m);
    assert_non_null(heard(10, KL_MSG_PREPARE));
    assert_memory_equal(heard(10, KL_MSG_DATA)->data.bytes, "save", 4);
    assert_int_equal(heard(10, KL_MSG_PREPARE)->prepare.epoch_s, ticket.epoch_s);
    lose(10);
    m = prepare_return(&player[1], 11); /* as many as the room, but others */
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
    struct kl_msg m = a_return(1, 9, "room", player[1].p.participant.status.welcome.token);
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

/* --- the record of a room --- */

static void fill(void *out, size_t len, unsigned seed) {
    for (size_t i = 0; i < len; i++)
        ((uint8_t *)out)[i] = (uint8_t)(seed * 37 + i * 3);
}

static void longest_facts(struct kl_facts *f) {
    char key[KL_FACT_KEY_MAX], value[KL_FACT_VAL_MAX];
    memset(key, 'k', sizeof key);
    memset(value, 'v', sizeof value);
    key[sizeof key - 1] = value[sizeof value - 1] = 0;
    for (unsigned i = 0; i < KL_FACTS_MAX; i++)
        assert_int_equal(kl_facts_add(f, key, value), 0);
}

static struct kl_lobby_ticket record, got;
static uint8_t buf[KL_TICKET_BODY_MAX], again[KL_TICKET_BODY_MAX + 1];

static void a_small_one(void) {
    memset(&record, 0, sizeof record);
    record = (struct kl_lobby_ticket){.number = 7,
                                      .frame = 70000,
                                      .name = "room",
                                      .maker = "192.0.2.1",
                                      .doors = KL_DOOR_PASSWORD,
                                      .seat_time_s = 60,
                                      .delay_s = 300,
                                      .epoch_s = 1700000000,
                                      .start_bytes = 4000,
                                      .host = 3,
                                      .joins = 9};
    fill(record.id, sizeof record.id, 1), fill(record.salt, sizeof record.salt, 2),
        fill(record.secret, sizeof record.secret, 3);
    fill(record.start_hash, sizeof record.start_hash, 4);
    record.params = (struct kl_params){.subframes = true, .clocked = true, .players = 2, .fps_uhz = 60098800};
    kl_facts_add(&record.facts, "content", "xxh3 1");
    kl_facts_add(&record.ready, "system", "none");
    for (unsigned i = 2; i < 4; i++) {
        struct kl_ticket_member *m = &record.member[i];
        *m = (struct kl_ticket_member){
            .here = true, .seats = (uint8_t)(1U << i), .joined = 5 + i, .name = "ann"};
        fill(m->seat_key, sizeof m->seat_key, i), fill(m->token_hash, sizeof m->token_hash, 10 + i);
    }
    record.bans = 1;
    fill(record.ban[0].seat_key, sizeof record.ban[0].seat_key, 20);
    strcpy(record.ban[0].host, "198.51.100.1");
}

TEST(there_and_back) {
    a_small_one();
    int len = kl_lobby_ticket_encode(&record, buf, sizeof buf);
    assert_true(len > 0);
    assert_int_equal(kl_lobby_ticket_decode(&got, buf, (size_t)len), KL_OK);
    assert_memory_equal(&got, &record, sizeof record); /* both were zeroed whole */
    for (int cap = 0; cap < len; cap++) {
        assert_int_equal(kl_lobby_ticket_encode(&record, again, (size_t)cap), KL_E_SPACE);
        assert_int_equal(kl_lobby_ticket_decode(&got, buf, (size_t)cap), KL_E_MALFORMED);
    }
    memcpy(again, buf, (size_t)len);
    again[len] = 0;
    assert_int_equal(kl_lobby_ticket_decode(&got, again, (size_t)len + 1), KL_E_MALFORMED);
    again[0] = KL_LOBBY_TICKET_VERSION + 1;
    assert_int_equal(kl_lobby_ticket_decode(&got, again, (size_t)len), KL_E_VERSION);
    record.recorded = true; /* older tickets end before that */
    assert_int_equal(kl_lobby_ticket_encode(&record, buf, sizeof buf), len + 1);
    assert_int_equal(kl_lobby_ticket_decode(&got, buf, (size_t)len + 1), KL_OK);
    assert_memory_equal(&got, &record, sizeof record);
    record.recorded = false;
    record.voice = KL_VOICE_NONE; /* and before that */
    assert_int_equal(kl_lobby_ticket_encode(&record, buf, sizeof buf), len + 3);
    assert_int_equal(kl_lobby_ticket_decode(&got, buf, (size_t)len + 3), KL_OK);
    assert_memory_equal(&got, &record, sizeof record);
    buf[len + 2] = KL_VOICE_ALL + 1;
    assert_int_equal(kl_lobby_ticket_decode(&got, buf, (size_t)len + 3), KL_E_MALFORMED);
}

TEST(the_longest_fits) {
    a_small_one();
    wide_name(record.name, KL_NAME_CHARS), memset(record.maker, '1', sizeof record.maker - 1);
    record.facts.count = record.ready.count = 0;
    longest_facts(&record.facts), longest_facts(&record.ready);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        record.member[i] = record.member[2];
        record.member[i].seats = (uint8_t)(i < 8 ? 1U << i : 0);
        wide_name(record.member[i].name, KL_NAME_CHARS);
    }
    record.bans = KL_BANS_MAX;
    for (unsigned i = 0; i < KL_BANS_MAX; i++)
        memset(record.ban[i].host, '9', KL_NET_TEXT - 1);
    int len = kl_lobby_ticket_encode(&record, buf, sizeof buf);
    assert_true(len > 15000);
    assert_int_equal(kl_lobby_ticket_decode(&got, buf, (size_t)len), KL_OK);
    assert_memory_equal(&got, &record, sizeof record);
}

static void rejected(void) {
    int len = kl_lobby_ticket_encode(&record, buf, sizeof buf);
    assert_true(len > 0);
    assert_int_equal(kl_lobby_ticket_decode(&got, buf, (size_t)len), KL_E_MALFORMED);
    a_small_one();
}

TEST(contradictory_tickets_are_refused) {
    a_small_one();
    record.member[3].seats = record.member[2].seats, rejected();
    record.host = 5, rejected(); /* nobody is there */
    record.host = KL_NO_HOST + 1, rejected();
    record.name[0] = 0, rejected();
    record.doors = 32, rejected();
    record.params.players = 0, rejected();
}

/* Whatever comes out of a damaged one is whole in itself. */
TEST(damaged_ones) {
    a_small_one();
    uint32_t random = 20241121;
    int len = kl_lobby_ticket_encode(&record, buf, sizeof buf);
    unsigned taken = 0;
    for (unsigned n = 0; n < 20000; n++) {
        memcpy(again, buf, (size_t)len);
        for (unsigned i = 0; i < 1 + n % 3; i++) {
            random = random * 1664525 + 1013904223;
            again[(random >> 8) % (unsigned)len] ^= (uint8_t)(1U << (random >> 28 & 7));
        }
        if (kl_lobby_ticket_decode(&got, again, (size_t)len) != KL_OK) continue;
        taken++;
        assert_int_equal(kl_lobby_ticket_encode(&got, buf + len, 0), KL_E_SPACE);
        assert_true(got.host == KL_NO_HOST || got.member[got.host].here);
        assert_true(got.bans <= KL_BANS_MAX && got.facts.count <= KL_FACTS_MAX);
    }
    assert_true(taken > 1000); /* keys and hashes may be anything */
}

TEST(a_bucket_leaks) {
    struct kl_bucket b = {0};
    uint64_t time_us = 5000000;
    for (unsigned i = 0; i < 6; i++)
        assert_true(kl_bucket_take(&b, 6, time_us));
    assert_false(kl_bucket_take(&b, 6, time_us));
    assert_int_equal(kl_bucket_wait_s(&b, 6, time_us), 10);
    for (unsigned i = 0; i < 99; i++) /* small steps count */
        assert_false(kl_bucket_take(&b, 6, time_us += 100000));
    assert_true(kl_bucket_take(&b, 6, time_us += 100000));
    assert_false(kl_bucket_take(&b, 6, time_us));
    time_us += 3600 * 1000000ULL; /* never more than a minute's worth */
    for (unsigned i = 0; i < 6; i++)
        assert_true(kl_bucket_take(&b, 6, time_us));
    assert_false(kl_bucket_take(&b, 6, time_us));
    struct kl_bucket none = {0};
    assert_false(kl_bucket_take(&none, 0, time_us));
}

TEST(triers_are_told_apart) {
    static struct kl_triers triers;
    char host[KL_NET_TEXT];
    memcpy(host, kl_address_host("192.0.2.1:5555").text, sizeof host);
    assert_string_equal(host, "192.0.2.1");
    assert_string_equal(kl_address_host("[::ffff:192.0.2.1]:7").text, host);
    assert_string_equal(kl_address_host("[2001:db8::1:0:0:7]:5555").text, "2001:db8::");
    assert_string_equal(kl_address_host("2001:db8::").text, "2001:db8::"); /* as it is kept */
    struct kl_trier *one = kl_triers_of(&triers, host, 1);
    assert_true(kl_bucket_take(&one->wrong, 1, 1));
    for (unsigned i = 0; i < KL_TRIERS - 1; i++) {
        snprintf(host, sizeof host, "10.0.%u.%u", i / 250, i % 250);
        assert_true(kl_bucket_take(&kl_triers_of(&triers, host, 2 + i)->wrong, 1, 2 + i));
    }
    assert_ptr_equal(kl_triers_of(&triers, "192.0.2.1", 1000), one);
    struct kl_trier *new = kl_triers_of(&triers, "203.0.113.9", 1001); /* the longest unused makes way */
    assert_true(kl_bucket_take(&new->wrong, 1, 1001));
    assert_ptr_equal(kl_triers_of(&triers, "192.0.2.1", 1002), one);
    for (unsigned i = 0; i < 4 * KL_TRIERS;
         i++) { /* a player who goes on trying is not forgotten, however many others come */
        snprintf(host, sizeof host, "10.1.%u.%u", i / 250, i % 250);
        (void)kl_triers_of(&triers, host, 1003 + i);
        if (i % 100 == 0) assert_ptr_equal(kl_triers_of(&triers, "192.0.2.1", 1003 + i), one);
    }
    assert_false(kl_bucket_take(&one->wrong, 1, 3000));
}
