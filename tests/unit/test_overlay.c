/* The session on the wrapper's screen, through the wrapper's own picture and messages: the panel in the
 * middle of a stall, who is away, one wording for a desync. */
#include "tests/unit/unit.h"

#include <stdio.h>

#include "core_wrapper/match/command.h"
#include "core_wrapper/match/control.h"
#include "core_wrapper/match/overlay.h"
#include "core_wrapper/draw/font.h"
#include "net/platform/clock.h"
#include "core_wrapper/match/match.h"
#include "core_wrapper/match/state.h"
#include "tests/lib/own_font.h"

static struct kl_match match;

#define WIDTH  160
#define HEIGHT 144
#define COLOUR 0x123456

static char shown[8192]; /* every message, a line each */
static uint32_t last;    /* the pixel in the lower right corner of the last picture, where the panel is not */
static const void *given;
static uint32_t got[WIDTH * HEIGHT]; /* the last picture */
static uint32_t pixels[WIDTH * HEIGHT];

static char logged[8192];

__attribute__((format(__printf__, 2, 3))) static void log_line(enum retro_log_level level, const char *format,
                                                               ...) {
    char line[1024];
    va_list args;
    (void)level;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    size_t used = strlen(logged);
    snprintf(logged + used, sizeof logged - used, "%s", line + strlen("[Keylock] "));
}

static bool front(unsigned cmd, void *data) {
    if (cmd == RETRO_ENVIRONMENT_GET_LOG_INTERFACE)
        return ((struct retro_log_callback *)data)->log = log_line, true;
    if (cmd == RETRO_ENVIRONMENT_GET_MESSAGE_INTERFACE_VERSION) return *(unsigned *)data = 0, true;
    if (cmd != RETRO_ENVIRONMENT_SET_MESSAGE) return false;
    size_t used = strlen(shown);
    snprintf(shown + used, sizeof shown - used, "%s\n", ((const struct retro_message *)data)->msg);
    return true;
}

static void video(const void *data, unsigned width, unsigned height, size_t pitch) {
    given = data;
    if (!data) return;
    last = *(const uint32_t *)(const void *)((const uint8_t *)data + (height - 1) * pitch + (width - 1) * 4);
    for (unsigned y = 0; y < HEIGHT; y++)
        memcpy(got + y * WIDTH, (const uint8_t *)data + y * pitch, sizeof *got * WIDTH);
}

/* Is the last picture's box all of a line's colour? */
static bool has_dots(unsigned left, unsigned top, unsigned width, unsigned height) {
    for (unsigned y = top; y < top + height; y++)
        for (unsigned x = left; x < left + width; x++)
            if (got[y * WIDTH + x] != 0xf0f0f0) return false;
    return true;
}

static int set_up(void **state) {
    (void)state;
    memset(&match, 0, sizeof match);
    kl_match_init(&match);
    match.play.run.number = 7;
    match.control.socket = -1;
    match.front.call.environment = front;
    match.state = KL_MATCH_PLAYING;
    match.emu.phase = kl_match_phase(match.state);
    match.status.phase = KL_PARTICIPANT_PLAYING;
    match.status.welcome.seats = 1;
    match.status.roster.count = 2;
    match.status.roster.member[0] = (struct kl_member){.client = 0, .seats = 1, .name = "ann", .host = true};
    match.status.roster.member[1] = (struct kl_member){.client = 1, .seats = 2, .name = "bob"};
    match.emu.picture.format = RETRO_PIXEL_FORMAT_XRGB8888;
    kl_overlay_reset(&match);
    kl_picture_init(&match.emu.picture, true, WIDTH, HEIGHT);
    shown[0] = logged[0] = 0;
    for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
        pixels[i] = COLOUR;
    return 0;
}
static int tear_down(void **state) {
    (void)state;
    kl_screen_panel(&match.front.screen, false);
    kl_picture_free(&match.emu.picture);
    return 0;
}

static void frame(uint64_t now_us) {
    kl_overlay_turn(&match, now_us);
    kl_picture_draw(&match.emu.picture, pixels, WIDTH, HEIGHT, WIDTH * 4, video);
}
static void stall(uint64_t now_us) {
    kl_overlay_turn(&match, now_us);
    kl_picture_repeat(&match.emu.picture, video);
}

