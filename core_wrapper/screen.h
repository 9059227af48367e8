/* screen.h - lines for the player: on the screen through the frontend, and in its log. Short, and quiet when
 * all is well. */
#ifndef KLW_SCREEN_H
#define KLW_SCREEN_H

#include <libretro.h>

struct kl_screen {
    retro_log_printf_t log; /* of the frontend, or NULL: standard error */
    unsigned version;       /* of the frontend's message interface */
    bool asked;
};

enum kl_screen_tone { KL_SCREEN_INFO, KL_SCREEN_WARNING, KL_SCREEN_ERROR };

/* Shows a line for ms milliseconds and logs it. environment: the frontend's newest. */
void kl_screen_say(struct kl_screen *s, retro_environment_t environment, enum kl_screen_tone tone,
                   unsigned ms, const char *line);
/* Logs only: one line, key=value. */
__attribute__((format(printf, 3, 4))) void kl_screen_log(struct kl_screen *s, retro_environment_t environment,
                                                         const char *format, ...);

#endif
