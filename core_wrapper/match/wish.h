/* wish.h - the room of the next game, as a frontend's own menu has set it through keylock_api.h. It counts
 * before the environment and keylock.cfg, until that game is over. */
#ifndef KLW_WISH_H
#define KLW_WISH_H

#include "core_wrapper/words/config.h"
#include "core_wrapper/abi/keylock_api.h"

#define KL_WISHES 32

struct kl_wish {
    char *key[KL_WISHES], *value[KL_WISHES];
    size_t count;
    bool fresh;
};

#define KLW_WISH_TEXT 4200 /* bytes of a line that quotes a value */

/* Keeps copies. Returns 0, or -1 with a line in err and the earlier wish. */
int kl_wish_set(struct kl_wish *w, const struct keylock_setting *want, size_t count, char *err,
                size_t err_len);
/* Puts the wish into a configuration that was just read; the wish is then not new any more. Returns 0, or -1
 * with a line in err. */
int kl_wish_apply(struct kl_wish *w, struct kl_config *c, char *err, size_t err_len);
/* True if the wish has changed since kl_wish_apply(), or was forgotten. */
bool kl_wish_new(struct kl_wish *w);
void kl_wish_forget(struct kl_wish *w);

/* Checks a key of keylock.cfg. err names the key, not a variable: "relay: expected …". */
int kl_wish_check(struct kl_config *c, const char *key, const char *value, char *err, size_t err_len);

#endif
