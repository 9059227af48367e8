/* test_participant_direct.c - two clients that send their samples straight to each other, and all that others
 * may send them. net/ROOMS.md §7, Straight datagrams. runs: working, check, 1 s */
#include "tests/unit/unit.h"

#include <stdlib.h>

#include <sodium.h>

#include "net/client/participant_parts.h"

#define SECOND UINT64_C(1000000)

static struct kl_participant *participant[2];
static struct kl_held held[2][KL_WINDOW_FRAMES];
static const uint8_t host[2][KL_PEER_HOST] = {{[10] = 0xff, 0xff, 192, 0, 2, 1},
                                              {[0] = 0x20, 0x01, 0x0d, 0xb8, [15] = 2}};
static struct kl_peers peers[2]; /* that each is told */

static void begin(unsigned i, bool direct, uint8_t consent) {
    const struct kl_participant_config config = {.relay = "relay:1", .direct = direct};
    struct kl_params params = {.subframes = true, .players = 2, .fps_uhz = 60000000};
    kl_participant_init(participant[i], &config);
    participant[i]->hello.consent = consent;
    participant[i]->joined = true;
    participant[i]->dial.s.stage = KL_DIAL_CONNECTED;
    participant[i]->status.phase = KL_PARTICIPANT_PLAYING;
    participant[i]->status.welcome.session = 100 + i;
    participant[i]->status.roster.count = 2;
    kl_client_init(&participant[i]->lock, &params, (uint8_t)(1u << i), held[i], KL_WINDOW_FRAMES, 0);
    participant[i]->lock.started = true;
}

/* Both are told of each other. */
static int make_two(void **state) {
    (void)state;
    if (sodium_init() < 0) return -1;
    for (unsigned i = 0; i < 2; i++) {
        participant[i] = calloc(1, sizeof *participant[i]);
        if (!participant[i]) return -1;
        begin(i, true, KL_CONSENT_ROOM);
        peers[i] = (struct kl_peers){.count = 1};
    }
    for (unsigned i = 0; i < 2; i++) {
        struct kl_msg m;
        struct kl_peer *other = &peers[i].peer[0];
        *other = (struct kl_peer){.seats = (uint8_t)(2u >> i), .session = 101 - i, .port = 1000};
        memcpy(other->host, host[1 - i], sizeof host[0]);
        memset(other->out, (int)(7 + i), 32);
        memset(other->in, (int)(8 - i), 32);
        if (!kl_participant_next_direct(participant[i], &m) || m.kind != KL_MSG_DIRECT) return -1;
        kl_participant_take_peers(participant[i], &peers[i], SECOND);
    }
    return 0;
}
static int drop_two(void **state) {
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        kl_participant_free(participant[i]);
        free(participant[i]);
    }
    return 0;
}

/* The next datagram of one, to the other's address; 0: none. */
static size_t next_of(unsigned i, uint64_t now_us, uint8_t bytes[KL_PARTICIPANT_DIRECT_BYTES]) {
    uint8_t to[KL_PEER_HOST];
    uint16_t port;
    size_t len = kl_participant_direct_out(participant[i], now_us, to, &port, bytes);
    if (len) assert_true(memcmp(to, host[1 - i], sizeof host[0]) == 0 && port == 1000);
    return len;
}
static void bring(unsigned from, uint8_t *bytes, size_t len, uint64_t now_us) {
    kl_participant_direct_in(participant[1 - from], host[from], 1000, bytes, len, now_us);
}
static unsigned carry(uint64_t now_us) {
    uint8_t bytes[KL_PARTICIPANT_DIRECT_BYTES];
    unsigned sent = 0;
    for (unsigned i = 0; i < 2; i++)
        for (size_t len; (len = next_of(i, now_us, bytes)) > 0; sent++)
            bring(i, bytes, len, now_us);
    return sent;
}
static void sample(unsigned i, uint16_t joypad) {
    struct kl_client *c = &participant[i]->lock;
    c->sample[c->stats.next_sample++ % KL_WINDOW_FRAMES][0].joypad = joypad;
}
/* -1: it is not there. */
static int hinted(unsigned i, unsigned seat, uint32_t number) {
    uint16_t joypad;
    return kl_direct_find(&participant[i]->lock.direct_kept[seat], number, &joypad) ? joypad : -1;
}
static unsigned heard(unsigned i) {
    return kl_participant_direct_heard(participant[i]);
}

