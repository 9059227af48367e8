/* The majority about a frame, and the time at which it is said. */
#include "tests/unit/unit.h"

#include <stdlib.h>

#include "tests/lib/verdict_bench.h"

/* Spectators' words do not count, but theirs are looked at. */
TEST_WITH(only_players_decide_which_hash_is_right, verdict_fresh, NULL) {
    kl_verdict_expect(&table, 59);
    for (unsigned i = 0; i < 3; i++)
        report(i, ram_state(59, i == 2 ? 9 : 1, i)); /* 0 and 1 differ in their states alone */
    for (unsigned i = 3; i < 8; i++)
        report(i, ram_state(59, 9, 2)); /* the watchers */
    struct kl_verdict_members members = members_of(0xff);
    members.voters = 7;
    struct kl_verdict v;
    kl_verdict_open(&table, &members, SOON);
    assert_true(kl_verdict_next(&table, &members, SOON, &v));
    assert_int_equal(v.minority, 0xfc);
    struct kl_verdict_camps c = verdict_camps(59, members);
    assert_true(c.right && c.ram);
    assert_int_equal(c.right, 3);
    assert_int_equal(c.reported, 0xff);
    members.voters = 0x700; /* no player has spoken: who only watches decides nothing */
    assert_int_equal(verdict_camps(59, members).right, 0);
}

TEST_WITH(on_a_tie_nobody_is_right, verdict_fresh, NULL) {
    kl_verdict_expect(&table, 59);
    report(0, ram_state(59, 1, 0));
    report(1, ram_state(59, 2, 0));
    report(2, ram_state(59, 2, 0)); /* watches */
    struct kl_verdict_members members = members_of(7);
    members.voters = 3;
    struct kl_verdict_camps c = verdict_camps(59, members);
    assert_int_equal(c.right, 0);
    assert_true(c.tied);
    assert_int_equal(c.reported, 7);
}

/* Clients 1 and 2 are at one address: two windows of one liar, or two siblings. */
TEST_WITH(one_home_has_one_vote, verdict_fresh, NULL) {
    struct kl_verdict_members members = members_of(15);
    members.voters = 15;
    const uint8_t homes[4] = {0, 1, 1, 3};
    memcpy(members.home, homes, sizeof homes);
    for (uint32_t f = 59; f <= 239; f += 60)
        kl_verdict_expect(&table, f);
    for (unsigned i = 0; i < 3; i++) /* two against one, of one home */
        report(i, ram_state(59, i ? 9 : 1, 0));
    assert_true(verdict_camps(59, members).right == 0 && verdict_camps(59, members).tied);
    for (unsigned i = 0; i < 4; i++) /* the same with a witness: three
                                        a_home_counts_once_unless_all_voters_share_it, two for what is true */
        report(i, ram_state(119, i == 1 || i == 2 ? 9 : 1, 0));
    assert_int_equal(verdict_camps(119, members).right, 9);
    for (unsigned i = 0; i < 4; i++) /* they disagree: their vote is for nobody, and counts */
        report(i, ram_state(179, i == 2 ? 9 : 1, 0));
    assert_int_equal(verdict_camps(179, members).right, 11);
    for (unsigned i = 0; i < 3; i++)
        report(i, ram_state(239, i == 2 ? 9 : 1, 0));
    assert_true(verdict_camps(239, members).right == 0 && verdict_camps(239, members).tied);
    memset(members.home, 7, sizeof members.home); /* all at one address: each has a vote */
    assert_int_equal(verdict_camps(59, members).right, 6);
    assert_int_equal(verdict_camps(239, members).right, 3);
}

TEST(a_home_counts_once_unless_all_voters_share_it) {
    const uint8_t home[KL_MAX_CLIENTS] = {0, 1, 1, 1, 4};
    assert_int_equal(kl_verdict_votes(home, 0x1f, 0x1f), 3);
    assert_int_equal(kl_verdict_votes(home, 0x1f, 0x0e), 1);
    assert_int_equal(kl_verdict_votes(home, 0x1f, 0x07), 1); /* 3 disagrees with 1 and 2 */
    assert_int_equal(kl_verdict_votes(home, 0x17, 0x07), 2); /* 3 is no voter */
    assert_int_equal(kl_verdict_votes(home, 0x0e, 0x06), 2); /* all are of one home */
    assert_int_equal(kl_verdict_votes(home, 0, 0), 0);
    assert_true(kl_verdict_carries(home, 0, 0x1f, 0x0f));
    assert_false(kl_verdict_carries(home, 0, 0x0f, 0x0e)); /* one of two votes, for three players */
    assert_true(kl_verdict_carries(home, 0x02, 0x0f, 0x0e));
    assert_false(kl_verdict_carries(home, 0x01, 0x0f, 0x0e)); /* the host is the other */
    assert_false(kl_verdict_carries(home, 0x01, 0x0f, 0x01)); /* and one against three */
    assert_false(kl_verdict_carries(home, 0x01, 0x03, 0x01)); /* one against one */
    assert_false(kl_verdict_carries(home, 0x01, 0, 0));
}

TEST_WITH(missing_or_equal_reports_make_no_camps, verdict_fresh, NULL) {
    struct kl_verdict_members members = members_of(3);
    struct kl_verdict_camps c;
    kl_verdict_expect(&table, 59);
    report(0, ram_state(59, 1, 0));
    assert_false(kl_verdict_camps(&table, 59, &members, &c));
    report(1, ram_state(59, 1, 0));
    assert_false(kl_verdict_camps(&table, 59, &members, &c));
    assert_false(kl_verdict_camps(&table, 60, &members, &c));
}

