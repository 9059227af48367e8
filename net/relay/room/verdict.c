#include "net/relay/room/verdict.h"

#include <string.h>

enum { SAID_NOTHING = 0, SAID_INCOMPLETE = 1, SAID_COMPLETE = 2 };
enum { EQUAL = 0, DIFFERS = 1, DIFFERS_STATE = 2, NOTED = 3 };

static struct kl_verdict_label *label_at(struct kl_verdict_table *t, uint32_t n) {
    return &t->label[n % KL_VERDICT_LABELS];
}

/* --- words --- */

enum { HAS_STATE = 1, HAS_RAM = 2, HAS_AV = 4, NOTED_STATE = 8, FULL_STATE = 16 };

static unsigned place_of(const struct kl_verdict_table *t, const struct kl_verdict_label *l) {
    bool asked = l >= t->asked && l < t->asked + KL_MAX_CLIENTS;
    return (unsigned)(asked ? KL_VERDICT_LABELS + (l - t->asked) : l - t->label);
}

uint8_t kl_verdict_flags(const struct kl_hash *h) {
    return (uint8_t)((h->has_state ? HAS_STATE : 0) | (h->has_ram ? HAS_RAM : 0) | (h->has_av ? HAS_AV : 0) |
                     (h->noted ? NOTED_STATE : 0) | (h->full ? FULL_STATE : 0));
}

struct kl_hash kl_verdict_hash(uint32_t frame, uint64_t ram, uint64_t state, uint64_t av, uint8_t flags) {
    return (struct kl_hash){.frame = frame,
                            .has_ram = flags & HAS_RAM,
                            .has_state = flags & HAS_STATE,
                            .has_av = flags & HAS_AV,
                            .ram = ram,
                            .state = state,
                            .av = av,
                            .full = flags & FULL_STATE,
                            .noted = flags & NOTED_STATE};
}

static void keep_word(struct kl_verdict_words *w, unsigned place, const struct kl_hash *h) {
    w->ram[place] = h->ram;
    w->av[place] = h->av;
    w->state[place] = h->state;
    w->flags[place] = kl_verdict_flags(h);
}

/* The client has reported this label. */
static struct kl_hash word_of(const struct kl_verdict_table *t, const struct kl_verdict_label *l,
                              unsigned client) {
    const struct kl_verdict_words *w = t->words[client];
    unsigned place = place_of(t, l);
    return kl_verdict_hash(l->frame, w->ram[place], w->state[place], w->av[place], w->flags[place]);
}

static bool has_bit(uint16_t mask, unsigned i) {
    return mask >> i & 1;
}

static void move_label(struct kl_verdict_table *t, struct kl_verdict_label *to,
                       struct kl_verdict_label *from) {
    unsigned place = place_of(t, to);
    *to = *from;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        if (!has_bit(from->reported, i)) continue;
        struct kl_hash h = word_of(t, from, i);
        keep_word(t->words[i], place, &h);
    }
    from->reported = 0;
}

/* --- labels --- */

static void begin_label(struct kl_verdict_label *l, uint32_t frame) {
    l->frame = frame;
    l->reported = l->late = l->loaded = 0;
    l->said = SAID_NOTHING;
    l->differs = EQUAL;
    l->first_us = 0;
}

