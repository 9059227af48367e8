/* Snapshots in the wrapper: taken while the thread beside the game is still at the one before, and loaded
 * where the machine has not come that far yet. The core is a stand-in, and the thread runs when it is told.
 */
#include "tests/unit/unit.h"

#include <stdlib.h>

#include <zstd.h>

#include "net/platform/clock.h"
#include "net/relay/heal/unpack.h"
#include "net/client/participant_parts.h"
#include "net/transport/link_state.h"

static void (*held)(void *);
static void *held_arg;
static bool held_back; /* the thread has been started, and has not run */
static unsigned waits;

static void run_thread(void) {
    assert_true(held_back);
    held_back = false;
    held(held_arg);
}
static int start_held(struct kl_thread *t, const char *name, void (*f)(void *), void *arg) {
    (void)t, (void)name;
    assert_false(held_back);
    held = f;
    held_arg = arg;
    held_back = true;
    return 0;
}
static void join_held(struct kl_thread *t) {
    (void)t;
    waits += held_back;
    if (held_back) run_thread();
}
#define kl_thread_start start_held
#define kl_thread_join  join_held
#include "core_wrapper/match/command.h"
#include "core_wrapper/match/snapshot.h"
#include "core_wrapper/match/match.h"
#include "core_wrapper/match/snapshot.c"

static struct kl_match match;

static struct kl_link *l;
static uint8_t machine[512];
static unsigned resets, loads, runs;

static size_t serialize_size(void) {
    return sizeof machine;
}
static bool serialize(void *data, size_t size) {
    memcpy(data, machine, size);
    return true;
}
static bool unserialize(const void *data, size_t size) {
    loads++;
    memcpy(machine, data, size);
    return true;
}
static void reset(void) {
    resets++;
}
static void run(void) {
    runs++;
}
static bool front(unsigned cmd, void *data) {
    return (void)cmd, (void)data, false;
}

static int set_up(void **state) {
    (void)state;
    kl_world_release(match.emu.world);
    memset(&match, 0, sizeof match);
    kl_match_init(&match);
    match.emu.world = kl_world_take();
    l = calloc(1, sizeof *l);
    if (!l || sodium_init() < 0) return -1;
    l->kick_fd = -1;
    l->participant.status.phase = KL_PARTICIPANT_PLAYING;
    kl_history_init(&l->participant.past, 0, 0);
    match.link = l;
    match.control.socket = -1;
    match.front.call.environment = front;
    match.emu.core = (struct kl_core){.serialize_size = serialize_size,
                                      .serialize = serialize,
                                      .unserialize = unserialize,
                                      .reset = reset,
                                      .run = run};
    kl_command_end(&match);
    kl_world_start(match.emu.world, 1, 60000000);
    memset(machine, 1, sizeof machine);
    resets = loads = runs = waits = 0;
    held_back = false;
    return 0;
}
static int tear_down(void **state) {
    (void)state;
    kl_snapshot_clear(&match);
    kl_participant_free(&l->participant);
    match.link = NULL;
    free(l);
    return 0;
}

static bool said(uint32_t keyframe) {
    const struct kl_participant_snapshot *s = &l->participant.snapshot;
    bool wanted = s->state_wanted;
    l->participant.snapshot.state_wanted = false;
    return wanted && s->state.keyframe == keyframe && s->state.has;
}

TEST_WITH(the_game_waits_for_no_thread, set_up, tear_down) {
    uint8_t hash[KL_SNAPSHOT_HASH];
    kl_snapshot_take(&match, 10);
    kl_heal_turn(&match);
    assert_true(held_back); /* it is being hashed */
    machine[7] = 99;
    kl_snapshot_take(&match, 20);
    assert_int_equal(waits, 0);
    run_thread();
    kl_heal_turn(&match);
    assert_false(said(10)); /* nobody asks any more */
    run_thread();
    kl_heal_turn(&match);
    crypto_generichash(hash, sizeof hash, match.snapshots.own.bytes, match.snapshots.own.len, NULL, 0);
    assert_true(said(20));
    assert_memory_equal(l->participant.snapshot.state.hash, hash, sizeof hash);
    kl_participant_take_ask(&l->participant, &(struct kl_ask){.keyframe = 20});
    kl_heal_turn(&match);
    assert_true(held_back); /* it is being packed */
    kl_snapshot_take(&match, 30);
    assert_int_equal(waits, 0);
    run_thread();
    kl_heal_turn(&match);
    assert_null(l->participant.snapshot.given); /* the base that was asked for is not the one it has now */
    run_thread();
    kl_heal_turn(&match);
    assert_true(said(30));
}

