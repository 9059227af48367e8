#include "core_wrapper/match/phase.h"

#include "core_wrapper/match/join.h"
#include "core_wrapper/record/record.h"
#include "core_wrapper/context/wrapper.h"

/* The player's fast-forward and slow motion would only make the machine stall and stutter. */
void kl_phase_hold_pace(bool hold) {
    struct retro_fastforwarding_override o = {.ratio = -1.0f, .inhibit_toggle = hold};
    if (kl_w.config.params.clocked && !kl_w.emu.runner)
        kl_w.front.environment(RETRO_ENVIRONMENT_SET_FASTFORWARDING_OVERRIDE, &o);
}

void kl_phase_free(void) {
    bool runs = kl_w.emu.phase == KL_PHASE_FREE || kl_w.emu.phase == KL_PHASE_LOCAL;
    kl_w.emu.phase = KL_PHASE_FREE;
    if (!runs) kl_w.free_begins = true;
}

static bool ran_free; /* before the load for the room */

void kl_phase_loads(void) {
    ran_free = kl_w.emu.phase == KL_PHASE_FREE;
}

bool kl_phase_ran_free(void) {
    return kl_w.emu.phase == KL_PHASE_READY && ran_free;
}

void kl_phase_local(void) {
    kl_phase_hold_pace(false);
    kl_w.emu.phase = KL_PHASE_LOCAL;
}

/* Gives the seat up if the relay knows so: by our goodbye, or by its own message. */
void kl_phase_leave(unsigned linger_ms) {
    const struct kl_stay_status *s = &kl_w.status;
    if (kl_w.link) kl_link_status(kl_w.link, &kl_w.status);
    bool is_in = s->phase >= KL_STAY_WAITING && s->phase <= KL_STAY_PLAYING;
    if (kl_w.desync_owed) kl_record_desync(); /* no more frames will come */
    kl_w.desync_owed = false;
    kl_record_close();
    kl_link_close(kl_w.link, linger_ms);
    kl_w.link = NULL;
    kl_join_close(is_in || s->refused);
}
