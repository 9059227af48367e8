/* unit.h - cmocka with the headers that it wants before it, for the engine's unit tests. */
#ifndef TEST_UNIT_H
#define TEST_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* A name of so many characters, each of four bytes: the longest that there is. out: 4 * chars + 1 bytes. */
static inline void wide_name(char *out, unsigned chars) {
    *out = 0;
    while (chars--)
        strcat(out, "\xf0\x9f\x8e\xae");
}

#endif