void kl_verdict_expect(struct kl_verdict_table *t, uint32_t frame) {
    if (t->end - t->begin == KL_VERDICT_LABELS) t->begin++;
    struct kl_verdict_label *l = label_at(t, t->end++);
    begin_label(l, frame);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        if (!t->asked[i].reported || t->asked[i].frame != frame) continue;
        move_label(t, l, &t->asked[i]); /* a client stopped at this frame before the mark was known */
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

static bool is_open(const struct kl_verdict_table *t, uint32_t frame) {
    return t->any_open && frame <= t->open;
}

/* True if the label's complete verdict is sent; later reports of it are refused. */
static bool is_settled(const struct kl_verdict_table *t, uint32_t frame) {
    for (uint32_t n = 0; n < KL_VERDICT_LABELS; n++)
        if (t->label[n].said == SAID_COMPLETE && t->label[n].frame == frame) return true;
    return false;
}

int kl_verdict_report(struct kl_verdict_table *t, unsigned client, const struct kl_hash *h, bool loaded,
                      uint64_t now_us) {
    struct kl_verdict_label *l = find(t, h->frame);
    uint16_t bit = (uint16_t)(1U << client);
    if (!t->words[client]) return KL_E_SPACE;
    if (!l && is_settled(t, h->frame)) return KL_E_STATE;
    if (!l) {
        l = &t->asked[client];
        begin_label(l, h->frame);
    }
    if (l->reported & bit) return KL_E_STATE;
    if (l->reported == 0) l->first_us = now_us;
    l->reported |= bit;
    if (is_open(t, h->frame)) l->late |= bit;
    if (loaded) l->loaded |= bit;
    keep_word(t->words[client], place_of(t, l), h);
    return KL_OK;
}

static bool may_open(const struct kl_verdict_table *t, const struct kl_verdict_label *l, uint16_t awaited,
                     uint64_t now_us) {
    if (!l->reported || is_open(t, l->frame)) return false;
    return !(awaited & ~l->reported) || now_us >= l->first_us + KL_REPORT_WAIT_US;
}

static void open_up_to(struct kl_verdict_table *t, uint32_t frame) {
    t->any_open = true;
    t->open = frame;
}

void kl_verdict_open(struct kl_verdict_table *t, const struct kl_verdict_court *court, uint64_t now_us) {
    for (uint32_t n = t->begin; n != t->end; n++)
        if (may_open(t, label_at(t, n), court->awaited, now_us)) open_up_to(t, label_at(t, n)->frame);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (may_open(t, &t->asked[i], court->awaited, now_us)) open_up_to(t, t->asked[i].frame);
}

static bool same_value(bool has_a, uint64_t a, bool has_b, uint64_t b) {
    return has_a == has_b && (!has_a || a == b);
}

int kl_verdict_difference(const struct kl_hash *a, const struct kl_hash *b, bool loaded) {
    bool states = a->has_state && b->has_state;
    if (!same_value(a->has_ram, a->ram, b->has_ram, b->ram)) return DIFFERS;
    if (!same_value(a->has_av, a->av, b->has_av, b->av)) return DIFFERS;
    if (same_value(a->has_state, a->state, b->has_state, b->state)) return EQUAL;
    if (a->full && b->full) return DIFFERS;
    if (states && (a->has_ram || a->has_av) && loaded) return NOTED;
    if (!a->has_ram) return DIFFERS;
    return states && (a->noted || b->noted) ? NOTED : DIFFERS_STATE;
}

static unsigned count_bits(uint16_t mask) {
    return (unsigned)__builtin_popcount(mask);
}

static int difference(const struct kl_verdict_table *t, const struct kl_verdict_label *l, unsigned a,
                      unsigned b) {
    struct kl_hash x = word_of(t, l, a), y = word_of(t, l, b);
    return kl_verdict_difference(&x, &y, has_bit(l->loaded, a) || has_bit(l->loaded, b));
}

/* The clients whose report agrees with that of `client`. level: EQUAL, all must be equal; DIFFERS_STATE,
 * states may differ. */
static uint16_t camp_of(const struct kl_verdict_table *t, const struct kl_verdict_label *l, unsigned client,
                        int level) {
    uint16_t camp = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        if (!has_bit(l->reported, i)) continue;
        int d = difference(t, l, client, i);
        if (d == EQUAL || d == NOTED || d == level) camp |= (uint16_t)(1U << i);
    }
    return camp;
}

static uint16_t neighbours(const uint8_t home[KL_MAX_CLIENTS], uint16_t voters, unsigned client) {
    uint16_t mask = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (has_bit(voters, i) && home[i] == home[client]) mask |= (uint16_t)(1U << i);
    return mask;
}

