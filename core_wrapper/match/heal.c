#include "core_wrapper/match/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "net/platform/clock.h"
#include "core_wrapper/match/run_ahead.h"
#include "core_wrapper/match/match.h"

#define BUDGET_US 10000 /* for frames that are run again, in one call */
#define SHOWN_MS  4000
#define LACKS_MS  15000
#define WARM_UP   60 /* frames at most: some cores load nothing before they have run */

/* --- loading --- */

/* True if only the core could do something that it has not done by itself; names it. */
static bool lacks(struct kl_match *m, const struct kl_snapshot_view *v, char why[KL_SNAPSHOT_LACKED]) {
    const char *name = kl_outside_lacks(&m->emu, &v->outside);
    if (name) snprintf(why, KL_SNAPSHOT_LACKED, "no state gives %.*s", KL_CORE_ONLY_NAME, name);
    return name;
}

/* A state of the room's machines. */
static bool may_load(struct kl_match *m, const struct kl_snapshot_view *v, char why[KL_SNAPSHOT_LACKED]) {
    snprintf(why, KL_SNAPSHOT_LACKED, "%s", kl_quirks_why(m->emu.quirks, KL_STATE_GIVEN));
    return kl_snapshot_given(m) && !lacks(m, v, why);
}

static void log_outside(struct kl_match *m, const struct kl_snapshot_view *v) {
    char what[KLW_TEXT_MAX];
    struct kl_outside *here = &m->snapshots.outside;
    if (kl_outside_collect(here, &m->emu) && kl_outside_differs(here, &v->outside, what, sizeof what))
        kl_frontend_log(&m->front, "outside of the state: %s", what);
}

/* Before any frame the frontend hears what has changed at once, which may cost a new driver, and with it a
 * new graphics context, before the state is there. Else it hears the changes after the frames that run
 * again (say_healed()). */
static void put_outside(struct kl_match *m, const struct kl_snapshot_view *v, bool tell) {
    (void)kl_outside_apply(&m->emu, &v->outside);
    m->emu.quiet = !tell;
    kl_outside_tell(&m->emu);
    m->emu.quiet = true;
}

/* own: the files are of an own state. */
static uint8_t load(struct kl_match *m, const struct kl_snapshot_view *v, const struct kl_fileset *files,
                    bool own, bool first) {
    m->emu.quiet = true;
    put_outside(m, v, first);
    if (!kl_files_back(m, &m->emu, files, own)) return KL_HEALED_NOT;
    if (!m->emu.core.unserialize(v->state, v->state_len)) return KL_HEALED_NOT;
    /* Is the state all of the core? Looking changes some cores, so it is loaded once more. */
    size_t bytes = m->emu.core.serialize_size();
    uint8_t *again = bytes == v->state_len ? calloc(1, bytes) : NULL;
    bool same = again && kl_core_serialize(&m->emu.core, again, bytes) && memcmp(again, v->state, bytes) == 0;
    free(again);
    uint8_t how = m->emu.core.unserialize(v->state, v->state_len) ? (same ? KL_HEALED_SAME : KL_HEALED_OTHER)
                                                                  : KL_HEALED_NOT;
    put_outside(m, v, first);                    /* the core may have declared something while it loaded, */
    (void)kl_files_back(m, &m->emu, files, own); /* or written */
    memcpy(m->play.run.plays, v->head.plays, sizeof m->play.run.plays);
    kl_chain_loaded(&m->play.chain);
    kl_world_chance_set(m->emu.world, v->head.chance);
    kl_world_time_set(m->emu.world, &v->head.time);
    m->command.params.policy = v->head.policy;
    m->command.params.wait_budget_ms = v->head.wait_budget_ms;
    m->command.params.spacing_fixed = v->head.spacing_fixed;
    if (v->head.mask.count) m->profile.room.mask = v->head.mask;
    return how;
}

/* --- running again: all that leaves a trace in the core is done as it was the first time --- */

static void run_unseen(struct kl_match *m, const struct kl_frame *f, const struct kl_commands *set,
                       bool from_snapshot) {
    m->play.run.how = KL_RUN_AGAIN;
    (void)kl_core_run_frame(m, &m->play.run, f, set, from_snapshot, true);
    m->play.run.how = KL_RUN_NEW;
}

/* --- a state of the room's, or an own one --- */

/* The room's frames begin with this snapshot, so earlier frames of the core do not matter. */
static uint8_t load_first(struct kl_match *m, const struct kl_snapshot_view *v,
                          const struct kl_fileset *files) {
    const struct kl_frame still = {0};
    uint8_t how = load(m, v, files, false, true);
    for (unsigned i = 0; how == KL_HEALED_NOT && i < WARM_UP; i++) {
        run_unseen(m, &still, NULL, true);
        how = load(m, v, files, false, true);
    }
    return how;
}

