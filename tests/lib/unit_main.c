/* unit_main.c: the main() of a test program that has none of its own. */
#include "tests/unit/unit.h"

int main(void) {
    return run_all_tests(NULL, NULL);
}
