#include "core_wrapper/frame/press.h"

/* Only a button that frames do not have yet: else a second press would be taken for the first. */
void kl_press_sample(struct kl_press *p, uint16_t buttons, uint64_t now_us) {
    unsigned fresh = buttons & (unsigned)~p->sampled & (unsigned)~p->played;
    p->sampled = buttons;
    if (p->awaited && now_us - p->since_us > KL_PRESS_LOST_US) p->awaited = 0;
    if (p->awaited || !fresh) return;
    p->awaited = (uint16_t)(fresh & -fresh);
    p->since_us = now_us;
}

void kl_press_frame(struct kl_press *p, uint16_t buttons, uint64_t now_us) {
    p->played = buttons;
    if (!(p->awaited & buttons)) return;
    p->took_us = now_us - p->since_us;
    p->awaited = 0;
}
