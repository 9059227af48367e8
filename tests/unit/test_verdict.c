/* The hashes that differ, and since when; a loaded state hides some. */
#include "tests/unit/unit.h"

#include <stdlib.h>

#include "tests/lib/verdict_bench.h"

/* --- two reports --- */

enum {
    RAM = KL_HASH_RAM,
    STATE = KL_HASH_STATE,
    PICTURE = KL_HASH_PICTURE,
    SOUND = KL_HASH_SOUND,
    FULL = KL_HASH_FULL,
    NOTED = KL_HASH_NOTED,
    LAYOUT = KL_PARTS_LAYOUT,
    NOTHING = KL_PARTS_NOTHING
};
enum { LOADED = 1, JUDGED = 2 };

static const struct pair {
    const char *what;
    uint8_t a, b, unequal, past; /* the parts of each, the unequal ones with the layout, and the past */
    int differs;
    uint8_t parts;
    bool proved;
} pairs[] = {
    {"a state alone", STATE, STATE, STATE, JUDGED, 1, STATE, false},
    {"that has never agreed", STATE, STATE, STATE, 0, KL_VERDICT_NOTED, STATE | NOTHING, false},
    {"after a load", STATE, STATE, STATE, LOADED | JUDGED, KL_VERDICT_NOTED, STATE | NOTHING, false},
    {"a profile vouches for it", STATE | FULL, STATE | FULL, STATE, LOADED, 1, STATE, false},
    {"an equal state, and nothing else", STATE, STATE, 0, LOADED | JUDGED, 0, 0, true},
    {"and one has not drawn yet", STATE | PICTURE, STATE, 0, LOADED | JUDGED, 0, 0, false},
    {"and both have", STATE | PICTURE, STATE | PICTURE, 0, LOADED | JUDGED, 0, 0, true},

    {"RAM and state", RAM | STATE, RAM | STATE, 0, LOADED | JUDGED, 0, 0, true},
    {"RAM that one lacks", RAM | STATE, STATE, 0, 0, 1, RAM, false},
    {"its picture is unequal, too", RAM | STATE | PICTURE, STATE | PICTURE, STATE | PICTURE, 0, 1,
     RAM | PICTURE, false},

    /* The same core, but one machine shows no RAM at one place of it: there is nothing to compare. */
    {"RAM of another layout", RAM | STATE, RAM | STATE, RAM | LAYOUT, 0, 0, LAYOUT, true},
    {"and addresses in the state", RAM | STATE, RAM | STATE, RAM | STATE | LAYOUT, 0, KL_VERDICT_NOTED,
     STATE | LAYOUT | NOTHING, false},
    {"and the picture is equal", RAM | STATE | PICTURE, RAM | STATE | PICTURE, RAM | STATE | LAYOUT, 0,
     KL_VERDICT_NOTED, STATE | LAYOUT, true},
    {"or not", RAM | STATE | PICTURE, RAM | STATE | PICTURE, RAM | STATE | PICTURE | LAYOUT, 0, 1,
     PICTURE | LAYOUT, false},

    /* The graphics card draws it, or the chain begins after a load. */
    {"picture and sound of one", RAM | STATE | PICTURE | SOUND, RAM | STATE, 0, 0, 0, 0, true},
    {"and nothing else", PICTURE, 0, 0, 0, 0, NOTHING, false},
    {"no hash at all", 0, 0, 0, 0, 0, NOTHING, false},

    {"without RAM the picture decides", STATE | PICTURE, STATE | PICTURE, STATE, JUDGED, KL_VERDICT_NOTED,
     STATE, true},
    {"also after a load", STATE | PICTURE, STATE | PICTURE, STATE, LOADED | JUDGED, KL_VERDICT_NOTED, STATE,
     true},
    {"an unequal one", STATE | PICTURE, STATE | PICTURE, STATE | PICTURE, JUDGED, 1, PICTURE, false},
    {"an unequal one after a load", STATE | PICTURE, STATE | PICTURE, STATE | PICTURE, LOADED | JUDGED, 1,
     PICTURE, false},
    {"the profile's state", STATE | PICTURE | FULL, STATE | PICTURE | FULL, STATE, JUDGED, 1, STATE, false},
    {"the profile's state after a load", STATE | PICTURE | FULL, STATE | PICTURE | FULL, STATE,
     LOADED | JUDGED, 1, STATE, false},

    {"sound", PICTURE | SOUND, PICTURE | SOUND, SOUND, 0, 1, SOUND, false},
    {"sound after a load", PICTURE | SOUND, PICTURE | SOUND, SOUND, LOADED, KL_VERDICT_NOTED, SOUND, true},
    {"sound of another system", STATE | PICTURE | SOUND, STATE | PICTURE | SOUND | NOTED, SOUND, 0,
     KL_VERDICT_NOTED, SOUND, true},
};

