/* The panel and its canvas: formats, sizes and turns without a byte outside the picture. Words:
 * test_panel_words.c. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "core_wrapper/draw/font.h"
#include "core_wrapper/screen/panel.h"
#include "tests/lib/own_font.h"
#include "tests/lib/panel_pair.h"

#define MARGIN 64 /* bytes before, after and at the end of each line, which must stay as they are */
#define GUARD  0xa5

static const enum retro_pixel_format formats[] = {RETRO_PIXEL_FORMAT_0RGB1555, RETRO_PIXEL_FORMAT_XRGB8888,
                                                  RETRO_PIXEL_FORMAT_RGB565};

/* --- a picture with a fence --- */

struct picture {
    uint8_t *heap;
    struct kl_canvas c;
};

static struct picture white(unsigned width, unsigned height, enum retro_pixel_format format, unsigned turn) {
    struct picture p = {0};
    size_t pixel = kl_canvas_pixel_bytes(format), line = width * pixel, pitch = line + MARGIN;
    p.heap = malloc(2 * MARGIN + pitch * height);
    memset(p.heap, GUARD, 2 * MARGIN + pitch * height);
    for (unsigned y = 0; y < height; y++)
        memset(p.heap + MARGIN + y * pitch, 0xff, line);
    p.c = (struct kl_canvas){p.heap + MARGIN, width, height, pitch, format, .turn = turn};
    kl_canvas_measure(&p.c);
    return p;
}

static void check_fence(const struct picture *p) {
    size_t line = p->c.width * kl_canvas_pixel_bytes(p->c.format);
    for (size_t i = 0; i < MARGIN; i++) {
        assert_int_equal(p->heap[i], GUARD);
        assert_int_equal(p->c.pixels[p->c.height * p->c.pitch + i], GUARD);
        for (unsigned y = 0; y < p->c.height; y++)
            assert_int_equal(p->c.pixels[y * p->c.pitch + line + i], GUARD);
    }
}

static uint32_t pixel(const struct picture *p, unsigned x, unsigned y) {
    const uint8_t *at = p->c.pixels + y * p->c.pitch + x * kl_canvas_pixel_bytes(p->c.format);
    uint32_t wide = 0;
    uint16_t narrow;
    if (kl_canvas_pixel_bytes(p->c.format) == 4)
        memcpy(&wide, at, 4);
    else {
        memcpy(&narrow, at, 2);
        wide = narrow;
    }
    return wide;
}

static uint32_t untouched(enum retro_pixel_format format) {
    return format == RETRO_PIXEL_FORMAT_XRGB8888 ? 0xffffffff : 0xffff;
}

/* Does the text stand in the picture, in any colour on the panel's shade? For pictures of which a unit is a
 * pixel. */
static bool text_at(const struct picture *p, unsigned left, unsigned top, const char *text) {
    for (unsigned code; (code = kl_font_next(&text)); left += KL_FONT_WIDTH)
        for (unsigned y = 0; y < KL_FONT_HEIGHT; y++)
            for (unsigned x = 0; x < KL_FONT_WIDTH; x++) {
                bool dot = left + x < p->c.width && pixel(p, left + x, top + y) != 0x1f1f1f;
                if (dot != kl_font_dot(code, x, y)) return false;
            }
    return true;
}

static bool shows(const struct picture *p, const char *text) {
    for (unsigned y = 0; y + KL_FONT_HEIGHT <= p->c.height; y++)
        for (unsigned x = 0; x < p->c.width; x++)
            if (text_at(p, x, y, text)) return true;
    return false;
}

/* Rows of the picture that anything was drawn in. */
static unsigned rows_drawn(const struct picture *p) {
    unsigned rows = 0;
    for (unsigned y = 0; y < p->c.height; y++) {
        bool drawn = false;
        for (unsigned x = 0; x < p->c.width; x++)
            drawn = drawn || pixel(p, x, y) != untouched(p->c.format);
        rows += drawn;
    }
    return rows;
}

/* --- canvas --- */

