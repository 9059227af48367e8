/* Snapshots: the client reports its own, gives it if asked, and gets others'. net/ROOMS.md §7, Snapshots.
 *
 * An upload shares the player's uplink with their inputs. It begins slowly, grows as long as round trips
 * stay as they were, quickly until they grow for the first time, and gives way when they do: so it uses the
 * rest of the link beside the inputs, and no queue builds up before them. */
#include <stdlib.h>
#include <string.h>

#include "net/client/participant_parts.h"
#include "net/engine/lock_client.h"

#define RATE_FIRST 131072 /* bytes a second */
#define RATE_LEAST 16384
#define RATE_MOST  2097152
#define STEP_US    100000 /* between two looks at the round trip */
#define QUEUE_US   20000  /* longer than before by so much: there is a queue */

/* --- the wrapper's requests --- */

void kl_participant_say_state(struct kl_participant *s, const struct kl_state_said *said) {
    s->snapshot.state = *said;
    s->snapshot.state_wanted = s->say_wanted = true;
}

bool kl_participant_asked(struct kl_participant *s, struct kl_ask *ask) {
    bool asked = s->snapshot.asked;
    *ask = s->snapshot.ask;
    s->snapshot.asked = false;
    return asked;
}

void kl_participant_give_snapshot(struct kl_participant *s, uint32_t keyframe, bool based, uint8_t *packed,
                                  uint32_t len) {
    struct kl_participant_snapshot *snapshot = &s->snapshot;
    free(snapshot->given);
    snapshot->given = packed;
    snapshot->given_len = len;
    snapshot->given_keyframe = keyframe;
    snapshot->given_based = based;
    snapshot->given_sent = 0;
    snapshot->rate = 0;
    s->say_wanted = true;
}

bool kl_participant_snapshot(struct kl_participant *s, struct kl_offer *offer, uint8_t **packed) {
    struct kl_participant_snapshot *snapshot = &s->snapshot;
    if (!snapshot->coming || snapshot->have != snapshot->offer.packed) return false;
    *offer = snapshot->offer;
    *packed = snapshot->coming;
    snapshot->coming = NULL;
    return true;
}

void kl_participant_begun(struct kl_participant *s, uint32_t keyframe, uint32_t fps_uhz) {
    bool begins = s->snapshot.begins && s->snapshot.offer.keyframe == keyframe;
    bool back = s->snapshot.goes_back && s->snapshot.rewind.keyframe == keyframe;
    if (!begins && !back) return;
    s->snapshot.begins = s->snapshot.goes_back = false;
    if (fps_uhz) kl_client_rate(&s->lock, fps_uhz);
    kl_client_go(&s->lock);
}

bool kl_participant_rewind(struct kl_participant *s, struct kl_rewind *m) {
    bool wanted = s->snapshot.rewind_wanted;
    s->snapshot.rewind_wanted = false;
    *m = s->snapshot.rewind;
    return wanted;
}

void kl_participant_say_healed(struct kl_participant *s, const struct kl_healed *h) {
    s->snapshot.healed = *h;
    s->snapshot.healed_wanted = s->say_wanted = true;
}

bool kl_participant_past_seek(const struct kl_participant *s, struct kl_history_cursor *c, uint32_t from) {
    kl_history_seek(c, &s->past, from);
    return from >= s->past.first && from <= s->past.next;
}

/* --- receiving --- */

void kl_participant_take_ask(struct kl_participant *s, const struct kl_ask *ask) {
    s->snapshot.asked = true;
    s->snapshot.ask = *ask;
    kl_participant_happened(s);
}

void kl_participant_snapshot_drop(struct kl_participant *s) {
    free(s->snapshot.coming);
    s->snapshot.coming = NULL;
    s->snapshot.begins = s->snapshot.rewind_wanted = s->snapshot.goes_back = false;
}

void kl_participant_snapshot_forget(struct kl_participant *s) {
    free(s->snapshot.given);
    free(s->snapshot.coming);
    memset(&s->snapshot, 0, sizeof s->snapshot);
}