TEST(two_reports_are_compared) {
    for (unsigned i = 0; i < COUNT(pairs); i++) {
        const struct pair *is = &pairs[i];
        struct kl_hash a = {.has = is->a}, b = {.has = is->b};
        b.ram = is->unequal & RAM;
        b.state = is->unequal & STATE;
        b.picture = is->unequal & PICTURE;
        b.sound = is->unequal & SOUND;
        b.layout = is->unequal & LAYOUT;
        const struct kl_verdict_past past = {.loaded = is->past & LOADED, .judged = is->past & JUDGED};
        struct kl_verdict_pair p = kl_verdict_compare(&a, &b, past);
        if (p.differs != is->differs || p.parts != is->parts || p.proved != is->proved)
            fail_msg("%s: differs %d, parts %x, proved %d", is->what, p.differs, p.parts, p.proved);
    }
}

/* --- labels --- */

TEST_WITH(equal_hashes_agree, verdict_fresh, NULL) {
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

TEST_WITH(a_mark_takes_over_what_was_reported_before, verdict_fresh, NULL) {
    report(0, ram_state(59, 1, 2)); /* it stops just there, before the relay marks the frame */
    kl_verdict_expect(&table, 59);
    report(1, ram_state(59, 1, 2));
    assert_true(verdict_next(3, SOON).complete);
    verdict_none(3, SOON);
}

TEST_WITH(a_run_of_equal_labels_gives_the_newest, verdict_fresh, NULL) {
    for (uint32_t f = 9; f < 50; f += 10)
        kl_verdict_expect(&table, f);
    for (uint32_t f = 9; f < 40; f += 10)
        for (unsigned c = 0; c < 2; c++)
            report(c, ram_state(f, f, f));
    assert_int_equal(verdict_next(3, SOON).frame, 39);
    verdict_none(3, SOON);
}

TEST_WITH(a_tie_names_nobody, verdict_fresh, NULL) {
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
TEST_WITH(the_minority_is_named_once_all_have_spoken, verdict_fresh, NULL) {
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

TEST_WITH(four_in_three_camps_have_no_majority, verdict_fresh, NULL) {
    kl_verdict_expect(&table, 59);
    const uint64_t ram[4] = {1, 1, 2, 3};
    for (unsigned c = 0; c < 4; c++)
        report(c, ram_state(59, ram[c], 0));
    struct kl_verdict v = verdict_next(15, SOON);
    assert_int_equal(v.differs, 1);
    assert_int_equal(v.minority, 0);
}

/* Many cores' states hold addresses of the host. */
TEST_WITH(states_alone_are_noted, verdict_fresh, NULL) {
    for (unsigned n = 0; n < 2; n++) { /* also if they were equal before */
        kl_verdict_expect(&table, 59 + 60 * n);
        for (unsigned c = 0; c < 3; c++)
            report(c, ram_state(59 + 60 * n, 1, n && c == 2 ? 5 : 4));
        struct kl_verdict v = verdict_next(7, SOON);
        assert_int_equal(v.differs, n ? KL_VERDICT_NOTED : 0);
        assert_int_equal(v.parts, n ? KL_HASH_STATE : 0);
    }
    assert_false(table.any_bad);
}

/* A label of two clients whose states are masked; returns the verdict on it. */
static struct kl_verdict masked(uint32_t frame, uint64_t state, bool loaded) {
    kl_verdict_expect(&table, frame);
    for (unsigned c = 0; c < 2; c++) {
        struct kl_hash h = ram_state(frame, 1, c ? state : 4);
        h.has |= KL_HASH_MASKED;
        assert_int_equal(kl_verdict_report(&table, c, &h, loaded && c, SOON), KL_OK);
    }
    return verdict_next(3, SOON);
}

TEST_WITH(masked_states_count_once_they_have_been_equal, verdict_fresh, NULL) {
    uint32_t frame = 59;
    for (unsigned i = 0; i < 2; i++, frame += 60)
        assert_int_equal(masked(frame, 4, false).differs, 0);
    assert_int_equal(masked(frame, 5, false).differs, KL_VERDICT_NOTED); /* not yet */
    for (unsigned i = 0; i < KL_MASKED_LABELS; i++)
        assert_int_equal(masked(frame += 60, 4, false).differs, 0);
    for (unsigned i = 0; i < 3; i++) { /* until it is healed */
        struct kl_verdict v = masked(frame += 60, 5, false);
        assert_int_equal(v.differs, 1);
        assert_int_equal(v.parts, KL_HASH_STATE);
    }
    struct kl_verdict_members two = members_of(3);
    struct kl_verdict_camps camps;
    assert_true(kl_verdict_camps(&table, frame, &two, &camps));
    kl_verdict_healed(&table);
    assert_int_equal(masked(frame += 60, 5, false).differs, KL_VERDICT_NOTED); /* healing was no help */
}

TEST_WITH(a_mask_that_lacks_bytes_heals_little, verdict_fresh, NULL) {
    uint32_t frame = 59;
    unsigned healed = 0;
    for (unsigned i = 0; i < 20; i++) {
        for (unsigned k = 0; k < KL_MASKED_LABELS; k++)
            assert_int_equal(masked(frame += 60, 4, false).differs, 0);
        if (masked(frame += 60, 5, false).differs != 1) continue;
        healed++;
        kl_verdict_healed(&table);
    }
    assert_int_equal(healed, KL_MASKED_HEALS);
}

/* The core of a newcomer may give another state for the same game. */
TEST_WITH(masked_states_prove_themselves_anew_after_a_load, verdict_fresh, NULL) {
    uint32_t frame = 59;
    for (unsigned k = 0; k < KL_MASKED_LABELS; k++)
        assert_int_equal(masked(frame += 60, 4, false).differs, 0);
    assert_int_equal(masked(frame += 60, 5, true).differs, KL_VERDICT_NOTED);
    for (unsigned k = 0; k < KL_MASKED_LABELS; k++)
        assert_int_equal(masked(frame += 60, 4, true).differs, 0);
    assert_int_equal(masked(frame += 60, 5, true).differs, 1);
}

/* One machine without the mask: by the word of one, states are only noted. */
TEST_WITH(masked_states_count_between_masked_ones_alone, verdict_fresh, NULL) {
    uint32_t frame = 59;
    for (unsigned k = 0; k < KL_MASKED_LABELS; k++)
        assert_int_equal(masked(frame += 60, 4, false).differs, 0);
    kl_verdict_expect(&table, frame += 60);
    for (unsigned c = 0; c < 2; c++) {
        struct kl_hash h = ram_state(frame, 1, 4 + c);
        h.has |= c ? KL_HASH_MASKED : 0;
        report(c, h);
    }
    assert_int_equal(verdict_next(3, SOON).differs, KL_VERDICT_NOTED);
}

/* Noted by the word of one, for its machine may be of another system. In full by the word of both. */
TEST_WITH(states_that_count_in_full, verdict_fresh, NULL) {
    for (unsigned of = 0; of < 9; of++) {
        static const uint8_t counts[] = {0, KL_HASH_FULL, KL_HASH_NOTED};
        verdict_fresh(NULL);
        kl_verdict_expect(&table, 59);
        for (unsigned c = 0; c < 2; c++) {
            struct kl_hash h = ram_state(59, 1, c ? 5 : 4);
            h.has |= counts[c ? of / 3 : of % 3];
            report(c, h);
        }
        struct kl_verdict v = verdict_next(3, SOON);
        assert_int_equal(v.differs, of == 4 ? 1 : KL_VERDICT_NOTED);
        assert_int_equal(v.parts, KL_HASH_STATE);
        assert_int_equal(table.any_bad, of == 4);
    }
}

/* Without RAM and picture there is nothing else; once they were equal, they hold nothing of the host's. */
TEST_WITH(a_state_alone_counts_once_it_has_agreed, verdict_fresh, NULL) {
    for (unsigned n = 0; n < 3; n++) {
        kl_verdict_expect(&table, 59 + 60 * n);
        for (unsigned c = 0; c < 3; c++)
            report(c, state_only(59 + 60 * n, c == 1 && n != 1 ? 5 : 4));
        struct kl_verdict v = verdict_next(7, SOON);
        assert_int_equal(v.differs, n == 0 ? KL_VERDICT_NOTED : n == 1 ? 0 : 1);
        assert_int_equal(v.parts, n == 0 ? KL_HASH_STATE | KL_PARTS_NOTHING : n == 1 ? 0 : KL_HASH_STATE);
        assert_int_equal(v.minority, n == 1 ? 0 : n == 0 ? 0 : 2);
    }
}

/* A newcomer by a snapshot has no picture for its first label, and the states of many cores part after a
 * load. */
TEST_WITH(a_state_alone_counts_in_no_label_without_a_picture, verdict_fresh, NULL) {
    for (unsigned n = 0; n < 4; n++) {
        uint32_t label = 59 + 60 * n;
        has_loaded = n == 3 ? 4 : 0;
        kl_verdict_expect(&table, label);
        for (unsigned c = 0; c < 3; c++) {
            struct kl_hash h = state_only(label, n > 1 && c == 2 ? 5 : 4);
            h.has |= n == 0 || c < 2 ? KL_HASH_PICTURE : 0;
            report(c, h);
        }
        struct kl_verdict v = verdict_next(7, SOON);
        assert_int_equal(v.differs, n > 1 ? KL_VERDICT_NOTED : 0);
        assert_false(table.any_bad);
    }
}

TEST_WITH(one_alone_agrees_with_nobody, verdict_fresh, NULL) {
    kl_verdict_expect(&table, 59);
    report(0, state_only(59, 4));
    assert_int_equal(verdict_next(1, SOON).differs, 0);
    assert_false(table.states_agreed);
}

/* A byte of video RAM: in the picture, and not in RAM. */
TEST_WITH(the_picture_counts_beside_ram, verdict_fresh, NULL) {
    kl_verdict_expect(&table, 59);
    for (unsigned c = 0; c < 3; c++) {
        struct kl_hash h = ram_state(59, 1, c);
        h.has |= KL_HASH_PICTURE;
        h.picture = c == 1 ? 8 : 7;
        report(c, h);
    }
    struct kl_verdict v = verdict_next(7, SOON);
    assert_int_equal(v.differs, 1);
    assert_int_equal(v.parts, KL_HASH_PICTURE);
    assert_int_equal(v.minority, 2);
    assert_true(verdict_camps(59, members_of(7)).picture);
}

TEST_WITH(ram_outweighs_state_in_naming, verdict_fresh, NULL) {
    kl_verdict_expect(&table, 59);
    report(0, ram_state(59, 1, 4)); /* with 1 against 2, whatever their states */
    report(1, ram_state(59, 1, 5));
    report(2, ram_state(59, 2, 4));
    assert_int_equal(verdict_next(7, SOON).minority, 4);
}

TEST_WITH(silence_is_waited_for_but_not_for_ever, verdict_fresh, NULL) {
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

TEST_WITH(a_client_that_leaves_is_not_waited_for, verdict_fresh, NULL) {
    kl_verdict_expect(&table, 59);
    report(0, ram_state(59, 1, 4));
    verdict_none(3, SOON);
    assert_true(verdict_next(1, SOON).complete);
}

TEST_WITH(the_first_difference_stays_the_first, verdict_fresh, NULL) {
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

TEST_WITH(one_report_each, verdict_fresh, NULL) {
    kl_verdict_expect(&table, 59);
    report(0, ram_state(59, 1, 4));
    struct kl_hash again = ram_state(59, 2, 4);
    assert_int_equal(kl_verdict_report(&table, 0, &again, false, SOON), KL_E_STATE);
    report(1, ram_state(59, 1, 4));
    assert_int_equal(verdict_next(3, SOON).differs, 0);
}

TEST_WITH(a_label_of_no_keyframe_is_compared_too, verdict_fresh, NULL) {
    kl_verdict_expect(&table, 1199);
    report(0, ram_state(1009, 1, 4));
    verdict_none(3, SOON);
    report(1, ram_state(1009, 1, 4));
    struct kl_verdict v = verdict_next(3, SOON);
    assert_int_equal(v.frame, 1009);
    assert_true(v.complete);
    verdict_none(3, SOON);
}

TEST_WITH(a_flood_of_labels_pushes_nothing_out, verdict_fresh, NULL) {
    kl_verdict_expect(&table, 59);
    for (uint32_t f = 100; f < 5000; f++)
        report(3, ram_state(f, f, f));
    report(0, ram_state(59, 1, 4));
    report(1, ram_state(59, 1, 4));
    assert_int_equal(verdict_next(3, SOON).frame, 59);
}

TEST_WITH(a_full_table_forgets_the_oldest, verdict_fresh, NULL) {
    for (uint32_t n = 0; n <= KL_VERDICT_LABELS_MOST; n++)
        kl_verdict_expect(&table, n * 10 + 9);
    for (unsigned c = 0; c < 2; c++)
        report(c, ram_state(KL_VERDICT_LABELS_MOST * 10 + 9, 1, 1));
    assert_int_equal(verdict_next(3, SOON).frame, KL_VERDICT_LABELS_MOST * 10 + 9);
    assert_int_equal(table.end - table.begin, KL_VERDICT_LABELS_MOST);
}

/* A core may keep more than its states hold. */
TEST_WITH(after_a_load_unequal_states_are_noted, verdict_fresh, NULL) {
    has_loaded = 1 << 0;
    for (unsigned i = 0; i < 3; i++) {
        kl_verdict_expect(&table, 59 + 60 * i);
        for (unsigned k = 0; k < 3; k++) {
            struct kl_hash h = ram_state(59 + 60 * i, i == 1 && k == 0 ? 9 : 1, k == 0 ? 4 : 5);
            h.has |= i == 2 ? KL_HASH_FULL : 0;
            report(k, h);
        }
    }
    assert_int_equal(verdict_next(7, SOON).differs, KL_VERDICT_NOTED);
    struct kl_verdict ram = verdict_next(7, SOON);
    assert_int_equal(ram.differs, 1);
    assert_int_equal(ram.minority, 1);
    assert_int_equal(verdict_next(7, SOON).differs, 1); /* a profile says that all of the state counts */
}

TEST_WITH(a_load_hides_no_others, verdict_fresh, NULL) {
    has_loaded = 1 << 0;
    kl_verdict_expect(&table, 59);
    for (unsigned k = 0; k < 4; k++) {
        struct kl_hash h = ram_state(59, 1, k == 3 ? 6 : 5);
        h.has |= KL_HASH_PICTURE;
        h.picture = k == 3;
        report(k, h);
    }
    struct kl_verdict v = verdict_next(15, SOON);
    assert_int_equal(v.differs, 1);
    struct kl_verdict_camps c = verdict_camps(59, members_of(15));
    assert_int_equal(c.right, 7);
    assert_true(c.ram && c.picture);
}
