/* The digest of a room's frames with an open interval; of closed ones: tests/conformance/session.py. */
#include "tests/unit/unit.h"

#include "net/session/digest.h"

static const uint8_t room[KL_DIGEST_ROOM_ID] = {7};

static struct kl_digest after(const char *const intervals[]) {
    struct kl_digest d = {0};
    for (; *intervals; intervals++)
        kl_digest_next(&d, room, *intervals, strlen(*intervals), d.end + 4);
    return d;
}
#define AFTER(...) after((const char *const[]){__VA_ARGS__, NULL})

TEST(an_open_part_counts) {
    uint8_t none[KL_DIGEST], some[KL_DIGEST], more[KL_DIGEST];
    const struct kl_digest d = AFTER("ab");
    kl_digest_open(&d, room, "", 0, none);
    kl_digest_open(&d, room, "c", 1, some);
    kl_digest_open(&d, room, "cd", 2, more);
    assert_memory_not_equal(none, some, KL_DIGEST);
    assert_memory_not_equal(some, more, KL_DIGEST);
    assert_memory_equal(more, AFTER("ab", "cd").digest, KL_DIGEST);
}
