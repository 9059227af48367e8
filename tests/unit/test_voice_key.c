/* Speech sealed from end to end: what opens, what does not, and counters that are used once.
 * net/PROTOCOL.md §9, Voices. runs: working, check, 1 s */
#include "tests/unit/unit.h"

#include <sodium.h>

#include "net/session/voice_key.h"

static const uint8_t salt[KL_DOOR_SALT] = {1, 2, 3};
static uint8_t key[KL_VOICE_KEY];

static int make_key(void **state) {
    (void)state;
    const struct kl_voice_speaker of = {.client = 3, .room_id = {9}, .id = {7}};
    uint8_t room[KL_VOICE_KEY];
    if (sodium_init() < 0 || kl_voice_room_key("password", salt, room) != 0) return -1;
    kl_voice_speaker_key(room, &of, key);
    return 0;
}

static struct kl_voice packet_of(uint16_t number) {
    return (struct kl_voice){.client = 3, .number = number, .len = 5, .bytes = "hello"};
}

TEST_WITH(nothing_of_a_packet_may_change, make_key, NULL) {
    uint32_t counter = 0;
    struct kl_voice v = packet_of(40);
    assert_true(kl_voice_seal(key, &counter, &v));
    for (unsigned i = 0; i < v.len + 3u; i++) {
        struct kl_voice_seen seen = {0};
        struct kl_voice other = v;
        if (i < v.len)
            other.bytes[i] ^= 1;
        else if (i == v.len)
            other.flags ^= KL_VOICE_LAST;
        else
            other.number ^= (uint16_t)(i == v.len + 1u ? 1 : 0x100);
        assert_false(kl_voice_open(key, &seen, &other));
        assert_int_equal(seen.highest, 0);
    }
    struct kl_voice_seen seen = {0};
    struct kl_voice cut = v, clear = packet_of(40);
    cut.len = KL_VOICE_SEAL - 1;
    assert_false(kl_voice_open(key, &seen, &cut));
    assert_false(kl_voice_open(key, &seen, &clear));
    assert_true(kl_voice_open(key, &seen, &v));
}

TEST_WITH(packets_out_of_order_open_and_old_ones_do_not, make_key, NULL) {
    struct kl_voice_seen seen = {0};
    struct kl_voice kept[200];
    uint32_t counter = 0;
    for (unsigned i = 0; i < 200; i++) {
        kept[i] = packet_of((uint16_t)i);
        assert_true(kl_voice_seal(key, &counter, &kept[i]));
    }
    static const struct {
        uint8_t packet;
        bool opens;
    } row[] = {{1, true},   {0, true},   {0, false},  {1, false},   {5, true},    {1, false},
               {3, true},   {36, true},  {100, true}, {37, true},   {36, false},  {35, false},
               {37, false}, {199, true}, {135, true}, {134, false}, {199, false}, {198, true}};
    for (unsigned i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct kl_voice v = kept[row[i].packet];
        if (kl_voice_open(key, &seen, &v) != row[i].opens) fail_msg("row %u, packet %u", i, row[i].packet);
    }
}

TEST_WITH(a_packet_is_its_speakers_alone, make_key, NULL) {
    uint8_t room[KL_VOICE_KEY], other_room[KL_VOICE_KEY], door[KL_DOOR_SECRET], other[KL_VOICE_KEY];
    assert_int_equal(kl_voice_room_key("password", salt, room), 0);
    assert_int_equal(kl_voice_room_key("passwort", salt, other_room), 0);
    assert_int_equal(kl_door_stretch("password", salt, door), 0);
    assert_memory_not_equal(room, other_room, sizeof room);
    assert_memory_not_equal(room, door, sizeof room); /* this one the relay has */
    const struct kl_voice_speaker speakers[] = {{.client = 4, .room_id = {9}, .id = {7}},
                                                {.client = 3, .room_id = {8}, .id = {7}},
                                                {.client = 3, .room_id = {9}, .id = {6}}};
    uint32_t counter = 0;
    struct kl_voice v = packet_of(40);
    assert_true(kl_voice_seal(key, &counter, &v));
    for (unsigned i = 0; i < 3; i++) {
        struct kl_voice_seen seen = {0};
        struct kl_voice copy = v;
        kl_voice_speaker_key(room, &speakers[i], other);
        assert_false(kl_voice_open(other, &seen, &copy));
    }
}

TEST_WITH(no_counter_is_used_twice, make_key, NULL) {
    uint32_t counter = UINT32_MAX - 1;
    struct kl_voice v = packet_of(1), next = packet_of(2), longer = {.len = KL_VOICE_BYTES + 1};
    assert_true(kl_voice_seal(key, &counter, &v));
    assert_false(kl_voice_seal(key, &counter, &next));
    counter = 0;
    assert_false(kl_voice_seal(key, &counter, &longer));
    assert_int_equal(counter, 0);
}
