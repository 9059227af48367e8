/* open_core.h - the wrapped core is found and opened, before any content. */
#ifndef KLW_OPEN_CORE_H
#define KLW_OPEN_CORE_H

#include <stdbool.h>
#include <stddef.h>

struct kl_config;
struct kl_match;

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

#endif
