/* travel.h - the libraries that the wrapper needs, put beside it if RetroArch runs in a box that may lack
 * them (Flatpak, Steam). The wrapper looks in "keylock-libs" beside itself first (its RUNPATH). */
#ifndef KLT_TRAVEL_H
#define KLT_TRAVEL_H

#include <stddef.h>

#define KLT_TRAVEL_FOLDER "keylock-libs"

/* Copies them below `cores`. Those of the C library and the compiler stay: they are the box's own.
 * said: their names with blanks between. 0, or -1 with a line in err. */
int kl_travel(const char *wrapper, const char *cores, char *said, size_t said_len, char *err, size_t err_len);

#endif
