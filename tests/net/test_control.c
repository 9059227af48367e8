/* The player's ways to a command: the frontend's menu, hot keys, the local socket. There is no room, so what
 * comes of each is the answer that the game has not begun: it tells which words were given.
 * runs: waiting, test, 1 s */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core_wrapper/match/control.h"
#include "net/session/command_words.h"
#include "core_wrapper/words/own_options.h"
#include "core_wrapper/match/match.h"
#include "core_wrapper/words/config.h"
#include "net/platform/local.h"

static struct kl_match match;

/* The frontend's menu. */
static struct {
    const char *key;
    char value[32];
} menu[1 + KL_OWN_MAX] = {{"speed", ""}}; /* and all of ours */
static char shown[512], all[4096];        /* the newest line on the screen; all of them */
static bool changed, can_set;
static unsigned told_count;
static uint64_t now_us;

static char *value(const char *key) {
    for (unsigned i = 0; i < kl_own_count(); i++)
        menu[1 + i].key = kl_own_option(i)->key;
    for (size_t i = 0; i <= kl_own_count(); i++)
        if (!strcmp(menu[i].key, key)) return menu[i].value;
    return NULL;
}

static void turn(const char *key, const char *to) {
    strcpy(value(key), to);
    changed = true;
}

static bool front(unsigned cmd, void *data) {
    struct retro_variable *v = data;
    switch (cmd) {
    case RETRO_ENVIRONMENT_GET_VARIABLE:
        changed = false; /* as RetroArch has it */
        return (v->value = value(v->key)) != NULL;
    case RETRO_ENVIRONMENT_GET_VARIABLE_UPDATE: *(bool *)data = changed; return true;
    case RETRO_ENVIRONMENT_SET_VARIABLE:
        if (can_set) turn(v->key, v->value); /* RetroArch says so, too */
        return can_set;
    case RETRO_ENVIRONMENT_SET_MESSAGE:
        snprintf(shown, sizeof shown, "%s", ((const struct retro_message *)data)->msg);
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s\n", shown);
        told_count++;
        return true;
    default: return false;
    }
}

static int set_up(void **state) {
    (void)state;
    static const struct retro_variable options[] = {{"speed", "Speed; normal|fast"}, {NULL, NULL}};
    memset(&match, 0, sizeof match);
    kl_match_init(&match);
    match.control.socket = -1;
    match.front.call.environment = front;
    match.emu.phase = KL_PHASE_PLAYING;
    strcpy(match.config.hotkeys, "select+r:reset");
    assert_true(kl_options_declare(&match.emu.options, RETRO_ENVIRONMENT_SET_VARIABLES, options));
    strcpy(value("speed"), "normal");
    for (unsigned i = 0; i < kl_own_count(); i++)
        strcpy(value(kl_own_option(i)->key), kl_own_option(i)->neutral);
    changed = false;
    now_us = 1000000;
    can_set = true;
    told_count = 0;
    shown[0] = all[0] = 0;
    kl_control_begin(&match);
    return 0;
}
static int tear_down(void **state) {
    (void)state;
    kl_control_end(&match);
    kl_local_close(match.control.socket);
    kl_options_free(&match.emu.options);
    return 0;
}

static void turns(unsigned ms) {
    for (unsigned i = 0; i < ms; i += 16, now_us += 16000)
        kl_control_turn(&match, now_us);
}
#define SETTLED 1800 /* ms */

TEST_WITH(a_turned_option_is_given, set_up, tear_down) {
    turns(SETTLED);
    assert_int_equal(told_count, 0);
    strcpy(value("speed"), "fast");
    turns(SETTLED); /* the frontend has not said so yet */
    assert_int_equal(told_count, 0);
    changed = true;
    turns(SETTLED);
    assert_string_equal(shown, "option speed=fast: the game has not begun");
    assert_int_equal(told_count, 1);
    char why[100]; /* back to what the room has: nothing to give */
    assert_int_equal(kl_options_set(&match.emu.options, "speed", "normal", true, why, sizeof why), 0);
    turn("speed", "normal");
    turns(SETTLED);
    assert_int_equal(told_count, 1);
}

