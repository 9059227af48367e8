/* test_copy_seal.c - copies of rooms in Redis: only whole, and only as this fleet has written them.
 * net/relay/fleet/replica.h. */
#include "tests/unit/unit.h"

#include <sodium.h>

#include "net/relay/fleet/replica.h"

static uint8_t fleet[32], room[16], salt[KL_COPY_SALT], key[32], sealed[256], out[256];

/* "the first" at 0, and "and more" behind it. */
static size_t seal_two(uint32_t slot) {
    size_t len = kl_copy_seal(key, slot, 0, "the first", 9, sealed);
    return len + kl_copy_seal(key, slot, 9, "and more", 8, sealed + len);
}

static void make_key(void) {
    static const uint8_t secret[32] = {7};
    kl_copy_fleet_key(secret, fleet);
    kl_copy_key(fleet, room, 3, salt, key);
}

TEST(pieces_are_opened_in_their_order) {
    make_key();
    const size_t len = seal_two(1), first = 9 + KL_COPY_AROUND;
    assert_int_equal(len, 17 + 2 * KL_COPY_AROUND);
    assert_int_equal(kl_copy_open(key, 1, sealed, len, out), 17);
    assert_memory_equal(out, "the firstand more", 17);
    assert_int_equal(kl_copy_open(key, 1, sealed, first, out), 9); /* so far */
    assert_int_equal(kl_copy_open(key, 1, sealed, 0, out), 0);
    assert_int_equal(kl_copy_open(key, 1, sealed + first, len - first, out), SIZE_MAX);
    for (size_t i = 0; i + 5 <= len; i++)
        assert_memory_not_equal(sealed + i, "first", 5);
}

TEST(other_bytes_are_not_opened) {
    make_key();
    const size_t len = seal_two(1);
    for (size_t i = 0; i < len; i++) {
        sealed[i] ^= 0x80;
        assert_int_equal(kl_copy_open(key, 1, sealed, len, out), SIZE_MAX);
        sealed[i] ^= 0x80;
    }
    for (size_t cut = 1; cut < len; cut++)
        if (cut != 9 + KL_COPY_AROUND) assert_int_equal(kl_copy_open(key, 1, sealed, cut, out), SIZE_MAX);
    assert_int_equal(kl_copy_open(key, 2, sealed, len, out), SIZE_MAX); /* another slot */
}

TEST(other_copies_have_other_keys) {
    make_key();
    static const uint8_t secret[32] = {8};
    uint8_t other[32], of[32];
    const size_t len = seal_two(0);
    kl_copy_key(fleet, room, 4, salt, other);
    assert_int_equal(kl_copy_open(other, 0, sealed, len, out), SIZE_MAX);
    kl_copy_key(fleet, (const uint8_t *)"another room's.", 3, salt, other);
    assert_int_equal(kl_copy_open(other, 0, sealed, len, out), SIZE_MAX);
    kl_copy_key(fleet, room, 3, (const uint8_t *)"another salt is", other);
    assert_int_equal(kl_copy_open(other, 0, sealed, len, out), SIZE_MAX);
    kl_copy_fleet_key(secret, of);
    kl_copy_key(of, room, 3, salt, other);
    assert_int_equal(kl_copy_open(other, 0, sealed, len, out), SIZE_MAX);
}