static void take_and_say(uint32_t frame) {
    kl_snapshot_take(&match, frame);
    kl_heal_turn(&match);
    run_thread();
    kl_heal_turn(&match);
    assert_true(said(frame));
}

/* The snapshot given for this ASK; the hash of its state in `hash`. */
static bool given_for(const struct kl_ask *a) {
    struct kl_participant_snapshot *s = &l->participant.snapshot;
    kl_participant_take_ask(&l->participant, a);
    kl_heal_turn(&match);
    run_thread();
    kl_heal_turn(&match);
    assert_non_null(s->given);
    assert_int_equal(s->given_keyframe, a->keyframe);
    return s->given_based;
}

/* The difference is given if this machine has taken that very base as well; else all of it. */
TEST_WITH(the_difference_is_given, set_up, tear_down) {
    struct kl_ask a = {.keyframe = 20, .based = true, .base = 10};
    struct kl_participant_snapshot *s = &l->participant.snapshot;
    static uint8_t first[4096], packed[4096], whole[4096];
    take_and_say(10);
    memcpy(first, match.snapshots.own.bytes, match.snapshots.own.len);
    size_t first_len = match.snapshots.own.len;
    memcpy(a.hash, s->state.hash, sizeof a.hash);
    machine[7] = 99;
    take_and_say(20);
    assert_true(given_for(&a));
    size_t packed_len = ZSTD_compress(packed, sizeof packed, first, first_len, 1);
    struct kl_unpack *u = kl_unpack_begin_slices(packed, (uint32_t)packed_len, (uint32_t)first_len,
                                                 (uint32_t)match.snapshots.own.len, whole, sizeof whole);
    while (kl_unpack_step(u, s->given, s->given_len))
        ;
    assert_true(kl_unpack_good(u, s->given_len, s->state.hash) > 0);
    kl_unpack_free(u);
    a.hash[3] ^= 1;
    assert_false(given_for(&a)); /* ours was another */
    a.hash[3] ^= 1;
    a.base = 9;
    assert_false(given_for(&a));
    a.base = 10;
    a.based = false;
    assert_false(given_for(&a));
    take_and_say(30);
    a = (struct kl_ask){.keyframe = 30, .based = true, .base = 10};
    assert_false(given_for(&a)); /* that is gone */
}

/* While one is packed against the one before, that one stays. */
TEST_WITH(the_base_stays_while_it_is_used, set_up, tear_down) {
    struct kl_ask a = {.keyframe = 20, .based = true, .base = 10};
    take_and_say(10);
    memcpy(a.hash, l->participant.snapshot.state.hash, sizeof a.hash);
    take_and_say(20);
    kl_participant_take_ask(&l->participant, &a);
    kl_heal_turn(&match);
    assert_true(held_back && match.snapshots.job.base);
    kl_snapshot_take(&match, 30);
    kl_snapshot_take(&match, 40);
    run_thread(); /* the sanitizers see what it reads */
    kl_heal_turn(&match);
    assert_null(l->participant.snapshot.given);
}

static const struct kl_commands at_five = {.keyframe = 5,
                                           .count = 3,
                                           .at = {{.client = 2, .kind = KL_COMMAND_RESET},
                                                  {.client = KL_RELAY_CLIENT, .kind = KL_COMMAND_SNAPSHOT},
                                                  {.client = 2, .kind = KL_COMMAND_RESET}}};

static void take_frame(uint32_t n) {
    struct kl_frame f = {.number = n, .keyframe = n / 5 * 5, .spacing = 5};
    if (n % 5 == 0) f.flags = KL_FRAME_KEY;
    if (n == 5) f.flags |= KL_FRAME_COMMANDS;
    struct kl_history *h = &l->participant.past;
    int result;
    while ((result = kl_history_append(h, &f, n == 5 ? &at_five : NULL)) == KL_E_SPACE)
        kl_history_give(h, malloc(KL_HISTORY_BLOCK));
    assert_true(result >= 0);
}

