/* overlay.h - the panel and the one line over the core's picture, and the words of a refusal. */
#ifndef KLW_OVERLAY_H
#define KLW_OVERLAY_H

#include "core_wrapper/screen/panel.h"

struct kl_match;

/* --- the panel and the line --- */

/* Decides when the panel and the one line show. Keeps the figures of the last ten seconds and draws over the
 * core's picture. The text comes from panel_state.c and panel.c (panel.h). */

/* A session begins or ends: forget all figures. */
void kl_overlay_reset(struct kl_match *m);
/* One call of retro_run in a room, before anything is shown in it. */
void kl_overlay_turn(struct kl_match *m, uint64_t now_us);

/* A match begins here: names the players and their numbers. */
void kl_overlay_begin(struct kl_match *m);

/* The room asks its players something, and pauses until they have answered. Without a screen it is logged. */
void kl_overlay_ask(struct kl_match *m, const char *line);

/* The words for the desync that the relay has found. */
void kl_overlay_desync(struct kl_match *m, char line[KL_PANEL_LINE]);

/* Copies the numbers of the link and of the room into the panel (panel_fill.c). All other members of p stay
 * as they are. */
void kl_panel_fill(struct kl_match *m, struct kl_panel *p);

/* --- refusals: advice.c --- */

/* The first line of a refusal: the player's next step, without hashes. The whole reason stays in the log.
 * Pure. */

#define KL_ADVICE_MAX 200 /* bytes of a line, NUL included */

/* refused: enum kl_refuse, or 0 if the relay did not refuse. reason: one line, as the relay or the client
 * wrote it. room: its name. */
void kl_advice(unsigned refused, const char *reason, const char *room, char out[KL_ADVICE_MAX]);

#endif
