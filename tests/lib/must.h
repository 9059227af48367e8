/* must.h - assertions of what tests share: they fail a unit test (cmocka), and end any other program. */
#ifndef TEST_MUST_H
#define TEST_MUST_H

/* A broken promise, with or without NDEBUG. */
#define MUST(condition)                                                                                      \
    do {                                                                                                     \
        if (!(condition)) must_fail(__FILE__, __LINE__, #condition);                                         \
    } while (0)

void must_fail(const char *file, int line, const char *what) __attribute__((noreturn, cold));

#endif