/* With its files, whose difference to ours is logged by its first file. */
static uint8_t load_rooms(struct kl_match *m, const struct kl_snapshot_view *v, bool begin) {
    struct kl_fileset *files, *ours;
    uint8_t how = KL_HEALED_NOT;
    if (!kl_files_make(v->files, &files)) return how;
    if (kl_files_keep(m, &ours)) {
        const char *name = kl_fileset_differs(ours, files);
        if (name) kl_frontend_log(&m->front, "files differ first=%s", name);
        kl_fileset_free(ours);
    }
    how = begin ? load_first(m, v, files) : load(m, v, files, false, false);
    kl_fileset_free(files);
    return how;
}

/* rate: the room's has changed since frame 0, and the core may not say so again; or 0. */
static void begin_there(struct kl_match *m, uint32_t rate) {
    struct kl_snapshots *shots = &m->snapshots;
    m->play.from = m->play.next_frame = shots->got.offer.keyframe;
    if (rate) kl_pace_rate(&m->play.pace, 1e12 / rate);
    kl_participant_begun(kl_link_hold(m->link), shots->got.offer.keyframe, rate);
    kl_link_release(m->link);
    kl_record_snapshot(&m->record, &shots->got.offer);
    kl_frontend_say(&m->front, KL_SCREEN_INFO, SHOWN_MS, "started from the room's state of frame %u",
                    shots->got.offer.keyframe);
}

static void say_healed(struct kl_match *m) {
    struct kl_snapshots *shots = &m->snapshots;
    m->emu.quiet = false;
    kl_outside_tell(&m->emu);
    if (shots->back.lost && shots->back.how != KL_HEALED_NOT) {
        /* The relay has lost our frames from back.keyframe on: the match goes on there. */
        uint32_t rate = kl_world_time(m->emu.world).fps_uhz;
        if (rate == shots->back.rate) rate = 0;
        m->play.next_frame = shots->back.keyframe;
        if (rate) kl_pace_rate(&m->play.pace, 1e12 / rate);
        kl_participant_begun(kl_link_hold(m->link), shots->back.keyframe, rate);
        kl_link_release(m->link);
    }
    kl_snapshot_say_healed(m, (struct kl_healed){shots->back.keyframe, shots->back.end, shots->back.how});
    shots->back.running = false;
}

/* why: "": the core did not take it. */
static void refused(struct kl_match *m, const char *why) {
    struct kl_snapshots *shots = &m->snapshots;
    if (*why) kl_frontend_log(&m->front, "state not loaded frame=%u: %s", shots->back.from, why);
    snprintf(shots->lacked, sizeof shots->lacked, "%s", why);
    if (*why)
        kl_frontend_say(&m->front, KL_SCREEN_WARNING, LACKS_MS, "%s", why);
    else
        kl_frontend_say(&m->front, KL_SCREEN_WARNING, SHOWN_MS, "this core refused %s state of frame %u",
                        shots->back.own ? "its own" : "the room's", shots->back.from);
    say_healed(m);
}

/* The state of back.from is loaded: the frames since are to be run again. */
static void run_again(struct kl_match *m, const char *whose) {
    struct kl_snapshots *shots = &m->snapshots;
    char why[80];
    shots->back.running = true;
    kl_run_ahead_anew(m);
    snprintf(why, sizeof why, "%s state of frame %u was loaded", whose, shots->back.from);
    kl_record_alien(&m->record, shots->back.end, why);
}

/* False: the frames since are not kept. */
static bool seek_past(struct kl_match *m) {
    struct kl_snapshots *shots = &m->snapshots;
    bool kept = kl_participant_past_seek(kl_link_hold(m->link), &shots->back.past, shots->back.from);
    kl_link_release(m->link);
    return kept;
}

static bool next_past(struct kl_match *m, struct kl_frame *out) {
    (void)kl_link_hold(m->link); /* the history is the session's */
    bool got = kl_history_next(&m->snapshots.back.past, out);
    kl_link_release(m->link);
    return got;
}

/* Loads a snapshot of a frame that we have run. A snapshot of a later frame waits: its frame is hashed and
 * its commands are carried out as usual, then it is loaded, and the commands behind it are carried out
 * again. */
static void load_got(struct kl_match *m) {
    struct kl_snapshots *shots = &m->snapshots;
    struct kl_snapshot_view v;
    char why[KL_SNAPSHOT_LACKED] = "";
    bool begin = shots->got.offer.begin;
    uint32_t rate = kl_world_time(m->emu.world).fps_uhz;
    bool good = kl_snapshot_open(&v, shots->got.bytes, shots->got.len) == KL_OK &&
                v.head.frame == shots->got.offer.keyframe;
    if (good && !begin && v.head.frame >= m->play.next_frame) return; /* not yet */
    shots->back.own = shots->back.lost = false;
    shots->back.keyframe = shots->back.from = shots->back.at = shots->got.offer.keyframe;
    shots->back.end = begin ? shots->back.at : m->play.next_frame;
    good = good && (begin || seek_past(m));
    if (good) log_outside(m, &v);
    good = good && may_load(m, &v, why);
    shots->back.how = good ? load_rooms(m, &v, begin) : KL_HEALED_NOT;
    kl_own_states_clear(&shots->mine); /* of a machine that was wrong, or of none */
    if (begin && shots->back.how != KL_HEALED_NOT)
        begin_there(m, v.head.time.fps_uhz != rate ? v.head.time.fps_uhz : 0);
    free(shots->got.bytes);
    shots->got.bytes = NULL;
    if (shots->back.how == KL_HEALED_NOT)
        refused(m, why);
    else if (begin)
        say_healed(m);
    else
        run_again(m, "the room's");
}

