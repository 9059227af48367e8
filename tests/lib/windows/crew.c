#include "tests/lib/crew.h"

#include <stdlib.h>

static long begun, ended;

bool crew_forks(void) {
    return false;
}

void *crew_memory(size_t bytes) {
    void *memory = calloc(1, bytes);
    if (!memory) abort();
    return memory;
}

long crew_begin(void (*work)(void *arg), void *arg) {
    work(arg);
    return ++begun;
}

long crew_wait(char why[64]) {
    why[0] = 0;
    return ended < begun ? ++ended : 0;
}

void crew_limit_s(unsigned seconds) {
    (void)seconds;
}
