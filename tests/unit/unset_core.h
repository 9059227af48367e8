/* unset_core.h - a core that saves an array of its stack that it never set. */
#ifndef TEST_UNSET_CORE_H
#define TEST_UNSET_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

__attribute__((noinline, no_sanitize("address"))) static bool write_unset(void *data, size_t size) {
    uint8_t unset[2048];
    __asm__ volatile("" : "=m"(unset));
    memcpy(data, unset, size < sizeof unset ? size : sizeof unset);
    return true;
}

/* What ran before the core was asked. */
__attribute__((noinline, no_sanitize("address"))) static void leave_on_the_stack(int byte) {
    uint8_t bytes[8192];
    memset(bytes, byte, sizeof bytes);
    __asm__ volatile("" : : "r"(bytes) : "memory");
}

#endif
