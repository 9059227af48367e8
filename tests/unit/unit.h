/* unit.h - cmocka with the headers that it wants before it, and TEST, which makes a test of the program.
 * main() is that of tests/lib/unit_main.c, or the program's own, which calls run_all_tests(). */
#ifndef TEST_UNIT_H
#define TEST_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

struct test {
    struct CMUnitTest unit;
    int line;
    struct test *next;
};

/* Remembers a test of this program; t stays the caller's. */
void add_test(struct test *t);

/* Runs this program's tests in the order of their lines; KEYLOCK_TEST=PATTERN: only those that match,
 * KEYLOCK_SKIP=PATTERN: all but those.
 * begin is called before all and finish after all, unless NULL. Returns the number of tests that failed. */
int run_all_tests(int (*begin)(void **state), int (*finish)(void **state));

/* TEST(name) { ... } is a test. TEST_WITH calls begin before it and finish after it, unless they are NULL. */
#define TEST(name) TEST_WITH(name, NULL, NULL)
#define TEST_WITH(name, begin, finish)                                                                       \
    static void name(void **state);                                                                          \
    __attribute__((constructor)) static void add_##name(void) {                                              \
        static struct test this_test = {.unit = {#name, name, begin, finish, NULL}, .line = __LINE__};       \
        add_test(&this_test);                                                                                \
    }                                                                                                        \
    static void name(__attribute__((unused)) void **unused_state)

/* A name of so many characters, each of four bytes: the longest that there is. out: 4 * chars + 1 bytes. */
static inline void wide_name(char *out, unsigned chars) {
    *out = 0;
    while (chars--)
        strcat(out, "\xf0\x9f\x8e\xae");
}

#endif
