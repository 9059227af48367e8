/* Snapshots: what we have serialized and say of it, give where we are asked, and get. net/PROTOCOL.md §7,
 * Snapshots.
 *
 * What goes up shares the player's uplink with his inputs. It begins slowly, grows as long as round trips
 * stay as they were, quickly until they grow for the first time, and gives way when they do: so it takes what
 * the inputs leave, and no queue builds up before them. */
#include <stdlib.h>
#include <string.h>

#include "net/engine/lock_return.h"
#include "net/platform/clock.h"
#include "net/transport/link_state.h"

#define RATE_FIRST 131072 /* bytes a second */
#define RATE_LEAST 16384
#define RATE_MOST  2097152
#define STEP_US    100000 /* between two looks at the round trip */
#define QUEUE_US   20000  /* longer than before by so much: there is a queue */

static void lock(struct kl_link *l) {
    kl_mutex_lock(&l->mutex);
}
static void unlock(struct kl_link *l) {
    kl_mutex_unlock(&l->mutex);
}

/* --- the frontend's side ----------------------------------------------------------------------------------
 */

void kl_link_say_state(struct kl_link *l, const struct kl_state_said *s) {
    lock(l);
    l->shared.shot.state = *s;
    l->shared.shot.state_wanted = true;
    unlock(l);
    kl_link_kick(l);
}

bool kl_link_asked(struct kl_link *l, struct kl_ask *ask) {
    struct kl_link_shot *s = &l->shared.shot;
    lock(l);
    bool asked = s->asked;
    *ask = s->ask;
    s->asked = false;
    unlock(l);
    return asked;
}

void kl_link_give_snapshot(struct kl_link *l, uint32_t keyframe, bool based, uint8_t *packed, uint32_t len) {
    struct kl_link_shot *s = &l->shared.shot;
    lock(l);
    free(s->given);
    s->given = packed;
    s->given_len = len;
    s->given_keyframe = keyframe;
    s->given_based = based;
    s->given_sent = 0;
    s->rate = 0;
    unlock(l);
    kl_link_kick(l);
}

bool kl_link_snapshot(struct kl_link *l, struct kl_offer *offer, uint8_t **packed) {
    struct kl_link_shot *s = &l->shared.shot;
    lock(l);
    bool whole = s->coming && s->have == s->offer.packed;
    if (whole) {
        *offer = s->offer;
        *packed = s->coming;
        s->coming = NULL;
    }
    unlock(l);
    return whole;
}

void kl_link_begun(struct kl_link *l, uint32_t keyframe, uint32_t fps_uhz) {
    struct kl_link_shared *s = &l->shared;
    lock(l);
    if (s->shot.begins && s->shot.offer.keyframe == keyframe) {
        s->shot.begins = false;
        if (fps_uhz) kl_client_rate(&s->lock, fps_uhz);
        kl_client_go(&s->lock);
    }
    unlock(l);
}

void kl_link_say_healed(struct kl_link *l, const struct kl_healed *h) {
    lock(l);
    l->shared.shot.healed = *h;
    l->shared.shot.healed_wanted = true;
    unlock(l);
    kl_link_kick(l);
}

bool kl_link_past_seek(struct kl_link *l, struct kl_history_cursor *c, uint32_t from) {
    const struct kl_history *h = &l->shared.past;
    lock(l);
    bool held = from >= h->first && from <= h->next;
    kl_history_seek(c, h, from);
    unlock(l);
    return held;
}

bool kl_link_past_next(struct kl_link *l, struct kl_history_cursor *c, struct kl_frame *out) {
    lock(l);
    bool got = kl_history_next(c, out);
    unlock(l);
    return got;
}

/* --- what comes: under the mutex --------------------------------------------------------------------------
 */

void kl_link_take_ask(struct kl_link *l, const struct kl_ask *ask) {
    l->shared.shot.asked = true;
    l->shared.shot.ask = *ask;
    kl_link_happened(l);
}

void kl_link_shot_drop(struct kl_link *l) {
    struct kl_link_shot *s = &l->shared.shot;
    free(s->coming);
    s->coming = NULL;
    s->begins = false;
}

