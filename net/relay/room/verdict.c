#include "net/relay/room/verdict.h"

#include <string.h>

#include "net/engine/engine.h"

enum { SAID_NOTHING = 0, SAID_INCOMPLETE = 1, SAID_COMPLETE = 2 };
enum { EQUAL = 0, DIFFERS = 1, NOTED = KL_VERDICT_NOTED };
enum { SEEN = KL_HASH_RAM | KL_HASH_PICTURE };

void kl_verdict_begin(struct kl_verdict_table *t, struct kl_verdict_label *label, uint32_t places) {
    memset(label, 0, places * sizeof *label);
    t->label = label;
    t->places = places;
}

static struct kl_verdict_label *label_at(struct kl_verdict_table *t, uint32_t n) {
    return &t->label[n % t->places];
}

/* The labels that are kept, and then those that were asked for; NULL: no more. */
static struct kl_verdict_label *nth(struct kl_verdict_table *t, uint32_t n) {
    uint32_t kept = t->end - t->begin;
    if (n < kept) return label_at(t, t->begin + n);
    return n - kept < t->asked_end ? &t->asked[n - kept] : NULL;
}

/* --- words --- */

static unsigned place_of(const struct kl_verdict_table *t, const struct kl_verdict_label *l) {
    bool asked = l >= t->asked && l < t->asked + KL_MAX_CLIENTS;
    return (unsigned)(asked ? t->places + (l - t->asked) : l - t->label);
}

static void keep_word(struct kl_verdict_word *w, const struct kl_hash *h) {
    *w = (struct kl_verdict_word){.ram = h->ram,
                                  .state = h->state,
                                  .picture = h->picture,
                                  .sound = h->sound,
                                  .layout = (uint16_t)(h->layout ^ h->layout >> 16),
                                  .has = h->has};
}

/* The client has reported this label. */
static struct kl_hash word_of(const struct kl_verdict_table *t, const struct kl_verdict_label *l,
                              unsigned client) {
    const struct kl_verdict_word *w = &t->words[client][place_of(t, l)];
    return (struct kl_hash){.frame = l->frame,
                            .layout = w->layout,
                            .has = w->has,
                            .ram = w->ram,
                            .state = w->state,
                            .picture = w->picture,
                            .sound = w->sound};
}

static void move_label(struct kl_verdict_table *t, struct kl_verdict_label *to,
                       struct kl_verdict_label *from) {
    unsigned place = place_of(t, to);
    *to = *from;
    for (KL_EACH(i, from->reported)) {
        struct kl_hash h = word_of(t, from, i);
        keep_word(&t->words[i][place], &h);
    }
    from->reported = 0;
}

/* --- labels --- */

void kl_verdict_expect(struct kl_verdict_table *t, uint32_t frame) {
    if (t->end - t->begin == t->places) t->begin++;
    struct kl_verdict_label *l = label_at(t, t->end++);
    *l = (struct kl_verdict_label){.frame = frame};
    for (unsigned i = 0; i < t->asked_end; i++) {
        if (!t->asked[i].reported || t->asked[i].frame != frame) continue;
        move_label(t, l, &t->asked[i]); /* a client stopped at this frame before the mark was known */
        break;
    }
}

static struct kl_verdict_label *find(struct kl_verdict_table *t, uint32_t frame) {
    struct kl_verdict_label *l;
    for (uint32_t n = 0; (l = nth(t, n)); n++)
        if (l->frame == frame && (l->reported || n < t->end - t->begin)) break;
    return l;
}

static bool is_open(const struct kl_verdict_table *t, uint32_t frame) {
    return t->any_open && frame <= t->open;
}

/* True if the label's complete verdict is sent; later reports of it are refused. */
static bool is_settled(const struct kl_verdict_table *t, uint32_t frame) {
    for (uint32_t n = 0; n < t->places; n++)
        if (t->label[n].said == SAID_COMPLETE && t->label[n].frame == frame) return true;
    return false;
}

