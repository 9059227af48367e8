/* test_journal_torn.c - journals that are torn or changed anywhere: the damage is named, and nothing before
 * it is lost. journal.h, tail.h.
 *   PLACES=N  in each file and each way of damage (400)
 * runs: working, check, 1 s: PLACES=60
 * runs: working, test, 4 s */
#include "tests/unit/unit.h"
#include "tests/lib/journal_lives.h"

#include "net/engine/wire.h"
#include "net/relay/durable/lobby_ticket.h"
#include "tests/lib/files.h"

static uint8_t whole[BYTES_MAX], whole_tail[KL_TAIL_BYTES];
static size_t whole_len;
static uint32_t all; /* frames of the whole files */
static FILE *log_file;

/* Loads both files as they are in memory; the frames of the room that comes of it, 0 where none does. */
static uint32_t load(void) {
    put_files();
    rewind(log_file);
    assert_int_equal(ftruncate(fileno(log_file), 0), 0);
    kl_log_set_level(KL_LOG_INFO);
    kl_log_to(log_file);
    begin_life(now_us);
    uint32_t frames = the_room() ? frames_in(the_room()) : 0; /* compares each with what was played */
    die();
    be_quiet();
    return frames;
}

static void take_whole(void) {
    memcpy(bytes, whole, bytes_len = whole_len);
    memcpy(tail, whole_tail, tail_len = KL_TAIL_BYTES);
}

/* Two blocks of PIECES, and frames in both slots of the tail. */
static void begin(void) {
    make_journal(40 * SECOND);
    assert_int_equal(tail_len, KL_TAIL_BYTES);
    memcpy(whole, bytes, whole_len = bytes_len);
    memcpy(whole_tail, tail, sizeof whole_tail);
    all = whole_frames(bytes_len, tail_len, NULL);
    assert_true(all > 2100);
    log_file = tmpfile();
}

/* named: the damage is to be found in the log. */
static void expect_the_best(const char *what, bool named) {
    uint64_t good;
    struct stat st;
    uint32_t want = whole_frames(bytes_len, tail_len, &good), is = load();
    if (is != want) fail_msg("%s: %u frames of %u", what, is, want);
    if (is < all && named && !lines_with(log_file, "event=journal_torn") &&
        !lines_with(log_file, "event=journal_left_alone"))
        fail_msg("%s: nobody is told", what);
    assert_int_equal(stat(file_of(KL_ENDING_RECORDING), &st), 0);
    if (is == 0) assert_int_equal(st.st_size, bytes_len); /* left alone */
    if (is) assert_true((uint64_t)st.st_size >= good);
}

static unsigned places(void) {
    return (unsigned)atoi(getenv("PLACES") ? getenv("PLACES") : "400");
}

static size_t somewhere(size_t len) {
    return randombytes_uniform((uint32_t)len);
}

/* Bytes of the tail that hold something: of its first slot, or of its second. */
static size_t somewhere_in_tail(void) {
    size_t slot = KL_TAIL_HEAD + somewhere(2) * KL_TAIL_SLOT, used = KL_TAIL_SLOT;
    while (used > 1 && !whole_tail[slot + used - 1])
        used--;
    return slot + somewhere(used);
}

/* Nothing but zeros lies between these two places. */
static bool same_tear(size_t a, size_t b) {
    for (size_t i = a < b ? a : b; i < (a < b ? b : a); i++)
        if (whole_tail[i]) return false;
    return true;
}

/* A relay that was killed may have written so much. */
static bool between_records(size_t at) {
    struct kl_tail_cursor slot[2];
    uint8_t key[32], id[KL_STORE_ID];
    size_t wrong;
    sodium_hex2bin(id, sizeof id, room_name, sizeof room_name - 1, NULL, NULL, NULL);
    kl_tail_key(secret, id, key);
    unsigned slots = kl_tail_open(slot, key, whole_tail, sizeof whole_tail, &wrong);
    for (unsigned i = 0; i < slots; i++) {
        size_t begin = KL_TAIL_HEAD + slot[i].slot.which * (size_t)KL_TAIL_SLOT;
        bool is = same_tear(at, begin);
        do
            is |= same_tear(at, begin + slot[i].slot.used);
        while (kl_tail_next(&slot[i], &wrong));
        if (is) return true;
    }
    return false;
}

