#include "core_wrapper/tool/probe/probe_join.h"
#include "net/platform/process.h"
#include "core_wrapper/tool/common/tool.h"

#include <stdlib.h>
#include <string.h>

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