TEST_WITH(samples_go_to_one_that_guesses, make_two, drop_two) {
    kl_client_guess(&participant[0]->lock, true);
    uint64_t now_us = SECOND;
    assert_int_equal(carry(now_us), 2); /* both open the way */
    assert_int_equal(carry(now_us += 10000), 0);
    assert_true(heard(0) == 1 && heard(1) == 1);
    sample(0, 3);
    sample(1, 5);
    assert_int_equal(carry(now_us), 1); /* bob does not guess */
    assert_int_equal(hinted(0, 1, 0), 5);
    assert_int_equal(hinted(1, 0, 0), -1);
    for (uint16_t n = 1; n < 20; n++) {
        uint8_t lost[KL_PARTICIPANT_DIRECT_BYTES];
        sample(1, n);
        if (n % 8)
            (void)next_of(1, now_us, lost);
        else
            assert_int_equal(carry(now_us), 1);
    }
    assert_int_equal(hinted(0, 1, 1), 1);
    assert_int_equal(hinted(0, 1, 16), 16);
    assert_int_equal(hinted(0, 1, 17), -1);
}

TEST_WITH(who_is_not_heard_is_tried_seldom, make_two, drop_two) {
    uint8_t bytes[KL_PARTICIPANT_DIRECT_BYTES];
    unsigned first = 0, later = 0;
    for (uint64_t t = 0; t < 110 * SECOND; t += 10000) {
        unsigned sent = next_of(0, SECOND + t, bytes) > 0;
        *(t < 10 * SECOND ? &first : &later) += sent;
    }
    assert_in_range(first, 45, 51);
    assert_in_range(later, 18, 21);
    assert_int_equal(heard(0), 0);
}

TEST_WITH(silence_ends_it, make_two, drop_two) {
    kl_client_guess(&participant[1]->lock, true);
    uint8_t bytes[KL_PARTICIPANT_DIRECT_BYTES];
    (void)carry(SECOND);
    assert_int_equal(heard(0), 1);
    unsigned sent = 0;
    for (uint64_t t = 0; t < 5 * SECOND; t += 16667) {
        sample(0, 1);
        sent += next_of(0, SECOND + t, bytes) > 0;
    }
    assert_in_range(sent, 120, 140); /* two seconds of samples, then tries alone */
    assert_int_equal(heard(0), 0);
}

TEST_WITH(strangers_forgers_and_repetitions_are_dropped, make_two, drop_two) {
    uint8_t bytes[KL_PARTICIPANT_DIRECT_BYTES + 1], copy[sizeof bytes];
    static const uint8_t elsewhere[KL_PEER_HOST] = {[10] = 0xff, 0xff, 192, 0, 2, 3};
    uint64_t now_us = SECOND;
    participant[1]->lock.guesses = true;
    sample(0, 9);
    (void)carry(now_us);
    size_t len = next_of(0, now_us, bytes);
    assert_true(len > 0 && hinted(1, 0, 0) == -1);
    assert_false(kl_participant_knows(participant[1], elsewhere, 1000) ||
                 kl_participant_knows(participant[1], host[0], 1001));
    assert_true(kl_participant_knows(participant[1], host[0], 1000));
    memcpy(copy, bytes, sizeof copy);
    kl_participant_direct_in(participant[1], elsewhere, 1000, copy, len, now_us);
    kl_participant_direct_in(participant[1], host[0], 1001, copy, len, now_us);
    for (size_t i = 0; i < len; i++) {
        memcpy(copy, bytes, sizeof copy);
        copy[i] ^= 0x10;
        bring(0, copy, len, now_us);
    }
    for (size_t i = 0; i < len; i++) {
        memcpy(copy, bytes, sizeof copy);
        bring(0, copy, i, now_us);
    }
    assert_int_equal(hinted(1, 0, 0), -1);
    memcpy(copy, bytes, sizeof copy);
    bring(0, copy, len, now_us);
    assert_int_equal(hinted(1, 0, 0), 9);
    uint64_t datagrams = participant[1]->status.direct_datagrams;
    bring(0, bytes, len, now_us); /* again */
    assert_int_equal(participant[1]->status.direct_datagrams, datagrams);
}

