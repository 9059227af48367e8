/* The wrapper is unloaded, as a frontend may do it, beside a running thread: the library goes at once, or on
 * Windows when the thread was joined. Nothing hangs or crashes. */
#include "tests/unit/unit.h"

#include <stdio.h>

#include "core_wrapper/abi/keylock_api.h"
#include "net/platform/library.h"
#include "net/platform/socket.h"
#include "tests/unit/built.h"

static char wrapper[512], err[1024];

static int find_wrapper(void **state) {
    (void)state;
    return built_file(wrapper, sizeof wrapper, "keylock_libretro" KL_LIBRARY_ENDING) ? 0 : -1;
}

static const struct keylock_api *api_of(void *library) {
    keylock_api_fn fn;
    *(void **)&fn = kl_library_find(library, KEYLOCK_API_SYMBOL);
    assert_non_null(fn);
    return fn();
}

/* The thread waits for a relay that does not answer. */
TEST(with_a_thread) {
    char relay[40];
    struct kl_address silent = kl_address_loopback(0);
    int s = kl_socket_open();
    assert_int_equal(kl_socket_bind(s, &silent), 0);
    snprintf(relay, sizeof relay, "127.0.0.1:%u", silent.port);
    void *library = kl_library_open(wrapper, err, sizeof err);
    assert_non_null(library);
    assert_int_equal(api_of(library)->browse(relay, err, sizeof err), 0);
    kl_library_close(library);
#ifdef _WIN32
    assert_true(kl_library_loaded(wrapper));
    library = kl_library_open(wrapper, err, sizeof err);
    api_of(library)->browse_end();
    kl_library_close(library);
#endif
    assert_false(kl_library_loaded(wrapper));
    kl_socket_close(s);
}

int main(void) {
    return run_all_tests(find_wrapper, NULL);
}