/* The room's choice looks at its own options in between. */
TEST_WITH(a_turn_is_not_lost_by_a_question, set_up, tear_down) {
    turn(KL_OWN_DO, "reset");
    assert_string_equal(kl_control_ask(&match, KL_OWN_ROOM), value(KL_OWN_ROOM));
    assert_false(changed);
    turns(SETTLED);
    assert_string_equal(shown, "reset: the game has not begun");
}

TEST_WITH(own_options, set_up, tear_down) {
    static const struct {
        const char *key, *value, *told;
    } cases[] = {
        {KL_OWN_DO, "reset", "reset"},
        {KL_OWN_DO, "reset", "reset"},
        {KL_OWN_DO, "disk next", "disk next"},
        {KL_OWN_SWAP, "2 7", "swap 2 7"},
        {KL_OWN_HOST, "3", "host 3"},
        {KL_OWN_SAY, "Well played!", "say Well played!"},
        {KL_OWN_POLICY, "optimistic", "policy optimistic"},
        {KL_OWN_BUDGET, "100", "budget 100"},
        {KL_OWN_SPACING, "0", "spacing 0"},
    };
    for (unsigned i = 0; i < COUNT(cases); i++) {
        char line[100];
        turn(cases[i].key, cases[i].value);
        turns(2 * SETTLED); /* and it is given once */
        snprintf(line, sizeof line, "%s: the game has not begun", cases[i].told);
        assert_string_equal(shown, line);
        assert_int_equal(told_count, i + 1);
        bool stays = i >= 6;
        assert_string_equal(value(cases[i].key), stays ? cases[i].value : "nothing"); /* ready for the next */
    }
    turn(KL_OWN_POLICY, "room"); /* as it is: no command */
    turns(SETTLED);
    assert_int_equal(told_count, COUNT(cases));
}

/* Whoever goes through the values with Right means only the one he stays on. */
TEST_WITH(stepping_through_gives_nothing, set_up, tear_down) {
    static const char *const steps[] = {"pause", "reset", "save", "load"};
    for (unsigned i = 0; i < COUNT(steps); i++) {
        turn(KL_OWN_DO, steps[i]);
        turn(KL_OWN_POLICY, i & 1 ? "strict" : "optimistic");
        turn("speed", i & 1 ? "normal" : "fast");
        turns(1200);
    }
    assert_string_equal(all, "");
    turns(1000);
    assert_string_equal(all, "policy strict: the game has not begun\nload: the game has not begun\n");
    all[0] = 0;
    turn(KL_OWN_DO, "reset");
    turns(1200);
    turn(KL_OWN_DO, "nothing");
    turns(SETTLED);
    assert_string_equal(all, "");
}

TEST_WITH(the_panel_comes_at_once, set_up, tear_down) {
    assert_false(kl_screen_panel_on(&match.front.screen));
    turn(KL_OWN_PANEL, "on");
    turns(200);
    assert_true(kl_screen_panel_on(&match.front.screen));
    turn(KL_OWN_PANEL, "off");
    turn(KL_OWN_LINE, "on");
    turns(200);
    assert_false(kl_screen_panel_on(&match.front.screen));
    assert_true(kl_screen_strip_on(&match.front.screen));
    turn(KL_OWN_LINE, "off");
    turns(200);
    assert_false(kl_screen_strip_on(&match.front.screen));
    assert_int_equal(told_count, 0);
}

/* A folder that was set up stays. */
TEST_WITH(matches_are_recorded_from_the_next_on, set_up, tear_down) {
    turn(KL_OWN_RECORD, "on");
    turns(200);
    assert_string_equal(match.config.record, "on");
    turn(KL_OWN_RECORD, "off");
    turns(200);
    assert_string_equal(match.config.record, "off");
    strcpy(match.config.record, "/srv/matches");
    turn(KL_OWN_RECORD, "on");
    turns(200);
    assert_string_equal(match.config.record, "/srv/matches");
}

/* A frontend that cannot set it back: the same again only by way of nothing. */
TEST_WITH(without_set_variable, set_up, tear_down) {
    can_set = false;
    turn(KL_OWN_DO, "reset");
    turns(SETTLED);
    changed = true;
    turns(SETTLED);
    assert_int_equal(told_count, 1);
    turn(KL_OWN_DO, "nothing");
    turns(SETTLED);
    turn(KL_OWN_DO, "reset");
    turns(SETTLED);
    assert_int_equal(told_count, 2);
}

