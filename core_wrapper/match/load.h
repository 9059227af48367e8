/* load.h - the core's loads: the first load in the frontend's call, the load afresh
 * at a room's start. */
#ifndef KLW_LOAD_H
#define KLW_LOAD_H

#include <libretro.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kl_config;
struct kl_match;

/* The wrapped core is found and opened, before any content. */

/* Reads the configuration and opens the core, unless that is done. With final false a missing core is no
 * error yet, because the frontend may tell its system folder later. Without a core the match's state stays
 * KL_MATCH_NONE. */
void kl_open_core(struct kl_match *m, bool final);

/* The settings as they are now: of keylock.cfg, the environment and the frontend's menu. 0, or -1 with a line
 * in err. */
int kl_open_core_settings(struct kl_match *m, struct kl_config *out, char *err, size_t err_len);

/* One of the frontend's folders, as it says now (cmd: RETRO_ENVIRONMENT_GET_…_DIRECTORY), with slashes. out
 * stays if it says none. */
void kl_open_core_folder(const struct kl_match *m, unsigned cmd, char *out, size_t cap);

/* The first load of a room, from retro_load_game: the core becomes known (options, system files, timing), and
 * then stands still. False after kl_frontend_fail(). */
bool kl_load_first(struct kl_match *m, bool special, unsigned type, const struct retro_game_info *info,
                   size_t count);

/* The host's start data as things stand; malloced. bare: without saves. 0, or -1 with a line in err. */
int kl_load_start_data(struct kl_match *m, bool bare, uint8_t **out, size_t *len, char *err, size_t err_len);

/* Unloads the core for real and loads it again with the start data. 0, or -1 with a line in err: then no
 * content is loaded. */
int kl_load_afresh(struct kl_match *m, const uint8_t *data, size_t len, uint64_t epoch_s, char *err,
                   size_t err_len);

/* If the player runs ahead: loads the core that the room has loaded once more, as the shown core, with the
 * same start data and a copy of the room's save files. */
void kl_load_shown(struct kl_match *m);

/* The session is over: the folders of its loads go. */
void kl_load_close(struct kl_match *m);

#endif
