#include <stdio.h>

#include "tests/unit/unit.h"
#include <sodium.h>

#include "net/relay/log/relay_log.h"

TEST(an_address_is_shown_as_it_is) {
    assert_string_equal(kl_log_address("192.0.2.7:4000"), "192.0.2.7:4000");
}

/* The last test: hashing stays on. */
TEST(a_hash_tells_equal_addresses_and_nothing_else) {
    char first[32], other[32];
    kl_log_hash_addresses();
    snprintf(first, sizeof first, "%s", kl_log_address("192.0.2.7:4000"));
    assert_int_equal(strlen(first), 16);
    assert_int_equal(strspn(first, "0123456789abcdef"), 16);
    assert_string_equal(kl_log_address("192.0.2.7:4001"), first);
    assert_string_equal(kl_log_address("[::ffff:192.0.2.7]:4001"), first);
    snprintf(other, sizeof other, "%s", kl_log_address("[2001:db8:0:1::7]:4000"));
    assert_string_equal(kl_log_address("[2001:db8:0:1::8]:4000"), other);
    assert_string_not_equal(kl_log_address("[2001:db8:0:2::7]:4000"), other);
    snprintf(other, sizeof other, "%s", kl_log_address("192.0.2.8:4000"));
    assert_string_not_equal(other, first);
    kl_log_hash_addresses(); /* another run has another key */
    assert_string_not_equal(kl_log_address("192.0.2.7:4000"), first);
}

int main(void) {
    return sodium_init() < 0 ? 1 : run_all_tests(NULL, NULL);
}
