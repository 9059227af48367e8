#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "net/relay/verdict.h"

#define SOON 1000
#define LATE (SOON + KL_VERDICT_WAIT_US)

static struct kl_verdict_table table;

static int fresh(void **state) {
    (void)state;
    kl_verdict_init(&table);
    return 0;
}

static struct kl_hash ram_state(uint32_t frame, uint64_t ram, uint64_t state) {
    return (struct kl_hash){.frame = frame, .has_ram = true, .ram = ram, .has_state = true, .state = state};
}
static struct kl_hash state_only(uint32_t frame, uint64_t state) {
    return (struct kl_hash){.frame = frame, .has_state = true, .state = state};
}

static void report(unsigned client, struct kl_hash h) {
    assert_int_equal(kl_verdict_report(&table, client, &h, SOON), KL_OK);
}

static struct kl_verdict_court court_of(uint16_t present) {
    return (struct kl_verdict_court){
        .present = present, .voters = 0xffff, .judge = KL_MAX_CLIENTS, .host = KL_MAX_CLIENTS};
}

static struct kl_verdict next(uint16_t present, uint64_t now_us) {
    struct kl_verdict v = {0};
    struct kl_verdict_court court = court_of(present);
    assert_true(kl_verdict_next(&table, &court, now_us, &v));
    return v;
}
static void none(uint16_t present, uint64_t now_us) {
    struct kl_verdict v;
    struct kl_verdict_court court = court_of(present);
    assert_false(kl_verdict_next(&table, &court, now_us, &v));
}

static void equal_hashes_agree(void **state) {
    (void)state;
    kl_verdict_expect(&table, 59);
    none(3, SOON);
    report(0, ram_state(59, 1, 2));
    none(3, SOON);
    report(1, ram_state(59, 1, 2));
    struct kl_verdict v = next(3, SOON);
    assert_int_equal(v.frame, 59);
    assert_int_equal(v.differs, 0);
    assert_true(v.complete);
    assert_int_equal(v.minority, 0);
    none(3, SOON);
}

static void a_mark_takes_over_what_was_reported_before(void **state) {
    (void)state;
    report(0, ram_state(59, 1, 2)); /* it stops just there, before the relay marks the frame */
    kl_verdict_expect(&table, 59);
    report(1, ram_state(59, 1, 2));
    assert_true(next(3, SOON).complete);
    none(3, SOON);
}

static void a_run_of_equal_labels_gives_the_newest(void **state) {
    (void)state;
    for (uint32_t f = 9; f < 50; f += 10)
        kl_verdict_expect(&table, f);
    for (uint32_t f = 9; f < 40; f += 10)
        for (unsigned c = 0; c < 2; c++)
            report(c, ram_state(f, f, f));
    assert_int_equal(next(3, SOON).frame, 39);
    none(3, SOON);
}

static void a_tie_names_nobody(void **state) {
    (void)state;
    kl_verdict_expect(&table, 59);
    report(0, ram_state(59, 1, 2));
    report(1, ram_state(59, 9, 2));
    struct kl_verdict v = next(3, SOON);
    assert_int_equal(v.differs, 1);
    assert_true(v.complete);
    assert_int_equal(v.minority, 0);
    assert_int_equal(v.first, 59);
}

static void the_minority_is_named_once_all_have_spoken(void **state) {
    (void)state;
    kl_verdict_expect(&table, 59);
    report(0, ram_state(59, 9, 2));
    report(1, ram_state(59, 1, 2));
    struct kl_verdict v = next(7, SOON); /* a difference is told at once */
    assert_false(v.complete);
    assert_int_equal(v.differs, 1);
    assert_int_equal(v.minority, 0);
    none(7, SOON);
    report(2, ram_state(59, 1, 2));
    v = next(7, SOON);
    assert_true(v.complete);
    assert_int_equal(v.minority, 1);
    none(7, SOON);
}

static void four_in_three_camps_have_no_majority(void **state) {
    (void)state;
    kl_verdict_expect(&table, 59);
    const uint64_t ram[4] = {1, 1, 2, 3};
    for (unsigned c = 0; c < 4; c++)
        report(c, ram_state(59, ram[c], 0));
    struct kl_verdict v = next(15, SOON);
    assert_int_equal(v.differs, 1);
    assert_int_equal(v.minority, 0);
}

static void states_alone_differ_less(void **state) {
    (void)state;
    kl_verdict_expect(&table, 59);
    for (unsigned c = 0; c < 3; c++)
        report(c, ram_state(59, 1, c == 2 ? 5 : 4));
    struct kl_verdict v = next(7, SOON);
    assert_int_equal(v.differs, 2);
    assert_int_equal(v.minority, 4);
}

static void without_ram_the_state_counts(void **state) {
    (void)state;
    kl_verdict_expect(&table, 59);
    for (unsigned c = 0; c < 3; c++)
        report(c, state_only(59, c == 1 ? 5 : 4));
    struct kl_verdict v = next(7, SOON);
    assert_int_equal(v.differs, 1);
    assert_int_equal(v.minority, 2);
}