/* REWIND. Without a state of that keyframe an earlier one serves: all machines were equal there, too. */
static void go_back(struct kl_match *m, const struct kl_rewind *to) {
    struct kl_snapshots *shots = &m->snapshots;
    struct kl_snapshot_view v;
    const struct kl_own_state *s = kl_own_states_find(&shots->mine, to->keyframe);
    char why[KL_SNAPSHOT_LACKED] = "";
    if (to->lost) kl_snapshot_drop_got(m);
    shots->back.own = true;
    shots->back.lost = to->lost;
    shots->back.rate = kl_world_time(m->emu.world).fps_uhz;
    shots->back.keyframe = to->keyframe;
    shots->back.from = shots->back.at = s ? s->frame : to->keyframe;
    shots->back.end = to->lost ? to->keyframe : m->play.next_frame;
    bool good = s && shots->back.from < shots->back.end + to->lost &&
                kl_snapshot_open(&v, s->bytes, s->len) == KL_OK && seek_past(m);
    if (!good) {
        shots->back.how = KL_HEALED_NOT;
        say_healed(m);
        return;
    }
    shots->back.how = lacks(m, &v, why) ? KL_HEALED_NOT : load(m, &v, s->files, true, false);
    kl_own_states_after(&shots->mine, shots->back.from);
    if (shots->back.how == KL_HEALED_NOT)
        refused(m, why);
    else
        run_again(m, "this machine's own");
}

bool kl_heal_put(struct kl_match *m, const uint8_t *bytes, size_t len, const struct kl_fileset *files) {
    struct kl_snapshot_view v;
    char why[KL_SNAPSHOT_LACKED];
    bool good = kl_snapshot_open(&v, bytes, len) == KL_OK && !lacks(m, &v, why) &&
                load(m, &v, files, true, false) != KL_HEALED_NOT;
    m->emu.quiet = false;
    kl_outside_tell(&m->emu);
    return good;
}

bool kl_heal_rerun(struct kl_match *m, uint64_t from_us) {
    struct kl_snapshots *shots = &m->snapshots;
    struct kl_frame f;
    if (!shots->back.running) return false;
    while (shots->back.at < shots->back.end && kl_now_us() - from_us < BUDGET_US) {
        if (!next_past(m, &f)) shots->back.how = KL_HEALED_NOT; /* a hole: cannot be */
        if (shots->back.how == KL_HEALED_NOT) break;
        bool loaded = shots->back.at == shots->back.from; /* it was taken for the frame's hash, or after it */
        if (f.flags & KL_FRAME_HASH && !loaded) {
            uint32_t frame = f.number;
            struct kl_statehash ignored;
            kl_statehash_take(&ignored, &m->emu.core, &m->play.ram, &m->play.buffer);
            kl_chain_label(&m->play.chain);
            kl_snapshot_keep(m, frame);
        }
        run_unseen(m, &f, f.flags & KL_FRAME_COMMANDS ? &shots->back.past.frames.commands : NULL,
                   loaded && !shots->back.own);
        shots->back.at++;
    }
    if (shots->back.how == KL_HEALED_NOT) say_healed(m);
    if (shots->back.running && shots->back.at == shots->back.end) {
        if (shots->back.lost)
            kl_frontend_say(&m->front, KL_SCREEN_INFO, SHOWN_MS,
                            "the relay lost some frames: back at frame %u", shots->back.end);
        else
            kl_frontend_say(&m->front, KL_SCREEN_INFO, SHOWN_MS, "back in sync: %s frame %u, ran %u frames",
                            shots->back.own ? "went back to" : "loaded", shots->back.from,
                            shots->back.end - shots->back.from);
        say_healed(m);
    }
    return true;
}

void kl_heal_turn(struct kl_match *m) {
    struct kl_snapshots *shots = &m->snapshots;
    struct kl_rewind to;
    if (!m->link) return;
    kl_snapshot_turn(m);
    if (shots->back.running) return;
    bool rewinds = kl_participant_rewind(kl_link_hold(m->link), &to);
    kl_link_release(m->link);
    if (rewinds) go_back(m, &to);
    if (shots->got.bytes && !shots->back.running) load_got(m);
}

bool kl_heal_runs(const struct kl_match *m) {
    return m->snapshots.back.running;
}
