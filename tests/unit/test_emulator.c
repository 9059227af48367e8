/* Two cores in one process, by turns: each has a clock, a chance, files and pads of its own, and plays as it
 * plays alone. tests/cores/probe_core.c folds all that it sees into its RAM.
 * runs: working, check, 1 s */
#include "tests/unit/unit.h"
#include "tests/lib/probe_core.h"

#include <xxhash.h>

#include "core_wrapper/env/emulator.h"
#include "net/platform/library.h"

#define FRAMES 120

static const struct kl_front frontend = {.environment = probe_environment};

struct played {
    struct kl_emulator e;
    uint64_t epoch_s, hash[FRAMES];
    uint16_t pads;
    uint32_t frame, pictures, sounds;
};
static struct played ada, bob;

static void on_video(void *ctx, const void *data, unsigned width, unsigned height, size_t pitch) {
    (void)data, (void)width, (void)height, (void)pitch;
    ((struct played *)ctx)->pictures++;
}
static void on_sound(void *ctx, const int16_t *stereo, size_t frames) {
    (void)stereo;
    ((struct played *)ctx)->sounds += frames > 0;
}

static void open_one(struct played *p, uint64_t epoch_s, uint16_t pads) {
    const struct kl_emulator_hooks hooks = {.ctx = p, .video = on_video, .sound = on_sound};
    char err[512];
    memset(p, 0, sizeof *p);
    p->epoch_s = epoch_s;
    p->pads = pads;
    assert_int_equal(kl_emulator_begin(&p->e, &frontend, &hooks), 0);
    if (kl_core_open_late(&p->e.core, probe_core_path(), err, sizeof err) != 0) fail_msg("%s", err);
    if (kl_world_turn(p->e.world, p->e.core.handle, &p->e.turned, err, sizeof err) != 0) fail_msg("%s", err);
    kl_world_start(p->e.world, epoch_s, 60000000);
    kl_core_construct(&p->e.core);
    kl_latch_init(&p->e.latch, true);
    p->e.core.set_environment(kl_emulator_environment(&p->e));
    kl_emulator_give_callbacks(&p->e);
    p->e.core.init();
    p->e.core.initialised = true;
    p->e.load = KL_LOAD_FIRST;
    p->e.core.game_loaded = p->e.core.load_game(NULL);
    p->e.load = KL_LOAD_NONE;
    assert_true(p->e.core.game_loaded);
}

static void close_one(struct played *p) {
    kl_core_close(&p->e.core);
    kl_options_free(&p->e.options);
    kl_emulator_end(&p->e);
}

static void run_one(struct played *p) {
    struct kl_frame f = {.number = p->frame};
    f.in[0].joypad = (uint16_t)(p->pads * (p->frame + 1));
    kl_world_frame(p->e.world, p->frame);
    kl_latch_frame(&p->e.latch, &f, NULL, NULL);
    p->e.core.run();
    p->hash[p->frame] = XXH3_64bits(p->e.core.get_memory_data(RETRO_MEMORY_SYSTEM_RAM),
                                    p->e.core.get_memory_size(RETRO_MEMORY_SYSTEM_RAM));
    p->frame++;
}

static void play_alone(uint64_t epoch_s, uint16_t pads, uint64_t out[FRAMES]) {
    open_one(&ada, epoch_s, pads);
    while (ada.frame < FRAMES)
        run_one(&ada);
    memcpy(out, ada.hash, sizeof ada.hash);
    close_one(&ada);
}

TEST(two_by_turns_play_as_each_alone) {
    static uint64_t first[FRAMES], second[FRAMES];
    play_alone(1000000000, 3, first);
    play_alone(1500000000, 77, second);
    assert_memory_not_equal(first, second, sizeof first);
    open_one(&ada, 1000000000, 3);
    open_one(&bob, 1500000000, 77);
    assert_ptr_not_equal(ada.e.core.handle, bob.e.core.handle);
    for (unsigned f = 0; f < FRAMES; f++) {
        run_one(f % 3 ? &ada : &bob); /* in changing order */
        run_one(f % 3 ? &bob : &ada);
    }
    assert_memory_equal(ada.hash, first, sizeof first);
    assert_memory_equal(bob.hash, second, sizeof second);
    assert_int_equal(ada.pictures, FRAMES);
    assert_int_equal(bob.pictures, FRAMES);
    assert_true(ada.sounds >= FRAMES && bob.sounds >= FRAMES);
    assert_int_equal(kl_world_time(bob.e.world).fps_uhz, 60000000);
    close_one(&ada);
    close_one(&bob);
}

TEST(constructors_see_the_world) {
    open_one(&ada, 1000000000, 3);
    int64_t (*constructed_s)(void) =
        (int64_t(*)(void))kl_library_find(ada.e.core.handle, "probe_constructed_s");
    assert_non_null(constructed_s);
    assert_int_equal(constructed_s(), 1000000000);
    close_one(&ada);
}

TEST(there_are_as_many_as_worlds) {
    static struct kl_emulator more[KL_WORLDS + 1];
    static const struct kl_emulator_hooks none = {0};
    for (unsigned i = 0; i < KL_WORLDS; i++)
        assert_int_equal(kl_emulator_begin(&more[i], &frontend, &none), 0);
    assert_int_equal(kl_emulator_begin(&more[KL_WORLDS], &frontend, &none), -1);
    kl_emulator_end(&more[1]);
    assert_int_equal(kl_emulator_begin(&more[KL_WORLDS], &frontend, &none), 0);
    for (unsigned i = 0; i <= KL_WORLDS; i++)
        kl_emulator_end(&more[i]);
}
