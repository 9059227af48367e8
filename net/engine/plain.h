/* plain.h - text of strangers where it is shown as lines: terminals, logs, a frontend's messages. Pure.
 *
 * On the wire a str is UTF-8 without control characters. Two more kinds of characters make of a name or a
 * line more than text once it is shown: U+0080 to U+009F, which terminals take for the beginning of orders,
 * and those that turn the direction of writing (UAX #9: U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to
 * U+2069) or end a line (U+2028, U+2029), by which what stands beside a name reads as part of it. */
#ifndef KL_PLAIN_H
#define KL_PLAIN_H

#include <stdbool.h>
#include <stddef.h>

#define KL_PLAIN_OTHER 0x7f /* stands for every character without an ASCII one that looks like it */

/* Bytes of the character at s where it is one of these, or another control character; 0: it is text, or the
 * end. */
size_t kl_plain_unfit(const char *s);
/* Puts '?' for each of them, in place. Returns text. */
char *kl_plain(char *text);

/* The next character of a UTF-8 text as ASCII, without its accent, or KL_PLAIN_OTHER; moves *text on. 0 at
 * the end. A byte that begins no character, or a character that is cut off, is one KL_PLAIN_OTHER. */
unsigned kl_plain_next(const char **text);
/* Does the text read as that word, which is in small ASCII letters? Accents, capitals and blanks around it do
 * not count. */
bool kl_plain_reads(const char *text, const char *word);

#endif
