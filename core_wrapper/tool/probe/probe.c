#include "core_wrapper/tool/probe/probe.h"

#include <stdlib.h>
#include <string.h>

#include "core_wrapper/tool/common/tool.h"
#include "net/platform/process.h"

/* One run: drives its machine, keeps its findings. */

#define STATES_MAX ((uint64_t)64 << 20) /* bytes of states kept for comparison by one run */

static bool add_check(struct kl_probe_result *r, const struct kl_measure_check *c, uint8_t *state) {
    struct kl_measure_check *check = realloc(r->check, (r->checks + 1) * sizeof(*check));
    if (check) r->check = check;
    uint8_t **states = realloc(r->state, (r->checks + 1) * sizeof(*states));
    if (states) r->state = states;
    if (!check || !states) return false;
    r->check[r->checks] = *c;
    r->state[r->checks++] = state;
    if (!*r->files) memcpy(r->files, c->files, sizeof(r->files));
    return true;
}

static int run(struct kl_probe_result *r, struct kl_machine *m, uint32_t frames, uint32_t every, bool keep) {
    while (m->frame < frames) {
        struct kl_measure_check c;
        uint8_t *state = NULL;
        uint32_t n = frames - m->frame < every ? frames - m->frame : every;
        if (kl_machine_check(m, n, &c, keep ? &state : NULL, r->error, sizeof(r->error)) != 0) return -1;
        /* Of large states not each is kept. */
        uint64_t stride = c.state_bytes * (frames / every + 1) / STATES_MAX + 1;
        if (!c.state_bytes || m->frame / every % stride != 0) {
            free(state);
            state = NULL;
        }
        if (!add_check(r, &c, state)) {
            snprintf(r->error, sizeof(r->error), "out of memory");
            free(state);
            return -1;
        }
    }
    return kl_machine_figures(m, &r->figures, r->error, sizeof(r->error));
}

/* The machine is gone, or has crashed or hung while it was closed. */
static void note_end(struct kl_probe_result *r, const struct kl_machine *m) {
    r->code = m->end.code;
    if (m->end.crashed) snprintf(r->crash, sizeof(r->crash), "%s", m->end.why);
    if (m->gone && m->no_answer == KL_PROCESS_STOPPED) return;
    if (m->end.killed || (m->gone && m->no_answer == KL_PROCESS_LATE))
        snprintf(r->error, sizeof(r->error), "it hangs: no answer within %d s", KLT_ANSWER_S);
    else if (m->gone)
        snprintf(r->error, sizeof(r->error), "%s", m->said);
}

void kl_probe_run(struct kl_probe_result *r, const struct kl_machine_setup *setup, enum kl_measure_mode mode,
                  unsigned turn, uint32_t frames, uint32_t every, bool keep) {
    struct kl_machine m;
    struct kl_machine_setup with = *setup;
    memset(r, 0, sizeof(*r));
    with.measures = 1 + (uint64_t)mode;
    with.moved = turn % 2 && !setup->same_addresses;
    with.host_clock = mode == KL_MEASURE_HOST;
    int result = kl_machine_start(&m, &with, r->error, sizeof(r->error));
    bool started = result == 0;
    memcpy(r->name, m.info.name, sizeof(r->name));
    memcpy(r->version, m.info.version, sizeof(r->version));
    if (started) result = run(r, &m, frames, mode == KL_MEASURE_QUIET ? frames : every, keep);
    if (started) kl_machine_stop(&m);
    note_end(r, &m);
    r->ran = result == 0 && !m.end.crashed && !m.end.killed;
    if (!r->ran && !m.gone) r->code = started ? KLT_FAILED : KLT_LOAD;
}

void kl_probe_free(struct kl_probe_result *r) {
    for (unsigned i = 0; i < r->checks; i++)
        free(r->state[i]);
    free(r->state);
    free(r->check);
    memset(r, 0, sizeof(*r));
}

