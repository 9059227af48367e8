/* The hashes that differ, and since when; a loaded state hides some. */
#include "tests/unit/unit.h"

#include <stdlib.h>

#include "tests/lib/verdict_bench.h"

static void equal_hashes_agree(void **state) {
    (void)state;
    kl_verdict_expect(&table, 59);
    verdict_none(3, SOON);
    report(0, ram_state(59, 1, 2));
    verdict_none(3, SOON);
    report(1, ram_state(59, 1, 2));
    struct kl_verdict v = verdict_next(3, SOON);
    assert_int_equal(v.frame, 59);
    assert_int_equal(v.differs, 0);
    assert_true(v.complete);
    assert_int_equal(v.minority, 0);
    verdict_none(3, SOON);
}

static void a_mark_takes_over_what_was_reported_before(void **state) {
    (void)state;
    report(0, ram_state(59, 1, 2)); /* it stops just there, before the relay marks the frame */
    kl_verdict_expect(&table, 59);
    report(1, ram_state(59, 1, 2));
    assert_true(verdict_next(3, SOON).complete);
    verdict_none(3, SOON);
}

static void a_run_of_equal_labels_gives_the_newest(void **state) {
    (void)state;
    for (uint32_t f = 9; f < 50; f += 10)
        kl_verdict_expect(&table, f);
    for (uint32_t f = 9; f < 40; f += 10)
        for (unsigned c = 0; c < 2; c++)
            report(c, ram_state(f, f, f));
    assert_int_equal(verdict_next(3, SOON).frame, 39);
    verdict_none(3, SOON);
}

static void a_tie_names_nobody(void **state) {
    (void)state;
    kl_verdict_expect(&table, 59);
    report(0, ram_state(59, 1, 2));
    report(1, ram_state(59, 9, 2));
    struct kl_verdict v = verdict_next(3, SOON);
    assert_int_equal(v.differs, 1);
    assert_true(v.complete);
    assert_int_equal(v.minority, 0);
    assert_int_equal(v.first, 59);
}

/* A difference is told once the label is open, and again when it is complete. */
static void the_minority_is_named_once_all_have_spoken(void **state) {
    (void)state;
    kl_verdict_expect(&table, 59);
    report(0, ram_state(59, 9, 2));
    report(1, ram_state(59, 1, 2));
    report(2, ram_state(59, 1, 2));
    assert_true(opens(7, SOON));
    struct kl_verdict v = verdict_next(15, SOON); /* the fourth watches */
    assert_false(v.complete);
    assert_int_equal(v.differs, 1);
    assert_int_equal(v.minority, 1);
    verdict_none(15, SOON);
    report(3, ram_state(59, 1, 2));
    v = verdict_next(15, SOON);
    assert_true(v.complete);
    assert_int_equal(v.minority, 0); /* of four votes, one of them late, two are no majority */
    verdict_none(15, SOON);
}

static void four_in_three_camps_have_no_majority(void **state) {
    (void)state;
    kl_verdict_expect(&table, 59);
    const uint64_t ram[4] = {1, 1, 2, 3};
    for (unsigned c = 0; c < 4; c++)
        report(c, ram_state(59, ram[c], 0));
    struct kl_verdict v = verdict_next(15, SOON);
    assert_int_equal(v.differs, 1);
    assert_int_equal(v.minority, 0);
}

static void states_alone_differ_less(void **state) {
    (void)state;
    kl_verdict_expect(&table, 59);
    for (unsigned c = 0; c < 3; c++)
        report(c, ram_state(59, 1, c == 2 ? 5 : 4));
    struct kl_verdict v = verdict_next(7, SOON);
    assert_int_equal(v.differs, 2);
    assert_int_equal(v.minority, 4);
}

/* Noted by the word of one: its machine may be of another system. In full by the word of both. */
static void states_that_count_in_full(void **state) {
    (void)state;
    static const uint8_t noted_by[] = {0, 3, 3};
    for (unsigned n = 0; n < 3; n++) {
        verdict_fresh(NULL);
        kl_verdict_expect(&table, 59);
        for (unsigned c = 0; c < 2; c++) {
            struct kl_hash h = ram_state(59, 1 + (n == 0 && c), c ? 5 : 4);
            h.noted = n != 1 || c;
            report(c, h);
        }
        struct kl_verdict v = verdict_next(3, SOON); /* RAM differs; one says so; both */
        assert_int_equal(v.differs, n == 0 ? 1 : noted_by[n]);
        assert_int_equal(table.any_bad, n == 0);
    }
    verdict_fresh(
        NULL); /* one counts in full, the other is of another system; the next of them has no state */
    for (unsigned missing = 0; missing < 2; missing++) {
        kl_verdict_expect(&table, 59 + 60 * missing);
        struct kl_hash a = ram_state(59 + 60 * missing, 1, 4), b = ram_state(59 + 60 * missing, 1, 5);
        a.full = a.has_state = !missing;
        b.noted = true;
        report(0, a);
        report(1, b);
        assert_int_equal(verdict_next(3, SOON).differs, missing ? 2 : KL_VERDICT_NOTED);
    }
    for (unsigned full = 0; full < 4; full++) {
        verdict_fresh(NULL);
        kl_verdict_expect(&table, 59);
        for (unsigned c = 0; c < 2; c++) {
            struct kl_hash h = ram_state(59, 1, c ? 5 : 4);
            h.full = full >> c & 1;
            report(c, h);
        }
        assert_int_equal(verdict_next(3, SOON).differs, full == 3 ? 1 : 2);
    }
}