TEST_WITH(the_panel_comes_over_the_last_picture_of_a_stall, set_up, tear_down) {
    frame(1000000);
    assert_ptr_equal(given, pixels); /* nothing is drawn: the core's own buffer */
    stall(1016000);
    assert_null(given);
    memset(pixels, 0, sizeof pixels); /* the core's buffer is its own */
    last = 0;
    kl_screen_panel(&match.front.screen, true);
    stall(1032000);
    assert_non_null(given);
    assert_int_equal(last, COLOUR);
}

static void away(uint64_t *now_us, unsigned frames, uint8_t seats) {
    match.status.lock.away = seats;
    for (unsigned i = 0; i < frames; i++, *now_us += 16000)
        kl_overlay_turn(&match, *now_us);
}

TEST_WITH(a_client_that_is_away_is_said_once, set_up, tear_down) {
    uint64_t now_us = 1000000;
    for (int i = 0; i < 10; i++) {
        away(&now_us, 10, 2); /* 160 ms */
        away(&now_us, 10, 0);
    }
    assert_string_equal(shown, "");
    away(&now_us, 250, 2);
    away(&now_us, 20, 0);
    away(&now_us, 20, 2);
    away(&now_us, 100, 0);
    assert_string_equal(shown, "the game goes on without bob (2)\nbob (2) is back after 4 s\n");
    shown[0] = 0;
    away(&now_us, 60, 2); /* one second: its length is no news */
    away(&now_us, 100, 0);
    assert_string_equal(shown, "the game goes on without bob (2)\nbob (2) is back\n");
}

TEST_WITH(a_desync_has_one_wording, set_up, tear_down) {
    char line[KL_PANEL_LINE], words[KL_PANEL_LINE + 1];
    match.status.desync = true;
    match.status.first_bad.frame = 1199;
    match.status.first_bad.minority = 2;
    match.status.first_bad.parts = KL_HASH_PICTURE | KL_HASH_STATE;
    kl_overlay_desync(&match, line);
    assert_string_equal(line, "out of sync since frame 1199: picture (alone: bob (2))");
    kl_overlay_turn(&match, 1000000);
    snprintf(words, sizeof words, "%s\n", line);
    assert_string_equal(shown, words);
    shown[0] = 0;
    for (uint64_t now_us = 1016000; now_us < 9000000; now_us += 16000) { /* a pause does not hide it */
        match.status.lock.paused = now_us > 2000000;
        kl_overlay_turn(&match, now_us);
    }
    assert_null(strstr(shown, "paused"));
    for (uint64_t now_us = 12000000; now_us < 14000000; now_us += 16000) /* it has been told for long */
        kl_overlay_turn(&match, now_us);
    assert_non_null(strstr(shown, "paused"));
}

/* A menu is an absence, a dead link is not: the relay's roster says so. */
TEST_WITH(a_lost_link_is_not_called_an_absence, set_up, tear_down) {
    uint64_t now_us = 1000000;
    match.status.roster.member[1].state = KL_MEMBER_AWAY;
    for (int i = 0; i < 20; i++, now_us += 16000)
        kl_overlay_turn(&match, now_us);
    assert_string_equal(shown, "bob (2) lost the connection, the seat is kept\n");
    match.status.roster.member[1].state = KL_MEMBER_PLAYING;
    kl_overlay_turn(&match, now_us);
    match.status.roster.member[1].state = KL_MEMBER_AWAY;
    kl_overlay_turn(&match, now_us += 16000);
    assert_non_null(strstr(shown + 10, "bob (2) lost"));
}

/* Two lines on one another: the frontend's box over ours. */
TEST_WITH(drawn_lines_are_not_told_as_well, set_up, tear_down) {
    match.config.draw = true;
    match.status.desync = true;
    kl_overlay_turn(&match, 1000000);
    assert_string_equal(shown, "");
    assert_non_null(strstr(match.front.screen.state.text, "out of sync"));
    kl_frontend_fail(&match.front, "the core is gone");
    assert_string_equal(shown, "");
    kl_screen_last(&match.front.screen, front, "the core is gone"); /* no picture comes any more */
    assert_string_equal(shown, "the core is gone\n");
    match.emu.picture.hardware = true; /* nothing can be drawn */
    kl_overlay_turn(&match, 1016000);
    kl_frontend_say(&match.front, KL_SCREEN_INFO, 1000, "hello");
    assert_string_equal(shown, "the core is gone\nhello\n");
}

