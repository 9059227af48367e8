/* input.h - the lines that come on this program's standard input, while it waits for other things, too. */
#ifndef KL_PLATFORM_INPUT_H
#define KL_PLATFORM_INPUT_H

#include <stddef.h>

/* Standard input as a number for kl_wait_for(). Call it once; the input stays open until the program ends.
 * -1: there is none. */
int kl_input_open(void);
/* Reads what has come, at most cap bytes: call it when the number is readable. Returns the count; 0: nothing
 * has come; -1: the input has ended. */
int kl_input_read(int input, void *bytes, size_t cap);

#endif
