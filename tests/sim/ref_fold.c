#include "tests/sim/ref_fold.h"

#include <stdio.h>

#define PENDING 32

static uint64_t down(const struct ref_seat *pad, uint32_t k) {
    return ref_buttons(&pad->at[k % REF_RING]);
}

/* "The longest run that hides no edge", for one pad: the number of the sample after its last. */
static uint32_t run_end(const struct ref_seat *pad, uint64_t shown, uint32_t from, uint32_t end, bool known) {
    if (known && (down(pad, from) & shown & ~down(pad, from - 1)))
        return from; /* the release before it shows first */
    for (uint32_t i = from + 1; i < end; i++) {
        uint64_t pressed = down(pad, i) & ~down(pad, i - 1), any = 0;
        for (uint32_t k = from; k < i; k++)
            any |= down(pad, k);
        if (pressed & shown & ~down(pad, from)) return i; /* this frame is the first to show it released */
        if (pressed & any) return i - 1;                  /* released within the run itself */
    }
    return end;
}

static unsigned ones(uint64_t x) {
    unsigned n = 0;
    for (; x; x &= x - 1)
        n++;
    return n;
}

/* As many presses as the samples had, no more and no fewer: whatever the rule above says. */
static void check_presses(struct ref_relay *r, unsigned pad, uint32_t from, uint32_t end,
                          const struct kl_input *shown) {
    const struct ref_seat *p = &r->pad[pad];
    uint64_t before = ref_buttons(&r->shown[r->plays[pad]]), now = ref_buttons(shown), again = 0, pressed = 0;
    for (uint32_t k = from; k < end; k++) {
        uint64_t press = down(p, k) & ~down(p, k - 1);
        again |= press & pressed;
        pressed |= press;
    }
    if (again)
        snprintf(r->error, sizeof r->error, "pad=%u two presses in samples %u..%u show as one", pad, from,
                 end - 1);
    if (pressed & ~(now & ~before))
        snprintf(r->error, sizeof r->error, "pad=%u a press in samples %u..%u (%u buttons) does not show",
                 pad, from, end - 1, ones(pressed & ~(now & ~before)));
    if (end > from && (now & ~before & ~pressed))
        snprintf(r->error, sizeof r->error, "pad=%u a press shows that samples %u..%u did not have", pad,
                 from, end - 1);
}

/* Nothing new: the remainder of the last one. */
static void add(struct ref_seat *pad, uint32_t from, uint32_t end, bool known, struct kl_input *out) {
    if (from < end)
        ref_add(pad, out, from, end, from);
    else if (known)
        ref_add(pad, out, from - 1, from, from);
}

static void fold_client(struct ref_relay *r, struct ref_client *c, struct kl_frame *out,
                        uint32_t range[KL_MAX_SEATS][2]) {
    uint32_t from = c->unused,
             all = c->next_sample < r->now.samples_end ? c->next_sample : r->now.samples_end;
    bool known = from > c->resumed; /* the sample before is one of this presence */
    if (all < from) all = from;
    uint32_t end = all;
    for (unsigned s = 0; s < KL_MAX_SEATS && all > from; s++) {
        if (!(c->pads >> s & 1)) continue;
        uint32_t to = run_end(&r->pad[s], ref_buttons(&r->shown[r->plays[s]]), from, all, known);
        if (to < end) end = to;
    }
    bool forced = all - end > PENDING || c->next_sample - from > KL_WINDOW_FRAMES;
    if (forced) end = all;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        if (!(c->pads >> s & 1)) continue;
        struct kl_input *in = &out->in[r->plays[s]];
        add(&r->pad[s], from, end, known, in);
        if (from < end || known) r->made |= (uint8_t)(1u << s);
        if (from < end) range[s][0] = from, range[s][1] = end;
        bool swapped = r->next == r->now.at.first && r->now.swapped; /* the seat's sample was another's */
        if (!forced && known && !swapped && !c->moved && from < end) check_presses(r, s, from, end, in);
    }
    if (from < end) c->moved = false;
    c->unused = end;
}

void ref_fold(struct ref_relay *r, struct kl_frame *out, uint32_t range[KL_MAX_SEATS][2]) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (r->client[i].in_room && r->client[i].pads && r->client[i].presence == REF_PRESENT)
            fold_client(r, &r->client[i], out, range);
}
