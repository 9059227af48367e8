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
#include "core_wrapper/record/record.h"
#include "core_wrapper/match/snapshot_form.h"
#include "core_wrapper/match/snapshot_pack.h"
#include "core_wrapper/context/wrapper.h"

#define BUDGET_US 10000 /* for frames that are run again, in one call */
#define SHOWN_MS  4000
#define WARM_UP   60 /* frames at most: some cores load nothing before they have run */

/* The thread's job; one at a time. A snapshot taken meanwhile does not wait for it. */
static struct {
    enum { JOB_NONE, JOB_HASH, JOB_PACK, JOB_UNPACK } kind;
    bool threaded;
    struct kl_thread thread;
    atomic_bool done;
    const uint8_t *in, *base; /* base: JOB_PACK: the older snapshot to pack against, or NULL */
    size_t in_len, base_len;
    struct kl_offer offer; /* JOB_UNPACK: the expected snapshot */
    uint8_t *freed;        /* freed after the job; or NULL */
    bool stale;            /* nobody wants it any more */
    uint8_t *out;          /* NULL: it came to nothing */
    size_t out_len;
    uint8_t hash[KL_SNAPSHOT_HASH];
} job;

static struct {
    uint8_t *bytes; /* the newest that was taken here; NULL: the core gave none */
    size_t len;
    uint32_t frame;
    bool taken, said; /* said: or being hashed */
    bool asked;       /* the relay wants it */
    bool hashed;
    uint8_t hash[KL_SNAPSHOT_HASH];
} own;

/* The snapshot taken before `own`. The difference to it is smaller to give, if the relay has that one. */
static struct {
    uint8_t *bytes; /* NULL: none */
    size_t len;
    uint32_t frame;
    uint8_t hash[KL_SNAPSHOT_HASH];
} before;
static struct kl_ask ask; /* own.asked: the relay's question */

static struct kl_own_states mine; /* as snapshots, but of the keyframe's beginning: before its commands */

static struct {
    uint8_t *bytes; /* unpacked and checked, to be loaded; NULL: none */
    size_t len;
    struct kl_offer offer;
} got;

/* Going back to a state of the past. */
static struct {
    bool running;           /* frames [at, end) are to be run again */
    bool own;               /* from an own state; else from a snapshot of the room's */
    uint32_t from, at, end; /* the state's frame; the next one; the first that was not run before */
    uint32_t keyframe;      /* of OFFER or REWIND */
    uint8_t how;
    struct kl_history_cursor past;
} back;

/* ---- the thread ---- */

static void work(void *arg) {
    (void)arg;
    switch (job.kind) {
    case JOB_HASH: crypto_generichash(job.hash, sizeof job.hash, job.in, job.in_len, NULL, 0); break;
    case JOB_PACK:
        job.out = job.base
                      ? kl_snapshot_pack_against(job.base, job.base_len, job.in, job.in_len, &job.out_len)
                      : kl_snapshot_pack(job.in, job.in_len, &job.out_len);
        break;
    case JOB_UNPACK:
        job.out = kl_snapshot_unpack(job.in, job.in_len, job.offer.bytes, job.offer.hash);
        job.out_len = job.offer.bytes;
        break;
    case JOB_NONE: break;
    }
    atomic_store(&job.done, true);
}

static void start_job(int kind, const uint8_t *in, size_t len) {
    job.kind = kind;
    job.in = in;
    job.in_len = len;
    job.out = NULL;
    job.stale = false;
    atomic_store(&job.done, false);
    job.threaded = kl_thread_start(&job.thread, "keylock-state", work, NULL) == 0;
    if (!job.threaded) work(NULL);
}

static void say_state(void) {
    struct kl_state_said s = {.keyframe = own.frame, .has = own.bytes != NULL};
    if (own.bytes) {
        s.bytes = (uint32_t)own.len;
        memcpy(s.hash, job.hash, sizeof s.hash);
        memcpy(own.hash, job.hash, sizeof own.hash);
        own.hashed = true;
    }
    kl_link_say_state(kl_w.link, &s);
}