unsigned kl_verdict_votes(const uint8_t home[KL_MAX_CLIENTS], uint16_t voters, uint16_t camp) {
    unsigned votes = 0;
    if (!voters) return 0;
    if (neighbours(home, voters, (unsigned)__builtin_ctz(voters)) == voters) return count_bits(camp & voters);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        uint16_t with = has_bit(voters, i) ? neighbours(home, voters, i) : 0;
        if (with && (unsigned)__builtin_ctz(with) == i) votes += !(with & ~camp);
    }
    return votes;
}

/* The camp of more than half of the votes of those that reported; 0: none is that large. A late report is
 * counted among them, but on no side. */
static uint16_t majority(const struct kl_verdict_table *t, const struct kl_verdict_label *l,
                         const struct kl_verdict_court *court, int level) {
    uint16_t voters = court->voters & l->reported ? court->voters & l->reported : l->reported;
    unsigned all = kl_verdict_votes(court->home, voters, voters);
    uint16_t in_time = voters & (uint16_t)~l->late;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        if (!has_bit(in_time, i) || (level == EQUAL && has_bit(l->loaded, i))) continue;
        uint16_t camp = camp_of(t, l, i, level);
        if (kl_verdict_votes(court->home, voters, camp & in_time) * 2 > all) return camp;
    }
    return 0;
}

/* The reporters outside that camp; 0 without a camp. */
static uint16_t minority(const struct kl_verdict_table *t, const struct kl_verdict_label *l,
                         const struct kl_verdict_court *court, int level) {
    uint16_t camp = majority(t, l, court, level);
    return camp ? l->reported & (uint16_t)~camp : 0;
}

/* The gravest difference between any two reports. */
static int judge(const struct kl_verdict_table *t, const struct kl_verdict_label *l) {
    static const int gravity[] = {[EQUAL] = 0, [NOTED] = 1, [DIFFERS_STATE] = 2, [DIFFERS] = 3};
    int worst = EQUAL;
    uint16_t whole = l->reported & (uint16_t)~l->loaded, from = whole ? whole : l->reported;
    unsigned first = from ? (unsigned)__builtin_ctz(from) : 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        if (!has_bit(l->reported, i)) continue;
        int d = difference(t, l, first, i);
        if (gravity[d] > gravity[worst]) worst = d;
        if (worst == DIFFERS) break;
    }
    return worst;
}

static bool is_complete(const struct kl_verdict_label *l, uint16_t present) {
    return l->reported != 0 && (present & ~l->reported) == 0;
}

static bool is_due(const struct kl_verdict_table *t, const struct kl_verdict_label *l, uint16_t present,
                   uint64_t now_us) {
    if (l->said == SAID_COMPLETE || l->reported == 0 || !is_open(t, l->frame)) return false;
    if (is_complete(l, present)) return true;
    if (judge(t, l) != l->differs) return true;
    return l->said == SAID_NOTHING && now_us >= l->first_us + KL_VERDICT_WAIT_US;
}

