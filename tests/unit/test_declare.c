/* A core's declarations. */
#include "tests/unit/unit.h"

#include <stdlib.h>

#include "core_wrapper/core/declare.h"

TEST(devices_that_a_core_names) {
    static const struct retro_controller_description pads[] = {{"pad", 257}, {"mat", 513}, {NULL, 0}},
                                                     gun[] = {{"gun", 260}, {NULL, 0}};
    static const struct retro_controller_info info[] = {{pads, 2}, {gun, 1}, {NULL, 0}};
    struct kl_declared d = {0};
    for (unsigned device = RETRO_DEVICE_NONE; device <= RETRO_DEVICE_POINTER; device++)
        assert_true(kl_declared_device(&d, 7, device));
    assert_false(kl_declared_device(&d, 0, 257));
    assert_true(kl_declare_controllers(&d, info));
    assert_true(kl_declared_device(&d, 0, 257) && kl_declared_device(&d, 0, 513));
    assert_true(kl_declared_device(&d, 1, 260));
    assert_false(kl_declared_device(&d, 0, 260) || kl_declared_device(&d, 1, 257));
    assert_false(kl_declared_device(&d, 2, 257) || kl_declared_device(&d, 0, 7));
    assert_false(kl_declared_device(&d, 0, 0x7fffffff));
    free(d.text); /* the copy stays for ever, as frontends want it */
}
