/* The platform's waiting: which of several has something, wake-ups from a thread, deadlines, and the order to
 * quit.
 * runs: working, test, 1 s */
#include "tests/unit/unit.h"

#ifdef _WIN32
#include <windows.h>

#include "net/platform/windows/handle.h"
#else
#include <signal.h>
#include <unistd.h>
#endif

#include "net/platform/clock.h"
#include "net/platform/socket.h"
#include "net/platform/thread.h"
#include "net/platform/wait.h"
#include "tests/unit/limit.h"

static int two[2];

static int open_two(void **state) {
    (void)state;
    limit_s(20); /* if it is not woken, it waits for ever */
    two[0] = kl_wake_open();
    two[1] = kl_wake_open();
    return two[0] < 0 || two[1] < 0 ? -1 : 0;
}
static int close_two(void **state) {
    (void)state;
    kl_socket_close(two[0]);
    kl_socket_close(two[1]);
    return 0;
}

TEST_WITH(a_wake_up_stays_until_it_is_cleared, open_two, close_two) {
    kl_wake(two[1]);
    kl_wake(two[1]);
    assert_int_equal(kl_wait_for(two, 2, KL_WAIT_FOREVER), 2);
    assert_int_equal(kl_wait_for(two, 2, KL_WAIT_FOREVER), 2);
    kl_wake(two[0]);
    assert_int_equal(kl_wait_for(two, 2, 0), 3);
    kl_wake_clear(two[1]);
    assert_int_equal(kl_wait_for(two, 2, 0), 1);
    kl_wake_clear(two[0]);
    kl_wake_clear(two[0]); /* nothing to clear */
    assert_int_equal(kl_wait_for(two, 2, 0), 0);
}

TEST_WITH(the_time_is_waited_out, open_two, close_two) {
    uint64_t until_us = kl_now_us() + 200000, cpu_us = kl_cpu_us();
    assert_int_equal(kl_wait_for(two, 2, until_us), 0);
    assert_true(kl_now_us() >= until_us);
    assert_true(kl_cpu_us() - cpu_us < 40000); /* it does not spin */
    assert_int_equal(kl_wait_for(two, 0, kl_now_us() + 1000), 0);
}

TEST_WITH(missing_sockets_are_passed_over, open_two, close_two) {
    int what[3] = {-1, two[0], -1};
    kl_wake(two[0]);
    assert_int_equal(kl_wait_for(what, 3, KL_WAIT_FOREVER), 2);
}

static void wake_second(void *arg) {
    (void)arg;
    kl_wake(two[1]);
}

TEST_WITH(another_thread_ends_the_wait, open_two, close_two) {
    struct kl_thread t;
    assert_int_equal(kl_thread_start(&t, "test", wake_second, NULL), 0);
    assert_int_equal(kl_wait_for(two, 2, KL_WAIT_FOREVER), 2);
    kl_thread_join(&t);
}

TEST_WITH(a_socket_and_a_wake_up_are_waited_for_together, open_two, close_two) {
    struct kl_address at = kl_address_loopback(0);
    int s = kl_socket_open(), what[2] = {two[0], s};
    assert_int_equal(kl_socket_bind(s, &at), 0);
    assert_int_equal(kl_wait_for(what, 2, 0), 0);
    assert_true(kl_socket_send(s, &at, "x", 1));
    assert_int_equal(kl_wait_for(what, 2, KL_WAIT_FOREVER), 2);
    kl_wake(two[0]);
    assert_int_equal(kl_wait_for(what, 2, 0), 3);
    kl_socket_close(s);
}

#ifdef _WIN32
static void begin_in_background(void) {
    FreeConsole();
    assert_true(AllocConsole()); /* of our own: nobody else gets our Ctrl-C */
    SetConsoleCtrlHandler(NULL, TRUE);
}
static void press_ctrl_c(void) {
    assert_true(GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0));
}
static void end_service(void) {
    wchar_t name[KL_QUIT_EVENT];
    HANDLE event = OpenEventW(EVENT_MODIFY_STATE, FALSE, kl_quit_event(name, GetCurrentProcessId()));
    assert_true(event && SetEvent(event));
    CloseHandle(event);
}
#else
static void on_alarm(int sig) {
    (void)sig;
}

TEST_WITH(a_signal_may_end_it_early, open_two, close_two) {
    signal(SIGALRM, on_alarm);
    alarm(1);
    assert_int_equal(kl_wait_for(two, 2, kl_now_us() + 60000000), 0);
    alarm(0);
    signal(SIGALRM, SIG_DFL);
}

/* A shell's background job ignores Ctrl-C. */
static void begin_in_background(void) {
    signal(SIGINT, SIG_IGN);
}
static void press_ctrl_c(void) {
    kill(getpid(), SIGINT);
}
static void end_service(void) {
    kill(getpid(), SIGTERM);
}
#endif

/* Last: from then on this program is not ended by these. */
TEST_WITH(the_order_to_quit_wakes_and_says_its_name, open_two, close_two) {
    char name[KL_QUIT_NAME];
    begin_in_background();
    int quit = kl_wake_at_quit();
    assert_true(quit >= 0);
    assert_int_equal(kl_wait_for(&quit, 1, 0), 0);
    assert_int_equal(kl_wake_quit(quit, name), KL_QUIT_NONE);
    assert_string_equal(name, "none");
    static const struct {
        void (*give)(void);
        enum kl_quit quit;
        const char *name;
    } order[] = {{end_service, KL_QUIT_SERVICE, "Terminated"}, {press_ctrl_c, KL_QUIT_KEY, "Interrupt"}};
    for (unsigned i = 0; i < 2; i++) {
        order[i].give();
        assert_int_equal(kl_wait_for(&quit, 1, KL_WAIT_FOREVER), 1);
        assert_int_equal(kl_wake_quit(quit, name), order[i].quit);
        assert_string_equal(name, order[i].name);
        assert_int_equal(kl_wait_for(&quit, 1, 0), 0);
    }
    kl_wake(two[0]);
    assert_int_equal(kl_wake_quit(two[0], name), KL_QUIT_NONE); /* hosted.c has one of these instead */
    kl_socket_close(quit);
}
