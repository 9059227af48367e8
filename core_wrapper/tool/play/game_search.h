/* game_search.h - finds a game among the player's own files: in RetroArch's playlists, in the folders of
 * their games, in its folders of content and downloads, and in Keylock's own. */
#ifndef KLT_GAME_SEARCH_H
#define KLT_GAME_SEARCH_H

#include <stdint.h>

#include "core_wrapper/tool/setup/place.h"

struct kl_game_wanted {
    const char *name; /* a file's name without folders */
    uint32_t crc;     /* CRC-32 of its bytes */
    uint64_t size;    /* their number; 0: the game goes by its name (a set of an arcade core) */
};

/* True with the path, as RetroArch takes it: of a file, or of a file in a zip, "/games/a.zip#a.nes". A game
 * with a checksum is found under any name. own: one folder more, or NULL. Takes as long as it takes to read
 * the files of that very size; looks at 50,000 files at most. */
bool kl_game_search(const struct kl_game_wanted *g, const struct kl_place *place, int places, const char *own,
                    char out[KLT_PATH]);

#endif
