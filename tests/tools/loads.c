/* loads.c - `loads FILE.so…`: checks that each file loads, with all libraries that it needs, and answers as
 * a libretro core. Needs the C library alone, so that it runs in a bare root (setup/install.sh). Exit status
 * 0, or 1 with a line for each file that fails. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int failed = 0;
    for (int i = 1; i < argc; i++) {
        unsigned (*version)(void) = NULL;
        void *handle = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        if (handle) *(void **)&version = dlsym(handle, "retro_api_version");
        if (version && version() == 1) continue;
        printf("%s: %s\n", argv[i], handle ? "no core of libretro's version 1" : dlerror());
        failed = 1;
    }
    return failed;
}