/* The relay says which seats are a player's; bodies name none. */
TEST_WITH(nobody_speaks_for_anothers_seat, make_two, drop_two) {
    struct kl_direct d = {.first = 0, .count = 1, .joypad = {{7}, {7}}};
    uint8_t bytes[KL_PARTICIPANT_DIRECT_BYTES];
    struct kl_sealer *sealer = &participant[0]->direct.peer[0].sealer;
    for (unsigned seats = 0; seats < 256; seats++) { /* bodies for other numbers of seats */
        size_t len = kl_direct_write(&d, (uint8_t)seats, bytes + KL_SEAL_HEADER);
        len = kl_seal(sealer, KL_SEAL_DIRECT, bytes + KL_SEAL_HEADER, len, bytes);
        bring(0, bytes, len, (seats + 2) * SECOND);
    }
    assert_int_equal(hinted(1, 0, 0), 7);
    for (unsigned s = 1; s < KL_MAX_SEATS; s++)
        assert_int_equal(hinted(1, s, 0), -1);
    peers[1].peer[0].seats = 3; /* even if the relay gives it the receiver's own */
    kl_participant_take_peers(participant[1], &peers[1], SECOND);
    d.joypad[0][0] = 8;
    d.first = 1;
    size_t len = kl_direct_write(&d, 3, bytes + KL_SEAL_HEADER);
    bring(0, bytes, kl_seal(sealer, KL_SEAL_DIRECT, bytes + KL_SEAL_HEADER, len, bytes), SECOND);
    assert_true(hinted(1, 1, 1) == -1 && hinted(1, 0, 1) == -1);
}

TEST_WITH(a_player_named_again_keeps_its_counters, make_two, drop_two) {
    (void)carry(SECOND);
    (void)carry(2 * SECOND);
    uint32_t counter = participant[0]->direct.peer[0].sealer.counter;
    assert_true(counter > 0);
    struct kl_peers more = {.count = KL_PEERS_MAX};
    for (unsigned i = 0; i < more.count; i++) {
        more.peer[i] = (struct kl_peer){.session = 500 + i, .port = 1};
        memset(more.peer[i].out, (int)i + 50, 32);
    }
    more.peer[9] = peers[0].peer[0];
    kl_participant_take_peers(participant[0], &more, 3 * SECOND);
    assert_int_equal(participant[0]->direct.peer[9].sealer.counter, counter);
    assert_int_equal(participant[0]->direct.peer[8].sealer.counter, 0);
    kl_participant_take_peers(participant[0], &peers[0], 3 * SECOND);
    assert_int_equal(participant[0]->direct.count, 1);
    assert_int_equal(participant[0]->direct.peer[0].sealer.counter, counter);
    memset(peers[0].peer[0].out, 99, 32); /* other keys: another beginning */
    kl_participant_take_peers(participant[0], &peers[0], 3 * SECOND);
    assert_int_equal(participant[0]->direct.peer[0].sealer.counter, 0);
}

TEST_WITH(only_where_trust_is_given, make_two, drop_two) {
    struct kl_msg m;
    assert_false(kl_participant_next_direct(participant[0], &m));
    begin(0, true, KL_CONSENT_NONE);
    assert_false(kl_participant_next_direct(participant[0], &m));
    kl_participant_take_peers(participant[0], &peers[0], SECOND); /* whatever the relay says */
    assert_int_equal(participant[0]->direct.count, 0);
    begin(0, true, KL_CONSENT_UNLISTED);
    assert_false(kl_participant_next_direct(participant[0], &m));
    participant[0]->status.roster.doors = KL_DOOR_UNLISTED;
    assert_true(kl_participant_next_direct(participant[0], &m));
    begin(0, false, KL_CONSENT_ROOM);
    assert_false(kl_participant_next_direct(participant[0], &m));
    begin(0, true, KL_CONSENT_ROOM);
    participant[0]->status.welcome.client = KL_WATCHER;
    assert_false(kl_participant_next_direct(participant[0], &m));
    begin(0, true, KL_CONSENT_ROOM);
    participant[0]->status.welcome.params.economy = true; /* they would be datagrams */
    assert_false(kl_participant_next_direct(participant[0], &m));
    participant[0]->status.welcome.client = 0;
}