/* Turned, and then the session ended: the next one does not begin with it. */
TEST_WITH(choices_of_an_earlier_match_are_set_back, set_up, tear_down) {
    turn(KL_OWN_DO, "reset");
    kl_control_begin(&match);
    assert_string_equal(value(KL_OWN_DO), "nothing");
    turns(SETTLED);
    assert_int_equal(told_count, 0);
}

TEST_WITH(wishes, set_up, tear_down) {
    struct kl_config *said = &match.config;
    memset(said, 0, sizeof *said);
    struct kl_params p = {.policy = KL_POLICY_BOUNDED, .wait_budget_ms = 250, .subframes = true};
    kl_control_wish(&match, &p);
    assert_true(p.policy == KL_POLICY_BOUNDED && p.wait_budget_ms == 250 && p.spacing_fixed == 0);
    turn(KL_OWN_POLICY, "optimistic");
    turn(KL_OWN_BUDGET, "1000");
    turn(KL_OWN_SPACING, "30");
    said->policy_set = said->budget_set = said->spacing_set = true; /* by flag, variable or file */
    kl_control_wish(&match, &p);
    assert_true(p.policy == KL_POLICY_BOUNDED && p.wait_budget_ms == 250 && p.spacing_fixed == 0);
    memset(said, 0, sizeof *said);
    kl_control_wish(&match, &p);
    assert_true(p.policy == KL_POLICY_OPTIMISTIC && p.wait_budget_ms == 1000 && p.spacing_fixed == 30);
    p = (struct kl_params){.policy = KL_POLICY_BOUNDED}; /* without sub-frames it has no meaning */
    kl_control_wish(&match, &p);
    assert_int_equal(p.policy, KL_POLICY_BOUNDED);
}

TEST_WITH(hot_keys, set_up, tear_down) {
    const uint16_t select = 1u << RETRO_DEVICE_ID_JOYPAD_SELECT, r = 1u << RETRO_DEVICE_ID_JOYPAD_R;
    assert_int_equal(kl_control_pad(&match, 0, select), select);
    usleep(420000); /* held so long: the content of this test */
    assert_int_equal(kl_control_pad(&match, 0, select | r), select);
    assert_string_equal(shown, "reset: the game has not begun");
    kl_control_pad(&match, 0, 0);
    match.emu.runner = true; /* a script's pads are what it says */
    kl_control_pad(&match, 0, select);
    usleep(420000); /* held so long: the content of this test */
    assert_int_equal(kl_control_pad(&match, 0, select | r), select | r);
    assert_int_equal(told_count, 1);
}

static const char *ask(int fd, const char *line) {
    static char answer[600];
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int n = snprintf(to.sun_path + 1, sizeof to.sun_path - 1, KL_CONTROL_NAME "%ld", (long)getpid());
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    assert_int_equal(sendto(fd, line, strlen(line), 0, (struct sockaddr *)&to, len), (ssize_t)strlen(line));
    turns(1); /* one */
    ssize_t got = recv(fd, answer, sizeof answer - 1, MSG_DONTWAIT);
    answer[got > 0 ? got : 0] = 0;
    return answer;
}

TEST_WITH(the_socket, set_up, tear_down) {
    struct sockaddr_un own = {.sun_family = AF_UNIX};
    char big[600];
    static struct kl_match second;
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&own, sizeof(sa_family_t)), 0);
    second.control.socket = -1;
    assert_true(kl_control_claim(&match));
    assert_true(match.control.socket >= 0);
    assert_false(kl_control_claim(&second)); /* one a process */
    assert_int_equal(second.control.socket, -1);
    assert_string_equal(ask(fd, "reset"), "error the game has not begun");
    assert_string_equal(ask(fd, "panel"), "ok the panel is on");
    assert_string_equal(ask(fd, "panel"), "ok the panel is off");
    assert_non_null(strstr(ask(fd, "jump"), "error expected"));
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = 0;
    assert_non_null(strstr(ask(fd, big), "error expected at most"));
    close(fd);
    fd = socket(AF_UNIX, SOCK_DGRAM, 0); /* nameless: nowhere to answer to, and no harm */
    assert_string_equal(ask(fd, "panel"), "");
    assert_true(kl_screen_panel_on(&match.front.screen));
    kl_screen_panel(&match.front.screen, false);
    close(fd);
}
