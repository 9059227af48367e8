/* One run: drives its machine, keeps its findings. */
#include "core_wrapper/tool/probe/probe.h"
#include "core_wrapper/tool/common/tool.h"

#include <stdlib.h>
#include <string.h>

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