TEST(colours_are_right_in_each_format) {
    static const uint32_t red[] = {0x7c00, 0xff0000, 0xf800}, green[] = {0x03e0, 0x00ff00, 0x07e0},
                          dark[] = {0x0c63, 0x1f1f1f, 0x18e3};
    for (size_t i = 0; i < COUNT(formats); i++) {
        struct picture p = white(160, 144, formats[i], 0);
        kl_canvas_fill(&p.c, 10, 20, 1, 1, 0xff0000);
        kl_canvas_fill(&p.c, 11, 20, 1, 1, 0x00ff00);
        kl_canvas_shade(&p.c, 12, 20, 1, 1);
        assert_int_equal(pixel(&p, 10, 20), red[i]);
        assert_int_equal(pixel(&p, 11, 20), green[i]);
        assert_int_equal(pixel(&p, 12, 20), dark[i]);
        assert_int_equal(pixel(&p, 9, 20), untouched(formats[i]));
        assert_int_equal(pixel(&p, 10, 21), untouched(formats[i]));
        check_fence(&p);
        free(p.heap);
    }
}

TEST(a_unit_grows_with_the_picture) {
    static const struct {
        unsigned width, height, turn, x, y;
    } sizes[] = {{160, 144, 0, 1, 1}, {240, 160, 0, 1, 1}, {256, 224, 0, 1, 1},  {320, 240, 0, 1, 1},
                 {512, 224, 0, 2, 1}, {640, 240, 0, 2, 1}, {512, 448, 0, 2, 2},  {640, 480, 0, 2, 2},
                 {224, 384, 0, 1, 1}, {384, 224, 1, 1, 1}, {1280, 720, 0, 3, 3}, {1, 1, 0, 1, 1}};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct kl_canvas c = {.width = sizes[i].width, .height = sizes[i].height, .turn = sizes[i].turn};
        kl_canvas_measure(&c);
        assert_int_equal(c.scale_x, sizes[i].x);
        assert_int_equal(c.scale_y, sizes[i].y);
    }
}

/* The viewer's top left corner, in a picture that is shown turned counterclockwise. */
TEST(a_turned_picture_is_drawn_turned) {
    static const unsigned at[4][2] = {{0, 0}, {199, 0}, {199, 149}, {0, 149}};
    static const unsigned beside[4][2] = {{1, 0}, {199, 1}, {198, 149}, {0, 148}};
    for (unsigned turn = 0; turn < 4; turn++) {
        struct picture p = white(200, 150, RETRO_PIXEL_FORMAT_XRGB8888, turn);
        assert_int_equal(p.c.columns, turn & 1 ? 150 : 200);
        kl_canvas_fill(&p.c, 0, 0, 1, 1, 0x123456);
        kl_canvas_fill(&p.c, 1, 0, 1, 1, 0x654321);
        assert_int_equal(pixel(&p, at[turn][0], at[turn][1]), 0x123456);
        assert_int_equal(pixel(&p, beside[turn][0], beside[turn][1]), 0x654321);
        check_fence(&p);
        free(p.heap);
    }
}

TEST(boxes_and_text_are_cut_at_the_edges) {
    for (unsigned turn = 0; turn < 4; turn++) {
        struct picture p = white(40, 20, RETRO_PIXEL_FORMAT_RGB565, turn);
        kl_canvas_fill(&p.c, -5, -5, 1000, 1000, 0);
        kl_canvas_shade(&p.c, -5, 10, 3, 3);
        kl_canvas_fill(&p.c, 1000, 0, 5, 5, 0xffffff);
        kl_canvas_text(&p.c, -3, -3, 100, 0xffffff, "cut on all sides");
        kl_canvas_text(&p.c, 30, 16, 100, 0xffffff, "cut on all sides");
        assert_int_equal(kl_canvas_text(&p.c, 0, 0, 2, 0xffffff, "abc"), 2 * KL_FONT_WIDTH);
        check_fence(&p);
        free(p.heap);
    }
}

TEST(letters_have_the_units_size) {
    struct picture p = white(640, 480, RETRO_PIXEL_FORMAT_XRGB8888, 0);
    kl_canvas_text(&p.c, 0, 0, 1, 0, "L"); /* its stem: column 0, rows 0 to 6 */
    for (unsigned y = 0; y < 14; y++)
        for (unsigned x = 0; x < 2; x++)
            assert_int_equal(pixel(&p, x, y), 0);
    assert_int_equal(pixel(&p, 2, 0), 0xffffffff);
    assert_int_equal(pixel(&p, 0, 14), 0xffffffff);
    free(p.heap);
}

