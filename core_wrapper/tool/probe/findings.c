#include "core_wrapper/tool/probe/probe.h"

#include "net/engine/facts.h"
#include "core_wrapper/tool/common/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kl_agreement kl_agreement_between(const struct kl_probe_result *a, const struct kl_probe_result *b) {
    struct kl_agreement v = {0};
    for (unsigned i = 0, k = 0; i < a->checks && k < b->checks;) {
        const struct kl_measure_check *x = &a->check[i], *y = &b->check[k];
        if (x->hash.frame == y->hash.frame) {
            v.compared++;
            v.has_ram |= x->hash.has_ram || y->hash.has_ram;
            v.has_state |= x->hash.has_state || y->hash.has_state;
            v.ram_bad += x->hash.has_ram != y->hash.has_ram || x->hash.ram != y->hash.ram;
            v.state_bad += x->hash.has_state != y->hash.has_state || x->hash.state != y->hash.state;
            v.av_bad += x->av != y->av;
        }
        bool step_a = x->hash.frame <= y->hash.frame, step_b = y->hash.frame <= x->hash.frame;
        i += step_a;
        k += step_b;
    }
    return v;
}

struct kl_agreement kl_agreement_within(const struct kl_probe_result *r) {
    struct kl_agreement v = {0};
    for (unsigned i = 0; i < r->checks; i++) {
        if (!r->check[i].compared) continue;
        v.compared++;
        v.has_ram |= r->check[i].hash.has_ram;
        v.has_state = true;
        v.ram_bad += !r->check[i].ram_same;
        v.state_bad += !r->check[i].state_same;
    }
    return v;
}

bool kl_findings_maskable(const struct kl_findings *p, uint64_t bytes) {
    return p->state_most && p->state_least == p->state_most && kl_mask_small_enough(bytes, p->state_most);
}

static void add_text(json_object *j, const char *key, const char *text) {
    json_object_object_add(j, key, json_object_new_string(text));
}

static void add_int(json_object *j, const char *key, uint64_t v) {
    json_object_object_add(j, key, json_object_new_int64((int64_t)v));
}

static void add_bool(json_object *j, const char *key, bool v) {
    json_object_object_add(j, key, json_object_new_boolean(v));
}

static void add_range(json_object *list, uint64_t from, uint64_t to) {
    json_object *pair = json_object_new_array();
    json_object_array_add(pair, json_object_new_int64((int64_t)from));
    json_object_array_add(pair, json_object_new_int64((int64_t)to));
    json_object_array_add(list, pair);
}

/* Without the remark for people. */
static json_object *content_key(const char *content) {
    char fact[KL_FACT_VAL_MAX];
    snprintf(fact, sizeof(fact), "%.*s", (int)kl_fact_length(content), content);
    return kl_report_content(fact);
}

static json_object *key_json(const struct kl_findings *p) {
    json_object *j = json_object_new_object();
    add_text(j, "core", p->core);
    json_object_object_add(j, "content", content_key(p->content));
    add_int(j, "state_bytes", p->state_most);
    add_bool(j, "state_bytes_constant", p->state_least == p->state_most);
    return j;
}

static json_object *clock_json(const struct kl_findings *p) {
    json_object *j = json_object_new_object();
    json_object_object_add(j, "turned", kl_report_imports(p->run->figures.turned));
    json_object_object_add(j, "left", kl_report_imports(p->run->figures.left));
    add_bool(j, "counts", p->reads_clock);
    add_bool(j, "rand", p->run->figures.rand);
    return j;
}

/* Ranges stand here only if they make a mask: [first, last], offsets in the state. */
static json_object *unstable_json(const struct kl_findings *p) {
    json_object *j = json_object_new_object(), *ranges = json_object_new_array();
    const struct kl_measure_bytes *b = p->unstable;
    bool mask = kl_findings_maskable(p, b->count);
    add_int(j, "bytes", b->count);
    add_bool(j, "mask", mask);
    for (unsigned i = 0; mask && i < b->ranges; i++)
        add_range(ranges, b->range[i].from, b->range[i].to);
    json_object_object_add(j, "ranges", ranges);
    return j;
}

static json_object *pair_json(const struct kl_comparison *c) {
    json_object *j = json_object_new_object();
    add_int(j, "compared", c->moments);
    add_int(j, "memory", kl_join_memory(c));
    add_int(j, "state", kl_join_state(c));
    return j;
}

