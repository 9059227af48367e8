#include "core_wrapper/match/snapshot.h"

#include <sodium.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/clock.h"
#include "net/platform/thread.h"
#include "core_wrapper/match/command.h"
#include "core_wrapper/match/files.h"
#include "core_wrapper/match/own_states.h"
#include "core_wrapper/match/play.h"
#include "core_wrapper/match/run_ahead.h"
#include "core_wrapper/record/record.h"
#include "core_wrapper/match/snapshot_form.h"
#include "core_wrapper/match/snapshot_pack.h"
#include "core_wrapper/match/match.h"

#define BUDGET_US 10000 /* for frames that are run again, in one call */
#define SHOWN_MS  4000
#define LACKS_MS  15000
#define WARM_UP   60 /* frames at most: some cores load nothing before they have run */

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

/* The result of healing. */
static void report_healing(struct kl_match *m, struct kl_healed h) {
    if (!m->link) return;
    kl_stay_say_healed(kl_link_hold(m->link), &h);
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
    kl_stay_say_state(kl_link_hold(m->link), &s);
    kl_link_release(m->link);
}

static void unpacked(struct kl_match *m) {
    struct kl_snapshots *shots = &m->snapshots;
    free(shots->got.bytes);
    shots->got.bytes = shots->job.out;
    shots->got.len = shots->job.out_len;
    shots->got.offer = shots->job.offer;
    if (!shots->got.bytes)
        report_healing(m, (struct kl_healed){.keyframe = shots->job.offer.keyframe, .how = KL_HEALED_NOT});
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
        kl_stay_give_snapshot(kl_link_hold(m->link), shots->own.frame, shots->job.base != NULL,
                              shots->job.out, (uint32_t)shots->job.out_len);
        kl_link_release(m->link);
    } else if (kind == KL_JOB_PACK) {
        free(shots->job.out);
    }
    if (kind == KL_JOB_UNPACK) unpacked(m);
    free(shots->job.freed);
    shots->job.freed = NULL;
}

/* --- taking --- */

static void fill_head(struct kl_match *m, struct kl_snapshot_head *h, uint32_t frame) {
    memset(h, 0, sizeof *h);
    h->frame = frame;
    h->chance = kl_world_chance(m->emu.world);
    h->time = kl_world_time(m->emu.world);
    h->policy = m->room.policy;
    h->wait_budget_ms = m->room.wait_budget_ms;
    h->spacing_fixed = m->room.spacing_fixed;
    memcpy(h->plays, m->command.plays, sizeof h->plays);
    h->mask = m->profile.room.mask;
}

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
    fill_head(m, &head, frame);
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
    kl_stay_own_states(kl_link_hold(m->link), frame, count);
    kl_link_release(m->link);
}

void kl_snapshot_keep(struct kl_match *m, uint32_t frame) {
    const struct kl_statehash_buffer *b = &m->play.buffer;
    uint8_t *state = NULL;
    size_t len;
    bool watches = m->status.welcome.client == KL_WATCHER;
    if (!m->link || watches || m->profile.no_snapshots || !kl_own_states_takes(b->size)) return;
    uint8_t *bytes = begin(m, frame, NULL, b->size, &state, &len);
    struct kl_fileset *files;
    if (!bytes) return;
    if (!kl_files_keep(m, &files)) {
        free(bytes);
        return;
    }
    memcpy(state, b->data, b->size);
    kl_own_states_keep(&m->snapshots.mine, frame, bytes, len, files);
    tell_own(m);
}

void kl_snapshot_forget_own(struct kl_match *m) {
    kl_own_states_clear(&m->snapshots.mine);
}

/* --- loading --- */

/* Is the state all of the core? Looking changes some cores, so it is loaded once more. */
static uint8_t look(struct kl_match *m, const struct kl_snapshot_view *v) {
    size_t bytes = m->emu.core.serialize_size();
    uint8_t *again = bytes == v->state_len ? calloc(1, bytes) : NULL;
    bool same = again && kl_core_serialize(&m->emu.core, again, bytes) && memcmp(again, v->state, bytes) == 0;
    free(again);
    return m->emu.core.unserialize(v->state, v->state_len) ? (same ? KL_HEALED_SAME : KL_HEALED_OTHER)
                                                           : KL_HEALED_NOT;
}

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
    if (!kl_files_back(m, files, own)) return KL_HEALED_NOT;
    if (!m->emu.core.unserialize(v->state, v->state_len)) return KL_HEALED_NOT;
    uint8_t how = look(m, v);
    put_outside(m, v, first);           /* the core may have declared something while it loaded, */
    (void)kl_files_back(m, files, own); /* or written */
    memcpy(m->command.plays, v->head.plays, sizeof m->command.plays);
    kl_chain_loaded(&m->play.chain);
    kl_world_chance_set(m->emu.world, v->head.chance);
    kl_world_time_set(m->emu.world, &v->head.time);
    m->room.policy = v->head.policy;
    m->room.wait_budget_ms = v->head.wait_budget_ms;
    m->room.spacing_fixed = v->head.spacing_fixed;
    if (v->head.mask.count) m->profile.room.mask = v->head.mask;
    return how;
}