int kl_verdict_report(struct kl_verdict_table *t, unsigned client, const struct kl_hash *h, bool loaded,
                      uint64_t now_us) {
    struct kl_verdict_label *l = find(t, h->frame);
    uint16_t bit = kl_only(client);
    if (!t->words[client]) return KL_E_SPACE;
    if (!l && is_settled(t, h->frame)) return KL_E_STATE;
    if (!l) {
        l = &t->asked[client];
        *l = (struct kl_verdict_label){.frame = h->frame};
        if (client >= t->asked_end) t->asked_end = client + 1;
    }
    if (l->reported & bit) return KL_E_STATE;
    if (l->reported == 0) l->first_us = now_us;
    l->reported |= bit;
    if (is_open(t, h->frame)) l->late |= bit;
    if (loaded) l->loaded |= bit;
    if (loaded && !(t->loaded & bit)) t->masked_equal = 0;
    if (loaded) t->loaded |= bit;
    keep_word(&t->words[client][place_of(t, l)], h);
    return KL_OK;
}

bool kl_verdict_waits(const struct kl_verdict_table *t) {
    for (uint32_t n = t->begin; n != t->end; n++)
        if (t->label[n % t->places].reported) return true;
    for (unsigned i = 0; i < t->asked_end; i++)
        if (t->asked[i].reported) return true;
    return false;
}

void kl_verdict_open(struct kl_verdict_table *t, const struct kl_verdict_members *members, uint64_t now_us) {
    struct kl_verdict_label *l;
    for (uint32_t n = 0; (l = nth(t, n)); n++) {
        bool waits = members->awaited & ~l->reported && now_us < l->first_us + KL_REPORT_WAIT_US;
        if (!l->reported || is_open(t, l->frame) || waits) continue;
        t->any_open = true;
        t->open = l->frame;
    }
}

/* --- two reports --- */

/* A part that only one of them has: unequal RAM or state, for the cores are the same; not compared, if it is
 * picture or sound. */
static void compare_part(struct kl_verdict_pair *p, uint8_t part, const struct kl_hash *a,
                         const struct kl_hash *b, bool same) {
    bool both = a->has & b->has & part, any = (a->has | b->has) & part;
    if (!any || (!both && part & (KL_HASH_PICTURE | KL_HASH_SOUND))) return;
    p->compared |= part;
    if (!both || !same) p->unequal |= part;
}

/* The unequal parts that are a desync. */
static uint8_t grave_parts(const struct kl_verdict_pair *p, uint8_t all, uint8_t any,
                           struct kl_verdict_past past) {
    uint8_t grave = SEEN;
    if (!past.loaded && !(any & (KL_HASH_NOTED | KL_HASH_MASKED))) grave |= KL_HASH_SOUND;
    if (all & KL_HASH_FULL || (all & KL_HASH_MASKED && past.masked)) grave |= KL_HASH_STATE;
    if (past.judged && !past.loaded && !(p->compared & SEEN)) grave |= KL_HASH_STATE;
    return p->unequal & grave;
}

/* The parts of which one, equal, proves that two machines are. */
static uint8_t proving_parts(uint8_t any, bool alike) {
    bool seen = any & KL_HASH_PICTURE || (any & KL_HASH_RAM && alike);
    return seen ? KL_HASH_RAM | KL_HASH_PICTURE : KL_HASH_STATE;
}

