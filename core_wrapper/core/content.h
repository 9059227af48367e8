/* content.h - a copy of the frontend's content: retro_game_info is valid only during retro_load_game, and a
 * room loads twice. */
#ifndef KLW_CONTENT_H
#define KLW_CONTENT_H

#include <libretro.h>
#include <stdbool.h>
#include <stddef.h>

#define KL_CONTENT_ITEMS 8  /* of a subsystem */
#define KL_PATCH_NAME    32 /* bytes of a soft patch's name, NUL included */

struct kl_content {
    bool special, none; /* none: the core was started without content */
    unsigned type, count;
    struct retro_game_info item[KL_CONTENT_ITEMS];
    struct retro_game_info_ext ext[KL_CONTENT_ITEMS]; /* from GET_GAME_INFO_EXT, if the frontend has it */
    bool has_ext;
    char stem[256];            /* first item's file name without folder and ending; "": no file */
    char patch[KL_PATCH_NAME]; /* the soft patch that the frontend has applied (patch.h); "": none */
    char refusal[128]; /* the core's error, if the core shows one instead of the game and is in no room; else
                          "" */
};

/* Copies all of it. info NULL: no content. 0, or -1: out of memory, or more than KL_CONTENT_ITEMS. */
int kl_content_keep(struct kl_content *c, bool special, unsigned type, const struct retro_game_info *info,
                    size_t count);
/* Copies the frontend's extended description; data that is the item's own is not copied twice. */
int kl_content_keep_ext(struct kl_content *c, const struct retro_game_info_ext *ext);
void kl_content_free(struct kl_content *c);

#endif