/* state_bytes: bytes that differ in a newcomer's state if all others have loaded theirs, too. */
static json_object *snapshot_json(const struct kl_findings *p) {
    const struct kl_join_result *r = p->join;
    json_object *j = json_object_new_object(), *ranges = json_object_new_array();
    const struct kl_differ *state = r->b_c.count ? &r->b_c.at[r->b_c.count - 1] : NULL;
    bool mask = state && kl_findings_maskable(p, state->bytes);
    add_text(j, "load", kl_join_verdict_name(kl_join_judge(r)));
    if (r->error[0]) add_text(j, "error", r->error);
    json_object_object_add(j, "self_load_against_none", pair_json(&r->a_b));
    json_object_object_add(j, "joiner_against_none", pair_json(&r->a_c));
    json_object_object_add(j, "joiner_against_self_load", pair_json(&r->b_c));
    add_int(j, "state_bytes", state ? state->bytes : 0);
    add_bool(j, "mask", mask);
    struct kl_range range = {0};
    for (uint64_t from = 0; mask && kl_differ_next(state, from, &range); from = range.to + 1)
        add_range(ranges, range.from, range.to);
    json_object_object_add(j, "ranges", ranges);
    return j;
}

/* The number of checks, and of checks that differed; null: not compared. */
static json_object *run_json(const struct kl_agreement *a) {
    json_object *j = json_object_new_object();
    add_int(j, "compared", a->compared);
    json_object_object_add(j, "ram", a->has_ram ? json_object_new_int64(a->ram_bad) : NULL);
    json_object_object_add(j, "state", a->has_state ? json_object_new_int64(a->state_bad) : NULL);
    add_int(j, "picture_and_sound", a->av_bad);
    return j;
}

static json_object *runs_json(const struct kl_findings *p) {
    static const char *const names_of[KL_MEASURE_MODES] = {[KL_MEASURE_PLAIN] = "again",
                                                           [KL_MEASURE_HOST] = "host_clock",
                                                           [KL_MEASURE_HIDDEN] = "hidden",
                                                           [KL_MEASURE_QUIET] = "hashed_once",
                                                           [KL_MEASURE_LOAD] = "self_load",
                                                           [KL_MEASURE_REPLAY] = "load_back",
                                                           [KL_MEASURE_TWICE] = "serialized_twice",
                                                           [KL_MEASURE_BESIDE] = "beside",
                                                           [KL_MEASURE_PAGES] = "pages"};
    json_object *j = json_object_new_object();
    for (int mode = 0; mode < KL_MEASURE_MODES; mode++)
        json_object_object_add(j, names_of[mode], run_json(&p->runs[mode]));
    return j;
}

static json_object *options_json(const struct kl_options_result *r) {
    json_object *list = json_object_new_array();
    for (unsigned i = 0; i < r->count; i++) {
        const struct kl_probed_value *v = &r->at[i];
        json_object *j = json_object_new_object();
        add_text(j, "key", v->key);
        add_text(j, "value", v->value);
        add_text(j, "changes", kl_option_effect_name(v->effect));
        if (v->effect == KLT_EFFECT_STATE || v->effect == KLT_EFFECT_GAME) add_int(j, "frame", v->frame);
        json_object_array_add(list, j);
    }
    return list;
}

/* --- the room's settings --- */

#define WORD 4

static void mark(uint8_t *map, uint64_t len, uint64_t from, uint64_t to) {
    for (uint64_t i = from / WORD * WORD; i < len && i <= to / WORD * WORD + WORD - 1; i++)
        map[i] = 1;
}

/* False: they make no mask. */
static bool mask_from_map(struct kl_mask *m, const uint8_t *map) {
    for (uint32_t at = 0; at < m->state_bytes; at++) {
        if (!map[at]) continue;
        if (m->count == KL_MASK_RANGES) return false;
        struct kl_mask_range *r = &m->range[m->count++];
        for (r->from = at; at < m->state_bytes && map[at]; at++)
            r->to = at;
    }
    return !kl_mask_bad(m);
}

static bool make_mask(struct kl_mask *m, const struct kl_measure_bytes *unstable,
                      const struct kl_differ *loaded) {
    struct kl_range range = {0};
    uint64_t in_ranges = 0;
    uint8_t *map = m->state_bytes ? calloc(1, m->state_bytes) : NULL;
    for (unsigned i = 0; map && i < unstable->ranges; i++) {
        mark(map, m->state_bytes, unstable->range[i].from, unstable->range[i].to);
        in_ranges += unstable->range[i].to - unstable->range[i].from + 1;
    }
    for (uint64_t from = 0; map && loaded && kl_differ_next(loaded, from, &range); from = range.to + 1)
        mark(map, m->state_bytes, range.from, range.to);
    bool good = map && in_ranges == unstable->count && mask_from_map(m, map);
    free(map);
    return good;
}

