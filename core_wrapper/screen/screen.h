/* screen.h - lines for the player, on the screen and in the frontend's log. Lines are short, and there are
 * none when all is well.
 *
 * News stand for some seconds. A state's line is repeated for as long as the state lasts. Both are drawn into
 * the picture (overlay.h), where each has a place of its own. If something is wrong, at most two lines stand
 * at once, the most serious ones. The frontend draws its own lines about a load over the picture, so news
 * wait until those are gone.
 *
 * If nothing can be drawn, or the player does not want that, all lines go through the frontend's message
 * interface, which has one place: the state's line then waits until the news has stood its time. */
#ifndef KLW_SCREEN_H
#define KLW_SCREEN_H

#include <libretro.h>

#define KL_SCREEN_NONE    0   /* in place of the byte where a player's own words begin: there are none */
#define KL_SCREEN_LINE    256 /* bytes of a line that is drawn, NUL included */
#define KL_SCREEN_NEWS    3   /* lines of news that stand at once */
#define KL_SCREEN_MOST    (1 + KL_SCREEN_NEWS)
#define KL_SCREEN_TROUBLE 2 /* lines that stand at once if one of them is a warning or an error */

enum kl_screen_tone { KL_SCREEN_INFO, KL_SCREEN_WARNING, KL_SCREEN_ERROR };

struct kl_screen_line {
    char text[KL_SCREEN_LINE];
    size_t words; /* the byte where a player's own words begin, or KL_SCREEN_NONE */
    enum kl_screen_tone tone;
    int percent;                /* of progress; -1: none */
    uint64_t from_us, until_us; /* it stands between */
};

struct kl_screen {
    retro_log_printf_t log; /* of the frontend, or NULL: standard error */
    unsigned version;       /* of the frontend's message interface */
    bool asked;
    bool mute;                                  /* the frontend has no message interface */
    struct kl_screen_line news[KL_SCREEN_NEWS]; /* the newest first */
    struct kl_screen_line state;
    uint64_t clear_us; /* the frontend's own lines are gone then */
    bool panel, strip; /* they show */
    bool draw;         /* lines can be drawn into the picture, and are to be */
};

/* Shows news for ms milliseconds and logs them. environment: the frontend's newest. words: the byte of the
 * line where a player's own words begin, which may be drawn in the letters of any script (canvas.h). */
void kl_screen_say(struct kl_screen *s, retro_environment_t environment, enum kl_screen_tone tone,
                   unsigned ms, const char *line, size_t words);
/* Shows news and does not log them. */
void kl_screen_news(struct kl_screen *s, retro_environment_t environment, enum kl_screen_tone tone,
                    unsigned ms, const char *line, size_t words);
/* A load has failed and no picture will come: the line goes to the frontend, however news are shown. */
void kl_screen_last(struct kl_screen *s, retro_environment_t environment, const char *line);
/* Shows a line of a state that lasts, and does not log it; said again and again. percent: of progress, or -1.
 */
void kl_screen_show(struct kl_screen *s, retro_environment_t environment, enum kl_screen_tone tone,
                    unsigned ms, const char *line, size_t words, int percent);
/* No line stands any more, nor is to: they were of something that is over. */
void kl_screen_forget(struct kl_screen *s);
/* The frontend shows lines of its own for this time from now on: drawn news begin after it. */
void kl_screen_wait(struct kl_screen *s, unsigned ms);
/* The lines that stand now, from the lowest to the highest, and their number. If something is wrong, they are
 * KL_SCREEN_TROUBLE at most, the most serious one highest. elsewhere: the panel or a card says that something
 * is wrong, and counts as one of them. */
unsigned kl_screen_standing(const struct kl_screen *s, bool elsewhere, uint64_t now_us,
                            const struct kl_screen_line *out[KL_SCREEN_MOST]);
/* True if a letter of a line that stands is in no font but Unifont. */
bool kl_screen_needs_unifont(const struct kl_screen *s);
/* Logs only: one line, key=value. */
__attribute__((format(__printf__, 3, 4))) void
kl_screen_log(struct kl_screen *s, retro_environment_t environment, const char *format, ...);

/* The panel, shown or not. Any time. */
void kl_screen_panel(struct kl_screen *s, bool on);
bool kl_screen_panel_toggle(struct kl_screen *s); /* returns the new value */
bool kl_screen_panel_on(const struct kl_screen *s);
/* The one line of names and delay, shown or not. Any time. */
void kl_screen_strip(struct kl_screen *s, bool on);
bool kl_screen_strip_on(const struct kl_screen *s);

/* Lines can be drawn into the picture and are to be. At any time. */
void kl_screen_draw(struct kl_screen *s, bool on);
/* True if lines are drawn into the picture, because of kl_screen_draw() or because the frontend cannot show
 * them. */
bool kl_screen_drawn(const struct kl_screen *s);

#endif
