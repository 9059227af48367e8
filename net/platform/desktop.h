/* desktop.h - the user's settings of the desktop that programs share: which program opens a kind of links,
 * and what other programs have written there for everybody.
 *
 * Windows keeps such settings for each user, in the registry. On Linux the packages of the programs do it. */
#ifndef KL_PLATFORM_DESKTOP_H
#define KL_PLATFORM_DESKTOP_H

#include <stdbool.h>
#include <stddef.h>

/* A text among the user's settings, in UTF-8: key "Software/Valve/Steam", name "SteamPath"; name NULL: the
 * key's own value. False with out "": there is none, it is longer than cap, or this system has no such
 * settings. */
bool kl_desktop_setting(const char *key, const char *name, char *out, size_t cap);

#define KL_DESKTOP_NONE   1 /* this system has no such settings */
#define KL_DESKTOP_SAME   2 /* it was so before */
#define KL_DESKTOP_OTHERS 3 /* another program opens these links, and goes on to do so */

/* From now on this program opens the links SCHEME:..., with these arguments (NULL ends them) and the link as
 * one more behind them. The link is anybody's text and may hold quotes and blanks: the last argument has to
 * be "--", and the program has to expect one argument behind it. title: of the links, for people. 0; one of
 * the above; -1 with a line in err. */
int kl_desktop_take_links(const char *scheme, const char *title, const char *const *arguments, char *err,
                          size_t err_len);
/* Takes that back. A program of the same name in another folder counts as this one. 0; one of the above
 * (KL_DESKTOP_SAME: no program opened them); -1 with a line in err. */
int kl_desktop_leave_links(const char *scheme, char *err, size_t err_len);

#endif
