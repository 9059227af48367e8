/* Hardware rendering in a room. The frontend makes one context for the life of the content, and fills its
 * functions into the struct that the core passed; it calls reset and destroy through pointers that it keeps,
 * which must not lead into a library that is gone. */
#include "core_wrapper/env/env_answers.h"
#include "core_wrapper/context/wrapper.h"

static void context_reset(void) {
    kl_w.told.hw_alive = true;
    if (kl_w.told.hw_reset) kl_w.told.hw_reset();
}

static void context_destroy(void) {
    kl_w.told.hw_alive = false;
    if (kl_w.told.hw_destroy) kl_w.told.hw_destroy();
}

static bool ask_frontend(unsigned cmd, struct retro_hw_render_callback *cb) {
    kl_w.told.hw_reset = cb->context_reset;
    kl_w.told.hw_destroy = cb->context_destroy;
    cb->context_reset = context_reset;
    cb->context_destroy = context_destroy;
    kl_w.told.hw = kl_w.front.environment && kl_w.front.environment(cmd, cb);
    kl_w.told.hw_first = *cb;
    cb->context_reset = kl_w.told.hw_reset;
    cb->context_destroy = kl_w.told.hw_destroy;
    return kl_w.told.hw;
}

static bool from_memory(struct retro_hw_render_callback *cb) {
    const struct retro_hw_render_callback *first = &kl_w.told.hw_first;
    if (!kl_w.told.hw || cb->context_type != first->context_type ||
        cb->version_major != first->version_major || cb->version_minor != first->version_minor ||
        cb->depth != first->depth || cb->stencil != first->stencil ||
        cb->bottom_left_origin != first->bottom_left_origin)
        return false;
    cb->get_current_framebuffer = first->get_current_framebuffer;
    cb->get_proc_address = first->get_proc_address;
    kl_w.told.hw_reset = cb->context_reset;
    kl_w.told.hw_destroy = cb->context_destroy;
    return true;
}

bool kl_env_hw_render(unsigned cmd, void *data) {
    if (!data) return false;
    return kl_w.load == KL_LOAD_AFRESH ? from_memory(data) : ask_frontend(cmd, data);
}

void kl_env_hw_leave(void) {
    if (kl_w.told.hw_alive && kl_w.told.hw_destroy) kl_w.told.hw_destroy();
    kl_w.told.hw_reset = NULL;
    kl_w.told.hw_destroy = NULL;
}

void kl_env_hw_enter(void) {
    if (kl_w.told.hw_alive && kl_w.told.hw_reset) kl_w.told.hw_reset();
}
