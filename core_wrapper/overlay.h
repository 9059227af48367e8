/* overlay.h - what the wrapper shows of the session's state: it keeps the figures of the last ten seconds,
 * tells the player of a state that lasts, and draws panel and lines over the picture where that is wanted. */
#ifndef KLW_OVERLAY_H
#define KLW_OVERLAY_H

#include "net/transport/link.h"
#include "core_wrapper/panel.h"

/* A session begins or ends: no figures yet. */
void kl_overlay_reset(void);
/* One call of retro_run in a room, before anything is shown in it. */
void kl_overlay_turn(uint64_t now_us);

/* The words for the desync that the relay has found. */
void kl_overlay_desync(char line[KL_PANEL_LINE]);

/* Pure: what the link's status says of the panel. away: the seats that are shown so (away.h). plays[s]:
 * the seat that the pads of seat s play. The rest of p is left as it is. */
void kl_panel_fill(struct kl_panel *p, const struct kl_link_status *s, uint8_t away,
                   const uint8_t plays[KL_MAX_SEATS]);

#endif
