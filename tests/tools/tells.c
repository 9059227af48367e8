/* tells.c - a program in the place of RetroArch, or of another that a test wants started: it writes its
 * arguments, and the variables for the wrapper, into PROGRAM.said beside itself. `--version` prints a version
 * of RetroArch. With TELLS_LOADS=LIBRARY it loads that library, says so, and stays until PROGRAM.end exists.
 */
#include <stdio.h>
#include <string.h>

#include "net/platform/buffer.h"
#include "net/platform/clock.h"
#include "net/platform/process.h"
#include "net/platform/file.h"
#include "net/platform/library.h"

#define LOOK_US 20000

static char own[KL_FILE_PATH], err[2 * KL_FILE_PATH];

static int fail(void) {
    fprintf(stderr, "tells: %s\n", err);
    return 1;
}

static int put(const struct kl_buffer *text) {
    char path[KL_FILE_PATH + 8];
    snprintf(path, sizeof path, "%s.said", own);
    return kl_file_write_whole(path, text->at, text->len, 0, err, sizeof err);
}

static int hold(const char *path, struct kl_buffer *text) {
    char end[KL_FILE_PATH + 8];
    void *library = kl_library_open(path, err, sizeof err);
    snprintf(end, sizeof end, "%s.end", own);
    if (!library) return fail();
    kl_buffer_add(text, "loaded\n");
    if (put(text) != 0) return fail();
    while (kl_file_kind(end) == KL_FILE_IS_NONE)
        kl_sleep_us(LOOK_US);
    kl_library_close(library);
    return 0;
}

int main(int argc, char **argv) {
    static const char *const variables[] = {"KEYLOCK_LINK", "KEYLOCK_CORE", "KEYLOCK_RELAY", "KEYLOCK_ROOM",
                                            "KEYLOCK_NAME"};
    struct kl_buffer text = {0};
    kl_process_begin(&argc, &argv);
    if (argc == 2 && !strcmp(argv[1], "--version")) return puts("Version: 1.20.0 (a stand-in)") < 0;
    if (kl_process_own_path(own, sizeof own) != 0) return 1;
    for (int i = 1; i < argc; i++)
        kl_buffer_add(&text, "argument %s\n", argv[i]);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (kl_environment_get(variables[i]))
            kl_buffer_add(&text, "%s %s\n", variables[i], kl_environment_get(variables[i]));
    const char *library = kl_environment_get("TELLS_LOADS");
    if (library) return hold(library, &text);
    return put(&text) == 0 ? 0 : fail();
}