static void unpacked(void) {
    free(got.bytes);
    got.bytes = job.out;
    got.len = job.out_len;
    got.offer = job.offer;
    if (got.bytes || !kl_w.link) return;
    struct kl_healed h = {.keyframe = job.offer.keyframe, .how = KL_HEALED_NOT};
    kl_link_say_healed(kl_w.link, &h);
}

/* wait: however long it takes. */
static void end_job(bool wait) {
    if (job.kind == JOB_NONE || (!wait && !atomic_load(&job.done))) return;
    if (job.threaded) kl_thread_join(&job.thread);
    int kind = job.kind;
    job.kind = JOB_NONE;
    if (kind == JOB_HASH && !job.stale && kl_w.link) say_state();
    if (kind == JOB_PACK && job.out && !job.stale && kl_w.link)
        kl_link_give_snapshot(kl_w.link, own.frame, job.base != NULL, job.out, (uint32_t)job.out_len);
    else if (kind == JOB_PACK)
        free(job.out);
    if (kind == JOB_UNPACK) unpacked();
    free(job.freed);
    job.freed = NULL;
}

/* ---- taking ---- */

static void fill_head(struct kl_snapshot_head *h, uint32_t frame) {
    memset(h, 0, sizeof *h);
    h->frame = frame;
    h->chance = kl_world_chance(kl_w.emu.world);
    h->time = kl_world_time(kl_w.emu.world);
    h->policy = kl_w.room.policy;
    h->wait_budget_ms = kl_w.room.wait_budget_ms;
    h->spacing_fixed = kl_w.room.spacing_fixed;
    kl_command_keep(h);
}

/* The thread keeps the bytes that it hashes or packs until it is done. */
static void drop_own(void) {
    bool busy = job.kind == JOB_HASH || job.kind == JOB_PACK;
    if (own.bytes && busy && job.in == own.bytes) {
        job.freed = own.bytes;
        job.stale = true;
    } else if (own.hashed && !busy) {
        free(before.bytes);
        before.bytes = own.bytes;
        before.len = own.len;
        before.frame = own.frame;
        memcpy(before.hash, own.hash, sizeof before.hash);
    } else {
        free(own.bytes);
    }
    memset(&own, 0, sizeof own);
}

/* As with hashes: everybody serializes, or nobody, and bytes that a core never writes are zeros. */
void kl_snapshot_take(uint32_t frame) {
    struct kl_snapshot_head head;
    uint8_t *state = NULL;
    drop_own();
    own.taken = true;
    own.frame = frame;
    fill_head(&head, frame);
    size_t bytes = kl_w.no_snapshots ? 0 : kl_w.emu.core.serialize_size();
    if (bytes) own.bytes = kl_snapshot_begin(&head, &kl_w.emu.options, bytes, &state, &own.len);
    if (own.bytes && !kl_core_serialize(&kl_w.emu.core, state, bytes)) {
        free(own.bytes);
        own.bytes = NULL;
    }
    if (own.bytes && kl_w.load_own) kl_w.emu.core.unserialize(state, bytes);
}

void kl_snapshot_keep(uint32_t frame) {
    struct kl_snapshot_head head;
    const struct kl_statehash_buffer *b = &kl_w.play.buffer;
    uint8_t *state = NULL;
    size_t len;
    bool watches = kl_w.status.welcome.client == KL_WATCHER;
    if (!kl_w.link || watches || kl_w.no_snapshots || !kl_own_states_takes(b->size)) return;
    fill_head(&head, frame);
    uint8_t *bytes = kl_snapshot_begin(&head, &kl_w.emu.options, b->size, &state, &len);
    if (!bytes) return;
    memcpy(state, b->data, b->size);
    kl_own_states_keep(&mine, frame, bytes, len);
}

void kl_snapshot_forget_own(void) {
    kl_own_states_clear(&mine);
}

/* ---- loading ---- */

static void take_options(struct kl_snapshot_view *v) {
    char key[KL_SNAPSHOT_KEY_MAX], value[KL_SNAPSHOT_VALUE_MAX], why[256];
    while (kl_snapshot_option(v, key, value)) {
        const char *is = kl_options_get(&kl_w.emu.options, key);
        if (is && strcmp(is, value) != 0)
            kl_options_set(&kl_w.emu.options, key, value, true, why, sizeof why);
    }
}

