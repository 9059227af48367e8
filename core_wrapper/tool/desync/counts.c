#include "core_wrapper/tool/desync/verify.h"

#include <string.h>

#define RECENT 64 /* presses of one button that are remembered: more than a second of frames has */

struct walk {
    const struct kl_recording *rec;
    struct kl_counted *out;
    unsigned count, seating, active; /* seating, active: the next ones */
    int owner[KL_MAX_SEATS];         /* place in out; -1: nobody */
    uint8_t active_seats;
    uint32_t second; /* in frames */
    uint16_t held[KL_MAX_SEATS];
    struct {
        uint32_t at[RECENT], presses;
    } button[KL_MAX_SEATS][16];
};

static int player_of(struct walk *w, const struct kl_recorded_seats *s) {
    for (unsigned i = 0; i < w->count; i++)
        if (w->out[i].client == s->client && !strcmp(w->out[i].name, s->name)) return (int)i;
    if (w->count == KLT_COUNTED) return -1;
    w->out[w->count] = (struct kl_counted){.client = s->client};
    memcpy(w->out[w->count].name, s->name, KL_NAME_MAX);
    return (int)w->count++;
}

/* Up to this frame, which is not before the last one: seats and activity, and the time of those away. */
static void go_to(struct walk *w, uint32_t *at, uint32_t frame) {
    const struct kl_recording *r = w->rec;
    while (*at < frame) {
        uint32_t next = frame;
        while (w->seating < r->seatings && r->seats[w->seating].frame <= *at) {
            const struct kl_recorded_seats *s = &r->seats[w->seating++];
            int player = s->seats ? player_of(w, s) : -1;
            for (unsigned seat = 0; seat < KL_MAX_SEATS; seat++) {
                bool had = w->owner[seat] >= 0 && w->out[w->owner[seat]].client == s->client;
                if (s->seats >> seat & 1)
                    w->owner[seat] = player;
                else if (had)
                    w->owner[seat] = -1;
            }
        }
        while (w->active < r->actives && r->active[w->active].frame <= *at)
            w->active_seats = r->active[w->active++].seats;
        if (w->seating < r->seatings && r->seats[w->seating].frame < next) next = r->seats[w->seating].frame;
        if (w->active < r->actives && r->active[w->active].frame < next) next = r->active[w->active].frame;
        for (unsigned s = 0; s < KL_MAX_SEATS; s++)
            if (w->owner[s] >= 0 && !(w->active_seats >> s & 1)) w->out[w->owner[s]].away += next - *at;
        *at = next;
    }
}

static void press(struct walk *w, const struct kl_recorded_input *in, unsigned bit) {
    struct kl_counted *p = w->owner[in->seat] >= 0 ? &w->out[w->owner[in->seat]] : NULL;
    uint32_t n = w->button[in->seat][bit].presses++, within = 1;
    w->button[in->seat][bit].at[n % RECENT] = in->frame;
    while (within < RECENT && within <= n &&
           in->frame - w->button[in->seat][bit].at[(n - within) % RECENT] < w->second)
        within++;
    if (!p) return;
    p->presses++;
    if (within > p->fastest) p->fastest = within;
}

/* --- desyncs --- */

/* Differing states alone do not count where RAM is equal. */
static bool is_other(const struct kl_klr_hash *a, const struct kl_klr_hash *b) {
    unsigned both = a->has & b->has;
    if (both & KL_HASH_RAM && a->ram != b->ram) return true;
    if (both & KL_HASH_PICTURE && a->picture != b->picture) return true;
    return !(both & KL_HASH_RAM) && both & KL_HASH_STATE && a->state != b->state;
}

static void count_desync(struct walk *w, uint32_t label, uint16_t clients) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        const struct kl_recorded_seats *last = NULL;
        for (unsigned k = 0; clients >> i & 1 && k < w->rec->seatings; k++)
            if (w->rec->seats[k].client == i && w->rec->seats[k].seats && w->rec->seats[k].frame <= label)
                last = &w->rec->seats[k];
        int player = last ? player_of(w, last) : -1;
        if (player >= 0) w->out[player].desyncs++;
    }
}

static void count_desyncs(struct walk *w) {
    const struct kl_recording *r = w->rec;
    unsigned at = 0;
    for (unsigned i = 0; i < r->others; i++) {
        const struct kl_klr_hash *o = &r->other[i];
        if (at && r->hash[at - 1].label >= o->label) at = 0;
        while (at < r->hashes && r->hash[at].label < o->label)
            at++;
        if (at == r->hashes || r->hash[at].label != o->label || !is_other(&r->hash[at], o)) continue;
        bool tie = __builtin_popcount(r->hash[at].clients) == __builtin_popcount(o->clients);
        count_desync(w, o->label, tie ? o->clients | r->hash[at].clients : o->clients);
    }
}

unsigned kl_counts(const struct kl_recording *r, struct kl_counted out[KLT_COUNTED]) {
    struct walk walk = {.rec = r, .out = out, .second = 60}, *w = &walk;
    uint32_t at = r->first;
    if (r->room.has_params) w->second = (r->room.params.fps_uhz + 500000) / 1000000;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        w->owner[s] = -1;
    for (unsigned i = 0; i < r->inputs; i++) {
        if (r->input[i].frame >= r->whole) break;
        go_to(w, &at, r->input[i].frame + 1);
        const struct kl_recorded_input *in = &r->input[i];
        uint16_t fresh = in->in.joypad & (uint16_t)~w->held[in->seat];
        w->held[in->seat] = in->in.joypad;
        for (unsigned bit = 0; fresh >> bit; bit++)
            if (fresh >> bit & 1) press(w, in, bit);
    }
    go_to(w, &at, r->whole);
    count_desyncs(w);
    return w->count;
}
