#include "probe_profile.h"

#include "../../net/engine/facts.h"

#include <string.h>

bool kl_profile_maskable(const struct kl_profile *p, uint64_t bytes) {
    return p->state_most && p->state_least == p->state_most &&
           bytes * 100 <= p->state_most * KLT_MASK_PERCENT;
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

/* The words of a report of the world; a reason in () belongs to its name. */
static json_object *names(const char *text) {
    json_object *list = json_object_new_array();
    int depth = 0;
    size_t from = 0;
    for (size_t i = 0;; i++) {
        depth += text[i] == '(';
        depth -= text[i] == ')';
        if (text[i] && (text[i] != ' ' || depth > 0 || text[i + 1] == '(')) continue;
        if (i > from) json_object_array_add(list, json_object_new_string_len(text + from, (int)(i - from)));
        if (!text[i]) return list;
        from = i + 1;
    }
}

static void add_range(json_object *list, uint64_t from, uint64_t to) {
    json_object *pair = json_object_new_array();
    json_object_array_add(pair, json_object_new_int64((int64_t)from));
    json_object_array_add(pair, json_object_new_int64((int64_t)to));
    json_object_array_add(list, pair);
}

static json_object *key_json(const struct kl_profile *p) {
    json_object *j = json_object_new_object();
    char core[260];
    snprintf(core, sizeof(core), "%.120s %.120s", p->run->name, p->run->version);
    add_text(j, "core", core);
    json_object_object_add(j, "content",
                           json_object_new_string_len(p->content, (int)kl_fact_length(p->content)));
    add_int(j, "state_bytes", p->state_most);
    return j;
}

static json_object *clock_json(const struct kl_profile *p) {
    json_object *j = json_object_new_object();
    json_object_object_add(j, "turned", names(p->run->turned));
    json_object_object_add(j, "left", names(p->run->left));
    add_bool(j, "counts", p->reads_clock);
    return j;
}

/* Ranges are there only where they make a mask: [first, last], offsets in the state. */
static json_object *unstable_json(const struct kl_profile *p) {
    json_object *j = json_object_new_object(), *ranges = json_object_new_array();
    const struct kl_probe_bytes *b = p->unstable;
    bool mask = kl_profile_maskable(p, b->count);
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

/* state_bytes: what differs in a joiner's state when all others have loaded theirs, too. */
static json_object *snapshot_json(const struct kl_profile *p) {
    const struct kl_join_result *r = p->join;
    json_object *j = json_object_new_object(), *ranges = json_object_new_array();
    const struct kl_differ *state = r->b_c.count ? &r->b_c.at[r->b_c.count - 1] : NULL;
    bool mask = state && kl_profile_maskable(p, state->bytes);
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

json_object *kl_profile_json(const struct kl_profile *p) {
    json_object *j = json_object_new_object();
    add_int(j, "keylock_profile", 1);
    json_object_object_add(j, "key", key_json(p));
    add_text(j, "content", p->content);
    add_bool(j, "fit", p->fit);
    add_text(j, "verdict", p->verdict);
    add_int(j, "ram_bytes", p->run->ram_bytes);
    add_int(j, "state_bytes_least", p->state_least);
    add_int(j, "state_bytes_most", p->state_most);
    json_object_object_add(j, "clock", clock_json(p));
    add_bool(j, "hide", !p->hidden_changes);
    add_bool(j, "serialize_changes_the_game", p->serialize_changes);
    add_bool(j, "serialize_twice_differs", p->twice_differs);
    json_object_object_add(j, "unstable", unstable_json(p));
    json_object_object_add(j, "snapshot", p->join ? snapshot_json(p) : NULL);
    json_object_object_add(j, "options", p->options ? options_json(p->options) : NULL);
    return j;
}