/* Is the state all of the core? Looking changes some cores, so it is loaded once more. */
static uint8_t look(const struct kl_snapshot_view *v) {
    size_t bytes = kl_w.emu.core.serialize_size();
    uint8_t *again = bytes == v->state_len ? calloc(1, bytes) : NULL;
    bool same =
        again && kl_core_serialize(&kl_w.emu.core, again, bytes) && memcmp(again, v->state, bytes) == 0;
    free(again);
    return kl_w.emu.core.unserialize(v->state, v->state_len) ? (same ? KL_HEALED_SAME : KL_HEALED_OTHER)
                                                             : KL_HEALED_NOT;
}

/* The head has the room's state; the core itself tells the consequences (rate, memory). */
static uint8_t load(struct kl_snapshot_view *v) {
    take_options(v);
    kl_command_restore(&v->head);
    if (!kl_w.emu.core.unserialize(v->state, v->state_len)) return KL_HEALED_NOT;
    uint8_t how = look(v);
    kl_world_chance_set(kl_w.emu.world, v->head.chance);
    kl_world_time_set(kl_w.emu.world, &v->head.time);
    kl_w.room.policy = v->head.policy;
    kl_w.room.wait_budget_ms = v->head.wait_budget_ms;
    kl_w.room.spacing_fixed = v->head.spacing_fixed;
    return how;
}

/* The room's frames begin with this snapshot, so earlier frames of the core do not matter. */
static uint8_t load_first(struct kl_snapshot_view *v) {
    uint8_t how = load(v);
    for (unsigned i = 0; how == KL_HEALED_NOT && i < WARM_UP; i++) {
        kl_play_warm_up();
        how = load(v);
    }
    return how;
}

/* rate: the room's has changed since frame 0, and the core may not say so again; or 0. */
static void begin_there(uint32_t rate) {
    char why[80];
    kl_play_from(got.offer.keyframe, rate);
    kl_link_begun(kl_w.link, got.offer.keyframe, rate);
    snprintf(why, sizeof why, "this run starts from the room's state of frame %u", got.offer.keyframe);
    kl_record_alien(got.offer.keyframe, why);
    kl_wrapper_say(KL_SCREEN_INFO, SHOWN_MS, "started from the room's state of frame %u", got.offer.keyframe);
}

static void say_healed(void) {
    struct kl_healed h = {.keyframe = back.keyframe, .next = back.end, .how = back.how};
    if (kl_w.link) kl_link_say_healed(kl_w.link, &h);
    back.running = false;
}

static void refused(void) {
    kl_wrapper_say(KL_SCREEN_WARNING, SHOWN_MS, "this core refused %s state of frame %u",
                   back.own ? "its own" : "the room's", back.from);
    say_healed();
}

/* The state of back.from is loaded: the frames since are to be run again. */
static void run_again(const char *whose) {
    char why[80];
    back.running = true;
    snprintf(why, sizeof why, "%s state of frame %u was loaded", whose, back.from);
    kl_record_alien(back.end, why);
}

/* Loads a snapshot of a frame that we have run. A snapshot of a later frame waits: its frame is hashed and
 * its commands are carried out as usual, then it is loaded, and the commands behind it are carried out
 * again. */
static void load_got(void) {
    struct kl_snapshot_view v;
    bool begin = got.offer.begin;
    uint32_t rate = kl_world_time(kl_w.emu.world).fps_uhz;
    bool good = kl_snapshot_open(&v, got.bytes, got.len) == KL_OK && v.head.frame == got.offer.keyframe;
    if (good && !begin && v.head.frame >= kl_w.play.next_frame) return; /* not yet */
    back.own = false;
    back.keyframe = back.from = back.at = got.offer.keyframe;
    back.end = begin ? back.at : kl_w.play.next_frame;
    good = good && (begin || kl_link_past_seek(kl_w.link, &back.past, back.at));
    back.how = !good ? KL_HEALED_NOT : begin ? load_first(&v) : load(&v);
    kl_own_states_clear(&mine); /* of a machine that was wrong, or of none */
    if (begin && back.how != KL_HEALED_NOT)
        begin_there(v.head.time.fps_uhz != rate ? v.head.time.fps_uhz : 0);
    free(got.bytes);
    got.bytes = NULL;
    if (back.how == KL_HEALED_NOT)
        refused();
    else if (begin)
        say_healed();
    else
        run_again("the room's");
}

