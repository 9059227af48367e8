/* standard.h - this program's standard streams: lines that come while it waits for other things, too, and
 * bytes that go out. */
#ifndef KL_PLATFORM_STANDARD_H
#define KL_PLATFORM_STANDARD_H

#include <stdbool.h>
#include <stddef.h>

/* Standard input as a number for kl_wait_for(). Call it once; the input stays open until the program ends.
 * -1: there is none. */
int kl_input_open(void);
/* Reads what has come, at most cap bytes: call it when the number is readable. Returns the count; 0: nothing
 * has come; -1: the input has ended. */
int kl_input_read(int input, void *bytes, size_t cap);

/* Writes all bytes to an open descriptor (1: standard output, 2: standard error), and waits as long as its
 * reader takes. False: the reader is gone. */
bool kl_output_write(int descriptor, const void *bytes, size_t len);
/* From now on a line on standard output and standard error ends with \n alone. (Windows would write \r\n.) */
void kl_output_plain(void);

#endif