/* Somewhere in each file a bit is turned, or the file is torn there. */
enum harm { NONE, TURNED, TORN };
static const struct way {
    const char *name;
    enum harm of_recording, of_tail;
} ways[] = {
    {"a torn recording", TORN, NONE}, {"a changed recording", TURNED, NONE}, {"a torn tail", NONE, TORN},
    {"a changed tail", NONE, TURNED}, {"both changed", TURNED, TURNED},
};

/* Whether this is damage, and not what a killed relay may have written. */
static bool damage(const struct way *w, unsigned number) {
    size_t at = somewhere(whole_len), at_tail = somewhere_in_tail();
    uint8_t bit = (uint8_t)(1u << number % 8);
    bool never_written = number % 2 == 0; /* or it is shorter */
    take_whole();
    if (w->of_recording == TORN) bytes_len = at;
    if (w->of_recording == TURNED) bytes[at] ^= bit;
    if (w->of_tail == TURNED) tail[at_tail] ^= bit;
    if (w->of_tail != TORN) return true;
    if (never_written)
        memset(tail + at_tail, 0, tail_len - at_tail);
    else
        tail_len = at_tail;
    return !never_written || !between_records(at_tail);
}

TEST_WITH(harmed_files, make_folder, remove_folder) {
    begin();
    for (unsigned i = 0; i < COUNT(ways) * places(); i++) {
        const struct way *w = &ways[i % COUNT(ways)];
        bool named = damage(w, i / COUNT(ways));
        expect_the_best(w->name, named);
        uint32_t frames = whole_frames(bytes_len, tail_len, NULL);
        if (w->of_recording == NONE && frames) assert_true(frames >= 1024); /* the recording is whole */
    }
    begin_life(now_us);
}

/* Between two blocks nothing in the file is wrong: the tail knows how long it was. */
TEST_WITH(a_recording_torn_between_blocks, make_folder, remove_folder) {
    struct kl_klr_cursor c;
    begin();
    assert_true(kl_klr_open(&c, whole, whole_len));
    while (kl_klr_next(&c) == KL_KLR_BLOCK) {
        take_whole();
        bytes_len = (size_t)c.place.at;
        expect_the_best("between two blocks", true);
    }
    begin_life(now_us);
}

/* Its checks are right, and it is another room's or another time's. */
TEST_WITH(a_recording_of_its_own, make_folder, remove_folder) {
    begin();
    struct kl_klr_place p = kl_klr_begin();
    struct kl_klr_cursor c;
    assert_true(kl_klr_open(&c, whole, whole_len));
    while (kl_klr_next(&c) == KL_KLR_BLOCK) {
        size_t at = p.at;
        if (c.type == KL_KLR_ROOM) bytes[at + KL_KLR_BEFORE + 1] ^= 1; /* its name */
        struct kl_klr_around a = kl_klr_around(&p, c.type, bytes + at + KL_KLR_BEFORE, c.body_len);
        memcpy(bytes + p.at - KL_KLR_CHECK, a.check, sizeof a.check);
    }
    assert_int_equal(load(), 0);
    assert_true(lines_with(log_file, "another recording than its tail was written with"));
    begin_life(now_us);
}

/* Goes on behind the last good block, and can be loaded again. */
TEST_WITH(a_torn_journal_is_written_on, make_folder, remove_folder) {
    begin();
    uint64_t good;
    size_t at = KL_TAIL_HEAD + KL_TAIL_SLOT;
    while (whole_frames(bytes_len, tail_len, &good) + 7 > all)
        for (unsigned i = 0; i < 100; i++)
            at--, tail[at] = tail[at + KL_TAIL_SLOT] = 0;
    put_files();
    begin_life(now_us);
    uint32_t had = the_room()->lock.next_close;
    assert_true(had < all);
    canon_end = had < canon_end ? had : canon_end;
    for (unsigned i = 0; i < PLAYERS; i++)
        player[i].plays = false; /* they had run more: all begin anew */
    assert_int_equal(kl_lobby_restore_open(the_room(), 0, now_us), KL_OK);
    for (unsigned i = 0; i < PLAYERS; i++)
        come_back_with_nothing(i, 10 + i);
    play(4 * SECOND);
    expect_all_at_the_end();
    uint32_t closed = written();
    die_and_begin_again();
    assert_int_equal(frames_in(the_room()), closed);
}

/* --- killed between any two steps --- */

/* The tail and the recording are written by these; after each, the files are as a relay finds them that was
 * killed there. */
