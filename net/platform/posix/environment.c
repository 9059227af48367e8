#include "net/platform/environment.h"

#include <stdlib.h>

const char *kl_environment_get(const char *name) {
    return getenv(name);
}

void kl_environment_set(const char *name, const char *value) {
    if (value)
        (void)setenv(name, value, 1);
    else
        (void)unsetenv(name);
}
