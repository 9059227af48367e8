#include "verdict.h"

#include <string.h>

enum { SAID_NOTHING = 0, SAID_INCOMPLETE = 1, SAID_COMPLETE = 2 };
enum { EQUAL = 0, DIFFERS = 1, DIFFERS_STATE = 2 };

void kl_verdict_init(struct kl_verdict_table *t) {
    memset(t, 0, sizeof *t);
}

static struct kl_verdict_label *label_at(struct kl_verdict_table *t, uint32_t n) {
    return &t->label[n % KL_VERDICT_LABELS];
}

static void open_label(struct kl_verdict_label *l, uint32_t frame) {
    l->frame = frame;
    l->reported = 0;
    l->said = SAID_NOTHING;
    l->differs = EQUAL;
    l->first_us = 0;
}

void kl_verdict_expect(struct kl_verdict_table *t, uint32_t frame) {
    if (t->end - t->begin == KL_VERDICT_LABELS) t->begin++;
    struct kl_verdict_label *l = label_at(t, t->end++);
    open_label(l, frame);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        if (!t->asked[i].reported || t->asked[i].frame != frame) continue;
        *l = t->asked[i]; /* somebody stopped just here, before the mark was known */
        t->asked[i].reported = 0;
        break;
    }
}

static struct kl_verdict_label *find(struct kl_verdict_table *t, uint32_t frame) {
    for (uint32_t n = t->begin; n != t->end; n++)
        if (label_at(t, n)->frame == frame) return label_at(t, n);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (t->asked[i].reported && t->asked[i].frame == frame) return &t->asked[i];
    return NULL;
}

int kl_verdict_report(struct kl_verdict_table *t, unsigned client, const struct kl_hash *h, uint64_t now_us) {
    struct kl_verdict_label *l = find(t, h->frame);
    if (!l) {
        l = &t->asked[client];
        open_label(l, h->frame);
    }
    if (l->reported >> client & 1) return KL_E_STATE;
    if (l->reported == 0) l->first_us = now_us;
    l->reported |= (uint16_t)(1U << client);
    l->hash[client] = *h;
    return KL_OK;
}

static bool same_value(bool has_a, uint64_t a, bool has_b, uint64_t b) {
    return has_a == has_b && (!has_a || a == b);
}

/* What two reports differ in. Without RAM the state is all there is, so then it counts in full. */
static int difference(const struct kl_hash *a, const struct kl_hash *b) {
    if (!same_value(a->has_ram, a->ram, b->has_ram, b->ram)) return DIFFERS;
    if (!same_value(a->has_av, a->av, b->has_av, b->av)) return DIFFERS;
    if (same_value(a->has_state, a->state, b->has_state, b->state)) return EQUAL;
    return a->has_ram ? DIFFERS_STATE : DIFFERS;
}

static unsigned count_bits(uint16_t mask) {
    return (unsigned)__builtin_popcount(mask);
}

/* The clients whose report agrees with that of `client`. level: EQUAL, all must be equal; DIFFERS_STATE,
 * states may differ. */
static uint16_t camp_of(const struct kl_verdict_label *l, unsigned client, int level) {
    uint16_t camp = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        if (!(l->reported >> i & 1)) continue;
        int d = difference(&l->hash[client], &l->hash[i]);
        if (d == EQUAL || d == level) camp |= (uint16_t)(1U << i);
    }
    return camp;
}

/* The camp of more than half of the voters who reported; 0: none is that large. */
static uint16_t majority(const struct kl_verdict_label *l, uint16_t voters, int level) {
    if (!(voters & l->reported)) voters = l->reported;
    voters &= l->reported;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        if (!(voters >> i & 1)) continue;
        uint16_t camp = camp_of(l, i, level);
        if (count_bits(camp & voters) * 2 > count_bits(voters)) return camp;
    }
    return 0;
}

/* Those who stand against it; 0 where there is none. */
static uint16_t minority(const struct kl_verdict_label *l, uint16_t voters, int level) {
    uint16_t camp = majority(l, voters, level);
    return camp ? l->reported & (uint16_t)~camp : 0;
}

/* The gravest difference between any two reports. */
static int judge(const struct kl_verdict_label *l) {
    int worst = EQUAL;
    unsigned first = l->reported ? (unsigned)__builtin_ctz(l->reported) : 0;
    for (unsigned i = first + 1; i < KL_MAX_CLIENTS; i++) {
        if (!(l->reported >> i & 1)) continue;
        int d = difference(&l->hash[first], &l->hash[i]);
        if (d == DIFFERS || worst == EQUAL) worst = d;
        if (worst == DIFFERS) break;
    }
    return worst;
}

static bool is_complete(const struct kl_verdict_label *l, uint16_t present) {
    return l->reported != 0 && (present & ~l->reported) == 0;
}

static bool is_due(const struct kl_verdict_label *l, uint16_t present, uint64_t now_us) {
    if (l->said == SAID_COMPLETE || l->reported == 0) return false;
    if (is_complete(l, present)) return true;
    if (judge(l) != l->differs) return true;
    return l->said == SAID_NOTHING && now_us >= l->first_us + KL_VERDICT_WAIT_US;
}

