/* rand_use.h - the cores whose use of rand() is known. docs/cores.md "rand()". */
#ifndef KLW_RAND_USE_H
#define KLW_RAND_USE_H

#include "core_wrapper/world/world.h"

/* library_name: the core's; blanks at its end and a remark in () behind it, such as "(cpsneo subset)", do not
 * count. content: its path; NULL: none, or not yet known. Both borrowed for the call; library_name may be
 * NULL. KL_RAND_SYSTEM: the use is unknown. */
enum kl_rand_use kl_rand_use(const char *library_name, const char *content);

#endif