static void without_ram_the_state_counts(void **state) {
    (void)state;
    kl_verdict_expect(&table, 59);
    for (unsigned c = 0; c < 3; c++)
        report(c, state_only(59, c == 1 ? 5 : 4));
    struct kl_verdict v = verdict_next(7, SOON);
    assert_int_equal(v.differs, 1);
    assert_int_equal(v.minority, 2);
}

static void a_missing_hash_differs(void **state) {
    (void)state;
    kl_verdict_expect(&table, 59);
    report(0, ram_state(59, 1, 4));
    report(1, state_only(59, 4));
    assert_int_equal(verdict_next(3, SOON).differs, 1);
}

static void ram_outweighs_state_in_naming(void **state) {
    (void)state;
    kl_verdict_expect(&table, 59);
    report(0, ram_state(59, 1, 4)); /* with 1 against 2, whatever their states */
    report(1, ram_state(59, 1, 5));
    report(2, ram_state(59, 2, 4));
    assert_int_equal(verdict_next(3, SOON).differs, 1);
    verdict_fresh(NULL);
    kl_verdict_expect(&table, 59);
    report(0, ram_state(59, 1, 4));
    report(1, ram_state(59, 1, 5));
    report(2, ram_state(59, 2, 4));
    assert_int_equal(verdict_next(7, SOON).minority, 4);
}

static void silence_is_waited_for_but_not_for_ever(void **state) {
    (void)state;
    kl_verdict_expect(&table, 59);
    report(0, ram_state(59, 1, 4));
    assert_int_equal(kl_verdict_due_us(&table), SOON + KL_REPORT_WAIT_US);
    assert_true(opens(3, SOON + KL_REPORT_WAIT_US));
    assert_int_equal(kl_verdict_due_us(&table), LATE);
    verdict_none(3, LATE - 1);
    struct kl_verdict v = verdict_next(3, LATE);
    assert_false(v.complete);
    assert_int_equal(v.differs, 0);
    assert_true(kl_verdict_due_us(&table) == UINT64_MAX);
    report(1, ram_state(59, 1, 4));
    assert_true(verdict_next(3, LATE).complete);
}

static void a_client_that_leaves_is_not_waited_for(void **state) {
    (void)state;
    kl_verdict_expect(&table, 59);
    report(0, ram_state(59, 1, 4));
    verdict_none(3, SOON);
    assert_true(verdict_next(1, SOON).complete);
}

static void the_first_difference_stays_the_first(void **state) {
    (void)state;
    for (uint32_t f = 9; f < 40; f += 10) {
        kl_verdict_expect(&table, f);
        report(0, ram_state(f, 1, 1));
        report(1, ram_state(f, f > 9 ? 2 : 1, 1));
    }
    struct kl_verdict v = verdict_next(3, SOON);
    assert_int_equal(v.differs, 0);
    assert_int_equal(v.first, 0);
    assert_int_equal(verdict_next(3, SOON).first, 19);
    v = verdict_next(3, SOON);
    assert_int_equal(v.frame, 29);
    assert_int_equal(v.first, 19);
}

static void one_report_each(void **state) {
    (void)state;
    kl_verdict_expect(&table, 59);
    report(0, ram_state(59, 1, 4));
    struct kl_hash again = ram_state(59, 2, 4);
    assert_int_equal(kl_verdict_report(&table, 0, &again, false, SOON), KL_E_STATE);
    report(1, ram_state(59, 1, 4));
    assert_int_equal(verdict_next(3, SOON).differs, 0);
}

static void a_label_of_no_keyframe_is_compared_too(void **state) {
    (void)state;
    kl_verdict_expect(&table, 1199);
    report(0, ram_state(1009, 1, 4));
    verdict_none(3, SOON);
    report(1, ram_state(1009, 1, 4));
    struct kl_verdict v = verdict_next(3, SOON);
    assert_int_equal(v.frame, 1009);
    assert_true(v.complete);
    verdict_none(3, SOON);
}

static void a_flood_of_labels_pushes_nothing_out(void **state) {
    (void)state;
    kl_verdict_expect(&table, 59);
    for (uint32_t f = 100; f < 5000; f++)
        report(3, ram_state(f, f, f));
    report(0, ram_state(59, 1, 4));
    report(1, ram_state(59, 1, 4));
    assert_int_equal(verdict_next(3, SOON).frame, 59);
}