static void speak(struct kl_verdict_table *t, struct kl_verdict_label *l,
                  const struct kl_verdict_court *court, struct kl_verdict *out) {
    *out = (struct kl_verdict){.frame = l->frame, .complete = is_complete(l, court->present)};
    int differs = judge(t, l);
    out->differs = (uint8_t)differs;
    if (differs != EQUAL) out->minority = minority(t, l, court, differs == DIFFERS ? DIFFERS_STATE : EQUAL);
    l->differs = out->differs;
    l->said = out->complete ? SAID_COMPLETE : SAID_INCOMPLETE;
    const struct kl_verdict *bad = &t->first_bad;
    bool graver = bad->differs == DIFFERS_STATE && differs == DIFFERS;
    if (differs != EQUAL && differs != NOTED && (!t->any_bad || out->frame <= bad->frame || graver)) {
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
        if (!is_due(t, l, court->present, now_us)) {
            if (found) break;
            continue;
        }
        bool equal = judge(t, l) == EQUAL && is_complete(l, court->present);
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
        if (!is_due(t, l, court->present, now_us)) continue;
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

/* --- the decision --- */

static const struct kl_verdict_label *look(const struct kl_verdict_table *t, uint32_t frame) {
    for (uint32_t n = 0; n < KL_VERDICT_LABELS; n++) /* also settled labels, until their place is taken */
        if (t->label[n].reported && t->label[n].frame == frame) return &t->label[n];
    return NULL;
}

/* A majority is valid if more than half of the voters reported in time, a tie if half of them did. So no
 * client can decide while others cannot report because it holds the game up or their links are lost. */
static void find_right(const struct kl_verdict_table *t, const struct kl_verdict_label *l,
                       const struct kl_verdict_court *court, int level, struct kl_verdict_camps *out) {
    uint16_t in_time = l->reported & (uint16_t)~l->late;
    unsigned voters = count_bits(court->voters & (l->reported | court->awaited));
    unsigned spoken = count_bits(court->voters & in_time);
    out->right = spoken * 2 > voters ? majority(t, l, court, level) : 0;
    out->tied = !out->right && spoken && spoken * 2 >= voters;
}

bool kl_verdict_camps(const struct kl_verdict_table *t, uint32_t frame, const struct kl_verdict_court *court,
                      struct kl_verdict_camps *out) {
    const struct kl_verdict_label *l = look(t, frame);
    int differs = l ? judge(t, l) : EQUAL, level = differs == DIFFERS ? DIFFERS_STATE : EQUAL;
    if (differs == EQUAL || differs == NOTED) return false;
    uint16_t in_time = l->reported & (uint16_t)~l->late;
    struct kl_hash h = word_of(t, l, (unsigned)__builtin_ctz(in_time ? in_time : l->reported));
    *out = (struct kl_verdict_camps){.reported = l->reported,
                                     .ram = differs == DIFFERS && (h.has_ram || !h.has_state)};
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        if (!has_bit(l->reported, i)) continue;
        struct kl_hash other = word_of(t, l, i);
        out->picture |= !same_value(h.has_av, h.av, other.has_av, other.av);
    }
    find_right(t, l, court, level, out);
    return true;
}

uint16_t kl_verdict_reported(const struct kl_verdict_table *t, uint32_t frame) {
    const struct kl_verdict_label *l = look(t, frame);
    return l ? l->reported : 0;
}

static void drop_words(struct kl_verdict_label *l, uint16_t clients) {
    l->reported &= (uint16_t)~clients;
    l->late &= (uint16_t)~clients;
    l->loaded &= (uint16_t)~clients;
}

void kl_verdict_forget(struct kl_verdict_table *t, uint16_t clients) {
    for (uint32_t n = t->begin; n != t->end; n++) {
        struct kl_verdict_label *l = label_at(t, n);
        drop_words(l, clients);
        l->differs = (uint8_t)judge(t, l);
    }
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        drop_words(&t->asked[i], clients);
}

void kl_verdict_healed(struct kl_verdict_table *t) {
    t->any_bad = false;
}

static uint64_t label_due_us(const struct kl_verdict_table *t, const struct kl_verdict_label *l) {
    if (!l->reported || l->said != SAID_NOTHING) return UINT64_MAX;
    return l->first_us + (is_open(t, l->frame) ? KL_VERDICT_WAIT_US : KL_REPORT_WAIT_US);
}

uint64_t kl_verdict_due_us(const struct kl_verdict_table *t) {
    uint64_t due_us = UINT64_MAX;
    for (uint32_t n = t->begin; n != t->end; n++) {
        uint64_t at_us = label_due_us(t, &t->label[n % KL_VERDICT_LABELS]);
        if (at_us < due_us) due_us = at_us;
    }
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        uint64_t at_us = label_due_us(t, &t->asked[i]);
        if (at_us < due_us) due_us = at_us;
    }
    return due_us;
}