static void a_missing_hash_differs(void **state) {
    (void)state;
    kl_verdict_expect(&table, 59);
    report(0, ram_state(59, 1, 4));
    report(1, state_only(59, 4));
    assert_int_equal(next(3, SOON).differs, 1);
}

static void ram_outweighs_state_in_naming(void **state) {
    (void)state;
    kl_verdict_expect(&table, 59);
    report(0, ram_state(59, 1, 4)); /* with 1 against 2, whatever their states */
    report(1, ram_state(59, 1, 5));
    report(2, ram_state(59, 2, 4));
    assert_int_equal(next(3, SOON).differs, 1);
    kl_verdict_init(&table);
    fresh(NULL);
    kl_verdict_expect(&table, 59);
    report(0, ram_state(59, 1, 4));
    report(1, ram_state(59, 1, 5));
    report(2, ram_state(59, 2, 4));
    assert_int_equal(next(7, SOON).minority, 4);
}

static void silence_is_waited_for_but_not_for_ever(void **state) {
    (void)state;
    kl_verdict_expect(&table, 59);
    report(0, ram_state(59, 1, 4));
    assert_int_equal(kl_verdict_due_us(&table), LATE);
    none(3, LATE - 1);
    struct kl_verdict v = next(3, LATE);
    assert_false(v.complete);
    assert_int_equal(v.differs, 0);
    assert_true(kl_verdict_due_us(&table) == UINT64_MAX);
    report(1, ram_state(59, 1, 4));
    assert_true(next(3, LATE).complete);
}

static void who_leaves_is_not_waited_for(void **state) {
    (void)state;
    kl_verdict_expect(&table, 59);
    report(0, ram_state(59, 1, 4));
    none(3, SOON);
    assert_true(next(1, SOON).complete);
}

static void the_first_difference_stays_the_first(void **state) {
    (void)state;
    for (uint32_t f = 9; f < 40; f += 10) {
        kl_verdict_expect(&table, f);
        report(0, ram_state(f, 1, 1));
        report(1, ram_state(f, f > 9 ? 2 : 1, 1));
    }
    struct kl_verdict v = next(3, SOON);
    assert_int_equal(v.differs, 0);
    assert_int_equal(v.first, 0);
    assert_int_equal(next(3, SOON).first, 19);
    v = next(3, SOON);
    assert_int_equal(v.frame, 29);
    assert_int_equal(v.first, 19);
}

static void one_report_each(void **state) {
    (void)state;
    kl_verdict_expect(&table, 59);
    report(0, ram_state(59, 1, 4));
    struct kl_hash again = ram_state(59, 2, 4);
    assert_int_equal(kl_verdict_report(&table, 0, &again, SOON), KL_E_STATE);
    report(1, ram_state(59, 1, 4));
    assert_int_equal(next(3, SOON).differs, 0);
}

static void a_label_of_no_keyframe_is_compared_too(void **state) {
    (void)state;
    kl_verdict_expect(&table, 1199);
    report(0, ram_state(1009, 1, 4));
    none(3, SOON);
    report(1, ram_state(1009, 1, 4));
    struct kl_verdict v = next(3, SOON);
    assert_int_equal(v.frame, 1009);
    assert_true(v.complete);
    none(3, SOON);
}

static void a_flood_of_labels_pushes_nothing_out(void **state) {
    (void)state;
    kl_verdict_expect(&table, 59);
    for (uint32_t f = 100; f < 5000; f++)
        report(3, ram_state(f, f, f));
    report(0, ram_state(59, 1, 4));
    report(1, ram_state(59, 1, 4));
    assert_int_equal(next(3, SOON).frame, 59);
}

static void a_full_table_forgets_the_oldest(void **state) {
    (void)state;
    for (uint32_t n = 0; n <= KL_VERDICT_LABELS; n++)
        kl_verdict_expect(&table, n * 10 + 9);
    for (unsigned c = 0; c < 2; c++)
        report(c, ram_state(KL_VERDICT_LABELS * 10 + 9, 1, 1));
    assert_int_equal(next(3, SOON).frame, KL_VERDICT_LABELS * 10 + 9);
    assert_int_equal(table.end - table.begin, KL_VERDICT_LABELS);
}

static struct kl_verdict_camps camps(uint32_t frame, struct kl_verdict_court court) {
    struct kl_verdict_camps c;
    assert_true(kl_verdict_camps(&table, frame, &court, &c));
    return c;
}