#define COPIES 64
static struct copy {
    uint8_t recording[1 << 16], tail[KL_TAIL_BYTES];
    size_t recording_len;
    uint32_t frames; /* that somebody may have run */
} * copies;
static unsigned copied;

static void copy_files(uint32_t frames) {
    if (!copies || copied == COPIES || !only_room()) return;
    struct copy *c = &copies[copied++];
    read_files();
    assert_true(bytes_len < sizeof c->recording);
    memcpy(c->recording, bytes, c->recording_len = bytes_len);
    memcpy(c->tail, tail, sizeof c->tail);
    c->frames = frames;
}

bool __real_kl_slab_put(struct kl_slab *s, size_t at, const void *from, size_t len);
bool __wrap_kl_slab_put(struct kl_slab *s, size_t at, const void *from, size_t len);
int __real_kl_file_append(const struct kl_file *f, uint64_t at, const struct kl_file_part *part,
                          unsigned parts, char *why, size_t why_len);
int __wrap_kl_file_append(const struct kl_file *f, uint64_t at, const struct kl_file_part *part,
                          unsigned parts, char *why, size_t why_len);

/* Half of it, and then all. */
bool __wrap_kl_slab_put(struct kl_slab *s, size_t at, const void *from, size_t len) {
    if (copies && len > 1) {
        (void)__real_kl_slab_put(s, at, from, len / 2);
        copy_files(canon_end);
    }
    bool good = __real_kl_slab_put(s, at, from, len);
    copy_files(canon_end);
    return good;
}

int __wrap_kl_file_append(const struct kl_file *f, uint64_t at, const struct kl_file_part *part,
                          unsigned parts, char *reason, size_t cap) {
    if (copies)
        for (unsigned some = 1; some < parts; some++) {
            assert_int_equal(__real_kl_file_append(f, at, part, some, reason, cap), 0);
            copy_files(canon_end);
            assert_int_equal(kl_file_cut(f, at, reason, cap), 0);
        }
    int result = __real_kl_file_append(f, at, part, parts, reason, cap);
    copy_files(canon_end);
    return result;
}

TEST_WITH(killed_between_any_two_steps, make_folder, remove_folder) {
    be_quiet();
    begin_game(KL_POLICY_BOUNDED);
    play(17 * SECOND - SECOND / 2); /* the recording grows soon */
    struct copy *all_copies = calloc(COPIES, sizeof *all_copies);
    uint32_t before = the_room()->journal.base.chain.end;
    while (the_room()->journal.base.chain.end == before) { /* keeps those around the write alone */
        copied = 0;
        copies = all_copies;
        play(20000);
        copies = NULL;
    }
    die();
    assert_in_range(copied, 20, COPIES - 1);
    log_file = tmpfile();
    for (unsigned i = 0; i < copied; i++) {
        const struct copy *c = &all_copies[i];
        memcpy(bytes, c->recording, bytes_len = c->recording_len);
        memcpy(tail, c->tail, tail_len = sizeof c->tail);
        assert_true(load() >= c->frames); /* nothing is lost that anybody has run */
    }
    print_message("%u kill points\n", copied);
    free(all_copies);
    begin_life(now_us);
}

/* The older one could not be read when the relay started last, so its players made another. */
TEST_WITH(the_later_room_of_that_name_comes_back, make_folder, remove_folder) {
    char older[KL_STORE_NAME], later[KL_STORE_NAME];
    make_journal(800000);
    memcpy(whole, bytes, whole_len = bytes_len);
    memcpy(whole_tail, tail, sizeof whole_tail);
    memcpy(older, room_name, sizeof older);
    assert_int_equal(unlink(file_of(KL_ENDING_TAIL)), 0);
    assert_int_equal(unlink(file_of(KL_ENDING_RECORDING)), 0);
    begin_life(now_us);
    make_journal(800000);
    memcpy(later, room_name, sizeof later);
    memcpy(room_name, older, sizeof room_name);
    memcpy(bytes, whole, bytes_len = whole_len);
    memcpy(tail, whole_tail, tail_len = sizeof whole_tail);
    put_files();
    begin_life(now_us);
    assert_int_equal(kl_lobby_rooms(lobby), 1);
    sodium_bin2hex(older, sizeof older, the_room()->id, sizeof the_room()->id);
    assert_string_equal(older, later);
    die();
    assert_int_equal(file_read(file_of(KL_ENDING_TAIL), tail, sizeof tail), KL_TAIL_BYTES); /* left alone */
    begin_life(now_us);
}
