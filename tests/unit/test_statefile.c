/* Savestates as files, and those that are kept for a desync. */
#include "tests/unit/folder.h"

#include "core_wrapper/record/desync.h"
#include "core_wrapper/core/statefile.h"
#include "tests/lib/files.h"

#include <unistd.h>

static char path[KL_FILE_PATH];

static int set_up(void **state) {
    int failed = make_folder(state);
    snprintf(path, sizeof path, "%s/one", dir);
    return failed;
}

static const struct kl_origin origin = {.core = "Probe core 1",
                                        .content = "xxh3 0123456789abcdef (3 bytes, x)",
                                        .has_frame = true,
                                        .has_world = true,
                                        .frame = 599,
                                        .epoch_s = 946684800,
                                        .chance = 0xfedcba9876543210};

TEST(written_values_are_read_back) {
    struct kl_statefile s;
    for (size_t len = 1; len <= 17; len++) { /* padded to eights */
        assert_int_equal(kl_statefile_write(path, &origin, "0123456789abcdefg", len, err, sizeof err), 0);
        assert_int_equal(kl_statefile_read(&s, path, err, sizeof err), 0);
        assert_int_equal(s.len, len);
        assert_memory_equal(s.bytes, "0123456789abcdefg", len);
        assert_string_equal(s.origin.core, origin.core);
        assert_string_equal(s.origin.content, origin.content);
        assert_true(s.origin.has_frame && s.origin.frame == 599);
        assert_true(s.origin.has_world && s.origin.epoch_s == 946684800 && s.origin.chance == origin.chance);
        kl_statefile_free(&s);
    }
}

/* The bytes as RetroArch's loader walks them: eight of identifier, then blocks. */
TEST(the_container_is_retroarchs) {
    uint8_t b[512];
    assert_int_equal(kl_statefile_write(path, &origin, "abc", 3, err, sizeof err), 0);
    size_t len = file_read(path, b, sizeof b), at = 8;
    assert_memory_equal(b, "RASTATE\1", 8);
    while (at + 8 <= len && memcmp(b + at, "MEM ", 4) != 0)
        at += 8 + (((size_t)b[at + 4] | (size_t)b[at + 5] << 8) + 7) / 8 * 8;
    assert_memory_equal(b + at, "MEM \3\0\0\0abc\0\0\0\0\0END \0\0\0\0", 24);
    assert_int_equal(at + 24, len);
}

TEST(every_cut_is_noticed) {
    uint8_t b[512];
    struct kl_statefile s;
    assert_int_equal(kl_statefile_write(path, &origin, "0123456789", 10, err, sizeof err), 0);
    size_t len = file_read(path, b, sizeof b);
    for (size_t cut = 8; cut < len; cut++) {
        assert_int_equal(kl_statefile_parse(&s, b, cut, "x.state", err, sizeof err), -1);
        assert_non_null(strstr(err, "x.state is cut short"));
    }
}

TEST(others_are_told_apart) {
    struct kl_statefile s;
    assert_int_equal(kl_statefile_parse(&s, "bare bytes", 10, "x", err, sizeof err), 0);
    assert_int_equal(s.len, 10);
    assert_false(s.origin.has_frame);
    kl_statefile_free(&s);
    assert_int_equal(kl_statefile_parse(&s, "#RZIPv\1#rest", 12, "x", err, sizeof err), -1);
    assert_non_null(strstr(err, "compressed"));
    assert_int_equal(kl_statefile_parse(&s, "", 0, "x", err, sizeof err), -1);
    assert_int_equal(kl_statefile_read(&s, "/nowhere/x", err, sizeof err), -1);
    assert_non_null(strstr(err, "/nowhere/x"));
}

/* Only the newest fit; of large ones two. */
TEST(the_newest_states_are_kept) {
    static struct kl_keep k;
    struct kl_statefile s;
    char name[128];
    snprintf(k.dir, sizeof k.dir, "%s/kept", dir);
    for (uint32_t f = 0; f < 40; f++)
        kl_keep_add(&k, f, f, &f, sizeof f);
    assert_int_equal(kl_keep_write(&k, &origin, err, sizeof err), KL_KEEP_SLOTS);
    kl_statefile_name(name, sizeof name, k.dir, 39);
    assert_int_equal(kl_statefile_read(&s, name, err, sizeof err), 0);
    uint32_t f = 39;
    assert_memory_equal(s.bytes, &f, sizeof f);
    assert_int_equal(s.origin.chance, 39);
    kl_statefile_free(&s);
    kl_statefile_name(name, sizeof name, k.dir, 40 - KL_KEEP_SLOTS - 1);
    assert_int_equal(access(name, F_OK), -1);
    assert_int_equal(kl_keep_write(&k, &origin, err, sizeof err), 0); /* they are written once */
    uint8_t *large = calloc(1, KL_KEEP_BYTES);
    for (f = 0; large && f < 4; f++)
        kl_keep_add(&k, f, 0, large, KL_KEEP_BYTES);
    assert_int_equal(k.count, 2);
    assert_int_equal(k.slot[0].frame, 3);
    free(large);
    kl_keep_free(&k);
}

TEST(corruption_is_parsed) {
    struct kl_corrupt c;
    assert_int_equal(kl_corrupt_parse(&c, "600", err, sizeof err), 0);
    assert_true(c.set && c.frame == 600 && !c.has_offset);
    assert_int_equal(kl_corrupt_parse(&c, "0:0x20", err, sizeof err), 0);
    assert_true(c.frame == 0 && c.has_offset && c.offset == 32);
    static const char *const bad[] = {"", "x", "-1", "5:", "5:x", "5:-1", "5 6", "99999999999"};
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (kl_corrupt_parse(&c, bad[i], err, sizeof err) == 0) fail_msg("taken: %s", bad[i]);
}

int main(void) {
    return run_all_tests(set_up, remove_folder);
}
