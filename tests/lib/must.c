#include "tests/lib/must.h"

#include <stdio.h>
#include <stdlib.h>

/* cmocka's, in programs that are linked with it. */
__attribute__((weak)) void _fail(const char *file, int line);

void must_fail(const char *file, int line, const char *what) {
    fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
    if (_fail) _fail(file, line);
    abort();
}
