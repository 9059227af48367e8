/* The return of a player, step by step: silence, probes, INITs, RETURN. docs/design.md §5. */
#include "tests/lib/participant_bare.h"

#include "net/engine/command.h"
#include "net/engine/lock_client.h"

#define SECOND UINT64_C(1000000)
#define SILENT UINT64_C(700000)
#define HEARD  (100 * SECOND) /* the relay, for the last time */

static const struct kl_channels room = {.bulk_room = 1};
static struct kl_hs_relay relay;

static int play(void **state) {
    struct kl_keypair own = {.secret = {5}};
    if (make(state) != 0) return -1;
    kl_keypair_complete(&own);
    kl_hs_relay_begin(&relay, &own, KL_CIPHER_CHACHA20, HEARD);
    memcpy(s->dial.known, own.pub, sizeof own.pub);
    s->dial.is_known = true;
    s->dial.offers = KL_CIPHER_CHACHA20;
    s->dial.s.heard_us = HEARD;
    s->status.phase = KL_PARTICIPANT_PLAYING;
    s->status.welcome = (struct kl_welcome){.client = 3, .seats = 1, .token = {7}, .seat_time_s = 60};
    return 0;
}

/* INITs that go out at this time. */
static unsigned inits_at(uint64_t now_us, uint8_t init[KL_INIT_BYTES]) {
    unsigned count = 0;
    kl_participant_turn(s, now_us);
    while (kl_dial_send(&s->dial, init))
        count++;
    return count;
}

/* The relay answers this INIT, once it has sent a cookie. */
static void answer(uint8_t init[KL_INIT_BYTES], uint64_t now_us) {
    static const uint8_t address[KL_HS_ADDRESS] = {1};
    struct kl_hs_request req;
    struct kl_session_keys keys;
    uint8_t reply[KL_STRANGER_MAX];
    size_t len;
    assert_int_equal(kl_hs_relay_receive(&relay, now_us, address, init, KL_INIT_BYTES, &req, reply, &len),
                     KL_HS_REPLY);
    kl_participant_stranger(s, reply, len, now_us);
    assert_true(kl_dial_send(&s->dial, init)); /* again, with the cookie */
    assert_int_equal(kl_hs_relay_receive(&relay, now_us, address, init, KL_INIT_BYTES, &req, reply, &len),
                     KL_HS_WANTS);
    assert_int_equal(kl_hs_relay_answer(&relay, &req, 9, &keys, reply, &len), KL_OK);
    kl_participant_stranger(s, reply, len, now_us);
}

/* ENet is connected with the keys that are here; what the client says then. */
static void connect(struct kl_msg *said) {
    assert_int_equal(s->dial.s.stage, KL_DIAL_ANSWERED);
    kl_participant_connecting(s, true);
    kl_participant_connected(s);
    assert_true(kl_participant_say(s, &room, HEARD, said));
}

/* By a relay of several processes; the key is proved by now. */
TEST_WITH(a_session_in_another_process_than_the_rooms_is_tried_again_once, play, drop) {
    const struct kl_msg moved = {.kind = KL_MSG_REFUSE, .text = {.code = KL_REFUSE_MOVED, .text = "moved"}};
    uint8_t init[KL_INIT_BYTES];
    unsigned room_number = 0;
    do
        snprintf(s->dial.room, sizeof s->dial.room, "room%u", room_number++);
    while (kl_bucket(s->dial.known, s->dial.room) == 0);
    uint32_t number = s->dial.number;
    kl_participant_take_message(s, &moved, HEARD);
    assert_int_equal(s->status.phase, KL_PARTICIPANT_PLAYING);
    assert_int_equal(s->dial.number, number + 1);
    assert_int_equal(inits_at(HEARD, init), 1);
    assert_int_equal(init[KL_INIT_BUCKET], kl_bucket(s->dial.known, s->dial.room));
    kl_participant_take_message(s, &moved, HEARD);
    assert_int_equal(s->status.phase, KL_PARTICIPANT_ENDED);
    assert_string_equal(s->status.reason, "moved");
}

static const struct kl_msg sent_on = {
    .kind = KL_MSG_REFUSE, .text = {.code = KL_REFUSE_ELSEWHERE, .text = "192.0.2.1:5 [2001:db8::1]:5"}};

