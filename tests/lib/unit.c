/* unit.c: see tests/unit/unit.h. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

#define TESTS_MOST 100 /* of one program */

static struct test *first;

void add_test(struct test *t) {
    struct test **at = &first;
    while (*at && (*at)->line < t->line)
        at = &(*at)->next;
    t->next = *at;
    *at = t;
}

int run_all_tests(int (*begin)(void **state), int (*finish)(void **state)) {
    struct CMUnitTest units[TESTS_MOST];
    size_t n = 0;
    for (const struct test *t = first; t; t = t->next) {
        if (n == TESTS_MOST) {
            fprintf(stderr, "expected at most %d tests in one program\n", TESTS_MOST);
            return 1;
        }
        units[n++] = t->unit;
    }
    cmocka_set_test_filter(getenv("KEYLOCK_TEST"));
    cmocka_set_skip_filter(getenv("KEYLOCK_SKIP"));
    return _cmocka_run_group_tests("tests", units, n, begin, finish);
}
