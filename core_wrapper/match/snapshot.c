#include "core_wrapper/match/snapshot.h"

#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/core/snapshot_pack.h"
#include "core_wrapper/match/match.h"
#include "core_wrapper/match/own_states.h"
#include "net/platform/thread.h"

/* --- snapshots --- */

/* --- the thread --- */

static void work(void *ctx) {
    struct kl_snapshots *shots = &((struct kl_match *)ctx)->snapshots;
    switch (shots->job.kind) {
    case KL_JOB_HASH:
        crypto_generichash(shots->job.hash, sizeof shots->job.hash, shots->job.in, shots->job.in_len, NULL,
                           0);
        break;
    case KL_JOB_PACK:
        shots->job.out = shots->job.base
                             ? kl_snapshot_pack_against(shots->job.base, shots->job.base_len, shots->job.in,
                                                        shots->job.in_len, &shots->job.out_len)
                             : kl_snapshot_pack(shots->job.in, shots->job.in_len, &shots->job.out_len);
        break;
    case KL_JOB_UNPACK:
        shots->job.out = kl_snapshot_unpack(shots->job.in, shots->job.in_len, shots->job.offer.bytes,
                                            shots->job.offer.hash);
        shots->job.out_len = shots->job.offer.bytes;
        break;
    case KL_JOB_NONE: break;
    }
    atomic_store(&shots->job.done, true);
}

static void start_job(struct kl_match *m, int kind, const uint8_t *in, size_t len) {
    struct kl_snapshots *shots = &m->snapshots;
    shots->job.kind = kind;
    shots->job.in = in;
    shots->job.in_len = len;
    shots->job.out = NULL;
    shots->job.stale = false;
    atomic_store(&shots->job.done, false);
    shots->job.threaded = kl_thread_start(&shots->job.thread, "keylock-state", work, m) == 0;
    if (!shots->job.threaded) work(m);
}

void kl_snapshot_say_healed(struct kl_match *m, struct kl_healed h) {
    if (!m->link) return;
    kl_participant_say_healed(kl_link_hold(m->link), &h);
    kl_link_release(m->link);
}

static void say_state(struct kl_match *m) {
    struct kl_snapshots *shots = &m->snapshots;
    struct kl_state_said s = {.keyframe = shots->own.frame, .has = shots->own.bytes != NULL};
    if (shots->own.bytes) {
        s.bytes = (uint32_t)shots->own.len;
        memcpy(s.hash, shots->job.hash, sizeof s.hash);
        memcpy(shots->own.hash, shots->job.hash, sizeof shots->own.hash);
        shots->own.hashed = true;
    }
    kl_participant_say_state(kl_link_hold(m->link), &s);
    kl_link_release(m->link);
}

/* wait: however long it takes. */
static void end_job(struct kl_match *m, bool wait) {
    struct kl_snapshots *shots = &m->snapshots;
    if (shots->job.kind == KL_JOB_NONE || (!wait && !atomic_load(&shots->job.done))) return;
    if (shots->job.threaded) kl_thread_join(&shots->job.thread);
    int kind = shots->job.kind;
    shots->job.kind = KL_JOB_NONE;
    if (kind == KL_JOB_HASH && !shots->job.stale && m->link) say_state(m);
    if (kind == KL_JOB_PACK && shots->job.out && !shots->job.stale && m->link) {
        kl_participant_give_snapshot(kl_link_hold(m->link), shots->own.frame, shots->job.base != NULL,
                                     shots->job.out, (uint32_t)shots->job.out_len);
        kl_link_release(m->link);
    } else if (kind == KL_JOB_PACK) {
        free(shots->job.out);
    }
    if (kind == KL_JOB_UNPACK) {
        free(shots->got.bytes);
        shots->got.bytes = shots->job.out;
        shots->got.len = shots->job.out_len;
        shots->got.offer = shots->job.offer;
        if (!shots->got.bytes)
            kl_snapshot_say_healed(
                m, (struct kl_healed){.keyframe = shots->job.offer.keyframe, .how = KL_HEALED_NOT});
    }
    free(shots->job.freed);
    shots->job.freed = NULL;
}

/* --- taking --- */