struct kl_verdict_pair kl_verdict_compare(const struct kl_hash *a, const struct kl_hash *b,
                                          struct kl_verdict_past past) {
    struct kl_verdict_pair p = {0};
    bool alike = a->layout == b->layout;
    if (alike) compare_part(&p, KL_HASH_RAM, a, b, a->ram == b->ram);
    compare_part(&p, KL_HASH_STATE, a, b, a->state == b->state);
    compare_part(&p, KL_HASH_PICTURE, a, b, a->picture == b->picture);
    compare_part(&p, KL_HASH_SOUND, a, b, a->sound == b->sound);
    uint8_t grave = grave_parts(&p, a->has & b->has, a->has | b->has, past);
    p.differs = grave ? DIFFERS : p.unequal ? NOTED : EQUAL;
    p.parts = grave ? grave : p.unequal;
    if (!alike) p.parts |= KL_PARTS_LAYOUT;
    p.proved = !grave && p.compared & ~p.unequal & proving_parts(a->has | b->has, alike);
    /* a state that has never agreed says nothing if it is unequal */
    if (!grave && !(p.compared & SEEN) && (p.unequal & KL_HASH_STATE || !(p.compared & KL_HASH_STATE)))
        p.parts |= KL_PARTS_NOTHING;
    return p;
}

bool kl_verdict_states_judge(const struct kl_verdict_table *t) {
    return t->states_agreed && !t->seen;
}

static bool masked_count(const struct kl_verdict_table *t) {
    return t->masked_equal >= KL_MASKED_LABELS && t->masked_heals < KL_MASKED_HEALS;
}

static struct kl_verdict_pair pair_of(const struct kl_verdict_table *t, const struct kl_verdict_label *l,
                                      unsigned a, unsigned b) {
    struct kl_hash x = word_of(t, l, a), y = word_of(t, l, b);
    struct kl_verdict_past past = {.loaded = kl_has(l->loaded, a) || kl_has(l->loaded, b),
                                   .judged = kl_verdict_states_judge(t),
                                   .masked = masked_count(t)};
    return kl_verdict_compare(&x, &y, past);
}

/* The clients whose report is no desync beside that of `client`. */
static uint16_t camp_of(const struct kl_verdict_table *t, const struct kl_verdict_label *l, unsigned client) {
    uint16_t camp = 0;
    for (KL_EACH(i, l->reported))
        if (pair_of(t, l, client, i).differs != DIFFERS) camp |= kl_only(i);
    return camp;
}

static uint16_t neighbours(const uint8_t home[KL_MAX_CLIENTS], uint16_t voters, unsigned client) {
    uint16_t mask = 0;
    for (KL_EACH(i, voters))
        if (home[i] == home[client]) mask |= kl_only(i);
    return mask;
}

unsigned kl_verdict_votes(const uint8_t home[KL_MAX_CLIENTS], uint16_t voters, uint16_t camp) {
    unsigned votes = 0;
    if (!voters) return 0;
    if (neighbours(home, voters, kl_first(voters)) == voters) return kl_size(camp & voters);
    for (KL_EACH(i, voters)) {
        uint16_t with = neighbours(home, voters, i);
        if (kl_first(with) == i) votes += !(with & ~camp);
    }
    return votes;
}

bool kl_verdict_carries(const uint8_t home[KL_MAX_CLIENTS], uint16_t host, uint16_t voters, uint16_t camp) {
    unsigned all = kl_verdict_votes(home, voters, voters), votes = kl_verdict_votes(home, voters, camp);
    bool for_the_host = (camp & host & voters) && 2 * kl_size(camp & voters) > kl_size(voters);
    return 2 * votes > all || (all > 0 && 2 * votes == all && for_the_host);
}

/* The camp of more than half of the votes of those that reported; 0: none is that large. A late report is
 * counted among them, but on no side. */
static uint16_t majority(const struct kl_verdict_table *t, const struct kl_verdict_label *l,
                         const struct kl_verdict_members *members) {
    uint16_t voters = members->voters & l->reported ? members->voters & l->reported : l->reported;
    uint16_t in_time = voters & (uint16_t)~l->late;
    for (KL_EACH(i, in_time)) {
        uint16_t camp = camp_of(t, l, i);
        if (kl_verdict_carries(members->home, members->host, voters, camp & in_time)) return camp;
    }
    return 0;
}

