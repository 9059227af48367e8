/* The wrapper's file as a program: on Linux the system's loader runs keylock_libretro.so, on Windows rundll32
 * keylock_libretro.dll, and it measures cores (core_wrapper/match/room_profile.h). So a player with the
 * wrapper alone needs nothing else. */
#include "core_wrapper/tool/common/tool.h"

#include <string.h>

#include "net/platform/process.h"
#ifdef _WIN32
#include <stdlib.h>
#include <wchar.h>

#include "net/platform/file.h"
#include "net/platform/library.h"
#include "net/platform/thread.h"
#endif

int main(int argc, char **argv) {
    static const struct kl_tool_command commands[] = {{"probe", NULL, cmd_probe_help, cmd_probe},
                                                      {"machine", NULL, "", cmd_machine}};
    const char *word = argc > 1 ? argv[1] : "";
    kl_process_loaded(argv[0]);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(word, commands[i].name)) return tool_run(&commands[i], argc - 1, argv + 1);
    return tool_fail(KLT_USAGE, "probe", "this is a core for RetroArch; the program is keylock");
}

#ifdef _WIN32
static int code = KLT_FAILED;

/* The system's words are: rundll32, the file with the function's name, the arguments. */
static void run(void *unused) {
    static char file[KL_FILE_PATH];
    int argc = 0;
    char **argv = NULL;
    (void)unused;
    kl_process_begin(&argc, &argv);
    if (argc < 3 || !kl_library_file_of(&code, file, sizeof file)) return;
    argv[1] = file;
    code = main(argc - 1, argv + 1);
}

/* KL_PROCESS_LIBRARY_MAIN. A thread's stack is large enough for a core, rundll32's own may be too small. */
__declspec(dllexport) void keylock_mainW(void *window, void *library, wchar_t *words, int show) {
    struct kl_thread thread;
    (void)window, (void)library, (void)words, (void)show;
    if (kl_thread_start(&thread, "main", run, NULL) == 0) kl_thread_join(&thread);
    exit(code);
}
#endif
