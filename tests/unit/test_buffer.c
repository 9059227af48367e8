/* A text that grows. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "net/platform/buffer.h"

TEST(it_grows) {
    struct kl_buffer b = {0};
    size_t len = 0;
    for (unsigned i = 0; i < 3000; i++) {
        kl_buffer_add(&b, "%u,", i);
        len += (size_t)snprintf(NULL, 0, "%u,", i);
        assert_int_equal(b.len, len);
        assert_int_equal(strlen(b.at), len);
    }
    assert_memory_equal(b.at, "0,1,2,3,", 8);
    assert_string_equal(b.at + b.len - 10, "2998,2999,");
    kl_buffer_add_bytes(&b, "a\0b", 3);
    assert_memory_equal(b.at + len, "a\0b", 4);
    kl_buffer_free(&b);
}

/* An addition that fills the memory to its last byte leaves no room for the NUL. */
TEST(every_length_fits) {
    static const char filling[2000];
    for (size_t n = 0; n < sizeof filling; n++) {
        struct kl_buffer b = {0};
        kl_buffer_add_bytes(&b, filling, n);
        kl_buffer_add(&b, "%s", "end");
        assert_int_equal(b.len, n + 3);
        assert_string_equal(b.at + n, "end");
        assert_in_range(b.len, 0, b.cap - 1);
        kl_buffer_free(&b);
    }
}

TEST(it_is_taken) {
    struct kl_buffer b = {0};
    kl_buffer_add(&b, "%s", "text");
    kl_buffer_clear(&b);
    kl_buffer_add(&b, "%d", 12);
    char *taken = kl_buffer_take(&b);
    assert_string_equal(taken, "12");
    free(taken);
    assert_null(b.at);
    taken = kl_buffer_take(&b);
    assert_string_equal(taken, "");
    free(taken);
}

TEST(without_memory_it_fails_whole) {
    struct kl_buffer b = {0};
    kl_buffer_add(&b, "begun");
    kl_buffer_add_bytes(&b, "", SIZE_MAX / 2);
    kl_buffer_add(&b, "more");
    assert_true(b.failed);
    assert_string_equal(b.at, "begun");
    assert_null(kl_buffer_take(&b));
    assert_null(b.at);
}

TEST(a_part_of_a_text) {
    static const char text[] = "abc";
    static const char *const part[] = {"", "a", "ab", "abc", "abc", "abc"};
    for (size_t n = 0; n < sizeof part / sizeof *part; n++) {
        char *copy = kl_buffer_copy(text, n);
        assert_string_equal(copy, part[n]);
        free(copy);
    }
}
