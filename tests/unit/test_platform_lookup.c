/* Looking names up: real ones in this machine's own list; a name server that hangs, which holds up nobody who
 * leaves.
 * runs: working, test, 1 s */
#include "tests/unit/unit.h"

#include <stdlib.h>
#ifdef _WIN32
#include <winsock2.h>
#include <ws2tcpip.h>
#else
#include <netdb.h>
#endif

#include "net/platform/clock.h"
#include "net/platform/socket.h"

static bool hangs;
static unsigned asked, cancelled, looks;

/* In place of the system's: with hangs, a question that nobody answers and that cannot be taken back. */
#ifdef _WIN32
static OVERLAPPED *left;
static wchar_t *left_name;
static int WSAAPI ask_or_hang(PCWSTR name, PCWSTR service, DWORD space, LPGUID provider,
                              const ADDRINFOEXW *hints, PADDRINFOEXW *result, struct timeval *timeout,
                              LPOVERLAPPED io, LPLOOKUPSERVICE_COMPLETION_ROUTINE done, LPHANDLE handle) {
    typedef int(WSAAPI * ask)(PCWSTR, PCWSTR, DWORD, LPGUID, const ADDRINFOEXW *, PADDRINFOEXW *,
                              struct timeval *, LPOVERLAPPED, LPLOOKUPSERVICE_COMPLETION_ROUTINE, LPHANDLE);
    asked++;
    left = io;
    left_name = (wchar_t *)(uintptr_t)name;
    if (hangs) return WSA_IO_PENDING;
    ask real = (ask)(void (*)(void))GetProcAddress(GetModuleHandleW(L"ws2_32.dll"), "GetAddrInfoExW");
    return real(name, service, space, provider, hints, result, timeout, io, done, handle);
}
static int WSAAPI count_cancel(LPHANDLE handle) {
    (void)handle;
    cancelled++;
    return 0;
}
/* The linker takes these pointers for those to the system's functions. */
void *__imp_GetAddrInfoExW = (void *)(uintptr_t)ask_or_hang;
void *__imp_GetAddrInfoExCancel = (void *)(uintptr_t)count_cancel;

/* The system goes on writing into the question, which must be there. */
static void answer_late(void) {
    assert_int_equal(wcscmp(left_name, L"relay.example.org"), 0);
    assert_true(SetEvent(left->hEvent));
}
#else
static struct gaicb *left;

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
int gai_cancel(struct gaicb *request) {
    cancelled++;
    left = request; /* the C library goes on writing into it */
    return EAI_NOTCANCELED;
}
static void answer_late(void) {
    left->__return = 0;
    assert_string_equal(left->ar_name, "relay.example.org");
    free(left);
}
#endif

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

TEST_WITH(an_address_in_numbers_asks_nobody, clear, NULL) {
    struct kl_addresses found;
    char why[80] = "";
    assert_int_equal(kl_lookup("192.0.2.7", &found, NULL, NULL, why, sizeof why), KL_LOOKUP_FOUND);
    assert_int_equal(found.count, 1);
    assert_memory_equal(found.at[0].host + 12, "\xc0\x00\x02\x07", 4);
    assert_int_equal(kl_lookup("[2001:db8::7]", &found, NULL, NULL, why, sizeof why), KL_LOOKUP_FOUND);
    assert_memory_equal(found.at[0].host, "\x20\x01\x0d\xb8", 4);
    assert_int_equal(asked, 0);
}

TEST_WITH(this_machine_s_name_is_found, clear, NULL) {
    struct kl_addresses found;
    char why[80] = "";
    if (kl_lookup("localhost", &found, NULL, NULL, why, sizeof why) != KL_LOOKUP_FOUND)
        fail_msg("expected localhost in this machine's hosts file, as 127.0.0.1 or ::1; got \"%s\"", why);
    for (unsigned i = 0; i < found.count; i++)
        assert_int_equal(kl_address_audience(&found.at[i]), KL_AUDIENCE_MACHINE);
    assert_int_equal(asked, 1);
}

TEST_WITH(a_bad_name_fails_with_a_line, clear, NULL) {
    struct kl_addresses found;
    char why[80] = "";
    assert_int_equal(kl_lookup("no such..name", &found, NULL, NULL, why, sizeof why), KL_LOOKUP_FAILED);
    assert_true(*why);
}

/* Freed memory would be found by the sanitizers, where the library writes into it. */
TEST_WITH(whoever_leaves_does_not_wait_for_a_name_server, clear, NULL) {
    struct kl_addresses found;
    char why[80] = "";
    hangs = true;
    uint64_t from_us = kl_now_us();
    assert_int_equal(kl_lookup("relay.example.org", &found, three_times, &looks, why, sizeof why),
                     KL_LOOKUP_LEFT);
    assert_true(kl_now_us() - from_us < KL_LOOKUP_US / 2);
    assert_int_equal(looks, 4);
    assert_int_equal(cancelled, 1);
    answer_late();
}
