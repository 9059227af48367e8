/* test_digest.c - the digest of a room's frames. net/session/digest.h. */
#include "tests/unit/unit.h"

#include "net/session/digest.h"

static const uint8_t room[KL_DIGEST_ROOM_ID] = {7}, other[KL_DIGEST_ROOM_ID] = {8};

static struct kl_digest after(const uint8_t *id, const char *const intervals[]) {
    struct kl_digest d = {0};
    for (; *intervals; intervals++)
        kl_digest_next(&d, id, *intervals, strlen(*intervals), d.end + 4);
    return d;
}
#define AFTER(id, ...) after(id, (const char *const[]){__VA_ARGS__, NULL})

static void expect_another(struct kl_digest a, struct kl_digest b) {
    assert_memory_not_equal(a.digest, b.digest, KL_DIGEST);
}

TEST(all_before_counts) {
    struct kl_digest d = AFTER(room, "ab", "cd", "ef"), same = AFTER(room, "ab", "cd", "ef");
    assert_memory_equal(&d, &same, sizeof d);
    assert_true(d.intervals == 3 && d.end == 12);
    expect_another(d, AFTER(room, "aB", "cd", "ef"));
    expect_another(d, AFTER(room, "ab", "cd"));
    expect_another(d, AFTER(room, "abcd", "ef"));
    expect_another(d, AFTER(room, "cd", "ab", "ef"));
    expect_another(d, AFTER(other, "ab", "cd", "ef"));
}

TEST(an_open_part_counts) {
    uint8_t none[KL_DIGEST], some[KL_DIGEST], more[KL_DIGEST];
    const struct kl_digest d = AFTER(room, "ab");
    kl_digest_open(&d, room, "", 0, none);
    kl_digest_open(&d, room, "c", 1, some);
    kl_digest_open(&d, room, "cd", 2, more);
    assert_memory_not_equal(none, some, KL_DIGEST);
    assert_memory_not_equal(some, more, KL_DIGEST);
    assert_memory_equal(more, AFTER(room, "ab", "cd").digest, KL_DIGEST);
}
