#include "core_wrapper/tool/probe/probe_options.h"
#include "net/platform/process.h"
#include "core_wrapper/tool/common/tool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
