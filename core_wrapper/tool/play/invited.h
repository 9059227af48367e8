/* invited.h - a player with an invitation (a link, net/session/url.h): core and game among the player's own,
 * and the question before a link of somebody else's is followed. */
#ifndef KLT_INVITED_H
#define KLT_INVITED_H

#include "core_wrapper/tool/setup/place.h"
#include "net/session/url.h"

/* Finds the link's core and game; each buffer is NULL if the player has named that one. True; or false with
 * one line in missing, with the remedy. */
bool kl_invited_find(const struct kl_url *url, char core[KLT_PATH], char content[KLT_PATH], char *missing,
                     size_t missing_len);

/* True if the player may be taken there: the relay is the set one, or the player has used it before by its
 * name; else asks on the terminal, and only "y" or "yes" agrees. */
bool kl_invited_agreed(const struct kl_url *url);

#endif