static void speak(struct kl_verdict_table *t, struct kl_verdict_label *l,
                  const struct kl_verdict_court *court, struct kl_verdict *out) {
    *out = (struct kl_verdict){.frame = l->frame, .complete = is_complete(l, court->present)};
    int differs = judge(l);
    out->differs = (uint8_t)differs;
    if (differs != EQUAL)
        out->minority = minority(l, court->voters, differs == DIFFERS ? DIFFERS_STATE : EQUAL);
    l->differs = out->differs;
    l->said = out->complete ? SAID_COMPLETE : SAID_INCOMPLETE;
    const struct kl_verdict *bad = &t->first_bad;
    bool graver = bad->differs == DIFFERS_STATE && differs == DIFFERS;
    if (differs != EQUAL && (!t->any_bad || out->frame <= bad->frame || graver)) {
        t->first_bad = *out;
        t->any_bad = true;
    }
    out->first = t->any_bad ? t->first_bad.frame : 0;
}

/* Settled labels at the front make way. */
static void drop_settled(struct kl_verdict_table *t) {
    while (t->begin != t->end && label_at(t, t->begin)->said == SAID_COMPLETE)
        t->begin++;
}

/* The next verdict on labels of keyframes. */
static bool next_expected(struct kl_verdict_table *t, const struct kl_verdict_court *court, uint64_t now_us,
                          struct kl_verdict *out) {
    bool found = false;
    for (uint32_t n = t->begin; n != t->end; n++) {
        struct kl_verdict_label *l = label_at(t, n);
        if (!is_due(l, court->present, now_us)) {
            if (found) break;
            continue;
        }
        bool equal = judge(l) == EQUAL && is_complete(l, court->present);
        if (found && !equal) break;
        speak(t, l, court, out);
        found = true;
        if (!equal) break;
    }
    drop_settled(t);
    return found;
}

static bool next_asked(struct kl_verdict_table *t, const struct kl_verdict_court *court, uint64_t now_us,
                       struct kl_verdict *out) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        struct kl_verdict_label *l = &t->asked[i];
        if (!is_due(l, court->present, now_us)) continue;
        speak(t, l, court, out);
        if (l->said == SAID_COMPLETE) l->reported = 0;
        return true;
    }
    return false;
}

bool kl_verdict_next(struct kl_verdict_table *t, const struct kl_verdict_court *court, uint64_t now_us,
                     struct kl_verdict *out) {
    return next_expected(t, court, now_us, out) || next_asked(t, court, now_us, out);
}

/* --- who is right ------------------------------------------------------------------------------------------
 */

static const struct kl_verdict_label *look(const struct kl_verdict_table *t, uint32_t frame) {
    for (uint32_t n = 0; n < KL_VERDICT_LABELS;
         n++) /* also what has been settled, until its place is taken */
        if (t->label[n].reported && t->label[n].frame == frame) return &t->label[n];
    return NULL;
}

bool kl_verdict_camps(const struct kl_verdict_table *t, uint32_t frame, const struct kl_verdict_court *court,
                      struct kl_verdict_camps *out) {
    const struct kl_verdict_label *l = look(t, frame);
    const unsigned deciding[] = {court->judge, court->host};
    int differs = l ? judge(l) : EQUAL, level = differs == DIFFERS ? DIFFERS_STATE : EQUAL;
    if (differs == EQUAL) return false;
    unsigned first = (unsigned)__builtin_ctz(l->reported);
    const struct kl_hash *h = &l->hash[first];
    *out = (struct kl_verdict_camps){.reported = l->reported,
                                     .ram = differs == DIFFERS && (h->has_ram || h->has_av)};
    out->right = majority(l, court->voters, level);
    out->majority = out->right != 0;
    for (unsigned i = 0; i < 2 && !out->right; i++)
        if (deciding[i] < KL_MAX_CLIENTS && l->reported >> deciding[i] & 1)
            out->right = camp_of(l, deciding[i], level);
    if (!out->right) out->right = camp_of(l, first, level);
    return true;
}

void kl_verdict_forget(struct kl_verdict_table *t, uint16_t clients) {
    for (uint32_t n = t->begin; n != t->end; n++) {
        struct kl_verdict_label *l = label_at(t, n);
        l->reported &= (uint16_t)~clients;
        l->differs = (uint8_t)judge(l);
    }
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        t->asked[i].reported &= (uint16_t)~clients;
}

void kl_verdict_healed(struct kl_verdict_table *t) {
    t->any_bad = false;
}

static uint64_t label_due_us(const struct kl_verdict_label *l) {
    return l->reported && l->said == SAID_NOTHING ? l->first_us + KL_VERDICT_WAIT_US : UINT64_MAX;
}

uint64_t kl_verdict_due_us(const struct kl_verdict_table *t) {
    uint64_t due_us = UINT64_MAX;
    for (uint32_t n = t->begin; n != t->end; n++) {
        uint64_t at_us = label_due_us(&t->label[n % KL_VERDICT_LABELS]);
        if (at_us < due_us) due_us = at_us;
    }
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        uint64_t at_us = label_due_us(&t->asked[i]);
        if (at_us < due_us) due_us = at_us;
    }
    return due_us;
}
