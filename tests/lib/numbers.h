/* numbers.h - a lie as numbers with names and ranges: read, written, drawn and changed by a search. 0 is the
 * truth. Used by tests/sim and tests/rooms. */
#ifndef TEST_NUMBERS_H
#define TEST_NUMBERS_H

#include <stddef.h>

#include "tests/lib/rng.h"

struct number {
    const char *name;
    int32_t lo, hi;
};

/* "name=value,…" of those that are not 0. */
void numbers_write(const struct number *of, const int32_t *is, unsigned count, char *out, size_t cap);

/* False if a name or value is wrong. */
bool number_read(const struct number *of, int32_t *is, unsigned count, const char *name, int32_t value);

/* Small ones as often as large ones; never 0. */
int32_t number_draw(const struct number *of, struct rng *r);

/* Changes one number or two: a little, wholly, or back to the truth. */
void numbers_change(const struct number *of, int32_t *is, unsigned count, struct rng *r);

#endif
