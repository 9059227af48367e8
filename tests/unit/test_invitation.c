#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/unit.h"

#include "net/relay/loop/hosted.h"
#include "net/relay/log/relay_log.h"

#define KEY "klctam52jbefllrbwzcec4kpzufo5yyd"

static char *text;

static void logged(const char *host, const char *bound, uint16_t port) {
    size_t len;
    free(text);
    FILE *to = open_memstream(&text, &len);
    assert_non_null(to);
    kl_log_to(to);
    kl_invitation_log(host, bound, port, KEY);
    kl_log_to(NULL);
    fclose(to);
}
#define says(part) assert_non_null(strstr(text, part))

/* Of each kind of address: test_platform_address. */
TEST(a_host_tells_whom_it_serves) {
    assert_int_equal(kl_invitation_audience("relay.example.org"), KL_AUDIENCE_ALL);
    assert_int_equal(kl_invitation_audience("10.1.2.3"), KL_AUDIENCE_NETWORK);
    assert_int_equal(kl_invitation_audience("localhost"), KL_AUDIENCE_MACHINE);
}

TEST(the_link_and_the_port_are_told) {
    logged("relay.example.org", "0.0.0.0", 55435);
    says("event=invitation link=keylock://relay.example.org/friends#" KEY " ");
    says("event=open_port udp=55435 ");
    assert_null(strstr(text, "local_address"));
    logged("", "192.168.1.5", 7000);
    says("link=keylock://192.168.1.5:7000/friends#" KEY " ");
    says("udp=7000 ");
    says("event=local_address host=192.168.1.5 text=\"only machines of its own network reach 192.168.1.5");
    logged("", "127.0.0.1", 55435);
    says("only programs of this machine reach 127.0.0.1");
    logged("", "2001:db8::1", 7000);
    says("link=keylock://[2001:db8::1]:7000/friends#" KEY " ");
    assert_null(strstr(text, "local_address"));
    logged("", "::1", 55435);
    says("link=keylock://[::1]/friends#");
    says("only programs of this machine reach ::1");
    logged("", "0.0.0.0", 55435);
    says("link=keylock://");
    assert_null(strstr(text, "keylock://0.0.0.0"));
    assert_null(strstr(text, "keylock://["));
    logged("", "::", 55435);
    says("link=keylock://");
    assert_null(strstr(text, "[::]"));
}

int main(void) {
    int result = run_all_tests(NULL, NULL);
    free(text);
    return result;
}