TEST_WITH(states_decide_if_they_count_in_full, verdict_fresh, NULL) {
    struct kl_verdict_members members = members_of(7);
    for (unsigned full = 0; full < 2; full++) {
        kl_verdict_expect(&table, 59 + 60 * full);
        for (unsigned c = 0; c < 3; c++) {
            struct kl_hash h = ram_state(59 + 60 * full, 1, c ? 0 : 5);
            h.has |= full ? KL_HASH_FULL : 0;
            report(c, h);
        }
        struct kl_verdict_camps camps;
        assert_true(kl_verdict_camps(&table, 59 + 60 * full, &members, &camps) == (full == 1));
        if (full) assert_int_equal(camps.right, 6);
    }
    table.states_agreed = true; /* two without RAM and picture */
    kl_verdict_expect(&table, 179);
    report(0, state_only(179, 5));
    report(1, state_only(179, 0));
    struct kl_verdict_camps c = verdict_camps(179, members);
    assert_true(!c.right && c.tied && !c.ram);
}

TEST_WITH(forgotten_reports_do_not_count, verdict_fresh, NULL) {
    kl_verdict_expect(&table, 59);
    kl_verdict_expect(&table, 119);
    report(0, ram_state(59, 1, 0));
    report(1, ram_state(59, 2, 0));
    report(1, ram_state(119, 2, 0));
    assert_int_equal(verdict_next(3, SOON).differs, 1);
    kl_verdict_forget(&table, 2);
    kl_verdict_healed(&table);
    report(0, ram_state(119, 3, 0));
    struct kl_verdict v = verdict_next(1, SOON); /* the other is being healed */
    assert_int_equal(v.frame, 119);
    assert_true(v.complete && v.differs == 0 && v.first == 0);
    kl_verdict_expect(&table, 179);
    report(0, ram_state(179, 4, 0));
    verdict_none(3, SOON);
    report(1, ram_state(179, 4, 0));
    assert_int_equal(verdict_next(3, SOON).differs, 0);
}

TEST_WITH(nothing_is_said_before_all_have_reported, verdict_fresh, NULL) {
    struct kl_verdict_members members = members_of(7);
    struct kl_verdict v;
    members.awaited = 3;
    kl_verdict_expect(&table, 59);
    kl_verdict_expect(&table, 119);
    report(0, ram_state(59, 1, 0));
    report(0, ram_state(119, 1, 0));
    report(2, ram_state(59, 9, 0)); /* watches, and differs */
    kl_verdict_open(&table, &members, SOON);
    assert_false(kl_verdict_next(&table, &members, SOON, &v));
    assert_int_equal(kl_verdict_due_us(&table), SOON + KL_REPORT_WAIT_US);
    report(1, ram_state(59, 1, 0));
    kl_verdict_open(&table, &members, SOON);
    assert_int_equal(table.open, 59);
    assert_true(kl_verdict_next(&table, &members, SOON, &v));
    assert_int_equal(v.differs, 1);
    report(1, ram_state(119, 1, 0));
    kl_verdict_open(&table, &members, SOON);
    assert_int_equal(table.open, 119);
}

TEST_WITH(a_silent_client_holds_nothing_up, verdict_fresh, NULL) {
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
TEST_WITH(a_late_client_has_no_vote, verdict_fresh, NULL) {
    struct kl_verdict_members members = members_of(7);
    members.voters = 7;
    kl_verdict_expect(&table, 59);
    report(0, ram_state(59, 1, 0));
    report(1, ram_state(59, 9, 0));
    assert_true(opens(3, SOON));
    report(2, ram_state(59, 1, 0)); /* agrees with 0 */
    struct kl_verdict v = verdict_next(7, SOON);
    assert_int_equal(v.differs, 1);
    assert_int_equal(v.minority, 0);
    struct kl_verdict_camps c = verdict_camps(59, members);
    assert_true(c.tied);
    assert_int_equal(c.right, 0);
}

/* A client can have held the game up until it was too late for the others: what less than half of them were
 * there for is not even a tie. */
TEST_WITH(a_client_alone_in_time_decides_nothing, verdict_fresh, NULL) {
    struct kl_verdict_members members = members_of(7);
    members.voters = 7;
    kl_verdict_expect(&table, 59);
    report(0, ram_state(59, 9, 0));
    assert_true(opens(7, SOON + KL_REPORT_WAIT_US));
    report(3, ram_state(59, 1, 0)); /* watches: theirs is no tie either */
    members.awaited = 7;
    assert_false(verdict_camps(59, members).right || verdict_camps(59, members).tied);
    members.awaited = 1; /* the others are away */
    assert_int_equal(verdict_camps(59, members).right, 1);
    for (unsigned i = 1; i < 3; i++)
        report(i, ram_state(59, 1, 0));
    assert_false(verdict_camps(59, members).right || verdict_camps(59, members).tied);
    members.voters = 3;
    assert_true(verdict_camps(59, members).tied); /* of two players one is half */
}

/* Or the reports of long ago would be held against who has been healed since. */
TEST_WITH(a_settled_label_is_not_opened_again, verdict_fresh, NULL) {
    struct kl_hash h = ram_state(59, 1, 0);
    kl_verdict_expect(&table, 59);
    for (unsigned i = 0; i < 3; i++)
        report(i, ram_state(59, i == 2 ? 9 : 1, 0));
    assert_int_equal(verdict_next(7, SOON).minority, 4);
    assert_int_equal(kl_verdict_report(&table, 3, &h, false, SOON), KL_E_STATE);
    assert_int_equal(kl_verdict_report(&table, 4, &h, false, SOON), KL_E_STATE);
    verdict_none(31, LATE);
}
