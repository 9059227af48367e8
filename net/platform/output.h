/* output.h - bytes to this program's standard output and error. */
#ifndef KL_PLATFORM_OUTPUT_H
#define KL_PLATFORM_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

/* Writes all bytes to an open descriptor (1: standard output, 2: standard error), and waits as long as its
 * reader takes. False: the reader is gone. */
bool kl_output_write(int descriptor, const void *bytes, size_t len);
/* From now on a line on standard output and standard error ends with \n alone. (Windows would write \r\n.) */
void kl_output_plain(void);

#endif
