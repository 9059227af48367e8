#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/relay/room/verdict.h"

#define SOON 1000
#define LATE (SOON + KL_VERDICT_WAIT_US)

static struct kl_verdict_table table;
static uint16_t loaded; /* a bit for each client that has loaded a state */

static int fresh(void **state) {
    (void)state;
    memset(&table, 0, sizeof table);
    loaded = 0;
    return 0;
}

static struct kl_hash ram_state(uint32_t frame, uint64_t ram, uint64_t state) {
    return (struct kl_hash){.frame = frame, .has_ram = true, .ram = ram, .has_state = true, .state = state};
}
static struct kl_hash state_only(uint32_t frame, uint64_t state) {
    return (struct kl_hash){.frame = frame, .has_state = true, .state = state};
}

static void report_at(unsigned client, struct kl_hash h, uint64_t at_us) {
    assert_int_equal(kl_verdict_report(&table, client, &h, loaded >> client & 1, at_us), KL_OK);
}
static void report(unsigned client, struct kl_hash h) {
    report_at(client, h, SOON);
}

static struct kl_verdict_court court_of(uint16_t present) {
    return (struct kl_verdict_court){.present = present, .voters = 0xffff};
}

static struct kl_verdict next(uint16_t present, uint64_t now_us) {
    struct kl_verdict v = {0};
    struct kl_verdict_court court = court_of(present);
    kl_verdict_open(&table, &court, now_us);
    assert_true(kl_verdict_next(&table, &court, now_us, &v));
    return v;
}
static void none(uint16_t present, uint64_t now_us) {
    struct kl_verdict v;
    struct kl_verdict_court court = court_of(present);
    kl_verdict_open(&table, &court, now_us);
    assert_false(kl_verdict_next(&table, &court, now_us, &v));
}