TEST_WITH(a_newcomer_is_sent_on_once, play, drop) {
    uint32_t number = s->dial.number;
    s->joined = false;
    kl_participant_take_message(s, &sent_on, HEARD);
    assert_int_equal(s->status.phase, KL_PARTICIPANT_PLAYING);
    assert_int_equal(s->dial.number, number + 1);
    assert_true(s->goes_on);
    assert_string_equal(s->elsewhere, sent_on.text.text);
    kl_participant_take_message(s, &sent_on, HEARD);
    assert_int_equal(s->status.phase, KL_PARTICIPANT_ENDED);
    assert_string_equal(s->status.reason, sent_on.text.text);
}

TEST_WITH(a_process_that_takes_its_seat_back_is_sent_on_until_a_relay_has_the_room, play, drop) {
    uint32_t number = s->dial.number;
    s->joined = false;
    s->fresh = true;
    for (unsigned i = 1; i <= 3; i++) {
        kl_participant_take_message(s, &sent_on, HEARD);
        assert_int_equal(s->status.phase, KL_PARTICIPANT_PLAYING);
        assert_int_equal(s->dial.number, number + i);
    }
}

TEST_WITH(a_member_returns_to_whatever_relay_has_the_room, play, drop) {
    const struct kl_msg relays = {.kind = KL_MSG_NOTICE,
                                  .text = {.code = KL_NOTICE_RELAYS, .text = "192.0.2.2:5"}};
    uint32_t number = s->dial.number;
    unsigned notices = s->notice_put;
    kl_participant_take_message(s, &relays, HEARD);
    assert_string_equal(s->relays, "192.0.2.2:5");
    assert_true(kl_participant_has_new_relays(s));
    kl_participant_take_message(s, &relays, HEARD);
    assert_false(kl_participant_has_new_relays(s));
    assert_int_equal(s->notice_put, notices); /* it is for no screen */
    for (unsigned i = 1; i <= 3; i++) {
        kl_participant_take_message(s, &sent_on, HEARD);
        assert_int_equal(s->status.phase, KL_PARTICIPANT_RETURNING);
        assert_int_equal(s->dial.number, number + i);
    }
}

TEST_WITH(a_new_session_after_four_seconds, play, drop) {
    uint8_t init[KL_INIT_BYTES];
    struct kl_msg m;
    assert_int_equal(inits_at(HEARD + SILENT - 1, init), 0);
    assert_int_equal(inits_at(HEARD + SILENT, init), 1); /* a probe, beside the session */
    assert_int_equal(inits_at(HEARD + 4 * SECOND - 1, init), 1);
    assert_int_equal(s->status.phase, KL_PARTICIPANT_PLAYING);
    uint32_t number = s->dial.number;
    kl_participant_turn(s, HEARD + 4 * SECOND);
    assert_int_equal(s->status.phase, KL_PARTICIPANT_RETURNING);
    assert_int_equal(s->dial.number, number + 1);
    assert_int_equal(inits_at(HEARD + 4 * SECOND + 1, init), 1);
    answer(init, HEARD + 5 * SECOND);
    connect(&m);
    assert_int_equal(m.kind, KL_MSG_RETURN);
    assert_true(m.back.token[0] == 7 && !m.back.fresh && m.back.have == 0);
    assert_true(kl_seat_verify(s->seat.pub, s->dial.s.outcome.keys.binding, m.back.token, m.back.signature));
    assert_false(kl_participant_say(s, &room, HEARD, &m));
    m = (struct kl_msg){.kind = KL_MSG_WELCOME, .welcome = s->status.welcome};
    m.welcome.token[0] = 8;
    kl_participant_take_message(s, &m, HEARD + 5 * SECOND);
    assert_int_equal(s->status.phase, KL_PARTICIPANT_PLAYING);
    assert_true(kl_participant_welcomed(s) && s->status.welcome.token[0] == 8);
}

/* A relay that was started anew answers the probe. The old session gets a quarter of a second more. */
TEST_WITH(a_probe_finds_a_new_life, play, drop) {
    uint8_t init[KL_INIT_BYTES];
    struct kl_msg m;
    assert_int_equal(inits_at(HEARD + SECOND, init), 1);
    answer(init, HEARD + SECOND + 1000);
    kl_participant_turn(s, HEARD + SECOND + 250999);
    assert_int_equal(s->status.phase, KL_PARTICIPANT_PLAYING);
    kl_participant_turn(s, HEARD + SECOND + 251000);
    assert_int_equal(s->status.phase, KL_PARTICIPANT_RETURNING);
    connect(&m);
    assert_int_equal(m.kind, KL_MSG_RETURN);
}

