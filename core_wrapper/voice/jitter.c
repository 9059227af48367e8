#include "core_wrapper/voice/jitter.h"

#define FIRST_US   40000 /* the target before anything is known of a speaker: */
#define KNOWN      10    /* packets */
#define GIVE_UP    5     /* units concealed in a row */
#define PERCENTILE 95

#define ALL    65536 /* of `lost` */
#define LATELY 128   /* units: 2.5 s of speech */
#define LOSSY  (ALL / 200)
#define WAITS  (ALL / 50)  /* a single loss is not worth a longer delay */
#define WAITED (ALL / 150) /* from which on the delay is short again */

#define EARLY_US 20000 /* before the quickest packet of before: times begin anew */

static struct kl_jitter_slot *slot_of(struct kl_jitter *j, uint64_t number) {
    return &j->slot[number % KL_JITTER_SLOTS];
}

static bool is_there(struct kl_jitter *j, uint64_t number) {
    return slot_of(j, number)->used && slot_of(j, number)->number == number;
}

/* The oldest waiting number from this one on; 0: none. */
static uint64_t oldest(struct kl_jitter *j, uint64_t from) {
    for (uint64_t n = from; n < from + KL_JITTER_SLOTS; n++)
        if (is_there(j, n)) return n;
    return 0;
}

/* The number whose low bits came, nearest to the newest. */
static uint64_t extend(const struct kl_jitter *j, uint16_t number) {
    if (!j->newest) return UINT64_C(0x10000) + number;
    return j->newest + (uint64_t)(int64_t)(int16_t)(uint16_t)(number - (uint16_t)j->newest);
}

/* --- lateness --- */

/* A spurt's first packet is this much later than the quickest of before. Its numbers may have stood still in
 * the silence, or its clock may have another pace: the lateness of before is kept, the times are not. */
static void begin_spurt(struct kl_jitter *j, int64_t us) {
    int64_t later_us = us - j->base_us;
    if (!j->seen_count || (later_us > -EARLY_US && later_us < KL_JITTER_MAX_US)) return;
    for (unsigned i = 0; i < j->seen_count; i++)
        j->seen_us[i] += later_us;
}

static void find_base(struct kl_jitter *j) {
    j->base_us = INT64_MAX;
    for (unsigned i = 0; i < j->seen_count; i++)
        if (j->seen_us[i] < j->base_us) j->base_us = j->seen_us[i];
}

/* The percentile of the lateness, to a millisecond; and the time until the next packet, which has a copy. */
static void find_target(struct kl_jitter *j) {
    unsigned count[KL_JITTER_MAX_US / 1000 + 1] = {0}, sum = 0, ms = 0;
    for (unsigned i = 0; i < j->seen_count; i++) {
        int64_t late_us = j->seen_us[i] - j->base_us;
        count[late_us >= KL_JITTER_MAX_US ? KL_JITTER_MAX_US / 1000 : (late_us + 999) / 1000]++;
    }
    for (ms = 0; ms < KL_JITTER_MAX_US / 1000; ms++)
        if ((sum += count[ms]) * 100 >= j->seen_count * PERCENTILE) break;
    j->target_us = ms * 1000 < KL_JITTER_MIN_US ? KL_JITTER_MIN_US : ms * 1000;
    if (j->seen_count < KNOWN && j->target_us < FIRST_US) j->target_us = FIRST_US;
    if (j->waits) j->target_us += (1 + j->longer) * KL_JITTER_UNIT_US;
}

static void note(struct kl_jitter *j, uint64_t number, bool begins, uint64_t now_us) {
    int64_t us = (int64_t)now_us - (int64_t)(number * KL_JITTER_UNIT_US);
    if (begins) begin_spurt(j, us);
    j->seen_us[j->seen_at] = us;
    j->seen_at = (j->seen_at + 1) % KL_JITTER_SEEN;
    if (j->seen_count < KL_JITTER_SEEN) j->seen_count++;
    find_base(j);
    find_target(j);
}

