/* frontend.h - the frontend, as the parts of a match see it: its callbacks and folders, lines on its screen
 * and in its log. Not thread-safe. */
#ifndef KLW_FRONTEND_H
#define KLW_FRONTEND_H

#include "core_wrapper/abi/wrapper_api.h"
#include "core_wrapper/env/emulator.h"
#include "core_wrapper/screen/screen.h"

struct kl_frontend {
    struct kl_front call; /* its callbacks, the newest of each */
    struct kl_screen screen;
    char error[KLW_TEXT_MAX];                                /* the newest failure, for klw_api.error() */
    char own_path[4096], system_dir[4096], player_dir[4096]; /* our file; its folders, as it said */
    struct {
        unsigned of[KL_MAX_SEATS]; /* by port */
        uint8_t set;               /* bit per port */
    } devices;                     /* that it set for the pads */
    struct {
        bool states, loads, cheats, disk, desync, files, left;
    } said; /* lines that are shown once in a session */
};

/* Keeps the line in f->error and shows it. */
__attribute__((format(__printf__, 2, 3))) void kl_frontend_fail(struct kl_frontend *f, const char *format,
                                                                ...);
/* A line on the screen; tone as in screen.h. */
__attribute__((format(__printf__, 4, 5))) void
kl_frontend_say(struct kl_frontend *f, enum kl_screen_tone tone, unsigned ms, const char *format, ...);
/* A warning for 4 s, if *said is not yet set. */
__attribute__((format(__printf__, 3, 4))) void kl_frontend_say_once(struct kl_frontend *f, bool *said,
                                                                    const char *format, ...);
/* A line in the log alone. */
__attribute__((format(__printf__, 2, 3))) void kl_frontend_log(struct kl_frontend *f, const char *format,
                                                               ...);

#endif
