/* test_record_rule.c - the rule for a returning client, for every combination of its facts' classes.
 * net/engine/record_rule.h. */
#include "tests/unit/unit.h"

#include "net/engine/record_rule.h"

#define END 1000u

static unsigned cases, of_rule[4];

/* The rule once more, as the page says it: the first line that holds. */
static enum kl_record_rule expected(const struct kl_record_facts *f) {
    bool has_more = f->have > f->end;
    bool is_the_rooms = !has_more && (f->complete || f->match == KL_RECORD_SAME);
    bool state_is_covered = f->state != 0 && f->state < f->end && f->state <= f->have;
    if (f->fresh) return KL_RECORD_ANEW;
    if (is_the_rooms && f->can_catch_up) return f->have == f->end ? KL_RECORD_GO_ON : KL_RECORD_FRAMES;
    if (!is_the_rooms && state_is_covered && f->state_can_catch_up) return KL_RECORD_BACK;
    return KL_RECORD_ANEW;
}

static void look(const struct kl_record_facts *f) {
    enum kl_record_rule rule = kl_record_rule(f);
    cases++;
    of_rule[rule]++;
    assert_int_equal(rule, expected(f));
    if (rule == KL_RECORD_BACK) assert_true(f->state < f->end && f->state_can_catch_up && !f->fresh);
    if (rule == KL_RECORD_GO_ON || rule == KL_RECORD_FRAMES)
        assert_true(f->have <= f->end && f->can_catch_up);
    assert_in_range(strlen(kl_record_why(f)), 1, 79);
}

TEST(every_combination) {
    static const uint32_t have[] = {0, 1, END - 1, END, END + 1, END + 600, UINT32_MAX};
    static const uint32_t own[] = {0, 1, END - 1, END, END + 1, END + 600, UINT32_MAX};
    for (unsigned h = 0; h < sizeof have / sizeof *have; h++)
        for (unsigned s = 0; s < sizeof own / sizeof *own; s++)
            for (unsigned match = 0; match < 3; match++)
                for (unsigned bits = 0; bits < 16; bits++)
                    look(&(struct kl_record_facts){.end = END,
                                                   .complete = bits & 1,
                                                   .fresh = bits & 2,
                                                   .have = have[h],
                                                   .match = (enum kl_record_match)match,
                                                   .can_catch_up = bits & 4,
                                                   .state = own[s],
                                                   .state_can_catch_up = bits & 8});
    assert_int_equal(cases, 7 * 7 * 3 * 16);
    for (unsigned i = 0; i < 4; i++)
        assert_true(of_rule[i] > 0);
}

TEST(digests_are_bytes) {
    uint8_t a[KL_RECORD_DIGEST] = {1}, b[KL_RECORD_DIGEST] = {1};
    assert_int_equal(kl_record_match(NULL, a), KL_RECORD_UNKNOWN);
    assert_int_equal(kl_record_match(a, b), KL_RECORD_SAME);
    b[KL_RECORD_DIGEST - 1] ^= 1;
    assert_int_equal(kl_record_match(a, b), KL_RECORD_OTHER);
}