static void a_full_table_forgets_the_oldest(void **state) {
    (void)state;
    for (uint32_t n = 0; n <= KL_VERDICT_LABELS; n++)
        kl_verdict_expect(&table, n * 10 + 9);
    for (unsigned c = 0; c < 2; c++)
        report(c, ram_state(KL_VERDICT_LABELS * 10 + 9, 1, 1));
    assert_int_equal(verdict_next(3, SOON).frame, KL_VERDICT_LABELS * 10 + 9);
    assert_int_equal(table.end - table.begin, KL_VERDICT_LABELS);
}

/* A core may keep more than its states hold. */
static void after_a_load_unequal_states_are_noted(void **state) {
    (void)state;
    has_loaded = 1 << 0;
    for (unsigned i = 0; i < 3; i++) {
        kl_verdict_expect(&table, 59 + 60 * i);
        for (unsigned k = 0; k < 3; k++) {
            struct kl_hash h = ram_state(59 + 60 * i, i == 1 && k == 0 ? 9 : 1, k == 0 ? 4 : 5);
            h.full = i == 2;
            report(k, h);
        }
    }
    assert_int_equal(verdict_next(7, SOON).differs, KL_VERDICT_NOTED);
    struct kl_verdict ram = verdict_next(7, SOON);
    assert_int_equal(ram.differs, 1);
    assert_int_equal(ram.minority, 1);
    assert_int_equal(verdict_next(7, SOON).differs, 1); /* a profile says that all of the state counts */
}

static void a_missing_state_is_not_another_state(void **state) {
    (void)state;
    has_loaded = 1 << 0;
    kl_verdict_expect(&table, 59);
    report(0, (struct kl_hash){.frame = 59, .has_ram = true, .ram = 1});
    report(1, ram_state(59, 1, 5));
    assert_int_equal(verdict_next(3, SOON).differs, 2);
}

static void a_load_hides_no_others(void **state) {
    (void)state;
    has_loaded = 1 << 0;
    kl_verdict_expect(&table, 59);
    for (unsigned k = 0; k < 4; k++)
        report(k, ram_state(59, 1, k == 3 ? 6 : 5));
    struct kl_verdict v = verdict_next(15, SOON);
    assert_int_equal(v.differs, 2);
    struct kl_verdict_camps c = verdict_camps(59, court_of(15));
    assert_int_equal(c.right, 7);
    assert_false(c.ram);
}

static void without_ram_and_picture_states_count_after_a_load(void **state) {
    (void)state;
    has_loaded = 1 << 0;
    kl_verdict_expect(&table, 59);
    report(0, state_only(59, 1));
    report(1, state_only(59, 2));
    assert_int_equal(verdict_next(3, SOON).differs, 1);
}

/* Two clients of a core without RAM, whose states differ. */
static int without_ram(uint64_t picture_of_0, bool full) {
    struct kl_hash a = state_only(59, 1), b = state_only(59, 2);
    a.full = b.full = full;
    a.has_av = b.has_av = true;
    a.av = picture_of_0;
    b.av = 7;
    return kl_verdict_difference(&a, &b, has_loaded != 0);
}

static void without_ram_the_picture_decides_after_a_load(void **state) {
    (void)state;
    assert_int_equal(without_ram(7, false), 1);
    has_loaded = 1 << 0;
    assert_int_equal(without_ram(7, false), KL_VERDICT_NOTED);
    assert_int_equal(without_ram(8, false), 1);
    assert_int_equal(without_ram(7, true), 1); /* a profile says that all of the state counts */
}

int main(void) {
#define T(f) cmocka_unit_test_setup(f, verdict_fresh)
    const struct CMUnitTest tests[] = {
        T(equal_hashes_agree),
        T(a_mark_takes_over_what_was_reported_before),
        T(a_run_of_equal_labels_gives_the_newest),
        T(a_tie_names_nobody),
        T(the_minority_is_named_once_all_have_spoken),
        T(four_in_three_camps_have_no_majority),
        T(states_alone_differ_less),
        T(states_that_count_in_full),
        T(without_ram_the_state_counts),
        T(a_missing_hash_differs),
        T(ram_outweighs_state_in_naming),
        T(silence_is_waited_for_but_not_for_ever),
        T(a_client_that_leaves_is_not_waited_for),
        T(the_first_difference_stays_the_first),
        T(one_report_each),
        T(a_label_of_no_keyframe_is_compared_too),
        T(a_flood_of_labels_pushes_nothing_out),
        T(a_full_table_forgets_the_oldest),
        T(after_a_load_unequal_states_are_noted),
        T(a_missing_state_is_not_another_state),
        T(a_load_hides_no_others),
        T(without_ram_and_picture_states_count_after_a_load),
        T(without_ram_the_picture_decides_after_a_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