/* --- history --- */

TEST(history_keeps_ten_seconds) {
    static struct kl_graph h;
    kl_graph_clear(&h);
    uint64_t t0 = 500000000;
    for (unsigned i = 0; i < 600; i++) {
        struct kl_graph_step s = {.need = 8, .had = 16, .stalled = i == 300};
        kl_graph_add(&h, &s, t0 + i * 16667);
    }
    unsigned stalls = 0;
    for (unsigned i = 0; i < 150; i++) {
        struct kl_graph_step s = kl_graph_part(&h, i, 150);
        assert_int_equal(s.need, 8);
        assert_int_equal(s.had, 16);
        stalls += s.stalled;
    }
    assert_int_equal(stalls, 1);
    struct kl_graph_step late = {.need = 20};
    kl_graph_add(&h, &late, t0 + 600 * 16667 + 9000000);
    assert_int_equal(kl_graph_part(&h, 199, 200).need, 20); /* the newest is at the right */
    assert_int_equal(kl_graph_part(&h, 150, 200).need, 0);  /* a moment that was not told is empty */
    assert_int_equal(kl_graph_part(&h, 10, 200).need, 8);   /* older ones move to the left */
    kl_graph_add(&h, &late, t0 + 60000000);
    assert_int_equal(kl_graph_part(&h, 0, 200).need, 0);
    kl_graph_add(&h, &(struct kl_graph_step){.need = 99}, t0); /* a clock that went back */
    assert_int_equal(kl_graph_part(&h, 199, 200).need, 20);
}

/* Readable: each line is inside the picture, below the last one, on a Game Boy's too. */
TEST(a_card_shows_at_each_size) {
    static const unsigned sizes[][2] = {{160, 144}, {256, 224}, {320, 240}};
    static struct kl_card card;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct kl_panel p = panel_pair();
        struct picture at = white(sizes[i][0], sizes[i][1], RETRO_PIXEL_FORMAT_XRGB8888, 0);
        p.stage = KL_PANEL_FILLING;
        strcpy(p.link, "keylock://r/pair");
        p.practises = true;
        p.leave = (struct kl_panel_key){"Select+B", "right Shift+Z"};
        p.panel = (struct kl_panel_key){"Select 0.4 s, press R", "right Shift, W"};
        p.leave_s = 2;
        assert_true(kl_panel_card(&p, &card));
        kl_panel_draw_card(&card, &at.c);
        assert_true(shows(&at, "Waiting for 1 player 0 s"));
        assert_true(shows(&at, "keylock://r/pair"));
        assert_true(shows(&at, "hold Select+B"));
        assert_true(shows(&at, "right Shift+Z)"));
        assert_true(shows(&at, "Shift, W)"));
        assert_in_range(rows_drawn(&at), 40, sizes[i][1] * 3 / 4);
        free(at.heap);
    }
}

/* --- the panel --- */

static struct kl_graph *some_history(void) {
    static struct kl_graph h;
    kl_graph_clear(&h);
    for (unsigned i = 0; i < 700; i++) {
        struct kl_graph_step s = {
            .need = (uint16_t)(i % 255), .had = (uint16_t)(4 + 4 * (i % 30)), .backlog = (uint16_t)i};
        s.stalled = i % 50 == 0;
        kl_graph_add(&h, &s, 1000000 + i * 16667);
    }
    return &h;
}

/* The card of each stage. */
static void draw_cards(const struct picture *at) {
    static struct kl_card card;
    struct kl_panel p = panel_pair();
    memset(p.link, 'l', sizeof p.link - 1);
    memset(p.reason, 'r', sizeof p.reason - 1);
    p.practises = true;
    for (unsigned stage = KL_PANEL_LOOKING; stage <= KL_PANEL_ENDED; stage++) {
        p.stage = (enum kl_panel_stage)stage;
        if (kl_panel_card(&p, &card)) kl_panel_draw_card(&card, &at->c);
    }
}

