/* test_journal_torn.c - journals that are torn or changed anywhere. journal.h, journal_file.h. */
#include "tests/unit/unit.h"
#include "tests/lib/journal_lives.h"

/* --- torn and changed --- */

/* Loads what is given; the frames of the room that comes of it, 0 where none does. */
static uint32_t load(const uint8_t *from, size_t len) {
    put_file(journal_name, from, len, 0600);
    begin_life(now_us);
    uint32_t frames = the_room() ? frames_in(the_room()) : 0;
    die();
    return frames;
}

static void torn_at_any_byte(void **state) {
    (void)state;
    struct stat st;
    uint32_t rooms = 0;
    uint64_t end;
    make_small_journal();
    for (size_t len = 0; len <= bytes_len; len++) {
        uint32_t want = whole_frames(len, &end);
        assert_int_equal(load(bytes, len), want);
        bool there = stat(path_of(journal_name), &st) == 0;
        assert_true(there || (want == 0 && len == end));           /* whole, and nothing played: it goes */
        if (there) assert_int_equal(st.st_size, want ? end : len); /* cut off, or left alone */
        rooms += want > 0;
    }
    assert_true(rooms > 500);
    begin_life(now_us);
}

static void changed_at_any_byte(void **state) {
    (void)state;
    static uint8_t changed[BYTES_MAX];
    make_small_journal();
    uint64_t end;
    uint32_t all = whole_frames(bytes_len, &end);
    for (size_t at = 0; at < bytes_len; at++) {
        memcpy(changed, bytes, bytes_len);
        changed[at] ^= (uint8_t)(1u << at % 8);
        uint32_t frames = load(changed, bytes_len); /* compares each with what was played */
        assert_true(frames < all);
    }
    begin_life(now_us);
}

/* Goes on behind the last whole record, and can be loaded again. */
static void a_torn_journal_is_written_on(void **state) {
    (void)state;
    make_small_journal();
    put_file(journal_name, bytes, bytes_len - 7, 0600);
    begin_life(now_us);
    uint32_t had = the_room()->lock.next_close;
    assert_true(had < canon_end + 60);
    canon_end = had < canon_end ? had : canon_end;
    for (unsigned i = 0; i < PLAYERS; i++)
        player[i].plays = false; /* they had run more: all begin anew */
    assert_int_equal(kl_lobby_again_open(the_room(), 0, now_us), KL_OK);
    for (unsigned i = 0; i < PLAYERS; i++)
        come_back_with_nothing(i, 10 + i);
    play(4 * SECOND);
    expect_all_at_the_end();
    uint32_t closed = written();
    die_and_begin_again();
    assert_int_equal(frames_in(the_room()), closed);
}

/* Changes the last record of frames, and its mac with it. */
static void spoil_the_last(void) {
    struct kl_journal_cursor c, last = {0};
    uint8_t key[32], id[KL_JOURNAL_ID], before[KL_JOURNAL_BEFORE];
    assert_int_equal(kl_journal_head_open(secret, bytes, bytes_len, id), KL_OK);
    kl_journal_key(secret, id, key);
    kl_journal_seek(&c, key, bytes, bytes_len);
    while (kl_journal_next(&c))
        if (c.type == KL_JOURNAL_FRAMES) last = c;
    assert_non_null(last.body);
    uint8_t *body = bytes + (last.body - bytes);
    body[4] = 255; /* so many frames */
    kl_journal_record(key, last.at - KL_JOURNAL_AROUND - last.body_len, KL_JOURNAL_FRAMES, body,
                      last.body_len, before, body + last.body_len);
}

/* A room that took some of a wrong record's frames has them in its file, though the record is cut off. */
static void the_frames_of_a_wrong_record_are_written_again(void **state) {
    (void)state;
    make_small_journal();
    spoil_the_last();
    put_file(journal_name, bytes, bytes_len, 0600);
    begin_life(now_us);
    uint32_t had = the_room()->lock.next_close;
    die_and_begin_again();
    assert_non_null(the_room());
    assert_int_equal(the_room()->lock.next_close, had);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        T(torn_at_any_byte),
        T(changed_at_any_byte),
        T(a_torn_journal_is_written_on),
        T(the_frames_of_a_wrong_record_are_written_again),
    };
    return cmocka_run_group_tests_name("journal_torn", tests, NULL, NULL);
}
