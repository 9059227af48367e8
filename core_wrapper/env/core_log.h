/* core_log.h - the core's log in a room: passed on to the frontend's, and listened to while a game loads. An
 * arcade core that lacks files loads all the same: its picture says so, and its log names the files. */
#ifndef KLW_CORE_LOG_H
#define KLW_CORE_LOG_H

#include "core_wrapper/env/emulator.h"

/* From now on errors are listened to anew. */
void kl_core_log_listen(struct kl_emulator *e);
/* The first error since then, one line without the core's own "[NAME] " before it; "" for none. */
const char *kl_core_log_error(const struct kl_emulator *e);

#endif