/* The room's frames begin with this snapshot, so earlier frames of the core do not matter. */
static uint8_t load_first(struct kl_match *m, const struct kl_snapshot_view *v,
                          const struct kl_fileset *files) {
    uint8_t how = load(m, v, files, false, true);
    for (unsigned i = 0; how == KL_HEALED_NOT && i < WARM_UP; i++) {
        kl_play_warm_up(m);
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
    kl_play_from(m, shots->got.offer.keyframe, rate);
    kl_stay_begun(kl_link_hold(m->link), shots->got.offer.keyframe, rate);
    kl_link_release(m->link);
    kl_record_snapshot(&m->record, &shots->got.offer);
    kl_frontend_say(&m->front, KL_SCREEN_INFO, SHOWN_MS, "started from the room's state of frame %u",
                    shots->got.offer.keyframe);
}

/* The relay has lost our frames from back.keyframe on: the match goes on there. */
static void go_on_at(struct kl_match *m) {
    struct kl_snapshots *shots = &m->snapshots;
    uint32_t rate = kl_world_time(m->emu.world).fps_uhz;
    if (rate == shots->back.rate) rate = 0;
    m->play.next_frame = shots->back.keyframe;
    if (rate) kl_pace_rate(&m->play.pace, 1e12 / rate);
    kl_stay_begun(kl_link_hold(m->link), shots->back.keyframe, rate);
    kl_link_release(m->link);
}

static void say_healed(struct kl_match *m) {
    struct kl_snapshots *shots = &m->snapshots;
    m->emu.quiet = false;
    kl_outside_tell(&m->emu);
    if (shots->back.lost && shots->back.how != KL_HEALED_NOT) go_on_at(m);
    report_healing(m, (struct kl_healed){shots->back.keyframe, shots->back.end, shots->back.how});
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
    bool kept = kl_stay_past_seek(kl_link_hold(m->link), &shots->back.past, shots->back.from);
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

/* The state of a frame that was lost with the relay's record: the room never had it. */
static void drop_got(struct kl_match *m) {
    struct kl_snapshots *shots = &m->snapshots;
    if (shots->job.kind == KL_JOB_UNPACK) end_job(m, true);
    free(shots->got.bytes);
    shots->got.bytes = NULL;
}

/* REWIND. Without a state of that keyframe an earlier one serves: all machines were equal there, too. */
static void go_back(struct kl_match *m, const struct kl_rewind *to) {
    struct kl_snapshots *shots = &m->snapshots;
    struct kl_snapshot_view v;
    const struct kl_own_state *s = kl_own_states_find(&shots->mine, to->keyframe);
    char why[KL_SNAPSHOT_LACKED] = "";
    if (to->lost) drop_got(m);
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

bool kl_snapshot_busy(struct kl_match *m) {
    struct kl_snapshots *shots = &m->snapshots;
    return shots->back.running || shots->got.bytes || shots->job.kind == KL_JOB_UNPACK;
}

bool kl_snapshot_rerun(struct kl_match *m, uint64_t from_us) {
    struct kl_snapshots *shots = &m->snapshots;
    struct kl_frame f;
    if (!shots->back.running) return false;
    while (shots->back.at < shots->back.end && kl_now_us() - from_us < BUDGET_US) {
        if (!next_past(m, &f)) shots->back.how = KL_HEALED_NOT; /* a hole: cannot be */
        if (shots->back.how == KL_HEALED_NOT) break;
        enum kl_play_from from = shots->back.at > shots->back.from ? KL_PLAY_ON
                                 : shots->back.own                 ? KL_PLAY_OWN
                                                                   : KL_PLAY_SNAPSHOT;
        kl_play_again(m, &f, &shots->back.past.frames.commands, from);
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

/* --- a turn --- */

/* Others may have been asked since we took the same as the relay has: then it is given whole. */
static void start_packing(struct kl_match *m) {
    struct kl_snapshots *shots = &m->snapshots;
    bool same = shots->ask.based && shots->before.bytes && shots->ask.base == shots->before.frame &&
                memcmp(shots->ask.hash, shots->before.hash, sizeof shots->ask.hash) == 0;
    shots->own.asked = false;
    shots->job.base = same ? shots->before.bytes : NULL;
    shots->job.base_len = shots->before.len;
    start_job(m, KL_JOB_PACK, shots->own.bytes, shots->own.len);
}

static void start_next(struct kl_match *m) {
    struct kl_snapshots *shots = &m->snapshots;
    struct kl_stay *stay = kl_link_hold(m->link);
    if (kl_stay_asked(stay, &shots->ask))
        shots->own.asked = shots->ask.keyframe == shots->own.frame && shots->own.bytes;
    bool says = shots->own.taken && !shots->own.said;
    bool got = !says && !shots->own.asked && !shots->back.running &&
               kl_stay_snapshot(stay, &shots->job.offer, &shots->job.freed);
    kl_link_release(m->link);
    if (says) {
        shots->own.said = true;
        if (shots->own.bytes)
            start_job(m, KL_JOB_HASH, shots->own.bytes, shots->own.len);
        else
            say_state(m);
    } else if (shots->own.asked) {
        start_packing(m);
    } else if (got) {
        start_job(m, KL_JOB_UNPACK, shots->job.freed, shots->job.offer.packed);
    }
}

void kl_snapshot_turn(struct kl_match *m) {
    struct kl_snapshots *shots = &m->snapshots;
    if (!m->link) return;
    end_job(m, false);
    if (shots->job.kind == KL_JOB_NONE) start_next(m);
    kl_own_states_agreed(&shots->mine, m->status.verdict.agreed);
    if (shots->back.running) return;
    struct kl_rewind to;
    tell_own(m);
    bool rewinds = kl_stay_rewind(kl_link_hold(m->link), &to);
    kl_link_release(m->link);
    if (rewinds) go_back(m, &to);
    if (shots->got.bytes && !shots->back.running) load_got(m);
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
