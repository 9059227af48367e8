/* talking.h - the player's voice in a room: switches it on and off (core_wrapper/voice/talk.h), and says what
 * becomes of it. */
#ifndef KLW_TALKING_H
#define KLW_TALKING_H

#include <stdbool.h>
#include <stddef.h>

struct kl_match;
struct kl_panel;
struct kl_voice_box;

/* A link is to be opened: the box that it gets, this module's to drop. NULL: no memory. */
struct kl_voice_box *kl_talking_joins(struct kl_match *m);
/* Once a call of retro_run, with a link: follows the player's setting. */
void kl_talking_turn(struct kl_match *m);
/* The link is to be closed. */
void kl_talking_leave(struct kl_match *m);
/* The player's voice: "off", "on" or "push" (to talk). As kl_command_do(). */
int kl_talking_switch(struct kl_match *m, const char *how, char *answer, size_t cap);
/* The hot key for speaking was pushed. As kl_command_do(). */
int kl_talking_key(struct kl_match *m, char *answer, size_t cap);
/* A client of the room is not heard on this machine any more, or again. True: it is muted now. */
bool kl_talking_mute(struct kl_match *m, unsigned client);
/* A client of the room is heard on this machine at so many percent, 0 to 200. */
void kl_talking_volume(struct kl_match *m, unsigned client, unsigned percent);
/* Fills in the panel's members that speak, and the voice's state. */
void kl_talking_show(struct kl_match *m, struct kl_panel *p);

#endif