/* What was coming is of no use any more; but who has not begun yet has nothing to mend. */
void kl_link_take_offer(struct kl_link *l, const struct kl_offer *o) {
    struct kl_link_shot *s = &l->shared.shot;
    enum kl_link_phase phase = l->shared.status.phase;
    if (o->begin ? phase != KL_LINK_READY && phase != KL_LINK_PLAYING : s->begins) return;
    kl_link_shot_drop(l);
    s->begins = o->begin;
    if (s->begins) kl_link_begin_at(l, o);
    s->offer = *o;
    s->have = 0;
    s->coming = malloc(o->packed);
    if (s->coming) return;
    s->healed = (struct kl_healed){.keyframe = o->keyframe, .how = KL_HEALED_NOT};
    s->healed_wanted = true;
}

void kl_link_take_shot(struct kl_link *l, const struct kl_shot_piece *p) {
    struct kl_link_shot *s = &l->shared.shot;
    bool fits = s->coming && p->keyframe == s->offer.keyframe && p->piece.total == s->offer.packed &&
                p->piece.offset == s->have;
    if (!fits) return;
    memcpy(s->coming + s->have, p->piece.bytes, p->piece.len);
    s->have += p->piece.len;
    if (s->have == s->offer.packed) kl_link_happened(l);
}

/* --- what goes: the network thread's ----------------------------------------------------------------------
 */

/* Nothing of an older session's counts. */
void kl_link_shot_forget(struct kl_link *l) {
    struct kl_link_shot *s = &l->shared.shot;
    free(s->given);
    free(s->coming);
    memset(s, 0, sizeof *s);
}

static void adapt(struct kl_link_shot *s, uint32_t rtt_us, uint64_t now_us) {
    if (s->rate == 0) {
        s->rate = RATE_FIRST;
        s->met = false;
        s->rtt_us = rtt_us;
        s->tokens_us = s->rate_us = now_us;
        s->tokens = 0;
    }
    if (rtt_us < s->rtt_us) s->rtt_us = rtt_us;
    if (now_us < s->rate_us + STEP_US) return;
    s->rate_us = now_us;
    bool queue = rtt_us > s->rtt_us + QUEUE_US;
    s->met = s->met || queue;
    s->rate = queue ? s->rate - s->rate / 3 : s->rate + s->rate / (s->met ? 8 : 2);
    if (s->rate < RATE_LEAST) s->rate = RATE_LEAST;
    if (s->rate > RATE_MOST) s->rate = RATE_MOST;
}

/* Under the mutex: the next piece that may go now. */
static bool next_piece(struct kl_link_shared *shared, struct kl_msg *m, uint64_t now_us) {
    struct kl_link_shot *s = &shared->shot;
    uint32_t left = s->given_len - s->given_sent, len = left < KL_BULK_MAX ? left : KL_BULK_MAX;
    if (!s->given) return false;
    adapt(s, shared->lock.stats.rtt_us, now_us);
    uint32_t most = s->rate / 32 > KL_BULK_MAX ? s->rate / 32 : KL_BULK_MAX; /* of what was not used before */
    s->tokens += (double)(now_us - s->tokens_us) * s->rate / 1e6;
    s->tokens_us = now_us;
    if (s->tokens > most) s->tokens = most;
    if (s->tokens < len) return false;
    s->tokens -= len;
    *m = (struct kl_msg){.kind = KL_MSG_GIVE,
                         .shot = {.keyframe = s->given_keyframe, .based = s->given_based}};
    m->shot.piece = (struct kl_piece){.offset = s->given_sent, .total = s->given_len, .len = (uint16_t)len};
    memcpy(m->shot.piece.bytes, s->given + s->given_sent, len);
    s->given_sent += len;
    if (s->given_sent < s->given_len) return true;
    free(s->given);
    s->given = NULL;
    return true;
}

void kl_link_shot_turn(struct kl_link *l) {
    struct kl_msg m;
    while (kl_bulk_room(l->session.sent) > 0) {
        lock(l);
        bool more = next_piece(&l->shared, &m, kl_now_us());
        unlock(l);
        if (!more) return;
        kl_link_send_message(l, &m);
    }
}
