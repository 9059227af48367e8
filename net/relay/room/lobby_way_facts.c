/* The facts by which a member's way to the present is chosen (way.h). */
#include "net/relay/room/lobby_room.h"

#define FAILURES                                                                                             \
    2 /* to get a snapshot, in a row, or of newcomers with one: the room counts as without states */

bool kl_lobby_way_has_states(const struct kl_lobby_room *r) {
    return !r->shot.unfit && r->shot.in_a_row < FAILURES && r->shot.begins_apart < FAILURES;
}

/* The snapshot that comes up just now, if it can be sent on at once. */
struct kl_lobby_packed *kl_lobby_way_coming(const struct kl_lobby_room *r, const struct kl_way_trip *t) {
    struct kl_lobby_packed *k = r->shot.phase == KL_SHOT_GIVING ? r->shot.coming : NULL;
    return k && k->keyframe > t->have && kl_lobby_past_reaches(r, k->keyframe) ? k : NULL;
}

bool kl_lobby_way_has_beginning(const struct kl_lobby_room *r) {
    return kl_lobby_start_is_kept(r) && kl_lobby_past_reaches(r, 0);
}

bool kl_lobby_snapshot_reaches(const struct kl_lobby_room *r) {
    return r->shot.kept && kl_lobby_past_reaches(r, r->shot.kept->keyframe);
}

struct kl_way_facts kl_lobby_way_facts(const struct kl_lobby_room *r, const struct kl_way_trip *t) {
    const struct kl_lobby_packed *kept = kl_lobby_snapshot_reaches(r) ? r->shot.kept : NULL;
    return (struct kl_way_facts){
        .end = r->lock.next_close,
        .have = t->have,
        .limit = kl_way_limit(t->fps, r->params.fps_uhz, r->lobby->limits.catch_up_s),
        .made = t->made,
        .start = kl_lobby_start_is_kept(r),
        .history = kl_lobby_past_reaches(r, t->have),
        .snapshot = kept && kept->keyframe > t->have && !t->no_states && r->shot.begins_apart < FAILURES,
        .keyframe = kept ? kept->keyframe : 0,
        .coming = kl_lobby_way_coming(r, t),
        .another = !t->no_states && !r->past.broken && kl_lobby_way_has_states(r),
        .another_end = r->lock.next_close,
    };
}

enum kl_way kl_lobby_way_to_present(const struct kl_lobby_room *r, const struct kl_way_trip *t) {
    struct kl_way_facts f = kl_lobby_way_facts(r, t);
    return kl_way_choose(&f);
}
