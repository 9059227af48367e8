/* Hardware rendering in a room. The frontend makes one context for the life of the content, and fills its
 * functions into the struct that the core passed; it calls reset and destroy through pointers that it keeps,
 * which must not lead into a library that is gone. */
#include "core_wrapper/env/env_answers.h"

static void context_reset(void) {
    struct kl_emulator *e = kl_emulator_known();
    e->told.hw_alive = true;
    if (e->told.hw_reset) e->told.hw_reset();
}

static void context_destroy(void) {
    struct kl_emulator *e = kl_emulator_known();
    e->told.hw_alive = false;
    if (e->told.hw_destroy) e->told.hw_destroy();
}

static bool ask_frontend(struct kl_emulator *e, unsigned cmd, struct retro_hw_render_callback *cb) {
    e->told.hw_reset = cb->context_reset;
    e->told.hw_destroy = cb->context_destroy;
    cb->context_reset = context_reset;
    cb->context_destroy = context_destroy;
    e->told.hw = kl_env_forward(e, cmd, cb);
    e->told.hw_first = *cb;
    cb->context_reset = e->told.hw_reset;
    cb->context_destroy = e->told.hw_destroy;
    return e->told.hw;
}

static bool from_memory(struct kl_emulator *e, struct retro_hw_render_callback *cb) {
    const struct retro_hw_render_callback *first = &e->told.hw_first;
    if (!e->told.hw || cb->context_type != first->context_type || cb->version_major != first->version_major ||
        cb->version_minor != first->version_minor || cb->depth != first->depth ||
        cb->stencil != first->stencil || cb->bottom_left_origin != first->bottom_left_origin)
        return false;
    cb->get_current_framebuffer = first->get_current_framebuffer;
    cb->get_proc_address = first->get_proc_address;
    e->told.hw_reset = cb->context_reset;
    e->told.hw_destroy = cb->context_destroy;
    return true;
}

bool kl_env_hw_render(struct kl_emulator *e, unsigned cmd, void *data) {
    if (!data) return false;
    return e->load == KL_LOAD_AFRESH ? from_memory(e, data) : ask_frontend(e, cmd, data);
}

void kl_env_hw_leave(struct kl_emulator *e) {
    if (e->told.hw_alive && e->told.hw_destroy) e->told.hw_destroy();
    e->told.hw_reset = NULL;
    e->told.hw_destroy = NULL;
}

void kl_env_hw_enter(struct kl_emulator *e) {
    if (e->told.hw_alive && e->told.hw_reset) e->told.hw_reset();
}
