/* takeover.h - options and saves of a bare core, given to the wrapped one: by copy, once. RetroArch keeps
 * both under a core's library_name, and the wrapped core has another. */
#ifndef KLT_TAKEOVER_H
#define KLT_TAKEOVER_H

#include "core_wrapper/tool/place.h"

/* Copies what lies in folders of the name `bare` to folders of the name `locked`, files that are named after
 * the core renamed; a folder that is there already is left alone. Counts files in *copied. 0, or -1 with a
 * line in err: then some of it may be copied. */
int kl_takeover(const struct kl_place *p, const char *bare, const char *locked, unsigned *copied, char *err,
                size_t err_len);

#endif