/* Frames [from, to), four in an interval, one in eight marked, come and are run. */
static void run(uint32_t from, uint32_t to) {
    for (uint32_t n = from; n < to; n++) {
        struct kl_frame f = {.number = n, .keyframe = n & ~3u, .spacing = 4, .active = 1};
        f.flags = (uint8_t)((n % 4 ? 0 : KL_FRAME_KEY) | (n % 8 ? 0 : KL_FRAME_HASH));
        kl_participant_past_keep(s, &f);
    }
    static struct kl_held held[64];
    s->lock.held = held;
    s->lock.held_frames = 64;
    s->lock.stats.next_run = s->lock.stats.next_closed = to;
}

static struct kl_msg said_return(uint64_t now_us) {
    uint8_t init[KL_INIT_BYTES];
    struct kl_msg m;
    kl_participant_hung_up(s, false, now_us);
    assert_int_equal(inits_at(now_us, init), 1);
    answer(init, now_us);
    connect(&m);
    assert_int_equal(m.kind, KL_MSG_RETURN);
    return m;
}

static void take_back(uint32_t lost_from, uint64_t now_us) {
    struct kl_msg m = {.kind = KL_MSG_WELCOME, .welcome = s->status.welcome};
    kl_participant_take_message(s, &m, now_us);
    m = (struct kl_msg){.kind = KL_MSG_REWIND, .rewind = {.keyframe = lost_from, .lost = true}};
    kl_participant_take_message(s, &m, now_us);
}

/* The frames from there on are void; a session that ends before the wrapper is back has nothing to go on
 * from. */
TEST_WITH(lost_frames_are_forgotten, play, drop) {
    static const uint32_t own[] = {8, 16, 32};
    struct kl_rewind to;
    struct kl_msg m;
    run(0, 37);
    kl_participant_own_states(s, own, 3);
    m = said_return(HEARD);
    assert_true(m.back.have == 37 && m.back.intervals == 9 && m.back.states == 3);
    assert_true(m.back.state[0].intervals == 2 && m.back.state[2].intervals == 8);
    const struct kl_record_mark covered = m.back.state[1];
    kl_participant_hash(s, &(struct kl_hash){.frame = 31});
    take_back(16, HEARD + SECOND);
    assert_true(kl_participant_rewind(s, &to) && to.keyframe == 16 && to.lost);
    assert_int_equal(s->past.next, 16);
    assert_int_equal(kl_client_have(&s->lock), 16);
    assert_int_equal(s->hash_put, s->hash_got);
    kl_participant_begun(s, 16, 0);
    run(16, 20);
    m = said_return(HEARD + 2 * SECOND);
    assert_true(!m.back.fresh && m.back.have == 20 && m.back.states == 2);
    assert_memory_equal(&m.back.state[1], &covered, sizeof covered);
    take_back(8, HEARD + 3 * SECOND);
    m = said_return(HEARD + 4 * SECOND);
    assert_true(m.back.fresh && m.back.states == 0);
}

/* A relay that names another frame than RETURN did is told that there is no such state. */
TEST_WITH(another_frame_is_no_place_to_go_back_to, play, drop) {
    struct kl_rewind to;
    struct kl_msg m;
    run(0, 37);
    (void)said_return(HEARD);
    take_back(12, HEARD + SECOND); /* no marked keyframe */
    assert_false(kl_participant_rewind(s, &to));
    assert_int_equal(s->past.next, 37);
    assert_true(kl_participant_say(s, &room, HEARD + SECOND, &m));
    assert_true(m.kind == KL_MSG_HEALED && m.healed.keyframe == 12 && m.healed.how == KL_HEALED_NOT);
}

/* The relay loses the handshake before the first datagram of its session comes: another one, later each time,
 * and a newcomer gives up in the end. */
TEST_WITH(a_lost_handshake_is_made_again, play, drop) {
    uint8_t init[KL_INIT_BYTES];
    uint32_t number = s->dial.number;
    s->joined = false;
    s->status.phase = KL_PARTICIPANT_CONNECTING;
    kl_participant_begin(s, HEARD);
    for (unsigned i = 1, ms = 0, wait_ms = 750; i <= 3; i++, wait_ms *= 2) {
        assert_int_equal(inits_at(HEARD + ms * 1000, init), 1);
        assert_int_equal(s->dial.number, number + i);
        answer(init, HEARD + ms * 1000);
        kl_participant_connecting(s, true);
        ms = i < 3 ? ms + wait_ms : 5000;
        kl_participant_turn(s, HEARD + ms * 1000 - 1);
        assert_int_equal(s->dial.number, number + i);
        if (i < 3) kl_participant_turn(s, HEARD + ms * 1000);
    }
    assert_int_equal(s->status.phase, KL_PARTICIPANT_CONNECTING);
    kl_participant_turn(s, HEARD + 5 * SECOND);
    assert_int_equal(s->status.phase, KL_PARTICIPANT_ENDED);
    assert_non_null(strstr(s->status.reason, "does not greet"));
}