static const struct kl_differ *state_of(const struct kl_comparison *c) {
    return c->count ? &c->at[c->count - 1] : NULL;
}

void kl_findings_room(const struct kl_findings *p, struct kl_profile_room *out) {
    enum kl_join_verdict snapshot = p->join ? kl_join_judge(p->join) : KLT_JOIN_UNKNOWN;
    const struct kl_differ *loaded = NULL;
    memset(out, 0, sizeof(*out));
    out->show_all = p->hidden_changes;
    out->load_own = snapshot == KLT_JOIN_ALL;
    out->no_snapshots = snapshot == KLT_JOIN_HISTORY;
    out->hash_every = kl_profile_hash_every(p->run->figures.serialize_us);
    if (snapshot == KLT_JOIN_STATE_ONLY) {
        out->load_own = state_of(&p->join->b_c)->bytes < state_of(&p->join->a_c)->bytes;
        loaded = state_of(out->load_own ? &p->join->b_c : &p->join->a_c);
    }
    if (p->state_least == p->state_most) out->mask.state_bytes = (uint32_t)p->state_most;
    out->states_equal = !p->unstable->count && (snapshot == KLT_JOIN_NONE || snapshot == KLT_JOIN_ALL);
    if ((p->unstable->count || loaded) && !make_mask(&out->mask, p->unstable, loaded)) out->mask.count = 0;
}

static json_object *room_json(const struct kl_profile_room *room) {
    json_object *j = json_object_new_object(), *ranges = json_object_new_array();
    for (unsigned i = 0; i < room->mask.count; i++)
        add_range(ranges, room->mask.range[i].from, room->mask.range[i].to);
    json_object_object_add(j, "mask", ranges);
    add_bool(j, "states_equal", room->states_equal);
    add_bool(j, "snapshots", !room->no_snapshots);
    add_bool(j, "load_own", room->load_own);
    add_bool(j, "hide", !room->show_all);
    add_int(j, "hash_every", room->hash_every);
    return j;
}

static void add_ahead(json_object *j, const struct kl_findings *p) {
    add_bool(j, "ahead", !*p->no_ahead);
    if (*p->no_ahead) add_text(j, "no_ahead", p->no_ahead);
    add_bool(j, "pages", p->pages);
}

json_object *kl_findings_any_json(const struct kl_findings *p, const struct kl_profile_room *room) {
    json_object *j = json_object_new_object(), *key = key_json(p);
    char any[KL_FACT_VAL_MAX];
    kl_profile_any(any, room->mask.state_bytes);
    json_object_object_add(key, "content", kl_report_content(any));
    add_int(j, "keylock_profile", KL_PROFILE_FORMAT);
    json_object_object_add(j, "key", key);
    json_object_object_add(j, "room", room_json(room));
    add_ahead(j, p);
    return j;
}

json_object *kl_findings_json(const struct kl_findings *p) {
    static struct kl_profile_room room; /* large */
    json_object *j = json_object_new_object();
    kl_findings_room(p, &room);
    add_int(j, "keylock_profile", KL_PROFILE_FORMAT);
    json_object_object_add(j, "key", key_json(p));
    json_object_object_add(j, "room", room_json(&room));
    json_object_object_add(j, "content", kl_report_content(p->content));
    add_ahead(j, p);
    add_bool(j, "fit", p->fit);
    add_text(j, "verdict", p->verdict);
    add_int(j, "ram_bytes", p->run->figures.ram_bytes);
    add_int(j, "state_bytes_least", p->state_least);
    add_int(j, "state_bytes_most", p->state_most);
    json_object_object_add(j, "clock", clock_json(p));
    if (*p->run->files) add_text(j, "history_only", p->run->files);
    add_bool(j, "hide", !p->hidden_changes);
    add_bool(j, "serialize_changes_the_game", p->serialize_changes);
    add_bool(j, "serialize_changes_the_state", p->serialize_marks);
    add_bool(j, "serialize_twice_differs", p->twice_differs);
    json_object_object_add(j, "runs", runs_json(p));
    add_int(j, "load_back_bytes", p->load_back_bytes);
    add_int(j, "serialize_us", (uint64_t)p->run->figures.serialize_us);
    json_object_object_add(j, "unstable", unstable_json(p));
    json_object_object_add(j, "snapshot", p->join ? snapshot_json(p) : NULL);
    json_object_object_add(j, "options", p->options ? options_json(p->options) : NULL);
    return j;
}