/* --- packets --- */

static void forget(struct kl_jitter *j) {
    for (unsigned i = 0; i < KL_JITTER_SLOTS; i++)
        j->slot[i].used = false;
    j->state = KL_JITTER_IDLE;
    j->next = j->ended = 0;
}

static void hold(struct kl_jitter *j, uint64_t number) {
    j->state = KL_JITTER_HELD;
    j->next = number;
    j->missing = 0;
}

void kl_jitter_put(struct kl_jitter *j, const struct kl_voice *v, uint64_t now_us) {
    uint64_t number = extend(j, v->number);
    if (number + KL_JITTER_SLOTS <= j->next ||
        (j->next && number >= j->next + KL_JITTER_SLOTS && j->state != KL_JITTER_IDLE))
        forget(j);
    bool begins = j->state == KL_JITTER_IDLE || (number > j->ended && j->newest == j->ended);
    if (j->state == KL_JITTER_IDLE && number < j->next) return; /* of the spurt that was played */
    if (is_there(j, number)) return;
    note(j, number, begins, now_us);
    if (number > j->newest || j->state == KL_JITTER_IDLE) j->newest = number;
    if (v->flags & KL_VOICE_LAST && number > j->ended) j->ended = number;
    if (j->state == KL_JITTER_IDLE) hold(j, number);
    if (number < j->next) {
        if (j->state == KL_JITTER_PLAYING) return;
        j->next = number; /* overtaken by the one that came first */
    }
    *slot_of(j, number) = (struct kl_jitter_slot){true, number, *v};
}

static uint64_t due_us(const struct kl_jitter *j) {
    return (uint64_t)(j->base_us + (int64_t)(j->next * KL_JITTER_UNIT_US)) + j->target_us;
}

static void count(struct kl_jitter *j, bool lost) {
    j->lost += ((lost ? ALL : 0) - j->lost) / LATELY;
    j->lossy = j->lost > LOSSY;
    j->waits = j->lost > (j->waits ? WAITED : WAITS);
}

static enum kl_jitter_next play(struct kl_jitter *j, struct kl_voice *out) {
    *out = slot_of(j, j->next)->voice;
    slot_of(j, j->next)->used = false;
    j->missing = 0;
    j->next++;
    count(j, false);
    if (!(out->flags & KL_VOICE_LAST)) return KL_JITTER_PACKET;
    uint64_t after = oldest(j, j->next);
    j->state = KL_JITTER_IDLE;
    if (after) hold(j, after);
    return out->len ? KL_JITTER_PACKET : KL_JITTER_SILENCE;
}

enum kl_jitter_next kl_jitter_take(struct kl_jitter *j, uint64_t now_us, struct kl_voice *out) {
    if (j->state == KL_JITTER_IDLE || (j->state == KL_JITTER_HELD && now_us < due_us(j)))
        return KL_JITTER_SILENCE;
    j->state = KL_JITTER_PLAYING;
    uint64_t found = oldest(j, j->next);
    /* the units that were concealed meanwhile are those that did not come */
    for (; found > j->next && j->missing; j->missing--, j->next++)
        count(j, true);
    if (found == j->next && found) return play(j, out);
    if (found) {
        *out = slot_of(j, found)->voice;
        bool copy = found == j->next + 1 + j->longer && out->len;
        count(j, true);
        j->next += copy ? 1 + j->longer : 1;
        return copy ? KL_JITTER_LOST : KL_JITTER_GAP;
    }
    if (j->missing++ < GIVE_UP) return KL_JITTER_GAP;
    j->state = KL_JITTER_IDLE;
    return KL_JITTER_SILENCE;
}

void kl_jitter_longer(struct kl_jitter *j, unsigned units) {
    j->next += units;
    j->longer = units;
}

int64_t kl_jitter_excess_us(const struct kl_jitter *j, uint64_t now_us) {
    return j->state == KL_JITTER_PLAYING ? (int64_t)now_us - (int64_t)due_us(j) : 0;
}
