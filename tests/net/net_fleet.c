#include "tests/net/net_fleet.h"

#include <signal.h>

#include "net/platform/socket.h"
#include "tests/unit/unit.h"

struct program redis_program, relay[RELAYS];
char url[64];

uint16_t free_port(void) {
    struct kl_address at = kl_address_loopback(0);
    int s = kl_socket_listen(&at);
    assert_true(s >= 0);
    kl_socket_close(s);
    return at.port;
}

unsigned all_lines(const char *text) {
    unsigned lines = 0;
    for (unsigned i = 0; i < RELAYS; i++)
        if (relay[i].pid) lines += program_lines(&relay[i], text);
    return lines;
}

void signal_all(unsigned at, int how) {
    pid_t pid[8];
    unsigned count = program_children(&relay[at], pid, 8);
    kill(relay[at].pid, how == SIGCONT ? 0 : how);
    for (unsigned i = 0; i < count; i++)
        kill(pid[i], how);
    kill(relay[at].pid, how);
}

void lose_power(unsigned at) {
    signal_all(at, SIGSTOP); /* so that none sees another one's end */
    signal_all(at, SIGKILL);
    program_stop(&relay[at], SIGKILL);
}