void kl_probe_compare_states(struct kl_measure_bytes *out, const struct kl_probe_result *a,
                             const struct kl_probe_result *b) {
    uint64_t map_len = 0;
    uint8_t *map = NULL;
    for (unsigned i = 0; i < a->checks && i < b->checks; i++) {
        uint64_t size = a->check[i].state_bytes;
        if (!a->state[i] || !b->state[i] || size != b->check[i].state_bytes) continue;
        if (!map) map = calloc(1, map_len = size);
        for (uint64_t k = 0; map && k < size && k < map_len; k++)
            map[k] |= a->state[i][k] != b->state[i][k];
    }
    if (map) kl_measure_bytes_from_map(out, map, map_len);
    free(map);
}

/* --- the effect of a snapshot --- */

enum { A, B, C, MACHINES };

struct join {
    struct kl_machine m[MACHINES];
    struct kl_join_result *r;
};

static int run_to(struct kl_machine *m, uint32_t to, struct kl_join_result *r) {
    static const uint8_t what[KLT_MACHINE_BATCH]; /* RAM alone */
    static struct kl_hashline ignored[KLT_MACHINE_BATCH];
    while (m->frame < to) {
        uint32_t n = to - m->frame < KLT_MACHINE_BATCH ? to - m->frame : KLT_MACHINE_BATCH;
        if (kl_machine_run(m, n, what, ignored, r->error, sizeof(r->error)) != 0) return -1;
    }
    return 0;
}

static int compare(struct join *j, uint32_t frame) {
    struct kl_dump d[MACHINES] = {0};
    struct kl_join_result *r = j->r;
    int result = 0;
    for (unsigned i = 0; result == 0 && i < MACHINES; i++)
        result = kl_machine_look(&j->m[i], &d[i], r->error, sizeof(r->error));
    if (result == 0) result = kl_comparison_add(&r->a_b, &d[A], &d[B], frame, r->error, sizeof(r->error));
    if (result == 0) result = kl_comparison_add(&r->a_c, &d[A], &d[C], frame, r->error, sizeof(r->error));
    if (result == 0) result = kl_comparison_add(&r->b_c, &d[B], &d[C], frame, r->error, sizeof(r->error));
    for (unsigned i = 0; i < MACHINES; i++)
        kl_dump_free(&d[i]);
    return result;
}

/* A serializes as often as B: only the loading is different. */
static int load(struct join *j) {
    struct kl_statefile own = {0}, state = {0};
    struct kl_join_result *r = j->r;
    int result = kl_machine_save(&j->m[A], &own, r->error, sizeof(r->error));
    if (result == 0) result = kl_machine_save(&j->m[B], &state, r->error, sizeof(r->error));
    if (result == 0) result = kl_machine_load(&j->m[B], &state, 0, r->error, sizeof(r->error));
    if (result == 0) result = kl_machine_load(&j->m[C], &state, 0, r->error, sizeof(r->error));
    if (result == 1) r->takes = false;
    kl_statefile_free(&own);
    kl_statefile_free(&state);
    return result;
}

/* The first frames show the effects of a load, the later ones whether they go away. */
static int join_once(struct join *j, const struct kl_machine_setup *setup, uint32_t at, uint32_t on) {
    struct kl_join_result *r = j->r;
    for (unsigned i = 0; i < MACHINES; i++)
        if (kl_machine_start(&j->m[i], setup, r->error, sizeof(r->error)) != 0 ||
            run_to(&j->m[i], i == C ? 1 : at, r) != 0)
            return -1;
    if (load(j) != 0) return -1;
    for (uint32_t n = 1; n <= on; n = n < 8 ? n + 1 : n < 60 ? 60 : n + 60) {
        for (unsigned i = 0; i < MACHINES; i++)
            if (run_to(&j->m[i], at + n, r) != 0) return -1;
        if (compare(j, n) != 0) return -1;
        if (kl_process_stopped()) return -1;
    }
    return 0;
}