/* One row of text, at the bottom, with whatever fits. */
TEST(the_one_line_is_one_line) {
    static const struct {
        unsigned width, height;
        const char *words;
    } sizes[] = {{256, 224, "ann 1 \xc2\xb7 bob 2 \xc2\xb7 24 ms \xc2\xb7 delay 2 frames"},
                 {160, 144, "ann 1 \xc2\xb7 bob 2 \xc2\xb7 24 ms"},
                 {96, 64, "ann 1 \xc2\xb7 bob 2"}};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct kl_panel p = panel_pair();
        struct picture at = white(sizes[i].width, sizes[i].height, RETRO_PIXEL_FORMAT_XRGB8888, 0);
        p.rtt_ms = 24;
        p.lead_frames = 2;
        p.member[p.count++] = (struct kl_panel_member){.name = "eve"}; /* watches */
        assert_int_equal(kl_panel_draw_strip(&p, &at.c, at.c.rows), at.c.rows - 11);
        if (!shows(&at, sizes[i].words)) fail_msg("%u wide: not \"%s\"", sizes[i].width, sizes[i].words);
        assert_int_equal(rows_drawn(&at), 11);
        check_fence(&at);
        free(at.heap);
    }
}

static void panel_shows(const struct kl_panel *p, const struct kl_graph *h, const char *words) {
    struct picture at = white(256, 224, RETRO_PIXEL_FORMAT_XRGB8888, 0);
    kl_panel_draw(p, h, &at.c);
    if (!shows(&at, words)) fail_msg("no \"%s\" on the panel", words);
    free(at.heap);
}

/* Both numbers count, so the round trip gives way to them. */
TEST(running_ahead_shows_what_a_press_feels_like) {
    struct kl_panel p = panel_pair();
    struct picture at = white(256, 224, RETRO_PIXEL_FORMAT_XRGB8888, 0);
    p.rtt_ms = 24;
    p.lead_frames = 6;
    p.feels = 1.2;
    kl_panel_draw_strip(&p, &at.c, at.c.rows);
    assert_true(shows(&at, "ann 1 \xc2\xb7 bob 2 \xc2\xb7 feels 1 frame, link 6"));
    free(at.heap);
    panel_shows(&p, some_history(), "feels 1 frame, link 6");
}

TEST(the_panel_has_words_for_what_is_unusual) {
    struct kl_panel p = panel_pair();
    p.direct_named = 2;
    p.direct_heard = 1;
    panel_shows(&p, some_history(), "direct to 1 of 2, which see your address");
    p = panel_pair();
    p.lead_frames = 9;
    snprintf(p.not_ahead, sizeof p.not_ahead, "the core gives no savestates");
    panel_shows(&p, some_history(), "not ahead: the core gives no savestates");
    for (unsigned who = 0; who < 2; who++) { /* in the one line it would take the place of a name */
        p = panel_pair();
        p.lead_frames = 9;
        p.member[who].distant = true;
        panel_shows(&p, some_history(), who ? "delay 9 frames: bob's link" : "delay 9 frames: your link");
    }
}

/* A scale of any length: the legend is one line, and all of it is on the panel's shade. */
TEST(the_legend_stays_in_the_panel) {
    static const unsigned leads[] = {3, 11, 99};
    static struct kl_graph h;
    struct kl_panel p = panel_pair();
    for (size_t i = 0; i < COUNT(leads); i++) {
        char words[80];
        kl_graph_clear(&h);
        for (unsigned k = 0; k < 700; k++)
            kl_graph_add(&h, &(struct kl_graph_step){.need = 4, .had = (uint16_t)(4 * leads[i])},
                         1000000 + k * 16667);
        snprintf(words, sizeof words, "need \xc2\xb7 had \xc2\xb7 waiting \xc2\xb7 stop \xc2\xb7 %u frames",
                 (leads[i] + 4) / 4 * 4);
        panel_shows(&p, &h, words);
    }
}

/* A line of forty wide letters; the font is the caller's to drop. */
static struct kl_panel_words tall_line(void) {
    static char line[300] = "a: ";
    char err[512];
    const char *path = own_file(OWN_FONT, strlen(OWN_FONT));
    assert_int_equal(kl_unifont_read(path, err, sizeof err), 0);
    unlink(path);
    for (unsigned i = 0; i < 40; i++)
        memcpy(line + 3 + 3 * i, "\xe5\xaf\xbe", 4);
    return (struct kl_panel_words){line, 3, KL_PANEL_INFO, -1};
}