/* The gravest difference of any report from the first one; parts: all of its kind. */
static struct kl_verdict_pair judge(const struct kl_verdict_table *t, const struct kl_verdict_label *l) {
    static const int gravity[] = {[EQUAL] = 0, [NOTED] = 1, [DIFFERS] = 2};
    struct kl_verdict_pair worst = {0};
    uint16_t whole = l->reported & (uint16_t)~l->loaded, from = whole ? whole : l->reported;
    unsigned first = kl_first(from);
    for (KL_EACH(i, l->reported)) {
        if (i == first) continue;
        struct kl_verdict_pair p = pair_of(t, l, first, i);
        uint8_t about = (worst.parts | p.parts) & KL_PARTS_ABOUT, parts = worst.parts | p.parts;
        if (gravity[p.differs] > gravity[worst.differs]) worst.differs = p.differs, parts = p.parts;
        if (gravity[p.differs] < gravity[worst.differs]) parts = worst.parts;
        worst.parts = parts | about;
        worst.compared |= p.compared;
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
    if (judge(t, l).differs != l->differs) return true;
    return l->said == SAID_NOTHING && now_us >= l->first_us + KL_VERDICT_WAIT_US;
}

/* Once masked states count, an unequal one is a difference until it is healed. */
static void note_masked(struct kl_verdict_table *t, const struct kl_verdict_label *l,
                        const struct kl_verdict_pair *p) {
    uint8_t all = KL_HASH_MASKED;
    for (KL_EACH(i, l->reported))
        all &= word_of(t, l, i).has;
    bool equal = l->said == SAID_COMPLETE && !p->differs && kl_size(l->reported) > 1;
    if (all && equal) t->masked_equal++;
    if (!all || (p->differs && !masked_count(t))) t->masked_equal = 0;
}

static void speak(struct kl_verdict_table *t, struct kl_verdict_label *l,
                  const struct kl_verdict_members *members, struct kl_verdict *out) {
    *out = (struct kl_verdict){.frame = l->frame, .complete = is_complete(l, members->present)};
    struct kl_verdict_pair p = judge(t, l);
    out->differs = p.differs;
    out->parts = p.parts;
    uint16_t camp = p.differs ? majority(t, l, members) : 0;
    if (camp) out->minority = l->reported & (uint16_t)~camp;
    l->differs = out->differs;
    l->said = out->complete ? SAID_COMPLETE : SAID_INCOMPLETE;
    if (p.differs == DIFFERS && (!t->any_bad || out->frame <= t->first_bad.frame)) {
        t->first_bad = *out;
        t->any_bad = true;
    }
    if (out->complete && !p.differs && kl_size(l->reported) > 1) t->states_agreed = true;
    if (p.compared & SEEN) t->seen = true;
    note_masked(t, l, &p);
    out->first = t->any_bad ? t->first_bad.frame : 0;
}

/* The next verdict on labels of keyframes. */
static bool next_expected(struct kl_verdict_table *t, const struct kl_verdict_members *members,
                          uint64_t now_us, struct kl_verdict *out) {
    bool found = false;
    for (uint32_t n = t->begin; n != t->end; n++) {
        struct kl_verdict_label *l = label_at(t, n);
        if (!is_due(t, l, members->present, now_us)) {
            if (found) break;
            continue;
        }
        bool equal = judge(t, l).differs == EQUAL && is_complete(l, members->present);
        if (found && !equal) break;
        speak(t, l, members, out);
        found = true;
        if (!equal) break;
    }
    while (t->begin != t->end && label_at(t, t->begin)->said == SAID_COMPLETE)
        t->begin++; /* settled labels at the front make way */
    return found;
}

static bool next_asked(struct kl_verdict_table *t, const struct kl_verdict_members *members, uint64_t now_us,
                       struct kl_verdict *out) {
    for (unsigned i = 0; i < t->asked_end; i++) {
        struct kl_verdict_label *l = &t->asked[i];
        if (!is_due(t, l, members->present, now_us)) continue;
        speak(t, l, members, out);
        if (l->said == SAID_COMPLETE) l->reported = 0;
        return true;
    }
    return false;
}

bool kl_verdict_next(struct kl_verdict_table *t, const struct kl_verdict_members *members, uint64_t now_us,
                     struct kl_verdict *out) {
    return next_expected(t, members, now_us, out) || next_asked(t, members, now_us, out);
}

/* --- the decision --- */

static const struct kl_verdict_label *look(const struct kl_verdict_table *t, uint32_t frame) {
    for (uint32_t n = 0; n < t->places; n++) /* also settled labels, until their place is taken */
        if (t->label[n].reported && t->label[n].frame == frame) return &t->label[n];
    return NULL;
}

/* A majority is valid if more than half of the voters reported in time, a tie if half of them did. So no
 * client can decide while others cannot report because it holds the game up or their links are lost. */
bool kl_verdict_camps(const struct kl_verdict_table *t, uint32_t frame,
                      const struct kl_verdict_members *members, struct kl_verdict_camps *out) {
    const struct kl_verdict_label *l = look(t, frame);
    struct kl_verdict_pair p = {0};
    if (l) p = judge(t, l);
    if (p.differs != DIFFERS) return false;
    uint16_t in_time = l->reported & (uint16_t)~l->late;
    unsigned voters = kl_size(members->voters & (l->reported | members->awaited));
    unsigned spoken = kl_size(members->voters & in_time);
    struct kl_hash h = word_of(t, l, kl_first(in_time ? in_time : l->reported));
    *out = (struct kl_verdict_camps){.reported = l->reported,
                                     .right = spoken * 2 > voters ? majority(t, l, members) : 0,
                                     .ram = h.has & KL_HASH_RAM || !(h.has & KL_HASH_STATE),
                                     .picture = p.parts & (KL_HASH_PICTURE | KL_HASH_SOUND)};
    out->tied = !out->right && spoken && spoken * 2 >= voters;
    return true;
}

bool kl_verdict_said(const struct kl_verdict_table *t, uint32_t frame, unsigned client, struct kl_hash *out) {
    const struct kl_verdict_label *l = look(t, frame);
    if (!l || !kl_has(l->reported, client)) return false;
    *out = word_of(t, l, client);
    return true;
}

uint16_t kl_verdict_proved(const struct kl_verdict_table *t, uint32_t frame) {
    const struct kl_verdict_label *l = look(t, frame);
    uint16_t proved = 0;
    if (!l || kl_size(l->reported) == 1) return l ? l->reported : 0;
    for (KL_EACH(i, l->reported))
        for (KL_EACH(j, l->reported))
            if (i != j && pair_of(t, l, i, j).proved) proved |= kl_only(i);
    return proved;
}

void kl_verdict_forget(struct kl_verdict_table *t, uint16_t clients) {
    struct kl_verdict_label *l;
    for (uint32_t n = 0; (l = nth(t, n)); n++) {
        l->reported &= (uint16_t)~clients;
        l->late &= (uint16_t)~clients;
        l->loaded &= (uint16_t)~clients;
        if (n < t->end - t->begin) l->differs = judge(t, l).differs;
    }
    t->loaded &= (uint16_t)~clients;
}

void kl_verdict_healed(struct kl_verdict_table *t) {
    bool alone = (t->first_bad.parts & ~KL_PARTS_ABOUT) == KL_HASH_STATE && masked_count(t);
    if (t->any_bad && alone) t->masked_heals++;
    t->masked_equal = 0;
    t->any_bad = false;
}

uint64_t kl_verdict_due_us(const struct kl_verdict_table *table) {
    struct kl_verdict_table *t = (struct kl_verdict_table *)table; /* nothing changes in it */
    const struct kl_verdict_label *l;
    uint64_t due_us = UINT64_MAX;
    for (uint32_t n = 0; (l = nth(t, n)); n++) {
        if (!l->reported || l->said != SAID_NOTHING) continue;
        uint64_t at_us = l->first_us + (is_open(t, l->frame) ? KL_VERDICT_WAIT_US : KL_REPORT_WAIT_US);
        if (at_us < due_us) due_us = at_us;
    }
    return due_us;
}
