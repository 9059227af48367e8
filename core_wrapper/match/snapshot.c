#include "core_wrapper/match/snapshot.h"

#include <sodium.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/clock.h"
#include "net/platform/thread.h"
#include "core_wrapper/match/command.h"
#include "core_wrapper/match/own_states.h"
#include "core_wrapper/match/play.h"
#include "core_wrapper/match/run_ahead.h"
#include "core_wrapper/record/record.h"
#include "core_wrapper/match/snapshot_form.h"
#include "core_wrapper/match/snapshot_pack.h"
#include "core_wrapper/match/match.h"

#define BUDGET_US 10000 /* for frames that are run again, in one call */
#define SHOWN_MS  4000
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

static void say_state(struct kl_match *m) {
    struct kl_snapshots *shots = &m->snapshots;
    struct kl_state_said s = {.keyframe = shots->own.frame, .has = shots->own.bytes != NULL};
    if (shots->own.bytes) {
        s.bytes = (uint32_t)shots->own.len;
        memcpy(s.hash, shots->job.hash, sizeof s.hash);
        memcpy(shots->own.hash, shots->job.hash, sizeof shots->own.hash);
        shots->own.hashed = true;
    }
    kl_link_say_state(m->link, &s);
}

static void unpacked(struct kl_match *m) {
    struct kl_snapshots *shots = &m->snapshots;
    free(shots->got.bytes);
    shots->got.bytes = shots->job.out;
    shots->got.len = shots->job.out_len;
    shots->got.offer = shots->job.offer;
    if (shots->got.bytes || !m->link) return;
    struct kl_healed h = {.keyframe = shots->job.offer.keyframe, .how = KL_HEALED_NOT};
    kl_link_say_healed(m->link, &h);
}