TEST(nothing_is_written_outside_at_any_size) {
    static const unsigned sizes[][2] = {{1, 1},     {7, 3},     {16, 16},   {40, 200},  {96, 64},
                                        {160, 102}, {160, 144}, {224, 288}, {256, 224}, {512, 224},
                                        {640, 240}, {640, 480}, {1280, 720}};
    struct kl_panel p = panel_pair();
    p.count = KL_MAX_CLIENTS;
    for (unsigned i = 2; i < KL_MAX_CLIENTS; i++)
        p.member[i] =
            (struct kl_panel_member){.name = "Wolfeschlegelsteinhaus", .seats = (uint8_t)(1u << i % 8)};
    p.member[3].seats = 0x55;
    p.desync = p.any_verified = p.stalled = true;
    p.late = p.stalls = UINT64_MAX;
    p.state_us = 9000000;
    const struct kl_panel_words tall = tall_line();
    for (size_t f = 0; f < COUNT(formats); f++)
        for (size_t i = 0; i < COUNT(sizes); i++)
            for (unsigned turn = 0; turn < 4; turn++) {
                struct picture at = white(sizes[i][0], sizes[i][1], formats[f], turn);
                kl_panel_draw(&p, some_history(), &at.c);
                int row = kl_panel_draw_line(
                    &at.c, at.c.rows,
                    &(struct kl_panel_words){
                        "a line that is longer than what a small picture holds in two lines, surely so", 0,
                        KL_PANEL_WARNING, 55});
                row = kl_panel_draw_line(&at.c, row,
                                         &(struct kl_panel_words){"short", 0, KL_PANEL_ERROR, 1000});
                row = kl_panel_draw_line(&at.c, row,
                                         &(struct kl_panel_words){"and one more", 0, KL_PANEL_ERROR, -1});
                row = kl_panel_draw_line(&at.c, row, &tall);
                kl_panel_draw_line(&at.c, row - 1000, &tall);
                draw_cards(&at);
                kl_panel_draw_strip(&p, &at.c, at.c.rows);
                check_fence(&at);
                free(at.heap);
            }
    kl_unifont_drop();
}

/* The whole of a block, and nothing beside it. */
static unsigned blocks(const struct picture *p) {
    unsigned dots = 0;
    for (unsigned y = 0; y < p->c.height; y++)
        for (unsigned x = 0; x < p->c.width; x++)
            dots += pixel(p, x, y) == 0xf0f0f0;
    return dots / (p->c.scale_x * p->c.scale_y * 16 * 8);
}

/* A wide letter goes to the next line if only its half fits: on 160 columns 19 cells, so "a: " and eight of
 * them, then nine a line; four lines at most. */
TEST(tall_letters_stay_in_their_line) {
    const struct kl_panel_words w = tall_line();
    struct picture at = white(160, 144, RETRO_PIXEL_FORMAT_XRGB8888, 0);
    assert_int_equal(kl_panel_draw_line(&at.c, 144, &w), 144 - 4 * 17 - 4);
    assert_int_equal(blocks(&at), 2 + 2 * (8 + 9 + 9 + 9));
    for (unsigned y = 0; y < 144; y++)
        for (unsigned x = 3 + 19 * 8; x < 160; x++)
            assert_int_not_equal(pixel(&at, x, y), 0xf0f0f0);
    free(at.heap);
    at = white(640, 480, RETRO_PIXEL_FORMAT_XRGB8888, 0); /* 39 cells */
    assert_int_equal(kl_panel_draw_line(&at.c, 240, &w), 240 - 3 * 17 - 4);
    assert_int_equal(blocks(&at), 2 + 2 * 40);
    free(at.heap);
    kl_unifont_drop();
}

