/* Picture and sound between two labels. */
#include "tests/unit/unit.h"

#include "core_wrapper/frame/picture.h"

static struct kl_chain chain;

static int begin(void **state) {
    (void)state;
    kl_chain_begin(&chain);
    return 0;
}

/* Frames with these pictures; 0: none is drawn. */
static void run(const uint64_t *picture, unsigned frames) {
    for (unsigned f = 0; f < frames; f++) {
        if (picture[f]) kl_chain_picture(&chain, picture[f]);
        kl_chain_frame(&chain);
    }
}

static uint64_t chained(const uint64_t *picture, unsigned frames) {
    kl_chain_label(&chain);
    run(picture, frames);
    assert_true(kl_chain_sees(&chain));
    return chain.picture;
}

TEST_WITH(a_picture_of_one_frame_is_in_the_chain, begin, NULL) {
    static const uint64_t plain[] = {5, 6, 7}, other[] = {5, 9, 7};
    uint64_t was = chained(plain, 3);
    assert_int_equal(chained(plain, 3), was);
    assert_int_not_equal(chained(other, 3), was);
    assert_int_not_equal(chained(plain, 2), was);
}

TEST_WITH(no_picture_repeats_the_last, begin, NULL) {
    static const uint64_t drawn[] = {5, 5, 6, 6}, spared[] = {5, 0, 6, 0};
    assert_int_equal(chained(drawn, 4), chained(spared, 4));
    static const uint64_t none[] = {0, 0}, again[] = {6, 6}; /* of the interval before */
    assert_int_equal(chained(none, 2), chained(again, 2));
}

TEST_WITH(before_the_first_picture_there_is_nothing_to_compare, begin, NULL) {
    kl_chain_frame(&chain);
    assert_false(kl_chain_sees(&chain));
    kl_chain_picture(&chain, 5);
    kl_chain_frame(&chain);
    assert_true(kl_chain_sees(&chain)); /* since frame 0 */
}

/* A machine that loads in the middle of an interval has not all of it. */
TEST_WITH(after_a_load_the_next_label_begins, begin, NULL) {
    static const uint64_t plain[] = {5, 6};
    static const int16_t sound[] = {1, 2};
    chained(plain, 2);
    kl_chain_loaded(&chain);
    run(plain, 2);
    kl_chain_sound(&chain, sound, 1);
    assert_false(kl_chain_sees(&chain) || kl_chain_hears(&chain));
    chained(plain, 2);
    assert_true(kl_chain_hears(&chain));
    kl_chain_loaded(&chain);
    kl_chain_label(&chain);
    kl_chain_frame(&chain); /* still the picture of another frame */
    kl_chain_picture(&chain, 5);
    assert_false(kl_chain_sees(&chain));
    chained(plain, 2);
}

/* mgba 0.10.5 plays another sound for good. */
TEST_WITH(a_load_that_the_room_does_not_know_ends_the_sound, begin, NULL) {
    static const uint64_t plain[] = {5, 6};
    kl_chain_reloaded(&chain);
    chained(plain, 2);
    assert_true(kl_chain_sees(&chain));
    assert_false(kl_chain_hears(&chain));
}

TEST_WITH(the_graphics_cards_picture_is_unknown, begin, NULL) {
    static const uint64_t plain[] = {5, 6}, none[] = {0, 0};
    chained(plain, 2);
    kl_chain_label(&chain);
    kl_chain_picture(&chain, 0);
    run(none, 2);
    assert_false(kl_chain_sees(&chain));
    run(plain, 2);
    assert_false(kl_chain_sees(&chain));
    chained(plain, 2);
}

TEST_WITH(sound_is_one_row_of_batches, begin, NULL) {
    static const int16_t sound[] = {1, 2, 3, 4}, other[] = {1, 2, 3, 5};
    kl_chain_sound(&chain, sound, 2);
    uint64_t was = chain.sound;
    kl_chain_label(&chain);
    kl_chain_sound(&chain, sound, 2);
    assert_int_equal(chain.sound, was);
    kl_chain_label(&chain);
    kl_chain_sound(&chain, other, 2);
    assert_int_not_equal(chain.sound, was);
}
