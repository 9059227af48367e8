/* test_tie.c - the names of a question to a verifier, and the line of its answer. net/record/tie.h. */
#include "tests/unit/unit.h"

#include <stdio.h>

#include "net/record/tie.h"
#include "tests/lib/rng.h"

TEST(a_name_is_read_as_it_was_written_and_no_other_is) {
    const struct kl_tie_question q = {.room = {1, 2, 0xfe}, .label = UINT32_MAX};
    static const char *const others[] = {"",
                                         "20240506-070809-000102030405060708090a0b0c0d0e0f.klr",
                                         "000102030405060708090a0b0c0d0e0f-.klr",
                                         "000102030405060708090a0b0c0d0e0f-4294967296.klr",
                                         "000102030405060708090a0b0c0d0e0f--1.klr",
                                         "000102030405060708090a0b0c0d0e0f-05.klr",
                                         "000102030405060708090a0b0c0d0e0f- 5.klr",
                                         "000102030405060708090A0B0C0D0E0F-5.klr",
                                         "0001-5.klr",
                                         "000102030405060708090a0b0c0d0e0f-5.klr.klr"};
    char name[KL_TIE_NAME], other[KL_TIE_NAME + 8];
    struct kl_tie_question got;
    kl_tie_name(name, &q, KL_TIE_ASKED);
    assert_true(kl_tie_read_name(name, KL_TIE_ASKED, &got));
    assert_memory_equal(&got, &q, sizeof q);
    assert_false(kl_tie_read_name(name, KL_TIE_VERDICT, &got));
    for (size_t i = 0; i <= strlen(name); i++) {
        snprintf(other, sizeof other, "%.*s", (int)i, name);
        assert_int_equal(kl_tie_read_name(other, KL_TIE_ASKED, &got), i == strlen(name));
        snprintf(other, sizeof other, "%s", name);
        other[i] = other[i] == '/' ? 'x' : '/';
        assert_false(kl_tie_read_name(other, KL_TIE_ASKED, &got));
    }
    for (unsigned i = 0; i < COUNT(others); i++)
        assert_false(kl_tie_read_name(others[i], KL_TIE_ASKED, &got));
    kl_tie_name(name, &q, KL_TIE_VERDICT);
    assert_true(strlen(name) < sizeof name - 1 && kl_tie_read_name(name, KL_TIE_VERDICT, &got));
}

TEST(an_answer_is_read_as_it_was_written) {
    for (uint8_t has = 0; has < 8; has++) {
        const struct kl_klr_hash h = {.has = has, .ram = UINT64_MAX, .state = 0x10, .picture = 0};
        struct kl_klr_hash got;
        char text[KL_TIE_ANSWER], why[KL_TIE_WHY];
        size_t len = kl_tie_write_answer(text, &h, has % 2 ? "" : "no\ncore ");
        assert_int_equal(len, strlen(text));
        assert_true(kl_tie_read_answer(text, &got, why));
        assert_memory_equal(&got, &h, sizeof h);
        assert_string_equal(why, has % 2 ? "" : "no core ");
    }
}

TEST(a_long_reason_is_cut) {
    char long_why[1000], text[KL_TIE_ANSWER], why[KL_TIE_WHY];
    struct kl_klr_hash none = {.has = 7, .ram = UINT64_MAX, .state = UINT64_MAX, .picture = UINT64_MAX}, got;
    memset(long_why, 'x', sizeof long_why);
    long_why[sizeof long_why - 1] = 0;
    size_t len = kl_tie_write_answer(text, &none, long_why);
    assert_true(len < sizeof text && kl_tie_read_answer(text, &got, why));
    assert_int_equal(strlen(why), KL_TIE_WHY - 1);
}

/* Any text is read, and accepted only if it is the one that would be written. */
TEST(no_other_text_is_an_answer) {
    const struct kl_klr_hash h = {.has = KL_HASH_RAM | KL_HASH_STATE, .ram = 5, .state = 6};
    char text[KL_TIE_ANSWER], bytes[KL_TIE_ANSWER], again[KL_TIE_ANSWER], why[KL_TIE_WHY];
    struct kl_klr_hash got;
    struct rng rng = {33};
    unsigned accepted = 0;
    size_t len = kl_tie_write_answer(text, &h, "so");
    for (unsigned turn = 0; turn < 20000; turn++) {
        size_t n = turn % 4 ? rng_below(&rng, (uint32_t)len + 1) : len;
        memcpy(bytes, text, n);
        bytes[n] = 0;
        for (unsigned k = rng_below(&rng, 3); n && k > 0; k--)
            bytes[rng_below(&rng, (uint32_t)n)] = (char)rng_below(&rng, 256);
        if (!kl_tie_read_answer(bytes, &got, why)) continue;
        kl_tie_write_answer(again, &got, why);
        assert_string_equal(again, bytes);
        accepted++;
    }
    assert_true(accepted > 1000);
    assert_false(kl_tie_read_answer("has=1 ram=5 state=6 picture=0 why=\n", &got, why));
    assert_false(kl_tie_read_answer("has=9 ram=0000000000000005 state=0000000000000006 "
                                    "picture=0000000000000000 why=\n",
                                    &got, why));
}