/* The thread keeps the bytes that it hashes or packs until it is done. */
static void drop_own(struct kl_match *m) {
    struct kl_snapshots *shots = &m->snapshots;
    bool busy = shots->job.kind == KL_JOB_HASH || shots->job.kind == KL_JOB_PACK;
    if (shots->own.bytes && busy && shots->job.in == shots->own.bytes) {
        shots->job.freed = shots->own.bytes;
        shots->job.stale = true;
    } else if (shots->own.hashed && !busy) {
        free(shots->before.bytes);
        shots->before.bytes = shots->own.bytes;
        shots->before.len = shots->own.len;
        shots->before.frame = shots->own.frame;
        memcpy(shots->before.hash, shots->own.hash, sizeof shots->before.hash);
    } else {
        free(shots->own.bytes);
    }
    memset(&shots->own, 0, sizeof shots->own);
}

bool kl_snapshot_given(const struct kl_match *m) {
    return !m->profile.no_snapshots && kl_quirks_allow(m->emu.quirks, KL_STATE_GIVEN);
}

/* The machine around a state of so many bytes, whose place is in *state. NULL without memory. */
static uint8_t *begin(struct kl_match *m, uint32_t frame, const struct kl_fileset *files, size_t bytes,
                      uint8_t **state, size_t *len) {
    struct kl_snapshot_head head;
    memset(&head, 0, sizeof head);
    head.frame = frame;
    head.chance = kl_world_chance(m->emu.world);
    head.time = kl_world_time(m->emu.world);
    head.policy = m->command.params.policy;
    head.wait_budget_ms = m->command.params.wait_budget_ms;
    head.spacing_fixed = m->command.params.spacing_fixed;
    memcpy(head.plays, m->play.run.plays, sizeof head.plays);
    head.mask = m->profile.room.mask;
    if (!kl_outside_collect(&m->snapshots.outside, &m->emu)) return NULL;
    return kl_snapshot_begin(&head, &m->snapshots.outside, files, bytes, state, len);
}

/* As with hashes: everybody serializes, or nobody, and bytes that a core never writes are zeros. */
void kl_snapshot_take(struct kl_match *m, uint32_t frame) {
    struct kl_snapshots *shots = &m->snapshots;
    uint8_t *state = NULL;
    drop_own(m);
    shots->own.taken = true;
    shots->own.frame = frame;
    struct kl_fileset *files;
    bool whole = kl_files_give(m, &files);
    size_t bytes = kl_snapshot_given(m) && whole ? m->emu.core.serialize_size() : 0;
    if (bytes) shots->own.bytes = begin(m, frame, files, bytes, &state, &shots->own.len);
    kl_fileset_free(files);
    if (shots->own.bytes && !kl_core_serialize(&m->emu.core, state, bytes)) {
        free(shots->own.bytes);
        shots->own.bytes = NULL;
    }
    if (shots->own.bytes && m->profile.load_own) m->emu.core.unserialize(state, bytes);
}

/* To which states this machine can go back. */
static void tell_own(const struct kl_match *m) {
    uint32_t frame[KL_OWN_STATES_ALL];
    unsigned count = kl_own_states_frames(&m->snapshots.mine, frame);
    kl_participant_own_states(kl_link_hold(m->link), frame, count);
    kl_link_release(m->link);
}

bool kl_snapshot_machine(struct kl_match *m, uint32_t frame, uint8_t **bytes, size_t *len,
                         struct kl_fileset **files) {
    const struct kl_statehash_buffer *b = &m->play.buffer;
    uint8_t *state = NULL;
    if (m->profile.no_snapshots || !kl_own_states_takes(b->size)) return false;
    *bytes = begin(m, frame, NULL, b->size, &state, len);
    if (*bytes && kl_files_keep(m, files)) {
        memcpy(state, b->data, b->size);
        return true;
    }
    free(*bytes);
    return false;
}

void kl_snapshot_keep(struct kl_match *m, uint32_t frame) {
    bool watches = m->status.welcome.client == KL_WATCHER;
    uint8_t *bytes;
    size_t len;
    struct kl_fileset *files;
    if (!m->link || watches || !kl_snapshot_machine(m, frame, &bytes, &len, &files)) return;
    kl_own_states_keep(&m->snapshots.mine, frame, bytes, len, files);
    tell_own(m);
}

/* --- a turn --- */

