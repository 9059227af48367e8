/* plain.h - makes text of strangers safe to show: in terminals, logs, a frontend's messages. Pure.
 *
 * On the wire a str is UTF-8 without control characters. Two more kinds of characters are unfit to be shown.
 * U+0080 to U+009F begin control sequences in terminals. U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to
 * U+2069 (UAX #9) turn the direction of writing, and U+2028 and U+2029 end a line, so that the text beside a
 * name reads as part of the name. */
#ifndef KL_PLAIN_H
#define KL_PLAIN_H

#include <stddef.h>

#define KL_PLAIN_OTHER 0x7f   /* stands for every character without an ASCII one that looks like it */
#define KL_PLAIN_BAD   0xfffd /* stands for bytes that are no character */

/* Bytes of the character at s if it is unfit or another control character; 0: it is text, or the end. */
size_t kl_plain_unfit(const char *s);
/* Puts '?' for each of them, in place. Returns text. */
char *kl_plain(char *text);

/* The next character of a UTF-8 text as its number in Unicode; moves *text on. 0 at the end. A byte that
 * begins no character, a character that is cut off, and a form that RFC 3629 forbids are one KL_PLAIN_BAD. */
unsigned kl_plain_code(const char **text);
/* The same as ASCII, without its accent, or KL_PLAIN_OTHER. */
unsigned kl_plain_next(const char **text);

#endif