/* A part that the state lacks shows in one play and not in another, so another seed follows. */
static void other_seed(struct kl_machine_setup *setup, uint32_t by, char text[40]) {
    static const char random[] = "random:";
    size_t n = sizeof(random) - 1;
    if (!setup->input || strncmp(setup->input, random, n) != 0) return;
    snprintf(text, 40, "%s%llu", random, strtoull(setup->input + n, NULL, 10) + by);
    setup->input = text;
}

void kl_join_run(struct kl_join_result *r, const struct kl_machine_setup *setup, uint32_t frames,
                 uint32_t on) {
    memset(r, 0, sizeof(*r));
    r->takes = true;
    int result = 0;
    for (uint32_t i = 1; result == 0 && i <= KLT_JOINS; i++) {
        struct join j = {.r = r};
        struct kl_machine_setup other = *setup;
        char input[40];
        other_seed(&other, i - 1, input);
        uint32_t at = (uint32_t)((uint64_t)frames * i / (KLT_JOINS + 1));
        result = join_once(&j, &other, at ? at : 1, on);
        for (unsigned k = 0; k < MACHINES; k++)
            kl_machine_stop(&j.m[k]);
    }
    r->ran = result == 0;
}

void kl_join_free(struct kl_join_result *r) {
    kl_comparison_free(&r->a_b);
    kl_comparison_free(&r->a_c);
    kl_comparison_free(&r->b_c);
}

uint32_t kl_join_memory(const struct kl_comparison *c) {
    uint32_t most = 0;
    for (unsigned i = 0; i + 1 < c->count; i++)
        if (c->at[i].moments > most) most = c->at[i].moments;
    return most;
}

uint32_t kl_join_state(const struct kl_comparison *c) {
    return c->count ? c->at[c->count - 1].moments : 0;
}

enum kl_join_verdict kl_join_judge(const struct kl_join_result *r) {
    if (!r->ran) return r->takes ? KLT_JOIN_UNKNOWN : KLT_JOIN_HISTORY;
    if (!r->a_c.differing && !r->a_b.differing) return KLT_JOIN_NONE;
    if (!r->b_c.differing) return KLT_JOIN_ALL;
    if (r->b_c.count > 1 && !kl_join_memory(&r->b_c)) return KLT_JOIN_STATE_ONLY;
    return KLT_JOIN_HISTORY;
}

const char *kl_join_verdict_name(enum kl_join_verdict v) {
    static const char *const names[] = {"unknown", "none", "all", "state only", "history"};
    return names[v];
}

/* --- core options --- */

#define EVERY 60 /* frames between hashes of the state */

struct run {
    struct kl_hashline *line; /* by frame */
    uint32_t frames;
};

/* --- one run --- */

static int run_machine(const struct kl_machine_setup *setup, struct run *r, char **list, char *err,
                       size_t err_len) {
    uint8_t what[KLT_MACHINE_BATCH];
    struct kl_machine m;
    if (kl_machine_start(&m, setup, err, err_len) != 0) return -1;
    int result = list ? kl_machine_options(&m, list, err, err_len) : 0;
    while (result == 0 && m.frame < r->frames) {
        uint32_t at = m.frame, n = r->frames - at < KLT_MACHINE_BATCH ? r->frames - at : KLT_MACHINE_BATCH;
        for (uint32_t i = 0; i < n; i++)
            what[i] = (at + i + 1) % EVERY == 0 || at + i + 1 == r->frames ? KLT_HASH_FULL : KLT_HASH_RAM;
        result = kl_machine_run(&m, n, what, r->line + at, err, err_len);
    }
    kl_machine_stop(&m);
    return result;
}

