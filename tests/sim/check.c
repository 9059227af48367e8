#include "check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void truth_init(struct truth *t, const struct scenario *s) {
    memset(t, 0, sizeof *t);
    t->scenario = s;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (s->client[i].there) t->seated |= s->client[i].seats;
    t->seated_before = t->seated;
}

void truth_sample(struct truth *t, unsigned seat, const struct kl_input *in, uint64_t now_us) {
    struct ref_seat *s = &t->seat[seat];
    s->at[s->count % REF_RING] = *in;
    s->given_us[s->count % REF_RING] = now_us;
    s->count++;
}

void truth_remove(struct truth *t, uint8_t seats) {
    t->seated &= (uint8_t)~seats;
}

static bool broken(struct truth *t, const struct kl_frame *f, const char *format, ...) {
    int used =
        snprintf(t->error, sizeof t->error, "frame=%u interval=%u+%u: ", f->number, f->keyframe, f->spacing);
    va_list args;
    va_start(args, format);
    vsnprintf(t->error + used, sizeof t->error - (size_t)used, format, args);
    va_end(args);
    return false;
}

/* True where a multiple of `every` lies in (before, keyframe]. */
static bool mark_expected(uint32_t before, uint32_t keyframe, uint32_t every) {
    return every > 0 && keyframe / every > before / every;
}

static bool open_interval(struct truth *t, const struct kl_frame *f, uint64_t now_us) {
    const struct kl_params *p = &t->scenario->params;
    uint32_t samples = p->subframes ? f->spacing : 1;
    if (f->spacing < KL_SPACING_MIN || f->spacing > KL_SPACING_MAX)
        return broken(t, f, "spacing out of range");
    if (p->spacing_fixed && f->spacing != p->spacing_fixed)
        return broken(t, f, "the fixed spacing is not kept");
    if ((f->active & t->seated) != t->seated || (f->active & ~t->seated_before))
        return broken(t, f, "active=%02x but seated=%02x", f->active, t->seated);
    bool hash = f->flags & KL_FRAME_HASH;
    if (f->number > 0 && hash != mark_expected(t->now.first, f->number, p->hash_every))
        return broken(t, f, hash ? "marked for hashing" : "not marked for hashing");
    if (f->number == 0 && hash) return broken(t, f, "frame 0 is marked for hashing");
    t->marks += hash;
    bool changed = f->number > 0 && f->spacing != t->now.length;
    t->changes += changed;
    t->changes_settled += changed && now_us >= t->scenario->settled_us;
    t->first_interval = f->number == 0;
    t->before = t->now;
    t->now =
        (struct ref_interval){f->number, f->spacing, t->before.sample_first + t->before.samples, samples};
    t->active = f->active;
    return true;
}

static bool check_shape(struct truth *t, const struct kl_frame *f, uint64_t now_us) {
    if (f->number != t->next) return broken(t, f, "handed out where %u was next", t->next);
    bool starts = t->next == 0 || f->number == t->now.first + t->now.length;
    if (starts != !!(f->flags & KL_FRAME_KEY)) return broken(t, f, "keyframe flag");
    if (starts != (f->keyframe == f->number)) return broken(t, f, "keyframe number");
    if (starts) return open_interval(t, f, now_us);
    if (f->keyframe != t->now.first || f->spacing != t->now.length || f->active != t->active)
        return broken(t, f, "the interval changed under way");
    return f->flags == 0 || broken(t, f, "flags=%x within an interval", f->flags);
}

static bool check_seat(struct truth *t, const struct kl_frame *f, unsigned seat) {
    const struct kl_input *shown = &f->in[seat];
    bool plays = !t->first_interval && (t->active & t->seated) >> seat & 1;
    if (!plays) return ref_input_neutral(shown) || broken(t, f, "seat=%u is not neutral", seat);
    struct ref_seat *s = &t->seat[seat];
    struct kl_input expected;
    uint32_t range[2], o = f->number - t->now.first;
    ref_frame(s, &t->before, &t->now, o, &expected, range);
    if (range[1] > s->count)
        return broken(t, f, "seat=%u closed before sample %u was taken (%u were)", seat, range[1] - 1,
                      s->count);
    const char *fault = ref_presses(s, &t->before, &t->now, o, shown, t->scenario->saturating);
    if (fault) return broken(t, f, "seat=%u samples=%u..%u: %s", seat, range[0], range[1] - 1, fault);
    if (!ref_input_equal(&expected, shown))
        return broken(t, f, "seat=%u samples=%u..%u: other input than the map gives", seat, range[0],
                      range[1] - 1);
    t->last_sample[f->number % REF_RING] = range[1] - 1;
    return true;
}

bool truth_close(struct truth *t, const struct kl_frame *f, uint64_t now_us) {
    if (!check_shape(t, f, now_us)) return false;
    t->last_sample[f->number % REF_RING] = UINT32_MAX;
    for (unsigned seat = 0; seat < KL_MAX_SEATS; seat++)
        if (!check_seat(t, f, seat)) return false;
    t->frame[f->number % REF_RING] = *f;
    t->closed_us[f->number % REF_RING] = now_us;
    t->seated_before = t->seated;
    t->next++;
    return true;
}

bool truth_same(struct truth *t, const struct kl_frame *f) {
    if (f->number >= t->next) return broken(t, f, "run before the relay closed it");
    if (t->next - f->number > REF_RING)
        return broken(t, f, "run %u frames behind the relay", t->next - f->number);
    const struct kl_frame *r = &t->frame[f->number % REF_RING];
    if (r->number != f->number || r->keyframe != f->keyframe || r->spacing != f->spacing ||
        r->flags != f->flags || r->active != f->active)
        return broken(t, f, "relay has interval=%u+%u flags=%x active=%02x, client flags=%x active=%02x",
                      r->keyframe, r->spacing, r->flags, r->active, f->flags, f->active);
    for (unsigned seat = 0; seat < KL_MAX_SEATS; seat++)
        if (!ref_input_equal(&r->in[seat], &f->in[seat]))
            return broken(t, f, "seat=%u differs from the relay's", seat);
    return true;
}
