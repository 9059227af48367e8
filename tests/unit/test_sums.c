/* Checksums of files by a thread, and what a room compares of them. sums.h, identity.h. */
#include "tests/unit/folder.h"

#include <xxhash.h>

#include "core_wrapper/start/identity.h"
#include "core_wrapper/start/sums.h"
#include "net/platform/clock.h"

static struct kl_sums sums;

static int end(void **state) {
    kl_sums_close(&sums);
    kl_sums_close(&sums);
    return remove_folder(state);
}

TEST_WITH(a_sum_comes_and_follows_the_file, make_folder, end) {
    struct kl_sum sum = {0};
    put("a", "abc");
    assert_true(kl_sums_idle(&sums, 0)); /* nobody has asked */
    assert_int_equal(kl_sums_wait(&sums, at("a"), &sum), KL_SUM_KNOWN);
    assert_true(sum.hash == XXH3_64bits("abc", 3) && sum.bytes == 3 && sum.members == 0);
    assert_int_equal(kl_sums_get(&sums, at("a"), &sum), KL_SUM_KNOWN); /* not read again */
    put("a", "abcd");
    assert_int_equal(kl_sums_wait(&sums, at("a"), &sum), KL_SUM_KNOWN);
    assert_true(sum.hash == XXH3_64bits("abcd", 4));
    assert_int_equal(kl_sums_wait(&sums, at("b"), &sum), KL_SUM_MISSING);
    assert_int_equal(kl_sums_wait(&sums, dir, &sum), KL_SUM_MISSING);
    put("b", ""); /* it has come */
    assert_int_equal(kl_sums_wait(&sums, at("b"), &sum), KL_SUM_KNOWN);
    assert_int_equal(sum.bytes, 0);
}

/* A large file: the caller is not held up, sees progress, and may end it all in the middle. On Windows a file
 * with a hole is written in full. */
TEST_WITH(a_large_file_is_read_beside, make_folder, end) {
#ifdef _WIN32
    skip();
#endif
    struct kl_sum sum;
    uint64_t done, all, size = UINT64_C(64) << 30, from_us = kl_now_us();
    FILE *f = fopen(at("large"), "wb");
    assert_non_null(f);
    assert_int_equal(fseeko(f, (off_t)size - 1, SEEK_SET), 0); /* holes */
    if (fputc(0, f) == EOF || fclose(f) != 0) skip();
    assert_int_equal(kl_sums_get(&sums, at("large"), &sum), KL_SUM_BUSY);
    do {
        assert_int_equal(kl_sums_get(&sums, at("large"), &sum), KL_SUM_BUSY);
        kl_sums_progress(&sums, &done, &all);
        assert_true(all == size && kl_now_us() - from_us < 30000000);
    } while (!done);
    assert_false(kl_sums_idle(&sums, 0));
    kl_sums_close(&sums);
}

/* --- the facts --- */

static const char *value_of(const struct kl_facts *f, const char *key) {
    for (unsigned i = 0; i < f->count; i++)
        if (!strcmp(f->fact[i].key, key)) return f->fact[i].value;
    return NULL;
}

static void compute(struct kl_facts *f, const char *set, struct kl_world *w) {
    struct kl_content c = {.loaded = true, .count = 1};
    char path[1024];
    snprintf(path, sizeof path, "%s", at(set));
    c.item[0].path = path;
    f->count = 0;
    kl_identity_ask_content(&c, &sums);
    kl_identity_files(f, w, NULL, &c, &sums);
}

TEST_WITH(files_that_a_set_names_are_facts, make_folder, end) {
    struct kl_facts room, you;
    char why[1024];
    struct kl_world *w = kl_world_take();
    put("game.m3u", "d1.cue\nd2.bin\n");
    put("d1.cue", "FILE \"d1.bin\" BINARY\n");
    put("d1.bin", "one");
    put("d2.bin", "two");
    compute(&room, "game.m3u", w);
    assert_int_equal(room.count, 3);
    assert_non_null(value_of(&room, "file d1.cue"));
    kl_world_note_file(w, at("d2.bin"), false); /* the core has opened it: it is the same fact */
    compute(&you, "game.m3u", w);
    assert_int_equal(kl_facts_differ(&room, &you, why, sizeof why), 0);
    put("d2.bin", "TWO");
    compute(&you, "game.m3u", w);
    assert_int_equal(kl_facts_differ(&room, &you, why, sizeof why), 1);
    assert_non_null(strstr(why, "file d2.bin differs: room has xxh3 "));
    assert_int_equal(kl_file_remove(at("d2.bin"), err, sizeof err), 0);
    compute(&you, "game.m3u", w);
    assert_string_equal(value_of(&you, "file d2.bin"), "missing (game.m3u names it)");
    assert_int_equal(kl_facts_differ(&room, &you, why, sizeof why), 1);
    assert_non_null(strstr(why, ", you have missing (game.m3u names it)"));
    kl_world_release(w);
}

/* Of many tracks some are folded; the one that is missing is not. */
TEST_WITH(a_missing_file_is_never_folded, make_folder, end) {
    struct kl_facts f;
    char text[2048] = "", name[32];
    struct kl_world *w = kl_world_take();
    for (unsigned i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "t%02u.bin", i);
        snprintf(text + strlen(text), sizeof text - strlen(text), "FILE %s BINARY\n", name);
        if (i != 39) put(name, name);
    }
    put("game.cue", text);
    compute(&f, "game.cue", w);
    assert_non_null(value_of(&f, "more files"));
    assert_string_equal(value_of(&f, "file t39.bin"), "missing (game.cue names it)");
    kl_world_release(w);
}

/* --- a disk --- */

TEST_WITH(an_image_is_summed_with_its_tracks, make_folder, end) {
    char name[KL_FACT_KEY_MAX];
    struct kl_sum first, other;
    put("d.cue", "FILE \"d.bin\" BINARY\n");
    put("d.bin", "one");
    while (kl_identity_image(at("d.cue"), &sums, name, &first) == KL_SUM_BUSY)
        ;
    assert_int_equal(kl_identity_image(at("d.cue"), &sums, name, &first), KL_SUM_KNOWN);
    assert_string_equal(name, "d.cue");
    put("d.bin", "ONE");
    while (kl_identity_image(at("d.cue"), &sums, name, &other) == KL_SUM_BUSY)
        ;
    assert_int_equal(kl_identity_image(at("d.cue"), &sums, name, &other), KL_SUM_KNOWN);
    assert_true(first.hash != other.hash && first.bytes == other.bytes);
    assert_int_equal(kl_file_remove(at("d.bin"), err, sizeof err), 0);
    assert_int_equal(kl_identity_image(at("d.cue"), &sums, name, &other), KL_SUM_MISSING);
    assert_string_equal(name, "d.bin");
}