/* wait: however long it takes. */
static void end_job(struct kl_match *m, bool wait) {
    struct kl_snapshots *shots = &m->snapshots;
    if (shots->job.kind == KL_JOB_NONE || (!wait && !atomic_load(&shots->job.done))) return;
    if (shots->job.threaded) kl_thread_join(&shots->job.thread);
    int kind = shots->job.kind;
    shots->job.kind = KL_JOB_NONE;
    if (kind == KL_JOB_HASH && !shots->job.stale && m->link) say_state(m);
    if (kind == KL_JOB_PACK && shots->job.out && !shots->job.stale && m->link)
        kl_link_give_snapshot(m->link, shots->own.frame, shots->job.base != NULL, shots->job.out,
                              (uint32_t)shots->job.out_len);
    else if (kind == KL_JOB_PACK)
        free(shots->job.out);
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
    kl_command_keep(m, h);
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

/* As with hashes: everybody serializes, or nobody, and bytes that a core never writes are zeros. */
void kl_snapshot_take(struct kl_match *m, uint32_t frame) {
    struct kl_snapshots *shots = &m->snapshots;
    struct kl_snapshot_head head;
    uint8_t *state = NULL;
    drop_own(m);
    shots->own.taken = true;
    shots->own.frame = frame;
    fill_head(m, &head, frame);
    size_t bytes = m->profile.no_snapshots ? 0 : m->emu.core.serialize_size();
    if (bytes) shots->own.bytes = kl_snapshot_begin(&head, &m->emu.options, bytes, &state, &shots->own.len);
    if (shots->own.bytes && !kl_core_serialize(&m->emu.core, state, bytes)) {
        free(shots->own.bytes);
        shots->own.bytes = NULL;
    }
    if (shots->own.bytes && m->profile.load_own) m->emu.core.unserialize(state, bytes);
}

void kl_snapshot_keep(struct kl_match *m, uint32_t frame) {
    struct kl_snapshot_head head;
    const struct kl_statehash_buffer *b = &m->play.buffer;
    uint8_t *state = NULL;
    size_t len;
    bool watches = m->status.welcome.client == KL_WATCHER;
    if (!m->link || watches || m->profile.no_snapshots || !kl_own_states_takes(b->size)) return;
    fill_head(m, &head, frame);
    uint8_t *bytes = kl_snapshot_begin(&head, &m->emu.options, b->size, &state, &len);
    if (!bytes) return;
    memcpy(state, b->data, b->size);
    kl_own_states_keep(&m->snapshots.mine, frame, bytes, len);
}

void kl_snapshot_forget_own(struct kl_match *m) {
    kl_own_states_clear(&m->snapshots.mine);
}

/* --- loading --- */

static void take_options(struct kl_match *m, struct kl_snapshot_view *v) {
    char key[KL_SNAPSHOT_KEY_MAX], value[KL_SNAPSHOT_VALUE_MAX], why[256];
    while (kl_snapshot_option(v, key, value)) {
        const char *is = kl_options_get(&m->emu.options, key);
        if (is && strcmp(is, value) != 0) kl_options_set(&m->emu.options, key, value, true, why, sizeof why);
    }
}

/* Is the state all of the core? Looking changes some cores, so it is loaded once more. */
static uint8_t look(struct kl_match *m, const struct kl_snapshot_view *v) {
    size_t bytes = m->emu.core.serialize_size();
    uint8_t *again = bytes == v->state_len ? calloc(1, bytes) : NULL;
    bool same = again && kl_core_serialize(&m->emu.core, again, bytes) && memcmp(again, v->state, bytes) == 0;
    free(again);
    return m->emu.core.unserialize(v->state, v->state_len) ? (same ? KL_HEALED_SAME : KL_HEALED_OTHER)
                                                           : KL_HEALED_NOT;
}

/* The head has the room's state; the core itself tells the consequences (rate, memory). */
static uint8_t load(struct kl_match *m, struct kl_snapshot_view *v) {
    take_options(m, v);
    kl_command_restore(m, &v->head);
    if (!m->emu.core.unserialize(v->state, v->state_len)) return KL_HEALED_NOT;
    uint8_t how = look(m, v);
    kl_world_chance_set(m->emu.world, v->head.chance);
    kl_world_time_set(m->emu.world, &v->head.time);
    m->room.policy = v->head.policy;
    m->room.wait_budget_ms = v->head.wait_budget_ms;
    m->room.spacing_fixed = v->head.spacing_fixed;
    return how;
}

/* The room's frames begin with this snapshot, so earlier frames of the core do not matter. */
static uint8_t load_first(struct kl_match *m, struct kl_snapshot_view *v) {
    uint8_t how = load(m, v);
    for (unsigned i = 0; how == KL_HEALED_NOT && i < WARM_UP; i++) {
        kl_play_warm_up(m);
        how = load(m, v);
    }
    return how;
}

/* rate: the room's has changed since frame 0, and the core may not say so again; or 0. */
static void begin_there(struct kl_match *m, uint32_t rate) {
    struct kl_snapshots *shots = &m->snapshots;
    char why[80];
    kl_play_from(m, shots->got.offer.keyframe, rate);
    kl_link_begun(m->link, shots->got.offer.keyframe, rate);
    snprintf(why, sizeof why, "this run starts from the room's state of frame %u", shots->got.offer.keyframe);
    kl_record_alien(&m->record, shots->got.offer.keyframe, why);
    kl_frontend_say(&m->front, KL_SCREEN_INFO, SHOWN_MS, "started from the room's state of frame %u",
                    shots->got.offer.keyframe);
}

static void say_healed(struct kl_match *m) {
    struct kl_snapshots *shots = &m->snapshots;
    struct kl_healed h = {.keyframe = shots->back.keyframe, .next = shots->back.end, .how = shots->back.how};
    if (m->link) kl_link_say_healed(m->link, &h);
    shots->back.running = false;
}

static void refused(struct kl_match *m) {
    struct kl_snapshots *shots = &m->snapshots;
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

/* Loads a snapshot of a frame that we have run. A snapshot of a later frame waits: its frame is hashed and
 * its commands are carried out as usual, then it is loaded, and the commands behind it are carried out
 * again. */
static void load_got(struct kl_match *m) {
    struct kl_snapshots *shots = &m->snapshots;
    struct kl_snapshot_view v;
    bool begin = shots->got.offer.begin;
    uint32_t rate = kl_world_time(m->emu.world).fps_uhz;
    bool good = kl_snapshot_open(&v, shots->got.bytes, shots->got.len) == KL_OK &&
                v.head.frame == shots->got.offer.keyframe;
    if (good && !begin && v.head.frame >= m->play.next_frame) return; /* not yet */
    shots->back.own = false;
    shots->back.keyframe = shots->back.from = shots->back.at = shots->got.offer.keyframe;
    shots->back.end = begin ? shots->back.at : m->play.next_frame;
    good = good && (begin || kl_link_past_seek(m->link, &shots->back.past, shots->back.at));
    shots->back.how = !good ? KL_HEALED_NOT : begin ? load_first(m, &v) : load(m, &v);
    kl_own_states_clear(&shots->mine); /* of a machine that was wrong, or of none */
    if (begin && shots->back.how != KL_HEALED_NOT)
        begin_there(m, v.head.time.fps_uhz != rate ? v.head.time.fps_uhz : 0);
    free(shots->got.bytes);
    shots->got.bytes = NULL;
    if (shots->back.how == KL_HEALED_NOT)
        refused(m);
    else if (begin)
        say_healed(m);
    else
        run_again(m, "the room's");
}

/* REWIND. Without a state of that keyframe an earlier one serves: all machines were equal there, too. */
static void go_back(struct kl_match *m, uint32_t keyframe) {
    struct kl_snapshots *shots = &m->snapshots;
    struct kl_snapshot_view v;
    const struct kl_own_state *s = kl_own_states_find(&shots->mine, keyframe);
    shots->back.own = true;
    shots->back.keyframe = keyframe;
    shots->back.from = shots->back.at = s ? s->frame : keyframe;
    shots->back.end = m->play.next_frame;
    bool good = s && shots->back.from < shots->back.end && kl_snapshot_open(&v, s->bytes, s->len) == KL_OK &&
                kl_link_past_seek(m->link, &shots->back.past, shots->back.from);
    if (!good) {
        shots->back.how = KL_HEALED_NOT;
        say_healed(m);
        return;
    }
    shots->back.how = load(m, &v);
    kl_own_states_after(&shots->mine, shots->back.from);
    if (shots->back.how == KL_HEALED_NOT)
        refused(m);
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
        if (!kl_link_past_next(m->link, &shots->back.past, &f))
            shots->back.how = KL_HEALED_NOT; /* a hole: cannot be */
        if (shots->back.how == KL_HEALED_NOT) break;
        enum kl_play_from from = shots->back.at > shots->back.from ? KL_PLAY_ON
                                 : shots->back.own                 ? KL_PLAY_OWN
                                                                   : KL_PLAY_SNAPSHOT;
        kl_play_again(m, &f, &shots->back.past.frames.commands, from);
        shots->back.at++;
    }
    if (shots->back.how == KL_HEALED_NOT) say_healed(m);
    if (shots->back.running && shots->back.at == shots->back.end) {
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
    if (kl_link_asked(m->link, &shots->ask))
        shots->own.asked = shots->ask.keyframe == shots->own.frame && shots->own.bytes;
    if (shots->own.taken && !shots->own.said) {
        shots->own.said = true;
        if (shots->own.bytes)
            start_job(m, KL_JOB_HASH, shots->own.bytes, shots->own.len);
        else
            say_state(m);
    } else if (shots->own.asked) {
        start_packing(m);
    } else if (!shots->back.running && kl_link_snapshot(m->link, &shots->job.offer, &shots->job.freed)) {
        start_job(m, KL_JOB_UNPACK, shots->job.freed, shots->job.offer.packed);
    }
}

void kl_snapshot_turn(struct kl_match *m) {
    struct kl_snapshots *shots = &m->snapshots;
    if (!m->link) return;
    end_job(m, false);
    if (shots->job.kind == KL_JOB_NONE) start_next(m);
    kl_own_states_agreed(&shots->mine, m->status.verdict.agreed);
    uint32_t keyframe;
    if (!shots->back.running && kl_link_rewind(m->link, &keyframe)) go_back(m, keyframe);
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
    kl_own_states_clear(&shots->mine);
}