static bool opens(uint16_t awaited, uint64_t now_us) {
    struct kl_verdict_court court = {.awaited = awaited};
    bool any = table.any_open;
    uint32_t before = table.open;
    kl_verdict_open(&table, &court, now_us);
    return table.any_open && (!any || table.open != before);
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

/* A difference is told once the label is open, and again when it is complete. */
static void the_minority_is_named_once_all_have_spoken(void **state) {
    (void)state;
    kl_verdict_expect(&table, 59);
    report(0, ram_state(59, 9, 2));
    report(1, ram_state(59, 1, 2));
    report(2, ram_state(59, 1, 2));
    assert_true(opens(7, SOON));
    struct kl_verdict v = next(15, SOON); /* the fourth watches */
    assert_false(v.complete);
    assert_int_equal(v.differs, 1);
    assert_int_equal(v.minority, 1);
    none(15, SOON);
    report(3, ram_state(59, 1, 2));
    v = next(15, SOON);
    assert_true(v.complete);
    assert_int_equal(v.minority, 0); /* of four votes, one of them late, two are no majority */
    none(15, SOON);
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

/* By the word of both: where one has a state of another size, its profile does not fit. */
static void states_that_count_in_full(void **state) {
    (void)state;
    static const uint8_t noted_by_all[] = {0, 2, 3};
    for (unsigned n = 0; n < 3; n++) {
        memset(&table, 0, sizeof table);
        kl_verdict_expect(&table, 59);
        for (unsigned c = 0; c < 2; c++) {
            struct kl_hash h = ram_state(59, 1 + (n == 0 && c), c ? 5 : 4);
            h.noted = n != 1 || c;
            report(c, h);
        }
        struct kl_verdict v = next(3, SOON); /* RAM differs; one has no mask for it; only states */
        assert_int_equal(v.differs, n == 0 ? 1 : noted_by_all[n]);
        assert_int_equal(table.any_bad, n < 2);
    }
    for (unsigned full = 0; full < 4; full++) {
        memset(&table, 0, sizeof table);
        kl_verdict_expect(&table, 59);
        for (unsigned c = 0; c < 2; c++) {
            struct kl_hash h = ram_state(59, 1, c ? 5 : 4);
            h.full = full >> c & 1;
            report(c, h);
        }
        assert_int_equal(next(3, SOON).differs, full == 3 ? 1 : 2);
    }
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
    memset(&table, 0, sizeof table);
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
    assert_int_equal(kl_verdict_due_us(&table), SOON + KL_REPORT_WAIT_US);
    assert_true(opens(3, SOON + KL_REPORT_WAIT_US));
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
    assert_int_equal(kl_verdict_report(&table, 0, &again, false, SOON), KL_E_STATE);
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

/* A core may keep more than its states hold. */
static void after_a_load_unequal_states_are_noted(void **state) {
    (void)state;
    loaded = 1 << 0;
    for (unsigned i = 0; i < 3; i++) {
        kl_verdict_expect(&table, 59 + 60 * i);
        for (unsigned k = 0; k < 3; k++) {
            struct kl_hash h = ram_state(59 + 60 * i, i == 1 && k == 0 ? 9 : 1, k == 0 ? 4 : 5);
            h.full = i == 2;
            report(k, h);
        }
    }
    assert_int_equal(next(7, SOON).differs, KL_VERDICT_NOTED);
    struct kl_verdict ram = next(7, SOON);
    assert_int_equal(ram.differs, 1);
    assert_int_equal(ram.minority, 1);
    assert_int_equal(next(7, SOON).differs, 1); /* a profile says that all of the state counts */
}

static void a_missing_state_is_not_another_state(void **state) {
    (void)state;
    loaded = 1 << 0;
    kl_verdict_expect(&table, 59);
    report(0, (struct kl_hash){.frame = 59, .has_ram = true, .ram = 1});
    report(1, ram_state(59, 1, 5));
    assert_int_equal(next(3, SOON).differs, 2);
}

static void a_load_hides_no_others(void **state) {
    (void)state;
    loaded = 1 << 0;
    kl_verdict_expect(&table, 59);
    for (unsigned k = 0; k < 4; k++)
        report(k, ram_state(59, 1, k == 3 ? 6 : 5));
    struct kl_verdict v = next(15, SOON);
    assert_int_equal(v.differs, 2);
    struct kl_verdict_camps c = camps(59, court_of(15));
    assert_int_equal(c.right, 7);
    assert_false(c.ram);
}

static void without_ram_and_picture_states_count_after_a_load(void **state) {
    (void)state;
    loaded = 1 << 0;
    kl_verdict_expect(&table, 59);
    report(0, state_only(59, 1));
    report(1, state_only(59, 2));
    assert_int_equal(next(3, SOON).differs, 1);
}

/* Two clients of a core without RAM, whose states differ. */
static int without_ram(uint64_t picture_of_0, bool full) {
    struct kl_hash a = state_only(59, 1), b = state_only(59, 2);
    a.full = b.full = full;
    a.has_av = b.has_av = true;
    a.av = picture_of_0;
    b.av = 7;
    return kl_verdict_difference(&a, &b, loaded != 0);
}

static void without_ram_the_picture_decides_after_a_load(void **state) {
    (void)state;
    assert_int_equal(without_ram(7, false), 1);
    loaded = 1 << 0;
    assert_int_equal(without_ram(7, false), KL_VERDICT_NOTED);
    assert_int_equal(without_ram(8, false), 1);
    assert_int_equal(without_ram(7, true), 1); /* a profile says that all of the state counts */
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
    kl_verdict_open(&table, &court, SOON);
    assert_true(kl_verdict_next(&table, &court, SOON, &v));
    assert_int_equal(v.minority, 0xfc);
    struct kl_verdict_camps c = camps(59, court);
    assert_true(c.right && c.ram);
    assert_int_equal(c.right, 3);
    assert_int_equal(c.reported, 0xff);
    court.voters = 0x700; /* no player has spoken: who only watches decides nothing */
    assert_int_equal(camps(59, court).right, 0);
}

static void on_a_tie_nobody_is_right(void **state) {
    (void)state;
    kl_verdict_expect(&table, 59);
    report(0, ram_state(59, 1, 0));
    report(1, ram_state(59, 2, 0));
    report(2, ram_state(59, 2, 0)); /* watches */
    struct kl_verdict_court court = court_of(7);
    court.voters = 3;
    struct kl_verdict_camps c = camps(59, court);
    assert_int_equal(c.right, 0);
    assert_true(c.tied);
    assert_int_equal(c.reported, 7);
}

/* Clients 1 and 2 are at one address: two windows of one liar, or two siblings. */
static void one_home_has_one_vote(void **state) {
    (void)state;
    struct kl_verdict_court court = court_of(15);
    court.voters = 15;
    const uint8_t homes[4] = {0, 1, 1, 3};
    memcpy(court.home, homes, sizeof homes);
    for (uint32_t f = 59; f <= 239; f += 60)
        kl_verdict_expect(&table, f);
    for (unsigned i = 0; i < 3; i++) /* two against one, of one home */
        report(i, ram_state(59, i ? 9 : 1, 0));
    assert_true(camps(59, court).right == 0 && camps(59, court).tied);
    for (unsigned i = 0; i < 4; i++) /* the same with a witness: three votes, two for what is true */
        report(i, ram_state(119, i == 1 || i == 2 ? 9 : 1, 0));
    assert_int_equal(camps(119, court).right, 9);
    for (unsigned i = 0; i < 4; i++) /* they disagree: their vote is for nobody, and counts */
        report(i, ram_state(179, i == 2 ? 9 : 1, 0));
    assert_int_equal(camps(179, court).right, 11);
    for (unsigned i = 0; i < 3; i++)
        report(i, ram_state(239, i == 2 ? 9 : 1, 0));
    assert_true(camps(239, court).right == 0 && camps(239, court).tied);
    memset(court.home, 7, sizeof court.home); /* all at one address: each has a vote */
    assert_int_equal(camps(59, court).right, 6);
    assert_int_equal(camps(239, court).right, 3);
}

static void votes(void **state) {
    (void)state;
    const uint8_t home[KL_MAX_CLIENTS] = {0, 1, 1, 1, 4};
    assert_int_equal(kl_verdict_votes(home, 0x1f, 0x1f), 3);
    assert_int_equal(kl_verdict_votes(home, 0x1f, 0x0e), 1);
    assert_int_equal(kl_verdict_votes(home, 0x1f, 0x07), 1); /* 3 disagrees with 1 and 2 */
    assert_int_equal(kl_verdict_votes(home, 0x17, 0x07), 2); /* 3 is no voter */
    assert_int_equal(kl_verdict_votes(home, 0x0e, 0x06), 2); /* all are of one home */
    assert_int_equal(kl_verdict_votes(home, 0, 0), 0);
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
    assert_true(c.right && !c.ram);
    assert_int_equal(c.right, 6);
    kl_verdict_expect(&table, 119);
    report(0, state_only(119, 5));
    report(1, state_only(119, 0));
    c = camps(119, court);
    assert_true(!c.right && c.tied && !c.ram);
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

/* --- what is told, and when --------------------------------------------------------------------------------
 */

static void nothing_is_said_before_all_have_reported(void **state) {
    (void)state;
    struct kl_verdict_court court = court_of(7);
    struct kl_verdict v;
    court.awaited = 3;
    kl_verdict_expect(&table, 59);
    kl_verdict_expect(&table, 119);
    report(0, ram_state(59, 1, 0));
    report(0, ram_state(119, 1, 0));
    report(2, ram_state(59, 9, 0)); /* watches, and differs */
    kl_verdict_open(&table, &court, SOON);
    assert_false(kl_verdict_next(&table, &court, SOON, &v));
    assert_int_equal(kl_verdict_due_us(&table), SOON + KL_REPORT_WAIT_US);
    report(1, ram_state(59, 1, 0));
    kl_verdict_open(&table, &court, SOON);
    assert_int_equal(table.open, 59);
    assert_true(kl_verdict_next(&table, &court, SOON, &v));
    assert_int_equal(v.differs, 1);
    report(1, ram_state(119, 1, 0));
    kl_verdict_open(&table, &court, SOON);
    assert_int_equal(table.open, 119);
}

static void who_says_nothing_holds_nothing_up(void **state) {
    (void)state;
    kl_verdict_expect(&table, 59);
    assert_false(opens(3, LATE)); /* nobody has */
    report(0, ram_state(59, 1, 0));
    report_at(2, ram_state(59, 1, 0), LATE - 1); /* the wait begins with the first */
    assert_false(opens(3, SOON + KL_REPORT_WAIT_US - 1));
    assert_true(opens(3, SOON + KL_REPORT_WAIT_US));
    kl_verdict_expect(&table, 119);
    report_at(0, ram_state(119, 1, 0), LATE);
    assert_true(opens(1, LATE));               /* he is absent */
    report_at(0, ram_state(4711, 1, 0), LATE); /* of no keyframe */
    assert_true(opens(1, LATE));
    assert_int_equal(table.open, 4711);
}

/* A client that reports when the others' difference may be known is compared, and has no vote: two against
 * one, of whom one was late, is a tie. */
static void who_is_late_has_no_vote(void **state) {
    (void)state;
    struct kl_verdict_court court = court_of(7);
    court.voters = 7;
    kl_verdict_expect(&table, 59);
    report(0, ram_state(59, 1, 0));
    report(1, ram_state(59, 9, 0));
    assert_true(opens(3, SOON));
    report(2, ram_state(59, 1, 0)); /* agrees with 0 */
    struct kl_verdict v = next(7, SOON);
    assert_int_equal(v.differs, 1);
    assert_int_equal(v.minority, 0);
    struct kl_verdict_camps c = camps(59, court);
    assert_true(c.tied);
    assert_int_equal(c.right, 0);
}

/* A client can have held the game up until it was too late for the others: what less than half of them were
 * there for is not even a tie. */
static void who_is_alone_in_time_decides_nothing(void **state) {
    (void)state;
    struct kl_verdict_court court = court_of(7);
    court.voters = 7;
    kl_verdict_expect(&table, 59);
    report(0, ram_state(59, 9, 0));
    assert_true(opens(7, SOON + KL_REPORT_WAIT_US));
    report(3, ram_state(59, 1, 0)); /* watches: theirs is no tie either */
    court.awaited = 7;
    assert_false(camps(59, court).right || camps(59, court).tied);
    court.awaited = 1; /* the others are away */
    assert_int_equal(camps(59, court).right, 1);
    for (unsigned i = 1; i < 3; i++)
        report(i, ram_state(59, 1, 0));
    assert_false(camps(59, court).right || camps(59, court).tied);
    court.voters = 3;
    assert_true(camps(59, court).tied); /* of two players one is half */
}

/* Or the reports of long ago would be held against who has been healed since. */
static void a_settled_label_is_not_opened_again(void **state) {
    (void)state;
    struct kl_hash h = ram_state(59, 1, 0);
    kl_verdict_expect(&table, 59);
    for (unsigned i = 0; i < 3; i++)
        report(i, ram_state(59, i == 2 ? 9 : 1, 0));
    assert_int_equal(next(7, SOON).minority, 4);
    assert_int_equal(kl_verdict_report(&table, 3, &h, false, SOON), KL_E_STATE);
    assert_int_equal(kl_verdict_report(&table, 4, &h, false, SOON), KL_E_STATE);
    none(31, LATE);
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
        T(states_that_count_in_full),
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
        cmocka_unit_test_setup(on_a_tie_nobody_is_right, fresh),
        cmocka_unit_test_setup(one_home_has_one_vote, fresh),
        cmocka_unit_test(votes),
        cmocka_unit_test_setup(nothing_to_decide, fresh),
        cmocka_unit_test_setup(states_alone, fresh),
        cmocka_unit_test_setup(after_a_load_unequal_states_are_noted, fresh),
        cmocka_unit_test_setup(a_missing_state_is_not_another_state, fresh),
        cmocka_unit_test_setup(a_load_hides_no_others, fresh),
        cmocka_unit_test_setup(without_ram_and_picture_states_count_after_a_load, fresh),
        cmocka_unit_test_setup(without_ram_the_picture_decides_after_a_load, fresh),
        cmocka_unit_test_setup(forgotten_reports_do_not_count, fresh),
        T(nothing_is_said_before_all_have_reported),
        T(who_says_nothing_holds_nothing_up),
        T(who_is_late_has_no_vote),
        T(who_is_alone_in_time_decides_nothing),
        T(a_settled_label_is_not_opened_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
