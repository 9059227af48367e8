/* The player's ways to a command: the frontend's menu, hot keys, the local socket. There is no room, so what
 * comes of each is the answer that the game has not begun: it tells which words were given. */
#include "unit.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core_wrapper/control.h"
#include "core_wrapper/own_options.h"
#include "core_wrapper/wrapper.h"

static char speed[16], policy[16], panel[16], order[16], shown[512];
static bool changed, can_set;
static unsigned told_count;

static bool give(struct retro_variable *v) {
    v->value = !strcmp(v->key, "speed")         ? speed
               : !strcmp(v->key, KL_OWN_POLICY) ? policy
               : !strcmp(v->key, KL_OWN_PANEL)  ? panel
               : !strcmp(v->key, KL_OWN_DO)     ? order
                                                : NULL;
    return v->value != NULL;
}

static bool front(unsigned cmd, void *data) {
    const struct retro_variable *v = data;
    switch (cmd) {
    case RETRO_ENVIRONMENT_GET_VARIABLE: return give(data);
    case RETRO_ENVIRONMENT_GET_VARIABLE_UPDATE:
        *(bool *)data = changed;
        changed = false;
        return true;
    case RETRO_ENVIRONMENT_SET_VARIABLE:
        if (can_set) strcpy(order, v->value);
        return can_set;
    case RETRO_ENVIRONMENT_SET_MESSAGE:
        snprintf(shown, sizeof shown, "%s", ((const struct retro_message *)data)->msg);
        told_count++;
        return true;
    default: return false;
    }
}

static int set_up(void **state) {
    (void)state;
    static const struct retro_variable options[] = {{"speed", "Speed; normal|fast"}, {NULL, NULL}};
    memset(&kl_w, 0, sizeof kl_w);
    kl_w.instance = -1;
    kl_w.front.environment = front;
    kl_w.phase = KL_PHASE_PLAYING;
    strcpy(kl_w.config.hotkeys, "select+r:reset");
    assert_true(kl_options_declare(&kl_w.options, RETRO_ENVIRONMENT_SET_VARIABLES, options));
    strcpy(speed, "normal");
    strcpy(policy, "room");
    strcpy(panel, "off");
    strcpy(order, "nothing");
    changed = false;
    can_set = true;
    told_count = 0;
    shown[0] = 0;
    kl_control_begin();
    return 0;
}
static int tear_down(void **state) {
    (void)state;
    kl_control_end();
    if (kl_w.instance >= 0) close(kl_w.instance);
    kl_options_free(&kl_w.options);
    return 0;
}

static void turns(unsigned n) {
    while (n--)
        kl_control_turn();
}

static void a_turned_option_is_given(void **state) {
    (void)state;
    turns(50);
    assert_int_equal(told_count, 0);
    strcpy(speed, "fast");
    turns(50); /* the frontend has not said so yet */
    assert_int_equal(told_count, 0);
    changed = true;
    turns(50);
    assert_string_equal(shown, "option speed=fast: the game has not begun");
    assert_int_equal(told_count, 1);
    char why[100]; /* back to what the room has: nothing to give */
    assert_int_equal(kl_options_set(&kl_w.options, "speed", "normal", true, why, sizeof why), 0);
    strcpy(speed, "normal");
    changed = true;
    turns(50);
    assert_int_equal(told_count, 1);
}

static void own_options(void **state) {
    (void)state;
    strcpy(order, "reset");
    changed = true;
    turns(50);
    assert_string_equal(shown, "reset: the game has not begun");
    assert_int_equal(told_count, 1);
    assert_string_equal(order, "nothing"); /* ready for the next */
    strcpy(order, "reset");
    changed = true;
    turns(50);
    assert_int_equal(told_count, 2);
    strcpy(order, "swap");
    changed = true;
    turns(50);
    assert_string_equal(shown, "swap 1 2: the game has not begun");
    strcpy(policy, "optimistic");
    changed = true;
    turns(50);
    assert_string_equal(shown, "policy optimistic: the game has not begun");
    assert_int_equal(told_count, 4);
    strcpy(policy, "room"); /* as it is: no command */
    changed = true;
    turns(50);
    assert_int_equal(told_count, 4);
    assert_false(kl_screen_panel_on());
    strcpy(panel, "on");
    changed = true;
    turns(50);
    assert_true(kl_screen_panel_on());
    kl_screen_panel(false);
}

/* A frontend that cannot set it back: the same again only by way of nothing. */
static void without_set_variable(void **state) {
    (void)state;
    can_set = false;
    strcpy(order, "reset");
    changed = true;
    turns(50);
    changed = true;
    turns(50);
    assert_int_equal(told_count, 1);
    strcpy(order, "nothing");
    changed = true;
    turns(50);
    strcpy(order, "reset");
    changed = true;
    turns(50);
    assert_int_equal(told_count, 2);
}

static void wishes(void **state) {
    (void)state;
    uint8_t p = 99;
    assert_false(kl_control_wish(&p));
    strcpy(policy, "optimistic");
    assert_true(kl_control_wish(&p));
    assert_int_equal(p, KL_POLICY_OPTIMISTIC);
}

static void hot_keys(void **state) {
    (void)state;
    const uint16_t select = 1u << RETRO_DEVICE_ID_JOYPAD_SELECT, r = 1u << RETRO_DEVICE_ID_JOYPAD_R;
    assert_int_equal(kl_control_pad(0, select), select);
    usleep(420000);
    assert_int_equal(kl_control_pad(0, select | r), select);
    assert_string_equal(shown, "reset: the game has not begun");
    kl_control_pad(0, 0);
    kl_w.attached = true; /* a script's pads are what it says */
    kl_control_pad(0, select);
    usleep(420000);
    assert_int_equal(kl_control_pad(0, select | r), select | r);
    assert_int_equal(told_count, 1);
}

static const char *ask(int fd, const char *line) {
    static char answer[600];
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int n = snprintf(to.sun_path + 1, sizeof to.sun_path - 1, KL_CONTROL_NAME, (long)getpid());
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    assert_int_equal(sendto(fd, line, strlen(line), 0, (struct sockaddr *)&to, len), (ssize_t)strlen(line));
    turns(1);
    ssize_t got = recv(fd, answer, sizeof answer - 1, MSG_DONTWAIT);
    answer[got > 0 ? got : 0] = 0;
    return answer;
}

static void the_socket(void **state) {
    (void)state;
    struct sockaddr_un own = {.sun_family = AF_UNIX};
    char big[600];
    int second = -1, fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&own, sizeof(sa_family_t)), 0);
    assert_true(kl_control_claim(&kl_w.instance));
    assert_true(kl_w.instance >= 0);
    assert_false(kl_control_claim(&second)); /* one a process */
    assert_int_equal(second, -1);
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
    assert_true(kl_screen_panel_on());
    kl_screen_panel(false);
    close(fd);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
int main(void) {
    const struct CMUnitTest tests[] = {TEST(a_turned_option_is_given),
                                       TEST(own_options),
                                       TEST(without_set_variable),
                                       TEST(wishes),
                                       TEST(hot_keys),
                                       TEST(the_socket)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