static void judge(struct kl_probed_value *v, const struct run *base, const struct run *r) {
    bool ram = base->line[0].has_ram;
    v->effect = KLT_EFFECT_NONE;
    for (uint32_t f = 0; f < base->frames; f++) {
        const struct kl_hashline *x = &base->line[f], *y = &r->line[f];
        bool ram_parts = x->has_ram != y->has_ram || x->ram != y->ram;
        bool state_parts = x->has_state != y->has_state || x->state != y->state;
        if (!ram_parts && !state_parts) continue;
        if (v->effect == KLT_EFFECT_NONE || ram_parts) v->frame = f;
        v->effect = ram_parts || !ram ? KLT_EFFECT_GAME : KLT_EFFECT_STATE;
        if (v->effect == KLT_EFFECT_GAME) return;
    }
}

/* --- the list: a line each, "key\tvalue in force\tchoice\tchoice…" --- */

static void add_value(struct kl_options_result *r, const char *key, const char *value) {
    if (r->count == KLT_PROBED_MAX) {
        r->left_out++;
        return;
    }
    struct kl_probed_value *v = &r->at[r->count++];
    snprintf(v->key, sizeof(v->key), "%s", key);
    snprintf(v->value, sizeof(v->value), "%s", value);
}

static bool is_set(const struct kl_machine_setup *setup, const char *key) {
    size_t len = strlen(key);
    for (unsigned i = 0; i < setup->option_count; i++)
        if (strncmp(setup->option[i], key, len) == 0 && setup->option[i][len] == '=') return true;
    return false;
}

/* --- all of them --- */

static void probe_value(struct kl_probed_value *v, const struct kl_machine_setup *setup,
                        const struct run *base, struct run *r) {
    struct kl_machine_setup with = *setup;
    char pair[260], err[KLT_ERR];
    snprintf(pair, sizeof(pair), "%s=%s", v->key, v->value);
    if (with.option_count == KLT_MACHINE_OPTIONS) return;
    with.option[with.option_count++] = pair;
    if (run_machine(&with, r, NULL, err, sizeof(err)) == 0)
        judge(v, base, r);
    else
        v->effect = KLT_EFFECT_BROKEN;
}

void kl_options_probe(struct kl_options_result *r, const struct kl_machine_setup *setup, uint32_t frames) {
    struct run base = {calloc(frames, sizeof(*base.line)), frames};
    struct run other = {calloc(frames, sizeof(*other.line)), frames};
    char *list = NULL;
    memset(r, 0, sizeof(*r));
    r->at = calloc(KLT_PROBED_MAX, sizeof(*r->at));
    if (!base.line || !other.line || !r->at)
        snprintf(r->error, sizeof(r->error), "out of memory");
    else if (run_machine(setup, &base, &list, r->error, sizeof(r->error)) == 0) {
        char *rest_line = NULL, *rest = NULL;
        for (char *line = strtok_r(list, "\n", &rest_line); line; line = strtok_r(NULL, "\n", &rest_line)) {
            char *key = strtok_r(line, "\t", &rest), *now = key ? strtok_r(NULL, "\t", &rest) : NULL;
            if (!now || is_set(setup, key)) continue;
            for (char *value; (value = strtok_r(NULL, "\t", &rest)) != NULL;)
                if (strcmp(value, now) != 0) add_value(r, key, value);
        }
        bool shown = kl_process_has_terminal();
        for (unsigned i = 0; i < r->count && !kl_process_stopped(); i++) {
            if (shown)
                fprintf(stderr, "\r\x1b[Koption value %u of %u: %s=%s …", i + 1, r->count, r->at[i].key,
                        r->at[i].value);
            probe_value(&r->at[i], setup, &base, &other);
        }
        if (shown) fputs("\r\x1b[K", stderr);
    }
    free(list);
    free(base.line);
    free(other.line);
}

void kl_options_result_free(struct kl_options_result *r) {
    free(r->at);
    memset(r, 0, sizeof(*r));
}

const char *kl_option_effect_name(enum kl_option_effect e) {
    static const char *const names[] = {"none", "state", "game", "broken"};
    return names[e];
}
