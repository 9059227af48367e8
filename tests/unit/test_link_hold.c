/* A caller holds the session of a link: releasing it wakes the network's thread if something is to be sent,
 * and only then. */
#include "tests/unit/unit.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/engine/command.h"
#include "net/platform/socket.h"
#include "net/platform/wait.h"
#include "net/transport/link_state.h"

static struct kl_link *l;

static int set_up(void **state) {
    (void)state;
    const struct kl_participant_config config = {.relay = "relay:1"};
    l = calloc(1, sizeof *l);
    if (!l || sodium_init() < 0) return -1;
    kl_participant_init(&l->participant, &config);
    l->participant.status.phase = KL_PARTICIPANT_PLAYING;
    l->kick_fd = kl_wake_open();
    return l->kick_fd < 0 ? -1 : 0;
}
static int tear_down(void **state) {
    (void)state;
    kl_participant_free(&l->participant);
    kl_socket_close(l->kick_fd);
    free(l);
    return 0;
}

/* Releases the session: true if that woke the thread. */
static bool wakes(void) {
    kl_link_release(l);
    bool woken = kl_wait_for(&l->kick_fd, 1, 0);
    kl_wake_clear(l->kick_fd);
    return woken;
}

TEST_WITH(what_is_said_goes_out_at_once, set_up, tear_down) {
    const struct kl_hash hash = {.frame = 59};
    const struct kl_file_said file = {.is = KL_FILE_HERE};
    const struct kl_facts facts = {0};
    kl_participant_hash(kl_link_hold(l), &hash);
    assert_true(wakes());
    assert_int_equal(kl_participant_order(kl_link_hold(l), KL_COMMAND_LOCK, "hi", 2), KL_OK);
    assert_true(wakes());
    kl_participant_rate(kl_link_hold(l), 50000000);
    assert_true(wakes());
    assert_true(kl_participant_say_file(kl_link_hold(l), &file));
    assert_true(wakes());
    kl_participant_say_state(kl_link_hold(l), &(struct kl_state_said){.keyframe = 60});
    assert_true(wakes());
    kl_participant_say_healed(kl_link_hold(l), &(struct kl_healed){.keyframe = 60});
    assert_true(wakes());
    kl_participant_give_snapshot(kl_link_hold(l), 60, false, malloc(1), 1);
    assert_true(wakes());
    l->participant.status.phase = KL_PARTICIPANT_SEND_START;
    assert_true(kl_participant_give_start(kl_link_hold(l), malloc(1), 1));
    assert_true(wakes());
    l->participant.status.phase = KL_PARTICIPANT_LOAD;
    kl_participant_ready(kl_link_hold(l), &facts);
    assert_true(wakes());
    kl_participant_leave(kl_link_hold(l), 0);
    assert_true(wakes());
    (void)kl_link_hold(l); /* once */
    assert_false(wakes());
}

TEST_WITH(a_look_wakes_nobody, set_up, tear_down) {
    struct kl_participant_status status;
    struct kl_text text;
    struct kl_rewind to;
    struct kl_participant *s = kl_link_hold(l);
    kl_participant_status(s, &status);
    kl_participant_plan(s, 1, 1000);
    assert_false(kl_participant_notice(s, &text));
    assert_false(kl_participant_rewind(s, &to));
    assert_int_equal(kl_participant_order(s, KL_COMMAND_LOCK, "hi", KL_COMMAND_BYTES + 1), KL_E_SPACE);
    assert_false(wakes());
}

/* A datagram that is due later than the thread's next turn needs no call. */
TEST_WITH(a_datagram_that_is_due_wakes_once, set_up, tear_down) {
    l->participant.joined = true;
    (void)kl_participant_wake_at(kl_link_hold(l), 1000);
    assert_false(wakes());
    kl_link_hold(l)->wake_us = 20000; /* the thread rests, and the lock client has something for now */
    assert_true(wakes());
    (void)kl_link_hold(l);
    assert_false(wakes());
    l->participant.status.phase = KL_PARTICIPANT_RETURNING; /* there is no session to send it in */
    kl_link_hold(l)->wake_us = 20000;
    assert_false(wakes());
}

/* A signal ends it. */
static int died_of(unsigned holds, unsigned releases) {
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        alarm(10); /* a deadlock fails the test */
        setrlimit(RLIMIT_CORE, &(struct rlimit){0});
        signal(SIGABRT, SIG_DFL);
        close(2);
        while (holds--)
            (void)kl_link_hold(l);
        while (releases--)
            kl_link_release(l);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST_WITH(a_nested_hold_is_no_deadlock, set_up, tear_down) {
    assert_int_equal(died_of(1, 1), 0);
    assert_int_equal(died_of(2, 2), SIGABRT);
    assert_int_equal(died_of(1, 2), SIGABRT);
}

/* Until it is whole, the relay may still replace it. */
TEST_WITH(start_data_shows_once_it_is_whole, set_up, tear_down) {
    struct kl_participant_status status;
    l->participant.joined = true;
    l->participant.start = calloc(1, 2);
    l->participant.start_len = 1;
    l->participant.status.data_total = 2;
    kl_participant_status(&l->participant, &status);
    assert_null(status.start);
    l->participant.start_len = 2;
    kl_participant_status(&l->participant, &status);
    assert_ptr_equal(status.start, l->participant.start);
    assert_int_equal(status.start_len, 2);
}
