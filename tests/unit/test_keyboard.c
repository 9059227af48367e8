/* The keyboard of a room: two seats on one key, "all up", events that wait. net/PROTOCOL.md §3, "Keys". */
#include "tests/unit/unit.h"

#include "net/engine/input.h"

static struct kl_keyboard keyboard;
static struct kl_keys waits;
static struct kl_input in[KL_MAX_SEATS];
static struct kl_key heard[64];
static unsigned hears;

static void tell(void *ctx, const struct kl_key *key) {
    (void)ctx;
    if (hears < COUNT(heard)) heard[hears] = *key;
    hears++;
}

static int setup(void **state) {
    (void)state;
    memset(&keyboard, 0, sizeof keyboard);
    memset(in, 0, sizeof in);
    kl_keys_clear(&waits);
    hears = 0;
    return 0;
}

static void press(unsigned seat, unsigned code, bool down) {
    in[seat].key[in[seat].key_count++] =
        (struct kl_key){.code = (uint16_t)code, .down = down, .character = down ? 'x' : 0};
}

/* Returns the number of events that the core gets. */
static unsigned play(void) {
    hears = 0;
    kl_keyboard_play(&keyboard, in, tell, NULL);
    memset(in, 0, sizeof in);
    return hears;
}

TEST_WITH(two_seats_on_one_key, setup, NULL) {
    press(0, 97, true);
    assert_int_equal(play(), 1);
    press(5, 97, true);
    assert_int_equal(play(), 0);
    press(0, 97, false);
    assert_int_equal(play(), 0);
    assert_true(kl_keyboard_down(&keyboard, 97));
    press(5, 97, false);
    assert_int_equal(play(), 1);
    assert_int_equal(heard[0].code, 97);
    assert_false(heard[0].down);
    assert_false(kl_keyboard_down(&keyboard, 97));
    press(3, 97, false); /* nobody holds it */
    assert_int_equal(play(), 0);
}

TEST_WITH(repetitions_and_characters_pass, setup, NULL) {
    press(0, 97, true);
    press(0, 97, true);
    press(0, 0, true);
    assert_int_equal(play(), 3);
    assert_int_equal(heard[2].character, 'x');
    assert_false(kl_keyboard_down(&keyboard, 0));
    press(0, 97, false);
    assert_int_equal(play(), 1);
}

TEST_WITH(all_up_lets_go_of_the_keys_of_its_seat_alone, setup, NULL) {
    press(0, 100, true);
    press(0, 97, true);
    press(0, 98, true);
    press(1, 98, true);
    press(1, 99, true);
    play();
    in[0].all_up = true;
    press(0, 102, true);
    assert_int_equal(play(), 3);
    assert_true(heard[0].code == 97 && !heard[0].down && !heard[0].character);
    assert_true(heard[1].code == 100 && !heard[1].down);
    assert_true(heard[2].code == 102 && heard[2].down);
    assert_true(kl_keyboard_down(&keyboard, 98)); /* seat 1 holds it */
    assert_true(kl_keyboard_holds(&keyboard, 0));
    in[0].all_up = in[1].all_up = true;
    assert_int_equal(play(), 3);
    assert_false(kl_keyboard_holds(&keyboard, 0) || kl_keyboard_holds(&keyboard, 1));
    for (unsigned code = 0; code < 2 * KL_KEY_CODES; code++)
        assert_false(kl_keyboard_down(&keyboard, code));
}

/* A core that asks for keys once a frame sees it. */
TEST_WITH(a_tap_within_a_frame_reads_as_down_in_it, setup, NULL) {
    press(2, 97, true);
    press(2, 97, false);
    assert_int_equal(play(), 2);
    assert_true(kl_keyboard_down(&keyboard, 97));
    assert_false(kl_keyboard_holds(&keyboard, 2));
    play();
    assert_false(kl_keyboard_down(&keyboard, 97));
}

TEST_WITH(twelve_keys_come_in_three_frames, setup, NULL) {
    struct kl_input sample[3] = {{0}}, frame = {0};
    for (unsigned i = 0; i < 12; i++)
        sample[i / 4].key[sample[i / 4].key_count++] = (struct kl_key){.code = (uint16_t)(97 + i), .down = 1};
    for (unsigned i = 0; i < 3; i++)
        kl_keys_put(&waits, &sample[i]);
    for (unsigned i = 0; i < 3; i++) {
        kl_keys_take(&waits, &frame);
        assert_int_equal(frame.key_count, 4);
        assert_int_equal(frame.key[0].code, 97 + 4 * i);
    }
    kl_keys_take(&waits, &frame);
    assert_int_equal(frame.key_count, 0);
}

TEST_WITH(all_up_takes_the_place_of_what_waited, setup, NULL) {
    struct kl_input a = {.key_count = 1, .key = {{.code = 97, .down = 1}}};
    struct kl_input b = {.all_up = true, .key_count = 1, .key = {{.code = 98, .down = 1}}}, out = a;
    kl_keys_put(&waits, &a);
    kl_keys_put(&waits, &b);
    kl_keys_put(&waits, &a);
    kl_keys_take(&waits, &out);
    assert_true(out.all_up);
    assert_int_equal(out.key_count, 2);
    assert_int_equal(out.key[0].code, 98);
    kl_keys_take(&waits, &out);
    assert_false(out.all_up || out.key_count);
}

/* Whatever waits, and however much: in the end the seat holds the same keys. */
TEST_WITH(no_release_is_lost, setup, NULL) {
    static struct kl_keyboard plain;
    uint32_t random = 1;
    for (unsigned trial = 0; trial < 200; trial++) {
        unsigned codes = trial % 3 == 0 ? 3 : trial % 3 == 1 ? 40 : KL_KEY_CODES, most = trial % 7 * 200;
        setup(NULL);
        memset(&plain, 0, sizeof plain);
        for (unsigned n = 0; n < most; n++) {
            random = random * 1664525 + 1013904223;
            struct kl_key k = {.code = (uint16_t)((random >> 8) % codes), .down = random >> 28 & 1};
            in[0].key_count = 1;
            in[0].key[0] = k;
            in[0].all_up = random >> 24 == 7;
            kl_keys_put(&waits, &in[0]);
            kl_keyboard_play(&plain, in, NULL, NULL);
            if (random >> 20 & 15) continue; /* now and then a frame takes some */
            kl_keys_take(&waits, &in[0]);
            kl_keyboard_play(&keyboard, in, NULL, NULL);
        }
        assert_true(waits.count <= KL_KEYS_WAITING);
        do {
            kl_keys_take(&waits, &in[0]);
            kl_keyboard_play(&keyboard, in, NULL, NULL);
        } while (in[0].all_up || in[0].key_count);
        assert_memory_equal(plain.held, keyboard.held, sizeof plain.held);
    }
}
