/* The video bridge: the core's pixels pass through untouched; what is drawn over them is drawn on a copy. */
#include "tests/unit/unit.h"

#include <stdlib.h>

#include "core_wrapper/frame/picture.h"

#define WIDTH  4
#define HEIGHT 3

static struct {
    unsigned calls, width, height;
    const void *data;
    uint32_t first; /* pixel */
} got;

static void front(const void *data, unsigned width, unsigned height, size_t pitch) {
    (void)pitch;
    got.calls++;
    got.data = data;
    got.width = width;
    got.height = height;
    got.first = data && data != RETRO_HW_FRAME_BUFFER_VALID ? *(const uint32_t *)data : 0;
}

static void mark(void *ctx, const struct kl_canvas *c) {
    (void)ctx;
    ((uint32_t *)(void *)c->pixels)[0] += 1000;
}

static uint32_t core[HEIGHT][WIDTH + 5];

static struct kl_picture fresh(bool can_dupe) {
    struct kl_picture p = {.format = RETRO_PIXEL_FORMAT_XRGB8888};
    memset(&got, 0, sizeof got);
    kl_picture_init(&p, can_dupe, WIDTH, HEIGHT);
    core[0][0] = 7;
    return p;
}

static void draw(struct kl_picture *p) {
    kl_picture_draw(p, core, WIDTH, HEIGHT, sizeof core[0], front);
}

TEST(on_it_draws_on_a_copy) {
    struct kl_picture p = fresh(true);
    p.over = mark;
    draw(&p);
    assert_int_equal(got.first, 1007);
    assert_int_equal(core[0][0], 7);
    kl_picture_draw(&p, NULL, WIDTH, HEIGHT, 0, front); /* the core dupes: the same, drawn over once */
    assert_int_equal(got.first, 1007);
    kl_picture_repeat(&p, front);
    assert_int_equal(got.first, 1007);
    core[0][0] = 9; /* the core's buffer is its own after the call */
    kl_picture_repeat(&p, front);
    assert_int_equal(got.first, 1007);
    kl_picture_free(&p);
}

TEST(switched_off_the_clean_picture_comes_back) {
    struct kl_picture p = fresh(true);
    p.over = mark;
    draw(&p);
    p.over = NULL;
    kl_picture_repeat(&p, front);
    assert_int_equal(got.first, 7);
    kl_picture_repeat(&p, front);
    assert_null(got.data);
    kl_picture_free(&p);
}

TEST(switched_on_in_a_stall_it_has_a_ground) {
    struct kl_picture p = fresh(true);
    draw(&p);
    p.over = mark;
    kl_picture_repeat(&p, front);
    assert_int_equal(got.first, 1000); /* nothing was kept: black */
    kl_picture_free(&p);
    p = fresh(true);
    p.want_copy = true;
    draw(&p);
    assert_ptr_equal(got.data, core);
    p.over = mark;
    kl_picture_repeat(&p, front);
    assert_int_equal(got.first, 1007);
    kl_picture_free(&p);
}

TEST(before_the_first_frame_it_is_black) {
    struct kl_picture p = fresh(true);
    kl_picture_repeat(&p, front);
    assert_non_null(got.data);
    assert_int_equal(got.first, 0);
    p.over = mark;
    kl_picture_repeat(&p, front);
    assert_int_equal(got.first, 1000);
    kl_picture_free(&p);
}

TEST(a_frontend_that_cannot_dupe_gets_a_copy) {
    struct kl_picture p = fresh(false);
    draw(&p);
    core[0][0] = 9;
    kl_picture_repeat(&p, front);
    assert_int_equal(got.first, 7);
    kl_picture_free(&p);
}

TEST(hardware_pictures_are_left_alone) {
    struct kl_picture p = fresh(true);
    p.over = mark;
    kl_picture_draw(&p, RETRO_HW_FRAME_BUFFER_VALID, 640, 480, 0, front);
    assert_ptr_equal(got.data, RETRO_HW_FRAME_BUFFER_VALID);
    kl_picture_repeat(&p, front);
    assert_null(got.data);
    kl_picture_free(&p);
}

TEST(sizes_may_change_at_any_frame) {
    struct kl_picture p = fresh(true);
    static uint32_t large[480][640];
    p.over = mark;
    draw(&p);
    large[0][0] = 5;
    kl_picture_draw(&p, large, 640, 480, sizeof large[0], front);
    assert_int_equal(got.first, 1005);
    assert_int_equal(got.width, 640);
    draw(&p);
    assert_int_equal(got.width, WIDTH);
    kl_picture_draw(&p, large, 640, 0, sizeof large[0], front); /* nonsense passes as it is */
    assert_ptr_equal(got.data, large);
    kl_picture_draw(&p, large, 100000, 480, 400000, front);
    kl_picture_repeat(&p, front);
    kl_picture_free(&p);
}