TEST(the_panel_takes_what_it_needs_and_no_more) {
    static const struct {
        unsigned width, height, most;
    } sizes[] = {{160, 144, 64}, {256, 224, 90}, {640, 480, 180}};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct kl_panel p = panel_pair();
        p.rtt_ms = 124;
        p.jitter_ms = 15;
        p.lead_frames = 11;
        p.policy = KL_POLICY_BOUNDED;
        p.budget_ms = 250;
        p.late = 1234;
        p.stalls = 12;
        p.any_verified = true;
        p.verified = 10000;
        p.fps = 60;
        struct picture at = white(sizes[i].width, sizes[i].height, RETRO_PIXEL_FORMAT_XRGB8888, 0);
        kl_panel_draw(&p, some_history(), &at.c);
        unsigned rows = rows_drawn(&at);
        assert_in_range(rows, 30, sizes[i].most); /* the game stays visible */
        free(at.heap);
        at = white(sizes[i].width, sizes[i].height, RETRO_PIXEL_FORMAT_XRGB8888, 0);
        kl_panel_draw_line(&at.c, at.c.rows,
                           &(struct kl_panel_words){"waiting for bob (2)  3 s", 0, KL_PANEL_WARNING, -1});
        assert_in_range(rows_drawn(&at), 8, sizes[i].height / 10);
        assert_int_equal(pixel(&at, 0, 0), 0xffffffff); /* at the bottom */
        assert_int_not_equal(pixel(&at, 0, sizes[i].height - 1), 0xffffffff);
        free(at.heap);
    }
}

/* The whole panel of one is that of the other. */
static bool same_picture(const struct kl_panel *p, const struct kl_panel *q) {
    struct picture a = white(256, 224, RETRO_PIXEL_FORMAT_XRGB8888, 0),
                   b = white(256, 224, RETRO_PIXEL_FORMAT_XRGB8888, 0);
    kl_panel_draw(p, some_history(), &a.c);
    kl_panel_draw(q, some_history(), &b.c);
    bool same = memcmp(a.c.pixels, b.c.pixels, a.c.pitch * a.c.height) == 0;
    free(a.heap);
    free(b.heap);
    return same;
}

TEST(the_panel_shows_its_figures) {
    struct kl_panel p = panel_pair(), q;
    for (unsigned what = 0; what < 10; what++) {
        q = p;
        if (what == 1) q.rtt_ms = 52;
        if (what == 2) q.lead_frames = 5;
        if (what == 3) q.late = 1;
        if (what == 4) q.member[1].away = true;
        if (what == 5) q.any_verified = true;
        if (what == 6) q.desync = true;
        if (what == 7) q.policy = KL_POLICY_BOUNDED;
        if (what == 8) q.backlog = 3;
        if (what == 9) q.member[1].seats = 4;
        if (same_picture(&p, &q) != (what == 0))
            fail_msg("change %u: the picture is %s", what, what ? "the same" : "another");
    }
}

TEST(a_lead_that_is_not_known_is_no_figure) {
    struct kl_panel p = panel_pair(), q = panel_pair();
    p.lead_frames = 0;
    q.lead_frames = 0.4;
    assert_false(same_picture(&p, &q));
    p = q = panel_pair();
    p.spacing = 2;
    q.spacing = 7;
    p.policy = q.policy = KL_POLICY_BOUNDED;
    assert_false(same_picture(&p, &q));
    p.policy = q.policy = KL_POLICY_OPTIMISTIC; /* by the clock: it means nothing */
    assert_true(same_picture(&p, &q));
    q.lead_frames = p.lead_frames + 1;
    assert_false(same_picture(&p, &q));
}

/* The watchers' line takes none away from the names, and no other line is drawn over another. */
TEST(names_and_figures_stay_while_somebody_watches) {
    static const unsigned sizes[][2] = {{160, 144}, {256, 224}, {320, 240}};
    static const char *const words[] = {"ann 1", "bob 2",
                                        "0 \xc2\xb1"
                                        "0 ms",
                                        "checked", "paused"};
    for (size_t i = 0; i < COUNT(sizes); i++)
        for (unsigned watchers = 0; watchers < 3; watchers++) {
            struct kl_panel p = panel_pair();
            struct picture at = white(sizes[i][0], sizes[i][1], RETRO_PIXEL_FORMAT_XRGB8888, 0);
            p.watchers = watchers;
            p.paused = true;
            kl_panel_draw(&p, some_history(), &at.c);
            for (size_t w = 0; w < COUNT(words); w++)
                if (!shows(&at, words[w]))
                    fail_msg("%ux%u, %u watch: no \"%s\"", sizes[i][0], sizes[i][1], watchers, words[w]);
            assert_int_equal(shows(&at, "1 watches") || shows(&at, "2 watch"), watchers > 0);
            check_fence(&at);
            free(at.heap);
        }
}
