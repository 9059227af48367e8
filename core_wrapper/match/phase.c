#include "core_wrapper/match/phase.h"

#include "core_wrapper/match/join.h"
#include "core_wrapper/match/run_ahead.h"
#include "core_wrapper/record/record.h"
#include "core_wrapper/match/match.h"

/* The player's fast-forward and slow motion would only make the machine stall and stutter. */
void kl_phase_hold_pace(struct kl_match *m, bool hold) {
    struct retro_fastforwarding_override o = {.ratio = -1.0f, .inhibit_toggle = hold};
    if (m->config.params.clocked && !m->emu.runner)
        m->front.call.environment(RETRO_ENVIRONMENT_SET_FASTFORWARDING_OVERRIDE, &o);
}

void kl_phase_free(struct kl_match *m) {
    bool runs = m->emu.phase == KL_PHASE_FREE || m->emu.phase == KL_PHASE_LOCAL;
    m->emu.phase = KL_PHASE_FREE;
    if (!runs) m->free.begins = true;
}

void kl_phase_loads(struct kl_match *m) {
    m->free.ran = m->emu.phase == KL_PHASE_FREE;
}

bool kl_phase_ran_free(struct kl_match *m) {
    return m->emu.phase == KL_PHASE_READY && m->free.ran;
}

void kl_phase_local(struct kl_match *m) {
    kl_phase_hold_pace(m, false);
    m->emu.phase = KL_PHASE_LOCAL;
    kl_latch_press_again(&m->emu.latch); /* samples under way are lost */
}

/* Gives the seat up if the relay knows so: by our goodbye, or by its own message. */
void kl_phase_leave(struct kl_match *m, unsigned linger_ms) {
    const struct kl_participant_status *s = &m->status;
    if (m->link) kl_link_status(m->link, &m->status);
    bool is_in = s->phase >= KL_PARTICIPANT_WAITING && s->phase <= KL_PARTICIPANT_PLAYING;
    if (m->record.owed) kl_record_desync(&m->record); /* no more frames will come */
    m->record.owed = false;
    const struct kl_play *p = &m->play;
    kl_record_close(&m->record,
                    &(struct kl_record_sum){p->next_frame, p->stalls, p->stall_longest_us,
                                            p->report.desync ? (int64_t)p->report.desync_first : -1});
    kl_run_ahead_close(m);
    kl_link_close(m->link, linger_ms);
    m->link = NULL;
    kl_join_close(m, is_in || s->refused);
}
