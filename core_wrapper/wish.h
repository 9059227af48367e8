/* wish.h - the room of the next game, as a frontend's own menu has set it through keylock_api.h. It counts
 * before the environment and keylock.cfg, until that game is over. */
#ifndef KLW_WISH_H
#define KLW_WISH_H

#include "core_wrapper/config.h"
#include "core_wrapper/keylock_api.h"

#define KLW_WISH_TEXT 4200 /* bytes of a line that quotes a value */

/* Keeps copies. 0, or -1 with a line in err and the wish of before. */
int kl_wish_set(const struct keylock_setting *want, size_t count, char *err, size_t err_len);
/* Into a configuration that was just read. 0, or -1 with a line in err. Then the wish is not new any more. */
int kl_wish_apply(struct kl_config *c, char *err, size_t err_len);
/* It has changed since, or has been forgotten. */
bool kl_wish_new(void);
void kl_wish_forget(void);

/* Checks a key of keylock.cfg. err names the key, not a variable: "relay: expected …". */
int kl_wish_check(struct kl_config *c, const char *key, const char *value, char *err, size_t err_len);

#endif
