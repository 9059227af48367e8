#include "core_wrapper/env/emulator.h"

#include <math.h>

#include "core_wrapper/env/env_answers.h"

struct kl_emulator *kl_emulator_at[KL_WORLDS];
static struct kl_emulator *known;

struct kl_emulator *kl_emulator_known(void) {
    return known;
}

int kl_emulator_begin(struct kl_emulator *e, const struct kl_front *front,
                      const struct kl_emulator_hooks *hooks) {
    unsigned n = 0;
    e->front = front;
    e->hooks = *hooks;
    if (e->world) return 0;
    while (n < KL_WORLDS && kl_emulator_at[n])
        n++;
    if (n == KL_WORLDS || !(e->world = kl_world_take())) return -1;
    kl_emulator_at[n] = e;
    if (!known) known = e;
    return 0;
}

void kl_emulator_end(struct kl_emulator *e) {
    for (unsigned n = 0; n < KL_WORLDS; n++)
        if (kl_emulator_at[n] == e) kl_emulator_at[n] = NULL;
    if (known == e) known = NULL;
    kl_world_release(e->world);
    e->world = NULL;
}

bool kl_emulator_local(const struct kl_emulator *e) {
    return e->phase == KL_PHASE_LOCAL || e->phase == KL_PHASE_FREE;
}

uint32_t kl_emulator_fps_uhz(double fps) {
    return fps >= 1 && fps <= 1000 ? (uint32_t)llround(fps * 1e6) : 60000000;
}
