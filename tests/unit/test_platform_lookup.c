/* Looking names up: real ones in this machine's own list; a name server that hangs, which holds up nobody who
 * leaves.
 * runs: working, test, 1 s */
#include "tests/unit/unit.h"

#include <netdb.h>
#include <stdlib.h>
#include <unistd.h>

#include "net/platform/clock.h"
#include "net/platform/lookup.h"

static bool hangs;
static unsigned asked, cancelled, looks;

/* In place of the C library's: with hangs, a question that nobody answers and that cannot be taken back. */
int getaddrinfo_a(int mode, struct gaicb *list[], int n, struct sigevent *event) {
    (void)mode, (void)event;
    assert_int_equal(n, 1);
    asked++;
    list[0]->__return = hangs ? EAI_INPROGRESS
                              : getaddrinfo(list[0]->ar_name, NULL, list[0]->ar_request, &list[0]->ar_result);
    return 0;
}
int gai_error(struct gaicb *request) {
    return request->__return;
}
static struct gaicb *left;
int gai_cancel(struct gaicb *request) {
    cancelled++;
    left = request; /* the C library goes on writing into it */
    return EAI_NOTCANCELED;
}

static int clear(void **state) {
    (void)state;
    hangs = false;
    asked = cancelled = looks = 0;
    left = NULL;
    return 0;
}

static bool three_times(void *ctx) {
    assert_ptr_equal(ctx, &looks);
    return ++looks <= 3;
}

static void an_address_in_numbers_asks_nobody(void **state) {
    (void)state;
    uint32_t host = 0;
    char why[80] = "";
    assert_int_equal(kl_lookup("192.0.2.7", &host, NULL, NULL, why, sizeof why), KL_LOOKUP_FOUND);
    assert_memory_equal(&host, "\xc0\x00\x02\x07", 4);
    assert_int_equal(asked, 0);
}

static void this_machine_s_name_is_found(void **state) {
    (void)state;
    uint32_t host = 0;
    char why[80] = "";
    assert_int_equal(kl_lookup("localhost", &host, NULL, NULL, why, sizeof why), KL_LOOKUP_FOUND);
    assert_memory_equal(&host, "\x7f", 1);
    assert_int_equal(asked, 1);
}

static void what_is_no_name_fails_with_a_line(void **state) {
    (void)state;
    uint32_t host = 0;
    char why[80] = "";
    assert_int_equal(kl_lookup("no such..name", &host, NULL, NULL, why, sizeof why), KL_LOOKUP_FAILED);
    assert_true(*why);
}

/* Freed memory would be found by the sanitizers, where the library writes into it. */
static void whoever_leaves_does_not_wait_for_a_name_server(void **state) {
    (void)state;
    uint32_t host = 0;
    char why[80] = "";
    hangs = true;
    uint64_t from_us = kl_now_us();
    assert_int_equal(kl_lookup("relay.example.org", &host, three_times, &looks, why, sizeof why),
                     KL_LOOKUP_LEFT);
    assert_true(kl_now_us() - from_us < KL_LOOKUP_US / 2);
    assert_int_equal(looks, 4);
    assert_int_equal(cancelled, 1);
    left->__return = 0;
    assert_string_equal(left->ar_name, "relay.example.org");
    free(left);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_address_in_numbers_asks_nobody, clear),
        cmocka_unit_test_setup(this_machine_s_name_is_found, clear),
        cmocka_unit_test_setup(what_is_no_name_fails_with_a_line, clear),
        cmocka_unit_test_setup(whoever_leaves_does_not_wait_for_a_name_server, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
