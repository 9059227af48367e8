/* the_match.h - the one match of this library, for the exported entry points alone: libretro's functions take
 * no context. */
#ifndef KLW_THE_MATCH_H
#define KLW_THE_MATCH_H

#include "core_wrapper/match/match.h"

extern struct kl_match kl_the_match;
static struct kl_match *const m = &kl_the_match;

#endif