/* The snapshot on its way is of no use any more. A client that has not begun yet has nothing to mend. */
void kl_participant_take_offer(struct kl_participant *s, const struct kl_offer *o, uint64_t now_us) {
    struct kl_participant_snapshot *snapshot = &s->snapshot;
    enum kl_participant_phase phase = s->status.phase;
    if (o->begin ? phase != KL_PARTICIPANT_READY && phase != KL_PARTICIPANT_PLAYING : snapshot->begins)
        return;
    kl_participant_snapshot_drop(s);
    snapshot->begins = o->begin;
    if (snapshot->begins) kl_participant_begin_at(s, o, now_us);
    snapshot->offer = *o;
    snapshot->have = 0;
    /* The relay knows of our consent; another word counts for nothing. */
    bool consents = kl_participant_consents(&s->status, s->hello.consent);
    snapshot->coming = consents ? malloc(o->packed) : NULL;
    if (snapshot->coming) return;
    snapshot->healed = (struct kl_healed){.keyframe = o->keyframe, .how = KL_HEALED_NOT};
    snapshot->healed_wanted = true;
}

void kl_participant_take_snapshot(struct kl_participant *s, const struct kl_snapshot_piece *p) {
    struct kl_participant_snapshot *snapshot = &s->snapshot;
    bool fits = snapshot->coming && p->keyframe == snapshot->offer.keyframe &&
                p->piece.total == snapshot->offer.packed && p->piece.offset == snapshot->have;
    if (!fits) return;
    memcpy(snapshot->coming + snapshot->have, p->piece.bytes, p->piece.len);
    snapshot->have += p->piece.len;
    if (snapshot->have == snapshot->offer.packed) kl_participant_happened(s);
}

/* The room goes on with other frames than ours from this keyframe on: what we said of them is void. False: we
 * claimed no state of that keyframe. */
static bool lose_frames(struct kl_participant *s, uint32_t keyframe, uint64_t now_us) {
    const struct kl_digest *d = kl_participant_past_cut(s, keyframe);
    if (!d) return false;
    s->hash_got = s->hash_put;
    s->status.any_verified = s->status.desync = false;
    if (s->status.verdict.agreed > keyframe) s->status.verdict.agreed = keyframe;
    s->snapshot.goes_back = true;
    kl_client_lose(&s->lock, keyframe, d->intervals, now_us);
    return true;
}

/* An order in the place of the one before makes that nothing, and so does an offered snapshot. A client that
 * has not begun yet has no own state; nor does one that goes back because frames were lost. */
void kl_participant_take_rewind(struct kl_participant *s, const struct kl_rewind *m, uint64_t now_us) {
    if (s->status.phase != KL_PARTICIPANT_PLAYING || s->snapshot.begins || s->snapshot.goes_back) return;
    kl_participant_snapshot_drop(s);
    if (m->lost && !lose_frames(s, m->keyframe, now_us)) {
        s->snapshot.healed = (struct kl_healed){.keyframe = m->keyframe, .how = KL_HEALED_NOT};
        s->snapshot.healed_wanted = true;
        return;
    }
    s->snapshot.rewind_wanted = true;
    s->snapshot.rewind = *m;
    kl_participant_happened(s);
}

/* --- giving --- */

static void adapt(struct kl_participant_snapshot *s, uint32_t rtt_us, uint64_t now_us) {
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

bool kl_participant_next_given(struct kl_participant *participant, uint64_t now_us, struct kl_msg *m) {
    struct kl_participant_snapshot *s = &participant->snapshot;
    uint32_t left = s->given_len - s->given_sent, len = left < KL_BULK_MAX ? left : KL_BULK_MAX;
    if (!s->given) return false;
    adapt(s, participant->lock.stats.rtt_us, now_us);
    uint32_t most = s->rate / 32 > KL_BULK_MAX ? s->rate / 32 : KL_BULK_MAX; /* of unused allowance */
    s->tokens += (double)(now_us - s->tokens_us) * s->rate / 1e6;
    s->tokens_us = now_us;
    if (s->tokens > most) s->tokens = most;
    if (s->tokens < len) return false;
    s->tokens -= len;
    *m = (struct kl_msg){.kind = KL_MSG_GIVE,
                         .snapshot = {.keyframe = s->given_keyframe, .based = s->given_based}};
    m->snapshot.piece =
        (struct kl_piece){.offset = s->given_sent, .total = s->given_len, .len = (uint16_t)len};
    memcpy(m->snapshot.piece.bytes, s->given + s->given_sent, len);
    s->given_sent += len;
    if (s->given_sent < s->given_len) return true;
    free(s->given);
    s->given = NULL;
    return true;
}