/* Spectators' words do not count, but theirs are looked at. */
static void players_decide(void **state) {
    (void)state;
    kl_verdict_expect(&table, 59);
    for (unsigned i = 0; i < 3; i++)
        report(i, ram_state(59, i == 2 ? 9 : 1, i)); /* 0 and 1 differ in their states alone */
    for (unsigned i = 3; i < 8; i++)
        report(i, ram_state(59, 9, 2)); /* who watch */
    struct kl_verdict_court court = court_of(0xff);
    court.voters = 7;
    struct kl_verdict v;
    assert_true(kl_verdict_next(&table, &court, SOON, &v));
    assert_int_equal(v.minority, 0xfc);
    struct kl_verdict_camps c = camps(59, court);
    assert_true(c.majority && c.ram);
    assert_int_equal(c.right, 3);
    assert_int_equal(c.reported, 0xff);
    court.voters = 0; /* no player has reported: all who have */
    assert_int_equal(camps(59, court).right, 0xfc);
}

static void on_a_tie_the_judge_then_the_host(void **state) {
    (void)state;
    kl_verdict_expect(&table, 59);
    report(0, ram_state(59, 1, 0));
    report(1, ram_state(59, 2, 0));
    report(2, ram_state(59, 2, 0)); /* watches */
    struct kl_verdict_court court = court_of(7);
    court.voters = 3;
    struct kl_verdict_camps c = camps(59, court);
    assert_false(c.majority);
    assert_int_equal(c.right, 1); /* somebody has to be */
    court.host = 0, court.judge = 2;
    assert_int_equal(camps(59, court).right, 6);
    court.judge = 9; /* has not reported */
    assert_int_equal(camps(59, court).right, 1);
    court.host = 1;
    assert_int_equal(camps(59, court).right, 6);
}

static void nothing_to_decide(void **state) {
    (void)state;
    struct kl_verdict_court court = court_of(3);
    struct kl_verdict_camps c;
    kl_verdict_expect(&table, 59);
    report(0, ram_state(59, 1, 0));
    assert_false(kl_verdict_camps(&table, 59, &court, &c));
    report(1, ram_state(59, 1, 0));
    assert_false(kl_verdict_camps(&table, 59, &court, &c));
    assert_false(kl_verdict_camps(&table, 60, &court, &c));
}

static void states_alone(void **state) {
    (void)state;
    struct kl_verdict_court court = court_of(7);
    kl_verdict_expect(&table, 59);
    report(0, ram_state(59, 1, 5));
    report(1, ram_state(59, 1, 0));
    report(2, ram_state(59, 1, 0));
    struct kl_verdict_camps c = camps(59, court);
    assert_true(c.majority && !c.ram);
    assert_int_equal(c.right, 6);
    kl_verdict_expect(&table, 119);
    report(0, state_only(119, 5));
    report(1, state_only(119, 0));
    c = camps(119, court);
    assert_true(!c.majority && !c.ram);
}

static void forgotten_reports_do_not_count(void **state) {
    (void)state;
    kl_verdict_expect(&table, 59);
    kl_verdict_expect(&table, 119);
    report(0, ram_state(59, 1, 0));
    report(1, ram_state(59, 2, 0));
    report(1, ram_state(119, 2, 0));
    assert_int_equal(next(3, SOON).differs, 1);
    kl_verdict_forget(&table, 2);
    kl_verdict_healed(&table);
    report(0, ram_state(119, 3, 0));
    struct kl_verdict v = next(1, SOON); /* the other is being healed */
    assert_int_equal(v.frame, 119);
    assert_true(v.complete && v.differs == 0 && v.first == 0);
    kl_verdict_expect(&table, 179);
    report(0, ram_state(179, 4, 0));
    none(3, SOON);
    report(1, ram_state(179, 4, 0));
    assert_int_equal(next(3, SOON).differs, 0);
}

int main(void) {
#define T(f) cmocka_unit_test_setup(f, fresh)
    const struct CMUnitTest tests[] = {
        T(equal_hashes_agree),
        T(a_mark_takes_over_what_was_reported_before),
        T(a_run_of_equal_labels_gives_the_newest),
        T(a_tie_names_nobody),
        T(the_minority_is_named_once_all_have_spoken),
        T(four_in_three_camps_have_no_majority),
        T(states_alone_differ_less),
        T(without_ram_the_state_counts),
        T(a_missing_hash_differs),
        T(ram_outweighs_state_in_naming),
        T(silence_is_waited_for_but_not_for_ever),
        T(who_leaves_is_not_waited_for),
        T(the_first_difference_stays_the_first),
        T(one_report_each),
        T(a_label_of_no_keyframe_is_compared_too),
        T(a_flood_of_labels_pushes_nothing_out),
        T(a_full_table_forgets_the_oldest),
        cmocka_unit_test_setup(players_decide, fresh),
        cmocka_unit_test_setup(on_a_tie_the_judge_then_the_host, fresh),
        cmocka_unit_test_setup(nothing_to_decide, fresh),
        cmocka_unit_test_setup(states_alone, fresh),
        cmocka_unit_test_setup(forgotten_reports_do_not_count, fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