/* REWIND. Without a state of that keyframe an earlier one serves: all machines were equal there, too. */
static void go_back(uint32_t keyframe) {
    struct kl_snapshot_view v;
    const struct kl_own_state *s = kl_own_states_find(&mine, keyframe);
    back.own = true;
    back.keyframe = keyframe;
    back.from = back.at = s ? s->frame : keyframe;
    back.end = kl_w.play.next_frame;
    bool good = s && back.from < back.end && kl_snapshot_open(&v, s->bytes, s->len) == KL_OK &&
                kl_link_past_seek(kl_w.link, &back.past, back.from);
    if (!good) {
        back.how = KL_HEALED_NOT;
        say_healed();
        return;
    }
    back.how = load(&v);
    kl_own_states_after(&mine, back.from);
    if (back.how == KL_HEALED_NOT)
        refused();
    else
        run_again("this machine's own");
}

bool kl_snapshot_busy(void) {
    return back.running || got.bytes || job.kind == JOB_UNPACK;
}

bool kl_snapshot_rerun(uint64_t from_us) {
    struct kl_frame f;
    if (!back.running) return false;
    while (back.at < back.end && kl_now_us() - from_us < BUDGET_US) {
        if (!kl_link_past_next(kl_w.link, &back.past, &f)) back.how = KL_HEALED_NOT; /* a hole: cannot be */
        if (back.how == KL_HEALED_NOT) break;
        enum kl_play_from from = back.at > back.from ? KL_PLAY_ON : back.own ? KL_PLAY_OWN : KL_PLAY_SNAPSHOT;
        kl_play_again(&f, &back.past.frames.commands, from);
        back.at++;
    }
    if (back.how == KL_HEALED_NOT) say_healed();
    if (back.running && back.at == back.end) {
        kl_wrapper_say(KL_SCREEN_INFO, SHOWN_MS, "back in sync: %s frame %u, ran %u frames",
                       back.own ? "went back to" : "loaded", back.from, back.end - back.from);
        say_healed();
    }
    return true;
}

/* ---- a turn ---- */

/* Others may have been asked since we took the same as the relay has: then it is given whole. */
static void start_packing(void) {
    bool same = ask.based && before.bytes && ask.base == before.frame &&
                memcmp(ask.hash, before.hash, sizeof ask.hash) == 0;
    own.asked = false;
    job.base = same ? before.bytes : NULL;
    job.base_len = before.len;
    start_job(JOB_PACK, own.bytes, own.len);
}

static void start_next(void) {
    if (kl_link_asked(kl_w.link, &ask)) own.asked = ask.keyframe == own.frame && own.bytes;
    if (own.taken && !own.said) {
        own.said = true;
        if (own.bytes)
            start_job(JOB_HASH, own.bytes, own.len);
        else
            say_state();
    } else if (own.asked) {
        start_packing();
    } else if (!back.running && kl_link_snapshot(kl_w.link, &job.offer, &job.freed)) {
        start_job(JOB_UNPACK, job.freed, job.offer.packed);
    }
}

void kl_snapshot_turn(void) {
    if (!kl_w.link) return;
    end_job(false);
    if (job.kind == JOB_NONE) start_next();
    kl_own_states_agreed(&mine, kl_w.status.verdict.agreed);
    uint32_t keyframe;
    if (!back.running && kl_link_rewind(kl_w.link, &keyframe)) go_back(keyframe);
    if (got.bytes && !back.running) load_got();
}

void kl_snapshot_clear(void) {
    end_job(true);
    drop_own();
    free(before.bytes);
    memset(&before, 0, sizeof before);
    free(got.bytes);
    memset(&got, 0, sizeof got);
    memset(&back, 0, sizeof back);
    kl_own_states_clear(&mine);
}
