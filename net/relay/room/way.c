#include "net/relay/room/way.h"

#define PACE       5        /* times the room's: how fast a machine replays if nothing is known of it */
#define STUCK_US   5000000  /* for a keyframe to come at which the room serializes */
#define LOAD_US    10000000 /* for a snapshot to be loaded, once it is offered */
#define LOAD_LEAST 8192     /* bytes a second at which a snapshot comes, at least */
#define BACK_US    30000000 /* for a client to load its own state and to run the frames since again */

enum kl_way kl_way_choose(const struct kl_way_facts *f) {
    if (f->have == 0 && !f->start) return KL_WAY_NONE;
    if (f->history && f->end - f->have <= f->limit) return KL_WAY_HISTORY;
    /* A snapshot that took long to give is as old as the next one would be. */
    uint32_t frames = f->snapshot ? f->end - f->keyframe : f->history ? f->end - f->have : UINT32_MAX;
    bool recent = frames <= f->limit || (f->made && f->keyframe >= f->made);
    if (f->snapshot && recent) return KL_WAY_SNAPSHOT;
    bool worth_it = f->another && ((uint64_t)f->another_end - f->end) * PACE < frames;
    if (worth_it && f->coming) return KL_WAY_COMING;
    if (worth_it && !f->stuck) return KL_WAY_ORDER;
    if (f->snapshot) return KL_WAY_SNAPSHOT;
    if (f->history) return KL_WAY_HISTORY;
    return worth_it ? KL_WAY_ORDER : KL_WAY_NONE; /* a room that stands still serializes nothing */
}

uint32_t kl_way_limit(double fps, uint32_t room_uhz, unsigned seconds) {
    double frames = (fps > 0 ? fps : PACE * (room_uhz / 1e6)) * seconds;
    return frames < UINT32_MAX ? (uint32_t)frames : UINT32_MAX;
}

void kl_way_set_out(struct kl_way_trip *t, uint64_t now_us) {
    t->step = KL_WAY_WAITS;
    t->since_us = now_us;
}

bool kl_way_is_stuck(const struct kl_way_trip *t, bool comes, uint64_t now_us) {
    return t->step == KL_WAY_WAITS && !comes && now_us >= t->since_us + STUCK_US;
}

void kl_way_go(struct kl_way_trip *t) {
    t->step = KL_WAY_GOES;
}

void kl_way_load(struct kl_way_trip *t, uint32_t keyframe, uint32_t packed, uint64_t now_us) {
    t->step = KL_WAY_LOADS;
    t->offered = true;
    t->keyframe = keyframe;
    if (!t->heals) t->begins = keyframe;
    t->load_by_us = now_us + LOAD_US + packed * UINT64_C(1000000) / LOAD_LEAST;
}

void kl_way_back(struct kl_way_trip *t, uint32_t keyframe, uint64_t now_us) {
    t->step = KL_WAY_BACK;
    t->keyframe = keyframe;
    t->load_by_us = now_us + BACK_US;
}

bool kl_way_is_late(const struct kl_way_trip *t, uint64_t now_us) {
    bool timed = t->step == KL_WAY_BACK || (t->step == KL_WAY_LOADS && !t->heals);
    return timed && now_us >= t->load_by_us;
}

enum kl_way_loaded kl_way_loaded(struct kl_way_trip *t, const struct kl_healed *h) {
    bool back = t->step == KL_WAY_BACK;
    if ((!back && t->step != KL_WAY_LOADS) || h->keyframe != t->keyframe) return KL_WAY_LOADED_NOTHING;
    t->step = KL_WAY_GOES;
    if (back) return h->how == KL_HEALED_NOT || h->next != t->keyframe ? KL_WAY_NOT_BACK : KL_WAY_IS_BACK;
    if (h->how == KL_HEALED_NOT) {
        t->no_states = true;
        return KL_WAY_NOT_LOADED;
    }
    t->unproved = true;
    return KL_WAY_LOADED;
}
