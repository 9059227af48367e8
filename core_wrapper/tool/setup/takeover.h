/* takeover.h - options and saves of a bare core, given to the wrapped one: by copy, once. RetroArch keeps
 * both under a core's library_name, and the wrapped core has another. */
#ifndef KLT_TAKEOVER_H
#define KLT_TAKEOVER_H

#include "core_wrapper/tool/setup/place.h"

/* Copies the files of folders named `bare` to folders named `locked`; files named after the core get the new
 * name. An existing folder stays as it is. Counts files in *copied. Returns 0, or -1 with a line in err:
 * some files may then be copied. */
int kl_takeover(const struct kl_place *p, const char *bare, const char *locked, unsigned *copied, char *err,
                size_t err_len);

#endif
