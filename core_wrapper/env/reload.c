#include "core_wrapper/env/reload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/core/snapshot_pack.h"
#include "core_wrapper/env/core_log.h"
#include "core_wrapper/env/env_answers.h"
#include "core_wrapper/start/rand_use.h"

enum kl_rand_use kl_emulator_rand_use(const struct kl_emulator *e) {
    struct retro_system_info info = {0};
    e->core.get_system_info(&info);
    return kl_rand_use(info.library_name, e->content.item[0].path);
}

int kl_emulator_turn(struct kl_emulator *e, uint64_t epoch_s, char *err, size_t err_len) {
    char line[256], why[sizeof line - 32];
    int result = kl_world_turn(e->world, e->core.handle, &e->turned, err, err_len);
    if (result != 0 && e->hooks.log) {
        snprintf(line, sizeof line, "world not turned: %.200s", err);
        e->hooks.log(e->hooks.ctx, line);
    }
    if (e->own_heap) e->pages = kl_pages_take(e->world, e->core.handle, why, sizeof why);
    kl_world_files_clear(e->world);
    kl_world_start(e->world, epoch_s, 0);
    kl_core_construct(&e->core);
    kl_world_rand_use(e->world, kl_emulator_rand_use(e));
    return result;
}

bool kl_emulator_load_content(struct kl_emulator *e) {
    const struct kl_content *c = &e->content;
    struct kl_core *core = &e->core;
    kl_core_log_listen(e);
    kl_world_rand_use(e->world, kl_emulator_rand_use(e)); /* some go by the content */
    if (c->special)
        core->game_loaded = core->load_game_special(c->type, c->item, c->count);
    else
        core->game_loaded = core->load_game(c->none ? NULL : &c->item[0]);
    return core->game_loaded;
}

const char *kl_emulator_refusal(struct kl_emulator *e) {
    struct kl_ram ram;
    if (!*kl_core_log_error(e)) return "";
    kl_emulator_find_ram(e, &ram);
    return ram.count || e->core.serialize_size() ? "" : kl_core_log_error(e);
}

static void take_options(struct kl_emulator *e, const struct kl_start *s) {
    char why[256];
    kl_options_free(&e->options);
    for (unsigned i = 0; i < s->option_count; i++)
        kl_options_set(&e->options, s->option[i].key, s->option[i].value, true, why, sizeof why);
}

/* Nothing of the last run is left in what the wrapper holds for the core. */
static void begin_outside(struct kl_emulator *e) {
    memset(e->device, 0, sizeof e->device);
    memset(&e->tray, 0, sizeof e->tray);
    memset(&e->only, 0, sizeof e->only);
    memset(&e->latch.keyboard, 0, sizeof e->latch.keyboard);
    e->rotation = 0;
    e->supports = 0;
    e->quirks = 0;
    e->picture.format = RETRO_PIXEL_FORMAT_0RGB1555;
}

static int fill_memory(struct kl_emulator *e, const struct kl_start *s, char *err, size_t err_len) {
    for (unsigned i = 0; i < s->memory_count; i++) {
        size_t size = e->core.get_memory_size(s->memory[i].id);
        void *data = e->core.get_memory_data(s->memory[i].id);
        if (!data || size != s->memory[i].len) {
            snprintf(err, err_len, "save memory %u: the room's has %zu bytes, this core's has %zu",
                     s->memory[i].id, s->memory[i].len, data ? size : 0);
            return -1;
        }
        memcpy(data, s->memory[i].bytes, size);
    }
    return 0;
}

/* Cores look their devices up in tables: a number that the core never named may be past their end. */
static int set_devices(struct kl_emulator *e, const struct kl_start *s, char *err, size_t err_len) {
    const struct kl_declared *controllers = e->like ? &e->like->told.controllers : &e->told.controllers;
    for (unsigned i = 0; i < s->device_count; i++) {
        const struct kl_start_device *d = &s->device[i];
        if (!kl_declared_device(controllers, d->port, d->device)) {
            snprintf(err, err_len, "the room has device %u at port %u, which this core does not name",
                     d->device, d->port + 1u);
            return -1;
        }
        e->device[d->port] = d->device + 1;
        e->core.set_controller_port_device(d->port, d->device);
    }
    return 0;
}

void kl_emulator_put_options(struct kl_emulator *e, struct kl_start *s) {
    for (unsigned i = 0; i < e->options.count && s->option_count < KL_START_OPTIONS; i++) {
        struct retro_variable v = {.key = e->options.at[i].key};
        struct kl_start_option *o = &s->option[s->option_count];
        if (!kl_env_variable(e, RETRO_ENVIRONMENT_GET_VARIABLE, &v)) continue;
        if (!kl_start_text_ok(v.key, sizeof o->key) || !kl_start_text_ok(v.value, sizeof o->value)) continue;
        strcpy(o->key, v.key);
        strcpy(o->value, v.value);
        s->option_count++;
    }
}

int kl_emulator_begin_state(struct kl_emulator *e, const struct kl_start_state *s, char *err,
                            size_t err_len) {
    const struct kl_frame still = {0};
    if (!s->bytes) return 0;
    uint8_t *state = kl_snapshot_unpack(s->packed, s->packed_len, s->bytes, s->hash);
    bool good = state && e->core.unserialize(state, s->bytes);
    for (unsigned i = 0; state && !good && i < KL_START_WARM_UP; i++) {
        kl_world_frame(e->world, 0);
        kl_emulator_run(e, &still, true);
        good = e->core.unserialize(state, s->bytes);
    }
    free(state);
    kl_world_frame(e->world, 0);
    kl_world_chance_set(e->world, s->chance);
    if (good) return 0;
    snprintf(err, err_len, "the core does not take the state that the room begins with%s",
             state ? "" : ": it is damaged");
    return -1;
}

int kl_emulator_reload(struct kl_emulator *e, const struct kl_start *s, uint64_t epoch_s, char *err,
                       size_t err_len) {
    struct retro_system_info info = {0};
    take_options(e, s);
    memset(&e->lasting, 0, sizeof e->lasting);
    begin_outside(e);
    if (kl_core_reopen(&e->core, err, err_len) != 0) return -1;
    /* not before: what the core that went has written is the old session's */
    kl_gifts_view(&e->gifts, e->world, e->system_dir, e->save_dir, e->content.stem, e->content.item[0].path,
                  true);
    (void)kl_emulator_turn(e, epoch_s, err, err_len);
    e->core.set_environment(kl_emulator_environment(e));
    e->core.get_system_info(&info);
    e->core.init();
    e->core.initialised = true;
    kl_emulator_give_callbacks(e);
    if (!kl_emulator_load_content(e)) {
        snprintf(err, err_len, "the core refused to load the content a second time");
        return -1;
    }
    if (*kl_emulator_refusal(e)) {
        snprintf(err, err_len, "the game did not load a second time: %s", kl_emulator_refusal(e));
        return -1;
    }
    if (fill_memory(e, s, err, err_len) != 0) return -1;
    if (set_devices(e, s, err, err_len) != 0) return -1;
    return kl_emulator_begin_state(e, &s->state, err, err_len);
}
