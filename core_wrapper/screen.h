/* screen.h - lines for the player, on the screen and in the frontend's log. Lines are short, and there are
 * none when all is well.
 *
 * They go through the frontend's message interface. If the frontend has none, or the player wants that, they
 * are drawn into the picture (overlay.h). */
#ifndef KLW_SCREEN_H
#define KLW_SCREEN_H

#include <libretro.h>

#define KL_SCREEN_LINE 256 /* bytes of a line that is drawn, NUL included */

enum kl_screen_tone { KL_SCREEN_INFO, KL_SCREEN_WARNING, KL_SCREEN_ERROR };

struct kl_screen {
    retro_log_printf_t log; /* of the frontend, or NULL: standard error */
    unsigned version;       /* of the frontend's message interface */
    bool asked;
    bool mute; /* the frontend has no message interface */
    /* the line that is to be drawn */
    char line[KL_SCREEN_LINE];
    enum kl_screen_tone tone;
    int percent;
    uint64_t until_us;
};

/* Shows a line for ms milliseconds and logs it. environment: the frontend's newest. */
void kl_screen_say(struct kl_screen *s, retro_environment_t environment, enum kl_screen_tone tone,
                   unsigned ms, const char *line);
/* Shows a line of a state that lasts, and does not log it; said again and again. percent: of progress, or -1.
 */
void kl_screen_show(struct kl_screen *s, retro_environment_t environment, enum kl_screen_tone tone,
                    unsigned ms, const char *line, int percent);
/* Logs only: one line, key=value. */
__attribute__((format(printf, 3, 4))) void kl_screen_log(struct kl_screen *s, retro_environment_t environment,
                                                         const char *format, ...);

/* The panel, shown or not. Any time. */
void kl_screen_panel(bool on);
bool kl_screen_panel_toggle(void); /* returns the new value */
bool kl_screen_panel_on(void);

/* Draws lines into the picture, also if the frontend has messages. At any time. */
void kl_screen_draw(bool on);
/* True if lines are drawn into the picture, because of kl_screen_draw() or because the frontend cannot show
 * them. */
bool kl_screen_drawn(const struct kl_screen *s);

#endif