static void start_next(struct kl_match *m) {
    struct kl_snapshots *shots = &m->snapshots;
    struct kl_participant *participant = kl_link_hold(m->link);
    if (kl_participant_asked(participant, &shots->ask))
        shots->own.asked = shots->ask.keyframe == shots->own.frame && shots->own.bytes;
    bool says = shots->own.taken && !shots->own.said;
    bool got = !says && !shots->own.asked && !shots->back.running &&
               kl_participant_snapshot(participant, &shots->job.offer, &shots->job.freed);
    kl_link_release(m->link);
    if (says) {
        shots->own.said = true;
        if (shots->own.bytes)
            start_job(m, KL_JOB_HASH, shots->own.bytes, shots->own.len);
        else
            say_state(m);
    } else if (shots->own.asked) {
        /* Others may have been asked since we took the same as the relay has: then it is given whole. */
        bool same = shots->ask.based && shots->before.bytes && shots->ask.base == shots->before.frame &&
                    memcmp(shots->ask.hash, shots->before.hash, sizeof shots->ask.hash) == 0;
        shots->own.asked = false;
        shots->job.base = same ? shots->before.bytes : NULL;
        shots->job.base_len = shots->before.len;
        start_job(m, KL_JOB_PACK, shots->own.bytes, shots->own.len);
    } else if (got) {
        start_job(m, KL_JOB_UNPACK, shots->job.freed, shots->job.offer.packed);
    }
}

void kl_snapshot_turn(struct kl_match *m) {
    struct kl_snapshots *shots = &m->snapshots;
    end_job(m, false);
    if (shots->job.kind == KL_JOB_NONE) start_next(m);
    kl_own_states_agreed(&shots->mine, m->status.verdict.agreed);
    if (!shots->back.running) tell_own(m);
}

bool kl_snapshot_busy(struct kl_match *m) {
    struct kl_snapshots *shots = &m->snapshots;
    return shots->back.running || shots->got.bytes || shots->job.kind == KL_JOB_UNPACK;
}

void kl_snapshot_drop_got(struct kl_match *m) {
    struct kl_snapshots *shots = &m->snapshots;
    if (shots->job.kind == KL_JOB_UNPACK) end_job(m, true);
    free(shots->got.bytes);
    shots->got.bytes = NULL;
}

void kl_snapshot_clear(struct kl_match *m) {
    struct kl_snapshots *shots = &m->snapshots;
    end_job(m, true);
    drop_own(m);
    free(shots->before.bytes);
    memset(&shots->before, 0, sizeof shots->before);
    free(shots->got.bytes);
    memset(&shots->got, 0, sizeof shots->got);
    memset(&shots->back, 0, sizeof shots->back);
    shots->lacked[0] = 0;
    kl_own_states_clear(&shots->mine);
    kl_outside_free(&shots->outside);
    m->emu.quiet = false;
}

const char *kl_snapshot_lacked(const struct kl_match *m) {
    return m->snapshots.lacked;
}

/* --- the files of a state --- */

static void say_history_only(struct kl_match *m, const char *why) {
    if (!m->front.said.files) kl_frontend_log(&m->front, "files kept=no reason=\"%s\"", why);
    kl_frontend_say_once(&m->front, &m->front.said.files, "files: history only, no states of this game");
}

bool kl_files_keep(struct kl_match *m, struct kl_fileset **out) {
    char why[256];
    *out = NULL;
    if (!m->emu.world) return true; /* a test's match without a core */
    if (kl_world_files_keep(m->emu.world, out, why, sizeof why) == 0) return true;
    say_history_only(m, why);
    return false;
}

bool kl_files_give(struct kl_match *m, struct kl_fileset **out) {
    char why[512];
    if (!kl_files_keep(m, out)) return false;
    const char *name = kl_files_kept_back(*out);
    if (!name) return true;
    snprintf(why, sizeof why, "%s is mapped, or this machine's alone", name);
    say_history_only(m, why);
    return false;
}

bool kl_files_back(struct kl_match *m, struct kl_emulator *emu, const struct kl_fileset *files, bool ours) {
    if (!emu->world || kl_world_files_back(emu->world, files, ours)) return true;
    kl_frontend_log(&m->front, "files back=no");
    return false;
}
