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

TEST(a_host_tells_whom_it_serves) {
    static const struct {
        const char *host;
        enum kl_audience audience;
    } known[] = {
        {"relay.example.org", KL_AUDIENCE_ALL}, {"203.0.113.7", KL_AUDIENCE_ALL},
        {"172.15.0.1", KL_AUDIENCE_ALL},        {"172.32.0.1", KL_AUDIENCE_ALL},
        {"100.63.0.1", KL_AUDIENCE_ALL},        {"100.128.0.1", KL_AUDIENCE_ALL},
        {"2001:db8::1", KL_AUDIENCE_ALL},       {"fe80::1", KL_AUDIENCE_NETWORK},
        {"10.1.2.3", KL_AUDIENCE_NETWORK},      {"172.16.0.1", KL_AUDIENCE_NETWORK},
        {"172.31.9.9", KL_AUDIENCE_NETWORK},    {"192.168.1.5", KL_AUDIENCE_NETWORK},
        {"169.254.8.8", KL_AUDIENCE_NETWORK},   {"100.64.0.1", KL_AUDIENCE_NETWORK},
        {"127.0.0.1", KL_AUDIENCE_MACHINE},     {"localhost", KL_AUDIENCE_MACHINE},
    };
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        if (kl_invitation_audience(known[i].host) != known[i].audience) fail_msg("%s", known[i].host);
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
