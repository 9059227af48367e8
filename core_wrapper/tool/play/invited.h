/* invited.h - a player with an invitation (a link, net/session/url.h): core and game among the player's own,
 * and the question before a link of somebody else's is followed. */
#ifndef KLT_INVITED_H
#define KLT_INVITED_H

#include <stdint.h>

#include "core_wrapper/tool/setup/place.h"
#include "net/session/url.h"

/* Finds a game among the player's own files: in RetroArch's playlists, in the folders of
 * their games, in its folders of content and downloads, and in Keylock's own. */

struct kl_game_wanted {
    const char *name; /* a file's name without folders */
    uint32_t crc;     /* CRC-32 of its bytes */
    uint64_t size;    /* their number; 0: the game goes by its name (a set of an arcade core) */
};

/* Finds the link's core and game; each buffer is NULL if the player has named that one. True; or false with
 * one line in missing, with the remedy. */
bool kl_invited_find(const struct kl_url *url, char core[KLT_PATH], char content[KLT_PATH], char *missing,
                     size_t missing_len);

/* True if the player may be taken there: the relay is the set one, or the player has used it before by its
 * name; else asks on the terminal, and only "y" or "yes" agrees. */
bool kl_invited_agreed(const struct kl_url *url);

#endif
