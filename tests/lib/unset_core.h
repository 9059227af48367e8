/* unset_core.h - a core that saves an array of its stack that it never set. */
#ifndef TEST_UNSET_CORE_H
#define TEST_UNSET_CORE_H

#include <stdbool.h>
#include <stddef.h>

/* Its retro_serialize(). */
bool write_unset(void *data, size_t size);
/* Fills the stack with this byte, as the code that ran before would. */
void leave_on_the_stack(int byte);

#endif
