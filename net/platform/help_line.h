/* help_line.h - an option in a program's help: the flag, then its text from a column on, in lines of 120
 * characters. */
#ifndef KL_HELP_LINE_H
#define KL_HELP_LINE_H

#include <stdio.h>

/* Texts have backquotes around words of the command line, as the documents need them; here they are left out.
 */
void kl_help_line(FILE *out, const char *flag, unsigned column, const char *text);

#endif
