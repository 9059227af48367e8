/* own_font.h - a small font in GNU Unifont's form, for tests: a few letters of several scripts. */
#ifndef TEST_OWN_FONT_H
#define TEST_OWN_FONT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Rows of a letter of one kind: a full block of 8 x 16 or 16 x 16, so that a picture can be measured. */
#define OWN_NARROW "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF"
#define OWN_WIDE   OWN_NARROW OWN_NARROW
#define OWN_O_DOTS "0000242400003C4242424242423C0000" /* with an eye, and two dots over it */
#define OWN_ODD    "0123456789ABCDEF0123456789ABCDEF"

#define OWN_FONT                                                                                             \
    "0020:00000000000000000000000000000000\n"                                                                \
    "003A:" OWN_NARROW "\n"                                                                                  \
    "0061:" OWN_NARROW "\n"                                                                                  \
    "006F:" OWN_NARROW "\n"                                                                                  \
    "007F:" OWN_NARROW "\n"                                                                                  \
    "00F6:" OWN_O_DOTS "\n"                                                                                  \
    "0430:" OWN_NARROW "\n"                                                                                  \
    "0444:" OWN_ODD "\n"                                                                                     \
    "200E:" OWN_NARROW "\n"                                                                                  \
    "5BFE:" OWN_WIDE "\n"                                                                                    \
    "1F3AE:" OWN_WIDE "\n"

/* Writes a file; returns its path, good until the next call. The caller removes it. */
const char *own_file(const void *bytes, size_t len);

#endif