/* One that comes back with ENet connected does not make another. */
TEST_WITH(a_connection_is_not_made_again, play, drop) {
    uint8_t init[KL_INIT_BYTES];
    struct kl_msg m;
    kl_participant_turn(s, HEARD + 4 * SECOND);
    assert_int_equal(inits_at(HEARD + 4 * SECOND + 1, init), 1);
    answer(init, HEARD + 5 * SECOND);
    uint32_t number = s->dial.number;
    connect(&m);
    kl_participant_turn(s, HEARD + 7 * SECOND);
    assert_int_equal(s->dial.number, number);
}

TEST_WITH(a_word_of_the_relay_ends_the_probe, play, drop) {
    uint8_t init[KL_INIT_BYTES];
    assert_int_equal(inits_at(HEARD + SECOND, init), 1);
    answer(init, HEARD + SECOND + 1000);
    kl_participant_heard(s, HEARD + SECOND + 2000);
    kl_participant_turn(s, HEARD + SECOND + 300000);
    assert_int_equal(s->status.phase, KL_PARTICIPANT_PLAYING);
    assert_false(s->dial.s.probing);
}

/* INITs go out after 0.25, 0.5 and then every second, until the seat is lost. */
TEST_WITH(inits_become_rare, play, drop) {
    static const unsigned due_ms[] = {0, 250, 750, 1750, 2750, 3750};
    uint8_t init[KL_INIT_BYTES];
    unsigned n = 0;
    kl_participant_hung_up(s, false, HEARD);
    for (unsigned ms = 0; ms < 4000; ms += 10) {
        unsigned sent = inits_at(HEARD + ms * 1000, init);
        bool due = n < sizeof due_ms / sizeof *due_ms && ms == due_ms[n];
        assert_int_equal(sent, due);
        n += due;
    }
    kl_participant_turn(s, HEARD + 60 * SECOND - 1);
    assert_int_equal(s->status.phase, KL_PARTICIPANT_RETURNING);
    kl_participant_turn(s, HEARD + 60 * SECOND);
    assert_true(kl_participant_is_over(s) && strstr(s->status.reason, "did not answer for as long as"));
}

TEST_WITH(no_seat_no_return, play, drop) {
    s->status.welcome.seat_time_s = 0;
    kl_participant_hung_up(s, false, HEARD);
    assert_true(kl_participant_is_over(s));
}

/* A command that is given to a process that stood still is said in the new session. */
TEST_WITH(a_command_waits_for_the_way_back, play, drop) {
    uint64_t woken_us = HEARD + 100000 + 4 * SECOND;
    uint8_t init[KL_INIT_BYTES];
    struct kl_msg m;
    kl_participant_turn(s, HEARD + 100000);
    assert_int_equal(kl_participant_order(s, KL_COMMAND_CHAT, "here", 4), KL_OK);
    kl_participant_heard(s, woken_us); /* of the socket's buffer */
    kl_participant_turn(s, woken_us);
    assert_int_equal(s->status.phase, KL_PARTICIPANT_RETURNING);
    assert_int_equal(inits_at(woken_us + 1, init), 1);
    answer(init, woken_us);
    connect(&m);
    assert_int_equal(m.kind, KL_MSG_RETURN);
    assert_false(kl_participant_say(s, &room, woken_us, &m));
    m = (struct kl_msg){.kind = KL_MSG_WELCOME, .welcome = s->status.welcome};
    kl_participant_take_message(s, &m, woken_us);
    kl_participant_heard(s, woken_us);
    assert_true(kl_participant_say(s, &room, woken_us, &m));
    assert_int_equal(m.kind, KL_MSG_COMMAND);
}

TEST_WITH(a_command_waits_while_the_relay_is_silent, play, drop) {
    struct kl_msg m;
    assert_int_equal(kl_participant_order(s, KL_COMMAND_CHAT, "here", 4), KL_OK);
    assert_false(kl_participant_say(s, &room, HEARD + SILENT, &m));
    assert_true(kl_participant_say(s, &room, HEARD + SILENT - 1, &m));
    assert_int_equal(m.kind, KL_MSG_COMMAND);
}