/* Drawn news stand beside one another; the frontend's one place has a state only when no news stand. */
TEST_WITH(news_and_states_do_not_cover_each_other, set_up, tear_down) {
    kl_frontend_say(&match.front, KL_SCREEN_INFO, 60000, "hello");
    kl_frontend_say(&match.front, KL_SCREEN_INFO, 60000, "ready?");
    assert_string_equal(match.front.screen.news[0].text, "ready?");
    assert_string_equal(match.front.screen.news[1].text, "hello");
    match.status.lock.paused = true;
    kl_overlay_turn(&match, 1000000);
    assert_string_equal(shown, "hello\nready?\n");
    assert_non_null(strstr(match.front.screen.state.text, "paused"));
    match.front.screen.news[0].until_us = 0;
    kl_overlay_turn(&match, 2000000);
    assert_non_null(strstr(shown, "paused"));
}

static const struct kl_screen_line *stands[KL_SCREEN_MOST];
static unsigned standing(bool elsewhere, uint64_t at_us) {
    return kl_screen_standing(&match.front.screen, elsewhere, at_us, stands);
}
static void say(enum kl_screen_tone tone, const char *line) {
    kl_frontend_say(&match.front, tone, 60000, "%s", line);
}

/* The most serious ones, and the most serious of them highest; without trouble the state and three news. */
TEST_WITH(in_trouble_two_lines_stand, set_up, tear_down) {
    match.config.draw = true;
    match.status.lock.paused = true;
    kl_overlay_turn(&match, 1000000);
    say(KL_SCREEN_INFO, "one");
    say(KL_SCREEN_INFO, "two");
    say(KL_SCREEN_INFO, "three");
    uint64_t now_us = kl_now_us();
    assert_int_equal(standing(false, now_us), 4);
    assert_string_equal(stands[1]->text, "three");
    say(KL_SCREEN_WARNING, "bob (2) is late");
    assert_int_equal(standing(false, now_us = kl_now_us()), 2);
    assert_non_null(strstr(stands[0]->text, "paused"));
    assert_string_equal(stands[1]->text, "bob (2) is late");
    say(KL_SCREEN_WARNING, "too slow");
    say(KL_SCREEN_ERROR, "out of sync");
    assert_int_equal(standing(false, now_us = kl_now_us()), 2);
    assert_string_equal(stands[0]->text, "too slow");
    assert_string_equal(stands[1]->text, "out of sync");
    assert_int_equal(standing(true, now_us), 1); /* the panel or a card says it as well */
    assert_string_equal(stands[0]->text, "out of sync");
    assert_int_equal(standing(false, now_us + 61000000), 0);
    assert_int_equal(standing(true, now_us + 61000000), 0);
}

/* The one line is a third. */
TEST_WITH(the_one_line_gives_way_to_trouble, set_up, tear_down) {
    match.config.draw = match.config.line = true;
    kl_overlay_reset(&match);
    frame(1000000);
    frame(1016000);
    assert_int_not_equal(last, COLOUR); /* the shade is the whole line */
    say(KL_SCREEN_ERROR, "a");
    say(KL_SCREEN_WARNING, "b");
    frame(1032000);
    uint32_t two = got[(HEIGHT - 27) * WIDTH + WIDTH - 1];
    assert_int_equal(two, COLOUR); /* 13 rows each, and none above */
}

/* Nothing of ours is drawn below RetroArch's lines about the load; a state of play is said at once. */
TEST_WITH(news_wait_for_the_frontends_own_lines, set_up, tear_down) {
    match.config.draw = true;
    kl_overlay_reset(&match);
    kl_screen_wait(&match.front.screen, 5000);
    uint64_t now_us = kl_now_us();
    kl_overlay_begin(&match);
    assert_int_equal(standing(false, kl_now_us()), 0);
    assert_int_equal(standing(false, now_us + 4900000), 0);
    assert_int_equal(standing(false, now_us + 5100000), 1);
    assert_string_equal(stands[0]->text, "you are player 1, bob is player 2");
    assert_int_equal(standing(false, now_us + 7900000), 1); /* for its three seconds */
    match.status.lock.paused = true;
    kl_overlay_turn(&match, 1000000);
    assert_int_equal(standing(false, kl_now_us()), 1);
    kl_screen_wait(&match.front.screen, 0);
    say(KL_SCREEN_INFO, "later");
    assert_int_equal(standing(false, kl_now_us()), 2);
    kl_screen_forget(&match.front.screen);
    assert_int_equal(standing(false, kl_now_us()), 0);
    assert_int_equal(standing(false, now_us + 5100000), 0); /* nor those that were to come */
}

