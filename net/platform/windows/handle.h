/* handle.h - waiting for a handle of the system with the precision that the pacing needs. */
#ifndef KL_PLATFORM_WINDOWS_HANDLE_H
#define KL_PLATFORM_WINDOWS_HANDLE_H

#include <stdbool.h>
#include <stdint.h>

/* Waits until the handle is signalled, or until kl_now_us() reaches until_us (UINT64_MAX: for ever). handle:
 * a HANDLE; NULL: none. True: the handle was signalled. */
bool kl_handle_wait(void *handle, uint64_t until_us);

#endif
