#include "tests/lib/unset_core.h"

#include <stdint.h>
#include <string.h>

__attribute__((noinline, no_sanitize("address"))) bool write_unset(void *data, size_t size) {
    uint8_t unset[2048];
    __asm__ volatile("" : "=m"(unset));
    memcpy(data, unset, size < sizeof unset ? size : sizeof unset);
    return true;
}

__attribute__((noinline, no_sanitize("address"))) void leave_on_the_stack(int byte) {
    uint8_t bytes[8192];
    memset(bytes, byte, sizeof bytes);
    __asm__ volatile("" : : "r"(bytes) : "memory");
}