/* Over everything else that is to be said, in RetroArch and drawn. */
TEST_WITH(leaving_counts_down, set_up, tear_down) {
    const uint16_t select = 1u << RETRO_DEVICE_ID_JOYPAD_SELECT, b = 1u << RETRO_DEVICE_ID_JOYPAD_B;
    strcpy(match.config.hotkeys, KL_HOTKEYS_DEFAULT);
    match.config.draw = true;
    kl_control_pad(&match, 0, select);
    match.control.hotkeys.pad[0].since_us[RETRO_DEVICE_ID_JOYPAD_SELECT] -= KL_HOTKEYS_HOLD_US;
    kl_control_pad(&match, 0, select | b);
    kl_overlay_turn(&match, 1000000);
    assert_string_equal(match.front.screen.state.text, "leaving in 2 s: let go to stay");
    match.control.hotkeys.pad[0].since_us[RETRO_DEVICE_ID_JOYPAD_B] -= 1000000;
    match.status.lock.paused = true;
    kl_overlay_turn(&match, 1500000);
    assert_string_equal(match.front.screen.state.text, "leaving in 1 s: let go to stay");
    kl_control_pad(&match, 0, select);
    kl_overlay_turn(&match, 3000000);
    assert_non_null(strstr(match.front.screen.state.text, "paused"));
    kl_control_end(&match);
}

/* It is said before the pause is known, stands as long as that, and not in a later one. */
TEST_WITH(a_question_stands_as_long_as_the_room_pauses, set_up, tear_down) {
    static const char words[] = "machines differ in RAM: you, bob (2). Go on?";
    kl_overlay_ask(&match, words);
    kl_overlay_turn(&match, 1000000);
    assert_null(strstr(shown, words));
    match.status.lock.paused = true;
    kl_overlay_turn(&match, 2000000);
    assert_non_null(strstr(shown, words));
    match.status.lock.paused = false;
    kl_overlay_turn(&match, 3000000);
    match.status.lock.paused = true;
    kl_overlay_turn(&match, 4000000);
    assert_string_equal(match.overlay.panel.question, "");
    assert_non_null(strstr(shown, "paused"));
}

TEST_WITH(a_line_in_another_script_is_drawn, set_up, tear_down) {
    const char *path = own_file(OWN_FONT, strlen(OWN_FONT));
    snprintf(match.config.font, sizeof match.config.font, "%s", path);
    match.config.draw = true;
    kl_command_obey(&match, &match.play.run, &(struct kl_command){1, KL_COMMAND_CHAT, 3, "\xe5\xaf\xbe"});
    assert_int_equal(match.front.screen.news[0].words, 9);
    frame(1000000);
    frame(1016000);
    assert_ptr_not_equal(given, pixels);
    unlink(path);
    /* 9 narrow letters from column 3 on, then the wide one, a full block; below it an empty row */
    assert_true(has_dots(3 + 9 * 8, HEIGHT - 18, 16, 16));
    assert_false(has_dots(3 + 9 * 8 + 16, HEIGHT - 18, 1, 16));
    assert_string_equal(logged, "[f 7] bob (2): \xe5\xaf\xbe\n");
    kl_unifont_drop();
}

/* The bytes before the words become fewer in the plain line; an option's value is nobody's words. */
TEST_WITH(words_are_those_of_chat_alone, set_up, tear_down) {
    match.config.draw = true;
    strcpy(match.status.roster.member[1].name, "\xe2\x80\xae!");
    kl_command_obey(&match, &match.play.run, &(struct kl_command){1, KL_COMMAND_CHAT, 2, "\xd0\xb0"});
    assert_string_equal(match.front.screen.news[0].text, "?! (2): \xd0\xb0");
    assert_int_equal(match.front.screen.news[0].words, 8);
    kl_command_obey(&match, &match.play.run, &(struct kl_command){1, KL_COMMAND_OPTION, 4, "\xd0\xb0=x"});
    assert_int_equal(match.front.screen.news[0].words, 0);
}

TEST_WITH(a_font_that_is_not_there_is_told_once, set_up, tear_down) {
    strcpy(match.config.font, "/tmp/keylock-there-is-no-such-font");
    match.config.draw = true;
    frame(1000000);
    assert_null(strstr(logged, "font"));
    for (uint64_t now_us = 1016000; now_us < 1200000; now_us += 16000) {
        kl_command_obey(&match, &match.play.run, &(struct kl_command){1, KL_COMMAND_CHAT, 3, "\xe5\xaf\xbe"});
        frame(now_us);
    }
    const char *told =
        strstr(logged, "no font for other scripts: cannot read /tmp/keylock-there-is-no-such-font");
    assert_non_null(told);
    assert_null(strstr(told + 1, "no font"));
}