/* Somebody else's, of frame 5. */
static void snapshot_comes(void) {
    struct kl_participant_snapshot *s = &l->participant.snapshot;
    size_t packed_len;
    memset(machine, 55, sizeof machine);
    kl_snapshot_take(&match, 5);
    s->offer = (struct kl_offer){.keyframe = 5, .interval = 1, .bytes = (uint32_t)match.snapshots.own.len};
    crypto_generichash(s->offer.hash, sizeof s->offer.hash, match.snapshots.own.bytes,
                       match.snapshots.own.len, NULL, 0);
    s->coming = kl_snapshot_pack(match.snapshots.own.bytes, match.snapshots.own.len, &packed_len);
    s->offer.packed = s->have = (uint32_t)packed_len;
    kl_snapshot_clear(&match);
    memset(machine, 1, sizeof machine);
}

static void load_what_has_come(void) {
    kl_heal_turn(&match);
    run_thread();
    kl_heal_turn(&match);
}

/* A client that is behind gets the state of the frame that it runs next, after all that comes before it. That
 * frame is run first, so that nothing is done twice. */
TEST_WITH(commands_before_it_are_obeyed_once, set_up, tear_down) {
    for (uint32_t n = 0; n < 5; n++)
        take_frame(n);
    match.play.next_frame = 5;
    snapshot_comes();
    load_what_has_come();
    assert_int_equal(loads, 0);
    assert_true(kl_snapshot_busy(&match));
    assert_false(kl_heal_rerun(&match, kl_now_us()));
    take_frame(5); /* and it is run */
    match.play.next_frame = 6;
    kl_heal_turn(&match);
    assert_true(loads > 0);
    assert_true(kl_heal_rerun(&match, kl_now_us()));
    assert_int_equal(resets, 1); /* the one behind */
    assert_int_equal(runs, 1);
    assert_int_equal(machine[0], 55);
    assert_false(kl_snapshot_busy(&match));
    assert_true(l->participant.snapshot.healed_wanted);
    assert_int_equal(l->participant.snapshot.healed.keyframe, 5);
    assert_int_equal(l->participant.snapshot.healed.next, 6);
}

static void on_time(retro_usec_t us) {
    (void)us;
}

/* A newcomer, to begin with the state of frame 5. */
static void state_to_begin_with_comes(void) {
    snapshot_comes();
    l->participant.snapshot.offer.begin = true;
    load_what_has_come();
    assert_true(l->participant.snapshot.healed_wanted);
    assert_int_equal(l->participant.snapshot.healed.keyframe, 5);
}

/* The callback points into the other machine's core: the relay hears that, and sends the history. */
TEST_WITH(what_only_the_core_can_declare_is_not_loaded, set_up, tear_down) {
    struct retro_frame_time_callback t = {on_time, 16667};
    kl_core_only_note(&match.emu.only, RETRO_ENVIRONMENT_SET_FRAME_TIME_CALLBACK, "SET_FRAME_TIME_CALLBACK",
                      &t, (struct retro_memory_map){0});
    snapshot_comes();
    l->participant.snapshot.offer.begin = true;
    memset(&match.emu.only, 0, sizeof match.emu.only); /* this machine's core has not come so far */
    load_what_has_come();
    assert_int_equal(loads, 0);
    assert_int_equal(machine[0], 1);
    assert_int_equal(l->participant.snapshot.healed.how, KL_HEALED_NOT);
    assert_non_null(strstr(match.snapshots.lacked, "SET_FRAME_TIME_CALLBACK"));
    l->participant.snapshot.healed_wanted = false;
    state_to_begin_with_comes();
    assert_int_equal(l->participant.snapshot.healed.how, KL_HEALED_SAME);
    assert_int_equal(machine[0], 55);
}

/* Its states hold addresses: none is given, and none of another run is loaded. Its own serve. */
TEST_WITH(states_for_one_run_stay_with_it, set_up, tear_down) {
    snapshot_comes();
    l->participant.snapshot.offer.begin = true;
    match.emu.quirks = RETRO_SERIALIZATION_QUIRK_SINGLE_SESSION;
    load_what_has_come();
    assert_int_equal(loads, 0);
    assert_int_equal(l->participant.snapshot.healed.how, KL_HEALED_NOT);
    kl_snapshot_take(&match, 10);
    assert_null(match.snapshots.own.bytes);
    match.play.buffer.data = machine;
    match.play.buffer.size = sizeof machine;
    kl_snapshot_keep(&match, 10);
    assert_int_equal(match.snapshots.mine.count, 1);
    match.play.buffer.data = NULL;
}
