/* patch.h - soft patches: the frontend changes the content's bytes before the core gets them. RetroArch takes
 * the first of GAME.ips, .bps, .ups and .xdelta beside the content and those numbered after it (GAME.ips1),
 * or the file of --ips and the like. docs/design.md §5. */
#ifndef KLW_PATCH_H
#define KLW_PATCH_H

#include "core_wrapper/core/content.h"

/* name: the patch that the frontend has applied to its first file, in printable ASCII without brackets,
 * commas and semicolons ("_" in their place), cut in front; KL_PATCH_ELSEWHERE if the bytes are others than
 * the file's, and no patch lies beside it. "": none, or the core reads the file itself. Reads the file. */
#define KL_PATCH_ELSEWHERE "named elsewhere"
void kl_patch_find(const struct retro_game_info *item, char name[KL_PATCH_NAME]);

#endif
